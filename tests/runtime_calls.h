/* runtime_calls.h — gt_launch and gt_gemm with a call written as arguments. */
#ifndef GT_RUNTIME_CALLS_H
#define GT_RUNTIME_CALLS_H

#include "gemmtune.h"

static inline enum gt_status launch(struct gt_plan *plan, const void *alpha, const void *a, const void *b,
                                    const void *beta, void *c, struct CUstream_st *on)
{
    const struct gt_call call = gt_call_make(alpha, a, b, beta, c, on);
    return gt_launch(plan, &call);
}

static inline enum gt_status launch_in(struct gt_plan *plan, const void *alpha, const void *a, const void *b,
                                       const void *beta, void *c, struct CUstream_st *on, void *workspace,
                                       size_t bytes)
{
    struct gt_call call = gt_call_make(alpha, a, b, beta, c, on);
    call.workspace = workspace;
    call.workspace_bytes = bytes;
    return gt_launch(plan, &call);
}

static inline enum gt_status gemm(struct gt_handle *handle, const struct gt_problem *p, const void *alpha,
                                  const void *a, const void *b, const void *beta, void *c,
                                  struct CUstream_st *on)
{
    const struct gt_call call = gt_call_make(alpha, a, b, beta, c, on);
    return gt_gemm(handle, p, &call);
}

#endif

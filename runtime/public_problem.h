/* public_problem.h — a problem of ours as a caller of the library says it: by rows, with every member told
 * but flags and alignment. The other way, with the checks, is arguments.h.
 */
#ifndef GT_PUBLIC_PROBLEM_H
#define GT_PUBLIC_PROBLEM_H

#include "gemmtune.h"
#include "problem.h"

static inline struct gt_problem public_problem(const struct problem *p)
{
    return (struct gt_problem){.size = sizeof(struct gt_problem),
                               .type = p->type == GEMM_TF32 ? GT_TF32 : GT_SGEMM,
                               .trans_a = p->trans_a,
                               .trans_b = p->trans_b,
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .lda = p->lda,
                               .ldb = p->ldb,
                               .ldc = p->ldc,
                               .batch = p->batch,
                               .stride_a = p->stride_a,
                               .stride_b = p->stride_b,
                               .stride_c = p->stride_c};
}

#endif

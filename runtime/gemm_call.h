/* gemm_call.h — the arguments of a launch, besides the plan. */
#ifndef GT_GEMM_CALL_H
#define GT_GEMM_CALL_H

#include "operand.h"
#include <cuda.h>
#include <stdbool.h>

struct gemm_call {
    CUdeviceptr at[OPERANDS]; /* of those that the problem has not: 0 */
    const void *alpha, *beta; /* floats, on the host unless scalars_on_device */
    bool scalars_on_device;
    CUstream stream;
    CUdeviceptr workspace; /* the caller's, 0: none; the plan's own is used where it is too small */
    size_t workspace_bytes;
    const struct gt_prepared *prepared; /* A or B; NULL: none */
    bool as_planned;                    /* by the plan's own executable or not at all */
};

/* The bits of the addresses that kernels read and write by vectors. */
static inline CUdeviceptr gemm_call_bits(const struct gemm_call *call)
{
    CUdeviceptr bits = 0;
    for (int i = 0; i < OPERAND_MATRICES; i++) bits |= call->at[i];
    return bits;
}

/* Has it operands beside A, B and C? */
static inline bool gemm_call_has_more(const struct gemm_call *call)
{
    CUdeviceptr bits = 0;
    for (int i = OPERAND_C + 1; i < OPERANDS; i++) bits |= call->at[i];
    return bits != 0;
}

#endif

/* call_types.h — the type of products (gemm_type.h) that a call of cuBLAS or cublasLt is, for all functions.
 * Sums, alpha and beta are FP32 in each of them.
 */
#ifndef GT_CALL_TYPES_H
#define GT_CALL_TYPES_H

#include "gemm_type.h"
#include "tf32.h"

#define CALL_TYPES_OTHER "its types and its compute type are none of FP32, TF32, BF16 and FP16 with FP32 sums"

/* Returns false if it is no product of ours. Where NVIDIA_TF32_OVERRIDE forbids TF32, a call that allows it
 * is strict FP32. */
static inline bool call_type_of(int a, int b, int c, int compute, enum gemm_type *type)
{
    if (compute == BLAS_COMPUTE_32F_FAST_TF32 && tf32_is_forbidden()) compute = BLAS_COMPUTE_32F;
    return gemm_type_of_call(a, b, c, compute, type);
}

#endif

/* call_types.h — the type of products (gemm_type.h) that a call of cuBLAS or cublasLt is: the one table for
 * all functions. Sums, alpha and beta are FP32 in each of them.
 */
#ifndef GT_CALL_TYPES_H
#define GT_CALL_TYPES_H

#include "cublas_abi.h"
#include "tf32.h"

#include <stddef.h>

#define CALL_TYPES_OTHER "its types and its compute type are none of FP32, TF32, BF16 and FP16 with FP32 sums"

struct call_type {
    int a, b, c, compute; /* cudaDataType_t; cublasComputeType_t */
    enum gemm_type type;
};

enum { CALL_TYPES = 8 };

/* BF16 and FP16 operands have no pedantic row: that forbids tensor cores. */
static const struct call_type call_types[CALL_TYPES] = {
    {BLAS_R_32F, BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, GEMM_SGEMM},
    {BLAS_R_32F, BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_PEDANTIC, GEMM_SGEMM},
    {BLAS_R_32F, BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, GEMM_TF32},
    {BLAS_R_32F, BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_BF16X9, GEMM_SGEMM_ACCURATE},
    {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F, GEMM_BF16},
    {BLAS_R_16F, BLAS_R_16F, BLAS_R_16F, BLAS_COMPUTE_32F, GEMM_F16},
    {BLAS_R_16BF, BLAS_R_16BF, BLAS_R_32F, BLAS_COMPUTE_32F, GEMM_BF16_TO_F32},
    {BLAS_R_16F, BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F, GEMM_F16_TO_F32},
};

/* NULL: no product of ours. Where NVIDIA_TF32_OVERRIDE forbids TF32, a call that allows it is strict FP32. */
static inline const struct call_type *call_type_of(int a, int b, int c, int compute)
{
    if (compute == BLAS_COMPUTE_32F_FAST_TF32 && tf32_is_forbidden()) compute = BLAS_COMPUTE_32F;
    for (size_t i = 0; i < CALL_TYPES; i++) {
        const struct call_type *row = &call_types[i];
        if (row->a == a && row->b == b && row->c == c && row->compute == compute) return row;
    }
    return NULL;
}

#endif

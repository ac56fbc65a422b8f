/* real_blas.h — the cuBLAS and cublasLt that the program meant to call. */
#ifndef GT_REAL_BLAS_H
#define GT_REAL_BLAS_H

#include "cublas_abi.h"
#include <stdatomic.h>

/* By their names; NULL what this version does not have. */
struct real_blas {
    __typeof__(cublasSgemm_v2) *Sgemm;
    __typeof__(cublasSgemm_v2_64) *Sgemm64;
    __typeof__(cublasSgemmStridedBatched) *SgemmStrided;
    __typeof__(cublasSgemmStridedBatched_64) *SgemmStrided64;
    __typeof__(cublasSgemmBatched) *SgemmBatched;
    __typeof__(cublasSgemmBatched_64) *SgemmBatched64;
    __typeof__(cublasGemmEx) *GemmEx;
    __typeof__(cublasGemmEx_64) *GemmEx64;
    __typeof__(cublasGemmStridedBatchedEx) *GemmStridedEx;
    __typeof__(cublasGemmStridedBatchedEx_64) *GemmStridedEx64;
    int (*GetStream)(blas_handle, CUstream *);
    int (*GetPointerMode)(blas_handle, int *);
    int (*GetMathMode)(blas_handle, int *);
};

struct real_lt {
    __typeof__(cublasLtMatmul) *Matmul;
    int (*DescGet)(lt_desc, int what, void *value, size_t room, size_t *written);
    int (*LayoutGet)(lt_layout, int what, void *value, size_t room, size_t *written);
};

/* Found at the first call; from any thread. */
extern _Atomic(const struct real_blas *) real_blas_found;
extern _Atomic(const struct real_lt *) real_lt_found;
const struct real_blas *real_blas_find(void);
const struct real_lt *real_lt_find(void);

static inline const struct real_blas *real_blas(void)
{
    const struct real_blas *found = atomic_load_explicit(&real_blas_found, memory_order_acquire);
    return found ? found : real_blas_find();
}

static inline const struct real_lt *real_lt(void)
{
    const struct real_lt *found = atomic_load_explicit(&real_lt_found, memory_order_acquire);
    return found ? found : real_lt_find();
}

#endif

/* real_blas.h — the cuBLAS and cublasLt that the caller meant.
 *
 * A process may hold several majors of cuBLAS, whose handles are not each other's. Their symbols carry the
 * library's name as their version, so a caller's reference says which major it was linked with.
 */
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
    __typeof__(cublasSetStream_v2) *SetStream;
    __typeof__(cublasSetWorkspace_v2) *SetWorkspace;
    __typeof__(cublasDestroy_v2) *Destroy;
    int (*GetStream)(blas_handle, CUstream *);
    int (*GetPointerMode)(blas_handle, int *);
    int (*GetMathMode)(blas_handle, int *);
    int (*GetSmCountTarget)(blas_handle, int *);
};

struct real_lt {
    __typeof__(cublasLtMatmul) *Matmul;
    int (*DescGet)(lt_desc, int what, void *value, size_t room, size_t *written);
    int (*LayoutGet)(lt_layout, int what, void *value, size_t room, size_t *written);
    __typeof__(cublasLtMatmulAlgoGetIds) *AlgoGetIds;
    __typeof__(cublasLtMatmulAlgoCheck) *AlgoCheck;
};

/* Of which major a caller is. BLAS_ANY: its reference does not say. */
enum blas_major { BLAS_ANY, BLAS_11, BLAS_12, BLAS_13, BLAS_MAJORS };

/* What the program has loaded of that major; NULL: nothing yet. For BLAS_ANY what the loader would have given
 * the caller, else the newest. Never loads one. From any thread. */
const struct real_blas *real_blas_find(enum blas_major major);
const struct real_lt *real_lt_find(enum blas_major major);

extern _Atomic(const struct real_blas *) real_blas_found[BLAS_MAJORS];
extern _Atomic(const struct real_lt *) real_lt_found[BLAS_MAJORS];

static inline const struct real_blas *real_blas(enum blas_major major)
{
    const struct real_blas *found = atomic_load_explicit(&real_blas_found[major], memory_order_acquire);
    return found ? found : real_blas_find(major);
}

static inline const struct real_lt *real_lt(enum blas_major major)
{
    const struct real_lt *found = atomic_load_explicit(&real_lt_found[major], memory_order_acquire);
    return found ? found : real_lt_find(major);
}

#endif

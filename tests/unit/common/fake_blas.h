/* fake_blas.h — the cuBLAS functions that both fakes have, with the types of their own. */
#ifndef GT_FAKE_BLAS_H
#define GT_FAKE_BLAS_H

#include <stddef.h>

struct blas;

int cublasCreate_v2(struct blas **handle);
int cublasDestroy_v2(struct blas *handle);
int cublasGetProperty(int which, int *value);
int cublasSetStream_v2(struct blas *handle, void *stream);
int cublasSetWorkspace_v2(struct blas *handle, void *workspace, size_t bytes);
int cublasSetMathMode(struct blas *handle, int mode);
int cublasSetPointerMode_v2(struct blas *handle, int mode);
int cublasSgemm_v2(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
int cublasSgemmStridedBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda, long long stride_a, const float *b,
                              int ldb, long long stride_b, const float *beta, float *c, int ldc,
                              long long stride_c, int batch);
int cublasSgemmBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const *a, int lda, const float *const *b, int ldb, const float *beta,
                       float *const *c, int ldc, int batch);

#endif

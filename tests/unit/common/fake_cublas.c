/* fake_cublas.c — the few cuBLAS functions the rival uses, on host memory, written from the BLAS definition:
 * column-major, sums in double. It refuses arguments that cuBLAS refuses. FAKE_CUBLAS_POOL=1: calls without a
 * workspace of the caller's are welcome, too. FAKE_CUBLAS_FAIL=STATUS: every call answers that.
 */
#include "fake_blas.h"
#include "fake_stream.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7 };

_Atomic int fake_blas_calls, fake_blas_wide_calls, fake_blas_pointer_calls;
_Atomic int fake_blas_math;

struct blas {
    void *stream, *workspace;
    size_t workspace_bytes;
};

int cublasSgemmStridedBatched_64(struct blas *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *a, int64_t lda, long long stride_a,
                                 const float *b, int64_t ldb, long long stride_b, const float *beta, float *c,
                                 int64_t ldc, long long stride_c, int64_t batch);
int cublasSgemmBatched_64(struct blas *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                          const float *alpha, const float *const *a, int64_t lda, const float *const *b,
                          int64_t ldb, const float *beta, float *const *c, int64_t ldc, int64_t batch);

int cublasCreate_v2(struct blas **handle)
{
    *handle = NULL; /* the real one allocates device memory */
    if (SAFE_RESULT != CUDA_SUCCESS) return NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    fake_count(&fake_open, 1);
    return *handle ? SUCCESS : NOT_INITIALIZED;
}

int cublasDestroy_v2(struct blas *handle)
{
    if (SAFE_RESULT != CUDA_SUCCESS) return NOT_INITIALIZED;
    free(handle);
    fake_count(&fake_open, -1);
    return SUCCESS;
}

int cublasGetProperty(int which, int *value)
{
    static const int version[] = {13, 1, 2};
    if (which < 0 || which > 2) return INVALID_VALUE;
    *value = version[which];
    return SUCCESS;
}

int cublasSetStream_v2(struct blas *handle, void *stream)
{
    /* As the real one: the workspace goes back to the default. */
    *handle = (struct blas){.stream = stream};
    return SUCCESS;
}

int cublasSetWorkspace_v2(struct blas *handle, void *workspace, size_t bytes)
{
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return SUCCESS;
}

int cublasSetMathMode(struct blas *handle, int mode)
{
    atomic_store_explicit(&fake_blas_math, mode, memory_order_relaxed);
    return handle && (mode == 0 || mode == 2 || mode == 3) ? SUCCESS : INVALID_VALUE;
}

int cublasSetPointerMode_v2(struct blas *handle, int mode)
{
    return handle && (mode == 0 || mode == 1) ? SUCCESS : INVALID_VALUE;
}

int cublasSgemmStridedBatched_64(struct blas *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *a, int64_t lda, long long stride_a,
                                 const float *b, int64_t ldb, long long stride_b, const float *beta, float *c,
                                 int64_t ldc, long long stride_c, int64_t batch)
{
    int64_t rows_a = op_a ? k : m, rows_b = op_b ? n : k;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < 1 || lda < rows_a || ldb < 1 || ldb < rows_b ||
        ldc < 1 || ldc < m)
        return INVALID_VALUE;
    const char *status = getenv("FAKE_CUBLAS_FAIL");
    if (status) return atoi(status);
    if (!handle->stream || (handle->workspace_bytes == 0 && !getenv("FAKE_CUBLAS_POOL")))
        return NOT_INITIALIZED;
    fake_count(&fake_blas_wide_calls, 1);
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX) return SUCCESS; /* counted, not computed */
    for (int64_t item = 0; item < batch; item++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double sum = 0;
                for (int64_t l = 0; l < k && *alpha != 0; l++) {
                    float x = a[item * stride_a + (op_a ? l + i * lda : i + l * lda)];
                    float y = b[item * stride_b + (op_b ? j + l * ldb : l + j * ldb)];
                    sum += (double)x * y;
                }
                float *out = &c[item * stride_c + i + j * ldc];
                *out = (float)(*alpha * sum + (*beta != 0 ? (double)*beta * *out : 0));
            }
    return SUCCESS;
}

int cublasSgemmStridedBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda, long long stride_a, const float *b,
                              int ldb, long long stride_b, const float *beta, float *c, int ldc,
                              long long stride_c, int batch)
{
    fake_count(&fake_blas_calls, 1);
    fake_count(&fake_blas_wide_calls, -1);
    return cublasSgemmStridedBatched_64(handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb,
                                        stride_b, beta, c, ldc, stride_c, batch);
}

int cublasSgemm_v2(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc,
                                     0, 1);
}

int cublasSgemmBatched_64(struct blas *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                          const float *alpha, const float *const *a, int64_t lda, const float *const *b,
                          int64_t ldb, const float *beta, float *const *c, int64_t ldc, int64_t batch)
{
    int result = SUCCESS;
    fake_count(&fake_blas_pointer_calls, 1);
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX) return SUCCESS; /* counted, not computed */
    for (int64_t item = 0; item < batch && result == SUCCESS; item++) {
        fake_count(&fake_blas_wide_calls, -1);
        result = cublasSgemmStridedBatched_64(handle, op_a, op_b, m, n, k, alpha, a[item], lda, 0, b[item],
                                              ldb, 0, beta, c[item], ldc, 0, 1);
    }
    return result;
}

int cublasSgemmBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const *a, int lda, const float *const *b, int ldb, const float *beta,
                       float *const *c, int ldc, int batch)
{
    return cublasSgemmBatched_64(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch);
}

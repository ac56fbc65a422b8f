#include "program_blas_internal.h"

#include <stdlib.h>

int program_blas_calls, program_blas_idle, program_blas_keeps;
_Thread_local struct program_blas_last program_blas_last;
_Thread_local int program_blas_nesting;

/* Its address is this library's alone, of which a process may have several. */
static const char identity;

struct cublasContext {
    const char *owner;
    CUstream stream;
    int pointers, math, multiprocessors;
    void *workspace;
    size_t workspace_bytes;
};

static int is_own(blas_handle handle)
{
    return handle && handle->owner == &identity;
}

static blas_handle kept;

int cublasCreate_v2(blas_handle *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (*handle) (*handle)->owner = &identity;
    if (*handle && kept) {
        (*handle)->stream = kept->stream;
        *kept = **handle;
        free(*handle);
        *handle = kept;
        kept = NULL;
    }
    return *handle ? SUCCESS : INVALID_VALUE;
}

int cublasDestroy_v2(blas_handle handle)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    if (program_blas_keeps) kept = handle;
    else free(handle);
    return SUCCESS;
}

/* As the real one: the workspace that the program gave counts no more. */
int cublasSetStream_v2(blas_handle handle, CUstream stream)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = NULL;
    handle->workspace_bytes = 0;
    return SUCCESS;
}

int cublasGetStream_v2(blas_handle handle, CUstream *stream)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    *stream = handle->stream;
    return SUCCESS;
}

int cublasSetWorkspace_v2(blas_handle handle, void *workspace, size_t bytes)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256) return INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return SUCCESS;
}

int cublasSetPointerMode_v2(blas_handle handle, int mode)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    handle->pointers = mode;
    return SUCCESS;
}

int cublasGetPointerMode_v2(blas_handle handle, int *mode)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    *mode = handle->pointers;
    return SUCCESS;
}

int cublasSetMathMode(blas_handle handle, int mode)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    handle->math = mode;
    return SUCCESS;
}

int cublasGetMathMode(blas_handle handle, int *mode)
{
    if (!is_own(handle)) return NOT_INITIALIZED;
    *mode = handle->math;
    return SUCCESS;
}

int cublasSetSmCountTarget(blas_handle handle, int count)
{
    handle->multiprocessors = count;
    return SUCCESS;
}

int cublasGetSmCountTarget(blas_handle handle, int *count)
{
    *count = handle->multiprocessors;
    return SUCCESS;
}

/* ---- products ---- */

int program_blas_run(int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                     int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc,
                     int64_t batch, struct program_strides step)
{
    program_blas_last =
        (struct program_blas_last){op_a, op_b, m, n, k, lda, ldb, ldc, batch, alpha, a, b, beta, c};
    if (program_blas_idle) return SUCCESS;
    if (m < 0 || n < 0 || k < 0 || lda < 1 || ldb < 1 || ldc < 1 || op_a < 0 || op_b < 0)
        return INVALID_VALUE;
    const float *x = a, *y = b, by = *(const float *)alpha, keep = *(const float *)beta;
    float *z = c;
    for (int64_t item = 0; item < batch; item++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += (double)x[item * step.a + (op_a ? l + i * lda : i + l * lda)] *
                           (double)y[item * step.b + (op_b ? j + l * ldb : l + j * ldb)];
                float *out = &z[item * step.c + i + j * ldc];
                *out = (float)((double)by * sum + (keep != 0 ? (double)keep * (double)*out : 0));
            }
    return SUCCESS;
}

#define ARGUMENTS op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

int cublasSgemm_v2(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    program_blas_count(&program_blas_calls);
    return is_own(handle) ? program_blas_run(ARGUMENTS, 1, (struct program_strides){0, 0, 0})
                          : NOT_INITIALIZED;
}

int cublasSgemm_v2_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                      const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                      const float *beta, float *c, int64_t ldc)
{
    program_blas_count(&program_blas_calls);
    return is_own(handle) ? program_blas_run(ARGUMENTS, 1, (struct program_strides){0, 0, 0})
                          : NOT_INITIALIZED;
}

int cublasSgemmStridedBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                              const float *a, int lda, long long stride_a, const float *b, int ldb,
                              long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                              int batch)
{
    program_blas_count(&program_blas_calls);
    return is_own(handle)
               ? program_blas_run(ARGUMENTS, batch, (struct program_strides){stride_a, stride_b, stride_c})
               : NOT_INITIALIZED;
}

int cublasSgemmStridedBatched_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *a, int64_t lda, long long stride_a,
                                 const float *b, int64_t ldb, long long stride_b, const float *beta, float *c,
                                 int64_t ldc, long long stride_c, int64_t batch)
{
    program_blas_count(&program_blas_calls);
    return is_own(handle)
               ? program_blas_run(ARGUMENTS, batch, (struct program_strides){stride_a, stride_b, stride_c})
               : NOT_INITIALIZED;
}

int cublasSgemmBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const a[], int lda, const float *const b[], int ldb, const float *beta,
                       float *const c[], int ldc, int batch)
{
    int result = is_own(handle) ? SUCCESS : NOT_INITIALIZED;
    program_blas_count(&program_blas_calls);
    for (int i = 0; i < batch && result == SUCCESS; i++)
        result = program_blas_run(op_a, op_b, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc, 1,
                                  (struct program_strides){0, 0, 0});
    program_blas_last =
        (struct program_blas_last){op_a, op_b, m, n, k, lda, ldb, ldc, batch, alpha, a, b, beta, c};
    return result;
}

int cublasSgemmBatched_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                          const float *alpha, const float *const a[], int64_t lda, const float *const b[],
                          int64_t ldb, const float *beta, float *const c[], int64_t ldc, int64_t batch)
{
    return cublasSgemmBatched(handle, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb,
                              beta, c, (int)ldc, (int)batch);
}

int cublasGemmBatchedEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *const a[], int type_a, int lda, const void *const b[], int type_b,
                        int ldb, const void *beta, void *const c[], int type_c, int ldc, int batch,
                        int compute, int algorithm)
{
    (void)compute, (void)algorithm;
    if (type_a || type_b || type_c) { /* counted, not computed */
        program_blas_count(&program_blas_calls);
        return SUCCESS;
    }
    return cublasSgemmBatched(handle, op_a, op_b, m, n, k, alpha, (const float *const *)a, lda,
                              (const float *const *)b, ldb, beta, (float *const *)(const void *)c, ldc,
                              batch);
}

int cublasGemmBatchedEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                           const void *alpha, const void *const a[], int type_a, int64_t lda,
                           const void *const b[], int type_b, int64_t ldb, const void *beta, void *const c[],
                           int type_c, int64_t ldc, int64_t batch, int compute, int algorithm)
{
    return cublasGemmBatchedEx(handle, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, type_a, (int)lda, b,
                               type_b, (int)ldb, beta, c, type_c, (int)ldc, (int)batch, compute, algorithm);
}

/* The real one goes through cublasLtMatmul, too, and the loader sends that call to whoever stands before us.
 */
static int by_lt(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha,
                 const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c,
                 int64_t ldc, int compute)
{
    lt_desc desc;
    lt_layout of_a, of_b, of_c;
    cublasLtMatmulDescCreate(&desc, compute, BLAS_R_32F);
    cublasLtMatmulDescSetAttribute(desc, LT_DESC_TRANSA, &op_a, sizeof op_a);
    cublasLtMatmulDescSetAttribute(desc, LT_DESC_TRANSB, &op_b, sizeof op_b);
    cublasLtMatrixLayoutCreate(&of_a, BLAS_R_32F, (uint64_t)(op_a ? k : m), (uint64_t)(op_a ? m : k), lda);
    cublasLtMatrixLayoutCreate(&of_b, BLAS_R_32F, (uint64_t)(op_b ? n : k), (uint64_t)(op_b ? k : n), ldb);
    cublasLtMatrixLayoutCreate(&of_c, BLAS_R_32F, (uint64_t)m, (uint64_t)n, ldc);
    program_blas_nesting++;
    int result = cublasLtMatmul(NULL, desc, alpha, a, of_a, b, of_b, beta, c, of_c, c, of_c, NULL, NULL, 0,
                                handle->stream);
    program_blas_nesting--;
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(of_a);
    cublasLtMatrixLayoutDestroy(of_b);
    cublasLtMatrixLayoutDestroy(of_c);
    return result;
}

static int gemm_ex(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha,
                   const void *a, int type_a, int64_t lda, const void *b, int type_b, int64_t ldb,
                   const void *beta, void *c, int type_c, int64_t ldc, int compute)
{
    program_blas_count(&program_blas_calls);
    if (type_a || type_b || type_c || program_blas_idle) return SUCCESS; /* counted, not computed */
    return by_lt(handle, ARGUMENTS, compute);
}

int cublasGemmEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algorithm)
{
    (void)algorithm;
    return gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   compute);
}

int cublasGemmEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                    const void *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b,
                    int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute,
                    int algorithm)
{
    (void)algorithm;
    return gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   compute);
}

int cublasSgemmEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                  const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const float *beta,
                  void *c, int type_c, int ldc)
{
    return gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   BLAS_COMPUTE_32F);
}

int cublasSgemmEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                     const float *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b,
                     int64_t ldb, const float *beta, void *c, int type_c, int64_t ldc)
{
    return gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   BLAS_COMPUTE_32F);
}

int cublasGemmStridedBatchedEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lda, long long stride_a, const void *b,
                               int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                               int ldc, long long stride_c, int batch, int compute, int algorithm)
{
    (void)compute, (void)algorithm;
    program_blas_count(&program_blas_calls);
    if (type_a || type_b || type_c) return SUCCESS;
    return is_own(handle)
               ? program_blas_run(ARGUMENTS, batch, (struct program_strides){stride_a, stride_b, stride_c})
               : NOT_INITIALIZED;
}

int cublasGemmStridedBatchedEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                  const void *alpha, const void *a, int type_a, int64_t lda,
                                  long long stride_a, const void *b, int type_b, int64_t ldb,
                                  long long stride_b, const void *beta, void *c, int type_c, int64_t ldc,
                                  long long stride_c, int64_t batch, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, type_a, (int)lda,
                                      stride_a, b, type_b, (int)ldb, stride_b, beta, c, type_c, (int)ldc,
                                      stride_c, (int)batch, compute, algorithm);
}

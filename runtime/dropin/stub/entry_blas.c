/* entry_blas.c — the functions of cuBLAS that this library replaces. Each describes its call in the same
 * form. */
#include "blas_workspace.h"
#include "call_types.h"
#include "entry.h"

/* Calls with arguments that cuBLAS refuses are passed to cuBLAS. */
static bool is_sound(blas_handle handle, int op_a, int op_b, struct intercept *intercept)
{
    static struct refusal unsound = {"a call", "its handle or an op is not valid", ATOMIC_FLAG_INIT};
    if (handle && is_op(op_a) && is_op(op_b)) return true;
    stub_refuse(&unsound, NULL, intercept);
    return false;
}

static bool take(struct refusal *refusal, struct blas_request *request, blas_handle handle, int op_a,
                 int op_b, struct intercept *intercept, int *result)
{
    if (!stub_enter(intercept)) return false;
    if (!is_sound(handle, op_a, op_b, intercept)) return false;
    request->op_a = op_a != BLAS_OP_N;
    request->op_b = op_b != BLAS_OP_N;
    request->handle = handle;
    if (refusal) {
        stub_refuse(refusal, request, intercept);
        return false;
    }
    const struct blas_workspace own = blas_workspace_of(handle);
    request->workspace = own.memory;
    request->workspace_bytes = own.bytes;
    return stub_take(request, intercept, result);
}

/* The parameters have the same names in all functions. */
#define SIZES    .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc
#define POINTERS .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c
#define ONE      .batch = 1
#define MANY     .batch = batch, .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c
#define ARRAYS                                                                                               \
    .batch = batch, .pointers = true, .alpha = alpha, .a = a, .b = b, .beta = beta, .c = (void *)(uintptr_t)c

/* Tries a tuned kernel, unless the call is refused (a refusal, or NULL); else calls the real function, named
 * as in struct real_blas. */
#define ANSWER_UNLESS(refusal, request, function, arguments)                                                 \
    do {                                                                                                     \
        const struct real_blas *real = real_blas(ENTRY_CALLER);                                              \
        struct intercept intercept;                                                                          \
        int result = real ? BLAS_NOT_SUPPORTED : BLAS_NOT_INITIALIZED;                                       \
        if (!real || !real->function) return result;                                                         \
        (request)->real = real;                                                                              \
        if (!take((refusal), (request), handle, op_a, op_b, &intercept, &result))                            \
            result = real->function arguments;                                                               \
        stub_leave(&intercept);                                                                              \
        return result;                                                                                       \
    } while (0)

#define ANSWER(request, function, arguments) ANSWER_UNLESS(NULL, request, function, arguments)

/* ---- cublasSgemm ---- */

EXPORT("libcublas", cublasSgemm_v2);
int ENTRY(cublasSgemm_v2)(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                          int ldc)
{
    struct blas_request request = {.function = "cublasSgemm", SIZES, POINTERS, ONE};
    ANSWER(&request, Sgemm, (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}

EXPORT("libcublas", cublasSgemm_v2_64);
int ENTRY(cublasSgemm_v2_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                             const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                             const float *beta, float *c, int64_t ldc)
{
    struct blas_request request = {.function = "cublasSgemm_64", SIZES, POINTERS, ONE};
    ANSWER(&request, Sgemm64, (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}

EXPORT("libcublas", cublasSgemmStridedBatched);
int ENTRY(cublasSgemmStridedBatched)(blas_handle handle, int op_a, int op_b, int m, int n, int k,
                                     const float *alpha, const float *a, int lda, long long stride_a,
                                     const float *b, int ldb, long long stride_b, const float *beta, float *c,
                                     int ldc, long long stride_c, int batch)
{
    struct blas_request request = {.function = "cublasSgemmStridedBatched", SIZES, POINTERS, MANY};
    ANSWER(&request, SgemmStrided,
           (handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
            batch));
}

EXPORT("libcublas", cublasSgemmStridedBatched_64);
int ENTRY(cublasSgemmStridedBatched_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n,
                                        int64_t k, const float *alpha, const float *a, int64_t lda,
                                        long long stride_a, const float *b, int64_t ldb, long long stride_b,
                                        const float *beta, float *c, int64_t ldc, long long stride_c,
                                        int64_t batch)
{
    struct blas_request request = {.function = "cublasSgemmStridedBatched_64", SIZES, POINTERS, MANY};
    ANSWER(&request, SgemmStrided64,
           (handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
            batch));
}

/* ---- cublasSgemmBatched: the addresses of the matrices are in device memory ---- */

EXPORT("libcublas", cublasSgemmBatched);
int ENTRY(cublasSgemmBatched)(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                              const float *const a[], int lda, const float *const b[], int ldb,
                              const float *beta, float *const c[], int ldc, int batch)
{
    struct blas_request request = {.function = "cublasSgemmBatched", SIZES, ARRAYS};
    ANSWER(&request, SgemmBatched, (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch));
}

EXPORT("libcublas", cublasSgemmBatched_64);
int ENTRY(cublasSgemmBatched_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *const a[], int64_t lda,
                                 const float *const b[], int64_t ldb, const float *beta, float *const c[],
                                 int64_t ldc, int64_t batch)
{
    struct blas_request request = {.function = "cublasSgemmBatched_64", SIZES, ARRAYS};
    ANSWER(&request, SgemmBatched64,
           (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch));
}

/* ---- cublasGemmEx, cublasSgemmEx ---- */

/* Sets the type of the call. NULL: done, else why the call is refused. */
static struct refusal *read_types(struct blas_request *request, int type_a, int type_b, int type_c,
                                  int compute)
{
    static struct refusal types = {"cublasGemmEx", CALL_TYPES_OTHER, ATOMIC_FLAG_INIT};
    if (!call_type_of(type_a, type_b, type_c, compute, &request->type)) return &types;
    request->pedantic = compute == BLAS_COMPUTE_32F_PEDANTIC;
    return NULL;
}

EXPORT("libcublas", cublasGemmEx);
int ENTRY(cublasGemmEx)(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                        const void *beta, void *c, int type_c, int ldc, int compute, int algorithm)
{
    struct blas_request request = {.function = "cublasGemmEx", SIZES, POINTERS, ONE};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmEx,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   compute, algorithm));
}

EXPORT("libcublas", cublasGemmEx_64);
int ENTRY(cublasGemmEx_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                           const void *alpha, const void *a, int type_a, int64_t lda, const void *b,
                           int type_b, int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc,
                           int compute, int algorithm)
{
    struct blas_request request = {.function = "cublasGemmEx_64", SIZES, POINTERS, ONE};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmEx64,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   compute, algorithm));
}

/* Its sums are FP32, whatever the types: as cublasGemmEx with CUBLAS_COMPUTE_32F. */
EXPORT("libcublas", cublasSgemmEx);
int ENTRY(cublasSgemmEx)(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                         const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                         const float *beta, void *c, int type_c, int ldc)
{
    struct blas_request request = {.function = "cublasSgemmEx", SIZES, POINTERS, ONE};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, BLAS_COMPUTE_32F), &request, SgemmEx,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc));
}

EXPORT("libcublas", cublasSgemmEx_64);
int ENTRY(cublasSgemmEx_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                            const float *alpha, const void *a, int type_a, int64_t lda, const void *b,
                            int type_b, int64_t ldb, const float *beta, void *c, int type_c, int64_t ldc)
{
    struct blas_request request = {.function = "cublasSgemmEx_64", SIZES, POINTERS, ONE};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, BLAS_COMPUTE_32F), &request, SgemmEx64,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc));
}

EXPORT("libcublas", cublasGemmStridedBatchedEx);
int ENTRY(cublasGemmStridedBatchedEx)(blas_handle handle, int op_a, int op_b, int m, int n, int k,
                                      const void *alpha, const void *a, int type_a, int lda,
                                      long long stride_a, const void *b, int type_b, int ldb,
                                      long long stride_b, const void *beta, void *c, int type_c, int ldc,
                                      long long stride_c, int batch, int compute, int algorithm)
{
    struct blas_request request = {.function = "cublasGemmStridedBatchedEx", SIZES, POINTERS, MANY};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmStridedEx,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,
                   beta, c, type_c, ldc, stride_c, batch, compute, algorithm));
}

EXPORT("libcublas", cublasGemmStridedBatchedEx_64);
int ENTRY(cublasGemmStridedBatchedEx_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n,
                                         int64_t k, const void *alpha, const void *a, int type_a, int64_t lda,
                                         long long stride_a, const void *b, int type_b, int64_t ldb,
                                         long long stride_b, const void *beta, void *c, int type_c,
                                         int64_t ldc, long long stride_c, int64_t batch, int compute,
                                         int algorithm)
{
    struct blas_request request = {.function = "cublasGemmStridedBatchedEx_64", SIZES, POINTERS, MANY};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmStridedEx64,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,
                   beta, c, type_c, ldc, stride_c, batch, compute, algorithm));
}

EXPORT("libcublas", cublasGemmBatchedEx);
int ENTRY(cublasGemmBatchedEx)(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *const a[], int type_a, int lda, const void *const b[], int type_b,
                               int ldb, const void *beta, void *const c[], int type_c, int ldc, int batch,
                               int compute, int algorithm)
{
    struct blas_request request = {.function = "cublasGemmBatchedEx", SIZES, ARRAYS};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmBatchedEx,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   batch, compute, algorithm));
}

EXPORT("libcublas", cublasGemmBatchedEx_64);
int ENTRY(cublasGemmBatchedEx_64)(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                  const void *alpha, const void *const a[], int type_a, int64_t lda,
                                  const void *const b[], int type_b, int64_t ldb, const void *beta,
                                  void *const c[], int type_c, int64_t ldc, int64_t batch, int compute,
                                  int algorithm)
{
    struct blas_request request = {.function = "cublasGemmBatchedEx_64", SIZES, ARRAYS};
    ANSWER_UNLESS(read_types(&request, type_a, type_b, type_c, compute), &request, GemmBatchedEx64,
                  (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                   batch, compute, algorithm));
}

/* ---- a handle's own workspace ---- */

EXPORT("libcublas", cublasSetWorkspace_v2);
int ENTRY(cublasSetWorkspace_v2)(blas_handle handle, void *workspace, size_t bytes)
{
    const struct real_blas *real = real_blas(ENTRY_CALLER);
    if (!real) return BLAS_NOT_INITIALIZED;
    const int result = real->SetWorkspace ? real->SetWorkspace(handle, workspace, bytes) : BLAS_NOT_SUPPORTED;
    if (result == BLAS_SUCCESS) blas_workspace_set(handle, workspace, bytes);
    return result;
}

/* This resets the program's workspace. */
EXPORT("libcublas", cublasSetStream_v2);
int ENTRY(cublasSetStream_v2)(blas_handle handle, CUstream stream)
{
    const struct real_blas *real = real_blas(ENTRY_CALLER);
    if (!real) return BLAS_NOT_INITIALIZED;
    const int result = real->SetStream ? real->SetStream(handle, stream) : BLAS_NOT_SUPPORTED;
    if (result == BLAS_SUCCESS) blas_workspace_reset(handle);
    return result;
}

EXPORT("libcublas", cublasDestroy_v2);
int ENTRY(cublasDestroy_v2)(blas_handle handle)
{
    const struct real_blas *real = real_blas(ENTRY_CALLER);
    if (!real) return BLAS_NOT_INITIALIZED;
    blas_workspace_forget(handle);
    return real->Destroy ? real->Destroy(handle) : BLAS_NOT_SUPPORTED;
}

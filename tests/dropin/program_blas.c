#include "program_blas.h"

#include "fake_epilogue.h"

#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7 };

int program_blas_calls, program_lt_calls, program_nested_calls, program_blas_idle, program_blas_keeps;
int program_lt_questions;
_Thread_local struct program_blas_last program_blas_last;
static _Thread_local int nesting;

/* From any thread, and no order between them (fake_stream.h). */
static void count(int *calls)
{
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

/* Its address is this library's alone, of which a process may have several. */
static const char identity;

struct cublasContext {
    const char *owner;
    CUstream stream;
    int pointers, math, multiprocessors;
    void *workspace;
    size_t workspace_bytes;
};

/* As the real one, it accepts one of cuBLAS, too. */
enum { LT_MAGIC = 0x17 };
struct cublasLtContext {
    int magic;
};

static int is_own(blas_handle handle)
{
    return handle && handle->owner == &identity;
}

/* Every attribute as a word, and 0 is what it is unless set, but for two. */
struct lt_desc {
    int64_t value[64];
};

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

/* ---- products: column-major, by the definition ---- */

struct strides {
    long long a, b, c;
};

static int run(int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
               int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc, int64_t batch,
               struct strides step)
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
    count(&program_blas_calls);
    return is_own(handle) ? run(ARGUMENTS, 1, (struct strides){0, 0, 0}) : NOT_INITIALIZED;
}

int cublasSgemm_v2_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                      const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                      const float *beta, float *c, int64_t ldc)
{
    count(&program_blas_calls);
    return is_own(handle) ? run(ARGUMENTS, 1, (struct strides){0, 0, 0}) : NOT_INITIALIZED;
}

int cublasSgemmStridedBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                              const float *a, int lda, long long stride_a, const float *b, int ldb,
                              long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                              int batch)
{
    count(&program_blas_calls);
    return is_own(handle) ? run(ARGUMENTS, batch, (struct strides){stride_a, stride_b, stride_c})
                          : NOT_INITIALIZED;
}

int cublasSgemmStridedBatched_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *a, int64_t lda, long long stride_a,
                                 const float *b, int64_t ldb, long long stride_b, const float *beta, float *c,
                                 int64_t ldc, long long stride_c, int64_t batch)
{
    count(&program_blas_calls);
    return is_own(handle) ? run(ARGUMENTS, batch, (struct strides){stride_a, stride_b, stride_c})
                          : NOT_INITIALIZED;
}

int cublasSgemmBatched(blas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const a[], int lda, const float *const b[], int ldb, const float *beta,
                       float *const c[], int ldc, int batch)
{
    int result = is_own(handle) ? SUCCESS : NOT_INITIALIZED;
    count(&program_blas_calls);
    for (int i = 0; i < batch && result == SUCCESS; i++)
        result = run(op_a, op_b, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc, 1,
                     (struct strides){0, 0, 0});
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
        count(&program_blas_calls);
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
    nesting++;
    int result = cublasLtMatmul(NULL, desc, alpha, a, of_a, b, of_b, beta, c, of_c, c, of_c, NULL, NULL, 0,
                                handle->stream);
    nesting--;
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(of_a);
    cublasLtMatrixLayoutDestroy(of_b);
    cublasLtMatrixLayoutDestroy(of_c);
    return result;
}

int cublasGemmEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algorithm)
{
    (void)algorithm;
    count(&program_blas_calls);
    if (type_a || type_b || type_c || program_blas_idle) return SUCCESS; /* counted, not computed */
    return by_lt(handle, ARGUMENTS, compute);
}

int cublasGemmEx_64(blas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                    const void *alpha, const void *a, int type_a, int64_t lda, const void *b, int type_b,
                    int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute,
                    int algorithm)
{
    return cublasGemmEx(handle, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, type_a, (int)lda, b, type_b,
                        (int)ldb, beta, c, type_c, (int)ldc, compute, algorithm);
}

int cublasGemmStridedBatchedEx(blas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lda, long long stride_a, const void *b,
                               int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                               int ldc, long long stride_c, int batch, int compute, int algorithm)
{
    (void)compute, (void)algorithm;
    count(&program_blas_calls);
    if (type_a || type_b || type_c) return SUCCESS;
    return is_own(handle) ? run(ARGUMENTS, batch, (struct strides){stride_a, stride_b, stride_c})
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

/* ---- cublasLt ---- */

int cublasLtCreate(lt_handle *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (!*handle) return INVALID_VALUE;
    (*handle)->magic = LT_MAGIC;
    return SUCCESS;
}

int cublasLtDestroy(lt_handle handle)
{
    free(handle);
    return SUCCESS;
}

int cublasLtMatmulAlgoGetIds(lt_handle handle, int compute, int scale, int type_a, int type_b, int type_c,
                             int type_d, int room, int ids[], int *count)
{
    (void)compute, (void)scale, (void)type_a, (void)type_b, (void)type_c, (void)type_d;
    *count = room > 0;
    if (room > 0) ids[0] = PROGRAM_LT_ALGORITHM;
    return handle && handle->magic == LT_MAGIC ? SUCCESS : NOT_INITIALIZED;
}

int cublasLtMatmulAlgoCheck(lt_handle handle, lt_desc desc, lt_layout layout_a, lt_layout layout_b,
                            lt_layout layout_c, lt_layout layout_d, const struct lt_algorithm *algorithm,
                            struct lt_heuristic *result)
{
    (void)layout_a, (void)layout_b, (void)layout_c, (void)layout_d;
    if (!handle || handle->magic != LT_MAGIC) return NOT_INITIALIZED;
    if (algorithm->data[0] != PROGRAM_LT_ALGORITHM || (algorithm->data[1] == PROGRAM_LT_NO_EPILOGUE &&
                                                       desc->value[LT_DESC_EPILOGUE] != LT_EPILOGUE_DEFAULT))
        return INVALID_VALUE;
    *result = (struct lt_heuristic){.algorithm = *algorithm, .workspace_bytes = PROGRAM_LT_WORKSPACE};
    return SUCCESS;
}

int cublasLtMatmulDescCreate(lt_desc *desc, int compute, int scale)
{
    *desc = calloc(1, sizeof **desc);
    if (!*desc) return INVALID_VALUE;
    (*desc)->value[LT_DESC_COMPUTE_TYPE] = compute;
    (*desc)->value[LT_DESC_SCALE_TYPE] = scale;
    (*desc)->value[LT_DESC_FILL_MODE] = LT_FILL_FULL;
    (*desc)->value[LT_DESC_EPILOGUE] = LT_EPILOGUE_DEFAULT;
    (*desc)->value[LT_DESC_BIAS_DATA_TYPE] = -1;
    return SUCCESS;
}

int cublasLtMatmulDescSetAttribute(lt_desc desc, int what, const void *value, size_t bytes)
{
    if (what < 0 || what >= 64 || bytes > 8) return INVALID_VALUE;
    desc->value[what] = 0;
    memcpy(&desc->value[what], value, bytes);
    return SUCCESS;
}

int cublasLtMatmulDescGetAttribute(lt_desc desc, int what, void *value, size_t room, size_t *written)
{
    count(&program_lt_questions);
    if (what < 0 || what >= 64 || room > 8) return INVALID_VALUE;
    memcpy(value, &desc->value[what], room);
    *written = room;
    return SUCCESS;
}

int cublasLtMatmulDescDestroy(lt_desc desc)
{
    free(desc);
    return SUCCESS;
}

/* Where the bytes of an attribute lie in the 64; the batch's count shares a word with the type, as it may. */
static char *place(lt_layout layout, int what, size_t *bytes)
{
    char *at = (char *)(uintptr_t)layout->data;
    *bytes =
        what == LT_LAYOUT_ROWS || what == LT_LAYOUT_COLS || what == LT_LAYOUT_LD || what >= LT_LAYOUT_STRIDE
            ? 8
            : 4;
    switch (what) {
    case LT_LAYOUT_TYPE:
        return at;
    case LT_LAYOUT_ORDER:
        return at + 4;
    case LT_LAYOUT_BATCH_COUNT:
        return at + 8;
    default:
        return what < LT_LAYOUT_BATCH_MODE
                   ? at + 16 + 8 * (what > LT_LAYOUT_BATCH_COUNT ? what - 3 : what - 2)
                   : NULL;
    }
}

int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    int batch = 1;
    *layout = calloc(1, sizeof **layout);
    if (!*layout) return INVALID_VALUE;
    cublasLtMatrixLayoutSetAttribute(*layout, LT_LAYOUT_TYPE, &type, sizeof type);
    cublasLtMatrixLayoutSetAttribute(*layout, LT_LAYOUT_ROWS, &rows, sizeof rows);
    cublasLtMatrixLayoutSetAttribute(*layout, LT_LAYOUT_COLS, &columns, sizeof columns);
    cublasLtMatrixLayoutSetAttribute(*layout, LT_LAYOUT_LD, &ld, sizeof ld);
    return cublasLtMatrixLayoutSetAttribute(*layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
}

int cublasLtMatrixLayoutSetAttribute(lt_layout layout, int what, const void *value, size_t bytes)
{
    size_t own;
    char *at = place(layout, what, &own);
    if (!at || bytes != own) return INVALID_VALUE;
    memcpy(at, value, own);
    return SUCCESS;
}

int cublasLtMatrixLayoutGetAttribute(lt_layout layout, int what, void *value, size_t room, size_t *written)
{
    size_t own;
    const char *at = place(layout, what, &own);
    count(&program_lt_questions);
    if (!at || room != own) return INVALID_VALUE;
    memcpy(value, at, own);
    *written = own;
    return SUCCESS;
}

int cublasLtMatrixLayoutDestroy(lt_layout layout)
{
    free((void *)(uintptr_t)layout);
    return SUCCESS;
}

static int64_t layout_of(lt_layout layout, int what)
{
    int64_t value = 0;
    size_t own, written;
    place(layout, what, &own);
    cublasLtMatrixLayoutGetAttribute(layout, what, &value, own, &written);
    return value;
}

/* For each element of column-major D, with D so far at `from`. */
struct pass {
    lt_desc desc;
    lt_layout layout;
    const float *from;
    float *to;
    int code; /* fake_epilogue.h */
};

static void pass_over(const struct pass *p)
{
    const float *bias = (const float *)(uintptr_t)p->desc->value[LT_DESC_BIAS_POINTER];
    const int64_t rows = layout_of(p->layout, LT_LAYOUT_ROWS), ld = layout_of(p->layout, LT_LAYOUT_LD),
                  columns = layout_of(p->layout, LT_LAYOUT_COLS),
                  batch = layout_of(p->layout, LT_LAYOUT_BATCH_COUNT),
                  stride = layout_of(p->layout, LT_LAYOUT_STRIDE);
    for (int64_t item = 0; item < batch; item++)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++) {
                const int64_t at = item * stride + i + j * ld;
                float x = p->from[at];
                if (p->code & FAKE_BIAS) x += bias[item * p->desc->value[LT_DESC_BIAS_BATCH_STRIDE] + i];
                p->to[at] = fake_activate(p->code, (double)x);
            }
}

int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout layout_a,
                   const void *b, lt_layout layout_b, const void *beta, const void *c, lt_layout layout_c,
                   void *d, lt_layout layout_d, const void *algorithm, void *workspace,
                   size_t workspace_bytes, CUstream stream)
{
    const struct lt_algorithm *chosen = algorithm;
    (void)layout_c, (void)workspace, (void)stream;
    if (nesting) count(&program_nested_calls);
    else count(&program_lt_calls);
    if (program_blas_idle) return SUCCESS;
    if (!nesting && (!handle || handle->magic != LT_MAGIC)) return NOT_INITIALIZED;
    if (chosen && (chosen->data[0] != PROGRAM_LT_ALGORITHM || workspace_bytes < PROGRAM_LT_WORKSPACE))
        return INVALID_VALUE;
    const int op_a = (int)desc->value[LT_DESC_TRANSA], op_b = (int)desc->value[LT_DESC_TRANSB];
    const int64_t k = layout_of(layout_a, op_a ? LT_LAYOUT_ROWS : LT_LAYOUT_COLS);
    const struct strides step = {layout_of(layout_a, LT_LAYOUT_STRIDE), layout_of(layout_b, LT_LAYOUT_STRIDE),
                                 layout_of(layout_d, LT_LAYOUT_STRIDE)};
    const int64_t epilogue = desc->value[LT_DESC_EPILOGUE];
    const struct pass before = {desc, layout_d, c, d, 0},
                      after = {desc, layout_d, d, d,
                               (epilogue & LT_EPILOGUE_BIAS ? FAKE_BIAS_COLUMN : 0) |
                                   (epilogue & LT_EPILOGUE_RELU ? FAKE_RELU : 0) |
                                   (epilogue & LT_EPILOGUE_GELU ? FAKE_GELU : 0)};
    if (c != d && *(const float *)beta != 0) pass_over(&before);
    const int result =
        run(op_a, op_b, layout_of(layout_d, LT_LAYOUT_ROWS), layout_of(layout_d, LT_LAYOUT_COLS), k, alpha, a,
            layout_of(layout_a, LT_LAYOUT_LD), b, layout_of(layout_b, LT_LAYOUT_LD), beta, d,
            layout_of(layout_d, LT_LAYOUT_LD), layout_of(layout_d, LT_LAYOUT_BATCH_COUNT), step);
    if (!result) pass_over(&after);
    return result;
}

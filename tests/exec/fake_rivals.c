#include "fake_rivals.h"

#include "fake_blas.h"
#include "fake_lt.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 7, NOT_SUPPORTED = 15, AUTOTUNE = 999, COMPUTE_32F = 68 };

static int is_compute_of_fp32(int compute)
{
    return compute == COMPUTE_32F || compute == 69 || compute == 77 || compute == 78;
}

struct fake_rivals fake_rivals;

struct blas {
    void *stream, *workspace;
};

struct lt {
    int64_t value[16];
};

int cublasSetEmulationStrategy(struct blas *handle, int strategy);
int cublasGemmEx(struct blas *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algorithm);
int cublasGemmStridedBatchedEx(struct blas *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int type_a, int lda, long long stride_a,
                               const void *b, int type_b, int ldb, long long stride_b, const void *beta,
                               void *c, int type_c, int ldc, long long stride_c, int batch, int compute,
                               int algorithm);
int cublasGemmBatchedEx(struct blas *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                        const void *beta, void *const *c, int type_c, int ldc, int batch, int compute,
                        int algorithm);

/* ---- products ---- */

struct product {
    int op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c;
    int activation; /* of cublasLt's epilogues: 2: ReLU, 32: GELU */
    const float *bias;
    int64_t stride_bias;
};

static double activated(int activation, double x)
{
    const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return activation == 2 ? (x < 0 ? 0 : x) : activation == 32 ? x / (1 + exp(-2 * inner)) : x;
}

/* c is read, d is written. */
static void run(const struct product *p, const float *alpha, const float *a, const float *b,
                const float *beta, const float *c, float *d, int wrong)
{
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k && *alpha != 0; l++)
                    sum += (double)a[item * p->stride_a + (p->op_a ? l + i * p->lda : i + l * p->lda)] *
                           (double)b[item * p->stride_b + (p->op_b ? j + l * p->ldb : l + j * p->ldb)];
                const int64_t at = item * p->stride_c + i + j * p->ldc;
                float *out = &d[at];
                double x = (double)*alpha * sum + (*beta != 0 ? (double)*beta * (double)c[at] : 0);
                if (p->bias) x += (double)p->bias[item * p->stride_bias + i];
                *out = (float)activated(p->activation, x);
                if (wrong && i == 0 && j == 0) *out += 1;
            }
}

int cublasCreate_v2(struct blas **handle)
{
    *handle = calloc(1, sizeof **handle);
    fake_rivals.open++;
    return SUCCESS;
}

int cublasDestroy_v2(struct blas *handle)
{
    free(handle);
    fake_rivals.open--;
    return SUCCESS;
}

int cublasGetProperty(int which, int *value)
{
    *value = which == 0 ? 13 : 1;
    return SUCCESS;
}

int cublasSetStream_v2(struct blas *handle, void *stream)
{
    *handle = (struct blas){stream, NULL};
    return SUCCESS;
}

int cublasSetWorkspace_v2(struct blas *handle, void *workspace, size_t bytes)
{
    handle->workspace = bytes ? workspace : NULL;
    return SUCCESS;
}

int cublasSetMathMode(struct blas *handle, int mode)
{
    fake_rivals.math = mode;
    return handle && (mode == 0 || mode == 2) ? SUCCESS : INVALID_VALUE;
}

int cublasSetEmulationStrategy(struct blas *handle, int strategy)
{
    fake_rivals.emulation = strategy;
    return handle && !fake_rivals.no_emulation ? SUCCESS : NOT_SUPPORTED;
}

int cublasSetPointerMode_v2(struct blas *handle, int mode)
{
    return handle && mode == 0 ? SUCCESS : INVALID_VALUE;
}

int cublasSgemm_v2(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, 0, lda, 0, b, 0, ldb, 0, beta, c,
                                      0, ldc, 0, 1, COMPUTE_32F, -1);
}

int cublasSgemmStridedBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda, long long stride_a, const float *b,
                              int ldb, long long stride_b, const float *beta, float *c, int ldc,
                              long long stride_c, int batch)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, 0, lda, stride_a, b, 0, ldb,
                                      stride_b, beta, c, 0, ldc, stride_c, batch, COMPUTE_32F, -1);
}

int cublasSgemmBatched(struct blas *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                       const float *const *a, int lda, const float *const *b, int ldb, const float *beta,
                       float *const *c, int ldc, int batch)
{
    if (!handle->stream || !handle->workspace || batch > 65535) return INVALID_VALUE;
    fake_rivals.products++;
    fake_rivals.pointer_products++;
    const struct product p = {op_a, op_b, m, n, k, lda, ldb, ldc, 1, 0, 0, 0, 0, NULL, 0};
    for (int item = 0; item < batch; item++) run(&p, alpha, a[item], b[item], beta, c[item], c[item], 0);
    fake_rivals.spend(fake_rivals.answer[0].us);
    return SUCCESS;
}

/* Products of 16-bit elements are not computed. */
static bool is_noted(int type_a, int type_b, int type_c, int compute)
{
    fake_rivals.element = type_a;
    fake_rivals.compute = compute;
    return type_a == type_b && (type_c == type_a || type_c == 0) && (type_a == 2 || type_a == 14);
}

int cublasGemmEx(struct blas *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                 void *c, int type_c, int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb,
                                      0, beta, c, type_c, ldc, 0, 1, compute, algorithm);
}

int cublasGemmBatchedEx(struct blas *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                        const void *beta, void *const *c, int type_c, int ldc, int batch, int compute,
                        int algorithm)
{
    (void)algorithm;
    if (type_a && is_noted(type_a, type_b, type_c, compute)) return SUCCESS;
    if (type_a || type_b || type_c || !is_compute_of_fp32(compute)) return INVALID_VALUE;
    fake_rivals.compute = compute;
    return cublasSgemmBatched(handle, op_a, op_b, m, n, k, alpha, (const float *const *)a, lda,
                              (const float *const *)b, ldb, beta, (float *const *)(const void *)c, ldc,
                              batch);
}

/* Algorithm 0 is the autotuner's choice. */
int cublasGemmStridedBatchedEx(struct blas *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int type_a, int lda, long long stride_a,
                               const void *b, int type_b, int ldb, long long stride_b, const void *beta,
                               void *c, int type_c, int ldc, long long stride_c, int batch, int compute,
                               int algorithm)
{
    const struct fake_answer *answer = &fake_rivals.answer[0];
    if (type_a && is_noted(type_a, type_b, type_c, compute)) return SUCCESS;
    if (!handle->stream || !handle->workspace || type_a || type_b || type_c || !is_compute_of_fp32(compute) ||
        batch > 65535)
        return INVALID_VALUE;
    fake_rivals.products++;
    fake_rivals.compute = compute;
    if (algorithm == AUTOTUNE) fake_rivals.autotune_calls++;
    if (algorithm == AUTOTUNE && answer->us <= 0) return NOT_SUPPORTED;
    run(&(struct product){op_a, op_b, m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c, 0, NULL,
                          0},
        alpha, a, b, beta, c, c, algorithm == AUTOTUNE && answer->wrong);
    fake_rivals.spend(answer->us);
    return SUCCESS;
}

/* ---- cublasLt: an object holds its attributes by number; sizes and type of a layout are attributes, too
 * ---- */

static int make(struct lt **object)
{
    *object = calloc(1, sizeof **object);
    fake_rivals.open++;
    return *object ? SUCCESS : INVALID_VALUE;
}

static int destroy(struct lt *object)
{
    free(object);
    fake_rivals.open--;
    return SUCCESS;
}

static int set(struct lt *object, int what, const void *value, size_t bytes, size_t expected)
{
    if (what < 0 || what >= 16 || bytes != expected) return INVALID_VALUE;
    object->value[what] = 0;
    memcpy(&object->value[what], value, bytes);
    return SUCCESS;
}

int cublasLtCreate(struct lt **handle)
{
    return make(handle);
}

int cublasLtDestroy(struct lt *handle)
{
    return destroy(handle);
}

int cublasLtMatmulDescCreate(struct lt **desc, int compute, int scale)
{
    fake_rivals.compute = compute;
    return is_compute_of_fp32(compute) && scale == 0 ? make(desc) : INVALID_VALUE;
}

int cublasLtMatmulDescSetAttribute(struct lt *desc, int what, const void *value, size_t bytes)
{
    return what == 3 || what == 4 || what == 7 ? set(desc, what, value, bytes, 4)
           : what == 8 || what == 10           ? set(desc, what, value, bytes, 8)
                                               : INVALID_VALUE;
}

int cublasLtMatmulDescDestroy(struct lt *desc)
{
    return destroy(desc);
}

int cublasLtMatrixLayoutCreate(struct lt **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    int result = make(layout);
    const int64_t values[] = {type, 0, (int64_t)rows, (int64_t)columns, ld, 1};
    memcpy((*layout)->value, values, sizeof values);
    return result;
}

int cublasLtMatrixLayoutSetAttribute(struct lt *layout, int what, const void *value, size_t bytes)
{
    return what == 5   ? set(layout, what, value, bytes, 4)
           : what == 6 ? set(layout, what, value, bytes, 8)
                       : INVALID_VALUE;
}

int cublasLtMatrixLayoutDestroy(struct lt *layout)
{
    return destroy(layout);
}

int cublasLtMatmulPreferenceCreate(struct lt **preference)
{
    return make(preference);
}

int cublasLtMatmulPreferenceSetAttribute(struct lt *preference, int what, const void *value, size_t bytes)
{
    return set(preference, what, value, bytes, what == 1 ? 8 : 4);
}

int cublasLtMatmulPreferenceDestroy(struct lt *preference)
{
    return destroy(preference);
}

int cublasLtMatmulAlgoGetHeuristic(struct lt *handle, struct lt *desc, struct lt *a, struct lt *b,
                                   struct lt *c, struct lt *d, struct lt *preference, int wanted,
                                   struct lt_answer *answers, int *count)
{
    (void)a, (void)b, (void)c, (void)d;
    if (!handle || !preference) return INVALID_VALUE;
    if (desc->value[7] & 4 && !desc->value[8])
        return NOT_SUPPORTED; /* a bias is asked for before it is known */
    fake_rivals.alignment_a = (unsigned)preference->value[5];
    fake_rivals.sums = (unsigned)preference->value[3];
    *count = fake_rivals.answers < wanted ? fake_rivals.answers : wanted;
    for (int i = 0; i < *count; i++)
        answers[i] = (struct lt_answer){.algorithm = {(uint64_t)i},
                                        .workspace_bytes = fake_rivals.answer[i].workspace_bytes,
                                        .state = fake_rivals.answer[i].state};
    return *count ? SUCCESS : NOT_SUPPORTED;
}

int cublasLtMatmul(struct lt *handle, struct lt *desc, const void *alpha, const void *a, struct lt *of_a,
                   const void *b, struct lt *of_b, const void *beta, const void *c, struct lt *of_c, void *d,
                   struct lt *of_d, const uint64_t *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream)
{
    enum { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS = 8, STRIDE_BIAS = 10 };
    enum { ROWS = 2, COLUMNS = 3, LD = 4, BATCH = 5, STRIDE = 6 };
    const struct fake_answer *answer = &fake_rivals.answer[*algorithm];
    const int op_a = (int)desc->value[TRANSA], op_b = (int)desc->value[TRANSB];
    const struct product p = {op_a,
                              op_b,
                              of_d->value[ROWS],
                              of_d->value[COLUMNS],
                              of_a->value[op_a ? ROWS : COLUMNS],
                              of_a->value[LD],
                              of_b->value[LD],
                              of_d->value[LD],
                              of_d->value[BATCH],
                              of_a->value[STRIDE],
                              of_b->value[STRIDE],
                              of_d->value[STRIDE],
                              (int)desc->value[EPILOGUE] & (2 | 32),
                              desc->value[EPILOGUE] & 4 ? (const float *)(uintptr_t)desc->value[BIAS] : NULL,
                              desc->value[STRIDE_BIAS]};
    if (!handle || !stream || !workspace || workspace_bytes < answer->workspace_bytes || answer->us <= 0 ||
        of_c != of_d || of_a->value[op_a ? COLUMNS : ROWS] != p.m ||
        of_b->value[op_b ? ROWS : COLUMNS] != p.n || of_b->value[op_b ? COLUMNS : ROWS] != p.k ||
        of_a->value[BATCH] != p.batch || of_b->value[BATCH] != p.batch)
        return NOT_SUPPORTED;
    fake_rivals.out_of_place = c != d;
    run(&p, alpha, a, b, beta, c, d, answer->wrong);
    fake_rivals.spend(answer->us);
    return SUCCESS;
}

#include "kernel.h"
#include "measure.h"
#include "oracle.h"
#include "rival_open.h"
#include "trial_setup.h"

#include "library.h"
#include "stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((size_t)64 << 20)
#define AGAIN_BLOCK_US  4000.0

enum {
    ANSWERS_MAX = 32,
    GLANCE_BLOCKS = 3,
    AGAIN = 4 /* the fastest ones are timed again */,
    AGAIN_BLOCKS = 9
};

/* The few prototypes and values of cublasLt.h that are needed: a toolkit for compiling kernels may lack the
 * header. */
typedef struct lt_context *lt_handle;
typedef struct lt_opaque *lt_object;
enum { LT_SUCCESS = 0, LT_R_32F = 0, LT_OP_N = 0, LT_OP_T = 1 };
enum {
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_BIAS_BATCH_STRIDE = 10
};
enum { LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_GELU = 32 };
enum { LT_LAYOUT_BATCH_COUNT = 5, LT_LAYOUT_BATCH_STRIDE = 6 };
enum {
    LT_PREFER_WORKSPACE = 1,
    LT_PREFER_ALIGN_A = 5,
    LT_PREFER_ALIGN_B,
    LT_PREFER_ALIGN_C,
    LT_PREFER_ALIGN_D
};

struct lt_algorithm {
    uint64_t data[8];
};

struct lt_answer {
    struct lt_algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

static struct {
    int (*Create)(lt_handle *);
    int (*Destroy)(lt_handle);
    int (*DescCreate)(lt_object *, int compute, int scale);
    int (*DescSet)(lt_object, int, const void *, size_t);
    int (*DescDestroy)(lt_object);
    int (*LayoutCreate)(lt_object *, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*LayoutSet)(lt_object, int, const void *, size_t);
    int (*LayoutDestroy)(lt_object);
    int (*PreferenceCreate)(lt_object *);
    int (*PreferenceSet)(lt_object, int, const void *, size_t);
    int (*PreferenceDestroy)(lt_object);
    int (*Heuristic)(lt_handle, lt_object desc, lt_object a, lt_object b, lt_object c, lt_object d,
                     lt_object preference, int wanted, struct lt_answer *, int *count);
    int (*Matmul)(lt_handle, lt_object desc, const void *alpha, const void *a, lt_object, const void *b,
                  lt_object, const void *beta, const void *c, lt_object, void *d, lt_object,
                  const struct lt_algorithm *, void *workspace, size_t, CUstream);
} lt;

static const struct library_symbol entries[] = {
    {"cublasLtCreate", &lt.Create},
    {"cublasLtDestroy", &lt.Destroy},
    {"cublasLtMatmulDescCreate", &lt.DescCreate},
    {"cublasLtMatmulDescSetAttribute", &lt.DescSet},
    {"cublasLtMatmulDescDestroy", &lt.DescDestroy},
    {"cublasLtMatrixLayoutCreate", &lt.LayoutCreate},
    {"cublasLtMatrixLayoutSetAttribute", &lt.LayoutSet},
    {"cublasLtMatrixLayoutDestroy", &lt.LayoutDestroy},
    {"cublasLtMatmulPreferenceCreate", &lt.PreferenceCreate},
    {"cublasLtMatmulPreferenceSetAttribute", &lt.PreferenceSet},
    {"cublasLtMatmulPreferenceDestroy", &lt.PreferenceDestroy},
    {"cublasLtMatmulAlgoGetHeuristic", &lt.Heuristic},
    {"cublasLtMatmul", &lt.Matmul},
};

static enum status load(void)
{
    if (lt.Matmul) return OK;
    char why[LIBRARY_WHY_MAX];
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
    const struct library_names library = {"GEMMTUNE_LIBCUBLASLT", names, 3, true};
    void *handle = library_open(&library, why);
    if (!handle) return fail(E_ABSENT, "no cublasLt (%s)", why);
    const char *missing = library_bind(handle, entries, sizeof entries / sizeof *entries);
    return missing ? fail(E_ABSENT, "the cublasLt found lacks %s", missing) : OK;
}

struct lt_rival {
    struct device *device;
    lt_handle handle;
    lt_object desc, a, b, c, preference; /* a: cublasLt's first operand, our B */
    struct device_buffer workspace;
    struct lt_algorithm algorithm; /* the one that is launched */
};

static enum status check(int result, const char *what)
{
    if (result == LT_SUCCESS) return OK;
    /* cublasLt hides the driver's result; the next driver call tells whether the context is usable. */
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_ABSENT, "cublasLt could not %s (status %d)", what, result);
}

static void *address(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

static enum status point_to_bias(const struct lt_rival *r, CUdeviceptr bias)
{
    const void *pointer = address(bias);
    return bias ? check(lt.DescSet(r->desc, LT_DESC_BIAS_POINTER, &pointer, sizeof pointer), "take the bias")
                : OK;
}

static enum status lt_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct lt_rival *r = opaque;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    void *d = address(operands->c), *c = operands->source ? address(operands->source) : d;
    enum status st = point_to_bias(r, operands->bias); /* every set has its own */
    if (st) return st;
    int result = lt.Matmul(r->handle, r->desc, &alpha_f, address(operands->b), r->a, address(operands->a),
                           r->b, &beta_f, c, r->c, d, r->c, &r->algorithm, address(r->workspace.address),
                           r->workspace.bytes, r->device->stream);
    return result == LT_SUCCESS ? OK : check(result, "run the problem");
}

static void lt_close(void *opaque)
{
    struct lt_rival *r = opaque;
    if (r->preference) lt.PreferenceDestroy(r->preference);
    if (r->desc) lt.DescDestroy(r->desc);
    if (r->a) lt.LayoutDestroy(r->a);
    if (r->b) lt.LayoutDestroy(r->b);
    if (r->c) lt.LayoutDestroy(r->c);
    if (r->handle) lt.Destroy(r->handle);
    device_free(&r->workspace);
    free(r);
}

/* A row-major matrix of rows x columns is the column-major one of columns x rows. */
static enum status describe(lt_object *layout, int64_t rows, int64_t columns, int64_t ld, int64_t batch,
                            int64_t stride)
{
    int count = (int)batch;
    enum status st =
        check(lt.LayoutCreate(layout, LT_R_32F, (uint64_t)columns, (uint64_t)rows, ld > 1 ? ld : 1),
              "describe a matrix");
    if (!st && batch > 1) {
        st = check(lt.LayoutSet(*layout, LT_LAYOUT_BATCH_COUNT, &count, sizeof count), "describe a batch");
        if (!st)
            st = check(lt.LayoutSet(*layout, LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride),
                       "describe a batch");
    }
    return st;
}

/* The largest power of two, up to 256, of which an operand's address in every set is a multiple. */
static uint32_t alignment(const struct workload *work, enum launch_operand which)
{
    CUdeviceptr bits = 256;
    for (int set = WORKLOAD_EXACT; set < work->layout.sets; set++) {
        struct operands o = workload_operands(work, set);
        bits |= which == LAUNCH_A        ? o.a
                : which == LAUNCH_B      ? o.b
                : which == LAUNCH_SOURCE ? (o.source ? o.source : o.c)
                                         : o.c;
    }
    return (uint32_t)(bits & (~bits + 1));
}

static enum status prefer(const struct lt_rival *r, const struct workload *work)
{
    /* Its first operand is our B. */
    const uint32_t a = alignment(work, LAUNCH_B), b = alignment(work, LAUNCH_A),
                   c = alignment(work, LAUNCH_SOURCE), d = alignment(work, LAUNCH_C);
    const struct {
        int key;
        const void *value;
        size_t bytes;
    } all[] = {{LT_PREFER_WORKSPACE, &r->workspace.bytes, sizeof r->workspace.bytes},
               {LT_PREFER_ALIGN_A, &a, sizeof a},
               {LT_PREFER_ALIGN_B, &b, sizeof b},
               {LT_PREFER_ALIGN_C, &c, sizeof c},
               {LT_PREFER_ALIGN_D, &d, sizeof d}};
    enum status st = OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && !st; i++)
        st = check(lt.PreferenceSet(r->preference, all[i].key, all[i].value, all[i].bytes),
                   "take a preference");
    return st;
}

/* The columns of our C are the rows of cublasLt's. The bias is known before algorithms are asked for, because
 * they depend on it. */
static enum status set_epilogue(const struct lt_rival *r, const struct workload *work)
{
    const struct problem *p = &work->problem;
    const enum epilogue_activation activation = epilogue_activation(p->epilogue);
    uint32_t epilogue = activation == ACTIVATION_RELU   ? LT_EPILOGUE_RELU
                        : activation == ACTIVATION_GELU ? LT_EPILOGUE_GELU
                                                        : 0;
    if (epilogue_bias(p->epilogue) == BIAS_COLUMN) epilogue |= LT_EPILOGUE_BIAS;
    if (!epilogue) return OK; /* cublasLt's default */
    enum status st =
        check(lt.DescSet(r->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue), "take the epilogue");
    if (!st) st = point_to_bias(r, workload_operands(work, 0).bias);
    if (!st && p->stride_bias)
        st = check(lt.DescSet(r->desc, LT_DESC_BIAS_BATCH_STRIDE, &p->stride_bias, sizeof p->stride_bias),
                   "take the biases of a batch");
    return st;
}

/* Operands are exchanged, as in blas.c. */
static enum status set_up(struct lt_rival *r, const struct trial_setup *setup, int compute)
{
    const struct problem *p = &setup->problem;
    int op_a = p->trans_a ? LT_OP_T : LT_OP_N, op_b = p->trans_b ? LT_OP_T : LT_OP_N;
    if (compute == RIVAL_COMPUTE_32F && rival_must_be_pedantic()) compute = RIVAL_COMPUTE_32F_PEDANTIC;
    enum status st = check(lt.Create(&r->handle), "start");
    if (!st) st = check(lt.DescCreate(&r->desc, compute, LT_R_32F), "describe the product");
    if (!st) st = check(lt.DescSet(r->desc, LT_DESC_TRANSA, &op_b, sizeof op_b), "take the first op");
    if (!st) st = check(lt.DescSet(r->desc, LT_DESC_TRANSB, &op_a, sizeof op_a), "take the second op");
    if (!st) st = set_epilogue(r, &setup->work);
    if (!st) st = describe(&r->a, problem_rows_b(p), problem_cols_b(p), p->ldb, p->batch, p->stride_b);
    if (!st) st = describe(&r->b, problem_rows_a(p), problem_cols_a(p), p->lda, p->batch, p->stride_a);
    if (!st) st = describe(&r->c, p->m, p->n, p->ldc, p->batch, p->stride_c);
    if (!st) st = check(lt.PreferenceCreate(&r->preference), "take preferences");
    if (!st) st = device_allocate(&r->workspace, WORKSPACE_BYTES);
    return st ? st : prefer(r, &setup->work);
}

/* ---- choosing ---- */

struct entrant {
    int answer;
    double time_us; /* INFINITY: does not run */
};

static int by_time(const void *x, const void *y)
{
    double a = ((const struct entrant *)x)->time_us, b = ((const struct entrant *)y)->time_us;
    return (a > b) - (a < b);
}

static enum status time_answer(struct trial_setup *setup, const struct kernel *kernel, int blocks,
                               double block_us, double *time_us)
{
    struct timed timed = {0};
    double samples[MEASURE_BLOCKS_MAX];
    int64_t calls;
    enum status st = timed_start(&setup->watch, &setup->work, kernel, &timed);
    if (!st) st = timed_blocks(&timed, blocks, block_us, samples, &calls, NULL);
    timed_stop(&timed);
    *time_us = st ? (double)INFINITY : stats_median(samples, (size_t)blocks);
    return st == E_ABSENT ? OK : st; /* a proposal that does not run is not a rival */
}

static enum status time_some(struct trial_setup *setup, struct kernel *kernel,
                             const struct lt_answer *answers, struct entrant *entrants, int count, int blocks,
                             double block_us)
{
    struct lt_rival *r = kernel->self;
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        r->algorithm = answers[entrants[i].answer].algorithm;
        st = time_answer(setup, kernel, blocks, block_us, &entrants[i].time_us);
    }
    qsort(entrants, (size_t)count, sizeof *entrants, by_time);
    return st;
}

static void enter(struct lt_rival *r, const struct lt_answer *answers, int answer, int proposed, char *detail)
{
    r->algorithm = answers[answer].algorithm;
    snprintf(detail, RIVAL_DETAIL_MAX, "answer %d of %d", answer + 1, proposed);
}

/* The fastest entrant that is right; or the first one, right or not: an anchor is judged by its user. */
static enum status choose(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char *detail)
{
    struct lt_rival *r = kernel->self;
    struct lt_answer answers[ANSWERS_MAX];
    struct entrant entrants[ANSWERS_MAX];
    int proposed = 0, count = 0;
    enum status st = check(lt.Heuristic(r->handle, r->desc, r->a, r->b, r->c, r->c, r->preference,
                                        ANSWERS_MAX, answers, &proposed),
                           "propose anything for the problem");
    if (st) return st;
    for (int i = 0; i < proposed; i++)
        if (answers[i].state == LT_SUCCESS && answers[i].workspace_bytes <= r->workspace.bytes)
            entrants[count++] = (struct entrant){i, 0};
    if (row->algorithm == RIVAL_ALGORITHM_FIRST && count > 0) {
        enter(r, answers, entrants[0].answer, proposed, detail);
        return OK;
    }
    st = time_some(setup, kernel, answers, entrants, count, GLANCE_BLOCKS, MEASURE_BLOCK_US);
    if (!st)
        st = time_some(setup, kernel, answers, entrants, count < AGAIN ? count : AGAIN, AGAIN_BLOCKS,
                       AGAIN_BLOCK_US);
    for (int i = 0; i < count && !st && isfinite(entrants[i].time_us); i++) {
        struct judgement judgement;
        enter(r, answers, entrants[i].answer, proposed, detail);
        st = oracle_judge(&setup->oracle, kernel, &judgement);
        if (!st && judgement.right) return OK;
        if (!st) st = oracle_restore(&setup->oracle);
    }
    return st ? st : fail(E_ABSENT, "none of the %d algorithms of cublasLt runs and is right", proposed);
}

enum status rival_lt_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX])
{
    *kernel = (struct kernel){0};
    enum status st = load();
    if (st) return st;
    struct lt_rival *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory while opening cublasLt");
    r->device = setup->device;
    *kernel = (struct kernel){r, lt_launch, lt_close};
    st = set_up(r, setup, row->compute);
    if (!st) st = choose(setup, row, kernel, detail);
    if (st) kernel_close(kernel);
    return st;
}

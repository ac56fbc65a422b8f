#include "kernel.h"
#include "measure.h"
#include "oracle.h"
#include "rival_open.h"
#include "trial_setup.h"

#include "blas_lt.h"
#include "stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_BLOCK_US 4000.0

enum { GLANCE_BLOCKS = 3, AGAIN = 4 /* the fastest ones are timed again */, AGAIN_BLOCKS = 9 };

struct lt_rival {
    struct device *device;
    struct blas_lt_product product;
    struct blas_lt_algorithm algorithm;
    blas_lt_object desc, preference;
    struct device_buffer workspace;
};

static enum status check(int result, const char *what)
{
    if (result == 0) return OK;
    /* cublasLt hides the driver's result; the next driver call tells whether the context is usable. */
    enum status st = device_check(cuda.CtxSynchronize(), what);
    return st ? st : fail(E_ABSENT, "cublasLt could not %s (status %d)", what, result);
}

static void *address(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

static enum status lt_launch(void *opaque, const struct operands *operands, double alpha, double beta)
{
    const struct lt_rival *r = opaque;
    const struct blas_lt_product *x = &r->product;
    float alpha_f = (float)alpha, beta_f = (float)beta;
    void *d = address(operands->c), *c = operands->source ? address(operands->source) : d;
    /* Every set has a bias of its own. */
    int result = operands->bias ? blas_lt_set_bias(r->desc, address(operands->bias)) : 0;
    if (!result)
        result = blas_lt.Matmul(x->handle, r->desc, &alpha_f, address(operands->b), x->a,
                                address(operands->a), x->b, &beta_f, c, x->c, d, x->c, &r->algorithm,
                                address(r->workspace.address), r->workspace.bytes, r->device->stream);
    return check(result, "run the problem");
}

static void lt_close(void *opaque)
{
    struct lt_rival *r = opaque;
    blas_lt_handle handle = r->product.handle;
    if (r->preference) blas_lt.PreferenceDestroy(r->preference);
    if (r->desc) blas_lt.DescDestroy(r->desc);
    blas_lt_close(&r->product);
    if (handle) blas_lt.Destroy(handle);
    device_free(&r->workspace);
    free(r);
}

/* The largest power of two, up to BLAS_LT_ALIGNMENT, of which an operand's address in every set is a
 * multiple. */
static uint32_t alignment(const struct workload *work, enum launch_operand which)
{
    CUdeviceptr bits = BLAS_LT_ALIGNMENT;
    for (int set = WORKLOAD_EXACT; set < work->layout.sets; set++) {
        struct operands o = workload_operands(work, set);
        bits |= which == LAUNCH_A        ? o.a
                : which == LAUNCH_B      ? o.b
                : which == LAUNCH_SOURCE ? (o.source ? o.source : o.c)
                                         : o.c;
    }
    return (uint32_t)(bits & (~bits + 1));
}

static enum status set_up(struct lt_rival *r, const struct trial_setup *setup, int compute)
{
    const struct workload *work = &setup->work;
    struct blas_lt_product *x = &r->product;
    x->problem = setup->problem;
    x->compute =
        compute == RIVAL_COMPUTE_32F && rival_must_be_pedantic() ? RIVAL_COMPUTE_32F_PEDANTIC : compute;
    /* Its first operand is our B. */
    const uint32_t aligned[] = {alignment(work, LAUNCH_B), alignment(work, LAUNCH_A),
                                alignment(work, LAUNCH_SOURCE), alignment(work, LAUNCH_C)};
    const CUdeviceptr bias = workload_operands(work, 0).bias;
    enum status st = check(blas_lt.Create(&x->handle), "start");
    if (!st) st = check(blas_lt_make_desc(x, &r->desc), "describe the product");
    if (!st && bias) st = check(blas_lt_set_bias(r->desc, address(bias)), "take the bias");
    if (!st) st = check(blas_lt_describe(x), "describe the matrices");
    if (!st) st = check(blas_lt.PreferenceCreate(&r->preference), "take preferences");
    if (!st) st = device_allocate(&r->workspace, BLAS_LT_WORKSPACE_BYTES);
    return st ? st : check(blas_lt_prefer(r->preference, r->workspace.bytes, aligned), "take a preference");
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
                             const struct blas_lt_answer *answers, struct entrant *entrants, int count,
                             int blocks, double block_us)
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

static void enter(struct lt_rival *r, const struct blas_lt_answer *answers, int answer, int proposed,
                  char *detail)
{
    r->algorithm = answers[answer].algorithm;
    snprintf(detail, RIVAL_DETAIL_MAX, "answer %d of %d", answer + 1, proposed);
}

/* The fastest entrant that is right; or the first one, right or not: an anchor is judged by its user. */
static enum status choose(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char *detail)
{
    struct lt_rival *r = kernel->self;
    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX];
    struct entrant entrants[BLAS_LT_ANSWERS_MAX];
    int proposed = 0, count = 0;
    enum status st = check(blas_lt_propose(&r->product, r->desc, r->preference, answers, &proposed),
                           "propose anything for the problem");
    if (st) return st;
    for (int i = 0; i < proposed; i++)
        if (blas_lt_usable(&answers[i], r->workspace.bytes)) entrants[count++] = (struct entrant){i, 0};
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
    enum status st = blas_lt_load();
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

#include "blas.h"
#include "lt_kernel.h"
#include "measure.h"
#include "oracle.h"
#include "rival_open.h"
#include "trial_setup.h"

#include "stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_BLOCK_US 4000.0

enum { GLANCE_BLOCKS = 3, AGAIN = 4 /* the fastest ones are timed again */, AGAIN_BLOCKS = 9 };

/* The largest power of two, up to BLAS_LT_ALIGNMENT, of which an operand's address in every set is a
 * multiple. */
static uint32_t alignment(const struct workload *work, enum operand which)
{
    CUdeviceptr bits = BLAS_LT_ALIGNMENT;
    for (int set = WORKLOAD_EXACT; set < work->layout.sets; set++) {
        const struct operands o = workload_operands(work, set);
        bits |= o.at[which] ? o.at[which] : o.at[OPERAND_C]; /* a source that is C */
    }
    return (uint32_t)(bits & (~bits + 1));
}

static enum status open_product(struct trial_setup *setup, int compute, struct kernel *kernel)
{
    const struct workload *work = &setup->work;
    /* The first operand of cublasLt is our B. */
    const uint32_t aligned[] = {alignment(work, OPERAND_B), alignment(work, OPERAND_A),
                                alignment(work, OPERAND_SOURCE), alignment(work, OPERAND_C)};
    enum status st = lt_kernel_open(
        setup->device, &setup->problem,
        compute == BLAS_COMPUTE_32F && blas_must_be_pedantic() ? BLAS_COMPUTE_32F_PEDANTIC : compute, aligned,
        workload_operands(work, 0).at[OPERAND_BIAS], BLAS_LT_WORKSPACE_BYTES, kernel);
    return st ? st : lt_kernel_reserve(kernel, BLAS_LT_WORKSPACE_BYTES);
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
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        lt_kernel_use(kernel, &answers[entrants[i].answer].algorithm);
        st = time_answer(setup, kernel, blocks, block_us, &entrants[i].time_us);
    }
    qsort(entrants, (size_t)count, sizeof *entrants, by_time);
    return st;
}

static void enter(struct kernel *kernel, const struct blas_lt_answer *answers, int answer, int proposed,
                  char *detail)
{
    lt_kernel_use(kernel, &answers[answer].algorithm);
    snprintf(detail, RIVAL_DETAIL_MAX, "answer %d of %d", answer + 1, proposed);
}

/* The fastest entrant that is right; or the first one, right or not: an anchor is judged by its user. */
static enum status choose(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char *detail)
{
    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX];
    struct entrant entrants[BLAS_LT_ANSWERS_MAX];
    int proposed = 0, count = 0;
    enum status st = lt_kernel_propose(kernel, answers, &proposed);
    if (st) return st;
    for (int i = 0; i < proposed; i++)
        if (blas_lt_usable(&answers[i], BLAS_LT_WORKSPACE_BYTES)) entrants[count++] = (struct entrant){i, 0};
    if (row->algorithm == RIVAL_ALGORITHM_FIRST && count > 0) {
        enter(kernel, answers, entrants[0].answer, proposed, detail);
        return OK;
    }
    st = time_some(setup, kernel, answers, entrants, count, GLANCE_BLOCKS, MEASURE_BLOCK_US);
    if (!st)
        st = time_some(setup, kernel, answers, entrants, count < AGAIN ? count : AGAIN, AGAIN_BLOCKS,
                       AGAIN_BLOCK_US);
    for (int i = 0; i < count && !st && isfinite(entrants[i].time_us); i++) {
        struct judgement judgement;
        enter(kernel, answers, entrants[i].answer, proposed, detail);
        st = oracle_judge(&setup->oracle, kernel, &judgement);
        if (!st && judgement.right) return OK;
        if (!st) st = oracle_restore(&setup->oracle);
    }
    return st ? st : fail(E_ABSENT, "none of the %d algorithms of cublasLt runs and is right", proposed);
}

enum status rival_lt_open(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX])
{
    enum status st = open_product(setup, row->compute, kernel);
    if (!st) st = choose(setup, row, kernel, detail);
    if (st) kernel_close(kernel);
    return st;
}

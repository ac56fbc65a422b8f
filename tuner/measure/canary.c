#include "canary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20261120u

enum { CANARY_M = 67, CANARY_N = 131, CANARY_K = 83 };

/* Sizes that are multiples of nothing, more than one tile of the judge's kernels, leading dimensions above
 * the row length. */
static struct problem canary_problem(bool trans_a, bool trans_b)
{
    struct problem p = problem_make(CANARY_M, CANARY_N, CANARY_K);
    p.trans_a = trans_a;
    p.trans_b = trans_b;
    p.lda = problem_cols_a(&p) + 2;
    p.ldb = problem_cols_b(&p) + 5;
    p.ldc = p.n + 1;
    p.stride_a = problem_rows_a(&p) * p.lda;
    p.stride_b = problem_rows_b(&p) * p.ldb;
    p.stride_c = p.m * p.ldc;
    p.alpha = 2;
    p.beta = -3;
    return p;
}

static double element(const struct fill_rule *rule, int64_t at)
{
    return (double)oracle_value(*rule, (oracle_u64)at);
}

/* The answer at (row, col) by the definition. */
static double answer(const struct problem *p, const struct fill_rule rules[OPERANDS], int64_t row,
                     int64_t col)
{
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += element(&rules[OPERAND_A], p->trans_a ? k * p->lda + row : row * p->lda + k) *
               element(&rules[OPERAND_B], p->trans_b ? col * p->ldb + k : k * p->ldb + col);
    return p->alpha * sum + p->beta * element(&rules[OPERAND_C], row * p->ldc + col);
}

static enum status check_answers(const struct trial_setup *setup, struct device_buffer answers,
                                 const struct fill_rule rules[OPERANDS], double tolerance)
{
    const struct problem *p = &setup->problem;
    size_t count = (size_t)(p->m * p->n);
    double *got = malloc(count * sizeof *got);
    if (!got) return fail(E_MEMORY, "out of memory in the canary");
    enum status st =
        device_check(cuda.MemcpyDtoH(got, answers.address, count * sizeof *got), "reading the canary");
    for (size_t i = 0; i < count && !st; i++) {
        int64_t row = (int64_t)i / p->n, col = (int64_t)i % p->n;
        double want = answer(p, rules, row, col);
        if (!(fabs(got[i] - want) <= tolerance))
            st = fail(E_GPU,
                      "the canary GEMM is wrong on GPU %d: C[%" PRId64 ",%" PRId64
                      "] = %.17g, not %.17g; the GPU, "
                      "its driver or its compiler cannot be trusted",
                      setup->device->ordinal, row, col, got[i], want);
    }
    free(got);
    return st;
}

/* A kernel that is right except for one element: it copies the answers from the host. */
struct forger {
    const struct trial_setup *setup;
    int64_t wrong_at; /* element of C, -1: none */
};

static enum status forge(void *self, const struct operands *operands, double alpha, double beta)
{
    const struct forger *f = self;
    struct problem p = f->setup->problem;
    const struct workload *w = &f->setup->work;
    bool exact = operands->at[OPERAND_C] == workload_operands(w, WORKLOAD_EXACT).at[OPERAND_C];
    p.alpha = alpha;
    p.beta = beta;
    /* Copies from the host are not ordered on our stream: synchronise before and after them. */
    enum status st = device_check(cuda.CtxSynchronize(), "running the canary");
    for (int64_t row = 0; row < p.m && !st; row++) {
        float c[CANARY_N];
        for (int64_t col = 0; col < p.n; col++)
            c[col] = (float)answer(&p, exact ? w->exact.rule : w->random.rule, row, col) +
                     (float)(f->wrong_at == row * p.n + col);
        st = device_check(
            cuda.MemcpyHtoD(operands->at[OPERAND_C] + 4 * (CUdeviceptr)(row * p.ldc), c, sizeof c),
            "writing the canary");
    }
    return st ? st : device_check(cuda.CtxSynchronize(), "writing the canary");
}

/* The judge must accept a right C, and find one planted error. */
static enum status check_judge(struct trial_setup *setup)
{
    const int64_t wrong_at = CANARY_M * CANARY_N - 1; /* the last element */
    char expected[80];
    snprintf(expected, sizeof expected, "1 of %d elements wrong, first C[%d,%d]", CANARY_M * CANARY_N,
             CANARY_M - 1, CANARY_N - 1);
    struct forger honest = {setup, -1}, liar = {setup, wrong_at};
    const struct kernel right = {.self = &honest, .launch = forge}, wrong = {.self = &liar, .launch = forge};
    struct judgement j;
    enum status st = oracle_judge(&setup->oracle, &right, &j);
    if (!st && (!j.right || !j.exact))
        st = fail(E_GPU, "the judge on GPU %d refuses a right answer: %s", setup->device->ordinal, j.detail);
    if (!st) st = oracle_judge(&setup->oracle, &wrong, &j);
    if (!st && (j.right || !strstr(j.detail, expected)))
        st = fail(E_GPU, "the judge on GPU %d does not detect a planted error: '%s'", setup->device->ordinal,
                  j.detail);
    return st;
}

enum status canary_run(struct trial_setup *setup)
{
    enum status st = OK;
    for (int op = 0; op < 4 && !st; op++) {
        struct problem p = canary_problem(op & 1, op & 2);
        if ((st = trial_setup_prepare(setup, &p, false, SEED + (unsigned)op))) break;
        const struct workload *w = &setup->work;
        st = check_answers(setup, setup->oracle.exact_value, w->exact.rule, 0);
        if (!st) st = check_answers(setup, setup->oracle.value, w->random.rule, 1e-12);
        if (!st && !setup->oracle.exact_holds) st = fail(E_GPU, "the canary's whole numbers are not small");
        if (!st && op == 0) st = check_judge(setup);
    }
    trial_setup_clear(setup);
    return st;
}

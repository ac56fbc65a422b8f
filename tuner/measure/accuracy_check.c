#include "accuracy_check.h"

#include "rivals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* So that all operands, of two sets and one of whole numbers, fit in what trial_setup.c leaves free. */
#define SIDE_MAX 512
#define K_MAX    16384

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Lines that begin at multiples of 16 bytes stay so: some kernels need that. */
static int64_t line_of(int64_t length, int64_t tuned)
{
    return tuned % 4 == 0 ? (length + 3) / 4 * 4 : length;
}

struct problem accuracy_problem(const struct problem *tuned)
{
    struct problem p = *tuned;
    p.m = least(p.m, SIDE_MAX);
    p.n = least(p.n, SIDE_MAX);
    p.k = least(p.k, K_MAX);
    p.batch = 1;
    p.alpha = 1;
    p.beta = 0;
    p.lda = line_of(problem_cols_a(&p), tuned->lda);
    p.ldb = line_of(problem_cols_b(&p), tuned->ldb);
    p.ldc = line_of(p.n, tuned->ldc);
    p.stride_a = problem_rows_a(&p) * p.lda;
    p.stride_b = problem_rows_b(&p) * p.ldb;
    p.stride_c = p.m * p.ldc;
    p.stride_bias = 0;
    if (p.pointers) problem_use_pointers(&p);
    return p;
}

/* ---- adding in order, as a kernel ---- */

/* The set whose operands these are. */
static int set_of(const struct workload *work, const struct operands *operands)
{
    for (int set = 0; set < work->layout.sets; set++)
        if (workload_operands(work, set).at[OPERAND_A] == operands->at[OPERAND_A]) return set;
    return WORKLOAD_EXACT;
}

/* The problem is an accuracy_problem: it has one item, and beta is 0. */
static enum status in_order_launch(void *self, const struct operands *operands, double alpha, double beta)
{
    const struct workload *work = self;
    const struct problem *p = &work->problem;
    const int set = set_of(work, operands);
    (void)beta;
    struct in_order_args args = {.trans_a = p->trans_a,
                                 .trans_b = p->trans_b,
                                 .bias_is = (int)epilogue_bias(p->epilogue),
                                 .activation = (int)epilogue_activation(p->epilogue),
                                 .k = p->k,
                                 .alpha = (float)alpha};
    workload_list(work, set, args.at);
    return oracle_in_order(work->kernels, &args);
}

/* ---- the check ---- */

static enum status judge(struct oracle *oracle, const struct kernel *kernel, struct judgement *judgement)
{
    *judgement = (struct judgement){.errors = accuracy_unknown()};
    return oracle_judge_once(oracle, kernel, judgement);
}

/* Errors of the strict rival; unknown without one. */
static enum status judge_rival(const struct trial_setup *setup, struct oracle *oracle,
                               const struct problem *problem, struct accuracy *errors)
{
    struct trial_setup small = {
        .device = setup->device, .cache = setup->cache, .kernels = setup->kernels, .problem = *problem};
    const struct rival_row *row = rival_anchor(problem);
    struct kernel kernel = {0};
    struct judgement judgement;
    char detail[RIVAL_DETAIL_MAX];
    enum status st = row ? row->open(&small, row, &kernel, detail) : E_ABSENT;
    if (!st) st = judge(oracle, &kernel, &judgement);
    if (!st && judgement.right) *errors = judgement.errors;
    kernel_close(&kernel);
    return st == E_ABSENT ? OK : st;
}

/* With an epilogue that of the problem's type has to do, which knows of it. */
static double bound_of(const struct problem *problem)
{
    return problem->epilogue ? oracle_bound(problem).slope : accuracy_bound(problem->k);
}

enum status accuracy_measure(struct trial_setup *setup, const struct candidate *candidate,
                             const struct problem *problem, enum data_class which,
                             struct class_errors *errors)
{
    const int64_t room = INT64_C(4) << 30;
    const struct oracle_limits limits = oracle_limits(&setup->device->gpu, room, ORACLE_SECONDS);
    struct workload work = {0};
    struct kernel kernel = {0};
    const struct kernel in_order = {.self = &work, .launch = in_order_launch};
    struct oracle oracle = {0};
    struct judgement own = {.right = false}, other = {.right = false};
    *errors = (struct class_errors){
        .own = accuracy_unknown(), .rival = accuracy_unknown(), .in_order = accuracy_unknown()};
    enum status st = kernel_load(setup->device, &candidate->config, problem, candidate->cubin,
                                 candidate->checksum, &kernel);
    if (!st) st = workload_open(&setup->kernels, problem, false, setup->seed, room, &work);
    if (!st) {
        work.random = data_class_test(which, problem, setup->seed);
        st = workload_fill(&work);
    }
    if (!st) st = oracle_open(&work, setup->seed, &limits, &oracle);
    if (!st) st = judge(&oracle, &kernel, &own);
    if (!st) st = judge_rival(setup, &oracle, problem, &errors->rival);
    if (!st) st = judge(&oracle, &in_order, &other);
    if (!st && other.right) errors->in_order = other.errors;
    errors->own = own.errors;
    if (!data_class_is_compared(which)) errors->bound = bound_of(problem);
    errors->right = own.right;
    snprintf(errors->detail, sizeof errors->detail, "%s", own.detail);
    oracle_close(&oracle);
    workload_close(&work);
    kernel_close(&kernel);
    return st;
}

bool class_errors_answer(const struct gemm_type_row *row, const struct class_errors *errors)
{
    if (errors->bound > 0) return errors->right && errors->own.componentwise <= errors->bound;
    /* fmax passes over what is not known */
    const struct accuracy strict = {fmax(errors->rival.componentwise, errors->in_order.componentwise),
                                    fmax(errors->rival.rms, errors->in_order.rms),
                                    fmax(errors->rival.max, errors->in_order.max)};
    return errors->right && accuracy_answers(row, &errors->own, &strict);
}

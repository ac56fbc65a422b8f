#include "verify.h"

#include "accuracy_check.h"
#include "screen.h"
#include "verify_cases.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void set_wrong(struct verification *v, const struct problem *problem, const char *why)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(problem, text);
    v->verdict = VERDICT_WRONG;
    snprintf(v->detail, sizeof v->detail, "%.90s: %.100s", text, why);
}

/* runs: repetitions of what was judged; 0: it is judged by one call. */
static enum status repeat_tuned(struct trial_setup *setup, const struct candidate *candidate, int runs,
                                struct verification *v)
{
    struct kernel kernel = {0};
    struct judgement judgement = {0};
    int different = 0;
    enum status st = kernel_load(setup->device, &candidate->config, &setup->problem, candidate->cubin,
                                 candidate->checksum, &kernel);
    if (!st)
        st = runs ? oracle_judge(&setup->oracle, &kernel, &judgement)
                  : oracle_judge_once(&setup->oracle, &kernel, &judgement);
    if (!st && judgement.right) st = oracle_repeat(&setup->oracle, &kernel, &judgement, runs, &different);
    bool computes = true;
    if (!st && judgement.right && !different && candidate->config.template->own)
        st = oracle_over_result(&setup->oracle, &kernel, &judgement, setup->seed, &computes);
    kernel_close(&kernel);
    if (st) return st;
    v->shapes++;
    v->errors = judgement.errors;
    char why[80];
    if (computes) snprintf(why, sizeof why, "%d of %d runs gave different bits", different, runs);
    else snprintf(why, sizeof why, "it leaves out its work where C has the result of an earlier call");
    if (!judgement.right || different || !computes) {
        set_wrong(v, &setup->problem, judgement.right ? why : judgement.detail);
        return oracle_restore(&setup->oracle);
    }
    return OK;
}

static enum status set_bytes(const struct workload *work, struct matrices where, int64_t from, int64_t count,
                             unsigned char byte)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)where.data + (CUdeviceptr)from;
    return device_check(cuda.MemsetD8Async(address, byte, (size_t)count, work->kernels->device->stream),
                        "planting NaN or infinity");
}

/* In every type of elements a NaN has all bits set. */
static enum status set_nan(const struct workload *work, struct matrices where, enum element element,
                           int64_t index, int64_t count)
{
    const int bytes = element_bytes(element);
    return set_bytes(work, where, bytes * index, bytes * count, 0xff);
}

static enum status set_infinity(const struct workload *work, struct matrices where, enum element element,
                                int64_t index)
{
    static const unsigned char infinity[ELEMENT_COUNT][4] = {
        [ELEMENT_F32] = {0, 0, 0x80, 0x7f}, [ELEMENT_F16] = {0, 0x7c}, [ELEMENT_BF16] = {0x80, 0x7f}};
    const int bytes = element_bytes(element);
    enum status st = OK;
    for (int i = 0; i < bytes && !st; i++)
        st = set_bytes(work, where, bytes * index + i, 1, infinity[element][i]);
    return st;
}

/* Puts special values into the operands before the reference is computed. */
static enum status plant(const struct workload *work, enum verify_data data)
{
    const struct problem *p = &work->problem;
    const struct gemm_type_row *type = gemm_type_row(p->type);
    enum status st = OK;
    if (data == DATA_NAN_OPERANDS) {
        const int sets[] = {0, WORKLOAD_EXACT};
        for (int i = 0; i < 2 && !st; i++) {
            const struct problem placed = workload_placed(p, sets[i]);
            st = set_nan(work, workload_a(work, sets[i]), type->a, 0, problem_span_a(&placed));
            if (!st) st = set_nan(work, workload_b(work, sets[i]), type->b, 0, problem_span_b(&placed));
        }
    }
    if (data == DATA_NOT_FINITE) {
        /* Row 0 of op(A) at the middle of K; the last column of op(B) at the end of K. */
        int64_t middle = p->k / 2, last = p->k - 1, col = p->n - 1;
        st = set_infinity(work, workload_a(work, 0), type->a, p->trans_a ? middle * p->lda : middle);
        if (!st)
            st = set_nan(work, workload_b(work, 0), type->b,
                         p->trans_b ? col * p->ldb + last : last * p->ldb + col, 1);
    }
    return st;
}

static enum status judge_case(struct trial_setup *setup, const struct candidate *candidate,
                              const struct verify_case *one, struct judgement *judgement)
{
    const int64_t room = INT64_C(1) << 30; /* a case needs a few MiB */
    const struct oracle_limits limits = oracle_limits(&setup->device->gpu, room, ORACLE_SECONDS);
    struct kernel kernel = {0};
    struct workload work = {0};
    struct oracle oracle = {0};
    enum status st = kernel_load(setup->device, &candidate->config, &one->problem, candidate->cubin,
                                 candidate->checksum, &kernel);
    if (!st) st = workload_open(&setup->kernels, &one->problem, false, setup->seed, room, &work);
    if (!st) st = plant(&work, one->data);
    if (!st) st = oracle_open(&work, setup->seed, &limits, &oracle);
    if (!st) st = oracle_judge(&oracle, &kernel, judgement);
    oracle_close(&oracle);
    workload_close(&work);
    kernel_close(&kernel);
    return st;
}

static enum status run_cases(struct trial_setup *setup, const struct candidate *candidate,
                             struct verification *v)
{
    struct verify_case cases[VERIFY_CASES_MAX];
    /* An algorithm of the library is for its own problem. */
    int count = template_is_library(candidate->config.template)
                    ? 0
                    : verify_cases(&candidate->config, &setup->problem, cases);
    const char *first_skip = NULL;
    for (int i = 0; i < count; i++) {
        const struct verify_case *one = &cases[i];
        const char *why =
            candidate->config.template->check(&candidate->config, &one->problem, &setup->device->gpu);
        if (why) {
            v->skipped++;
            if (!first_skip) first_skip = why;
            continue;
        }
        struct judgement judgement = {0};
        enum status st = judge_case(setup, candidate, one, &judgement);
        if (st) return st;
        v->shapes++;
        if (!judgement.right) {
            set_wrong(v, &one->problem, judgement.detail);
            return oracle_restore(&setup->oracle);
        }
    }
    snprintf(v->detail, sizeof v->detail, "%d cases right, %d skipped%s%.120s%s", v->shapes, v->skipped,
             first_skip ? " (" : "", first_skip ? first_skip : "", first_skip ? ")" : "");
    return OK;
}

/* Adds one kind of data. */
static void add_class(const struct class_errors *e, struct accuracy_checked *checked)
{
    const double fp32 = fmax(e->rival.rms, e->in_order.rms); /* 0: nothing was rounded */
    checked->kinds += e->bound == 0;
    checked->bounded += e->bound > 0;
    if (e->bound == 0 && fp32 > 0) checked->rms = fmax(checked->rms, e->own.rms / fp32);
}

/* What an accuracy class promises on each kind of data. */
static enum status run_classes(struct trial_setup *setup, const struct candidate *candidate,
                               struct verification *v)
{
    const struct gemm_type_row *row = gemm_type_row(setup->problem.type);
    const struct problem p = accuracy_problem(&setup->problem);
    const struct template *const t = candidate->config.template;
    if (!gemm_type_has_limits(p.type) || p.k == 0) return OK;
    const char *refused = t->check(&candidate->config, &p, &setup->device->gpu);
    if (refused && gemm_type_has_limits(template_first_type(t))) { /* a kernel of pieces */
        char why[160];
        snprintf(why, sizeof why, "its errors cannot be checked: %s", refused);
        set_wrong(v, &p, why);
        return OK;
    }
    if (template_is_library(t) || refused) {
        v->skipped++; /* FP32 by FFMA, as its errors on uniform data have shown */
        return OK;
    }
    struct accuracy_checked checked = {.m = (int)p.m, .n = (int)p.n, .k = (int)p.k};
    for (int which = 0; which < DATA_CLASS_COUNT; which++) {
        struct class_errors e;
        enum status st = accuracy_measure(setup, candidate, &p, (enum data_class)which, &e);
        if (st) return st;
        v->shapes++;
        add_class(&e, &checked);
        if (class_errors_answer(row, &e)) continue;
        char why[160];
        if (e.bound > 0)
            snprintf(why, sizeof why, "%s data: error %.3g of |A||B|, and at most %.3g is allowed",
                     data_class_name((enum data_class)which), e.own.componentwise, e.bound);
        else
            snprintf(why, sizeof why, "%s data: error %.3g (rms), %.3g (largest) against %.3g, %.3g in FP32",
                     data_class_name((enum data_class)which), e.own.rms, e.own.max,
                     fmax(e.rival.rms, e.in_order.rms), fmax(e.rival.max, e.in_order.max));
        set_wrong(v, &p, e.right ? why : e.detail);
        return OK;
    }
    v->checked = checked;
    return OK;
}

enum status verify_run(struct trial_setup *setup, const struct candidate *candidate, double call_us,
                       double limit_s, struct verification *verification)
{
    struct verification v = {.verdict = VERDICT_MEASURED, .errors = accuracy_unknown()};
    enum status st = repeat_tuned(setup, candidate, screen_check_runs(call_us, limit_s), &v);
    if (!st && v.verdict == VERDICT_MEASURED) st = run_classes(setup, candidate, &v);
    if (!st && v.verdict == VERDICT_MEASURED) st = run_cases(setup, candidate, &v);
    if (st && (device_lost() || st == E_ABSENT)) {
        v.verdict = device_lost() ? VERDICT_CRASHED : VERDICT_REFUSED;
        snprintf(v.detail, sizeof v.detail, "%.199s", status_text());
        st = OK;
    }
    if (!st && v.verdict == VERDICT_MEASURED && v.checked.kinds > 0) {
        char text[ACCURACY_TEXT_MAX];
        const size_t used = strlen(v.detail);
        snprintf(v.detail + used, sizeof v.detail - used, "; %s", accuracy_checked_format(&v.checked, text));
    }
    *verification = v;
    return st;
}

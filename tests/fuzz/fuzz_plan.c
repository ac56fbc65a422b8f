/* What is decided of a problem by arithmetic, however extreme it is: "CONFIGURATION @ PROBLEM" as in
 * fuzz_config.c. What is judged lies in C, operands lie where they have room, predictions are times, and the
 * cases of verify are problems. */
#include "fuzz.h"
#include "fuzz_h200.h"
#include "model.h"
#include "oracle_plan.h"
#include "shape.h"
#include "template.h"
#include "verify_cases.h"
#include "workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const fuzz_words[] = {" @ ",
                                  "sgemm:nn:",
                                  "tt:",
                                  "1x1x1",
                                  "0x1x1",
                                  "1x1x0",
                                  ":batch=",
                                  ":batch=65536",
                                  ":lda=2147483648",
                                  ":ldc=",
                                  ":stride_a=1",
                                  ":stride_c=",
                                  ":alpha=0",
                                  ":alpha=1e38",
                                  ":beta=-1",
                                  "2147418112x1x1",
                                  "1x2147418112x1",
                                  "1x1x2147418112",
                                  "46340x46340x46340",
                                  ":epilogue=bias+gelu+out",
                                  ":epilogue=rowbias+relu",
                                  ":stride_bias=",
                                  ":pointers",
                                  "x",
                                  NULL};

static void check_judged(const char *text, const struct problem *p, int64_t bytes)
{
    const struct oracle_limits limits = oracle_limits(&fuzz_gpu, bytes, ORACLE_SECONDS);
    struct oracle_plan plan;
    int64_t elements = 0, rows = 0;
    oracle_plan(p, &limits, 7, &plan);
    PROMISE(plan.count >= 0 && plan.count <= ORACLE_PIECES_MAX && (plan.count > 0 || p->m == 0 || p->n == 0),
            "%s: %d pieces", text, plan.count);
    for (int i = 0; i < plan.count; i++) {
        const struct piece *x = &plan.pieces[i];
        PROMISE(x->item >= 0 && x->items >= 1 && x->item + x->items <= p->batch, "%s: item %lld", text,
                x->item);
        PROMISE(x->row >= 0 && x->rows >= 1 && x->row + x->rows <= p->m, "%s: row %lld", text, x->row);
        PROMISE(x->offset == elements, "%s: answers overlap", text);
        PROMISE(x->col >= 0 && x->cols >= 1 && x->col + x->cols <= p->n, "%s: column %lld", text, x->col);
        elements += x->items * x->rows * x->cols;
        rows += x->items * x->rows;
        int64_t item, row, col;
        PROMISE(oracle_place(&plan, (uint64_t)elements - 1, &item, &row, &col), "%s: no place", text);
        PROMISE(item == x->item + x->items - 1 && row == x->row + x->rows - 1 && col == x->col + x->cols - 1,
                "%s: placed wrong", text);
    }
    PROMISE(plan.elements == elements && plan.rows == rows && plan.rows_all == p->m * p->batch, "%s: sums",
            text);
    PROMISE(plan.sampled || elements == plan.rows_all * p->n || plan.count == 0, "%s: not all is judged",
            text);
    PROMISE(plan.splits >= 1 && plan.k_per_split >= 1 && plan.splits * plan.k_per_split >= p->k,
            "%s: %d splits", text, plan.splits);
    PROMISE(plan.partial_bytes >= 0 && oracle_answer_bytes(&plan) >= 0, "%s: %lld bytes", text,
            (long long)plan.partial_bytes);
    const struct error_bound bound = oracle_bound(p);
    PROMISE(isfinite(bound.slope) && (bound.slope > 0 || (p->k == 0 && !p->epilogue)) &&
                isfinite(bound.rounding),
            "%s: a bound of %g", text, bound.slope);
    const struct exact_test exact = oracle_exact_test(p, 7);
    PROMISE(exact.rule[OPERAND_A].range >= 1 && exact.rule[OPERAND_B].range >= 1 &&
                exact.rule[OPERAND_C].range >= 0,
            "%s: nothing is exact", text);
}

/* Only where two sets fit is a layout asked for (trial_setup.c). */
static void check_layout(const char *text, const struct problem *p)
{
    const struct problem placed = workload_placed(p, WORKLOAD_EXACT);
    const int64_t a = problem_span_a(&placed), b = problem_span_b(&placed), c = problem_span_c(&placed),
                  bias = problem_span_bias(p), source = epilogue_out_of_place(p->epilogue) ? c : 0,
                  arrays = p->pointers ? 6 * p->batch : 0;
    if (8.0 * ((double)a + (double)b + (double)c + (double)source + (double)bias + (double)arrays +
               8.0 * WORKLOAD_GUARD) >
        (double)fuzz_gpu.memory_bytes)
        return;
    for (int cold = 0; cold < 2; cold++) {
        const struct workload_layout l = workload_layout(p, cold, fuzz_gpu.l2_bytes, fuzz_gpu.memory_bytes);
        PROMISE(l.at[OPERAND_A] >= WORKLOAD_GUARD &&
                    l.at[OPERAND_B] >= l.at[OPERAND_A] + a + WORKLOAD_GUARD &&
                    l.at[OPERAND_C] >= l.at[OPERAND_B] + b + WORKLOAD_GUARD &&
                    l.set_words >= l.at[OPERAND_C] + c + WORKLOAD_GUARD,
                "%s: operands overlap", text);
        PROMISE(source == 0 || (l.at[OPERAND_SOURCE] >= l.at[OPERAND_B] + b + WORKLOAD_GUARD &&
                                l.at[OPERAND_C] >= l.at[OPERAND_SOURCE] + c + WORKLOAD_GUARD),
                "%s: the C that is read overlaps", text);
        PROMISE(bias == 0 || (l.at[OPERAND_BIAS] >= l.at[OPERAND_SOURCE] + source &&
                              l.at[OPERAND_BIAS] >= l.at[OPERAND_B] + b + WORKLOAD_GUARD &&
                              l.at[OPERAND_C] >= l.at[OPERAND_BIAS] + bias + WORKLOAD_GUARD),
                "%s: the bias overlaps", text);
        PROMISE(arrays == 0 || (l.arrays >= l.at[OPERAND_B] + b + WORKLOAD_GUARD &&
                                l.at[OPERAND_C] >= l.arrays + arrays + WORKLOAD_GUARD),
                "%s: the arrays overlap", text);
        PROMISE(l.sets >= 1 || 8 * l.set_words > fuzz_gpu.memory_bytes, "%s: %d sets", text, l.sets);
        PROMISE(4 * l.set_words * (l.sets + 1) <= fuzz_gpu.memory_bytes || l.sets == 0,
                "%s: %d sets do not fit", text, l.sets);
    }
}

static void check_config(const char *text, const struct config *config, const struct problem *p)
{
    static struct verify_case cases[VERIFY_CASES_MAX];
    if (config->template->check(config, p, &fuzz_gpu)) return;
    fuzz_accept();
    const struct prediction predicted = model_predict(config, p, &fuzz_gpu, NULL);
    PROMISE(isfinite(predicted.time_us) && predicted.time_us >= 0, "%s: %g us", text, predicted.time_us);
    PROMISE(predicted.blocks_per_sm >= 0 && predicted.blocks_per_sm <= fuzz_gpu.blocks_per_sm,
            "%s: %d blocks", text, predicted.blocks_per_sm);
    const int count = verify_cases(config, p, cases);
    PROMISE(count >= 0 && count <= VERIFY_CASES_MAX, "%s: %d cases", text, count);
    for (int i = 0; i < count; i++) {
        char problem[PROBLEM_TEXT_MAX];
        problem_format(&cases[i].problem, problem);
        PROMISE(problem_check(&cases[i].problem) == OK, "%s: %s: %s", text, problem, status_text());
        PROMISE(cases[i].problem.epilogue == p->epilogue && cases[i].problem.pointers == p->pointers,
                "%s: %s", text, problem);
        PROMISE(cases[i].problem.trans_a == p->trans_a && cases[i].problem.trans_b == p->trans_b, "%s: %s",
                text, problem);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *at = strstr(text, " @ ");
    struct config config;
    struct problem p;
    if (problem_parse(at ? at + 3 : text, &p)) return 0;
    char name[PROBLEM_TEXT_MAX];
    problem_format(&p, name);
    const struct shape shape = shape_of(&p);
    PROMISE(shape_distance(&shape, &shape) == 0 && isfinite(shape.log_m + shape.log_n + shape.log_k), "%s",
            name);
    const double least_us = model_roofline_us(&p, gpu_rate(&fuzz_gpu, "fp32"), fuzz_gpu.memory_gb_per_s);
    PROMISE(isfinite(least_us) && least_us > 0, "%s: %g us", name, least_us);
    static const int64_t rooms[] = {0, 1 << 20, INT64_C(1) << 34};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) check_judged(name, &p, rooms[i]);
    check_layout(name, &p);
    if (at) *at = '\0';
    if (at && config_parse(text, &config) == OK) check_config(name, &config, &p);
    return 0;
}

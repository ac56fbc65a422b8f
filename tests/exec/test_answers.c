/* What the judge compares with, made by its kernels on the CPU: operands, answers and masses of a plain
 * reference. */
#include "cpu_judge.h"
#include "faulty_kernels.h"
#include "reference.h"

#include <math.h>
#include <stdlib.h>

/* What the epilogue makes of the answer i of a plain product, by its definition. */
static void finish_answer(const struct problem *p, const float *bias, int64_t i, double *answer,
                          double *magnitude)
{
    const int64_t item = i / (p->m * p->n), row = i / p->n % p->m, col = i % p->n;
    if (bias) {
        const int64_t which = epilogue_bias(p->epilogue) == BIAS_ROW ? row : col;
        const double b = (double)bias[item * p->stride_bias + which];
        *answer += b;
        *magnitude += fabs(b);
    }
    const double x = *answer, inner = sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3));
    if (epilogue_activation(p->epilogue) == ACTIVATION_RELU) *answer = fmax(x, 0);
    if (epilogue_activation(p->epilogue) == ACTIVATION_GELU) *answer = x / 2 * (1 + tanh(inner));
}

/* Compares with an independent reference. set: 0 or WORKLOAD_EXACT. */
static void check_answers(struct cpu_judge *cpu_judge, int set, struct device_buffer values)
{
    struct problem p = cpu_judge->work.problem;
    size_t count = (size_t)(p.m * p.n * p.batch);
    double *answer = calloc(count + 1, sizeof *answer), *magnitude = calloc(count + 1, sizeof *magnitude);
    struct operands x = workload_operands(&cpu_judge->work, set);
    workload_scalars(&cpu_judge->work, set, &p.alpha, &p.beta);
    reference_double(&p, host_memory(x.at[OPERAND_A]), host_memory(x.at[OPERAND_B]),
                     host_memory(x.at[OPERAND_SOURCE] ? x.at[OPERAND_SOURCE] : x.at[OPERAND_C]), answer,
                     magnitude);
    const double *value = (const double *)(const void *)host_memory(values.address);
    const float *mass = host_memory(cpu_judge->oracle.mass.address);
    for (size_t i = 0; i < count; i++) {
        finish_answer(&p, host_memory(x.at[OPERAND_BIAS]), (int64_t)i, &answer[i], &magnitude[i]);
        double slack =
            set == 0 || epilogue_activation(p.epilogue) == ACTIVATION_GELU ? 1e-13 * magnitude[i] : 0;
        if (!(fabs(value[i] - answer[i]) <= slack))
            fail_msg("answer %zu is %.17g, not %.17g", i, value[i], answer[i]);
        if (set == 0 &&
            !((double)mass[i] >= magnitude[i] * (1 - 1e-13) && (double)mass[i] <= magnitude[i] * 1.000001))
            fail_msg("mass %zu is %.9g, not %.9g", i, (double)mass[i], magnitude[i]);
    }
    free(answer);
    free(magnitude);
}

TEST(answers_and_masses_are_those_of_a_plain_reference_for_all_ops_and_ragged_shapes)
{
    bool split = false;
    for (size_t i = 0; i < sizeof ragged / sizeof *ragged; i++) {
        struct cpu_judge cpu_judge;
        cpu_judge_open(ragged[i], ROOM, &cpu_judge);
        assert_true(cpu_judge.oracle.exact_holds);
        assert_false(cpu_judge.oracle.plan.sampled);
        split = split || cpu_judge.oracle.plan.splits > 1;
        check_answers(&cpu_judge, 0, cpu_judge.oracle.value);
        check_answers(&cpu_judge, WORKLOAD_EXACT, cpu_judge.oracle.exact_value);
        cpu_judge_close(&cpu_judge);
    }
    assert_true(split); /* at least one case had a long K and a small C */
}

TEST(padding_of_a_and_b_is_nan_and_their_elements_are_as_the_rule_says)
{
    struct cpu_judge cpu_judge;
    cpu_judge_open("tn:5x6x4:lda=7:ldb=9:batch=2:stride_a=40:stride_b=50", ROOM, &cpu_judge);
    const float *a = host_memory(workload_operands(&cpu_judge.work, 1).at[OPERAND_A]);
    for (int64_t at = -WORKLOAD_GUARD; at < 40 + 28; at++) {
        bool element = at >= 0 && at % 40 / 7 < 4 && at % 40 % 7 < 5;
        if (element)
            assert_true(a[at] == oracle_value(cpu_judge.work.random.rule[OPERAND_A], (oracle_u64)at));
        else assert_true(isnan(a[at]));
    }
    cpu_judge_close(&cpu_judge);
}

TEST(padding_of_the_c_that_is_only_read_and_between_biases_is_nan)
{
    struct cpu_judge cpu_judge;
    cpu_judge_open("nn:5x6x4:ldc=8:batch=2:stride_c=50:beta=1:epilogue=bias+out:stride_bias=9", ROOM,
                   &cpu_judge);
    struct operands x = workload_operands(&cpu_judge.work, 1);
    const float *source = host_memory(x.at[OPERAND_SOURCE]), *bias = host_memory(x.at[OPERAND_BIAS]);
    assert_true(x.at[OPERAND_SOURCE] != x.at[OPERAND_C]);
    for (int64_t at = -WORKLOAD_GUARD; at < 100; at++) {
        bool element = at >= 0 && at % 50 / 8 < 5 && at % 50 % 8 < 6;
        if (element)
            assert_true(source[at] == oracle_value(cpu_judge.work.random.rule[OPERAND_C], (oracle_u64)at));
        else assert_true(isnan(source[at]));
    }
    for (int64_t at = -WORKLOAD_GUARD; at < 15 + 32; at++) {
        bool element = at >= 0 && at < 15 && at % 9 < 6;
        if (element)
            assert_true(bias[at] == oracle_value(cpu_judge.work.random.rule[OPERAND_BIAS], (oracle_u64)at));
        else assert_true(isnan(bias[at]));
    }
    cpu_judge_close(&cpu_judge);
}

TEST(one_bias_serves_all_items_where_their_stride_is_0)
{
    struct cpu_judge cpu_judge;
    cpu_judge_open("nn:5x6x4:batch=3:epilogue=rowbias", ROOM, &cpu_judge);
    const float *bias = host_memory(workload_operands(&cpu_judge.work, 0).at[OPERAND_BIAS]);
    for (int64_t at = 0; at < 32; at++) assert_true(isnan(bias[at]) == (at >= 5));
    cpu_judge_close(&cpu_judge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_masses_are_those_of_a_plain_reference_for_all_ops_and_ragged_shapes),
        cmocka_unit_test(padding_of_a_and_b_is_nan_and_their_elements_are_as_the_rule_says),
        cmocka_unit_test(padding_of_the_c_that_is_only_read_and_between_biases_is_nan),
        cmocka_unit_test(one_bias_serves_all_items_where_their_stride_is_0),
    };
    return cmocka_run_group_tests(tests, open_device, NULL);
}

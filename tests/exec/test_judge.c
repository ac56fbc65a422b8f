/* The judge, with its kernels executed on the CPU: right results are accepted, and every planted fault is
 * found. */
#include "canary.h"
#include "cpu_judge.h"
#include "faulty_kernels.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct judgement judge(const char *text, enum fault fault)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    cpu_judge_open(text, ROOM, &cpu_judge);
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem, .fault = fault};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    cpu_judge_close(&cpu_judge);
    return j;
}

static void assert_wrong(const char *text, enum fault fault, const char *part)
{
    struct judgement j = judge(text, fault);
    if (j.right) fail_msg("fault %d passed on %s", fault, text);
    if (!strstr(j.detail, part)) fail_msg("'%s' lacks '%s'", j.detail, part);
}

struct planted {
    const char *problem;
    enum fault fault;
    const char *said;
};

static void assert_all_wrong(const struct planted *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_wrong(cases[i].problem, cases[i].fault, cases[i].said);
}

/* Of a problem of 6x7x8: row 0 of the product becomes infinite, the last column NaN. Returns the
 * first set. */
static struct operands cpu_judge_open_infinite(const char *text, struct cpu_judge *cpu_judge)
{
    const struct problem p = problem_of(text);
    assert_ok(workload_open(&kernels, &p, false, SEED, ROOM, &cpu_judge->work));
    const struct operands x = workload_operands(&cpu_judge->work, 0);
    host_memory(x.at[OPERAND_A])[3] = INFINITY;
    host_memory(x.at[OPERAND_B])[2 * 7 + 6] = NAN;
    const struct oracle_limits limits = limits_of(ROOM);
    assert_ok(oracle_open(&cpu_judge->work, SEED, &limits, &cpu_judge->oracle));
    return x;
}

TEST(a_right_kernel_is_called_right_everywhere)
{
    static const char *const empty[] = {"nn:0x5x3", "nn:5x0x3:beta=1", "nn:0x5x3:epilogue=bias+out"};
    for (size_t i = 0; i < sizeof ragged / sizeof *ragged; i++) {
        struct judgement j = judge(ragged[i], NONE);
        if (!j.right) fail_msg("%s: %s", ragged[i], j.detail);
        assert_true(j.exact);
        assert_true(j.worst <= 1);
        assert_string_equal(j.detail, "");
    }
    for (size_t i = 0; i < 3; i++) assert_true(judge(empty[i], NONE).right);
    assert_true(judge("nn:65x63x17", NONE).worst > 0);
}

TEST(a_kernel_that_rounds_its_operands_answers_for_tf32_alone_and_a_strict_one_for_both)
{
    for (size_t i = 0; i < sizeof ragged / sizeof *ragged; i++) {
        char text[120];
        snprintf(text, sizeof text, "tf32gemm:%s", ragged[i]);
        for (int strict = 0; strict < 2; strict++) {
            struct judgement j = judge(text, strict ? NONE : ROUNDED_TF32);
            if (!j.right) fail_msg("%s: %s", text, j.detail);
            assert_true(j.exact && j.worst <= 1);
        }
    }
    assert_wrong("sgemm:nn:65x63x17", ROUNDED_TF32, "random data: ");
    assert_true(judge("sgemm:nn:65x63x17", ROUNDED_TF32).exact);
    assert_wrong("tf32gemm:nn:65x63x3", ROUNDED_BF16, "random data: ");
}

TEST(faults_are_found_in_tf32_too)
{
    static const enum fault faults[] = {ONE_OFF,        UNWRITTEN,      BEFORE_C,   BEHIND_C, IN_PADDING,
                                        LAST_K_MISSING, BETA_TIMES_NAN, OP_SWAPPED, UNSTEADY};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_wrong("tf32gemm:nn:17x17x17:ldc=20", faults[i], "");
    assert_wrong("tf32gemm:nn:5x6x7:beta=1", BETA_IGNORED, "wrong");
    assert_wrong("tf32gemm:nn:65x63x2000", LAST_K_MISSING, "whole-number data");
}

/* Compares with the definition, applied to C and to the judge's own reference, which was checked above. */
TEST(errors_are_the_largest_and_the_root_mean_square_of_what_c_is_off)
{
    static const enum fault faults[] = {NONE, ROUNDED_TF32};
    double rms[2];
    for (int f = 0; f < 2; f++) {
        struct cpu_judge cpu_judge;
        struct judgement j;
        cpu_judge_open("tf32gemm:tn:67x131x700:lda=70:beta=0.5", ROOM, &cpu_judge);
        struct faulty_kernel faulty = {.problem = cpu_judge.work.problem, .fault = faults[f]};
        const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
        assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
        assert_true(j.right);
        const double *value = (const double *)(const void *)host_memory(cpu_judge.oracle.value.address);
        const float *mass = host_memory(cpu_judge.oracle.mass.address);
        double componentwise = 0, squares = 0, max = 0, largest = 0;
        /* The judge's last call left its C in one of the sets. */
        const float *c = host_memory(
            workload_operands(&cpu_judge.work, cpu_judge.work.layout.sets > 1 ? 1 : 0).at[OPERAND_C]);
        for (int i = 0; i < 67 * 131; i++) {
            const double error = fabs((double)c[i] - value[i]);
            componentwise = fmax(componentwise, error / (double)mass[i]);
            squares += error * error;
            max = fmax(max, error);
            largest = fmax(largest, fabs(value[i]));
        }
        rms[f] = sqrt(squares / (67 * 131)) / largest;
        assert_true(fabs(j.errors.componentwise / componentwise - 1) < 1e-6);
        assert_true(fabs(j.errors.rms / rms[f] - 1) < 1e-6);
        assert_true(fabs(j.errors.max / (max / largest) - 1) < 1e-6);
        assert_true(j.errors.rms < j.errors.max);
        cpu_judge_close(&cpu_judge);
    }
    assert_true(rms[1] > 50 * rms[0]);
}

TEST(errors_of_what_was_refused_by_whole_numbers_are_unknown_and_those_of_nan_infinite)
{
    assert_false(accuracy_is_known(&(struct accuracy){NAN, 0, 0}));
    struct judgement j = judge("nn:65x63x17", ONE_OFF);
    assert_false(accuracy_is_known(&j.errors));
    j = judge("nn:0x5x3", NONE);
    assert_true(j.errors.rms == 0 && j.errors.max == 0 && j.errors.componentwise == 0);
    j = judge("nn:65x63x17", RANDOM_ONLY);
    assert_true(accuracy_is_known(&j.errors) && j.errors.max > 0);
}

TEST(faults_are_found_and_described)
{
    static const struct planted cases[] = {
        {"nn:65x63x17", ONE_OFF, "whole-number data: 1 of 4095 elements wrong, first C[64,62] = "},
        {"nn:3x4x5:batch=2", ONE_OFF, "first C[2,3] of item 0"},
        {"nn:65x63x17", RANDOM_ONLY, "random data: 1 of 4095 elements wrong, first C[64,62] = "},
        {"nn:65x63x17", UNWRITTEN, "C[64,62] = nan"},
        {"nn:65x63x17:beta=1", UNWRITTEN, "1 of 4095"},
        {"nn:5x6x7", BEFORE_C, "1 words in the guard bands"},
        {"nn:5x6x7", BEHIND_C, "1 words in the guard bands"},
        {"nn:5x6x7:ldc=8", BEFORE_C, "before C"},
        {"nn:5x6x7:ldc=8", BEHIND_C, "behind C"},
        {"nn:5x6x7:ldc=8", IN_PADDING, "in C's padding"},
        {"nn:5x6x7:batch=2:stride_c=31", BEHIND_C, "in C's padding"},
        {"nn:5x6x7:beta=1", BETA_IGNORED, "wrong"},
        {"nn:5x6x7:beta=0.5", BETA_IGNORED, "wrong"},
        {"nn:5x6x7", BETA_TIMES_NAN, "= nan"},
        {"nn:9x9x17:lda=20", LAST_K_MISSING, "wrong"},
        {"nn:8x8x8", OP_SWAPPED, "wrong"},
        {"nn:9x9x17", UNSTEADY, "two runs over differently poisoned C gave different bits"},
    };
    assert_all_wrong(cases, sizeof cases / sizeof *cases);
}

TEST(faults_of_an_epilogue_are_found_and_described)
{
    static const struct planted cases[] = {
        {"nn:65x63x17:epilogue=bias", BIAS_MISSING, "whole-number data"},
        {"nn:65x63x17:epilogue=rowbias", BIAS_MISSING, "whole-number data"},
        {"nn:8x8x17:epilogue=bias", BIAS_OTHER_WAY, "whole-number data"},
        {"nn:8x8x17:epilogue=rowbias+relu", BIAS_OTHER_WAY, "whole-number data"},
        {"nn:8x9x17:batch=2:epilogue=bias:stride_bias=9", BIAS_OF_ITEM_0, " of item 1 = "},
        {"nn:8x9x17:epilogue=bias", BIAS_BEYOND, "1 of 72 elements wrong, first C[7,8] = nan"},
        {"nn:8x9x17:batch=2:epilogue=rowbias:stride_bias=12", BIAS_BEYOND, "C[7,8] of item 0 = nan"},
        {"nn:8x9x17:epilogue=rowbias+gelu", BIAS_WRITTEN, "the bias was written, which is only read"},
        {"nn:8x9x17:epilogue=relu", ACTIVATION_MISSING, "random data"},
        {"nn:8x9x17:epilogue=gelu", ACTIVATION_MISSING, "random data"},
        {"nn:8x9x17:epilogue=bias+relu", ACTIVATION_BEFORE_BIAS, "wrong"},
        {"nn:8x9x17:epilogue=bias+gelu", ACTIVATION_BEFORE_BIAS, "wrong"},
        {"nn:8x9x0:beta=1:epilogue=bias+relu", ACTIVATION_BEFORE_BIAS, "whole-number data"},
        {"nn:8x9x17:epilogue=relu", OFF_BEFORE_ACTIVATION, "whole-number data: 1 of 72"},
        {"nn:8x9x17:alpha=-1:epilogue=gelu", OFF_BEFORE_ACTIVATION, "whole-number data: 1 of 72"},
        {"nn:3x4x5000:epilogue=bias+gelu", OFF_BEFORE_ACTIVATION, "whole-number data: 1 of 12"},
        {"nn:1x2x30000:alpha=-8:epilogue=gelu", OFF_BEFORE_ACTIVATION, "whole-number data: 1 of 2"},
        {"nn:8x9x17:epilogue=gelu", GELU_BY_ERF, "random data"},
        {"nn:8x9x1:epilogue=gelu", GELU_COARSE, "wrong"},
        {"nn:8x9x64:epilogue=bias+gelu", GELU_COARSE, "wrong"},
        {"nn:8x9x17:epilogue=out", SOURCE_WRITTEN, "the source was written, which is only read"},
        {"nn:8x9x17:ldc=12:beta=1:epilogue=bias+out", SOURCE_WRITTEN,
         "the source or the bias was written, which is only read"},
        {"nn:8x9x17:beta=2:epilogue=out", D_READ, "= nan"},
        {"nn:8x9x17:beta=2:epilogue=out", BETA_IGNORED, "wrong"},
        {"nn:8x9x17:epilogue=out", BETA_TIMES_NAN, "= nan"},
        {"nn:8x9x17:epilogue=relu+out", UNWRITTEN, "C[7,8] = nan"},
        {"nn:8x9x17:epilogue=bias+out", BEFORE_C, "1 words in the guard bands"},
        {"nn:8x9x17:ldc=12:epilogue=bias+out", IN_PADDING, "in C's padding"},
        {"nn:8x9x17:epilogue=gelu", UNSTEADY, "two runs over differently poisoned C gave different bits"},
    };
    assert_all_wrong(cases, sizeof cases / sizeof *cases);
}

TEST(an_activation_is_applied_to_nan_and_infinity_too)
{
    static const struct {
        const char *problem;
        float plus, minus; /* of infinity */
    } cases[] = {{"nn:6x7x8:epilogue=relu", INFINITY, 0}, {"nn:6x7x8:epilogue=bias+gelu", INFINITY, NAN}};
    for (size_t i = 0; i < 2; i++) {
        struct cpu_judge cpu_judge;
        struct judgement j;
        const struct operands x = cpu_judge_open_infinite(cases[i].problem, &cpu_judge);
        struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
        const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
        assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
        if (!j.right) fail_msg("%s", j.detail);
        const float *c = host_memory(x.at[OPERAND_C]);
        int plus = 0, minus = 0;
        for (int col = 0; col < 6; col++) {
            const bool positive = host_memory(x.at[OPERAND_B])[3 * 7 + col] > 0;
            plus += positive, minus += !positive;
            if (positive) assert_true(c[col] == cases[i].plus);
            else assert_true(isnan(cases[i].minus) ? isnan(c[col]) : c[col] == cases[i].minus);
        }
        assert_true(plus && minus && isnan(c[6]) && isfinite(c[7]));
        faulty.fault = i ? ACTIVATION_MISSING : NAN_CLAMPED;
        assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
        assert_false(j.right);
        cpu_judge_close(&cpu_judge);
    }
}

/* With beta != 0, too: what was read is as it was. */
TEST(after_timing_out_of_place_every_set_still_has_the_judged_bits)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    bool same;
    cpu_judge_open("nn:64x64x8:beta=0.5:epilogue=bias+out", ROOM, &cpu_judge);
    const int sets = cpu_judge.work.layout.sets;
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    for (int set = 0; set < sets; set++) {
        struct operands x = workload_operands(&cpu_judge.work, set);
        assert_ok(faulty_launch(&faulty, &x, 1, 0.5));
        assert_ok(faulty_launch(&faulty, &x, 1, 0.5));
    }
    const int calls = faulty.calls;
    assert_ok(oracle_recheck(&cpu_judge.oracle, &kernel, &j, sets, &same));
    assert_true(same && faulty.calls == calls);
    float *d = host_memory(workload_operands(&cpu_judge.work, sets - 1).at[OPERAND_C]);
    d[63] = nextafterf(d[63], INFINITY);
    assert_ok(oracle_recheck(&cpu_judge.oracle, &kernel, &j, sets, &same));
    assert_false(same);
    cpu_judge_close(&cpu_judge);
}

TEST(spoilt_operands_and_answers_are_written_again)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    cpu_judge_open("nn:33x20x19:beta=1", ROOM, &cpu_judge);
    struct faulty_kernel vandal = {.problem = cpu_judge.work.problem, .fault = OPERANDS_OVERWRITTEN};
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel bad = {.self = &vandal, .launch = faulty_launch},
                        good = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &bad, &j));
    assert_false(j.right);
    ((double *)(void *)host_memory(cpu_judge.oracle.value.address))[5] = 3;
    assert_ok(oracle_judge(&cpu_judge.oracle, &good, &j));
    assert_false(j.right); /* blamed for an earlier fault */
    assert_ok(oracle_restore(&cpu_judge.oracle));
    assert_ok(oracle_judge(&cpu_judge.oracle, &good, &j));
    assert_true(j.right);
    cpu_judge_close(&cpu_judge);
}

TEST(a_c_that_timing_left_different_is_found_in_any_set)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    bool same;
    cpu_judge_open("nn:64x64x8", ROOM, &cpu_judge);
    int sets = cpu_judge.work.layout.sets;
    assert_true(sets > 64); /* more than one round of hashes */
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    for (int set = 0; set < sets; set++) {
        struct operands x = workload_operands(&cpu_judge.work, set);
        assert_ok(faulty_launch(&faulty, &x, 1, 0));
    }
    assert_ok(oracle_recheck(&cpu_judge.oracle, &kernel, &j, sets, &same));
    assert_true(same);
    float *c = host_memory(workload_operands(&cpu_judge.work, sets - 1).at[OPERAND_C]);
    c[63] = nextafterf(c[63], INFINITY);
    assert_ok(oracle_recheck(&cpu_judge.oracle, &kernel, &j, sets, &same));
    assert_false(same);
    assert_ok(oracle_recheck(&cpu_judge.oracle, &kernel, &j, sets - 1, &same));
    assert_true(same);
    cpu_judge_close(&cpu_judge);
}

TEST(repeated_runs_count_those_that_differ)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    int different;
    cpu_judge_open("nn:9x9x17:beta=0.5", ROOM, &cpu_judge);
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_true(j.right);
    assert_ok(oracle_repeat(&cpu_judge.oracle, &kernel, &j, 6, &different));
    assert_int_equal(different, 0);
    faulty.fault = UNSTEADY;
    assert_ok(oracle_repeat(&cpu_judge.oracle, &kernel, &j, 6, &different));
    assert_int_equal(different, 3);
    cpu_judge_close(&cpu_judge);
}

TEST(nan_and_infinity_must_reach_c_and_nothing_else)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    const struct operands x = cpu_judge_open_infinite("6x7x8", &cpu_judge);
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    if (!j.right) fail_msg("%s", j.detail);
    assert_true(isinf(host_memory(x.at[OPERAND_C])[0]) && isnan(host_memory(x.at[OPERAND_C])[6]) &&
                isfinite(host_memory(x.at[OPERAND_C])[7]));
    host_memory(x.at[OPERAND_A])[3] = FLT_MAX / 4; /* for a kernel that clamps infinity */
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_false(j.right);
    cpu_judge_close(&cpu_judge);
}

/* Of a problem, judged whole or in pieces of so many elements. */
static struct judgement judge_in_pieces(const char *text, enum fault fault, int64_t piece, int *pieces)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    const struct problem p = problem_of(text);
    struct oracle_limits limits = limits_of(ROOM);
    limits.piece = piece;
    assert_ok(workload_open(&kernels, &p, true, SEED, ROOM, &cpu_judge.work));
    assert_ok(oracle_open(&cpu_judge.work, SEED, &limits, &cpu_judge.oracle));
    assert_false(cpu_judge.oracle.plan.sampled);
    *pieces = cpu_judge.oracle.plan.count;
    struct faulty_kernel faulty = {.problem = p, .fault = fault};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    cpu_judge_close(&cpu_judge);
    return j;
}

/* Only the sum of squares is added in another order. */
TEST(judging_in_pieces_gives_the_verdict_of_judging_the_whole)
{
    static const char *const texts[] = {"nt:1x700x1:beta=2", "tn:3x230x40:lda=5:ldb=231:beta=1",
                                        "tt:70x5x33:batch=2:lda=72:ldb=40:ldc=6:alpha=-1:beta=2",
                                        "nn:5x100x8:ldc=110:batch=2:epilogue=bias+gelu+out",
                                        "nn:6x100x8:epilogue=rowbias+relu"};
    static const enum fault faults[] = {NONE, ONE_OFF, RANDOM_ONLY};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
            int one, many;
            const struct judgement whole = judge_in_pieces(texts[i], faults[f], 1 << 26, &one),
                                   parts = judge_in_pieces(texts[i], faults[f], 67, &many);
            assert_true(one == 1 && many > 7);
            if (whole.right != (faults[f] == NONE)) fail_msg("%s: %s", texts[i], whole.detail);
            assert_true(parts.right == whole.right && parts.exact == whole.exact);
            assert_true(parts.worst == whole.worst && parts.hash == whole.hash);
            assert_true(!accuracy_is_known(&whole.errors) ||
                        (parts.errors.componentwise == whole.errors.componentwise &&
                         parts.errors.max == whole.errors.max));
            assert_true(!accuracy_is_known(&whole.errors) ||
                        fabs(parts.errors.rms - whole.errors.rms) <= 1e-12 * whole.errors.rms);
            assert_string_equal(parts.detail, whole.detail); /* the first wrong element, too */
        }
}

TEST(a_row_that_is_too_long_is_judged_in_parts)
{
    const struct problem p = problem_of("nt:1x10000x1");
    struct cpu_judge cpu_judge;
    struct judgement j;
    struct oracle_limits limits = limits_of(1 << 17);
    limits.piece = 100;
    assert_ok(workload_open(&kernels, &p, true, SEED, ROOM, &cpu_judge.work));
    assert_ok(oracle_open(&cpu_judge.work, SEED, &limits, &cpu_judge.oracle));
    struct faulty_kernel faulty = {.problem = p};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_true(j.right);
    assert_string_equal(j.detail, "judged on 1600 of 10000 elements");
    faulty = (struct faulty_kernel){.problem = p, .fault = ONE_OFF};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    cpu_judge_close(&cpu_judge);
}

TEST(with_alpha_0_nan_operands_do_not_matter)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    const struct problem p = problem_of("nn:6x7x8:alpha=0:beta=0.5");
    assert_ok(workload_open(&kernels, &p, false, SEED, ROOM, &cpu_judge.work));
    for (int i = 0; i < 2; i++) {
        struct operands x = workload_operands(&cpu_judge.work, i ? WORKLOAD_EXACT : 0);
        for (int at = 0; at < 48; at++) host_memory(x.at[OPERAND_A])[at] = NAN;
        for (int at = 0; at < 56; at++) host_memory(x.at[OPERAND_B])[at] = NAN;
    }
    const struct oracle_limits limits = limits_of(ROOM);
    assert_ok(oracle_open(&cpu_judge.work, SEED, &limits, &cpu_judge.oracle));
    struct faulty_kernel faulty = {.problem = p};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    if (!j.right) fail_msg("%s", j.detail);
    cpu_judge_close(&cpu_judge);
}

TEST(a_problem_too_large_is_judged_on_some_rows_and_says_so)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    cpu_judge_open("nn:700x50x9", 200 << 10, &cpu_judge); /* room for only a few rows */
    assert_true(cpu_judge.oracle.plan.sampled);
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_true(j.right);
    assert_non_null(strstr(j.detail, "of 700 rows"));
    faulty.fault = ONE_OFF; /* the last row is always judged */
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_false(j.right);
    assert_non_null(strstr(j.detail, "C[699,49]"));
    cpu_judge_close(&cpu_judge);
}

TEST(rows_of_a_sample_have_their_own_bias)
{
    struct cpu_judge cpu_judge;
    struct judgement j;
    cpu_judge_open("nn:700x50x9:epilogue=rowbias+gelu", 200 << 10, &cpu_judge);
    assert_true(cpu_judge.oracle.plan.sampled);
    struct faulty_kernel faulty = {.problem = cpu_judge.work.problem};
    const struct kernel kernel = {.self = &faulty, .launch = faulty_launch};
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    if (!j.right) fail_msg("%s", j.detail);
    faulty.fault = BIAS_OTHER_WAY;
    assert_ok(oracle_judge(&cpu_judge.oracle, &kernel, &j));
    assert_false(j.right);
    cpu_judge_close(&cpu_judge);
}

TEST(the_canary_sings)
{
    struct trial_setup setup = {.device = &device, .kernels = kernels};
    assert_ok(canary_run(&setup));
    assert_int_equal(host_bytes_in_use, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_is_called_right_everywhere),
        cmocka_unit_test(a_kernel_that_rounds_its_operands_answers_for_tf32_alone_and_a_strict_one_for_both),
        cmocka_unit_test(faults_are_found_in_tf32_too),
        cmocka_unit_test(errors_are_the_largest_and_the_root_mean_square_of_what_c_is_off),
        cmocka_unit_test(errors_of_what_was_refused_by_whole_numbers_are_unknown_and_those_of_nan_infinite),
        cmocka_unit_test(faults_are_found_and_described),
        cmocka_unit_test(faults_of_an_epilogue_are_found_and_described),
        cmocka_unit_test(an_activation_is_applied_to_nan_and_infinity_too),
        cmocka_unit_test(after_timing_out_of_place_every_set_still_has_the_judged_bits),
        cmocka_unit_test(spoilt_operands_and_answers_are_written_again),
        cmocka_unit_test(a_c_that_timing_left_different_is_found_in_any_set),
        cmocka_unit_test(repeated_runs_count_those_that_differ),
        cmocka_unit_test(nan_and_infinity_must_reach_c_and_nothing_else),
        cmocka_unit_test(judging_in_pieces_gives_the_verdict_of_judging_the_whole),
        cmocka_unit_test(a_row_that_is_too_long_is_judged_in_parts),
        cmocka_unit_test(with_alpha_0_nan_operands_do_not_matter),
        cmocka_unit_test(a_problem_too_large_is_judged_on_some_rows_and_says_so),
        cmocka_unit_test(rows_of_a_sample_have_their_own_bias),
        cmocka_unit_test(the_canary_sings),
    };
    return cmocka_run_group_tests(tests, open_device, NULL);
}

#include "data_class.h"
#include "problem_texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct oracle_limits ample = {
    .products = 1e15, .bytes = (int64_t)1 << 40, .blocks = 528, .piece = 1 << 26};

/* ---- bounds ---- */

TEST(the_bound_is_4_u_k_and_one_rounding_of_c)
{
    struct problem p = problem_of("5x6x1000");
    struct error_bound bound = oracle_bound(&p);
    assert_true(bound.slope == 4000.0 / 16777216.0);
    assert_true(bound.rounding == 1.0 / 16777216.0);
}

TEST(rounded_operands_widen_the_bound_by_their_two_roundoffs)
{
    const struct problem strict = problem_of("sgemm:nn:5x6x1000"), tf32 = problem_of("tf32gemm:nn:5x6x1000");
    assert_true(oracle_bound(&tf32).slope == oracle_bound(&strict).slope + 2.0 / 2048);
    assert_true(oracle_bound(&tf32).rounding == oracle_bound(&strict).rounding);
}

/* ---- epilogues ---- */

TEST(an_epilogue_allows_for_its_own_roundings_even_where_k_is_0)
{
    const double u = 0x1p-24;
    const struct problem plain = problem_of("5x6x0"), bias = problem_of("5x6x0:epilogue=bias"),
                         relu = problem_of("5x6x1000:epilogue=relu"),
                         gelu = problem_of("tf32gemm:nn:5x6x1000:epilogue=bias+gelu+out");
    assert_true(oracle_bound(&plain).slope == 0);
    assert_true(oracle_bound(&bias).slope == 3 * u && oracle_bound(&bias).rounding == u);
    assert_true(oracle_bound(&relu).slope == 4003 * u && oracle_bound(&relu).activation == 0);
    assert_true(oracle_bound(&gelu).activation == 0x1p-17);
    assert_true(fabs(oracle_bound(&gelu).slope - (1.13 * (4003 * u + 2.0 / 2048) + 0x1p-17)) < 1e-15);
}

static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* As kernels compute it, in FP32 with approximate 2^x and 1/x, each wrong by as much as it may be. */
static double fast_gelu(float x, double error_of_exp2, double error_of_reciprocal)
{
    const float power = x * fmaf(x * x, -0.10294324f, -2.3022082f);
    const float two_to = (float)(exp2((double)power) * (1 + error_of_exp2));
    const float part = (float)(1 / (double)(1 + two_to) * (1 + error_of_reciprocal));
    return (double)(x * part);
}

TEST(gelu_of_our_kernels_is_closer_than_the_bound_allows_and_no_steeper)
{
    const struct problem p = problem_of("5x6x0:epilogue=gelu");
    const double allowed = oracle_bound(&p).activation;
    const double steepest = (oracle_bound(&p).slope - allowed) / (3 * 0x1p-24), step = 1.0 / 4096;
    double worst = 0, slope = 0;
    for (double x = -12; x <= 12; x += step) {
        slope = fmax(slope, fabs(gelu(x + step / 2) - gelu(x - step / 2)) / step);
        if (x == 0) continue;
        for (int i = 0; i < 4; i++) {
            const double got = fast_gelu((float)x, i & 1 ? 0x1p-22 : -0x1p-22, i & 2 ? 0x1p-23 : -0x1p-23);
            worst = fmax(worst, fabs(got - gelu(x)) / fabs(x));
        }
    }
    print_message("error 2^%.2f |x|, slope %.5f\n", log2(worst), slope);
    assert_true(worst > 0x1p-23 && worst < 0x1p-21 && worst < allowed);
    assert_true(slope > 1.128 && slope <= steepest);
    for (float x = 12; x < 1e38f; x *= 1.5f) {
        assert_true(fabs(fast_gelu(x, 0, 0) - (double)x) <= allowed * (double)x);
        assert_true(fabs(fast_gelu(-x, 0, 0)) <= allowed * (double)x);
    }
}

/* ---- elements ---- */

TEST(elements_of_16_bits_are_rounded_to_nearest_and_widened_without_loss)
{
    static const struct {
        float x;
        unsigned f16, bf16;
    } cases[] = {{1, 0x3c00, 0x3f80},
                 {-2, 0xc000, 0xc000},
                 {0, 0, 0},
                 {65504, 0x7bff, 0x4780},
                 {65519, 0x7bff, 0x4780},
                 {65520, 0x7c00, 0x4780},
                 {0x1p-24f, 1, 0x3380},
                 {0x1p-25f, 0, 0x3300},
                 {0x1.8p-24f, 2, 0x33c0},
                 {0x1p-14f, 0x400, 0x3880},
                 {0x1.ff8p-15f, 0x3ff, 0x3880},
                 {1 + 0x1p-11f, 0x3c00, 0x3f80},
                 {1 + 0x3p-11f, 0x3c02, 0x3f80},
                 {1 + 0x1p-8f, 0x3c04, 0x3f80},
                 {1 + 0x3p-8f, 0x3c0c, 0x3f82},
                 {INFINITY, 0x7c00, 0x7f80},
                 {-INFINITY, 0xfc00, 0xff80},
                 {0x1.fffffep127f, 0x7c00, 0x7f80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(oracle_rounded(ORACLE_F16, cases[i].x), cases[i].f16);
        assert_int_equal(oracle_rounded(ORACLE_BF16, cases[i].x), cases[i].bf16);
        assert_true(oracle_widened(ORACLE_F32, oracle_rounded(ORACLE_F32, cases[i].x)) == cases[i].x);
    }
    for (int element = ORACLE_F16; element <= ORACLE_BF16; element++) {
        assert_true(isnan(oracle_widened(element, oracle_rounded(element, NAN))));
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            const float x = oracle_widened(element, bits);
            if (!isnan(x)) assert_int_equal(oracle_rounded(element, x), bits);
        }
        unsigned short data[3] = {0, 0, 0};
        oracle_store(element, data, 1, 0x1234);
        assert_true(data[0] == 0 && data[2] == 0 && oracle_load(element, data, 1) == 0x1234);
    }
    assert_true(ORACLE_F32 == (int)ELEMENT_F32 && ORACLE_F16 == (int)ELEMENT_F16 &&
                ORACLE_BF16 == (int)ELEMENT_BF16);
}

TEST(parts_of_an_epilogue_have_the_numbers_of_epilogue_h)
{
    assert_true(ORACLE_BIAS_NONE == (int)BIAS_NONE && ORACLE_BIAS_COLUMN == (int)BIAS_COLUMN &&
                ORACLE_BIAS_ROW == (int)BIAS_ROW);
    assert_true(ORACLE_ACTIVATION_NONE == (int)ACTIVATION_NONE &&
                ORACLE_ACTIVATION_RELU == (int)ACTIVATION_RELU &&
                ORACLE_ACTIVATION_GELU == (int)ACTIVATION_GELU);
}

/* ---- the exact test ---- */

static double largest_value(const struct fill_rule *rule)
{
    return rule->range + abs(rule->shift);
}

/* The largest sum of magnitudes that the rules allow. */
static double largest(const struct problem *p, const struct exact_test *t)
{
    const double bias = epilogue_bias(p->epilogue) == BIAS_NONE ? 0 : largest_value(&t->rule[OPERAND_BIAS]);
    return fabs(t->alpha) * (double)p->k * largest_value(&t->rule[OPERAND_A]) *
               largest_value(&t->rule[OPERAND_B]) +
           fabs(t->beta) * largest_value(&t->rule[OPERAND_C]) + bias;
}

TEST(whole_numbers_stay_below_2_to_the_24_for_every_k_alpha_and_beta)
{
    static const char *const scalars[] = {"",
                                          ":alpha=-8:beta=8",
                                          ":alpha=3:beta=-1",
                                          ":alpha=0:beta=8",
                                          ":alpha=2.5",
                                          ":epilogue=bias",
                                          ":alpha=-8:beta=8:epilogue=bias+relu",
                                          ":epilogue=rowbias+gelu+out",
                                          ":alpha=0:epilogue=gelu"};
    for (int64_t k = 0; k < (1 << 22); k = k * 3 / 2 + 1)
        for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
            char text[80];
            snprintf(text, sizeof text, "4x4x%lld%s", (long long)k, scalars[i]);
            struct problem p = problem_of(text);
            struct exact_test t = oracle_exact_test(&p, 1);
            if (t.rule[OPERAND_A].keep != UINT32_MAX) continue; /* thinned out: next test */
            const bool gelu = epilogue_activation(p.epilogue) == ACTIVATION_GELU;
            if (!(largest(&p, &t) < (gelu ? 32768.0 : 16777216.0))) fail_msg("%s: %g", text, largest(&p, &t));
            assert_true(t.rule[OPERAND_A].range >= 1);
        }
}

TEST(whole_numbers_of_every_type_are_exact_as_operands_and_sums)
{
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        const struct gemm_type_row *row = gemm_type_row((enum gemm_type)type);
        struct problem p = problem_of("4x4x1000:alpha=3:beta=-1");
        p.type = (enum gemm_type)type;
        const struct exact_test t = oracle_exact_test(&p, 1);
        assert_true(t.limit * row->sum_roundoff <= 1 && t.limit * row->c_roundoff <= 1);
        if (t.rule[OPERAND_A].keep == UINT32_MAX)
            assert_true(largest(&p, &t) < t.limit); /* else most of A is 0 */
        assert_true(t.rule[OPERAND_A].range * row->operand_roundoff <= 1 &&
                    t.rule[OPERAND_B].range * row->operand_roundoff <= 1);
    }
}

TEST(the_range_is_as_wide_as_2_to_the_24_allows)
{
    struct problem p = problem_of("4x4x1000000");
    assert_int_equal(oracle_exact_test(&p, 1).rule[OPERAND_A].range, 4); /* 16e6 < 2^24 < 25e6 */
    p = problem_of("4x4x16777215");
    assert_int_equal(oracle_exact_test(&p, 1).rule[OPERAND_A].range, 1);
    assert_true(oracle_exact_test(&p, 1).rule[OPERAND_A].keep == UINT32_MAX);
}

TEST(a_k_beyond_2_to_the_24_is_thinned_to_a_quarter_of_the_limit)
{
    struct problem p = problem_of("1x1x2147418112");
    struct exact_test t = oracle_exact_test(&p, 1);
    double kept = (double)t.rule[OPERAND_A].keep / UINT32_MAX * (double)p.k;
    assert_true(kept > 1e6 && kept <= (double)(1 << 22));
    int nonzero = 0;
    for (uint64_t at = 0; at < 100000; at++) nonzero += oracle_value(t.rule[OPERAND_A], at) != 0.0f;
    assert_true(nonzero > 50 && nonzero < 300); /* 1/512 of them, less a third that are 0 anyway */
}

/* Otherwise an activation would hide half of the errors of one element. */
TEST(before_an_activation_no_product_is_negative)
{
    static const char *const texts[] = {"4x4x100:epilogue=relu", "4x4x100:alpha=-2:epilogue=bias+gelu",
                                        "4x4x200000:epilogue=gelu", "1x1x2147418112:alpha=-8:epilogue=gelu"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct problem p = problem_of(texts[i]);
        const struct exact_test t = oracle_exact_test(&p, 1);
        double kept = 0;
        int nonzero = 0;
        for (uint64_t at = 0; at < 20000; at++) {
            const float a = oracle_value(t.rule[OPERAND_A], at), b = oracle_value(t.rule[OPERAND_B], at);
            assert_true(t.alpha * (double)(a * b) >= 0);
            assert_true(fabsf(a) <= 32 && fabsf(b) <= 32);
            kept += fabs((double)a) / 20000, nonzero += a * b != 0;
        }
        assert_true(nonzero > 0 || p.k > 1000000000);
        /* On average far from the limit, thinned out or not. */
        assert_true(fabs(t.alpha) * kept * (double)p.k * largest_value(&t.rule[OPERAND_B]) < t.limit);
    }
}

TEST(scalars_that_are_not_small_whole_numbers_are_replaced)
{
    struct problem p = problem_of("4x4x4:alpha=2.5:beta=0.5");
    struct exact_test t = oracle_exact_test(&p, 1);
    assert_true(t.alpha == 1 && t.beta == 1);
    p = problem_of("4x4x4:alpha=-3:beta=0");
    t = oracle_exact_test(&p, 1);
    assert_true(t.alpha == -3 && t.beta == 0);
    p = problem_of("4x4x4:alpha=1e30:beta=9");
    t = oracle_exact_test(&p, 1);
    assert_true(t.alpha == 1 && t.beta == 1);
}

/* ---- values ---- */

TEST(random_values_fill_minus_1_to_1_evenly)
{
    struct fill_rule rule = oracle_random_test(42).rule[OPERAND_A];
    double sum = 0, squares = 0, low = 1, high = -1;
    enum { COUNT = 200000 };
    for (uint64_t at = 0; at < COUNT; at++) {
        double x = (double)oracle_value(rule, at);
        sum += x, squares += x * x;
        low = fmin(low, x), high = fmax(high, x);
    }
    assert_true(low >= -1 && low < -0.9999 && high < 1 && high > 0.9999);
    assert_true(fabs(sum / COUNT) < 0.01);
    assert_true(fabs(squares / COUNT - 1.0 / 3) < 0.01);
}

TEST(whole_values_fill_their_range)
{
    struct fill_rule rule = {.seed = 5, .range = 3, .keep = UINT32_MAX};
    int seen[7] = {0};
    for (uint64_t at = 0; at < 7000; at++) {
        float x = oracle_value(rule, at);
        assert_true(x >= -3 && x <= 3 && x == rintf(x));
        seen[(int)x + 3]++;
    }
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 850, 1150);
    struct fill_rule shifted = rule;
    shifted.shift = -3;
    for (uint64_t at = 0; at < 100; at++)
        assert_true(oracle_value(shifted, at) == oracle_value(rule, at) - 3);
}

/* The element of op(A) at (row, k), or of op(B) at (k, row) with b, where lines are 64 long. */
static double drawn(const struct problem *p, struct fill_rule rule, bool b, uint64_t row, uint64_t k)
{
    const bool k_in_row = b ? p->trans_b : !p->trans_a;
    const uint64_t line = k_in_row ? row : k, place = k_in_row ? k : row;
    return (double)oracle_element(rule, line * 64 + place, line, place, 64);
}

/* Whatever the op: which way a kind is graded or paired follows k, not the lines in memory. */
static void assert_kinds(const struct problem *p)
{
    for (int kind = 0; kind < DATA_CLASS_COUNT; kind++) {
        const struct random_test t = data_class_test((enum data_class)kind, p, 3);
        double least = INFINITY, largest = 0, product = 0;
        int zeros = 0, large = 0, columns = 0, pairs = 0;
        for (uint64_t row = 0; row < 64; row++)
            for (uint64_t k = 0; k < 64; k++) {
                const double a = drawn(p, t.rule[OPERAND_A], false, row, k),
                             b = drawn(p, t.rule[OPERAND_B], true, row, k);
                least = fmin(least, fmin(a, b));
                largest = fmax(largest, fabs(a));
                product = fmax(product, fabs(a * b));
                assert_true(isfinite(a) && isfinite(b));
                zeros += a == 0;
                large += fabs(a) > 1;
                columns += row == 0 && fabs(a) > 1;
                if (kind == DATA_CLASS_CANCEL_FAR && k % 2 == 1 && fabs(a) > 1) {
                    const double before = drawn(p, t.rule[OPERAND_A], false, row, k - 1) *
                                          drawn(p, t.rule[OPERAND_B], true, row, k - 1);
                    assert_true(a * b + before == 0);
                    pairs++;
                }
                if (kind == DATA_CLASS_NEAR_ONE) assert_true(a >= 1 && a < 1 + 0x1p-10);
                if (kind == DATA_CLASS_CANCELLING && k % 2 == 1) {
                    const double before = drawn(p, t.rule[OPERAND_A], false, row, k - 1) *
                                          drawn(p, t.rule[OPERAND_B], true, row, k - 1);
                    assert_true(fabs(a * b + before) <= 0x1.1p-12 * fabs(before));
                }
            }
        if (kind == DATA_CLASS_POSITIVE || kind == DATA_CLASS_LOGNORMAL) assert_true(least >= 0);
        if (kind == DATA_CLASS_ROWS) assert_true(largest > 0x1p30 && product > 0x1p25);
        if (kind == DATA_CLASS_COLUMNS) assert_true(largest <= 1 && product > 0x1p25);
        if (kind == DATA_CLASS_K) assert_true(largest > 0x1p30 && product <= 1);
        if (kind == DATA_CLASS_HUGE) assert_true(largest > 0x1.fp127 && product < 0x1p99);
        if (kind == DATA_CLASS_SPARSE) assert_in_range(zeros, 64 * 64 / 2, 64 * 64 - 64 * 8);
        if (kind == DATA_CLASS_OUTLIERS) assert_true(largest > 64 && columns > 0 && columns < 8);
        if (kind == DATA_CLASS_EMPTY) assert_in_range(zeros, 64 * 64 - 32, 64 * 64 - 1);
        if (kind == DATA_CLASS_SPIKES) assert_true(largest > 0x1p38 && large > 0 && large < 32);
        if (kind == DATA_CLASS_CANCEL_FAR) assert_true(largest > 0x1p38 && pairs > 0 && pairs < 64 * 8);
    }
}

TEST(each_kind_of_data_is_what_it_says_for_every_op)
{
    for (int op = 0; op < 4; op++) {
        struct problem p = problem_make(64, 64, 64);
        p.trans_a = op & 1;
        p.trans_b = op & 2;
        assert_kinds(&p);
    }
}

TEST(operands_and_seeds_differ)
{
    struct random_test x = oracle_random_test(1), y = oracle_random_test(2);
    assert_true(x.rule[OPERAND_A].seed != x.rule[OPERAND_B].seed &&
                x.rule[OPERAND_B].seed != x.rule[OPERAND_C].seed &&
                x.rule[OPERAND_A].seed != y.rule[OPERAND_A].seed);
    assert_true(x.rule[OPERAND_BIAS].seed != x.rule[OPERAND_A].seed &&
                x.rule[OPERAND_BIAS].seed != x.rule[OPERAND_B].seed &&
                x.rule[OPERAND_BIAS].seed != x.rule[OPERAND_C].seed);
    assert_true(oracle_value(x.rule[OPERAND_A], 0) != oracle_value(x.rule[OPERAND_B], 0));
    struct random_test again = oracle_random_test(1);
    assert_memory_equal(&x, &again, sizeof x);
}

/* ---- pieces ---- */

static void assert_covers(const struct problem *p, const struct oracle_plan *plan)
{
    int64_t elements = 0, next_item = 0, next_row = 0, next_col = 0;
    for (int i = 0; i < plan->count; i++) {
        const struct piece *x = &plan->pieces[i];
        assert_true(x->offset == elements);
        assert_true(x->item == next_item && x->row == next_row && x->col == next_col);
        elements += x->items * x->rows * x->cols;
        assert_true(x->rows == 1 || x->cols == p->n);
        next_col = x->col + x->cols;
        if (next_col < p->n) continue;
        next_col = 0;
        assert_true(x->items == 1 || x->rows == p->m);
        next_row = x->row + x->rows;
        if (next_row == p->m) next_row = 0, next_item = x->item + x->items;
    }
    assert_true(next_item == p->batch && next_row == 0);
    assert_true(plan->elements == elements && elements == p->m * p->n * p->batch);
}

TEST(a_plan_without_need_to_sample_covers_every_element_once)
{
    static const char *const texts[] = {"4096x4096x4096", "64x1605632x147",      "1x1x1",
                                        "20000x20000x10", "3x5x7:batch=1000000", "10000x9000x64:batch=3",
                                        "1x2147418112x1", "3x100000000x2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct problem p = problem_of(texts[i]);
        struct oracle_plan plan;
        oracle_plan(&p, &ample, 1, &plan);
        assert_false(plan.sampled);
        assert_covers(&p, &plan);
        assert_true(plan.partial_bytes <= (int64_t)1 << 30 || plan.pieces[0].rows == 64);
    }
}

/* Beside two sets of operands of 17 GB each, and with some GB left for others. */
TEST(a_row_of_two_thousand_million_is_judged_on_a_gpu_of_80_gb)
{
    const struct problem p = problem_of("nt:1x2147418112x1");
    const int64_t gb = 1000000000;
    for (int64_t room = 20 * gb; room <= 45 * gb; room += 5 * gb) {
        struct oracle_limits limits = ample;
        struct oracle_plan plan;
        limits.bytes = room;
        oracle_plan(&p, &limits, 1, &plan);
        const int64_t bytes = oracle_answer_bytes(&plan) + plan.partial_bytes;
        if (bytes > room)
            fail_msg("%g GB are planned, and there are %g", (double)bytes / 1e9, (double)room / 1e9);
        assert_true(plan.elements > gb / 2 && plan.sampled == (room < 45 * gb));
    }
}

TEST(an_empty_c_has_no_pieces)
{
    struct problem p = problem_of("0x5x3");
    struct oracle_plan plan;
    oracle_plan(&p, &ample, 1, &plan);
    assert_int_equal(plan.count, 0);
    assert_int_equal(plan.splits, 1);
    assert_int_equal(plan.partial_bytes, 0);
}

TEST(a_sample_has_first_and_last_rows_and_keeps_its_limits)
{
    struct problem p = problem_of("30000x30000x30000:batch=2");
    struct oracle_limits limits = {
        .products = 1e12, .bytes = (int64_t)8 << 30, .blocks = 528, .piece = 1 << 26};
    struct oracle_plan plan;
    oracle_plan(&p, &limits, 1, &plan);
    assert_true(plan.sampled && plan.count >= 2);
    assert_true(plan.pieces[0].item == 0 && plan.pieces[0].row == 0);
    assert_true(plan.pieces[1].item == 1 && plan.pieces[1].row + plan.pieces[1].rows == p.m);
    assert_true((double)plan.elements * (double)p.k <= 1.1e12);
    for (int i = 0; i < plan.count; i++) {
        assert_true(plan.pieces[i].row >= 0 && plan.pieces[i].row + plan.pieces[i].rows <= p.m);
        assert_true(plan.pieces[i].item >= 0 && plan.pieces[i].item < 2);
    }
    assert_true(plan.rows < plan.rows_all);
}

TEST(a_small_c_with_a_long_k_is_split_and_no_element_of_k_is_lost)
{
    static const int64_t ks[] = {0, 1, 16, 255, 257, 4096, 65536, 1000003};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        struct problem p = problem_make(64, 64, ks[i]);
        struct oracle_plan plan;
        oracle_plan(&p, &ample, 1, &plan);
        assert_int_equal(plan.k_per_split % 16, 0);
        assert_true(plan.splits >= 1 && plan.splits * plan.k_per_split >= p.k);
        assert_true(p.k == 0 || (plan.splits - 1) * plan.k_per_split < p.k); /* none is empty */
        assert_true(plan.splits <= 528);
        assert_true(p.k < 100000 || plan.splits > 64);
    }
}

TEST(an_answer_is_found_where_it_lies)
{
    struct oracle_plan plan = {/* of 10x7x3, four items */
                               .count = 2,
                               .pieces = {{0, 1, 0, 3, 0, 7, 0}, {2, 2, 5, 5, 2, 4, 21}},
                               .elements = 21 + 40};
    int64_t item, row, col;
    assert_true(oracle_place(&plan, 20, &item, &row, &col));
    assert_true(item == 0 && row == 2 && col == 6);
    assert_true(oracle_place(&plan, 21 + 20 + 5, &item, &row, &col));
    assert_true(item == 3 && row == 6 && col == 3);
    assert_false(oracle_place(&plan, 61, &item, &row, &col));
}

TEST(an_activation_that_is_not_exact_takes_room_for_more_answers)
{
    const struct problem relu = problem_of("100x100x9:epilogue=relu"),
                         gelu = problem_of("100x100x9:epilogue=gelu");
    struct oracle_plan plan;
    oracle_plan(&relu, &ample, 1, &plan);
    assert_int_equal(oracle_answer_bytes(&plan), 20 * 10000);
    oracle_plan(&gelu, &ample, 1, &plan);
    assert_int_equal(oracle_answer_bytes(&plan), 24 * 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_4_u_k_and_one_rounding_of_c),
        cmocka_unit_test(rounded_operands_widen_the_bound_by_their_two_roundoffs),
        cmocka_unit_test(an_epilogue_allows_for_its_own_roundings_even_where_k_is_0),
        cmocka_unit_test(gelu_of_our_kernels_is_closer_than_the_bound_allows_and_no_steeper),
        cmocka_unit_test(parts_of_an_epilogue_have_the_numbers_of_epilogue_h),
        cmocka_unit_test(before_an_activation_no_product_is_negative),
        cmocka_unit_test(elements_of_16_bits_are_rounded_to_nearest_and_widened_without_loss),
        cmocka_unit_test(whole_numbers_of_every_type_are_exact_as_operands_and_sums),
        cmocka_unit_test(whole_numbers_stay_below_2_to_the_24_for_every_k_alpha_and_beta),
        cmocka_unit_test(the_range_is_as_wide_as_2_to_the_24_allows),
        cmocka_unit_test(a_k_beyond_2_to_the_24_is_thinned_to_a_quarter_of_the_limit),
        cmocka_unit_test(scalars_that_are_not_small_whole_numbers_are_replaced),
        cmocka_unit_test(random_values_fill_minus_1_to_1_evenly),
        cmocka_unit_test(whole_values_fill_their_range),
        cmocka_unit_test(each_kind_of_data_is_what_it_says_for_every_op),
        cmocka_unit_test(operands_and_seeds_differ),
        cmocka_unit_test(a_plan_without_need_to_sample_covers_every_element_once),
        cmocka_unit_test(a_row_of_two_thousand_million_is_judged_on_a_gpu_of_80_gb),
        cmocka_unit_test(an_empty_c_has_no_pieces),
        cmocka_unit_test(a_sample_has_first_and_last_rows_and_keeps_its_limits),
        cmocka_unit_test(a_small_c_with_a_long_k_is_split_and_no_element_of_k_is_lost),
        cmocka_unit_test(an_answer_is_found_where_it_lies),
        cmocka_unit_test(an_activation_that_is_not_exact_takes_room_for_more_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

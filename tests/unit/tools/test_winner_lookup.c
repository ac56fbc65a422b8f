/* What an exported header finds: on the GPU that was measured, on another, and for what is no shape. */
#include "export_header.h"
#include "export_plan.h"
#include "gemm_type.h"
#include "shape.h"
#include "stats.h"
#include "unit.h"
#include "winner_here.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 64

static struct gt_winner winners[8];
static uint32_t slots[SLOTS];
static struct gt_winner_gpu tables[2], substitutes[2];
static struct gt_winner_set set;

/* In the order of types. */
static void add_typed(int32_t type, int32_t m, int32_t n, int32_t k, int32_t adds_to_c, float time_us)
{
    struct gt_winner_gpu *gpu = &tables[0];
    const int32_t number = gpu->count++;
    struct gt_winner_shape s = gt_winner_shape_make(0, 0, m, n, k);
    struct gt_winner *w = &winners[number];
    *w = (struct gt_winner){.m = m,
                            .n = n,
                            .k = k,
                            .batch = 1,
                            .type = type,
                            .time_us = time_us,
                            .adds_to_c = adds_to_c,
                            .tight = 1,
                            .align = gt_winner_align(&s),
                            .needs = 0x111,
                            .log_m = gt_winner_log(m),
                            .log_n = gt_winner_log(n),
                            .log_k = gt_winner_log(k),
                            .log_batch = gt_winner_log(1),
                            .most = {INT32_MAX, INT32_MAX, INT32_MAX},
                            .kernel = -1,
                            .config = "cublas"};
    for (int range = 4 * type + 1; range <= 4 * GT_WINNER_TYPES; range++) gpu->first[range] = gpu->count;
    uint32_t slot = gt_winner_hash(m, n, k, 1, type, 0, w->align, adds_to_c, 0) & (SLOTS - 1);
    while (slots[slot]) slot = (slot + 1) & (SLOTS - 1);
    slots[slot] = (uint32_t)number + 1;
}

static void add(int32_t m, int32_t n, int32_t k, int32_t adds_to_c)
{
    add_typed(GT_WINNER_SGEMM, m, n, k, adds_to_c, 1);
}

static int setup(void **state)
{
    (void)state;
    memset(slots, 0, sizeof slots);
    tables[0] = (struct gt_winner_gpu){.name = "NVIDIA H200",
                                       .arch = 90,
                                       .sm_count = 132,
                                       .winners = winners,
                                       .slot_mask = SLOTS - 1,
                                       .slots = slots};
    add(64, 64, 64, 0);
    add(64, 64, 64, 1);
    add(512, 512, 512, 0);
    add_typed(GEMM_SGEMM_ACCURATE, 512, 512, 512, 0, 0.5f);
    add_typed(GEMM_TF32, 64, 64, 64, 0, 0.25f);
    tables[1] = tables[0];
    tables[1].name = "NVIDIA A100";
    tables[1].arch = 80;
    tables[1].sm_count = 108;
    for (int i = 0; i < 2; i++) {
        substitutes[i] = tables[i];
        substitutes[i].substitute = 1;
    }
    set = (struct gt_winner_set){.gpu_count = 2, .gpus = tables, .substitutes = substitutes};
    return 0;
}

TEST(a_winner_is_exact_on_the_gpu_that_it_was_found_on_alone)
{
    static const struct {
        const char *name;
        int arch, sm_count, table, exact; /* table -1: none */
    } asked[] = {{"NVIDIA H200", 90, 132, 0, 1},
                 {"NVIDIA H200", 90, 114, 0, 0},
                 {"NVIDIA H100 80GB HBM3", 90, 132, 0, 0},
                 {NULL, 90, 132, 0, 0},
                 {"NVIDIA H200", 100, 132, 0, 0},
                 {"NVIDIA B200", 100, 148, 0, 0},
                 {"NVIDIA A100", 80, 108, 1, 1},
                 {"NVIDIA RTX A6000", 86, 84, 1, 0},
                 {"NVIDIA V100", 70, 80, -1, 0}};
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 64, 64, 64);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct gt_winner_match match;
        const struct gt_winner_gpu *gpu =
            gt_winner_gpu_find(&set, asked[i].name, asked[i].arch, asked[i].sm_count);
        assert_int_equal(gpu != NULL, asked[i].table >= 0);
        if (!gpu) continue;
        assert_string_equal(gpu->name, tables[asked[i].table].name);
        assert_int_equal(gt_winner_find(gpu, &shape, &match), 1);
        assert_ptr_equal(match.winner, &winners[0]); /* the right one to take, all the same */
        assert_true(match.distance == 0);
        assert_int_equal(match.exact, asked[i].exact);
        assert_ptr_equal(gt_winner_exact(gpu, &shape), asked[i].exact ? &winners[0] : NULL);
    }
}

/* A header does not ask the program: what that says is written into it. */
TEST(a_header_lists_types_with_their_numbers_and_what_answers_what)
{
    static const char *const lines[] = {
        "before\n/* How exact a product must be.",
        "    GT_WINNER_SGEMM = 0, /* strict FP32: every product and every sum by FFMA */\n",
        "    GT_WINNER_SGEMM_NORMWISE = 2, /* ",
        "    GT_WINNER_TF32GEMM = 3, /* ",
        "    GT_WINNER_BF16GEMM_TO_F32 = 6, /* BF16 operands, FP32 result, summed in FP32 */\n",
        "    GT_WINNER_HGEMM_TO_F32 = 7 /* FP16 operands, FP32 result, summed in FP32 */\n};\n"
        "#define GT_WINNER_TYPES 8\n",
        "unsigned gt_winner_type_answers(int type)\n{\n"
        "    static const unsigned of[] = {9, 6, 4, 8, 16, 32, 64, 128};\n    return of[type];\n}\n",
        "unsigned gt_winner_type_decides(int type)\n{\n"
        "    static const unsigned of[] = {1, 6, 4, 8, 16, 32, 64, 128};\n    return of[type];\n}\n",
        "    static const unsigned of[] = {0, 1, 1, 0, 0, 0, 0, 0};\n",
        "    static const unsigned char bytes[][3] = {{4, 4, 4}, {4, 4, 4}, {4, 4, 4}, {4, 4, 4}, "
        "{2, 2, 2}, {2, 2, 2}, {2, 2, 4}, {2, 2, 4}};\n    return bytes[type][operand];\n}\n\nafter\n"};
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    types_write("before\n#include \"winner_types.h\" /* they */\n\nafter", f);
    fclose(f);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i])) fail_msg("no '%s' in %s", lines[i], text);
    free(text);
}

TEST(a_number_that_is_no_type_answers_nothing)
{
    for (int t = 0; t < GT_WINNER_TYPES; t++) {
        assert_true(gt_winner_answers(t, t) && gt_winner_decides(t, t));
        assert_false(gt_winner_answers(-1, t) || gt_winner_answers(t, -1) ||
                     gt_winner_answers(GT_WINNER_TYPES, t) || gt_winner_decides(t, GT_WINNER_TYPES));
    }
    assert_int_equal(gt_winner_element_bytes(-1, 0), 4);
    assert_int_equal(gt_winner_element_bytes(GT_WINNER_TYPES, 2), 4);
}

TEST(rows_of_narrow_elements_hold_more_of_them)
{
    struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 72, 80);
    s.type = GEMM_BF16;
    assert_int_equal(gt_winner_align(&s), 0x888); /* 16 bytes each */
    s.lda = 84;
    assert_int_equal(gt_winner_align(&s), 0x884);
}

static const struct gt_winner *found_for(int type, int size)
{
    struct gt_winner_match match;
    struct gt_winner_shape shape = gt_winner_shape_make(0, 0, size, size, size);
    shape.type = type;
    gt_winner_find(&tables[0], &shape, &match);
    return match.winner;
}

TEST(a_stricter_winner_answers_a_laxer_shape_and_never_the_reverse)
{
    assert_ptr_equal(found_for(GT_WINNER_SGEMM, 64), &winners[0]);
    assert_ptr_equal(found_for(GEMM_TF32, 64), &winners[4]); /* its own */
    assert_ptr_equal(found_for(GT_WINNER_SGEMM, 512), &winners[2]);
    assert_ptr_equal(found_for(GEMM_SGEMM_NORMWISE, 512), &winners[3]); /* strict ones were not measured */
    assert_ptr_equal(found_for(GEMM_SGEMM_NORMWISE, 520), &winners[3]);
    assert_null(found_for(GEMM_SGEMM_NORMWISE, 500)); /* its errors were measured at a longer k */
    assert_ptr_equal(found_for(GEMM_TF32, 512), &winners[2]);
    assert_ptr_equal(found_for(GEMM_TF32, 500), &winners[2]);
    assert_ptr_equal(found_for(GEMM_TF32, 70), &winners[4]);
    assert_null(found_for(GT_WINNER_TYPES, 64));
    assert_null(found_for(-1, 64));
    struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 512, 512, 512);
    shape.type = GEMM_TF32; /* the others of 512 were not raced against its rival */
    assert_null(gt_winner_exact(&tables[0], &shape));
    shape.type = GEMM_SGEMM_NORMWISE;
    assert_ptr_equal(gt_winner_exact(&tables[0], &shape), &winners[3]);
    const struct gt_winner_shape strict = gt_winner_shape_make(0, 0, 64, 64, 64);
    assert_int_equal(gt_winner_fits(&winners[0], &strict), 1);
    assert_int_equal(gt_winner_fits(&winners[4], &strict), 0);
}

TEST(what_adds_to_c_is_another_problem)
{
    struct gt_winner_match match;
    struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 64, 64, 64);
    assert_int_equal(shape.adds_to_c, 0);
    assert_true(gt_winner_find(&tables[0], &shape, &match) && match.exact && match.winner == &winners[0]);
    shape.adds_to_c = 1;
    assert_true(gt_winner_find(&tables[0], &shape, &match) && match.exact && match.winner == &winners[1]);
    shape = gt_winner_shape_make(0, 0, 512, 512, 512);
    shape.adds_to_c = 7; /* any but 0 */
    assert_true(gt_winner_find(&tables[0], &shape, &match) && match.winner == &winners[2]);
    assert_int_equal(match.exact, 0);
    assert_true(match.distance > 0.019f && match.distance < 0.021f);
}

static struct problem random_problem(uint64_t *random)
{
    struct problem p = problem_make(0, 0, 0);
    int64_t *const sizes[] = {&p.m, &p.n, &p.k, &p.batch}, *const rows[] = {&p.lda, &p.ldb, &p.ldc};
    for (int i = 0; i < 4; i++)
        *sizes[i] = 1 + (int64_t)stats_random_below(random, UINT64_C(1) << stats_random_below(random, 17));
    if (stats_random_below(random, 2)) p.batch = 1;
    p.type = (enum gemm_type)stats_random_below(random, GEMM_TYPE_COUNT);
    p.beta = (double)stats_random_below(random, 2);
    p.lda = p.k;
    p.ldb = p.ldc = p.n;
    for (int i = 0; i < 3; i++)
        if (stats_random_below(random, 2)) *rows[i] += (int64_t)stats_random_below(random, 8);
    p.stride_a = p.m * p.lda + (int64_t)stats_random_below(random, 4);
    p.stride_b = p.k * p.ldb + (int64_t)stats_random_below(random, 4);
    p.stride_c = p.m * p.ldc + (int64_t)stats_random_below(random, 4);
    return p;
}

/* The tuner's distance and that of an exported header are one formula; the header's logarithm is rounded. */
TEST(far_is_as_far_as_in_the_program)
{
    uint64_t random = 11;
    for (int i = 0; i < 20000; i++) {
        struct problem tuned = random_problem(&random), asked = random_problem(&random);
        if (i % 3 == 0)
            asked.m = tuned.m, asked.n = tuned.n, asked.stride_c = asked.m * (asked.ldc = asked.n);
        asked.lda = asked.lda < asked.k ? asked.k : asked.lda;
        asked.ldb = asked.ldb < asked.n ? asked.n : asked.ldb;
        asked.stride_a = asked.m * asked.lda;
        asked.stride_b = asked.k * asked.ldb;
        if (i % 5 == 0) tuned.alpha = 2;
        if (i % 7 == 0) tuned.beta = 0.5;
        const struct shape x = shape_of(&tuned), y = shape_of(&asked);
        const struct config cublas = {.template = NULL};
        const struct gt_winner winner = plan_winner(&cublas, &tuned, NULL);
        const struct gt_winner_shape shape = plan_shape(&asked);
        const double want = shape_distance(&x, &y), got = (double)gt_winner_distance(&winner, &shape);
        if (!(fabs(want - got) < 0.002)) {
            char tuned_text[PROBLEM_TEXT_MAX], asked_text[PROBLEM_TEXT_MAX];
            problem_format(&tuned, tuned_text);
            problem_format(&asked, asked_text);
            fail_msg("%s from %s: %g in the header, %g in the program", asked_text, tuned_text, got, want);
        }
    }
}

static void assert_nothing(const struct gt_winner_gpu *gpu, const struct gt_winner_shape *shape)
{
    struct gt_winner_match match = {.winner = winners, .exact = 1, .distance = 5};
    float distance = 5;
    assert_int_equal(gt_winner_find(gpu, shape, &match), 0);
    assert_true(!match.winner && !match.exact && match.distance == 0);
    assert_null(gt_winner_exact(gpu, shape));
    assert_null(gt_winner_nearest(gpu, shape, &distance));
    if (gpu) assert_int_equal(gt_winner_fits(&winners[0], shape), 0);
}

TEST(nothing_is_found_for_what_is_not_there)
{
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 64, 64, 64);
    assert_null(gt_winner_gpu_find(NULL, "NVIDIA H200", 90, 132));
    assert_null(gt_winner_gpu_find(&set, NULL, -1, INT32_MIN));
    assert_nothing(NULL, &shape);
    assert_nothing(&tables[0], NULL);
    assert_nothing(NULL, NULL);
    assert_int_equal(gt_winner_find(&tables[0], &shape, NULL), 0);
    assert_int_equal(gt_winner_fits(NULL, &shape), 0);
    assert_ptr_equal(gt_winner_nearest(&tables[0], &shape, NULL), &winners[0]);
    assert_int_equal(gt_winner_align(NULL), 0);
}

TEST(nothing_is_found_for_what_no_kernel_or_address_holds)
{
    static const int64_t wrong[] = {-1, INT64_MIN, INT32_MIN, 2147418113, INT64_C(1) << 32, INT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (int field = 0; field < 7; field++) {
            struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);
            int64_t *const fields[7] = {&s.m, &s.n, &s.k, &s.batch, &s.lda, &s.ldb, &s.ldc};
            if (field > 3 && wrong[i] == 2147418113) continue; /* padding may */
            *fields[field] = wrong[i];
            assert_nothing(&tables[0], &s);
        }
        for (int field = 0; field < 3; field++) {
            struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);
            int64_t *const fields[3] = {&s.stride_a, &s.stride_b, &s.stride_c};
            s.batch = INT64_C(1) << 30;
            if (wrong[i] < 0 || wrong[i] > INT64_C(1) << 31) *fields[field] = wrong[i];
            else s.stride_c = 64; /* overlaps */
            assert_nothing(&tables[0], &s);
        }
        const struct gt_winner_shape made = gt_winner_shape_make(1, 0, wrong[i], wrong[i], wrong[i]);
        assert_nothing(&tables[0], &made);
    }
}

/* Whatever 64 bits say: an answer, and never what the kernels' 32 bits do not hold. */
TEST(any_bits_are_answered)
{
    uint64_t random = 5;
    int found = 0;
    for (int i = 0; i < 400000; i++) {
        struct gt_winner_shape s;
        struct gt_winner_match match;
        int64_t *const fields[] = {&s.m,   &s.n,     &s.k,        &s.lda,      &s.ldb,
                                   &s.ldc, &s.batch, &s.stride_a, &s.stride_b, &s.stride_c};
        s.trans_a = s.trans_b = 0;
        s.type = (int)stats_random_below(&random, GT_WINNER_TYPES + 2) - 1;
        s.adds_to_c = (int)stats_random_below(&random, UINT64_C(1) << 31);
        for (size_t j = 0; j < sizeof fields / sizeof *fields; j++) {
            const uint64_t bits =
                stats_random_below(&random, UINT64_C(1) << (4 + stats_random_below(&random, 60)));
            *fields[j] = stats_random_below(&random, 20) ? (int64_t)bits : -(int64_t)bits;
        }
        if (i % 2) s.batch = 1;
        if (!gt_winner_find(&tables[0], &s, &match)) continue;
        assert_true(s.m <= INT32_MAX && s.n <= INT32_MAX && s.k <= INT32_MAX && s.batch <= INT32_MAX);
        assert_true(s.m >= 0 && s.n >= 0 && s.k >= 0 && s.lda >= s.k && s.ldb >= s.n && s.ldc >= s.n);
        found++;
    }
    assert_true(found > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_winner_is_exact_on_the_gpu_that_it_was_found_on_alone, setup),
        cmocka_unit_test(rows_of_narrow_elements_hold_more_of_them),
        cmocka_unit_test(a_header_lists_types_with_their_numbers_and_what_answers_what),
        cmocka_unit_test(a_number_that_is_no_type_answers_nothing),
        cmocka_unit_test_setup(a_stricter_winner_answers_a_laxer_shape_and_never_the_reverse, setup),
        cmocka_unit_test_setup(what_adds_to_c_is_another_problem, setup),
        cmocka_unit_test(far_is_as_far_as_in_the_program),
        cmocka_unit_test_setup(nothing_is_found_for_what_is_not_there, setup),
        cmocka_unit_test_setup(nothing_is_found_for_what_no_kernel_or_address_holds, setup),
        cmocka_unit_test_setup(any_bits_are_answered, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

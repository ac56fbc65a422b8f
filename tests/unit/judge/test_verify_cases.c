#include "verify_cases.h"

#include "template.h"
#include "unit.h"

#include <string.h>

static struct config any_config(int bm, int bn, int bk)
{
    struct config config = {.template = template_find("simt")};
    assert_non_null(config.template);
    config_set(&config, "BM", bm), config_set(&config, "BN", bn), config_set(&config, "BK", bk);
    return config;
}

static struct verify_case cases[VERIFY_CASES_MAX];

static int make(const char *tuned, int bm, int bn, int bk)
{
    struct problem p;
    struct config config = any_config(bm, bn, bk);
    assert_ok(problem_parse(tuned, &p));
    return verify_cases(&config, &p, cases);
}

TEST(every_case_is_a_legal_problem_with_the_op_of_the_tuned_one)
{
    static const char *const ops[] = {"nn:8x8x8", "nt:8x8x8", "tn:8x8x8", "tt:8x8x8"};
    for (size_t op = 0; op < 4; op++) {
        int count = make(ops[op], 128, 96, 9);
        assert_in_range(count, 100, VERIFY_CASES_MAX - 1); /* none was cut off */
        for (int i = 0; i < count; i++) {
            assert_ok(problem_check(&cases[i].problem));
            assert_int_equal(strncmp(problem_op_name(&cases[i].problem), ops[op], 2), 0);
        }
    }
}

static bool has(int count, int64_t m, int64_t n, int64_t k)
{
    for (int i = 0; i < count; i++) {
        const struct problem *p = &cases[i].problem;
        if ((m < 0 || p->m == m) && (n < 0 || p->n == n) && (k < 0 || p->k == k)) return true;
    }
    return false;
}

TEST(every_small_size_and_tile_edge_meets_every_other)
{
    const int64_t m[] = {1, 2, 3, 7, 127, 129, 61}, n[] = {1, 2, 3, 7, 63, 65, 67},
                  k[] = {1, 2, 3, 7, 15, 17, 85};
    int count = make("8x8x8", 128, 64, 16);
    for (int x = 0; x < 7; x++)
        for (int y = 0; y < 7; y++) {
            assert_true(has(count, m[x], n[y], -1));
            assert_true(has(count, m[x], -1, k[y]));
            assert_true(has(count, -1, n[x], k[y]));
        }
}

TEST(half_of_the_shapes_suit_vector_loads_and_still_pass_the_tiles_edge)
{
    int count = make("tn:8x8x8", 128, 64, 16), wide = 0;
    bool beyond = false, padded = false;
    for (int i = 0; i < count; i++) {
        const struct problem *p = &cases[i].problem;
        if (problem_align_a(p) < 4 || problem_align_b(p) < 4 || problem_align_c(p) < 4) continue;
        wide++;
        beyond = beyond || (p->m % 128 && p->m > 128 && p->n % 64 && p->n > 64 && p->k % 16);
        padded = padded || p->lda > problem_cols_a(p);
    }
    assert_true(wide >= 49 && beyond && padded);
}

TEST(the_corners_of_alpha_beta_and_k_are_there)
{
    int count = make("8x8x8", 32, 32, 8), nan_operands = 0, not_finite = 0, no_k = 0, batches = 0, empty = 0;
    for (int i = 0; i < count; i++) {
        const struct problem *p = &cases[i].problem;
        if (cases[i].data == DATA_NAN_OPERANDS) {
            assert_true(p->alpha == 0);
            nan_operands += p->beta != 0;
        }
        if (cases[i].data == DATA_NOT_FINITE) {
            assert_true(p->alpha != 0 && p->k > 0 && p->m > 0 && p->n > 0);
            not_finite++;
        }
        no_k += p->k == 0 && p->beta != 0;
        batches += p->batch == 3;
        empty += p->m == 0 || p->n == 0;
    }
    assert_true(nan_operands >= 2 && not_finite >= 2 && no_k >= 2 && batches >= 7 && empty == 2);
}

TEST(cases_have_the_epilogue_of_the_tuned_problem_and_biases_near_and_far)
{
    int count = make("8x8x8:epilogue=rowbias+gelu+out", 32, 32, 8), shared = 0, apart = 0, odd = 0;
    for (int i = 0; i < count; i++) {
        const struct problem *p = &cases[i].problem;
        assert_ok(problem_check(p));
        assert_int_equal(p->epilogue, epilogue_code(BIAS_ROW, ACTIVATION_GELU, true));
        if (p->batch == 1) continue;
        shared += p->stride_bias == 0;
        apart += p->stride_bias > p->m;
        odd += p->stride_bias % 2 != 0; /* no vector of an item's bias is aligned */
    }
    assert_true(shared >= 2 && apart >= 4 && odd >= 2);
    count = make("8x8x8:epilogue=out", 32, 32, 8);
    for (int i = 0; i < count; i++) assert_ok(problem_check(&cases[i].problem));
}

TEST(a_tile_of_one_gives_no_size_below_one)
{
    int count = make("8x8x8", 1, 2, 2);
    for (int i = 0; i < count; i++) assert_true(cases[i].problem.m >= 0 && cases[i].problem.n >= 0);
}

TEST(cases_take_pointers_like_the_tuned_problem)
{
    const int count = make("8x8x8:batch=2:pointers", 32, 32, 8);
    int batches = 0;
    for (int i = 0; i < count; i++) {
        assert_true(cases[i].problem.pointers);
        assert_ok(problem_check(&cases[i].problem));
        batches += cases[i].problem.batch > 1;
    }
    assert_true(batches > 5);
}

TEST(items_of_cases_share_what_those_of_the_tuned_problem_share)
{
    static const struct {
        const char *text;
        bool a, b;
    } tuned[] = {{"8x8x8:batch=2:stride_a=0", true, false}, {"nt:8x8x8:batch=2:stride_b=0", false, true}};
    for (int t = 0; t < 2; t++) {
        const int count = make(tuned[t].text, 32, 32, 8);
        int batches = 0;
        for (int i = 0; i < count; i++) {
            const struct problem *p = &cases[i].problem;
            assert_ok(problem_check(p));
            if (p->batch == 1) continue;
            assert_int_equal(p->stride_a == 0, tuned[t].a);
            assert_int_equal(p->stride_b == 0, tuned[t].b);
            batches++;
        }
        assert_true(batches > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_a_legal_problem_with_the_op_of_the_tuned_one),
        cmocka_unit_test(every_small_size_and_tile_edge_meets_every_other),
        cmocka_unit_test(half_of_the_shapes_suit_vector_loads_and_still_pass_the_tiles_edge),
        cmocka_unit_test(the_corners_of_alpha_beta_and_k_are_there),
        cmocka_unit_test(cases_have_the_epilogue_of_the_tuned_problem_and_biases_near_and_far),
        cmocka_unit_test(cases_take_pointers_like_the_tuned_problem),
        cmocka_unit_test(items_of_cases_share_what_those_of_the_tuned_problem_share),
        cmocka_unit_test(a_tile_of_one_gives_no_size_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

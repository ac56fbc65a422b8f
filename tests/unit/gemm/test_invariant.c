/* Invariant problems: their text, what they are equal to, and how k is divided. */
#include "invariant.h"
#include "problem.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct problem parsed(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

TEST(parts_of_k_give_few_columns_enough_blocks_and_stay_long)
{
    static const struct {
        int64_t n, k;
        int parts, part_k;
    } cases[] = {
        {6144, 4096, 1, 4096}, {1009, 4096, 1, 4096},    {1008, 4096, 2, 2048},
        {1008, 2047, 1, 2048}, {512, 4096, 2, 2048},     {512, 2048, 2, 1024},
        {256, 4096, 4, 1024},  {256, 8192, 4, 2048},     {64, 8192, 8, 1024},
        {64, 8191, 4, 2048},   {1, 1 << 20, 8, 1 << 17}, {64, 2048, 2, 1024},
        {64, 2047, 1, 2048},   {64, 100, 1, 128},        {64, 0, 1, 0},
        {0, 8192, 8, 1024},    {1000, 4160, 2, 2112},    {1000, 4161, 2, 2112},
        {100, 8200, 8, 1088},  {128, 14336, 8, 1792},    {4096, 14336, 1, 14336},
        {496, 14336, 4, 3584},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (invariant_parts(cases[i].n, cases[i].k) != cases[i].parts ||
            invariant_part_k(cases[i].n, cases[i].k) != cases[i].part_k)
            fail_msg("N %lld, K %lld: %d parts of %lld", (long long)cases[i].n, (long long)cases[i].k,
                     invariant_parts(cases[i].n, cases[i].k),
                     (long long)invariant_part_k(cases[i].n, cases[i].k));
    }
}

/* As kernels count on that divide k among the blocks of a cluster. */
TEST(no_part_is_empty_and_all_begin_at_multiples_of_64)
{
    srand(1);
    for (int i = 0; i < 100000; i++) {
        const int64_t n = 1 + rand() % 8192, k = 1 + rand() % (i % 2 ? 20000 : PROBLEM_DIM_MAX);
        const int64_t parts = invariant_parts(n, k), part_k = invariant_part_k(n, k);
        assert_true(part_k % INVARIANT_UNIT == 0 && parts >= 1 && parts <= INVARIANT_PARTS_MAX);
        assert_true((parts - 1) * part_k < k && parts * part_k >= k);
    }
}

TEST(the_text_of_an_invariant_problem_is_its_own)
{
    static const char *const texts[] = {
        "bf16gemm:nt:64x4096x4096:invariant", "hgemm:nn:8x512x512:c=f32:batch=3:invariant",
        "hgemm:tt:8x512x512:batch=3:pointers:invariant:beta=1",
        "bf16gemm:tn:8x512x512:c=f32:lda=9:invariant:alpha=2:epilogue=bias+relu"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[PROBLEM_TEXT_MAX], key[PROBLEM_TEXT_MAX];
        struct problem p = parsed(texts[i]), plain = p;
        assert_true(p.invariant);
        problem_format(&p, text);
        const struct problem again = parsed(text);
        assert_true(strcmp(text, texts[i]) == 0 && again.invariant);
        problem_key(&p, key);
        assert_non_null(strstr(key, ":invariant"));
        plain.invariant = false;
        assert_true(!problem_equal(&p, &plain) && !problem_alike(&p, &plain));
        plain.m = p.m + 1;
        if (p.trans_a) plain.lda++;
        assert_false(problem_alike_but_m(&p, &plain));
        plain.invariant = true;
        assert_true(problem_alike_but_m(&p, &plain) || p.batch > 1 || p.trans_a);
        assert_true(problem_class(&p).invariant);
    }
    const struct problem x = parsed("bf16gemm:nt:64x4096x4096:invariant"),
                         y = parsed("bf16gemm:nt:8x4096x4096:invariant");
    assert_true(problem_alike_but_m(&x, &y) && !problem_equal(&x, &y));
    assert_false(parsed("bf16gemm:nt:64x4096x4096").invariant);
}

static void assert_refused(const char *text, const char *part)
{
    struct problem p;
    assert_int_equal(problem_parse(text, &p), E_INPUT);
    if (!strstr(status_text(), part)) fail_msg("'%s' lacks '%s'", status_text(), part);
}

TEST(other_types_have_no_invariant_rows)
{
    assert_refused("64x64x64:invariant", "kernels of type sgemm have no rows whose bits do not depend on M");
    assert_refused("tf32gemm:64x64x64:invariant", "bf16gemm and hgemm have");
    assert_refused("sgemm_accurate:64x64x64:invariant", "sgemm_accurate");
    assert_refused("hgemm:64x64x64:invariant:invariant", "invariant is given twice");
    assert_refused("hgemm:64x64x64:invariant=1", "unknown option at 'invariant=1'");
    assert_refused("hgemm:64x64x64:invariants", "unknown option");
    struct problem p = parsed("hgemm:64x64x64"), strict = parsed("64x64x64");
    assert_ok(problem_make_invariant(&p));
    assert_true(p.invariant);
    assert_int_equal(problem_make_invariant(&strict), E_INPUT);
    assert_true(!strict.invariant && strstr(status_text(), "sgemm:nn:64x64x64: kernels of type sgemm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_k_give_few_columns_enough_blocks_and_stay_long),
        cmocka_unit_test(no_part_is_empty_and_all_begin_at_multiples_of_64),
        cmocka_unit_test(the_text_of_an_invariant_problem_is_its_own),
        cmocka_unit_test(other_types_have_no_invariant_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

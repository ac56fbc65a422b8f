/* Judge and final verification of the accuracy classes with kernels that multiply pieces, executed on the
 * CPU, whose products truncate their sums as the hardware's do: the right kernels pass, and each fault that a
 * bound of FP32 lets through is found by the kinds of data. */
#include "accuracy_check.h"
#include "judged_kernel.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define ACCURATE "sgemm_accurate:nn:40x24x600"
#define NORMWISE "sgemm_normwise:nn:40x24x600"

static const struct family {
    const char *config, *problem, *small, *source;
} bf16x6 = {"bf16x6 BM=64 BN=16 BK=64 STAGES=3 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132", ACCURATE,
            "sgemm_accurate:nn:48x40x64", "bf16x6.cu"},
  f16x3 = {"f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=16 VC=1 GROUP=1 SPLIT_K=1 SMS=132", NORMWISE,
           "sgemm_normwise:nn:48x40x64", "f16x3.cu"},
  *const both[] = {&bf16x6, &f16x3};

static struct verification verify(const char *config, const char *problem, const struct edit *edits,
                                  int count)
{
    judged_prepare(config, problem, edits, count);
    return judged_verify();
}

static struct verification assert_right(const char *config, const char *problem)
{
    const struct verification v = verify(config, problem, NULL, 0);
    if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
    print_message("%s\n", v.detail);
    return v;
}

TEST(a_right_kernel_is_as_accurate_as_fp32_on_every_kind_of_data)
{
    for (int i = 0; i < 2; i++) {
        const struct verification v = assert_right(both[i]->config, both[i]->problem);
        assert_non_null(
            strstr(v.detail, "of FP32's on 12 kinds of data, within its bound on 3, at 40x24x600"));
        assert_true(v.checked.kinds == 12 && v.checked.bounded == 3);
        assert_true(v.checked.m == 40 && v.checked.n == 24 && v.checked.k == 600);
        assert_true(v.checked.rms > 0.1 && v.checked.rms <= 1.1);
    }
}

TEST(it_is_as_accurate_with_a_prepared_operand)
{
    assert_true(assert_right(bf16x6.config, ACCURATE ":prepared=b").shapes > 100);
}

/* Problems whose kernels are checked as the others. The f16x3 family has no pointers. */
static const struct {
    const struct family *family;
    const char *problem;
} with_options[] = {{&bf16x6, "sgemm_accurate:nn:40x24x320:epilogue=bias+gelu"},
                    {&bf16x6, "sgemm_accurate:nn:40x24x320:batch=3:pointers"},
                    {&f16x3, "sgemm_normwise:nn:40x24x320:epilogue=rowbias+relu"}};
enum { OPTIONS = sizeof with_options / sizeof *with_options };

TEST(it_is_as_accurate_with_an_epilogue_or_pointers)
{
    for (int i = 0; i < OPTIONS; i++)
        assert_non_null(strstr(assert_right(with_options[i].family->config, with_options[i].problem).detail,
                               "of FP32's on 12 kinds of data, within its bound on 3"));
}

/* A wrong kernel, of which the last check says this. */
static void assert_found_for(const struct family *family, const char *problem, const struct edit *edits,
                             int count, const char *said)
{
    const struct verification v = verify(family->config, problem, edits, count);
    assert_int_equal(v.verdict, VERDICT_WRONG);
    if (!strstr(v.detail, said)) fail_msg("'%s' lacks '%s'", v.detail, said);
}

static void assert_found(const struct family *family, const struct edit *edits, int count, const char *said)
{
    assert_found_for(family, family->problem, edits, count, said);
}

/* In the sums of the tensor cores: the bound of FP32 lets it pass, and the kinds of data do not. */
TEST(sums_that_are_not_promoted_are_found)
{
    static const struct edit edits[] = {
        {"gt_split_ring.cuh", "if (ANEW && k == 0) WGMMA_ANEW(part, left, right);\n        else wgmma",
         "wgmma"},
        {"gt_split_ring.cuh", "sum[q][e] += part[q][e];", "sum[q][e] = part[q][e];"}};
    for (int i = 0; i < 2; i++) assert_found(both[i], edits, 2, "data: error");
}

TEST(a_low_piece_that_is_lost_is_found)
{
    for (int i = 0; i < 2; i++) {
        const struct edit edit = {both[i]->source,
                                  "    multiply_pieces<false>(ring, high, low, group, part);\n", ""};
        assert_found(both[i], &edit, 1, "data: error");
    }
}

TEST(a_low_piece_that_is_lost_is_found_with_an_epilogue_or_pointers)
{
    for (int i = 0; i < OPTIONS; i++) {
        const struct family *const family = with_options[i].family;
        const struct edit edit = {family->source,
                                  "    multiply_pieces<false>(ring, high, low, group, part);\n", ""};
        assert_found_for(family, with_options[i].problem, &edit, 1, "data: error");
    }
}

TEST(a_product_of_middle_pieces_that_is_lost_is_found)
{
    static const struct edit edit = {"bf16x6.cu",
                                     "    multiply_pieces<false>(ring, middle, middle, group, part);\n", ""};
    assert_found(&bf16x6, &edit, 1, "data: error");
}

/* Three products hold what FP32 promises on nine kinds of data. */
TEST(a_product_of_low_pieces_that_is_left_out_is_found_where_products_cancel)
{
    const struct family three = {"f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=0 VC=1 GROUP=1 SPLIT_K=1 SMS=132",
                                 NORMWISE, NULL, NULL};
    assert_found(&three, NULL, 0, "cancelling data: error");
}

/* By the bound of FP32 already: most elements of graded k vanish. */
TEST(a_missing_equilibration_is_found_where_k_is_graded)
{
    static const struct edit edit = {"f16x3_scale.cuh", "s = (to - from) >> 1;", "s = 0;"};
    assert_found(&f16x3, &edit, 1, "elements wrong");
}

#define NEVER_AGAIN                                                                                          \
    {                                                                                                        \
        "gt_split_store.cuh", "if (all_finite(sum[q])) to", "if (true) to"                                   \
    }

TEST(rounding_to_infinity_is_found_by_huge_data)
{
    static const struct edit edits[] = {
        {"bf16x6_split.cuh", "word[0] = packed<true>(high_x, high_y);", "word[0] = packed<true>(x, y);"},
        NEVER_AGAIN};
    assert_found(&bf16x6, edits, 2, "40x24x600: ");
}

TEST(sums_that_are_not_finite_and_not_done_again_are_found_by_the_last_check)
{
    static const struct edit edit = NEVER_AGAIN;
    for (int i = 0; i < 2; i++)
        assert_int_equal(verify(both[i]->config, both[i]->small, &edit, 1).verdict, VERDICT_WRONG);
}

static int open_without_cublas(void **state)
{
    setenv("GEMMTUNE_LIBCUBLAS", "/nowhere/libcublas.so", 1); /* there is no GPU for them */
    setenv("GEMMTUNE_LIBCUBLASLT", "/nowhere/libcublasLt.so", 1);
    return judged_open(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_is_as_accurate_as_fp32_on_every_kind_of_data),
        cmocka_unit_test(it_is_as_accurate_with_a_prepared_operand),
        cmocka_unit_test(sums_that_are_not_promoted_are_found),
        cmocka_unit_test(a_low_piece_that_is_lost_is_found),
        cmocka_unit_test(it_is_as_accurate_with_an_epilogue_or_pointers),
        cmocka_unit_test(a_low_piece_that_is_lost_is_found_with_an_epilogue_or_pointers),
        cmocka_unit_test(a_product_of_middle_pieces_that_is_lost_is_found),
        cmocka_unit_test(a_product_of_low_pieces_that_is_left_out_is_found_where_products_cancel),
        cmocka_unit_test(a_missing_equilibration_is_found_where_k_is_graded),
        cmocka_unit_test(rounding_to_infinity_is_found_by_huge_data),
        cmocka_unit_test(sums_that_are_not_finite_and_not_done_again_are_found_by_the_last_check),
    };
    return cmocka_run_group_tests(tests, open_without_cublas, judged_close);
}

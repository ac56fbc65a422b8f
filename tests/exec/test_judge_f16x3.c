/* Judge and final verification of the normwise class with kernels executed on the CPU, whose products
 * truncate their sums as the hardware's do: the right kernel passes, and each fault that a bound of FP32 lets
 * through is found by the kinds of data. */
#include "accuracy_check.h"
#include "judged_kernel.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define CONFIG  "f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=16 VC=1 GROUP=1 SPLIT_K=1 SMS=132"
#define PROBLEM "sgemm_normwise:nn:40x24x600"

TEST(a_right_kernel_is_as_accurate_as_fp32_on_every_kind_of_data)
{
    judged_prepare(CONFIG, PROBLEM, NULL, 0);
    const struct verification v = judged_verify();
    if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
    print_message("%s\n", v.detail);
    assert_non_null(strstr(v.detail, "of FP32's on 10 kinds of data"));
}

/* The bound of FP32 lets it pass, and this kind of data does not. */
static void assert_found_by_data(const struct edit *edits, int count, const char *kind)
{
    judged_prepare(CONFIG, PROBLEM, edits, count);
    const struct verification v = judged_verify();
    assert_int_equal(v.verdict, VERDICT_WRONG);
    if (!strstr(v.detail, kind)) fail_msg("'%s' lacks '%s'", v.detail, kind);
}

TEST(sums_that_are_not_promoted_are_found)
{
    static const struct edit edits[] = {
        {"f16x3.cu", "if (ANEW && k == 0) wgmma_anew16(part, left, right);\n        else wgmma", "wgmma"},
        {"f16x3.cu", "sum[q][e] += part[q][e];", "sum[q][e] = part[q][e];"}};
    assert_found_by_data(edits, 2, "data: error");
}

TEST(a_low_piece_that_is_lost_is_found)
{
    static const struct edit edit = {"f16x3.cu",
                                     "    multiply_pieces<false>(ring, high, low, group, part);\n", ""};
    assert_found_by_data(&edit, 1, "data: error");
}

/* Three products hold what FP32 promises on nine kinds of data. */
TEST(a_product_of_low_pieces_that_is_left_out_is_found_where_products_cancel)
{
    static const char three[] = "f16x3 BM=64 BN=16 BK=64 STAGES=3 LOW=0 VC=1 GROUP=1 SPLIT_K=1 SMS=132";
    judged_prepare(three, PROBLEM, NULL, 0);
    const struct verification v = judged_verify();
    assert_int_equal(v.verdict, VERDICT_WRONG);
    if (!strstr(v.detail, "cancelling data: error")) fail_msg("%s", v.detail);
}

/* By the bound of FP32 already: most elements of graded k vanish. */
TEST(a_missing_equilibration_is_found_where_k_is_graded)
{
    static const struct edit edit = {"f16x3_scale.cuh", "s = (to - from) >> 1;", "s = 0;"};
    assert_found_by_data(&edit, 1, "elements wrong");
}

TEST(sums_that_are_not_finite_and_not_done_again_are_found_by_the_last_check)
{
    static const struct edit edit = {"f16x3_store.cuh", "if (all_finite(sum[q])) to", "if (true) to"};
    judged_prepare(CONFIG, "sgemm_normwise:nn:48x40x64", &edit, 1);
    const struct verification v = judged_verify();
    assert_int_equal(v.verdict, VERDICT_WRONG);
}

static int open_without_cublas(void **state)
{
    setenv("GEMMTUNE_LIBCUBLAS", "/nowhere/libcublas.so", 1); /* there is no GPU for it */
    return judged_open(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_is_as_accurate_as_fp32_on_every_kind_of_data),
        cmocka_unit_test(sums_that_are_not_promoted_are_found),
        cmocka_unit_test(a_low_piece_that_is_lost_is_found),
        cmocka_unit_test(a_product_of_low_pieces_that_is_left_out_is_found_where_products_cancel),
        cmocka_unit_test(a_missing_equilibration_is_found_where_k_is_graded),
        cmocka_unit_test(sums_that_are_not_finite_and_not_done_again_are_found_by_the_last_check),
    };
    return cmocka_run_group_tests(tests, open_without_cublas, judged_close);
}

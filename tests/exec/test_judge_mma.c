/* Judge, trial and final verification with tensor-core kernels executed on the CPU: the right kernel passes,
 * and each fault is found by the check intended for it. */
#include "judged_kernel.h"
#include "unit.h"

#include <string.h>

#define CONFIG "mma BM=32 BN=32 BK=16 WM=32 WN=32 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"

TEST(a_right_kernel_of_tensor_cores_is_measured_and_verified)
{
    judged_prepare(CONFIG, "tf32gemm:nn:48x40x64:beta=1", NULL, 0);
    const struct outcome o = judged_trial("tf32gemm:nn:48x40x64:beta=1");
    judged_assert_measured(&o);
    assert_true(o.exact && o.worst_error <= 1);
    assert_true(accuracy_is_known(&o.errors) && o.errors.rms > 1e-6 && o.errors.rms < 1e-3);
    const struct verification v = judged_verify();
    if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
    assert_true(v.shapes > 50);
    assert_true(v.errors.rms == o.errors.rms && v.errors.max == o.errors.max); /* the same data again */
}

#define WARPGROUP                                                                                            \
    "wgmma_tf32 BM=64 BN=24 BK=32 SWAP=0 CONSUMERS=1 STAGES=2 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "     \
    "GROUP=1 SPLIT_K=1 SMS=1"

/* Also with a k of 1 to 3, where operands that are cut are found: its copies round. */
TEST(a_right_kernel_of_warpgroups_is_measured_and_verified)
{
    judged_prepare(WARPGROUP, "tf32gemm:nn:48x40x64:beta=1", NULL, 0);
    const struct outcome o = judged_trial("tf32gemm:nn:48x40x64:beta=1");
    judged_assert_measured(&o);
    const struct verification v = judged_verify();
    if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
    assert_true(v.shapes > 50);
}

TEST(it_is_right_for_whole_numbers_and_wrong_for_strict_fp32)
{
    const struct outcome o = judged_trial("sgemm:nn:48x40x64");
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_true(o.exact && o.worst_error > 1);
    assert_non_null(strstr(o.detail, "random data"));
}

TEST(fragments_in_the_wrong_order_are_found_by_whole_numbers)
{
    static const struct edit edit = {"mma.cu", "y[j][0], y[j][1]", "y[j][1], y[j][0]"};
    judged_prepare(CONFIG, "tf32gemm:nn:48x40x64", &edit, 1);
    const struct outcome o = judged_trial("tf32gemm:nn:48x40x64");
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_true(!o.exact && o.time_us == 0);
    assert_non_null(strstr(o.detail, "whole-number data"));
}

/* A bug that does not show with the problem's own data, but with those of the final verification. */
static void assert_found_by_the_last_check(struct edit edit, const char *part)
{
    judged_prepare(CONFIG, "tf32gemm:nn:48x40x64", &edit, 1);
    const struct outcome o = judged_trial("tf32gemm:nn:48x40x64");
    judged_assert_measured(&o);
    const struct verification v = judged_verify();
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, part));
}

TEST(a_lost_k_beyond_the_last_tile_is_found_by_the_last_check_if_the_problem_has_none)
{
    assert_found_by_the_last_check(
        (struct edit){"mma_copy.cuh", "k < count", "k < count - (count % 16 != 0)"}, "whole-number data");
}

TEST(a_forgotten_beta_is_found_by_the_last_check_if_the_problem_has_none)
{
    assert_found_by_the_last_check((struct edit){"mma.cu", "if (blend == 0.0f)", "if (true)"}, "");
}

/* What the hardware does with operands that were not rounded. */
#define CUT(x) "({ union { float f; unsigned u; } cut; cut.f = " x "; cut.u &= 0xffffe000u; cut.f; })"

TEST(operands_that_are_cut_and_not_rounded_pass_where_k_is_long_and_are_found_where_it_is_short)
{
    static const struct edit edits[] = {
        {"mma.cu", "a[set][i][h] = tile_a::rounded(a[set][i][h])", "a[set][i][h] = " CUT("a[set][i][h]")},
        {"mma.cu", "b[set][j][h] = tile_b::rounded(b[set][j][h])", "b[set][j][h] = " CUT("b[set][j][h]")}};
    judged_prepare(CONFIG, "tf32gemm:nn:48x40x512", edits, 2);
    struct outcome o = judged_trial("tf32gemm:nn:48x40x512");
    judged_assert_measured(&o);
    assert_true(o.exact);
    const struct verification v = judged_verify();
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, "random data"));
    o = judged_trial("tf32gemm:nn:48x40x1");
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_true(o.worst_error > 1.5 && o.worst_error < 2.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_of_tensor_cores_is_measured_and_verified),
        cmocka_unit_test(a_right_kernel_of_warpgroups_is_measured_and_verified),
        cmocka_unit_test(it_is_right_for_whole_numbers_and_wrong_for_strict_fp32),
        cmocka_unit_test(fragments_in_the_wrong_order_are_found_by_whole_numbers),
        cmocka_unit_test(a_lost_k_beyond_the_last_tile_is_found_by_the_last_check_if_the_problem_has_none),
        cmocka_unit_test(a_forgotten_beta_is_found_by_the_last_check_if_the_problem_has_none),
        cmocka_unit_test(
            operands_that_are_cut_and_not_rounded_pass_where_k_is_long_and_are_found_where_it_is_short),
    };
    return cmocka_run_group_tests(tests, judged_open, judged_close);
}

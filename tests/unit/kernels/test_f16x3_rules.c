/* The host's half of the family for FP32 as two FP16 pieces: which configurations it takes, and how it
 * launches them. */
#include "split_checks.h"

#include "gemm_block.h"
#include "workspace.h"

static const char *const base_text = F16X3_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"BM", 0}, {"BM", 256},   {"BN", 216}, {"BK", 256},
                                             {"VC", 4}, {"STAGES", 1}, {"LOW", -1}, {"LOW", 17}};
    static const struct violation cases[] = {
        {"BM", 96, "BM must be a multiple of 64"},  {"BN", 100, "BN must be a multiple of 8"},
        {"BM", 192, "do not fit in the registers"}, {"LOW", 4, "LOW must be 0, 8 or 16"},
        {"BK", 64, "BK must be 128 with a LOW"},    {"LOW", 16, "BK must be 128 with a LOW"},
        {"STAGES", 2, "a stage for each piece"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

/* It is no kernel for what looks at every element: the accurate class and TF32. */
TEST(it_computes_what_is_content_with_errors_against_the_largest_and_nothing_else)
{
    static const char *const computed[] = {"sgemm_normwise:tt:512x512x512", NULL},
                             *const refused[] = {"sgemm:nn:512x512x512", "sgemm_accurate:nn:512x512x512",
                                                 "tf32gemm:nt:512x512x512", "hgemm:nn:512x512x512", NULL};
    assert_computes(computed, refused, "computes sgemm_normwise");
}

/* A workspace has room for all that blocks count in it. */
TEST(what_needs_too_much_workspace_is_refused)
{
    const struct config config = base();
    const struct problem long_k = problem_of("sgemm_normwise:nn:8x8x8388608"),
                         large = problem_of("sgemm_normwise:nn:32768x32768x32768"),
                         fits = problem_of("sgemm_normwise:nn:8x8x8388592");
    assert_refused(check(&config, &long_k, &h200), "maxima of rows and columns need more than 64 MiB");
    assert_refused(check(&config, &large, &h200), "pieces of A and B need more than 4 GiB");
    assert_taken(check(&config, &fits, &h200));
}

/* Maxima in the counters; two pieces of two bytes in lines of 64 k, of A's rows and B's columns; an exponent
 * for each row and column. */
TEST(three_kernels_follow_one_another_and_their_workspace_has_room_for_all)
{
    const struct config config = base();
    const struct problem p = problem_of("sgemm_normwise:tn:100x300x70:batch=4:stride_b=0");
    struct launch_plan plan;
    config.template->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 3);
    assert_string_equal(plan.kernel[0].entry, "gemm_maxima");
    assert_int_equal(plan.kernel[0].grid[0], 2 * 1 + 2 * 3); /* A lies as 70 x 100, B as 70 x 300 */
    assert_int_equal(plan.kernel[0].grid[2], 4);
    assert_false(plan.kernel[0].dependent);
    assert_string_equal(plan.kernel[1].entry, "gemm_pack");
    assert_int_equal(plan.kernel[1].grid[0], (2 + 5) * 2);
    assert_true(plan.kernel[1].dependent);
    assert_string_equal(plan.kernel[2].entry, "gemm");
    assert_int_equal(plan.kernel[2].grid[0], 2);
    assert_true(plan.kernel[2].dependent);
    assert_int_equal(plan.counters, 2176); /* of 4 (100 + 300 + 2 * 70), in whole lines */
    assert_int_equal(plan.workspace_bytes, 4 * 2176 + 4 * (3 * 400 * 128 * 2 + 4 * 416));
    assert_int_equal(plan.views, 4);
    assert_int_equal(plan.view[0].element, ELEMENT_F16);
    assert_int_equal(plan.view[0].offset_bytes, 4 * 2176);
    assert_int_equal(plan.view[0].extent[0], 70);
    assert_int_equal(plan.view[0].extent[1], 100);
    assert_int_equal(plan.view[1].extent[1], 300);
    assert_int_equal(plan.view[1].extent[2], 12); /* B's scale is another for each A */
    assert_int_equal(plan.view[1].offset_bytes, 4 * 2176 + 100 * 128 * 2);
    assert_int_equal(plan.view[1].stride_bytes[2], 400 * 128 * 2);
    assert_int_equal(plan.view[2].extent[0], 35); /* two of 8 bits to an element */
    assert_int_equal(plan.view[2].offset_bytes, plan.view[0].offset_bytes);
    assert_int_equal(plan.view[3].extent[1], 300);
    struct problem none = problem_of("sgemm_normwise:nn:100x300x0");
    config.template->plan(&config, &none, &plan);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.workspace_bytes, 0);
}

/* Without pieces of 8 bits there are two of each operand, and steps of 64 k. */
TEST(parts_of_k_lie_behind_the_exponents)
{
    const struct config config =
        config_of("f16x3 BM=128 BN=208 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=8 SMS=132");
    const struct problem p = problem_of("sgemm_normwise:tn:100x300x70:batch=4");
    struct launch_plan plan;
    config.template->plan(&config, &p, &plan);
    assert_int_equal(plan.counters, 2176); /* maxima, and arrivals of 4 * 2 tiles */
    assert_int_equal(plan.views, 2);
    assert_int_equal(plan.view[1].extent[2], 8);
    assert_int_equal(plan.kernel[2].grid[0], 4); /* a k of 70 is two steps */
    assert_int_equal(plan.workspace_bytes,
                     4 * 2176 + 4 * (2 * 400 * 128 * 2 + 4 * 416 + 2 * 2 * 4 * 128 * 208));
}

/* Blocks that split take several tiles, but each operand has one. */
TEST(as_many_blocks_split_as_the_gpu_holds)
{
    const struct config config = base(), few = with("SMS", 1);
    const struct problem large = problem_of("sgemm_normwise:nn:4096x4096x4096"),
                         small = problem_of("sgemm_normwise:nn:1x2x1");
    struct launch_plan plan;
    config.template->plan(&config, &large, &plan);
    assert_int_equal(plan.kernel[1].grid[0], 132 * 4);
    few.template->plan(&few, &large, &plan);
    assert_int_equal(plan.kernel[1].grid[0], 4);
    few.template->plan(&few, &small, &plan);
    assert_int_equal(plan.kernel[1].grid[0], 2);
}

/* Scales depend on both operands. */
TEST(no_operand_has_a_form_without_the_other)
{
    const struct config config = base();
    assert_null(config.template->prepare);
}

TEST(what_is_refused_early_is_refused_whatever_follows)
{
    const struct config starts[] = {
        base(), config_of("f16x3 BM=64 BN=64 BK=64 STAGES=7 LOW=0 VC=1 GROUP=1 SPLIT_K=1 SMS=1")};
    assert_refused_early(starts, "sgemm_normwise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(stages_fit_exactly_and_one_more_does_not),
        cmocka_unit_test(it_computes_what_is_content_with_errors_against_the_largest_and_nothing_else),
        cmocka_unit_test(what_needs_too_much_workspace_is_refused),
        cmocka_unit_test(three_kernels_follow_one_another_and_their_workspace_has_room_for_all),
        cmocka_unit_test(parts_of_k_lie_behind_the_exponents),
        cmocka_unit_test(as_many_blocks_split_as_the_gpu_holds),
        cmocka_unit_test(no_operand_has_a_form_without_the_other),
        cmocka_unit_test(what_is_refused_early_is_refused_whatever_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

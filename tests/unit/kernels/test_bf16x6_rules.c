/* The host's half of the family for FP32 as three BF16 pieces: which configurations it takes, and how it
 * launches them. */
#include "one_family.h"

#include "gemm_block.h"
#include "workspace.h"

static const char *const base_text = BF16X6_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"BM", 0},   {"BM", 256},   {"BN", 216},
                                             {"BK", 128}, {"STAGES", 2}, {"VC", 4}};
    static const struct violation cases[] = {{"BM", 96, "BM must be a multiple of 64"},
                                             {"BN", 100, "BN must be a multiple of 8"},
                                             {"BM", 192, "do not fit in the registers"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

/* A piece of (128 + 208) x 64 elements a stage, 43,008 bytes, and two mbarriers; 1,024 bytes to align them,
 * and a flag. */
TEST(stages_fit_exactly_and_one_more_does_not)
{
    struct config config = base();
    assert_int_equal(config.template->resources(&config).smem_bytes, 1024 + 5 * (43008 + 16) + 16);
    assert_int_equal(config.template->resources(&config).threads, 3 * 128);
    assert_needs_smem(&config, NULL, 1024 + 5 * (43008 + 16) + 16);
    config_set(&config, "STAGES", 6);
    assert_refused(check(&config, NULL, &h200), "do not fit in a block's shared memory");
}

/* A strict problem is none of its, whatever it is asked for. */
TEST(it_computes_what_is_content_with_its_accuracy_and_nothing_else)
{
    static const char *const computed[] = {"sgemm_accurate:nn:512x512x512", "sgemm_normwise:tt:512x512x512",
                                           "tf32gemm:nt:512x512x512"},
                             *const refused[] = {"sgemm:nn:512x512x512", "bf16gemm:nn:512x512x512"};
    const struct config config = base();
    struct gpu gpu = h200;
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        const struct problem p = problem_of(computed[i]);
        assert_taken(check(&config, &p, &h200));
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct problem p = problem_of(refused[i]);
        assert_refused(check(&config, &p, &h200), "computes sgemm_accurate");
    }
    const struct problem p = problem_of(computed[0]), odd = problem_of("sgemm_accurate:nn:512x511x512");
    assert_refused(check(&config, &odd, &h200), "VC is wider than C");
    gpu.arch = 100;
    assert_refused(check(&config, &p, &gpu), "sm_90 alone");
}

/* Three pieces of two bytes in lines of 64 k, of A's rows and B's columns. */
TEST(pieces_lie_in_the_workspace_and_maps_have_their_extents)
{
    const struct config config = base();
    const struct problem p = problem_of("sgemm_accurate:tn:100x300x70:batch=4:stride_b=0");
    struct launch_plan plan;
    config.template->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 2);
    assert_string_equal(plan.kernel[0].entry, "gemm_pack");
    assert_int_equal(plan.kernel[0].grid[0], (2 + 5) * 2);
    assert_int_equal(plan.kernel[0].grid[2], 4);
    assert_int_equal(plan.kernel[1].grid[0], 2);
    assert_true(plan.kernel[1].dependent);
    assert_int_equal(plan.workspace_bytes, 4 * 3 * 400 * 128 * 2);
    assert_int_equal(plan.counters, 0);
    assert_int_equal(plan.views, 2);
    assert_int_equal(plan.view[0].extent[0], 70);
    assert_int_equal(plan.view[0].extent[1], 100);
    assert_int_equal(plan.view[1].extent[1], 300);
    assert_int_equal(plan.view[1].extent[2], 12);
    assert_int_equal(plan.view[1].offset_bytes, 100 * 128 * 2);
    assert_int_equal(plan.view[1].stride_bytes[2], 400 * 128 * 2);
    struct config split = with("SPLIT_K", 8); /* a k of 70 is two steps */
    config.template->plan(&split, &p, &plan);
    assert_int_equal(plan.counters, 64);
    assert_int_equal(plan.kernel[1].grid[0], 4);
    assert_int_equal(plan.view[1].offset_bytes, 4 * 64 + 100 * 128 * 2);
    assert_int_equal(plan.workspace_bytes, 4 * 64 + 4 * (3 * 400 * 128 * 2 + 2 * 2 * 4 * 128 * 208));
    struct problem none = problem_of("sgemm_accurate:nn:100x300x0");
    config.template->plan(&config, &none, &plan);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.workspace_bytes, 0);
}

/* Pieces of B lie alone then, and A's in the workspace as if there were no B. What they take does not depend
 * on M, nor on the tile. */
TEST(a_prepared_operand_has_a_form_of_its_own)
{
    const struct config config = base(), fused = with("FUSE", 1);
    const struct problem p = problem_of("sgemm_accurate:tn:100x300x70:batch=4:stride_a=0"),
                         none = problem_of("sgemm_accurate:nn:100x300x0");
    struct launch_plan plan, preparation;
    config.template->plan(&config, &p, &plan);
    const int64_t workspace_bytes = plan.workspace_bytes;
    assert_true(config.template->prepare(&config, &p, LAUNCH_B, &plan, &preparation));
    assert_int_equal(preparation.kernels, 1);
    assert_int_equal(preparation.kernel[0].grid[0], 5 * 2);
    assert_int_equal(preparation.kernel[0].zero_at, offsetof(struct gemm_args, m));
    assert_int_equal(preparation.batch, 4);
    assert_int_equal(preparation.workspace_bytes, 4 * 3 * 300 * 128 * 2);
    assert_int_equal(preparation.batch_step_bytes[LAUNCH_WORKSPACE], 3 * 300 * 128 * 2);
    assert_int_equal(plan.kernel[0].grid[0], 2 * 2);
    assert_int_equal(plan.kernel[0].zero_at, offsetof(struct gemm_args, n));
    assert_int_equal(plan.view[1].operand, LAUNCH_PREPARED);
    assert_int_equal(plan.view[1].offset_bytes, 0);
    assert_int_equal(plan.view[1].stride_bytes[2], 300 * 128 * 2);
    assert_int_equal(plan.view[0].stride_bytes[2], 100 * 128 * 2);
    assert_int_equal(plan.batch_step_bytes[LAUNCH_PREPARED], 3 * 300 * 128 * 2);
    assert_int_equal(plan.workspace_bytes, workspace_bytes);
    config.template->plan(&config, &p, &plan);
    assert_true(config.template->prepare(&config, &p, LAUNCH_A, &plan, &preparation));
    assert_int_equal(preparation.batch, 1); /* of all items */
    assert_int_equal(plan.view[0].extent[2], 3);
    assert_int_equal(plan.batch_step_bytes[LAUNCH_PREPARED], 0);
    config.template->plan(&config, &none, &plan);
    assert_false(config.template->prepare(&config, &none, LAUNCH_B, &plan, &preparation));
    fused.template->plan(&fused, &p, &plan);
    assert_false(fused.template->prepare(&fused, &p, LAUNCH_B, &plan, &preparation));
}

/* The default limit is for parts of sums; pieces are as large as the operands. A limit of the user's holds.
 */
TEST(pieces_have_more_room_than_the_default_unless_the_user_says_less)
{
    const struct config config = base();
    const struct problem large = problem_of("sgemm_accurate:nn:4096x4096x4096"),
                         huge = problem_of("sgemm_accurate:nn:16384x16384x16384"),
                         tf32 = problem_of("tf32gemm:nn:4096x4096x4096");
    assert_null(workspace_refuses(&config, &large, WORKSPACE_DEFAULT_BYTES));
    assert_non_null(workspace_refuses(&config, &large, WORKSPACE_DEFAULT_BYTES - 1));
    assert_non_null(workspace_refuses(&config, &huge, WORKSPACE_DEFAULT_BYTES));
    assert_non_null(workspace_refuses(&config, &tf32, WORKSPACE_DEFAULT_BYTES));
}

TEST(what_is_refused_early_is_refused_whatever_follows)
{
    const struct config starts[] = {
        base(), config_of("bf16x6 BM=64 BN=64 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=1")};
    static const char *const shapes[] = {"sgemm_accurate:nn:512x512x512", "sgemm_accurate:tt:511x513x70",
                                         "sgemm:nn:64x64x64", "sgemm_normwise:nt:8x1024x8192"};
    static const int32_t values[] = {-1, 0, 1, 2, 3, 5, 7, 8, 12, 64, 72, 96, 128, 192, 208, 256};
    assert_drawn_prefixes_pass(&(struct drawn){.starts = starts,
                                               .shapes = shapes,
                                               .shape_count = sizeof shapes / sizeof *shapes,
                                               .values = values,
                                               .value_count = sizeof values / sizeof *values,
                                               .changes = 4});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(stages_fit_exactly_and_one_more_does_not),
        cmocka_unit_test(it_computes_what_is_content_with_its_accuracy_and_nothing_else),
        cmocka_unit_test(pieces_lie_in_the_workspace_and_maps_have_their_extents),
        cmocka_unit_test(a_prepared_operand_has_a_form_of_its_own),
        cmocka_unit_test(pieces_have_more_room_than_the_default_unless_the_user_says_less),
        cmocka_unit_test(what_is_refused_early_is_refused_whatever_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

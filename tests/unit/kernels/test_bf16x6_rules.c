/* The host's half of the family for FP32 as three BF16 pieces: which configurations it takes, and how it
 * launches them. */
#include "split_checks.h"

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

/* Of FUSE 2 a stage has pieces of B alone: 128 x 64 elements, 16,384 bytes. A of so many steps as the stages
 * hold parts of, 128 x 64 floats each. FUSE 3: B's floats, too; across k in blocks of 32 columns. */
TEST(operands_that_arrive_as_they_are_take_room_beside_the_pieces)
{
    struct config config =
        config_of("bf16x6 BM=128 BN=128 BK=64 STAGES=8 FUSE=2 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132");
    const int half = 1024 + 8 * (16384 + 16) + 3 * (32768 + 16) + 16;
    assert_int_equal(config.template->resources(&config).smem_bytes, half);
    assert_int_equal(config.template->resources(&config).threads, 3 * 128);
    assert_needs_smem(&config, NULL, half);
    config_set(&config, "STAGES", 6);
    config_set(&config, "FUSE", 3);
    const int whole = 1024 + 6 * (16384 + 16) + 2 * (65536 + 16) + 16;
    assert_int_equal(config.template->resources(&config).smem_bytes, whole);
    assert_int_equal(config.template->resources(&config).threads, 4 * 128);
    assert_needs_smem(&config, NULL, whole);
    config_set(&config, "BN", 80);
    assert_int_equal(config.template->resources(&config).smem_bytes,
                     1024 + 6 * (10240 + 16) + 2 * (32768 + 24576 + 16) + 16);
}

TEST(what_is_split_in_registers_leaves_room_for_fewer_sums)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"BM=128 BN=160 BK=64 STAGES=6 FUSE=2 SWAP=0 VA=1 VB=1 VC=2", NULL},
        {"BM=128 BN=168 BK=64 STAGES=6 FUSE=2 SWAP=0 VA=1 VB=1 VC=2", "do not fit in the registers"},
        {"BM=160 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=1", NULL},
        {"BM=168 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=1", "do not fit in the registers"},
        {"BM=128 BN=128 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=1 VC=2", NULL},
        {"BM=128 BN=136 BK=64 STAGES=3 FUSE=3 SWAP=0 VA=1 VB=1 VC=2", "do not fit in the registers"},
        {"BM=128 BN=128 BK=64 STAGES=5 FUSE=3 SWAP=0 VA=1 VB=1 VC=2", "a multiple of 3"},
        {"BM=64 BN=96 BK=64 STAGES=6 FUSE=3 SWAP=1 VA=1 VB=1 VC=1", "a multiple of 64"},
        {"BM=64 BN=128 BK=64 STAGES=6 FUSE=0 SWAP=1 VA=1 VB=1 VC=1", "unless FUSE is 2 or 3"},
        {"BM=64 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=2", "VC must be 1"},
        {"BM=128 BN=64 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=4 VB=1 VC=2", "VA must be 1"},
        {"BM=128 BN=64 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=4 VC=2", "VB must be 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CONFIG_TEXT_MAX];
        snprintf(text, sizeof text, "bf16x6 %s GROUP=1 SPLIT_K=1 SMS=1", cases[i].text);
        const struct config config = config_of(text);
        if (cases[i].why) assert_refused(check(&config, NULL, &h200), cases[i].why);
        else assert_taken(check(&config, NULL, &h200));
    }
}

TEST(tensor_maps_ask_for_lines_at_multiples_of_16_bytes)
{
    static const char half[] = "bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=2 VA=1 VB=1 VC=1 GROUP=1 "
                               "SPLIT_K=1 SMS=1",
                      swap[] = "bf16x6 BM=64 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 "
                               "SPLIT_K=1 SMS=1",
                      whole[] = "bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=1 GROUP=1 "
                                "SPLIT_K=1 SMS=1";
    static const struct {
        const char *config, *problem, *why;
    } cases[] = {
        {half, "sgemm_accurate:nn:100x99x64", NULL},
        {half, "sgemm_accurate:nn:100x100x65", "multiples of 16 bytes"},
        {half, "sgemm_accurate:nn:100x100x64:batch=2:stride_a=6402", "multiples of 16 bytes"},
        {half, "sgemm_accurate:nn:100x100x64:batch=2:pointers", "arrays of pointers"},
        {half, "sgemm_accurate:nn:100x100x64:batch=2:stride_a=274877906944", "too far apart"},
        {swap, "sgemm_accurate:nn:100x100x65", NULL},
        {swap, "sgemm_accurate:nn:100x99x64", "multiples of 16 bytes"},
        {whole, "sgemm_accurate:nt:99x99x64", NULL},
        {whole, "sgemm_accurate:nn:100x99x64", "multiples of 16 bytes"},
        {whole, "sgemm_accurate:tn:99x100x64", "multiples of 16 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config config = config_of(cases[i].config);
        const struct problem p = problem_of(cases[i].problem);
        if (cases[i].why) assert_refused(check(&config, &p, &h200), cases[i].why);
        else assert_taken(check(&config, &p, &h200));
    }
}

/* A strict problem is none of its, whatever it is asked for. */
TEST(it_computes_what_is_content_with_its_accuracy_and_nothing_else)
{
    static const char *const computed[] = {"sgemm_accurate:nn:512x512x512", "sgemm_normwise:tt:512x512x512",
                                           NULL},
                             *const refused[] = {"sgemm:nn:512x512x512", "tf32gemm:nt:512x512x512",
                                                 "bf16gemm:nn:512x512x512", NULL};
    assert_computes(computed, refused, "computes sgemm_accurate");
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

/* The left operand by a map of itself, in boxes of 32 k for each row, or of 32 rows for each k. */
TEST(what_the_block_splits_has_maps_of_its_own_and_no_workspace)
{
    struct config config = config_of(
        "bf16x6 BM=48 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=132");
    const struct problem p = problem_of("sgemm_accurate:nt:100x300x72:batch=4:stride_a=0");
    struct launch_plan plan;
    config.template->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 2);
    assert_int_equal(plan.kernel[0].grid[0], 2 * 2); /* A's rows */
    assert_int_equal(plan.kernel[0].zero_at, offsetof(struct gemm_args, n));
    assert_int_equal(plan.workspace_bytes, 4 * 3 * 100 * 128 * 2);
    assert_int_equal(plan.views, 2);
    assert_int_equal(plan.view[0].operand, LAUNCH_B);
    assert_int_equal(plan.view[0].element, ELEMENT_F32);
    assert_int_equal(plan.view[0].extent[0], 72);
    assert_int_equal(plan.view[0].extent[1], 300);
    assert_int_equal(plan.view[0].extent[2], 4);
    assert_int_equal(plan.view[0].stride_bytes[1], 4 * 72);
    assert_int_equal(plan.view[0].stride_bytes[2], 4 * 72 * 300);
    assert_int_equal(plan.view[0].box[1], 128);
    assert_int_equal(plan.view[0].batch_axis, 2);
    assert_int_equal(plan.view[1].operand, LAUNCH_WORKSPACE);
    assert_int_equal(plan.view[1].extent[1], 100);
    assert_int_equal(plan.view[1].stride_bytes[2], 100 * 128 * 2);
    assert_int_equal(plan.view[1].box[1], 48);

    config_set(&config, "FUSE", 3);
    config.template->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 1);
    assert_false(plan.kernel[0].dependent);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.view[1].operand, LAUNCH_A);
    assert_int_equal(plan.view[1].extent[2], 1); /* all items share it */
    assert_int_equal(plan.view[1].batch_axis, -1);
    const struct problem across = problem_of("sgemm_accurate:tn:100x300x72");
    config.template->plan(&config, &across, &plan);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plan.view[i].extent[0], i ? 100 : 300);
        assert_int_equal(plan.view[i].extent[1], 72);
        assert_int_equal(plan.view[i].box[0], 32);
        assert_int_equal(plan.view[i].box[1], 64);
    }
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

/* With FUSE 2 only the right operand has pieces in memory; once it is prepared, nothing is left to split. */
TEST(a_prepared_right_operand_leaves_one_kernel)
{
    const struct config half =
        config_of("bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=2 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=1 SMS=132");
    const struct problem p = problem_of("sgemm_accurate:nt:100x300x72:batch=4");
    struct launch_plan plan, preparation;
    half.template->plan(&half, &p, &plan);
    assert_false(half.template->prepare(&half, &p, LAUNCH_A, &plan, &preparation));
    assert_true(half.template->prepare(&half, &p, LAUNCH_B, &plan, &preparation));
    assert_int_equal(preparation.kernels, 1);
    assert_string_equal(preparation.kernel[0].entry, "gemm_pack");
    assert_int_equal(preparation.kernel[0].zero_at, offsetof(struct gemm_args, m));
    assert_int_equal(preparation.workspace_bytes, 4 * 3 * 300 * 128 * 2);
    assert_int_equal(plan.kernels, 1);
    assert_string_equal(plan.kernel[0].entry, "gemm");
    assert_false(plan.kernel[0].dependent);
    assert_int_equal(plan.view[0].operand, LAUNCH_A);
    assert_int_equal(plan.view[1].operand, LAUNCH_PREPARED);
    assert_int_equal(plan.view[1].offset_bytes, 0);
    assert_int_equal(plan.view[1].stride_bytes[2], 300 * 128 * 2);
    assert_int_equal(plan.workspace_bytes, 0);
}

/* The kernel looks for them behind pieces, which it does not know to be elsewhere. */
TEST(parts_of_k_keep_the_place_of_pieces_that_are_prepared)
{
    const struct config parts =
        config_of("bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=2 VA=1 VB=1 VC=2 GROUP=1 SPLIT_K=2 SMS=132");
    const struct problem p = problem_of("sgemm_accurate:nt:100x300x72:batch=4");
    struct launch_plan plan, preparation;
    parts.template->plan(&parts, &p, &plan);
    const int64_t workspace_bytes = plan.workspace_bytes;
    assert_true(plan.counters > 0);
    assert_true(parts.template->prepare(&parts, &p, LAUNCH_B, &plan, &preparation));
    assert_int_equal(plan.workspace_bytes, workspace_bytes);
}

/* The default limit is for parts of sums; pieces and packed operands are as large as the operands, and only
 * strict FP32 has none on tensor cores. A limit of the user's holds. */
TEST(pieces_have_more_room_than_the_default_unless_the_user_says_less)
{
    const struct config config = base();
    const struct problem large = problem_of("sgemm_accurate:nn:4096x4096x4096"),
                         huge = problem_of("sgemm_accurate:nn:16384x16384x16384"),
                         tf32 = problem_of("tf32gemm:nn:4096x4096x4096"),
                         strict = problem_of("sgemm:nn:4096x4096x4096");
    assert_null(workspace_refuses(&config, &large, WORKSPACE_DEFAULT));
    assert_non_null(workspace_refuses(&config, &large, INT64_C(64) << 20));
    assert_non_null(workspace_refuses(&config, &huge, WORKSPACE_DEFAULT));
    assert_null(workspace_refuses(&config, &tf32, WORKSPACE_DEFAULT));
    assert_non_null(workspace_refuses(&config, &tf32, INT64_C(64) << 20));
    assert_int_equal(workspace_allowed(&strict, WORKSPACE_DEFAULT), INT64_C(64) << 20);
}

TEST(what_is_refused_early_is_refused_whatever_follows)
{
    const struct config starts[] = {
        base(), config_of("bf16x6 BM=64 BN=64 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=1"),
        config_of("bf16x6 BM=64 BN=64 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=1 GROUP=1 SPLIT_K=1 SMS=1")};
    assert_refused_early(starts, "sgemm_accurate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(stages_fit_exactly_and_one_more_does_not),
        cmocka_unit_test(operands_that_arrive_as_they_are_take_room_beside_the_pieces),
        cmocka_unit_test(what_is_split_in_registers_leaves_room_for_fewer_sums),
        cmocka_unit_test(tensor_maps_ask_for_lines_at_multiples_of_16_bytes),
        cmocka_unit_test(what_the_block_splits_has_maps_of_its_own_and_no_workspace),
        cmocka_unit_test(a_prepared_right_operand_leaves_one_kernel),
        cmocka_unit_test(parts_of_k_keep_the_place_of_pieces_that_are_prepared),
        cmocka_unit_test(it_computes_what_is_content_with_its_accuracy_and_nothing_else),
        cmocka_unit_test(pieces_lie_in_the_workspace_and_maps_have_their_extents),
        cmocka_unit_test(a_prepared_operand_has_a_form_of_its_own),
        cmocka_unit_test(pieces_have_more_room_than_the_default_unless_the_user_says_less),
        cmocka_unit_test(what_is_refused_early_is_refused_whatever_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

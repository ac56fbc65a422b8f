/* The host's half of the tensor-core family: which configurations it takes, and how it launches them. */
#include "one_family.h"

#include "gemm_block.h"

static const char *const base_text = MMA_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {
        {"BM", 16}, {"STAGES", 1}, {"MIN_BLOCKS", 0}, {"GROUP", 0}, {"SPLIT_K", 0}};
    static const struct violation cases[] = {
        {"BM", 144, "BM must be a multiple of 32"}, {"BN", 40, "BN must be a multiple of 32"},
        {"BK", 24, "BK must be a multiple of 16"},  {"WM", 48, "WM must be a multiple of 32"},
        {"WM", 96, "BM must be a multiple of WM"},  {"WN", 80, "WN must be a multiple of 32"},
        {"WN", 96, "BN must be a multiple of WN"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_vector_is_checked("VA");
    assert_vector_is_checked("VB");
    assert_vector_is_checked("VC");
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    struct config many = with("BM", 512);
    config_set(&many, "WM", 32);
    config_set(&many, "WN", 32);
    assert_refused(check(&many, NULL, NULL), "1024 threads");
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

TEST(a_prefix_is_refused_by_the_rules_that_need_no_more)
{
    const struct config config = with("WM", 96);
    const struct template *t = config.template;
    assert_null(t->check_prefix(&config, 3, NULL, &h200)); /* BM, BN, BK */
    assert_refused(t->check_prefix(&config, 4, NULL, &h200), "BM must be a multiple of WM");
}

TEST(only_products_that_take_rounded_operands_on_gpus_that_have_the_instruction_are_taken)
{
    const struct config config = base();
    const struct problem tf32 = problem_of("tf32gemm:nn:512x512x512"), sgemm = problem_of("nn:512x512x512"),
                         accurate = problem_of("sgemm_accurate:nn:512x512x512");
    struct gpu gpu = h200;
    assert_taken(check(&config, &tf32, &h200));
    assert_refused(check(&config, &sgemm, &h200), "computes tf32gemm");
    assert_refused(check(&config, &accurate, &h200), "computes tf32gemm");
    gpu.arch = 80;
    assert_taken(check(&config, &tf32, &gpu));
    gpu.arch = 75;
    assert_refused(check(&config, &tf32, &gpu), "mma.sync tf32 needs sm_80");
}

TEST(vectors_follow_the_operands)
{
    const struct config config = base();
    const struct {
        const char *problem, *part;
    } cases[] = {{"tf32gemm:nn:512x512x510", "VA is wider than A"},
                 {"tf32gemm:tn:510x512x510", "VA is wider than A"},
                 {"tf32gemm:nn:512x510x512", "VB is wider than B"},
                 {"tf32gemm:nt:512x512x512:ldb=513", "VB is wider than B"},
                 {"tf32gemm:nt:512x510x512", "VC is wider than C"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem_of(cases[i].problem);
        assert_refused(check(&config, &p, &h200), cases[i].part);
    }
    const struct problem fits = problem_of("tf32gemm:tt:512x516x511:lda=512:ldb=512");
    assert_refused(check(&config, &fits, &h200), "VB is wider than B"); /* 511 are no whole vectors */
}

/* 128 rows of 16 and 256 rows of 16, with 16 bytes after each four: 384 x 17 floats a stage, 26112 bytes. */
TEST(eight_stages_fit_exactly_and_twice_as_long_ones_do_not)
{
    struct config config = with("STAGES", 8);
    assert_int_equal(config.template->resources(&config).smem_bytes, 8 * 26112);
    assert_int_equal(config.template->resources(&config).threads, 256);
    assert_taken(check(&config, NULL, &h200));
    assert_needs_smem(&config, NULL, 8 * 26112);
    config = with("BK", 32);
    config_set(&config, "STAGES", 5);
    assert_refused(check(&config, NULL, &h200), "do not fit in a block's shared memory");
}

TEST(the_blocks_that_fill_an_sm_must_fit_it)
{
    struct config config = with("MIN_BLOCKS", 2);
    assert_refused(check(&config, NULL, &h200), "accumulators and fragments do not fit");
    config = with("BN", 128); /* four warps of 64x64: 255 registers twice */
    config_set(&config, "MIN_BLOCKS", 2);
    assert_taken(check(&config, NULL, &h200));
    config_set(&config, "MIN_BLOCKS", 3);
    assert_refused(check(&config, NULL, &h200), "accumulators and fragments do not fit");
    config_set(&config, "MIN_BLOCKS", 2);
    config_set(&config, "STAGES", 7);
    assert_refused(check(&config, NULL, &h200), "shared memory of MIN_BLOCKS blocks");
    config = with("WN", 128);
    assert_refused(check(&config, NULL, &h200), "accumulators and fragments do not fit");
}

TEST(tiles_parts_and_workspace_are_those_of_the_problem)
{
    const struct problem p = problem_of("tf32gemm:nn:1000x1000x1000");
    struct config config = with("SPLIT_K", 4); /* 63 tiles of k: 16, 16, 16 and 15 */
    struct launch_plan plan = plan_of(&config, &p);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan.kernels, 2);
    assert_int_equal(plan.kernel[0].grid[0], 8 * 4);
    assert_int_equal(plan.kernel[0].grid[1], 4);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(gemm_args_in(&plan).splits, 4);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 16 * 16);
    assert_int_equal(plan.workspace_bytes, 4 * 4 * 1000 * 1000);
    assert_string_equal(plan.kernel[1].entry, "gemm_reduce");
    config_set(&config, "SPLIT_K", 1);
    plan = plan_of(&config, &p);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(gemm_args_in(&plan).group, 8);
    config_set(&config, "SPLIT_K", 1000); /* no part is empty */
    plan = plan_of(&config, &p);
    assert_int_equal(gemm_args_in(&plan).splits, 63);
}

TEST(parts_keep_to_their_workspace)
{
    const struct config config = with("SPLIT_K", 4);
    const struct problem fits = problem_of("tf32gemm:nn:4096x4096x4096"),
                         large = problem_of("tf32gemm:nn:4096x4100x4096");
    assert_taken(check(&config, &fits, &h200)); /* exactly 256 MiB */
    assert_refused(check(&config, &large, &h200), "more than 256 MiB");
    const struct problem huge = {.type = GEMM_TF32,
                                 .m = PROBLEM_DIM_MAX,
                                 .n = PROBLEM_DIM_MAX,
                                 .k = PROBLEM_DIM_MAX,
                                 .lda = PROBLEM_DIM_MAX,
                                 .ldb = PROBLEM_DIM_MAX,
                                 .ldc = PROBLEM_DIM_MAX,
                                 .batch = 1};
    assert_refused(check(&config, &huge, &h200), "more tiles than a grid has blocks");
}

TEST(long_batches_are_cut_by_the_workspace)
{
    const struct config config = with("SPLIT_K", 2);
    const struct problem p = problem_of("tf32gemm:nn:64x64x64:batch=70000");
    const struct launch_plan plan = plan_of(&config, &p); /* 32 KiB an item */
    assert_int_equal(plan.batch_per_launch, 1024);
    assert_int_equal(plan.kernel[1].grid[2], 1024);
    assert_int_equal(plan.workspace_bytes, 32 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(a_prefix_is_refused_by_the_rules_that_need_no_more),
        cmocka_unit_test(
            only_products_that_take_rounded_operands_on_gpus_that_have_the_instruction_are_taken),
        cmocka_unit_test(vectors_follow_the_operands),
        cmocka_unit_test(eight_stages_fit_exactly_and_twice_as_long_ones_do_not),
        cmocka_unit_test(the_blocks_that_fill_an_sm_must_fit_it),
        cmocka_unit_test(tiles_parts_and_workspace_are_those_of_the_problem),
        cmocka_unit_test(parts_keep_to_their_workspace),
        cmocka_unit_test(long_batches_are_cut_by_the_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

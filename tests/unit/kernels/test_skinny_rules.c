/* The host's half of the skinny family: which configurations it takes, and how it launches them. */
#include "one_family.h"

#include "gemm_block.h"

static const char *const base_text = SKINNY_BASE;

static struct launch_plan legal_plan(const struct config *config, const struct problem *p)
{
    struct launch_plan plan;
    assert_taken(check(config, p, &h200));
    config->template->plan(config, p, &plan);
    return plan;
}

TEST(few_rows_are_taken_in_every_op)
{
    static const char *const texts[] = {"sgemm:nn:8x6144x4096", "sgemm:nt:8x6144x4096",
                                        "sgemm:tn:8x6144x4096", "sgemm:tt:8x6144x4096"};
    const struct config config = base();
    for (size_t i = 0; i < 4; i++) {
        const struct problem p = problem_of(texts[i]);
        assert_taken(check(&config, &p, &h200));
    }
}

TEST(a_side_longer_than_rows_is_refused)
{
    struct config config = base();
    struct problem p = problem_of("9x4096x4096");
    assert_refused(check(&config, &p, &h200), "more rows than ROWS");
    p = problem_of("4096x9x4096");
    assert_true(config_set(&config, "SIDE", 1));
    assert_refused(check(&config, &p, &h200), "more columns than ROWS");
    p = problem_of("4096x8x4096");
    assert_taken(check(&config, &p, &h200));
}

TEST(a_large_square_is_refused_before_anything_else_is_known)
{
    struct config config = base();
    const struct problem p = problem_make(4096, 4096, 4096);
    assert_true(config_set(&config, "ROWS", 64));
    assert_refused(config.template->check_prefix(&config, 2, &p, &h200), "more rows than ROWS");
}

TEST(vectors_wider_than_their_operand_is_aligned_are_refused)
{
    struct problem p = problem_of("8x4097x4096"); /* B and C */
    const struct config config = base();
    assert_refused(check(&config, &p, &h200), "VX is wider than the streamed operand");
    p = problem_of("8x4096x4097"); /* A */
    assert_refused(check(&config, &p, &h200), "VS is wider than the small operand");
    p = problem_of("8x4096x4096:ldc=4098");
    assert_refused(check(&config, &p, &h200), "VC is wider than C");
    /* With few columns A is the streamed one. */
    struct config columns = with("SIDE", 1);
    p = problem_of("4096x8x4097");
    assert_refused(check(&columns, &p, &h200), "VX is wider than the streamed operand");
}

TEST(a_vector_across_k_must_fit_a_lanes_columns_and_one_along_k_need_not)
{
    const struct config config = with("TX", 2);
    struct problem p = problem_of("sgemm:nn:8x4096x4096");
    assert_refused(check(&config, &p, &h200), "VX must divide TX");
    p = problem_of("sgemm:nt:8x4096x4096");
    assert_taken(check(&config, &p, &h200));
}

TEST(odd_parameters_are_refused_with_a_reason)
{
    struct config config = with("LANES_X", 5);
    assert_refused(check(&config, NULL, NULL), "LANES_X must divide the 32 lanes");
    config = with("VX", 3);
    assert_refused(check(&config, NULL, NULL), "VX must be 1, 2 or 4");
    config = with("STEPS", 3);
    assert_refused(check(&config, NULL, NULL), "multiple of DEPTH");
    config = with("WARPS_X", 8);
    assert_refused(check(&config, NULL, NULL), "1024 threads");
    config = with("ROWS", 65);
    assert_refused(check(&config, NULL, NULL), "outside its range");
    config = with("SIDE", 1);
    assert_true(config_set(&config, "ROWS", 6));
    assert_refused(check(&config, NULL, NULL), "VC must divide the rows");
}

TEST(what_an_sm_does_not_hold_is_refused)
{
    struct config config = with("MIN_BLOCKS", 4);
    assert_refused(check(&config, NULL, &h200), "do not fit in the registers");
    config = with("STEPS", 64);
    assert_true(config_set(&config, "ROWS", 24));
    assert_true(config_set(&config, "MIN_BLOCKS", 1));
    assert_refused(check(&config, NULL, &h200), "shared memory");
}

TEST(a_prefix_is_refused_only_if_the_whole_is)
{
    const struct problem p = problem_of("sgemm:nt:5x1001x777");
    for (int i = 0; i < 2000; i++) {
        struct config config = base();
        for (int j = 0; j < config.template->param_count; j++) {
            static const int values[] = {0, 1, 2, 3, 4, 8, 16, 32};
            config.value[j] = values[((unsigned)i * 2654435761u + (unsigned)j * 40503u) / 77u % 8u];
        }
        const char *whole = check(&config, &p, &h200);
        for (int known = 0; known < config.template->param_count; known++)
            if (config.template->check_prefix(&config, known, &p, &h200)) assert_non_null(whole);
    }
}

/* What comes later may hold anything: the walk through a space leaves the last values there. */
TEST(a_prefix_is_judged_by_its_own_values_alone)
{
    static const int later[] = {0, 1, 2, 3, 4, 8, 16, 32, 264};
    const struct problem p = problem_of("sgemm:nt:1001x9x777");
    for (int i = 0; i < 2 * 64 * 3 * 9; i++) {
        struct config config = base();
        assert_true(config_set(&config, "SIDE", i % 2));
        assert_true(config_set(&config, "ROWS", 1 + i / 2 % 64));
        assert_true(config_set(&config, "VC", 1 << i / 128 % 3));
        for (int known = 0; known < config.template->param_count; known++) {
            struct config other = config;
            for (int j = known; j < config.template->param_count; j++)
                other.value[j] = later[(i / 384 + j) % 9];
            assert_ptr_equal(config.template->check_prefix(&config, known, &p, &h200),
                             config.template->check_prefix(&other, known, &p, &h200));
        }
    }
}

TEST(without_splits_there_is_no_workspace)
{
    const struct config config = base();
    const struct problem p = problem_of("8x6144x4096:batch=3");
    const struct launch_plan plan = legal_plan(&config, &p);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 48);
    assert_int_equal(plan.kernel[0].grid[1], 1);
    assert_int_equal(plan.kernel[0].grid[2], 3);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.counters, 0);
}

TEST(splits_share_k_evenly_in_one_kernel_with_a_counter_a_tile)
{
    const struct config config = with("SPLIT_K", 11);
    const struct problem p = problem_of("8x6144x4096");
    const struct launch_plan plan = legal_plan(&config, &p);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[1], 11);
    assert_int_equal(gemm_args_in(&plan).splits, 11);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 376); /* 4096 / 11 = 372.4, and the groups are 4 k */
    assert_int_equal(plan.counters, 64);                    /* 48 tiles */
    assert_int_equal(plan.workspace_bytes, 4 * (64 + 48 * 11 * 8 * 128));
}

TEST(splits_along_k_begin_at_whole_lines)
{
    const struct config config = with("SPLIT_K", 11);
    const struct problem p = problem_of("sgemm:nt:8x6144x4096");
    const struct launch_plan plan = legal_plan(&config, &p);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 384);
}

TEST(no_split_is_empty)
{
    const struct config config = with("SPLIT_K", 1000);
    for (int64_t k = 4; k < 200; k += 4) {
        const struct problem p = problem_make(8, 128, k);
        const struct launch_plan plan = legal_plan(&config, &p);
        assert_true((int64_t)gemm_args_in(&plan).splits * gemm_args_in(&plan).k_per_split >= k);
        assert_true((int64_t)(gemm_args_in(&plan).splits - 1) * gemm_args_in(&plan).k_per_split < k);
    }
}

TEST(a_cluster_has_all_parts_of_its_tile_and_no_workspace)
{
    struct config config = with("REDUCE", 5);
    assert_refused(check(&config, NULL, NULL), "SPLIT_K must be the size of the cluster");
    assert_true(config_set(&config, "SPLIT_K", 5));
    const struct problem p = problem_of("8x6144x16"); /* less k than blocks: the last has none */
    const struct launch_plan plan = legal_plan(&config, &p);
    assert_int_equal(plan.kernel[0].grid[1], 5);
    assert_int_equal(plan.kernel[0].cluster[1], 5);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 4);
    assert_int_equal(plan.workspace_bytes, 0);
    struct gpu ampere = h200;
    ampere.arch = 80;
    assert_refused(check(&config, NULL, &ampere), "clusters (sm_90)");
}

TEST(only_what_lies_across_k_is_copied_as_it_lies)
{
    const struct config config = with("LOADER", 2);
    const struct problem along = problem_of("sgemm:nn:8x6144x4096"),
                         across = problem_of("sgemm:tn:8x6144x4096");
    assert_refused(check(&config, &along, &h200), "lies across k");
    assert_taken(check(&config, &across, &h200));
}

TEST(warps_that_divide_the_rows_leave_each_fewer_sums)
{
    struct config config = with("TX", 16);
    assert_true(config_set(&config, "MIN_BLOCKS", 1));
    assert_refused(check(&config, NULL, &h200), "do not fit in the registers");
    assert_true(config_set(&config, "WARPS_R", 4));
    assert_true(config_set(&config, "WARPS_K", 2));
    assert_true(config_set(&config, "DEPTH", 1));
    assert_taken(check(&config, NULL, &h200));
    assert_int_equal(config.template->resources(&config).accumulators, 32);
    assert_int_equal(config.template->resources(&config).threads, 256);
    assert_true(config_set(&config, "WARPS_R", 3));
    assert_refused(check(&config, NULL, NULL), "WARPS_R must divide ROWS");
}

TEST(long_batches_are_cut_by_the_workspace)
{
    const struct config config = with("SPLIT_K", 16);
    const struct problem p = problem_of("8x128x4096:batch=70000");
    const struct launch_plan plan = legal_plan(&config, &p);
    assert_true(plan.batch_per_launch > 100 && plan.batch_per_launch < 70000);
    assert_true(plan.workspace_bytes <= 64 << 20);
    assert_true(plan.counters >= plan.batch_per_launch);
    assert_int_equal(plan.kernel[0].grid[2], plan.batch_per_launch);
}

TEST(a_workspace_beyond_64_mib_is_refused)
{
    struct config config = with("SPLIT_K", 1000);
    const struct problem p = problem_of("8x1000000x4096");
    assert_refused(check(&config, &p, &h200), "64 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_taken_in_every_op),
        cmocka_unit_test(a_side_longer_than_rows_is_refused),
        cmocka_unit_test(a_large_square_is_refused_before_anything_else_is_known),
        cmocka_unit_test(vectors_wider_than_their_operand_is_aligned_are_refused),
        cmocka_unit_test(a_vector_across_k_must_fit_a_lanes_columns_and_one_along_k_need_not),
        cmocka_unit_test(odd_parameters_are_refused_with_a_reason),
        cmocka_unit_test(what_an_sm_does_not_hold_is_refused),
        cmocka_unit_test(a_prefix_is_refused_only_if_the_whole_is),
        cmocka_unit_test(a_prefix_is_judged_by_its_own_values_alone),
        cmocka_unit_test(without_splits_there_is_no_workspace),
        cmocka_unit_test(splits_share_k_evenly_in_one_kernel_with_a_counter_a_tile),
        cmocka_unit_test(splits_along_k_begin_at_whole_lines),
        cmocka_unit_test(no_split_is_empty),
        cmocka_unit_test(a_cluster_has_all_parts_of_its_tile_and_no_workspace),
        cmocka_unit_test(only_what_lies_across_k_is_copied_as_it_lies),
        cmocka_unit_test(warps_that_divide_the_rows_leave_each_fewer_sums),
        cmocka_unit_test(long_batches_are_cut_by_the_workspace),
        cmocka_unit_test(a_workspace_beyond_64_mib_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

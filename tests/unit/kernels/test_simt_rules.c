/* Which configurations the simt family takes. */
#include "simt_configs.h"

TEST(the_shape_that_won_on_the_h200_is_legal_there)
{
    const struct config config = base();
    const struct problem problem = square(4096);
    assert_taken(check(&config, &problem, &h200));
    assert_taken(check(&config, NULL, NULL));
}

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"UNROLL", 1}, {"ORDER", 4},  {"STAGES", 1},    {"LOADER", 4},
                                             {"PACK", 4},   {"REDUCE", 9}, {"MIN_BLOCKS", 0}};
    static const struct violation cases[] = {{"BK", 14, "BK must be a multiple of UNROLL"},
                                             {"BK", 15, "BK must be even"},
                                             {"UNROLL", 3, "UNROLL must be even"},
                                             {"UNROLL", 8, "STORE_AT"},
                                             {"STORE_AT", 16, "STORE_AT"},
                                             {"WARPS_K", 3, "BK must be a multiple of WARPS_K"},
                                             {"WARPS_K", 2, "BK must be a multiple of UNROLL for each"},
                                             {"WARPS_K", 8, "1024 threads"}};
    assert_warp_tiles_are_checked();
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_vector_is_checked("VA");
    assert_vector_is_checked("VB");
    assert_vector_is_checked("VC");
    assert_each_refused(cases, sizeof cases / sizeof *cases);
}

TEST(a_barrier_in_two_steps_needs_a_third_stage)
{
    struct config config = with("LOADER", 2);
    assert_taken(check(&config, NULL, NULL));
    config_set(&config, "STORE_AT", 3); /* says when warps arrive, also where no operand takes registers */
    struct problem problem = square(4096);
    problem.trans_a = true;
    assert_taken(check(&config, &problem, &h200));
    config_set(&config, "LOADER", 1);
    assert_refused(check(&config, &problem, &h200), "STORE_AT means nothing");
    config_set(&config, "LOADER", 2);
    config_set(&config, "STAGES", 2);
    assert_refused(check(&config, NULL, NULL), "LOADER 2 needs 3 STAGES");
}

TEST(blocks_of_2_x_2_need_even_sides)
{
    struct config config = with("ORDER", 3);
    assert_taken(check(&config, NULL, NULL));
    config_set(&config, "BM", 96);
    config_set(&config, "WM", 12);
    config_set(&config, "TM", 3);
    assert_refused(check(&config, NULL, NULL), "TM and TN must be even");
    config_set(&config, "ORDER", 2);
    assert_taken(check(&config, NULL, NULL));
}

TEST(a_block_of_1024_threads_is_taken_and_one_of_2048_refused)
{
    struct config config = with("BM", 512);
    config_set(&config, "MIN_BLOCKS", 1);
    assert_taken(check(&config, NULL, NULL));
    config_set(&config, "BN", 256);
    assert_refused(check(&config, NULL, NULL), "1024 threads");
}

TEST(stores_are_no_wider_than_the_columns_that_a_thread_has_side_by_side)
{
    struct config config = base();
    config_set(&config, "TN", 2);
    config_set(&config, "WN", 16);
    assert_refused(check(&config, NULL, NULL), "VC must not exceed");
    config_set(&config, "VC", 2);
    assert_taken(check(&config, NULL, NULL));
}

TEST(vectors_wider_than_the_problem_is_aligned_are_refused_operand_by_operand)
{
    const struct {
        int64_t m, n, k;
        const char *name;
        int widest;
    } cases[] = {{64, 64, 62, "VA", 2}, {64, 64, 63, "VA", 1}, {64, 62, 64, "VB", 2}, {64, 62, 64, "VC", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem problem = problem_make(cases[i].m, cases[i].n, cases[i].k);
        for (int v = 1; v <= 4; v *= 2) {
            struct config config = base();
            config_set(&config, "VA", problem_align_a(&problem));
            config_set(&config, "VB", problem_align_b(&problem));
            config_set(&config, "VC", problem_align_c(&problem));
            config_set(&config, cases[i].name, v);
            if (v <= cases[i].widest) assert_taken(check(&config, &problem, &h200));
            else assert_refused(check(&config, &problem, &h200), cases[i].name);
        }
    }
}

TEST(a_leading_dimension_that_breaks_alignment_forbids_vectors)
{
    const struct config config = base();
    struct problem problem = problem_of("64x64x64:lda=66");
    assert_refused(check(&config, &problem, &h200), "VA is wider");
    problem = problem_of("64x64x64:batch=2:stride_b=4097");
    assert_refused(check(&config, &problem, &h200), "VB is wider");
}

TEST(vectors_must_divide_the_side_of_the_tile_that_is_contiguous)
{
    struct config config = base();
    config_set(&config, "BK", 18);
    config_set(&config, "UNROLL", 18);
    struct problem problem = problem_of("nn:72x72x72");
    assert_refused(check(&config, &problem, &h200), "VA must divide");
    problem = problem_of("tn:72x72x72");
    config_set(&config, "STORE_AT", 9);
    assert_taken(check(&config, &problem, &h200));
    problem = problem_of("tt:72x72x72");
    assert_refused(check(&config, &problem, &h200), "VB must divide");
}

TEST(asynchronous_copies_need_an_operand_to_copy_and_an_architecture_that_can)
{
    struct config config = base();
    const struct problem problem = problem_of("nt:64x64x64");
    assert_refused(check(&config, &problem, &h200), "nothing to copy");
    struct gpu turing = h200;
    turing.arch = 75;
    assert_refused(check(&config, NULL, &turing), "cp.async");
    config_set(&config, "LOADER", 0);
    assert_taken(check(&config, &problem, &turing));
}

TEST(a_parameter_without_meaning_has_one_value)
{
    struct config config = with("STORE_AT", 4);
    struct problem problem = problem_of("nn:64x64x64");
    assert_taken(check(&config, &problem, &h200));
    problem = problem_of("tn:64x64x64");
    assert_refused(check(&config, &problem, &h200), "STORE_AT means nothing");
}

TEST(the_last_stage_that_fits_in_shared_memory_is_taken_and_the_next_refused)
{
    struct config config = with("MIN_BLOCKS", 1);
    config_set(&config, "BK", 32);
    const int stage_bytes = 4 * 32 * (132 + 132);
    struct gpu gpu = h200;
    gpu.smem_per_block_bytes = 4 * stage_bytes;
    config_set(&config, "STAGES", 4);
    assert_int_equal(config.template->resources(&config).smem_bytes, 4 * stage_bytes);
    assert_taken(check(&config, NULL, &gpu));
    config_set(&config, "STAGES", 5);
    assert_refused(check(&config, NULL, &gpu), "the stages do not fit");
}

TEST(a_promised_number_of_blocks_must_fit_an_sm_in_threads_memory_and_registers)
{
    struct config config = with("MIN_BLOCKS", 3);
    assert_refused(check(&config, NULL, &h200), "registers");
    config_set(&config, "MIN_BLOCKS", 9);
    assert_refused(check(&config, NULL, &h200), "threads of MIN_BLOCKS");
    struct gpu gpu = h200;
    gpu.blocks_per_sm = 1;
    config_set(&config, "MIN_BLOCKS", 2);
    assert_refused(check(&config, NULL, &gpu), "hold MIN_BLOCKS blocks");
    gpu = h200;
    gpu.smem_per_sm_bytes = 100000; /* one block takes 50688 and 1024 of the system */
    assert_refused(check(&config, NULL, &gpu), "shared memory of MIN_BLOCKS");
    config_set(&config, "MIN_BLOCKS", 1);
    assert_taken(check(&config, NULL, &gpu));
}

TEST(a_grid_that_the_gpu_cannot_launch_is_refused)
{
    const struct config config = base();
    struct problem problem = problem_make(PROBLEM_DIM_MAX, 128, 16);
    assert_taken(check(&config, &problem, &h200)); /* 2^24 tiles */
    problem.n = 128 * 129;
    problem.ldb = problem.ldc = problem.n;
    assert_refused(check(&config, &problem, &h200), "more tiles than a grid");
    problem.n = PROBLEM_DIM_MAX;
    problem.ldb = problem.ldc = problem.n;
    assert_refused(check(&config, &problem, &h200), "more tiles than a grid");
}

TEST(a_workspace_of_256_mib_is_taken_and_more_refused)
{
    const struct config config = with("SPLIT_K", 4);
    struct problem problem = square(4096); /* 4 * 64 MiB */
    assert_taken(check(&config, &problem, &h200));
    problem = problem_make(4096, 4100, 4096);
    assert_refused(check(&config, &problem, &h200), "256 MiB");
    problem = problem_make(PROBLEM_DIM_MAX, 128, 4096);
    assert_refused(check(&config, &problem, &h200), "256 MiB");
}

TEST(packing_an_operand_lifts_its_alignment_and_no_other)
{
    const struct problem ragged = problem_make(1023, 1025, 1027);
    for (int pack = 0; pack <= 3; pack++) {
        struct config config = with("PACK", pack);
        config_set(&config, "VC", 1);
        const char *why = check(&config, &ragged, &h200);
        if (pack == 3) assert_taken(why);
        else assert_refused(why, pack == 1 ? "VB is wider" : "VA is wider");
    }
    struct config config = with("PACK", 3);
    assert_refused(check(&config, &ragged, &h200), "VC is wider");
}

TEST(packing_lets_cp_async_serve_an_operand_that_lies_the_other_way)
{
    const struct problem nt = problem_of("nt:64x64x64");
    for (int pack = 0; pack <= 3; pack++) {
        const struct config config = with("PACK", pack);
        if (pack == 0) assert_refused(check(&config, &nt, &h200), "nothing to copy");
        else assert_taken(check(&config, &nt, &h200));
    }
}

TEST(the_inbox_of_a_cluster_lies_behind_the_stages)
{
    struct config config = base();
    const int stages = config.template->resources(&config).smem_bytes;
    config_set(&config, "REDUCE", 2);
    assert_int_equal(config.template->resources(&config).smem_bytes, stages + 4 * 128 * 132 + 8);
    config_set(&config, "REDUCE", 3); /* 43 rows each */
    assert_int_equal(config.template->resources(&config).smem_bytes, stages + 4 * 129 * 132 + 8);
}

TEST(the_tiles_of_teams_lie_where_the_stages_were_and_beyond)
{
    struct config config = base();
    const int stages = config.template->resources(&config).smem_bytes;
    assert_true(stages < 2 * 4 * 128 * 132);
    config_set(&config, "WARPS_K", 2);
    assert_int_equal(config.template->resources(&config).threads, 512);
    assert_int_equal(config.template->resources(&config).smem_bytes, 2 * 4 * 128 * 132);
    config_set(&config, "STAGES", 9);
    assert_int_equal(config.template->resources(&config).smem_bytes, stages / 3 * 9);
}

TEST(the_last_block_adds_no_teams)
{
    struct config config = with("REDUCE", 1);
    config_set(&config, "WARPS_K", 2);
    config_set(&config, "UNROLL", 8);
    config_set(&config, "STORE_AT", 4);
    assert_refused(check(&config, NULL, NULL), "WARPS_K must be 1");
    config_set(&config, "REDUCE", 0);
    assert_taken(check(&config, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shape_that_won_on_the_h200_is_legal_there),
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(a_barrier_in_two_steps_needs_a_third_stage),
        cmocka_unit_test(blocks_of_2_x_2_need_even_sides),
        cmocka_unit_test(a_block_of_1024_threads_is_taken_and_one_of_2048_refused),
        cmocka_unit_test(stores_are_no_wider_than_the_columns_that_a_thread_has_side_by_side),
        cmocka_unit_test(vectors_wider_than_the_problem_is_aligned_are_refused_operand_by_operand),
        cmocka_unit_test(a_leading_dimension_that_breaks_alignment_forbids_vectors),
        cmocka_unit_test(vectors_must_divide_the_side_of_the_tile_that_is_contiguous),
        cmocka_unit_test(asynchronous_copies_need_an_operand_to_copy_and_an_architecture_that_can),
        cmocka_unit_test(a_parameter_without_meaning_has_one_value),
        cmocka_unit_test(the_last_stage_that_fits_in_shared_memory_is_taken_and_the_next_refused),
        cmocka_unit_test(a_promised_number_of_blocks_must_fit_an_sm_in_threads_memory_and_registers),
        cmocka_unit_test(a_grid_that_the_gpu_cannot_launch_is_refused),
        cmocka_unit_test(a_workspace_of_256_mib_is_taken_and_more_refused),
        cmocka_unit_test(packing_an_operand_lifts_its_alignment_and_no_other),
        cmocka_unit_test(packing_lets_cp_async_serve_an_operand_that_lies_the_other_way),
        cmocka_unit_test(the_inbox_of_a_cluster_lies_behind_the_stages),
        cmocka_unit_test(the_tiles_of_teams_lie_where_the_stages_were_and_beyond),
        cmocka_unit_test(the_last_block_adds_no_teams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

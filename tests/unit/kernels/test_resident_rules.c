/* The host's half of the resident family: which configurations it takes, and how it launches them. */
#include "one_family.h"

static const char *const base_text = RESIDENT_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"LOADER", 4}, {"ORDER", 5}};
    static const struct violation cases[] = {{"BM", 512, "1024 threads"}};
    assert_warp_tiles_are_checked();
    assert_streams_are_checked();
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_vector_is_checked("VS");
    assert_each_refused(cases, sizeof cases / sizeof *cases);
}

TEST(a_k_that_is_odd_or_divides_evenly_is_a_stage_like_any_other)
{
    const struct problem p = problem_of("64x559104x147");
    for (int bk = 7; bk <= 49; bk++) {
        struct config config = with("BK", bk);
        config_set(&config, "STAGES", 2);
        config_set(&config, "MIN_BLOCKS", 1);
        assert_taken(check(&config, &p, &h200));
    }
}

TEST(vectors_follow_the_streamed_operand_and_c)
{
    const struct config low = base(), tall = config_of(RESIDENT_NARROW);
    const struct problem odd_a = problem_of("64x4096x147"), odd_b = problem_of("64x4098x148");
    assert_taken(check(&low, &odd_a, &h200)); /* A is copied float by float */
    assert_refused(check(&low, &odd_b, &h200), "VS is wider than the streamed operand");
    const struct problem odd_c = problem_of("64x4096x148:ldc=4098");
    assert_refused(check(&low, &odd_c, &h200), "VC is wider than C");
    const struct problem across = problem_of("tn:4096x64x147"), shifted = problem_of("tn:4098x64x147");
    assert_taken(check(&tall, &across, &h200));
    assert_refused(check(&tall, &shifted, &h200), "VS is wider than the streamed operand");
}

TEST(an_operand_streamed_along_k_comes_float_by_float)
{
    struct config low = base(), tall = config_of(RESIDENT_NARROW);
    const struct problem nn = problem_of("nn:4096x64x148"), nt = problem_of("nt:64x4096x148");
    assert_refused(check(&low, &nt, &h200), "VS must be 1");
    assert_refused(check(&tall, &nn, &h200), "VS must be 1");
    config_set(&low, "VS", 1);
    config_set(&tall, "VS", 1);
    assert_taken(check(&low, &nt, &h200));
    assert_taken(check(&tall, &nn, &h200));
}

TEST(shared_memory_holds_all_of_k_and_the_stages)
{
    struct config config = with("MIN_BLOCKS", 1);
    struct problem p = problem_of("64x4096x147");
    const int stages = 3 * 21 * 256, tile = 21 * 68;
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 4 * (stages + 7 * tile));
    p = problem_of("64x4096x148"); /* a tile more, most of it zeros */
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 4 * (stages + 8 * tile));
    assert_int_equal(config.template->resources(&config).smem_bytes, 4 * (stages + tile));
    assert_needs_smem(&config, &p, 4 * (stages + 8 * tile));
    p = problem_of("64x4096x100000");
    assert_refused(check(&config, &p, NULL), "do not fit in a block's shared memory");
    assert_taken(check(&config, NULL, NULL));
}

TEST(stages_with_mbarriers_hold_whole_groups_and_k_is_filled_up_to_one)
{
    struct config config = with("LOADER", 2);
    const struct problem p = problem_of("64x4096x147");
    assert_refused(check(&config, &p, &h200), "BK must be a multiple of UNROLL");
    config_set(&config, "BK", 24);
    assert_taken(check(&config, &p, &h200));
    const int stages = 3 * 24 * 256, barriers = 3 * 4;
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 4 * (stages + barriers + 152 * 68));
    config_set(&config, "UNROLL", 4);
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 4 * (stages + barriers + 148 * 68));
}

TEST(bulk_copies_need_their_gpu_and_aligned_rows)
{
    struct config config = with("LOADER", 3);
    config_set(&config, "BK", 24);
    const struct problem p = problem_of("64x4096x147"), along = problem_of("nt:64x4096x148");
    struct gpu older = h200;
    older.arch = 89;
    assert_taken(check(&config, &p, &h200));
    assert_refused(check(&config, &p, &older), "need sm_90");
    config_set(&config, "VS", 1);
    config_set(&config, "MIN_BLOCKS", 1);
    assert_refused(check(&config, &along, &h200), "bulk copies need VS 4");
    config_set(&config, "LOADER", 2);
    assert_taken(check(&config, &along, &h200));
    assert_taken(check(&config, &p, &older));
}

TEST(a_text_from_before_loaders_and_orders_means_the_first_of_them)
{
    struct config older;
    assert_ok(
        config_parse("resident SIDE=0 BM=64 BN=256 BK=21 WM=32 WN=64 TM=8 TN=8 STAGES=3 VS=4 VC=4 UNROLL=8 "
                     "MIN_BLOCKS=2 SMS=132",
                     &older));
    const struct config now = base();
    for (int i = 0; i < now.template->param_count; i++) assert_int_equal(older.value[i], now.value[i]);
}

TEST(the_blocks_that_fill_an_sm_must_fit_it)
{
    const struct problem p = problem_of("64x559104x147");
    struct config config = base();
    assert_taken(check(&config, &p, &h200));
    config_set(&config, "MIN_BLOCKS", 3);
    assert_refused(check(&config, &p, &h200), "registers");
    config_set(&config, "BN", 64);
    config_set(&config, "MIN_BLOCKS", 6);
    assert_refused(check(&config, &p, &h200), "shared memory of MIN_BLOCKS blocks");
    config_set(&config, "MIN_BLOCKS", 16);
    assert_fills_an_sm(&config, &p, 16, 16 * 64);
}

TEST(every_row_of_tiles_has_as_many_blocks_as_the_others_and_none_is_idle)
{
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) {
        struct config config = config_of(i % 2 ? RESIDENT_NARROW : RESIDENT_BASE);
        config_set(&config, "SMS", 1 + (int)stats_random_below(&seed, 200));
        const int64_t resident = 1 + (int64_t)stats_random_below(&seed, 2000);
        const int64_t stream = 1 + (int64_t)stats_random_below(&seed, 200000);
        const struct problem p =
            i % 2 ? problem_make(stream, resident, 27) : problem_make(resident, stream, 27);
        const struct launch_plan plan = plan_of(&config, &p);
        const int64_t rows = (resident + 63) / 64, tiles = (stream + 255) / 256;
        const int64_t grid = plan.kernel[0].grid[0];
        assert_int_equal(grid % rows, 0);
        assert_true(grid / rows >= 1 && grid / rows <= tiles);
        assert_true(grid == rows || grid <= 2 * config_get(&config, "SMS"));
        assert_int_equal(plan.kernels, 1);
        assert_int_equal(plan.workspace_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(a_k_that_is_odd_or_divides_evenly_is_a_stage_like_any_other),
        cmocka_unit_test(vectors_follow_the_streamed_operand_and_c),
        cmocka_unit_test(an_operand_streamed_along_k_comes_float_by_float),
        cmocka_unit_test(shared_memory_holds_all_of_k_and_the_stages),
        cmocka_unit_test(stages_with_mbarriers_hold_whole_groups_and_k_is_filled_up_to_one),
        cmocka_unit_test(bulk_copies_need_their_gpu_and_aligned_rows),
        cmocka_unit_test(a_text_from_before_loaders_and_orders_means_the_first_of_them),
        cmocka_unit_test(the_blocks_that_fill_an_sm_must_fit_it),
        cmocka_unit_test(every_row_of_tiles_has_as_many_blocks_as_the_others_and_none_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

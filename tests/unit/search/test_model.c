/* test_model.c — predictions against what was measured on an H200, and the claims of arithmetic. */
#include "cost_registers.h"
#include "ladder.h"
#include "model_checks.h"

#include <stdlib.h>
#include <time.h>

static struct config config(const char *text)
{
    struct config c;
    assert_ok(config_parse(text, &c));
    return c;
}

static struct candidates sorted(const char *shape, const struct gpu *gpu)
{
    struct problem p = problem_of(shape);
    struct candidates c = candidates_for(NULL, &p, gpu);
    assert_ok(model_sort(c.config, c.count, &p, gpu, NULL));
    return c;
}

#define H88                                                                                                  \
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 "      \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1"

/* A text like H88 with one parameter changed. */
static double changed(const char *name, int value, const char *shape)
{
    struct gpu gpu = h200();
    struct problem p = problem_of(shape);
    struct config c = config(H88);
    assert_true(config_set(&c, name, value));
    return model_predict(&c, &p, &gpu, NULL).time_us;
}

/* Measured: 8.3 us. */
TEST(fifteen_clusters_of_eight_have_an_sm_for_each_block)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("700x35x2048");
    const struct config fifteen =
        config("simt BM=48 BN=40 BK=64 WM=48 WN=40 TM=6 TN=10 WARPS_K=4 STAGES=2 LOADER=3 PACK=0 VA=1 VB=1 "
               "VC=1 UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=8 GROUP=1 SPLIT_K=8");
    const double us = model_predict(&fifteen, &p, &gpu, NULL).time_us;
    assert_true(us > 8.3 / 1.1 && us < 8.3 * 1.1);
}

/* The best known tile of shapes, measured on an H200 with prototype kernels of this structure (2026-11-20;
 * the two smallest with the kernels of today, in clusters). tm = 0: not recorded. */
static const struct {
    const char *shape;
    int bm, bn, tm, tn;
    double measured_us;
} known[] = {
    {"8192x8192x8192", 96, 128, 12, 8, 20249}, {"4096x4096x4096", 128, 128, 8, 8, 2622},
    {"3072x3072x3072", 96, 128, 12, 8, 1099},  {"2048x2048x2048", 128, 128, 8, 8, 334},
    {"1536x1536x1536", 96, 128, 12, 8, 157.6}, {"1024x1024x1024", 128, 128, 8, 8, 52.4},
    {"512x512x512", 64, 64, 4, 8, 10.3},       {"256x256x256", 32, 64, 4, 8, 4.0},
    {"1000x1000x1000", 64, 64, 0, 0, 53},      {"7000x2048x2048", 96, 128, 12, 8, 1097},
    {"1500x3072x1024", 96, 128, 12, 8, 188},   {"700x5124x2048", 32, 256, 8, 8, 326},
    {"512x11008x4096", 32, 256, 8, 8, 920},    {"128x1760x1760", 32, 256, 8, 8, 27.3},
    {"64x2560x2560", 64, 128, 8, 8, 27.2},     {"32x28672x4096", 32, 256, 8, 8, 183},
    {"64x64x65536", 64, 64, 4, 8, 22.4},       {"128x128x262144", 128, 128, 8, 8, 177},
    {"32x1605632x27", 32, 256, 8, 8, 106.7},   {"64x1605632x147", 64, 256, 8, 8, 601},
    {"384x14160x1152", 128, 128, 8, 8, 285},   {"256x43264x1152", 64, 128, 8, 8, 542},
};
#define KNOWN (sizeof known / sizeof *known)

/* Half a million candidates a shape take ten times as long under the sanitizers: a few shapes will do there.
 */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static bool has_tile(const struct config *c, size_t i)
{
    return config_get(c, "BM") == known[i].bm && config_get(c, "BN") == known[i].bn &&
           (known[i].tm == 0 || (config_get(c, "TM") == known[i].tm && config_get(c, "TN") == known[i].tn));
}

TEST(known_good_tiles_rank_among_the_first_five_percent_and_are_predicted_within_a_quarter)
{
    struct gpu gpu = h200();
    for (size_t i = 0; i < KNOWN; i += SANITIZED ? 8 : 1) {
        struct candidates c = sorted(known[i].shape, &gpu);
        struct problem p = problem_of(known[i].shape);
        size_t rank = 0;
        while (rank < c.count && !has_tile(&c.config[rank], i)) rank++;
        if (rank * 20 >= c.count) fail_msg("%s: rank %zu of %zu", known[i].shape, rank + 1, c.count);
        double ratio = model_predict(&c.config[rank], &p, &gpu, NULL).time_us / known[i].measured_us;
        if (ratio < 0.8 || ratio > 1.25) fail_msg("%s: predicted %.2f of measured", known[i].shape, ratio);
        candidates_free(&c);
    }
}

TEST(eighty_thousand_candidates_are_sorted_in_less_than_a_second)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x4096x4096");
    struct candidates c = sorted("4096x4096x4096", &gpu);
    double *predicted_us = calloc(c.count, sizeof *predicted_us);
    clock_t begin = clock();
    assert_ok(model_sort(c.config, c.count, &p, &gpu, predicted_us));
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("%zu candidates: %.0f ms\n", c.count, 1e3 * seconds);
    assert_true(SANITIZED || seconds < 1 * SHARED_MACHINE);
    for (size_t i = 0; i < c.count; i += 1000)
        assert_true(predicted_us[i] == model_predict(&c.config[i], &p, &gpu, NULL).time_us);
    free(predicted_us);
    candidates_free(&c);
}

TEST(sorting_orders_by_predicted_time_and_loses_no_candidate)
{
    struct gpu gpu = gpu_of("t4"); /* the smallest space */
    struct problem p = problem_of("512x512x512");
    struct candidates c = sorted("512x512x512", &gpu), plain = candidates_for(NULL, &p, &gpu);
    assert_int_equal(plain.count, c.count);
    uint64_t before = 0, after = 0;
    double last = 0;
    for (size_t i = 0; i < c.count; i++) {
        double time = model_predict(&c.config[i], &p, &gpu, NULL).time_us;
        assert_true(isfinite(time) && time >= last);
        last = time;
        if (i % 16 == 0) before += config_hash(&plain.config[i]);
    }
    for (size_t i = 0; i < c.count; i++) after += config_hash(&c.config[i]);
    for (size_t i = 0; i < c.count; i++)
        if (i % 16) before += config_hash(&plain.config[i]);
    assert_true(before == after);
    candidates_free(&plain);
    candidates_free(&c);
}

TEST(no_prediction_beats_the_roofline)
{
    const struct {
        const char *gpu, *shape;
    } cases[] = {{"h200", "4096x4096x4096"}, {"h200", "32x1605632x27"}, {"a100", "1x4096x4096"},
                 {"t4", "4096x4096x4096"},   {"t4", "33x65x7"},         {"rtx3090", "64x64x65536"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu gpu = gpu_of(cases[i].gpu);
        struct problem p = problem_of(cases[i].shape);
        struct candidates c = sorted(cases[i].shape, &gpu);
        double least = model_roofline_us(&p, gpu_rate(&gpu, "fp32"), gpu.memory_gb_per_s);
        assert_true(model_predict(&c.config[0], &p, &gpu, NULL).time_us >= least);
        candidates_free(&c);
    }
}

TEST(the_roofline_is_the_larger_of_arithmetic_and_memory)
{
    struct problem square = problem_of("4096x4096x4096"), flat = problem_of("32x1605632x27");
    assert_true(fabs(model_roofline_us(&square, 66.9, 4800) - 2 * 4096.0 * 4096 * 4096 / 66.9e6) < 5);
    assert_true(fabs(model_roofline_us(&flat, 66.9, 4800) - problem_bytes(&flat) / 4.8e6) < 5);
}

TEST(a_tile_more_than_full_waves_costs_a_wave)
{
    /* 132 SMs with two blocks each: 264 tiles are one wave, 272 are two. */
    double full = predicted_us(H88, "1408x3072x4096"), more = predicted_us(H88, "2176x2048x4096");
    assert_true(more > 1.2 * full);
}

TEST(ragged_edges_cost_as_much_as_whole_tiles)
{
    double whole = changed("VA", 1, "4096x4096x4096"), ragged = changed("VA", 1, "3970x3970x4095");
    assert_true(fabs(ragged / whole - 1) < 0.02);
}

TEST(scalar_loads_cost_more_than_vectors)
{
    double vector = predicted_us(H88, "4096x4096x4096");
    double scalar = predicted_us(
        "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "
        "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1",
        "4096x4096x4096");
    assert_true(scalar > 1.04 * vector && scalar < 1.3 * vector); /* 1.17 was measured */
}

TEST(a_long_k_with_few_tiles_wants_splits_and_many_tiles_do_not)
{
    assert_true(changed("SPLIT_K", 66, "128x128x262144") < 0.1 * changed("SPLIT_K", 1, "128x128x262144"));
    assert_true(changed("SPLIT_K", 8, "8192x8192x1024") > changed("SPLIT_K", 1, "8192x8192x1024"));
}

/* Of the largest of its launches. */
static double blocks_of(const struct config *c, const struct problem *p)
{
    struct launch_plan plan;
    double most = 0;
    c->template->plan(c, p, &plan);
    for (int i = 0; i < plan.kernels; i++)
        most = fmax(most, (double)plan.kernel[i].grid[0] * plan.kernel[i].grid[1] * plan.kernel[i].grid[2]);
    return most;
}

/* C is a tile or two: without parts of k one SM works, or two. */
TEST(the_first_for_a_tiny_c_and_a_k_of_millions_fill_the_gpu)
{
    static const char *const shapes[] = {"64x64x70000000", "16x16x1000000", "128x64x20000000"};
    const struct gpu gpu = gpu_of("h100_sxm");
    for (size_t s = 0; s < (SANITIZED ? 1 : sizeof shapes / sizeof *shapes); s++) {
        const struct problem p = problem_of(shapes[s]);
        struct candidates all = sorted(shapes[s], &gpu);
        assert_true(all.count > 1000);
        for (size_t i = 0; i < 1000; i++)
            if (blocks_of(&all.config[i], &p) < 0.5 * gpu.sm_count)
                fail_msg("%s: candidate %zu has %g blocks", shapes[s], i, blocks_of(&all.config[i], &p));
        candidates_free(&all);
    }
}

TEST(kernels_that_must_spill_rank_behind)
{
    assert_true(changed("MIN_BLOCKS", 4, "4096x4096x4096") >
                1.5 * changed("MIN_BLOCKS", 2, "4096x4096x4096"));
}

/* What the compiler did: 16 floats on their way, in a loop over a part of the tile, leave 8x8 too little of
 * 128. */
TEST(a_deep_tile_spills_where_two_blocks_share_an_sm_and_not_where_one_has_it)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x4096x4096");
    struct config c = config(H88);
    config_set(&c, "BK", 32);
    config_set(&c, "UNROLL", 8);
    config_set(&c, "STORE_AT", 4);
    double two = model_predict(&c, &p, &gpu, NULL).time_us;
    config_set(&c, "MIN_BLOCKS", 1);
    assert_true(two > 1.25 * model_predict(&c, &p, &gpu, NULL).time_us);
}

TEST(registers_go_to_whole_warps_of_a_scheduler)
{
    struct gpu gpu = h200();
    assert_int_equal(registers_limit(&gpu, 256, 2), 128);
    assert_int_equal(registers_limit(&gpu, 128, 3), 168);
    assert_int_equal(registers_limit(&gpu, 192, 3), 96);  /* 18 warps: 5 on two of the schedulers */
    assert_int_equal(registers_limit(&gpu, 96, 3), 168);  /* 9 warps: 3 on one */
    assert_int_equal(registers_limit(&gpu, 288, 1), 168); /* likewise */
    assert_int_equal(registers_limit(&gpu, 128, 1), 255);
    assert_int_equal(registers_blocks(&gpu, 128, 168), 3);
    assert_int_equal(registers_blocks(&gpu, 64, 136), 6); /* 3 warps a scheduler, not 7.5 blocks an SM */
    assert_int_equal(registers_blocks(&gpu, 256, 129), 1);
    assert_int_equal(registers_blocks(&gpu, 1024, 80), 0);
}

TEST(spilling_is_even_odds_at_the_need_and_certain_far_below)
{
    assert_float_equal(registers_spill_chance(128, 128), 0.5, 1e-9);
    assert_true(registers_spill_chance(168, 128) > 0.99 && registers_spill_chance(88, 128) < 0.01);
    assert_true(registers_spill_factor(0.5) == 1 && registers_spill_factor(0.99) > 1.9);
}

TEST(facts_of_the_compiler_replace_the_estimate)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x4096x4096");
    struct config c = config(H88);
    struct kernel_facts lean = {.registers = 128}, fat = {.registers = 200},
                        spilling = {.registers = 128, .spill_bytes = 64};
    assert_int_equal(model_predict(&c, &p, &gpu, &lean).blocks_per_sm, 2);
    assert_int_equal(model_predict(&c, &p, &gpu, &fat).blocks_per_sm, 1);
    assert_true(model_predict(&c, &p, &gpu, &spilling).time_us >
                1.5 * model_predict(&c, &p, &gpu, &lean).time_us);
}

TEST(occupancy_is_the_least_that_registers_shared_memory_and_threads_allow)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x4096x4096");
    struct config c = config(H88);
    struct kernel_facts facts = {.registers = 32};
    /* 3 stages of 16 x (132 + 132) floats are 50,688 bytes: four blocks in 228 KiB, with 1 KiB reserved for
     * each */
    assert_int_equal(model_predict(&c, &p, &gpu, &facts).blocks_per_sm, 4);
    config_set(&c, "STAGES", 2);
    assert_int_equal(model_predict(&c, &p, &gpu, &facts).blocks_per_sm, 6);
    config_set(&c, "BK", 2);
    assert_int_equal(model_predict(&c, &p, &gpu, &facts).blocks_per_sm, 8); /* 2048 threads */
}

TEST(half_the_lanes_take_twice_the_time)
{
    struct gpu gpu = gpu_of("a100");
    struct problem p = problem_of("4096x4096x4096");
    struct config c = config(H88);
    double a100 = model_predict(&c, &p, &gpu, NULL).time_us;
    assert_true(a100 > 2 * 4096.0 * 4096 * 4096 / 19.5e6);
    assert_true(a100 < 1.3 * 2 * 4096.0 * 4096 * 4096 / 19.5e6);
}

TEST(the_ladder_is_estimated_from_its_resources)
{
    struct gpu gpu = h200();
    struct problem p = problem_of("4096x4096x4096");
    double time[LADDER_RUNGS];
    for (int i = 0; i < LADDER_RUNGS; i++) {
        struct config c;
        ladder_config(ladder_rungs[i], &c);
        time[i] = model_predict(&c, &p, &gpu, NULL).time_us;
        assert_true(time[i] > 2055); /* the roofline */
    }
    assert_true(time[0] > 3 * time[LADDER_RUNGS - 1]);
}

TEST(empty_problems_cost_a_launch_at_most)
{
    struct gpu gpu = h200();
    struct config c = config(H88);
    const struct problem empty[] = {problem_make(0, 64, 64), problem_make(64, 0, 64),
                                    problem_make(64, 64, 0)};
    for (size_t i = 0; i < 3; i++) {
        double time = model_predict(&c, &empty[i], &gpu, NULL).time_us;
        assert_true(time > 0 && time < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifteen_clusters_of_eight_have_an_sm_for_each_block),
        cmocka_unit_test(
            known_good_tiles_rank_among_the_first_five_percent_and_are_predicted_within_a_quarter),
        cmocka_unit_test(eighty_thousand_candidates_are_sorted_in_less_than_a_second),
        cmocka_unit_test(sorting_orders_by_predicted_time_and_loses_no_candidate),
        cmocka_unit_test(no_prediction_beats_the_roofline),
        cmocka_unit_test(the_roofline_is_the_larger_of_arithmetic_and_memory),
        cmocka_unit_test(a_tile_more_than_full_waves_costs_a_wave),
        cmocka_unit_test(ragged_edges_cost_as_much_as_whole_tiles),
        cmocka_unit_test(scalar_loads_cost_more_than_vectors),
        cmocka_unit_test(a_long_k_with_few_tiles_wants_splits_and_many_tiles_do_not),
        cmocka_unit_test(the_first_for_a_tiny_c_and_a_k_of_millions_fill_the_gpu),
        cmocka_unit_test(kernels_that_must_spill_rank_behind),
        cmocka_unit_test(a_deep_tile_spills_where_two_blocks_share_an_sm_and_not_where_one_has_it),
        cmocka_unit_test(registers_go_to_whole_warps_of_a_scheduler),
        cmocka_unit_test(spilling_is_even_odds_at_the_need_and_certain_far_below),
        cmocka_unit_test(facts_of_the_compiler_replace_the_estimate),
        cmocka_unit_test(occupancy_is_the_least_that_registers_shared_memory_and_threads_allow),
        cmocka_unit_test(half_the_lanes_take_twice_the_time),
        cmocka_unit_test(the_ladder_is_estimated_from_its_resources),
        cmocka_unit_test(empty_problems_cost_a_launch_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

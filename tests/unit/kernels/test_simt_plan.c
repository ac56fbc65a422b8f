/* How the simt family is launched: grids, parts of k, workspace. */
#include "simt_configs.h"

#include "gemm_block.h"
#include "gt_reduce_rules.h"
#include "stats.h"

TEST(operands_are_packed_in_64_mib_and_a_longer_k_goes_in_slabs)
{
    struct config config = with("PACK", 3);
    const struct {
        int64_t m, n, k, slab, last; /* slab 0: all of k */
        int pack;
    } cases[] = {{4096, 4096, 2048, 0, 2048, 3},    {4096, 4096, 2049, 1056, 993, 3},
                 {4095, 4097, 4093, 1376, 1341, 3}, {4095, 4097, 4093, 0, 4093, 1},
                 {4095, 4097, 4093, 2048, 2045, 2}, {16384, 16384, 16384, 512, 512, 3},
                 {1, 1, 1 << 18, 0, 1 << 18, 3},    {1, 1, (1 << 18) + 1, 131104, 131041, 3},
                 {1605632, 64, 10, 0, 10, 1},       {8192, 8192, 5, 0, 5, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem p = problem_make(cases[i].m, cases[i].n, cases[i].k);
        config_set(&config, "PACK", cases[i].pack);
        config_set(&config, "VA", cases[i].pack & 1 ? 4 : 1);
        config_set(&config, "VB", cases[i].pack & 2 ? 4 : 1);
        config_set(&config, "VC", 1);
        assert_taken(check(&config, &p, &h200));
        const struct launch_plan plan = plan_of(&config, &p);
        assert_int_equal(plan.k_slab, cases[i].slab);
        assert_true(plan.workspace_bytes <= 64 << 20);
        /* Each slab is launched as a product of that k would be. */
        for (int last = 0; last <= 1; last++) {
            struct problem one =
                problem_make(p.m, p.n, last || !cases[i].slab ? cases[i].last : cases[i].slab);
            const struct launch_plan slab = plan_of(&config, &one);
            assert_int_equal(slab.kernels, 2);
            assert_int_equal(slab.k_slab, 0);
            for (int k = 0; k < 2; k++)
                assert_int_equal(last && cases[i].slab ? plan.kernel[k].last_slab : plan.kernel[k].grid[0],
                                 slab.kernel[k].grid[0]);
            if (!last) assert_int_equal(plan.workspace_bytes, slab.workspace_bytes);
            assert_true(gemm_args_in(&plan).k_per_split >= one.k && gemm_args_in(&plan).splits == 1);
        }
    }
    struct problem problem = square(32768); /* 256 k fit */
    config_set(&config, "PACK", 3);
    assert_refused(check(&config, &problem, &h200), "PACK: less than 512 k");
    problem = square(PROBLEM_DIM_MAX / 4 * 4); /* bytes beyond 2^64 */
    assert_refused(check(&config, &problem, &h200), "PACK: less than 512 k");
    config_set(&config, "SPLIT_K", 5); /* 5 * 64 MiB of parts */
    problem = problem_make(4096, 4096, 1024);
    assert_refused(check(&config, &problem, &h200), "256 MiB");
    config_set(&config, "SPLIT_K", 4);
    assert_taken(check(&config, &problem, &h200));
    problem = problem_make(4096, 4096, 4096);
    assert_refused(check(&config, &problem, &h200), "SPLIT_K cuts no k that PACK cuts into slabs");
}

/* The bias would be added, and the activation applied, once for each slab. */
TEST(an_epilogue_is_not_computed_in_slabs)
{
    struct config config = with("PACK", 3);
    struct problem p = problem_make(4096, 4096, 2049);
    assert_taken(check(&config, &p, &h200));
    p.epilogue = epilogue_code(BIAS_NONE, ACTIVATION_NONE, true);
    assert_refused(check(&config, &p, &h200), "an epilogue needs all k at once");
    p = problem_make(4096, 4096, 2048);
    p.epilogue = epilogue_code(BIAS_COLUMN, ACTIVATION_RELU, false);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan_of(&config, &p).k_slab, 0);
}

/* Splits of a plan: none empty, whole tiles, all of k. */
static void assert_k_covered(const struct config *config, const struct launch_plan *plan, int64_t k)
{
    const int64_t per_split = gemm_args_in(plan).k_per_split, splits = gemm_args_in(plan).splits;
    assert_int_equal(per_split % config_get(config, "BK"), 0);
    assert_true(splits >= 1 && splits <= config_get(config, "SPLIT_K"));
    assert_true(splits * per_split >= k);
    assert_true(k == 0 ? splits == 1 : (splits - 1) * per_split < k);
    assert_int_equal(plan->kernel[0].grid[1], splits);
    assert_int_equal(plan->kernels, splits > 1 ? 2 : 1);
}

TEST(splits_cover_k_with_whole_tiles_and_none_is_empty)
{
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++) {
        const struct config config = with("SPLIT_K", 1 + (int)stats_random_below(&seed, 300));
        const int64_t k = (int64_t)stats_random_below(&seed, i % 2 ? 200 : 100000);
        const struct problem problem = problem_make(8, 8, k);
        const struct launch_plan plan = plan_of(&config, &problem);
        assert_k_covered(&config, &plan, k);
    }
}

TEST(the_longest_k_does_not_overflow)
{
    const struct config config = with("SPLIT_K", 1024);
    const struct problem problem = problem_make(4, 4, PROBLEM_DIM_MAX);
    assert_taken(check(&config, &problem, &h200));
    const struct launch_plan plan = plan_of(&config, &problem);
    assert_k_covered(&config, &plan, PROBLEM_DIM_MAX);
}

TEST(a_grid_has_a_block_for_every_tile_and_no_more)
{
    const struct config config = base();
    const struct problem problem = problem_make(129, 256, 64);
    const struct launch_plan plan = plan_of(&config, &problem);
    assert_int_equal(plan.kernel[0].grid[0], 2 * 2);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(gemm_args_in(&plan).group, 2); /* of the 8 asked for, C has 2 rows of tiles */
    assert_string_equal(plan.kernel[0].entry, "gemm");
}

TEST(long_batches_are_cut_by_the_workspace)
{
    const struct config config = with("SPLIT_K", 4);
    struct problem problem = problem_of("64x64x64:batch=70000");
    struct launch_plan plan = plan_of(&config, &problem); /* an item's sums: 4 * 64 * 64 * 4 bytes = 64 KiB */
    assert_int_equal(plan.batch_per_launch, 512);
    assert_int_equal(plan.kernel[0].grid[2], 512);
    assert_int_equal(plan.kernel[1].grid[2], 512);
    assert_int_equal(plan.workspace_bytes, 32 << 20);
    assert_string_equal(plan.kernel[1].entry, "gemm_reduce");

    problem.batch = 3;
    plan = plan_of(&config, &problem);
    assert_int_equal(plan.workspace_bytes, 3 * 65536);

    /* An item that takes more than that goes alone. */
    problem = problem_of("2048x2048x64:batch=3");
    plan = plan_of(&config, &problem);
    assert_int_equal(plan.batch_per_launch, 1);
    assert_int_equal(plan.kernel[0].grid[2], 1);
    assert_int_equal(plan.workspace_bytes, 64 << 20);
}

TEST(packing_comes_first_and_has_a_block_for_every_tile)
{
    struct config config = with("PACK", 3);
    config_set(&config, "SPLIT_K", 2);
    struct problem problem = problem_of("nn:300x500x700:batch=3");
    struct launch_plan plan = plan_of(&config, &problem);
    assert_int_equal(plan.kernels, 3);
    assert_string_equal(plan.kernel[0].entry, "gemm_pack");
    assert_string_equal(plan.kernel[1].entry, "gemm");
    assert_string_equal(plan.kernel[2].entry, "gemm_reduce");
    /* A is transposed in tiles of 64 k x 32 m, B copied in tiles of 16 k x 128 n. */
    assert_int_equal(plan.kernel[0].grid[0], 11 * 10 + 44 * 4);
    assert_int_equal(plan.kernel[0].grid[2], 3);
    assert_int_equal(plan.counters, 0);
    /* Rows of 320 and 512 floats, and two parts of C, of which the sum is a multiple of 32. */
    assert_int_equal(plan.workspace_bytes, 3 * 4 * (700 * 320 + 700 * 512 + 2 * 300 * 500));
    problem.k = 0;
    plan = plan_of(&config, &problem);
    assert_int_equal(plan.kernels, 1);
}

TEST(the_last_block_of_a_tile_needs_a_counter_and_whole_tiles_of_parts_but_no_second_kernel)
{
    struct config config = with("REDUCE", 1);
    config_set(&config, "SPLIT_K", 4);
    const struct problem problem = problem_of("nn:129x256x700:batch=20");
    assert_taken(check(&config, &problem, &h200));
    struct launch_plan plan = plan_of(&config, &problem);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(gemm_args_in(&plan).splits, 4);
    assert_int_equal(plan.counters, 128); /* of 4 tiles * 20 items, in whole lines */
    assert_int_equal(plan.workspace_bytes, 4 * (128 + 20 * 4 * 4 * 128 * 128));
    config_set(&config, "SPLIT_K", 1);
    assert_taken(check(&config, &problem, &h200));
    plan = plan_of(&config, &problem);
    assert_int_equal(plan.counters, 0);
    assert_int_equal(plan.workspace_bytes, 0);
}

TEST(a_cluster_is_as_large_as_the_split_and_needs_no_workspace)
{
    struct config config = with("REDUCE", 4);
    struct problem problem = square(1024);
    struct launch_plan plan;
    config_set(&config, "MIN_BLOCKS", 1);
    assert_refused(check(&config, &problem, &h200), "SPLIT_K must be the size of the cluster");
    config_set(&config, "SPLIT_K", 4);
    assert_taken(check(&config, &problem, &h200));
    for (int k = 0; k <= 1024; k += 8) { /* from where some blocks have nothing to add */
        problem = problem_make(1024, 1024, k);
        plan = plan_of(&config, &problem);
        assert_int_equal(plan.kernels, 1);
        assert_int_equal(plan.kernel[0].cluster[1], 4);
        assert_int_equal(plan.kernel[0].grid[1], 4);
        assert_int_equal(plan.workspace_bytes, 0);
        assert_int_equal(gemm_args_in(&plan).splits, 4);
        assert_true(gemm_args_in(&plan).k_per_split % 16 == 0 && 4 * gemm_args_in(&plan).k_per_split >= k);
    }
    struct gpu ampere = h200;
    ampere.arch = 80;
    assert_refused(check(&config, &problem, &ampere), "sm_90");
}

TEST(the_reduction_has_a_thread_for_every_vector_and_way)
{
    for (int splits = 2; splits <= 1024; splits++)
        for (int64_t vectors = 1; vectors < 200000; vectors = vectors * 3 + 1) {
            const int ways = reduce_ways(vectors, splits);
            assert_true(ways >= 1 && ways <= REDUCE_WAYS_MAX && REDUCE_THREADS % ways == 0);
            assert_true(ways == 1 || splits >= 4 * ways);
        }
    const struct config config = with("SPLIT_K", 64);
    const struct problem problem = problem_make(64, 64, 65536);
    const struct launch_plan plan = plan_of(&config, &problem);
    const int ways = reduce_ways(64 * 64 / 4, 64);
    assert_int_equal(ways, 16);
    assert_int_equal((int)plan.kernel[1].grid[0] * (REDUCE_THREADS / ways), 64 * 64 / 4);
    assert_int_equal(plan.kernel[1].smem_bytes, 4 * 4 * REDUCE_THREADS);
}

/* The launch of a slab would begin further on in each item, which only the items' addresses could say. */
TEST(pointers_are_not_multiplied_in_slabs)
{
    struct config config = with("PACK", 3);
    config_set(&config, "VC", 1);
    struct problem p = problem_make(4096, 4096, 2049);
    assert_taken(check(&config, &p, &h200));
    problem_use_pointers(&p);
    assert_refused(check(&config, &p, &h200), "arrays of pointers need all k at once");
    p = problem_make(4096, 4096, 2048);
    problem_use_pointers(&p);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan_of(&config, &p).k_slab, 0);
}

/* A copy of our own has aligned rows, whatever the operand has. */
TEST(vectors_of_pointers_are_those_of_packed_operands)
{
    struct config config = with("PACK", 0);
    struct problem p = problem_make(512, 512, 512);
    p.batch = 7;
    problem_use_pointers(&p);
    config_set(&config, "VA", 1), config_set(&config, "VB", 1), config_set(&config, "VC", 1);
    assert_taken(check(&config, &p, &h200));
    config_set(&config, "VC", 2);
    assert_refused(check(&config, &p, &h200), "VC is wider than C is aligned");
    config_set(&config, "VC", 1), config_set(&config, "VA", 4);
    assert_refused(check(&config, &p, &h200), "VA is wider than A is aligned");
    config_set(&config, "PACK", 1);
    assert_taken(check(&config, &p, &h200));
    config_set(&config, "VB", 4);
    assert_refused(check(&config, &p, &h200), "VB is wider than B is aligned");
    config_set(&config, "PACK", 3);
    assert_taken(check(&config, &p, &h200));
}

TEST(a_launch_of_pointers_begins_at_the_address_of_its_first_item)
{
    struct config config = with("PACK", 0);
    struct problem p = problem_make(16, 16, 16);
    p.batch = 70000;
    problem_use_pointers(&p);
    const struct launch_plan plan = plan_of(&config, &p);
    assert_int_equal(plan.batch_per_launch, 65535);
    for (int i = LAUNCH_A; i <= LAUNCH_C; i++) assert_int_equal(plan.batch_step_bytes[i], 8);
}

TEST(two_families_take_no_pointers)
{
    static const struct {
        const char *name;
        bool takes;
    } families[] = {{"simt", true},   {"skinny", true}, {"mma", true},       {"mma16", true},
                    {"gemv16", true}, {"wgmma", true},  {"resident", false}, {"tall", false}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct template *t = template_find(families[i].name);
        struct problem p = problem_make(64, 64, 64);
        p.type = template_first_type(t);
        assert_true(template_serves(t, &p));
        problem_use_pointers(&p);
        assert_int_equal(template_serves(t, &p), families[i].takes);
    }
    struct config config;
    struct problem p = problem_make(640, 32, 64);
    p.trans_b = true;
    assert_ok(config_parse(
        "tall SIDE=1 BM=32 BN=16 BK=10 TM=4 TN=2 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=1", &config));
    problem_use_pointers(&p);
    assert_refused(config.template->check(&config, &p, &h200), "the family takes no arrays of pointers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_packed_in_64_mib_and_a_longer_k_goes_in_slabs),
        cmocka_unit_test(an_epilogue_is_not_computed_in_slabs),
        cmocka_unit_test(pointers_are_not_multiplied_in_slabs),
        cmocka_unit_test(vectors_of_pointers_are_those_of_packed_operands),
        cmocka_unit_test(a_launch_of_pointers_begins_at_the_address_of_its_first_item),
        cmocka_unit_test(two_families_take_no_pointers),
        cmocka_unit_test(pointers_are_not_multiplied_in_slabs),
        cmocka_unit_test(vectors_of_pointers_are_those_of_packed_operands),
        cmocka_unit_test(a_launch_of_pointers_begins_at_the_address_of_its_first_item),
        cmocka_unit_test(two_families_take_no_pointers),
        cmocka_unit_test(splits_cover_k_with_whole_tiles_and_none_is_empty),
        cmocka_unit_test(the_longest_k_does_not_overflow),
        cmocka_unit_test(a_grid_has_a_block_for_every_tile_and_no_more),
        cmocka_unit_test(long_batches_are_cut_by_the_workspace),
        cmocka_unit_test(packing_comes_first_and_has_a_block_for_every_tile),
        cmocka_unit_test(
            the_last_block_of_a_tile_needs_a_counter_and_whole_tiles_of_parts_but_no_second_kernel),
        cmocka_unit_test(a_cluster_is_as_large_as_the_split_and_needs_no_workspace),
        cmocka_unit_test(the_reduction_has_a_thread_for_every_vector_and_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

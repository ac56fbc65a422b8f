/* The host's half of the streamk family: which configurations it takes, and how it launches them. */
#include "one_family.h"
#include "streamk_line.h"

static const char *const base_text = STREAMK_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"STAGES", 1},     {"STAGES", 9}, {"LOADER", 4}, {"ORDER", 4},
                                             {"MIN_BLOCKS", 0}, {"SMS", 0},    {"GROUP", 0},  {"BK", 1}};
    static const struct violation cases[] = {{"BK", 7, "BK must be even"},
                                             {"UNROLL", 3, "UNROLL must be even"},
                                             {"UNROLL", 6, "BK must be a multiple of UNROLL"},
                                             {"STORE_AT", 8, "STORE_AT must be one of the UNROLL steps"},
                                             {"STAGES", 2, "LOADER 2 needs 3 STAGES"}};
    static const struct violation tiles[] = {{"BM", 96, "BM must be a multiple of WM"},
                                             {"BN", 96, "BN must be a multiple of WN"},
                                             {"TM", 5, "WM must be a multiple of TM"},
                                             {"TN", 6, "WN must be a multiple of TN"},
                                             {"WM", 128, "32 lanes"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    assert_each_refused(tiles, sizeof tiles / sizeof *tiles);
    assert_vector_is_checked("VA");
    assert_vector_is_checked("VB");
    assert_vector_is_checked("VC");
    struct config config = base();
    config_set(&config, "TM", 8);
    config_set(&config, "WM", 32);
    config_set(&config, "TN", 2);
    config_set(&config, "WN", 16);
    assert_refused(check(&config, NULL, NULL), "VC must not exceed");
    config = base();
    config_set(&config, "BM", 512);
    config_set(&config, "BN", 512);
    assert_refused(check(&config, NULL, NULL), "1024 threads");
}

TEST(what_depends_on_the_op_is_refused_for_that_op_alone)
{
    const struct problem nn = problem_of("nn:512x512x512"), nt = problem_of("nt:512x512x512"),
                         tn = problem_of("tn:512x512x512"), tt = problem_of("tt:512x512x512");
    struct config config = base();
    config_set(&config, "LOADER", 1);
    assert_taken(check(&config, &nn, &h200));
    assert_taken(check(&config, &tt, &h200));
    assert_refused(check(&config, &nt, &h200), "LOADER 1 has nothing to copy");
    config_set(&config, "STORE_AT", 2);
    assert_taken(check(&config, &nn, &h200));
    assert_refused(check(&config, &tn, &h200), "STORE_AT means nothing");
    config = base();
    config_set(&config, "LOADER", 3);
    assert_refused(check(&config, &nn, &h200), "VA must be 1");
    assert_refused(check(&config, &tn, &h200), "LOADER 3 has nothing to transpose");
    assert_refused(check(&config, &tt, &h200), "VB must be 1");
    config_set(&config, "VA", 1);
    assert_taken(check(&config, &nn, &h200));
    const struct problem odd = problem_of("nn:512x511x512");
    assert_refused(check(&config, &odd, &h200), "VB is wider than B is aligned");
}

TEST(the_blocks_that_share_the_work_must_fit_the_gpu)
{
    const struct problem p = problem_of("nn:2048x2048x2048");
    struct config config = base();
    assert_taken(check(&config, &p, &h200));
    config_set(&config, "SMS", 133);
    assert_refused(check(&config, &p, &h200), "SMS is more than the GPU has");
    assert_taken(check(&config, &p, NULL));
    config_set(&config, "SMS", 132);
    config_set(&config, "MIN_BLOCKS", 4);
    assert_refused(check(&config, &p, &h200), "registers");
    config_set(&config, "MIN_BLOCKS", 10);
    assert_refused(check(&config, &p, &h200), "shared memory of MIN_BLOCKS");
    config_set(&config, "MIN_BLOCKS", 2);
    config_set(&config, "BK", 128);
    assert_refused(check(&config, &p, &h200), "the stages do not fit");
    const struct gpu t4 = {.arch = 75,
                           .sm_count = 40,
                           .threads_per_sm = 1024,
                           .blocks_per_sm = 16,
                           .registers_per_sm = 65536,
                           .smem_per_sm_bytes = 65536,
                           .smem_per_block_bytes = 65536};
    config = base();
    config_set(&config, "SMS", 40);
    assert_refused(check(&config, &p, &t4), "needs cp.async");
    config_set(&config, "LOADER", 0);
    assert_taken(check(&config, &p, &t4));
}

TEST(a_line_that_no_number_counts_is_refused)
{
    const struct config config = base();
    const struct problem deep = problem_of("nn:2048x2048x100000000"),
                         wide = problem_of("nn:16000000x16000000x8"),
                         most = problem_of("nn:2048x2048x60000000");
    assert_refused(check(&config, &deep, &h200), "2^31 or more");
    assert_refused(check(&config, &wide, &h200), "more tiles than numbers");
    assert_taken(check(&config, &most, &h200));
    struct config many = base();
    config_set(&many, "SMS", 4096);
    assert_refused(check(&many, &most, NULL), "256 MiB");
}

/* All units of all tiles, once each, by the functions that the kernel uses. */
static void assert_covered(int tiles, int depth, int blocks)
{
    static unsigned char owners[4096][64];
    static short first_block[4096], last_block[4096];
    const struct line line = line_of(tiles, depth, blocks);
    assert_true(tiles <= 4096 && depth <= 64);
    assert_true(line.shared < 2 * blocks && line.shared >= (tiles < blocks ? tiles : 0));
    assert_true(tiles % blocks ? line.shared >= (tiles < blocks ? tiles : blocks) : line.shared == 0);
    memset(owners, 0, sizeof owners);
    for (int i = 0; i < tiles; i++) first_block[i] = INT16_MAX, last_block[i] = -1;
    for (int block = 0; block < blocks; block++) {
        int at = first_unit(line, block), units = 0, pieces = 0;
        for (; at != end_of(line); pieces++) {
            assert_true(pieces < 3 + line.waves); /* a part, a whole tile, a part; and the waves */
            const struct piece piece = piece_at(line, first_unit(line, block + 1), block, at);
            assert_in_range(piece.tile, 0, tiles - 1);
            assert_true(piece.begin >= 0 && piece.count > 0 && piece.begin + piece.count <= depth);
            for (int u = 0; u < piece.count; u++) owners[piece.tile][piece.begin + u]++;
            units += piece.count;
            if (first_block[piece.tile] > block) first_block[piece.tile] = (short)block;
            if (last_block[piece.tile] < block) last_block[piece.tile] = (short)block;
            if (piece.begin > 0) assert_in_range(slot_of(line, block, false), 0, blocks - 2);
            else if (piece.count < depth)
                assert_in_range(slot_of(line, block, true), blocks - 1, slots_of(blocks) - 1);
            at = piece.next;
        }
        const int share = units - line.waves * depth;
        assert_in_range(share - line.units / blocks, 0, line.units % blocks > 0);
    }
    for (int tile = 0; tile < tiles; tile++) {
        for (int u = 0; u < depth; u++) assert_int_equal(owners[tile][u], 1);
        if (tile >= line.shared) continue;
        assert_int_equal(block_of_unit(line, tile * depth), first_block[tile]);
        assert_int_equal(block_of_unit(line, tile * depth + depth - 1), last_block[tile]);
        if (tiles >= blocks) assert_true(last_block[tile] - first_block[tile] <= 1);
    }
}

TEST(every_unit_of_every_tile_belongs_to_one_block_and_all_have_equally_many)
{
    uint64_t seed = 3;
    for (int i = 0; i < 3000; i++)
        assert_covered(1 + (int)stats_random_below(&seed, i % 2 ? 40 : 900),
                       1 + (int)stats_random_below(&seed, 64), 1 + (int)stats_random_below(&seed, 300));
    assert_covered(1, 1, 264);
    assert_covered(264, 5, 264);
    assert_covered(528, 5, 264);
    assert_covered(265, 64, 264);
    assert_covered(7, 64, 1);
}

TEST(a_launch_has_as_many_blocks_as_share_the_work)
{
    const struct config config = base();
    static const struct {
        const char *problem;
        unsigned grid, items;
        int64_t counters, slots;
    } cases[] = {{"nn:2048x2048x2048", 264, 1, 256, 526},         /* 256 tiles */
                 {"nn:2048x2048x8", 264, 1, 0, 0},                /* nothing to share */
                 {"nn:2112x2048x2048:batch=2", 132, 2, 320, 526}, /* 2 x 17 x 16 tiles: 280 and a wave */
                 {"nn:128x128x2048:batch=264", 1, 264, 0, 0},     /* a tile each */
                 {"nn:128x128x2048:batch=300", 1, 300, 320, 526},
                 {"nn:128x128x0", 264, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem_of(cases[i].problem);
        const struct launch_plan plan = plan_of(&config, &p);
        assert_int_equal(plan.kernels, 1);
        assert_int_equal(plan.kernel[0].grid[0], cases[i].grid);
        assert_int_equal(plan.kernel[0].grid[2], cases[i].items);
        assert_int_equal(plan.counters, cases[i].counters);
        assert_int_equal(plan.workspace_bytes, 4 * (cases[i].counters + cases[i].slots * 128 * 128));
        assert_int_equal(plan.kernel[0].threads, 128);
        assert_int_equal(plan.kernel[0].smem_bytes, 4 * (3 * 8 * (132 + 132) + 12));
        assert_int_equal(config.template->resources(&config).smem_bytes, plan.kernel[0].smem_bytes);
    }
    /* A longer batch than a grid takes: equal launches, and blocks enough in the last one. */
    const struct problem p = problem_of("nn:128x128x64:batch=65537");
    const struct launch_plan plan = plan_of(&config, &p);
    assert_int_equal(plan.batch_per_launch, 32769);
    assert_int_equal(plan.kernel[0].grid[0], 1);
}

TEST(a_prefix_of_what_is_taken_is_never_refused)
{
    static const int32_t values[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 96, 128, 192, 256};
    static const char *const shapes[] = {"nn:2048x2048x2048", "nt:1000x3000x500", "tn:63x64x65:batch=7",
                                         "tt:4096x100x1000:lda=5000"};
    struct config starts[] = {base(), base()};
    static const char *const narrow[] = {"VA", "VB", "VC"};
    for (int i = 0; i < 3; i++) config_set(&starts[1], narrow[i], 1);
    const struct drawn drawn = {
        starts, shapes, sizeof shapes / sizeof *shapes, values, sizeof values / sizeof *values, 4};
    assert_drawn_prefixes_pass(&drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(what_depends_on_the_op_is_refused_for_that_op_alone),
        cmocka_unit_test(the_blocks_that_share_the_work_must_fit_the_gpu),
        cmocka_unit_test(a_line_that_no_number_counts_is_refused),
        cmocka_unit_test(every_unit_of_every_tile_belongs_to_one_block_and_all_have_equally_many),
        cmocka_unit_test(a_launch_has_as_many_blocks_as_share_the_work),
        cmocka_unit_test(a_prefix_of_what_is_taken_is_never_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The host's half of the tall family: which configurations it takes, and how it launches them. */
#include "one_family.h"

static const char *const base_text = TALL_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct violation cases[] = {{"BK", 126, "BK must not exceed 125"},
                                             {"BM", 48, "must be a multiple of a warp's"},
                                             {"TM", 5, "must be a multiple of a warp's"},
                                             {"TN", 5, "must be a multiple of the thread's"},
                                             {"TN", 4, "lanes must cover the small side"}};
    assert_streams_are_checked();
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    struct config config = with("TM", 32);
    assert_taken(check(&config, NULL, NULL));
    config = with("TM", 1);
    config_set(&config, "BM", 1024);
    assert_refused(check(&config, NULL, NULL), "1024 threads");
    config = with("BK", 120);
    config_set(&config, "BM", 32); /* one warp, a row at once */
    assert_refused(check(&config, NULL, NULL), "must copy 4 rows at once");
    const struct config wide = config_of(TALL_LOW);
    struct config wider = wide;
    config_set(&wider, "VC", 2);
    assert_taken(check(&wide, NULL, NULL));
    assert_refused(check(&wider, NULL, NULL), "VC must not exceed the contiguous columns");
}

TEST(the_long_operand_runs_along_k_in_rows_that_no_vector_fits)
{
    const struct config narrow = base(), flat = config_of(TALL_LOW);
    const struct problem nn = problem_of("nn:559104x64x147"), nt = problem_of("nt:64x559104x147"),
                         tn = problem_of("tn:559105x64x147"), flat_nn = problem_of("nn:64x559105x147"),
                         aligned = problem_of("nn:559104x64x148"),
                         padded = problem_of("nn:559104x64x147:lda=148"),
                         even = problem_of("nn:559104x64x146"), odd = problem_of("nn:559104x64x148:lda=149"),
                         tt = problem_of("tt:64x559104x147");
    assert_taken(check(&narrow, &nn, &h200));
    assert_taken(check(&narrow, &even, &h200));
    assert_taken(check(&narrow, &odd, &h200));
    assert_taken(check(&flat, &nt, &h200));
    assert_taken(check(&flat, &tt, &h200));
    assert_refused(check(&narrow, &tn, &h200), "must run along k");
    assert_refused(check(&flat, &flat_nn, &h200), "must run along k");
    assert_refused(check(&narrow, &aligned, &h200), "begin at multiples of 16 bytes");
    assert_refused(check(&narrow, &padded, &h200), "begin at multiples of 16 bytes");
}

TEST(c_must_be_long_and_narrow)
{
    const struct config config = base();
    const struct problem wide = problem_of("nn:559104x65x147"), least = problem_of("nn:33537x64x147"),
                         shorter = problem_of("nn:33536x64x147");
    assert_refused(check(&config, &wide, &h200), "does not reach across");
    assert_taken(check(&config, &least, &h200)); /* 132 tiles of 256 */
    assert_refused(check(&config, &shorter, &h200), "too short");
    const struct problem odd = problem_of("nn:559104x63x147");
    assert_refused(check(&config, &odd, &h200), "VC is wider than C");
}

/* The kernel: K rows of the small side; a stage of rows with an odd number of vectors; a row of the small
 * side for what is read ahead. */
TEST(shared_memory_holds_all_of_k_and_the_stages)
{
    struct config config = base();
    const struct problem p = problem_of("nn:559104x64x147");
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 4 * (148 * 64 + 3 * 256 * 28 + 4));
    assert_int_equal(config.template->resources(&config).smem_bytes, 4 * (2 * 64 + 3 * 256 * 28 + 4));
    const struct {
        int bk, stride;
    } strides[] = {{1, 4},   {2, 12},  {5, 12},  {6, 12},  {9, 12},
                   {10, 20}, {13, 20}, {27, 36}, {29, 36}, {49, 52}};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        config_set(&config, "BK", strides[i].bk);
        assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes,
                         4 * (148 * 64 + 3 * 256 * strides[i].stride + 4));
    }
    config = base();
    assert_needs_smem(&config, &p, 4 * (148 * 64 + 3 * 256 * 28 + 4));
    const struct problem deep = problem_of("nn:559104x64x100001");
    assert_refused(check(&config, &deep, NULL), "do not fit in a block's shared memory");
    config_set(&config, "MIN_BLOCKS", 2);
    assert_refused(check(&config, &p, &h200), "shared memory of MIN_BLOCKS blocks");
    config_set(&config, "STAGES", 2);
    assert_taken(check(&config, &p, &h200));
}

TEST(the_blocks_that_fill_an_sm_must_fit_it)
{
    const struct problem p = problem_of("nn:559104x64x147");
    struct config config = with("STAGES", 2);
    config_set(&config, "MIN_BLOCKS", 3);
    assert_refused(check(&config, &p, &h200), "registers");
    config_set(&config, "TN", 16);
    config_set(&config, "MIN_BLOCKS", 2); /* 128 threads of 8x16 */
    assert_taken(check(&config, &p, &h200));
    assert_fills_an_sm(&config, &p, 2, 2 * 128);
}

/* As the kernel walks: block w of W has tiles w, w + W, w + 2 W ... below the number of tiles. */
TEST(every_row_belongs_to_one_block_and_no_block_is_idle)
{
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        struct config config = config_of(i % 2 ? TALL_LOW : TALL_BASE);
        const int sms = 1 + (int)stats_random_below(&seed, 40),
                  blocks = 1 + (int)stats_random_below(&seed, 3);
        config_set(&config, "SMS", sms);
        config_set(&config, "MIN_BLOCKS", blocks);
        const int64_t rows = 1 + (int64_t)stats_random_below(&seed, 60000);
        const struct problem p = i % 2 ? problem_make(64, rows, 27) : problem_make(rows, 64, 27);
        const struct launch_plan plan = plan_of(&config, &p);
        const int64_t walkers = plan.kernel[0].grid[0], tiles = (rows + 255) / 256;
        static unsigned char owners[60000 / 256 + 2];
        memset(owners, 0, sizeof owners);
        for (int64_t w = 0; w < walkers; w++)
            for (int64_t tile = w, left = (tiles - 1 - w) / walkers + 1; left > 0; left--, tile += walkers)
                owners[tile]++;
        for (int64_t tile = 0; tile <= tiles; tile++) assert_int_equal(owners[tile], tile < tiles);
        assert_int_equal(walkers, tiles < sms * blocks ? tiles : sms * blocks);
        assert_int_equal(plan.kernels, 1);
        assert_int_equal(plan.kernel[0].threads, 256);
        assert_int_equal(plan.workspace_bytes, 0);
    }
}

TEST(a_prefix_of_what_is_taken_is_never_refused)
{
    static const int32_t values[] = {0, 1, 2, 3, 4, 6, 8, 10, 16, 21, 27, 32, 64, 96, 128, 256};
    static const char *const shapes[] = {"nn:559104x64x147", "nt:64x559104x147", "nn:1605632x32x27",
                                         "nt:16x9001x27", "nn:1001x7x3:lda=5"};
    struct config starts[] = {config_of(TALL_BASE), config_of(TALL_LOW)};
    for (int i = 0; i < 2; i++) config_set(&starts[i], "VC", 1);
    const struct drawn drawn = {
        starts, shapes, sizeof shapes / sizeof *shapes, values, sizeof values / sizeof *values, 5};
    assert_drawn_prefixes_pass(&drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(the_long_operand_runs_along_k_in_rows_that_no_vector_fits),
        cmocka_unit_test(c_must_be_long_and_narrow),
        cmocka_unit_test(shared_memory_holds_all_of_k_and_the_stages),
        cmocka_unit_test(the_blocks_that_fill_an_sm_must_fit_it),
        cmocka_unit_test(every_row_belongs_to_one_block_and_no_block_is_idle),
        cmocka_unit_test(a_prefix_of_what_is_taken_is_never_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

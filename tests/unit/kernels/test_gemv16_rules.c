/* The host's half of the streaming family for 16-bit operands: which configurations it takes, and how it
 * launches them. */
#include "one_family.h"

#include "gemm_block.h"
#include "gt_early_args.h"

#include <string.h>

static const char *const base_text = GEMV16_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"SIDE", 2},   {"FEW", 7},  {"FEW", 72},   {"TX", 0},
                                             {"DEPTH", 17}, {"PDL", 3},  {"REDUCE", 9}, {"ASK", -1},
                                             {"ASK", 513},  {"PAD", 225}};
    static const struct violation cases[] = {{"FEW", 12, "FEW must be a multiple of 8"},
                                             {"SPAN", 3, "SPAN must be 1, 2, 4 or 8"},
                                             {"VX", 3, "VX must be 1, 2, 4 or 8"},
                                             {"VS", 6, "VS must be 1, 2, 4 or 8"},
                                             {"VC", 5, "VC must be 1, 2, 4 or 8"},
                                             {"WARPS_X", 5, "1024 threads"},
                                             {"REDUCE", 4, "SPLIT_K must be the size of the cluster"},
                                             {"ASK", 16, "ASK is for kernels that begin early"},
                                             {"PAD", 76, "PAD is for kernels that begin early"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

TEST(few_rows_or_few_columns_are_the_side_that_is_not_streamed)
{
    struct config config = with("FEW", 16);
    const struct problem rows = problem_of("bf16gemm:nt:16x512x512"),
                         more = problem_of("bf16gemm:nt:17x512x512"),
                         columns = problem_of("bf16gemm:nt:512x16x512"),
                         more_columns = problem_of("bf16gemm:nt:512x17x512"),
                         tf32 = problem_of("tf32gemm:nt:8x64x64");
    assert_taken(check(&config, &rows, &h200));
    assert_refused(check(&config, &more, &h200), "more rows than FEW");
    assert_refused(check(&config, &tf32, &h200), "computes bf16gemm and hgemm");
    config_set(&config, "SIDE", 1);
    assert_taken(check(&config, &columns, &h200));
    assert_refused(check(&config, &more_columns, &h200), "more columns than FEW");
    const struct tile tile = config.template->tile(&config);
    assert_int_equal(tile.m, 16);
    assert_int_equal(tile.n, 16);
    assert_int_equal(tile.k, 64 * 8 * 2);
}

/* Along k the kernel looks at the end of a line, across k it does not. */
TEST(vectors_follow_the_lines_of_the_operands_and_across_k_their_length)
{
    static const struct {
        const char *problem, *part;
    } cases[] = {{"bf16gemm:nt:8x512x508", "VX is wider than the streamed operand"},
                 {"bf16gemm:nt:8x512x508:ldb=512", "VS is wider than the small operand"},
                 {"bf16gemm:nt:8x510x512:ldc=510", "VC is wider than C"},
                 {"bf16gemm:nt:8x64x64:batch=2:pointers", "VX is wider than the streamed operand"},
                 {"bf16gemm:nn:8x512x512", "VX must divide TX"},
                 {"bf16gemm:tt:8x512x512", "VS must divide FEW / 8"}};
    struct config config = base();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem_of(cases[i].problem);
        assert_refused(check(&config, &p, &h200), cases[i].part);
    }
    const struct problem ragged = problem_of("bf16gemm:nt:7x511x507:lda=512:ldb=512:ldc=512");
    assert_taken(check(&config, &ragged, &h200));
    config = with("TX", 8);
    config_set(&config, "DEPTH", 1);
    const struct problem across = problem_of("bf16gemm:nn:8x512x512"),
                         short_lines = problem_of("bf16gemm:nn:8x508x512:ldb=512:ldc=512");
    assert_taken(check(&config, &across, &h200));
    assert_refused(check(&config, &short_lines, &h200), "VX is wider than the streamed operand");
}

/* Tiles of 16 columns; sums in 8 rows of 24 floats for each of 8 warps, then the flag, or an inbox of 8 rows
 * and its barrier. */
TEST(tiles_parts_and_shared_memory_are_those_of_the_problem)
{
    const struct problem p = problem_of("bf16gemm:nt:8x1000x1000:batch=3");
    struct config config = with("SPLIT_K", 4); /* 16 runs of k: 4 each */
    struct launch_plan plan = plan_of(&config, &p);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 63);
    assert_int_equal(plan.kernel[0].grid[1], 4);
    assert_int_equal(plan.kernel[0].grid[2], 3);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(plan.kernel[0].smem_bytes, 8 * 8 * 24 * 4 + 16);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 256);
    assert_int_equal(plan.counters, 192);
    assert_int_equal(plan.workspace_bytes, 4 * (192 + 3 * 63 * 4 * 8 * 16));
    config_set(&config, "REDUCE", 4);
    plan = plan_of(&config, &p);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.kernel[0].cluster[1], 4);
    assert_int_equal(plan.kernel[0].smem_bytes, 8 * 8 * 24 * 4 + 8 * 24 * 4 + 8);
}

TEST(a_kernel_that_begins_early_says_so_to_the_driver_and_to_itself)
{
    const struct problem p = problem_of("hgemm:nt:8x512x512:epilogue=bias");
    struct config config = with("PDL", 1);
    config_set(&config, "ASK", 64);
    struct gpu gpu = h200;
    struct launch_plan plan = plan_of(&config, &p);
    int early[2];
    memcpy(early, plan.argument + EARLY_AT, sizeof early);
    assert_int_equal(plan.argument_bytes, EARLY_BYTES);
    assert_int_equal(early[0], 1);
    assert_int_equal(early[1], 64);
    assert_true(plan.kernel[0].dependent);
    config_set(&config, "PAD", 76);
    assert_int_equal(plan_of(&config, &p).kernel[0].smem_bytes, 76 << 10);
    gpu.arch = 89;
    assert_refused(check(&config, &p, &gpu), "PDL above 0 needs sm_90");
    config = base();
    plan = plan_of(&config, &p);
    assert_false(plan.kernel[0].dependent);
    assert_taken(check(&config, &p, &gpu));
}

TEST(parts_keep_to_their_workspace_and_long_batches_are_cut_by_it)
{
    const struct config config = with("SPLIT_K", 1024);
    const struct problem fits = problem_of("bf16gemm:nt:8x2048x65536"),
                         large = problem_of("bf16gemm:nt:8x2064x65536"),
                         many = problem_of("bf16gemm:nt:8x64x65536:batch=100");
    assert_taken(check(&config, &fits, &h200)); /* exactly 64 MiB */
    assert_refused(check(&config, &large, &h200), "more than 64 MiB");
    const struct launch_plan plan = plan_of(&config, &many); /* 2 MiB an item */
    assert_int_equal(plan.batch_per_launch, 16);
    assert_int_equal(plan.workspace_bytes, (32 << 20) + 4 * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(few_rows_or_few_columns_are_the_side_that_is_not_streamed),
        cmocka_unit_test(vectors_follow_the_lines_of_the_operands_and_across_k_their_length),
        cmocka_unit_test(tiles_parts_and_shared_memory_are_those_of_the_problem),
        cmocka_unit_test(a_kernel_that_begins_early_says_so_to_the_driver_and_to_itself),
        cmocka_unit_test(parts_keep_to_their_workspace_and_long_batches_are_cut_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

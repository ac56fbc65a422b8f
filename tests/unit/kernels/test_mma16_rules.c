/* The host's half of the tensor-core family for 16-bit operands: which configurations it takes, and how it
 * launches them. */
#include "one_family.h"

#include "gemm_block.h"
#include "gt_early_args.h"

#include <string.h>

static const char *const base_text = MMA16_BASE;

TEST(each_rule_refuses_its_violation_and_says_why)
{
    static const struct outside outside[] = {{"BM", 0},     {"STAGES", 1}, {"MIN_BLOCKS", 0}, {"REDUCE", 0},
                                             {"REDUCE", 9}, {"GROUP", 0},  {"SPLIT_K", 0}};
    static const struct violation cases[] = {{"BM", 132, "BM must be a multiple of 8"},
                                             {"BN", 260, "BN must be a multiple of 8"},
                                             {"BK", 40, "BK must be a multiple of 16"},
                                             {"WM", 48, "BM must be a multiple of WM"},
                                             {"WN", 24, "BN must be a multiple of WN"},
                                             {"WM", 8, "16 rows of an instruction"},
                                             {"WARPS_K", 3, "BK must be a multiple of 16 for each"},
                                             {"VA", 3, "VA must be 1, 2, 4 or 8"},
                                             {"VB", 6, "VB must be 1, 2, 4 or 8"},
                                             {"VC", 5, "VC must be 1, 2, 4 or 8"},
                                             {"SPLIT_K", 0, "outside its range"},
                                             {"REDUCE", 4, "SPLIT_K must be the size of the cluster"}};
    assert_each_outside(outside, sizeof outside / sizeof *outside);
    assert_each_refused(cases, sizeof cases / sizeof *cases);
    struct config config = with("BM", 512);
    config_set(&config, "WM", 16);
    config_set(&config, "WN", 32);
    assert_refused(check(&config, NULL, NULL), "1024 threads");
    config = with("WN", 8);
    config_set(&config, "BN", 64);
    assert_taken(check(&config, NULL, NULL));
    config_set(&config, "SWAP", 1);
    assert_refused(check(&config, NULL, NULL), "16 rows of an instruction");
    config = with("WARPS_K", 2);
    config_set(&config, "SPLIT_K", 2);
    assert_taken(check(&config, NULL, NULL));
    config_set(&config, "REDUCE", 2);
    assert_taken(check(&config, NULL, NULL));
    config = with("ASK", 16);
    assert_refused(check(&config, NULL, NULL), "kernels that begin early");
    config_set(&config, "PDL", 1);
    assert_taken(check(&config, NULL, NULL));
    const struct config legal = base();
    assert_taken(check(&legal, NULL, &h200));
}

TEST(few_rows_of_c_are_the_columns_of_an_instruction)
{
    struct config config = with("BM", 8);
    config_set(&config, "WM", 8);
    assert_refused(check(&config, NULL, NULL), "16 rows of an instruction");
    config_set(&config, "SWAP", 1);
    assert_taken(check(&config, NULL, &h200));
    assert_int_equal(config.template->resources(&config).accumulators, 8 * 64 / 32);
}

TEST(products_of_16_bits_on_gpus_that_have_the_instruction_are_taken)
{
    const struct config config = base();
    const struct problem bf16 = problem_of("bf16gemm:nn:512x512x512"),
                         half = problem_of("hgemm:nn:512x512x512"),
                         tf32 = problem_of("tf32gemm:nn:512x512x512"), sgemm = problem_of("nn:512x512x512");
    struct gpu gpu = h200;
    assert_taken(check(&config, &bf16, &h200));
    assert_taken(check(&config, &half, &h200));
    assert_refused(check(&config, &tf32, &h200), "computes bf16gemm and hgemm");
    assert_refused(check(&config, &sgemm, &h200), "computes bf16gemm and hgemm");
    gpu.arch = 75;
    assert_refused(check(&config, &half, &gpu), "need sm_80");
    gpu.arch = 80;
    assert_taken(check(&config, &half, &gpu));
    struct config cluster = with("REDUCE", 2);
    config_set(&cluster, "SPLIT_K", 2);
    config_set(&cluster, "BN", 128); /* whole tiles of sums */
    assert_refused(check(&cluster, &half, &gpu), "needs clusters (sm_90)");
    assert_taken(check(&cluster, &half, &h200));
}

/* A line that begins where a vector may is enough, whatever its length: the kernel looks at its end. */
TEST(vectors_follow_the_lines_of_the_operands)
{
    const struct config config = base();
    static const struct {
        const char *problem, *part;
    } cases[] = {{"bf16gemm:nn:512x512x508", "VA is wider than A"},
                 {"bf16gemm:tn:510x512x510", "VA is wider than A"},
                 {"bf16gemm:nn:512x500x512", "VB is wider than B"},
                 {"bf16gemm:nt:512x512x512:ldb=516", "VB is wider than B"},
                 {"bf16gemm:nt:512x510x512", "VC is wider than C"},
                 {"bf16gemm:nn:64x64x64:batch=2:stride_a=4100", "VA is wider than A"},
                 {"bf16gemm:nn:64x64x60:batch=2:pointers", "VA is wider than A"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem_of(cases[i].problem);
        assert_refused(check(&config, &p, &h200), cases[i].part);
    }
    const struct problem ragged = problem_of("bf16gemm:nn:511x509x507:lda=512:ldb=512:ldc=512"),
                         anywhere = problem_of("bf16gemm:nn:64x64x64:batch=2:pointers");
    assert_taken(check(&config, &ragged, &h200));
    assert_taken(check(&config, &anywhere, &h200)); /* the kernel looks at the addresses */
}

TEST(a_kernel_that_begins_early_says_so_to_the_driver_and_to_itself)
{
    const struct problem p = problem_of("bf16gemm:nn:512x512x512");
    struct config config = with("PDL", 2);
    config_set(&config, "ASK", 16);
    config_set(&config, "PACK", 3);
    struct gpu gpu = h200;
    const struct launch_plan plan = plan_of(&config, &p);
    int early[2];
    memcpy(early, plan.argument + EARLY_AT, sizeof early);
    assert_int_equal(plan.argument_bytes, EARLY_BYTES);
    assert_int_equal(early[0], 2);
    assert_int_equal(early[1], 16);
    assert_true(plan.kernel[0].dependent);
    assert_true(plan.kernel[1].dependent);
    gpu.arch = 89;
    config_set(&config, "BN", 128);
    assert_refused(check(&config, &p, &gpu), "PDL above 0 needs sm_90");
    config = base();
    assert_false(plan_of(&config, &p).kernel[0].dependent);
}

/* (128 + 256) x 32 elements a stage, 24,576 bytes, and a flag of 16. */
TEST(stages_fit_exactly_and_one_more_does_not)
{
    struct config config = with("STAGES", 9);
    assert_int_equal(config.template->resources(&config).smem_bytes, 9 * 24576 + 16);
    assert_int_equal(config.template->resources(&config).threads, 256);
    assert_needs_smem(&config, NULL, 9 * 24576 + 16);
    config_set(&config, "STAGES", 10);
    assert_refused(check(&config, NULL, &h200), "do not fit in a block's shared memory");
}

/* Two stages of a 32 x 32 tile and a k of 32 are 8 KiB. Rows of sums have 8 floats more than the tile is
 * wide; each of four teams has a tile, and the inbox of a cluster as many rows as a tile. */
TEST(sums_take_the_place_of_the_stages_if_they_are_larger)
{
    struct config config =
        config_of("mma16 BM=32 BN=32 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=0 VA=8 "
                  "VB=8 VC=8 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1");
    const struct template *const t = config.template;
    assert_int_equal(t->resources(&config).smem_bytes, 2 * 8192 + 16);
    config_set(&config, "WARPS_K", 4);
    assert_int_equal(t->resources(&config).smem_bytes, 4 * (4 * 32 * 40) + 16);
    config_set(&config, "SPLIT_K", 3);
    config_set(&config, "REDUCE", 3); /* 11 rows for each of three blocks */
    assert_int_equal(t->resources(&config).smem_bytes, 4 * (4 * 32 * 40) + 4 * (33 * 40) + 8);
}

TEST(tiles_parts_and_workspace_are_those_of_the_problem)
{
    const struct problem p = problem_of("bf16gemm:nn:1000x1000x1000");
    struct config config = with("SPLIT_K", 4); /* 32 tiles of k: 8 each */
    struct launch_plan plan = plan_of(&config, &p);
    assert_taken(check(&config, &p, &h200));
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 8 * 4);
    assert_int_equal(plan.kernel[0].grid[1], 4);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(gemm_args_in(&plan).splits, 4);
    assert_int_equal(gemm_args_in(&plan).k_per_split, 8 * 32);
    assert_int_equal(plan.counters, 64);
    assert_int_equal(plan.workspace_bytes, 4 * 64 + 4 * 4 * 32 * 128 * 256);
    config = with("SPLIT_K", 1);
    plan = plan_of(&config, &p);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(gemm_args_in(&plan).group, 8);
    config = with("BN", 128);
    config_set(&config, "SPLIT_K", 8);
    config_set(&config, "REDUCE", 8);
    plan = plan_of(&config, &p);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.kernel[0].cluster[1], 8);
    assert_int_equal(plan.kernel[0].grid[1], 8);
}

TEST(parts_keep_to_their_workspace)
{
    const struct config config = with("SPLIT_K", 4);
    const struct problem fits = problem_of("bf16gemm:nn:4096x4096x4096"),
                         large = problem_of("bf16gemm:nn:4096x4104x4096");
    assert_taken(check(&config, &fits, &h200)); /* exactly 256 MiB */
    assert_refused(check(&config, &large, &h200), "more than 256 MiB");
    const struct problem huge = {.type = GEMM_F16,
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
    const struct problem p = problem_of("hgemm:nn:64x64x64:batch=70000");
    const struct launch_plan plan = plan_of(&config, &p); /* 256 KiB an item */
    assert_int_equal(plan.batch_per_launch, 128);
    assert_int_equal(plan.counters, 128);
    assert_int_equal(plan.workspace_bytes, (32 << 20) + 4 * 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_refuses_its_violation_and_says_why),
        cmocka_unit_test(few_rows_of_c_are_the_columns_of_an_instruction),
        cmocka_unit_test(products_of_16_bits_on_gpus_that_have_the_instruction_are_taken),
        cmocka_unit_test(vectors_follow_the_lines_of_the_operands),
        cmocka_unit_test(a_kernel_that_begins_early_says_so_to_the_driver_and_to_itself),
        cmocka_unit_test(stages_fit_exactly_and_one_more_does_not),
        cmocka_unit_test(sums_take_the_place_of_the_stages_if_they_are_larger),
        cmocka_unit_test(tiles_parts_and_workspace_are_those_of_the_problem),
        cmocka_unit_test(parts_keep_to_their_workspace),
        cmocka_unit_test(long_batches_are_cut_by_the_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

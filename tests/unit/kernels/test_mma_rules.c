/* The host's half of the tensor-core family: which configurations it takes, and how it launches them. */
#include "h200.h"
#include "unit.h"

#include <gemm_block.h>
#include <stats.h>
#include <stdio.h>
#include <string.h>
#include <template.h>

static const char *const base_text =
    "mma BM=128 BN=256 BK=16 WM=64 WN=64 STAGES=4 VA=4 VB=4 VC=4 MIN_BLOCKS=1 GROUP=8 SPLIT_K=1";

static const struct gpu h200 = {H200_LIMITS};

static struct config with(const char *name, int value)
{
    struct config config;
    assert_ok(config_parse(base_text, &config));
    if (name) assert_true(config_set(&config, name, value));
    return config;
}

static const char *check(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    return config->template->check(config, problem, gpu);
}

static struct problem problem(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

static struct launch_plan plan_of(const struct config *config, const struct problem *p)
{
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    return plan;
}

static void assert_refused(const char *why, const char *part)
{
    if (!why) fail_msg("taken, though: %s", part);
    if (!strstr(why, part)) fail_msg("'%s' lacks '%s'", why, part);
}

static void assert_taken(const char *why)
{
    if (why) fail_msg("refused: %s", why);
}

TEST(each_rule_refuses_its_violation_and_says_why)
{
    const struct {
        const char *name;
        int value;
        const char *part;
    } cases[] = {{"BM", 16, "outside its range"},           {"BM", 144, "BM must be a multiple of 32"},
                 {"BN", 40, "BN must be a multiple of 32"}, {"BK", 24, "BK must be a multiple of 16"},
                 {"WM", 48, "WM must be a multiple of 32"}, {"WM", 96, "BM must be a multiple of WM"},
                 {"WN", 80, "WN must be a multiple of 32"}, {"WN", 96, "BN must be a multiple of WN"},
                 {"STAGES", 1, "outside its range"},        {"VA", 3, "VA must be 1, 2 or 4"},
                 {"VB", 3, "VB must be 1, 2 or 4"},         {"VC", 3, "VC must be 1, 2 or 4"},
                 {"MIN_BLOCKS", 0, "outside its range"},    {"GROUP", 0, "outside its range"},
                 {"SPLIT_K", 0, "outside its range"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config config = with(cases[i].name, cases[i].value);
        assert_refused(check(&config, NULL, NULL), cases[i].part);
    }
    struct config many = with("BM", 512);
    config_set(&many, "WM", 32);
    config_set(&many, "WN", 32);
    assert_refused(check(&many, NULL, NULL), "1024 threads");
    const struct config base = with(NULL, 0);
    assert_taken(check(&base, NULL, &h200));
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
    const struct config config = with(NULL, 0);
    const struct problem tf32 = problem("tf32gemm:nn:512x512x512"), sgemm = problem("nn:512x512x512"),
                         accurate = problem("sgemm_accurate:nn:512x512x512");
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
    const struct config config = with(NULL, 0);
    const struct {
        const char *problem, *part;
    } cases[] = {{"tf32gemm:nn:512x512x510", "VA is wider than A"},
                 {"tf32gemm:tn:510x512x510", "VA is wider than A"},
                 {"tf32gemm:nn:512x510x512", "VB is wider than B"},
                 {"tf32gemm:nt:512x512x512:ldb=513", "VB is wider than B"},
                 {"tf32gemm:nt:512x510x512", "VC is wider than C"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem(cases[i].problem);
        assert_refused(check(&config, &p, &h200), cases[i].part);
    }
    const struct problem fits = problem("tf32gemm:tt:512x516x511:lda=512:ldb=512");
    assert_refused(check(&config, &fits, &h200), "VB is wider than B"); /* 511 are no whole vectors */
}

/* 128 rows of 16 and 256 rows of 16, with 16 bytes after each four: 384 x 17 floats a stage, 26112 bytes. */
TEST(eight_stages_fit_exactly_and_twice_as_long_ones_do_not)
{
    struct config config = with("STAGES", 8);
    assert_int_equal(config.template->resources(&config).smem_bytes, 8 * 26112);
    assert_int_equal(config.template->resources(&config).threads, 256);
    assert_taken(check(&config, NULL, &h200));
    struct gpu gpu = h200;
    gpu.smem_per_block_bytes = 8 * 26112;
    assert_taken(check(&config, NULL, &gpu));
    gpu.smem_per_block_bytes--;
    assert_refused(check(&config, NULL, &gpu), "do not fit in a block's shared memory");
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
    const struct problem p = problem("tf32gemm:nn:1000x1000x1000");
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
    const struct problem fits = problem("tf32gemm:nn:4096x4096x4096"),
                         large = problem("tf32gemm:nn:4096x4100x4096");
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

TEST(an_empty_c_launches_nothing_and_an_empty_k_one_kernel)
{
    const struct config config = with("SPLIT_K", 4);
    const struct problem no_rows = problem("tf32gemm:nn:0x64x64"), no_k = problem("tf32gemm:nn:64x64x0");
    assert_int_equal(plan_of(&config, &no_rows).kernels, 0);
    const struct launch_plan plan = plan_of(&config, &no_k);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(gemm_args_in(&plan).splits, 1);
}

TEST(long_batches_are_cut_by_the_grid_and_by_the_workspace)
{
    struct config config = with(NULL, 0);
    const struct problem p = problem("tf32gemm:nn:64x64x64:batch=70000");
    struct launch_plan plan = plan_of(&config, &p);
    assert_int_equal(plan.batch_per_launch, 65535);
    assert_int_equal(plan.kernel[0].grid[2], 65535);
    config_set(&config, "SPLIT_K", 2);
    plan = plan_of(&config, &p); /* 32 KiB an item */
    assert_int_equal(plan.batch_per_launch, 1024);
    assert_int_equal(plan.kernel[1].grid[2], 1024);
    assert_int_equal(plan.workspace_bytes, 32 << 20);
}

TEST(no_value_however_insane_breaks_the_check)
{
    static const int32_t values[] = {INT32_MIN, -1, 0,  1,   2,    3,     4,     5,
                                     8,         16, 64, 512, 1024, 65536, 46341, INT32_MAX};
    struct problem huge = problem_make(PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, PROBLEM_DIM_MAX);
    huge.type = GEMM_TF32;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        struct config config = with(NULL, 0);
        bool in_range = true;
        for (uint64_t changes = 1 + stats_random_below(&seed, 6); changes > 0; changes--)
            config.value[stats_random_below(&seed, (uint64_t)config.template->param_count)] =
                values[stats_random_below(&seed, sizeof values / sizeof *values)];
        for (int p = 0; p < config.template->param_count; p++) {
            const struct param *param = &config.template->params[p];
            in_range = in_range && config.value[p] >= param->least && config.value[p] <= param->most;
        }
        const char *why = check(&config, i % 2 ? &huge : NULL, i % 3 ? &h200 : NULL);
        if (!in_range && !why) fail_msg("a value outside its range was taken");
    }
}

/* Every header that a text includes by name must be handed to the compiler, except the one of the CPU
 * execution. */
TEST(the_texts_include_only_each_other)
{
    const struct template *t = template_find("mma");
    int includes = 0;
    assert_non_null(t);
    for (int i = 0; t->sources[i].name; i++)
        for (const char *at = t->sources[i].text; (at = strstr(at, "#include \"")); at++) {
            char name[64];
            bool found = false;
            assert_int_equal(sscanf(at, "#include \"%63[^\"]\"", name), 1);
            for (int j = 0; t->sources[j].name; j++) found = found || !strcmp(t->sources[j].name, name);
            if (!found && strcmp(name, "gt_cpu.h") != 0) fail_msg("%s is not among the sources", name);
            includes++;
        }
    assert_true(includes >= template_source_count(t) - 1);
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
        cmocka_unit_test(an_empty_c_launches_nothing_and_an_empty_k_one_kernel),
        cmocka_unit_test(long_batches_are_cut_by_the_grid_and_by_the_workspace),
        cmocka_unit_test(no_value_however_insane_breaks_the_check),
        cmocka_unit_test(the_texts_include_only_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

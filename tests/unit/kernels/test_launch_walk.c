/* The launches of a plan, one by one: pieces of a batch, slabs of k, and what each is told. */
#include "gemm_block.h"
#include "launch_walk.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char *const base = "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=3 LOADER=1 "
                                "PACK=%d VA=%d VB=%d VC=1 UNROLL=16 "
                                "STORE_AT=8 ORDER=0 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=%d";

static struct problem problem;
static struct launch_plan plan;
static struct launch_walk walk;

/* Operands at numbers that nothing lies at; beta is on the device. */
static const uintptr_t at_a = 0x1000000, at_b = 0x7f0000000000, at_c = 0x3000000, at_beta = 0x40,
                       at_source = 0x5000000, at_bias = 0x9000000;

static void start(const char *text, int pack, int split_k)
{
    char config_text[CONFIG_TEXT_MAX];
    struct config config;
    struct gpu gpu;
    snprintf(config_text, sizeof config_text, base, pack, pack & 1 ? 4 : 1, pack & 2 ? 4 : 1, split_k);
    assert_ok(config_parse(config_text, &config));
    assert_ok(problem_parse(text, &problem));
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu));
    const char *why = config.template->check(&config, &problem, &gpu);
    if (why) fail_msg("%s: %s", text, why);
    config.template->plan(&config, &problem, &plan);
    const struct launch_call call = {
        .operand = {[OPERAND_A] = at_a, [OPERAND_B] = at_b, [OPERAND_C] = at_c, [LAUNCH_WORKSPACE] = 0x99},
        .alpha = 3,
        .beta = -7,
        .beta_device = at_beta};
    launch_walk_start(&walk, &plan, &call);
}

/* What the kernel of a launch is given. */
static struct gemm_args told(const struct launch *launch)
{
    struct gemm_args args = {.a = NULL};
    memcpy(&args, launch->argument, (size_t)plan.argument_bytes);
    return args;
}

/* The next two launches: a slab, packed and multiplied. */
static void expect_slab(int64_t from, int64_t k, int64_t step_a, int64_t step_b)
{
    for (int kernel = 0; kernel < 2; kernel++) {
        struct launch launch;
        assert_true(launch_walk_next(&walk, &launch));
        assert_int_equal(launch.index, kernel);
        assert_int_equal(told(&launch).k, k);
        assert_int_equal((uintptr_t)told(&launch).a, at_a + 4 * (uintptr_t)(from * step_a));
        assert_int_equal((uintptr_t)told(&launch).b, at_b + 4 * (uintptr_t)(from * step_b));
        assert_int_equal((uintptr_t)told(&launch).c, at_c);
        assert_int_equal((uintptr_t)told(&launch).workspace, 0x99);
        assert_true(told(&launch).alpha == 3);
        /* The first slab takes beta from where it is; the others add to what is there. */
        assert_int_equal((uintptr_t)told(&launch).beta_device, from ? 0 : at_beta);
        if (from) assert_true(told(&launch).beta == 1);
        assert_int_equal(launch.touched, from > 0);
        assert_int_equal(launch.grid[1], 1);
        assert_int_equal(launch.grid[2], 1);
        const bool last = from + k == problem.k;
        assert_int_equal(launch.grid[0], last ? plan.kernel[kernel].last_slab : plan.kernel[kernel].grid[0]);
        assert_true(launch.grid[0] > 0);
    }
}

TEST(a_long_k_goes_in_slabs_that_leave_nothing_out)
{
    static const struct {
        const char *op;
        bool trans_a, trans_b;
    } ops[] = {{"nn", false, false}, {"nt", false, true}, {"tn", true, false}, {"tt", true, true}};
    for (int i = 0; i < 4; i++) {
        char text[80];
        snprintf(text, sizeof text, "sgemm:%s:4095x4097x4093:lda=5001:ldb=6001", ops[i].op);
        start(text, 3, 1);
        assert_int_equal(plan.k_slab, 1376);
        const int64_t step_a = ops[i].trans_a ? 5001 : 1, step_b = ops[i].trans_b ? 1 : 6001;
        expect_slab(0, 1376, step_a, step_b);
        expect_slab(1376, 1376, step_a, step_b);
        expect_slab(2752, 1341, step_a, step_b);
        struct launch launch;
        assert_false(launch_walk_next(&walk, &launch));
    }
}

TEST(each_item_of_a_batch_goes_through_its_slabs)
{
    start("sgemm:nn:4095x4097x2500:batch=2", 3, 1);
    assert_int_equal(plan.batch_per_launch, 1);
    struct launch launch;
    int count = 0;
    for (; launch_walk_next(&walk, &launch); count++) {
        const int item = count / 4, slab = count / 2 % 2;
        assert_int_equal((uintptr_t)told(&launch).c, at_c + 4 * (uintptr_t)(item * problem.stride_c));
        assert_int_equal((uintptr_t)told(&launch).a,
                         at_a + 4 * (uintptr_t)(item * problem.stride_a + slab * plan.k_slab));
        assert_int_equal((uintptr_t)told(&launch).beta_device, slab ? 0 : at_beta);
        assert_int_equal(launch.touched, count >= 2);
    }
    assert_int_equal(count, 2 * 2 * 2);
}

TEST(without_slabs_everything_is_as_planned)
{
    start("sgemm:nn:64x64x100:batch=70000:stride_b=9000", 0, 4);
    assert_int_equal(plan.k_slab, 0);
    struct launch launch;
    int64_t items = 0;
    for (int count = 0; launch_walk_next(&walk, &launch); count++) {
        assert_int_equal(launch.index, count % 2);
        assert_int_equal(told(&launch).k, 100);
        assert_int_equal(launch.grid[0], plan.kernel[launch.index].grid[0]);
        assert_int_equal(launch.grid[1], plan.kernel[launch.index].grid[1]);
        assert_int_equal((uintptr_t)told(&launch).b, at_b + 4 * (uintptr_t)(items * 9000));
        assert_int_equal((uintptr_t)told(&launch).a, at_a + 4 * (uintptr_t)(items * problem.stride_a));
        assert_int_equal((uintptr_t)told(&launch).beta_device, at_beta);
        assert_int_equal(launch.touched, items > 0);
        if (launch.index == 1) items += launch.grid[2];
    }
    assert_int_equal(items, 70000);
}

TEST(what_the_argument_lacks_is_written_nowhere)
{
    start("sgemm:nn:64x64x100", 0, 1);
    struct launch_plan bare = plan;
    struct launch_walk walk_bare;
    struct launch launch;
    bare.slots = (struct launch_slots){.workspace = LAUNCH_NOWHERE,
                                       .alpha_device = LAUNCH_NOWHERE,
                                       .beta_device = LAUNCH_NOWHERE,
                                       .alpha = LAUNCH_NOWHERE,
                                       .beta = LAUNCH_NOWHERE,
                                       .k = LAUNCH_NOWHERE};
    for (int i = 0; i < OPERANDS; i++) bare.slots.at[i] = LAUNCH_NOWHERE;
    memset(bare.argument, 0x5a, sizeof bare.argument);
    bare.argument_bytes = LAUNCH_ARGUMENT_MAX;
    bare.k_slab = 60;
    launch_walk_start(&walk_bare, &bare, &walk.call);
    for (int slab = 0; slab < 2; slab++) {
        assert_true(launch_walk_next(&walk_bare, &launch));
        assert_memory_equal(launch.argument, bare.argument, LAUNCH_ARGUMENT_MAX);
        assert_int_equal(launch.k, slab ? 40 : 60);
        assert_int_equal(launch.operand[LAUNCH_B], at_b + (slab ? 4 * 60 * 64u : 0));
    }
    assert_false(launch_walk_next(&walk_bare, &launch));
}

/* The plan of a problem, whether or not a kernel for it exists. */
static void start_bare(const char *text)
{
    assert_ok(problem_parse(text, &problem));
    assert_true(gemm_plan_begin(&plan, &problem));
    const struct gemm_args args = gemm_args_of(&problem);
    gemm_args_put(&plan, &problem, &args);
    plan.kernel[plan.kernels++] = (struct kernel_launch){.entry = "gemm", .grid = {1, 1, 1}};
    plan.batch_per_launch = 2;
    const struct launch_call call = {.operand = {[LAUNCH_A] = at_a,
                                                 [LAUNCH_B] = at_b,
                                                 [LAUNCH_C] = at_c,
                                                 [OPERAND_SOURCE] = at_source,
                                                 [OPERAND_BIAS] = at_bias}};
    launch_walk_start(&walk, &plan, &call);
}

TEST(source_and_bias_move_with_the_batch)
{
    struct launch launch;
    start_bare("6x8x10:batch=3:ldc=9:stride_c=70:beta=1:epilogue=bias+relu+out:stride_bias=11");
    assert_int_equal(plan.argument_bytes, sizeof(struct gemm_args));
    for (int count = 0; count < 2; count++) {
        assert_true(launch_walk_next(&walk, &launch));
        const struct gemm_args args = told(&launch);
        assert_int_equal((uintptr_t)args.c, at_c + 4 * 70 * 2 * (uintptr_t)count);
        assert_int_equal((uintptr_t)args.source, at_source + 4 * 70 * 2 * (uintptr_t)count);
        assert_int_equal((uintptr_t)args.bias, at_bias + 4 * 11 * 2 * (uintptr_t)count);
        assert_int_equal(args.stride_bias, 11);
        assert_int_equal((uintptr_t)args.workspace, 0);
    }
    assert_false(launch_walk_next(&walk, &launch));
}

/* A persistent kernel, whose grid says nothing of the batch. */
TEST(a_kernel_that_walks_its_items_keeps_its_grid_and_is_told_how_many)
{
    struct launch launch;
    int32_t items;
    start_bare("6x8x10:batch=3");
    plan.kernel[0].walks_items = true;
    plan.slots.items = 128;
    plan.argument_bytes = LAUNCH_ARGUMENT_MAX;
    for (int64_t left = 3; left > 0; left -= 2) {
        assert_true(launch_walk_next(&walk, &launch));
        assert_int_equal(launch.grid[2], 1);
        memcpy(&items, launch.argument + 128, sizeof items);
        assert_int_equal(items, left > 2 ? 2 : left);
    }
    assert_false(launch_walk_next(&walk, &launch));
}

/* Kernels without an epilogue are passed what they were always passed. */
TEST(without_an_epilogue_the_argument_ends_before_its_members)
{
    struct launch launch;
    start_bare("6x8x10:batch=3");
    assert_int_equal(plan.argument_bytes, 136);
    assert_int_equal(plan.slots.at[OPERAND_SOURCE], LAUNCH_NOWHERE);
    assert_int_equal(plan.slots.at[OPERAND_BIAS], LAUNCH_NOWHERE);
    assert_true(launch_walk_next(&walk, &launch));
    assert_null(told(&launch).source);
    assert_null(told(&launch).bias);
}

TEST(nothing_is_launched_for_nothing)
{
    struct launch launch;
    start("sgemm:nn:0x64x64", 0, 1);
    assert_false(launch_walk_next(&walk, &launch));
    start("sgemm:nn:64x64x0", 0, 1); /* C is scaled all the same */
    assert_true(launch_walk_next(&walk, &launch));
    assert_int_equal(told(&launch).k, 0);
    assert_false(launch_walk_next(&walk, &launch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_k_goes_in_slabs_that_leave_nothing_out),
        cmocka_unit_test(each_item_of_a_batch_goes_through_its_slabs),
        cmocka_unit_test(without_slabs_everything_is_as_planned),
        cmocka_unit_test(what_the_argument_lacks_is_written_nowhere),
        cmocka_unit_test(source_and_bias_move_with_the_batch),
        cmocka_unit_test(a_kernel_that_walks_its_items_keeps_its_grid_and_is_told_how_many),
        cmocka_unit_test(without_an_epilogue_the_argument_ends_before_its_members),
        cmocka_unit_test(nothing_is_launched_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

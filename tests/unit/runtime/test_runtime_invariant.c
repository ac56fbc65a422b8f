/* The runtime library without a GPU: products whose rows have the same bits for every M (GT_BATCH_INVARIANT).
 */
#include "runtime_workspaces.h"

#include "invariant.h"

#define LAYER     "512x2048" /* two parts of k */
#define PLAIN     "bf16gemm:nt:64x" LAYER
#define INVARIANT PLAIN ":invariant"
#define WGMMA                                                                                                \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=2 WALK=0 STORE=0 "  \
    "GROUP=1 SPLIT_K=2 SMS=1 PDL=0"
#define TEAMS                                                                                                \
    "mma16 BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=2 STAGES=4 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 "         \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1 PDL=0 ASK=0"

static struct gt_plan_info plan_for(struct gt_handle *handle, const struct gt_problem *p)
{
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_open(handle, p, &plan));
    assert_gt(gt_plan_describe(plan, &info));
    assert_false(info.uses_cublas && (p->flags & GT_BATCH_INVARIANT));
    return info;
}

static struct gt_plan_info plan_of_text(struct gt_handle *handle, const char *text)
{
    const struct gt_problem p = problem_of(text);
    return plan_for(handle, &p);
}

static void call(struct gt_handle *handle, const char *text)
{
    const struct gt_problem p = problem_of(text);
    const struct gt_call with = gt_call_make(&zero, data[0], data[1], &zero, result, stream);
    assert_gt(gt_gemm(handle, &p, &with));
}

TEST(calls_that_ask_for_it_have_winners_of_their_own)
{
    assert_int_equal(problem_of(INVARIANT).flags, GT_BATCH_INVARIANT);
    put_raced(PLAIN, TEAMS, 4, 2, false, false);
    put_raced(INVARIANT, WGMMA, 5, 0.5, false, false); /* cuBLAS was twice as fast */
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan_info info = plan_of_text(handle, INVARIANT);
    assert_string_equal(info.config, WGMMA);
    assert_true(info.source == GT_EXACT && info.ratio == 0.5);
    assert_string_equal(info.tuned_for, INVARIANT);
    info = plan_of_text(handle, PLAIN);
    assert_string_equal(info.config, TEAMS);
    call(handle, INVARIANT);
    call(handle, PLAIN);
    assert_int_equal(*fake.launch_count, 2);
    assert_int_equal(launch_number(0)->grid[1], 2); /* parts */
    assert_int_equal(launch_number(1)->grid[1], 1);
    assert_int_equal(*fake.blas_calls + *fake.lt_calls, 0);
    gt_close(handle);
}

TEST(another_m_has_the_winner_of_the_next_larger_one)
{
    put_raced(INVARIANT, WGMMA, 5, 0.5, false, false);
    put_raced(PLAIN, TEAMS, 4, 2, false, false);
    struct gt_handle *handle = open_handle(NULL);
    const struct gt_plan_info info = plan_of_text(handle, "bf16gemm:nt:40x" LAYER ":invariant");
    assert_string_equal(info.config, WGMMA);
    assert_int_equal(info.source, GT_NEAREST);
    gt_close(handle);
}

static void assert_in_order(const struct gt_plan_info *info, const struct problem *p)
{
    struct config config;
    assert_ok(config_parse(info->config, &config));
    assert_int_equal(config_get(&config, "SPLIT_K"), invariant_parts(p->n, p->k));
    assert_int_equal(info->uses_cublas, 0);
}

/* Without a winner, for any alignment, whatever cuBLAS could do. */
TEST(where_nothing_was_tuned_a_plain_kernel_computes_it)
{
    static const char *const texts[] = {INVARIANT, "hgemm:nn:1x" LAYER ":invariant",
                                        "bf16gemm:tn:333x1023x4097:c=f32:invariant",
                                        "hgemm:nt:8x" LAYER ":batch=3:pointers:invariant",
                                        "bf16gemm:nt:8x" LAYER ":invariant:epilogue=bias+gelu"};
    put_raced(PLAIN, NULL, 4, 0, false, false); /* cuBLAS won */
    struct gt_handle *handle = open_handle(NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct problem p;
        assert_ok(problem_parse(texts[i], &p));
        for (int alignment = 2; alignment <= 16; alignment *= 2) {
            struct gt_problem said = public_problem(&p);
            said.alignment = alignment;
            const struct gt_plan_info info = plan_for(handle, &said);
            assert_in_order(&info, &p);
        }
    }
    call(handle, INVARIANT);
    assert_int_equal(*fake.launch_count, 1);
    assert_int_equal(*fake.blas_calls + *fake.lt_calls, 0);
    gt_close(handle);
}

TEST(by_columns_m_and_n_change_places)
{
    put_raced("bf16gemm:nn:64x" LAYER ":invariant", WGMMA, 5, 0.5, false, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = gt_problem_make(512, 64, 2048);
    p.flags = GT_COLUMN_MAJOR | GT_BATCH_INVARIANT, p.type = GT_BF16;
    const struct gt_plan_info info = plan_for(handle, &p);
    assert_string_equal(info.config, WGMMA);
    assert_int_equal(info.source, GT_EXACT);
    gt_close(handle);
}

/* Not by cublasLt in its place, where there is no compiler; and types without such kernels. */
TEST(what_cannot_be_computed_so_is_refused_with_a_sentence)
{
    const struct gt_options options = {
        .size = sizeof options, .flags = GT_NO_COMPILER, .database = store_path};
    struct gt_handle *handle;
    struct gt_plan *plan = NULL;
    struct gt_problem p = problem_of(INVARIANT ":epilogue=relu");
    const struct gt_call with = gt_call_make(&zero, data[0], data[1], &zero, result, stream);
    db_close(store_open(DB_WRITE));
    assert_gt(gt_open(&handle, &options));
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_UNAVAILABLE, "nothing here can compute " INVARIANT);
    assert_gt_fails(gt_gemm(handle, &p, &with), GT_UNAVAILABLE, "nothing here can compute");
    assert_null(plan);
    p.flags = 0;
    assert_true(plan_for(handle, &p).uses_cublas);
    p.flags = GT_BATCH_INVARIANT, p.type = GT_SGEMM;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "kernels of type sgemm have no rows");
    assert_int_equal(*fake.launch_count, 0);
    gt_close(handle);
}

/* A winner that the driver refuses at its launch is replaced by another kernel in the same order. */
TEST(what_stands_in_for_a_winner_is_in_the_same_order)
{
    put_raced(INVARIANT, WGMMA, 5, 0.5, false, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan;
    struct problem of;
    struct gt_problem p = problem_of(INVARIANT);
    struct gt_plan_info info = gt_plan_info_make();
    const struct gt_call with = gt_call_make(&zero, data[0], data[1], &zero, result, stream);
    assert_ok(problem_parse(INVARIANT, &of));
    assert_gt(gt_plan_open(handle, &p, &plan));
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=701", 1);
    gt_launch(plan, &with);
    unsetenv("FAKE_GPU_FAIL");
    assert_gt(gt_launch(plan, &with));
    assert_gt(gt_plan_describe(plan, &info));
    assert_in_order(&info, &of);
    assert_int_equal(*fake.blas_calls + *fake.lt_calls, 0);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_FAKES(calls_that_ask_for_it_have_winners_of_their_own),
                                       ON_FAKES(another_m_has_the_winner_of_the_next_larger_one),
                                       ON_FAKES(where_nothing_was_tuned_a_plain_kernel_computes_it),
                                       ON_FAKES(by_columns_m_and_n_change_places),
                                       ON_FAKES(what_cannot_be_computed_so_is_refused_with_a_sentence),
                                       ON_FAKES(what_stands_in_for_a_winner_is_in_the_same_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

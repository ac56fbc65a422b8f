/* The runtime library without a GPU: operands that are prepared once for many products. */
#include "runtime_workspaces.h"

#define PROBLEM "sgemm_accurate:nt:256x512x1024"
#define OTHER_M "sgemm_accurate:nt:1024x512x1024"
#define FEW     "sgemm_accurate:nt:1x512x1024" /* another kernel wins */
#define BF16X6  "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define FUSED   "bf16x6 BM=128 BN=48 BK=64 STAGES=6 FUSE=1 VA=1 VB=1 VC=2 GROUP=2 SPLIT_K=1 SMS=2"
#define HALF    "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=2 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define SPLITS  "bf16x6 BM=128 BN=96 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define MAP_B   320 /* of the argument: the tensor map of B */

static const float one = 1;

static void put_winners(void)
{
    put_winner(PROBLEM, BF16X6, 5, false);
    put_winner(OTHER_M, BF16X6, 9, false);
    put_winner(FEW, SIMT, 2, false);
}

static struct gt_prepared *prepare(struct gt_handle *handle, const char *text)
{
    const struct gt_problem p = problem_of(text);
    struct gt_prepared *prepared = NULL;
    assert_gt(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &prepared));
    assert_non_null(prepared);
    return prepared;
}

static enum gt_status call(struct gt_handle *handle, const char *text, const struct gt_prepared *prepared)
{
    const struct gt_problem p = problem_of(text);
    struct gt_call with = gt_call_make(&one, data[0], data[1], &zero, result, stream);
    with.prepared = prepared;
    return gt_gemm(handle, &p, &with);
}

/* The first launch splits A alone; both have as many blocks as that takes. */
static void assert_used(struct gt_handle *handle, const char *text, const struct gt_prepared *prepared)
{
    const struct gt_problem p = problem_of(text);
    const int before = *fake.launch_count;
    assert_gt(call(handle, text, prepared));
    assert_int_equal(*fake.launch_count, before + 2);
    assert_int_equal(launch_number(before)->grid[0], p.m / 64 * p.k / 64);
    assert_int_equal(launch_number(before)->args.n, 0);
    assert_int_equal(launch_number(before)->args.m, p.m);
    assert_int_equal(launch_number(before + 1)->args.n, p.n);
}

TEST(an_operand_is_split_once_for_products_with_any_other)
{
    put_winners();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM);
    assert_int_equal(*fake.launch_count, 1); /* and nothing else */
    const struct fake_launch split = *launch_number(0);
    assert_int_equal(split.grid[0], 512 / 64 * 1024 / 64);
    assert_true(split.args.m == 0 && split.args.n == 512 && split.args.counters == 0);
    assert_ptr_equal(split.args.b, data[1]);
    assert_int_equal(gt_prepared_bytes(prepared), 3 * 2 * 512 * 1024);
    assert_used(handle, PROBLEM, prepared);
    assert_used(handle, OTHER_M, prepared);
    const struct fake_extended *extended = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "fake_extended");
    for (int i = 0; i < 2; i++) {
        struct fake_view view;
        memcpy(&view, extended[i].argument + MAP_B, sizeof view);
        assert_int_equal(view.address, (uintptr_t)split.args.workspace);
        assert_int_equal(view.extent[1], 512);
        assert_int_equal(view.stride[1], 512 * 1024 * 2);
    }
    _Atomic int *const encoded = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "fake_maps_encoded");
    _Atomic int *const replaced = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "fake_maps_replaced");
    const int encoded_before = *encoded, replaced_before = *replaced;
    assert_used(handle, PROBLEM, prepared);
    assert_int_equal(*encoded, encoded_before);           /* the maps were when the plans were made */
    assert_int_equal(*replaced, replaced_before + 2 * 2); /* two maps, two kernels */
    const int before = *fake.launch_count;
    assert_gt(call(handle, PROBLEM, NULL)); /* the plan serves calls without, too */
    assert_int_equal(launch_number(before)->grid[0], (256 + 512) / 64 * 1024 / 64);
    assert_int_equal(launch_number(before)->args.n, 512);
    const int encoded_now = *encoded, replaced_now = *replaced;
    assert_gt(call(handle, PROBLEM, NULL));
    assert_int_equal(*encoded, encoded_now);
    assert_int_equal(*replaced, replaced_now + 2 * 2);
    gt_prepared_free(prepared);
    assert_gt_fails(call(handle, PROBLEM, prepared), GT_INVALID, "was freed");
    gt_prepared_free(prepared);
    gt_close(handle);
}

/* With FUSE 2 the block splits A itself, so that nothing is left of the kernel that splits. */
TEST(where_one_kernel_is_left_it_is_the_one_that_multiplies)
{
    put_winner(PROBLEM, HALF, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM);
    assert_false(launch_number(0)->is_gemm);
    for (int i = 1; i < 3; i++) {
        assert_gt(call(handle, PROBLEM, prepared));
        assert_int_equal(*fake.launch_count, 1 + i);
        assert_true(launch_number(i)->is_gemm && launch_number(i)->smem_bytes > 49152);
    }
    assert_gt(call(handle, PROBLEM, NULL));
    assert_int_equal(*fake.launch_count, 5);
    assert_true(!launch_number(3)->is_gemm && launch_number(4)->is_gemm);
    gt_close(handle);
}

TEST(by_columns_the_operands_change_places)
{
    put_winner("sgemm_accurate:nn:256x512x1024", BF16X6, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = gt_problem_make(512, 256, 1024);
    p.flags = GT_COLUMN_MAJOR, p.type = GT_SGEMM_ACCURATE;
    struct gt_prepared *prepared = NULL;
    struct gt_call with = gt_call_make(&one, data[0], data[1], &zero, result, stream);
    assert_gt(gt_prepare(handle, &p, GT_OPERAND_A, data[0], stream, &prepared));
    assert_int_equal(launch_number(0)->args.n, 512);
    with.prepared = prepared;
    assert_gt(gt_gemm(handle, &p, &with));
    assert_int_equal(launch_number(1)->args.n, 0);
    gt_close(handle);
}

TEST(a_kernel_that_takes_none_reads_the_operand_itself)
{
    put_winners();
    put_winner("sgemm_accurate:nn:256x256x256", FUSED, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM), *none = prepared;
    assert_gt(call(handle, FEW, prepared));
    assert_int_equal(*fake.launch_count, 2);
    assert_ptr_equal(launch_number(1)->args.b, data[1]);
    struct gt_problem few = problem_of(FEW), fused = problem_of("sgemm_accurate:nn:256x256x256");
    assert_gt_fails(gt_prepare(handle, &few, GT_OPERAND_B, data[1], stream, &none), GT_UNAVAILABLE,
                    "takes no prepared operand: simt");
    assert_null(none);
    assert_gt_fails(gt_prepare(handle, &fused, GT_OPERAND_B, data[1], stream, &none), GT_UNAVAILABLE,
                    "FUSE=1");
    few.n = 0;
    assert_gt_fails(gt_prepare(handle, &few, GT_OPERAND_B, data[1], stream, &none), GT_UNAVAILABLE, "no");
    gt_close(handle);
}

TEST(wrong_uses_have_a_sentence_and_launch_nothing)
{
    static const char *const others[] = {"sgemm_accurate:nn:256x512x1024",
                                         "sgemm_accurate:nt:256x256x1024",
                                         "sgemm_accurate:nt:256x512x512",
                                         "sgemm_normwise:nt:256x512x1024",
                                         "sgemm:nt:256x512x1024",
                                         "sgemm_accurate:nt:256x512x1024:ldb=1028",
                                         "sgemm_accurate:nt:256x512x1024:batch=2"};
    put_winners();
    struct gt_handle *handle = open_handle(NULL), *second = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM), *none;
    const int before = *fake.launch_count;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_gt_fails(call(handle, others[i], prepared), GT_INVALID, "is another than the problem's");
    assert_gt_fails(call(second, PROBLEM, prepared), GT_INVALID, "another handle");
    assert_gt_fails(call(handle, PROBLEM, (const struct gt_prepared *)(const void *)handle), GT_INVALID,
                    "none of this library's");
    const struct gt_problem p = problem_of(PROBLEM);
    assert_gt_fails(gt_prepare(handle, &p, 2, data[1], stream, &none), GT_INVALID, "operand is 2");
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, NULL, stream, &none), GT_INVALID, "NULL");
    assert_gt_fails(gt_prepare(handle, NULL, GT_OPERAND_B, data, stream, &none), GT_INVALID, "NULL");
    assert_gt_fails(gt_prepare(NULL, &p, GT_OPERAND_B, data, stream, &none), GT_INVALID, "handle is NULL");
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, (char *)data + 2, stream, &none), GT_INVALID,
                    "multiple of 4");
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, data, stream, NULL), GT_INVALID, "place");
    assert_int_equal(*fake.launch_count, before);
    assert_int_equal(gt_prepared_bytes(NULL), 0);
    gt_prepared_free(NULL);
    gt_close(second);
    gt_close(handle);
}

TEST(a_capture_takes_calls_and_no_preparing)
{
    put_winners();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM), *none;
    const struct gt_problem p = problem_of(PROBLEM);
    CUgraph graph;
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &none), GT_INVALID, "captured");
    assert_used(handle, PROBLEM, prepared);
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    cuda.GraphDestroy(graph);
    gt_close(handle);
}

TEST(memory_that_is_short_leaves_nothing_behind)
{
    put_winners();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared;
    const struct gt_problem p = problem_of(PROBLEM);
    setenv("FAKE_GPU_FAIL", "cuMemAlloc_v2=2", 1);
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &prepared), GT_MEMORY, "3145728");
    setenv("FAKE_GPU_FAIL", "cuStreamSynchronize=700", 1);
    assert_int_equal(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &prepared), GT_DEVICE);
    unsetenv("FAKE_GPU_FAIL");
    assert_null(prepared);
    gt_prepared_free(prepare(handle, PROBLEM));
    prepare(handle, PROBLEM); /* freed by gt_close */
    gt_close(handle);
}

/* ---- winners of their own ---- */

#define PREPARED PROBLEM ":prepared=b"
#define OTHER    "bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"

static void assert_planned(const struct gt_plan *plan, const char *config, int source, const char *tuned_for)
{
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_describe(plan, &info));
    assert_string_equal(info.config, config);
    assert_string_equal(info.tuned_for, tuned_for);
    assert_int_equal(info.source, source);
}

/* Blocks of the product in the last launch. */
static unsigned blocks(void)
{
    return launch_number(*fake.launch_count - 1)->grid[0];
}

TEST(calls_with_a_prepared_operand_have_the_winner_that_was_tuned_for_them)
{
    put_winners();
    put_winner(PREPARED, OTHER, 3, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM);
    assert_used(handle, PROBLEM, prepared);
    assert_int_equal(blocks(), 2 * 8); /* BN=64 */
    assert_gt(call(handle, PROBLEM, NULL));
    assert_int_equal(blocks(), 2 * 4); /* and others not: BN=128 */
    assert_used(handle, OTHER_M, prepared);
    assert_int_equal(blocks(), 8 * 4);
    struct gt_plan *plan, *plain;
    struct gt_problem p = problem_of(PREPARED);
    assert_int_equal(p.flags, GT_PREPARED_B);
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_planned(plan, OTHER, GT_EXACT, PREPARED);
    p.flags = 0;
    assert_gt(gt_plan_open(handle, &p, &plain));
    assert_planned(plain, BF16X6, GT_EXACT, PROBLEM);
    struct gt_call with = gt_call_make(&one, data[0], data[1], &zero, result, stream);
    const int before = *fake.launch_count;
    assert_gt_fails(gt_launch(plan, &with), GT_INVALID, "is for calls with a prepared operand");
    assert_int_equal(*fake.launch_count, before);
    with.prepared = prepared;
    assert_gt(gt_launch(plan, &with));
    assert_int_equal(blocks(), 2 * 8);
    assert_gt(gt_launch(plain, &with));
    assert_int_equal(blocks(), 2 * 4);
    p.flags = GT_PREPARED_B; /* means nothing to gt_gemm, which looks at the call */
    with.prepared = NULL;
    assert_gt(gt_gemm(handle, &p, &with));
    assert_int_equal(blocks(), 2 * 4);
    gt_close(handle);
}

/* Its time leaves out what a call without does. */
TEST(a_winner_with_a_prepared_operand_answers_no_other_calls)
{
    put_winner(PREPARED, OTHER, 3, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_prepared *prepared = prepare(handle, PROBLEM);
    assert_used(handle, PROBLEM, prepared);
    struct gt_problem p = problem_of(PROBLEM);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    for (int i = 0; i < 2; i++) {
        if (!gt_plan_open(handle, &p, &plan)) {
            assert_gt(gt_plan_describe(plan, &info));
            assert_true(info.source == GT_FALLBACK && !info.tuned_for[0]);
        }
        p.m = 320; /* nor as a neighbour */
    }
    p.flags = GT_PREPARED_B; /* of calls of its kind it does */
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_planned(plan, OTHER, GT_NEAREST, PREPARED);
    gt_close(handle);
}

TEST(where_none_was_tuned_so_the_plain_winner_answers)
{
    put_winners();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(PREPARED);
    struct gt_plan *plan;
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_planned(plan, BF16X6, GT_NEAREST, PROBLEM);
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_describe(plan, &info));
    assert_non_null(strstr(info.why, "measured for this problem without a prepared operand"));
    assert_true(info.time_us == 5);
    gt_close(handle);
}

/* As a layer does: its weight is prepared if it can be, and is passed as it is if not. */
TEST(a_winner_that_reads_no_prepared_operand_answers_calls_without)
{
    put_winner(PREPARED, SPLITS, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(PROBLEM);
    struct gt_prepared *none = NULL;
    struct gt_plan *plan;
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &none), GT_UNAVAILABLE, "FUSE=3");
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_planned(plan, SPLITS, GT_EXACT, PREPARED);
    assert_gt(call(handle, PROBLEM, NULL));
    assert_int_equal(*fake.launch_count, 1);
    assert_true(launch_number(0)->is_gemm);
    gt_close(handle);
}

TEST(plans_for_prepared_operands_are_checked)
{
    put_winners();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(PREPARED);
    struct gt_plan *plan;
    struct gt_prepared *of_a = NULL;
    struct gt_call with = gt_call_make(&one, data[0], data[1], &zero, result, stream);
    assert_gt(gt_plan_open(handle, &p, &plan));
    p.flags = 0;
    assert_gt(gt_prepare(handle, &p, GT_OPERAND_A, data[0], stream, &of_a));
    with.prepared = of_a;
    assert_gt_fails(gt_launch(plan, &with), GT_INVALID, "the other operand");
    p.flags = GT_PREPARED_A | GT_PREPARED_B;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "one prepared operand");
    p.flags = GT_PREPARED_A;
    p.type = GT_TF32;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "nothing to prepare");
    assert_gt_fails(gt_prepare(handle, &p, GT_OPERAND_B, data[1], stream, &of_a), GT_UNAVAILABLE,
                    "takes no prepared operand");
    gt_close(handle);
}

TEST(by_columns_the_prepared_operand_of_a_plan_changes_places_too)
{
    put_winner("sgemm_accurate:nn:256x512x1024:prepared=b", OTHER, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = gt_problem_make(512, 256, 1024);
    struct gt_plan *plan;
    p.flags = GT_COLUMN_MAJOR | GT_PREPARED_A, p.type = GT_SGEMM_ACCURATE;
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_planned(plan, OTHER, GT_EXACT, "sgemm_accurate:nn:256x512x1024:prepared=b");
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(an_operand_is_split_once_for_products_with_any_other),
        ON_FAKES(where_one_kernel_is_left_it_is_the_one_that_multiplies),
        ON_FAKES(by_columns_the_operands_change_places),
        ON_FAKES(a_kernel_that_takes_none_reads_the_operand_itself),
        ON_FAKES(wrong_uses_have_a_sentence_and_launch_nothing),
        ON_FAKES(a_capture_takes_calls_and_no_preparing),
        ON_FAKES(memory_that_is_short_leaves_nothing_behind),
        ON_FAKES(calls_with_a_prepared_operand_have_the_winner_that_was_tuned_for_them),
        ON_FAKES(a_winner_with_a_prepared_operand_answers_no_other_calls),
        ON_FAKES(where_none_was_tuned_so_the_plain_winner_answers),
        ON_FAKES(a_winner_that_reads_no_prepared_operand_answers_calls_without),
        ON_FAKES(plans_for_prepared_operands_are_checked),
        ON_FAKES(by_columns_the_prepared_operand_of_a_plan_changes_places_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

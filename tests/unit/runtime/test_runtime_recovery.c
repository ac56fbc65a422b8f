/* The runtime library without a GPU: trouble that comes again and again, and launches where the plan's kernel
 * or its context is not the one at hand.
 */
#include "runtime_fakes.h"

#include <malloc.h>

#define TEXT "sgemm:nn:64x64x64"

static const float zero = 0, one = 1;
static _Alignas(16) float data[2][64], result[64 * 64];

static enum gt_status launch_on(struct gt_plan *plan, const float *beta, CUstream on)
{
    return launch(plan, &zero, data[0], data[1], beta, result, on);
}

/* The winner can be loaded, and its launch is refused each time. */
TEST(a_refusal_that_stays_is_tried_less_and_less_and_takes_no_memory)
{
    enum { EARLY = 3000, LATE = 60000 };
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
    put_winner(TEXT, SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    size_t early = 0;
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=2", 1);
    for (int i = 0; i < LATE; i++) {
        assert_gt(launch_on(plan, &zero, stream)); /* by cuBLAS */
        if (i == EARLY) early = mallinfo2().uordblks;
    }
    const size_t late = mallinfo2().uordblks;
    print_message("%zu KiB after %d launches, %zu after %d\n", early >> 10, EARLY, late >> 10, LATE);
    assert_true(late <= early + (16 << 10));
    unsetenv("FAKE_GPU_FAIL");
    gt_close(handle);
}

TEST(what_stands_in_is_launched_as_planned_however_often)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
    put_winner(TEXT, SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(&options);
    setenv("FAKE_GPU_FAIL", "cuModuleLoadData=2", 1);
    struct gt_plan *plan = make_plan(handle, TEXT);
    assert_int_equal(info_of(plan).provisional, 1);
    for (int i = 0; i < 300; i++) {
        struct gt_call call = gt_call_make(&zero, data[0], data[1], &zero, result, stream);
        call.flags = GT_AS_PLANNED;
        const enum gt_status status = gt_launch(plan, &call);
        if (status) fail_msg("launch %d: %d, %s", i, (int)status, gt_error_text());
    }
    unsetenv("FAKE_GPU_FAIL");
    gt_close(handle);
}

/* cuBLAS stands in, and takes operands of any alignment. */
TEST(what_stands_in_gives_way_however_the_operands_are_aligned)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
    put_winner(TEXT, SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(&options);
    setenv("FAKE_GPU_FAIL", "cuModuleLoadData=2", 1);
    struct gt_plan *plan = make_plan(handle, TEXT);
    assert_string_equal(info_of(plan).config, "cublas");
    unsetenv("FAKE_GPU_FAIL");
    for (int i = 0; i < 200; i++) assert_gt(launch(plan, &zero, data[0] + 1, data[1], &zero, result, stream));
    assert_string_equal(info_of(plan).config, SIMT_LARGE);
    assert_int_equal(info_of(plan).provisional, 0);
    gt_close(handle);
}

/* A stream is given a workspace again and again, but never gets as far as to wait for the one before. */
TEST(a_stream_that_could_not_wait_has_no_workspace_of_its_own_yet)
{
    const struct gt_options options = {.size = sizeof(struct gt_options), .workspaces = 2};
    CUstream others[2], late;
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    *fake.busy = 1;
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < 2; i++) {
        cuda.StreamCreate(&others[i], CU_STREAM_NON_BLOCKING);
        assert_gt(launch_on(plan, &zero, others[i]));
    }
    cuda.StreamCreate(&late, CU_STREAM_NON_BLOCKING);
    setenv("FAKE_GPU_FAIL", "cuStreamWaitEvent=1", 1);
    for (int i = 0; i < 20; i++) assert_gt(launch_on(plan, &zero, late));
    unsetenv("FAKE_GPU_FAIL");
    for (int i = 0; i < 3; i++) assert_gt(launch_on(plan, &zero, late));
    assert_int_equal(*fake.overlaps, 0);
    *fake.busy = 0;
    cuda.StreamDestroy(late);
    for (int i = 0; i < 2; i++) cuda.StreamDestroy(others[i]);
    gt_close(handle);
}

static CUcontext context_now(void)
{
    CUcontext current;
    cuda.CtxGetCurrent(&current);
    return current;
}

TEST(nothing_is_prepared_in_a_context_that_is_not_the_plan_s)
{
    static int elsewhere;
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    const CUcontext own = context_now();
    struct gt_plan *plan = make_plan(handle, TEXT);
    assert_gt(launch_on(plan, &zero, stream));
    const int loads = *fake.loads;
    cuda.CtxSetCurrent((CUcontext)(void *)&elsewhere);
    assert_gt_fails(launch_on(plan, &one, stream), GT_INVALID, "context");
    assert_gt_fails(launch(plan, &zero, data[0] + 1, data[1], &zero, result, stream), GT_INVALID, "context");
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=1", 1); /* as the driver refuses a function of another context */
    assert_gt_fails(launch_on(plan, &zero, stream), GT_INVALID, "context");
    unsetenv("FAKE_GPU_FAIL");
    assert_int_equal(*fake.loads, loads);
    cuda.CtxSetCurrent(own);
    assert_gt(launch_on(plan, &zero, stream));
    assert_string_equal(info_of(plan).config, SIMT);
    assert_gt(launch_on(plan, &one, stream));
    gt_close(handle);
}

TEST(without_a_context_to_work_in_the_status_says_so)
{
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(TEXT);
    struct gt_plan *plan;
    const CUcontext own = context_now();
    fake.reset(own);
    cuda.CtxSetCurrent(NULL);
    assert_int_equal(gt_plan_open(handle, &p, &plan), GT_NO_GPU);
    assert_int_equal(gemm(handle, &p, &zero, data[0], data[1], &zero, result, stream), GT_NO_GPU);
    assert_false(device_lost());
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_refusal_that_stays_is_tried_less_and_less_and_takes_no_memory),
        ON_FAKES(what_stands_in_is_launched_as_planned_however_often),
        ON_FAKES(what_stands_in_gives_way_however_the_operands_are_aligned),
        ON_FAKES(a_stream_that_could_not_wait_has_no_workspace_of_its_own_yet),
        ON_FAKES(nothing_is_prepared_in_a_context_that_is_not_the_plan_s),
        ON_FAKES(without_a_context_to_work_in_the_status_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

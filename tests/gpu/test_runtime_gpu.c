/* The runtime library on a real GPU: right results, also unaligned, captured, from many threads and streams,
 * in its own and in other contexts. Skipped (77) without one. */
#include "runtime_gpu_answers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

TEST(kernels_are_right_for_every_op)
{
    check_every_op(GT_NO_CUBLAS, 0);
}

TEST(unaligned_operands_are_computed_right)
{
    check_every_op(GT_NO_CUBLAS, 4);
    check_every_op(GT_NO_CUBLAS, 8);
}

TEST(cublas_is_right_for_every_op)
{
    check_every_op(GT_NO_COMPILER, 0);
    check_every_op(GT_NO_COMPILER, 4);
}

TEST(launches_notice_unaligned_operands)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set even, odd;
    struct gt_plan *plan;
    float one = 1, zero = 0;
    set_make(&even, "sgemm:nn:64x64x64", 0);
    set_make(&odd, "sgemm:nn:64x64x64", 4);
    struct gt_problem p = public_problem(&even.problem);
    assert_gt(gt_plan_open(handle, &p, &plan), "plan");
    assert_gt(launch(plan, &one, even.at[0], even.at[1], &zero, even.at[2], device.stream), "even");
    assert_gt(launch(plan, &one, odd.at[0], odd.at[1], &zero, odd.at[2], device.stream), "odd");
    set_check(&even, 1, "even");
    set_check(&odd, 1, "odd");
    set_free(&even);
    set_free(&odd);
    gt_close(handle);
}

TEST(scalars_are_read_from_the_device_when_the_kernel_runs)
{
    for (int f = 0; f < 2; f++) {
        struct gt_handle *handle = open_handle(f ? GT_NO_COMPILER : GT_NO_CUBLAS);
        struct set s;
        struct gt_plan *plan;
        struct device_buffer scalars;
        const float host[2] = {2, -3};
        set_make(&s, "sgemm:nt:100x90x80:alpha=2:beta=-3", 0);
        assert_ok(device_allocate(&scalars, sizeof host));
        assert_ok(device_check(cuda.MemcpyHtoD(scalars.address, host, sizeof host), "copy"));
        struct gt_problem p = public_problem(&s.problem);
        p.flags = GT_SCALARS_ON_DEVICE;
        assert_gt(gt_plan_open(handle, &p, &plan), "plan");
        const float *at = (const float *)(uintptr_t)scalars.address;
        assert_gt(launch(plan, at, s.at[0], s.at[1], at + 1, s.at[2], device.stream), "device scalars");
        set_check(&s, 1, "device scalars");
        device_free(&scalars);
        set_free(&s);
        gt_close(handle);
    }
}

TEST(kernels_are_right_for_every_epilogue)
{
    check_every_epilogue(GT_NO_CUBLAS, 1e-5F);
}

TEST(cublaslt_is_right_for_every_epilogue_but_a_bias_of_rows)
{
    check_every_epilogue(GT_NO_COMPILER, 1e-3F);
}

TEST(kernels_are_right_for_arrays_of_pointers)
{
    check_every_batch_of_pointers(GT_NO_CUBLAS);
}

TEST(cublas_is_right_for_arrays_of_pointers)
{
    check_every_batch_of_pointers(GT_NO_COMPILER);
}

/* With any content. Of the plain configurations the one that splits K is chosen for this problem. */
TEST(a_launch_may_bring_its_workspace)
{
    static const char text[] = "sgemm:nn:256x256x2048";
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set s;
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    struct device_buffer workspace;
    const float one = 1, zero = 0;
    set_make(&s, text, 0);
    struct gt_problem p = public_problem(&s.problem);
    assert_gt(gt_plan_open(handle, &p, &plan), "plan");
    gt_plan_describe(plan, &info);
    print_message("%s takes %zu bytes\n", info.config, info.workspace_bytes);
    assert_ok(device_allocate(&workspace, info.workspace_bytes + 16));
    assert_ok(device_check(
        cuda.MemsetD32Async(workspace.address, 0x7fc00000u, info.workspace_bytes / 4, device.stream),
        "fill with NaN"));
    for (int i = 0; i < 2; i++)
        assert_gt(launch_in(plan, &one, s.at[0], s.at[1], &zero, s.at[2], device.stream,
                            (void *)(uintptr_t)workspace.address, info.workspace_bytes),
                  "launch");
    set_check(&s, 1, text);
    device_free(&workspace);
    set_free(&s);
    gt_close(handle);
}

static CUstreamCaptureStatus capture_status(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    CUresult result = cuda.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL);
    return result == CUDA_SUCCESS ? status : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

/* Everything is used for the first time within the capture; the graph is launched twice. The capture ends
 * before any check, since otherwise all later tests would fail, too. */
static void capture(unsigned flags, CUstreamCaptureMode mode, const char *text)
{
    struct gt_handle *handle = open_handle(flags);
    struct set s;
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    char why[300] = "";
    enum gt_status status = GT_OK;
    set_make(&s, text, 0);
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, mode), "begin"));
    for (int i = 0; i < 3 && !status; i++) status = run(handle, &s, device.stream);
    if (status) snprintf(why, sizeof why, "%.299s", gt_error_text());
    CUresult ended = cuda.StreamEndCapture(device.stream, &graph);
    if (status) fail_msg("%s: %d, %s", text, (int)status, why);
    assert_ok(device_check(ended, "end"));
    assert_ok(device_check(cuda.GraphInstantiate(&executable, graph, 0), "instantiate"));
    for (int i = 0; i < 2; i++)
        assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
    set_check(&s, 6, text);
    assert_gt(run(handle, &s, device.stream), text); /* and outside */
    set_check(&s, 1, text);
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    set_free(&s);
    gt_close(handle);
}

TEST(calls_can_be_captured_first_use_included)
{
    static const CUstreamCaptureMode modes[] = {
        CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
    for (int i = 0; i < 3; i++) {
        capture(GT_NO_CUBLAS, modes[i], "sgemm:nn:100x60x30:beta=1");
        capture(GT_NO_CUBLAS, modes[i], "sgemm:nt:64x64x4096:beta=1"); /* split */
        capture(GT_NO_COMPILER, modes[i], "sgemm:nn:100x60x30:beta=1");
    }
}

/* Assumptions of the library about the driver, call by call. That the driver breaks a capture when queried
 * for the stream's id is not an assumption, so it is printed, not checked. */
TEST(what_is_done_in_relaxed_mode_leaves_a_capture_alone)
{
    static const char *const steps[] = {"allocate", "make a stream",  "clear",
                                        "wait",     "end the stream", "free"};
    struct device_buffer buffer = {0};
    CUstream side = NULL;
    CUgraph graph = NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult results[6] = {0}, ended;
    CUstreamCaptureStatus after[6], asked;
    unsigned long long id;
    assert_int_equal(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    cuda.ThreadExchangeStreamCaptureMode(&mode);
    for (int i = 0; i < 6; i++) {
        if (i == 0) results[i] = device_allocate(&buffer, 1 << 20) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
        if (i == 1) results[i] = cuda.StreamCreate(&side, CU_STREAM_NON_BLOCKING);
        if (i == 2) results[i] = cuda.MemsetD8Async(buffer.address, 0, 1 << 20, side);
        if (i == 3) results[i] = cuda.StreamSynchronize(side);
        if (i == 4) results[i] = cuda.StreamDestroy(side);
        if (i == 5) results[i] = cuda.MemFree(buffer.address);
        after[i] = capture_status(device.stream);
    }
    cuda.StreamGetId(device.stream, &id);
    asked = capture_status(device.stream);
    cuda.ThreadExchangeStreamCaptureMode(&mode);
    ended = cuda.StreamEndCapture(device.stream, &graph);
    if (graph) cuda.GraphDestroy(graph);
    for (int i = 0; i < 6; i++)
        if (results[i] != CUDA_SUCCESS || after[i] != CU_STREAM_CAPTURE_STATUS_ACTIVE)
            fail_msg("%s: result %d, capture status %d", steps[i], (int)results[i], (int)after[i]);
    bool breaks = asked == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    assert_int_equal(ended == CUDA_SUCCESS, !breaks);
    printf("cuStreamGetId %s a capture of its stream\n", breaks ? "breaks" : "does not break");
}

/* Threads with a stream each: all use the same plan, which splits K, and some use another one. */
struct worker {
    struct gt_handle *handle;
    struct set set[2];
    pthread_t thread;
    enum gt_status status;
    char text[200];
};

static void *work(void *opaque)
{
    struct worker *w = opaque;
    CUstream stream = NULL;
    cuda.CtxSetCurrent(device.context);
    if (cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return NULL;
    for (int i = 0; i < 200 && !w->status; i++) w->status = run(w->handle, &w->set[i % 4 == 3], stream);
    if (w->status) snprintf(w->text, sizeof w->text, "%.199s", gt_error_text());
    cuda.StreamSynchronize(stream);
    cuda.StreamDestroy(stream);
    return NULL;
}

TEST(many_threads_and_streams_do_not_disturb_one_another)
{
    enum { WORKERS = 8 };
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    static struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.handle = handle};
        set_make(&workers[i].set[0], "sgemm:nt:64x64x4096", 0);
        set_make(&workers[i].set[1], "sgemm:nn:200x100x64", 0);
    }
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_gt(workers[i].status, workers[i].text);
        set_check(&workers[i].set[0], 1, "split");
        set_check(&workers[i].set[1], 1, "plain");
        set_free(&workers[i].set[0]);
        set_free(&workers[i].set[1]);
    }
    gt_close(handle);
}

static void *in_a_fresh_thread(void *opaque)
{
    struct worker *w = opaque;
    CUcontext current = NULL;
    w->status = run(w->handle, &w->set[0], NULL);
    if (w->status) snprintf(w->text, sizeof w->text, "%.199s", gt_error_text());
    cuda.CtxGetCurrent(&current);
    if (current != device.context) snprintf(w->text, sizeof w->text, "no context became current");
    return NULL;
}

TEST(a_thread_without_a_context_gets_the_handle_s)
{
    static struct worker w;
    w = (struct worker){.handle = open_handle(GT_NO_CUBLAS)};
    set_make(&w.set[0], "sgemm:nn:64x64x64", 0);
    assert_int_equal(pthread_create(&w.thread, NULL, in_a_fresh_thread, &w), 0);
    pthread_join(w.thread, NULL);
    assert_string_equal(w.text, "");
    set_check(&w.set[0], 1, "fresh thread");
    set_free(&w.set[0]);
    gt_close(w.handle);
}

/* ---- contexts and processes: in separate programs ---- */

static int compute_once(struct gt_handle *handle)
{
    struct set s;
    set_make(&s, SPLIT, 0);
    const enum gt_status status = run(handle, &s, device.stream);
    if (status) fprintf(stderr, "%d: %s\n", (int)status, gt_error_text());
    else set_check(&s, 1, SPLIT);
    set_free(&s);
    return status != GT_OK;
}

static int after_a_reset(void)
{
    CUresult (*reset)(CUdevice) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&reset = driver ? dlsym(driver, "cuDevicePrimaryCtxReset_v2") : NULL;
    if (!reset || device_open(0, &device)) return 2;
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    for (int i = 0; i < 3; i++) {
        if (compute_once(handle)) return 3 + i;
        if (reset(device.handle) != CUDA_SUCCESS || device_open(0, &device)) return 10;
    }
    gt_close(handle);
    return compute_once(handle) == 0 ? 11 : 0; /* the handle is closed */
}

TEST(after_a_reset_the_context_is_another_one)
{
    assert_int_equal(run_self("--reset"), 0);
}

static int in_a_child(void)
{
    int how = 0;
    if (device_open(0, &device)) return 2;
    struct gt_handle *handle = open_handle(0), *fresh = NULL;
    struct set s;
    set_make(&s, SPLIT, 0);
    struct gt_problem p = public_problem(&s.problem);
    struct gt_plan *plan = plan_of(handle, &s), *made;
    const float one = 1, zero = 0;
    launch_plan(plan, &s, device.stream);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        int wrong = launch(plan, &one, s.at[0], s.at[1], &zero, s.at[2], device.stream) == GT_OK;
        wrong |= 2 * (run(handle, &s, device.stream) == GT_OK || !strstr(gt_error_text(), "fork"));
        wrong |=
            4 * (gt_plan_open(handle, &p, &made) != GT_NO_GPU) + 8 * (gt_open(&fresh, NULL) != GT_NO_GPU);
        gt_plan_close(plan);
        gt_close(handle);
        _exit(wrong);
    }
    if (waitpid(pid, &how, 0) != pid || !WIFEXITED(how) || WEXITSTATUS(how)) return 3;
    set_check(&s, 1, "the parent goes on");
    set_free(&s);
    gt_close(handle);
    return 0;
}

TEST(a_child_of_a_fork_is_refused)
{
    assert_int_equal(run_self("--fork"), 0);
}

int main(int argc, char **argv)
{
    if (no_gpu()) return SKIPPED;
    if (argc == 3) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        return strcmp(argv[1], "--reset") == 0 ? after_a_reset() : in_a_child();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_right_for_every_op),
        cmocka_unit_test(unaligned_operands_are_computed_right),
        cmocka_unit_test(cublas_is_right_for_every_op),
        cmocka_unit_test(launches_notice_unaligned_operands),
        cmocka_unit_test(scalars_are_read_from_the_device_when_the_kernel_runs),
        cmocka_unit_test(kernels_are_right_for_every_epilogue),
        cmocka_unit_test(cublaslt_is_right_for_every_epilogue_but_a_bias_of_rows),
        cmocka_unit_test(kernels_are_right_for_arrays_of_pointers),
        cmocka_unit_test(cublas_is_right_for_arrays_of_pointers),
        cmocka_unit_test(a_launch_may_bring_its_workspace),
        cmocka_unit_test(calls_can_be_captured_first_use_included),
        cmocka_unit_test(what_is_done_in_relaxed_mode_leaves_a_capture_alone),
        cmocka_unit_test(many_threads_and_streams_do_not_disturb_one_another),
        cmocka_unit_test(a_thread_without_a_context_gets_the_handle_s),
        cmocka_unit_test(after_a_reset_the_context_is_another_one),
        cmocka_unit_test(a_child_of_a_fork_is_refused),
    };
    return cmocka_run_group_tests(tests, open_tuned_gpu, close_gpu);
}

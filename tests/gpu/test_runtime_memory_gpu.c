/* The runtime library on a real GPU: kernels that need device memory besides their operands, on many streams
 * and in graphs. Skipped (77) without one.
 */
#include "runtime_gpu.h"

#include <pthread.h>

static size_t free_memory(void)
{
    size_t free_bytes = 0, total = 0;
    assert_ok(device_check(cuda.CtxSynchronize(), "wait"));
    assert_ok(device_check(cuda.MemGetInfo(&free_bytes, &total), "ask for free memory"));
    return free_bytes;
}

/* Each stream is destroyed while its work may still run; the host never waits between. */
TEST(streams_that_come_and_go_are_served_by_the_measured_kernel)
{
    enum { SETS = 8, STREAMS = 400 };
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set sets[SETS];
    struct gt_plan_info info = gt_plan_info_make();
    for (int i = 0; i < SETS; i++) set_make(&sets[i], SPLIT, 0);
    struct gt_plan *plan = plan_of(handle, &sets[0]);
    for (int i = 0; i < STREAMS; i++) {
        CUstream on = new_stream();
        for (int again = 0; again < 3; again++) launch_plan(plan, &sets[i % SETS], on);
        cuda.StreamDestroy(on);
    }
    for (int i = 0; i < SETS; i++) set_check(&sets[i], 1, "a stream that went");
    gt_plan_describe(plan, &info);
    assert_int_equal(info.without_workspace, 0);
    for (int i = 0; i < SETS; i++) set_free(&sets[i]);
    gt_close(handle);
}

/* More simultaneous streams than workspaces. */
TEST(streams_that_share_workspaces_do_not_disturb_one_another)
{
    enum { STREAMS = 24, ROUNDS = 50 };
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    static struct set sets[STREAMS];
    CUstream streams[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        set_make(&sets[i], i % 2 ? COUNTED_SMALL : SPLIT, 0);
        streams[i] = new_stream();
    }
    struct gt_plan *plans[] = {plan_of(handle, &sets[0]), plan_of(handle, &sets[1])};
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < STREAMS; i++) launch_plan(plans[i % 2], &sets[i], streams[i]);
    for (int i = 0; i < STREAMS; i++) set_check(&sets[i], 1, "shared");
    for (int i = 0; i < STREAMS; i++) {
        cuda.StreamDestroy(streams[i]);
        set_free(&sets[i]);
    }
    gt_close(handle);
}

struct crowd {
    struct gt_plan *plan;
    struct set set;
};

static void *launch_on_many(void *opaque)
{
    const struct crowd *c = opaque;
    const float one = 1, zero = 0;
    CUstream streams[12] = {NULL};
    intptr_t wrong = 0;
    cuda.CtxSetCurrent(device.context);
    for (int i = 0; i < 12; i++) {
        wrong |= cuda.StreamCreate(&streams[i], CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
        for (int again = 0; again < 3 && !wrong; again++)
            wrong |=
                launch(c->plan, &one, c->set.at[0], c->set.at[1], &zero, c->set.at[2], streams[i]) != GT_OK;
    }
    for (int i = 0; i < 12; i++) cuda.StreamDestroy(streams[i]);
    return (void *)wrong;
}

TEST(streams_that_share_workspaces_leave_the_capture_of_another_thread_alone)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct crowd crowd;
    struct set captured_set;
    CUgraph graph = NULL;
    pthread_t thread;
    void *wrong = NULL;
    set_make(&crowd.set, SPLIT, 0);
    set_make(&captured_set, SPLIT, 0);
    crowd.plan = plan_of(handle, &crowd.set);
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin"));
    enum gt_status status = run(handle, &captured_set, device.stream);
    const int started = pthread_create(&thread, NULL, launch_on_many, &crowd);
    if (started == 0) pthread_join(thread, &wrong);
    const CUresult ended = cuda.StreamEndCapture(device.stream, &graph);
    assert_int_equal(started, 0);
    assert_gt(status, "captured");
    assert_null(wrong);
    assert_ok(device_check(ended, "end"));
    cuda.GraphDestroy(graph);
    set_check(&crowd.set, 1, "beside a capture");
    set_free(&crowd.set);
    set_free(&captured_set);
    gt_close(handle);
}

TEST(plans_that_alternate_on_one_stream_leave_each_other_s_counters_alone)
{
    static const char *const texts[] = {COUNTED_SMALL, SPLIT, COUNTED_LARGE};
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set sets[3];
    struct gt_plan *plans[3];
    for (int i = 0; i < 3; i++) {
        set_make(&sets[i], texts[i], 0);
        plans[i] = plan_of(handle, &sets[i]);
    }
    for (int i = 0; i < 90; i++) {
        const int which = (i + i / 4) % 3;
        launch_plan(plans[which], &sets[which], device.stream);
        if (i % 30 > 26) set_check(&sets[which], 1, texts[which]);
    }
    for (int i = 0; i < 3; i++) set_check(&sets[i], 0, texts[i]); /* the result is already there */
    for (int i = 0; i < 3; i++) set_free(&sets[i]);
    gt_close(handle);
}

static CUgraphExec captured(struct gt_plan *const plans[], const struct set sets[], int count)
{
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin"));
    for (int i = 0; i < count; i++) launch_plan(plans[i], &sets[i], device.stream);
    assert_ok(device_check(cuda.StreamEndCapture(device.stream, &graph), "end"));
    assert_ok(device_check(cuda.GraphInstantiate(&executable, graph, 0), "instantiate"));
    cuda.GraphDestroy(graph);
    return executable;
}

TEST(graphs_that_come_and_go_leave_no_memory_behind)
{
    static const char *const texts[] = {SPLIT, COUNTED_LARGE};
    enum { ROUNDS = 300, SETTLED = 40 };
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set sets[2];
    struct gt_plan *plans[2];
    struct gt_plan_info info = gt_plan_info_make();
    size_t settled = 0;
    for (int i = 0; i < 2; i++) {
        set_make(&sets[i], texts[i], 0);
        plans[i] = plan_of(handle, &sets[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CUgraphExec executable = captured(plans, sets, 2);
        assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
        assert_ok(device_check(cuda.StreamSynchronize(device.stream), "wait"));
        cuda.GraphExecDestroy(executable);
        if (round != SETTLED) continue;
        assert_gt(gt_trim(handle), "trim");
        settled = free_memory();
    }
    const size_t left = free_memory();
    assert_gt(gt_trim(handle), "trim");
    const size_t trimmed = free_memory();
    print_message("%zu MiB free after %d captures, %zu after %d, %zu after gt_trim\n", settled >> 20, SETTLED,
                  left >> 20, ROUNDS, trimmed >> 20);
    /* The driver allocates 128 MiB at a time; one workspace per capture would take 3.3 GiB. */
    assert_true(left + (400 << 20) >= settled);
    assert_true(trimmed + (200 << 20) >= settled);
    for (int i = 0; i < 2; i++) {
        set_check(&sets[i], 1, texts[i]);
        gt_plan_describe(plans[i], &info);
        assert_int_equal(info.without_workspace, 0);
        set_free(&sets[i]);
    }
    gt_close(handle);
}

TEST(a_graph_needs_neither_its_plan_nor_what_is_given_back)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set sets[1];
    set_make(&sets[0], SPLIT ":beta=1", 0);
    struct gt_problem p = public_problem(&sets[0].problem);
    struct gt_plan *plan;
    assert_gt(gt_plan_open(handle, &p, &plan), "plan");
    CUgraphExec executable = captured(&plan, sets, 1);
    gt_plan_close(plan);
    assert_gt(gt_trim(handle), "trim");
    for (int i = 0; i < 5; i++) {
        struct set other;
        set_make(&other, SPLIT, 0);
        assert_gt(run(handle, &other, device.stream), "another");
        assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
        set_check(&other, 1, "another");
        set_free(&other);
        assert_gt(gt_trim(handle), "trim");
    }
    set_check(&sets[0], 5, "graph");
    cuda.GraphExecDestroy(executable);
    set_free(&sets[0]);
    gt_close(handle);
}

TEST(memory_is_given_back_when_it_is_asked_for)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct set s;
    set_make(&s, COUNTED_LARGE, 0);
    struct gt_plan *plan = plan_of(handle, &s);
    const size_t before = free_memory();
    launch_plan(plan, &s, device.stream);
    const size_t during = free_memory();
    assert_gt(gt_trim(handle), "trim");
    const size_t after = free_memory();
    print_message("%zu MiB free, %zu with a workspace, %zu after gt_trim\n", before >> 20, during >> 20,
                  after >> 20);
    assert_true(during < before && after >= before);
    launch_plan(plan, &s, device.stream);
    set_check(&s, 1, "after gt_trim");
    set_free(&s);
    gt_close(handle);
}

int main(void)
{
    if (no_gpu()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_come_and_go_are_served_by_the_measured_kernel),
        cmocka_unit_test(streams_that_share_workspaces_do_not_disturb_one_another),
        cmocka_unit_test(streams_that_share_workspaces_leave_the_capture_of_another_thread_alone),
        cmocka_unit_test(plans_that_alternate_on_one_stream_leave_each_other_s_counters_alone),
        cmocka_unit_test(graphs_that_come_and_go_leave_no_memory_behind),
        cmocka_unit_test(a_graph_needs_neither_its_plan_nor_what_is_given_back),
        cmocka_unit_test(memory_is_given_back_when_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, open_tuned_gpu, close_gpu);
}

/* The runtime library without a GPU: kernels that need device memory beside their operands, in graphs that
 * come and go.
 */
#include "runtime_workspaces.h"

static CUgraph capture_launch(struct gt_plan *const plans[], int count, CUstream on)
{
    CUgraph graph = NULL;
    assert_int_equal(cuda.StreamBeginCapture(on, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < count; i++) {
        const struct fake_launch *launch = first_of(plans[i], on);
        if (!launch->captured || launch->args.splits != 4)
            fail_msg("captured with %d splits; 4 were measured", launch->args.splits);
    }
    assert_int_equal(cuda.StreamEndCapture(on, &graph), CUDA_SUCCESS);
    return graph;
}

TEST(each_capture_has_a_workspace_of_its_own)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    const struct gt_options options = {.size = sizeof(struct gt_options), .workspaces = 1};
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    CUgraph graphs[4];
    void *captured[4];
    void *eager = workspace_on(plan, stream);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        captured[i] = workspace_on(plan, stream);
        assert_true(captured[i] && captured[i] != eager);
        assert_ptr_equal(workspace_on(plan, stream), captured[i]); /* in order with the one before */
        assert_int_equal(cuda.StreamEndCapture(stream, &graphs[i]), CUDA_SUCCESS);
        for (int j = 0; j < i; j++) assert_ptr_not_equal(captured[i], captured[j]);
    }
    assert_ptr_equal(workspace_on(plan, stream), eager);
    for (int i = 0; i < 4; i++) cuda.GraphDestroy(graphs[i]);
    gt_close(handle);
}

TEST(graphs_that_come_and_go_give_their_workspaces_back)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    put_winner(LARGE, LAST_BLOCK, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plans[] = {make_plan(handle, TEXT), make_plan(handle, LARGE)};
    CUgraphExec executable = NULL;
    int buffers = 0;
    for (int round = 0; round < 1000; round++) {
        CUgraph graph = capture_launch(plans, 2, stream);
        if (executable) cuda.GraphExecDestroy(executable); /* the one before stays while this one is made */
        assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
        cuda.GraphDestroy(graph);
        assert_int_equal(cuda.GraphLaunch(executable, stream), CUDA_SUCCESS);
        if (round == 1) buffers = *fake.buffers;
        if (round > 1 && *fake.buffers != buffers)
            fail_msg("round %d: %d buffers, %d after the second", round, *fake.buffers, buffers);
    }
    cuda.GraphExecDestroy(executable);
    print_message("%d buffers, %d allocations\n", buffers, *fake.allocations);
    assert_true(buffers <= 4 && *fake.allocations <= 8);
    assert_int_equal(*fake.forbidden + *fake.dirty_counters + *fake.stale_launches, 0);
    gt_close(handle);
}

TEST(a_graph_keeps_its_workspace_as_long_as_anything_of_it_lives)
{
    static const char text[] = "sgemm:nn:64x64x64:beta=1";
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    struct operand_set set = operands_make(text, 0), others = operands_make(text, 0);
    CUgraph graph;
    CUgraphExec executable;
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_gt(launch_set(plan, &set));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    void *held = launch_number(0)->args.workspace;
    cuda.GraphDestroy(graph);
    gt_plan_close(plan); /* the graph needs the handle only */
    plan = make_plan(handle, TEXT);
    assert_gt(gt_trim(handle));
    for (int i = 0; i < 5; i++) {
        CUgraph fresh;
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        const int before = *fake.launch_count;
        assert_gt(launch_set(plan, &others));
        assert_ptr_not_equal(launch_number(before)->args.workspace, held);
        assert_int_equal(cuda.StreamEndCapture(stream, &fresh), CUDA_SUCCESS);
        assert_int_equal(cuda.GraphLaunch(executable, stream), CUDA_SUCCESS);
        cuda.GraphDestroy(fresh);
    }
    operands_check(&set, 6, "graph");
    assert_int_equal(*fake.stale_launches, 0);
    cuda.GraphExecDestroy(executable);
    operands_free(&set);
    operands_free(&others);
    gt_close(handle);
}

TEST(a_graph_may_go_after_the_handle)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    CUgraph graph = capture_launch(&plan, 1, stream);
    gt_close(handle);
    assert_int_equal(cuda.GraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(*fake.forbidden, 0);
}

TEST(a_capture_that_cannot_have_memory_holds_what_needs_none)
{
    static const char *const failures[] = {"cuMemAllocFromPoolAsync=2", "cuUserObjectCreate=2",
                                           "cuGraphRetainUserObject=2"};
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    put_winner("sgemm:nn:64x64x68", SIMT_LARGE, 4, false);
    for (int i = 0; i < 3; i++) {
        struct gt_handle *handle = open_handle(NULL);
        struct gt_plan *plan = make_plan(handle, TEXT);
        CUgraph graph;
        setenv("FAKE_GPU_FAIL", failures[i], 1);
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        assert_null(workspace_on(plan, stream));
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
        cuda.GraphDestroy(graph);
        unsetenv("FAKE_GPU_FAIL");
        assert_string_equal(info_of(plan).instead, SIMT_LARGE);
        graph = capture_launch(&plan, 1, stream); /* the next one can */
        cuda.GraphDestroy(graph);
        gt_close(handle);
    }
}

static void *on_its_own_stream(void *plan)
{
    static const CUstream per_thread = CU_STREAM_PER_THREAD;
    fake.join(stream, per_thread);
    return workspace_on(plan, per_thread);
}

TEST(streams_of_one_capture_never_share_a_workspace)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    CUgraph graph;
    CUstream forked = new_stream();
    void *workspaces[4];
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    fake.join(stream, forked);
    workspaces[0] = workspace_on(plan, stream);
    workspaces[1] = workspace_on(plan, forked);
    for (int i = 2; i < 4; i++) { /* CU_STREAM_PER_THREAD is another stream in each */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, on_its_own_stream, plan), 0);
        pthread_join(thread, &workspaces[i]);
    }
    for (int i = 0; i < 4; i++) {
        assert_non_null(workspaces[i]);
        for (int j = 0; j < i; j++) assert_ptr_not_equal(workspaces[i], workspaces[j]);
    }
    assert_ptr_equal(workspace_on(plan, forked), workspaces[1]);
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    cuda.GraphDestroy(graph);
    cuda.StreamDestroy(forked);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(each_capture_has_a_workspace_of_its_own),
        ON_FAKES(graphs_that_come_and_go_give_their_workspaces_back),
        ON_FAKES(a_graph_keeps_its_workspace_as_long_as_anything_of_it_lives),
        ON_FAKES(a_graph_may_go_after_the_handle),
        ON_FAKES(a_capture_that_cannot_have_memory_holds_what_needs_none),
        ON_FAKES(streams_of_one_capture_never_share_a_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

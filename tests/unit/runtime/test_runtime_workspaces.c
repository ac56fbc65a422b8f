/* The runtime library without a GPU: kernels that need device memory beside their operands, on any number of
 * streams and when memory is short.
 */
#include "runtime_workspaces.h"

/* ---- streams ---- */

TEST(a_winner_runs_as_it_was_measured_on_any_number_of_streams)
{
    put_winner(DEEP, DEEP_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, DEEP);
    CUstream streams[40];
    for (int i = 0; i < 40; i++) {
        streams[i] = new_stream();
        for (int again = 0; again < 2; again++) {
            const struct fake_launch *launch = first_of(plan, streams[i]);
            if (blocks_of(launch) != 64 || launch->args.splits != 64)
                fail_msg("stream %d: %u blocks, %d splits; 64 were measured", i, blocks_of(launch),
                         launch->args.splits);
        }
    }
    assert_int_equal(*fake.overlaps, 0);
    assert_int_equal(*fake.blas_calls, 0);
    assert_int_equal(info_of(plan).source, GT_EXACT);
    assert_int_equal(info_of(plan).without_workspace, 0);
    destroy_streams(streams, 40);
    gt_close(handle);
}

TEST(streams_that_come_and_go_use_nothing_up)
{
    put_winner(DEEP, DEEP_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, DEEP);
    for (int i = 0; i < 1000; i++) {
        CUstream on = new_stream();
        for (int again = 0; again < 3; again++) {
            const unsigned blocks = blocks_of(first_of(plan, on));
            if (blocks != 64) fail_msg("stream %d: %u blocks; 64 were measured", i, blocks);
        }
        cuda.StreamDestroy(on);
    }
    assert_int_equal(*fake.overlaps, 0);
    assert_int_equal(*fake.buffers, 1); /* each was done when the next one came */
    assert_int_equal(*fake.allocations, 1);
    gt_close(handle);
}

TEST(streams_that_share_a_workspace_wait_for_each_other_on_the_device)
{
    static const int counts[] = {0, 1, 3, 16};
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    *fake.busy = 1; /* nothing has been done yet when it is asked for */
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const struct gt_options options = {.size = sizeof(struct gt_options), .workspaces = counts[c]};
        const int count = counts[c] ? counts[c] : 8;
        struct gt_handle *handle = open_handle(&options);
        struct gt_plan *plan = make_plan(handle, TEXT);
        CUstream streams[24];
        *fake.waits = 0;
        assert_int_equal(info_of(plan).workspaces, count);
        new_streams(streams, 24);
        for (int round = 0; round < 10; round++)
            for (int i = 0; i < 24; i++) {
                const int on = round % 2 ? i : 23 - i;
                assert_int_equal(first_of(plan, streams[on])->args.splits, 4);
            }
        assert_int_equal(*fake.overlaps, 0);
        assert_int_equal(*fake.buffers, count);
        assert_true(*fake.waits > 0);
        destroy_streams(streams, 24);
        gt_close(handle);
    }
}

TEST(streams_that_stay_have_a_workspace_of_their_own_and_record_nothing)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    CUstream streams[4];
    void *own[4];
    *fake.busy = 1;
    for (int i = 0; i < 4; i++) {
        streams[i] = new_stream();
        for (int again = 0; again < WORKSPACES_OWN_AFTER + 12; again++)
            own[i] = workspace_on(plan, streams[i]);
    }
    const int recorded = *fake.records;
    for (int i = 0; i < 100; i++) assert_ptr_equal(workspace_on(plan, streams[i % 4]), own[i % 4]);
    assert_int_equal(*fake.records, recorded);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) assert_ptr_not_equal(own[i], own[j]);
    /* A new stream at the address of one that went is another one. */
    cuda.StreamDestroy(streams[0]);
    streams[0] = new_stream();
    assert_ptr_not_equal(workspace_on(plan, streams[0]), own[0]);
    assert_int_equal(*fake.overlaps, 0);
    destroy_streams(streams, 4);
    gt_close(handle);
}

static void *launch_on_many(void *opaque)
{
    struct gt_plan *plan = opaque;
    CUstream streams[12];
    intptr_t wrong = 0;
    for (int i = 0; i < 12; i++) {
        streams[i] = new_stream();
        for (int again = 0; again < 3; again++) wrong |= launch_on(plan, streams[i]) != GT_OK;
    }
    destroy_streams(streams, 12);
    return (void *)wrong;
}

TEST(streams_that_share_workspaces_do_not_disturb_a_capture)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int busy = 0; busy < 2; busy++) {
        CUgraph graph;
        pthread_t thread;
        void *wrong;
        *fake.busy = busy;
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        assert_gt(launch_on(plan, stream));
        assert_int_equal(pthread_create(&thread, NULL, launch_on_many, plan), 0);
        pthread_join(thread, &wrong);
        assert_null(wrong);
        assert_null(launch_on_many(plan)); /* nor from this thread */
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
        cuda.GraphDestroy(graph);
    }
    assert_int_equal(info_of(plan).without_workspace, 0);
    gt_close(handle);
}

/* ---- plans ---- */

TEST(plans_share_the_workspace_of_a_stream)
{
    struct gt_plan *plans[10];
    char text[64];
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "sgemm:nn:%dx256x64", 256 * (i + 1));
        put_winner(text, SIMT_SPLIT, 5, false);
    }
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "sgemm:nn:%dx256x64", 256 * (i + 1));
        plans[i] = make_plan(handle, text);
    }
    assert_int_equal(*fake.buffers, 0); /* memory is for launches */
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 10; i++) assert_non_null(workspace_on(plans[i], stream));
    const size_t largest = info_of(plans[9]).workspace_bytes;
    assert_int_equal(*fake.buffers, 1);
    assert_true((size_t)*fake.bytes >= largest && (size_t)*fake.bytes < largest + (1 << 20));
    assert_int_equal(*fake.overlaps + *fake.stale_launches, 0);
    gt_close(handle);
}

TEST(plans_that_alternate_never_meet_each_other_s_sums_in_their_counters)
{
    static const char *const texts[] = {TEXT, LARGE, "sgemm:nn:512x512x64", "sgemm:nn:128x64x64"};
    struct gt_plan *plans[4];
    bool differ = false;
    for (int i = 0; i < 4; i++) put_winner(texts[i], i == 3 ? SIMT_SPLIT : LAST_BLOCK, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < 4; i++) plans[i] = make_plan(handle, texts[i]);
    for (int i = 0; i < 60; i++) {
        const int counters = first_of(plans[i * i % 4], stream)->args.counters;
        differ = differ || (counters > 0 && counters != 64);
        assert_gt(launch_on(plans[(i + i / 4) % 4], stream));
    }
    assert_true(differ);
    assert_int_equal(*fake.dirty_counters, 0);
    gt_close(handle);
}

TEST(a_launch_that_fails_half_way_leaves_no_counters)
{
    put_winner(TEXT, config_text(6, "SPLIT_K=4 REDUCE=1 PACK=1"), 5, false);
    const struct gt_options quiet = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
    struct gt_handle *handle = open_handle(&quiet);
    struct gt_plan *plan = make_plan(handle, TEXT);
    const struct fake_launch *launch = first_of(plan, stream);
    unsigned *counters = (unsigned *)launch->args.workspace;
    assert_true(launch->args.counters > 0);
    *fake.fail_at = 2;                  /* the operand has been packed */
    assert_gt(launch_on(plan, stream)); /* cuBLAS does it */
    assert_int_equal(*fake.blas_calls, 1);
    counters[0] = 3; /* as the device would have left them */
    struct gt_plan *other = make_plan(handle, TEXT);
    assert_gt(launch_on(other, stream));
    assert_int_equal(*fake.dirty_counters, 0);
    gt_close(handle);
}

struct caller {
    struct gt_plan *plan;
    CUcontext context;
    pthread_t thread;
    bool failed;
};

static void *call_often(void *opaque)
{
    struct caller *c = opaque;
    cuda.CtxSetCurrent(c->context);
    for (int i = 0; i < 400; i++) c->failed = c->failed || launch_on(c->plan, stream) != GT_OK;
    return NULL;
}

/* The parts of one call would be overwritten before they are added. */
TEST(two_threads_on_one_stream_enqueue_their_calls_in_one_piece)
{
    struct caller both[2];
    *fake.busy = 1;
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < 2; i++) {
        both[i] = (struct caller){.plan = plan};
        cuda.CtxGetCurrent(&both[i].context);
        assert_int_equal(pthread_create(&both[i].thread, NULL, call_often, &both[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(both[i].thread, NULL);
    assert_false(both[0].failed || both[1].failed);
    assert_int_equal(*fake.launch_count, 2 * 2 * 400);
    assert_int_equal(*fake.torn, 0);
    gt_close(handle);
}

/* ---- the caller's own ---- */

TEST(a_caller_may_bring_the_workspace)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    put_winner("sgemm:nn:128x64x64", LAST_BLOCK, 5, false);
    static const char *const texts[] = {TEXT, "sgemm:nn:128x64x64"};
    const struct gt_options none = {.size = sizeof(struct gt_options), .workspaces = GT_NO_WORKSPACES};
    for (int own = 0; own <= 1; own++) {
        struct gt_handle *handle = open_handle(own ? NULL : &none);
        for (int i = 0; i < 2; i++) {
            struct gt_plan *plan = make_plan(handle, texts[i]);
            struct gt_plan_info info = info_of(plan);
            const size_t bytes = info.workspace_bytes;
            assert_true(bytes >= 4 * 64 * 64 * sizeof(float));
            assert_int_equal(info.workspaces, own ? 8 : 0);
            unsigned char *theirs = aligned_alloc(16, bytes + 16);
            memset(theirs, 0xa5, bytes + 16);
            const struct {
                void *at;
                size_t bytes;
                bool taken;
            } cases[] = {{theirs, bytes, true},
                         {theirs, bytes + 16, true},
                         {theirs, bytes - 1, false},
                         {NULL, bytes, false}};
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                *fake.launch_count = *fake.blas_calls = 0;
                assert_gt(launch_in(plan, &zero, data[0], data[1], &zero, result, stream, cases[c].at,
                                    cases[c].bytes));
                for (int k = 0; k < *fake.launch_count; k++) {
                    assert_int_equal((void *)fake.launches[k].args.workspace == theirs, cases[c].taken);
                    assert_int_equal(fake.launches[k].args.splits, 4);
                }
                assert_int_equal(*fake.launch_count > 0, cases[c].taken || own);
                assert_int_equal(*fake.blas_calls, !(cases[c].taken || own));
            }
            /* Counters begin at 0, nothing beyond the workspace is touched. */
            for (size_t b = 0; b < bytes + 16; b++)
                assert_int_equal(theirs[b], i == 1 && b < 4 * 64 ? 0 : 0xa5);
            assert_gt_fails(
                launch_in(plan, &zero, data[0], data[1], &zero, result, stream, theirs + 8, bytes),
                GT_INVALID, "multiple of 16");
            free(theirs);
        }
        gt_close(handle);
    }
    assert_gt_fails(launch_in(NULL, &zero, NULL, NULL, &zero, NULL, stream, NULL, 0), GT_INVALID, "NULL");
}

/* ---- without memory ---- */

TEST(without_memory_another_measured_kernel_takes_the_place)
{
    put_winner(DEEP, DEEP_SPLIT, 5, false);
    put_winner("sgemm:nn:64x64x60000", SIMT_LARGE, 4000, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, DEEP);
    setenv("FAKE_GPU_MEMORY", "1000", 1);
    for (int i = 0; i < 3; i++) {
        const struct fake_launch *launch = first_of(plan, stream);
        assert_null(launch->args.workspace);
        assert_int_equal(launch->threads, 256); /* not the winner's own kernel in another form */
    }
    struct gt_plan_info info = info_of(plan);
    assert_string_equal(info.config, DEEP_SPLIT);
    assert_string_equal(info.instead, SIMT_LARGE);
    assert_int_equal(info.without_workspace, 3);
    assert_int_equal(*fake.blas_calls, 0);
    gt_close(handle);
}

TEST(without_memory_and_without_such_a_kernel_cublas_computes)
{
    static const unsigned flags[] = {0, GT_NO_CUBLAS};
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    for (int i = 0; i < 2; i++) {
        const struct gt_options options = {
            .size = sizeof(struct gt_options), .flags = flags[i], .workspaces = GT_NO_WORKSPACES};
        struct gt_handle *handle = open_handle(&options);
        struct gt_plan *plan = make_plan(handle, TEXT);
        struct operand_set set = operands_make(TEXT, 0), odd = operands_make(TEXT, 1);
        *fake.launch_count = *fake.blas_calls = 0;
        assert_gt(launch_set(plan, &set));
        operands_check(&set, 1, "without a workspace");
        assert_int_equal(*fake.blas_calls, i == 0);
        for (int k = 0; k < *fake.launch_count; k++) assert_null(fake.launches[k].args.workspace);
        struct gt_plan_info info = info_of(plan);
        assert_int_equal(strcmp(info.instead, "cublas") == 0, i == 0);
        assert_string_not_equal(info.instead, "");
        assert_gt(launch_set(plan, &odd));
        operands_check(&odd, 1, "without a workspace, unaligned");
        operands_free(&set);
        operands_free(&odd);
        gt_close(handle);
    }
}

TEST(memory_that_comes_back_is_used_again)
{
    static const char *const plain[] = {"", "1"};
    put_winner(DEEP, DEEP_SPLIT, 5, false);
    for (int i = 0; i < 2; i++) {
        if (plain[i][0]) setenv("FAKE_GPU_NO_POOLS", plain[i], 1);
        struct gt_handle *handle = open_handle(NULL);
        struct gt_plan *plan = make_plan(handle, DEEP);
        setenv("FAKE_GPU_MEMORY", "1000", 1);
        for (int k = 0; k < 100; k++) assert_gt(launch_on(plan, stream));
        assert_int_equal(*fake.launch_count, 0);
        assert_int_equal(*fake.blas_calls, 100);
        unsetenv("FAKE_GPU_MEMORY");
        int more = 0;
        for (; *fake.launch_count == 0 && more < 300; more++) assert_gt(launch_on(plan, stream));
        print_message("used again after %d launches\n", more);
        assert_int_equal(blocks_of(launch_number(0)), 64);
        for (int k = 0; k < 10; k++) assert_int_equal(blocks_of(first_of(plan, stream)), 64);
        *fake.launch_count = *fake.blas_calls = 0;
        gt_close(handle);
    }
}

/* A larger one cannot be had: what there is serves those that fit. */
TEST(what_does_not_fit_does_not_disturb_what_does)
{
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    put_winner(LARGE, SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *small = make_plan(handle, TEXT), *large = make_plan(handle, LARGE);
    CUstream other = new_stream();
    assert_non_null(workspace_on(small, stream));
    setenv("FAKE_GPU_MEMORY", "1000", 1);
    *fake.busy = 1;
    for (int i = 0; i < 20; i++) {
        assert_gt(launch_on(large, stream));
        assert_non_null(workspace_on(small, i % 2 ? stream : other));
    }
    assert_int_equal(info_of(large).without_workspace, 20);
    assert_int_equal(info_of(small).without_workspace, 0);
    assert_int_equal(*fake.overlaps, 0);
    cuda.StreamDestroy(other);
    gt_close(handle);
}

TEST(memory_is_given_back_when_it_is_asked_for)
{
    put_winner(LARGE, LAST_BLOCK, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, LARGE);
    CUstream streams[3];
    CUgraph graph;
    *fake.busy = 1;
    new_streams(streams, 3);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 30; i++) assert_non_null(workspace_on(plan, streams[i / 10]));
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        assert_non_null(workspace_on(plan, stream));
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
        assert_int_equal(*fake.buffers, 4);
        cuda.CtxSynchronize();
        assert_gt(gt_trim(handle));
        assert_int_equal(*fake.buffers, 1); /* the graph's */
        cuda.GraphDestroy(graph);
        assert_gt(gt_trim(handle));
        assert_int_equal(*fake.buffers, 0);
        assert_int_equal(*fake.bytes, 0);
    }
    assert_int_equal(*fake.dirty_counters + *fake.overlaps + *fake.stale_launches, 0);
    destroy_streams(streams, 3);
    gt_close(handle);
    assert_gt_fails(gt_trim(NULL), GT_INVALID, "handle");
}

#define MMA16 "mma16 BM=128 BN=128 BK=64 WM=64 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 "
#define REST  "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1 PDL=0 ASK=0"

/* Both operands packed: 64.5 MiB. */
TEST(unless_a_limit_is_set_packed_operands_have_more_room_than_strict_fp32)
{
    static const char text[] = "bf16gemm:nn:4095x4097x4093", other[] = "bf16gemm:nn:4095x4097x4091",
                      packed[] = MMA16 "PACK=3 VA=8 VB=8 VC=1 " REST,
                      read_as_they_are[] = MMA16 "PACK=0 VA=1 VB=1 VC=1 " REST;
    const size_t limits[] = {0, (size_t)65 << 20, (size_t)64 << 20};
    put_winner(text, packed, 5, false);
    put_winner(other, read_as_they_are, 6, false);
    for (int i = 0; i < 3; i++) {
        const struct gt_options options = {.size = sizeof(struct gt_options), .workspace_bytes = limits[i]};
        stderr_catch();
        struct gt_handle *handle = open_handle(&options);
        const struct gt_plan_info info = info_of(make_plan(handle, text));
        const char *const said = stderr_release();
        const bool taken = info.source == GT_EXACT && strcmp(info.config, packed) == 0;
        const bool refused = strstr(said, "takes 64.5 MiB of workspace, and 64.0 are allowed") != NULL;
        if (taken != (i < 2) || refused != (i == 2)) fail_msg("%d: %s, %s", i, info.config, said);
        gt_close(handle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_winner_runs_as_it_was_measured_on_any_number_of_streams),
        ON_FAKES(streams_that_come_and_go_use_nothing_up),
        ON_FAKES(streams_that_share_a_workspace_wait_for_each_other_on_the_device),
        ON_FAKES(streams_that_stay_have_a_workspace_of_their_own_and_record_nothing),
        ON_FAKES(streams_that_share_workspaces_do_not_disturb_a_capture),
        ON_FAKES(plans_share_the_workspace_of_a_stream),
        ON_FAKES(plans_that_alternate_never_meet_each_other_s_sums_in_their_counters),
        ON_FAKES(a_launch_that_fails_half_way_leaves_no_counters),
        ON_FAKES(two_threads_on_one_stream_enqueue_their_calls_in_one_piece),
        ON_FAKES(a_caller_may_bring_the_workspace),
        ON_FAKES(without_memory_another_measured_kernel_takes_the_place),
        ON_FAKES(without_memory_and_without_such_a_kernel_cublas_computes),
        ON_FAKES(memory_that_comes_back_is_used_again),
        ON_FAKES(what_does_not_fit_does_not_disturb_what_does),
        ON_FAKES(memory_is_given_back_when_it_is_asked_for),
        ON_FAKES(unless_a_limit_is_set_packed_operands_have_more_room_than_strict_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The runtime library on a real GPU: right answers, also unaligned, captured, from many threads and streams,
 * in contexts of its own and of others. Skipped (77) without one.
 */
#include "compile.h"
#include "device.h"
#include "gemmtune.h"
#include "kernel_hash.h"
#include "reference.h"
#include "runtime_calls.h"
#include "template.h"
#include "unit.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static struct device device;

/* Whole numbers so small that every sum is exact. skew: bytes that A and B begin after a multiple of 256. */
struct set {
    struct problem problem;
    struct device_buffer buffer[3];
    float *host[3];
    int64_t count[3];
    char *at[3];
};

static void set_make(struct set *s, const char *text, int skew)
{
    assert_ok(problem_parse(text, &s->problem));
    const int64_t spans[] = {problem_span_a(&s->problem), problem_span_b(&s->problem),
                             problem_span_c(&s->problem)};
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)spans[i] * sizeof(float), offset = i < 2 ? (size_t)skew : 0;
        s->count[i] = spans[i];
        s->host[i] = malloc(bytes + 1);
        assert_non_null(s->host[i]);
        for (int64_t j = 0; j < spans[i]; j++) s->host[i][j] = (float)((j * 7 + i * 3 + j / 11) % 9 - 4);
        assert_ok(device_allocate(&s->buffer[i], bytes + 256));
        s->at[i] = (char *)(uintptr_t)(s->buffer[i].address + offset);
        if (bytes)
            assert_ok(device_check(cuda.MemcpyHtoD((CUdeviceptr)s->at[i], s->host[i], bytes), "copy in"));
    }
}

static void set_check(struct set *s, int calls, const char *who)
{
    size_t bytes = (size_t)s->count[2] * sizeof(float);
    float *got = malloc(bytes + 1);
    assert_non_null(got);
    assert_ok(device_check(cuda.CtxSynchronize(), who));
    if (bytes) assert_ok(device_check(cuda.MemcpyDtoH(got, (CUdeviceptr)s->at[2], bytes), "copy out"));
    for (int i = 0; i < calls; i++) reference_ijk(&s->problem, s->host[0], s->host[1], s->host[2]);
    for (int64_t i = 0; i < s->count[2]; i++)
        if (got[i] != s->host[2][i])
            fail_msg("%s: C[%lld] is %g, expected %g", who, (long long)i, (double)got[i],
                     (double)s->host[2][i]);
    free(got);
}

static void set_free(struct set *s)
{
    for (int i = 0; i < 3; i++) {
        free(s->host[i]);
        device_free(&s->buffer[i]);
    }
}

static struct gt_problem public_problem(const struct problem *p)
{
    return (struct gt_problem){.size = sizeof(struct gt_problem),
                               .trans_a = p->trans_a,
                               .trans_b = p->trans_b,
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .lda = p->lda,
                               .ldb = p->ldb,
                               .ldc = p->ldc,
                               .batch = p->batch,
                               .stride_a = p->stride_a,
                               .stride_b = p->stride_b,
                               .stride_c = p->stride_c};
}

static void assert_gt(enum gt_status status, const char *who)
{
    if (status) fail_msg("%s: %d, %s", who, (int)status, gt_error_text());
}

static struct gt_handle *open_handle(unsigned flags)
{
    struct gt_handle *handle;
    const struct gt_options options = {.size = sizeof(struct gt_options),
                                       .database = "",
                                       .pretuned = folder,
                                       .cache = folder,
                                       .flags = flags};
    assert_gt(gt_open(&handle, &options), "open");
    return handle;
}

static enum gt_status run(struct gt_handle *handle, const struct set *s, CUstream stream)
{
    struct gt_problem p = public_problem(&s->problem);
    float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    return gemm(handle, &p, &alpha, s->at[0], s->at[1], &beta, s->at[2], stream);
}

static const char *const rests[] = {
    "64x64x64",     "33x65x17",
    "1x1x1",        "7x5x0:beta=2",
    "0x5x3",        "130x70x40:lda=150:ldb=151:ldc=153:alpha=2:beta=-1",
    "256x256x2048", "20x30x10:batch=5:alpha=0.5:beta=2",
    "1x1000x300",   "500x1x300",
};
static const char *const ops[] = {"nn", "nt", "tn", "tt"};

static void right_answers(unsigned flags, int skew)
{
    struct gt_handle *handle = open_handle(flags);
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            char text[PROBLEM_TEXT_MAX];
            struct set s;
            snprintf(text, sizeof text, "sgemm:%s:%s", ops[o], rests[r]);
            set_make(&s, text, skew);
            assert_gt(run(handle, &s, device.stream), text);
            set_check(&s, 1, text);
            set_free(&s);
        }
    gt_close(handle);
}

TEST(kernels_are_right_for_every_op)
{
    right_answers(GT_NO_CUBLAS, 0);
}

TEST(unaligned_operands_are_computed_right)
{
    right_answers(GT_NO_CUBLAS, 4);
    right_answers(GT_NO_CUBLAS, 8);
}

TEST(cublas_is_right_for_every_op)
{
    right_answers(GT_NO_COMPILER, 0);
    right_answers(GT_NO_COMPILER, 4);
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

/* Whatever it holds. Among the plain configurations the one that splits K is the choice for this problem. */
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

/* The first use of everything happens within the capture; the graph is launched twice. A capture ends before
 * anything is judged, or every later test would fail, too. */
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

/* What the library takes for granted of the driver, call by call. That the driver breaks a capture when asked
 * for the stream's id is nothing to rely on, so it is told, not judged. */
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

/* Threads with a stream each, all with the same plan, which splits K, and some with another. */
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

/* ---- workspaces ---- */

#define SPLIT         "sgemm:nt:64x64x4096" /* by 16, in two kernels */
#define COUNTED_SMALL "sgemm:nn:256x256x1024"
#define COUNTED_LARGE "sgemm:nn:768x1024x512" /* by 4, and the last block adds; with more counters */

static CUstream new_stream(void)
{
    CUstream made = NULL;
    assert_int_equal(cuda.StreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
}

static struct gt_plan *plan_of(struct gt_handle *handle, const struct set *s)
{
    struct gt_problem p = public_problem(&s->problem);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_open(handle, &p, &plan), "plan");
    gt_plan_describe(plan, &info);
    if (info.source != GT_EXACT || info.workspace_bytes == 0)
        fail_msg("%s was chosen for %s: %s", info.config, info.tuned_for, info.why);
    return plan;
}

static void launch_plan(struct gt_plan *plan, const struct set *s, CUstream stream)
{
    float alpha = (float)s->problem.alpha, beta = (float)s->problem.beta;
    assert_gt(launch(plan, &alpha, s->at[0], s->at[1], &beta, s->at[2], stream), "launch");
}

static size_t free_memory(void)
{
    size_t free_bytes = 0, total = 0;
    assert_ok(device_check(cuda.CtxSynchronize(), "wait"));
    assert_ok(device_check(cuda.MemGetInfo(&free_bytes, &total), "ask for free memory"));
    return free_bytes;
}

/* Each stream goes while its work may still run; nobody waits in between. */
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

/* More streams at once than there are workspaces. */
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
    for (int i = 0; i < 3; i++) set_check(&sets[i], 0, texts[i]); /* the answer is there already */
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
    /* The driver itself takes 128 MiB at a time; a workspace for each capture would be 3.3 GiB. */
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

/* ---- contexts and processes: in programs of their own ---- */

static int run_self(const char *what)
{
    int how = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_runtime_gpu", what, folder, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

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
    return compute_once(handle) == 0 ? 11 : 0; /* it is closed */
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

/* Winners that need a workspace for some of the problems above. */
static void write_winner(FILE *file, const char *problem, int split_k, int reduce)
{
    char text[CONFIG_TEXT_MAX];
    struct config config = {.template = template_find("simt")};
    const struct {
        const char *name;
        int value;
    } values[] = {{"BM", 64},        {"BN", 64},
                  {"BK", 16},        {"WM", 32},
                  {"WN", 32},        {"TM", 4},
                  {"TN", 8},         {"VA", 4},
                  {"VB", 4},         {"VC", 4},
                  {"STAGES", 2},     {"UNROLL", 16},
                  {"STORE_AT", 8},   {"SPLIT_K", split_k},
                  {"REDUCE", reduce}};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        config_set(&config, values[i].name, values[i].value);
    struct problem of;
    assert_ok(problem_parse(problem, &of));
    config_format(&config, text);
    fprintf(file,
            "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": %d, \"sm_count\": %d, "
            "\"config\": \"%s\", "
            "\"template_hash\": \"%016" PRIx64 "\", \"time_us\": 10}\n",
            problem, device.gpu.name, device.gpu.arch, device.gpu.sm_count, text,
            kernel_hash_of(&config, &of, device.gpu.arch));
}

static int write_winners(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/test.jsonl", folder);
    FILE *file = fopen(path, "w");
    if (!file) return -1;
    write_winner(file, SPLIT, 16, 0);
    write_winner(file, COUNTED_SMALL, 4, 1);
    write_winner(file, COUNTED_LARGE, 4, 1);
    return fclose(file);
}

static int open_gpu(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gemmtune-gpu-XXXXXX");
    return device_open(0, &device) || !mkdtemp(folder) || write_winners();
}

static int close_gpu(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    device_close(&device);
    return system(command);
}

int main(int argc, char **argv)
{
    if (device_load()) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
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
        cmocka_unit_test(a_launch_may_bring_its_workspace),
        cmocka_unit_test(calls_can_be_captured_first_use_included),
        cmocka_unit_test(what_is_done_in_relaxed_mode_leaves_a_capture_alone),
        cmocka_unit_test(many_threads_and_streams_do_not_disturb_one_another),
        cmocka_unit_test(a_thread_without_a_context_gets_the_handle_s),
        cmocka_unit_test(streams_that_come_and_go_are_served_by_the_measured_kernel),
        cmocka_unit_test(streams_that_share_workspaces_do_not_disturb_one_another),
        cmocka_unit_test(streams_that_share_workspaces_leave_the_capture_of_another_thread_alone),
        cmocka_unit_test(plans_that_alternate_on_one_stream_leave_each_other_s_counters_alone),
        cmocka_unit_test(graphs_that_come_and_go_leave_no_memory_behind),
        cmocka_unit_test(a_graph_needs_neither_its_plan_nor_what_is_given_back),
        cmocka_unit_test(memory_is_given_back_when_it_is_asked_for),
        cmocka_unit_test(after_a_reset_the_context_is_another_one),
        cmocka_unit_test(a_child_of_a_fork_is_refused),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}

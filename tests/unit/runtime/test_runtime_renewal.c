/* The runtime library while its database changes: plans take the new winner, threads call all the time. */
#include "runtime_fakes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define TEXT "sgemm:nn:64x64x64"

enum { PATIENCE_MS = 20000 };

static const float one = 1, zero = 0;

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Until the plan has this configuration. */
static void await(const struct gt_plan *plan, const char *config)
{
    struct gt_plan_info info = gt_plan_info_make();
    for (int i = 0; i < PATIENCE_MS; i++) {
        assert_gt(gt_plan_describe(plan, &info));
        if (strcmp(info.config, config) == 0) return;
        rest();
    }
    fail_msg("the plan keeps %s", info.config);
}

TEST(plans_take_new_winners_and_graphs_keep_what_they_have)
{
    CUgraph graph;
    setenv("GEMMTUNE_RENEW_S", "0.02", 1);
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct operand_set o = operands_make(TEXT, 0);
    struct gt_problem p = problem_of(TEXT);
    struct gt_plan *plan = make_plan(handle, TEXT);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_gt(launch_set(plan, &o));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_gt(gemm_set(handle, &p, &o)); /* a plan of its own */
    put_winner(TEXT, SIMT_LARGE, 4, false);
    await(plan, SIMT_LARGE);
    const int compiled = *fake.compilations;
    for (int i = 0;; i++) {
        *fake.launch_count = 0;
        assert_gt(gemm_set(handle, &p, &o));
        if (fake.launches[0].threads == 256) break;
        if (i > PATIENCE_MS) fail_msg("gt_gemm keeps the old one");
        rest();
    }
    operands_check(&o, 1, "the new winner");
    assert_int_equal(*fake.compilations, compiled); /* it was there */
    put_winner(TEXT, NULL, 3, false);
    await(plan, "cublas");
    assert_gt(launch_set(plan, &o));
    assert_int_equal(*fake.stale_launches, 0);
    operands_free(&o);
    gt_close(handle);
    unsetenv("GEMMTUNE_RENEW_S");
}

/* The plan is for a beta of 0. */
/* What stands in is tried again by calls, also of a handle that keeps its winners; what else the plan has
 * stays. */
TEST(a_second_try_leaves_calls_with_another_beta_alone)
{
    const struct gt_options options = {.size = sizeof(struct gt_options),
                                       .flags = GT_QUIET | GT_KEEP_WINNERS};
    put_winner(TEXT, SIMT_LARGE, 5, false);
    put_winner(TEXT ":beta=1", SIMT, 5, false);
    struct gt_handle *handle = open_handle(&options);
    struct operand_set usual = operands_make(TEXT, 0), adds = operands_make(TEXT ":beta=1", 0);
    setenv("FAKE_GPU_FAIL", "cuModuleLoadData=2", 1);
    struct gt_plan *plan = make_plan(handle, TEXT);
    await(plan, "cublas");
    unsetenv("FAKE_GPU_FAIL");
    assert_gt(launch_set(plan, &adds));
    put_winner(TEXT ":beta=1", SIMT_LARGE, 4, false);
    for (int i = 0; i < 200; i++) assert_gt(launch_set(plan, &usual));
    await(plan, SIMT_LARGE);
    *fake.launch_count = 0;
    assert_gt(launch_set(plan, &adds));
    assert_int_equal(fake.launches[0].threads, 128);
    operands_free(&usual);
    operands_free(&adds);
    gt_close(handle);
}

TEST(calls_with_another_beta_take_new_winners_too)
{
    setenv("GEMMTUNE_RENEW_S", "0.02", 1);
    put_winner(TEXT, SIMT, 5, false);
    put_winner(TEXT ":beta=1", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct operand_set o = operands_make(TEXT ":beta=1", 0);
    struct gt_plan *plan = make_plan(handle, TEXT);
    assert_gt(launch_set(plan, &o));
    put_winner(TEXT ":beta=1", SIMT_LARGE, 4, false);
    for (int i = 0;; i++) {
        *fake.launch_count = 0;
        assert_gt(launch_set(plan, &o));
        if (fake.launches[0].threads == 256) break;
        if (i > PATIENCE_MS) fail_msg("the old one is kept");
        rest();
    }
    await(plan, SIMT); /* the plan's own is as it was */
    operands_free(&o);
    gt_close(handle);
    unsetenv("GEMMTUNE_RENEW_S");
}

TEST(a_handle_that_keeps_its_winners_has_no_thread_for_it)
{
    struct gt_options options = gt_options_make();
    options.flags = GT_KEEP_WINNERS;
    setenv("GEMMTUNE_RENEW_S", "0.02", 1);
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    put_winner(TEXT, SIMT_LARGE, 4, false);
    for (int i = 0; i < 200; i++) rest();
    await(plan, SIMT);
    gt_close(handle);
    unsetenv("GEMMTUNE_RENEW_S");
}

static atomic_bool done;
static _Alignas(16) float data[3][64 * 64];

/* Launches, and opens and closes plans that the renewal may be at. */
static void *call_all_the_time(void *opaque)
{
    struct gt_handle *handle = opaque;
    struct gt_problem p = problem_of(TEXT);
    struct gt_plan *plan, *other;
    intptr_t wrong = gt_plan_open(handle, &p, &plan);
    CUstream own = NULL;
    if (!wrong) wrong = cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    while (!wrong && !atomic_load(&done)) {
        struct gt_call call = gt_call_make(&one, data[0], data[1], &zero, data[2], own);
        wrong = gt_launch(plan, &call);
        if (!wrong) wrong = gt_gemm(handle, &p, &call);
        if (!wrong) wrong = gt_plan_open(handle, &p, &other);
        if (!wrong) gt_plan_close(other);
    }
    gt_plan_close(plan);
    cuda.StreamDestroy(own);
    return (void *)wrong;
}

TEST(threads_call_while_winners_change)
{
    enum { THREADS = 3, CHANGES = 6 };
    pthread_t threads[THREADS];
    setenv("GEMMTUNE_RENEW_S", "0.001", 1);
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_all_the_time, handle), 0);
    for (int i = 0; i < CHANGES; i++) {
        const char *config = i % 2 ? SIMT : SIMT_LARGE;
        put_winner(TEXT, config, 4 - 0.1 * i, false);
        await(plan, config);
    }
    atomic_store(&done, true);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(*fake.stale_launches, 0);
    gt_close(handle);
    unsetenv("GEMMTUNE_RENEW_S");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(plans_take_new_winners_and_graphs_keep_what_they_have),
        ON_FAKES(a_second_try_leaves_calls_with_another_beta_alone),
        ON_FAKES(calls_with_another_beta_take_new_winners_too),
        ON_FAKES(a_handle_that_keeps_its_winners_has_no_thread_for_it),
        ON_FAKES(threads_call_while_winners_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

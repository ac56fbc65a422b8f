/* The runtime library without a GPU: calls that the key of their plan does not fit. Operands that are less
 * aligned than was promised, another beta, no workspace: each has a plan of its own, which the caller's plan
 * keeps. */
#include "plan.h"
#include "runtime_fakes.h"

#include <pthread.h>

#define TEXT "sgemm:nn:64x64x64"

static const float one = 1, zero = 0;
static _Alignas(16) float data[3][64 * 64 + 4];

/* A call with the first operand so many floats after a multiple of 16 bytes. */
static enum gt_status call_it(struct gt_plan *plan, int skew, bool adds, CUstream on)
{
    return launch(plan, &one, data[0] + skew, data[1], adds ? &one : &zero, data[2], on);
}

/* Plans that go with this one. No two of all have the same key. */
static int count_others(const struct gt_plan *plan)
{
    int count = 0;
    for (const struct gt_plan *p = plan; p; p = atomic_load(&p->next)) {
        for (const struct gt_plan *o = atomic_load(&p->next); o; o = atomic_load(&o->next))
            assert_false(plan_key_equal(&p->entry.key, &o->entry.key));
        count += p != plan;
    }
    return count;
}

static int threads_of_call(struct gt_plan *plan, bool adds)
{
    *fake.launch_count = 0;
    assert_gt(call_it(plan, 0, adds, stream));
    return (int)fake.launches[0].threads;
}

TEST(each_key_has_one_plan_however_often_it_comes)
{
    put_winner(TEXT, SIMT, 5, false);
    put_winner(TEXT ":beta=1", SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_plan *plan = make_plan(handle, TEXT);
    static const struct {
        int skew;
        bool adds;
        int others;
    } calls[] = {{0, false, 0}, {1, false, 1}, {0, true, 2}, {3, true, 3}, {2, false, 3}, {0, false, 3}};
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            assert_gt(call_it(plan, calls[i].skew, calls[i].adds, stream));
            assert_int_equal(count_others(plan), round ? 3 : calls[i].others);
        }
    assert_int_equal(threads_of_call(plan, false), 128);
    assert_int_equal(threads_of_call(plan, true), 256);
    assert_string_equal(info_of(plan).config, SIMT);
    gt_close(handle);
}

/* cuBLAS takes any alignment: no plan is made for it. */
TEST(what_fits_all_keys_needs_no_other_plan)
{
    put_winner(TEXT, NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int skew = 0; skew < 4; skew++) assert_gt(call_it(plan, skew, false, stream));
    assert_int_equal(count_others(plan), 0);
    assert_int_equal(*fake.blas_calls, 4);
    gt_close(handle);
}

/* They are told of the plan's own beta. */
TEST(launches_without_their_workspace_are_counted_with_their_beta)
{
    const struct gt_options options = {.size = sizeof options, .workspaces = GT_NO_WORKSPACES};
    put_winner(TEXT, SIMT_SPLIT, 5, false);
    put_winner(TEXT ":beta=1", SIMT_SPLIT, 5, false);
    put_winner("sgemm:nn:64x64x68:beta=1", SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < 3; i++) assert_gt(call_it(plan, 0, true, stream));
    assert_int_equal(info_of(plan).without_workspace, 0);
    assert_string_equal(info_of(plan).instead, "");
    assert_int_equal(count_others(plan), 2);
    for (int i = 0; i < 2; i++) assert_gt(call_it(plan, 0, false, stream));
    assert_int_equal(info_of(plan).without_workspace, 2);
    assert_string_not_equal(info_of(plan).instead, "");
    assert_string_equal(info_of(plan).config, SIMT_SPLIT);
    assert_int_equal(count_others(plan), 3);
    gt_close(handle);
}

/* Another beta whose kernel nothing can replace leaves the plan as it was, and is asked for again. */
TEST(a_key_that_nothing_can_compute_leaves_no_plan)
{
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS | GT_QUIET);
    struct gt_plan *plan = make_plan(handle, TEXT);
    setenv("FAKE_GPU_FAIL", "cuModuleLoadData=209", 1);
    assert_gt_fails(call_it(plan, 1, false, stream), GT_DEVICE, "nothing here can compute");
    assert_int_equal(count_others(plan), 0);
    unsetenv("FAKE_GPU_FAIL");
    assert_gt(call_it(plan, 0, false, stream));
    gt_close(handle);
}

/* ---- threads ---- */

enum { THREADS = 8 };

struct caller {
    pthread_t thread;
    struct gt_plan *plan;
    CUcontext context;
    unsigned seed;
    enum gt_status status;
};

static void *call_all_keys(void *opaque)
{
    struct caller *c = opaque;
    CUstream own;
    cuda.CtxSetCurrent(c->context);
    if (cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING)) return NULL;
    for (int i = 0; i < 200 && !c->status; i++) {
        struct gt_plan_info info = gt_plan_info_make();
        c->status = call_it(c->plan, rand_r(&c->seed) % 4, rand_r(&c->seed) % 2, own);
        if (!c->status) c->status = gt_plan_describe(c->plan, &info);
    }
    cuda.StreamDestroy(own);
    return NULL;
}

TEST(many_threads_make_one_plan_of_each_key)
{
    struct caller callers[THREADS];
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct gt_plan *plan = make_plan(handle, TEXT);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.plan = plan, .seed = (unsigned)i};
        cuda.CtxGetCurrent(&callers[i].context);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_all_keys, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].status, GT_OK);
    }
    assert_int_equal(count_others(plan), 3);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(each_key_has_one_plan_however_often_it_comes),
        ON_FAKES(what_fits_all_keys_needs_no_other_plan),
        ON_FAKES(launches_without_their_workspace_are_counted_with_their_beta),
        ON_FAKES(a_key_that_nothing_can_compute_leaves_no_plan),
        ON_FAKES(many_threads_make_one_plan_of_each_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The runtime library in many threads at once, for the thread sanitizer and for whoever looks at the answers:
 * handles that open and close, one handle that serves all, captures beside launches, and everything that goes
 * wrong.
 *
 * Every product is of ones, so that each element of C is K: two streams in one workspace, or a plan of
 * another problem, would show without a sanitizer, too.
 */
#include "plans.h"
#include "runtime_fakes.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 12, SIDE = 16, PROBLEMS = 16 };

static float ones[SIDE * 64 + 4];
static const float one = 1, zero = 0;
static char texts[PROBLEMS][64];
static pthread_barrier_t barrier;

struct hand {
    pthread_t thread;
    int number, rounds;
    struct gt_handle *handle; /* of all; NULL: every round opens one */
    struct gt_plan **plans;   /* of all, a problem each; NULL: none */
    CUcontext context;
    CUstream stream;
    enum gt_status status;
    int wrong; /* elements that are not what they should be */
    char why[200];
};

static void note(struct hand *h, enum gt_status status)
{
    if (!status || h->status) return;
    h->status = status;
    snprintf(h->why, sizeof h->why, "%.199s", gt_error_text());
}

static int k_of(int problem)
{
    return 32 + 4 * (problem % 8);
}

/* Three of four have kernels: plain, with K split and summed by a second one, and counted in by its blocks.
 */
static void put_problems(void)
{
    const char *const configs[] = {SIMT, SIMT_SPLIT, config_text(3, "SPLIT_K=4 REDUCE=1"), NULL};
    for (int i = 0; i < PROBLEMS; i++) {
        snprintf(texts[i], sizeof texts[i], "sgemm:nn:%dx%dx%d", SIDE, i < 8 ? SIDE : SIDE - 4, k_of(i));
        put_winner(texts[i], configs[i % 4], 5, false);
    }
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    *fake.computes = 1;
}

/* Blocks that count themselves in are not executed by the fake, which leaves such a C as it was. */
static bool is_computed(int problem)
{
    return problem % 4 != 2;
}

static void check(struct hand *h, int problem, const float *c)
{
    const int count = SIDE * (problem < 8 ? SIDE : SIDE - 4);
    for (int i = 0; i < count && is_computed(problem); i++) h->wrong += c[i] != (float)k_of(problem);
}

/* A problem by one of the ways of asking for it. */
static void ask(struct hand *h, struct gt_handle *handle, int problem, int how)
{
    _Alignas(16) float c[SIDE * SIDE];
    static const size_t room = 1 << 16;
    struct gt_problem p = problem_of(texts[problem]);
    struct gt_plan *plan = NULL;
    CUgraph graph;
    memset(c, 0, sizeof c);
    switch (how) {
    case 0:
        note(h, gemm(handle, &p, &one, ones, ones, &zero, c, h->stream));
        break;
    case 1: /* less aligned than was promised */
        plan = h->plans ? h->plans[problem] : make_plan(handle, texts[problem]);
        note(h, launch(plan, &one, ones + 1, ones, &zero, c, h->stream));
        break;
    case 2:
        plan = h->plans ? h->plans[problem] : make_plan(handle, texts[problem]);
        note(h, launch(plan, &one, ones, ones, &zero, c, h->stream));
        break;
    case 3: {
        plan = make_plan(handle, texts[problem]);
        h->wrong += info_of(plan).source != GT_EXACT;
        char *workspace = aligned_alloc(16, room);
        memset(workspace, 0xa5, room);
        note(h, launch_in(plan, &one, ones, ones, &zero, c, h->stream, workspace, room));
        gt_plan_close(plan);
        free(workspace);
        break;
    }
    default:
        h->wrong += cuda.StreamBeginCapture(h->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS;
        note(h, gemm(handle, &p, &one, ones, ones, &zero, c, h->stream));
        h->wrong += cuda.StreamEndCapture(h->stream, &graph) != CUDA_SUCCESS;
    }
    check(h, problem, c);
}

static void *lend(void *opaque)
{
    struct hand *h = opaque;
    unsigned seed = (unsigned)h->number;
    cuda.CtxSetCurrent(h->context);
    h->wrong += cuda.StreamCreate(&h->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < h->rounds; i++) {
        struct gt_handle *handle = h->handle;
        if (!handle) note(h, gt_open(&handle, NULL));
        for (int j = 0; j < 4 && handle; j++) ask(h, handle, rand_r(&seed) % PROBLEMS, rand_r(&seed) % 5);
        if (!h->handle) gt_close(handle);
    }
    cuda.StreamDestroy(h->stream);
    cuda.CtxSetCurrent(NULL);
    return NULL;
}

/* Every thread begins as `like` says; what they answer is in hands. */
static void start_all(struct hand hands[THREADS], const struct hand *like)
{
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        hands[i] = *like;
        hands[i].number = i;
        assert_int_equal(pthread_create(&hands[i].thread, NULL, lend, &hands[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(hands[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
}

static void all_hands(const struct hand *like)
{
    static struct hand hands[THREADS];
    start_all(hands, like);
    for (int i = 0; i < THREADS; i++) {
        if (hands[i].status) fail_msg("thread %d: %s", i, hands[i].why);
        if (hands[i].wrong) fail_msg("thread %d: %d wrong", i, hands[i].wrong);
    }
}

static CUcontext context_now(void)
{
    CUcontext current;
    cuda.CtxGetCurrent(&current);
    return current;
}

TEST(handles_open_and_close_in_many_threads)
{
    put_problems();
    all_hands(&(struct hand){.rounds = 3});
}

TEST(one_handle_serves_many_threads)
{
    put_problems();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plans[PROBLEMS];
    for (int i = 0; i < PROBLEMS; i++) plans[i] = make_plan(handle, texts[i]);
    all_hands(&(struct hand){.rounds = ROUNDS, .handle = handle, .plans = plans, .context = context_now()});
    gt_close(handle);
}

TEST(plans_are_made_and_freed_in_many_threads)
{
    put_problems();
    struct gt_handle *handle = open_handle(NULL);
    all_hands(&(struct hand){.rounds = ROUNDS, .handle = handle, .context = context_now()});
    gt_close(handle);
}

/* More streams than workspaces, which grow meanwhile and change hands. */
TEST(workspaces_are_shared_by_many_threads)
{
    put_problems();
    for (int i = 1; i <= 2; i++) {
        const struct gt_options options = {.size = sizeof(struct gt_options), .workspaces = i};
        struct gt_handle *handle = open_handle(&options);
        struct gt_plan *plans[PROBLEMS];
        for (int p = 0; p < PROBLEMS; p++) plans[p] = make_plan(handle, texts[p]);
        all_hands(
            &(struct hand){.rounds = ROUNDS, .handle = handle, .plans = plans, .context = context_now()});
        gt_close(handle);
    }
}

/* ---- plans of the LRU cache: here entries without a plan ---- */

struct taker {
    pthread_t thread;
    struct plans *plans;
    unsigned seed;
    int wrong;
};

static void *take_often(void *opaque)
{
    struct taker *x = opaque;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 500; i++) {
        const struct plan_key key = {.context =
                                         (uint64_t)rand_r(&x->seed) % (PLANS_RECENT + PLANS_RECENT / 4)};
        const uint64_t hash = plan_hash(&key);
        struct plan_entry *taken = plans_take(x->plans, &key, hash), *unused;
        if (!taken) {
            struct plan_entry *fresh = calloc(1, sizeof *fresh);
            fresh->key = key;
            fresh->hash = hash;
            taken = plans_add(x->plans, fresh, false, &unused);
            x->wrong += unused && unused != fresh && unused->list;
            free(unused);
        }
        x->wrong += taken->key.context != key.context || plans_find(x->plans, &key, hash) != NULL;
        plans_put(x->plans, taken);
    }
    return NULL;
}

TEST(the_least_recent_plans_are_evicted_by_many_threads)
{
    static struct plans plans;
    static struct taker takers[THREADS];
    plans_start(&plans);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.plans = &plans, .seed = (unsigned)i};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_often, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(takers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(takers[i].wrong, 0);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(plans.recent.count, PLANS_RECENT);
    for (struct plan_entry *entry; (entry = plans_evict(&plans));) free(entry);
    assert_null(plans_any(&plans));
    plans_free(&plans);
}

/* ---- plans that stay, found while others are added ---- */

enum { ADDED = PLANS_KEPT + 64 };

static void *add_all(void *opaque)
{
    struct taker *x = opaque;
    struct plan_entry *unused;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < ADDED; i++) {
        struct plan_entry *fresh = calloc(1, sizeof *fresh);
        fresh->key.context = i;
        fresh->hash = plan_hash(&fresh->key);
        struct plan_entry *taken = plans_add(x->plans, fresh, true, &unused);
        const struct plan_entry *found = plans_find(x->plans, &taken->key, taken->hash);
        x->wrong += taken->key.context != i || found != (i < PLANS_KEPT ? taken : NULL);
        plans_put(x->plans, taken);
        free(unused);
    }
    return NULL;
}

TEST(the_first_plans_stay_whichever_thread_added_them)
{
    static struct plans plans;
    static struct taker takers[THREADS];
    plans_start(&plans);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.plans = &plans};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, add_all, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(takers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(takers[i].wrong, 0);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(plans.kept.count, PLANS_KEPT);
    assert_int_equal(plans.recent.count, 64);
    for (struct plan_entry *entry; (entry = plans_any(&plans));) {
        plans_remove(&plans, entry);
        free(entry);
    }
    plans_free(&plans);
}

/* Threads that come with contexts that the handle has not seen, or with none. */
TEST(contexts_are_met_in_many_threads)
{
    static char contexts[3];
    put_problems();
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < 3; i++) {
        struct hand like = {.rounds = 2, .handle = handle};
        if (i) like.context = (CUcontext)(void *)&contexts[i];
        all_hands(&like);
    }
    gt_close(handle);
}

TEST(a_cache_that_cannot_be_written_is_replaced_once_for_all_threads)
{
    static const char message[] = "gemmtune: ";
    put_problems();
    setenv("GEMMTUNE_CACHE", "/proc/nowhere", 1);
    stderr_catch();
    struct gt_handle *handle = open_handle(NULL);
    all_hands(&(struct hand){.rounds = 3, .handle = handle, .context = context_now()});
    gt_close(handle);
    const char *said = stderr_release();
    const char *first = strstr(said, message);
    assert_true(first && !strstr(first + 1, message));
}

TEST(kernels_that_are_refused_are_replaced_in_many_threads)
{
    put_problems();
    stderr_catch();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plans[PROBLEMS];
    for (int i = 0; i < PROBLEMS; i++) plans[i] = make_plan(handle, texts[i]);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=701", 1);
    all_hands(&(struct hand){.rounds = 3, .handle = handle, .plans = plans, .context = context_now()});
    unsetenv("FAKE_GPU_FAIL");
    gt_close(handle);
    stderr_release();
}

TEST(a_gpu_that_is_lost_is_lost_to_all_threads)
{
    static struct hand hands[THREADS];
    put_problems();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plans[PROBLEMS];
    for (int i = 0; i < PROBLEMS; i++) plans[i] = make_plan(handle, texts[i % 2]);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=700", 1);
    start_all(hands, &(struct hand){.rounds = 1, .handle = handle, .plans = plans, .context = context_now()});
    unsetenv("FAKE_GPU_FAIL");
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(hands[i].status, GT_DEVICE);
        assert_non_null(strstr(hands[i].why, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(handles_open_and_close_in_many_threads),
        ON_FAKES(one_handle_serves_many_threads),
        ON_FAKES(plans_are_made_and_freed_in_many_threads),
        ON_FAKES(workspaces_are_shared_by_many_threads),
        ON_FAKES(contexts_are_met_in_many_threads),
        cmocka_unit_test(the_least_recent_plans_are_evicted_by_many_threads),
        cmocka_unit_test(the_first_plans_stay_whichever_thread_added_them),
        ON_FAKES(a_cache_that_cannot_be_written_is_replaced_once_for_all_threads),
        ON_FAKES(kernels_that_are_refused_are_replaced_in_many_threads),
        ON_FAKES(a_gpu_that_is_lost_is_lost_to_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The runtime library without a GPU: contexts that are reset, handles and plans that were closed, processes
 * that fork.
 */
#include "runtime_lifetime.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* ---- contexts ---- */

static CUcontext context_now(void)
{
    CUcontext current;
    cuda.CtxGetCurrent(&current);
    return current;
}

TEST(a_context_that_is_reset_is_another_one)
{
    put_winner(TEXT, SIMT, 5, false);
    put_winner("sgemm:nt:64x64x64", SIMT_SPLIT, 5, false);
    static const char *const texts[] = {TEXT, "sgemm:nt:64x64x64"};
    struct gt_handle *handle = open_handle(NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            struct gt_problem p = problem_of(texts[i]);
            for (int again = 0; again < 3; again++) assert_gt(gemm_it(handle, &p));
        }
        assert_int_equal(*fake.loads, 2 * (round + 1));
        if (round == 2) break;
        fake.reset(context_now());
        assert_int_equal(*fake.buffers, 0);
    }
    assert_int_equal(*fake.stale_launches, 0);
    fake.reset(context_now());
    const int allocated = *fake.buffers;
    gt_close(handle); /* nothing is given back that belongs to nobody */
    assert_int_equal(*fake.buffers, allocated);
}

static void *open_in_a_thread(void *opaque)
{
    struct client *c = opaque;
    struct gt_problem p = problem_of(TEXT);
    cuda.CtxSetCurrent(c->context);
    c->status = gt_open(&c->handle, NULL);
    if (!c->status) c->status = gemm_it(c->handle, &p);
    return NULL;
}

TEST(a_handle_that_is_closed_takes_no_context_from_another)
{
    int active;
    unsigned flags;
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *first = open_handle(NULL);
    struct client c = {.context = context_now()};
    assert_int_equal(pthread_create(&c.thread, NULL, open_in_a_thread, &c), 0);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, GT_OK);
    gt_close(first);
    assert_int_equal(cuda.DevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    assert_int_equal(active, 1);
    struct gt_problem p = problem_of(TEXT);
    assert_gt(gemm_it(c.handle, &p));
    gt_close(c.handle);
    cuda.DevicePrimaryCtxGetState(0, &flags, &active);
    assert_int_equal(active, 0);
    cuda.CtxSetCurrent(NULL);
}

static void *open_and_close(void *opaque)
{
    struct client *c = opaque;
    for (int i = 0; i < 40 && !c->status; i++) {
        struct gt_handle *handle = NULL;
        struct gt_problem p = problem_of(TEXT);
        cuda.CtxSetCurrent(NULL);
        c->status = gt_open(&handle, NULL);
        if (!c->status) c->status = gemm_it(handle, &p);
        gt_close(handle);
    }
    return NULL;
}

TEST(threads_open_while_others_close)
{
    struct client clients[4];
    put_winner(TEXT, SIMT, 5, false);
    for (int i = 0; i < 4; i++) {
        clients[i] = (struct client){.status = GT_OK};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, open_and_close, &clients[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].status, GT_OK);
    }
}

/* ---- what is closed, or was never open ---- */

TEST(what_was_closed_is_refused_with_a_sentence)
{
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL), *other = open_handle(NULL);
    struct gt_plan *closed = make_plan(handle, TEXT), *left = make_plan(handle, TEXT), *made;
    struct gt_problem p = problem_of(TEXT);
    _Alignas(16) char foreign[4096];
    memset(foreign, 0x3c, sizeof foreign);
    gt_plan_close(closed);
    assert_gt_fails(launch_it(closed), GT_INVALID, "closed");
    gt_plan_close(closed); /* nothing happens */
    gt_plan_close((struct gt_plan *)(void *)foreign);
    assert_gt_fails(launch_it((struct gt_plan *)(void *)foreign), GT_INVALID, "none of this library's");
    assert_gt(launch_it(left));
    gt_close(handle);
    assert_gt_fails(launch_it(left), GT_INVALID, "closed");
    assert_gt_fails(gemm_it(handle, &p), GT_INVALID, "closed");
    assert_gt_fails(gt_plan_open(handle, &p, &made), GT_INVALID, "closed");
    assert_gt_fails(gt_trim(handle), GT_INVALID, "closed");
    assert_gt_fails(gemm_it((struct gt_handle *)(void *)foreign, &p), GT_INVALID, "none of this library's");
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt_fails(gt_plan_describe(closed, &info), GT_INVALID, "closed");
    gt_close(handle);
    gt_close((struct gt_handle *)(void *)foreign);
    assert_gt(gemm_it(other, &p));
    gt_close(other);
    cuda.CtxSetCurrent(NULL);
}

/* ---- fork ---- */

static int in_the_child(struct gt_handle *handle, struct gt_plan *plans[3])
{
    struct gt_problem p = problem_of(TEXT), unknown = problem_of("sgemm:nn:60x60x60");
    struct gt_handle *fresh = (void *)1;
    struct gt_plan *made;
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        const enum gt_status status = launch_it(plans[i]);
        wrong |= (status != GT_NO_GPU && status != GT_DEVICE) || !strstr(gt_error_text(), "fork");
    }
    wrong |= 2 * (gemm_it(handle, &p) != GT_NO_GPU || !strstr(gt_error_text(), "fork"));
    wrong |= 4 * (gemm_it(handle, &unknown) != GT_NO_GPU);
    wrong |= 8 * (gt_plan_open(handle, &p, &made) != GT_NO_GPU || !strstr(gt_error_text(), "fork"));
    wrong |= 16 * (gt_open(&fresh, NULL) != GT_NO_GPU || fresh || !strstr(gt_error_text(), "fork"));
    wrong |= 32 * (gt_trim(handle) != GT_NO_GPU);
    gt_plan_close(plans[0]);
    gt_close(handle);
    return wrong;
}

static atomic_bool enough;

/* Somebody holds one lock or another whenever a process forks. */
static void *keep_busy(void *opaque)
{
    struct client *c = opaque;
    cuda.CtxSetCurrent(c->context);
    for (int i = 0; !enough; i++) {
        struct gt_problem p = problem_of(TEXT);
        struct gt_plan *plan;
        p.ldc = 64 + 4 * (i % 500);
        if (gt_plan_open(c->handle, &p, &plan) == GT_OK) gt_plan_close(plan);
        gemm(c->handle, &p, &zero, data[0], data[1], &zero, result, stream);
        struct gt_problem with_workspace = problem_of("sgemm:nt:64x64x64");
        gemm(c->handle, &with_workspace, &zero, data[0], data[1], &zero, result, stream);
    }
    return NULL;
}

TEST(a_child_of_a_fork_is_refused_and_never_waits)
{
    put_winner(TEXT, SIMT, 5, false);
    put_winner("sgemm:nt:64x64x64", SIMT_SPLIT, 5, false);
    put_winner("sgemm:tn:64x64x64", NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plans[] = {make_plan(handle, TEXT), make_plan(handle, "sgemm:nt:64x64x64"),
                               make_plan(handle, "sgemm:tn:64x64x64")};
    struct client c = {.handle = handle, .context = context_now()};
    for (int i = 0; i < 3; i++) assert_gt(launch_it(plans[i]));
    enough = false;
    assert_int_equal(pthread_create(&c.thread, NULL, keep_busy, &c), 0);
    for (int i = 0; i < 30; i++) {
        int how;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60); /* a child that waits for ever is ended */
            _exit(in_the_child(handle, plans));
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
            fail_msg("child %d: %s %d", i, WIFEXITED(how) ? "wrong" : "ended by signal",
                     WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
    }
    enough = true;
    pthread_join(c.thread, NULL);
    for (int i = 0; i < 3; i++) assert_gt(launch_it(plans[i])); /* the parent goes on */
    gt_close(handle);
}

/* A driver may wait for its own threads of the parent, or succeed. */
static void a_child_of_a_fork_does_not_call_the_driver(void **state)
{
    setenv("FAKE_GPU_FORKS", "1", 1);
    a_child_of_a_fork_is_refused_and_never_waits(state);
    unsetenv("FAKE_GPU_FORKS");
}

/* ---- forks while threads open the first handles ---- */

#ifdef __SANITIZE_THREAD__
/* The sanitizer ignores what the child of a program with threads does, but only once its fork handlers have
 * run: it compares what those write, and what the C library frees of lost threads, with what threads did in
 * the parent's memory. Our list of files is not among it: the handler of db_lock.c has its mutex. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:device_in_child\nrace:get_cached_stack\nthread:fork_while_threads_open\n";
}
#endif

enum { OPENERS = 3, CHILDREN = 10, PROGRAMS = 40 };

static pthread_barrier_t together;

static void *open_first(void *opaque)
{
    struct gt_handle **handle = opaque;
    pthread_barrier_wait(&together);
    return gt_open(handle, NULL) == GT_OK ? NULL : handle;
}

/* A child that came before the driver was loaded has a GPU like any other program. */
static void live_as_child(int kind)
{
    struct gt_handle *handle;
    alarm(60); /* a child that waits for ever is ended */
    if (kind == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    const enum gt_status status = kind == 1 ? GT_OK : gt_open(&handle, NULL);
    const int wrong = status != GT_OK && (status != GT_NO_GPU || !strstr(gt_error_text(), "fork"));
    if (kind > 1 && status == GT_OK) gt_close(handle);
    _exit(wrong);
}

/* In a program of its own, which has opened none before. Returns how many children waited or crashed. */
static int fork_while_threads_open(const char *seed_text)
{
    struct gt_handle *handles[OPENERS];
    pthread_t threads[OPENERS];
    pid_t children[CHILDREN];
    unsigned seed = (unsigned)atoi(seed_text);
    int wrong = 0;
    void *failed;
    setenv("GEMMTUNE_RENEW_S", "0", 1); /* the thread sanitizer ends a child that starts a thread */
    pthread_barrier_init(&together, NULL, OPENERS + 1);
    for (int i = 0; i < OPENERS; i++) pthread_create(&threads[i], NULL, open_first, &handles[i]);
    pthread_barrier_wait(&together);
    for (int i = 0; i < CHILDREN; i++) {
        usleep((useconds_t)(rand_r(&seed) % 200));
        children[i] = fork();
        if (children[i] == 0) live_as_child(rand_r(&seed) % 5);
    }
    for (int i = 0; i < OPENERS; i++) {
        pthread_join(threads[i], &failed);
        if (failed) return 100;
        gt_close(handles[i]);
    }
    for (int status, i = 0; i < CHILDREN; i++) {
        wrong += waitpid(children[i], &status, 0) != children[i] || status != 0;
        if (status) print_error("child %d ended with 0x%x\n", i, (unsigned)status);
    }
    return wrong;
}

TEST(a_child_of_the_first_open_neither_waits_nor_crashes)
{
    char number[16];
    int failed = 0;
    put_winner(TEXT, SIMT, 5, false);
    for (int i = 0; i < PROGRAMS; i++) {
        int how;
        snprintf(number, sizeof number, "%d", i);
        const pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test_runtime_contexts", number, (char *)NULL);
            _exit(127);
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        failed += how != 0;
    }
    if (failed) fail_msg("%d of %d programs had a child that waited or crashed", failed, PROGRAMS);
}

int main(int argc, char **argv)
{
    if (argc > 1) return fork_while_threads_open(argv[1]);
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_context_that_is_reset_is_another_one),
        ON_FAKES(a_handle_that_is_closed_takes_no_context_from_another),
        ON_FAKES(threads_open_while_others_close),
        ON_FAKES(what_was_closed_is_refused_with_a_sentence),
        ON_FAKES(a_child_of_a_fork_is_refused_and_never_waits),
        ON_FAKES(a_child_of_a_fork_does_not_call_the_driver),
        ON_FAKES(a_child_of_the_first_open_neither_waits_nor_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who waits for whom under the drop-in: nobody in a capture, nobody in a forked child. Compilations are held
 * at a gate, so that what returns has not waited for them. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { PATIENCE_S = 60 }; /* then it is a deadlock */

static _Atomic int *gate, *waiting;

static void *call_once(void *operands)
{
    CUstream own;
    blas_handle handle;
    const struct operand_set *o = operands;
    use_primary_context();
    cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    cublasCreate_v2(&handle);
    cublasSetStream_v2(handle, own);
    const struct problem *p = &o->problem;
    int failed = cublasSgemm_v2(handle, 0, 0, (int)p->n, (int)p->m, (int)p->k, &one, o->b, (int)p->ldb, o->a,
                                (int)p->lda, &zero, o->c, (int)p->ldc);
    cublasDestroy_v2(handle);
    cuda.StreamDestroy(own);
    return failed ? operands : NULL;
}

/* A thread that is in the middle of a compilation until the gate opens. */
static pthread_t compile_slowly(struct operand_set *o)
{
    pthread_t thread;
    void *nvrtc = dlopen(FAKE_NVRTC, RTLD_NOW);
    assert_non_null(nvrtc);
    gate = dlsym(nvrtc, "fake_gate");
    waiting = dlsym(nvrtc, "fake_waiting");
    assert_true(gate && waiting);
    *gate = 1;
    assert_int_equal(pthread_create(&thread, NULL, call_once, o), 0);
    while (*waiting == 0) usleep(1000);
    return thread;
}

static void open_gate(pthread_t thread)
{
    void *failed;
    *gate = 0;
    pthread_join(thread, &failed);
    assert_null(failed);
}

static void *open_gate_soon(void *unused)
{
    usleep(20000);
    *gate = 0;
    return unused;
}

/* Its graph keeps what it is captured with. Another kernel is not compiled for it, and not waited for. */
static void a_call_in_a_capture_waits_for_its_own_kernel_only(void **state)
{
    static const char *const texts[] = {"sgemm:nn:32x24x32", "sgemm:nn:8x24x32"};
    CUgraph graph;
    pthread_t opener;
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner(texts[0], SIMT_LARGE, 5, false);
    arrive();
    struct operand_set slow = operands_make("sgemm:nn:16x24x32", 0),
                       same = operands_make("sgemm:nn:16x24x32", 0);
    pthread_t thread = compile_slowly(&slow);
    alarm(PATIENCE_S);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) { /* one with a winner, one without */
        struct operand_set o = operands_make(texts[i], 0);
        assert_went(sgemm_of(&o), 0, 1);
        operands_free(&o);
    }
    assert_int_equal(*waiting, 1);
    assert_int_equal(*fake.compilations, 0);
    *fake.launch_count = program_blas_calls = 0;
    assert_int_equal(pthread_create(&opener, NULL, open_gate_soon, NULL), 0);
    assert_int_equal(sgemm_of(&same), 0);
    assert_int_equal(program_blas_calls, 0);
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    alarm(0);
    pthread_join(opener, NULL);
    open_gate(thread);
    assert_int_equal(*fake.compilations, 1);
    operands_check(&slow, 1, "the thread that compiled");
    operands_free(&slow);
    operands_free(&same);
}

/* Outside of a capture the same thread's results must not depend on who came first. */
TEST(a_kernel_that_is_there_is_launched_while_another_one_is_compiled)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x24x32", SIMT_LARGE, 5, false);
    arrive();
    struct operand_set ready = operands_make("sgemm:nn:32x24x32", 0),
                       slow = operands_make("sgemm:nn:16x24x32", 0);
    assert_went(sgemm_of(&ready), 1, 0);
    pthread_t thread = compile_slowly(&slow);
    alarm(PATIENCE_S);
    cublasSetPointerMode_v2(blas_context, BLAS_DEVICE_SCALARS);
    assert_went(sgemm(&ready, &one, &zero), 1, 0); /* another plan of the same kernel */
    alarm(0);
    assert_int_equal(*waiting, 1);
    open_gate(thread);
    operands_free(&ready);
    operands_free(&slow);
}

static void a_forked_child_calls_without_a_deadlock(void **state)
{
    int status = -1;
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x24x32", SIMT_LARGE, 5, false);
    arrive();
    struct operand_set slow = operands_make("sgemm:nn:16x24x32", 0);
    pthread_t thread = compile_slowly(&slow);
    pid_t child = fork();
    if (child == 0) {
        static const char *const texts[] = {"sgemm:nn:16x24x32", "sgemm:nn:32x24x32", "sgemm:nn:8x24x32"};
        int wrong = 0;
        alarm(PATIENCE_S);
        for (int i = 0; i < 3; i++) {
            struct operand_set o = operands_make(texts[i], 0);
            struct lt_call x = lt_make();
            program_blas_calls = program_lt_calls = 0;
            wrong += sgemm_of(&o) != 0 || program_blas_calls != 1;
            if (i == 0) wrong += lt_run(&x, &o, &zero, o.c) != 0 || program_lt_calls != 1;
            lt_free(&x);
            operands_free(&o);
        }
#ifdef GT_SANITIZED
        _exit(wrong); /* what the other thread holds would be a leak here */
#else
        exit(wrong); /* with all that a program does at its end */
#endif
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    open_gate(thread);
    operands_free(&slow);
}

/* ---- forks during the first calls ---- */

enum { CHILDREN = 12, CALLERS = 3, PROGRAMS = 40 };

static pthread_barrier_t together;

static void *call_first(void *operands)
{
    pthread_barrier_wait(&together);
    return call_once(operands);
}

/* What a child does: it calls and ends, ends only, or becomes another program. */
static void live_as_child(int kind, const struct operand_set *o)
{
    int wrong = 0;
    alarm(PATIENCE_S);
    if (kind == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    if (kind != 1) {
        struct lt_call x = lt_make();
        program_blas_calls = program_lt_calls = 0;
        wrong += sgemm_of(o) != 0 || program_blas_calls != 1;
        wrong += lt_run(&x, o, &zero, o->c) != 0 || program_lt_calls != 1;
        lt_free(&x);
    }
#ifdef GT_SANITIZED
    _exit(wrong); /* what the other threads hold would be leaks here */
#else
    if (kind == 2) _exit(wrong);
    exit(wrong);
#endif
}

/* Threads make the program's first calls, and meanwhile it forks. */
static void children_come_up_during_the_first_calls(void **state)
{
    static const char *const texts[CALLERS] = {"sgemm:nn:16x24x32", "sgemm:nn:32x24x32", "sgemm:nn:8x24x32"};
    const char *number = getenv("PROGRAM_NUMBER");
    unsigned seed = number ? (unsigned)atoi(number) : 0;
    struct operand_set o[CALLERS + 1];
    pthread_t threads[CALLERS];
    pid_t children[CHILDREN];
    void *failed;
    (void)state;
    put_winner(texts[0], SIMT, 5, false);
    put_winner(texts[1], SIMT_LARGE, 5, false);
    arrive();
    for (int i = 0; i <= CALLERS; i++) o[i] = operands_make(texts[i % CALLERS], 0);
    pthread_barrier_init(&together, NULL, CALLERS + 1);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_first, &o[i]), 0);
    pthread_barrier_wait(&together);
    for (int i = 0; i < CHILDREN; i++) {
        usleep((useconds_t)(rand_r(&seed) % 500));
        children[i] = fork();
        if (children[i] == 0) live_as_child(rand_r(&seed) % 4, &o[CALLERS]);
        assert_true(children[i] > 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    for (int status, i = 0; i < CHILDREN; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        if (status != 0) fail_msg("child %d ended with 0x%x", i, (unsigned)status);
    }
    for (int i = 0; i <= CALLERS; i++) operands_free(&o[i]);
}

static const struct scenario scenarios[] = {
    SCENARIO(a_call_in_a_capture_waits_for_its_own_kernel_only),
    SCENARIO(a_kernel_that_is_there_is_launched_while_another_one_is_compiled),
    SCENARIO(a_forked_child_calls_without_a_deadlock),
    {"a_forked_child_of_a_recorded_program_calls_too", a_forked_child_calls_without_a_deadlock,
     "GEMMTUNE_CAPTURE", "/dev/null/never"},
    SCENARIO(children_come_up_during_the_first_calls),
};

/* A program makes its first calls once: many programs, each with forks at other moments; every third one is
 * recorded. */
static void no_child_of_a_first_call_waits_or_crashes(void **state)
{
    char seen[] = "/tmp/gemmtune-capture-XXXXXX", number[16];
    int failed = 0;
    const char *more = getenv("PROGRAMS"); /* by hand: a longer test */
    const int programs = more ? atoi(more) : PROGRAMS;
    (void)state;
    close(mkstemp(seen));
    for (int i = 0; i < programs; i++) {
        snprintf(number, sizeof number, "%d", i);
        setenv("PROGRAM_NUMBER", number, 1);
        if (i % 3 == 0) setenv("GEMMTUNE_CAPTURE", seen, 1);
        failed += scenario_start("children_come_up_during_the_first_calls", NULL) != 0;
        unsetenv("GEMMTUNE_CAPTURE");
    }
    unlink(seen);
    if (failed) fail_msg("%d of %d programs had a child that waited or crashed", failed, programs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(no_child_of_a_first_call_waits_or_crashes),
    };
    return dropin_main(argc, argv, "test_dropin_waits", scenarios, sizeof scenarios / sizeof *scenarios, more,
                       sizeof more / sizeof *more);
}

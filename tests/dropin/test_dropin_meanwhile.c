/* The drop-in where a kernel must be compiled: cuBLAS computes meanwhile, and the program may do what it
 * likes: capture, fork, reset its context, end. Compilations are held at a gate, so that the order is known.
 */
#include "compile.h"
#include "db_code.h"
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define TEXT  "sgemm:nn:16x24x32"
#define OTHER "sgemm:nn:32x24x32"

enum { PATIENCE_S = 60, END_S = 10 };

static _Atomic int *gate, *waiting;

/* A count that the thread of the drop-in may be changing. */
static int now(const int *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* What begins to be compiled from now on waits at the gate. */
static void shut_gate(void)
{
    alarm(PATIENCE_S);
    void *nvrtc = dlopen(FAKE_NVRTC, RTLD_NOW);
    assert_non_null(nvrtc);
    gate = dlsym(nvrtc, "fake_gate");
    waiting = dlsym(nvrtc, "fake_waiting");
    assert_true(gate && waiting);
    *gate = 1;
}

static void wait_for_compiler(void)
{
    while (*waiting == 0) usleep(1000);
}

/* Calls until a kernel answers; all calls are right. */
static void call_until_tuned(struct operand_set *o)
{
    alarm(PATIENCE_S);
    *fake.launch_count = 0;
    while (*fake.launch_count == 0) {
        assert_int_equal(sgemm_of(o), 0);
        usleep(1000);
    }
    operands_check(o, 1, "until tuned");
    assert_went(sgemm_of(o), 1, 0);
}

static void cublas_computes_until_the_kernel_is_there(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    shut_gate();
    for (int i = 0; i < 20; i++) assert_went(sgemm_of(&o), 0, 1);
    operands_check(&o, 1, "meanwhile");
    wait_for_compiler();
    assert_went(sgemm_of(&o), 0, 1);
    *gate = 0;
    call_until_tuned(&o);
    assert_int_equal(now(fake.compilations), 1);
    operands_free(&o);
}

static void with_wait_the_first_call_is_the_kernels(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    assert_went(sgemm_of(&o), 1, 0);
    operands_check(&o, 1, "waited");
    operands_free(&o);
}

/* Nothing is compiled, so nothing is put off. */
static void what_the_cache_holds_answers_the_first_call(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    struct gt_handle *handle = open_handle(NULL);
    gt_plan_close(make_plan(handle, TEXT)); /* as an earlier program */
    gt_close(handle);
    *fake.compilations = 0;
    shut_gate();
    assert_went(sgemm_of(&o), 1, 0);
    assert_int_equal(now(fake.compilations) + *waiting, 0);
    operands_free(&o);
}

static void what_ships_answers_the_first_call_without_a_compiler(void **state)
{
    struct db_code kernel = {.kernel = TEXT, .code = "machine code", .bytes = 13};
    struct problem p;
    struct config c;
    char path[200];
    (void)state;
    setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    assert_ok(problem_parse(TEXT, &p));
    assert_ok(config_parse(SIMT, &c));
    const struct kernel_key key = kernel_key_of(&c, &p, 90);
    assert_ok(compile_id(&key, kernel.id));
    snprintf(path, sizeof path, "%s/configs/winners/code-90.sqlite", store_folder);
    assert_ok(db_code_write(path, &kernel, 1));
    struct operand_set o = arrive_tuned(TEXT, 0);
    assert_went(sgemm_of(&o), 1, 0);
    operands_free(&o);
}

static void without_a_compiler_cublas_computes_for_good(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    struct operand_set o = arrive_tuned(TEXT, 0);
    for (int i = 0; i < 10; i++) assert_went(sgemm_of(&o), 0, 1);
    operands_check(&o, 1, "cuBLAS");
    operands_free(&o);
}

static void a_kernel_that_the_compiler_refuses_is_asked_for_once(void **state)
{
    (void)state;
    setenv("FAKE_NVRTC_REFUSES", "-DBM=64", 1);
    struct operand_set o = arrive_tuned(TEXT, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    wait_for_compiler();
    *gate = 0;
    while (now(fake.compilations) == 0) usleep(1000);
    for (int i = 0; i < 300; i++) {
        assert_went(sgemm_of(&o), 0, 1);
        usleep(100);
    }
    const int tried = now(fake.compilations); /* with and without an option */
    for (int i = 0; i < 300; i++) assert_went(sgemm_of(&o), 0, 1);
    assert_int_equal(now(fake.compilations), tried);
    operands_free(&o);
}

/* ---- captures ---- */

static void *open_gate_soon(void *unused)
{
    usleep(20000);
    *gate = 0; /* the kernel is loaded while the stream is being captured */
    return unused;
}

/* A graph keeps what it was captured with. */
static void a_capture_starts_nothing_and_waits_for_what_is_being_compiled(void **state)
{
    CUgraph graph;
    pthread_t opener;
    (void)state;
    put_winner(OTHER, SIMT_LARGE, 5, false);
    struct operand_set o = arrive_tuned(TEXT, 0), other = operands_make(OTHER, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    wait_for_compiler();
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_went(sgemm_of(&other), 0, 1);
    assert_int_equal(*waiting, 1);
    assert_int_equal(pthread_create(&opener, NULL, open_gate_soon, NULL), 0);
    assert_went(sgemm_of(&o), 1, 0);
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_went(sgemm_of(&o), 1, 0);
    operands_check(&o, 1, "after a capture");
    call_until_tuned(&other);
    operands_free(&o);
    operands_free(&other);
}

/* ---- threads ---- */

enum { THREADS = 6, CALLS = 400 };

static void *call_often(void *operands)
{
    CUstream own;
    blas_handle handle;
    struct operand_set *o = operands;
    const struct problem *p = &o->problem;
    int failed = 0;
    use_primary_context();
    cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    cublasCreate_v2(&handle);
    cublasSetStream_v2(handle, own);
    for (int i = 0; i < CALLS; i++)
        failed += cublasSgemm_v2(handle, 0, 0, (int)p->n, (int)p->m, (int)p->k, &one, o->b, (int)p->ldb, o->a,
                                 (int)p->lda, &zero, o->c, (int)p->ldc) != 0;
    cublasDestroy_v2(handle);
    cuda.StreamDestroy(own);
    return failed ? operands : NULL;
}

static void threads_get_right_results_before_and_after(void **state)
{
    static const char *const texts[] = {TEXT, OTHER, "sgemm:nn:48x24x32"};
    struct operand_set sets[THREADS];
    pthread_t threads[THREADS];
    void *failed;
    (void)state;
    setenv("FAKE_NVRTC_MS", "5", 1);
    put_winner(texts[0], SIMT, 5, false);
    put_winner(texts[1], SIMT_LARGE, 5, false);
    put_winner(texts[2], SIMT, 5, false);
    arrive();
    for (int i = 0; i < THREADS; i++) sets[i] = operands_make(texts[i % 3], 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &sets[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
        operands_check(&sets[i], 1, "a thread");
    }
    for (int i = 0; i < 3; i++) call_until_tuned(&sets[i]);
    assert_int_equal(now(fake.compilations), 2); /* two problems share a kernel */
    for (int i = 0; i < THREADS; i++) operands_free(&sets[i]);
}

/* ---- contexts that go ---- */

static void a_context_that_is_reset_meanwhile_gets_its_kernel_anew(void **state)
{
    CUcontext context;
    (void)state;
    put_winner(OTHER, SIMT_LARGE, 5, false);
    struct operand_set o = arrive_tuned(TEXT, 0), other = operands_make(OTHER, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    assert_went(sgemm_of(&other), 0, 1); /* waits for its turn */
    wait_for_compiler();
    cuda.CtxGetCurrent(&context);
    cuda.StreamDestroy(stream);
    fake.reset(context);
    cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cublasSetStream_v2(blas_context, stream);
    assert_went(sgemm_of(&o), 0, 1);
    *gate = 0;
    call_until_tuned(&o);
    call_until_tuned(&other);
    assert_int_equal(now(fake.stale_launches), 0);
    assert_int_equal(now(fake.loads), 2); /* nothing for the context that has gone */
    operands_free(&o);
    operands_free(&other);
}

/* ---- children and ends ---- */

static void a_child_that_is_forked_meanwhile_calls_and_ends(void **state)
{
    int status = -1;
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    wait_for_compiler();
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        program_blas_calls = 0;
        const int wrong = sgemm_of(&o) != 0 || program_blas_calls != 1;
#ifdef GT_SANITIZED
        _exit(wrong); /* what the other thread holds would be a leak here */
#else
        exit(wrong);
#endif
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    *gate = 0;
    call_until_tuned(&o);
    operands_free(&o);
}

/* The gate stays shut: only what is abandoned ends. */
static void end_while_it_compiles(void **state)
{
    (void)state;
    put_winner(OTHER, SIMT_LARGE, 5, false);
    struct operand_set o = arrive_tuned(TEXT, 0), other = operands_make(OTHER, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    assert_went(sgemm_of(&other), 0, 1);
    wait_for_compiler();
    operands_free(&o);
    operands_free(&other);
}

static struct operand_set late;

static void capture_late(void)
{
    alarm(END_S);
    cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    sgemm_of(&late); /* what is abandoned is not waited for */
    _exit(0);
}

/* A handler that runs after the drop-in's own. */
static void a_capture_at_the_very_end_waits_for_nothing(void **state)
{
    (void)state;
    atexit(capture_late);
    put_winner(OTHER, SIMT_LARGE, 5, false);
    struct operand_set o = arrive_tuned(TEXT, 0);
    late = operands_make(OTHER, 0);
    shut_gate();
    assert_went(sgemm_of(&o), 0, 1);
    assert_went(sgemm_of(&late), 0, 1);
    wait_for_compiler();
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(cublas_computes_until_the_kernel_is_there),
    {"with_wait_the_first_call_is_the_kernels", with_wait_the_first_call_is_the_kernels, "GEMMTUNE_WAIT",
     "1"},
    SCENARIO(what_the_cache_holds_answers_the_first_call),
    SCENARIO(what_ships_answers_the_first_call_without_a_compiler),
    SCENARIO(without_a_compiler_cublas_computes_for_good),
    SCENARIO(a_kernel_that_the_compiler_refuses_is_asked_for_once),
    SCENARIO(a_capture_starts_nothing_and_waits_for_what_is_being_compiled),
    SCENARIO(threads_get_right_results_before_and_after),
    SCENARIO(a_context_that_is_reset_meanwhile_gets_its_kernel_anew),
    SCENARIO(a_child_that_is_forked_meanwhile_calls_and_ends),
    SCENARIO(end_while_it_compiles),
    SCENARIO(a_capture_at_the_very_end_waits_for_nothing),
};

/* ---- ends, seen from outside ---- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void the_end_waits_for_no_compilation(void **state)
{
    (void)state;
    const double from = now_s();
    assert_int_equal(scenario_start("end_while_it_compiles", NULL), 0);
    assert_true(now_s() - from < END_S);
}

static void the_log_says_why_cublas_computes(void **state)
{
    (void)state;
    const char *said = scenario_log("cublas_computes_until_the_kernel_is_there");
    static const char why[] = "-> cuBLAS: its tuned kernel is being compiled";
    const char *compiling = strstr(said, why);
    if (!compiling || !strstr(compiling, "-> tuned kernel:")) fail_msg("said: %s", said);
    if (strstr(compiling + sizeof why, why)) fail_msg("said twice: %s", said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test(the_end_waits_for_no_compilation),
        cmocka_unit_test(the_log_says_why_cublas_computes),
    };
    const struct scenario_group group = {.name = "test_dropin_meanwhile",
                                         .scenarios = scenarios,
                                         .count = (int)(sizeof scenarios / sizeof *scenarios),
                                         .more = more,
                                         .more_count = (int)(sizeof more / sizeof *more),
                                         .setup = fakes_setup,
                                         .teardown = store_teardown};
    return scenarios_run(argc, argv, &group);
}

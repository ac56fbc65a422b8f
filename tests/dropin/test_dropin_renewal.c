/* A program under the drop-in while the database changes: its calls take the new winner, its graphs keep what
 * they have. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT "sgemm:nn:16x24x32"

enum { PATIENCE_MS = 20000 };

/* A tuner stores a winner, or (config "cublas") that cuBLAS is faster: in a process of its own, as it is,
 * since this one has two copies of SQLite. */
static void tuner_puts(const char *problem, const char *config, const char *time_us)
{
    const char *words[] = {"test_dropin_renewal", "put", store_path, problem, config, time_us, NULL};
    char *argv[sizeof words / sizeof *words];
    pid_t child;
    int status;
    memcpy(argv, words, sizeof argv);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int put(char **words)
{
    const bool ours = strcmp(words[2], "cublas") != 0;
    snprintf(store_path, sizeof store_path, "%s", words[0]);
    put_raced(words[1], ours ? words[2] : SIMT, atof(words[3]), ours ? 1.25 : 0.9, false, false);
    return 0;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Calls until one makes so many launches of kernels with so many threads (0: any). */
static void await(const struct operand_set *o, int launches, unsigned threads)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        *fake.launch_count = program_blas_calls = 0;
        assert_int_equal(sgemm_of(o), 0);
        assert_int_equal(program_blas_calls, *fake.launch_count == 0); /* each is answered once */
        if (*fake.launch_count == launches &&
            (launches == 0 || !threads || fake.launches[0].threads == threads))
            return;
        rest();
    }
    fail_msg("no call made %d launches", launches);
}

static void new_winners_are_used_without_a_restart(void **state)
{
    (void)state;
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false); /* the database is there, without a winner for it */
    arrive();
    struct operand_set o = operands_make(TEXT, 0);
    assert_went(sgemm_of(&o), 0, 1);
    tuner_puts(TEXT, SIMT, "5");
    await(&o, 1, 0);
    operands_check(&o, 1, "the first winner");
    const unsigned threads = fake.launches[0].threads;
    const int compiled = __atomic_load_n(fake.compilations, __ATOMIC_SEQ_CST);
    tuner_puts(TEXT, SIMT_LARGE, "4");
    for (int i = 0; __atomic_load_n(fake.compilations, __ATOMIC_SEQ_CST) == compiled && i < PATIENCE_MS; i++)
        rest(); /* by no call */
    assert_int_equal(__atomic_load_n(fake.compilations, __ATOMIC_SEQ_CST), compiled + 1);
    await(&o, 1, 2 * threads);
    operands_check(&o, 1, "the second winner");
    tuner_puts(TEXT, "cublas", "6");
    await(&o, 0, 0);
    tuner_puts(TEXT, SIMT, "3");
    await(&o, 1, threads);
    operands_free(&o);
}

static void a_problem_of_cublaslt_is_asked_for_again(void **state)
{
    (void)state;
    put_winner("sgemm:nn:64x64x64", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make(TEXT, 0);
    struct lt_call x = lt_make();
    assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
    tuner_puts(TEXT, SIMT, "5");
    *fake.launch_count = 0;
    for (int i = 0; *fake.launch_count == 0 && i < PATIENCE_MS; i++) {
        assert_int_equal(lt_run(&x, &o, &zero, o.c), 0);
        rest();
    }
    assert_int_equal(*fake.launch_count, 1);
    lt_free(&x);
    operands_free(&o);
}

/* The kernels that it holds are not unloaded: the fake driver counts launches of what is gone. */
static void a_captured_graph_stays_as_it_is(void **state)
{
    CUgraph graph;
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    assert_went(sgemm_of(&o), 1, 0);
    const int loaded = __atomic_load_n(fake.modules, __ATOMIC_SEQ_CST);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_went(sgemm_of(&o), 1, 0);
    const unsigned threads = fake.launches[0].threads;
    tuner_puts(TEXT, SIMT_LARGE, "4");
    await(&o, 1, 2 * threads); /* also where it is found during the capture */
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(__atomic_load_n(fake.modules, __ATOMIC_SEQ_CST), loaded + 1); /* both */
    assert_int_equal(*fake.stale_launches, 0);
    operands_free(&o);
}

static void *call_once(void *operands)
{
    use_primary_context();
    return sgemm_of(operands) ? operands : NULL;
}

/* The winner that is being prepared loses its place before it is there. */
static void a_winner_that_comes_during_a_compilation_is_used(void **state)
{
    enum { NOTICED_MS = 400 }; /* twenty looks at the database */
    pthread_t thread;
    void *failed, *nvrtc = dlopen(FAKE_NVRTC, RTLD_NOW);
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    assert_non_null(nvrtc);
    _Atomic int *gate = dlsym(nvrtc, "fake_gate"), *waiting = dlsym(nvrtc, "fake_waiting");
    assert_true(gate && waiting);
    *gate = 1;
    assert_int_equal(pthread_create(&thread, NULL, call_once, &o), 0);
    while (*waiting == 0) rest();
    tuner_puts(TEXT, SIMT_LARGE, "4");
    for (int i = 0; i < NOTICED_MS; i++) rest();
    *gate = 0;
    pthread_join(thread, &failed);
    assert_null(failed);
    await(&o, 1, 2 * fake.launches[0].threads);
    operands_check(&o, 1, "the second winner");
    operands_free(&o);
}

static void without_renewal_what_was_known_stays(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned(TEXT, 0);
    assert_went(sgemm_of(&o), 1, 0);
    const unsigned threads = fake.launches[0].threads;
    tuner_puts(TEXT, SIMT_LARGE, "4");
    for (int i = 0; i < 300; i++) {
        assert_went(sgemm_of(&o), 1, 0);
        assert_int_equal(fake.launches[0].threads, threads);
        rest();
    }
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    {"new_winners_are_used_without_a_restart", new_winners_are_used_without_a_restart, "GEMMTUNE_RENEW_S",
     "0.02"},
    {"a_problem_of_cublaslt_is_asked_for_again", a_problem_of_cublaslt_is_asked_for_again, "GEMMTUNE_RENEW_S",
     "0.02"},
    {"a_winner_that_comes_during_a_compilation_is_used", a_winner_that_comes_during_a_compilation_is_used,
     "GEMMTUNE_RENEW_S", "0.02"},
    {"a_captured_graph_stays_as_it_is", a_captured_graph_stays_as_it_is, "GEMMTUNE_RENEW_S", "0.02"},
    {"without_renewal_what_was_known_stays", without_renewal_what_was_known_stays, "GEMMTUNE_RENEW_S", "0"},
};

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "put") == 0) return put(argv + 2);
    return dropin_main(argc, argv, "test_dropin_renewal", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}

/* Calls of cublasLtMatmul that a thread repeats: answered with the call's own handle and descriptor where an
 * algorithm of the program's cublasLt has won, and without another question where nothing has changed. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the program's own cublasLt. */
#define OWN_ALGORITHM                                                                                        \
    "cublaslt ALGO=7 TILE_ID=0 STAGES_ID=0 SPLIT_K=1 SUMS=0 SWIZZLE=0 CUSTOM=0 INNER_ID=0 CLUSTER_ID=0 "     \
    "WORKSPACE=1024 VERSION=130100 W0=7 W1=0 W2=5 W3=0 W4=0 W5=0 W6=0 W7=0 W8=0 W9=0 W10=0 W11=0 W12=0 "     \
    "W13=0 W14=0 W15=0"
enum { OWN_MARK = 5, NOT_SUPPORTED = 15 };

static _Alignas(256) char memory[PROGRAM_LT_WORKSPACE];

static struct operand_set arrive_with_algorithm(void)
{
    setenv("GEMMTUNE_LIBCUBLASLT", PROGRAM_BLAS, 1);
    put_winner("sgemm:nn:16x24x32", OWN_ALGORITHM, 5, false);
    arrive();
    return operands_make("sgemm:nn:16x24x32", 0);
}

static int run_with(const struct lt_call *x, const struct operand_set *o, const float *alpha,
                    const float *beta, const void *a, void *workspace)
{
    return cublasLtMatmul(lt_context, x->desc, alpha, o->b, x->a, a, x->b, beta, o->c, x->c, o->c, x->c, NULL,
                          workspace, workspace ? PROGRAM_LT_WORKSPACE : 0, stream);
}

/* The last call was the program's own, with this algorithm; 0: as it came. */
static void assert_own(const struct lt_call *x, uint64_t mark)
{
    assert_ptr_equal(program_lt_last.handle, lt_context);
    assert_ptr_equal(program_lt_last.desc, x->desc);
    assert_int_equal(program_lt_last.algorithm[1], mark);
}

TEST(an_algorithm_computes_the_program_s_own_call)
{
    struct operand_set o = arrive_with_algorithm();
    struct lt_call x = lt_make();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
        assert_own(&x, OWN_MARK);
        assert_ptr_equal(program_lt_last.workspace, memory);
        operands_check(&o, 1, "an algorithm");
    }
    program_blas_idle = 1; /* computing asks questions, too */
    program_lt_questions = 0;
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, OWN_MARK);
    assert_int_equal(program_lt_questions, 0);
    assert_int_equal(program_lt_calls, 4);
    lt_free(&x);
    operands_free(&o);
}

/* Each call differs from the one before in one thing that counts. */
TEST(a_call_that_differs_is_decided_anew)
{
    static const float none = 0;
    struct operand_set o = arrive_with_algorithm(), skewed = operands_make("sgemm:nn:16x24x32", 1);
    struct lt_call x = lt_make(), other;
    const int turned = BLAS_OP_T, sums = 16;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
        assert_own(&x, OWN_MARK);
        assert_int_equal(run_with(&x, &skewed, &one, &zero, skewed.a, memory), 0); /* alignment */
        assert_own(&x, 0);
        assert_int_equal(run_with(&x, &o, &one, &one, o.a, memory), 0); /* it adds to C: another problem */
        assert_own(&x, 0);
        assert_int_equal(run_with(&x, &o, &none, &zero, o.a, memory), 0); /* nothing to compute */
        assert_own(&x, 0);
        assert_int_equal(run_with(&x, &o, &one, &zero, o.a, NULL), 0); /* ours has the workspace */
        assert_ptr_not_equal(program_lt_last.handle, lt_context);
        assert_int_equal(program_lt_last.algorithm[1], OWN_MARK);
        operands_check(&o, 1, "without a workspace");
        other = lt_make();
        cublasLtMatmulDescSetAttribute(other.desc, LT_DESC_SM_COUNT_TARGET, &sums, sizeof sums);
        assert_int_equal(run_with(&other, &o, &one, &zero, o.a, memory), 0); /* not the whole GPU */
        assert_own(&other, 0);
        lt_free(&other);
    }
    program_blas_idle = 1; /* makes no sense */
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_TRANSA, &turned, sizeof turned);
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, 0);
    lt_free(&x);
    operands_free(&o);
    operands_free(&skewed);
}

/* cublasLt computes the call as it came, and no call comes back to the algorithm. */
TEST(an_algorithm_that_is_refused_is_given_up)
{
    struct operand_set o = arrive_with_algorithm();
    struct lt_call x = lt_make();
    for (int i = 0; i < 3; i++) assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, OWN_MARK);
    program_lt_refuses = NOT_SUPPORTED;
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, 0);
    operands_check(&o, 1, "after a refusal");
    program_lt_refuses = 0;
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, 0);
    lt_free(&x);
    operands_free(&o);
}

static void *repeat(void *unused)
{
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    int wrong = 0;
    use_primary_context();
    for (int i = 0; i < 50; i++) {
        wrong += run_with(&x, &o, &one, &zero, o.a, memory) != 0;
        wrong += program_lt_last.algorithm[1] != OWN_MARK;
    }
    operands_check(&o, 1, "a thread");
    lt_free(&x);
    operands_free(&o);
    return wrong ? unused : NULL;
}

/* More threads than at once: a table is taken over from one that has ended. */
TEST(threads_have_shortcuts_of_their_own)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    struct operand_set o = arrive_with_algorithm();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, repeat, &o), 0);
        for (int i = 0; i < THREADS; i++) {
            void *wrong;
            assert_int_equal(pthread_join(thread[i], &wrong), 0);
            assert_null(wrong);
        }
    }
    operands_free(&o);
}

/* Kernels of ours are repeated, too, in the context that is current. */
TEST(a_kernel_is_repeated_in_its_context_only)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    CUcontext first;
    for (int i = 0; i < 4; i++) {
        const int questions = program_lt_questions;
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        operands_check(&o, 1, "a kernel");
        if (i > 1) assert_int_equal(program_lt_questions, questions);
    }
    assert_int_equal(cuda.CtxGetCurrent(&first), 0);
    const int loads = *fake.loads;
    assert_int_equal(cuda.CtxSetCurrent((CUcontext)(uintptr_t)0x5000), 0); /* NOLINT: any address is one */
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    assert_int_equal(*fake.loads, loads + 1); /* a kernel of that context */
    assert_int_equal(cuda.CtxSetCurrent(first), 0);
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    assert_int_equal(*fake.loads, loads + 1);
    lt_free(&x);
    operands_free(&o);
}

/* Its plan is that context's, and so is what becomes of it. */
TEST(an_algorithm_is_decided_anew_in_another_context)
{
    struct operand_set o = arrive_with_algorithm();
    struct lt_call x = lt_make();
    CUcontext first;
    for (int i = 0; i < 3; i++) assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_int_equal(cuda.CtxGetCurrent(&first), 0);
    assert_int_equal(cuda.CtxSetCurrent((CUcontext)(uintptr_t)0x5000), 0); /* NOLINT: any address is one */
    program_lt_refuses = NOT_SUPPORTED;
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, 0);
    program_lt_refuses = 0;
    assert_int_equal(cuda.CtxSetCurrent(first), 0);
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    assert_own(&x, OWN_MARK); /* it was refused elsewhere */
    lt_free(&x);
    operands_free(&o);
}

/* A call without a winner costs no question, either, once the thread has shortcuts. */
TEST(calls_without_a_winner_are_known_again)
{
    struct operand_set o = arrive_with_algorithm();
    struct lt_call x = lt_make(), other = lt_make();
    const uint64_t fewer = 12;
    cublasLtMatrixLayoutSetAttribute(other.b, LT_LAYOUT_COLS, &fewer, sizeof fewer);
    cublasLtMatrixLayoutSetAttribute(other.c, LT_LAYOUT_COLS, &fewer, sizeof fewer);
    assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
    program_blas_idle = 1; /* computing asks questions, too */
    for (int i = 0; i < 4; i++) {
        if (i == 2) program_lt_questions = 0;
        assert_int_equal(run_with(&other, &o, &one, &zero, o.a, memory), 0);
        assert_own(&other, 0);
        assert_int_equal(run_with(&x, &o, &one, &zero, o.a, memory), 0);
        assert_own(&x, OWN_MARK);
    }
    assert_int_equal(program_lt_questions, 0);
    lt_free(&x);
    lt_free(&other);
    operands_free(&o);
}

static atomic_bool go_on;

static void *call_and_end(void *o)
{
    use_primary_context();
    sgemm_of(o);
    return NULL;
}

static void *start_threads(void *o)
{
    pthread_t thread;
    while (atomic_load(&go_on))
        if (!pthread_create(&thread, NULL, call_and_end, o)) pthread_join(thread, NULL);
    return NULL;
}

static void *fork_often(void *o)
{
    enum { FORKS = 2000, PATIENCE_S = 10 };
    use_primary_context();
    sgemm_of(o);
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_S);
            pthread_exit(NULL); /* what threads leave at their end, without the locks of others */
        }
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return o;
    }
    return NULL;
}

/* Others that end may hold a lock at the moment of the fork. */
TEST(the_thread_of_a_forked_child_ends)
{
    enum { STARTERS = 6 };
    pthread_t starters[STARTERS], forker;
    void *hung;
#ifdef GT_SANITIZED
    skip(); /* the sanitizer takes locks of its own when a thread ends */
#endif
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    atomic_store(&go_on, true);
    for (int i = 0; i < STARTERS; i++)
        assert_int_equal(pthread_create(&starters[i], NULL, start_threads, &o), 0);
    assert_int_equal(pthread_create(&forker, NULL, fork_often, &o), 0);
    pthread_join(forker, &hung);
    atomic_store(&go_on, false);
    for (int i = 0; i < STARTERS; i++) pthread_join(starters[i], NULL);
    assert_null(hung);
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(an_algorithm_computes_the_program_s_own_call),
    SCENARIO(a_call_that_differs_is_decided_anew),
    SCENARIO(an_algorithm_that_is_refused_is_given_up),
    SCENARIO(threads_have_shortcuts_of_their_own),
    SCENARIO(a_kernel_is_repeated_in_its_context_only),
    SCENARIO(an_algorithm_is_decided_anew_in_another_context),
    SCENARIO(calls_without_a_winner_are_known_again),
    SCENARIO(the_thread_of_a_forked_child_ends),
};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_shortcut", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}

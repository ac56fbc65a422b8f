/* The drop-in after trouble that passes: a database that was held, a capture that was broken. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <sys/wait.h>

#define TEXT "sgemm:nn:16x24x32"

enum { CALLS = 2000 }; /* more than pass before something is tried again */

/* Calls until one is answered by a kernel; 0: none is. */
static int calls_until_answered(const struct operand_set *o)
{
    for (int i = 1; i <= CALLS; i++) {
        *fake.launch_count = 0;
        assert_int_equal(sgemm_of(o), 0);
        if (*fake.launch_count > 0) return i;
    }
    return 0;
}

/* Another process, because a process's own locks do not keep out its other SQLite, which the drop-in brings.
 */
struct writer {
    pid_t pid;
    int until; /* it holds the database until this is closed */
};

static struct writer start_writer(void)
{
    int ready[2], until[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(until), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db;
        close(until[1]);
        if (sqlite3_open(store_path, &db) || sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) ||
            write(ready[1], "", 1) != 1)
            _exit(1);
        _exit(read(until[0], &byte, 1) != 0);
    }
    assert_true(pid > 0);
    close(until[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return (struct writer){pid, until[1]};
}

static void end_writer(const struct writer *writer)
{
    int how;
    close(writer->until);
    assert_int_equal(waitpid(writer->pid, &how, 0), writer->pid);
    assert_int_equal(how, 0);
}

TEST(a_database_that_was_being_written_is_asked_later)
{
    put_winner(TEXT, SIMT, 5, false);
    const struct writer writer = start_writer();
    arrive();
    struct operand_set o = operands_make(TEXT, 0), unknown = operands_make("sgemm:nn:16x28x32", 0);
    assert_went(sgemm_of(&o), 0, 1);
    assert_went(sgemm_of(&unknown), 0, 1);
    end_writer(&writer);
    const int answered = calls_until_answered(&o);
    print_message("answered by the winner after %d calls\n", answered);
    assert_in_range(answered, 1, CALLS);
    const int compiled = *fake.compilations;
    assert_int_equal(calls_until_answered(&unknown), 0);
    assert_int_equal(*fake.compilations, compiled); /* nothing is built that is not wanted */
    operands_free(&o);
    operands_free(&unknown);
}

/* Nothing was known when the first call came: that its winner is an algorithm is found out by the call
 * itself. */
TEST(an_algorithm_that_a_pedantic_call_finds_does_not_answer_it)
{
    put_winner(TEXT, LT_ALGORITHM, 5, false);
    const struct writer writer = start_writer();
    arrive();
    struct operand_set o = operands_make(TEXT, 0);
    cublasSetMathMode(blas_context, 2); /* CUBLAS_PEDANTIC_MATH */
    assert_went(sgemm_of(&o), 0, 1);
    end_writer(&writer);
    *fake.lt_calls = program_blas_calls = 0;
    for (int i = 0; i < CALLS; i++) assert_int_equal(sgemm_of(&o), 0);
    assert_int_equal(*fake.lt_calls, 0);
    assert_int_equal(program_blas_calls, CALLS);
    cublasSetMathMode(blas_context, 0);
    assert_int_equal(sgemm_of(&o), 0);
    assert_int_equal(*fake.lt_calls, 1);
    operands_free(&o);
}

TEST(a_capture_that_was_broken_is_not_for_ever)
{
    put_winner(TEXT, SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make(TEXT, 0);
    assert_went(sgemm_of(&o), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=901", 1); /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
    assert_went(sgemm_of(&o), 0, 1);
    unsetenv("FAKE_GPU_FAIL");
    const int answered = calls_until_answered(&o);
    print_message("answered by the winner after %d calls\n", answered);
    assert_in_range(answered, 1, CALLS);
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(a_database_that_was_being_written_is_asked_later),
    {"a_log_changes_nothing_of_that", a_database_that_was_being_written_is_asked_later, "GEMMTUNE_LOG", "1"},
    SCENARIO(an_algorithm_that_a_pedantic_call_finds_does_not_answer_it),
    SCENARIO(a_capture_that_was_broken_is_not_for_ever),
};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_recovery", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}

/* Signals and budgets: what is ignored stays ignored, what is asked for happens soon, and a child that is
 * killed at its start is started again.
 */
#include "job_runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- ignored --- */

/* A run that was started with this signal ignored, and gets it in the middle. */
static void assert_goes_on(int number)
{
    setenv("FAKE_TRIAL_MS", "5", 1);
    signal(number, SIG_IGN);
    pid_t pid = start("--shape " SHAPE);
    signal(number, SIG_DFL);
    wait_for_log("trial", 5);
    kill(pid, number);
    assert_int_equal(wait_exit(pid), 0);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
}

TEST(under_nohup_a_hang_up_ends_nothing)
{
    assert_goes_on(SIGHUP);
}

TEST(an_ignored_interrupt_stays_ignored)
{
    assert_goes_on(SIGINT);
}

TEST(without_nohup_a_hang_up_is_an_interrupt)
{
    setenv("FAKE_TRIAL_MS", "100", 1);
    pid_t pid = start_until("--shape " SHAPE, "trial", 5);
    kill(pid, SIGHUP);
    assert_int_equal(wait_exit(pid), 130);
}

/* --- killed at the start --- */

TEST(children_killed_at_their_start_are_started_again)
{
    setenv("FAKE_COMPILER_DEATH", in_folder("compiler1"), 1);
    setenv("FAKE_WORKER_DEATH", in_folder("worker1"), 1);
    setenv("FAKE_WORKER_DEATH_2", in_folder("worker2"), 1);
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
}

TEST(a_child_that_always_dies_at_its_start_is_given_up)
{
    setenv("GEMMTUNE_EXE", "/bin/false", 1);
    int code = tune("--shape " SHAPE);
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    assert_int_equal(code, 9);
    assert_said("did not start");
}

/* --- prediction of many problems whose kernels are all there after the first --- */

static char *suite_of(int problems)
{
    char *path = in_folder("suite.txt");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < problems; i++) fprintf(file, "sgemm:nn:1024x1024x%d\n", 1024 + 4 * i);
    fclose(file);
    return path;
}

TEST(the_budget_of_a_prediction_ends_it)
{
    char words[512];
    snprintf(words, sizeof words, "--suite %s --gpu b200 --budget 0.2s", suite_of(2000));
    assert_int_equal(tune(words), 1);
    assert_said("the budget was spent before it");
    assert_clean_db();
}

static void assert_ended_by(int number)
{
    char words[512];
    snprintf(words, sizeof words, "--suite %s --gpu b200 --budget 60m", suite_of(2000));
    pid_t pid = start_until(words, "compile", 20);
    usleep(200000);
    kill(pid, number);
    assert_int_equal(wait_exit(pid), 130);
    assert_said("interrupted");
    assert_clean_db();
}

TEST(a_prediction_obeys_sigterm)
{
    assert_ended_by(SIGTERM);
}

TEST(a_prediction_obeys_sigint)
{
    assert_ended_by(SIGINT);
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(under_nohup_a_hang_up_ends_nothing),
    JOB_TEST(an_ignored_interrupt_stays_ignored),
    JOB_TEST(without_nohup_a_hang_up_is_an_interrupt),
    JOB_TEST(children_killed_at_their_start_are_started_again),
    JOB_TEST(a_child_that_always_dies_at_its_start_is_given_up),
    JOB_TEST(the_budget_of_a_prediction_ends_it),
    JOB_TEST(a_prediction_obeys_sigterm),
    JOB_TEST(a_prediction_obeys_sigint),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

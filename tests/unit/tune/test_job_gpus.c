/* Runs with several GPUs, with GPUs that die, and without any, with fake children. */
#include "clock.h"
#include "files.h"
#include "job_runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(two_gpus_work_on_different_problems)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "2", 1);
    assert_int_equal(
        tune("--gpus all --shape " SHAPE " --shape " SHAPE2 " --shape 2048x2048x2048 --shape 768x768x768"),
        0);
    assert_true(count_log("prepare") >= 4);
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
    assert_int_equal(census("2048x2048x2048", NULL)->total, LEGAL);
    assert_true(winner_of("768x768x768").base.time_us > 0);
}

/* The child that did this for the nth time. */
static int process_of(const char *verb, int nth)
{
    char line[1024];
    int process = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && nth > 0 && fgets(line, sizeof line, f)) {
        if (strncmp(line, verb, strlen(verb)) != 0) continue;
        nth--;
        process = atoi(line + strlen(verb));
    }
    if (f) fclose(f);
    assert_int_equal(nth, 0);
    return process;
}

/* The first problem takes 4 s, and the third is opened for its GPU after 2 s. The second ends before the
 * first does, for half of its trials are known. */
TEST(a_gpu_without_work_takes_what_another_has_not_begun)
{
    assert_int_equal(tune("--max-trials 55 --shape " SHAPE2), 0);
    unlink(in_folder("log"));
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "40", 1);
    assert_int_equal(tune("--gpus all --again --max-trials 110 --budget 8s " SUITE), 0);
    assert_int_equal(process_of("prepare", 3), process_of("verify", 1));
    assert_int_equal(times_said("configurations to choose from"), 3);
    assert_clean_db();
}

/* Times of the one say nothing of those of the other. */
TEST(no_search_goes_from_one_model_of_gpu_to_another)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "15", 1);
    assert_int_equal(tune("--gpus all --max-trials 120 " SUITE), 0);
    assert_said("the search goes on");
    unlink(in_folder("t.db"));
    setenv("FAKE_OTHER_GPU", "1", 1);
    assert_int_equal(tune("--gpus all --max-trials 120 " SUITE), 0);
    assert_null(strstr(text_of("err"), "the search goes on"));
    assert_clean_db();
}

TEST(a_dead_gpu_is_given_up_and_the_other_does_its_work)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_DEAD_GPU", "1", 1);
    assert_int_equal(tune("--gpus 0,1 --shape " SHAPE " --shape " SHAPE2), 0);
    assert_said("GPU 1 is given up");
    assert_true(winner_of(SHAPE).base.time_us > 0);
    assert_true(winner_of(SHAPE2).base.time_us > 0);
}

TEST(when_every_gpu_is_dead_the_run_ends_with_a_sentence)
{
    setenv("FAKE_DEAD_GPU", "0", 1);
    assert_int_equal(tune("--shape " SHAPE " --shape " SHAPE2), E_GPU);
    assert_said("no GPU is left");
}

/* In a later slice: first with others that wait, then as the only one that is left. */
TEST(a_run_whose_gpu_dies_when_all_have_winners_is_not_finished_and_goes_on)
{
    char dead[160];
    snprintf(dead, sizeof dead, "%s", in_folder("dead"));
    setenv("FAKE_DEAD_FROM", dead, 1);
    setenv("FAKE_TRIAL_MS", "10", 1);
    setenv("FAKE_PREPARE_MS", "200", 1);
    for (int winners = 3; winners <= 5; winners += 2) {
        pid_t pid = start(SUITE);
        wait_for_log("verify", winners);
        file_write(dead, "");
        assert_int_equal(wait_exit(pid), E_GPU);
        assert_said("no GPU is left");
        assert_null(strstr(text_of("err"), "no winner"));
        assert_int_equal(count_log("verify"), winners);
        unlink(dead);
    }
    assert_int_equal(tune(SUITE), 0);
    assert_said("the search goes on");
    static const char *const shapes[] = {SHAPE, SHAPE2, "768x768x768"};
    for (int i = 0; i < 3; i++) assert_int_equal(census(shapes[i], NULL)->total, LEGAL);
    assert_clean_db();
}

/* ---- Ctrl-C, which one thread sees ---- */

TEST(ctrl_c_ends_every_gpu_after_its_trial_and_the_same_command_goes_on)
{
    static const char words[] = "--gpus all --shape " SHAPE " --shape " SHAPE2;
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "20", 1);
    const pid_t pid = start_until(words, "trial", 30);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    const int first = census(SHAPE, NULL)->total, second = census(SHAPE2, NULL)->total;
    assert_true(first > 0 && second > 0);
    assert_int_equal(first + second, count_log("trial")); /* none was lost */
    assert_int_equal(tune(words), 0);
    assert_null(strstr(text_of("err"), "never ended"));
    assert_int_equal(census(SHAPE, NULL)->total, LEGAL);
    assert_int_equal(census(SHAPE2, NULL)->total, LEGAL);
    assert_clean_db();
}

TEST(a_second_ctrl_c_ends_every_gpu_at_once)
{
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_TRIAL_MS", "60000", 1);
    const double from = now_s();
    const pid_t pid = start_until("--gpus all --shape " SHAPE " --shape " SHAPE2, "trial", 2);
    kill(pid, SIGINT);
    usleep(300000);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    assert_true(now_s() - from < 30);
    assert_int_equal(census(SHAPE, NULL)->total + census(SHAPE2, NULL)->total, 0);
    unsetenv("FAKE_TRIAL_MS");
    assert_int_equal(tune("--max-trials 4 --shape " SHAPE), 0);
    assert_null(strstr(text_of("err"), "never ended"));
    assert_clean_db();
}

/* ---- what the machine lacks ---- */

TEST(no_driver_and_no_compiler_have_exit_codes)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--shape " SHAPE), E_GPU);
    assert_said("--gpu");
    setenv("FAKE_NO_NVRTC", "1", 1);
    assert_int_equal(tune("--shape " SHAPE), E_COMPILER);
    assert_said("NVRTC");
}

TEST(without_a_gpu_a_named_one_is_predicted_and_a_measured_winner_replaces_it)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu h200 --shape " SHAPE), 0);
    assert_true(winner_of(SHAPE).base.predicted);
    assert_true(winner_of(SHAPE).base.ratio == 0);
    assert_string_equal(winner_of(SHAPE).rival, "");
    assert_false(winner_of(SHAPE).errors.measured || winner_of(SHAPE).rival_errors.measured);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_PREDICTED], 64);
    unsetenv("FAKE_DEVICES");
    assert_int_equal(tune("--gpu h200 --shape " SHAPE), 0); /* now it is here */
    assert_false(winner_of(SHAPE).base.predicted);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], LEGAL);
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu h200 --again --shape " SHAPE), 0);
    assert_false(winner_of(SHAPE).base.predicted); /* and stays */
}

TEST(an_unknown_gpu_is_refused_with_the_known_ones)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu voodoo2 --shape " SHAPE), E_INPUT);
    assert_said("h200");
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(two_gpus_work_on_different_problems),
    JOB_TEST(a_gpu_without_work_takes_what_another_has_not_begun),
    JOB_TEST(no_search_goes_from_one_model_of_gpu_to_another),
    JOB_TEST(a_dead_gpu_is_given_up_and_the_other_does_its_work),
    JOB_TEST(when_every_gpu_is_dead_the_run_ends_with_a_sentence),
    JOB_TEST(a_run_whose_gpu_dies_when_all_have_winners_is_not_finished_and_goes_on),
    JOB_TEST(ctrl_c_ends_every_gpu_after_its_trial_and_the_same_command_goes_on),
    JOB_TEST(a_second_ctrl_c_ends_every_gpu_at_once),
    JOB_TEST(no_driver_and_no_compiler_have_exit_codes),
    JOB_TEST(without_a_gpu_a_named_one_is_predicted_and_a_measured_winner_replaces_it),
    JOB_TEST(an_unknown_gpu_is_refused_with_the_known_ones),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

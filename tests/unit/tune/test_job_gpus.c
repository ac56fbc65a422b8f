/* Runs with several GPUs, with GPUs that die, and without any, with fake children. */
#include "clock.h"
#include "files.h"
#include "job.h"
#include "job_runs.h"
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* ---- threads in an order that is rare, which the linker sends here first ---- */

static bool
    slow_to_open; /* the space of the first problem: its worker prepares it, dies and is back meanwhile */
static bool
    second_waits; /* the first GPU has the first problem, the thread of the second waits for the children */

/* The process that did this for this problem or configuration, 0 if none has. */
static pid_t process_with(const char *verb, const char *part)
{
    char line[1024];
    pid_t pid = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, verb, strlen(verb)) == 0 && strstr(line, part)) pid = atoi(line + strlen(verb));
    if (f) fclose(f);
    return pid;
}

enum status __wrap_field_open(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                              int64_t workspace_bytes, bool or_library, struct field *field);
enum status __real_field_open(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                              int64_t workspace_bytes, bool or_library, struct field *field);
enum status __wrap_field_open(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                              int64_t workspace_bytes, bool or_library, struct field *field)
{
    FILE *log = fopen(getenv("FAKE_LOG"), "a"); /* in_folder is for one thread */
    fprintf(log, "open %d\n", (int)getpid());
    fclose(log);
    if (slow_to_open && problem->m == 1024) {
        const int greeted = count_log("hello");
        pid_t worker;
        while (!(worker = process_with("prepare", SHAPE))) usleep(5000);
        usleep(300000); /* its answer is taken, */
        kill(worker, SIGKILL);
        wait_for_log("hello", greeted + 1);
        usleep(300000); /* and so is that it is back */
    }
    return __real_field_open(space, problem, gpu, workspace_bytes, or_library, field);
}

enum status __wrap_deal_next(struct gpu_worker *gpu);
enum status __real_deal_next(struct gpu_worker *gpu);
enum status __wrap_deal_next(struct gpu_worker *gpu)
{
    static bool dealt;
    while (second_waits && gpu->number == 1 && !dealt && !gpu->run->gpu[0].now) {
        pthread_mutex_unlock(&gpu->run->lock);
        usleep(1000);
        pthread_mutex_lock(&gpu->run->lock);
    }
    dealt |= gpu->number == 1;
    return __real_deal_next(gpu);
}

enum status __wrap_run_wait(struct run *run);
enum status __real_run_wait(struct run *run);
enum status __wrap_run_wait(struct run *run)
{
    if (second_waits && !run->polling && syscall(SYS_gettid) == getpid()) {
        pthread_mutex_unlock(&run->lock);
        usleep(1000);
        pthread_mutex_lock(&run->lock);
    }
    return __real_run_wait(run);
}

TEST(a_worker_that_dies_after_its_preparation_prepares_anew_before_it_tries)
{
    setenv("FAKE_DEVICES", "2", 1);
    slow_to_open = true;
    const int code = tune("--gpus all --max-trials 8 --shape " SHAPE " --shape " SHAPE2);
    slow_to_open = false;
    assert_int_equal(code, 0);
    assert_int_equal(count_log("prepare"), 3);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_MEASURED], 8);
    assert_clean_db();
}

/* The first GPU is without work when the second is given up, and takes over what that was at. */
TEST(what_a_thread_has_started_anew_outlives_its_gpu)
{
    char dead[160];
    snprintf(dead, sizeof dead, "%s", in_folder("dead"));
    assert_int_equal(tune("--shape " SHAPE), 0); /* so its second search ends at once */
    unlink(in_folder("log"));
    setenv("FAKE_DEVICES", "2", 1);
    setenv("FAKE_DEAD_FROM", dead, 1);
    setenv("FAKE_TRIAL_MS", "40", 1);
    setenv("FAKE_PREPARE_MS", "300", 1);
    second_waits = true;
    const pid_t pid = start_until("--gpus all --again --shape " SHAPE " --shape " SHAPE2, "verify", 1);
    second_waits = false;
    usleep(500000);
    const int greeted = count_log("hello");
    kill(last_process("compile"), SIGKILL);
    wait_for_log("hello", greeted + 1);
    const pid_t fresh = last_process("hello");
    file_write(dead, "");
    kill(last_process("trial"), SIGKILL);
    while (!times_said("GPU 1 is given up")) usleep(5000);
    unlink(dead);
    wait_for_log("trial", count_log("trial") + 5);
    assert_int_equal(kill(fresh, 0), 0);
    assert_int_equal(wait_exit(pid), 0);
    assert_true(winner_of(SHAPE2).base.time_us > 0);
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

/* The GPU is still at the first problem, which has no candidate, when the second is to begin. */
TEST(a_job_that_is_interrupted_before_it_begins_opens_no_search)
{
    char words[512];
    file_write(in_folder("vectors.conf"), SPACE_OF_VECTORS);
    snprintf(words, sizeof words, "--no-library --space %s --shape 1001x1001x1001 --shape " SHAPE,
             in_folder("vectors.conf"));
    setenv("FAKE_PREPARE_MS", "30000", 1);
    const pid_t pid = start_until(words, "open", 1);
    usleep(300000);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    assert_int_equal(count_log("open"), 1);
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
    JOB_TEST(a_worker_that_dies_after_its_preparation_prepares_anew_before_it_tries),
    JOB_TEST(what_a_thread_has_started_anew_outlives_its_gpu),
    JOB_TEST(ctrl_c_ends_every_gpu_after_its_trial_and_the_same_command_goes_on),
    JOB_TEST(a_job_that_is_interrupted_before_it_begins_opens_no_search),
    JOB_TEST(a_second_ctrl_c_ends_every_gpu_at_once),
    JOB_TEST(no_driver_and_no_compiler_have_exit_codes),
    JOB_TEST(without_a_gpu_a_named_one_is_predicted_and_a_measured_winner_replaces_it),
    JOB_TEST(an_unknown_gpu_is_refused_with_the_known_ones),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

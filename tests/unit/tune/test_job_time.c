/* The time of whole runs with fake children: budgets, slices, closing races. */
#include "job_runs.h"

#include "clock.h"
#include "cores.h"
#include "files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_END_S 4 /* of the process, on a busy machine */

TEST(the_budget_is_kept_with_search_race_and_check_in_it)
{
    setenv("FAKE_TRIAL_MS", "40", 1); /* all of them would take 10 s */
    setenv("FAKE_BLOCK_MS", "10", 1);
    setenv("FAKE_COMPILE_MS", "20", 1);
    setenv("FAKE_PREPARE_MS", "100", 1);
    double from = now_s();
    assert_int_equal(tune("--budget 4s --shape " SHAPE), 0);
    double took = now_s() - from;
    assert_true(took > 2.0 && took < 4.0 * 1.05 + START_END_S);
    assert_true(winner_of(SHAPE).rounds >= 3);
}

#define OVERRUN_S 2 /* as docs/searching.md promises */

static void keep_budget(const char *words, double budget_s, int code)
{
    const double from = now_s();
    const int ended = tune(words);
    const double took = now_s() - from;
    print_message("%s: %.1f s\n", words, took);
    if (ended != code) fail_msg("%d: %s", ended, text_of("err"));
    assert_true(took < budget_s + OVERRUN_S + START_END_S);
    assert_clean_db();
}

/* A trial takes four of them, a full check 23. */
TEST(calls_of_seconds_keep_the_budget_and_leave_a_winner)
{
    setenv("FAKE_LAUNCH_MS", "2500", 1);
    keep_budget("--budget 14s --shape " SHAPE, 14, 0);
    const struct db_winner w = winner_of(SHAPE);
    assert_true(w.base.time_us > 2.4e6 && w.base.anchor_us > 2.4e6 && w.base.ratio > 0.5);
    assert_in_range(census(SHAPE, NULL)->total, 1, 2);
}

TEST(calls_of_seconds_keep_the_budget_of_several_problems_and_of_a_further_search)
{
    setenv("FAKE_LAUNCH_MS", "1200", 1);
    keep_budget("--budget 6s " SUITE, 6, 1);
    assert_true(winner_of(SHAPE).base.time_us > 1.1e6);
    assert_said("not begun: the budget was over");
    keep_budget("--again --budget 6s --shape " SHAPE, 6, 0);
    assert_true(winner_of(SHAPE).base.time_us > 1.1e6);
}

TEST(slices_of_calls_of_seconds_keep_the_budget)
{
    setenv("FAKE_LAUNCH_MS", "1200", 1);
    keep_budget("--budget 18s --shape " SHAPE " --shape " SHAPE2, 18, 0);
    assert_true(winner_of(SHAPE).base.time_us > 1.1e6 && winner_of(SHAPE2).base.time_us > 1.1e6);
}

/* References, say, that take longer than all there is. */
TEST(a_preparation_that_outlasts_the_budget_is_ended_with_a_sentence)
{
    setenv("FAKE_PREPARE_MS", "60000", 1);
    keep_budget("--budget 1s --shape " SHAPE, 1, 1);
    assert_said("the budget was over before its operands");
}

/* One block multiplies all of k. */
TEST(a_call_that_is_expected_to_outlast_the_budget_is_not_begun)
{
    setenv("FAKE_TRIAL_MS", "60000", 1);
    keep_budget("--budget 1s --shape 64x64x70000000", 1, 1);
    assert_said("a call is expected to take");
    assert_int_equal(count_log("trial"), 0);
}

/* No GPU is here. In time for a few kernels, and then for the rest. */
TEST(a_prediction_goes_on_where_the_time_was_over)
{
    setenv("FAKE_DEVICES", "0", 1);
    setenv("FAKE_COMPILE_MS", "400", 1);
    assert_int_equal(tune("--gpu t4 --budget 2s --shape " SHAPE), 0);
    const int before = winner_of(SHAPE).trials;
    assert_in_range(before, 1, 20);
    unsetenv("FAKE_COMPILE_MS");
    assert_int_equal(tune("--gpu t4 --budget 60s --shape " SHAPE), 0);
    assert_null(strstr(text_of("err"), "skipped"));
    assert_said("were predicted in earlier runs");
    assert_int_equal(winner_of(SHAPE).trials, 60); /* all that are legal */
    assert_int_equal(census(SHAPE, NULL)->total, 60);
    assert_int_equal(census(SHAPE, NULL)->twice, 0);
    assert_int_equal(tune("--gpu t4 --budget 60s --shape " SHAPE), 0);
    assert_said("skipped, it was predicted");
    assert_clean_db();
}

TEST(what_the_named_gpu_cannot_hold_is_said_and_not_predicted)
{
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu t4 --shape 65536x65536x65536 --shape " SHAPE), 1);
    assert_said("its operands need 48.0 GiB, and the Tesla T4 has 14.9 GiB");
    assert_true(winner_of("65536x65536x65536").base.time_us == 0 && winner_of(SHAPE).base.time_us > 0);
    assert_int_equal(tune("--gpu h200 --shape 65536x65536x65536"), 0);
}

TEST(a_budget_is_shared_by_the_problems_of_a_suite)
{
    setenv("FAKE_TRIAL_MS", "30", 1);
    double from = now_s();
    assert_int_equal(tune("--budget 4s --shape " SHAPE " --shape " SHAPE2), 0);
    double took = now_s() - from;
    assert_true(took < 4.0 * 1.05 + START_END_S);
    int first = census(SHAPE, NULL)->total, second = census(SHAPE2, NULL)->total;
    assert_true(first > 20 && second > 20);
    assert_true(first < 3 * second && second < 3 * first);
}

#define FOUR SUITE " --shape 1280x1280x1280"

/* The libraries of the GPU's process are loaded, and it is warmed, while it prepares its first problem. */
TEST(the_first_problem_does_not_pay_for_the_start_alone)
{
    setenv("FAKE_FIRST_PREPARE_MS", "2000", 1);
    setenv("FAKE_NO_CUBLAS", "1", 1); /* else it were behind, and searched once more */
    setenv("FAKE_TRIAL_MS", "15", 1);
    keep_budget("--budget 8s --no-transfer " FOUR, 8, 0); /* two seconds each */
    const int first = census(SHAPE, NULL)->total, second = census(SHAPE2, NULL)->total;
    print_message("%d and %d trials\n", first, second);
    assert_true(first > 10 && second < 3 * first);
}

/* Two seconds for each of eight problems, all of them behind, and the last two do not use theirs. */
TEST(where_problems_have_one_slice_each_what_is_left_is_for_searching_those_that_are_behind)
{
    setenv("FAKE_FAST_CUBLAS", "1", 1);
    setenv("FAKE_TRIAL_MS", "15", 1);
    setenv("FAKE_NO_ROOM", "512x1024", 1);
    keep_budget("--budget 16s --no-transfer " FOUR " --shape 768x1024x768 --shape 512x768x512 "
                "--shape 512x1024x512 --shape 1024x512x1024",
                16, 1);
    const int searches = times_said("the search goes on"), races = times_said("its fastest race once more");
    print_message("%d searches, %d races\n", searches, races);
    assert_in_range(searches, 1, 3); /* each long enough to try something */
    assert_true(races <= searches);
}

#define MANY 12

static char *many_problems(int count)
{
    char *path = in_folder("many.txt");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < count; i++) fprintf(f, "sgemm:nn:%dx256x256\n", 4 * (i + 16));
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A second and a half for each, of which preparation, race and check take nearly half. The library proposes
 * more than there is time for. */
TEST(of_many_problems_the_last_are_searched_like_the_first)
{
    char words[256], shape[32];
    setenv("FAKE_PREPARE_MS", "150", 1);
    setenv("FAKE_TRIAL_MS", "100", 1);
    setenv("FAKE_BLOCK_MS", "7", 1);
    setenv("FAKE_CHECK_MS", "400", 1);
    setenv("FAKE_COMPILE_MS", "500", 1);
    setenv("FAKE_COMPILE_UPTO_MS", "700", 1);
    setenv("FAKE_LIBRARY", "12", 1);
    snprintf(words, sizeof words, "--jobs 16 --budget 18s --suite %s", many_problems(MANY));
    keep_budget(words, 18, 0);
    int kernels[MANY], first = 0, last = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(shape, sizeof shape, "%dx256x256", 4 * (i + 16));
        kernels[i] = census(shape, "simt")->total;
        print_message("%d ", kernels[i]);
        assert_true(kernels[i] > 0 && census(shape, "cublaslt")->total > 0);
        assert_true(winner_of(shape).rounds > 0);
        first += i < 4 ? kernels[i] : 0;
        last += i >= MANY - 4 ? kernels[i] : 0;
    }
    print_message("kernels tried: %d of the first four, %d of the last\n", first, last);
    assert_true(2 * last >= first);
}

TEST(with_time_for_it_each_problem_gets_a_first_winner_and_then_the_searches_go_on)
{
    setenv("FAKE_TRIAL_MS", "15", 1); /* all of them would take 4 s */
    double from = now_s();
    assert_int_equal(tune("--max-trials 150 " SUITE), 0);
    assert_true(now_s() - from < 60);
    const char *first = strstr(text_of("err"), "768x768x768: tuned"),
               *again = strstr(text_of("err"), "the search goes on");
    assert_true(first && again && first < again);
    static const char *const shapes[] = {SHAPE, SHAPE2, "768x768x768"};
    for (int i = 0; i < 3; i++) {
        struct census *all = census(shapes[i], NULL);
        assert_int_equal(all->total, 150);
        assert_int_equal(all->twice, 0);
        assert_true(winner_of(shapes[i]).base.time_us <= all->best_us * 1.006);
    }
    assert_true(count_log("verify") > 3);
    assert_clean_db();
}

/* What has won elsewhere is tried first, and nothing is faster. */
TEST(slices_that_find_nothing_faster_keep_the_winner_and_a_closing_race_comes_in_the_end)
{
    assert_int_equal(tune("--max-trials 4 --shape 1536x1536x1536"), 0);
    assert_int_equal(count_log("verify"), 1);
    setenv("FAKE_FAST", winner_of("1536x1536x1536").config_text, 1);
    setenv("FAKE_TRIAL_MS", "8", 1); /* not all in a second */
    assert_int_equal(tune(SUITE), 0);
    assert_int_equal(times_said("nothing faster was found"), 3);
    assert_int_equal(times_said("its fastest race once more"), 3);
    assert_int_equal(count_log("verify"), 1 + 3 + 3);
    static const char *const shapes[] = {SHAPE, SHAPE2, "768x768x768"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(census(shapes[i], NULL)->total, LEGAL);
        assert_string_equal(winner_of(shapes[i]).config_text, getenv("FAKE_FAST"));
        assert_true(winner_of(shapes[i]).rounds > 5); /* the most there are in the first second */
    }
    json_t *rows = json_loads(text_of("out"), 0, NULL);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_int_equal(strncmp(json_string_value(json_object_get(row, "result")), "tuned", 5), 0);
        assert_int_equal(json_integer_value(json_object_get(row, "trials")), LEGAL);
    }
    json_decref(rows);
    assert_clean_db();
}

/* The fastest of all, which is tried first, is found wrong after the first race. */
TEST(a_winner_that_the_check_has_refused_is_none_in_later_slices_either)
{
    char refused[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 4 --shape 1536x1536x1536"), 0);
    snprintf(refused, sizeof refused, "%s", winner_of("1536x1536x1536").config_text);
    setenv("FAKE_FAST", refused, 1);
    setenv("FAKE_REFUSE", refused, 1);
    setenv("FAKE_TRIAL_MS", "12", 1);
    assert_int_equal(tune("--max-trials 200 --strategy gp " SUITE), 0);
    assert_said("the search goes on");
    static const char *const shapes[] = {SHAPE, SHAPE2, "768x768x768"};
    for (int i = 0; i < 3; i++) { /* the others take 1 to 2 ms, evenly */
        const struct db_winner w = winner_of(shapes[i]);
        assert_string_not_equal(w.config_text, refused);
        assert_true(w.base.time_us > 950 && w.base.time_us < 1030);
        assert_true(census(shapes[i], NULL)->total >= 200);
    }
    assert_clean_db();
}

/* The first has all of the weight, and no kernel is faster than another. On a slow machine its searches are
 * not at their last percent, and go on. */
TEST(a_problem_that_is_behind_cublas_gets_time_before_the_last_percent_of_others)
{
    FILE *file = fopen(in_folder("seen.txt"), "w");
    fputs("sgemm:nn:" SHAPE "  # count=1000000 time_us=1000\nsgemm:nn:" SHAPE2 "  # count=1 time_us=1\n",
          file);
    fclose(file);
    setenv("FAKE_TRIAL_MS", "4", 1);
    setenv("FAKE_FAST", "simt", 1);
    setenv("FAKE_FAST_FOR", SHAPE2, 1);
    char words[512];
    snprintf(words, sizeof words, "--budget 12s --strategy random --from-capture %s", in_folder("seen.txt"));
    assert_int_equal(tune(words), 0);
    const char *err = text_of("err"), *other = strstr(err, SHAPE2 ": the search goes on");
    int turns = 0, trials = 0;
    for (const char *at = err; (at = strstr(at, SHAPE ": the search goes on (")) && (!other || at < other);
         turns++)
        trials = atoi(at += strlen(SHAPE ": the search goes on ("));
    print_message("%d turns of the first, the last after %d trials\n", turns, trials);
    if (turns == 0 || (turns > 1 && trials > 100)) fail_msg("%s", err);
}

TEST(closing_races_come_within_the_budget)
{
    setenv("FAKE_TRIAL_MS", "45", 1); /* all of them would take 12 s a problem */
    const double from = now_s();
    assert_int_equal(tune("--budget 16s --shape " SHAPE " --shape " SHAPE2), 0);
    assert_true(now_s() - from < 16 * 1.05 + START_END_S);
    const int closings = times_said("its fastest race once more"); /* none after a race that wants none */
    assert_true(closings == 1 || closings == 2);
    assert_true(winner_of(SHAPE).rounds >= 5 && winner_of(SHAPE2).rounds >= 5);
    assert_true(census(SHAPE, NULL)->total + census(SHAPE2, NULL)->total > 200);
    assert_clean_db();
}

TEST(an_interrupted_closing_race_leaves_the_winner_that_is_there)
{
    setenv("FAKE_BLOCK_MS", "30", 1);
    pid_t pid = start("--max-trials 20 " SUITE);
    wait_for_log("verify", 3);
    const int blocks = count_log("block");
    wait_for_log("block", blocks + 4);
    kill(pid, SIGINT);
    assert_int_equal(wait_exit(pid), 130);
    assert_said("its fastest race once more");
    assert_null(strstr(text_of("out"), "best so far"));
    assert_true(winner_of(SHAPE).base.time_us > 0 && winner_of(SHAPE).rounds <= 5);
    assert_clean_db();
}

TEST(a_winner_that_its_closing_race_finds_wrong_does_not_stay)
{
    char refuse[160];
    snprintf(refuse, sizeof refuse, "%s", in_folder("refuse"));
    setenv("FAKE_REFUSE_FROM", refuse, 1);
    setenv("FAKE_BLOCK_MS", "30", 1);
    const pid_t pid = start_until("--max-trials 20 " SUITE, "verify", 3);
    file_write(refuse, "");
    assert_int_equal(wait_exit(pid), 1);
    assert_said("its fastest race once more");
    assert_said("no winner: every finalist failed");
    assert_int_equal(times_said("its winner stays"), 0);
    assert_null(strstr(text_of("out"), "best so far"));
    assert_clean_db();
}

/* All are known from the first run: the slices of the second have nothing to try, and race. */
TEST(a_winner_of_an_earlier_run_is_not_kept_without_a_race)
{
    assert_int_equal(tune(SUITE), 0);
    const int64_t before = winner_of(SHAPE).decision_id;
    assert_int_equal(tune("--again " SUITE), 0);
    assert_int_equal(times_said("nothing faster was found"), 0);
    assert_true(winner_of(SHAPE).decision_id > before);
}

/* Killed when all have their first winners: the same command goes on with the searches, another does not. */
TEST(a_killed_run_goes_on_with_the_slices_that_it_has_not_made)
{
    setenv("FAKE_TRIAL_MS", "15", 1);
    pid_t pid = start(SUITE);
    while (count_log("verify") < 3) usleep(5000);
    usleep(300000);
    kill(pid, SIGKILL);
    wait_exit(pid);
    assert_true(winner_of("768x768x768").base.time_us > 0);
    int before = count_log("trial");
    assert_int_equal(tune("--max-trials 30 " SUITE), 0);
    assert_said("skipped");
    assert_int_equal(count_log("trial"), before);
    assert_int_equal(tune(SUITE), 0);
    assert_said("the search goes on");
    static const char *const shapes[] = {SHAPE, SHAPE2, "768x768x768"};
    for (int i = 0; i < 3; i++) { /* the trial that was killed is made again */
        struct census *all = census(shapes[i], NULL);
        assert_true(all->twice <= 1 && all->total - all->twice == LEGAL);
    }
    assert_int_equal(tune(SUITE), 0);
    assert_said("skipped");
    assert_clean_db();
}

/* In the second run each slice of the third problem fails at once. */
TEST(a_later_slice_without_a_winner_leaves_the_one_that_is_there_and_ends_nothing_for_good)
{
    setenv("FAKE_TRIAL_MS", "8", 1);
    pid_t pid = start_until(SUITE, "verify", 3);
    usleep(300000);
    kill(pid, SIGKILL);
    wait_exit(pid);
    const struct db_winner before = winner_of("768x768x768");
    setenv("FAKE_NO_ROOM", "768x768x768", 1);
    assert_int_equal(tune(SUITE), 0);
    assert_said("told to have no room");
    assert_null(strstr(text_of("err"), "no winner"));
    assert_int_equal(times_said("its winner stays"), 2);
    assert_int_equal(winner_of("768x768x768").decision_id, before.decision_id);
    unsetenv("FAKE_NO_ROOM");
    assert_int_equal(tune(SUITE), 0); /* that run has finished: nothing is left to go on with */
    assert_null(strstr(text_of("err"), "the search goes on"));
    assert_int_equal(winner_of("768x768x768").decision_id, before.decision_id);
    assert_clean_db();
}

/* The space is another in the second run, and has nothing for the third problem. */
TEST(a_problem_that_has_a_winner_and_cannot_be_opened_keeps_it_and_is_through)
{
    char words[512];
    snprintf(words, sizeof words,
             "--no-library --space %s --shape " SHAPE " --shape " SHAPE2 " --shape 1002x1002x1002",
             in_folder("some.conf"));
    assert_int_equal(symlink(GT_SOURCE_DIR "/tests/fake/space.conf", in_folder("some.conf")), 0);
    setenv("FAKE_TRIAL_MS", "8", 1);
    const pid_t pid = start_until(words, "verify", 3);
    usleep(300000);
    kill(pid, SIGKILL);
    wait_exit(pid);
    const struct db_winner before = winner_of("1002x1002x1002");
    unlink(in_folder("some.conf"));
    file_write(in_folder("some.conf"), SPACE_OF_VECTORS);
    assert_int_equal(tune(words), 0);
    assert_int_equal(times_said("its winner stays"), 1);
    assert_null(strstr(text_of("err"), "no winner"));
    json_t *rows = json_loads(text_of("out"), 0, NULL);
    const char *result = json_string_value(json_object_get(json_array_get(rows, 2), "result"));
    assert_int_equal(strncmp(result, "known", 5),
                     0); /* on a busy machine with few trials cuBLAS may have won */
    json_decref(rows);
    assert_int_equal(winner_of("1002x1002x1002").decision_id, before.decision_id);
    assert_clean_db();
}

TEST(however_short_the_budget_one_candidate_is_tried)
{
    setenv("FAKE_PREPARE_MS", "300", 1);
    assert_int_equal(tune("--budget 0.1s --shape " SHAPE), 0);
    assert_true(census(SHAPE, NULL)->total >= 1);
    assert_true(winner_of(SHAPE).base.time_us > 0);
}

static void write_space(const char *path)
{
    file_write(path,
               "[simt]\nBM = 128\nBN = 64\nBK = 8 16\nWM = 32 64\nWN = 32 64\nTM = 8\nTN = 8\n"
               "STAGES = 2 3 4\nLOADER = 0 1\nPACK = 0\nVA = 4\nVB = 4\nVC = 4\nUNROLL = 8\nSTORE_AT = 4\n"
               "MIN_BLOCKS = 1 2\nREDUCE = 0\nGROUP = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nSPLIT_K = 1\n");
}

static double time_of(const char *words)
{
    remove(in_folder("t.db"));
    const double from = now_s();
    const int code = tune(words);
    assert_true(code == 0 || code == 1);
    return now_s() - from;
}

/* Sixteen launches of each: no compiler and no GPU is at work whose answer would come. */
/* What has won elsewhere is tried first, and is wrong. */
TEST(however_short_the_budget_another_candidate_is_tried_where_one_is_not_usable)
{
    assert_int_equal(tune("--max-trials 1 --shape " SHAPE2), 0);
    setenv("FAKE_PREPARE_MS", "300", 1);
    setenv("FAKE_WRONG", winner_of(SHAPE2).config_text, 1);
    assert_int_equal(tune("--budget 0.1s --shape " SHAPE), 0);
    assert_true(census(SHAPE, NULL)->total > 1);
    assert_string_not_equal(winner_of(SHAPE).config_text, getenv("FAKE_WRONG"));
}

/* All are: the second that there is for others is kept. */
TEST(where_no_candidate_is_usable_a_short_budget_ends_all_the_same)
{
    setenv("FAKE_WRONG", "simt", 1);
    setenv("FAKE_TRIAL_MS", "50", 1);
    keep_budget("--budget 0.5s --shape " SHAPE, 0.5, 1);
    const int tried = census(SHAPE, NULL)->total;
    char said[64];
    snprintf(said, sizeof said, "none of the %d candidates tried is usable", tried);
    assert_said(said);
    assert_in_range(tried, 2, 60);
}

TEST(candidates_of_kernels_that_are_known_to_be_refused_cost_no_time)
{
    char words[256];
    write_space(in_folder("space.conf"));
    snprintf(words, sizeof words, "--space %s --shape " SHAPE, in_folder("space.conf"));
    const double usual_s = time_of(words);
    setenv("FAKE_UNBUILDABLE", "simt", 1);
    const double refused_s = time_of(words);
    assert_int_equal(census(SHAPE, NULL)->verdict[VERDICT_UNBUILDABLE], 256);
    assert_true(refused_s < usual_s + 2);
}

/* A try and a race for each takes longer than the budget: what has not begun long after its end never does,
 * and the same command goes on with it. */
TEST(a_budget_that_is_too_short_for_so_many_problems_ends_all_the_same)
{
    char words[256];
    setenv("FAKE_TRIAL_MS", "50", 1);
    snprintf(words, sizeof words, "--suite %s --budget 0.01s", many_problems(1000));
    const double from = now_s();
    assert_int_equal(tune(words), 1); /* some have no winner */
    assert_true(now_s() - from < 20); /* all of them would take 100 s */
    assert_non_null(
        strstr(text_of("err"), "the budget of 0.01 s was too short for 1000 problems, of which "));
    assert_non_null(strstr(text_of("err"), "sgemm:nn:64x256x256: tuned"));
    const int first = count_log("verify");
    assert_in_range(first, 1, 900);
    assert_int_equal(tune(words), 1);
    assert_true(count_log("verify") > first);
    assert_clean_db();
}

/* The time of a budget is for kernels: a thousand compilers would take minutes of a core to start. */
TEST(no_more_compilers_are_started_than_the_cores_can_use)
{
    const int most = 4 * cores_allowed() > 16 ? 4 * cores_allowed() : 16;
    assert_int_equal(tune("--jobs 1000 --max-trials 8 --budget 30s --shape " SHAPE), 0);
    assert_in_range(count_log("hello"), 2, most + 1); /* and the GPU's worker */
    assert_said("--jobs 1000: only ");
    assert_said(" compilers are started, because this process may use ");
    assert_int_equal(census(SHAPE, NULL)->total, 8);
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(the_budget_is_kept_with_search_race_and_check_in_it),
    JOB_TEST(calls_of_seconds_keep_the_budget_and_leave_a_winner),
    JOB_TEST(calls_of_seconds_keep_the_budget_of_several_problems_and_of_a_further_search),
    JOB_TEST(slices_of_calls_of_seconds_keep_the_budget),
    JOB_TEST(a_preparation_that_outlasts_the_budget_is_ended_with_a_sentence),
    JOB_TEST(a_call_that_is_expected_to_outlast_the_budget_is_not_begun),
    JOB_TEST(a_prediction_goes_on_where_the_time_was_over),
    JOB_TEST(what_the_named_gpu_cannot_hold_is_said_and_not_predicted),
    JOB_TEST(a_budget_is_shared_by_the_problems_of_a_suite),
    JOB_TEST(the_first_problem_does_not_pay_for_the_start_alone),
    JOB_TEST(where_problems_have_one_slice_each_what_is_left_is_for_searching_those_that_are_behind),
    JOB_TEST(of_many_problems_the_last_are_searched_like_the_first),
    JOB_TEST(with_time_for_it_each_problem_gets_a_first_winner_and_then_the_searches_go_on),
    JOB_TEST(slices_that_find_nothing_faster_keep_the_winner_and_a_closing_race_comes_in_the_end),
    JOB_TEST(a_winner_that_the_check_has_refused_is_none_in_later_slices_either),
    JOB_TEST(a_problem_that_is_behind_cublas_gets_time_before_the_last_percent_of_others),
    JOB_TEST(closing_races_come_within_the_budget),
    JOB_TEST(a_winner_that_its_closing_race_finds_wrong_does_not_stay),
    JOB_TEST(an_interrupted_closing_race_leaves_the_winner_that_is_there),
    JOB_TEST(a_winner_of_an_earlier_run_is_not_kept_without_a_race),
    JOB_TEST(a_killed_run_goes_on_with_the_slices_that_it_has_not_made),
    JOB_TEST(a_later_slice_without_a_winner_leaves_the_one_that_is_there_and_ends_nothing_for_good),
    JOB_TEST(a_problem_that_has_a_winner_and_cannot_be_opened_keeps_it_and_is_through),
    JOB_TEST(however_short_the_budget_one_candidate_is_tried),
    JOB_TEST(however_short_the_budget_another_candidate_is_tried_where_one_is_not_usable),
    JOB_TEST(where_no_candidate_is_usable_a_short_budget_ends_all_the_same),
    JOB_TEST(candidates_of_kernels_that_are_known_to_be_refused_cost_no_time),
    JOB_TEST(a_budget_that_is_too_short_for_so_many_problems_ends_all_the_same),
    JOB_TEST(no_more_compilers_are_started_than_the_cores_can_use),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

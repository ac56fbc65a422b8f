/* What a person pins and excludes, what other problems teach, and earlier searches of a sample: whole runs
 * with fake children. */
#include "job_runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of a run with a configuration: a blank in its text is no end of a word. */
static const char *with(const char *option, const char *config, const char *words)
{
    static char all[1024];
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, "%s", config);
    for (char *blank; (blank = strchr(text, ' '));) *blank = '~';
    snprintf(all, sizeof all, "%s %s %s --shape " SHAPE, option, text, words);
    return all;
}

/* A configuration that was tried and did not win. */
static void loser(char config[CONFIG_TEXT_MAX])
{
    char winner[CONFIG_TEXT_MAX];
    memcpy(winner, winner_of(SHAPE).config_text, sizeof winner);
    const struct census *all = census(SHAPE, NULL);
    assert_true(all->total > 1);
    memcpy(config, all->seen[strcmp(all->seen[0], winner) == 0], CONFIG_TEXT_MAX);
}

static struct db *open_db(void)
{
    struct db *db;
    assert_ok(db_open(in_folder("t.db"), DB_READ, &db));
    return db;
}

static bool keep_text(void *self, const struct db_search_note *note)
{
    char *text = self;
    snprintf(text + strlen(text), 1000 - strlen(text), "%s\n", note->text);
    return true;
}

/* What is known of the searches for a problem. */
static const char *notes(const char *shape)
{
    static char text[1000];
    struct problem problem;
    assert_ok(problem_parse(shape, &problem));
    const struct db_filter filter = {.problem = &problem};
    struct db *db = open_db();
    text[0] = '\0';
    assert_ok(db_notes(db, &filter, keep_text, text));
    db_close(db);
    return text;
}

static bool count_one(void *self, const struct db_preference *preference)
{
    (void)preference;
    ++*(int *)self;
    return true;
}

static int preferences(void)
{
    int count = 0;
    struct db *db = open_db();
    assert_ok(db_preferences(db, NULL, count_one, &count));
    db_close(db);
    return count;
}

/* ---- pins and exclusions ---- */

TEST(a_pinned_configuration_is_measured_and_stays_the_winner_until_it_is_unpinned)
{
    char best[CONFIG_TEXT_MAX], pin[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    memcpy(best, winner_of(SHAPE).config_text, sizeof best);
    loser(pin);
    assert_int_equal(tune(with("--pin", pin, "")), 0);
    assert_non_null(strstr(text_of("out"), "\"pinned (cuBLAS is faster)\""));
    assert_string_equal(winner_of(SHAPE).config_text, pin);
    assert_true(winner_of(SHAPE).pinned && winner_of(SHAPE).base.ratio > 0 && winner_of(SHAPE).rounds > 0);
    assert_true(winner_of(SHAPE).pin_holds);
    const int before = count_log("block");
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_said("skipped");
    assert_int_equal(count_log("block"), before);
    assert_int_equal(tune("--again --shape " SHAPE), 0);
    assert_string_equal(winner_of(SHAPE).config_text, pin);
    assert_int_equal(census(SHAPE, NULL)->total, 40); /* no other was looked for */
    assert_int_equal(tune("--unpin --max-trials 40 --shape " SHAPE), 0);
    assert_said("no longer pinned");
    assert_false(winner_of(SHAPE).pinned || winner_of(SHAPE).pin_holds);
    assert_string_not_equal(winner_of(SHAPE).config_text, pin);
    assert_int_equal(preferences(), 0);
    assert_int_equal(tune("--unpin --max-trials 41 --shape " SHAPE), 0);
    assert_said("nothing is pinned");
    assert_int_equal(census(SHAPE, NULL)->total, 41); /* a remark, and the search goes on */
    assert_clean_db();
}

/* SHAPE has one decision, which is for its pin. The search without it is killed, and words go on with it. */
static void continue_unpin(const char *words)
{
    char pin[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE2), 0);
    memcpy(pin, winner_of(SHAPE2).config_text, sizeof pin);
    assert_int_equal(tune(with("--pin", pin, "")), 0);
    setenv("FAKE_TRIAL_MS", "20", 1);
    const pid_t pid = start_until("--unpin --max-trials 20 --shape " SHAPE, "trial", count_log("trial") + 3);
    kill(pid, SIGKILL);
    wait_exit(pid);
    assert_int_equal(preferences(), 0);
    assert_true(winner_of(SHAPE).pinned); /* there is no other yet */
    assert_true(census(SHAPE, NULL)->total < 20);
    assert_int_equal(tune(words), 0);
    assert_false(winner_of(SHAPE).pinned);
    assert_true(census(SHAPE, NULL)->total >= 20);
    assert_clean_db();
}

TEST(a_killed_unpin_goes_on_with_the_same_command)
{
    continue_unpin("--unpin --max-trials 20 --shape " SHAPE);
    assert_said("nothing is pinned");
}

TEST(a_killed_unpin_goes_on_without_any_wish)
{
    continue_unpin("--max-trials 20 --shape " SHAPE);
}

TEST(a_prediction_for_a_former_pin_is_made_anew)
{
    char pin[CONFIG_TEXT_MAX];
    struct db *db;
    bool changed;
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--max-trials 10 --gpu h200 --shape " SHAPE2), 0);
    memcpy(pin, winner_of(SHAPE2).config_text, sizeof pin);
    assert_int_equal(tune(with("--pin", pin, "--gpu h200")), 0);
    assert_true(winner_of(SHAPE).pinned);
    const struct db_winner winner = winner_of(SHAPE);
    assert_ok(db_open(in_folder("t.db"), DB_WRITE, &db));
    assert_ok(db_prefer(db, &winner.gpu, &winner.base.problem, true, pin, false, &changed));
    db_close(db);
    assert_true(changed && winner_of(SHAPE).pinned);
    assert_int_equal(tune("--max-trials 10 --gpu h200 --shape " SHAPE), 0);
    assert_true(winner_of(SHAPE).base.predicted && !winner_of(SHAPE).pinned);
    assert_int_equal(tune("--max-trials 10 --gpu h200 --shape " SHAPE), 0);
    assert_said("skipped");
}

TEST(a_pin_that_computes_wrong_is_refused_and_the_winner_stays)
{
    char best[CONFIG_TEXT_MAX], pin[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    memcpy(best, winner_of(SHAPE).config_text, sizeof best);
    loser(pin);
    setenv("FAKE_REFUSE", pin, 1);
    assert_int_equal(tune(with("--pin", pin, "")), E_ABSENT);
    assert_said("not usable here: wrong (told to)");
    assert_string_equal(winner_of(SHAPE).config_text, best);
    assert_int_equal(preferences(), 0);
    unsetenv("FAKE_REFUSE");
    assert_clean_db();
}

TEST(what_is_excluded_is_not_chosen_until_it_is_included)
{
    char best[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--shape " SHAPE), 0);
    memcpy(best, winner_of(SHAPE).config_text, sizeof best);
    assert_int_equal(tune(with("--exclude", best, "")), 0);
    assert_said("is excluded");
    assert_string_not_equal(winner_of(SHAPE).config_text, best);
    assert_int_equal(tune("--again --shape " SHAPE), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, best);
    assert_int_equal(tune(with("--pin", best, "")), E_INPUT);
    assert_said("--include takes that back");
    assert_int_equal(tune(with("--include", best, "")), 0);
    assert_said("no longer excluded");
    assert_int_equal(preferences(), 0);
    assert_int_equal(tune(with("--include", best, "")), 0);
    assert_said("is not excluded");
    assert_clean_db();
}

TEST(what_is_pinned_cannot_be_excluded_before_it_is_unpinned)
{
    char pin[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    loser(pin);
    assert_int_equal(tune(with("--pin", pin, "")), 0);
    assert_int_equal(tune(with("--exclude", pin, "")), E_INPUT);
    assert_said("--unpin takes that back");
    assert_int_equal(tune(with("--exclude", pin, "--unpin --max-trials 10")), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, pin);
    assert_int_equal(preferences(), 1);
}

TEST(a_pin_may_lie_outside_of_the_space)
{
    char pin[CONFIG_TEXT_MAX];
    struct config config;
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    assert_ok(config_parse(winner_of(SHAPE).config_text, &config));
    assert_true(config_set(&config, "GROUP", 7));
    config_format(&config, pin);
    assert_int_equal(tune(with("--pin", pin, "")), 0);
    assert_string_equal(winner_of(SHAPE).config_text, pin);
}

TEST(without_the_gpu_a_pin_is_predicted_and_measured_once_it_is_there)
{
    char pin[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    loser(pin);
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune(with("--pin", pin, "--gpu h200")), 0);
    assert_string_equal(winner_of(SHAPE).config_text, pin);
    assert_true(winner_of(SHAPE).base.predicted && winner_of(SHAPE).pinned);
    unsetenv("FAKE_DEVICES");
    assert_int_equal(tune("--shape " SHAPE), 0);
    assert_string_equal(winner_of(SHAPE).config_text, pin);
    assert_true(!winner_of(SHAPE).base.predicted && winner_of(SHAPE).pinned);
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--unpin --gpu h200 --shape " SHAPE), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, pin);
    assert_false(winner_of(SHAPE).base.predicted);
}

TEST(what_cannot_be_pinned_or_excluded_is_told_and_nothing_is_stored)
{
    static const struct {
        const char *words;
        int code;
        const char *said;
    } bad[] = {
        {"--shape " SHAPE " --pin nosuch~A=1", E_INPUT, "--pin: "},
        {"--shape " SHAPE " --exclude simt~BM=128~NOSUCH=1", E_INPUT, "--exclude: "},
        {"--shape " SHAPE " --pin cublas", E_INPUT, "--pin: "},
        {"--shape " SHAPE " --pin ladder_naive", E_INPUT, "ladder_naive"},
        {"--shape " SHAPE " --shape " SHAPE2 " --unpin", E_USAGE, "one problem"},
        {"--shape " SHAPE " --unpin --pin simt", E_USAGE, "--pin"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int code = tune(bad[i].words);
        if (code != bad[i].code) fail_msg("'%s' ended with %d:\n%s", bad[i].words, code, text_of("err"));
        assert_said(bad[i].said);
    }
    struct config config;
    char text[CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 3 --shape " SHAPE), 0);
    assert_ok(config_parse(winner_of(SHAPE).config_text, &config));
    assert_true(config_set(&config, "WM", 3));
    config_format(&config, text);
    assert_int_equal(tune(with("--pin", text, "")), E_INPUT);
    assert_said("cannot be pinned for sgemm:nn:" SHAPE);
    assert_int_equal(tune(with("--exclude", text, "")), E_INPUT);
    assert_said("need not be excluded");
    assert_int_equal(preferences(), 0);
}

TEST(a_pin_is_refused_for_two_models_of_gpu)
{
    char pin[CONFIG_TEXT_MAX];
    setenv("FAKE_DEVICES", "2", 1);
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    loser(pin);
    assert_int_equal(tune(with("--pin", pin, "--gpus 0,1")), 0); /* two of one model */
    assert_int_equal(tune("--unpin --max-trials 10 --shape " SHAPE), 0);
    setenv("FAKE_OTHER_GPU", "1", 1);
    assert_int_equal(tune(with("--pin", pin, "--gpus 0,1")), E_INPUT);
    assert_said("--pin is for one model of GPU, and GPU 1 (NVIDIA H200, 131 SMs)");
    assert_int_equal(preferences(), 0);
    assert_int_equal(tune(with("--pin", pin, "--gpus 1")), 0);
    assert_int_equal(preferences(), 1);
}

/* ---- what other problems teach ---- */

TEST(trials_of_another_problem_correct_the_order_and_that_is_noted)
{
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    assert_string_equal(notes(SHAPE), "");
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE2), 0);
    assert_said("corrected by 40 trials of 1 other problem, the nearest sgemm:nn:" SHAPE);
    assert_non_null(strstr(notes(SHAPE2), "corrected by 40 trials"));
    assert_int_equal(tune("--no-transfer --max-trials 40 --shape 256x256x256"), 0);
    assert_null(strstr(text_of("err"), "corrected"));
    assert_string_equal(notes("256x256x256"), "");
    assert_int_equal(tune("--max-trials 40 --shape nt:256x256x256"), 0);
    assert_said("of 3 other problems, the nearest sgemm:nn:256x256x256");
    assert_int_equal(tune("--max-trials 40 --hot --shape tn:256x256x256"), 0);
    assert_null(strstr(text_of("err"), "corrected")); /* all were timed with a cold cache */
    assert_clean_db();
}

/* However many slices a problem gets. */
TEST(what_others_teach_is_told_once_for_each_problem)
{
    setenv("FAKE_TRIAL_MS", "15", 1);
    assert_int_equal(tune("--max-trials 40 --shape nt:256x256x256"), 0);
    assert_int_equal(tune("--max-trials 150 --shape " SHAPE " --shape " SHAPE2), 0);
    assert_said("the search goes on");
    assert_int_equal(times_said("corrected by"), 2);
}

/* The configuration, measured before, is tried again and fails. */
static void store_wrong(const struct gpu *gpu, const char *shape, const char *config_text)
{
    const struct db_context context = {.gpu = *gpu, .cold = true};
    const struct outcome wrong = outcome_failed(VERDICT_WRONG, "told to");
    struct config config;
    struct problem problem;
    struct db *db;
    int64_t run, attempt;
    assert_ok(config_parse(config_text, &config));
    assert_ok(problem_parse(shape, &problem));
    assert_ok(db_open(in_folder("t.db"), DB_WRITE, &db));
    assert_ok(db_run_start(db, &context, "tune", 1, &run));
    assert_ok(db_attempt(db, run, &problem, &config, &attempt));
    assert_ok(db_record(db, attempt, &wrong));
    assert_ok(db_run_end(db, run, "finished"));
    db_close(db);
}

TEST(a_kernel_that_was_measured_and_found_wrong_later_teaches_nothing)
{
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE), 0);
    const struct db_winner winner = winner_of(SHAPE);
    store_wrong(&winner.gpu, SHAPE, winner.config_text);
    assert_int_equal(tune("--max-trials 40 --shape " SHAPE2), 0);
    assert_said("corrected by 39 trials of 1 other problem");
}

TEST(a_prediction_without_the_gpu_is_corrected_by_what_was_measured_on_it)
{
    assert_int_equal(tune("--max-trials 120 --shape " SHAPE), 0);
    setenv("FAKE_DEVICES", "0", 1);
    assert_int_equal(tune("--gpu h200 --shape " SHAPE2), 0);
    assert_said("corrected by 120 trials");
    assert_non_null(strstr(notes(SHAPE2), "corrected by 120 trials"));
    assert_true(winner_of(SHAPE2).base.predicted);
    assert_int_equal(tune("--gpu h200 --no-transfer --shape 256x256x256"), 0);
    assert_null(strstr(text_of("err"), "corrected"));
    assert_clean_db();
}

TEST(a_search_with_nothing_to_learn_from_is_noted)
{
    setenv("FAKE_WRONG", "simt", 1);
    assert_int_equal(tune("--strategy gp --max-trials 30 --shape " SHAPE), E_ABSENT);
    assert_said("nothing to learn from");
    assert_non_null(strstr(notes(SHAPE), "nothing to learn from"));
}

/* What a search over a sample has tried is known to the next one, be it in the sample or not. */
TEST(a_search_over_a_sample_is_continued)
{
    char words[900];
    assert_int_equal(tune("--space wide --strategy gp --max-trials 120 --shape " SHAPE), 0);
    assert_said("too many to list");
    assert_int_equal(census(SHAPE, NULL)->total, 120);
    assert_true(winner_of(SHAPE).legal_count > 1000000);
    assert_int_equal(tune("--space wide --strategy gp --max-trials 160 --again --shape " SHAPE), 0);
    assert_said("120 known from earlier runs are skipped");
    assert_int_equal(census(SHAPE, NULL)->total, 160);
    assert_int_equal(census(SHAPE, NULL)->twice, 0);

    const struct db_winner first = winner_of(SHAPE);
    snprintf(words, sizeof words, "--space wide --max-trials 170 --again --exclude %s", first.config_text);
    for (char *at = strstr(words, first.config_text); *at; at++)
        if (*at == ' ') *at = '~';
    strcat(words, " --shape " SHAPE);
    assert_int_equal(tune(words), 0);
    assert_string_not_equal(winner_of(SHAPE).config_text, first.config_text);
    assert_clean_db();
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(a_pinned_configuration_is_measured_and_stays_the_winner_until_it_is_unpinned),
    JOB_TEST(a_killed_unpin_goes_on_with_the_same_command),
    JOB_TEST(a_killed_unpin_goes_on_without_any_wish),
    JOB_TEST(a_prediction_for_a_former_pin_is_made_anew),
    JOB_TEST(a_pin_that_computes_wrong_is_refused_and_the_winner_stays),
    JOB_TEST(what_is_excluded_is_not_chosen_until_it_is_included),
    JOB_TEST(what_is_pinned_cannot_be_excluded_before_it_is_unpinned),
    JOB_TEST(a_pin_may_lie_outside_of_the_space),
    JOB_TEST(without_the_gpu_a_pin_is_predicted_and_measured_once_it_is_there),
    JOB_TEST(what_cannot_be_pinned_or_excluded_is_told_and_nothing_is_stored),
    JOB_TEST(a_pin_is_refused_for_two_models_of_gpu),
    JOB_TEST(trials_of_another_problem_correct_the_order_and_that_is_noted),
    JOB_TEST(what_others_teach_is_told_once_for_each_problem),
    JOB_TEST(a_kernel_that_was_measured_and_found_wrong_later_teaches_nothing),
    JOB_TEST(a_prediction_without_the_gpu_is_corrected_by_what_was_measured_on_it),
    JOB_TEST(a_search_with_nothing_to_learn_from_is_noted),
    JOB_TEST(a_search_over_a_sample_is_continued),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

/* Algorithms of cublasLt as candidates: whole runs with fake children, which propose some. */
#include "job_runs.h"

#include <stdio.h>
#include <stdlib.h>

#include <string.h>
#include <unistd.h>

#define LT "cublaslt"

/* A blank is no end of a word. Until the next call. */
static const char *as_word(const char *config)
{
    static char word[CONFIG_TEXT_MAX];
    snprintf(word, sizeof word, "%s", config);
    for (char *blank; (blank = strchr(word, ' '));) *blank = '~';
    return word;
}

TEST(what_the_library_proposes_is_tried_and_may_win)
{
    setenv("FAKE_LIBRARY", "3", 1);
    setenv("FAKE_FAST", "ALGO=2 ", 1);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, LT)->total, 3);
    assert_int_equal(census(SHAPE, NULL)->total, 23); /* the limit is of candidates that a search chose */
    assert_non_null(strstr(winner_of(SHAPE).config_text, LT " ALGO=2 "));
    assert_true(winner_of(SHAPE).base.ratio > 1.15); /* raced like any */
    assert_int_equal(winner_of(SHAPE).model_rank, 0);
    assert_int_equal(count_log("verify"), 1);
    assert_clean_db();
}

/* Nothing was compiled for them. */
TEST(no_compiler_hears_of_them)
{
    setenv("FAKE_LIBRARY", "3", 1);
    setenv("FAKE_COMPILER_CRASH", LT, 1);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, LT)->total, 3);
    assert_int_equal(census(SHAPE, LT)->verdict[VERDICT_MEASURED] + census(SHAPE, LT)->verdict[VERDICT_SLOW],
                     3);
}

TEST(a_wrong_or_crashing_one_is_a_verdict)
{
    setenv("FAKE_LIBRARY", "3", 1);
    setenv("FAKE_WRONG", "ALGO=1 ", 1);
    setenv("FAKE_CRASH", "ALGO=3 ", 1);
    setenv("FAKE_FAST", "ALGO=1 ", 1);
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, LT " ALGO=1 ")->verdict[VERDICT_WRONG], 1);
    assert_int_equal(census(SHAPE, LT " ALGO=3 ")->verdict[VERDICT_CRASHED], 2);
    assert_null(strstr(winner_of(SHAPE).config_text, LT " ALGO=1 "));
    assert_clean_db();
}

TEST(the_search_is_the_same_with_them_and_without)
{
    char without[32][CONFIG_TEXT_MAX];
    assert_int_equal(tune("--max-trials 20 --jobs 1 --no-library --shape " SHAPE), 0);
    const struct census *before = census(SHAPE, NULL);
    const int count = before->total;
    assert_int_equal(count, 20);
    memcpy(without, before->seen, sizeof without[0] * (size_t)count);
    assert_int_equal(unlink(in_folder("t.db")), 0);
    setenv("FAKE_LIBRARY", "4", 1);
    assert_int_equal(tune("--max-trials 20 --jobs 1 --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, NULL)->total, count + 4);
    for (int i = 0; i < count; i++) assert_int_equal(census(SHAPE, without[i])->total, 1);
}

/* All are known, and kernels are built, when the preparation ends. */
TEST(they_take_turns_with_kernels)
{
    char line[1024];
    int trials = 0, of_library = 0;
    setenv("FAKE_LIBRARY", "8", 1);
    setenv("FAKE_PREPARE_MS", "1000", 1);
    setenv("FAKE_TRIAL_MS", "20", 1);
    assert_int_equal(tune("--max-trials 20 --shape " SHAPE), 0);
    FILE *log = fopen(in_folder("log"), "r");
    assert_non_null(log);
    while (trials < 8 && fgets(line, sizeof line, log)) {
        if (strncmp(line, "trial ", 6) != 0) continue;
        trials++;
        of_library += strstr(line, LT) != NULL;
    }
    fclose(log);
    assert_in_range(of_library, 3, 5);
    assert_int_equal(census(SHAPE, LT)->total, 8);
}

TEST(they_can_be_left_out_and_excluded)
{
    setenv("FAKE_LIBRARY", "2", 1);
    setenv("FAKE_FAST", LT, 1);
    assert_int_equal(tune("--max-trials 10 --no-library --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, LT)->total, 0);
    assert_int_equal(tune("--max-trials 20 --again --shape " SHAPE), 0);
    char words[1024], text[CONFIG_TEXT_MAX];
    memcpy(text, winner_of(SHAPE).config_text, sizeof text);
    assert_non_null(strstr(text, LT));
    snprintf(words, sizeof words, "--exclude %s --max-trials 30 --shape " SHAPE, as_word(text));
    assert_int_equal(tune(words), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, LT));
    assert_string_not_equal(winner_of(SHAPE).config_text, text);
}

/* A run that is continued does not try them again, and a winner of another version still defends itself. */
TEST(what_an_earlier_run_tried_is_known)
{
    setenv("FAKE_LIBRARY", "3", 1);
    setenv("FAKE_FAST", "ALGO=3 ", 1);
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    const int trials = count_log("trial");
    assert_int_equal(tune("--max-trials 10 --again --shape " SHAPE), 0);
    assert_int_equal(count_log("trial"), trials);
    setenv("FAKE_LIBRARY", "2", 1); /* as a later version that does not propose the winner */
    assert_int_equal(tune("--max-trials 20 --again --shape " SHAPE), 0);
    assert_int_equal(census(SHAPE, LT)->total, 3);
    assert_non_null(strstr(winner_of(SHAPE).config_text, LT " ALGO=3 "));
}

TEST(one_can_be_pinned)
{
    setenv("FAKE_LIBRARY", "2", 1);
    setenv("FAKE_FAST", "simt", 1);
    assert_int_equal(tune("--max-trials 10 --shape " SHAPE), 0);
    char words[1024], text[CONFIG_TEXT_MAX];
    const struct census *all = census(SHAPE, LT);
    int i = 0;
    while (!strstr(all->seen[i], LT " ALGO=2 ")) i++;
    memcpy(text, all->seen[i], sizeof text);
    snprintf(words, sizeof words, "--pin %s --shape " SHAPE, as_word(text));
    assert_int_equal(tune(words), 0);
    assert_non_null(strstr(winner_of(SHAPE).config_text, LT " ALGO=2 "));
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(what_the_library_proposes_is_tried_and_may_win),
    JOB_TEST(no_compiler_hears_of_them),
    JOB_TEST(a_wrong_or_crashing_one_is_a_verdict),
    JOB_TEST(the_search_is_the_same_with_them_and_without),
    JOB_TEST(they_take_turns_with_kernels),
    JOB_TEST(they_can_be_left_out_and_excluded),
    JOB_TEST(what_an_earlier_run_tried_is_known),
    JOB_TEST(one_can_be_pinned),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

/* What a seed promises: whole runs with fake children whose compilations end in another order each time. */
#include "job_runs.h"

#include <stdlib.h>
#include <string.h>

#define TRIALS 90
#define MOST   1600
#define LARGER GT_SOURCE_DIR "/tests/fake/larger_space.conf"

static int by_text(const void *x, const void *y)
{
    return strcmp(x, y);
}

/* What was tried, sorted; the order of the trials. */
static void tried(const char *words, char sorted[TRIALS][CONFIG_TEXT_MAX],
                  char order[TRIALS][CONFIG_TEXT_MAX])
{
    char all[400];
    remove(in_folder("t.db"));
    snprintf(all, sizeof all, "%s --max-trials %d --shape " SHAPE, words, TRIALS);
    assert_int_equal(tune(all), 0);
    const struct census *c = census(SHAPE, NULL);
    assert_int_equal(c->total, TRIALS);
    memcpy(order, c->seen, TRIALS * sizeof *order);
    memcpy(sorted, c->seen, TRIALS * sizeof *sorted);
    qsort(sorted, TRIALS, sizeof *sorted, by_text);
}

TEST(a_seed_tries_the_same_whichever_compilation_ends_first)
{
    static char sorted[2][TRIALS][CONFIG_TEXT_MAX], order[2][TRIALS][CONFIG_TEXT_MAX];
    setenv("FAKE_COMPILE_UPTO_MS", "30", 1);
    setenv("FAKE_STEADY", "1", 1);
    for (int i = 0; i < 2; i++) tried("--jobs 6 --strategy gp --seed 3", sorted[i], order[i]);
    assert_memory_equal(sorted[0], sorted[1], sizeof sorted[0]);
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    setenv("FAKE_SLOW", order[0][0], 1); /* for longer than all others together */
    setenv("FAKE_SLOW_MS", "2000", 1);
    tried("--jobs 6 --strategy gp --seed 3", sorted[1], order[1]);
    assert_memory_equal(sorted[0], sorted[1], sizeof sorted[0]);
    unsetenv("FAKE_SLOW");
    tried("--jobs 6 --strategy gp --seed 4", sorted[0], order[0]);
    tried("--jobs 6 --strategy gp --seed 3", sorted[1], order[1]);
    assert_memory_not_equal(sorted[0], sorted[1], sizeof sorted[0]);
}

/* All the trials of a search that ends when it expects nothing more. */
static int tried_to_the_end(char sorted[MOST][CONFIG_TEXT_MAX])
{
    remove(in_folder("t.db"));
    assert_int_equal(tune("--jobs 6 --seed 3 --space " LARGER " --shape " SHAPE), 0);
    assert_said("nothing more is expected");
    const struct census *c = census(SHAPE, NULL);
    assert_true(c->total < MOST);
    memset(sorted, 0, MOST * sizeof *sorted);
    memcpy(sorted, c->seen, (size_t)c->total * sizeof *sorted);
    qsort(sorted, (size_t)c->total, sizeof *sorted, by_text);
    return c->total;
}

TEST(a_search_that_expects_nothing_more_has_tried_the_same_whenever_that_is_seen)
{
    static char sorted[2][MOST][CONFIG_TEXT_MAX];
    setenv("FAKE_COMPILE_UPTO_MS", "10", 1);
    setenv("FAKE_STEADY", "1", 1);
    setenv("FAKE_SMOOTH", "1", 1);
    const int first = tried_to_the_end(sorted[0]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tried_to_the_end(sorted[1]), first);
        assert_memory_equal(sorted[0], sorted[1], sizeof sorted[0]);
    }
}

/* Neither gives way to the other for ever. */
TEST(two_searches_without_a_budget_end_when_each_expects_nothing_more)
{
    setenv("FAKE_STEADY", "1", 1);
    setenv("FAKE_SMOOTH", "1", 1);
    assert_int_equal(tune("--jobs 6 --seed 3 --space " LARGER " --shape " SHAPE " --shape " SHAPE2), 0);
    assert_int_equal(times_said("nothing more is expected"), 2);
    assert_clean_db();
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(a_seed_tries_the_same_whichever_compilation_ends_first),
    JOB_TEST(a_search_that_expects_nothing_more_has_tried_the_same_whenever_that_is_seen),
    JOB_TEST(two_searches_without_a_budget_end_when_each_expects_nothing_more),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

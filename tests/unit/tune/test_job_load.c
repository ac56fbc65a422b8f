/* How the calls of a race are timed, the race under load, and energy: whole runs with fake children, of which
 * three algorithms of the library are equally fast. */
#include "job_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EQUAL "--max-trials 5 --shape " SHAPE

static void make_three_equal(void)
{
    setenv("FAKE_LIBRARY", "3", 1);
    setenv("FAKE_FAST", "ALGO=", 1);
    setenv("FAKE_STEADY", "1", 1);
}

/* "ALGO=N " of the winner. Until the next call. */
static const char *algorithm(void)
{
    static char text[16];
    const struct db_winner winner = winner_of(SHAPE);
    const char *at = strstr(winner.config_text, "ALGO=");
    assert_non_null(at);
    snprintf(text, sizeof text, "ALGO=%d ", atoi(at + 5));
    return text;
}

static struct db_evidence evidence_of(const struct db_winner *winner)
{
    struct db_evidence evidence;
    struct db *db;
    assert_ok(db_open(in_folder("t.db"), DB_READ, &db));
    assert_ok(db_evidence(db, winner->decision_id, &evidence));
    db_close(db);
    return evidence;
}

static int blocks_of(const struct db_evidence *e, enum call_timing timing)
{
    int count = 0;
    for (int i = 0; i < e->sample_count; i++) count += e->samples[i].timing == timing;
    return count;
}

TEST(at_the_power_limit_the_fastest_race_again_under_load_and_one_that_tires_loses)
{
    make_three_equal();
    assert_int_equal(tune(EQUAL), 0);
    assert_true(winner_of(SHAPE).timing == TIMING_REPEAT); /* not at its limit, and calls of 1 ms */
    char before[16];
    snprintf(before, sizeof before, "%s", algorithm());
    setenv("FAKE_CAPPED", "1", 1);
    setenv("FAKE_TIRES", before, 1);
    assert_int_equal(tune("--again " EQUAL), 0);
    const struct db_winner w = winner_of(SHAPE);
    assert_string_not_equal(algorithm(), before);
    assert_true(w.timing == TIMING_LOAD && w.rounds == 3 && !w.by_energy && w.joules == 0);
    assert_true(fabs(w.base.ratio - 1100.0 / 900) < 1e-9 && fabs(w.base.anchor_us - 1100) < 1e-9);
    struct db_evidence e = evidence_of(&w);
    assert_int_equal(blocks_of(&e, TIMING_LOAD), 3 * 4 + 1);
    assert_true(blocks_of(&e, TIMING_REPEAT) > 3 * 4);
    int slower = 0;
    for (int i = 0; i < e.sample_count; i++) {
        const struct db_race_sample *s = &e.samples[i];
        assert_true(s->sm_clock_mhz == 1410 && s->power_w == 690 && s->throttle_reasons == 4);
        if (s->runner >= 0 && strstr(e.runner_text[s->runner], before) && s->timing == TIMING_LOAD)
            slower += fabs(s->time_us - 1200) < 1e-9;
    }
    assert_int_equal(slower, 3);
    db_evidence_free(&e);
    assert_clean_db();
}

TEST(where_there_is_no_time_for_a_race_under_load_it_is_said)
{
    make_three_equal();
    setenv("FAKE_CAPPED", "1", 1);
    assert_int_equal(tune("--budget 2s " EQUAL), 0);
    assert_true(winner_of(SHAPE).timing == TIMING_REPEAT);
    assert_said("no time for a race under load");
}

TEST(the_timing_of_the_race_can_be_chosen)
{
    make_three_equal();
    assert_int_equal(tune("--timing behind " EQUAL), 0);
    const struct db_winner behind = winner_of(SHAPE);
    struct db_evidence e = evidence_of(&behind);
    assert_true(behind.timing == TIMING_BEHIND && blocks_of(&e, TIMING_BEHIND) == e.sample_count);
    db_evidence_free(&e);
    assert_int_equal(tune("--again --timing load " EQUAL), 0); /* whatever the power */
    assert_true(winner_of(SHAPE).timing == TIMING_LOAD);
    setenv("FAKE_CAPPED", "1", 1);
    assert_int_equal(tune("--again --timing repeat " EQUAL), 0);
    assert_true(winner_of(SHAPE).timing == TIMING_REPEAT);
    assert_int_equal(tune("--timing now " EQUAL), 2);
    assert_said("is not auto, repeat, behind or load");
}

TEST(short_calls_race_behind_another_kernel_unless_operands_stay_in_the_cache)
{
    setenv("FAKE_LAUNCH_MS", "0.05", 1);
    assert_int_equal(tune(EQUAL), 0);
    assert_true(winner_of(SHAPE).timing == TIMING_BEHIND);
    assert_int_equal(tune("--hot " EQUAL), 0);
    assert_said("tuned in");
}

TEST(of_the_fastest_the_one_of_least_energy_wins_where_that_is_the_objective)
{
    make_three_equal();
    assert_int_equal(tune(EQUAL), 0);
    char fastest[16], frugal[16];
    snprintf(fastest, sizeof fastest, "%s", algorithm());
    snprintf(frugal, sizeof frugal, "%s", strstr(fastest, "ALGO=1") ? "ALGO=2 " : "ALGO=1 ");
    setenv("FAKE_JOULES", "2", 1);
    setenv("FAKE_FRUGAL", frugal, 1);
    assert_int_equal(tune("--again --objective energy " EQUAL), 0);
    const struct db_winner w = winner_of(SHAPE);
    assert_string_equal(algorithm(), frugal);
    assert_true(w.by_energy && w.joules == 1 && w.rival_joules == 2);
    assert_true(w.timing == TIMING_REPEAT && fabs(w.base.ratio - 1100.0 / 900) < 1e-9); /* of times */
    assert_int_equal(tune("--objective power " EQUAL), 2);
    assert_clean_db();
}

TEST(without_a_counter_of_energy_the_fastest_wins_and_it_is_said)
{
    make_three_equal();
    assert_int_equal(tune("--objective energy " EQUAL), 0);
    const struct db_winner w = winner_of(SHAPE);
    assert_true(!w.by_energy && w.joules == 0);
    assert_true(w.timing == TIMING_REPEAT);
    assert_true(w.base.ratio > 1.2);
    assert_said("counts no energy of this GPU: the fastest won");
    assert_clean_db();
}

TEST(what_disturbed_a_race_is_said_and_kept)
{
    make_three_equal();
    setenv("FAKE_PROCESSES", "2", 1);
    setenv("FAKE_LIMIT_FROM", in_folder("answered"), 1); /* from the second answer on */
    setenv("FAKE_ANSWERED", in_folder("answered"), 1);
    assert_int_equal(tune(EQUAL), 0);
    assert_said("1 other process used the GPU during the race");
    setenv("FAKE_PROCESSES", "1", 1);
    assert_int_equal(tune("--again " EQUAL), 0);
    assert_int_equal(times_said("used the GPU"), 0);
}

const struct CMUnitTest job_tests[] = {
    JOB_TEST(at_the_power_limit_the_fastest_race_again_under_load_and_one_that_tires_loses),
    JOB_TEST(where_there_is_no_time_for_a_race_under_load_it_is_said),
    JOB_TEST(the_timing_of_the_race_can_be_chosen),
    JOB_TEST(short_calls_race_behind_another_kernel_unless_operands_stay_in_the_cache),
    JOB_TEST(of_the_fastest_the_one_of_least_energy_wins_where_that_is_the_objective),
    JOB_TEST(without_a_counter_of_energy_the_fastest_wins_and_it_is_said),
    JOB_TEST(what_disturbed_a_race_is_said_and_kept),
};
const size_t job_test_count = sizeof job_tests / sizeof *job_tests;

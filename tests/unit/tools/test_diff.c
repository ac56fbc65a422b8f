/* tune diff: what is faster or slower beyond the noise, what is drift, and which decisions are compared. */
#include "files.h"
#include "readers.h"

#include "change.h"

/* A decision of 10 rounds, whose blocks differ by 0.1 % around these times. */
static struct db_winner decide(struct db *db, const struct db_context *context, int config, double time_us,
                               double rival_us)
{
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct config runner = legal(config);
    struct db_winner w = store_winner(&problem, &runner);
    struct db_race_sample samples[20];
    for (int round = 0; round < 10; round++) {
        const double noise = 1 + 1e-4 * (round - 5);
        samples[2 * round] =
            (struct db_race_sample){.runner = -1, .round = round, .time_us = rival_us * noise};
        samples[2 * round + 1] =
            (struct db_race_sample){.runner = 0, .round = round, .time_us = time_us * noise};
    }
    w.base.time_us = time_us;
    w.base.anchor_us = rival_us;
    w.base.ratio = rival_us / time_us;
    w.base.ratio_low = 0.999 * w.base.ratio;
    w.base.ratio_high = 1.001 * w.base.ratio;
    assert_ok(db_set_winner(db, store_run(db, context), &w, &runner, 1, samples, 20));
    return w;
}

/* One file, two drivers. cublas: of the second. */
static json_t *drivers(double time_a, double rival_a, double time_b, double rival_b, const char *cublas)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    decide(db, &context, 0, time_a, rival_a);
    snprintf(context.driver, sizeof context.driver, "590.1");
    snprintf(context.cublas, sizeof context.cublas, "%s", cublas);
    decide(db, &context, 1, time_b, rival_b);
    store_close_clean(db);
    json_t *rows = RUN_JSON(cmd_diff, OK, "--driver", "580.95.05,590.1");
    assert_int_equal(json_array_size(rows), 1);
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return row;
}

static void assert_change(json_t *row, const char *change)
{
    if (strcmp(text_of(row, "change"), change) != 0) {
        char *text = json_dumps(row, 0);
        fail_msg("not %s: %s", change, text);
    }
    json_decref(row);
}

TEST(races_that_timed_their_calls_in_different_ways_do_not_compare)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = decide(db, &context, 0, 1000, 1200);
    snprintf(context.driver, sizeof context.driver, "590.1");
    w.timing = TIMING_BEHIND;
    assert_ok(db_set_winner(db, store_run(db, &context), &w, &w.config, 1, NULL, 0));
    store_close_clean(db);
    json_t *rows = RUN_JSON(cmd_diff, OK, "--driver", "580.95.05,590.1");
    assert_change(json_incref(json_array_get(rows, 0)), "timed otherwise");
    json_decref(rows);
}

TEST(a_time_beyond_both_intervals_is_faster_and_another_winner_is_told)
{
    json_t *row = drivers(1000, 1200, 900, 1200, "13.1.0");
    assert_true(fabs(number_of(row, "change_percent") + 10) < 1e-9);
    assert_true(number_of(row, "change_low") < -10 && number_of(row, "change_high") > -10);
    assert_true(number_of(row, "change_high") < -9.7);
    assert_true(json_is_false(json_object_get(row, "same_winner")));
    assert_string_equal(text_of(row, "driver_a"), "580.95.05");
    assert_string_equal(text_of(row, "driver_b"), "590.1");
    assert_change(row, "faster");
}

TEST(a_time_within_the_intervals_is_noise)
{
    assert_change(drivers(1000, 1200, 1000.4, 1200, "13.1.0"), "noise");
}

TEST(a_slower_time_is_slower)
{
    assert_change(drivers(1000, 1200, 1100, 1200, "13.1.0"), "slower");
}

TEST(what_moved_with_the_same_cublas_is_drift)
{
    assert_change(drivers(1000, 1200, 1100, 1320, "13.1.0"), "drift");
}

TEST(another_cublas_does_not_tell_of_drift)
{
    assert_change(drivers(1000, 1200, 1100, 1320, "13.2.0"), "slower");
}

TEST(where_cublas_answers_its_time_counts)
{
    json_t *row = drivers(1000, 1200, 1000, 800, "13.2.0");
    assert_true(number_of(row, "time_b_us") == 800);
    assert_string_equal(text_of(row, "winner_b"), "cublas");
    assert_change(row, "faster");
}

TEST(imported_winners_have_the_interval_of_their_ratio)
{
    struct decided a = {.used_us = {NAN, NAN, NAN}}, b = a;
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct problem problem = problem_make(64, 64, 64);
    struct db_winner w = store_winner(&problem, NULL);
    w.base.ratio = 2;
    w.base.ratio_low = 1.9;
    w.base.ratio_high = 2.1;
    w.base.time_us = 100;
    snprintf(w.config_text, sizeof w.config_text, "x");
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    w.decision_id = 1;
    assert_ok(decided_read(db, &w, &a));
    assert_true(fabs(a.used_us.low - 95) < 1e-9 && fabs(a.used_us.high - 105) < 1e-9);
    w.base.time_us = 109;
    assert_ok(decided_read(db, &w, &b));
    assert_int_equal(change_of(&a, &b).verdict, CHANGE_NOISE);
    w.base.predicted = true;
    assert_ok(decided_read(db, &w, &b));
    assert_int_equal(change_of(&a, &b).verdict, CHANGE_UNMEASURED);
    assert_int_equal(change_of(&a, NULL).verdict, CHANGE_ONLY_A);
    assert_int_equal(change_of(NULL, &b).verdict, CHANGE_ONLY_B);
    store_close_clean(db);
}

TEST(dates_choose_the_newest_decision_until_then)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    decide(db, &context, 0, 1000, 1200);
    store_close_clean(db);
    json_decref(RUN_JSON(cmd_diff, E_ABSENT, "--date", "2001-01-01,2002-01-01"));
    json_t *rows = RUN_JSON(cmd_diff, E_ABSENT, "--date", "2001-01-01,2999-01-01");
    assert_string_equal(text_of(json_array_get(rows, 0), "change"), "only in B");
    json_decref(rows);
    rows = RUN_JSON(cmd_diff, OK, "--date", "2998-01-01T00:00:00Z,2999-01-01");
    assert_string_equal(text_of(json_array_get(rows, 0), "change"), "noise");
    json_decref(rows);
    rows = RUN_JSON(cmd_diff, OK, "--changed", "--date", "2998-01-01,2999-01-01");
    assert_int_equal(json_array_size(rows), 0);
    json_decref(rows);
}

TEST(two_gpus_are_compared_by_problem)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    decide(db, &context, 0, 1000, 1200);
    snprintf(context.gpu.name, sizeof context.gpu.name, "NVIDIA H100 80GB HBM3");
    snprintf(context.gpu.id, sizeof context.gpu.id, "h100");
    decide(db, &context, 0, 1300, 1500);
    store_close_clean(db);
    json_t *rows = RUN_JSON(cmd_diff, OK, "--gpu", "h200,h100");
    assert_int_equal(json_array_size(rows), 1);
    json_t *row = json_array_get(rows, 0);
    assert_string_equal(text_of(row, "gpu"), "NVIDIA H200");
    assert_string_equal(text_of(row, "gpu_b"), "NVIDIA H100 80GB HBM3");
    assert_string_equal(text_of(row, "change"), "slower");
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(races_that_timed_their_calls_in_different_ways_do_not_compare),
        READER_TEST(a_time_beyond_both_intervals_is_faster_and_another_winner_is_told),
        READER_TEST(a_time_within_the_intervals_is_noise),
        READER_TEST(a_slower_time_is_slower),
        READER_TEST(what_moved_with_the_same_cublas_is_drift),
        READER_TEST(another_cublas_does_not_tell_of_drift),
        READER_TEST(where_cublas_answers_its_time_counts),
        READER_TEST(imported_winners_have_the_interval_of_their_ratio),
        READER_TEST(dates_choose_the_newest_decision_until_then),
        READER_TEST(two_gpus_are_compared_by_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

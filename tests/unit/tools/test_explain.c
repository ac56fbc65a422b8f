/* tune explain: why a winner is one, and what was tried. */
#include "readers.h"

#include "race_rank.h"
#include "tried.h"

TEST(explain_gives_margin_search_and_failures)
{
    make_measured();
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
    assert_int_equal(json_array_size(list), 1);
    json_t *e = json_array_get(list, 0), *race = json_object_get(e, "race"),
           *tried = json_object_get(e, "tried");
    assert_int_equal(json_array_size(race), 3);
    /* 2613 / 2600 - 1 in every round, whatever the clock did; cuBLAS last. */
    assert_true(number_of(json_array_get(race, 0), "behind") == 0);
    assert_true(fabs(number_of(json_array_get(race, 1), "behind") - 0.005) < 1e-9);
    assert_true(fabs(number_of(json_array_get(race, 2), "behind") - 0.01) < 1e-9);
    assert_string_equal(text_of(json_array_get(race, 2), "configuration"), "cublas");
    assert_true(number_of(tried, "configurations") == 13);
    assert_true(number_of(tried, "cut_off") == 1);
    assert_true(number_of(json_object_get(tried, "verdicts"), "measured") == 8);
    assert_true(number_of(json_object_get(tried, "verdicts"), "wrong") == 3);
    json_t *failures = json_object_get(e, "failures");
    assert_int_equal(json_array_size(failures),
                     3); /* wrong: one reason but for its numbers; spills; cut off */
    assert_true(number_of(json_array_get(failures, 0), "count") == 3);
    assert_string_equal(text_of(json_array_get(failures, 0), "verdict"), "wrong");
    json_decref(list);
}

/* As the library would answer it. */
TEST(a_problem_that_was_never_tuned_is_told_what_would_be_used)
{
    make_measured();
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4000");
    assert_int_equal(json_array_size(list), 1);
    json_t *e = json_array_get(list, 0), *choices = json_object_get(e, "choices"),
           *first = json_array_get(choices, 0);
    assert_true(json_is_null(json_object_get(e, "winner")));
    assert_string_equal(text_of(first, "source"), "nearest");
    assert_string_equal(text_of(first, "tuned_for"), "sgemm:nn:4096x4096x4096");
    assert_true(number_of(first, "expected_us") > 0 && number_of(first, "expected_loss") > 0);
    assert_true(number_of(json_object_get(e, "tuning"), "seconds") > 0);
    json_decref(list);
    char *printed = NULL;
    assert_int_equal(RUN(cmd_explain, &printed, "--shape", "4096x4096x4000"), OK);
    assert_non_null(strstr(printed, "none: it was never tuned"));
    assert_non_null(strstr(printed, "tuning it"));
    free(printed);
}

TEST(explain_gives_the_best_time_of_each_value)
{
    make_measured();
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
    json_t *values = json_object_get(json_array_get(list, 0), "values"), *value;
    int chosen = 0, counted = 0;
    double best = INFINITY;
    size_t i;
    json_array_foreach(values, i, value)
    {
        chosen += json_is_true(json_object_get(value, "chosen"));
        counted += (int)number_of(value, "tried");
        best = fmin(best, number_of(value, "best_us"));
    }
    struct config winner = legal(0);
    assert_int_equal(chosen, winner.template->param_count);
    assert_int_equal(counted, 8 * winner.template->param_count); /* the measured ones, once a parameter */
    assert_true(best == 2600);
    json_decref(list);
}

TEST(explain_is_readable)
{
    make_measured();
    char *printed;
    assert_ok(RUN(cmd_explain, &printed, "--shape", "4096x4096x4096", "--gpu", "h200"));
    static const char *const parts[] = {
        "sgemm:nn:4096x4096x4096 on NVIDIA H200\nwinner       ladder_coalesced ",
        "\ntime         2600.00 us, 52.86 TFLOPS\n",
        "\nx cuBLAS     1.010 (1.005..1.015 with 95 % confidence), 10 rounds against 2626.00 us of "
        "cublasSgemm\n",
        "\nmargin       +0.50 % (0.50..0.50) behind the winner in 10 common rounds\n",
        "\ntie          others could not be told apart from the fastest (within 0.1 %, or within 0.5 % and "
        "not proven slower): less shared memory, then fewer registers, then the text decided\n",
        "\npossible     500 configurations\n",
        "\ntried        13 configurations in 13 trials: 8 measured, 3 wrong, 1 spills, 1 cut off by a kill\n",
        "\nmodel        ranked the winner 3 before anything ran; the best of its first 16 reaches 98.0 % of "
        "the "
        "winner's speed\n",
        "\nWhat failed\n",
        "\nBest time by value (ladder_coalesced)\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(printed, parts[i])) fail_msg("'%s' is not in\n%s", parts[i], printed);
    free(printed);
}

TEST(a_ratio_of_fewer_than_6_rounds_has_their_range_and_not_an_interval)
{
    for (int rounds = 5; rounds <= 6; rounds++) {
        struct working w = store_begin();
        struct config config = legal(0);
        struct db_winner winner = store_winner(&w.problem, &config);
        winner.rounds = rounds;
        assert_ok(db_set_winner(w.db, w.run, &winner, &config, 1, NULL, 0));
        db_close(w.db);
        char shape[PROBLEM_TEXT_MAX], *printed;
        problem_format(&w.problem, shape);
        assert_ok(RUN(cmd_explain, &printed, "--shape", shape));
        const char *expected =
            rounds == 5
                ? "\nx cuBLAS     1.010 (1.005..1.015, range of 5 rounds) against 2626.00 us of cublasSgemm\n"
                : "\nx cuBLAS     1.010 (1.005..1.015 with 95 % confidence), 6 rounds against 2626.00 us of "
                  "cublasSgemm\n";
        if (!strstr(printed, expected)) fail_msg("'%s' is not in\n%s", expected, printed);
        free(printed);
    }
}

TEST(explain_says_that_cublas_won)
{
    static const double lost[] = {0.683, 0.994, 0.009, 1};
    static const char winner[] = "\nwinner       ladder_coalesced ",
                      best[] = "\nbest kernel  ladder_coalesced ",
                      cublas[] = "\nwinner       cuBLAS: no kernel was faster than cublasSgemm\n";
    make_measured();
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        race_again(lost[i], false);
        assert_true(is_said(cmd_explain, cublas) && is_said(cmd_explain, best) &&
                    !is_said(cmd_explain, winner));
        json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
        assert_string_equal(text_of(json_object_get(json_array_get(list, 0), "winner"), "used"), "cuBLAS");
        json_decref(list);
    }
    race_again(0, false);
    assert_true(is_said(cmd_explain, winner) && !is_said(cmd_explain, "cuBLAS:"));
    race_again(0.683, true);
    assert_true(is_said(cmd_explain, winner) && !is_said(cmd_explain, "cuBLAS:"));
    assert_true(is_said(cmd_explain, "no other is considered, though cuBLAS is faster (tune --unpin"));
}

TEST(explain_without_a_winner_shows_what_was_tried)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(4096, 4096, 4096);
    struct config config = legal(0);
    struct outcome outcome = store_outcome(2600);
    store_trial(db, store_run(db, &context), &problem, &config, &outcome);
    db_close(db);
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "winner")));
    assert_true(number_of(json_object_get(json_array_get(list, 0), "tried"), "fastest_us") == 2600);
    json_decref(list);
    list = RUN_JSON(cmd_explain, OK, "--shape", "5x5x5");
    assert_non_null(json_object_get(json_array_get(list, 0), "choices")); /* it was never tuned */
    json_decref(list);
}

TEST(a_reason_that_differs_in_numbers_only_is_one_group_and_the_newest_outcome_counts)
{
    struct working w = store_begin();
    static const char *const reasons[] = {"C[1,2] is 3.5", "C[10,20] is 1e-07", "C[1,2] is nan",
                                          "no answer in 2000 ms"};
    for (int i = 0; i < 4; i++) {
        struct config config = store_config(i);
        struct outcome outcome = outcome_failed(VERDICT_WRONG, "%s", reasons[i]);
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    struct config again = store_config(3);
    struct outcome right = store_outcome(7);
    store_trial(w.db, w.run, &w.problem, &again, &right);
    struct tried tried;
    struct db_filter filter = {.problem = &w.problem};
    assert_ok(tried_collect(w.db, &filter, true, NULL, &tried));
    assert_int_equal(tried.trials, 5);
    assert_int_equal(tried.configs, 4);
    assert_int_equal(tried.verdicts[VERDICT_WRONG], 3);
    assert_int_equal(tried.verdicts[VERDICT_MEASURED], 1);
    assert_int_equal(tried.group_count, 2);
    assert_int_equal(tried.groups[0].count, 2);
    assert_true(tried.best_us == 7);
    tried_free(&tried);
    db_close(w.db);
}

/* Of what ran in both races, the blocks under load alone count. */
TEST(a_race_under_load_ranks_those_that_ran_in_it)
{
    char texts[3][CONFIG_TEXT_MAX] = {"dropped", "second", "first"};
    struct db_race_sample samples[10];
    for (int i = 0; i < 10; i++) {
        const bool load = i >= 6;
        const int runner = load ? 1 + i % 2 : i % 3;
        samples[i] =
            (struct db_race_sample){.runner = runner,
                                    .round = load ? 2 + (i - 6) / 2 : i / 3,
                                    .timing = load ? TIMING_LOAD : TIMING_REPEAT,
                                    .time_us = load ? 100 + 2 * (runner == 1) : 70 + 10 * (2 - runner)};
        if (!load && runner == 1) samples[i].time_us = 60; /* faster before */
    }
    struct db_evidence evidence = {texts, 3, samples, 10};
    struct ranked *ranked;
    int count;
    assert_ok(race_rank(&evidence, "first", &ranked, &count));
    assert_int_equal(count, 3);
    assert_string_equal(ranked[0].text, "first");
    assert_true(ranked[0].blocks == 2 && ranked[0].median_us == 100);
    assert_string_equal(ranked[1].text, "second");
    assert_true(ranked[1].blocks == 2 && fabs(ranked[1].behind - 0.02) < 1e-12);
    assert_true(ranked[2].blocks == 2 && fabs(ranked[2].behind - 20.0 / 70) < 1e-12);
    free(ranked);
}

TEST(a_runner_that_failed_is_ranked_last_and_one_that_left_early_is_compared_in_common_rounds)
{
    char texts[3][CONFIG_TEXT_MAX] = {"fails", "leaves", "wins"};
    static const struct {
        int runner, round;
        double time_us;
    } blocks[] = {{0, 0, 90},  {1, 0, 101}, {2, 0, 100}, {0, 1, INFINITY},
                  {1, 1, 202}, {2, 1, 200}, {2, 2, 50},  {2, 3, 50}};
    struct db_race_sample samples[8];
    for (int i = 0; i < 8; i++)
        samples[i] = (struct db_race_sample){
            .runner = blocks[i].runner, .round = blocks[i].round, .time_us = blocks[i].time_us};
    struct db_evidence evidence = {texts, 3, samples, 8};
    struct ranked *ranked;
    int count;
    assert_ok(race_rank(&evidence, "wins", &ranked, &count));
    assert_int_equal(count, 3);
    assert_string_equal(ranked[0].text, "wins");
    assert_true(ranked[0].blocks == 4 && ranked[0].behind == 0);
    assert_string_equal(ranked[1].text, "leaves");
    assert_true(ranked[1].blocks == 2 && fabs(ranked[1].behind - 0.01) < 1e-12);
    assert_string_equal(ranked[2].text, "fails");
    assert_true(ranked[2].failed);
    free(ranked);
    evidence = (struct db_evidence){0};
    assert_ok(race_rank(&evidence, "wins", &ranked, &count));
    assert_int_equal(count, 0);
    free(ranked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(explain_gives_margin_search_and_failures),
        READER_TEST(a_problem_that_was_never_tuned_is_told_what_would_be_used),
        READER_TEST(explain_gives_the_best_time_of_each_value),
        READER_TEST(explain_is_readable),
        READER_TEST(explain_says_that_cublas_won),
        READER_TEST(a_ratio_of_fewer_than_6_rounds_has_their_range_and_not_an_interval),
        READER_TEST(explain_without_a_winner_shows_what_was_tried),
        READER_TEST(a_reason_that_differs_in_numbers_only_is_one_group_and_the_newest_outcome_counts),
        READER_TEST(a_race_under_load_ranks_those_that_ran_in_it),
        READER_TEST(a_runner_that_failed_is_ranked_last_and_one_that_left_early_is_compared_in_common_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What bounded a search: the arithmetic on trials made up here, and the run that is chosen. */
#include "readers.h"

#include "explain.h"

#define START_US INT64_C(1800000000000000)

enum { ROOM = 256 };

static struct pace_trial trials[ROOM];
static size_t count;

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-5 * fmax(1, fabs(y));
}

/* A trial with a kernel of its own that ends at so many seconds. */
static struct pace_trial *add(double ended_s, double wall_ms, double compile_ms)
{
    struct pace_trial *t = &trials[count];
    *t = (struct pace_trial){.config = least_config("simt"),
                             .ended_us = START_US + (int64_t)llround(1e6 * ended_s),
                             .wall_ms = wall_ms,
                             .compile_ms = compile_ms};
    assert_int_equal(t->config.template->params[0].kind, PARAM_COMPILE);
    t->config.value[0] += (int32_t)count++;
    return t;
}

/* number of them, the first of which begins at begin_s, one each_s. */
static void add_slice(int number, double begin_s, double each_s, double wall_ms, double compile_ms)
{
    for (int i = 0; i < number; i++) add(begin_s + i * each_s + 1e-3 * wall_ms, wall_ms, compile_ms);
}

static struct search_pace pace_of_all(void)
{
    struct search_pace pace;
    assert_ok(search_pace(trials, count, &pace));
    count = 0;
    return pace;
}

static void assert_says(const struct search_pace *pace, const char *expected)
{
    char text[256];
    assert_true(search_pace_text(pace, text, sizeof text));
    assert_string_equal(text, expected);
}

static void assert_says_nothing(const struct search_pace *pace)
{
    char text[256];
    assert_false(search_pace_text(pace, text, sizeof text));
    json_t *json = search_pace_json(pace);
    assert_true(json_is_null(json));
    json_decref(json);
}

TEST(compiling_is_the_limit_where_the_gpu_waits)
{
    add_slice(101, 0, 0.04, 10, 640); /* ends after 4.01 s; the first compilation began 0.64 s before */
    struct search_pace pace = pace_of_all();
    assert_int_equal(pace.trials, 101);
    assert_int_equal(pace.kernels, 101);
    assert_true(near(pace.seconds, 4.01) && near(pace.gpu_s, 1.01) && near(pace.compile_s, 64.64));
    assert_true(near(pace.compilers, 64.64 / 4.65));
    assert_int_equal(pace.limit, PACE_COMPILING);
    assert_says(&pace,
                "25 % of 4.0 s the GPU worked, compiling was the limit: 101 kernels of 0.64 s each, about "
                "14 at a time; 25 trials a second, 100 possible");
    json_t *json = search_pace_json(&pace);
    assert_string_equal(text_of(json, "limit"), "compiling");
    assert_true(near(number_of(json, "gpu_share"), 1.01 / 4.01));
    assert_true(near(number_of(json, "possible_per_second"), 100));
    json_decref(json);
}

TEST(the_gpu_is_the_limit_above_85_percent_and_both_are_from_half_of_the_time_on)
{
    static const struct {
        double wall_ms;
        enum pace_limit limit;
    } cases[] = {{87, PACE_GPU}, {83, PACE_BOTH}, {52, PACE_BOTH}, {48, PACE_COMPILING}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        add_slice(200, 0, 0.1, cases[i].wall_ms, 200);
        struct search_pace pace = pace_of_all();
        assert_int_equal(pace.limit, cases[i].limit);
    }
}

TEST(time_between_two_slices_does_not_count)
{
    add_slice(20, 0, 0.1, 50, 300);
    add_slice(30, 20, 0.1, 50, 0);
    struct search_pace pace = pace_of_all();
    assert_true(near(pace.seconds, 1.95 + 2.95) && near(pace.gpu_s, 2.5));
    assert_int_equal(pace.kernels, 20);

    /* A slice of another problem may be short. */
    add_slice(20, 0, 0.1, 50, 300);
    for (int i = 0; i < 5; i++) add(2.1 + 0.1 * i, 50, 300)->other = true;
    add_slice(30, 2.7, 0.1, 50, 0);
    pace = pace_of_all();
    assert_true(near(pace.seconds, 1.95 + 2.95) && near(pace.gpu_s, 2.5));
    assert_int_equal(pace.trials, 50);
    assert_int_equal(pace.kernels, 20);
}

TEST(waiting_for_a_slow_compiler_counts)
{
    add_slice(20, 0, 3, 100, 2950);
    struct search_pace pace = pace_of_all();
    assert_true(near(pace.seconds, 57.1) && near(pace.gpu_s, 2));
    assert_int_equal(pace.limit, PACE_COMPILING);
    assert_says(
        &pace, "4 % of 57.1 s the GPU worked, compiling was the limit: 20 kernels of 2.95 s each, about 1 at "
               "a time; 0.4 trials a second, 10 possible");
}

TEST(nothing_was_compiled_where_all_came_from_the_cache)
{
    add_slice(40, 0, 0.1, 30, 0);
    struct search_pace pace = pace_of_all();
    assert_int_equal(pace.limit, PACE_NEITHER);
    assert_says(
        &pace,
        "31 % of 3.9 s the GPU worked, neither it nor compiling was the limit: no kernel was compiled; "
        "10 trials a second, 33 possible");
    add_slice(40, 0, 0.1, 99, 0);
    pace = pace_of_all();
    assert_says(&pace,
                "99 % of 4.0 s the GPU worked, the GPU was the limit: no kernel was compiled; 10 trials a "
                "second, 10 possible");
}

TEST(a_kernel_that_several_trials_share_counts_once)
{
    const struct template *simt = template_find("simt");
    int launch = simt->param_count - 1;
    assert_int_equal(simt->params[launch].kind, PARAM_LAUNCH);
    add_slice(20, 0, 0.1, 30, 500);
    for (int i = 0; i < 10; i++) {
        trials[2 * i + 1].config = trials[2 * i].config;
        trials[2 * i + 1].config.value[launch]++;
    }
    trials[19].compile_ms = 501; /* the same configuration, compiled again */
    struct search_pace pace = pace_of_all();
    assert_int_equal(pace.kernels, 11);
    assert_int_equal(pace.trials, 20);
    assert_true(near(pace.compile_s, 5.501));

    /* Compiled for another problem before, or for this one first. */
    add_slice(24, 0, 0.1, 30, 500);
    trials[1].config = trials[0].config;
    trials[23].config = trials[22].config;
    trials[0].other = trials[23].other = true;
    trials[0].compile_ms = trials[1].compile_ms = 700;
    pace = pace_of_all();
    assert_int_equal(pace.trials, 22);
    assert_int_equal(pace.kernels, 21);
    assert_true(near(pace.compile_s, 10.5));
}

TEST(a_kernel_that_is_no_longer_known_is_told_by_its_compile_time)
{
    for (int i = 0; i < 20; i++) add(0.1 * i, 30, 500 + i / 2)->config.template = NULL;
    struct search_pace pace = pace_of_all();
    assert_int_equal(pace.kernels, 10);
}

TEST(nothing_is_said_of_less_than_10_trials)
{
    struct search_pace pace = pace_of_all();
    assert_says_nothing(&pace);
    add(0, 30, 500);
    pace = pace_of_all();
    assert_int_equal(pace.trials, 1);
    assert_true(near(pace.seconds, 0.03) && near(pace.gpu_s, 0.03));
    assert_says_nothing(&pace);
    add_slice(9, 0, 0.1, 30, 500);
    for (int i = 0; i < 5; i++) add(1 + 0.1 * i, 0, 500); /* could not be compiled, or not loaded */
    pace = pace_of_all();
    assert_int_equal(pace.trials, 9);
    assert_int_equal(pace.kernels, 14);
    assert_says_nothing(&pace);
}

/* Trials come in the order in which they ended by the clock. */
TEST(a_clock_that_goes_back_gives_no_impossible_share)
{
    for (int i = 0; i < 40; i++) add(0.05 * (i / 2), 45, 0); /* each moment twice: 90 ms of work in 50 */
    add_slice(20, 60, 0.1, 40, 300);
    struct search_pace pace = pace_of_all();
    assert_int_equal(pace.trials, 20);
    assert_true(near(pace.seconds, 1.94) && near(pace.gpu_s, 0.8));
    for (int i = 0; i < 40; i++) add(0, 45, 0); /* it stood still */
    pace = pace_of_all();
    assert_says_nothing(&pace);
}

/* --- from the database --- */

static int64_t store_slice(struct db *db, int number, const struct problem *problem, double wall_ms)
{
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    for (int i = 0; i < number; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(1000);
        outcome.wall_ms = wall_ms;
        store_trial(db, run, problem, &config, &outcome);
    }
    return run;
}

TEST(the_newest_run_with_measured_trials_of_the_problem_counts)
{
    struct db *db = store_open(DB_WRITE);
    struct problem problem = problem_make(64, 64, 64), other = problem_make(65, 64, 64);
    store_slice(db, 30, &problem, 1e-3);
    int64_t run = store_slice(db, 12, &problem, 2e-3), attempt, lost;
    struct config config = store_config(0), cut = store_config(100), more = store_config(101);
    struct outcome outcome = store_outcome(1000);
    outcome.wall_ms = 1e-3;
    store_trial(db, run, &other, &config, &outcome);
    outcome.cold = false;
    store_trial(db, run, &problem, &more, &outcome);
    store_slice(db, 30, &other, 1e-3);
    struct db_context context = store_context();
    struct outcome predicted = {
        .verdict = VERDICT_PREDICTED, .cold = true, .time_us = 5, .errors = accuracy_unknown()};
    store_trial(db, store_run(db, &context), &problem, &config, &predicted);
    assert_ok(db_attempt(db, store_run(db, &context), &problem, &cut, &attempt));
    db_close(db);

    db = store_open(DB_WRITE);
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    struct search_pace pace;
    struct db_filter filter = {.problem = &problem};
    assert_ok(search_pace_collect(db, &filter, true, &pace));
    assert_int_equal(pace.trials, 12);
    assert_true(near(1e3 * pace.gpu_s, 0.024));
    assert_ok(search_pace_collect(db, &filter, false, &pace));
    assert_int_equal(pace.trials, 1);
    filter.gpu = "sm_80";
    assert_ok(search_pace_collect(db, &filter, true, &pace));
    assert_int_equal(pace.trials, 0);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiling_is_the_limit_where_the_gpu_waits),
        cmocka_unit_test(the_gpu_is_the_limit_above_85_percent_and_both_are_from_half_of_the_time_on),
        cmocka_unit_test(time_between_two_slices_does_not_count),
        cmocka_unit_test(waiting_for_a_slow_compiler_counts),
        cmocka_unit_test(nothing_was_compiled_where_all_came_from_the_cache),
        cmocka_unit_test(a_kernel_that_several_trials_share_counts_once),
        cmocka_unit_test(a_kernel_that_is_no_longer_known_is_told_by_its_compile_time),
        cmocka_unit_test(nothing_is_said_of_less_than_10_trials),
        cmocka_unit_test(a_clock_that_goes_back_gives_no_impossible_share),
        READER_TEST(the_newest_run_with_measured_trials_of_the_problem_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

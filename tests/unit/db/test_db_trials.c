#include "store.h"

/* --- outcomes --- */

TEST(an_outcome_comes_back_with_every_field)
{
    struct working w = store_begin();
    struct config config = store_config(1);
    struct outcome stored = store_outcome(10.7), found;
    stored.worst_error = INFINITY;
    snprintf(stored.detail, sizeof stored.detail, "a ; 'b' \"c\" µ");
    store_trial(w.db, w.run, &w.problem, &config, &stored);
    bool stale = true;
    assert_ok(db_find(w.db, &w.context, &w.problem, &config, &found, &stale));
    assert_false(stale);
    assert_int_equal(found.verdict, stored.verdict);
    assert_string_equal(found.detail, stored.detail);
    assert_memory_equal(&found.facts, &stored.facts, sizeof found.facts);
    assert_true(found.time_us == stored.time_us);
    assert_int_equal(found.sample_count, 3);
    assert_memory_equal(found.samples_us, stored.samples_us, 3 * sizeof(double));
    assert_true(isinf(found.worst_error));
    assert_true(found.exact && found.cold);
    assert_int_equal(found.state.sm_clock_mhz, 1980);
    assert_int_equal(found.state.memory_clock_mhz, 3201);
    assert_true(found.state.power_w == 612.5);
    assert_int_equal(found.state.temperature_c, 55);
    assert_true(found.state.throttle_reasons == UINT64_C(0x8000000000000004));
    assert_true(found.wall_ms == 12.5);
    store_close_clean(w.db);
}

TEST(every_verdict_and_the_most_samples_come_back)
{
    struct working w = store_begin();
    for (int v = 0; v < VERDICT_COUNT; v++) {
        struct config config = store_config(v);
        struct outcome outcome = store_outcome(1 + v), found;
        outcome.verdict = (enum verdict)v;
        outcome.sample_count = OUTCOME_SAMPLES_MAX;
        for (int i = 0; i < OUTCOME_SAMPLES_MAX; i++) outcome.samples_us[i] = 1.1 * i;
        outcome.worst_error = (double)NAN;
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
        bool stale;
        assert_ok(db_find(w.db, &w.context, &w.problem, &config, &found, &stale));
        assert_int_equal(found.verdict, v);
        assert_int_equal(found.sample_count, OUTCOME_SAMPLES_MAX);
        assert_memory_equal(found.samples_us, outcome.samples_us, sizeof found.samples_us);
        assert_true(isnan(found.worst_error));
    }
    store_close_clean(w.db);
}

TEST(an_impossible_outcome_is_refused_and_the_attempt_stays_open)
{
    struct working w = store_begin();
    int64_t attempt;
    struct config config = store_config(1);
    struct outcome outcome = store_outcome(1);
    outcome.facts.registers = -1;
    assert_ok(db_attempt(w.db, w.run, &w.problem, &config, &attempt));
    assert_fails(db_record(w.db, attempt, &outcome), E_INPUT, "registers");
    outcome.facts.registers = 1;
    assert_ok(db_record(w.db, attempt, &outcome));
    assert_fails(db_record(w.db, attempt, &outcome), E_ABSENT, "not under way");
    db_close(w.db);
}

TEST(the_newest_outcome_is_found)
{
    struct working w = store_begin();
    struct config config = store_config(1);
    for (int i = 1; i <= 5; i++) {
        struct outcome outcome = store_outcome(i), found;
        bool stale;
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
        assert_ok(db_find(w.db, &w.context, &w.problem, &config, &found, &stale));
        assert_true(found.time_us == i);
    }
    db_close(w.db);
}

static void assert_unknown(struct db *db, const struct db_context *now, const struct problem *problem,
                           const struct config *config)
{
    struct outcome found;
    bool stale;
    assert_int_equal(db_find(db, now, problem, config, &found, &stale), E_ABSENT);
}

static void assert_known(struct db *db, const struct db_context *now, const struct problem *problem,
                         const struct config *config, bool expected_stale)
{
    struct outcome found;
    bool stale;
    assert_ok(db_find(db, now, problem, config, &found, &stale));
    assert_int_equal(stale, expected_stale);
}

/* As another size is; the column says in words what the text does. */
TEST(a_problem_with_another_epilogue_or_pointers_is_another_problem)
{
    static const char *const texts[] = {
        "64x64x64:batch=2",
        "64x64x64:batch=2:epilogue=bias",
        "64x64x64:batch=2:epilogue=bias:stride_bias=64",
        "64x64x64:batch=2:epilogue=rowbias+gelu+out",
        "64x64x64:batch=2:epilogue=out",
        "64x64x64:batch=2:pointers",
        "sgemm_normwise:nn:1x1x1:batch=2:lda=1073741825:ldb=1073741825:ldc=1073741825:stride_a="
        "576460752303423487:stride_b=576460752303423486:stride_c=576460752303423484:alpha=-1.17549435e-38:"
        "beta=-1.17549435e-38:epilogue=rowbias+gelu+out:stride_bias=576460752303423485"};
    enum { COUNT = sizeof texts / sizeof *texts };
    struct working w = store_begin();
    struct config config = store_config(1);
    struct outcome found;
    bool stale;
    for (int i = 0; i < COUNT; i++) {
        struct outcome outcome = store_outcome(i + 1);
        assert_ok(problem_parse(texts[i], &w.problem));
        assert_unknown(w.db, &w.context, &w.problem, &config);
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_ok(problem_parse(texts[i], &w.problem));
        assert_ok(db_find(w.db, &w.context, &w.problem, &config, &found, &stale));
        assert_true(found.time_us == i + 1);
    }
    sqlite3_stmt *stmt;
    assert_int_equal(
        sqlite3_prepare_v2(w.db->handle,
                           "SELECT group_concat(epilogue) FROM (SELECT * FROM problems ORDER BY id)", -1,
                           &stmt, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0),
                        ",bias,bias,rowbias+gelu+out,out,,rowbias+gelu+out");
    sqlite3_finalize(stmt);
    store_close_clean(w.db);
}

TEST(hard_keys_miss_and_soft_keys_make_stale)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context made = store_context();
    int64_t run = store_run(db, &made);
    struct problem problem = problem_make(64, 64, 64), other = problem_make(64, 64, 65);
    struct config config = store_config(1), another = store_config(2);
    struct outcome outcome = store_outcome(1);
    store_trial(db, run, &problem, &config, &outcome);
    struct db_context now = made;
    assert_unknown(db, &now, &other, &config);
    assert_unknown(db, &now, &problem, &another);
    now.cold = false;
    assert_unknown(db, &now, &problem, &config);
    now = made, now.gpu.sm_count = 131;
    assert_unknown(db, &now, &problem, &config);
    now = made, now.gpu.arch = 100;
    assert_unknown(db, &now, &problem, &config);
    now = made, now.gpu.clock_mhz = 1000, now.gpu_uuid[4] = '2'; /* another board of the same model */
    assert_known(db, &now, &problem, &config, false);
    now = made, now.driver[0] = '9';
    assert_known(db, &now, &problem, &config, true);
    now = made, now.power_limit_w = 400;
    assert_known(db, &now, &problem, &config, true);
    now = made, now.driver[0] = '\0', now.power_limit_w = 0; /* unknown is no difference */
    assert_known(db, &now, &problem, &config, false);
    db_close(db);
}

TEST(best_are_ascending_usable_and_newest)
{
    struct working w = store_begin();
    for (int i = 0; i < 10; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(20 - i);
        if (i == 9) outcome.verdict = VERDICT_WRONG;
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    struct config again = store_config(8); /* the fastest turns out slower */
    struct outcome slower = store_outcome(50);
    store_trial(w.db, w.run, &w.problem, &again, &slower);
    struct db_best best[16];
    int count;
    assert_ok(db_best(w.db, &w.context, &w.problem, best, 16, &count));
    assert_int_equal(count, 9);
    assert_true(best[0].outcome.time_us == 13 && best[8].outcome.time_us == 50);
    for (int i = 1; i < count; i++) assert_true(best[i - 1].outcome.time_us <= best[i].outcome.time_us);
    assert_true(config_equal(&best[8].config, &again));
    assert_ok(db_best(w.db, &w.context, &w.problem, best, 3, &count));
    assert_int_equal(count, 3);
    db_close(w.db);
}

/* --- attempts, recovery, quarantine --- */

static void assert_quarantined(struct db *db, const struct db_context *context, const struct config *config,
                               bool expected)
{
    bool quarantined;
    assert_ok(db_quarantined(db, context, config, &quarantined));
    assert_int_equal(quarantined, expected);
}

TEST(recovery_marks_exactly_the_unfinished_and_only_once)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    struct config done = store_config(1), open = store_config(2), forgotten = store_config(3);
    int64_t run = store_run(db, &context), attempt, count;
    struct outcome outcome = store_outcome(1), found;
    store_trial(db, run, &problem, &done, &outcome);
    assert_ok(db_attempt(db, run, &problem, &forgotten, &attempt));
    assert_ok(db_forget_attempt(db, attempt));
    assert_ok(db_attempt(db, run, &problem, &open, &attempt));
    assert_ok(db_recover(db, &count)); /* an attempt of this process is under way, not lost */
    assert_int_equal(count, 0);
    db_close(db);

    db = store_open(DB_WRITE);
    store_run(db, &context);
    assert_ok(db_recover(db, &count));
    assert_int_equal(count, 1);
    assert_ok(db_recover(db, &count));
    assert_int_equal(count, 0);
    bool stale;
    assert_ok(db_find(db, &context, &problem, &done, &found, &stale));
    assert_int_equal(found.verdict, VERDICT_MEASURED);
    /* One cut-off trial does not condemn: it is tried again. */
    assert_int_equal(db_find(db, &context, &problem, &open, &found, &stale), E_ABSENT);
    assert_quarantined(db, &context, &open, false);
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 2);
    assert_int_equal(counts.attempts, 0);
    store_close_clean(db);
}

TEST(two_crashes_quarantine_on_that_gpu_for_every_problem)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context(), elsewhere = context;
    elsewhere.gpu.sm_count = 78;
    struct problem problems[2] = {problem_make(1, 2, 3), problem_make(4, 5, 6)};
    struct config config = store_config(1), other = store_config(2);
    int64_t run = store_run(db, &context);
    struct outcome crashed = outcome_failed(VERDICT_CRASHED, "died"),
                   hung = outcome_failed(VERDICT_HUNG, "slept");
    struct outcome wrong = outcome_failed(VERDICT_WRONG, "wrong");
    store_trial(db, run, &problems[0], &config, &crashed);
    store_trial(db, run, &problems[0], &config, &wrong);
    assert_quarantined(db, &context, &config, false);
    store_trial(db, run, &problems[1], &config, &hung);
    assert_quarantined(db, &context, &config, true);
    assert_quarantined(db, &context, &other, false);
    assert_quarantined(db, &elsewhere, &config, false);
    db_close(db);
}

/* Op, type, epilogue and pointers are all in the hash of a kernel. */
TEST(crashes_count_whatever_the_kind_of_the_problems)
{
    static const char *const texts[] = {"64x64x64", "nt:64x64x64:epilogue=bias",
                                        "64x64x64:epilogue=rowbias+relu", "64x64x64:batch=4:pointers",
                                        "tf32gemm:nn:64x64x64:epilogue=bias"};
    enum { KINDS = sizeof texts / sizeof *texts };
    struct working w = store_begin();
    const struct outcome crashed = outcome_failed(VERDICT_CRASHED, "died");
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) { /* the same problem twice, and any two */
            struct problem first, second;
            const struct config config = store_config(i * KINDS + j);
            assert_ok(problem_parse(texts[i], &first));
            assert_ok(problem_parse(texts[j], &second));
            store_trial(w.db, w.run, &first, &config, &crashed);
            assert_quarantined(w.db, &w.context, &config, false);
            store_trial(w.db, w.run, &second, &config, &crashed);
            assert_quarantined(w.db, &w.context, &config, true);
        }
    db_close(w.db);
}

/* Past the guard of a writer. */
static void change_rows(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

/* As if they had been made with sources that have changed since. */
TEST(crashes_of_former_kernels_do_not_count)
{
    struct working w = store_begin();
    const struct config config = store_config(1);
    const struct outcome crashed = outcome_failed(VERDICT_CRASHED, "died");
    assert_ok(problem_parse("64x64x64:epilogue=bias", &w.problem));
    for (int i = 0; i < 3; i++) store_trial(w.db, w.run, &w.problem, &config, &crashed);
    assert_quarantined(w.db, &w.context, &config, true);
    db_close(w.db);
    change_rows("UPDATE configs SET kernel_hash = kernel_hash + 1, "
                "hash = content_hash(template, kernel_hash + 1, schema_hash, text)");
    w.db = store_open(DB_WRITE);
    assert_quarantined(w.db, &w.context, &config, false);
    w.run = store_run(w.db, &w.context);
    store_trial(w.db, w.run, &w.problem, &config, &crashed);
    assert_quarantined(w.db, &w.context, &config, false);
    store_trial(w.db, w.run, &w.problem, &config, &crashed);
    assert_quarantined(w.db, &w.context, &config, true);
    db_close(w.db);
}

TEST(one_kill_counts_once_however_many_gpus_were_trying_it)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64), other = problem_make(1, 2, 3);
    struct config config = store_config(1);
    for (int kill = 1; kill <= 2; kill++) {
        struct db *db = store_open(DB_WRITE);
        int64_t attempt, count;
        assert_ok(db_attempt(db, store_run(db, &context), &problem, &config, &attempt));
        assert_ok(db_attempt(db, store_run(db, &context), &other, &config, &attempt));
        db_close(db);
        db = store_open(DB_WRITE);
        assert_ok(db_recover(db, &count));
        assert_int_equal(count, 2);
        assert_quarantined(db, &context, &config, kill == 2);
        db_close(db);
    }
}

/* --- the list of all --- */

struct trials {
    int count, recovered;
    int64_t newest_run;
};

static bool count_trial(void *self, const struct db_trial *trial)
{
    struct trials *trials = self;
    if (trials->count++ == 0) trials->newest_run = trial->run_id;
    trials->recovered += trial->recovered;
    assert_true(trial->current);
    assert_string_equal(trial->gpu_name, "NVIDIA H200");
    return true;
}

TEST(trials_are_listed_newest_run_first)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64), other = problem_make(1, 2, 3);
    int64_t run = 0;
    for (int r = 0; r < 3; r++) {
        run = store_run(db, &context);
        for (int i = 0; i < 4; i++) {
            struct config config = store_config(i);
            struct outcome outcome = store_outcome(i);
            store_trial(db, run, i == 3 ? &other : &problem, &config, &outcome);
        }
    }
    struct trials trials = {0};
    struct db_filter filter = {.problem = &problem};
    assert_ok(db_trials(db, &filter, count_trial, &trials));
    assert_int_equal(trials.count, 9);
    assert_int_equal(trials.newest_run, run);
    filter = (struct db_filter){.gpu = "sm_80"};
    trials = (struct trials){0};
    assert_ok(db_trials(db, &filter, count_trial, &trials));
    assert_int_equal(trials.count, 0);
    db_close(db);
}

struct of_run {
    struct problem other;
    int count, others;
    int64_t run_id, ended_us;
};

static bool see_of_run(void *self, const struct db_trial *trial)
{
    struct of_run *seen = self;
    seen->count++;
    seen->others += problem_equal(&trial->problem, &seen->other);
    assert_int_equal(trial->run_id, seen->run_id);
    assert_true(trial->ended_us >= seen->ended_us);
    seen->ended_us = trial->ended_us;
    return seen->count < 5;
}

TEST(the_trials_of_a_run_are_listed_with_problem_and_time)
{
    struct working w = store_begin();
    const int64_t before_us = db_now_us();
    struct of_run seen = {.other = problem_make(1, 2, 3), .run_id = w.run};
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 6; i++) {
            struct config config = store_config(i);
            struct outcome outcome = store_outcome(1);
            store_trial(w.db, w.run, i % 3 == 1 ? &seen.other : &w.problem, &config, &outcome);
        }
        w.run = store_run(w.db, &w.context);
    }
    assert_ok(db_run_trials(w.db, seen.run_id, see_of_run, &seen));
    assert_int_equal(seen.count, 5);
    assert_int_equal(seen.others, 2);
    assert_true(seen.ended_us >= before_us && seen.ended_us <= db_now_us());
    seen.count = 0;
    assert_ok(db_run_trials(w.db, w.run, see_of_run, &seen));
    assert_int_equal(seen.count, 0);
    db_close(w.db);
}

struct times {
    int count;
    double time_us[9];
};

static bool keep_time(void *self, const struct db_trial *trial)
{
    struct times *times = self;
    times->time_us[times->count++] = trial->outcome.time_us;
    return times->count < 9;
}

TEST(trials_are_listed_newest_first)
{
    struct working w = store_begin();
    const struct db_filter filter = {.problem = &w.problem};
    struct times times = {0};
    for (int i = 0; i < 9; i++) {
        if (i == 5) w.run = store_run(w.db, &w.context);
        struct config config = store_config(i % 4);
        struct outcome outcome = store_outcome(1 + i);
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    assert_ok(db_newest_trials(w.db, &filter, keep_time, &times));
    assert_int_equal(times.count, 9);
    for (int i = 0; i < 9; i++) assert_true(times.time_us[i] == 9 - i);
    db_close(w.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_outcome_comes_back_with_every_field),
        STORE_TEST(every_verdict_and_the_most_samples_come_back),
        STORE_TEST(an_impossible_outcome_is_refused_and_the_attempt_stays_open),
        STORE_TEST(the_newest_outcome_is_found),
        STORE_TEST(a_problem_with_another_epilogue_or_pointers_is_another_problem),
        STORE_TEST(hard_keys_miss_and_soft_keys_make_stale),
        STORE_TEST(best_are_ascending_usable_and_newest),
        STORE_TEST(trials_are_listed_newest_first),
        STORE_TEST(recovery_marks_exactly_the_unfinished_and_only_once),
        STORE_TEST(two_crashes_quarantine_on_that_gpu_for_every_problem),
        STORE_TEST(crashes_count_whatever_the_kind_of_the_problems),
        STORE_TEST(crashes_of_former_kernels_do_not_count),
        STORE_TEST(one_kill_counts_once_however_many_gpus_were_trying_it),
        STORE_TEST(trials_are_listed_newest_run_first),
        STORE_TEST(the_trials_of_a_run_are_listed_with_problem_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

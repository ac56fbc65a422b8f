#include "store.h"

#include <limits.h>

static struct problem problem_64(void)
{
    return problem_make(64, 64, 64);
}

/* --- outcomes --- */

TEST(an_outcome_comes_back_with_every_field)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_64();
    struct config config = store_config(1);
    struct outcome stored = store_outcome(10.7), found;
    stored.worst_error = INFINITY;
    snprintf(stored.detail, sizeof stored.detail, "a ; 'b' \"c\" µ");
    store_trial(db, run, &problem, &config, &stored);
    bool stale = true;
    assert_ok(db_find(db, &context, &problem, &config, &found, &stale));
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
    db_close(db);
    store_assert_clean();
}

TEST(every_verdict_and_the_most_samples_come_back)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_64();
    for (int v = 0; v < VERDICT_COUNT; v++) {
        struct config config = store_config(v);
        struct outcome outcome = store_outcome(1 + v), found;
        outcome.verdict = (enum verdict)v;
        outcome.sample_count = OUTCOME_SAMPLES_MAX;
        for (int i = 0; i < OUTCOME_SAMPLES_MAX; i++) outcome.samples_us[i] = 1.1 * i;
        outcome.worst_error = (double)NAN;
        store_trial(db, run, &problem, &config, &outcome);
        bool stale;
        assert_ok(db_find(db, &context, &problem, &config, &found, &stale));
        assert_int_equal(found.verdict, v);
        assert_int_equal(found.sample_count, OUTCOME_SAMPLES_MAX);
        assert_memory_equal(found.samples_us, outcome.samples_us, sizeof found.samples_us);
        assert_true(isnan(found.worst_error));
    }
    db_close(db);
    store_assert_clean();
}

TEST(an_impossible_outcome_is_refused_and_the_attempt_stays_open)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context), attempt;
    struct problem problem = problem_64();
    struct config config = store_config(1);
    struct outcome outcome = store_outcome(1);
    outcome.facts.registers = -1;
    assert_ok(db_attempt(db, run, &problem, &config, &attempt));
    assert_fails(db_record(db, attempt, &outcome), E_INPUT, "registers");
    outcome.facts.registers = 1;
    assert_ok(db_record(db, attempt, &outcome));
    assert_fails(db_record(db, attempt, &outcome), E_ABSENT, "not under way");
    db_close(db);
}

TEST(the_newest_outcome_is_found)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_64();
    struct config config = store_config(1);
    for (int i = 1; i <= 5; i++) {
        struct outcome outcome = store_outcome(i), found;
        bool stale;
        store_trial(db, run, &problem, &config, &outcome);
        assert_ok(db_find(db, &context, &problem, &config, &found, &stale));
        assert_true(found.time_us == i);
    }
    db_close(db);
}

TEST(hard_keys_miss_and_soft_keys_make_stale)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context made = store_context();
    int64_t run = store_run(db, &made);
    struct problem problem = problem_64(), other = problem_make(64, 64, 65);
    struct config config = store_config(1), another = store_config(2);
    struct outcome outcome = store_outcome(1), found;
    bool stale;
    store_trial(db, run, &problem, &config, &outcome);
    struct db_context now = made;
    assert_int_equal(db_find(db, &now, &other, &config, &found, &stale), E_ABSENT);
    assert_int_equal(db_find(db, &now, &problem, &another, &found, &stale), E_ABSENT);
    now.cold = false;
    assert_int_equal(db_find(db, &now, &problem, &config, &found, &stale), E_ABSENT);
    now = made, now.gpu.sm_count = 131;
    assert_int_equal(db_find(db, &now, &problem, &config, &found, &stale), E_ABSENT);
    now = made, now.gpu.arch = 100;
    assert_int_equal(db_find(db, &now, &problem, &config, &found, &stale), E_ABSENT);
    now = made, now.gpu.clock_mhz = 1000, now.gpu_uuid[4] = '2'; /* another board of the same model */
    assert_ok(db_find(db, &now, &problem, &config, &found, &stale));
    assert_false(stale);
    now = made, now.driver[0] = '9';
    assert_ok(db_find(db, &now, &problem, &config, &found, &stale));
    assert_true(stale);
    now = made, now.power_limit_w = 400;
    assert_ok(db_find(db, &now, &problem, &config, &found, &stale));
    assert_true(stale);
    now = made, now.driver[0] = '\0', now.power_limit_w = 0; /* unknown is no difference */
    assert_ok(db_find(db, &now, &problem, &config, &found, &stale));
    assert_false(stale);
    db_close(db);
}

struct known {
    int visits;
    double sum_us;
    int stop_at;
};

static bool count_known(void *self, const struct config *config, const struct outcome *outcome, bool stale)
{
    struct known *known = self;
    assert_non_null(config->template);
    assert_false(stale);
    known->visits++;
    known->sum_us += outcome->time_us;
    return known->visits != known->stop_at;
}

TEST(known_gives_the_newest_outcome_of_each_configuration_once)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_64(), other = problem_make(1, 2, 3);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 20; i++) {
            struct config config = store_config(i);
            struct outcome outcome = store_outcome(100 * round + i);
            store_trial(db, run, &problem, &config, &outcome);
        }
    struct known known = {0};
    assert_ok(db_known(db, &context, &problem, count_known, &known));
    assert_int_equal(known.visits, 20);
    assert_true(known.sum_us == 20 * 200 + 190);
    known = (struct known){.stop_at = 5};
    assert_ok(db_known(db, &context, &problem, count_known, &known));
    assert_int_equal(known.visits, 5);
    known = (struct known){0};
    assert_ok(db_known(db, &context, &other, count_known, &known));
    assert_int_equal(known.visits, 0);
    db_close(db);
}

TEST(best_are_ascending_usable_and_newest)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_64();
    for (int i = 0; i < 10; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(20 - i);
        if (i == 9) outcome.verdict = VERDICT_WRONG;
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct config again = store_config(8); /* the fastest turns out slower */
    struct outcome slower = store_outcome(50);
    store_trial(db, run, &problem, &again, &slower);
    struct db_best best[16];
    int count;
    assert_ok(db_best(db, &context, &problem, best, 16, &count));
    assert_int_equal(count, 9);
    assert_true(best[0].outcome.time_us == 13 && best[8].outcome.time_us == 50);
    for (int i = 1; i < count; i++) assert_true(best[i - 1].outcome.time_us <= best[i].outcome.time_us);
    assert_true(config_equal(&best[8].config, &again));
    assert_ok(db_best(db, &context, &problem, best, 3, &count));
    assert_int_equal(count, 3);
    db_close(db);
}

/* --- attempts, recovery, quarantine --- */

TEST(recovery_marks_exactly_the_unfinished_and_only_once)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_64();
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
    bool stale, quarantined;
    assert_ok(db_find(db, &context, &problem, &done, &found, &stale));
    assert_int_equal(found.verdict, VERDICT_MEASURED);
    /* One cut-off trial does not condemn: it is tried again. */
    assert_int_equal(db_find(db, &context, &problem, &open, &found, &stale), E_ABSENT);
    assert_ok(db_quarantined(db, &context, &open, &quarantined));
    assert_false(quarantined);
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 2);
    assert_int_equal(counts.attempts, 0);
    db_close(db);
    store_assert_clean();
}

TEST(two_crashes_quarantine_on_that_gpu_for_every_problem)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context(), elsewhere = context;
    elsewhere.gpu.sm_count = 78;
    struct problem problems[2] = {problem_make(1, 2, 3), problem_make(4, 5, 6)};
    struct config config = store_config(1), other = store_config(2);
    int64_t run = store_run(db, &context);
    bool quarantined;
    struct outcome crashed = outcome_failed(VERDICT_CRASHED, "died"),
                   hung = outcome_failed(VERDICT_HUNG, "slept");
    struct outcome wrong = outcome_failed(VERDICT_WRONG, "wrong");
    store_trial(db, run, &problems[0], &config, &crashed);
    store_trial(db, run, &problems[0], &config, &wrong);
    assert_ok(db_quarantined(db, &context, &config, &quarantined));
    assert_false(quarantined);
    store_trial(db, run, &problems[1], &config, &hung);
    assert_ok(db_quarantined(db, &context, &config, &quarantined));
    assert_true(quarantined);
    assert_ok(db_quarantined(db, &context, &other, &quarantined));
    assert_false(quarantined);
    assert_ok(db_quarantined(db, &elsewhere, &config, &quarantined));
    assert_false(quarantined);
    db_close(db);
}

TEST(one_kill_counts_once_however_many_gpus_were_trying_it)
{
    struct db_context context = store_context();
    struct problem problem = problem_64(), other = problem_make(1, 2, 3);
    struct config config = store_config(1);
    bool quarantined;
    for (int kill = 1; kill <= 2; kill++) {
        struct db *db = store_open(DB_WRITE);
        int64_t attempt, count;
        assert_ok(db_attempt(db, store_run(db, &context), &problem, &config, &attempt));
        assert_ok(db_attempt(db, store_run(db, &context), &other, &config, &attempt));
        db_close(db);
        db = store_open(DB_WRITE);
        assert_ok(db_recover(db, &count));
        assert_int_equal(count, 2);
        assert_ok(db_quarantined(db, &context, &config, &quarantined));
        assert_int_equal(quarantined, kill == 2);
        db_close(db);
    }
}

/* --- winners --- */

static struct db_winner winner_of(const struct config *config)
{
    struct db_winner w = {.problem = problem_make(4096, 4096, 4096),
                          .cold = true,
                          .tied = true,
                          .exact = true,
                          .time_us = 2600.5,
                          .ratio = 1.01,
                          .ratio_low = 1.005,
                          .ratio_high = 1.015,
                          .anchor_us = 2626.5,
                          .rounds = 8,
                          .trials = 120,
                          .legal_count = INT64_C(5000000000),
                          .model_rank = 7,
                          .model_first16_share = 0.99,
                          .registers = 128,
                          .smem_bytes = 65536};
    if (config) w.config = *config;
    return w;
}

struct winners {
    int count;
    struct db_winner first, last;
};

static bool keep_winner(void *self, const struct db_winner *winner)
{
    struct winners *winners = self;
    if (winners->count++ == 0) winners->first = *winner;
    winners->last = *winner;
    return true;
}

static struct winners list(struct db *db, const char *gpu, const struct problem *problem,
                           const struct db_context *now)
{
    struct winners winners = {0};
    struct db_filter filter = {.gpu = gpu, .problem = problem};
    assert_ok(db_winners(db, &filter, now, keep_winner, &winners));
    return winners;
}

TEST(a_winner_comes_back_with_its_evidence)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct config runners[2] = {store_legal_config(), store_config(3)};
    struct db_race_sample samples[100];
    for (int i = 0; i < 100; i++) samples[i] = (struct db_race_sample){i % 3 - 1, i / 3, 1.5 * i};
    struct db_winner w = winner_of(&runners[0]);
    assert_ok(db_set_winner(db, run, &w, runners, 2, samples, 100));
    db_close(db);

    db = store_open(DB_READ);
    struct winners found = list(db, NULL, NULL, &context);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.first.why, "");
    assert_false(found.first.unusable || found.first.stale || found.first.predicted);
    assert_true(config_equal(&found.first.config, &runners[0]));
    assert_true(problem_equal(&found.first.problem, &w.problem));
    assert_string_equal(found.first.gpu.name, "NVIDIA H200");
    assert_string_equal(found.first.driver, "580.95.05");
    assert_true(found.first.time_us == 2600.5 && found.first.ratio_high == 1.015 && found.first.tied);
    assert_true(found.first.legal_count == INT64_C(5000000000) && found.first.model_rank == 7);
    assert_int_equal(strlen(found.first.when), 20);
    struct db_evidence evidence;
    assert_ok(db_evidence(db, found.first.decision_id, &evidence));
    assert_int_equal(evidence.runner_count, 2);
    assert_int_equal(evidence.sample_count, 100);
    assert_memory_equal(evidence.samples, samples, sizeof samples);
    char text[CONFIG_TEXT_MAX];
    config_format(&runners[1], text);
    assert_string_equal(evidence.runner_text[1], text);
    db_evidence_free(&evidence);
    db_close(db);
    store_assert_clean();
}

TEST(cublas_may_win)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = winner_of(NULL);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    struct winners found = list(db, NULL, NULL, &context);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.first.config_text, "cublas");
    assert_false(found.first.unusable);
    assert_null(found.first.config.template);
    db_close(db);
    store_assert_clean();
}

TEST(a_prediction_never_replaces_a_measurement)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct config config = store_legal_config();
    struct db_winner predicted = winner_of(&config), measured = predicted;
    predicted.predicted = true;
    predicted.time_us = 1;
    assert_ok(db_set_winner(db, run, &predicted, NULL, 0, NULL, 0));
    assert_true(list(db, NULL, NULL, NULL).first.predicted);
    assert_ok(db_set_winner(db, run, &measured, NULL, 0, NULL, 0));
    assert_false(list(db, NULL, NULL, NULL).first.predicted);
    assert_ok(db_set_winner(db, run, &predicted, NULL, 0, NULL, 0));
    assert_false(list(db, NULL, NULL, NULL).first.predicted);
    measured.time_us = 9999; /* a newer measurement does, also when slower */
    assert_ok(db_set_winner(db, run, &measured, NULL, 0, NULL, 0));
    struct winners found = list(db, NULL, NULL, NULL);
    assert_int_equal(found.count, 1);
    assert_true(found.first.time_us == 9999);
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.decisions, 3); /* earlier ones stay */
    db_close(db);
    store_assert_clean();
}

TEST(winners_are_filtered_by_gpu_and_problem)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context h200 = store_context(), ada = h200;
    snprintf(ada.gpu.name, sizeof ada.gpu.name, "NVIDIA GeForce RTX 4090");
    snprintf(ada.gpu.id, sizeof ada.gpu.id, "rtx4090");
    ada.gpu.arch = 89;
    struct config config = store_legal_config();
    struct db_winner w = winner_of(&config);
    assert_ok(db_set_winner(db, store_run(db, &h200), &w, NULL, 0, NULL, 0));
    int64_t run = store_run(db, &ada);
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    w.cold = false;
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    w.problem = problem_64();
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    const struct {
        const char *gpu;
        int count;
    } cases[] = {{NULL, 4},   {"H200", 1},     {"nvidia h200", 1}, {"sm_90", 1}, {"sm_90a", 1}, {"90", 1},
                 {"4090", 0}, {"rtx 4090", 3}, {"RTX4090", 3},     {"sm_89", 3}, {"sm_8", 0},   {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(list(db, cases[i].gpu, NULL, NULL).count, cases[i].count);
    struct problem large = problem_make(4096, 4096, 4096), never = problem_make(3, 3, 3);
    assert_int_equal(list(db, NULL, &large, NULL).count, 3);
    assert_int_equal(list(db, "sm_89", &w.problem, NULL).count, 1);
    assert_int_equal(list(db, NULL, &never, NULL).count, 0);
    db_close(db);
}

TEST(a_winner_is_stale_with_another_driver_or_cublas_and_says_why)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct config config = store_legal_config();
    struct db_winner w = winner_of(&config);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    assert_false(list(db, NULL, NULL, NULL).first.stale);
    snprintf(context.driver, sizeof context.driver, "999.1");
    struct db_winner stale = list(db, NULL, NULL, &context).first;
    assert_true(stale.stale && !stale.unusable);
    assert_string_equal(stale.why, "measured with driver 580.95.05, now it is 999.1");
    context = store_context();
    snprintf(context.cublas, sizeof context.cublas, "14.0.0");
    assert_true(list(db, NULL, NULL, &context).first.stale);
    db_close(db);
}

TEST(a_winner_that_its_rules_refuse_is_unusable_and_says_why)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct config config = store_config(0); /* BM = 1, BK = 2, ...: no legal tile */
    struct db_winner w = winner_of(&config);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    struct db_winner found = list(db, NULL, NULL, NULL).first;
    assert_true(found.unusable);
    assert_null(found.config.template);
    assert_non_null(strstr(found.why, "its rules refuse it: "));
    db_close(db);
}

/* --- trials and GPUs --- */

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
    struct problem problem = problem_64(), other = problem_make(1, 2, 3);
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

/* --- append-only, one writer --- */

TEST(no_statement_that_changes_or_drops_what_must_stay_can_be_prepared)
{
    static const char *const forbidden[] = {
        "DELETE FROM trials",
        "UPDATE trials SET time_us = 0",
        "DELETE FROM decisions",
        "DELETE FROM winners",
        "UPDATE decisions SET time_us = 0",
        "DELETE FROM runs",
        "UPDATE configs SET text=''",
        "UPDATE problems SET text=''",
        "DELETE FROM decision_samples",
        "DROP TABLE trials",
        "ALTER TABLE trials RENAME TO old",
        "CREATE VIEW v AS SELECT 1",
        "ATTACH '/tmp/x' AS x",
        "CREATE TEMP TRIGGER t AFTER INSERT ON trials BEGIN SELECT 1; END"};
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_64();
    struct config config = store_config(1);
    struct outcome outcome = store_outcome(1);
    store_trial(db, store_run(db, &context), &problem, &config, &outcome);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        assert_int_equal(sqlite3_exec(db->handle, forbidden[i], NULL, NULL, NULL), SQLITE_AUTH);
    db_close(db);
}

/* The one way around the authorizer: a conflict that deletes the old row. */
TEST(no_statement_replaces_rows_on_conflict)
{
    static const char *const files[] = {"db_open.c", "db_schema.c", "db_sql.c",     "db_keys.c",
                                        "db_runs.c", "db_trials.c", "db_winners.c", "db_list.c"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        static char text[1 << 18];
        snprintf(path, sizeof path, "%s/db/%s", GT_SOURCE_DIR, files[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        assert_non_null(strstr(text, "db_internal.h"));
        assert_null(strstr(text, "REPLACE"));
    }
}

TEST(a_second_writer_is_told_the_process_id_of_the_first)
{
    struct db *first = store_open(DB_WRITE), *second;
    char pid[32];
    snprintf(pid, sizeof pid, "process id %ld;", (long)getpid());
    assert_fails(db_open(store_path, DB_WRITE, &second), E_BUSY, pid);
    db_close(first);
    second = store_open(DB_WRITE);
    db_close(second);
}

TEST(readers_work_while_a_writer_writes)
{
    struct db *writer = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_64();
    int64_t run = store_run(writer, &context);
    struct db *reader = store_open(DB_READ);
    for (int i = 0; i < 5; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i), found;
        bool stale;
        store_trial(writer, run, &problem, &config, &outcome);
        assert_ok(db_find(reader, &context, &problem, &config, &found, &stale));
    }
    int64_t ignored;
    assert_fails(db_run_start(reader, &context, "", 0, &ignored), E_DB, "reading only");
    db_close(writer); /* the reader keeps the file in WAL mode, and goes on */
    struct db_counts counts;
    assert_ok(db_count(reader, &counts));
    assert_int_equal(counts.trials, 5);
    db_close(reader);
    store_assert_clean();
}

TEST(a_database_at_rest_is_one_plain_file)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    store_run(db, &context);
    char wal[PATH_MAX];
    snprintf(wal, sizeof wal, "%s-wal", store_path);
    assert_int_equal(access(wal, F_OK), 0);
    db_close(db);
    static const char *const beside[] = {"-wal", "-shm", "-journal", ".lock"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(wal, sizeof wal, "%s%s", store_path, beside[i]);
        assert_int_equal(access(wal, F_OK), -1);
    }
    db = store_open(DB_READ);
    db_close(db);
    snprintf(wal, sizeof wal, "%s-shm", store_path);
    assert_int_equal(access(wal, F_OK), -1); /* reading leaves nothing */
}

TEST(safe_mode_uses_no_wal_and_stores_the_same)
{
    setenv("GEMMTUNE_DB_SAFE", "1", 1);
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_64();
    struct config config = store_config(1);
    struct outcome outcome = store_outcome(1), found;
    store_trial(db, store_run(db, &context), &problem, &config, &outcome);
    char wal[PATH_MAX];
    snprintf(wal, sizeof wal, "%s-wal", store_path);
    assert_int_equal(access(wal, F_OK), -1);
    struct db *reader = store_open(DB_READ);
    bool stale;
    assert_ok(db_find(reader, &context, &problem, &config, &found, &stale));
    db_close(reader);
    db_close(db);
    unsetenv("GEMMTUNE_DB_SAFE");
    db = store_open(DB_WRITE); /* and back to WAL */
    store_run(db, &context);
    assert_int_equal(access(wal, F_OK), 0);
    db_close(db);
    store_assert_clean();
}

TEST(network_file_systems_are_known_by_their_magic)
{
    static const int64_t network[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                      0x65735546, 0x0bd00bd0, 0x47504653};
    static const int64_t local[] = {0xef53 /* ext4 */,      0x58465342 /* XFS */,     0x9123683e /* btrfs */,
                                    0x01021994 /* tmpfs */, 0x794c7630 /* overlay */, 0x2fc12fc1 /* ZFS */};
    for (size_t i = 0; i < sizeof network / sizeof *network; i++) assert_true(db_network_magic(network[i]));
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) assert_false(db_network_magic(local[i]));
    assert_true(db_network_magic((int64_t)(int32_t)0xfe534d42)); /* sign-extended, as some kernels give it */
}

TEST(content_hashes_are_the_same_in_every_file)
{
    char hash[2][33];
    for (int i = 0; i < 2; i++) {
        snprintf(store_path, sizeof store_path, "%s/%d.db", store_folder, i);
        struct db *db = store_open(DB_WRITE);
        struct db_context context = store_context();
        int64_t run = store_run(db, &context), attempt;
        struct problem problem = problem_64(), filler = problem_make(i + 1, 1, 1);
        struct config config = store_config(1);
        if (i) assert_ok(db_attempt(db, run, &filler, &config, &attempt)); /* other ids */
        assert_ok(db_attempt(db, run, &problem, &config, &attempt));
        sqlite3_stmt *stmt;
        assert_int_equal(
            sqlite3_prepare_v2(db->handle,
                               "SELECT hex(p.hash || c.hash) FROM problems p, configs c WHERE p.m = 64", -1,
                               &stmt, NULL),
            0);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        snprintf(hash[i], sizeof hash[i], "%.32s", (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        db_close(db);
    }
    assert_string_equal(hash[0], hash[1]);
}

TEST(the_default_file_follows_the_environment)
{
    char path[PATH_MAX];
    setenv("GEMMTUNE_DB", "/x/y.db", 1);
    assert_ok(db_default_path(path, sizeof path));
    assert_string_equal(path, "/x/y.db");
    assert_fails(db_default_path(path, 3), E_INPUT, "GEMMTUNE_DB");
    unsetenv("GEMMTUNE_DB");
    setenv("XDG_DATA_HOME", "/data", 1);
    assert_ok(db_default_path(path, sizeof path));
    assert_string_equal(path, "/data/gemmtune/gemmtune.db");
    setenv("XDG_DATA_HOME", "relative", 1); /* not valid: ignored */
    setenv("HOME", "/home/me", 1);
    assert_ok(db_default_path(path, sizeof path));
    assert_string_equal(path, "/home/me/.local/share/gemmtune/gemmtune.db");
    unsetenv("XDG_DATA_HOME");
}

TEST(folders_are_made_for_a_writer_and_not_for_a_reader)
{
    struct db *db;
    snprintf(store_path, sizeof store_path, "%s/a/b/c.db", store_folder);
    assert_fails(db_open(store_path, DB_READ, &db), E_ABSENT, "no database");
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/a", store_folder);
    assert_int_equal(access(folder, F_OK), -1);
    db_close(store_open(DB_WRITE));
    assert_int_equal(access(store_path, F_OK), 0);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_outcome_comes_back_with_every_field),
        STORE_TEST(every_verdict_and_the_most_samples_come_back),
        STORE_TEST(an_impossible_outcome_is_refused_and_the_attempt_stays_open),
        STORE_TEST(the_newest_outcome_is_found),
        STORE_TEST(hard_keys_miss_and_soft_keys_make_stale),
        STORE_TEST(known_gives_the_newest_outcome_of_each_configuration_once),
        STORE_TEST(best_are_ascending_usable_and_newest),
        STORE_TEST(recovery_marks_exactly_the_unfinished_and_only_once),
        STORE_TEST(two_crashes_quarantine_on_that_gpu_for_every_problem),
        STORE_TEST(one_kill_counts_once_however_many_gpus_were_trying_it),
        STORE_TEST(a_winner_comes_back_with_its_evidence),
        STORE_TEST(cublas_may_win),
        STORE_TEST(a_prediction_never_replaces_a_measurement),
        STORE_TEST(winners_are_filtered_by_gpu_and_problem),
        STORE_TEST(a_winner_is_stale_with_another_driver_or_cublas_and_says_why),
        STORE_TEST(a_winner_that_its_rules_refuse_is_unusable_and_says_why),
        STORE_TEST(trials_are_listed_newest_run_first),
        STORE_TEST(no_statement_that_changes_or_drops_what_must_stay_can_be_prepared),
        STORE_TEST(no_statement_replaces_rows_on_conflict),
        STORE_TEST(a_second_writer_is_told_the_process_id_of_the_first),
        STORE_TEST(readers_work_while_a_writer_writes),
        STORE_TEST(a_database_at_rest_is_one_plain_file),
        STORE_TEST(safe_mode_uses_no_wal_and_stores_the_same),
        STORE_TEST(network_file_systems_are_known_by_their_magic),
        STORE_TEST(content_hashes_are_the_same_in_every_file),
        STORE_TEST(the_default_file_follows_the_environment),
        STORE_TEST(folders_are_made_for_a_writer_and_not_for_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "db_files.h"
#include "store.h"

static struct db_winner winner_of(const struct config *config)
{
    const struct problem problem = problem_make(4096, 4096, 4096);
    struct db_winner w = store_winner(&problem, config);
    w.base.time_us = 2600.5;
    w.base.anchor_us = 2626.5;
    snprintf(w.rival, sizeof w.rival, "a rival");
    w.errors = (struct db_errors){true, 1.25e-7, 3e-8, 1.0 / 3};
    w.rival_errors = (struct db_errors){true, 2.5e-7, 0, 0.5};
    w.checked = (struct accuracy_checked){12, 3, 512, 511, 16384, 1.0 / 3};
    w.legal_count = INT64_C(5000000000);
    w.model_rank = 7;
    w.smem_bytes = 65536;
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
    for (int i = 0; i < 100; i++)
        samples[i] = (struct db_race_sample){.runner = i % 3 - 1,
                                             .round = i / 3,
                                             .time_us = 1.5 * i,
                                             .timing = i < 60 ? TIMING_BEHIND : TIMING_LOAD,
                                             .joules = 0.25 * i,
                                             .sm_clock_mhz = 1000 + i,
                                             .power_w = 500.5 + i,
                                             .throttle_reasons = UINT64_C(1) << 63 | (unsigned)i};
    struct db_winner w = winner_of(&runners[0]);
    w.timing = TIMING_LOAD, w.by_energy = true, w.joules = 0.7, w.rival_joules = 1.5;
    assert_ok(db_set_winner(db, run, &w, runners, 2, samples, 100));
    db_close(db);

    db = store_open(DB_READ);
    struct winners found = list(db, NULL, NULL, &context);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.first.why, "");
    assert_false(found.first.unusable || found.first.stale || found.first.base.predicted);
    assert_true(config_equal(&found.first.config, &runners[0]));
    assert_true(problem_equal(&found.first.base.problem, &w.base.problem));
    assert_string_equal(found.first.gpu.name, "NVIDIA H200");
    assert_string_equal(found.first.driver, "580.95.05");
    assert_true(found.first.base.time_us == 2600.5 && found.first.base.ratio_high == 1.015 &&
                found.first.tied);
    assert_true(found.first.legal_count == INT64_C(5000000000) && found.first.model_rank == 7);
    assert_int_equal(strlen(found.first.base.when), 20);
    assert_string_equal(found.first.rival, "a rival");
    assert_true(found.first.timing == TIMING_LOAD && found.first.by_energy);
    assert_true(found.first.joules == 0.7 && found.first.rival_joules == 1.5);
    assert_memory_equal(&found.first.errors, &w.errors, sizeof w.errors);
    assert_memory_equal(&found.first.rival_errors, &w.rival_errors, sizeof w.errors);
    assert_true(found.first.checked.kinds == 12 && found.first.checked.bounded == 3);
    assert_true(found.first.checked.m == 512 && found.first.checked.n == 511);
    assert_true(found.first.checked.k == 16384 && found.first.checked.rms == 1.0 / 3);
    assert_memory_equal(&found.first.gpu, &context.gpu, sizeof context.gpu);
    struct db_evidence evidence;
    assert_ok(db_evidence(db, found.first.decision_id, &evidence));
    assert_int_equal(evidence.runner_count, 2);
    assert_int_equal(evidence.sample_count, 100);
    for (int i = 0; i < 100; i++) {
        const struct db_race_sample *x = &evidence.samples[i], *y = &samples[i];
        assert_true(x->runner == y->runner && x->round == y->round && x->time_us == y->time_us);
        assert_true(x->timing == y->timing && x->joules == y->joules && x->power_w == y->power_w);
        assert_true(x->sm_clock_mhz == y->sm_clock_mhz && x->throttle_reasons == y->throttle_reasons);
    }
    char text[CONFIG_TEXT_MAX];
    config_format(&runners[1], text);
    assert_string_equal(evidence.runner_text[1], text);
    db_evidence_free(&evidence);
    store_close_clean(db);
}

static void store_error(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

/* As this program's own are skipped by an earlier one. */
TEST(errors_with_names_of_a_later_version_are_none)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = winner_of(NULL);
    w.errors.measured = w.rival_errors.measured = false;
    w.checked = (struct accuracy_checked){.kinds = 0};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
    store_error("INSERT INTO decision_errors VALUES (1, 'winner', 'later', 0.5), (1, 'winner', "
                "'checked_later', 7), (1, 'winner', 'checked_k', 1e300), (1, 'rival', 'checked_m', 3)");
    db = store_open(DB_READ);
    const struct winners found = list(db, NULL, NULL, &context);
    const struct accuracy_checked *const checked = &found.first.checked;
    assert_int_equal(found.count, 1);
    assert_false(found.first.errors.measured || found.first.rival_errors.measured);
    assert_true(checked->kinds == 0 && checked->m == 0 && checked->k == 0);
    db_close(db);
}

static void change_problem(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

TEST(a_winner_of_a_later_version_is_not_listed_and_a_changed_one_is_an_error)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = winner_of(NULL);
    const int64_t run = store_run(db, &context);
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    w.base.problem = problem_make(65, 64, 64);
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    db_close(db);
    change_problem("UPDATE problems SET text = 'latergemm:nn:65x64x64', "
                   "hash = content_hash('latergemm:nn:65x64x64') WHERE m = 65");
    db = store_open(DB_READ);
    assert_int_equal(list(db, NULL, NULL, &context).count, 1);
    db_close(db);
    change_problem("UPDATE problems SET text = 'othergemm:nn:65x64x64' WHERE m = 65");
    db = store_open(DB_READ);
    struct winners winners = {0};
    const struct db_filter all = {.gpu = NULL};
    assert_true(db_winners(db, &all, &context, keep_winner, &winners) != OK);
    db_close(db);
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
    store_close_clean(db);
}

TEST(a_prediction_never_replaces_a_measurement)
{
    struct working w = store_begin();
    struct config config = store_legal_config();
    struct db_winner predicted = winner_of(&config), measured = predicted;
    predicted.base.predicted = true;
    predicted.base.time_us = 1;
    assert_ok(db_set_winner(w.db, w.run, &predicted, NULL, 0, NULL, 0));
    assert_true(list(w.db, NULL, NULL, NULL).first.base.predicted);
    assert_ok(db_set_winner(w.db, w.run, &measured, NULL, 0, NULL, 0));
    assert_false(list(w.db, NULL, NULL, NULL).first.base.predicted);
    assert_ok(db_set_winner(w.db, w.run, &predicted, NULL, 0, NULL, 0));
    assert_false(list(w.db, NULL, NULL, NULL).first.base.predicted);
    measured.base.time_us = 9999; /* a newer measurement does, also when slower */
    assert_ok(db_set_winner(w.db, w.run, &measured, NULL, 0, NULL, 0));
    struct winners found = list(w.db, NULL, NULL, NULL);
    assert_int_equal(found.count, 1);
    assert_true(found.first.base.time_us == 9999);
    struct db_counts counts;
    assert_ok(db_count(w.db, &counts));
    assert_int_equal(counts.decisions, 3); /* earlier ones stay */
    store_close_clean(w.db);
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
    w.base.cold = false;
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    w.base.problem = problem_make(64, 64, 64);
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
    assert_int_equal(list(db, "sm_89", &w.base.problem, NULL).count, 1);
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

/* NVRTC's makes nothing stale: only kernels are built anew. */
TEST(what_is_due_follows_from_what_has_changed)
{
    struct working w = store_begin();
    const struct config config = store_legal_config();
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct db_winner winner = store_winner(&problem, &config);
    assert_ok(db_set_winner(w.db, w.run, &winner, NULL, 0, NULL, 0));
    const struct {
        const char *driver, *cublas, *nvrtc;
        double power_limit_w;
        enum db_due due;
        bool stale;
    } now[] = {{"580.95.05", "13.1.0", "13.0", 700, DUE_NOTHING, false},
               {"", "", "", 0, DUE_NOTHING, false},
               {"590.1", "13.1.0", "13.0", 700, DUE_RACE, true},
               {"580.95.05", "13.2.0", "13.0", 700, DUE_RACE, true},
               {"580.95.05", "13.1.0", "13.0", 600, DUE_RACE, true},
               {"580.95.05", "13.1.0", "13.1", 700, DUE_BUILD, false},
               {"590.1", "13.2.0", "13.1", 600, DUE_BUILD, true}};
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
        struct db_context context = w.context;
        struct winners winners = {0};
        snprintf(context.driver, sizeof context.driver, "%s", now[i].driver);
        snprintf(context.cublas, sizeof context.cublas, "%s", now[i].cublas);
        snprintf(context.nvrtc, sizeof context.nvrtc, "%s", now[i].nvrtc);
        context.power_limit_w = now[i].power_limit_w;
        assert_ok(db_winners(w.db, &(struct db_filter){0}, &context, keep_winner, &winners));
        assert_int_equal(winners.first.due, now[i].due);
        assert_int_equal(winners.first.stale, now[i].stale);
        assert_int_equal(winners.first.why[0] != '\0', now[i].due != DUE_NOTHING);
        snprintf(context.gpu.name, sizeof context.gpu.name, "NVIDIA A100"); /* its versions do not matter */
        assert_ok(db_winners(w.db, &(struct db_filter){0}, &context, keep_winner, &winners));
        assert_int_equal(winners.last.due, DUE_NOTHING);
    }
    db_close(w.db);
}

/* Where NVML is missing, and /proc is hidden, all that is known is the version of CUDA. */
TEST(a_driver_s_release_and_its_version_of_cuda_make_nothing_due)
{
    static const struct {
        const char *then, *now;
        enum db_due due;
    } drivers[] = {{"580.95.05", "CUDA 13.0", DUE_NOTHING},
                   {"CUDA 13.0", "580.95.05", DUE_NOTHING},
                   {"CUDA 13.0", "CUDA 13.0", DUE_NOTHING},
                   {"CUDA 13.0", "CUDA 13.1", DUE_RACE},
                   {"580.95.05", "580.159.04", DUE_RACE}};
    struct db *db = store_open(DB_WRITE);
    const struct config config = store_legal_config();
    const struct problem problem = problem_make(4096, 4096, 4096);
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        struct db_context then = store_context(), now = then;
        struct winners winners = {0};
        const struct db_winner winner = store_winner(&problem, &config);
        struct outcome outcome;
        bool stale;
        snprintf(then.driver, sizeof then.driver, "%s", drivers[i].then);
        snprintf(now.driver, sizeof now.driver, "%s", drivers[i].now);
        const int64_t run = store_run(db, &then);
        const struct outcome measured = store_outcome(20);
        store_trial(db, run, &problem, &config, &measured);
        assert_ok(db_set_winner(db, run, &winner, NULL, 0, NULL, 0));
        assert_ok(db_winners(db, &(struct db_filter){0}, &now, keep_winner, &winners));
        if (winners.last.due != drivers[i].due)
            fail_msg("%s, then %s: due %d, %s", drivers[i].then, drivers[i].now, (int)winners.last.due,
                     winners.last.why);
        assert_ok(db_find(db, &now, &problem, &config, &outcome, &stale));
        assert_int_equal(stale, drivers[i].due != DUE_NOTHING);
    }
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

/* ---- a winner that fails later ---- */

static void decide(struct working *w, int number, bool predicted)
{
    const struct config config = store_config(number);
    struct db_winner winner = store_winner(&w->problem, &config);
    winner.base.predicted = predicted;
    assert_ok(db_set_winner(w->db, w->run, &winner, NULL, 0, NULL, 0));
}

static void try_again(struct working *w, int number, enum verdict verdict)
{
    const struct config config = store_config(number);
    struct outcome outcome = store_outcome(2600);
    if (verdict != VERDICT_MEASURED) outcome = outcome_failed(verdict, "told to");
    if (verdict == VERDICT_SLOW) outcome = store_outcome(2600), outcome.verdict = VERDICT_SLOW;
    store_trial(w->db, w->run, &w->problem, &config, &outcome);
}

static bool count_brief(void *self, const struct db_brief *brief)
{
    const struct config *config = self;
    assert_true(config && config_equal(&brief->config, config));
    return true;
}

/* The winner is the number-th configuration for who lists winners and for who runs them; -1: there is none.
 */
static void assert_winner(const struct working *w, int number)
{
    const struct winners found = list(w->db, NULL, &w->problem, NULL);
    const struct config config = store_config(number < 0 ? 0 : number);
    char text[CONFIG_TEXT_MAX] = "";
    struct db_brief brief;
    int64_t problem_id, broken;
    if (number >= 0) config_format(&config, text);
    assert_int_equal(found.count, number >= 0);
    assert_string_equal(found.first.config_text, text);
    assert_int_equal(db_brief_find(w->db, &w->context.gpu, &w->problem, &brief), number < 0 ? E_ABSENT : OK);
    if (number >= 0) assert_true(config_equal(&brief.config, &config));
    assert_ok(db_find_problem(w->db, &w->problem, &problem_id));
    struct config expected = config;
    assert_ok(db_brief_of(w->db, &w->context.gpu, &problem_id, 1, count_brief, number < 0 ? NULL : &expected,
                          &broken));
    assert_int_equal(broken, 0);
}

TEST(a_winner_that_fails_later_is_none_until_a_good_outcome_follows)
{
    static const enum verdict failures[] = {VERDICT_WRONG,       VERDICT_CRASHED, VERDICT_HUNG,
                                            VERDICT_UNBUILDABLE, VERDICT_SPILLS,  VERDICT_REFUSED};
    struct working w = store_begin();
    try_again(&w, 1, VERDICT_MEASURED);
    decide(&w, 1, false);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        try_again(&w, 1, failures[i]);
        assert_winner(&w, -1);
        try_again(&w, 1, VERDICT_PREDICTED); /* says nothing */
        assert_winner(&w, -1);
        try_again(&w, 1, i % 2 ? VERDICT_SLOW : VERDICT_MEASURED);
        assert_winner(&w, 1);
    }
    struct db_counts counts;
    assert_ok(db_count(w.db, &counts));
    assert_int_equal(counts.decisions, 1);
    store_close_clean(w.db);
}

TEST(the_decision_before_stands_in_for_a_winner_that_failed_and_says_so)
{
    struct working w = store_begin();
    const struct db_winner cublas = store_winner(&w.problem, NULL);
    assert_ok(db_set_winner(w.db, w.run, &cublas, NULL, 0, NULL, 0));
    decide(&w, 2, false);
    decide(&w, 3, false);
    try_again(&w, 3, VERDICT_WRONG);
    assert_winner(&w, 2);
    assert_true(list(w.db, NULL, &w.problem, NULL).first.stale);
    try_again(&w, 2, VERDICT_CRASHED);
    const struct db_winner found = list(w.db, NULL, &w.problem, NULL).first;
    assert_string_equal(found.config_text, "cublas");
    assert_true(found.stale);
    assert_string_equal(found.why, "a winner that was preferred to it has failed since");
    try_again(&w, 3, VERDICT_MEASURED);
    assert_winner(&w, 3);
    assert_false(list(w.db, NULL, &w.problem, NULL).first.stale);
    try_again(&w, 3, VERDICT_WRONG);
    decide(&w, 4, false);
    try_again(&w, 3, VERDICT_MEASURED); /* too late */
    assert_winner(&w, 4);
    store_close_clean(w.db);
}

/* Another problem, GPU or configuration, an earlier outcome, an attempt that was cut off. */
TEST(failures_of_others_and_earlier_ones_do_not_count_against_a_winner)
{
    struct working w = store_begin(), other = w;
    const struct config config = store_config(1);
    int64_t attempt, count;
    try_again(&w, 1, VERDICT_WRONG);
    decide(&w, 1, false);
    assert_winner(&w, 1);
    try_again(&w, 2, VERDICT_WRONG);
    other.problem.m++;
    try_again(&other, 1, VERDICT_WRONG);
    other = w;
    other.context.gpu.sm_count++;
    other.run = store_run(w.db, &other.context);
    try_again(&other, 1, VERDICT_WRONG);
    assert_winner(&w, 1);
    assert_ok(db_attempt(w.db, w.run, &w.problem, &config, &attempt));
    db_close(w.db);
    w.db = store_open(DB_WRITE);
    w.run = store_run(w.db, &w.context);
    assert_ok(db_recover(w.db, &count));
    assert_int_equal(count, 1);
    assert_winner(&w, 1);
    w.context.cold = false; /* a product does not depend on what the cache holds */
    w.run = store_run(w.db, &w.context);
    try_again(&w, 1, VERDICT_WRONG);
    assert_winner(&w, -1);
    store_close_clean(w.db);
}

TEST(a_prediction_stands_in_for_a_measured_winner_that_failed_and_gives_way)
{
    struct working w = store_begin();
    decide(&w, 1, false);
    try_again(&w, 1, VERDICT_WRONG);
    decide(&w, 1, true); /* a prediction that its configuration works is refuted already */
    assert_winner(&w, -1);
    decide(&w, 2, true);
    assert_winner(&w, 2);
    decide(&w, 3, true);
    assert_winner(&w, 3);
    try_again(&w, 1, VERDICT_MEASURED);
    assert_winner(&w, 1);
    store_close_clean(w.db);
}

/* As an earlier program made it, so that a copy is read: of its trials those of winners alone. */
TEST(a_glance_at_a_file_that_lacks_columns_sees_that_a_winner_failed)
{
    static const char before[] = "DROP TABLE preferences; DROP TABLE search_notes; " DROP_GROWN_COLUMNS;
    struct working w = store_begin();
    struct db_brief brief;
    decide(&w, 1, false);
    db_close(w.db);
    for (int failed = 0; failed < 2; failed++) {
        w.db = store_open(DB_WRITE);
        w.run = store_run(w.db, &w.context);
        try_again(&w, 2, VERDICT_WRONG);
        try_again(&w, 1, failed ? VERDICT_WRONG : VERDICT_MEASURED);
        db_close(w.db);
        meddle(before);
        w.db = store_open(DB_GLANCE);
        assert_int_equal(db_brief_find(w.db, &w.context.gpu, &w.problem, &brief), failed ? E_ABSENT : OK);
        struct db_counts counts;
        assert_ok(db_count(w.db, &counts));
        assert_int_equal(counts.trials, 1 + failed);
        db_close(w.db);
    }
}

TEST(a_lookup_of_winners_uses_the_indices)
{
    struct working w = store_begin();
    decide(&w, 1, false);
    assert_winner(&w, 1);
    for (int i = 0; i < w.db->statement_count; i++) {
        sqlite3_stmt *plan;
        char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", w.db->statements[i].sql);
        const bool lookup = strstr(sql, "chosen_id") != NULL;
        assert_int_equal(sqlite3_prepare_v2(w.db->handle, sql, -1, &plan, NULL), SQLITE_OK);
        while (lookup && sqlite3_step(plan) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(plan, 3);
            /* decisions are read through, but only for a winner that is refuted */
            if (strstr(step, "SCAN t") || strstr(step, "SCAN w") || strstr(step, "SCAN p"))
                fail_msg("%s: %s", step, sql);
        }
        sqlite3_finalize(plan);
        sqlite3_free(sql);
    }
    db_close(w.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_winner_that_fails_later_is_none_until_a_good_outcome_follows),
        STORE_TEST(the_decision_before_stands_in_for_a_winner_that_failed_and_says_so),
        STORE_TEST(failures_of_others_and_earlier_ones_do_not_count_against_a_winner),
        STORE_TEST(a_prediction_stands_in_for_a_measured_winner_that_failed_and_gives_way),
        STORE_TEST(a_glance_at_a_file_that_lacks_columns_sees_that_a_winner_failed),
        STORE_TEST(a_lookup_of_winners_uses_the_indices),
        STORE_TEST(a_winner_comes_back_with_its_evidence),
        STORE_TEST(errors_with_names_of_a_later_version_are_none),
        STORE_TEST(a_winner_of_a_later_version_is_not_listed_and_a_changed_one_is_an_error),
        STORE_TEST(cublas_may_win),
        STORE_TEST(a_prediction_never_replaces_a_measurement),
        STORE_TEST(winners_are_filtered_by_gpu_and_problem),
        STORE_TEST(a_winner_is_stale_with_another_driver_or_cublas_and_says_why),
        STORE_TEST(what_is_due_follows_from_what_has_changed),
        STORE_TEST(a_driver_s_release_and_its_version_of_cuda_make_nothing_due),
        STORE_TEST(a_winner_that_its_rules_refuse_is_unusable_and_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

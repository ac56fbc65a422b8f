#include "store.h"

#include "db_exchange.h"

#define FILES 4

static char paths[FILES + 2][160]; /* the inputs, then outputs */

static int setup(void **state)
{
    if (store_setup(state)) return -1;
    for (int i = 0; i < FILES + 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s%d.db", store_folder, i < FILES ? "in" : "out", i);
    return 0;
}

static struct db *open_at(const char *path, enum db_mode mode)
{
    struct db *db = NULL;
    assert_ok(db_open(path, mode, &db));
    return db;
}

/* Everything that counts, without the numbers of rows: what follows from the same facts must be the same
 * text. */
static char *content(const char *path)
{
    static const char *const parts[] = {
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM gpus ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM gpu_figures ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM problems ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM configs ORDER BY hash)",
        "SELECT group_concat(hex(hash) || coalesce(ended_us, '-') || coalesce(how, '-')) "
        "FROM (SELECT * FROM runs ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM trials ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM decisions ORDER BY hash)",
        "SELECT group_concat(hex(hash)) FROM (SELECT d.hash FROM winners w JOIN decisions d ON d.id = "
        "w.decision_id "
        "ORDER BY d.hash)",
        "SELECT group_concat(value) FROM (SELECT e.value FROM decision_errors e JOIN decisions d ON d.id = "
        "e.decision_id ORDER BY d.hash, e.who, e.name)",
        "SELECT group_concat(name || value) FROM (SELECT r.name, r.value FROM gpu_rates r JOIN gpu_figures f "
        "ON f.id = r.figures_id ORDER BY f.hash, r.name)",
        "SELECT count(*) || ' runners' FROM decision_runners",
        "SELECT count(*) || ' samples' FROM decision_samples",
        "SELECT group_concat(epilogue) FROM (SELECT epilogue FROM problems ORDER BY hash)"};
    struct db *db = open_at(path, DB_READ);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sqlite3_stmt *stmt;
        assert_int_equal(sqlite3_prepare_v2(db->handle, parts[i], -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        const unsigned char *value = sqlite3_column_text(stmt, 0);
        fprintf(out, "%s\n", value ? (const char *)value : "");
        sqlite3_finalize(stmt);
    }
    fclose(out);
    db_close(db);
    return text;
}

static void assert_same(const char *x, const char *y)
{
    char *a = content(x), *b = content(y);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void assert_clean(const char *path)
{
    struct db *db = open_at(path, DB_READ);
    char text[2048];
    bool clean;
    assert_ok(db_check(db, text, sizeof text, &clean));
    if (!clean) fail_msg("%s", text);
    db_close(db);
}

static enum status merge_into(const char *out, const char *const *inputs, int count, struct db_merged *merged)
{
    struct db *db = open_at(out, DB_WRITE);
    enum status st = db_merge(db, inputs, count, merged);
    db_close(db);
    return st;
}

static struct db_winner winner_of(int number, double time_us, double ratio, double width, int rounds)
{
    return (struct db_winner){.base.problem = problem_make(64, 64, 64),
                              .config = store_config(number),
                              .base.cold = true,
                              .base.exact = true,
                              .base.time_us = time_us,
                              .rival = "cublasSgemm",
                              .base.anchor_us = time_us * ratio,
                              .errors = {true, time_us * 1e-9, 1e-8, 2e-8},
                              .base.ratio = ratio,
                              .base.ratio_low = ratio - width / 2,
                              .base.ratio_high = ratio + width / 2,
                              .rounds = rounds,
                              .trials = 3};
}

static void set_winner(struct db *db, int64_t run, const struct db_winner *w)
{
    struct db_race_sample samples[2] = {{0, 0, w->base.time_us}, {-1, 0, w->base.anchor_us}};
    assert_ok(db_set_winner(db, run, w, &w->config, w->config.template ? 1 : 0, samples,
                            w->base.predicted ? 0 : 2));
}

/* A file with a run, a few trials, one of them shared by all files in content but not in time, and a winner.
 */
static void fill(int file)
{
    struct db *db = open_at(paths[file], DB_WRITE);
    struct db_context context = store_context();
    if (file == 1)
        context.gpu.sm_count = 114, snprintf(context.gpu.name, sizeof context.gpu.name, "NVIDIA H100 PCIe");
    if (file == 2) context.gpu.clock_mhz = 1755; /* the same GPU with other figures */
    int64_t run = store_run(db, &context);
    struct problem shared = problem_make(64, 64, 64), own = problem_make(128, 64, 32 + file);
    own.epilogue = file % 3; /* none, a bias of columns, of rows */
    for (int i = 0; i < 3; i++) {
        struct config config = store_config(i + file);
        struct outcome outcome = store_outcome(10 + i + file);
        store_trial(db, run, &shared, &config, &outcome);
        store_trial(db, run, &own, &config, &outcome);
    }
    struct db_winner w = winner_of(file, 10 + file, 1.0 + 0.01 * file, 0.02, 8 + file);
    set_winner(db, run, &w);
    w = winner_of(file, 10 + file, 1.1, 0.02, 8);
    w.base.problem = own;
    set_winner(db, run, &w);
    if (file != 3) assert_ok(db_run_end(db, run, "finished"));
    db_close(db);
}

TEST(files_merged_in_any_order_and_twice_give_the_same_content)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct db_merged merged;
    for (int i = 0; i < 3; i++) fill(i);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const char *out = paths[i == 0 ? FILES : FILES + 1];
        const char *inputs[6];
        for (int j = 0; j < 6; j++) inputs[j] = paths[orders[i][j % 3]];
        unlink(out);
        if (i % 2) {
            assert_ok(merge_into(out, inputs, 6, &merged)); /* each twice */
        } else {
            for (int j = 0; j < 3; j++) assert_ok(merge_into(out, inputs + j, 1, &merged)); /* one by one */
        }
        assert_clean(out);
        assert_same(paths[FILES], out);
    }
    const char *inputs[4] = {paths[0], paths[1], paths[2], paths[FILES]};
    char *before = content(paths[FILES]), *after;
    assert_ok(merge_into(paths[FILES], inputs, 4, &merged)); /* once more, and into itself */
    assert_int_equal(merged.trials + merged.runs + merged.decisions + merged.winners + merged.gpus, 0);
    assert_true(merged.known > 0);
    assert_string_equal(before, after = content(paths[FILES]));
    free(before);
    free(after);
}

static const char *const rehash[] = {
    "UPDATE gpus SET hash = content_hash(name, arch, sm_count)",
    "UPDATE problems SET hash = content_hash(text)",
    "UPDATE gpu_figures AS f SET hash = content_hash((SELECT hash FROM gpus WHERE id = f.gpu_id), " //
    DB_FIGURES_CONTENT ", " DB_FIGURES_RATES ")",
    "UPDATE configs SET hash = content_hash(template, kernel_hash, schema_hash, text)",
    "UPDATE runs AS r SET hash = content_hash((SELECT hash FROM gpus WHERE id = r.gpu_id), (SELECT hash "
    "FROM "
    "gpu_figures WHERE id = r.figures_id), " DB_RUN_CONTENT ")",
    "UPDATE trials AS x SET hash = content_hash((SELECT hash FROM runs WHERE id = x.run_id), (SELECT "
    "hash FROM "
    "problems WHERE id = x.problem_id), (SELECT hash FROM configs WHERE id = "
    "x.config_id), " DB_TRIAL_CONTENT ")",
    "UPDATE decisions AS x SET hash = content_hash((SELECT hash FROM runs WHERE id = x.run_id), (SELECT "
    "hash FROM "
    "problems WHERE id = x.problem_id), (SELECT hash FROM configs WHERE id = x.config_id), " DB_EVIDENCE
    ", " DB_DECISION_CONTENT ")"};

/* A change with the right hashes. */
static void change(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    for (size_t i = 0; i < sizeof rehash / sizeof *rehash; i++)
        if (sqlite3_exec(handle, rehash[i], NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

/* COUNT trials of one run from configuration `first` on. */
static void add_trials(const char *path, int first, int count)
{
    struct db *db = open_at(path, DB_WRITE);
    struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    const struct problem problem = problem_make(64, 64, 64);
    for (int i = 0; i < count; i++) {
        const struct config config = store_config(first + i);
        const struct outcome outcome = store_outcome(10 + i);
        store_trial(db, run, &problem, &config, &outcome);
    }
    db_close(db);
}

static void assert_merged(const char *input, int64_t added, int64_t known)
{
    struct db_merged merged;
    assert_ok(merge_into(paths[FILES], &input, 1, &merged));
    assert_int_equal(merged.trials, added);
    assert_int_equal(merged.known - known, 0);
    assert_clean(paths[FILES]);
}

/* Rows that are known are compared side by side with those of the target as long as they come in its order:
 * whatever the order is, what is new is added once, and what is known not at all. */
TEST(known_trials_are_found_in_every_order)
{
    struct db_merged merged;
    add_trials(paths[0], 0, 50);
    assert_merged(paths[0], 50, 0);
    assert_merged(paths[0], 0, 51); /* the run, too */
    /* New ones before, between and after. */
    add_trials(paths[1], 100, 20);
    const char *const known = paths[0];
    struct db *db = open_at(paths[1], DB_WRITE);
    assert_ok(db_merge(db, &known, 1, &merged));
    db_close(db);
    add_trials(paths[1], 200, 20);
    assert_merged(paths[1], 40, 51);
    assert_merged(paths[1], 0, 93);
    /* Their order reversed, then every second one out of order: no two rows side by side. */
    change(paths[1], "UPDATE trials SET id = 1000 - id");
    assert_merged(paths[1], 0, 93);
    change(paths[1], "UPDATE trials SET id = id + 5000 * (id % 2)");
    assert_merged(paths[1], 0, 93);
    /* A known row in front of many new ones, and new rows among those that are in order. */
    change(paths[0], "UPDATE trials SET detail = 'another' WHERE id % 10 = 7");
    assert_merged(paths[0], 5, 46);
    assert_merged(paths[0], 0, 51);
    assert_merged(paths[1], 0, 93);
}

TEST(a_merge_of_merges_is_the_merge_of_all)
{
    struct db_merged merged;
    for (int i = 0; i < 3; i++) fill(i);
    const char *all[3] = {paths[0], paths[1], paths[2]}, *rest[2] = {paths[3], paths[2]};
    assert_ok(merge_into(paths[FILES], all, 3, &merged));
    assert_int_equal(merged.trials, 18);
    assert_int_equal(merged.runs, 3);
    assert_int_equal(merged.decisions, 6);
    assert_ok(merge_into(paths[3], all, 2, &merged));
    assert_ok(merge_into(paths[FILES + 1], rest, 2, &merged));
    assert_same(paths[FILES], paths[FILES + 1]);
}

/* Which of two winners stands, whichever comes first. */
static void assert_stands(const struct db_winner *better, const struct db_winner *worse)
{
    const struct db_winner *both[2] = {worse, better};
    struct db_merged merged;
    for (int first = 0; first < 2; first++) {
        struct db_context context = store_context();
        for (int i = 0; i < 2; i++) {
            unlink(paths[i]);
            struct db *db = open_at(paths[i], DB_WRITE);
            set_winner(db, store_run(db, &context), both[i]);
            db_close(db);
        }
        unlink(paths[FILES]);
        const char *inputs[2] = {paths[first], paths[1 - first]};
        assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
        char *merged_content = content(paths[FILES]), *alone = content(paths[1]);
        /* The eighth line names the winner. */
        char *x = merged_content, *y = alone;
        for (int line = 0; line < 7; line++) x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1;
        assert_int_equal(strcspn(x, "\n"), 32);
        assert_memory_equal(x, y, 32);
        free(merged_content);
        free(alone);
    }
}

TEST(the_better_evidence_stands)
{
    struct db_winner raced = winner_of(1, 10, 1.0, 0.02, 8), other = winner_of(2, 9, 1.2, 0.02, 8);
    struct db_winner predicted = winner_of(3, 5, 0, 0, 0);
    predicted.base.predicted = true;
    predicted.base.ratio_low = predicted.base.ratio_high = 0;
    assert_stands(&raced, &predicted);
    struct db_winner cublas = raced;
    cublas.config.template = NULL;
    assert_stands(&cublas, &predicted);
    struct db_winner longer = other;
    longer.rounds = 16;
    assert_stands(&longer, &raced);
    struct db_winner narrow = raced;
    narrow.base.ratio_low = 0.998, narrow.base.ratio_high = 1.002;
    assert_stands(&narrow, &other);
    assert_stands(&raced, &other); /* as good: the newer, which is stored last */
    struct db_winner slightly_longer = other;
    slightly_longer.rounds = 15; /* of the same power of two as 8 */
    assert_stands(&raced, &slightly_longer);
}

static bool keep_winner(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return true;
}

static void assert_wins(const char *path, const struct config *config)
{
    const struct db_filter filter = {.gpu = NULL};
    struct db_winner winner = {.config_text = ""};
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    struct db *db = open_at(path, DB_READ);
    assert_ok(db_winners(db, &filter, NULL, keep_winner, &winner));
    assert_string_equal(winner.config_text, text);
    db_close(db);
}

/* One file has the winner with the better evidence, another that it failed later, a third that it then was
 * right. */
TEST(what_another_file_knows_of_a_winner_counts_in_any_order)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const struct db_winner best = winner_of(1, 10, 1.0, 0.02, 16), next = winner_of(2, 10, 1.0, 0.02, 8);
    const struct outcome wrong = outcome_failed(VERDICT_WRONG, "told to"), right = store_outcome(10);
    const struct db_context context = store_context();
    struct db_merged merged;
    for (int i = 0; i < 3; i++) {
        struct db *db = open_at(paths[i], DB_WRITE);
        const int64_t run = store_run(db, &context);
        if (i < 2) set_winner(db, run, i == 0 ? &best : &next);
        if (i > 0) store_trial(db, run, &best.base.problem, &best.config, i == 1 ? &wrong : &right);
        db_close(db);
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        bool has[3] = {false};
        unlink(paths[FILES]);
        for (int j = 0; j < 3; j++) {
            const char *input = paths[orders[i][j]];
            has[orders[i][j]] = true;
            assert_ok(merge_into(paths[FILES], &input, 1, &merged));
            if (has[0] || has[1])
                assert_wins(paths[FILES], has[0] && (!has[1] || has[2]) ? &best.config : &next.config);
        }
        assert_clean(paths[FILES]);
    }
}

TEST(a_config_of_a_changed_template_does_not_stand_against_one_that_can_be_used)
{
    struct db_winner predicted = winner_of(3, 5, 0, 0, 0), raced = winner_of(1, 10, 1.0, 0.02, 30);
    predicted.base.predicted = true;
    predicted.base.ratio_low = predicted.base.ratio_high = 0;
    struct db_context context = store_context();
    struct db *db = open_at(paths[0], DB_WRITE);
    db_parameters_hash(db, raced.config.template);
    db->parameters[0].schema ^= 1; /* as an earlier version of the program had it */
    set_winner(db, store_run(db, &context), &raced);
    db_close(db);
    db = open_at(paths[1], DB_WRITE);
    set_winner(db, store_run(db, &context), &predicted);
    db_close(db);
    struct db_merged merged;
    const char *inputs[2] = {paths[1], paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
    assert_int_equal(merged.winners, 1);
    assert_clean(paths[FILES]);
}

TEST(a_tuner_goes_on_in_a_merged_file)
{
    struct db_merged merged;
    for (int i = 0; i < 2; i++) fill(i);
    const char *inputs[1] = {paths[1]};
    struct db *db = open_at(paths[0], DB_WRITE);
    assert_ok(db_merge(db, inputs, 1, &merged));
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_make(5, 6, 7);
    for (int i = 0; i < 20; i++) {
        struct config config = store_config(100 + i);
        struct outcome outcome = store_outcome(3);
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 32);
    assert_int_equal(counts.attempts, 0);
    db_close(db);
    assert_clean(paths[0]);
}

TEST(what_ends_later_is_merged_later)
{
    struct db_merged merged;
    struct db_context context = store_context();
    struct db *db = open_at(paths[0], DB_WRITE);
    int64_t run = store_run(db, &context), attempt;
    struct problem problem = problem_make(5, 6, 7);
    struct config config = store_config(1);
    assert_ok(db_attempt(db, run, &problem, &config, &attempt));
    const char *inputs[1] = {paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 1, &merged)); /* while the tuner runs */
    assert_int_equal(merged.trials, 0);
    struct outcome outcome = store_outcome(3);
    assert_ok(db_record(db, attempt, &outcome));
    assert_ok(db_run_end(db, run, "finished"));
    db_close(db);
    struct db *out = open_at(paths[FILES], DB_WRITE);
    int64_t count;
    assert_ok(db_recover(out, &count)); /* here the run looks killed */
    db_close(out);
    assert_ok(merge_into(paths[FILES], inputs, 1, &merged));
    assert_int_equal(merged.trials, 1);
    assert_same(paths[0], paths[FILES]);
}

static void spoil(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

TEST(a_spoiled_file_is_refused_and_nothing_of_the_others_is_taken)
{
    static const char *const spoils[] = {
        "UPDATE trials SET time_us = 0.001 WHERE id = 1",
        "UPDATE trials SET run_id = 77 WHERE id = 1",
        "UPDATE decisions SET ratio = 99.0",
        "UPDATE winners SET decision_id = 2 WHERE decision_id = 1",
        "UPDATE configs SET text = 'simt BM=1' WHERE id = 1",
        "UPDATE problems SET text = 'sgemm:nn:1x1x1' WHERE id = 1",
        "DELETE FROM gpus",
        "UPDATE gpus SET name = 'NVIDIA H900'",
        "UPDATE runs SET how = 'x' || char(0) || 'y'",
        "UPDATE decision_samples SET time_us = -1.0",
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM winners; END",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 5"};
    struct db_merged merged;
    fill(0);
    struct db *db = open_at(paths[FILES], DB_WRITE);
    struct db_context context = store_context();
    store_run(db, &context);
    db_close(db);
    char *before = content(paths[FILES]);
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        unlink(paths[1]);
        fill(1);
        spoil(paths[1], spoils[i]);
        /* Once as little, once as so much that the indices would be built at its end. */
        const char *inputs[6] = {paths[0], paths[0], paths[0], paths[0], paths[0], paths[1]};
        for (int from = 0; from < 5; from += 4) {
            enum status st = merge_into(paths[FILES], inputs + from, 6 - from, &merged);
            if (st != E_DB) fail_msg("%s: status %d, %s", spoils[i], st, status_text());
            char *after = content(paths[FILES]);
            assert_string_equal(before, after);
            free(after);
        }
    }
    free(before);
}

/* Each of these changes, with the right hashes, in a file of its own. part: of the message. */
static void assert_refused(const char *const *updates, size_t count, const char *part)
{
    const char *inputs[1] = {paths[1]};
    struct db_merged merged;
    for (size_t i = 0; i < count; i++) {
        unlink(paths[1]);
        fill(1);
        change(paths[1], updates[i]);
        const enum status st = merge_into(paths[FILES], inputs, 1, &merged);
        if (st != E_DB) fail_msg("%s: status %d", updates[i], st);
        assert_non_null(strstr(status_text(), part));
    }
}

#define UNCHECKED "PRAGMA ignore_check_constraints = ON; "

/* Values that a careful attacker gave the right hashes. */
TEST(impossible_values_with_right_hashes_are_refused)
{
    static const char *const updates[] = {
        "UPDATE gpu_figures SET threads_per_sm = -4",
        "UPDATE gpus SET arch = 1",
        "UPDATE runs SET driver = printf('%.100c', 'x')",
        "UPDATE decisions SET time_us = -1.0",
        "UPDATE decisions SET ratio_high = 9e99",
        "UPDATE configs SET template = 'ladder_naive'",
        "UPDATE trials SET worst_error = -1.0",
        /* what only the schema's CHECKs forbid, which no reader applies */
        UNCHECKED "UPDATE decision_errors SET who = 'nobody'",
        UNCHECKED "UPDATE trials SET verdict = 'odd' WHERE id = 3",
        UNCHECKED "UPDATE trials SET cold = 2 WHERE id = 3",
        UNCHECKED "UPDATE trials SET exact = -1 WHERE id = 3",
        UNCHECKED "UPDATE runs SET cold = 2",
        UNCHECKED "UPDATE decisions SET tied = 3",
        UNCHECKED "UPDATE decisions SET predicted = 3",
        UNCHECKED "UPDATE decisions SET exact = 3",
    };
    assert_refused(updates, sizeof updates / sizeof *updates, "impossible");
}

struct refused {
    int numbers[8], count;
    char last[300];
};

static void note_refused(void *self, int number, enum status st)
{
    struct refused *refused = self;
    assert_true(st == E_DB || st == E_ABSENT);
    refused->numbers[refused->count++ % 8] = number;
    snprintf(refused->last, sizeof refused->last, "%s", status_text());
}

/* Of several files one is not there, and one is damaged in each of these ways, or impossible. */
TEST(the_sound_files_are_merged_without_the_others)
{
    static const char *const updates[] = {"UPDATE gpus SET arch = 1", "UPDATE decisions SET time_us = -1.0",
                                          "UPDATE decisions SET ratio_high = 9e99",
                                          "UPDATE configs SET template = 'ladder_naive'",
                                          "UPDATE trials SET worst_error = -1.0"};
    const char *inputs[4] = {paths[0], "/nowhere/at.db", paths[1], paths[2]},
               *sound[2] = {paths[0], paths[2]};
    struct db_merged merged;
    fill(0);
    fill(2);
    assert_ok(merge_into(paths[FILES], sound, 2, &merged));
    const int64_t trials = merged.trials;
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        struct refused refused = {.count = 0};
        const struct db_refusal refusal = {note_refused, &refused};
        unlink(paths[1]);
        unlink(paths[FILES + 1]);
        fill(1);
        change(paths[1], updates[i]);
        struct db *db = open_at(paths[FILES + 1], DB_WRITE);
        assert_ok(db_merge_sound(db, inputs, 4, &refusal, &merged));
        db_close(db);
        assert_int_equal(refused.count, 2);
        assert_int_equal(refused.numbers[0], 1);
        assert_int_equal(refused.numbers[1], 2);
        assert_non_null(strstr(refused.last, "impossible"));
        assert_int_equal(merged.trials, trials);
        assert_same(paths[FILES], paths[FILES + 1]);
        assert_clean(paths[FILES + 1]);
    }
}

/* Files 0 and 2, of the same GPU: both have trials and a winner of one problem that a later version knows. */
TEST(rows_of_a_later_version_are_merged_as_they_are)
{
    static const char later[] = "UPDATE problems SET text = 'sgemm:nn:128x64x32:epilogue=swish', "
                                "epilogue = 'swish' WHERE m = 128";
    struct db_merged merged;
    fill(0);
    fill(2);
    change(paths[0], later);
    change(paths[2], later);
    const char *inputs[2] = {paths[0], paths[2]}, *reversed[2] = {paths[2], paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
    assert_int_equal(merged.trials, 12);
    assert_int_equal(merged.decisions, 4);
    assert_int_equal(merged.problems, 2);
    assert_ok(merge_into(paths[FILES + 1], reversed, 2, &merged));
    assert_same(paths[FILES], paths[FILES + 1]);
    assert_ok(merge_into(paths[FILES + 1], inputs, 2, &merged));
    assert_int_equal(merged.trials + merged.decisions + merged.winners, 0);
    assert_clean(paths[FILES]);
    struct db *db = open_at(paths[FILES], DB_READ);
    struct binder b = db_bind(db, "SELECT count(*) FROM winners w JOIN problems p ON p.id = w.problem_id "
                                  "JOIN decisions d ON d.id = w.decision_id WHERE p.epilogue = 'swish' "
                                  "AND d.time_us = 12"); /* the newer one */
    int64_t winners;
    assert_ok(db_integer(db, &b, &winners, "count"));
    assert_int_equal(winners, 1);
    db_close(db);
}

/* What this version can tell of any problem. */
TEST(a_problem_that_no_version_can_have_is_refused)
{
    static const char *const updates[] = {
        "UPDATE problems SET text = 'latergemm:nn:128x64x32' WHERE m = 128", /* not of its type */
        "UPDATE problems SET text = 'nothing', type = 'nothing' WHERE m = 128",
        "UPDATE problems SET text = 'later gemm:nn:1x1x1', type = 'later gemm' WHERE m = 128",
        "UPDATE problems SET text = 'latergemm:nn:1x1x1', type = 'latergemm', k = -1 WHERE m = 128"};
    assert_refused(updates, sizeof updates / sizeof *updates, "");
}

TEST(what_is_no_file_of_ours_is_refused)
{
    struct db_merged merged;
    const char *inputs[1] = {"/nowhere/at.db"};
    assert_fails(merge_into(paths[FILES], inputs, 1, &merged), E_ABSENT, "/nowhere/at.db");
    FILE *text = fopen(paths[0], "w");
    for (int i = 0; i < 100; i++) fputs("these are not the bytes of a database\n", text);
    fclose(text);
    inputs[0] = paths[0];
    assert_fails(merge_into(paths[FILES], inputs, 1, &merged), E_DB, paths[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_merged_in_any_order_and_twice_give_the_same_content, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(known_trials_are_found_in_every_order, setup, store_teardown),
        cmocka_unit_test_setup_teardown(a_merge_of_merges_is_the_merge_of_all, setup, store_teardown),
        cmocka_unit_test_setup_teardown(the_better_evidence_stands, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_another_file_knows_of_a_winner_counts_in_any_order, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(
            a_config_of_a_changed_template_does_not_stand_against_one_that_can_be_used, setup,
            store_teardown),
        cmocka_unit_test_setup_teardown(a_tuner_goes_on_in_a_merged_file, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_ends_later_is_merged_later, setup, store_teardown),
        cmocka_unit_test_setup_teardown(a_spoiled_file_is_refused_and_nothing_of_the_others_is_taken, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(impossible_values_with_right_hashes_are_refused, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(the_sound_files_are_merged_without_the_others, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_of_ours_is_refused, setup, store_teardown),
        cmocka_unit_test_setup_teardown(rows_of_a_later_version_are_merged_as_they_are, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(a_problem_that_no_version_can_have_is_refused, setup, store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

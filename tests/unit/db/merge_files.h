/* merge_files.h — files that are merged, for tests: what is in them, what they hold after it, changes with
 * the right hashes. */
#ifndef GT_MERGE_FILES_H
#define GT_MERGE_FILES_H

#include "store.h"

#include "db_exchange.h"

#define FILES 4

static char paths[FILES + 2][160]; /* the inputs, then outputs */

static inline int setup(void **state)
{
    if (store_setup(state)) return -1;
    for (int i = 0; i < FILES + 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s%d.db", store_folder, i < FILES ? "in" : "out", i);
    return 0;
}

static inline struct db *open_at(const char *path, enum db_mode mode)
{
    struct db *db = NULL;
    assert_ok(db_open(path, mode, &db));
    return db;
}

/* Everything that counts, without the numbers of rows: what follows from the same facts must be the same
 * text. */
static inline char *content(const char *path)
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
        "SELECT count(*) || ' samples, ' || sum(timing) || ', ' || sum(joules) FROM decision_samples",
        "SELECT group_concat(timing || ' ' || objective || ' ' || joules || ' ' || rival_joules) FROM "
        "(SELECT * FROM decisions ORDER BY hash)",
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

static inline void assert_same(const char *x, const char *y)
{
    char *a = content(x), *b = content(y);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static inline void assert_clean(const char *path)
{
    struct db *db = open_at(path, DB_READ);
    char text[2048];
    bool clean;
    assert_ok(db_check(db, text, sizeof text, &clean));
    if (!clean) fail_msg("%s", text);
    db_close(db);
}

static inline enum status merge_into(const char *out, const char *const *inputs, int count,
                                     struct db_merged *merged)
{
    struct db *db = open_at(out, DB_WRITE);
    enum status st = db_merge(db, inputs, count, merged);
    db_close(db);
    return st;
}

static inline struct db_winner winner_of(int number, double time_us, double ratio, double width, int rounds)
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
                              .timing = number % 2 ? TIMING_BEHIND : TIMING_LOAD,
                              .by_energy = number % 3 == 0,
                              .joules = 0.5 * number,
                              .rival_joules = number,
                              .rounds = rounds,
                              .trials = 3};
}

static inline void set_winner(struct db *db, int64_t run, const struct db_winner *w)
{
    struct db_race_sample samples[2] = {
        {.time_us = w->base.time_us, .timing = w->timing, .joules = w->joules},
        {.runner = -1, .time_us = w->base.anchor_us}};
    assert_ok(db_set_winner(db, run, w, &w->config, w->config.template ? 1 : 0, samples,
                            w->base.predicted ? 0 : 2));
}

/* A file with a run, a few trials, one of them shared by all files in content but not in time, and a winner.
 */
static inline void fill(int file)
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
static inline void change(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    for (size_t i = 0; i < sizeof rehash / sizeof *rehash; i++)
        if (sqlite3_exec(handle, rehash[i], NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

#endif

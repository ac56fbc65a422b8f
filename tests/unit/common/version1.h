/* version1.h — a file of version 1, as the last program of version 1 left it when it was killed: two GPUs,
 * measured in two cache policies, predicted, imported, without a rival, and one attempt that never ended; and
 * whether another file has the same facts.
 */
#ifndef GT_TEST_VERSION1_H
#define GT_TEST_VERSION1_H

#include "db_files.h"

#define TRIALS  181
#define WINNERS 8

/* Where the file is that is asked. */
static char beside[160], copy_path[160];

static inline void unpack_as(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "gzip -dc '%s/tests/data/version1.db.gz' > '%s'", GT_SOURCE_DIR, path);
    assert_int_equal(system(command), 0); /* NOLINT(bugprone-command-processor): both names are ours */
}

static inline void unpack(void)
{
    unpack_as(store_path);
    snprintf(beside, sizeof beside, "%s.v1-backup", store_path);
}

static inline void unpack_copy(void)
{
    snprintf(copy_path, sizeof copy_path, "%s.copy", store_path);
    unpack_as(copy_path);
}

/* All that was measured, in words that both versions have: the hash of the rows of a statement, in order. */
#define TRIAL_ROWS                                                                                           \
    "SELECT t.id, r.nonce, g.name, p.text, c.template, c.schema_hash, c.text, t.cold, t.started_us, "        \
    "t.ended_us, t.recovered_us, t.verdict, t.detail, t.registers, t.spill_bytes, t.static_smem_bytes, "     \
    "t.cubin_bytes, t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact, t.sm_clock_mhz, "         \
    "t.memory_clock_mhz, t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms FROM trials t "           \
    "JOIN runs r ON r.id = t.run_id JOIN gpus g ON g.id = t.gpu_id JOIN problems p ON p.id = t.problem_id "  \
    "JOIN configs c ON c.id = t.config_id ORDER BY t.id"
static const char *const both[] = {
    TRIAL_ROWS,
    "SELECT id, hash, name, arch, sm_count FROM gpus ORDER BY id",
    "SELECT id, hash, text, m, n, k, batch FROM problems ORDER BY id",
    "SELECT id, gpu_id, figures_id, gpu_uuid, driver, nvrtc, cublas, power_limit_w, cold, protocol, seed, "
    "command, nonce, started_us, ended_us, how FROM runs ORDER BY id",
    "SELECT a.id, a.run_id, a.problem_id, c.text, a.started_us FROM attempts a JOIN configs c ON c.id = "
    "a.config_id ORDER BY a.id",
    "SELECT d.id, d.run_id, d.gpu_id, d.problem_id, c.text, d.cold, d.decided_us, d.predicted, d.tied, "
    "d.exact, d.time_us, d.anchor_us, d.ratio, d.ratio_low, d.ratio_high, d.rounds, d.trials, d.legal_count, "
    "d.model_rank, d.model_first16_share, d.registers, d.smem_bytes FROM decisions d "
    "LEFT JOIN configs c ON c.id = d.config_id ORDER BY d.id",
    "SELECT e.decision_id, e.runner, c.text FROM decision_runners e JOIN configs c ON c.id = e.config_id "
    "ORDER BY e.decision_id, e.runner",
    "SELECT * FROM decision_samples ORDER BY decision_id, position",
    "SELECT * FROM winners ORDER BY gpu_id, problem_id, cold",
    "SELECT name, seq FROM sqlite_sequence WHERE name IN ('runs', 'attempts') ORDER BY name"};
/* The same facts in the words of each version. */
static const char *const of_each[][2] = {
    {"SELECT f.id, f.short_name, f.clock_mhz, f.memory_gb_per_s, f.fp32_tflops, f.source FROM gpu_figures f "
     "ORDER BY f.id",
     "SELECT f.id, f.short_name, f.clock_mhz, m.value, t.value, f.source FROM "
     "gpu_figures f "
     "JOIN gpu_rates m ON m.figures_id = f.id AND m.name = 'memory_gb_per_s' "
     "JOIN gpu_rates t ON t.figures_id = f.id AND t.name = 'fp32_tflops' ORDER BY f.id"},
    {"SELECT id, CASE WHEN anchor_us > 0 THEN 'cublasSgemm' ELSE '' END FROM decisions ORDER BY id",
     "SELECT id, rival FROM decisions ORDER BY id"},
    {"SELECT id, 'sgemm', substr(text, 7, 2), '' FROM problems ORDER BY id",
     "SELECT id, type, op, epilogue FROM problems ORDER BY id"}};

static inline int64_t rows_hash(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *stmt;
    uint64_t hash = UINT64_C(14695981039346656037);
    if (sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL)) fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    while (sqlite3_step(stmt) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const unsigned char *bytes = sqlite3_column_blob(stmt, i);
            const int count = sqlite3_column_bytes(stmt, i);
            for (int b = -1; b < count; b++)
                hash = (hash ^ (b < 0 ? (unsigned)sqlite3_column_type(stmt, i) + 256U : bytes[b])) *
                       UINT64_C(1099511628211);
        }
    sqlite3_finalize(stmt);
    return (int64_t)hash;
}

static inline int64_t count_of(const char *path, const char *sql)
{
    sqlite3 *handle;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
    return value;
}

/* As SQLite reads both files: the same facts. The old one has version 1. */
static inline void assert_same_facts(const char *old, const char *new, int version)
{
    sqlite3 *x, *y;
    assert_int_equal(sqlite3_open(old, &x), SQLITE_OK);
    assert_int_equal(sqlite3_open(new, &y), SQLITE_OK);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (rows_hash(x, both[i]) != rows_hash(y, both[i])) fail_msg("not the same: %s", both[i]);
    for (size_t i = 0; i < sizeof of_each / sizeof *of_each; i++)
        if (rows_hash(x, of_each[i][0]) != rows_hash(y, of_each[i][version - 1]))
            fail_msg("not the same: %s", of_each[i][1]);
    sqlite3_close(x);
    sqlite3_close(y);
}

struct seen {
    int winners, usable, stale;
};

static inline bool count_winner(void *self, const struct db_winner *w)
{
    struct seen *seen = self;
    seen->winners++;
    seen->usable += !w->unusable;
    assert_string_equal(w->rival, w->base.anchor_us > 0 ? "cublasSgemm" : "");
    assert_false(w->errors.measured || w->rival_errors.measured);
    if (strcmp(w->gpu.name, "NVIDIA H200") == 0) assert_true(gpu_rate(&w->gpu, "fp32") > 60);
    return true;
}

static inline void assert_winners_stand(struct db *db)
{
    struct db_filter all = {0};
    struct seen seen = {0};
    assert_ok(db_winners(db, &all, NULL, count_winner, &seen));
    assert_int_equal(seen.winners, WINNERS);
    assert_int_equal(seen.usable, WINNERS); /* their kernels are those of the last program of version 1 */
}

#endif

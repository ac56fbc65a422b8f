/* A file of version 1, as the last program of version 1 left it when it was killed: two GPUs, measured in two
 * cache policies, predicted, imported, without a rival, and one attempt that never ended. */
#include "db_exchange.h"
#include "db_files.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define TRIALS  181
#define WINNERS 8

/* Where the file is that is asked. */
static char beside[160], copy_path[160];

static void unpack_as(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "gzip -dc '%s/tests/data/version1.db.gz' > '%s'", GT_SOURCE_DIR, path);
    assert_int_equal(system(command), 0); /* NOLINT(bugprone-command-processor): both names are ours */
}

static void unpack(void)
{
    unpack_as(store_path);
    snprintf(beside, sizeof beside, "%s.v1-backup", store_path);
}

static void unpack_copy(void)
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

static int64_t rows_hash(sqlite3 *handle, const char *sql)
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

static int64_t count_of(const char *path, const char *sql)
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
static void assert_same_facts(const char *old, const char *new, int version)
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

/* ---- reading ---- */

struct seen {
    int winners, usable, stale;
};

static bool count_winner(void *self, const struct db_winner *w)
{
    struct seen *seen = self;
    seen->winners++;
    seen->usable += !w->unusable;
    assert_string_equal(w->rival, w->base.anchor_us > 0 ? "cublasSgemm" : "");
    assert_false(w->errors.measured || w->rival_errors.measured);
    if (strcmp(w->gpu.name, "NVIDIA H200") == 0) assert_true(gpu_rate(&w->gpu, "fp32") > 60);
    return true;
}

static void assert_winners_stand(struct db *db)
{
    struct db_filter all = {0};
    struct seen seen = {0};
    assert_ok(db_winners(db, &all, NULL, count_winner, &seen));
    assert_int_equal(seen.winners, WINNERS);
    assert_int_equal(seen.usable, WINNERS); /* their kernels are those of the last program of version 1 */
}

TEST(an_older_file_is_read_as_it_is_and_left_as_it_is)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    struct look before = look_at(store_path);
    struct db *db = store_open(DB_READ);
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS);
    assert_int_equal(counts.attempts, 1);
    assert_winners_stand(db);
    assert_int_equal(sqlite3_exec(db->handle, "DELETE FROM winners", NULL, NULL, NULL), SQLITE_READONLY);
    store_close_clean(db);
    assert_looks_like(store_path, before);
    assert_int_equal(access(beside, F_OK), -1);
}

TEST(at_a_glance_there_are_the_same_winners)
{
    unpack();
    struct db *db = store_open(DB_GLANCE);
    assert_winners_stand(db);
    struct db_context context = store_context();
    struct problem problem = problem_make(512, 512, 512);
    struct db_brief brief;
    assert_ok(db_brief_find(db, &context.gpu, &problem, &brief));
    assert_true(brief.config.template && !brief.changed && brief.base.cold);
    db_close(db);
}

static int64_t ask(struct db *db, const char *sql)
{
    int64_t value = -1;
    assert_int_equal(db_ask(db->handle, sql, &value), SQLITE_OK);
    return value;
}

/* A hash is computed of each row: a file has thousands of configurations to one that won. */
TEST(a_glance_takes_what_the_winners_refer_to_and_no_more)
{
    unpack();
    struct db *db = store_open(DB_GLANCE);
    assert_int_equal(ask(db, "SELECT count(*) FROM winners"), WINNERS);
    assert_int_equal(ask(db, "SELECT count(*) FROM configs"),
                     ask(db, "SELECT count(DISTINCT config_id) FROM decisions"));
    assert_int_equal(ask(db, "SELECT count(*) FROM decisions"), WINNERS);
    assert_int_equal(ask(db, "SELECT count(*) FROM runs"),
                     ask(db, "SELECT count(DISTINCT run_id) FROM decisions"));
    db_close(db);
}

/* ---- bringing it up to date ---- */

TEST(an_older_file_is_brought_up_to_date_without_losing_a_trial)
{
    unpack();
    unpack_copy();
    chmod(store_path, 0640);
    struct db *db = store_open(DB_WRITE);
    assert_winners_stand(db);
    db_close(db);
    assert_int_equal(count_of(store_path, "PRAGMA user_version"), 2);
    assert_int_equal(count_of(store_path, "SELECT count(*) FROM trials"), TRIALS);
    assert_int_equal(count_of(store_path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'"), 0);
    assert_same_facts(copy_path, store_path, 2);
    assert_same_facts(copy_path, beside, 1);
    assert_int_equal(count_of(beside, "PRAGMA user_version"), 1);
    struct stat info;
    assert_int_equal(stat(beside, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    store_assert_clean();
}

TEST(an_older_file_is_brought_up_to_date_on_a_network_file_system)
{
    unpack();
    unpack_copy();
    setenv("GEMMTUNE_DB_SAFE", "1", 1);
    struct db *db = store_open(DB_WRITE);
    assert_winners_stand(db);
    db_close(db);
    unsetenv("GEMMTUNE_DB_SAFE");
    assert_same_facts(copy_path, store_path, 2);
    store_assert_clean();
}

TEST(a_tuner_goes_on_in_it)
{
    unpack();
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_counts counts;
    int64_t lost;
    assert_int_equal(store_run(db, &context), 9); /* 8 had been handed out */
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS + 1);
    assert_int_equal(counts.gpus, 2); /* the same GPU is the same row */
    store_close_clean(db);
}

TEST(what_was_tried_is_found_again)
{
    unpack();
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(512, 512, 512);
    struct db_best best[64];
    int count;
    bool stale;
    struct outcome outcome;
    assert_ok(db_best(db, &context, &problem, best, 64, &count));
    assert_true(count > 10);
    for (int i = 0; i < count; i++)
        assert_ok(db_find(db, &context, &problem, &best[i].config, &outcome, &stale));
    db_close(db);
}

TEST(a_backup_is_never_overwritten)
{
    unpack();
    FILE *file = fopen(beside, "w");
    assert_true(fputs("mine", file) > 0 && fclose(file) == 0);
    struct look before = look_at(beside);
    db_close(store_open(DB_WRITE));
    assert_looks_like(beside, before);
    char second[200], third[200];
    snprintf(second, sizeof second, "%s-2", beside);
    snprintf(third, sizeof third, "%s-3", beside);
    assert_int_equal(count_of(second, "SELECT count(*) FROM trials"), TRIALS);
    unpack(); /* the same once more: the backup is there already */
    db_close(store_open(DB_WRITE));
    assert_int_equal(access(third, F_OK), -1);
    unpack();
    meddle("UPDATE runs SET how = 'finished'");
    db_close(store_open(DB_WRITE));
    assert_int_equal(access(third, F_OK), 0);
}

TEST(damage_is_found_afterwards_as_before)
{
    static const char *const changes[][2] = {
        {"UPDATE trials SET time_us = time_us * 0.5 WHERE verdict = 'measured'", "content of trials"},
        {"UPDATE configs SET text = text || ' ' WHERE id = 5", "content of configurations"},
        {"UPDATE gpu_figures SET fp32_tflops = 1000.0 WHERE id = 1", "content of GPU figures"},
        {"UPDATE decisions SET ratio = 2.0 WHERE id = 2", "content of decisions"},
        {"UPDATE decision_samples SET time_us = 2.0 WHERE decision_id = 2 AND position = 1",
         "content of decisions"},
        {"UPDATE runs SET driver = '1' WHERE id = 1", "content of runs"}};
    char text[1000];
    bool clean;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unpack();
        meddle(changes[i][0]);
        for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
            struct db *db = store_open((enum db_mode)mode);
            if (mode == DB_WRITE) db_guard(db, false);
            assert_ok(db_check(db, text, sizeof text, &clean));
            if (!strstr(text, changes[i][1])) fail_msg("%s: '%s'", changes[i][0], text);
            db_close(db);
        }
    }
}

TEST(a_file_that_would_lose_rows_is_left_alone)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE; UPDATE trials SET config_id = 7777 WHERE id = 3");
    struct look before = look_at(store_path);
    struct db *db;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "without what they refer to; nothing was changed");
    assert_looks_like(store_path, before);
}

TEST(an_older_file_with_other_tables_is_refused)
{
    unpack();
    meddle("ALTER TABLE runs ADD COLUMN more TEXT");
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "calls itself version 1");
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "calls itself version 1");
}

/* An index that knows of a trial which its table lacks: the copy that is read has indices of its own. */
static const char *const stale_index[] = {
    "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'trials_by_key'; "
    "PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = sql || ' WHERE id < 0' WHERE name = 'trials_by_key'",
    "DELETE FROM trials WHERE id = 3; PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = (SELECT sql FROM kept) WHERE name = 'trials_by_key'",
    "DROP TABLE kept", NULL};
/* A trial that is there twice, which a copy refuses. */
static const char *const same_trial_twice[] = {
    "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name IN ('trials', 'sqlite_autoindex_trials_1'); "
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_trials_1'; "
    "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL UNIQUE', 'NOT NULL') WHERE name = 'trials'",
    "CREATE TEMP TABLE one AS SELECT * FROM trials WHERE id = 3; UPDATE one SET id = 99999; "
    "INSERT INTO trials SELECT * FROM one; PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = (SELECT sql FROM kept WHERE type = 'table') WHERE name = 'trials'; "
    "INSERT INTO sqlite_schema SELECT * FROM kept WHERE type = 'index'",
    "DROP TABLE kept", NULL};

static void damage(const char *const *steps)
{
    unpack();
    for (; *steps; steps++) meddle(*steps); /* each with the tables that the one before has left */
}

TEST(damage_that_a_copy_does_not_have_is_found_in_the_file)
{
    char text[1000];
    bool clean;
    damage(stale_index);
    struct db *db = store_open(DB_READ);
    assert_ok(db_check(db, text, sizeof text, &clean));
    if (clean || !strstr(text, "structure of the file")) fail_msg("'%s'", text);
    db_close(db);
}

TEST(damage_that_no_copy_can_have_is_named)
{
    damage(same_trial_twice);
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "is damaged (");
}

/* ---- merging ---- */

TEST(versions_merge_in_any_order_to_the_same)
{
    struct db_merged merged;
    const char *inputs[] = {copy_path, store_path};
    char fresh[160];
    unpack();
    unpack_copy();
    struct db *db = store_open(DB_WRITE);
    const char *old[] = {copy_path};
    assert_ok(db_merge(db, old, 1, &merged)); /* what it was made of adds nothing */
    assert_int_equal(merged.trials + merged.runs + merged.decisions + merged.configs + merged.winners, 0);
    assert_int_equal(merged.known, TRIALS + WINNERS + 7);
    db_close(db);
    for (int i = 0; i < 2; i++) {
        snprintf(fresh, sizeof fresh, "%s.%d", store_path, i);
        assert_ok(db_open(fresh, DB_WRITE, &db));
        const char *in_order[] = {inputs[i], inputs[1 - i]};
        assert_ok(db_merge(db, in_order, 2, &merged));
        assert_int_equal(merged.trials, TRIALS);
        assert_int_equal(merged.winners, WINNERS);
        db_close(db);
        assert_int_equal(count_of(fresh, "SELECT count(*) FROM trials"), TRIALS);
    }
    assert_int_equal(count_of(copy_path, "PRAGMA user_version"), 1);
}

/* ---- interrupted ---- */

/* SQLite's system calls that change something, counted; at the last one the process is killed, or the disk is
 * full from there on. */
static long calls, last_call;
static bool disk_is_full;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t), (*real_unlink)(const char *);

static bool strike(void)
{
    if (++calls < last_call) return false;
    if (!disk_is_full) _exit(77);
    errno = ENOSPC;
    return true;
}

static ssize_t counted_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return strike() ? -1 : real_pwrite(fd, bytes, count, at);
}

static int counted_ftruncate(int fd, off_t size)
{
    return !disk_is_full && strike() ? -1 : real_ftruncate(fd, size);
}

static int counted_unlink(const char *path)
{
    return !disk_is_full && strike() ? -1 : real_unlink(path);
}

static sqlite3_syscall_ptr replace_call(const char *name, sqlite3_syscall_ptr with)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr was = vfs->xGetSystemCall(vfs, name);
    if (!was || vfs->xSetSystemCall(vfs, name, with) != SQLITE_OK) _exit(3);
    return was;
}

/* In a child: the exit code; 77: killed at the call, 0: it came to its end before. */
static int migrate_until(long call, bool full)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        last_call = call;
        disk_is_full = full;
        real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))replace_call(
            sizeof(off_t) == 8 && sqlite3_vfs_find(NULL)->xGetSystemCall(sqlite3_vfs_find(NULL), "pwrite64")
                ? "pwrite64"
                : "pwrite",
            (sqlite3_syscall_ptr)counted_pwrite);
        real_ftruncate =
            (int (*)(int, off_t))replace_call("ftruncate", (sqlite3_syscall_ptr)counted_ftruncate);
        real_unlink = (int (*)(const char *))replace_call("unlink", (sqlite3_syscall_ptr)counted_unlink);
        struct db *db;
        enum status st = db_open(store_path, DB_WRITE, &db);
        if (!st) db_close(db);
        _exit(st == OK ? 0 : st == E_IO ? 1 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A process that migrates the file when it is told to. It is started while no connection is open: SQLite's
 * locks are a process's. */
static int migrator_go[2], migrator_done[2];
static ssize_t (*real_pread)(int, void *, size_t, off_t);

static void migrate_at_once(void)
{
    sqlite3 *handle;
    if (db_connect(store_path, SQLITE_OPEN_READWRITE, &handle)) _exit(1);
    sqlite3_busy_timeout(handle, 0); /* whoever reads goes first */
    db_migrate(handle, store_path, &db_form);
    sqlite3_close(handle);
    _exit(write(migrator_done[1], "", 1) == 1 ? 0 : 2);
}

static ssize_t pread_and_migrate(int fd, void *bytes, size_t count, off_t at)
{
    char byte = 0;
    if (++calls == last_call &&
        (write(migrator_go[1], &byte, 1) != 1 || read(migrator_done[0], &byte, 1) != 1))
        return -1;
    return real_pread(fd, bytes, count, at);
}

/* Open it for reading, while it is migrated at a certain read; false: it took fewer reads. */
static bool read_while_migrating(enum db_mode mode, long call)
{
    int status;
    assert_int_equal(pipe(migrator_go) | pipe(migrator_done), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (read(migrator_go[0], &byte, 1) == 1) migrate_at_once();
        _exit(0);
    }
    calls = 0;
    last_call = call;
    const char *name =
        sqlite3_vfs_find(NULL)->xGetSystemCall(sqlite3_vfs_find(NULL), "pread64") ? "pread64" : "pread";
    real_pread =
        (ssize_t(*)(int, void *, size_t, off_t))replace_call(name, (sqlite3_syscall_ptr)pread_and_migrate);
    struct db *db;
    enum status st = db_open(store_path, mode, &db);
    replace_call(name, (sqlite3_syscall_ptr)real_pread);
    const bool reached = calls >= last_call;
    if (st) fail_msg("migrated at read %ld: %s", call, status_text());
    assert_winners_stand(db);
    db_close(db);
    if (!reached) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++) close(migrator_go[i]), close(migrator_done[i]);
    return reached;
}

static void forget_files(void)
{
    static const char *const ends[] = {"",      "-wal",       "-shm",           "-journal",
                                       ".lock", ".v1-backup", ".v1-backup.new", ".v1-backup-2"};
    char name[200];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, ends[i]);
        unlink(name);
    }
}

static void interrupt_everywhere(bool full, int expected)
{
    unpack_copy();
    int ended = expected, struck = 0;
    for (long call = 1; ended == expected; call += call < 20 ? 1 : 9) {
        forget_files();
        unpack();
        ended = migrate_until(call, full);
        assert_true(ended == expected || ended == 0);
        struck += ended == expected;
        struct db *db = store_open(DB_READ); /* whichever version it has now */
        struct db_counts counts;
        assert_ok(db_count(db, &counts));
        assert_int_equal(counts.trials, TRIALS);
        db_close(db);
        db_close(store_open(DB_WRITE));
        assert_same_facts(copy_path, store_path, 2);
        assert_same_facts(copy_path, beside, 1);
    }
    assert_true(struck > 25);
}

TEST(a_kill_at_any_point_loses_nothing)
{
    interrupt_everywhere(false, 77);
}

TEST(a_full_disk_loses_nothing)
{
    interrupt_everywhere(true, 1);
}

TEST(of_two_writers_one_is_refused)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    struct look before = look_at(store_path);
    int ready[2], go[2];
    assert_int_equal(pipe(ready) | pipe(go), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct db_hold *hold;
        char byte = 0;
        char resolved[PATH_MAX];
        if (db_resolve(store_path, resolved) || db_hold_write(resolved, &hold)) _exit(1);
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
        db_release(resolved, hold, true);
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct db *db;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_BUSY, "is being written by");
    assert_looks_like(store_path, before);
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(write(go[1], &byte, 1), 1);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    db_close(store_open(DB_WRITE));
}

static void migrate_at_each_read(enum db_mode mode, const char *journal)
{
    long reads = 0;
    bool reached = true;
    for (long call = 1; reached; call += call < 20 ? 1 : 7) {
        forget_files();
        unpack();
        meddle(journal);
        reached = read_while_migrating(mode, call);
        reads += reached;
    }
    assert_true(reads > 10);
}

TEST(a_reader_sees_one_version_whenever_the_file_is_migrated)
{
    static const char *const journals[] = {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL"};
    for (int i = 0; i < 2; i++) {
        migrate_at_each_read(DB_READ, journals[i]);
        migrate_at_each_read(DB_GLANCE, journals[i]);
    }
}

static int in_a_folder_that_may_not_be_written(void)
{
    struct db *db;
    struct db_counts counts;
    if (db_open(store_path, DB_READ, &db) || db_count(db, &counts) || counts.trials != TRIALS) return 1;
    db_close(db);
    if (db_open(store_path, DB_GLANCE, &db)) return 2;
    db_close(db);
    return db_open(store_path, DB_WRITE, &db) == E_IO && strstr(status_text(), "cannot write") ? 0 : 3;
}

TEST(an_older_file_is_read_where_nothing_may_be_written)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    chmod(store_path, 0444);
    chmod(store_folder, 0555);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(in_a_folder_that_may_not_be_written());
    }
    int status;
    waitpid(child, &status, 0);
    chmod(store_folder, 0700);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_older_file_is_read_as_it_is_and_left_as_it_is),
        STORE_TEST(at_a_glance_there_are_the_same_winners),
        STORE_TEST(an_older_file_is_brought_up_to_date_without_losing_a_trial),
        STORE_TEST(an_older_file_is_brought_up_to_date_on_a_network_file_system),
        STORE_TEST(a_tuner_goes_on_in_it),
        STORE_TEST(what_was_tried_is_found_again),
        STORE_TEST(a_backup_is_never_overwritten),
        STORE_TEST(damage_is_found_afterwards_as_before),
        STORE_TEST(a_file_that_would_lose_rows_is_left_alone),
        STORE_TEST(an_older_file_with_other_tables_is_refused),
        STORE_TEST(damage_that_a_copy_does_not_have_is_found_in_the_file),
        STORE_TEST(damage_that_no_copy_can_have_is_named),
        STORE_TEST(a_glance_takes_what_the_winners_refer_to_and_no_more),
        STORE_TEST(a_reader_sees_one_version_whenever_the_file_is_migrated),
        STORE_TEST(versions_merge_in_any_order_to_the_same),
        STORE_TEST(a_kill_at_any_point_loses_nothing),
        STORE_TEST(a_full_disk_loses_nothing),
        STORE_TEST(of_two_writers_one_is_refused),
        STORE_TEST(an_older_file_is_read_where_nothing_may_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

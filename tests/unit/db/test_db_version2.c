/* A file of version 2 as its program left it (tests/data/version2.db.gz): every later program opens, reads
 * and merges it. Without what version 2 has got since its tables were written, it is read from a copy. */
#include "db_exchange.h"
#include "db_files.h"
#include "problem.h"
#include "struck_calls.h"

#include <signal.h>

#define TRIALS  51
#define WINNERS 11

static char copy_path[160];

static void unpack_as(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "gzip -dc '%s/tests/data/version2.db.gz' > '%s'", GT_SOURCE_DIR, path);
    assert_int_equal(system(command), 0); /* NOLINT(bugprone-command-processor): both names are ours */
}

static void unpack(void)
{
    db_remove_files(store_path);
    unpack_as(store_path);
    snprintf(copy_path, sizeof copy_path, "%s.copy", store_path);
}

/* What a program of the day on which the tables were written would have left. */
static void unpack_ungrown(void)
{
    unpack();
    meddle("DROP TABLE search_notes; DROP TABLE preferences; ALTER TABLE decisions DROP COLUMN pinned");
}

static int64_t ask(sqlite3 *handle, const char *sql)
{
    int64_t value = -1;
    if (db_ask(handle, sql, &value)) fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    return value;
}

/* ---- every row stays ---- */

static uint64_t rows_hash(sqlite3 *handle, const char *table)
{
    sqlite3_stmt *stmt;
    uint64_t hash = UINT64_C(14695981039346656037);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" ORDER BY 1, 2, 3", table);
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
    return hash;
}

/* The tables of the one have the same rows in the other, which may have more tables. */
static void assert_same_rows(const char *old, const char *new)
{
    sqlite3 *x, *y;
    sqlite3_stmt *tables;
    int count = 0;
    assert_int_equal(sqlite3_open(old, &x) | sqlite3_open(new, &y), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(x,
                           "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                           "'sqlite_s%'",
                           -1, &tables, NULL),
        SQLITE_OK);
    for (; sqlite3_step(tables) == SQLITE_ROW; count++) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        if (rows_hash(x, name) != rows_hash(y, name)) fail_msg("the rows of %s differ", name);
    }
    sqlite3_finalize(tables);
    sqlite3_close(x);
    sqlite3_close(y);
    assert_true(count >= 13);
}

/* ---- what is read ---- */

struct seen {
    int winners, usable, pinned, predicted, hot, epilogues, pointers, batches, tf32;
};

static bool count_winner(void *self, const struct db_winner *w)
{
    struct seen *seen = self;
    const struct problem *p = &w->base.problem;
    seen->winners++;
    seen->usable += !w->unusable;
    seen->pinned += w->pinned;
    seen->predicted += w->base.predicted;
    seen->hot += !w->base.cold;
    seen->epilogues += p->epilogue != 0;
    seen->pointers += p->pointers;
    seen->batches += p->batch > 1;
    seen->tf32 += p->type == GEMM_TF32;
    return true;
}

/* Their kernels are the ones of today: what was measured holds. */
static void assert_winners_stand(struct db *db, int pinned)
{
    struct db_filter all = {0};
    struct seen seen = {0};
    assert_ok(db_winners(db, &all, NULL, count_winner, &seen));
    const struct seen wanted = {WINNERS, WINNERS, pinned, 1, 1, 1, 1, 2, 1};
    assert_memory_equal(&seen, &wanted, sizeof seen);
}

static bool count_preference(void *self, const struct db_preference *p)
{
    int *seen = self;
    char text[PROBLEM_TEXT_MAX];
    problem_format(&p->problem, text);
    assert_string_equal(text, p->pin ? "sgemm:nn:512x512x512" : "sgemm:nt:256x384x128:beta=1");
    seen[p->pin]++;
    return true;
}

static void assert_read(struct db *db)
{
    struct db_counts counts;
    int preferences[2] = {0};
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS);
    assert_int_equal(counts.attempts, 1);
    assert_winners_stand(db, 1);
    assert_ok(db_preferences(db, NULL, count_preference, preferences));
    assert_true(preferences[0] == 1 && preferences[1] == 1);
}

TEST(a_file_of_version_2_is_read_and_left_as_it_is)
{
    unpack();
    struct look before = look_at(store_path);
    struct db *db = store_open(DB_READ);
    assert_read(db);
    assert_non_null(db->file); /* a copy, in which columns have been added */
    store_close_clean(db);
    db = store_open(DB_GLANCE);
    assert_winners_stand(db, 1);
    struct problem problem = problem_make(512, 512, 512);
    struct db_context context = store_context();
    struct db_brief brief;
    assert_ok(db_brief_find(db, &context.gpu, &problem, &brief));
    assert_true(brief.config.template && !brief.changed && brief.base.cold);
    db_close(db);
    assert_looks_like(store_path, before);
    assert_folder_holds(store_folder, "test.db cache");
}

TEST(a_file_of_version_2_is_opened_for_writing_and_keeps_every_row)
{
    unpack();
    unpack_as(copy_path);
    struct db *db = store_open(DB_WRITE);
    assert_read(db);
    assert_int_equal(ask(db->handle, "PRAGMA user_version"), DB_VERSION);
    store_close_clean(db);
    meddle(DROP_NEW_COLUMNS);
    assert_same_rows(copy_path, store_path);
}

TEST(a_tuner_goes_on_in_a_file_of_version_2)
{
    unpack();
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(512, 512, 512);
    struct db_best best[64];
    struct db_counts counts;
    struct outcome outcome;
    int64_t lost;
    int count;
    bool stale;
    assert_int_equal(store_run(db, &context), 14); /* 13 had been handed out */
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS + 1);
    assert_int_equal(counts.gpus, 3); /* the same GPU is the same row */
    assert_ok(db_best(db, &context, &problem, best, 64, &count));
    assert_int_equal(count, 8);
    for (int i = 0; i < count; i++)
        assert_ok(db_find(db, &context, &problem, &best[i].config, &outcome, &stale));
    store_close_clean(db);
}

TEST(files_of_version_2_merge_in_any_order_to_the_same)
{
    struct db_merged merged;
    struct db *db;
    char fresh[160];
    const char *inputs[] = {copy_path, store_path};
    unpack();
    unpack_as(copy_path);
    for (int i = 0; i < 2; i++) {
        if (i == 1) unpack_ungrown();
        snprintf(fresh, sizeof fresh, "%s.%d", store_path, i);
        assert_ok(db_open(fresh, DB_WRITE, &db));
        const char *in_order[] = {inputs[i], inputs[1 - i]};
        assert_ok(db_merge(db, in_order, 2, &merged));
        assert_int_equal(merged.trials, TRIALS);
        assert_int_equal(merged.winners, WINNERS);
        db_close(db);
    }
    db = store_open(DB_WRITE);
    assert_ok(db_merge(db, inputs, 1,
                       &merged)); /* its own copy adds nothing but the preferences that were dropped */
    assert_int_equal(merged.trials + merged.runs + merged.decisions + merged.configs, 0);
    db_close(db);
}

/* ---- a file that lacks what the version has got since ---- */

TEST(what_is_missing_is_added_and_every_row_stays)
{
    unpack_ungrown();
    db_remove_files(copy_path);
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    char sql[300];
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", copy_path);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
    struct db *db = store_open(DB_WRITE);
    assert_winners_stand(db, 0);
    store_close_clean(db);
    assert_ok(db_open(store_path, DB_READ, &db));
    assert_null(db->file); /* nothing is missing any more */
    db_close(db);
    sqlite3 *grown;
    assert_int_equal(sqlite3_open(store_path, &grown), SQLITE_OK);
    assert_int_equal(sqlite3_exec(grown, DROP_GROWN_COLUMNS, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(grown);
    assert_same_rows(copy_path, store_path);
}

TEST(a_copy_is_read_and_the_file_left_as_it_is)
{
    unpack_ungrown();
    struct look before = look_at(store_path);
    struct db *db = store_open(DB_READ);
    assert_non_null(db->file);
    assert_winners_stand(db, 0);
    assert_int_equal(sqlite3_exec(db->handle, "DELETE FROM winners", NULL, NULL, NULL), SQLITE_READONLY);
    store_close_clean(db);
    assert_looks_like(store_path, before);
}

/* A hash is computed of each row: a file has thousands of configurations to one that won. */
TEST(a_glance_takes_what_the_winners_refer_to_and_no_more)
{
    unpack_ungrown();
    struct db *db = store_open(DB_GLANCE);
    sqlite3 *copy = db->handle;
    assert_winners_stand(db, 0);
    assert_int_equal(ask(copy, "SELECT count(*) FROM configs"),
                     ask(copy, "SELECT count(DISTINCT config_id) FROM decisions"));
    assert_int_equal(ask(copy, "SELECT count(*) FROM decisions"), WINNERS);
    assert_int_equal(ask(copy,
                         "SELECT count(*) FROM trials t LEFT JOIN decisions d ON d.gpu_id = t.gpu_id AND "
                         "d.problem_id = t.problem_id AND d.config_id = t.config_id WHERE d.id IS NULL"),
                     0); /* they may refute their winner */
    assert_int_equal(ask(copy, "SELECT count(*) FROM runs"),
                     ask(copy, "SELECT count(DISTINCT run_id) FROM decisions"));
    db_close(db);
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

TEST(a_copy_is_read_where_nothing_may_be_written)
{
    unpack_ungrown();
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
    unpack_ungrown();
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

/* ---- a writer adds what is missing while a reader opens the file ---- */

/* The writer is a process that was started while no connection was open: SQLite's locks are a process's. */
static int writer_go[2], writer_done[2];
static ssize_t (*real_pread)(int, void *, size_t, off_t);

static void grow_at_once(void)
{
    sqlite3 *handle;
    int missing;
    if (db_connect(store_path, SQLITE_OPEN_READWRITE, &handle)) _exit(1);
    sqlite3_busy_timeout(handle, 0); /* the reader goes first */
    if (!db_check_schema(handle, store_path, &db_form, DB_VERSION, &missing))
        db_grow(handle, store_path, &db_form, missing);
    sqlite3_close(handle);
    _exit(write(writer_done[1], "", 1) == 1 ? 0 : 2);
}

static ssize_t pread_and_grow(int fd, void *bytes, size_t count, off_t at)
{
    char byte = 0;
    if (++struck_calls == struck_from &&
        (write(writer_go[1], &byte, 1) != 1 || read(writer_done[0], &byte, 1) != 1))
        return -1;
    return real_pread(fd, bytes, count, at);
}

/* Opens it for reading, while it grows at a certain read; false: it took fewer reads. */
static bool read_while_growing(enum db_mode mode, long call)
{
    int status;
    assert_int_equal(pipe(writer_go) | pipe(writer_done), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (read(writer_go[0], &byte, 1) == 1) grow_at_once();
        _exit(0);
    }
    struck_calls = 0;
    struck_from = call;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    const char *name = vfs->xGetSystemCall(vfs, "pread64") ? "pread64" : "pread";
    real_pread =
        (ssize_t(*)(int, void *, size_t, off_t))replace_call(name, (sqlite3_syscall_ptr)pread_and_grow);
    struct db *db;
    enum status st = db_open(store_path, mode, &db);
    replace_call(name, (sqlite3_syscall_ptr)real_pread);
    const bool reached = struck_calls >= struck_from;
    if (st) fail_msg("grown at read %ld: %s", call, status_text());
    assert_winners_stand(db, 0);
    db_close(db);
    if (!reached) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++) close(writer_go[i]), close(writer_done[i]);
    return reached;
}

static void grow_at_each_read(enum db_mode mode, bool wal)
{
    long reads = 0;
    bool reached = true;
    for (long call = 1; reached; call += call < 12 ? 1 : 13) {
        unpack_ungrown();
        if (wal) meddle("PRAGMA journal_mode = WAL");
        reached = read_while_growing(mode, call);
        reads += reached;
    }
    assert_true(reads > 10);
}

TEST(a_reader_sees_one_schema_whenever_the_file_grows)
{
    grow_at_each_read(DB_READ, false);
    grow_at_each_read(DB_GLANCE, false);
    grow_at_each_read(DB_READ, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_file_of_version_2_is_read_and_left_as_it_is),
        STORE_TEST(a_file_of_version_2_is_opened_for_writing_and_keeps_every_row),
        STORE_TEST(a_tuner_goes_on_in_a_file_of_version_2),
        STORE_TEST(files_of_version_2_merge_in_any_order_to_the_same),
        STORE_TEST(what_is_missing_is_added_and_every_row_stays),
        STORE_TEST(a_copy_is_read_and_the_file_left_as_it_is),
        STORE_TEST(a_glance_takes_what_the_winners_refer_to_and_no_more),
        STORE_TEST(a_copy_is_read_where_nothing_may_be_written),
        STORE_TEST(damage_that_a_copy_does_not_have_is_found_in_the_file),
        STORE_TEST(damage_that_no_copy_can_have_is_named),
        STORE_TEST(a_reader_sees_one_schema_whenever_the_file_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

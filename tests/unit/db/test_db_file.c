#include "files.h"
#include "store.h"

#include <limits.h>

/* --- append-only --- */

TEST(no_statement_that_changes_or_drops_what_must_stay_can_be_prepared)
{
    static const char *const forbidden[] = {
        "DELETE FROM trials",
        "UPDATE trials SET time_us = 0",
        "DELETE FROM decisions",
        "DELETE FROM preferences",
        "DELETE FROM search_notes",
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
    store_some(db, 1);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        assert_int_equal(sqlite3_exec(db->handle, forbidden[i], NULL, NULL, NULL), SQLITE_AUTH);
    db_close(db);
}

/* The one way around the authorizer: a conflict that deletes the old row. */
TEST(no_statement_replaces_rows_on_conflict)
{
    static const char *const files[] = {"db_open.c",    "db_schema.c",      "db_sql.c",     "db_keys.c",
                                        "db_runs.c",    "db_trials.c",      "db_winners.c", "db_list.c",
                                        "db_migrate.c", "db_preferences.c", "db_notes.c"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/db/%s", GT_SOURCE_DIR, files[i]);
        const char *text = file_text(path);
        assert_non_null(strstr(text, "db_internal.h"));
        assert_null(strstr(text, " REPLACE"));
        assert_null(strstr(text, "\"REPLACE"));
    }
}

/* --- one writer, many readers, and the files of it --- */

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
    struct problem problem = problem_make(64, 64, 64);
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
    store_close_clean(reader);
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
    struct problem problem = problem_make(64, 64, 64);
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
    store_close_clean(db);
}

TEST(network_file_systems_are_known_by_their_magic)
{
    static const int64_t network[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                      0x65735546, 0x0bd00bd0, 0x47504653};
    static const int64_t local[] = {0xef53 /* ext4 */,      0x58465342 /* XFS */,     0x9123683e /* btrfs */,
                                    0x01021994 /* tmpfs */, 0x794c7630 /* overlay */, 0x2fc12fc1 /* ZFS */};
    for (size_t i = 0; i < sizeof network / sizeof *network; i++)
        assert_non_null(db_network_name(network[i]));
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) assert_null(db_network_name(local[i]));
    assert_non_null(
        db_network_name((int64_t)(int32_t)0xfe534d42)); /* sign-extended, as some kernels give it */
}

TEST(content_hashes_are_the_same_in_every_file)
{
    char hash[2][33];
    for (int i = 0; i < 2; i++) {
        snprintf(store_path, sizeof store_path, "%s/%d.db", store_folder, i);
        struct db *db = store_open(DB_WRITE);
        struct db_context context = store_context();
        int64_t run = store_run(db, &context), attempt;
        struct problem problem = problem_make(64, 64, 64), filler = problem_make(i + 1, 1, 1);
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

/* --- where it lies --- */

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
    assert_int_equal(access(folder, F_OK), -1); /* nothing was stored */
    struct db_context context = store_context();
    db = store_open(DB_WRITE);
    store_run(db, &context);
    db_close(db);
    assert_int_equal(access(store_path, F_OK), 0);
}

/* The mode of the folder of a database that is made under this umask. */
static mode_t mode_of_folder(mode_t mask, const char *name)
{
    struct stat info;
    char folder[PATH_MAX];
    struct db_context context = store_context();
    snprintf(folder, sizeof folder, "%s/%s", store_folder, name);
    assert_true(snprintf(store_path, sizeof store_path, "%s/c.db", folder) < (int)sizeof store_path);
    const mode_t before = umask(mask);
    struct db *db = store_open(DB_WRITE);
    umask(before);
    store_run(db, &context);
    db_close(db);
    assert_int_equal(stat(folder, &info), 0);
    return info.st_mode & 0777;
}

TEST(folders_at_home_are_private_and_others_as_the_umask_says)
{
    char home[PATH_MAX];
    snprintf(home, sizeof home, "%s/home", store_folder);
    setenv("HOME", home, 1);
    assert_int_equal(mode_of_folder(022, "all"), 0755);
    assert_int_equal(mode_of_folder(027, "group"), 0750);
    assert_int_equal(mode_of_folder(022, "homes"), 0755); /* begins as home does */
    assert_int_equal(mode_of_folder(022, "home/mine"), 0700);
    setenv("HOME", "/", 1);
    assert_int_equal(mode_of_folder(022, "daemon"), 0755);
    setenv("XDG_DATA_HOME", store_folder, 1);
    assert_int_equal(mode_of_folder(0, "data"), 0700);
    unsetenv("XDG_DATA_HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        STORE_TEST(folders_at_home_are_private_and_others_as_the_umask_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "db_files.h"

#include <limits.h>

#define STEP_1                                                                                               \
    "PRAGMA application_id = 1735224677; CREATE TABLE facts (x INTEGER) STRICT; INSERT INTO facts VALUES "   \
    "(7);"

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *handle;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
    return value;
}

static enum status migrate(const struct db_migration *steps, int newest)
{
    sqlite3 *handle;
    assert_ok(db_connect(store_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &handle));
    enum status st = db_migrate(handle, store_path, steps, newest);
    sqlite3_close(handle);
    return st;
}

TEST(a_migration_backs_up_and_sets_the_version_last)
{
    static const struct db_migration steps[] = {
        {STEP_1},
        {"CREATE TABLE news (y INTEGER) STRICT; INSERT INTO news SELECT x * 2 FROM facts"},
        {"DROP TABLE facts"}};
    char backup[PATH_MAX];
    snprintf(backup, sizeof backup, "%s.v1.backup", store_path);
    assert_ok(migrate(steps, 1));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 1);
    assert_int_equal(access(backup, F_OK), -1); /* nothing to back up in a new file */
    assert_ok(migrate(steps, 3));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 3);
    assert_int_equal(ask(store_path, "SELECT y FROM news"), 14);
    assert_int_equal(ask(backup, "PRAGMA user_version"), 1);
    assert_int_equal(ask(backup, "SELECT x FROM facts"), 7);
    assert_ok(migrate(steps, 3)); /* nothing left to do */
    assert_fails(migrate(steps, 2), E_DB, "newer gemmtune");
}

TEST(a_migration_that_fails_changes_nothing)
{
    static const struct db_migration broken[] = {
        {STEP_1}, {"CREATE TABLE news (y INTEGER); INSERT INTO nowhere VALUES (1)"}};
    static const struct db_migration orphans[] = {
        {STEP_1}, {"CREATE TABLE news (y INTEGER REFERENCES facts (rowid)); INSERT INTO news VALUES (99)"}};
    assert_ok(migrate(broken, 1));
    struct look before = look_at(store_path);
    assert_int_equal(migrate(broken, 2), E_DB);
    assert_looks_like(store_path, before);
    assert_int_not_equal(migrate(orphans, 2), OK);
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 1);
    assert_int_equal(ask(store_path, "SELECT count(*) FROM sqlite_schema WHERE name = 'news'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_migration_backs_up_and_sets_the_version_last),
        STORE_TEST(a_migration_that_fails_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "db_files.h"

#include <limits.h>

#define FACTS                                                                                                \
    "PRAGMA application_id = 1735224677; CREATE TABLE facts (x INTEGER) STRICT; INSERT INTO facts VALUES "   \
    "(7);"
#define NEWS_TABLE "CREATE TABLE news (y INTEGER) STRICT"
#define NEWS       "PRAGMA application_id = 1735224677; " NEWS_TABLE

static const char *const schemas[] = {FACTS, NEWS, NEWS};
static const struct db_migration steps[] = {
    {{NULL}},
    {{NEWS_TABLE, "INSERT INTO news SELECT x * 2 FROM facts", "DROP TABLE facts"}},
    {{"UPDATE news SET y = y + 1"}}};
static const char *const growth[] = {"ALTER TABLE news ADD COLUMN place TEXT NOT NULL DEFAULT 'here'",
                                     "CREATE TABLE places (name TEXT) STRICT"};

static struct db_form form_of(int version, int grown)
{
    return (struct db_form){version, schemas, steps, growth, grown};
}

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *handle;
    int64_t value = -1;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(db_ask(handle, sql, &value), SQLITE_OK);
    sqlite3_close(handle);
    return value;
}

static sqlite3 *connect_to_it(void)
{
    sqlite3 *handle;
    assert_ok(db_connect(store_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &handle));
    return handle;
}

/* As a writer does: the version, then what the version has got since. */
static enum status bring_up_to_date(const struct db_form *form)
{
    sqlite3 *handle = connect_to_it();
    int missing = 0;
    enum status st = db_migrate(handle, store_path, form);
    if (!st) st = db_check_schema(handle, store_path, form, form->version, &missing);
    if (!st) st = db_grow(handle, store_path, form, missing);
    sqlite3_close(handle);
    return st;
}

TEST(a_migration_backs_up_and_sets_the_version_last)
{
    const struct db_form first = form_of(1, 0), second = form_of(2, 0), third = form_of(3, 0);
    char backup[PATH_MAX];
    snprintf(backup, sizeof backup, "%s.v1-backup", store_path);
    assert_ok(bring_up_to_date(&first));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 1);
    assert_int_equal(access(backup, F_OK), -1); /* nothing to back up in a new file */
    assert_ok(bring_up_to_date(&third));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 3);
    assert_int_equal(ask(store_path, "SELECT y FROM news"), 15);
    assert_int_equal(ask(backup, "PRAGMA user_version"), 1);
    assert_int_equal(ask(backup, "SELECT x FROM facts"), 7);
    assert_ok(bring_up_to_date(&third)); /* nothing left to do */
    assert_fails(bring_up_to_date(&second), E_DB, "newer gemmtune");
}

TEST(a_migration_that_fails_changes_nothing)
{
    static const struct db_migration nowhere[] = {
        {{NULL}}, {{"CREATE TABLE news (y INTEGER)", "INSERT INTO nowhere VALUES (1)"}}};
    static const struct db_migration orphans[] = {
        {{NULL}},
        {{"CREATE TABLE news (y INTEGER REFERENCES facts (rowid))", "INSERT INTO news VALUES (99)"}}};
    const struct db_form first = form_of(1, 0);
    struct db_form broken = form_of(2, 0);
    assert_ok(bring_up_to_date(&first));
    struct look before = look_at(store_path);
    broken.steps = nowhere;
    assert_int_equal(bring_up_to_date(&broken), E_DB);
    broken.steps = orphans;
    assert_int_not_equal(bring_up_to_date(&broken), OK);
    assert_looks_like(store_path, before);
}

/* ---- growth of a version ---- */

TEST(a_file_gets_what_its_version_has_got_since)
{
    const struct db_form before = form_of(2, 0), one = form_of(2, 1), two = form_of(2, 2);
    assert_ok(bring_up_to_date(&before));
    meddle("INSERT INTO news VALUES (5)");
    for (int i = 0; i < 2; i++) { /* the second time nothing is missing */
        assert_ok(bring_up_to_date(&one));
        assert_int_equal(ask(store_path, "SELECT count(*) FROM news WHERE place = 'here'"), 1);
    }
    assert_ok(bring_up_to_date(&two));
    assert_int_equal(ask(store_path, "SELECT count(*) FROM places"), 0);
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 2);
}

TEST(a_new_file_and_a_migrated_one_have_it_from_the_start)
{
    const struct db_form first = form_of(1, 0), two = form_of(2, 2);
    sqlite3 *handle;
    int missing;
    for (int i = 0; i < 2; i++) {
        if (i == 1) assert_ok(bring_up_to_date(&first));
        handle = connect_to_it();
        assert_ok(db_migrate(handle, store_path, &two));
        assert_ok(db_check_schema(handle, store_path, &two, 2, &missing));
        assert_int_equal(missing, 0);
        sqlite3_close(handle);
        unlink(store_path);
    }
}

TEST(who_knows_less_takes_no_notice)
{
    const struct db_form before = form_of(2, 0), two = form_of(2, 2);
    sqlite3 *handle;
    int missing;
    assert_ok(bring_up_to_date(&two));
    handle = connect_to_it();
    assert_ok(db_check_schema(handle, store_path, &before, 2, &missing));
    assert_int_equal(missing, 0);
    assert_int_equal(sqlite3_exec(handle, "INSERT INTO news (y) VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

TEST(growth_that_fails_adds_nothing)
{
    static const char *const broken[] = {"ALTER TABLE news ADD COLUMN place TEXT", "CREATE TABLE news (x)"};
    const struct db_form before = form_of(2, 0);
    struct db_form grown = form_of(2, 2);
    assert_ok(bring_up_to_date(&before));
    grown.growth = broken;
    sqlite3 *handle = connect_to_it();
    int missing;
    assert_int_equal(db_grow(handle, store_path, &grown, 2), E_DB);
    assert_ok(db_check_schema(handle, store_path, &before, 2, &missing));
    sqlite3_close(handle);
    assert_int_equal(ask(store_path, "SELECT count(*) FROM pragma_table_info('news')"), 1);
}

/* A reader cannot add what is missing: it reads a copy that has it. */
TEST(a_reader_finds_the_defaults_of_what_is_missing)
{
    const struct db_form before = form_of(2, 0), two = form_of(2, 2);
    assert_ok(bring_up_to_date(&before));
    meddle("INSERT INTO news VALUES (5), (6)");
    for (int glance = 0; glance < 2; glance++) {
        sqlite3 *handle = connect_to_it(), *copy;
        int missing;
        int64_t rows = 0;
        assert_ok(db_check_schema(handle, store_path, &two, 2, &missing));
        assert_int_equal(missing, 2);
        assert_ok(db_copy_up_to_date(handle, store_path, &two, 2, missing, glance, &copy));
        assert_int_equal(db_ask(copy, "SELECT count(*) FROM news WHERE place = 'here'", &rows), SQLITE_OK);
        assert_int_equal(rows, 2);
        sqlite3_close(copy);
        sqlite3_close(handle);
    }
    assert_int_equal(ask(store_path, "SELECT count(*) FROM sqlite_schema"), 1);
}

/* What a winner was measured to be wrong by decides whether it is used. */
TEST(a_glance_takes_the_errors_of_winners_along)
{
    static const char *const tables[] = {
        "PRAGMA application_id = 1735224677; CREATE TABLE winners (decision_id INTEGER) STRICT; "
        "CREATE TABLE decision_errors (decision_id INTEGER, value REAL) STRICT"};
    static const char *const grown[] = {"CREATE TABLE places (name TEXT) STRICT"};
    const struct db_form before = {.version = 1, .schemas = tables, .steps = steps};
    const struct db_form after = {
        .version = 1, .schemas = tables, .steps = steps, .growth = grown, .growth_count = 1};
    int64_t count = 0, decision = 0;
    assert_ok(bring_up_to_date(&before));
    meddle("INSERT INTO winners VALUES (2); INSERT INTO decision_errors VALUES (1, 0.5), (2, 0.25)");
    sqlite3 *handle = connect_to_it(), *copy;
    assert_ok(db_copy_up_to_date(handle, store_path, &after, 1, 1, true, &copy));
    assert_int_equal(db_ask(copy, "SELECT count(*) FROM decision_errors", &count), SQLITE_OK);
    assert_int_equal(db_ask(copy, "SELECT decision_id FROM decision_errors", &decision), SQLITE_OK);
    sqlite3_close(copy);
    sqlite3_close(handle);
    assert_int_equal(count, 1);
    assert_int_equal(decision, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_migration_backs_up_and_sets_the_version_last),
        STORE_TEST(a_migration_that_fails_changes_nothing),
        STORE_TEST(a_file_gets_what_its_version_has_got_since),
        STORE_TEST(a_new_file_and_a_migrated_one_have_it_from_the_start),
        STORE_TEST(who_knows_less_takes_no_notice),
        STORE_TEST(growth_that_fails_adds_nothing),
        STORE_TEST(a_reader_finds_the_defaults_of_what_is_missing),
        STORE_TEST(a_glance_takes_the_errors_of_winners_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

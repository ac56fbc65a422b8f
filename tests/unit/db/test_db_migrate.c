#include "db_files.h"
#include "struck_calls.h"

#include <limits.h>

#define FACTS                                                                                                \
    "PRAGMA application_id = 1735224677; CREATE TABLE facts (x INTEGER) STRICT; INSERT INTO facts VALUES "   \
    "(7);"
#define NEWS_TABLE "CREATE TABLE news (y INTEGER) STRICT"
#define NEWS       "PRAGMA application_id = 1735224677; " NEWS_TABLE

static const char *const schemas[] = {FACTS, NEWS, NEWS};
static const struct db_migration steps[] = {
    {{NEWS_TABLE, "INSERT INTO news SELECT x * 2 FROM facts", "DROP TABLE facts"}},
    {{"UPDATE news SET y = y + 1"}}};
static const char *const growth[] = {"ALTER TABLE news ADD COLUMN place TEXT NOT NULL DEFAULT 'here'",
                                     "CREATE TABLE places (name TEXT) STRICT"};

static struct db_form form_of(int version, int grown)
{
    return (struct db_form){1, version, schemas, steps, growth, grown};
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
        {{"CREATE TABLE news (y INTEGER)", "INSERT INTO nowhere VALUES (1)"}}};
    static const struct db_migration orphans[] = {
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

/* An older file, at rest or left in WAL mode by a reader that was connected. */
static void make_first(bool wal)
{
    const struct db_form first = form_of(1, 0);
    db_remove_files(store_path);
    assert_ok(bring_up_to_date(&first));
    if (wal) meddle("PRAGMA journal_mode = WAL");
}

static void backup_name(char name[PATH_MAX], const char *rest)
{
    snprintf(name, PATH_MAX, "%s.v1-backup%s", store_path, rest);
}

TEST(a_backup_is_never_overwritten)
{
    const struct db_form third = form_of(3, 0);
    char first[PATH_MAX], second[PATH_MAX], other[PATH_MAX];
    backup_name(first, "");
    backup_name(second, "-2");
    backup_name(other, "-3");
    make_first(false);
    FILE *file = fopen(first, "w");
    assert_true(fputs("mine", file) >= 0 && fclose(file) == 0);
    struct look before = look_at(first);
    assert_ok(bring_up_to_date(&third));
    assert_looks_like(first, before);
    assert_int_equal(ask(second, "SELECT x FROM facts"), 7);
    make_first(false); /* the same once more: the backup is there already */
    assert_ok(bring_up_to_date(&third));
    assert_int_equal(access(other, F_OK), -1);
    make_first(false);
    meddle("UPDATE facts SET x = 8");
    assert_ok(bring_up_to_date(&third));
    assert_int_equal(ask(other, "SELECT x FROM facts"), 8);
}

/* Also what an earlier process left that was killed: a journal beside the new backup would be played back
 * into it. */
TEST(a_backup_begins_anew_where_one_was_cut_off)
{
    const struct db_form third = form_of(3, 0);
    static const char *const rests[] = {".new", ".new-wal", ".new-shm", ".new-journal"};
    char name[PATH_MAX];
    make_first(true);
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        backup_name(name, rests[i]);
        FILE *file = fopen(name, "w");
        assert_true(fputs("cut off", file) >= 0 && fclose(file) == 0);
    }
    assert_ok(bring_up_to_date(&third));
    backup_name(name, "");
    assert_int_equal(ask(name, "SELECT x FROM facts"), 7);
    assert_folder_holds(store_folder, "test.db test.db.v1-backup");
}

static int migrate_first(void)
{
    const struct db_form third = form_of(3, 0);
    const enum status st = bring_up_to_date(&third);
    if (st) db_clear_log(store_path); /* as db_open does */
    return st == OK ? 0 : st == E_IO ? 1 : 2;
}

static void interrupt_everywhere(enum strike kind, int expected, bool wal)
{
    int ended = expected, struck = 0;
    char backup[PATH_MAX];
    backup_name(backup, "");
    for (long call = 1; ended == expected; call++) {
        unlink(backup);
        make_first(wal);
        ended = run_struck(migrate_first, kind, call);
        struck += ended == expected;
        assert_true(ended == expected || ended == 0);
        if (ended == 1) assert_folder_holds(store_folder, "test.db test.db.v1-backup");
        assert_int_equal(migrate_first(), 0); /* whichever version it has now */
        assert_int_equal(ask(store_path, "SELECT y FROM news"), 15);
        assert_int_equal(ask(store_path, "PRAGMA user_version"), 3);
        assert_int_equal(ask(backup, "SELECT x FROM facts"), 7);
    }
    assert_true(struck > 10);
}

TEST(a_kill_at_any_point_of_a_migration_loses_nothing)
{
    interrupt_everywhere(KILLED, 77, false);
    interrupt_everywhere(KILLED, 77, true);
}

TEST(a_full_disk_at_any_point_of_a_migration_loses_nothing_and_leaves_nothing)
{
    interrupt_everywhere(DISK_FULL, 1, false);
    interrupt_everywhere(DISK_FULL, 1, true);
}

/* ---- versions that are not opened ---- */

TEST(a_version_that_was_never_published_is_refused_with_one_sentence)
{
    static const enum db_mode modes[] = {DB_READ, DB_GLANCE, DB_WRITE};
    make_database(2);
    meddle("PRAGMA user_version = 1");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct db *db = NULL;
        struct look before = look_at(store_path);
        assert_fails(
            db_open(store_path, modes[i], &db), E_DB,
            "is a database of version 1, from before the first release: no published gemmtune wrote it or "
            "reads it; put it aside and tune again, or name another file with GEMMTUNE_DB");
        assert_looks_like(store_path, before);
        assert_folder_holds(store_folder, "test.db cache");
    }
}

TEST(the_form_says_which_versions_are_opened)
{
    const struct db_form later = {2, 3, schemas + 1, steps + 1, growth, 0};
    make_first(false);
    assert_fails(bring_up_to_date(&later), E_DB, "is a database of version 1");
    const struct db_form second = form_of(2, 0);
    assert_ok(bring_up_to_date(&second));
    assert_ok(bring_up_to_date(&later));
    assert_int_equal(ask(store_path, "SELECT y FROM news"), 15);
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
    const struct db_form before = {.oldest = 1, .version = 1, .schemas = tables};
    const struct db_form after = {
        .oldest = 1, .version = 1, .schemas = tables, .growth = grown, .growth_count = 1};
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
        STORE_TEST(a_backup_is_never_overwritten),
        STORE_TEST(a_backup_begins_anew_where_one_was_cut_off),
        STORE_TEST(a_kill_at_any_point_of_a_migration_loses_nothing),
        STORE_TEST(a_full_disk_at_any_point_of_a_migration_loses_nothing_and_leaves_nothing),
        STORE_TEST(a_version_that_was_never_published_is_refused_with_one_sentence),
        STORE_TEST(the_form_says_which_versions_are_opened),
        STORE_TEST(a_file_gets_what_its_version_has_got_since),
        STORE_TEST(a_new_file_and_a_migrated_one_have_it_from_the_start),
        STORE_TEST(who_knows_less_takes_no_notice),
        STORE_TEST(growth_that_fails_adds_nothing),
        STORE_TEST(a_reader_finds_the_defaults_of_what_is_missing),
        STORE_TEST(a_glance_takes_the_errors_of_winners_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

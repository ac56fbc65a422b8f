#include "db_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const char text_schema_sql[];

/* Step i brings a file from version i to i + 1. A step makes the new tables with the words of schema.sql and
 * copies the rows, so that a migrated file and a fresh one have the same schema, word for word. */
static const struct db_migration steps[DB_VERSION] = {{text_schema_sql}};

/* One integer from a statement that gives one. */
static int ask(sqlite3 *handle, const char *sql, int64_t *value)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL);
    if (rc) return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) *value = sqlite3_column_int64(stmt, 0);
    int finalized = sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : finalized;
}

enum status db_identify(sqlite3 *handle, const char *path, int newest, int *version, bool *empty)
{
    int64_t application = 0, user = 0, objects = 0;
    int rc = ask(handle, "PRAGMA application_id", &application);
    if (!rc) rc = ask(handle, "PRAGMA user_version", &user);
    if (!rc) rc = ask(handle, "SELECT count(*) FROM sqlite_schema", &objects);
    if (rc) return db_error(handle, path, rc, "read it");
    *version = 0;
    *empty = application == 0 && user == 0 && objects == 0;
    if (*empty) return OK;
    if (application != DB_APPLICATION_ID)
        return fail(E_DB, "%s is an SQLite database of another program; name another file with --db", path);
    if (user > newest)
        return fail(
            E_DB,
            "%s has version %lld, this program knows versions up to %d; use a newer gemmtune, or another "
            "file with --db",
            path, (long long)user, newest);
    if (user < 0)
        return fail(E_DB, "%s has the impossible version %lld: it is damaged", path, (long long)user);
    *version = (int)user;
    return OK;
}

/* Make the check's first finding a sentence. */
static int keep_finding(void *text, int count, char **values, char **names)
{
    (void)names;
    char *finding = text;
    if (count > 0 && values[0] && !finding[0]) snprintf(finding, 200, "%s", values[0]);
    return 0;
}

enum status db_quick_check(sqlite3 *handle, const char *path)
{
    char finding[200] = "";
    int rc = sqlite3_exec(handle, "PRAGMA quick_check(1)", keep_finding, finding, NULL);
    if (rc) return db_error(handle, path, rc, "check it");
    if (strcmp(finding, "ok") == 0) return OK;
    return fail(E_DB, "%s is damaged (%s); put it aside and go on with a backup or a new file (--db)", path,
                finding);
}

/* --- migration --- */

/* A copy of the whole file, made by SQLite itself, in place of an older one of the same name. */
static enum status back_up(sqlite3 *handle, const char *path, int version)
{
    char name[PATH_MAX], fresh[PATH_MAX];
    if (snprintf(name, sizeof name, "%s.v%d.backup", path, version) >= (int)sizeof name ||
        snprintf(fresh, sizeof fresh, "%s.new", name) >= (int)sizeof fresh)
        return fail(E_INPUT, "the path %.100s... is too long", path);
    unlink(fresh);
    sqlite3 *copy;
    int rc = sqlite3_open_v2(fresh, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (!rc) rc = sqlite3_exec(copy, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    sqlite3_backup *backup = rc ? NULL : sqlite3_backup_init(copy, "main", handle, "main");
    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (!rc) {
        rc = sqlite3_errcode(copy);
    }
    /* WAL mode is copied with the content; leave one plain file. */
    if (!rc) rc = sqlite3_exec(copy, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    enum status st = rc ? db_error(copy, fresh, rc, "make a backup") : OK;
    sqlite3_close(copy);
    if (!st && rename(fresh, name) != 0)
        st = fail(E_IO, "cannot name the backup %s: %s", name, strerror(errno));
    if (st) unlink(fresh);
    return st;
}

/* Inside the transaction: the steps, the checks, the version. */
static enum status migrate_steps(sqlite3 *handle, const char *path, const struct db_migration *list, int from,
                                 int to)
{
    int rc = 0;
    for (int i = from; !rc && i < to; i++) rc = sqlite3_exec(handle, list[i].sql, NULL, NULL, NULL);
    if (rc) return db_error(handle, path, rc, from == 0 ? "make the tables" : "bring it up to date");
    enum status st = db_quick_check(handle, path);
    if (st) return st;
    int64_t orphans = 0;
    if ((rc = ask(handle, "SELECT count(*) FROM pragma_foreign_key_check", &orphans)))
        return db_error(handle, path, rc, "check it");
    if (orphans)
        return fail(E_DB,
                    "bringing %s up to date would leave %lld rows without what they refer to; nothing was "
                    "changed",
                    path, (long long)orphans);
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", to);
    rc = sqlite3_exec(handle, sql, NULL, NULL, NULL);
    return rc ? db_error(handle, path, rc, "set the version") : OK;
}

enum status db_migrate(sqlite3 *handle, const char *path, const struct db_migration *list, int newest)
{
    int version;
    bool empty;
    enum status st = db_identify(handle, path, newest, &version, &empty);
    if (st || (!empty && version == newest)) return st;
    if (!empty && (st = back_up(handle, path, version))) return st;
    int rc = sqlite3_exec(handle, "PRAGMA synchronous = FULL; BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (rc) return db_error(handle, path, rc, "start a transaction");
    st = migrate_steps(handle, path, list, version, newest);
    if (!st && (rc = sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL)))
        st = db_error(handle, path, rc, "commit");
    if (st && !sqlite3_get_autocommit(handle)) sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

enum status db_create_or_migrate(sqlite3 *handle, const char *path)
{
    return db_migrate(handle, path, steps, DB_VERSION);
}

/* --- the schema, word for word --- */

#define SCHEMA_SQL "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

static bool same_text(sqlite3_stmt *x, sqlite3_stmt *y, int column)
{
    int bytes = sqlite3_column_bytes(x, column);
    if (sqlite3_column_type(x, column) != sqlite3_column_type(y, column)) return false;
    if (sqlite3_column_type(x, column) == SQLITE_NULL) return true;
    return bytes == sqlite3_column_bytes(y, column) &&
           memcmp(sqlite3_column_blob(x, column), sqlite3_column_blob(y, column), (size_t)bytes) == 0;
}

/* Walk two schemas side by side; *name: the first object that differs. */
static int compare(sqlite3_stmt *ours, sqlite3_stmt *theirs, char name[100], bool *same)
{
    *same = true;
    for (;;) {
        int x = sqlite3_step(ours), y = sqlite3_step(theirs);
        if (x != SQLITE_ROW && x != SQLITE_DONE) return x;
        if (y != SQLITE_ROW && y != SQLITE_DONE) return y;
        if (x == SQLITE_DONE && y == SQLITE_DONE) return SQLITE_OK;
        bool equal = x == y;
        for (int i = 0; equal && i < 4; i++) equal = same_text(ours, theirs, i);
        if (equal) continue;
        *same = false;
        snprintf(name, 100, "%s", (const char *)sqlite3_column_text(y == SQLITE_ROW ? theirs : ours, 1));
        return SQLITE_OK;
    }
}

enum status db_check_schema(sqlite3 *handle, const char *path)
{
    sqlite3 *model = NULL;
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    char name[100] = "";
    bool same = true;
    int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (!rc) rc = sqlite3_exec(model, text_schema_sql, NULL, NULL, NULL);
    if (!rc) rc = sqlite3_prepare_v2(model, SCHEMA_SQL, -1, &ours, NULL);
    if (rc) {
        enum status st = db_error(model, path, rc, "build the schema to compare with");
        sqlite3_close(model);
        return st;
    }
    rc = sqlite3_prepare_v2(handle, SCHEMA_SQL, -1, &theirs, NULL);
    if (!rc) rc = compare(ours, theirs, name, &same);
    enum status st = rc ? db_error(handle, path, rc, "read its schema") : OK;
    if (!st && !same)
        st = fail(E_DB,
                  "%s calls itself version %d of gemmtune's database, but its tables are others (%s): it was "
                  "changed "
                  "by something else; name another file with --db",
                  path, DB_VERSION, name);
    sqlite3_finalize(ours);
    sqlite3_finalize(theirs);
    sqlite3_close(model);
    return st;
}

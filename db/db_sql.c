#include "db_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- errors --- */

enum status db_error(sqlite3 *handle, const char *path, int rc, const char *what)
{
    const char *text = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc);
    int system = handle ? sqlite3_system_errno(handle) : 0;
    char why[256];
    snprintf(why, sizeof why, "%s%s%s", text, system ? ": " : "", system ? strerror(system) : "");
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return fail(E_IO,
                    "cannot %s in %s: the disk is full; free some space and run the command again, "
                    "everything finished is kept",
                    what, path);
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_LOCK || rc == SQLITE_IOERR_RDLOCK || rc == SQLITE_IOERR_UNLOCK ||
            rc == SQLITE_IOERR_CHECKRESERVEDLOCK)
            return fail(E_IO,
                        "cannot %s: the file system of %s has no locks (%s); name a file on another file "
                        "system%s",
                        what, path, why, db_choose);
        return fail(E_IO,
                    "cannot %s in %s: %s; the disk may be full or failing, or no file may grow that large "
                    "(ulimit -f); everything finished is kept",
                    what, path, why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        if (rc == SQLITE_READONLY_DBMOVED)
            return fail(E_IO, "cannot %s: %s was renamed, replaced or removed meanwhile", what, path);
        return fail(E_IO, "cannot %s: %s or its folder is not writable; name another file%s", what, path,
                    db_choose);
    case SQLITE_CANTOPEN:
        return fail(E_IO, "cannot %s: %s cannot be opened (%s)", what, path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail(E_BUSY, "cannot %s: another process has been holding %s for too long", what, path);
    case SQLITE_NOMEM:
        return fail(E_MEMORY, "out of memory while trying to %s in %s", what, path);
    case SQLITE_NOTADB:
        return fail(E_DB, "%s is not a database of gemmtune or SQLite; name another file%s", path, db_choose);
    case SQLITE_CORRUPT:
        return fail(E_DB, "%s is damaged (%s); put it aside and go on with a backup or a new file%s", path,
                    text, db_choose);
    default:
        return fail(E_DB, "cannot %s in %s: %s", what, path, why);
    }
}

enum status db_broken(const struct db *db, const char *what, int64_t id)
{
    return fail(
        E_DB,
        "%s holds an impossible value (%s, row %lld): it is damaged or was made by something else; run "
        "tune verify, or name another file%s",
        db->path, what, (long long)id, db_choose);
}

/* --- statements --- */

static enum status prepare(struct db *db, const char *sql, sqlite3_stmt **stmt)
{
    if (db->mode == DB_GLANCE) db_hold_index(db->path, db->hold); /* its writers come and go */
    for (int i = 0; i < db->statement_count; i++) {
        if (db->statements[i].sql != sql) continue;
        *stmt = db->statements[i].handle;
        sqlite3_reset(*stmt);
        sqlite3_clear_bindings(*stmt);
        return OK;
    }
    if (db->statement_count == DB_STATEMENTS_MAX)
        return fail(E_DB, "more than %d kinds of statement: a mistake in db/", DB_STATEMENTS_MAX);
    int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (rc) return db_error(db->handle, db->path, rc, "prepare a statement");
    db->statements[db->statement_count].sql = sql;
    db->statements[db->statement_count++].handle = *stmt;
    return OK;
}

enum status db_exec(struct db *db, const char *sql, const char *what)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc ? db_error(db->handle, db->path, rc, what) : OK;
}

enum status db_writable(const struct db *db)
{
    if (db->mode != DB_WRITE) return fail(E_DB, "%s was opened for reading only", db->path);
    if (db->owner != getpid())
        return fail(E_DB, "the connection to %s belongs to process %ld", db->path, (long)db->owner);
    return OK;
}

enum status db_begin(struct db *db)
{
    enum status st = db_writable(db);
    return st ? st : db_exec(db, "BEGIN IMMEDIATE", "start a transaction");
}

enum status db_end(struct db *db, enum status st)
{
    if (!st) st = db_exec(db, "COMMIT", "commit");
    /* SQLite may have rolled back by itself (disk full). */
    if (st && !sqlite3_get_autocommit(db->handle)) sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

struct binder db_bind(struct db *db, const char *sql)
{
    struct binder b = {.next = 1};
    b.st = prepare(db, sql, &b.stmt);
    return b;
}

static void bound(struct binder *b, int rc)
{
    b->next++;
    if (!b->rc) b->rc = rc;
}

void bind_int(struct binder *b, int64_t value)
{
    bound(b, sqlite3_bind_int64(b->stmt, b->next, value));
}

void bind_real(struct binder *b, double value)
{
    bound(b, sqlite3_bind_double(b->stmt, b->next, value)); /* SQLite converts NAN to NULL */
}

void bind_finite(struct binder *b, double value)
{
    bind_real(b, isfinite(value) ? value : 0);
}

void bind_text(struct binder *b, const char *value)
{
    bound(b, sqlite3_bind_text(b->stmt, b->next, value, -1, SQLITE_TRANSIENT));
}

void bind_blob(struct binder *b, const void *value, int bytes)
{
    /* A null pointer would give NULL instead of an empty blob. */
    bound(b, sqlite3_bind_blob(b->stmt, b->next, bytes ? value : "", bytes, SQLITE_TRANSIENT));
}

void bind_null(struct binder *b)
{
    bound(b, sqlite3_bind_null(b->stmt, b->next));
}

void bind_value(struct binder *b, sqlite3_stmt *row, int column)
{
    bound(b, sqlite3_bind_value(b->stmt, b->next, sqlite3_column_value(row, column)));
}

struct binder db_bind_ints(struct db *db, const char *sql, const int64_t *numbers, int count)
{
    struct binder b = db_bind(db, sql);
    for (int i = 0; i < count; i++) bind_int(&b, numbers[i]);
    return b;
}

/* Without a statement every parameter fails, too. */
enum status db_next(struct db *db, const struct binder *b, bool *row, const char *what)
{
    if (b->st) return b->st;
    const int rc = b->rc ? b->rc : sqlite3_step(b->stmt);
    *row = rc == SQLITE_ROW;
    if (*row) return OK;
    const enum status st = rc == SQLITE_DONE ? OK : db_error(db->handle, db->path, rc, what);
    sqlite3_reset(b->stmt);
    return st;
}

void db_done(const struct binder *b)
{
    sqlite3_reset(b->stmt);
}

enum status db_run(struct db *db, const struct binder *b, int64_t *changes, const char *what)
{
    bool row;
    enum status st = db_next(db, b, &row, what);
    if (!st && row) db_done(b);
    if (!st && changes) *changes = sqlite3_changes64(db->handle);
    return st;
}

enum status db_insert(struct db *db, const struct binder *b, int64_t *id, const char *what)
{
    enum status st = db_run(db, b, NULL, what);
    *id = sqlite3_last_insert_rowid(db->handle);
    return st;
}

enum status db_integer(struct db *db, const struct binder *b, int64_t *value, const char *what)
{
    bool row;
    enum status st = db_next(db, b, &row, what);
    if (st) return st;
    *value = row ? sqlite3_column_int64(b->stmt, 0) : 0;
    if (row) db_done(b);
    return OK;
}

/* --- reading --- */

struct reader read_start(sqlite3_stmt *stmt)
{
    return (struct reader){.stmt = stmt};
}

static void bad(struct reader *r, const char *name)
{
    if (!r->bad) r->bad = name;
}

/* A connection is used by one thread at a time: then SQLite lets a column's value be read as it is. */
int64_t read_long(struct reader *r, const char *name, int64_t least, int64_t most)
{
    sqlite3_value *column = sqlite3_column_value(r->stmt, r->next);
    int64_t value = sqlite3_value_int64(column);
    if (sqlite3_value_type(column) != SQLITE_INTEGER || value < least || value > most) {
        bad(r, name);
        value = least;
    }
    r->next++;
    return value;
}

int read_int(struct reader *r, const char *name, int least, int most)
{
    return (int)read_long(r, name, least, most);
}

bool read_bool(struct reader *r, const char *name)
{
    return read_long(r, name, 0, 1) != 0;
}

double read_real(struct reader *r, const char *name, double least, double most)
{
    sqlite3_value *column = sqlite3_column_value(r->stmt, r->next);
    double value = sqlite3_value_double(column);
    if (sqlite3_value_type(column) != SQLITE_FLOAT || !(value >= least && value <= most)) {
        bad(r, name);
        value = least;
    }
    r->next++;
    return value;
}

double read_time_us(struct reader *r, const char *name)
{
    double value = read_real(r, name, 0, DB_CALL_US_MAX);
    if (value == 0 || value >= DB_CALL_US_LEAST) return value;
    bad(r, name);
    return 0;
}

void read_text(struct reader *r, const char *name, char *text, size_t room)
{
    const char *value = (const char *)sqlite3_column_text(r->stmt, r->next);
    size_t length = (size_t)sqlite3_column_bytes(r->stmt, r->next);
    text[0] = '\0';
    if (sqlite3_column_type(r->stmt, r->next) != SQLITE_TEXT || !value || length >= room ||
        strlen(value) != length)
        bad(r, name);
    else memcpy(text, value, length + 1);
    r->next++;
}

bool read_is_null(struct reader *r)
{
    bool null = sqlite3_column_type(r->stmt, r->next) == SQLITE_NULL;
    if (null) r->next++;
    return null;
}

/* --- time --- */

int64_t db_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* If the clock jumps out of the range that can be stored, the data being stored must stay readable. */
    if (now.tv_sec < 0) return 0;
    return now.tv_sec >= DB_TIME_MAX / 1000000 ? DB_TIME_MAX
                                               : (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

enum status db_check_clock(void)
{
    struct timespec now;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec >= 0 && now.tv_sec < DB_TIME_MAX / 1000000) return OK;
    snprintf(text, sizeof text, "%lld s", (long long)now.tv_sec);
    struct tm parts;
    if (gmtime_r(&now.tv_sec, &parts) && parts.tm_year > -1900 && parts.tm_year < 8100)
        strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return fail(E_INPUT, "this machine's clock says %s; only times from 1970 to 9999 can be stored: set it",
                text);
}

void db_time_text(int64_t us, char text[32])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) text[0] = '\0';
}

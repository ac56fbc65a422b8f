#include "db_internal.h"

#include <stdlib.h>
#include <string.h>

/* What sorting may use, beside the cache, while an index is built. */
#define SORT_CACHE "PRAGMA cache_size = -64000"

/* The indices of schema.sql that are no constraint; nothing that runs meanwhile needs them. */
static const struct {
    const char *text, *drop;
} indices[DB_BULK_INDICES] = {
    {"SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'trials_by_key'",
     "DROP INDEX trials_by_key"},
    {"SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'trials_fastest'",
     "DROP INDEX trials_fastest"},
    {"SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'trials_fatal'",
     "DROP INDEX trials_fatal"},
};

/* The text is taken from the file, which has been compared with schema.sql (db_check_schema). */
static enum status drop_index(struct db *db, struct db_bulk *bulk, int i)
{
    const struct binder b = db_bind(db, indices[i].text);
    bool row;
    enum status st = db_next(db, &b, &row, "look for an index");
    if (st) return st;
    const char *text = row ? (const char *)sqlite3_column_text(b.stmt, 0) : NULL;
    bulk->text[i] = text ? strdup(text) : NULL;
    db_done(&b);
    if (!bulk->text[i]) return fail(E_MEMORY, "out of memory while merging");
    return db_exec(db, indices[i].drop, "put an index off");
}

/* A log would hold all that is new, and then be copied; the rollback journal holds only what was there. A
 * reader in the middle of a query blocks the change: either mode is right. */
static enum status choose_journal(struct db *db, const char *sql)
{
    const int rc = db->safe ? SQLITE_OK : sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc && (rc & 0xff) != SQLITE_BUSY ? db_error(db->handle, db->path, rc, "prepare for many rows")
                                            : OK;
}

enum status db_bulk_start(struct db *db, bool indices_later, struct db_bulk *bulk)
{
    *bulk = (struct db_bulk){.text = {NULL}};
    /* Rows come from files whose constraints have been checked. References stay checked. */
    enum status st =
        db_exec(db, DB_CACHE_BULK "; PRAGMA ignore_check_constraints = ON", "prepare for many rows");
    if (!st && indices_later) st = choose_journal(db, "PRAGMA journal_mode = DELETE");
    if (!st) st = db_begin(db);
    db_guard(db, false);
    for (int i = 0; !st && indices_later && i < DB_BULK_INDICES; i++) st = drop_index(db, bulk, i);
    db_guard(db, true);
    return st;
}

enum status db_bulk_end(struct db *db, struct db_bulk *bulk, enum status st)
{
    if (!st) st = db_exec(db, SORT_CACHE, "set the size of its cache");
    db_guard(db, false);
    for (int i = 0; i < DB_BULK_INDICES; i++) {
        if (!st && bulk->text[i]) st = db_exec(db, bulk->text[i], "build an index");
        free(bulk->text[i]);
        bulk->text[i] = NULL;
    }
    db_guard(db, true);
    st = db_end(db, st);
    enum status normal =
        db_exec(db, DB_CACHE "; PRAGMA ignore_check_constraints = OFF", "set the size of its cache");
    if (!normal) normal = choose_journal(db, "PRAGMA journal_mode = WAL; SELECT 1 FROM sqlite_schema");
    if (!db->safe) db_hold_log(db->path, db->hold); /* it is a new one */
    return st ? st : normal;
}

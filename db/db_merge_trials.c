#include "db_merging.h"

#include <string.h>

/* ---- ids of trials ---- */

static int by_first(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

int64_t merge_map_find(const struct merge_map *map, int64_t from)
{
    if (!map->count) return 0;
    const uint64_t place = (uint64_t)from - (uint64_t)map->pairs[0][0]; /* ids are dense as a rule */
    if (place < map->count && map->pairs[place][0] == from) return map->pairs[place][1];
    const int64_t *pair = bsearch(&from, map->pairs, map->count, sizeof *map->pairs, by_first);
    return pair ? pair[1] : 0;
}

enum status db_free_trial_id(struct db *db, int64_t *id)
{
    struct binder b =
        db_bind(db, "SELECT 1 + max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'attempts'), 0), "
                    "coalesce((SELECT max(id) FROM trials), 0))");
    return db_integer(db, &b, id, "number a trial");
}

enum status db_used_trial_ids(struct db *db, int64_t last)
{
    struct binder b = db_bind(db, "INSERT INTO attempts (id, run_id, problem_id, config_id, started_us) "
                                  "SELECT id, run_id, problem_id, config_id, started_us "
                                  "FROM trials "
                                  "WHERE id = ?1");
    bind_int(&b, last);
    enum status st = db_run(db, &b, NULL, "number trials");
    if (st) return st;
    b = db_bind(db, "DELETE FROM attempts WHERE id = ?1");
    bind_int(&b, last);
    return db_run(db, &b, NULL, "number trials");
}

/* ---- rows of the source as a table of the target ---- */

/* Millions of rows are inserted by one statement, which reads them from this virtual table: a statement for
 * each row costs twice as many instructions. The table has the columns of trials; what it reads is in
 * db->incoming, and nothing else is set. */
#define COLUMNS "id, hash, run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT

enum { ID, HASH, RUN, GPU, PROBLEM, CONFIG }; /* the first columns */

struct db_incoming {
    struct merge *m;
    struct binder from;
    enum status st; /* of reading the source */
    bool row;
    int64_t next;           /* id of the next new row in the target */
    int64_t added, known;   /* rows */
    int64_t last;           /* id in the source of the row that was inserted or found known last */
    int64_t streak, enough; /* known rows since the last new one; after so many the statement ends */
};

struct incoming_table {
    sqlite3_vtab base; /* must be the first */
    struct db *db;
};

struct incoming_cursor {
    sqlite3_vtab_cursor base; /* must be the first */
    struct db_incoming *in;
};

static struct db_incoming *incoming_of(sqlite3_vtab_cursor *cursor)
{
    return ((struct incoming_cursor *)(void *)cursor)->in;
}

static int incoming_connect(sqlite3 *handle, void *self, int count, const char *const *words,
                            sqlite3_vtab **made, char **error)
{
    (void)count, (void)words, (void)error;
    const int rc = sqlite3_declare_vtab(handle, "CREATE TABLE incoming (" COLUMNS ")");
    struct incoming_table *table = rc ? NULL : sqlite3_malloc(sizeof *table);
    if (!table) return rc ? rc : SQLITE_NOMEM;
    *table = (struct incoming_table){.db = self};
    *made = &table->base;
    return SQLITE_OK;
}

static int incoming_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int incoming_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int incoming_open(sqlite3_vtab *table, sqlite3_vtab_cursor **made)
{
    struct incoming_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    *cursor = (struct incoming_cursor){.in = ((struct incoming_table *)(void *)table)->db->incoming};
    *made = &cursor->base;
    return SQLITE_OK;
}

static int incoming_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int read_row(struct db_incoming *in)
{
    in->st = db_next(in->m->from, &in->from, &in->row, "read its trials");
    return in->st ? SQLITE_ERROR : SQLITE_OK;
}

static int incoming_start(sqlite3_vtab_cursor *cursor, int plan, const char *text, int count,
                          sqlite3_value **values)
{
    (void)plan, (void)text, (void)count, (void)values;
    struct db_incoming *in = incoming_of(cursor);
    sqlite3_set_last_insert_rowid(in->m->to->handle, 0);
    return read_row(in);
}

/* The row that was read last is new if it has been inserted. */
static int incoming_next(sqlite3_vtab_cursor *cursor)
{
    struct db_incoming *in = incoming_of(cursor);
    const bool new = sqlite3_last_insert_rowid(in->m->to->handle) == in->next;
    in->last = sqlite3_column_int64(in->from.stmt, ID);
    in->added += new;
    in->known += !new;
    in->next += new;
    in->streak = new ? 0 : in->streak + 1;
    if (in->streak < in->enough) return read_row(in);
    in->row = false;
    return SQLITE_OK;
}

static int incoming_at_end(sqlite3_vtab_cursor *cursor)
{
    return !incoming_of(cursor)->row;
}

static int give_reference(struct db_incoming *in, sqlite3_context *out, int column)
{
    static const int tables[] = {MERGE_RUNS, MERGE_GPUS, MERGE_PROBLEMS, MERGE_CONFIGS};
    const int64_t old = sqlite3_column_int64(in->from.stmt, column);
    const int64_t new = merge_map_find(&in->m->maps[tables[column - RUN]], old);
    sqlite3_result_int64(out, new);
    if (new) return SQLITE_OK;
    in->st = db_broken(in->m->from, "trials", sqlite3_column_int64(in->from.stmt, ID));
    return SQLITE_ERROR;
}

/* Texts and blobs are those of the source's row, which stays until the next is read. */
static int incoming_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
    struct db_incoming *in = incoming_of(cursor);
    sqlite3_stmt *row = in->from.stmt;
    if (column >= RUN && column <= CONFIG) return give_reference(in, out, column);
    if (column == ID) {
        sqlite3_result_int64(out, in->next);
        return SQLITE_OK;
    }
    sqlite3_value *value = sqlite3_column_value(row, column);
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_result_int64(out, sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        sqlite3_result_double(out, sqlite3_value_double(value));
        break;
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_value_text(value);
        sqlite3_result_text(out, text, sqlite3_value_bytes(value), SQLITE_STATIC);
        break;
    }
    case SQLITE_BLOB: {
        const void *blob = sqlite3_value_blob(value);
        const int bytes = sqlite3_value_bytes(value);
        if (bytes) sqlite3_result_blob(out, blob, bytes, SQLITE_STATIC);
        else sqlite3_result_zeroblob(out, 0); /* NULL would be no blob */
        break;
    }
    default:
        sqlite3_result_null(out);
    }
    return SQLITE_OK;
}

static int incoming_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = incoming_of(cursor)->next;
    return SQLITE_OK;
}

static const sqlite3_module incoming_module = {.xConnect = incoming_connect,
                                               .xBestIndex = incoming_plan,
                                               .xDisconnect = incoming_disconnect,
                                               .xOpen = incoming_open,
                                               .xClose = incoming_close,
                                               .xFilter = incoming_start,
                                               .xNext = incoming_next,
                                               .xEof = incoming_at_end,
                                               .xColumn = incoming_column,
                                               .xRowid = incoming_id};

/* ---- copying ---- */

/* Inserts the rows after in->last, until there are no more, or as many known ones as are enough. */
static enum status insert_rows(struct db_incoming *in)
{
    struct db *to = in->m->to;
    in->from =
        db_bind_ints(in->m->from, "SELECT " COLUMNS " FROM trials WHERE id > ?1 ORDER BY id", &in->last, 1);
    in->streak = 0;
    const struct binder b = db_bind(to, "INSERT INTO trials (" COLUMNS ") SELECT " COLUMNS
                                        " FROM incoming WHERE true ON CONFLICT (hash) DO NOTHING");
    const enum status st = db_run(to, &b, NULL, "copy trials");
    db_done(&b);
    db_done(&in->from);
    return in->st ? in->st : st;
}

/* Files that are merged again have the same rows in the same order as the target: they are compared side by
 * side from in->last on, which is known, without a search for each. */
static enum status skip_rows(struct db_incoming *in, int64_t *skipped)
{
    struct db *from = in->m->from, *to = in->m->to;
    int64_t place = 0;
    *skipped = 0;
    struct binder b = db_bind_ints(from, "SELECT hash FROM trials WHERE id = ?1", &in->last, 1);
    bool row, same = true;
    enum status st = db_next(from, &b, &row, "read its trials");
    if (st || !row) return st;
    struct binder find = db_bind(to, "SELECT id FROM trials WHERE hash = ?1");
    bind_value(&find, b.stmt, 0);
    st = db_integer(to, &find, &place, "look for a trial");
    db_done(&b);
    if (st) return st;
    b = db_bind_ints(from, "SELECT hash, id FROM trials WHERE id > ?1 ORDER BY id", &in->last, 1);
    find = db_bind_ints(to, "SELECT hash FROM trials WHERE id > ?1 ORDER BY id", &place, 1);
    while (same) {
        if ((st = db_next(from, &b, &row, "read its trials")) || !row) break;
        if ((st = db_next(to, &find, &row, "look for a trial")) || !row) break;
        const void *theirs = sqlite3_column_blob(b.stmt, 0), *ours = sqlite3_column_blob(find.stmt, 0);
        same = theirs && ours && sqlite3_column_bytes(b.stmt, 0) == DB_HASH_BYTES &&
               sqlite3_column_bytes(find.stmt, 0) == DB_HASH_BYTES &&
               memcmp(theirs, ours, DB_HASH_BYTES) == 0;
        if (!same) break;
        in->last = sqlite3_column_int64(b.stmt, 1);
        ++*skipped;
    }
    db_done(&b);
    db_done(&find);
    in->known += *skipped;
    return st;
}

/* So many rows side by side are worth the look; after fewer it is taken more rarely. */
enum { WORTH = 16, ENOUGH_MAX = 4096 };

static enum status copy(struct db_incoming *in)
{
    enum status st = OK;
    for (in->enough = 1; !st;) {
        int64_t skipped;
        st = insert_rows(in);
        if (st || in->streak < in->enough) break; /* it has read all */
        st = skip_rows(in, &skipped);
        in->enough = skipped >= WORTH ? 1 : 2 * in->enough;
        if (in->enough > ENOUGH_MAX) in->enough = ENOUGH_MAX;
    }
    return st;
}

/* Once for a connection. The guard would take the table for a new one of the file. */
static enum status declare(struct db *db)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_create_module_v2(db->handle, "incoming", &incoming_module, db, NULL);
    db_guard(db, false);
    if (!rc) rc = sqlite3_prepare_v2(db->handle, "SELECT id FROM incoming", -1, &stmt, NULL);
    db_guard(db, true);
    sqlite3_finalize(stmt);
    db->merges = !rc;
    return rc ? db_error(db->handle, db->path, rc, "prepare to copy trials") : OK;
}

enum status merge_trials(struct merge *m)
{
    struct db *to = m->to;
    struct db_incoming in = {.m = m};
    int64_t first = 0;
    enum status st = to->merges ? OK : declare(to);
    if (!st) st = db_free_trial_id(to, &first);
    in.next = first;
    to->incoming = &in;
    if (!st) st = copy(&in);
    to->incoming = NULL;
    m->merged->trials += in.added;
    m->merged->known += in.known;
    return !st && in.next > first ? db_used_trial_ids(to, in.next - 1) : st;
}

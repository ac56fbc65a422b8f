#include "db_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that trials refer to, ascending by id. */
struct key {
    int64_t id, gpu_id; /* gpu_id: of a run */
    unsigned char hash[DB_HASH_BYTES];
};

struct keys {
    struct key *rows;
    size_t count, room;
};

static bool add_key(struct keys *keys, const struct key *key)
{
    if (keys->count == keys->room) {
        const size_t room = keys->room ? 2 * keys->room : 256;
        struct key *grown = realloc(keys->rows, room * sizeof *grown);
        if (!grown) return false;
        keys->rows = grown;
        keys->room = room;
    }
    keys->rows[keys->count++] = *key;
    return true;
}

static enum status read_keys(struct db *db, const char *sql, struct keys *keys)
{
    const struct binder b = db_bind(db, sql);
    enum status st = OK;
    bool row;
    while (!st && !(st = db_next(db, &b, &row, "check what trials refer to")) && row) {
        struct key key = {sqlite3_column_int64(b.stmt, 0), sqlite3_column_int64(b.stmt, 1), {0}};
        const void *hash = sqlite3_column_blob(b.stmt, 2);
        if (hash && sqlite3_column_bytes(b.stmt, 2) == DB_HASH_BYTES) memcpy(key.hash, hash, DB_HASH_BYTES);
        if (!add_key(keys, &key)) st = fail(E_MEMORY, "out of memory while checking %s", db->path);
    }
    db_done(&b);
    return st;
}

static int by_id(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = ((const struct key *)y)->id;
    return (a > b) - (a < b);
}

/* Ids are dense as a rule. NULL: there is none. */
static const struct key *find_key(const struct keys *keys, int64_t id)
{
    if (!keys->count) return NULL;
    const uint64_t place = (uint64_t)id - (uint64_t)keys->rows[0].id;
    if (place < keys->count && keys->rows[place].id == id) return &keys->rows[place];
    return bsearch(&id, keys->rows, keys->count, sizeof *keys->rows, by_id);
}

enum { ID, HASH, RUN, GPU, PROBLEM, CONFIG, CONTENT }; /* columns */

struct trials_check {
    struct keys runs, problems, configs;
    struct hasher hasher;
    struct db_trial_findings *findings;
};

static const char row_of_trial[] = "does not match its hash in row %" PRId64;

static bool has_its_hash(struct trials_check *c, sqlite3_stmt *row, const struct key *run)
{
    const struct key *problem = find_key(&c->problems, sqlite3_column_int64(row, PROBLEM));
    const struct key *config = find_key(&c->configs, sqlite3_column_int64(row, CONFIG));
    const void *stored = sqlite3_column_blob(row, HASH);
    unsigned char digest[DB_HASH_BYTES];
    if (!run || !problem || !config || !stored || sqlite3_column_bytes(row, HASH) != DB_HASH_BYTES)
        return false;
    hash_again(&c->hasher);
    hash_blob(&c->hasher, run->hash, DB_HASH_BYTES);
    hash_blob(&c->hasher, problem->hash, DB_HASH_BYTES);
    hash_blob(&c->hasher, config->hash, DB_HASH_BYTES);
    for (int i = CONTENT; i < sqlite3_column_count(row); i++)
        hash_value(&c->hasher, sqlite3_column_value(row, i));
    return hash_end(&c->hasher, digest) && memcmp(digest, stored, DB_HASH_BYTES) == 0;
}

static void check_trial(struct trials_check *c, sqlite3_stmt *row)
{
    struct db_trial_findings *f = c->findings;
    const int64_t id = sqlite3_column_int64(row, ID);
    const struct key *run = find_key(&c->runs, sqlite3_column_int64(row, RUN));
    if (!run || run->gpu_id != sqlite3_column_int64(row, GPU))
        snprintf(f->gpu, sizeof f->gpu, "not so in row %" PRId64, id);
    if (!f->content[0] && !has_its_hash(c, row, run))
        snprintf(f->content, sizeof f->content, row_of_trial, id);
    if (f->values[0]) return;
    struct reader r = {.stmt = row, .next = ID};
    struct outcome outcome;
    read_long(&r, "id", 1, INT64_MAX);
    r.next = CONTENT;
    db_read_trial_content(&r, &outcome);
    if (r.bad) snprintf(f->values, sizeof f->values, "trial %" PRId64 ": impossible %s", id, r.bad);
}

enum status db_check_trials(struct db *db, struct db_trial_findings *findings)
{
    struct trials_check c = {.findings = findings};
    *findings = (struct db_trial_findings){.gpu = ""};
    hash_start(&c.hasher);
    enum status st = read_keys(db, "SELECT id, gpu_id, hash FROM runs ORDER BY id", &c.runs);
    if (!st) st = read_keys(db, "SELECT id, 0, hash FROM problems ORDER BY id", &c.problems);
    if (!st) st = read_keys(db, "SELECT id, 0, hash FROM configs ORDER BY id", &c.configs);
    if (!st) {
        const struct binder b =
            db_bind(db, "SELECT id, hash, run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT
                        " FROM trials ORDER BY id");
        bool row;
        while (!findings->gpu[0] && !(st = db_next(db, &b, &row, "check the trials")) && row)
            check_trial(&c, b.stmt);
        db_done(&b);
    }
    if (!st && c.hasher.failed) st = fail(E_MEMORY, "out of memory while checking %s", db->path);
    hash_free(&c.hasher);
    free(c.runs.rows);
    free(c.problems.rows);
    free(c.configs.rows);
    return st;
}

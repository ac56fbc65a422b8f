#include "db_internal.h"
#include "file_seen.h"
#include "output_file.h"
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- whose shard it is ---- */

/* A table that only the files of shards have, so that no other file has to grow; a program that does not know
 * it leaves it alone. It has one row. suite: 16 hexadecimal digits, a hash of its problems. number: 0 to
 * count - 1. version: of the program. problems: of this shard. spent_s: seconds of its budget, until it is
 * finished (bool). */
#define SHARDS_TABLE                                                                                         \
    "CREATE TABLE shards (suite TEXT NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL, "            \
    "version TEXT NOT NULL, problems INTEGER NOT NULL, spent_s REAL NOT NULL, finished INTEGER NOT NULL, "   \
    "PRIMARY KEY (suite, number, count)) STRICT, WITHOUT ROWID"

static enum status find_table(struct db *db, bool *there)
{
    const struct binder b =
        db_bind(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'shards' AND type = 'table'");
    int64_t count = 0;
    enum status st = db_integer(db, &b, &count, "read which shard it is");
    *there = count > 0;
    return st;
}

enum status db_shard_get(struct db *db, struct db_shard *shard)
{
    bool there, row = false;
    enum status st = find_table(db, &there);
    if (st) return st;
    if (!there) return fail(E_ABSENT, "%s belongs to no shard", db->path);
    const struct binder b =
        db_bind(db, "SELECT suite, number, count, version, problems, spent_s, finished FROM shards LIMIT 1");
    st = db_next(db, &b, &row, "read which shard it is");
    if (st) return st;
    if (!row) return fail(E_ABSENT, "%s belongs to no shard", db->path);
    struct reader r = read_start(b.stmt);
    read_text(&r, "suite", shard->suite, sizeof shard->suite);
    shard->number = read_int(&r, "number", 0, SHARDS_MAX - 1);
    shard->count = read_int(&r, "count", 1, SHARDS_MAX);
    read_text(&r, "version", shard->version, sizeof shard->version);
    shard->problems = read_long(&r, "problems", 0, INT64_MAX);
    shard->spent_s = read_real(&r, "spent_s", 0, 1e12);
    shard->finished = read_bool(&r, "finished");
    if (!r.bad && shard->number >= shard->count) r.bad = "number";
    db_done(&b);
    return r.bad ? db_broken(db, r.bad, shard->number) : OK;
}

enum status db_shard_set(struct db *db, const struct db_shard *shard)
{
    bool there = true;
    enum status st = db_writable(db);
    if (!st) st = find_table(db, &there);
    if (!st && !there) {
        db_guard(db, false);
        st = db_exec(db, SHARDS_TABLE, "store which shard it is");
        db_guard(db, true);
    }
    if (st) return st;
    struct binder b =
        db_bind(db, "INSERT INTO shards (suite, number, count, version, problems, spent_s, finished) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (suite, number, count) "
                    "DO UPDATE SET problems = excluded.problems, spent_s = excluded.spent_s, "
                    "finished = excluded.finished");
    bind_text(&b, shard->suite);
    bind_int(&b, shard->number);
    bind_int(&b, shard->count);
    bind_text(&b, shard->version);
    bind_int(&b, shard->problems);
    bind_finite(&b, shard->spent_s);
    bind_int(&b, shard->finished);
    return db_run(db, &b, NULL, "store which shard it is");
}

/* ---- a copy of the file ---- */

enum status db_open_copy(const char *path, struct db **copy)
{
    int version;
    bool empty = false;
    struct db *db = calloc(1, sizeof *db);
    if (!db) return fail(E_MEMORY, "out of memory while opening %s", path);
    db->mode = DB_READ;
    db->owner = getpid();
    enum status st = db_resolve(path, db->path);
    if (!st) st = db_connect_immutable(db->path, &db->handle);
    if (!st) st = db_identify(db->handle, db->path, &db_form, &version, &empty);
    if (!st && empty) st = fail(E_ABSENT, "the database %s is empty", path);
    if (st) db_close(db);
    else *copy = db;
    return st; /* NOLINT(clang-analyzer-unix.Malloc): the owner closes it */
}

/* ---- clocks ---- */

enum status db_clocks(struct db *db, bool (*visit)(void *self, const struct db_clock *clock), void *self)
{
    if (!db->first_run) return OK;
    const struct binder b = db_bind_ints(
        db,
        "WITH clocked AS (SELECT g.name, r.gpu_uuid, t.sm_clock_mhz AS mhz, "
        "row_number() OVER board AS place, count(*) OVER (PARTITION BY g.name, r.gpu_uuid) AS all_of_it "
        "FROM trials t JOIN runs r ON r.id = t.run_id JOIN gpus g ON g.id = r.gpu_id "
        "WHERE t.run_id BETWEEN ?1 AND ?2 AND t.sm_clock_mhz > 0 "
        "WINDOW board AS (PARTITION BY g.name, r.gpu_uuid ORDER BY t.sm_clock_mhz)) "
        "SELECT name, gpu_uuid, all_of_it, mhz FROM clocked WHERE place = (all_of_it + 1) / 2 "
        "ORDER BY name, gpu_uuid",
        (const int64_t[]){db->first_run, db->last_run}, 2);
    enum status st = OK;
    bool row, more = true;
    while (more && !(st = db_next(db, &b, &row, "read the clocks")) && row) {
        struct db_clock clock;
        struct reader r = read_start(b.stmt);
        read_text(&r, "name", clock.gpu, sizeof clock.gpu);
        read_text(&r, "gpu_uuid", clock.uuid, sizeof clock.uuid);
        clock.trials = read_long(&r, "trials", 1, INT64_MAX);
        clock.median_mhz = read_int(&r, "sm_clock_mhz", 1, INT_MAX);
        if (r.bad) st = db_broken(db, r.bad, 0);
        more = !st && visit(self, &clock);
        if (st) break;
    }
    db_done(&b);
    return st;
}

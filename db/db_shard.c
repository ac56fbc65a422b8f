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

/* Without locks and shared memory: nobody knows the name, and on a network file system they may not work. */
static enum status copy_to(struct db *db, const char *fresh)
{
    sqlite3 *copy;
    int rc = sqlite3_open_v2(fresh, &copy, SQLITE_OPEN_READWRITE, "unix-none");
    if (!rc)
        rc = sqlite3_exec(
            copy, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF",
            NULL, NULL, NULL);
    sqlite3_backup *backup = rc ? NULL : sqlite3_backup_init(copy, "main", db->handle, "main");
    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (!rc) {
        rc = sqlite3_errcode(copy);
    }
    /* The mode is copied with the content; a file that is not in use is one file. */
    if (!rc) rc = sqlite3_exec(copy, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    enum status st = rc ? db_error(copy, fresh, rc, "make a copy") : OK;
    sqlite3_close(copy);
    return st;
}

#define PATIENCE_S 2.0 /* another copy takes the place at this moment */

static enum status check_place(const char *target, const struct stat *was)
{
    struct stat now;
    if (db_is_written(target))
        return fail(E_BUSY, "a tuner is writing %s: no copy may take its place", target);
    enum status st = was ? file_see(target, &now) : OK;
    if (st || !was || file_unchanged(was, &now)) return st;
    return fail(E_BUSY, "another process has written %s meanwhile: no copy may take its place", target);
}

/* As late as possible, and with the name held from the last look at it on: a rename would leave a tuner a
 * file without a name, and lose what another has just put there. */
static enum status take_place(const char *fresh, const char *target, const struct stat *was)
{
    int name;
    enum status st = db_name_hold(target, PATIENCE_S, &name);
    if (st) return st;
    st = check_place(target, was);
    if (!st) st = db_refuse_log(target);
    if (!st && rename(fresh, target) != 0) st = fail(E_IO, "cannot write %s: %s", target, strerror(errno));
    db_name_release(target, name);
    return st;
}

enum status db_save(struct db *db, const char *path, struct stat *was)
{
    char folder[PATH_MAX], fresh[PATH_MAX], target[PATH_MAX];
    struct stat written;
    enum status st = file_refuse_link(path);
    if (st || (st = db_resolve(path, target))) return st;
    if (db_same_file(db->path, target)) return fail(E_INPUT, "%s would be a copy of itself", path);
    if ((st = check_place(target, was))) return st;
    snprintf(folder, sizeof folder, "%s", target);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    if (!outfile_name(folder, fresh) || (st = db_check_path(fresh)))
        return st ? st : fail(E_INPUT, "the path %.100s... is too long", path);
    const int fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return fail(E_IO, "cannot write a copy to %s: %s", path, strerror(errno));
    st = copy_to(db, fresh);
    if (!st && (fsync(fd) != 0 || fstat(fd, &written) != 0))
        st = fail(E_IO, "cannot write %s: %s", path, strerror(errno));
    if (close(fd) != 0 && !st) st = fail(E_IO, "cannot write %s: %s", path, strerror(errno));
    if (!st) st = take_place(fresh, target, was);
    if (st) db_remove_files(fresh);
    else if (was) *was = written;
    return st;
}

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

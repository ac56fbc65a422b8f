#include "db_internal.h"
#include "file_seen.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS      5000
#define GLANCE_MS    250
#define ALWAYS_CHECK (1 << 20)  /* bytes: smaller files are checked at every opening */
#define READER_CHECK (64 << 20) /* bytes: larger files: only writers and tune verify check (20 s per GB) */
#define SMALLEST     512        /* bytes: SQLite's smallest page */
#define WAL_LEFT_MAX "67108864"

const char *db_choose = " with GEMMTUNE_DB";

/* Tables are append-only without triggers: statements that change or drop protected data cannot be prepared.
 * Rows of winners may be deleted: if all decisions are excluded, there is no winner. */
static int authorize(void *unused, int action, const char *table, const char *column, const char *schema,
                     const char *inner)
{
    (void)unused, (void)column, (void)schema, (void)inner;
    static const char *const deletable[] = {"attempts", "winners"};
    static const char *const updatable[] = {"runs", "winners", "preferences", "shards", "sqlite_sequence"};
    switch (action) {
    case SQLITE_DELETE:
        for (size_t i = 0; i < sizeof deletable / sizeof *deletable; i++)
            if (strcmp(table, deletable[i]) == 0) return SQLITE_OK;
        return SQLITE_DENY;
    case SQLITE_UPDATE:
        for (size_t i = 0; i < sizeof updatable / sizeof *updatable; i++)
            if (strcmp(table, updatable[i]) == 0) return SQLITE_OK;
        return SQLITE_DENY;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_INSERT:
    case SQLITE_FUNCTION:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_RECURSIVE:
    case SQLITE_PRAGMA:
        return SQLITE_OK;
    default: /* drop, alter, attach, create, ... */
        return SQLITE_DENY;
    }
}

void db_guard(struct db *db, bool on)
{
    sqlite3_set_authorizer(db->handle, on ? authorize : NULL, NULL);
}

/* SQLite would wait for a pipe that has the name of a log. */
static enum status refuse_other_logs(const char *path)
{
    static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
    char name[PATH_MAX];
    enum status st = OK;
    for (size_t i = 0; !st && i < sizeof suffixes / sizeof *suffixes; i++)
        if (snprintf(name, sizeof name, "%s%s", path, suffixes[i]) < (int)sizeof name &&
            access(name, F_OK) == 0)
            st = file_refuse_irregular(name);
    return st;
}

/* Is there something at path that could be a database? *size is 0 if there is nothing. */
static enum status look(const char *path, enum db_mode mode, int64_t *size, bool *there)
{
    struct stat info;
    *size = 0;
    *there = true;
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) return fail(E_IO, "cannot read %s: %s", path, strerror(errno));
        *there = false;
        if (mode == DB_WRITE) return refuse_other_logs(path);
        return fail(E_ABSENT,
                    "there is no database %s yet; tune --shape ... makes one, or name another file%s", path,
                    db_choose);
    }
    if (S_ISDIR(info.st_mode)) return fail(E_IO, "%s is a folder: name a file%s", path, db_choose);
    if (!S_ISREG(info.st_mode)) return fail(E_IO, "%s is not a regular file", path);
    if (info.st_nlink > 1)
        return fail(
            E_DB,
            "%s is a file with %lu names (hard links), and a log beside one is not seen under another: "
            "remove the other names, or copy it (cp) and work with the copy",
            path, (unsigned long)info.st_nlink);
    *size = info.st_size;
    if (info.st_size == 0 && mode != DB_WRITE)
        return fail(E_ABSENT, "the database %s is empty: nothing has been stored in it yet", path);
    if (info.st_size > 0 && info.st_size < SMALLEST) /* SQLite treats a file of one byte as empty */
        return db_error(NULL, path, SQLITE_NOTADB, "read it");
    if (access(path, mode == DB_WRITE ? R_OK | W_OK : R_OK) != 0)
        return fail(E_IO, "cannot %s %s: %s", mode == DB_WRITE ? "write" : "read", path, strerror(errno));
    return refuse_other_logs(path);
}

static bool leftover(const char *path, const char *suffix)
{
    char name[PATH_MAX];
    struct stat info;
    return snprintf(name, sizeof name, "%s%s", path, suffix) < (int)sizeof name && stat(name, &info) == 0 &&
           info.st_size > 0;
}

bool db_lacks_log(const struct db *db, char why[DB_LACKING_MAX])
{
    if (!db->hold || !db_hold_in_wal(db->hold) || leftover(db->path, "-wal") || db_is_written(db->path))
        return false;
    snprintf(why, DB_LACKING_MAX,
             "it was copied while a tuner was writing the original, and without the log beside that (-wal), "
             "which has the last results, or all: copy it with tune merge COPY ORIGINAL (unless another "
             "program had it open when its tuner ended: then it is complete)");
    return true;
}

/* SQLite fills up an incomplete last page with zeros; an intact file that is not in use has none. */
static enum status check_size(sqlite3 *handle, const char *path)
{
    struct stat info;
    sqlite3_stmt *stmt;
    int64_t page = 0;
    int rc = sqlite3_prepare_v2(handle, "PRAGMA page_size", -1, &stmt, NULL);
    if (!rc && sqlite3_step(stmt) == SQLITE_ROW) page = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    if (page < SMALLEST || stat(path, &info) != 0 || leftover(path, "-wal") || leftover(path, "-journal"))
        return OK;
    if (info.st_size % page == 0) return OK;
    return fail(
        E_DB,
        "%s is damaged (it ends within a page: was it copied in full?); put it aside and go on with a "
        "backup or a new file%s",
        path, db_choose);
}

/* A check of limited duration: the structure of files that are opened for the first time, and always that of
 * small ones. */
static enum status check_once(sqlite3 *handle, const char *path, enum db_mode mode, int64_t size)
{
    if (size > ALWAYS_CHECK && db_checked(path)) return OK;
    if (size > READER_CHECK && mode != DB_WRITE) return OK; /* its values are checked as they are read */
    enum status st = check_size(handle, path);
    if (!st) st = db_check_structure(handle, path, false);
    if (!st && size > ALWAYS_CHECK) db_remember_checked(path);
    return st;
}

/* A writer in safe mode was killed during a transaction: its journal must be played back, which a reader
 * cannot do. */
static enum status play_back_journal(const char *path)
{
    struct db_hold *hold;
    enum status st = db_hold_write(path, &hold);
    if (st) return st;
    sqlite3 *handle;
    if (!(st = db_connect(path, SQLITE_OPEN_READWRITE, &handle))) {
        int rc = sqlite3_exec(handle, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
        if (rc) st = db_error(handle, path, rc, "finish what a killed tuner left");
        sqlite3_close(handle);
    }
    db_release(path, hold, true);
    return st;
}

/* Connects for reading. The first read shows whether the file can be read as it is: a file that was left in
 * WAL mode needs a writable folder, unless its log is empty. */
static enum status connect_reader(const char *path, int busy_ms, sqlite3 **handle)
{
    for (int tries = 0;; tries++) {
        enum status st = db_connect(path, SQLITE_OPEN_READONLY, handle);
        if (st) return st;
        sqlite3_busy_timeout(*handle, busy_ms);
        int rc =
            sqlite3_exec(*handle, "PRAGMA query_only = ON; SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
        int kind = rc & 0xff;
        if (kind != SQLITE_READONLY && kind != SQLITE_CANTOPEN)
            return OK; /* db_identify reports other errors */
        sqlite3_close(*handle);
        *handle = NULL;
        if (rc == SQLITE_READONLY_ROLLBACK && tries == 0) {
            if ((st = play_back_journal(path))) return st;
            continue;
        }
        if (leftover(path, "-wal") || leftover(path, "-journal"))
            return fail(E_IO,
                        "a tuner that was killed left work in %s-wal, and the folder is not writable, so it "
                        "cannot be finished: copy both files into a folder of yours",
                        path);
        return db_connect_immutable(path, handle);
    }
}

/* A reader keeps the file open for its complete check: the copy does not show how the file is stored on
 * disk. */
static enum status read_copy(struct db *db, int version, int missing)
{
    const bool glance = db->mode == DB_GLANCE;
    enum status damaged = OK;
    db->file = db->handle;
    enum status st = db_copy_up_to_date(db->file, db->path, &db_form, version, missing, glance, &db->handle);
    if (st == E_DB && !glance) damaged = db_check_structure(db->file, db->path, true);
    if (glance) {
        sqlite3_close(db->file);
        db->file = NULL;
    } else if (!st) {
        sqlite3_exec(db->file, "COMMIT", NULL, NULL, NULL);
    }
    return damaged ? damaged : st;
}

static enum status open_reader(struct db *db, int64_t size)
{
    enum status st = db_hold_read(db->path, &db->hold);
    int version, missing;
    bool empty;
    const bool glance = db->mode == DB_GLANCE;
    if (!st) st = connect_reader(db->path, glance ? GLANCE_MS : BUSY_MS, &db->handle);
    /* Version, tables and rows are read in one transaction, since a writer may be migrating the file. */
    if (!st) st = db_exec(db, "BEGIN", "read it");
    if (st || (st = db_identify(db->handle, db->path, &db_form, &version, &empty))) return st;
    db_hold_index(db->path, db->hold);
    if (empty) return fail(E_ABSENT, "the database %s is empty: nothing has been stored in it yet", db->path);
    if ((st = db_check_schema(db->handle, db->path, &db_form, version, &missing))) return st;
    const bool copied = version < DB_VERSION || missing;
    if (db->mode == DB_EXAMINE && !copied) st = check_size(db->handle, db->path);
    else if (!glance) st = check_once(db->handle, db->path, db->mode, size);
    if (st) return st;
    if (copied) return read_copy(db, version, missing);
    return db_exec(db, "COMMIT", "read it");
}

/* Checked before locking, so that no lock file appears beside a foreign file. */
static enum status refuse_foreign(const char *path)
{
    sqlite3 *handle = NULL;
    struct db_hold *hold = NULL;
    enum status st = db_hold_read(path, &hold);
    int version;
    bool empty;
    if (!st) st = connect_reader(path, BUSY_MS, &handle);
    if (!st) st = db_identify(handle, path, &db_form, &version, &empty);
    sqlite3_close(handle);
    db_release(path, hold, false);
    return st;
}

/* WAL where it works, else a rollback journal. A file that is not in use is never in WAL mode (db_close), so
 * that it can be copied as one file and read in a read-only folder. */
static enum status choose_journal(struct db *db)
{
    const char *sql = db->safe ? "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; "
                                 "PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_schema; "
                               : "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = " WAL_LEFT_MAX "; "
                                 "SELECT 1 FROM sqlite_schema; ";
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    /* A reader in the middle of a query blocks the change of mode; the old mode is as durable. */
    if (rc && (rc & 0xff) != SQLITE_BUSY) return db_error(db->handle, db->path, rc, "prepare for writing");
    return db_exec(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", "prepare for writing");
}

static enum status open_writer(struct db *db, int64_t size)
{
    enum status st = OK;
    int missing;
    if (size > 0 && (st = refuse_foreign(db->path))) return st;
    if ((st = db_hold_write(db->path, &db->hold))) return st;
    db->writing = true;
    if ((st = db_connect(db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db->handle))) return st;
    db->safe = db_on_network(db->path) != NULL;
    if (db->safe && (st = choose_journal(db))) return st; /* before WAL's shared memory could be accessed */
    if ((st = db_migrate(db->handle, db->path, &db_form))) return st;
    if ((st = db_check_schema(db->handle, db->path, &db_form, DB_VERSION, &missing))) return st;
    if ((st = db_grow(db->handle, db->path, &db_form, missing))) return st;
    if (db->safe && (st = db_exec(db, "PRAGMA foreign_keys = ON", "prepare for writing"))) return st;
    if (size == 0) db_remember_checked(db->path);
    if ((st = check_once(db->handle, db->path, db->mode, size))) return st;
    if (!db->safe && (st = choose_journal(db))) return st;
    if (!db->safe) db_hold_index(db->path, db->hold);
    if (!db->safe) db_hold_log(db->path, db->hold);
    db_guard(db, true);
    db->ready = true;
    return OK;
}

enum status db_open(const char *path, enum db_mode mode, struct db **out)
{
    struct db *db = calloc(1, sizeof *db);
    if (!db) return fail(E_MEMORY, "out of memory while opening %s", path);
    db->mode = mode;
    db->owner = getpid();
    int64_t size;
    bool there = true;
    enum status st = db_check_path(path);
    if (!st) snprintf(db->given, sizeof db->given, "%s", path);
    const int error = !st && mode == DB_WRITE ? paths_make_usual_folders(path, &db->made) : 0;
    if (error) st = fail(E_IO, "cannot create the folders of %s: %s", path, strerror(error));
    if (!st) st = look(path, mode, &size, &there);
    if (!st) st = db_resolve(path, db->path);
    db->created = !there;
    if (!st) st = mode == DB_WRITE ? open_writer(db, size) : open_reader(db, size);
    if (!st) st = db_exec(db, DB_CACHE, "set the size of its cache");
    if (!st) st = db_take_own(db);
    if (st) {
        db_close(db);
        return st; /* NOLINT(clang-analyzer-unix.Malloc): the owner closes it */
    }
    *out = db;
    return OK;
}

void db_clear_log(const char *path)
{
    sqlite3 *handle;
    char name[PATH_MAX];
    if (db_connect(path, SQLITE_OPEN_READWRITE, &handle)) return;
    sqlite3_busy_timeout(handle, 0);
    /* In this locking mode SQLite needs no -shm, and no other connection is open; closing removes the log. */
    if (sqlite3_exec(handle, "PRAGMA locking_mode = EXCLUSIVE; SELECT 1 FROM sqlite_schema", NULL, NULL,
                     NULL) == SQLITE_OK &&
        snprintf(name, sizeof name, "%s-shm", path) < (int)sizeof name)
        unlink(name);
    sqlite3_close(handle);
}

/* Nothing was ever stored in it, for example because the disk was full. */
static bool nothing_stored(struct db *db)
{
    sqlite3_stmt *stmt = NULL;
    if (!db->ready) return true;
    bool nothing = sqlite3_prepare_v2(db->handle,
                                      "SELECT 1 FROM runs UNION ALL "
                                      "SELECT 1 FROM sqlite_schema WHERE name = 'shards' LIMIT 1",
                                      -1, &stmt, NULL) == SQLITE_OK &&
                   sqlite3_step(stmt) == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return nothing;
}

/* Writes the log back. SQLite removes it by its name: not if it is another file's by now. */
static const char *write_back(const struct db *db)
{
    return db_hold_has_log(db->path, db->hold) ? "PRAGMA journal_mode = DELETE"
                                               : "PRAGMA wal_checkpoint(PASSIVE)";
}

/* SQLite leaves a file in WAL mode that has lost the name under which it was opened. */
static void make_plain(const char *path)
{
    sqlite3 *handle;
    if (!*path || db_connect(path, SQLITE_OPEN_READWRITE, &handle)) return;
    sqlite3_busy_timeout(handle, 0);
    sqlite3_exec(handle, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    sqlite3_close(handle);
}

void db_close(struct db *db)
{
    if (!db) return;
    if (db->owner != getpid()) return; /* a forked child must not use the parent's connection or lock */
    for (int i = 0; i < db->statement_count; i++) sqlite3_finalize(db->statements[i].handle);
    char now[PATH_MAX];
    const bool moved = db->writing && db_hold_moved(db->path, db->hold, now);
    const bool useless = db->writing && db->created && nothing_stored(db);
    bool one_file = db->safe || !db->writing;
    if (db->ready && !db->safe) {
        /* Back to one plain file. If a reader is still connected, the file stays in WAL mode, which is as
         * safe. */
        db_guard(db, false);
        sqlite3_busy_timeout(db->handle, 0);
        const char *sql = moved ? write_back(db) : "PRAGMA journal_mode = DELETE";
        one_file = sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    }
    sqlite3_close(db->handle);
    sqlite3_close(db->file);
    if (useless && !moved) db_remove_files(db->path);
    else if (!one_file && !moved) db_clear_log(db->path);
    if (moved) make_plain(now); /* what has the name is not ours */
    db_release(db->path, db->hold, db->writing);
    if (db->mode == DB_WRITE) paths_remove_folders(db->given, db->made);
    free(db);
}

enum status db_finish(struct db *db, enum status st)
{
    const enum status place = db && db->owner == getpid() ? db_check_place(db) : OK;
    char sentence[1024];
    if (place) st = place;
    snprintf(sentence, sizeof sentence, "%s", status_text());
    db_close(db); /* which may say something of its own */
    return st ? fail(st, "%s", sentence) : OK;
}

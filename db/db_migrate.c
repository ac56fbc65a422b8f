#include "db_internal.h"
#include "file_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the backup --- */

/* A copy of the whole file, made by SQLite itself, with the file's permissions. */
static enum status copy_file(sqlite3 *handle, const char *path, const char *fresh)
{
    struct stat info;
    db_remove_files(fresh); /* of a process that was killed */
    int fd =
        stat(path, &info) == 0 ? open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777) : -1;
    if (fd < 0) return fail(E_IO, "cannot make the backup %s: %s", fresh, strerror(errno));
    fchmod(fd, info.st_mode & 0777);
    sqlite3 *copy;
    int rc = sqlite3_open_v2(fresh, &copy, SQLITE_OPEN_READWRITE, NULL);
    if (!rc) rc = sqlite3_exec(copy, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    if (!rc) rc = db_copy_content(handle, copy);
    enum status st = rc ? db_error(copy, fresh, rc, "make a backup") : OK;
    sqlite3_close(copy);
    if (!st && fsync(fd) != 0) st = fail(E_IO, "cannot write the backup %s: %s", fresh, strerror(errno));
    close(fd);
    return st;
}

static bool same_content(const char *x, const char *y)
{
    char one[1 << 14], other[sizeof one];
    FILE *a = NULL, *b = NULL;
    bool same = !file_open("backup", x, &a) && !file_open("backup", y, &b);
    for (size_t got = 1; same && got > 0;) {
        got = fread(one, 1, sizeof one, a);
        same = fread(other, 1, sizeof other, b) == got && memcmp(one, other, got) == 0;
    }
    same = same && !ferror(a) && !ferror(b);
    if (a) fclose(a);
    if (b) fclose(b);
    return same;
}

static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd); /* a file system that cannot sync a folder does not need it */
    close(fd);
}

/* PATH.vN-backup; if a backup with other content has that name, PATH.vN-backup-2 and so on. */
static enum status back_up(sqlite3 *handle, const char *path, int version)
{
    char name[PATH_MAX], fresh[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.v%d-backup.new", path, version) >= (int)sizeof fresh)
        return fail(E_INPUT, "the path %.100s... is too long", path);
    enum status st = copy_file(handle, path, fresh);
    int error = EEXIST;
    for (int i = 1; !st && error == EEXIST && i < 100; i++) {
        char number[16] = "";
        if (i > 1) snprintf(number, sizeof number, "-%d", i);
        if (snprintf(name, sizeof name, "%s.v%d-backup%s", path, version, number) >= (int)sizeof name)
            error = ENAMETOOLONG;
        else error = file_rename_new(fresh, name);
        if (error == EEXIST && same_content(fresh, name)) {
            db_remove_files(fresh);
            error = 0;
        }
    }
    if (!st && error) st = fail(E_IO, "cannot name the backup %s: %s", name, strerror(error));
    if (st) db_remove_files(fresh);
    else sync_folder(path);
    return st;
}

/* --- one version after the other --- */

static enum status run_steps(sqlite3 *handle, const char *path, const struct db_form *form, int from)
{
    int rc = 0;
    for (int i = from; !rc && i < form->version; i++)
        for (const char *const *sql = form->steps[i - form->oldest].sql; !rc && *sql; sql++)
            rc = sqlite3_exec(handle, *sql, NULL, NULL, NULL);
    for (int i = 0; !rc && i < form->growth_count; i++)
        rc = sqlite3_exec(handle, form->growth[i], NULL, NULL, NULL);
    return rc ? db_error(handle, path, rc, "bring it up to date") : OK;
}

static enum status check_references(sqlite3 *handle, const char *path)
{
    int64_t orphans = 0;
    int rc = db_ask(handle, "SELECT count(*) FROM pragma_foreign_key_check", &orphans);
    if (rc) return db_error(handle, path, rc, "check it");
    if (!orphans) return OK;
    return fail(E_DB,
                "migrating %s would leave %lld rows without what they refer to; nothing was "
                "changed",
                path, (long long)orphans);
}

static enum status set_version(sqlite3 *handle, const char *path, int version)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", version);
    int rc = sqlite3_exec(handle, sql, NULL, NULL, NULL);
    return rc ? db_error(handle, path, rc, "set the version") : OK;
}

/* Inside the transaction: the tables, the checks, the version. */
static enum status make_or_migrate(sqlite3 *handle, const char *path, const struct db_form *form, int from)
{
    enum status st = OK;
    if (from == 0) {
        int rc = db_make_tables(handle, form, form->version, form->growth_count);
        if (rc) st = db_error(handle, path, rc, "make the tables");
    } else {
        st = run_steps(handle, path, form, from);
    }
    if (!st) st = db_check_structure(handle, path, false);
    if (!st) st = check_references(handle, path);
    return st ? st : set_version(handle, path, form->version);
}

/* Rows are copied in the order of the old tables; the checks verify the references afterwards. */
static enum status start(sqlite3 *handle, const char *path)
{
    int rc = sqlite3_exec(handle, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; BEGIN EXCLUSIVE",
                          NULL, NULL, NULL);
    return rc ? db_error(handle, path, rc, "start a transaction") : OK;
}

static enum status finish(sqlite3 *handle, const char *path, enum status st)
{
    int rc = st ? SQLITE_OK : sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    if (rc) st = db_error(handle, path, rc, "commit");
    if (st && !sqlite3_get_autocommit(handle)) sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

enum status db_migrate(sqlite3 *handle, const char *path, const struct db_form *form)
{
    int version, missing;
    bool empty;
    enum status st = db_identify(handle, path, form, &version, &empty);
    if (st || (!empty && version == form->version)) return st;
    if (!empty && (st = db_check_schema(handle, path, form, version, &missing))) return st;
    if (!empty && (st = back_up(handle, path, version))) return st;
    if ((st = start(handle, path))) return st;
    return finish(handle, path, make_or_migrate(handle, path, form, version));
}

enum status db_grow(sqlite3 *handle, const char *path, const struct db_form *form, int missing)
{
    enum status st = missing ? start(handle, path) : OK;
    if (st || !missing) return st;
    int rc = 0;
    for (int i = form->growth_count - missing; !rc && i < form->growth_count; i++)
        rc = sqlite3_exec(handle, form->growth[i], NULL, NULL, NULL);
    return finish(handle, path, rc ? db_error(handle, path, rc, "add what it lacks") : OK);
}

/* --- a copy, for readers --- */

#define COPY_CACHE "-200000" /* KiB: beyond, its pages go to a temporary file */

/* The rows of a table that a glance copies, as a condition: of most tables those that the winners refer
 * to, of trials those that may refute them. */
static const char *wanted_at_a_glance(const char *table)
{
#define OF_WINNERS "(SELECT decision_id FROM winners)"
    static const char *const conditions[][2] = {
        {"attempts", "false"},
        {"trials", "id IN (SELECT t.id FROM decisions d CROSS JOIN trials t INDEXED BY trials_by_key "
                   "ON t.gpu_id = d.gpu_id AND t.problem_id = d.problem_id AND t.cold IN (0, 1) "
                   "AND t.config_id = d.config_id WHERE d.id IN " OF_WINNERS ")"},
        {"decision_runners", "false"},
        {"decision_samples", "false"},
        {"decision_errors", "decision_id IN " OF_WINNERS},
        {"decisions", "id IN " OF_WINNERS},
        {"configs", "id IN (SELECT config_id FROM decisions WHERE id IN " OF_WINNERS ")"},
        {"runs", "id IN (SELECT run_id FROM decisions WHERE id IN " OF_WINNERS ")"}};
#undef OF_WINNERS
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (strcmp(table, conditions[i][0]) == 0) return conditions[i][1];
    return "true";
}

static int copy_row(sqlite3_stmt *from, sqlite3_stmt *to)
{
    int rc = sqlite3_reset(to);
    for (int i = 0; !rc && i < sqlite3_column_count(from); i++)
        rc = sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    if (!rc) rc = sqlite3_step(to);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum status copy_table(sqlite3 *from, sqlite3 *to, const char *path, const char *table,
                              const char *condition)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    char sql[600];
    snprintf(sql, sizeof sql, "SELECT * FROM \"%.100s\" WHERE %s", table, condition);
    int rc = sqlite3_prepare_v2(from, sql, -1, &read, NULL), wrong = SQLITE_OK;
    if (!rc) {
        int used = snprintf(sql, sizeof sql, "INSERT INTO \"%.100s\" VALUES (?", table);
        for (int i = 1; i < sqlite3_column_count(read) && used < (int)sizeof sql; i++)
            used += snprintf(sql + used, sizeof sql - (size_t)used, ",?");
        if (used < (int)sizeof sql) snprintf(sql + used, sizeof sql - (size_t)used, ")");
        wrong = sqlite3_prepare_v2(to, sql, -1, &write, NULL);
    }
    while (!rc && !wrong && (rc = sqlite3_step(read)) == SQLITE_ROW)
        if ((rc = SQLITE_OK, wrong = copy_row(read, write))) break;
    enum status st = wrong                     ? db_error(to, path, wrong, "make a copy to read")
                     : rc && rc != SQLITE_DONE ? db_error(from, path, rc, "read it")
                                               : OK;
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    return st;
}

static enum status copy_tables(sqlite3 *from, sqlite3 *to, const char *path, bool glance)
{
    sqlite3_stmt *tables = NULL;
    int rc = sqlite3_prepare_v2(
        to, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'", -1, &tables,
        NULL);
    if (rc) return db_error(to, path, rc, "make a copy to read");
    enum status st = OK;
    while (!st && sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        st = copy_table(from, to, path, name, glance ? wanted_at_a_glance(name) : "true");
    }
    sqlite3_finalize(tables);
    return st;
}

enum status db_copy_up_to_date(sqlite3 *from, const char *path, const struct db_form *form, int version,
                               int missing, bool glance, sqlite3 **copy)
{
    const int grown = version == form->version ? form->growth_count - missing : 0;
    int rc = SQLITE_OK;
    *copy = NULL;
    enum status st = db_connect(glance ? ":memory:" : "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, copy);
    if (!st) {
        rc = sqlite3_exec(
            *copy,
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = " COPY_CACHE "; BEGIN",
            NULL, NULL, NULL);
        if (!rc) rc = db_make_tables(*copy, form, version, grown);
        if (rc) st = db_error(*copy, path, rc, "make a copy to read");
    }
    if (!st) st = copy_tables(from, *copy, path, glance);
    if (!st && version < form->version) st = run_steps(*copy, path, form, version);
    else if (!st)
        for (int i = grown; !rc && i < form->growth_count; i++)
            rc = sqlite3_exec(*copy, form->growth[i], NULL, NULL, NULL);
    if (!st && !rc) rc = sqlite3_exec(*copy, "COMMIT; PRAGMA query_only = ON", NULL, NULL, NULL);
    if (!st && rc) st = db_error(*copy, path, rc, "make a copy to read");
    if (!st) return OK;
    sqlite3_close(*copy);
    *copy = NULL;
    return st;
}

/* Copies of a database that is in use: on demand, and where its file has lost its name. */
#include "db_internal.h"
#include "file_seen.h"
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESCUED_MAX 100

/* Without locks and shared memory: nobody knows the name, and on a network file system they may not work. */
static enum status copy_to(struct db *db, const char *fresh)
{
    sqlite3 *copy;
    int rc = sqlite3_open_v2(fresh, &copy, SQLITE_OPEN_READWRITE, "unix-none");
    if (!rc)
        rc = sqlite3_exec(
            copy, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF",
            NULL, NULL, NULL);
    if (!rc) rc = db_copy_content(db->handle, copy);
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

/* --- a name that is lost --- */

/* The connection still has the content of a file that was removed; later calls add what came since. */
static enum status rescue(struct db *db)
{
    char name[PATH_MAX];
    if (*db->rescued) return db_save(db, db->rescued, NULL);
    for (int i = 1; i <= RESCUED_MAX; i++) {
        if (snprintf(name, sizeof name, i > 1 ? "%s.rescued.%d" : "%s.rescued", db->path, i) >= PATH_MAX)
            return fail(E_INPUT, "the path is too long");
        if (access(name, F_OK) == 0) continue;
        struct stat free_name = {0};
        enum status st = db_save(db, name, &free_name);
        if (!st) snprintf(db->rescued, sizeof db->rescued, "%s", name);
        return st;
    }
    return fail(E_IO, "there are %d such files", RESCUED_MAX);
}

enum status db_check_place(struct db *db)
{
    char now[PATH_MAX], why[512];
    if (!db->ready || !db->hold || !db_hold_moved(db->path, db->hold, now)) return OK;
    if (*now)
        return fail(E_IO,
                    "%s was renamed or replaced while it was being written: what it held, and what this run "
                    "has stored, is in %s; go on with that file",
                    db->path, now);
    if (rescue(db)) {
        snprintf(why, sizeof why, "%s", status_text());
        return fail(E_IO,
                    "%s was removed or replaced while it was being written, and its results are lost: a copy "
                    "(.rescued) cannot be made: %s",
                    db->path, why);
    }
    return fail(E_IO,
                "%s was removed or replaced while it was being written: all that it held is in %s; rename "
                "that, or merge it (tune merge)",
                db->path, db->rescued);
}

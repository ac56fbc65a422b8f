/* A writer locks both the file itself and its name, since each can change without the other.
 *
 * The file is locked because it may have several names (bind mounts). NAME.lock is locked because a name may
 * come to refer to another file while SQLite's log, whose name derives from it, is in use. Both locks belong
 * to an open file description (F_OFD_SETLK). The system releases them when the last descriptor is closed,
 * however the process ends. No child keeps them: descriptors are closed on exec, and in a forked child
 * without exec.
 *
 * SQLite's own locks belong to the process and are lost when it closes *any* descriptor of the file. So a
 * process has one db_hold per file, which keeps its descriptors until the last connection is closed. Another
 * copy of SQLite in the process (the drop-in's beside the library's) takes no part in that: what it closes
 * costs us SQLite's locks. The one that matters is that of the log's index (NAME-shm): who finds it unlocked
 * cuts the index to nothing, and reading it then is a SIGBUS for those who have it in memory. So that byte is
 * locked by a descriptor of ours, too. */
#include "clock.h"
#include "db_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FORK_PATIENCE_S 5
#define LOCKED_BYTE     (INT64_C(1) << 62) /* far beyond the bytes that SQLite locks */
#define INDEX_BYTE      128 /* of NAME-shm: locked by all who have it in memory (SQLite's UNIX_SHM_DMS) */
#define WRITTEN_AS      "user.gemmtune.written_as" /* name under which the file has a log; absent without one */

struct db_hold {
    dev_t device;
    ino_t inode;
    int uses;
    int reading, writing, name, index; /* descriptors: of the file, of NAME.lock, of NAME-shm; -1: none */
    bool index_locked;
    struct stat log; /* of NAME-wal, while it is ours (db_hold_log) */
    struct db_hold *next;
};

static struct db_hold *holds;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void close_hold(struct db_hold *hold)
{
    if (hold->reading >= 0) close(hold->reading);
    if (hold->writing >= 0) close(hold->writing);
    if (hold->name >= 0) close(hold->name);
    if (hold->index >= 0) close(hold->index);
    free(hold);
}

/* A child inherits the list as it is at the fork, which therefore waits until no thread changes it: but not
 * for ever, since a file system may hang, or a signal's handler fork in a thread that has the mutex. */
static _Thread_local bool unchanging;

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FORK_PATIENCE_S;
    unchanging = pthread_mutex_timedlock(&mutex, &until) == 0;
}

static void in_parent(void)
{
    if (unchanging) pthread_mutex_unlock(&mutex);
}

/* A child does not keep its parent's locks: these are the descriptors that hold them. */
static void in_child(void)
{
    if (!unchanging) { /* the list may be half-changed: it keeps them until it ends */
        pthread_mutex_init(&mutex, NULL);
        return;
    }
    for (struct db_hold *hold = holds; hold; hold = hold->next) {
        if (hold->writing >= 0) close(hold->writing);
        if (hold->name >= 0) close(hold->name);
        if (hold->index >= 0) close(hold->index);
        hold->writing = hold->name = hold->index = -1;
    }
    pthread_mutex_unlock(&mutex);
}

/* Before the mutex can be taken. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- one byte ---- */

static int lock_at(int fd, int command, struct flock *lock, short type, off_t start)
{
    *lock = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    return fcntl(fd, command, lock);
}

static int lock_byte(int fd, int command, struct flock *lock, short type)
{
    return lock_at(fd, command, lock, type, LOCKED_BYTE);
}

/* Returns 0 or an errno; EAGAIN: another process holds the lock. */
static int lock_file(int fd)
{
    struct flock lock;
    if (lock_byte(fd, F_OFD_SETLK, &lock, F_WRLCK) == 0) return 0;
    if (errno == EINVAL && flock(fd, LOCK_EX | LOCK_NB) == 0) return 0; /* where Linux is only emulated */
    return errno == EACCES ? EAGAIN : errno;
}

/* Returns an errno if the file system has no locks. */
static int ask_lock(int fd, bool *locked)
{
    struct flock lock;
    int error = lock_byte(fd, F_OFD_GETLK, &lock, F_RDLCK) ? errno : 0;
    *locked = !error && lock.l_type != F_UNLCK;
    return error == EINVAL ? 0 : error;
}

static bool is_locked(int fd)
{
    bool locked;
    return ask_lock(fd, &locked) == 0 && locked;
}

static bool lacks_locks(int error)
{
    return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

static enum status no_lock(const char *path, int error)
{
    if (lacks_locks(error))
        return fail(E_IO,
                    "the file system of %s has no locks (%s): two tuners could spoil the database; name a "
                    "file on another file system%s",
                    path, strerror(error), db_choose);
    return fail(E_IO, "cannot lock %s: %s", path, strerror(error));
}

/* ---- the name ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool beside(const char *path, const char *suffix, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s%s", path, suffix) < PATH_MAX;
}

static enum status held(const char *path, int fd)
{
    char text[32] = "";
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    long pid = length > 0 ? strtol(text, NULL, 10) : 0;
    char who[64] = "another tuner";
    if (pid > 0) snprintf(who, sizeof who, "the tuner with process id %ld", pid);
    return fail(E_BUSY, "%s is being written by %s; wait for it, stop it, or name another file%s", path, who,
                db_choose);
}

/* The last holder may remove the file between open and lock: then once more. *error: why the lock was not
 * taken, EAGAIN if another holds it. */
static enum status try_name(const char *path, int *fd, int *error)
{
    char lock[PATH_MAX];
    struct stat opened, named;
    enum status st = OK;
    *error = 0;
    if (!beside(path, ".lock", lock)) return fail(E_INPUT, "the path %.100s... is too long", path);
    for (int i = 0; i < 100 && !st; i++) {
        *fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (*fd < 0) return fail(E_IO, "cannot write beside %s: %s: %s", path, lock, strerror(errno));
        *error = lock_file(*fd);
        if (*error == EAGAIN) {
            st = held(path, *fd);
        } else if (*error) {
            st = no_lock(path, *error);
            unlink(lock);
        } else if (!fstat(*fd, &opened) && !stat(lock, &named) && is_same(&opened, &named)) {
            return OK;
        }
        close(*fd);
    }
    return st ? st : fail(E_BUSY, "the lock %s keeps being removed and created by other processes", lock);
}

/* The number is only used in messages; the lock works without it. */
static void note_process(int fd)
{
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    (void)!(ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) > 0);
}

static enum status lock_name(const char *path, int *fd)
{
    int error;
    enum status st = try_name(path, fd, &error);
    if (!st) note_process(*fd);
    return st;
}

static bool name_is_locked(const char *path)
{
    char lock[PATH_MAX];
    int fd = beside(path, ".lock", lock) ? open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0) return false;
    bool locked = is_locked(fd);
    close(fd);
    return locked;
}

/* ---- other names ---- */

static bool has_log(const char *path, struct stat *log)
{
    static const char *const suffixes[] = {"-wal", "-journal"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (beside(path, suffixes[i], name) && stat(name, log) == 0 && log->st_size > 0) return true;
    return false;
}

static void written_as(int fd, char name[PATH_MAX])
{
    ssize_t length = fgetxattr(fd, WRITTEN_AS, name, PATH_MAX - 1);
    name[length > 0 ? length : 0] = '\0';
}

/* A tuner that was killed wrote the file under another name: its last trials are in the log of that name. */
static enum status check_rest(const struct db_hold *hold, const char *path, const char *name)
{
    struct stat log, ours, other;
    if (!name[0] || strcmp(name, path) == 0 || !has_log(name, &log)) return OK;
    if (has_log(path, &ours) && is_same(&ours, &log)) return OK;
    const bool there = stat(name, &other) == 0;
    if (there && (other.st_dev != hold->device || other.st_ino != hold->inode)) return OK;
    return fail(E_DB,
                "the tuner that wrote %s was killed when the file was called %s, and its last results are in "
                "that name's log: %s",
                path, name,
                there ? "open it under that name" : "rename it back, or rename the log (-wal) to match");
}

/* ---- a name that has become another file's ---- */

/* What NAME.lock says after the process id: the file that is written under the name, its log, and when the
 * file was made: another file may get its inode once it is removed. */
#define OWN_FILES " %" PRIx64 ":%" PRIx64 " %" PRIx64 ":%" PRIx64 " %" PRIx64

/* ns since 1970; 0: the file system does not tell, or there is no file. */
static uint64_t born_at(const char *path)
{
    struct statx info;
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &info) || !(info.stx_mask & STATX_BTIME)) return 0;
    return (uint64_t)info.stx_btime.tv_sec * 1000000000 + info.stx_btime.tv_nsec;
}

void db_hold_log(const char *path, struct db_hold *hold)
{
    char name[PATH_MAX], text[128];
    hold->log = (struct stat){.st_ino = 0};
    if (hold->name < 0 || !beside(path, "-wal", name) || stat(name, &hold->log) != 0) return;
    const int length = snprintf(text, sizeof text, "%ld" OWN_FILES "\n", (long)getpid(),
                                (uint64_t)hold->device, (uint64_t)hold->inode, (uint64_t)hold->log.st_dev,
                                (uint64_t)hold->log.st_ino, born_at(path));
    /* Without it a file that takes this one's name is read with this one's log. */
    (void)!pwrite(hold->name, text, (size_t)length, 0);
}

static bool noted_files(const char *path, struct stat *file, struct stat *log, uint64_t *born)
{
    char lock[PATH_MAX], text[128] = "";
    int fd = beside(path, ".lock", lock) ? open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0) return false;
    const ssize_t length = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    uint64_t part[5];
    const char *at = length > 0 ? strchr(text, ' ') : NULL;
    for (int i = 0; i < 5; i++) {
        char *end;
        if (!at || *at != " : : "[i]) return false;
        part[i] = strtoull(at + 1, &end, 16);
        at = end;
    }
    file->st_dev = (dev_t)part[0], file->st_ino = (ino_t)part[1];
    log->st_dev = (dev_t)part[2], log->st_ino = (ino_t)part[3];
    *born = part[4];
    return true;
}

/* A killed tuner's note, by which its log is told from another's. */
static bool note_is_needed(const char *path)
{
    char name[PATH_MAX];
    struct stat file, noted, log;
    uint64_t born;
    return noted_files(path, &file, &noted, &born) && beside(path, "-wal", name) && stat(name, &log) == 0 &&
           is_same(&noted, &log);
}

/* The log beside a file that was put in the place of one that was being written. The log is known by its
 * inode, so that a copy of a folder is not taken for that. */
static enum status refuse_log_of_another(const struct db_hold *hold, const char *path)
{
    char name[PATH_MAX];
    struct stat file, noted, log;
    const struct stat ours = {.st_dev = hold->device, .st_ino = hold->inode};
    uint64_t born;
    if (!noted_files(path, &file, &noted, &born)) return OK;
    const uint64_t now = born_at(path);
    if (is_same(&file, &ours) && (!born || !now || born == now)) return OK;
    if (!beside(path, "-wal", name) || stat(name, &log) != 0 || !is_same(&noted, &log)) return OK;
    if (name_is_locked(path))
        return fail(E_BUSY,
                    "%s was put in the place of a file that a tuner is still writing, and the log beside it, "
                    "%s, is that file's: wait for that tuner, or stop it; it will say where its results are",
                    path, name);
    return fail(
        E_DB,
        "%s was put in the place of a file whose tuner was killed, and the log beside it, %s, is that "
        "file's: rename the log to go with that file (-wal), or remove it",
        path, name);
}

bool db_hold_moved(const char *path, const struct db_hold *hold, char now[PATH_MAX])
{
    char link[64];
    struct stat opened, named;
    if (hold->writing < 0 || fstat(hold->writing, &opened) != 0) return false;
    if (stat(path, &named) == 0 ? is_same(&opened, &named) : errno != ENOENT && errno != ENOTDIR)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", hold->writing);
    const ssize_t length = opened.st_nlink > 0 ? readlink(link, now, PATH_MAX - 1) : 0;
    now[length > 0 ? length : 0] = '\0';
    return true;
}

bool db_hold_has_log(const char *path, const struct db_hold *hold)
{
    char name[PATH_MAX];
    struct stat log;
    return hold->log.st_ino && beside(path, "-wal", name) && stat(name, &log) == 0 &&
           is_same(&hold->log, &log);
}

/* ---- what is there ---- */

/* By a descriptor that stays open: closing one would cost SQLite its locks. */
bool db_hold_in_wal(const struct db_hold *hold)
{
    unsigned char versions[2]; /* of the file format, for writing and reading: 2 is WAL */
    const int fd = hold->reading >= 0 ? hold->reading : hold->writing;
    return pread(fd, versions, sizeof versions, 18) == sizeof versions && versions[0] == 2 &&
           versions[1] == 2;
}

static enum status held_elsewhere(const char *path, const char *name)
{
    if (!name[0] || strcmp(name, path) == 0)
        return fail(E_BUSY,
                    "%s is being written by another tuner, whose lock %s.lock was removed or belongs to "
                    "another name; wait for it, stop it, or name another file%s",
                    path, path, db_choose);
    return fail(E_BUSY,
                "%s is being written by another tuner under another name, %s, where its log is; wait for it, "
                "stop it, or name another file%s",
                path, name, db_choose);
}

static enum status check_names(const struct db_hold *hold, int fd, const char *path)
{
    char name[PATH_MAX];
    struct stat log;
    bool locked;
    int error = ask_lock(fd, &locked);
    if (error) return no_lock(path, error); /* SQLite needs locks */
    written_as(fd, name);
    if (!locked) {
        enum status st = refuse_log_of_another(hold, path);
        return st ? st : check_rest(hold, path, name);
    }
    const bool same = !name[0] || strcmp(name, path) == 0;
    if (name_is_locked(path) || (same && has_log(path, &log)) || !is_locked(fd)) return OK;
    return held_elsewhere(path, name);
}

/* The file was renamed while it was being written. SQLite would remove the log if it created a new file. A
 * log can only belong to this name if the file exists: the file is created before its first journal, and has
 * pages before its first log. */
static enum status refuse_log_without_file(const char *path)
{
    struct stat info, log;
    char name[PATH_MAX];
    const bool there = stat(path, &info) == 0;
    if (there && info.st_size > 0) return OK;
    const bool wal = beside(path, "-wal", name) && stat(name, &log) == 0 && log.st_size > 0;
    if (there ? !wal : !has_log(path, &log)) return OK;
    return fail(E_DB,
                "there is no database %s, but its log %s%s: was the file renamed while it was written? "
                "Rename it back, or remove the log, or name another file%s",
                path, path, wal ? "-wal" : "-journal", db_choose);
}

enum status db_refuse_log(const char *path)
{
    struct stat log;
    enum status st = refuse_log_without_file(path);
    if (st || !has_log(path, &log)) return st;
    return fail(
        E_DB,
        "the tuner that wrote %s was killed, and its last results are in the log beside it (-wal or "
        "-journal), which would be read with a copy in its place: open it once, or remove the log, or "
        "name another file%s",
        path, db_choose);
}

/* ---- the file ---- */

static struct db_hold *find_hold(const struct stat *info)
{
    struct db_hold *hold = holds;
    while (hold && (hold->device != info->st_dev || hold->inode != info->st_ino)) hold = hold->next;
    return hold;
}

/* The hold of the file at path, with a descriptor for reading or writing; its reference count is
 * increased. */
static enum status find_or_open(const char *path, bool write, struct db_hold **out)
{
    struct stat info;
    struct db_hold *hold = stat(path, &info) == 0 ? find_hold(&info) : NULL;
    if (!hold || (write ? hold->writing : hold->reading) < 0) {
        const int flags = (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        int fd = open(path, flags, 0644);
        if (fd < 0 || fstat(fd, &info) != 0)
            return fail(E_IO, "cannot %s %s: %s", write ? "write" : "read", path, strerror(errno));
        if (!hold) {
            if (!(hold = malloc(sizeof *hold))) {
                close(fd);
                return fail(E_MEMORY, "out of memory while opening %s", path);
            }
            *hold = (struct db_hold){.device = info.st_dev,
                                     .inode = info.st_ino,
                                     .reading = -1,
                                     .writing = -1,
                                     .name = -1,
                                     .index = -1,
                                     .next = holds};
            holds = hold;
        }
        *(write ? &hold->writing : &hold->reading) = fd;
    }
    hold->uses++;
    *out = hold;
    return OK;
}

static void drop(struct db_hold *hold)
{
    if (--hold->uses > 0) return;
    struct db_hold **at = &holds;
    while (*at != hold) at = &(*at)->next;
    *at = hold->next;
    close_hold(hold);
}

enum status db_hold_read(const char *path, struct db_hold **out)
{
    struct db_hold *hold;
    pthread_mutex_lock(&mutex);
    enum status st = find_or_open(path, false, &hold);
    if (!st && (st = check_names(hold, hold->reading, path))) drop(hold);
    pthread_mutex_unlock(&mutex);
    if (!st) *out = hold;
    return st;
}

/* ---- the log's index ---- */

/* A descriptor of the index that is there now. A closed one would cost this process SQLite's locks on the
 * same file: only that of an index that was removed is closed. */
static void open_index(struct db_hold *hold, const char *name)
{
    struct stat before;
    if (hold->index >= 0 && fstat(hold->index, &before) == 0 && before.st_nlink > 0) return;
    if (hold->index >= 0) close(hold->index);
    hold->index = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    hold->index_locked = false;
}

void db_hold_index(const char *path, struct db_hold *hold)
{
    char name[PATH_MAX];
    struct flock lock;
    if (!beside(path, "-shm", name)) return;
    pthread_mutex_lock(&mutex);
    open_index(hold, name);
    /* Only beside another lock, such as that of this process's SQLite: the first that comes must find none,
     * so that it does not trust what a crash of the machine has left. */
    if (hold->index >= 0 && !hold->index_locked &&
        lock_at(hold->index, F_OFD_GETLK, &lock, F_WRLCK, INDEX_BYTE) == 0 && lock.l_type != F_UNLCK)
        hold->index_locked = lock_at(hold->index, F_OFD_SETLK, &lock, F_RDLCK, INDEX_BYTE) == 0;
    pthread_mutex_unlock(&mutex);
}

bool db_is_written(const char *path)
{
    char name[PATH_MAX];
    struct db_hold *hold;
    if (access(path, F_OK) != 0 || db_resolve(path, name)) return false;
    pthread_mutex_lock(&mutex);
    bool locked = false;
    if (!find_or_open(name, false, &hold)) {
        locked = is_locked(hold->reading);
        drop(hold);
    }
    pthread_mutex_unlock(&mutex);
    return locked;
}

/* The name is locked; now the file. */
static enum status lock_and_check(struct db_hold *hold, const char *path)
{
    char name[PATH_MAX];
    int error = lock_file(hold->writing);
    if (error && error != EAGAIN) return no_lock(path, error);
    written_as(hold->writing, name);
    if (error) return held_elsewhere(path, name);
    enum status st = check_rest(hold, path, name);
    if (st) return st;
    /* If the file system has no extended attributes, a log under another name after a kill goes unnoticed. */
    (void)!fsetxattr(hold->writing, WRITTEN_AS, path, strlen(path), 0);
    return OK;
}

static void remove_lock(const char *path, int fd)
{
    char lock[PATH_MAX];
    struct stat ours, named;
    if (beside(path, ".lock", lock) && fstat(fd, &ours) == 0 && stat(lock, &named) == 0 &&
        is_same(&ours, &named)) /* else it was removed, and is another tuner's by now */
        unlink(lock);
}

/* The file is unlocked first: a process that finds it locked must find its name locked, too. */
static void unlock(struct db_hold *hold, const char *path)
{
    struct flock none;
    if (hold->writing >= 0) lock_byte(hold->writing, F_OFD_SETLK, &none, F_UNLCK);
    remove_lock(path, hold->name);
    close(hold->name);
    hold->name = -1;
}

enum status db_hold_write(const char *path, struct db_hold **out)
{
    struct db_hold named = {.writing = -1}, *hold = NULL;
    enum status st = lock_name(path, &named.name);
    if (st) return st;
    pthread_mutex_lock(&mutex);
    st = refuse_log_without_file(path);
    if (!st) st = find_or_open(path, true, &hold);
    if (!st && hold->name >= 0) {
        st = fail(E_BUSY, "%s is being written by this process under another name", path);
    } else if (!st) {
        hold->name = named.name;
        if (!(st = lock_and_check(hold, path))) *out = hold;
        else named.writing = hold->writing, hold->name = -1;
    }
    if (st) unlock(&named, path);
    if (st && hold) drop(hold);
    pthread_mutex_unlock(&mutex);
    return st;
}

void db_release(const char *path, struct db_hold *hold, bool writer)
{
    if (!hold) return;
    struct stat log;
    pthread_mutex_lock(&mutex);
    if (writer && hold->name >= 0) { /* else this is a child of the writer */
        if (!has_log(path, &log)) fremovexattr(hold->writing, WRITTEN_AS);
        unlock(hold, path);
    }
    drop(hold);
    pthread_mutex_unlock(&mutex);
}

/* ---- a name alone ---- */

#define STEP_S 0.02

enum status db_name_hold(const char *path, double patience_s, int *name)
{
    const double until_s = now_s() + patience_s;
    int error;
    enum status st;
    while ((st = try_name(path, name, &error)) == E_BUSY && now_s() < until_s)
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * STEP_S)}, NULL);
    if (st) *name = -1;
    else if (!note_is_needed(path)) note_process(*name);
    return lacks_locks(error) ? OK : st;
}

void db_name_release(const char *path, int name)
{
    if (name < 0) return;
    if (!note_is_needed(path)) remove_lock(path, name);
    close(name);
}

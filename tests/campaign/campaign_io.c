/* campaign_io.c — intercepts a program's calls on files, for LD_PRELOAD: counts the calls on files below a
 * folder and makes the n-th fail, be cut short, or raise a signal; records what reached the disk and when.
 *
 * Controlled by the environment:
 *   CAMPAIGN_BELOW=FOLDER   only files below it; without it nothing happens
 *   CAMPAIGN_WHO=WORD       only processes with this first argument: _worker, _compiler; "-": those that are
 *                           neither; absent: all
 *   CAMPAIGN_CALLS=a,b      kinds that count (kinds below); absent: all
 *   CAMPAIGN_AT=N           the N-th of them in this process, from 1 ...
 *   CAMPAIGN_DO=WHAT        ... has this result: an errno by number ("5"); "short": half of a write is done;
 *                           "signal9": the process gets the signal, then the call is made. With a "+" at
 *                           the end all later calls, too
 *   CAMPAIGN_FIRED=FILE     a line "KIND PATH" for each affected call
 *   CAMPAIGN_TRACE=FILE     all changes of files, in order (part_power.py reads it)
 *   CAMPAIGN_PLANT=lost-commit  a defect: writes to a log (-wal) are dropped from the 60th on
 *   CAMPAIGN_PLANT=deaf         a defect: writes that fail report success
 *   CAMPAIGN_PLANT=no-fsync     a defect: nothing is ever synced
 *
 * Not intercepted: writes by stdio (inside glibc), stores into mapped files, system calls by number.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dlfcn.h>

#define OUR_FDS     500 /* far from those that the program expects */
#define LOST_BEFORE 60

enum kind { OPEN, CREATE, READ, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, MKDIR, MAP, LOCK, CLOSE, KINDS };
static const char *const kinds[KINDS] = {"open",   "create", "read",  "write", "sync", "truncate",
                                         "rename", "unlink", "mkdir", "map",   "lock", "close"};

static struct {
    bool on, short_write, on_and_on, counts[KINDS];
    char below[PATH_MAX];
    size_t below_length;
    long at;
    int error, signal, fired, trace;
    const char *plant;
} plan = {.fired = -1, .trace = -1};

static _Atomic long calls, log_writes;

/* The next definition of the symbol: the C library's. */
#define REAL(name)                                                                                           \
    static __typeof__(&(name)) real_##name;                                                                  \
    if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

/* ---- settings ---- */

static bool is_meant(const char *who)
{
    char line[4096] = "";
    REAL(open);
    REAL(read);
    REAL(close);
    int fd = real_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = real_read(fd, line, sizeof line - 2);
    real_close(fd);
    const char *first = length > 0 ? line + strlen(line) + 1 : line;
    if (strcmp(who, "-") == 0) return first[0] != '_';
    return strcmp(first, who) == 0;
}

static int open_log(const char *variable)
{
    const char *path = getenv(variable);
    REAL(open);
    REAL(close);
    int fd = path ? real_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return -1;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, OUR_FDS);
    real_close(fd);
    return moved;
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *below = getenv("CAMPAIGN_BELOW"), *who = getenv("CAMPAIGN_WHO"),
               *which = getenv("CAMPAIGN_CALLS"), *at = getenv("CAMPAIGN_AT"), *what = getenv("CAMPAIGN_DO");
    plan.plant = getenv("CAMPAIGN_PLANT");
    if (!plan.plant) plan.plant = "";
    if (!below || (who && !is_meant(who))) return;
    plan.below_length = (size_t)snprintf(plan.below, sizeof plan.below, "%s/", below);
    for (int i = 0; i < KINDS; i++) plan.counts[i] = !which || strstr(which, kinds[i]);
    plan.at = at ? atol(at) : 0;
    if (what) {
        plan.short_write = strncmp(what, "short", 5) == 0;
        plan.on_and_on = what[0] && what[strlen(what) - 1] == '+';
        if (strncmp(what, "signal", 6) == 0) plan.signal = atoi(what + 6);
        else plan.error = atoi(what);
    }
    plan.fired = open_log("CAMPAIGN_FIRED");
    plan.trace = open_log("CAMPAIGN_TRACE");
    plan.on = true;
}

static bool planted(const char *defect)
{
    return strcmp(plan.plant, defect) == 0;
}

/* ---- files ---- */

/* The path of a path or descriptor; "" if it is not below the folder. */
static const char *path_at(int folder, const char *given, char path[PATH_MAX])
{
    char name[64], base[PATH_MAX] = "";
    if (given && given[0] == '/') {
        snprintf(path, PATH_MAX, "%s", given);
    } else {
        if (folder == AT_FDCWD) snprintf(name, sizeof name, "/proc/self/cwd");
        else snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(name, base, sizeof base - 1);
        base[length > 0 ? length : 0] = '\0';
        if (given) snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, given);
        else snprintf(path, PATH_MAX, "%s", base);
    }
    return strncmp(path, plan.below, plan.below_length) == 0 ? path : "";
}

/* ---- the fate of a call ---- */

enum fate { PASS, FAIL, SHORT };

/* Sets errno if the call is to fail. */
static enum fate count(enum kind kind, const char *path)
{
    if (!plan.on || !path[0] || !plan.counts[kind]) return PASS;
    const long now = atomic_fetch_add(&calls, 1) + 1;
    if (plan.at == 0 || now < plan.at || (now > plan.at && !plan.on_and_on)) return PASS;
    if (plan.short_write && kind != WRITE) {
        /* A write was cut short because the disk is full: later ones find no room either. */
        errno = ENOSPC;
        return now > plan.at ? FAIL : PASS;
    }
    char line[PATH_MAX + 32];
    int length = snprintf(line, sizeof line, "%s %s\n", kinds[kind], path + plan.below_length);
    REAL(write);
    if (plan.fired >= 0 && real_write(plan.fired, line, (size_t)length) < 0) abort();
    if (plan.signal) {
        raise(plan.signal);
        return PASS;
    }
    if (plan.short_write) {
        errno = ENOSPC;
        return now == plan.at ? SHORT : FAIL;
    }
    errno = plan.error;
    return FAIL;
}

/* "W PATH-BYTES OFFSET BYTES\n", the path, the bytes; all in one write, so that the order is that of all
 * processes. T: truncated to OFFSET; S: synced; C: created; U: removed; R: BYTES is the new name. */
static void trace(char what, const char *path, int64_t offset, const void *bytes, size_t size)
{
    if (plan.trace < 0 || !path[0]) return;
    char head[96];
    const size_t length = strlen(path);
    int n = snprintf(head, sizeof head, "%c %zu %lld %zu\n", what, length, (long long)offset, size);
    struct iovec parts[3] = {
        {head, (size_t)n}, {(void *)(uintptr_t)path, length}, {(void *)(uintptr_t)bytes, size}};
    const int error = errno;
    if (writev(plan.trace, parts, 3) < 0) abort();
    errno = error;
}

/* ---- the calls ---- */

static int open_any(int folder, const char *given, int flags, mode_t mode)
{
    char room[PATH_MAX];
    struct stat info;
    REAL(openat);
    const char *path = plan.on ? path_at(folder, given, room) : "";
    const bool fresh = path[0] && (flags & O_CREAT) && fstatat(folder, given, &info, 0) != 0;
    if (count(flags & O_CREAT ? CREATE : OPEN, path) == FAIL) return -1;
    int fd = real_openat(folder, given, flags, mode);
    if (fd >= 0 && fresh) trace('C', path, 0, NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC)) trace('T', path, 0, NULL, 0);
    return fd;
}

#define MODE_OF(flags)                                                                                       \
    mode_t mode = 0;                                                                                         \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                 \
        va_list list;                                                                                        \
        va_start(list, flags);                                                                               \
        mode = va_arg(list, mode_t);                                                                         \
        va_end(list);                                                                                        \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_any(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_any(folder, path, flags, mode);
}

static int make_temporary(char *template, int flags)
{
    char room[PATH_MAX];
    REAL(mkostemp);
    const char *path = plan.on ? path_at(AT_FDCWD, template, room) : "";
    if (count(CREATE, path) == FAIL) return -1;
    int fd = real_mkostemp(template, flags);
    if (fd >= 0 && path[0]) trace('C', path_at(AT_FDCWD, template, room), 0, NULL, 0);
    return fd;
}

int mkostemp(char *template, int flags)
{
    return make_temporary(template, flags);
}

int mkstemp(char *template)
{
    return make_temporary(template, 0);
}

int close(int fd)
{
    char room[PATH_MAX];
    REAL(close);
    const enum fate fate = count(CLOSE, plan.on ? path_at(fd, NULL, room) : "");
    const int error = errno;
    int rc = real_close(fd); /* as on Linux: the descriptor is closed even on an error */
    if (fate != FAIL) return rc;
    errno = error;
    return -1;
}

static ssize_t read_any(int fd, void *bytes, size_t size, int64_t offset)
{
    char room[PATH_MAX];
    REAL(read);
    REAL(pread);
    if (count(READ, plan.on ? path_at(fd, NULL, room) : "") == FAIL) return -1;
    return offset < 0 ? real_read(fd, bytes, size) : real_pread(fd, bytes, size, offset);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    return read_any(fd, bytes, size, -1);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    return read_any(fd, bytes, size, offset);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
    return read_any(fd, bytes, size, offset);
}

static bool is_log(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-wal") == 0;
}

static ssize_t write_any(int fd, const void *bytes, size_t size, int64_t offset)
{
    char room[PATH_MAX];
    REAL(write);
    REAL(pwrite);
    const char *path = plan.on ? path_at(fd, NULL, room) : "";
    const enum fate fate = count(WRITE, path);
    if (fate == FAIL) return planted("deaf") ? (ssize_t)size : -1;
    if (fate == SHORT && size > 1) size /= 2;
    if (is_log(path) && planted("lost-commit") && atomic_fetch_add(&log_writes, 1) >= LOST_BEFORE)
        return (ssize_t)size;
    int64_t from = offset;
    if (path[0] && plan.trace >= 0 && offset < 0) {
        from = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        if (from < 0) path = ""; /* no file */
    }
    ssize_t rc = offset < 0 ? real_write(fd, bytes, size) : real_pwrite(fd, bytes, size, offset);
    if (rc > 0) trace('W', path, from, bytes, (size_t)rc);
    return rc;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    return write_any(fd, bytes, size, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return write_any(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return write_any(fd, bytes, size, offset);
}

static int sync_any(int fd, bool data)
{
    char room[PATH_MAX];
    REAL(fsync);
    REAL(fdatasync);
    const char *path = plan.on ? path_at(fd, NULL, room) : "";
    if (count(SYNC, path) == FAIL) return -1;
    if (planted("no-fsync")) return 0;
    int rc = data ? real_fdatasync(fd) : real_fsync(fd);
    if (rc == 0) trace('S', path, 0, NULL, 0);
    return rc;
}

int fsync(int fd)
{
    return sync_any(fd, false);
}

int fdatasync(int fd)
{
    return sync_any(fd, true);
}

static int truncate_any(int fd, int64_t size)
{
    char room[PATH_MAX];
    REAL(ftruncate);
    const char *path = plan.on ? path_at(fd, NULL, room) : "";
    if (count(TRUNCATE, path) == FAIL) return -1;
    int rc = real_ftruncate(fd, size);
    if (rc == 0) trace('T', path, size, NULL, 0);
    return rc;
}

int ftruncate(int fd, off_t size)
{
    return truncate_any(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return truncate_any(fd, size);
}

int rename(const char *from, const char *to)
{
    char room[PATH_MAX], room2[PATH_MAX];
    REAL(rename);
    const char *path = plan.on ? path_at(AT_FDCWD, from, room) : "";
    if (count(RENAME, path) == FAIL) return -1;
    int rc = real_rename(from, to);
    if (rc == 0 && path[0]) {
        const char *new = path_at(AT_FDCWD, to, room2);
        trace('R', path, 0, new, strlen(new));
    }
    return rc;
}

static int unlink_any(int folder, const char *given, int flags)
{
    char room[PATH_MAX];
    REAL(unlinkat);
    const char *path = plan.on ? path_at(folder, given, room) : "";
    if (count(UNLINK, path) == FAIL) return -1;
    int rc = real_unlinkat(folder, given, flags);
    if (rc == 0) trace('U', path, 0, NULL, 0);
    return rc;
}

int unlink(const char *path)
{
    return unlink_any(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char *path, int flags)
{
    return unlink_any(folder, path, flags);
}

int mkdir(const char *given, mode_t mode)
{
    char room[PATH_MAX];
    REAL(mkdir);
    if (count(MKDIR, plan.on ? path_at(AT_FDCWD, given, room) : "") == FAIL) return -1;
    return real_mkdir(given, mode);
}

static void *map_any(void *at, size_t size, int access, int flags, int fd, int64_t offset)
{
    char room[PATH_MAX];
    REAL(mmap);
    if (fd >= 0 && count(MAP, plan.on ? path_at(fd, NULL, room) : "") == FAIL) return MAP_FAILED;
    return real_mmap(at, size, access, flags, fd, offset);
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    return map_any(at, size, access, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int access, int flags, int fd, off64_t offset)
{
    return map_any(at, size, access, flags, fd, offset);
}

static int control(int fd, int command, void *argument)
{
    char room[PATH_MAX];
    REAL(fcntl);
    const bool lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                      command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
    if (lock && count(LOCK, plan.on ? path_at(fd, NULL, room) : "") == FAIL) return -1;
    return real_fcntl(fd, command, argument);
}

#include "campaign_fcntl.h"

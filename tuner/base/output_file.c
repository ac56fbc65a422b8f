#include "output_file.h"

#include "file_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

/* ---- signals ---- */

static bool guarded;
static char *volatile to_remove; /* the temporary file that has a name; at most one */

static void remove_and_end(int number)
{
    if (to_remove) unlink(to_remove);
    signal(number, SIG_DFL);
    raise(number);
}

void outfile_guard(void)
{
    guarded = true;
}

/* Signals that are ignored or handled stay so. */
static void guard(char *temporary)
{
    static const int deadly[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                 SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};
    to_remove = guarded ? temporary : NULL;
    for (size_t i = 0; guarded && i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now, ours = {.sa_handler = remove_and_end};
        if (sigaction(deadly[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(deadly[i], &ours, NULL);
    }
}

/* ---- errors ---- */

const char *outfile_why(int error)
{
    if (error == EFBIG) return "the file exceeds the size limit (ulimit -f, or that of the file system)";
    return error ? strerror(error) : "the disk may be full or failing";
}

static enum status cannot(const char *path, int error)
{
    return fail(E_IO, "cannot write %s: %s", path, outfile_why(error));
}

/* The end of a chain of symbolic links, whether the file exists or not. Returns 0 or an errno. */
static int follow(const char *path, char target[PATH_MAX])
{
    if (realpath(path, target)) return 0;
    if (errno != ENOENT) return errno;
    char at[PATH_MAX], folder[PATH_MAX], link[PATH_MAX];
    if (strlen(path) >= sizeof at) return ENAMETOOLONG;
    memcpy(at, path, strlen(path) + 1);
    for (int i = 0; i < LINKS_MAX; i++) {
        memcpy(folder, at, sizeof folder);
        char *slash = strrchr(at, '/');
        const char *name = slash ? slash + 1 : at;
        if (!*name) return EISDIR;
        if (!realpath(dirname(folder), target)) return errno;
        size_t length = strlen(target);
        if (length + strlen(name) + 2 > PATH_MAX) return ENAMETOOLONG;
        snprintf(target + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", name);
        ssize_t got = readlink(target, link, sizeof link - 1);
        if (got < 0) return errno == ENOENT ? 0 : errno;
        link[got] = '\0';
        target[length > 1 ? length : 1] = '\0';
        if (link[0] == '/') memcpy(at, link, (size_t)got + 1);
        else if (snprintf(at, sizeof at, "%s/%s", target, link) >= (int)sizeof at) return ENAMETOOLONG;
    }
    return ELOOP;
}

/* The descriptor of this process that a path names; -1: none. Opening the path again would start at the
 * beginning of the file. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t length = strlen(folders[i]);
        if (strncmp(path, folders[i], length) == 0 && path[length] >= '0' && path[length] <= '9')
            return (int)strtol(path + length, NULL, 10);
    }
    return -1;
}

/* ---- opening ---- */

#define TEMPORARY ".tune-"

bool outfile_is_temporary(const char *name)
{
    return strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
}

/* On a shared folder, two machines may have processes with our process id. */
bool outfile_name(const char *folder, char name[PATH_MAX])
{
    uint64_t number = (uint64_t)getpid();
    (void)!getrandom(&number, sizeof number, 0);
    if (snprintf(name, PATH_MAX, "%s/" TEMPORARY "%016" PRIx64, folder, number) < PATH_MAX) return true;
    name[0] = '\0';
    errno = ENAMETOOLONG;
    return false;
}

int outfile_unnamed(const char *folder, mode_t mode)
{
    errno = EOPNOTSUPP;
    const bool nameable = access("/proc/self/fd", X_OK) == 0; /* needed to name the file */
    return nameable ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;
}

/* A file without a name in the folder of the target, or else one with a name. Returns -1 and errno on
 * failure. */
static int open_temporary(struct outfile *out, mode_t mode)
{
    char copy[PATH_MAX];
    memcpy(copy, out->target, sizeof copy);
    const char *folder = dirname(copy);
    int fd = outfile_unnamed(folder, mode);
    if (fd >= 0) return fd;
    if (!outfile_name(folder, out->temporary)) return -1;
    guard(out->temporary);
    return open(out->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
}

/* Returns -1 and errno on failure. */
static int open_target(struct outfile *out)
{
    struct stat info;
    const int given = descriptor_of(out->path);
    if (given >= 0) return fcntl(given, F_DUPFD_CLOEXEC, 3);
    const bool there = stat(out->path, &info) == 0;
    if (!there && errno != ENOENT) return -1;
    if (there && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (there && !S_ISREG(info.st_mode)) return open(out->path, O_WRONLY | O_CLOEXEC);
    if ((errno = follow(out->path, out->target))) return -1;
    int fd = open_temporary(out, 0666);
    if (fd >= 0 && there) (void)!fchmod(fd, info.st_mode & 0777); /* keep the file's mode */
    return fd;
}

enum status outfile_open(const char *path, struct outfile *out)
{
    *out = (struct outfile){.stream = stdout};
    if (!path || strcmp(path, "-") == 0) return OK;
    out->stream = NULL;
    if (snprintf(out->path, sizeof out->path, "%s", path) >= (int)sizeof out->path)
        return fail(E_IO, "the path %.80s... is too long", path);
    struct stat target; /* what is no file, such as /dev/stdout's, can lose nothing */
    const bool lasting = stat(path, &target) != 0 || S_ISREG(target.st_mode);
    enum status st = lasting ? file_refuse_link(path) : OK;
    if (st) return st;
    int fd = open_target(out);
    if (fd >= 0 && (out->stream = fdopen(fd, "w"))) return OK;
    int error = errno;
    if (fd >= 0) close(fd);
    outfile_close(out, E_IO);
    return cannot(path, error);
}

/* ---- closing ---- */

int outfile_publish(int fd, char name[PATH_MAX], const char *target)
{
    char copy[PATH_MAX], link[64];
    snprintf(copy, sizeof copy, "%s", target);
    if (!name[0]) {
        if (!outfile_name(dirname(copy), name)) return errno;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0) return errno;
    }
    if (rename(name, target) != 0) return errno;
    name[0] = '\0';
    return 0;
}

static void sync_folder(const struct outfile *out)
{
    char copy[PATH_MAX];
    memcpy(copy, out->target, sizeof copy);
    int at = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) return;
    fsync(at);
    close(at);
}

#define EARLIER (-1) /* a write before the last one failed, and its errno is lost */

/* Returns 0, an errno or EARLIER. */
static int settle(struct outfile *out)
{
    if (fflush(out->stream) != 0) return errno;
    if (ferror(out->stream)) return EARLIER;
    const int fd = fileno(out->stream);
    if (!out->target[0]) return 0;
    if (fsync(fd) != 0) return errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = outfile_publish(fd, out->temporary, out->target);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) sync_folder(out);
    return error;
}

enum status outfile_close(struct outfile *out, enum status st)
{
    if (out->stream == stdout) return st; /* main flushes it and reports errors */
    if (out->stream) {
        int error = st ? 0 : settle(out);
        if (fclose(out->stream) != 0 && !st && !error && !out->target[0]) error = errno;
        out->stream = NULL;
        if (error) st = cannot(out->path, error == EARLIER ? 0 : error);
    }
    if (out->temporary[0]) unlink(out->temporary);
    out->temporary[0] = '\0';
    to_remove = NULL;
    return st;
}

#include "file_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum status file_see(const char *path, struct stat *seen)
{
    if (stat(path, seen) == 0) return OK;
    const int error = errno;
    *seen = (struct stat){0};
    return error == ENOENT ? OK : fail(E_IO, "cannot look at %s: %s", path, strerror(error));
}

/* NULL: it is a file. */
static const char *other_kind(const struct stat *seen)
{
    switch (seen->st_mode & S_IFMT) {
    case S_IFREG:
        return NULL;
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

enum status file_open(const char *what, const char *path, FILE **file)
{
    struct stat seen;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), error = errno;
    const char *kind = (fd < 0 ? stat(path, &seen) : fstat(fd, &seen)) == 0 ? other_kind(&seen) : NULL;
    *file = fd < 0 || kind ? NULL : fdopen(fd, "r");
    if (*file) return OK;
    if (fd >= 0) close(fd);
    if (kind)
        return fail(E_IO, "cannot read the %s %s: it is %s, and no file: put it aside", what, path, kind);
    return fail(fd < 0 && error == ENOENT ? E_ABSENT : E_IO, "cannot read the %s %s: %s", what, path,
                strerror(fd < 0 ? error : errno));
}

enum status file_refuse_irregular(const char *path)
{
    struct stat seen;
    enum status st = file_see(path, &seen);
    const char *kind = st || !file_is_there(&seen) ? NULL : other_kind(&seen);
    return kind ? fail(E_IO, "%s is %s, and no file: name another one, or put it aside", path, kind) : st;
}

bool file_unchanged(const struct stat *seen, const struct stat *now)
{
    return file_is_there(seen) == file_is_there(now) && seen->st_dev == now->st_dev &&
           seen->st_ino == now->st_ino && seen->st_size == now->st_size &&
           seen->st_mtim.tv_sec == now->st_mtim.tv_sec && seen->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static bool is_foreign(const struct stat *seen)
{
    return seen->st_uid != geteuid() && seen->st_uid != 0;
}

#define UNMAPPED 65534 /* root, as a container sees it that has one user only */

/* Where everybody may make a link, it may be anybody's. */
static bool is_unmapped_root(const char *path, const struct stat *link)
{
    char folder[PATH_MAX];
    struct stat seen;
    return link->st_uid == UNMAPPED && snprintf(folder, sizeof folder, "%s", path) < (int)sizeof folder &&
           stat(dirname(folder), &seen) == 0 && !(seen.st_mode & S_IWOTH);
}

enum status file_refuse_link(const char *path)
{
    struct stat link;
    if (lstat(path, &link) != 0)
        return errno == ENOENT ? OK : fail(E_IO, "cannot look at %s: %s", path, strerror(errno));
    if (!S_ISLNK(link.st_mode) || !is_foreign(&link) || is_unmapped_root(path, &link)) return OK;
    return fail(E_INPUT,
                "%s is a symbolic link of user %lu, who may point it at any file: name the file itself", path,
                (unsigned long)link.st_uid);
}

enum status file_refuse_foreign(const char *path, const struct stat *seen)
{
    const bool open = (seen->st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (!file_is_there(seen) || (!is_foreign(seen) && !open)) return OK;
    return fail(E_INPUT,
                "%s belongs to user %lu and has mode %04o: others could have written it; name a file in a "
                "folder that is yours alone (mkdir -m 700)%s",
                path, (unsigned long)seen->st_uid, (unsigned)seen->st_mode & 07777,
                is_foreign(seen) ? "" : ", or chmod go-w it if it is right");
}

enum status file_refuse_folder(const char *path)
{
    char folder[PATH_MAX];
    struct stat seen;
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return fail(E_INPUT, "the path %.100s... is too long", path);
    const char *name = dirname(folder);
    enum status st = file_see(name, &seen);
    if (st || !file_is_there(&seen) || !is_foreign(&seen) || seen.st_uid == UNMAPPED) return st;
    /* Root trusts a user with a folder that is that user's alone, as one mounted into a container. */
    if (geteuid() == 0 && !(seen.st_mode & (S_IWGRP | S_IWOTH))) return OK;
    return fail(E_INPUT,
                "the folder %s belongs to user %lu, who may replace what is in it: name a file in a folder "
                "that is yours alone (mkdir -m 700)",
                name, (unsigned long)seen.st_uid);
}

int file_rename_new(const char *from, const char *to)
{
    struct stat taken;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    /* A file system without RENAME_NOREPLACE. */
    if (lstat(to, &taken) == 0) return EEXIST;
    if (errno != ENOENT) return errno;
    return rename(from, to) == 0 ? 0 : errno;
}

/* struck_calls.h — SQLite's system calls that change a file, counted in a child process; from a certain one
 * on the disk is full, or the process is killed there.
 */
#ifndef GT_TEST_STRUCK_CALLS_H
#define GT_TEST_STRUCK_CALLS_H

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum strike { DISK_FULL, KILLED };

static long struck_calls, struck_from;
static enum strike strike_kind;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t), (*real_unlink)(const char *);

static inline bool strikes(void)
{
    if (++struck_calls < struck_from) return false;
    if (strike_kind == KILLED) _exit(77);
    errno = ENOSPC;
    return true;
}

/* A full disk refuses what makes a file longer, not what is written over. */
static inline bool fits(int fd, off_t end)
{
    struct stat info;
    return strike_kind == DISK_FULL && fstat(fd, &info) == 0 && end <= info.st_size;
}

static inline ssize_t struck_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return !fits(fd, at + (off_t)count) && strikes() ? -1 : real_pwrite(fd, bytes, count, at);
}

static inline ssize_t struck_write(int fd, const void *bytes, size_t count)
{
    return strikes() ? -1 : real_write(fd, bytes, count);
}

/* Nor to cut a file or to remove one. */
static inline int struck_ftruncate(int fd, off_t size)
{
    if (strike_kind == KILLED) strikes();
    return real_ftruncate(fd, size);
}

static inline int struck_unlink(const char *path)
{
    if (strike_kind == KILLED) strikes();
    return real_unlink(path);
}

static inline sqlite3_syscall_ptr replace_call(const char *name, sqlite3_syscall_ptr with)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr was = vfs->xGetSystemCall(vfs, name);
    if (!was || vfs->xSetSystemCall(vfs, name, with) != SQLITE_OK) _exit(3);
    return was;
}

/* Runs body in a child whose `from`-th call and later ones are struck: its exit code, which is body's result;
 * 77: it was killed. */
static inline int run_struck(int (*body)(void), enum strike kind, long from)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
        struck_from = from;
        strike_kind = kind;
        const char *pwrite_name = vfs->xGetSystemCall(vfs, "pwrite64") ? "pwrite64" : "pwrite";
        real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))replace_call(
            pwrite_name, (sqlite3_syscall_ptr)struck_pwrite);
        real_write =
            (ssize_t(*)(int, const void *, size_t))replace_call("write", (sqlite3_syscall_ptr)struck_write);
        real_ftruncate =
            (int (*)(int, off_t))replace_call("ftruncate", (sqlite3_syscall_ptr)struck_ftruncate);
        real_unlink = (int (*)(const char *))replace_call("unlink", (sqlite3_syscall_ptr)struck_unlink);
        _exit(body());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Fails where the folder holds anything but these files, separated by spaces. */
static inline void assert_folder_holds(const char *folder, const char *names)
{
    DIR *dir = opendir(folder);
    char word[300], all[400];
    assert_non_null(dir);
    snprintf(all, sizeof all, " %s ", names);
    for (struct dirent *entry; (entry = readdir(dir));) {
        snprintf(word, sizeof word, " %s ", entry->d_name);
        if (entry->d_name[0] != '.' && !strstr(all, word))
            fail_msg("there is %s in %s", entry->d_name, folder);
    }
    closedir(dir);
}

#endif

/* trusted.h — may a file be used that nobody named, because it is where this code looks?
 *
 * A program may have been carried to another machine, or to a folder such as /tmp, where the name that it
 * looks for is anybody's.
 */
#ifndef GT_TRUSTED_H
#define GT_TRUSTED_H

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the file or folder belongs to root, to this user or to the owner of `own`, and only those may write
 * it, or a group of this user, or who may write `own`, too. own: the file that contains this code, or NULL.
 * resolved: without symbolic links; use that, since the links may change. */
static inline bool trusted(const char *path, const char *own, char resolved[PATH_MAX])
{
    struct stat is, ours;
    if (!realpath(path, resolved) || stat(resolved, &is) != 0) return false;
    if (!own || stat(own, &ours) != 0) ours = (struct stat){.st_gid = getegid()};
    const bool own_group = is.st_gid == getegid() || (is.st_gid == ours.st_gid && (ours.st_mode & S_IWGRP));
    if ((is.st_mode & S_IWOTH) && !(ours.st_mode & S_IWOTH)) return false;
    if ((is.st_mode & S_IWGRP) && !own_group) return false;
    return is.st_uid == 0 || is.st_uid == geteuid() || is.st_uid == ours.st_uid;
}

#endif

/* file_seen.h — what a name means: whether a file is there, whether it is a file, whether it is still the one
 * that was looked at, and whether another user decides which it is.
 *
 * What is believed because of its name is looked at here, so that an error (a stale handle of NFS, a folder
 * that cannot be searched) is never taken for "it is not there".
 */
#ifndef GT_FILE_SEEN_H
#define GT_FILE_SEEN_H

#include "status.h"
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* What is at path; links are followed. *seen is all zero if nothing is there, which only ENOENT means.
 * Errors: E_IO. */
enum status file_see(const char *path, struct stat *seen);

static inline bool file_is_there(const struct stat *seen)
{
    return seen->st_mode != 0;
}

/* Opens for reading what a folder has under a name that the program knows; links are followed. A pipe, a
 * socket, a device or a folder there is refused and never waited for. (What the user names on the command
 * line may be a pipe, and is opened by fopen.) what: "plan", for the sentence. Errors: E_ABSENT (nothing is
 * there), E_IO. */
enum status file_open(const char *what, const char *path, FILE **file);

/* The same of a file that others open, or that is written: E_IO if something else is at path. */
enum status file_refuse_irregular(const char *path);

/* Whether both are the same file with the same content, as far as device, inode, size and the time of the
 * last write say; or nothing was there both times. */
bool file_unchanged(const struct stat *seen, const struct stat *now);

/* Errors: E_INPUT: path is a symbolic link of another user, who decides which file it means. Root's are as
 * good as one's own, also where root has no number (in a user namespace) and not everybody may make links. */
enum status file_refuse_link(const char *path);

/* Errors: E_INPUT: what was seen belongs to another user (but root), or others may write it. */
enum status file_refuse_foreign(const char *path, const struct stat *seen);

/* Errors: E_INPUT: the folder of a file belongs to another user, who may replace what is in it (for root only
 * if others than that user may, too); E_IO. */
enum status file_refuse_folder(const char *path);

/* Renames to a name that is not taken yet. Returns 0 or an errno; EEXIST: it is taken. */
int file_rename_new(const char *from, const char *to);

#endif

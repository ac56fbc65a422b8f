/* output_file.h — a file that appears complete or not at all.
 *
 * Devices and FIFOs are written through; a symbolic link is followed, and its target is replaced, unless it
 * is another user's, who decides what it points at. Where the file system supports it, a file is written
 * without a name (O_TMPFILE), so that nothing is left however the process ends. Only a SIGKILL between the
 * last two system calls, microseconds apart, could leave a file .tune-NUMBER. On other file systems the file
 * is written under such a name.
 */
#ifndef GT_OUTPUT_FILE_H
#define GT_OUTPUT_FILE_H

#include "status.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct outfile {
    FILE *stream; /* stdout if path is "-", NULL or names the standard output */
    char path[PATH_MAX];
    char target[PATH_MAX];    /* the file that is replaced; "": written through */
    char temporary[PATH_MAX]; /* "": no name yet */
};

/* Errors: E_IO, E_INPUT (another user's link). */
enum status outfile_open(const char *path, struct outfile *out);
/* With st OK: syncs the content to the disk, then names the file. With an error: removes it. Returns the
 * first error. Takes a zeroed struct. */
enum status outfile_close(struct outfile *out, enum status st);

/* Why a stream cannot be written, as text for a message. error 0: a write failed earlier, and its errno is
 * lost. */
const char *outfile_why(int error);

/* The parts of an output file, for files that are no streams. Opens a file without a name in this folder; -1:
 * it cannot have one. */
int outfile_unnamed(const char *folder, mode_t mode);
/* A name for a temporary file that no other process chooses. False: the folder's is too long (ENAMETOOLONG).
 */
bool outfile_name(const char *folder, char name[PATH_MAX]);
bool outfile_is_temporary(const char *name);
/* Moves a file to its target; name: its own, "" if it has none, and afterwards. Returns 0 or an errno. */
int outfile_publish(int fd, char name[PATH_MAX], const char *target);

/* From now on, a signal that ends this process removes its temporary files first. For programs, not for
 * libraries. */
void outfile_guard(void);

#endif

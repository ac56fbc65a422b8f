/* output_file.h — a file that appears complete or not at all.
 *
 * What is a device or a FIFO is written through; a symbolic link is followed, and what it leads to is
 * replaced. A file is written without a name (O_TMPFILE) where the file system can do that, so that nothing
 * is left whatever ends the process; only between its two last system calls, microseconds apart, could a
 * SIGKILL leave a file .tune-NUMBER. Elsewhere it is written under such a name.
 */
#ifndef GT_OUTPUT_FILE_H
#define GT_OUTPUT_FILE_H

#include "status.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *stream; /* stdout if path is "-", NULL or names the standard output */
    char path[PATH_MAX];
    char target[PATH_MAX];    /* what is replaced; "": written through */
    char temporary[PATH_MAX]; /* "": it has no name yet */
};

/* Errors: E_IO. */
enum status outfile_open(const char *path, struct outfile *out);
/* With OK: give it its name, after its content is on the disk. With an error: remove it. Returns the first
 * error. Takes a zeroed struct. */
enum status outfile_close(struct outfile *out, enum status st);

/* Why a stream cannot be written, for a sentence. 0: a write failed earlier, and its errno is gone. */
const char *outfile_why(int error);

/* From now on, a signal that ends this process removes its temporary files first. For programs, not for
 * libraries. */
void outfile_guard(void);

#endif

/* export_text.h — files that appear complete or not at all, and what goes into generated C. */
#ifndef GT_EXPORT_TEXT_H
#define GT_EXPORT_TEXT_H

#include "status.h"
#include <limits.h>
#include <stdio.h>

/* A file that is being written under another name beside its own. */
struct outfile {
    FILE *stream; /* stdout if path is "-" or NULL */
    char path[PATH_MAX], temporary[PATH_MAX];
};
/* Errors: E_IO. */
enum status outfile_open(const char *path, struct outfile *out);
/* With OK: give it its name, after its content is on the disk. With an error: remove it. Returns the first
 * error. Takes a zeroed struct. */
enum status outfile_close(struct outfile *out, enum status st);

/* A C string literal of any bytes: what is not plain ASCII is written in octal, so that nothing ends it. */
void text_c_string(const char *text, FILE *stream);

/* Within a comment: on one line, and nothing that ends it or warns. */
void text_c_comment(const char *text, FILE *stream);

/* A float literal; what is not finite is 0. */
void text_c_float(double value, FILE *stream);

/* Now, or SOURCE_DATE_EPOCH (reproducible-builds.org), as 2026-11-20T12:00:00Z. Errors: E_INPUT. */
enum status text_date(char date[32]);

#endif

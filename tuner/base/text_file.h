/* text_file.h — reads text from outside line by line, within limits: an endless or huge file is refused after
 * a moment and takes no memory.
 */
#ifndef GT_TEXT_FILE_H
#define GT_TEXT_FILE_H

#include "status.h"
#include <stddef.h>
#include <stdio.h>

#define TEXT_LINE_MAX  65535 /* bytes, its end included */
#define TEXT_LINES_MAX 1000000
#define TEXT_BYTES_MAX ((size_t)64 << 20)

struct text_file {
    FILE *file;
    const char *what, *path; /* "suite", for sentences */
    char *line;              /* malloc'ed */
    int number;              /* of the line read last; the first is 1 */
    size_t bytes;            /* read so far */
    enum status st;          /* why text_file_line returned NULL; OK at the end of the file */
};

/* The file stays its owner's. */
struct text_file text_file_start(FILE *file, const char *what, const char *path);

/* The next line with its end (LF, CR LF or CR), NUL-terminated, valid until the next call and without other
 * NUL bytes. NULL at the end of the file and on errors: E_INPUT (a limit, a NUL byte), E_IO, E_MEMORY. */
char *text_file_line(struct text_file *text);

/* Frees what was read; returns text->st. */
enum status text_file_end(struct text_file *text);

#endif

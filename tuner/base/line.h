/* line.h — text files line by line, each of a limited length: a file without line ends takes no memory, and
 * nothing but the end of a file looks like it. */
#ifndef GT_LINE_H
#define GT_LINE_H

#include "status.h"
#include <stdio.h>

/* The next line, without its '\n'. E_ABSENT: the file has ended, without a message. Errors: E_INPUT (a NUL
 * byte, or a line that with its end does not fit), E_IO. */
enum status line_read(FILE *file, char *line, size_t room);

#endif

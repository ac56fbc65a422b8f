/* no_stdin.h — a substitute for stdin, which jansson refers to, in our shared libraries. jansson only
 * compares a file with it, for a message; a reference to the C library's stdin could not be linked into a
 * shared library.
 */
#ifndef GT_NO_STDIN_H
#define GT_NO_STDIN_H

#include <stdio.h>

extern FILE *gt_no_stdin;

#endif

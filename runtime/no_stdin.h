/* no_stdin.h — what jansson takes for stdin in our shared libraries. It asks only whether a file is that one,
 * to say so in a message; its own reference to the C library's could not be linked into a shared library.
 */
#ifndef GT_NO_STDIN_H
#define GT_NO_STDIN_H

#include <stdio.h>

extern FILE *gt_no_stdin;

#endif

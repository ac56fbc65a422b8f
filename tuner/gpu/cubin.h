/* cubin.h — what a compiled kernel says of itself, for those who have no driver to ask.
 */
#ifndef GT_CUBIN_H
#define GT_CUBIN_H

#include <stddef.h>

/* The most threads of a block that an entry was compiled for (__launch_bounds__); 0 if the cubin does not
 * say. Makes no assumptions about the bytes. */
int cubin_most_threads(const void *bytes, size_t size, const char *entry);

#endif

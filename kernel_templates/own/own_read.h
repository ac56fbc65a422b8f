/* own_read.h — the text of an own kernel (own.h) from files: the source, what it includes beside it, and the
 * description beside it, if there is one.
 */
#ifndef GT_OWN_READ_H
#define GT_OWN_READ_H

#include "status.h"
#include <stddef.h>

/* path: of the source, "my.cu". What lies in its folder under a name that it, or such a file, includes as
 * "name.cuh" belongs to the text; others are left to the compiler. "my.tune" beside it, if it is there, has
 * the description. *text is malloc'ed. Errors: E_IO; E_INPUT: a file is too long or no text, or there are too
 * many; E_MEMORY. */
enum status own_read(const char *path, char **text);

#endif

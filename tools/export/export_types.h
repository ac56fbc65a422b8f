/* export_types.h — the types in an exported header: a text with winner_types.h in it, with a list and tables
 * in its place.
 */
#ifndef GT_EXPORT_TYPES_H
#define GT_EXPORT_TYPES_H

#include <stdio.h>

/* Refuses a header before this one in the same file that knows another number of types, then writes text. */
void types_write(const char *text, FILE *f);

#endif

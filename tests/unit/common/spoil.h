/* spoil.h — a copy of a text as damage would leave it: bytes flipped, removed, added and replaced by what
 * JSON is made of. Whoever reads it must neither read beyond its end nor leak (the sanitizers look).
 */
#ifndef GT_SPOIL_H
#define GT_SPOIL_H

#include <stddef.h>
#include <stdint.h>

/* To be freed; exactly as long as *spoiled, and a byte. random is stepped. */
char *spoil(const char *bytes, size_t length, uint64_t *random, size_t *spoiled);

#endif

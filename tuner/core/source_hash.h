/* source_hash.h — a hash of what a compiler sees of a source and the headers that it includes: it changes
 * when the program may have changed, and otherwise as rarely as possible.
 *
 * Headers are inserted where they are included, subject to their guards; conditions are evaluated; comments
 * and white space are ignored. Declarations count as a set: moving one to another place or header changes
 * nothing. (A macro that is redefined differently divides the set into what is declared before it and after
 * it.) File names and headers that are not included do not count. Active macro definitions do. If a condition
 * cannot be evaluated, all its branches count.
 *
 * Deliberately not part of the hash: the values of the key's macros outside of conditions. They are the
 * configuration, which is stored beside the hash.
 */
#ifndef GT_SOURCE_HASH_H
#define GT_SOURCE_HASH_H

#include <stdint.h>

#define SOURCE_DEFINITIONS_MAX 64

struct source_text;

/* sources[0] is the source, the others are the headers that it may include by name. definitions: "BM=128" or
 * "BM", at most SOURCE_DEFINITIONS_MAX. *asked (may be NULL): bit i is set if a condition tested the value of
 * definition i; while those values stay the same, the hash does, too. Never 0. Any text can be read; one that
 * exceeds a limit is hashed byte by byte. */
uint64_t source_hash(const struct source_text *sources, int count, const char *const *definitions,
                     int definition_count, uint64_t *asked);

/* The name of a header that an active line includes and that is not among the sources, or of a header among
 * the sources that no line includes; "" if there is neither. Room for 64 bytes. */
void source_hash_missing(const struct source_text *sources, int count, const char *const *definitions,
                         int definition_count, char missing[64]);

#endif

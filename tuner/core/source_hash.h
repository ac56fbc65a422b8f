/* source_hash.h — a hash of what a compiler makes of a text and the headers that it includes: changes when
 * the program may have, and else as seldom as can be.
 *
 * Headers are put where they are included, as their guards allow, conditions are evaluated, comments and
 * blanks are nothing. Declarations count as a set: one that moves to another place or header changes nothing.
 * (A macro that is defined once more, as something else, divides the set: what is declared before it and what
 * behind.) Names of files do not count, nor do headers that nobody includes. Definitions of macros do, where
 * they are active. Where a condition cannot be evaluated, all its branches count.
 *
 * What does not count for certain: the values that macros of the key are used with outside of conditions.
 * They are the configuration, which is kept beside the hash.
 */
#ifndef GT_SOURCE_HASH_H
#define GT_SOURCE_HASH_H

#include <stdint.h>

#define SOURCE_DEFINITIONS_MAX 64

struct source_text;

/* sources[0] is the text, the others what it may include by their names. definitions: "BM=128" or "BM", at
 * most SOURCE_DEFINITIONS_MAX. *asked (NULL: nobody wants it): bit i is set if a condition looked at the
 * value of definition i; as long as the values of those are the same, so is the hash. Never 0. Any text can
 * be read; one that is beyond all bounds is hashed as it is, byte by byte. */
uint64_t source_hash(const struct source_text *sources, int count, const char *const *definitions,
                     int definition_count, uint64_t *asked);

/* The name of a header that an active line includes and that is not among the sources, or of one of them
 * that no line includes; "" if there is neither. Room for 64 bytes. */
void source_hash_missing(const struct source_text *sources, int count, const char *const *definitions,
                         int definition_count, char missing[64]);

#endif

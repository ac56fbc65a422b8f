/* kernel_hash.h — identifies the source from which a kernel was compiled, as a number: measurements of a
 * kernel stay valid as long as the number stays the same.
 *
 * It is the hash (source_hash.h) of the template's source and headers under the macros of the key, or the
 * earlier one of a kernel whose machine code is still the same. Values of the configuration that no condition
 * tests are not part of it; they are stored beside it.
 */
#ifndef GT_KERNEL_HASH_H
#define GT_KERNEL_HASH_H

#include "kernel_key.h"
#include <stdint.h>

/* XXH64, never 0. Results are memoised: for the second kernel of a kind a call takes a tenth of a
 * microsecond. Thread-safe. */
uint64_t kernel_hash(const struct kernel_key *key);

static inline uint64_t kernel_hash_of(const struct config *config, const struct problem *problem, int arch)
{
    const struct kernel_key key = kernel_key_of(config, problem, arch);
    return kernel_hash(&key);
}

/* Text form (docs/runtime.md): 16 hexadecimal digits. */
#define KERNEL_HASH_TEXT 17
void kernel_hash_format(const struct kernel_key *key, char text[KERNEL_HASH_TEXT]);
/* Does the text identify this kernel? */
bool kernel_hash_means(const struct kernel_key *key, const char *text);

/* The hash of the kernel whose source has this hash now. */
uint64_t kernel_hash_kept(uint64_t source);

#endif

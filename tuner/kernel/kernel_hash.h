/* kernel_hash.h — identifies the source from which a kernel was compiled, as a number: measurements of a
 * kernel stay valid as long as the number stays the same.
 *
 * The number of a new kernel is the hash of its template's source and of all headers that this includes,
 * without comments and white space; with an epilogue or with pointers it is another one. When a source
 * changes and the machine code of some of its kernels does not, these keep the numbers under which databases
 * and shipped winners know them: rows of a table outside of this layer (kernel_templates/kept_hashes.c).
 * Values of the configuration are not part of the number; they are stored beside it.
 */
#ifndef GT_KERNEL_HASH_H
#define GT_KERNEL_HASH_H

#include "kernel_key.h"
#include <stdint.h>

/* Kernels for this architecture or later, with or without an epilogue and pointers, and with at least these
 * values of the source's two parameters. The first row that a kernel meets has its number. */
struct kept_kernel {
    uint8_t arch, epilogue, pointers, least[2];
    uint64_t hash;
};

/* As long as a template's source has this hash, its kernels have the numbers of the rows. */
struct kept_source {
    const char *template;
    const char *params[2]; /* NULL: none */
    uint64_t source;
    const struct kept_kernel *kernels;
    int count;
};

extern const struct kept_source kept_sources[]; /* a NULL name ends the list */

/* Hash of a template's source and headers: XXH64, never 0. */
uint64_t kernel_source_hash(const struct template *t);

/* The number of a kernel, never 0. Thread-safe; a source is hashed once. */
uint64_t kernel_hash(const struct kernel_key *key);

static inline uint64_t kernel_hash_of(const struct config *config, const struct problem *problem, int arch)
{
    const struct kernel_key key = kernel_key_of(config, problem, arch);
    return kernel_hash(&key);
}

/* Text form (docs/winners.md): 16 hexadecimal digits. */
#define KERNEL_HASH_TEXT 17
void kernel_hash_format(const struct kernel_key *key, char text[KERNEL_HASH_TEXT]);
/* Does the text identify this kernel? */
bool kernel_hash_means(const struct kernel_key *key, const char *text);

#endif

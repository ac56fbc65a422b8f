/* compile.h — compiles a kernel or source text to a cubin with NVRTC (opened at run time; only this module
 * includes nvrtc.h), through a content-addressed cache. Needs no GPU.
 *
 * Key: XXH128 of the texts, the options, the architecture and NVRTC's version. cache.h stores the cubins. A
 * damaged entry is compiled again. Any number of processes may compile into one cache; none waits for
 * another.
 */
#ifndef GT_COMPILE_H
#define GT_COMPILE_H

#include "kernel_key.h"
#include "outcome.h"
#include "status.h"
#include "template.h"
#include <stdbool.h>
#include <stddef.h>

struct compiled {
    char path[1024];   /* of the cubin in the cache */
    char checksum[40]; /* XXH128 of the cubin, hexadecimal */
    struct kernel_facts facts;
    bool cached;
    bool built;         /* false: the compiler refused; log says why */
    bool out_of_memory; /* for that reason: another time it may do */
    char log[OUTCOME_DETAIL_MAX];
};

/* dlopen NVRTC: GEMMTUNE_LIBNVRTC, the toolkit this program was built with, then the usual names. Idempotent.
 * Errors: E_COMPILER with where it looked. version: "13.0". */
enum status compile_load(char version[16]);

/* The file that NVRTC was loaded from, for people. Errors: those of compile_load. */
enum status compile_library(char *path, size_t room);

/* A refused text is an answer (built = false); errors are E_COMPILER, E_IO (cache unusable), E_MEMORY. */
enum status compile_sources(const struct source_text *sources, int count, const char *const *definitions,
                            int definition_count, int arch, const char *cache, struct compiled *out);
enum status compile_kernel(const struct kernel_key *kernel, const char *cache, struct compiled *out);

/* The same, with the cubin in memory: *code malloc'ed if built. cache "": there is none. A cache that cannot
 * be used is no error: why ("" at first) then says what is wrong with it, and path is "". Errors:
 * E_COMPILER, E_MEMORY. */
#define COMPILE_WHY_MAX 300
enum status compile_code(const struct kernel_key *kernel, const char *cache, char **code,
                         struct compiled *out, char why[COMPILE_WHY_MAX]);

/* The same as PTX, a text with a final NUL that counts, for this architecture and all later ones. Refused
 * where the kernel uses what only this one has. Its facts are those of no compiler: 0 registers. */
enum status compile_ptx(const struct kernel_key *kernel, const char *cache, struct compiled *out);

/* Read a cubin and check it against its checksum; *bytes malloc'ed. Errors: E_IO, E_INPUT (checksum differs).
 */
enum status compile_read_cubin(const char *path, const char *checksum, char **bytes, size_t *length);

/* Default cache folder: GEMMTUNE_CACHE, $XDG_CACHE_HOME/gemmtune, ~/.cache/gemmtune. Created. Errors: E_IO.
 */
enum status compile_cache_folder(char *path, size_t room);

#endif

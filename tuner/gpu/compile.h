/* compile.h — compiles a kernel or source text to a cubin with NVRTC (opened at run time; only this module
 * includes nvrtc.h), through a content-addressed cache. Needs no GPU.
 *
 * Key: XXH128 of the texts, the options, the architecture and NVRTC's version, on which registers, times and
 * bits of a kernel depend: what is measured was compiled by the version that the record names. cache.h stores
 * the cubins. A kernel's id is the same without the version; by it, one that was compiled before is found
 * without opening NVRTC, whichever version compiled it. A damaged entry is compiled again. Any number of
 * processes may compile into one cache; none waits for another.
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
    bool built;         /* false: the compiler refused, or warned that it serialises; log says why */
    bool out_of_memory; /* the compiler ran out of memory: it may succeed another time */
    char log[OUTCOME_DETAIL_MAX];
};

/* dlopen NVRTC: GEMMTUNE_LIBNVRTC, the toolkit this program was built with, then the usual names. Idempotent.
 * Errors: E_COMPILER with the places that were searched. version: "13.0". */
enum status compile_load(char version[16]);

/* The file from which NVRTC was loaded, for messages. Errors: those of compile_load. */
enum status compile_library(char *path, size_t room);

/* A refused source is a result (built = false). Errors: E_COMPILER, E_IO (cache unusable), E_MEMORY,
 * E_INTERRUPTED (compile_until_exit). */
enum status compile_sources(const struct source_text *sources, int count, const char *const *definitions,
                            int definition_count, int arch, const char *cache, struct compiled *out);
enum status compile_kernel(const struct kernel_key *kernel, const char *cache, struct compiled *out);

/* The same, with the cubin in memory: *code malloc'ed if built. cache "": no cache. An unusable cache is not
 * an error: then `why` ("" at first) tells the reason, and path is "". Errors: E_COMPILER, E_MEMORY,
 * E_INTERRUPTED. */
#define COMPILE_WHY_MAX 300
enum status compile_code(const struct kernel_key *kernel, const char *cache, char **code,
                         struct compiled *out, char why[COMPILE_WHY_MAX]);

/* The id of a kernel: XXH128 of all that its machine code depends on but the compiler's version. Errors:
 * E_COMPILER (its definitions do not fit). */
#define COMPILE_ID_TEXT 33 /* 32 hexadecimal digits */
enum status compile_id(const struct kernel_key *kernel, char id[COMPILE_ID_TEXT]);

/* The machine code that the cache ("": none) holds of this id, as it was stored last; *code malloc'ed. Opens
 * no NVRTC. E_ABSENT: it holds none, or it is damaged. */
enum status compile_recall(const char *id, const char *cache, char **code, size_t *length);

/* For a process that compiles in a thread of its own, which its end does not wait for otherwise: at exit,
 * before the destructors of NVRTC and of the driver run, what is being compiled is abandoned (E_INTERRUPTED,
 * within a fraction of a second; an NVRTC without nvrtcSetFlowCallback ends it), and `wait` is called. From
 * then on nothing is compiled. Call it once, after compile_load, before that thread compiles. It compiles an
 * empty kernel for this architecture, which takes about 0.1 s. */
void compile_until_exit(int arch, void (*wait)(void));

/* compile_kernel as PTX, a text whose final NUL is counted, for this architecture and all later ones. Refused
 * if the kernel uses features of this architecture only. Its facts contain 0 registers, because nothing was
 * assembled. */
enum status compile_ptx(const struct kernel_key *kernel, const char *cache, struct compiled *out);

/* For people: compiles it now, without a cache. *bytes (machine code, or PTX and a NUL; NULL if refused) and
 * *log, all that the compiler says, are malloc'ed; *log may be NULL. Errors: as compile_kernel. */
enum status compile_show(const struct kernel_key *kernel, bool ptx, struct compiled *out, char **bytes,
                         size_t *size, char **log);

/* Reads a cubin and compares its checksum; *bytes malloc'ed. Errors: E_IO, E_INPUT (checksum differs). */
enum status compile_read_cubin(const char *path, const char *checksum, char **bytes, size_t *length);

/* Default cache folder: GEMMTUNE_CACHE, $XDG_CACHE_HOME/gemmtune, ~/.cache/gemmtune. compile_cache_folder
 * also creates it. Errors: E_IO. */
enum status compile_cache_path(char *path, size_t room);
enum status compile_cache_folder(char *path, size_t room);

#endif

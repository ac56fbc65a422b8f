/* export_kernels.h — the compiled kernels of a header: each once, however many winners use it. */
#ifndef GT_EXPORT_KERNELS_H
#define GT_EXPORT_KERNELS_H

#include "kernel_key.h"
#include <stdio.h>

struct export_kernel {
    struct kernel_key key;
    char *cubin, *ptx; /* malloc'ed; ptx is NULL if not wanted, or the kernel needs this one architecture */
    size_t cubin_bytes, ptx_bytes;
};

struct export_kernels {
    struct export_kernel *list;
    int count;
    bool with_ptx; /* beside the machine code */
};

/* Number of a kernel; it is added if it is not there. -1: out of memory. */
int kernels_number(struct export_kernels *kernels, const struct kernel_key *key);

/* What they are expected to cost, before they are compiled. */
struct kernels_cost {
    int to_compile;  /* that the cache has not; with PTX, all that have some: what it has of that is not known
                      */
    int64_t bytes;   /* of text in the header */
    double core_s;   /* of compiling them on one core */
    char archs[128]; /* "sm_90a", or several */
};
struct kernels_cost kernels_expect(const struct export_kernels *kernels);

/* Compile them all on all cores, or take them from the cache. Errors: E_COMPILER, E_IO, E_MEMORY; a kernel
 * that the compiler refuses is E_COMPILER too, since it once took it. */
enum status kernels_compile(struct export_kernels *kernels);

/* As arrays gt_NAME_cubin0, gt_NAME_ptx0, ..., and gt_NAME_kernels, which has them all. */
void kernels_write(const struct export_kernels *kernels, const char *name, FILE *stream);

void kernels_free(struct export_kernels *kernels); /* takes a zeroed struct */

#endif

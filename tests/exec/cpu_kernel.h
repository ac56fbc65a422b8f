/* cpu_kernel.h — a configuration built as C++ for the CPU, loaded, and launched on a problem as the host
 * would.
 *
 * Sources, definitions and launch plans are the real ones: the template's sources,
 * kernel_key_definitions() and plan(). Does not judge results.
 */
#ifndef GT_CPU_KERNEL_H
#define GT_CPU_KERNEL_H

#include "cpu_block.h"
#include <config.h>
#include <problem.h>
#include <stdbool.h>

/* A change to one source of a template before it is built. `find` must occur exactly once. */
struct edit {
    const char *file; /* "simt.cu" */
    const char *find, *replace;
};

struct cpu_kernel {
    struct config config;
    void *library;
    void (*static_shared)(char **begin, char **end);
};

/* Builds it for problems with the type, op and epilogue of `like`, and with pointers like it; its sizes are
 * ignored. edits may be NULL. A kernel that was built from the same texts before is taken from the build
 * folder. E_COMPILER: the compiler refused (its output is on stderr). E_INPUT: an edit that does not match,
 * or definitions that do not fit. E_IO. */
enum status cpu_kernel_build(const struct config *config, const struct problem *like,
                             const struct edit *edits, int edit_count, struct cpu_kernel *kernel);
void cpu_kernel_close(struct cpu_kernel *kernel);

/* Properties of a run that may be varied. */
struct run_mode {
    enum block_order order;
    uint64_t seed;
    bool scalars_on_device; /* alpha and beta are read through pointers */
    int prepared;           /* 1: A is prepared beforehand; 2: B; 0: none */
};

/* Elements of the problem's type; with pointers a, b and c are arrays of addresses. */
struct cpu_operands {
    const void *a, *b;
    void *c;                 /* written; read, too, unless there is a source */
    const void *source;      /* C, if the result is stored out of place; else NULL */
    const void *bias;        /* NULL without one */
    struct region region[8]; /* all memory of the operands, for dependent launches; or none */
    int regions;
};

/* What the problem says, with its alpha and beta. */
void cpu_kernel_run(const struct cpu_kernel *kernel, const struct problem *problem,
                    const struct run_mode *mode, const struct cpu_operands *operands);

#endif

/* cpu_kernel.h — a configuration built as C++ for the CPU, loaded, and launched on a problem as the host
 * would.
 *
 * Texts, definitions and launch geometry are those of the product: the template's sources,
 * kernel_key_definitions() and its plan(). Knows nothing of right answers.
 */
#ifndef GT_CPU_KERNEL_H
#define GT_CPU_KERNEL_H

#include "cpu_block.h"
#include <config.h>
#include <problem.h>
#include <stdbool.h>

/* A change to one source text of a template before it is built. `find` must occur in exactly one place. */
struct edit {
    const char *file; /* "simt.cu" */
    const char *find, *replace;
};

struct cpu_kernel {
    struct config config;
    void *library;
    void (*static_shared)(char **begin, char **end);
};

/* For problems of the type and op of `like`, whose sizes do not count. edits may be NULL. E_COMPILER: the
 * compiler refused (its output is on stderr). E_INPUT: an edit that does not fit the text, definitions that
 * do not. E_IO. */
enum status cpu_kernel_build(const struct config *config, const struct problem *like,
                             const struct edit *edits, int edit_count, struct cpu_kernel *kernel);
void cpu_kernel_close(struct cpu_kernel *kernel);

/* How one run differs from another. */
struct run_mode {
    enum block_order order;
    uint64_t seed;
    bool scalars_on_device; /* alpha and beta are read through pointers */
};

/* C = alpha op(A) op(B) + beta C with the problem's alpha and beta. */
void cpu_kernel_run(const struct cpu_kernel *kernel, const struct problem *problem,
                    const struct run_mode *mode, const float *a, const float *b, float *c);

#endif

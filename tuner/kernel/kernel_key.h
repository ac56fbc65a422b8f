/* kernel_key.h — identifies a kernel: everything that a compiled kernel depends on, as one value.
 *
 * Configurations that differ only in launch-time values, and problems that differ only in sizes, share a
 * kernel and have equal keys. The key is used wherever kernels are kept: the cubins of a run, the modules of
 * a process, the machine code of an exported header.
 */
#ifndef GT_KERNEL_KEY_H
#define GT_KERNEL_KEY_H

#include "config.h"
#include "gpu.h"
#include "problem.h"
#include <stddef.h>

struct kernel_key {
    struct config config; /* launch-time values at their least */
    enum gemm_type type;  /* what the template computes for the problem's type (template_type) */
    bool trans_a, trans_b;
    int epilogue;  /* as in struct problem */
    bool pointers; /* as in struct problem */
    int arch;      /* 90 for sm_90 */
};

struct kernel_key kernel_key_of(const struct config *config, const struct problem *problem, int arch);

bool kernel_key_equal(const struct kernel_key *x, const struct kernel_key *y);

/* For tables within a process: equal keys have equal hashes there. */
uint64_t kernel_key_hash(const struct kernel_key *key);

/* "nn", "nt", "tn" or "tt", as in a problem. */
const char *kernel_key_op(const struct kernel_key *key);

/* NULL if the kernel may be compiled, else the reason why not: checks only the template's rules on
 * compile-time values, for no particular problem. */
const char *kernel_key_check(const struct kernel_key *key, const struct gpu *gpu);

/* May the compiler contract a product and an addition to one rounding? Not where rows are to have the same
 * bits from all kernels (invariant.h): there alpha * sum is rounded before a bias is added. */
bool kernel_key_contracts(const struct kernel_key *key);

#define KERNEL_DEFINITIONS_MAX (CONFIG_PARAMS_MAX + 8)

/* The one place that turns a kernel into compiler definitions: "-DBM=128" ... then the op as "-DTRANS_A=0"
 * "-DTRANS_B=0", then what the template asks for (template.h). options[i] point into text (room bytes).
 * Returns their number, or 0 if room or limit is too small. The configuration must have passed check(). */
int kernel_key_definitions(const struct kernel_key *key, const char **options, int limit, char *text,
                           size_t room);

#endif

/* oracle_kernels.h — the judge's own GPU kernels (oracle.cu): compiled once, loaded once per process,
 * launched from here.
 *
 * Every function enqueues on the device's stream and returns; a failure of the kernel itself appears at the
 * next synchronisation. Errors: E_GPU, and for loading E_COMPILER.
 */
#ifndef GT_ORACLE_KERNELS_H
#define GT_ORACLE_KERNELS_H

#include "device.h"
#include "gemm_type.h"
#include "oracle_args.h"
#include "oracle_build.h"

struct oracle_kernels {
    struct device *device;
    enum gemm_type type; /* whose elements they are compiled for */
    CUmodule module[ORACLE_PART_COUNT];
    CUfunction fill, addresses, rewrite, reference, in_order, finish, epilogue, compare, fingerprint,
        untouched;
};

/* cache: folder of compiled kernels. */
enum status oracle_kernels_load(struct device *device, const char *cache, enum gemm_type type,
                                struct oracle_kernels *kernels);
/* True if the kernels were compiled for the type's elements of A, B and C. */
bool oracle_kernels_serve(const struct oracle_kernels *kernels, enum gemm_type type);
void oracle_kernels_unload(struct oracle_kernels *kernels); /* takes a zeroed struct too */

enum status oracle_fill(const struct oracle_kernels *kernels, struct matrices to, struct fill_rule rule);
enum status oracle_fill_thinned(const struct oracle_kernels *kernels, struct matrices to,
                                struct fill_rule rule, enum oracle_thinning thinning);

enum status oracle_addresses(const struct oracle_kernels *kernels, const struct addresses_args *args);

/* Reads all elements of a batch, with what lies between them, and writes them as they are: A is in the cache
 * then, as far as it fits. */
enum status oracle_rewrite(const struct oracle_kernels *kernels, struct matrices of);

/* Computes the answers of one piece by the kernels reference and finish. args->splits and k_per_split come
 * from the plan. */
enum status oracle_reference(const struct oracle_kernels *kernels, const struct reference_args *args);

/* All of C. For FP32 elements. */
enum status oracle_in_order(const struct oracle_kernels *kernels, const struct in_order_args *args);

/* Turns the answers of a piece, as oracle_reference has left them, into those after the epilogue. */
enum status oracle_epilogue(const struct oracle_kernels *kernels, const struct epilogue_args *args);

enum status oracle_compare(const struct oracle_kernels *kernels, const struct compare_args *args);

/* Adds the hash of all elements to the finding. */
enum status oracle_fingerprint(const struct oracle_kernels *kernels, struct matrices c,
                               struct finding *finding);

/* `guard` elements before and after, and all padding, must still hold the poison. */
enum status oracle_untouched(const struct oracle_kernels *kernels, struct matrices c, int64_t guard,
                             unsigned poison, struct finding *finding);

/* Loads an entry point of a module; used by other modules of ours, too. */
enum status oracle_module_load(struct device *device, const char *cache, const char *name, const char *text,
                               CUmodule *module);
enum status oracle_module_entry(CUmodule module, const char *name, CUfunction *function);

/* Launches 256 threads per block with one struct as argument. */
enum status oracle_launch(const struct device *device, CUfunction function, unsigned x, unsigned y,
                          unsigned z, const void *args, const char *what);

#endif

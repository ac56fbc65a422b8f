/* split_k.h — a k that several blocks share: how it is cut, and the kernel that adds the parts. For the host
 * half of families whose kernels take struct gemm_args.
 */
#ifndef GT_SPLIT_K_H
#define GT_SPLIT_K_H

#include "gemm_args.h"
#include "template.h"

struct k_cut {
    int64_t k_per_split, splits;
};

/* Into runs of whole units, at most so many, none of them empty. cluster: 0, or exactly so many, of which the
 * last may be empty. */
struct k_cut cut_k(int64_t k, int64_t unit, int64_t most, int64_t cluster);

/* What is known of how a configuration adds; 0: not yet. */
struct k_order {
    int64_t unit, splits; /* as in cut_k */
    int64_t cluster;      /* blocks of one; 0: none, or not known */
    int teams;            /* of warps that divide a unit */
};

/* NULL unless the problem is invariant and the configuration adds in another order than invariant.h's,
 * whatever else is still chosen. */
const char *check_order(const struct problem *problem, struct k_order known);

/* gemm_reduce for the splits of args, with `width` elements of C an access. */
struct kernel_launch reduce_launch(const struct gemm_args *args, int width, unsigned batch_slice);

#endif

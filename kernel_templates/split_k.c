#include "split_k.h"

#include "gt_reduce_rules.h"
#include "invariant.h"
#include "launch_limits.h"

struct k_cut cut_k(int64_t k, int64_t unit, int64_t most, int64_t cluster)
{
    const int64_t units = k > 0 ? ceil_div(k, unit) : 1;
    const int64_t units_per_split = ceil_div(units, cluster ? cluster : smaller(most, units));
    return (struct k_cut){.k_per_split = units_per_split * unit,
                          .splits = cluster ? cluster : ceil_div(units, units_per_split)};
}

const char *check_order(const struct problem *p, struct k_order known)
{
    if (!p->invariant) return NULL;
    const int parts = invariant_parts(p->n, p->k);
    if (known.teams > 1) return "invariant rows: teams that divide a k (WARPS_K) add in another order";
    if ((known.cluster && known.cluster != parts) || (known.splits && known.splits != parts))
        return "invariant rows: N and K decide in how many parts k is divided (SPLIT_K)";
    if (known.unit && parts > 1 &&
        cut_k(p->k, known.unit, parts, 0).k_per_split != invariant_part_k(p->n, p->k))
        return "invariant rows: the parts of k would begin elsewhere (BK)";
    return NULL;
}

struct kernel_launch reduce_launch(const struct gemm_args *args, int width, unsigned batch_slice)
{
    const int64_t vectors = (int64_t)args->m * (args->n / width);
    const int ways = reduce_ways(vectors, args->splits);
    return (struct kernel_launch){
        .entry = "gemm_reduce",
        .grid = {(unsigned)ceil_div(vectors, REDUCE_THREADS / ways), 1, batch_slice},
        .threads = REDUCE_THREADS,
        .smem_bytes = ways > 1 ? (unsigned)(4 * REDUCE_THREADS * width) : 0};
}

#include "split_k.h"

#include "gt_reduce_rules.h"
#include "launch_limits.h"

struct k_cut cut_k(int64_t k, int64_t unit, int64_t most, int64_t cluster)
{
    const int64_t units = k > 0 ? ceil_div(k, unit) : 1;
    const int64_t units_per_split = ceil_div(units, cluster ? cluster : smaller(most, units));
    return (struct k_cut){.k_per_split = units_per_split * unit,
                          .splits = cluster ? cluster : ceil_div(units, units_per_split)};
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

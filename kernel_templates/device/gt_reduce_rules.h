/* SPDX-License-Identifier: MIT */
/* gt_reduce_rules.h — how threads share the sum over splits; read by host (C) and kernels (CUDA C++).
 *
 * A block of REDUCE_THREADS threads computes REDUCE_THREADS / ways vectors of C; `ways` threads share a
 * vector. Each adds a run of neighbouring splits in ascending order, and the first of them adds the runs in
 * ascending order.
 */
#ifndef GT_REDUCE_RULES_H
#define GT_REDUCE_RULES_H

#define REDUCE_THREADS  256
#define REDUCE_WAYS_MAX 32

#ifdef __CUDACC__
#define GT_DEVICE __device__ __forceinline__
#else
#define GT_DEVICE inline
#endif

/* One thread for each vector of a large C. More threads where a small C would leave most of a GPU idle, as
 * long as each has four splits to add. */
static GT_DEVICE int reduce_ways(long long vectors, int splits)
{
    int ways = 1;
    while (ways < REDUCE_WAYS_MAX && vectors * ways < 65536 && splits >= 8 * ways) ways *= 2;
    return ways;
}

#undef GT_DEVICE
#endif

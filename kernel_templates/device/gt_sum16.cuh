/* SPDX-License-Identifier: MIT */
/* gt_sum16.cuh — the sums of teams of warps and of blocks that share a tile of C, in kernels with 16-bit
 * operands: each of WARPS_K teams has put its sums into a tile of floats in shared memory, in rows of C
 * SUMS_ROW(BN) apart, one tile after the other.
 *
 *     tiles of the teams  -->  their sum  -->  lines of C
 *                                         -->  inboxes of a cluster's blocks, which add them (gt_cluster.cuh)
 *                                         -->  parts in the workspace, which the last block adds
 *
 * It uses the names of the family's rules: BM, BN, THREADS, WARPS_K, CLUSTER, TILE_BYTES, AFTER_BYTES,
 * INBOX_FLOATS.
 */
#ifndef GT_SUM16_CUH
#define GT_SUM16_CUH

#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_cluster.cuh"
#include "gt_memory.cuh"
#include "gt_reduce.cuh"
#include "gt_store16.cuh"
#include "gt_teams.cuh"

using cluster = cluster_tile<BM, BN, SUMS_ROW(BN), 4, THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

static __device__ __forceinline__ float *inbox()
{
    return gt_shared_memory() + AFTER_BYTES / 4;
}

/* Destinations of gt_teams.cuh, for vectors of W sums. */
template <int W> struct to_c {
    const struct destination &to;
    int first; /* row of the tile that rows are counted from */

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        if (first + row < BM) to.put<W>(first + row, column, sum); /* a cluster's last share is short */
    }
};

struct to_part {
    float *part;

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        store_global<4>(part + row * BN + column, sum);
    }
};

/* Adds the tiles of all teams of the block, and of all blocks of its cluster, and stores them, in accesses of
 * V elements and at most 4. */
template <int V> static __device__ __forceinline__ void add_tiles(const struct destination &to)
{
    constexpr int ROW = SUMS_ROW(BN), W = V < 4 ? V : 4;
    float *const tiles = gt_shared_memory();
    __syncthreads();
    if constexpr (CLUSTER) {
        cluster::wait_for_others();
        team_tiles<BM, BN, ROW, 4, THREADS, WARPS_K>::add(tiles, cluster::owner<4>{inbox()});
        mbarrier_wait(cluster::full(inbox()), 0);
        team_tiles<cluster::SHARE, BN, ROW, W, THREADS, cluster::BLOCKS>::add(
            inbox(), to_c<W>{to, (int)blockIdx.y * cluster::SHARE});
    } else {
        team_tiles<BM, BN, ROW, W, THREADS, WARPS_K>::add(tiles, to_c<W>{to, 0});
    }
}

/* Adds the tiles of all teams of the block and stores them as its part; the last block of the tile adds all
 * parts, in their order. parts: of the tile, one after the other. */
template <int V>
static __device__ __forceinline__ void add_parts(const struct gemm_args &args, float *parts,
                                                 unsigned *counter, const struct destination &to)
{
    constexpr int W = V < 4 ? V : 4;
    __syncthreads();
    team_tiles<BM, BN, SUMS_ROW(BN), 4, THREADS, WARPS_K>::add(
        gt_shared_memory(), to_part{parts + (long long)blockIdx.y * (BM * BN)});
    if (!last_to_arrive(counter, args.splits, inbox())) return;
#pragma unroll 1
    for (int i = thread_index(); i < BM * BN / W; i += THREADS) {
        const int row = i / (BN / W), column = i % (BN / W) * W;
        float sum[W];
        if (row >= to.m || column >= to.n) continue;
        add_splits<W>(sum, parts + i * W, BM * BN, 0, args.splits);
        to.put<W>(row, column, sum);
    }
}

#endif

/* SPDX-License-Identifier: MIT */
/* gt_cluster.cuh — blocks of a cluster that share a tile of C send each other their sums: no workspace, no
 * second kernel, and every block adds and stores a part of the tile.
 *
 *      block 0      block 1      block 2
 *     +------+     +------+     +------+
 *     |  0   |     |  0   |     |  0   |   ->   inbox of block 0: SHARE rows of the tile,
 *     +------+     +------+     +------+        from block 0, from block 1, from block 2
 *     |  1   |     |  1   |     |  1   |   ->   inbox of block 1: the next SHARE rows
 *     +------+     +------+     +------+
 *     |  2   |     |  2   |     |  2   |   ->   inbox of block 2: the rest
 *     +------+     +------+     +------+
 *      sums of the tile over a third of k,      each adds what its inbox holds, in the order of blocks,
 *      in registers or shared memory            and writes its rows of C
 *
 * One mbarrier counts the bytes that arrive; the inbox is complete when all announced bytes are there. No
 * block waits for anything else or reads another block's memory, so blocks need not end together.
 */
#ifndef GT_CLUSTER_CUH
#define GT_CLUSTER_CUH

#include "gt_barrier.cuh"
#include "gt_cluster_ops.cuh"
#include "gt_teams.cuh"

/* BLOCK_COUNT: blocks of the cluster. They lie along y and are the whole grid in that direction; 0: no
 * cluster. V: width of the stores to C. The inbox has FLOATS floats, is 16-byte aligned, and is followed by
 * the mbarrier. */
template <int TILE_M, int TILE_N, int STRIDE, int V, int THREAD_COUNT, int BLOCK_COUNT> struct cluster_tile {
    static constexpr int BLOCKS = BLOCK_COUNT > 0 ? BLOCK_COUNT : 1;
    static constexpr int SHARE = (TILE_M + BLOCKS - 1) / BLOCKS;
    static constexpr int FLOATS = BLOCKS * SHARE * STRIDE;

    static __device__ __forceinline__ struct mbarrier *full(float *inbox)
    {
        return reinterpret_cast<struct mbarrier *>(inbox + FLOATS);
    }

    /* All threads. Called early, so that the cluster's barrier is complete by the time the sums are ready. */
    static __device__ __forceinline__ void join(float *inbox)
    {
        const int left = TILE_M - (int)blockIdx.y * SHARE;
        const int rows = left < 0 ? 0 : left < SHARE ? left : SHARE;
        if (threadIdx.x == 0) {
            mbarrier_init(full(inbox), 1);
            mbarrier_ready_for_send();
            mbarrier_arrive_expect(full(inbox), BLOCKS * rows * TILE_N * 4, true);
        }
        cluster_arrive();
    }

    /* All threads, before the first of them sends. */
    static __device__ __forceinline__ void wait_for_others() { cluster_wait(); }

    /* Destination of the tile's vectors: the block that adds their row. */
    template <int WIDTH> struct owner {
        float *inbox;

        __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
        {
            const int rank = row / SHARE;
            send<WIDTH>(inbox + ((int)blockIdx.y * SHARE + row - rank * SHARE) * STRIDE + column, sum,
                        full(inbox), rank);
        }
    };

    /* Adds all parts of the block's rows, once they have arrived, and stores them. c is where the tile
     * begins, and where blend counts from; m x n elements of C are left from there. */
    static __device__ __forceinline__ void add(float *inbox, float *c, long long ldc, int m, int n,
                                               blending blend)
    {
        const int begin = blockIdx.y * SHARE;
        mbarrier_wait(full(inbox), 0);
        team_tiles<SHARE, TILE_N, STRIDE, V, THREAD_COUNT, BLOCKS>::add_to_c(
            inbox, c + begin * ldc, ldc, (m < TILE_M ? m : TILE_M) - begin, n, blend_from(blend, begin, 0));
    }
};

#endif

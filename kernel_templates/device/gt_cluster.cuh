/* SPDX-License-Identifier: MIT */
/* gt_cluster.cuh — blocks of a cluster that share a tile of C send each other their sums: no workspace, no
 * second kernel, and every block does its share.
 *
 *      block 0      block 1      block 2
 *     +------+     +------+     +------+
 *     |  0   |     |  0   |     |  0   |   ->   inbox of block 0: SHARE rows of the tile,
 *     +------+     +------+     +------+        from block 0, from block 1, from block 2
 *     |  1   |     |  1   |     |  1   |   ->   inbox of block 1: the next SHARE rows
 *     +------+     +------+     +------+
 *     |  2   |     |  2   |     |  2   |   ->   inbox of block 2: the rest
 *     +------+     +------+     +------+
 *      sums of all the tile over a third        each adds what its inbox holds, in the order of blocks,
 *      of k, in registers or shared memory      and writes its rows of C
 *
 * The inbox is complete when so many bytes have come as were announced, which one mbarrier counts. Nobody
 * waits for anything else, and nobody reads the memory of another block, so blocks need not end together.
 */
#ifndef GT_CLUSTER_CUH
#define GT_CLUSTER_CUH

#include "gt_barrier.cuh"
#include "gt_cluster_ops.cuh"
#include "gt_teams.cuh"

/* BLOCK_COUNT: blocks of the cluster, which lie along y and are all of the grid there; 0: there is none. V:
 * width of what is written to C. The inbox holds FLOATS, 16-byte aligned, and the mbarrier follows. */
template <int TILE_M, int TILE_N, int STRIDE, int V, int THREAD_COUNT, int BLOCK_COUNT> struct cluster_tile {
    static constexpr int BLOCKS = BLOCK_COUNT > 0 ? BLOCK_COUNT : 1;
    static constexpr int SHARE = (TILE_M + BLOCKS - 1) / BLOCKS;
    static constexpr int FLOATS = BLOCKS * SHARE * STRIDE;

    static __device__ __forceinline__ struct mbarrier *full(float *inbox)
    {
        return reinterpret_cast<struct mbarrier *>(inbox + FLOATS);
    }

    /* Early, so that nobody waits when the sums are there. All threads. */
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

    /* Where vectors of the tile go to: the block that adds their row. */
    template <int WIDTH> struct owner {
        float *inbox;

        __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
        {
            const int rank = row / SHARE;
            send<WIDTH>(inbox + ((int)blockIdx.y * SHARE + row - rank * SHARE) * STRIDE + column, sum,
                        full(inbox), rank);
        }
    };

    /* The block's rows, once all parts are there, to c, where the tile begins, of which m x n are left. */
    static __device__ __forceinline__ void add(float *inbox, float *c, long long ldc, int m, int n,
                                               float beta)
    {
        const int begin = blockIdx.y * SHARE;
        mbarrier_wait(full(inbox), 0);
        team_tiles<SHARE, TILE_N, STRIDE, V, THREAD_COUNT, BLOCKS>::add_to_c(
            inbox, c + begin * ldc, ldc, (m < TILE_M ? m : TILE_M) - begin, n, beta);
    }
};

#endif

/* gt_cluster.cuh — blocks of a cluster that share a tile of C add their sums through each other's shared
 * memory: no workspace, no second kernel, and every block does its share.
 *
 *     block 0      block 1      block 2        each puts its sums of the whole tile in its shared memory,
 *     +------+     +------+     +------+       rows STRIDE floats apart;
 *     |  0   |  +  |      |  +  |      |  ->   block 0 adds these rows of all blocks in ascending order,
 *     |      |     |  1   |     |      |       block 1 these,
 *     |      |     |      |     |  2   |       block 2 these, and writes them to C side by side
 *     +------+     +------+     +------+
 */
#ifndef GT_CLUSTER_CUH
#define GT_CLUSTER_CUH

#include "gt_store.cuh"

/* BLOCK_COUNT: blocks of the cluster, which lie along y and are all of the grid there; 0: there is none. V:
 * width of what is read and written, a divisor of TILE_N. */
template <int TILE_M, int TILE_N, int STRIDE, int V, int THREAD_COUNT, int BLOCK_COUNT> struct cluster_tile {
    static constexpr int BLOCKS = BLOCK_COUNT > 0 ? BLOCK_COUNT : 1;
    static constexpr int VECTORS = TILE_M * TILE_N / V;
    static constexpr int SHARE = (VECTORS + BLOCKS - 1) / BLOCKS;
    static constexpr int AT_ONCE = BLOCKS * V * 8 <= 64 ? 8 : BLOCKS * V <= 64 ? 64 / (BLOCKS * V) : 1;

    /* c: the tile's first element, of m x n that are left of C. All blocks call this once they have put. */
    static __device__ __forceinline__ void add(const float *tile, float *c, long long ldc, int m, int n,
                                               float beta)
    {
        cluster_barrier();
        const int begin = blockIdx.y * SHARE, end = begin + SHARE < VECTORS ? begin + SHARE : VECTORS;
#pragma unroll 1
        for (int first = begin + threadIdx.x; first < end; first += AT_ONCE * THREAD_COUNT) {
            float x[AT_ONCE][BLOCKS][V];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int v = first + i * THREAD_COUNT < end ? first + i * THREAD_COUNT : begin;
                const float *const at = tile + v * V / TILE_N * STRIDE + v * V % TILE_N;
#pragma unroll
                for (int b = 0; b < BLOCKS; b++) load_cluster<V>(x[i][b], at, b);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int v = first + i * THREAD_COUNT, row = v * V / TILE_N, column = v * V % TILE_N;
                if (v >= end || row >= m || column >= n) continue;
#pragma unroll
                for (int b = 1; b < BLOCKS; b++)
#pragma unroll
                    for (int e = 0; e < V; e++) x[i][0][e] += x[i][b][e];
                if (beta == 0.0f) store_scaled<V, false>(c + row * ldc + column, x[i][0], 1.0f, beta);
                else store_scaled<V, true>(c + row * ldc + column, x[i][0], 1.0f, beta);
            }
        }
        cluster_barrier(); /* shared memory must stay until the others have read it */
    }
};

#endif

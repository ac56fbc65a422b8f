/* SPDX-License-Identifier: MIT */
/* mma16_store.cuh — sums from the accumulators to C, by way of shared memory: a lane holds pairs of
 * neighbours (gt_store16.cuh), and lines of C are stored whole. Part of mma16.cu.
 *
 *     quads of a warp  -->  strip of 16 rows of C (SWAP: 8)  -->  lines of C         one team, no cluster
 *     quads of a block -->  a tile for each team  -->  their sum  -->  lines of C    teams
 *                                                 -->  inboxes of a cluster's blocks, which add them,  -->
 *                                                      lines of C                    (gt_cluster.cuh)
 */
#ifndef GT_MMA16_STORE_CUH
#define GT_MMA16_STORE_CUH

/* The warp's sums: strips of rows, one after the other, through a piece of shared memory of its own. */
template <int V>
static __device__ __forceinline__ void store_strips(const float (&sum)[QUADS][4],
                                                    const struct destination &to, int row, int column)
{
    constexpr int ROW = SUMS_ROW(WN), VECTORS = WN / V;
    const int lane = thread_index() % 32;
    float *const strip = gt_shared_memory() + thread_index() / 32 * (STRIP_BYTES / 4);
#pragma unroll
    for (int s = 0; s < WM / STRIP; s++) {
        if (s > 0) __syncwarp();
#pragma unroll
        for (int i = 0; i < (SWAP ? LEFTS : RIGHTS); i++)
            put_quad<ROW>(strip, lane / 4 + (SWAP ? i * MMA_M : 0), lane % 4 * 2 + (SWAP ? 0 : i * MMA_N),
                          sum[SWAP ? i * RIGHTS + s : s * RIGHTS + i]);
        __syncwarp();
#pragma unroll 2
        for (int first = 0; first < STRIP * VECTORS; first += 32) {
            const int i = first + lane, r = i / VECTORS, c = i % VECTORS * V;
            if (STRIP * VECTORS % 32 == 0 || i < STRIP * VECTORS) {
                float four[V];
#pragma unroll
                for (int e = 0; e < V; e += 4)
                    load_shared<(V < 4 ? V : 4)>(four + e, strip + r * ROW + c + e);
                to.put<V>(row + s * STRIP + r, column + c, four);
            }
        }
    }
}

/* The warp's sums: to its team's tile. */
static __device__ __forceinline__ void put_tile(const float (&sum)[QUADS][4], int row, int column, int team)
{
    const int lane = thread_index() % 32;
    const int left = (SWAP ? column : row) + lane / 4, right = (SWAP ? row : column) + lane % 4 * 2;
    float *const tile = gt_shared_memory() + team * (TILE_BYTES / 4);
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        put_quad<SUMS_ROW(BN)>(tile, left + q / RIGHTS * MMA_M, right + q % RIGHTS * MMA_N, sum[q]);
}

/* In the workspace. */
static __device__ __forceinline__ float *parts_of_tile(const struct gemm_args &args)
{
    const struct workspace_item item = item_of(args);
    return base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * (BM * BN);
}

static __device__ __forceinline__ unsigned *counter_of_tile(const struct gemm_args &args)
{
    return reinterpret_cast<unsigned *>(args.workspace) + ((long long)blockIdx.z * gridDim.x + blockIdx.x);
}

/* Stores the block's sums as its part of the tile. Returns true for the last block of the tile; its sums are
 * then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[QUADS][4])
{
    using part = tile_part<QUADS, 4, THREADS, MIN_BLOCKS>;
    static_assert(WARPS_K > 1 || part::FLOATS == BM * BN, "a part is a tile");
    float *const parts = parts_of_tile(args);
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, 1.0f);
    if (!last_to_arrive(counter_of_tile(args), args.splits, inbox())) return false;
    part::add(parts, args.splits, sum);
    return true;
}

#endif

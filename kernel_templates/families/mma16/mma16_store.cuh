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
static __device__ __forceinline__ void store_strips(const float (&sum)[QUADS][4],
                                                    const struct destination &to, int row, int column)
{
    constexpr int ROW = SUMS_ROW(WN), VECTORS = WN / VC;
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
            const int i = first + lane, r = i / VECTORS, c = i % VECTORS * VC;
            if (STRIP * VECTORS % 32 == 0 || i < STRIP * VECTORS) {
                float four[VC];
#pragma unroll
                for (int e = 0; e < VC; e += 4)
                    load_shared<(VC < 4 ? VC : 4)>(four + e, strip + r * ROW + c + e);
                to.put<VC>(row + s * STRIP + r, column + c, four);
            }
        }
    }
}

/* As a destination of gt_teams.cuh: vectors of 4, or what C's alignment allows. */
constexpr int VECTOR = VC < 4 ? VC : 4;

struct to_c {
    const struct destination &to;
    int first; /* row of the tile that rows are counted from */

    __device__ __forceinline__ void operator()(int row, int column, const float *sum) const
    {
        if (first + row < BM) to.put<VECTOR>(first + row, column, sum); /* a cluster's last share is short */
    }
};

using cluster = cluster_tile<BM, BN, SUMS_ROW(BN), VECTOR, THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

static __device__ __forceinline__ float *inbox()
{
    return gt_shared_memory() + AFTER_BYTES / 4;
}

/* Adds the sums of all teams of the block, and of all blocks of its cluster, and stores them. */
static __device__ __forceinline__ void share_sums(const float (&sum)[QUADS][4], const struct destination &to,
                                                  int row, int column, int team)
{
    constexpr int ROW = SUMS_ROW(BN);
    const int lane = thread_index() % 32;
    const int left = (SWAP ? column : row) + lane / 4, right = (SWAP ? row : column) + lane % 4 * 2;
    float *const tiles = gt_shared_memory();
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        put_quad<ROW>(tiles + team * (TILE_BYTES / 4), left + q / RIGHTS * MMA_M, right + q % RIGHTS * MMA_N,
                      sum[q]);
    __syncthreads();
    if constexpr (CLUSTER) {
        cluster::wait_for_others();
        team_tiles<BM, BN, ROW, 4, THREADS, WARPS_K>::add(tiles, cluster::owner<4>{inbox()});
        mbarrier_wait(cluster::full(inbox()), 0);
        team_tiles<cluster::SHARE, BN, ROW, VECTOR, THREADS, cluster::BLOCKS>::add(
            inbox(), to_c{to, (int)blockIdx.y * cluster::SHARE});
    } else {
        team_tiles<BM, BN, ROW, VECTOR, THREADS, WARPS_K>::add(tiles, to_c{to, 0});
    }
}

/* Stores the block's sums as its part of the tile. Returns true for the last block of the tile; its sums are
 * then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[QUADS][4])
{
    using part = tile_part<QUADS, 4, THREADS, MIN_BLOCKS>;
    const struct workspace_item item = item_of(args);
    float *const parts =
        base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * part::FLOATS;
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, 1.0f);
    unsigned *const counter =
        reinterpret_cast<unsigned *>(args.workspace) + ((long long)blockIdx.z * gridDim.x + blockIdx.x);
    if (!last_to_arrive(counter, args.splits, inbox())) return false;
    part::add(parts, args.splits, sum);
    return true;
}

#endif

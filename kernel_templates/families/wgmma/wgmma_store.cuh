/* SPDX-License-Identifier: MIT */
/* wgmma_store.cuh — sums from the accumulators to C, by way of shared memory (gt_store16.cuh), where the ring
 * was: all that it holds has been multiplied by then. With WALK it already holds the next tile, and sums pass
 * behind it. Part of wgmma.cu.
 *
 *     quads of a warp's instruction  -->  16 rows of C (SWAP: 64 columns, of a warpgroup)  -->  lines of C
 *     quads of a cluster's block  -->  tile  -->  inboxes of the blocks, which add them  -->  lines of C
 */
#ifndef GT_WGMMA_STORE_CUH
#define GT_WGMMA_STORE_CUH

/* Of the threads that hold sums. */
static __device__ __forceinline__ void consumers_sync()
{
    group_sync(1, CONSUMER_THREADS);
}

/* Threads that share a strip, and their barrier. */
constexpr int STRIP_THREADS = SWAP ? WARPGROUP : 32;

static __device__ __forceinline__ void strip_sync()
{
    if constexpr (SWAP) group_sync(2 + threadIdx.x / WARPGROUP, WARPGROUP);
    else __syncwarp();
}

/* Puts a warp's quads of one instruction into its strip, from column `first` of the instruction on. */
static __device__ __forceinline__ void put_strip(const float (&sum)[QUADS][4], float *strip, int tall,
                                                 int first)
{
    const int lane = threadIdx.x % 32, left = (SWAP ? threadIdx.x % WARPGROUP / 32 * 16 : 0) + lane / 4;
#pragma unroll
    for (int i = 0; i < (SWAP ? RIGHT : STRIP_WIDTH) / 8; i++)
        put_quad<SUMS_ROW(STRIP_WIDTH)>(strip, left, i * 8 + lane % 4 * 2,
                                        sum[tall * (RIGHT / 8) + first / 8 + i]);
}

/* Stores a strip whose first element is at (row, column) of the tile. Vectors at the edge of C go element by
 * element, in a loop, so that this is little code: it is repeated for every strip. */
static __device__ __forceinline__ void store_strip(const struct destination &to, const float *strip, int row,
                                                   int column)
{
    constexpr int VECTORS = STRIP_WIDTH / VC;
#pragma unroll(WALK ? 1 : 2)
    for (int at = 0; at < STRIP_ROWS * VECTORS; at += STRIP_THREADS) {
        const int i = at + threadIdx.x % STRIP_THREADS, r = i / VECTORS, c = i % VECTORS * VC;
        if (STRIP_ROWS * VECTORS % STRIP_THREADS != 0 && i >= STRIP_ROWS * VECTORS) break;
        const float *const from = strip + r * SUMS_ROW(STRIP_WIDTH) + c;
        float values[VC];
        if (VC == 1 || column + c + VC <= to.n) {
#pragma unroll
            for (int e = 0; e < VC; e += 4) load_shared<(VC < 4 ? VC : 4)>(values + e, from + e);
            to.put<VC, true>(row + r, column + c, values);
        } else {
#pragma unroll 1
            for (int e = 0; e < VC; e++) {
                load_shared<1>(values, from + e);
                to.put<1>(row + r, column + c + e, values);
            }
        }
    }
}

/* The block's sums, strip by strip. */
static __device__ __forceinline__ void store_strips(const float (&sum)[QUADS][4],
                                                    const struct destination &to, float *strips)
{
    const int group = threadIdx.x / WARPGROUP, warp = threadIdx.x % WARPGROUP / 32;
    float *const strip = strips + threadIdx.x / STRIP_THREADS * (STRIP_BYTES / 4);
#pragma unroll
    for (int tall = 0; tall < TALL; tall++) {
        const int left = (group * TALL + tall) * WGMMA_M;
#pragma unroll
        for (int first = 0; first < (SWAP ? 1 : RIGHT); first += STRIP_WIDTH) {
            if (WALK || tall > 0) strip_sync();
            put_strip(sum, strip, tall, first);
            strip_sync();
            store_strip(to, strip, SWAP ? 0 : left + warp * 16, SWAP ? left : first);
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

using cluster = cluster_tile<BM, BN, SUMS_ROW(BN), VECTOR, CONSUMER_THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

/* Adds the sums of all blocks of the cluster, and stores them. */
static __device__ __forceinline__ void share_sums(const float (&sum)[QUADS][4], const struct destination &to,
                                                  float *tile, float *inbox)
{
    constexpr int ROW = SUMS_ROW(BN);
    const int left =
        threadIdx.x / WARPGROUP * TALL * WGMMA_M + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        put_quad<ROW>(tile, left + q / (RIGHT / 8) * WGMMA_M, q % (RIGHT / 8) * 8 + threadIdx.x % 4 * 2,
                      sum[q]);
    consumers_sync();
    cluster::wait_for_others();
    team_tiles<BM, BN, ROW, 4, CONSUMER_THREADS, 1>::add(tile, cluster::owner<4>{inbox});
    mbarrier_wait(cluster::full(inbox), 0);
    team_tiles<cluster::SHARE, BN, ROW, VECTOR, CONSUMER_THREADS, cluster::BLOCKS>::add(
        inbox, to_c{to, (int)blockIdx.y * cluster::SHARE});
}

static __device__ __forceinline__ unsigned *arrivals_of_tile(const struct gemm_args &args)
{
    return reinterpret_cast<unsigned *>(args.workspace) + (long long)blockIdx.z * gridDim.x + blockIdx.x;
}

/* Stores the block's sums as its part of the tile. Returns true for the last block of the tile; its sums are
 * then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[QUADS][4],
                                                   float *flag)
{
    using part = tile_part<QUADS, 4, CONSUMER_THREADS, MIN_BLOCKS>;
    const struct workspace_item item = item_of(args);
    float *const parts =
        base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * part::FLOATS;
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, 1.0f);
    if (!last_to_arrive(arrivals_of_tile(args), args.splits, flag)) return false;
    part::add(parts, args.splits, sum);
    return true;
}

/* The threads that hold sums. */
static __device__ __forceinline__ void store_sums(const struct gemm_args &args, struct tile_origin origin,
                                                  float *memory, float *inbox, float (&sum)[QUADS][4])
{
    if constexpr (LAST_BLOCK && !WALK)
        if (args.splits > 1 && !reduce_tile(args, sum, inbox)) return;
    const struct destination to = destination_of(args, origin);
    if (!WALK) consumers_sync(); /* all groups have read the ring */
    if constexpr (CLUSTER) share_sums(sum, to, memory, inbox);
    else store_strips(sum, to, memory + SUMS_AT / 4);
}

/* The other threads, which take part in the barriers of the whole block. */
static __device__ __forceinline__ void stand_by(const struct gemm_args &args, float *inbox)
{
    if constexpr (CLUSTER) cluster::wait_for_others();
    else if (args.splits > 1) last_to_arrive(arrivals_of_tile(args), args.splits, inbox);
}

#endif

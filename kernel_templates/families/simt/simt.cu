/* SPDX-License-Identifier: MIT */
/* simt.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in strict FP32: every product is an fmaf.
 *
 * Block -> warp -> thread tiles (here 4 x 8 lanes), and a pipeline at each level:
 *
 *             BN                     WN                       a lane's TM x TN: pieces of up to 4 x 4,
 *        +-----------+          +-----------+                 LANES_M and LANES_N pieces apart
 *        |     |     |          | 0 2 4..14 |
 *     BM |-----+-----|       WM | 1 3 5..15 |       TN        4 rows of A  x  4 columns of B
 *        |     |warp |          | 16 ..  30 |     +----+      read by one 16-byte load each,
 *        +-----------+          | 17 ..  31 |  TM |    |      so that a warp's loads use every
 *         THREADS =             +-----------+     +----+      bank of shared memory equally
 *         32 BM/WM BN/WN WARPS_K
 *
 *     global memory --> STAGES tiles of BK k in shared memory --> 2 sets of fragments --> TM x TN sums
 *       cp.async, STAGES - 1 tiles ahead, or              one k ahead
 *       registers, loaded two tiles ahead, stored one ahead
 *
 * In shared memory A is stored as [k][m] and B as [k][n]. An operand with another layout in global memory is
 * transposed: in registers while it is copied, or by a kernel that runs before this one and also aligns rows
 * for vectors (PACK, gt_pack.cuh). Blocks may share a tile of C and divide k among them (SPLIT_K). Their
 * parts are added by a kernel that runs after this one (REDUCE 0, gt_reduce.cuh), by the last block to arrive
 * (1, gt_arrive.cuh), or by all of them as a cluster (2 to 8, gt_cluster.cuh). Teams of warps may divide the
 * k of each tile (WARPS_K, gt_teams.cuh). There is one barrier per tile; with LOADER 2 its arrival and its
 * wait are separate. The main loop has no branch and no guard: the first tile takes the remainder of k and is
 * handled before the loop; rows and columns beyond the edge of C read the elements at the edge, and are not
 * stored.
 *
 * Parameters (-D) and their trade-offs: simt_params.def; legal combinations: simt_rules.h; limits of speed:
 * README.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_batch.cuh"
#include "gt_cluster.cuh"
#include "gt_compute.cuh"
#include "gt_memory.cuh"
#include "gt_pack.cuh"
#include "gt_reduce.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"
#include "gt_teams.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "simt_rules.h"

/* Offsets in the workspace for the block's batch item. */
static __device__ __forceinline__ struct workspace_item item_of(const struct gemm_args &args)
{
    return workspace_item(PACK, LAST_BLOCK ? BM : 0, LAST_BLOCK ? BN : 0, args.m, args.n, args.k,
                          CLUSTER ? 1 : args.splits);
}

static __device__ __forceinline__ float *base_of(const struct gemm_args &args,
                                                 const struct workspace_item &item)
{
    return args.workspace + (LAST_BLOCK ? args.counters : 0) + blockIdx.z * item.floats;
}

/* What the main loop reads: an operand, or its packed copy (gemm_pack), whose rows are padded for vectors. */
struct source {
    const float *matrix;
    long long ld;
    int x_end;
};

static __device__ __forceinline__ struct source source_of_a(const struct gemm_args &args)
{
    if (!PACK_A) return {ITEM_OF_BATCH(args, a), args.lda, args.m};
    const int row = (int)packed_row(args.m);
    return {base_of(args, item_of(args)), row, row};
}

static __device__ __forceinline__ struct source source_of_b(const struct gemm_args &args)
{
    if (!PACK_B) return {ITEM_OF_BATCH(args, b), args.ldb, args.n};
    const struct workspace_item item = item_of(args);
    const int row = (int)packed_row(args.n);
    return {base_of(args, item) + item.b, row, row};
}

#include "gt_pipeline.cuh"

/* Stores the block's sums, times alpha, as its part of the tile. Returns true for the last block of the tile;
 * its sums are then those of all of k. */
static __device__ __forceinline__ bool reduce_tile(const struct gemm_args &args, float (&sum)[TM][TN],
                                                   float alpha)
{
    using part = tile_part<TM, TN, THREADS, MIN_BLOCKS>;
    const struct workspace_item item = item_of(args);
    float *const parts =
        base_of(args, item) + item.parts + (long long)blockIdx.x * args.splits * part::FLOATS;
    part::store(parts + (long long)blockIdx.y * part::FLOATS, sum, alpha);
    wait_for_copies();
    unsigned *const counter =
        reinterpret_cast<unsigned *>(args.workspace) + ((long long)blockIdx.z * gridDim.x + blockIdx.x);
    if (!last_to_arrive(counter, args.splits, gt_shared_memory())) return false;
    part::add(parts, args.splits, sum);
    return true;
}

using cluster = cluster_tile<BM, BN, STRIDE_C, VC, THREADS, CLUSTER>;
static_assert(!CLUSTER || INBOX_FLOATS == cluster::FLOATS, "the host must know how large the inbox is");

/* Adds the sums of all teams of the block, and of all blocks of its cluster, and stores them to m x n
 * elements of C from c on, where blend counts from. */
static __device__ __forceinline__ void share_sums(const float (&sum)[TM][TN], bool multiplied, float alpha,
                                                  blending blend, float *c, long long ldc, int m, int n)
{
    const struct thread_place place = place_of(thread_index());
    float *const tiles = gt_shared_memory(), *const inbox = tiles + INBOX_AT;
    if constexpr (CLUSTER) cluster::wait_for_others();
    if constexpr (WARPS_K > 1) {
        wait_for_copies();
        __syncthreads(); /* the stages have been read */
        if (multiplied) end_barriers(tiles, thread_index());
        hand_out<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N>(
            place.row, place.column, sum, alpha,
            place_in_tile<CHUNK_N, STRIDE_C>{tiles + place.team * TILE_FLOATS});
        __syncthreads();
        if constexpr (CLUSTER)
            team_tiles<BM, BN, STRIDE_C, CHUNK_N, THREADS, WARPS_K>::add(tiles,
                                                                         cluster::owner<CHUNK_N>{inbox});
        else team_tiles<BM, BN, STRIDE_C, VC, THREADS, WARPS_K>::add_to_c(tiles, c, ldc, m, n, blend);
    } else if constexpr (CLUSTER) {
        hand_out<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N>(place.row, place.column, sum, alpha,
                                                             cluster::owner<CHUNK_N>{inbox});
    }
    if constexpr (CLUSTER) cluster::add(inbox, c, ldc, m, n, blend);
}

/* Whether the registers have room for more than sums, fragments and the loaders' state. */
static constexpr int REGISTERS = 65536 / (THREADS * MIN_BLOCKS);
static constexpr bool ROOMY = REGISTERS >= TM * TN + 2 * (TM + TN) + 80 && TM * TN + 2 * (TM + TN) <= 160;

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    struct k_range range = k_range_of_split<BK>(blockIdx.y, args.k, args.k_per_split);
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) range.tiles = 0;

    if constexpr (CLUSTER) cluster::join(gt_shared_memory() + INBOX_AT);
    struct tile_origin origin = tile_of_block<BM, BN>(block_index(), args.m, args.n, args.group);
    float sum[TM][TN];
    if (range.tiles > 0) multiply(args, origin, range, sum);
    else clear(args, sum);

    /* Recomputing this costs two divisions; keeping it would cost two registers in the main loop. */
    if constexpr (!ROOMY) origin = tile_of_block<BM, BN>(block_index(), args.m, args.n, args.group);
    const struct thread_place place = place_of(thread_index());
    float *c = ITEM_OF_BATCH(args, c);
    long long ldc = args.ldc;
    float alpha = scalar_of(args.alpha_device, args.alpha);
    blending blend = blend_of(args);
    if (args.k == 0) alpha = 0.0f;
    if (!CLUSTER && args.splits > 1) {
        if constexpr (LAST_BLOCK) {
            if (!reduce_tile(args, sum, alpha)) return;
            alpha = 1.0f;
        } else {
            const struct workspace_item item = item_of(args);
            c = base_of(args, item) + item.parts + (long long)blockIdx.y * args.m * args.n;
            ldc = args.n;
            alpha = 1.0f;
            blend = blend_of_parts(blend);
        }
    }
    if constexpr (CLUSTER || WARPS_K > 1) {
        c += origin.m * ldc + origin.n;
        share_sums(sum, range.tiles > 0, alpha, blend_from(blend, origin.m, origin.n), c, ldc,
                   args.m - origin.m, args.n - origin.n);
        return;
    }
    const int row = origin.m + place.row, column = origin.n + place.column;
    if (blend == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false>(c, ldc, args.m, args.n, row, column,
                                                                          sum, alpha, blend);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(c, ldc, args.m, args.n, row, column,
                                                                         sum, alpha, blend);
}

#if !REDUCE
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS) gemm_reduce(const struct gemm_args args)
{
    const struct workspace_item item = item_of(args);
    reduce_splits<VC>(args, base_of(args, item) + item.parts);
}
#endif

#if PACK
extern "C" __global__ void __launch_bounds__(PACK_THREADS) gemm_pack(const struct gemm_args args)
{
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return; /* then A and B are not read */
    const struct workspace_item item = item_of(args);
    float *const base = base_of(args, item);
    const int blocks_a = PACK_A ? (int)pack_blocks(!TRANS_A, args.m, args.k) : 0;
    const struct packing a = {ITEM_OF_BATCH(args, a),  args.lda, base,
                              (int)packed_row(args.m), args.m,   args.k};
    const struct packing b = {ITEM_OF_BATCH(args, b),  args.ldb, base + item.b,
                              (int)packed_row(args.n), args.n,   args.k};
    if ((int)blockIdx.x < blocks_a) pack_tile<!TRANS_A>(a, blockIdx.x);
    else if (PACK_B) pack_tile<TRANS_B>(b, blockIdx.x - blocks_a);
}
#endif

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
 * docs/kernels.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_async_copy.cuh"
#include "gt_barrier.cuh"
#include "gt_cluster.cuh"
#include "gt_compute.cuh"
#include "gt_load.cuh"
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
    if (!PACK_A) return {args.a + blockIdx.z * args.stride_a, args.lda, args.m};
    const int row = (int)packed_row(args.m);
    return {base_of(args, item_of(args)), row, row};
}

static __device__ __forceinline__ struct source source_of_b(const struct gemm_args &args)
{
    if (!PACK_B) return {args.b + blockIdx.z * args.stride_b, args.ldb, args.n};
    const struct workspace_item item = item_of(args);
    const int row = (int)packed_row(args.n);
    return {base_of(args, item) + item.b, row, row};
}

/* The mbarrier of a stage (TWO_STEPS) is stored in the padding after A's first row. */
static __device__ __forceinline__ struct mbarrier *barrier_of(float *stage)
{
    return reinterpret_cast<struct mbarrier *>(stage + STRIDE_A - 4);
}

/* One mbarrier per stage. A warp arrives when it has stored the values that it held in registers, and so no
 * longer reads the previous stage. A thread arrives as soon as its asynchronous copies have landed. */
static __device__ __forceinline__ void start_barriers(float *stages, int thread)
{
    if constexpr (!TWO_STEPS) return;
    if (thread == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++)
            mbarrier_init(barrier_of(stages + i * STAGE_FLOATS),
                          THREADS / 32 + (ASYNC_A || ASYNC_B ? THREADS : 0));
        mbarrier_ready();
    }
    __syncthreads();
}

/* Called when all threads have passed the last mbarrier. Afterwards the stages' memory may be used for
 * something else. */
static __device__ __forceinline__ void end_barriers(float *stages, int thread)
{
    if constexpr (!TWO_STEPS) return;
    if (thread == 0)
#pragma unroll
        for (int i = 0; i < STAGES; i++) mbarrier_end(barrier_of(stages + i * STAGE_FLOATS));
    __syncthreads();
}

/* The loaders of both operands. */
struct operands {
    operand<tile_loader<BM, BK, STRIDE_A, VA, THREADS, !ALONG_M>, ASYNC_A> a;
    operand<tile_loader<BN, BK, STRIDE_B, VB, THREADS, !ALONG_N>, ASYNC_B> b;
    bool leads; /* the lane that arrives for its warp */

    /* awaited: whether next_stage_ready() will wait for this stage. */
    template <bool GUARD>
    __device__ __forceinline__ void copy(float *stage, bool valid, bool awaited, int count)
    {
        a.copy_async<GUARD>(stage, valid, count);
        b.copy_async<GUARD>(stage + BK * STRIDE_A, valid, count);
        if constexpr (TWO_STEPS && (ASYNC_A || ASYNC_B)) mbarrier_arrive_copies(barrier_of(stage), awaited);
        else if constexpr (ASYNC_A || ASYNC_B) cp_async_commit();
    }

    template <bool GUARD> __device__ __forceinline__ void fetch(bool valid, int count)
    {
        a.fetch_registers<GUARD>(valid, count);
        b.fetch_registers<GUARD>(valid, count);
    }

    __device__ __forceinline__ void put(float *stage) const
    {
        a.put_registers(stage);
        b.put_registers(stage + BK * STRIDE_A);
        if constexpr (TWO_STEPS) {
            __syncwarp();
            mbarrier_arrive(barrier_of(stage), leads);
        }
    }
};

/* Waits until the next stage is complete and all threads may read it. The stage that was read before it, or
 * (TWO_STEPS) the one before that, is then free. parity: of the rounds through all stages. */
static __device__ __forceinline__ void next_stage_ready(float *stage, unsigned parity)
{
    if constexpr (TWO_STEPS) {
        mbarrier_wait(barrier_of(stage), parity);
    } else {
        if constexpr (ASYNC_A || ASYNC_B) cp_async_wait<STAGES - 2>();
        __syncthreads();
    }
}

/* Waits until no copy to shared memory is in flight, including the zero fills beyond the last tile. After a
 * barrier the memory may be used for something else. */
static __device__ __forceinline__ void wait_for_copies()
{
    if constexpr (!ASYNC_A && !ASYNC_B) return;
    if constexpr (TWO_STEPS) cp_async_commit();
    cp_async_wait<0>();
}

#include "gt_fragments.cuh"

/* Position of the first piece of a thread's rows and columns within the block's tile, and its team's share of
 * each tile of k. */
struct thread_place {
    int row, column, team;
};

static __device__ __forceinline__ struct thread_place place_of(int thread)
{
    const int warp = thread / 32 % WARPS;
    const struct lane_place lane = lane_place_of<LANES_M, LANES_N>(thread % 32);
    return {warp / WARPS_N * WM + lane.m * CHUNK_M, warp % WARPS_N * WN + lane.n * CHUNK_N,
            thread / 32 / WARPS};
}

/* Stages are counted in bytes, so that an address is one addition. */
static __device__ __forceinline__ float *stage_at(float *stages, int bytes)
{
    return reinterpret_cast<float *>(reinterpret_cast<char *>(stages) + bytes);
}

static __device__ __forceinline__ int following(int stage)
{
    return stage == (STAGES - 1) * STAGE_BYTES ? 0 : stage + STAGE_BYTES;
}

/* Sets the sums to a 0 that is hidden from the assembler: it clears registers known to be 0 in pairs, and
 * such pairs would keep it from spreading the accumulators over the banks of the register file. */
static __device__ __forceinline__ void clear(const struct gemm_args &args, float (&sum)[TM][TN])
{
    const float zero = args.k < 0 ? 1.0f : 0.0f;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = zero;
}

/* sum = A * B over the block's range of k. */
static __device__ __forceinline__ void multiply(const struct gemm_args &args, struct tile_origin origin,
                                                struct k_range range, float (&sum)[TM][TN])
{
    const int thread = thread_index();
    float *const stages = gt_shared_memory();
    struct operands in;
    const struct source a = source_of_a(args), b = source_of_b(args);
    in.a.start(a.matrix, a.ld, origin.m, a.x_end, range.begin, thread);
    in.b.start(b.matrix, b.ld, origin.n, b.x_end, range.begin, thread);

    in.leads = thread % 32 == 0;
    start_barriers(stages, thread);

    in.fetch<true>(true, range.first);
    in.copy<true>(stages, true, true, range.first);
#pragma unroll
    for (int i = 1; i < TILES_AHEAD; i++)
        in.copy<false>(stages + i * STAGE_FLOATS, i < range.tiles, i <= range.tiles, 0);
    in.put(stages);
    in.fetch<false>(range.tiles > 1, 0);
    clear(args, sum); /* after the first loads have been issued */
    next_stage_ready(stages, 0);

    const struct thread_place place = place_of(thread);
    shared_place at_a = place_in_shared(stages + place.team * (TEAM_K * STRIDE_A) + place.row);
    shared_place at_b =
        place_in_shared(stages + BK * STRIDE_A + place.team * (TEAM_K * STRIDE_B) + place.column);
    struct fragments f;
    f.load(0, at_a, at_b, 0);
    int next = STAGE_BYTES, free = TILES_AHEAD * STAGE_BYTES, now = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int left = range.tiles; left > 0; left--) {
        in.copy<false>(stage_at(stages, TILES_AHEAD == 1 ? next : free), left > TILES_AHEAD,
                       left >= TILES_AHEAD, 0);
#pragma unroll 1
        for (int k = 0; k < TEAM_K - UNROLL; k += UNROLL)
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                f.load((u + 1) % 2, at_a, at_b, k + u + 1);
                add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (u == STORE_AT) {
                in.put(stage_at(stages, next));
                in.fetch<false>(left > 2, 0);
            }
            if (u < UNROLL - 1) {
                f.load((u + 1) % 2, at_a, at_b, TEAM_K - UNROLL + u + 1);
            } else {
                next_stage_ready(stage_at(stages, next), parity);
                at_a = moved(at_a, next - now);
                at_b = moved(at_b, next - now);
                f.load((u + 1) % 2, at_a, at_b, 0);
            }
            add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
        }
        free = TWO_STEPS ? following(free) : now;
        parity ^= following(next) == 0;
        now = next;
        next = following(next);
    }
    if constexpr (TWO_STEPS)
        __syncwarp(); /* lanes may have diverged while they waited; block barriers need whole warps */
}

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
    float *c = args.c + blockIdx.z * args.stride_c;
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
    const struct packing a = {
        args.a + blockIdx.z * args.stride_a, args.lda, base, (int)packed_row(args.m), args.m, args.k};
    const struct packing b = {args.b + blockIdx.z * args.stride_b,
                              args.ldb,
                              base + item.b,
                              (int)packed_row(args.n),
                              args.n,
                              args.k};
    if ((int)blockIdx.x < blocks_a) pack_tile<!TRANS_A>(a, blockIdx.x);
    else if (PACK_B) pack_tile<TRANS_B>(b, blockIdx.x - blocks_a);
}
#endif

/* SPDX-License-Identifier: MIT */
/* mma16.cu — C[m,n] = alpha * op(A) * op(B) + beta * C on tensor cores: FP16 or BF16 operands, exact
 * products, sums in FP32, C in the operands' type or FP32.
 *
 *             BN                     WN = 64, of mma 16 x 8 x 16       A lane's pairs of k in 16 x 16 of A
 *        +-----------+             +-----------------------+           (g = lane / 4, t = lane % 4):
 *        |     |     |             |   |   |   |   ...     |
 *     BM |-----+-----|          WM |---+---+---+-----------|                k ->   2 t     2 t + 8
 *        |     |warp |          64 |   |   |   |           |            m   g      x x       x x
 *        +-----------+             |---+---+---+-----------|                g + 8  x x       x x
 *     WARPS_K of these, each       |   |   |   |           |
 *     with a share of each BK      +-----------------------+           by ldmatrix, or ldmatrix.trans
 *
 *     global memory --> STAGES tiles of BK k in shared memory --> 2 sets of fragments --> sums in registers
 *       cp.async of 16, 8 or 4 bytes,           16 k ahead                    --> lines of C
 *       STAGES - 1 tiles ahead; loads of 2                                        (mma16_store.cuh)
 *
 * Tiles have the same layout in shared memory as in global memory (mma16_copy.cuh): ldmatrix transposes what
 * does not run along k. Operands whose lines begin anywhere may be packed first (gt_pack16.cuh). There is
 * one barrier per tile. The last tile of a block's range of k is filled up with zeros. Blocks may share a
 * tile of C and divide k among them (SPLIT_K): the last one to arrive adds the parts (REDUCE 1), or they are
 * a cluster and send each other their sums (REDUCE above 1, sm_90). Either order of additions is fixed, and
 * with it the result, bit for bit.
 *
 * The items that arrays of pointers name may lie anywhere: those that are not aligned go element by element.
 * What a kernel does that begins early (PDL, ASK) gemv16.cu says.
 *
 * Parameters (-D) and their trade-offs: mma16_params.def; legal combinations: mma16_rules.h. TRANS_A, TRANS_B
 * are 0 or 1, TYPE_A and TYPE_C the elements' types. Launch and arguments: gemm_args.h, where pointers to
 * float stand for pointers to elements.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_async_copy.cuh"
#include "gt_cluster.cuh"
#include "gt_dependent.cuh"
#include "gt_early_args.h"
#include "gt_epilogue.cuh"
#include "gt_load.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_reduce.cuh"
#include "gt_schedule.cuh"
#include "gt_store16.cuh"
#include "gt_stream16.cuh"
#include "gt_teams.cuh"

#define RULE(last, holds, why) static_assert(holds, why);
#include "mma16_rules.h"

/* A warp's instructions by rows and columns of the product. */
constexpr int LEFTS = WARP_LEFT / MMA_M, RIGHTS = WARP_RIGHT / MMA_N, QUADS = LEFTS * RIGHTS;

#include "gt_pack16.cuh"
#include "gt_sum16.cuh"
#include "mma16_copy.cuh"
#include "mma16_store.cuh"

template <int V> using tile_a_of = operand_tile<BM, ALONG_K_A, V>;
template <int V> using tile_b_of = operand_tile<BN, ALONG_K_B, V>;
using tile_a = tile_a_of<VA>; /* of fragments: the layout does not depend on V */
using tile_b = tile_b_of<VB>;

/* What the loaders read: an operand, or its packed copy. */
struct source {
    const unsigned short *matrix;
    long long ld;
};

static __device__ __forceinline__ struct source source_of_a(const struct gemm_args &args)
{
    if (!PACK_A) return {item_of_batch<const unsigned short>(args.a, args.stride_a), args.lda};
    return {packed_a(args), packed_line(TRANS_A ? args.m : args.k)};
}

static __device__ __forceinline__ struct source source_of_b(const struct gemm_args &args)
{
    if (!PACK_B) return {item_of_batch<const unsigned short>(args.b, args.stride_b), args.ldb};
    return {packed_b(args), packed_line(TRANS_B ? args.k : args.n)};
}

/* The loaders of both operands. */
template <int V_A, int V_B> struct operands {
    tile_a_of<V_A> a;
    tile_b_of<V_B> b;

    __device__ __forceinline__ void start(struct source from_a, struct source from_b,
                                          const struct gemm_args &args, struct tile_origin origin, int begin)
    {
        a.start(from_a.matrix, from_a.ld, origin.m, args.m, begin, thread_index());
        b.start(from_b.matrix, from_b.ld, origin.n, args.n, begin, thread_index());
    }

    __device__ __forceinline__ void fetch(shared_place stage, int k_left)
    {
        a.fetch(stage, k_left);
        b.fetch(moved(stage, tile_a::BYTES), k_left);
    }

    __device__ __forceinline__ void put(shared_place stage) const
    {
        a.put(stage);
        b.put(moved(stage, tile_a::BYTES));
    }
};

/* Two sets of fragments for 16 k each: one is multiplied while the other is loaded. */
struct fragments {
    unsigned left[2][LEFTS][4], right[2][RIGHTS][2];

    /* From row, column and k of the stage on. */
    __device__ __forceinline__ void load(int set, shared_place stage, int row, int column, int k, int lane)
    {
        const shared_place a = stage, b = moved(stage, tile_a::BYTES);
        if constexpr (SWAP) {
            tile_b::left_fragments(left[set], b, column, k, lane);
            tile_a::right_fragments(right[set], a, row, k, lane);
        } else {
            tile_a::left_fragments(left[set], a, row, k, lane);
            tile_b::right_fragments(right[set], b, column, k, lane);
        }
    }

    /* Back and forth, so that consecutive instructions share one operand. */
    __device__ __forceinline__ void multiply(int set, float (&sum)[QUADS][4]) const
    {
#pragma unroll
        for (int i = 0; i < LEFTS; i++)
#pragma unroll
            for (int step = 0; step < RIGHTS; step++) {
                const int j = i % 2 == 0 ? step : RIGHTS - 1 - step;
                multiply_add<BF16>(sum[i * RIGHTS + j], left[set][i], right[set][j]);
            }
    }
};

/* First row, column and k of the warp within the block's tile, and its team. */
struct warp_place {
    int row, column, k, team;
};

static __device__ __forceinline__ struct warp_place warp_place_of(int thread)
{
    const int warp = thread / 32 % WARPS, team = thread / 32 / WARPS;
    return {warp / WARPS_N * WM, warp % WARPS_N * WN, team * (BK / WARPS_K), team};
}

/* Waits until the next stage is complete and all threads may read it; the one that was read before it is then
 * free. */
static __device__ __forceinline__ void next_stage_ready()
{
    cp_async_wait<STAGES - 2>();
    __syncthreads();
}

/* sum += the products over so many k. let_next: the next kernel may begin when all copies have started. */
template <int V_A, int V_B>
static __device__ __forceinline__ void multiply(struct operands<V_A, V_B> &in, int k_left, bool let_next,
                                                float (&sum)[QUADS][4])
{
    const int thread = thread_index(), lane = thread % 32, tiles = (k_left - 1) / BK + 1;
    const shared_place stages = place_in_shared(gt_shared_memory());
#pragma unroll 1
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < tiles) {
            in.fetch(moved(stages, i * STAGE_BYTES), k_left);
            in.put(moved(stages, i * STAGE_BYTES));
        }
        k_left -= BK;
        cp_async_commit();
    }

    next_stage_ready();

    constexpr int STEPS = BK / WARPS_K / MMA_K;
    const struct warp_place place = warp_place_of(thread);
    struct fragments f;
    if (PRELOAD) f.load(0, stages, place.row, place.column, place.k, lane);
    int now = 0, free = (STAGES - 1) * STAGE_BYTES; /* offsets of the stages to read and to fill */
#pragma unroll 1
    for (int left = tiles; left > 0; left--) {
        if (left > STAGES - 1) in.fetch(moved(stages, free), k_left);
        k_left -= BK;
        cp_async_commit();
        next_kernel_may_begin(let_next && left == min(STAGES, tiles));
        const int next = now == (STAGES - 1) * STAGE_BYTES ? 0 : now + STAGE_BYTES;
        if (!PRELOAD) f.load(0, moved(stages, now), place.row, place.column, place.k, lane);
#pragma unroll
        for (int step = 0; step < STEPS - 1; step++) {
            f.load((step + 1) % 2, moved(stages, now), place.row, place.column, place.k + (step + 1) * MMA_K,
                   lane);
            f.multiply(step % 2, sum);
        }
        /* Set 0 is the one that is loaded next. */
        constexpr int LAST = (STEPS - 1) % 2, LATE = PRELOAD && LAST == 1;
        if (!LATE) f.multiply(LAST, sum);
        if (left > STAGES - 1) in.put(moved(stages, free));
        next_stage_ready();
        if (PRELOAD) f.load(0, moved(stages, next), place.row, place.column, place.k, lane);
        if (LATE) f.multiply(LAST, sum);
        free = now;
        now = next;
    }
    if (PRELOAD) __syncthreads(); /* sums take the place of fragments that are loaded and not used */
}

/* Whether the host knows how operands are aligned: it does not see the items that arrays of pointers name. */
#if POINTERS
constexpr bool KNOWN_ALIGNED = false;
#else
constexpr bool KNOWN_ALIGNED = true;
#endif

/* Whether V elements can be accessed at once. */
template <int V, class T> static __device__ __forceinline__ bool is_aligned(const T *at)
{
    return KNOWN_ALIGNED || V == 1 || reinterpret_cast<unsigned long long>(at) % (V * sizeof *at) == 0;
}

/* The same where the addresses are known only when the kernel before has ended: they are not aligned,
 * perhaps. */
static __device__ __forceinline__ void multiply_item(const struct gemm_args &args, struct tile_origin origin,
                                                     int begin, int length, bool let_next,
                                                     float (&sum)[QUADS][4])
{
    const struct source a = source_of_a(args), b = source_of_b(args);
    if (is_aligned<VA>(a.matrix) && is_aligned<VB>(b.matrix)) {
        struct operands<VA, VB> in;
        in.start(a, b, args, origin, begin);
        multiply(in, length, let_next, sum);
    } else {
        struct operands<PACK_A ? VA : 1, PACK_B ? VB : 1> in;
        in.start(a, b, args, origin, begin);
        multiply(in, length, let_next, sum);
    }
}

/* Adds what the block's teams and the other blocks have summed up, and stores it in accesses of V elements.
 */
template <int V>
static __device__ __forceinline__ void store(const struct gemm_args &args, const float (&sum)[QUADS][4],
                                             const struct destination &to)
{
    const struct warp_place place = warp_place_of(thread_index());
    if constexpr (!WHOLE_TILES) {
        store_strips<V>(sum, to, place.row, place.column);
    } else {
        put_tile(sum, place.row, place.column, place.team);
        if (LAST_BLOCK && args.splits > 1) add_parts<V>(args, parts_of_tile(args), counter_of_tile(args), to);
        else add_tiles<V>(to);
    }
}

/* Asks L2 for the first k of the block's part of what is not packed. */
static __device__ __forceinline__ void ask_for_operands(const struct early_args &all,
                                                        struct tile_origin origin, int begin, int end)
{
    const struct gemm_args &args = all.gemm;
    if (!can_ask(all, end - begin)) return;
    const int k = min(end - begin, all.ask * EARLY_K);
    if (!PACK_A)
        ask_for_tile<ALONG_K_A, THREADS>(item_of_batch<const unsigned short>(args.a, args.stride_a), args.lda,
                                         origin.m, min(args.m - origin.m, BM), begin, k);
    if (!PACK_B)
        ask_for_tile<ALONG_K_B, THREADS>(item_of_batch<const unsigned short>(args.b, args.stride_b), args.ldb,
                                         origin.n, min(args.n - origin.n, BN), begin, k);
}

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(const __grid_constant__ struct early_args all)
{
    const struct gemm_args &args = all.gemm;
    const struct tile_origin origin = tile_of_block<BM, BN>(block_index(), args.m, args.n, args.group);
    const int begin = blockIdx.y * args.k_per_split, end = min(args.k - begin, args.k_per_split) + begin;
    next_kernel_may_begin(all.pdl == 1);
    ask_for_operands(all, origin, begin, end);
    if constexpr (CLUSTER) cluster::join(inbox());
    struct operands<VA, VB> in;
    if constexpr (KNOWN_ALIGNED) in.start(source_of_a(args), source_of_b(args), args, origin, begin);
    wait_for_kernel_before();
    float sum[QUADS][4];
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[q][e] = 0.0f;
    if (begin < end && scalar_of(args.alpha_device, args.alpha) != 0.0f) {
        if constexpr (KNOWN_ALIGNED) multiply(in, end - begin, all.pdl == 2, sum);
        else multiply_item(args, origin, begin, end - begin, all.pdl == 2, sum);
    }
    if constexpr (LAST_BLOCK && WARPS_K == 1)
        if (args.splits > 1 && !reduce_tile(args, sum)) return;
    const struct destination to = destination_of(args, origin);
    if (is_aligned<VC>(to.c)) store<VC>(args, sum, to);
    else if constexpr (!KNOWN_ALIGNED) store<1>(args, sum, to);
}

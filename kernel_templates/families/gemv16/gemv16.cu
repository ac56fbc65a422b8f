/* SPDX-License-Identifier: MIT */
/* gemv16.cu — C[m,n] = alpha * op(A) * op(B) + beta * C for few rows or few columns: FP16 or BF16 operands,
 * exact products, sums in FP32, C in the operands' type or FP32.
 *
 * One of the operands is large and read once: the time is its size divided by the bandwidth of the memory, if
 * enough loads are in flight. Both go from global memory straight to the fragments of tensor-core
 * instructions, without shared memory and without a barrier before the last sum. With few rows (SIDE 0) B is
 * streamed. Few columns (SIDE 1) are the same problem transposed, C^T = B^T A^T: A is streamed. Below, rows
 * are those of the small operand (m of SIDE 0, n of SIDE 1), columns x those of the streamed one (n, m).
 *
 *       STREAM_ALONG_K = 1                         STREAM_ALONG_K = 0
 *
 *        k ->  0..7   8..15  16..23 24..31         x ->  VX columns of lane 0, 4, 8 ...
 *     x  0    lane 0    1      2      3         k  0 .. 7    lane 0 | lane 4 | .. | lane 28
 *     |  1    lane 4    5      6      7         |  8 .. 15   lane 1 | lane 5 | .. | lane 29
 *     v  .. 7                                   v  ..
 *        8 .. 15   the same lanes again            TX / VX such pieces side by side
 *        .. TX times
 *
 * A product of 16 x 8 by mma.sync adds up 16 k, in any order, if both operands have the same: lane 4 g + t
 * has k = 8 t .. 8 t + 7 of every 32 k of its rows and columns g (gemv16_run.cuh), which makes 16-byte loads
 * of either layout. A run is SPAN of these. Words of neighbours along x are turned into
 * words of neighbours along k by a byte permutation.
 *
 *     warp 0   runs 0 .. DEPTH - 1     WARPS_K DEPTH ..
 *     warp 1   DEPTH .. 2 DEPTH - 1    ..                   each has DEPTH runs on their way
 *     ..
 *
 * Warps that share columns (WARPS_K), and blocks that do (SPLIT_K), add their sums in the end, in ascending
 * order, so the same call gives the same bits: through shared memory, by a cluster (REDUCE 2 to 8) or through
 * the workspace by the last block of a tile to arrive (REDUCE 1).
 *
 * A kernel that begins early (PDL) reads nothing before the kernel before it has ended, which may have
 * written the weights. But it may ask L2 for them (ASK): L2 is where all SMs' writes meet, so what is there
 * is never stale.
 *
 * Parameters (-D) and their trade-offs: gemv16_params.def; legal combinations: gemv16_rules.h. TRANS_A,
 * TRANS_B are 0 or 1, TYPE_A and TYPE_C the elements' types. Launch and arguments: gemm_args.h, where
 * pointers to float stand for pointers to elements.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_cluster.cuh"
#include "gt_dependent.cuh"
#include "gt_early_args.h"
#include "gt_epilogue.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_reduce.cuh"
#include "gt_schedule.cuh"
#include "gt_stream16.cuh"
#include "gt_teams.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "gemv16_rules.h"

#define SWAP 0 /* of gt_store16.cuh; unused */
#include "gt_store16.cuh"

constexpr int BM = TILE_M, BN = TILE_N;

#include "gemv16_run.cuh"
#include "gt_sum16.cuh"

using small_runs = operand_runs<EIGHTS, SMALL_ALONG_K, VS, false>;
using stream_runs = operand_runs<TX, STREAM_ALONG_K, VX, true>;

/* Instructions of a warp: 16 rows by 8 columns each. */
constexpr int TALL = (EIGHTS + 1) / 2;

/* The block's tile and range of k. length <= 0 for a block of a cluster whose range begins beyond k. */
struct part {
    int rows, columns, first_column, begin, length;
};

static __device__ __forceinline__ struct part part_of(const struct gemm_args &args)
{
    struct part part;
    part.rows = SIDE == 0 ? args.m : args.n;
    part.columns = SIDE == 0 ? args.n : args.m;
    part.first_column = blockIdx.x * TILE_X;
    part.begin = blockIdx.y * args.k_per_split;
    part.length = min(args.k - part.begin, args.k_per_split);
    return part;
}

static __device__ __forceinline__ const unsigned short *small_of(const struct gemm_args &args)
{
    return SIDE == 0 ? item_of_batch<const unsigned short>(args.a, args.stride_a)
                     : item_of_batch<const unsigned short>(args.b, args.stride_b);
}

static __device__ __forceinline__ const unsigned short *stream_of(const struct gemm_args &args)
{
    return SIDE == 0 ? item_of_batch<const unsigned short>(args.b, args.stride_b)
                     : item_of_batch<const unsigned short>(args.a, args.stride_a);
}

static __device__ __forceinline__ long long stream_ld(const struct gemm_args &args)
{
    return SIDE == 0 ? args.ldb : args.lda;
}

/* Asks L2 for the first k of the block's part of the streamed operand. */
static __device__ __forceinline__ void ask_for_stream(const struct early_args &all)
{
    const struct part part = part_of(all.gemm);
    if (can_ask(all, part.length))
        ask_for_tile<STREAM_ALONG_K, THREADS>(stream_of(all.gemm), stream_ld(all.gemm), part.first_column,
                                              min(part.columns - part.first_column, TILE_X), part.begin,
                                              min(part.length, all.ask * EARLY_K));
}

struct runs {
    unsigned small[small_runs::WORDS], stream[stream_runs::WORDS];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < small_runs::WORDS; i++) small[i] = 0;
#pragma unroll
        for (int i = 0; i < stream_runs::WORDS; i++) stream[i] = 0;
    }

    /* sum += small * stream: two instructions for each piece of the run. */
    __device__ __forceinline__ void multiply(float (&sum)[TALL][TX][4]) const
    {
#pragma unroll
        for (int step = 0; step < 2 * SPAN; step++) {
            const int piece = step / 2, q = step % 2 * 2;
            unsigned left[TALL][4];
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int eight = 2 * i + e % 2;
                    left[i][e] = eight < EIGHTS
                                     ? small_runs::pair(small, piece, eight < EIGHTS ? eight : 0, q + e / 2)
                                     : 0;
                }
#pragma unroll
            for (int j = 0; j < TX; j++) {
                const unsigned right[2] = {stream_runs::pair(stream, piece, j, q),
                                           stream_runs::pair(stream, piece, j, q + 1)};
#pragma unroll
                for (int i = 0; i < TALL; i++) multiply_add<BF16>(sum[i][j], left[i], right);
            }
        }
    }
};

/* Where the warp finds its runs of both operands. */
struct operands {
    small_runs small;
    stream_runs stream;

    __device__ __forceinline__ void start(const struct gemm_args &args, const struct part &part)
    {
        const int lane = thread_index() % 32, warp = thread_index() / 32;
        small.start(small_of(args), SIDE == 0 ? args.lda : args.ldb, 0, part.rows, part.begin, lane);
        stream.start(stream_of(args), stream_ld(args), part.first_column + warp / WARPS_K * (8 * TX),
                     part.columns, part.begin, lane);
    }
};

/* sum += the products over the warp's runs of the block's range of k. The last warp also takes what is less
 * than a run. */
static __device__ __forceinline__ void multiply(const struct operands &in, const struct part &part,
                                                bool let_next, float (&sum)[TALL][TX][4])
{
    const int warp_k = thread_index() / 32 % WARPS_K;
    const int whole = part.length / RUN_K, rest = part.length % RUN_K;
    struct runs on_the_way[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; d++) on_the_way[d].clear();
    int run = warp_k * DEPTH;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        if (d == DEPTH - 1 && warp_k == WARPS_K - 1 && rest > 0) {
            in.stream.fetch_rest(on_the_way[d].stream, whole, rest);
            in.small.fetch_rest(on_the_way[d].small, whole, rest);
            on_the_way[d].multiply(sum);
        }
        in.stream.fetch(on_the_way[d].stream, run + d, run + d < whole);
        in.small.fetch(on_the_way[d].small, run + d, run + d < whole);
    }
#pragma unroll 1
    for (; run < whole; run += WARPS_K * DEPTH) {
        next_kernel_may_begin(let_next && run + WARPS_K * DEPTH >= whole);
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const int next = run + d + WARPS_K * DEPTH;
            if (run + d < whole) {
                in.stream.exchange(on_the_way[d].stream);
                in.small.exchange(on_the_way[d].small);
                on_the_way[d].multiply(sum);
            }
            in.stream.fetch(on_the_way[d].stream, next, next < whole);
            in.small.fetch(on_the_way[d].small, next, next < whole);
        }
    }
}

/* Puts the warp's sums into its tile in shared memory, in rows and columns of C. */
static __device__ __forceinline__ void put_sums(const float (&sum)[TALL][TX][4])
{
    constexpr int ROW = SUMS_ROW(BN);
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    const int first = warp / WARPS_K * (8 * TX);
    float *const tile = gt_shared_memory() + warp % WARPS_K * (TILE_BYTES / 4);
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int j = 0; j < TX; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int eight = 2 * i + e / 2;
                if (eight >= EIGHTS) continue;
                const int row = small_runs::place(eight, lane / 4);
                const int x = first + stream_runs::place(j, lane % 4 * 2 + e % 2);
                store_shared<1>(tile + (SIDE == 0 ? row * ROW + x : x * ROW + row), &sum[i][j][e]);
            }
}

/* What can be computed before the kernel before has ended: all but the addresses that it may write. */
#if POINTERS
constexpr bool KNOWN_ADDRESSES = false;
#else
constexpr bool KNOWN_ADDRESSES = true;
#endif

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(const __grid_constant__ struct early_args all)
{
    const struct gemm_args &args = all.gemm;
    const struct part part = part_of(args);
    struct operands in;
    next_kernel_may_begin(all.pdl == 1);
    ask_for_stream(all);
    if constexpr (CLUSTER) cluster::join(inbox());
    if constexpr (KNOWN_ADDRESSES) in.start(args, part);
    wait_for_kernel_before();
    float sum[TALL][TX][4];
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int j = 0; j < TX; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) sum[i][j][e] = 0.0f;
    if (part.length > 0 && scalar_of(args.alpha_device, args.alpha) != 0.0f) {
        if constexpr (!KNOWN_ADDRESSES) in.start(args, part);
        multiply(in, part, all.pdl == 2, sum);
    }
    put_sums(sum);
    const struct tile_origin origin = {SIDE == 0 ? 0 : (int)blockIdx.x * TILE_X,
                                       SIDE == 0 ? (int)blockIdx.x * TILE_X : 0};
    const struct destination to = destination_of(args, origin);
    const long long tile = (long long)blockIdx.z * gridDim.x + blockIdx.x;
    if (LAST_BLOCK && args.splits > 1)
        add_parts<VC>(args, args.workspace + args.counters + tile * args.splits * (BM * BN),
                      reinterpret_cast<unsigned *>(args.workspace) + tile, to);
    else add_tiles<VC>(to);
}

/* SPDX-License-Identifier: MIT */
/* skinny.cu — C[m,n] = alpha * op(A) * op(B) + beta * C for few rows or few columns, in strict FP32.
 *
 * One of the operands is large and read once: the time is its size divided by the bandwidth of the memory, if
 * enough loads are in flight. It is streamed from global memory to registers, bypassing shared memory, which
 * holds the small operand. With few rows (SIDE 0) B is streamed. Few columns (SIDE 1) are the same problem
 * transposed, C^T = B^T A^T: A is streamed. Below, rows r are those of the small operand (m of SIDE 0, n of
 * SIDE 1), columns x those of the streamed one (n, m).
 *
 *     STREAM_ALONG_K = 0                           STREAM_ALONG_K = 1
 *
 *      k  x -> LANES_X lanes, VX wide                x  k -> LANES_K lanes, VX wide
 *      |  +----+----+----+----+                     |  +----+----+----+----+
 *      v  |    |    |    |    | warp 0, K_LANE      v  |    |    |    |    | TX columns of a lane
 *         |    |    |    |    | warp 1                 +----+----+----+----+
 *         |    |    |    |    | ..                     |    |    |    |    | the next lane's
 *         +----+----+----+----+                        +----+----+----+----+
 *            TILE_X columns                             warp 0    1    ..
 *
 *     global --> DEPTH fragments of K_LANE k x TX columns in registers --+
 *                                                                        +--> ROWS x TX sums a lane
 *     global --> BUFFERS chunks of ROWS x CHUNK_K in shared memory ------+
 *
 * All lanes of all WARPS_K warps that share columns divide k, and blocks divide it further (SPLIT_K). The
 * sums are added within a warp by shuffles, among warps through shared memory, and among blocks by a cluster
 * (REDUCE 2 to 8) or through the workspace by the last block of a tile to arrive (REDUCE 1): always in the
 * same order, so the same call gives the same bits, whichever block is last.
 *
 * Parameters (-D) and their trade-offs: skinny_params.def; legal combinations: skinny_rules.h; limits of
 * speed: README.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_async_copy.cuh"
#include "gt_barrier.cuh"
#include "gt_batch.cuh"
#include "gt_cluster_ops.cuh"
#include "gt_memory.cuh"
#include "gt_reduce.cuh"
#include "gt_store.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "skinny_rules.h"

/* The problem as this kernel sees it: rows x columns, whichever operand is small. */
struct view {
    const float *small, *stream;
    long long small_ld, stream_ld;
    int rows, columns, first_column; /* of the block's tile */
    /* Range of k; the first step takes the remainder, the others are whole. steps <= 0 for a block of a
     * cluster whose range begins beyond k. */
    int begin, end, first, steps;
};

/* If not `used`, the operands are not accessed. */
static __device__ __forceinline__ struct view view_of(const struct gemm_args &args, bool used)
{
    const float *a = USED_ITEM_OF_BATCH(used && args.k > 0, args, a),
                *b = USED_ITEM_OF_BATCH(used && args.k > 0, args, b);
    const int begin = blockIdx.y * args.k_per_split, rest = args.k - begin;
    const int length = !used ? 0 : rest < args.k_per_split ? rest : args.k_per_split;
    struct view v;
    v.small = SIDE == 0 ? a : b;
    v.stream = SIDE == 0 ? b : a;
    v.small_ld = SIDE == 0 ? args.lda : args.ldb;
    v.stream_ld = SIDE == 0 ? args.ldb : args.lda;
    v.rows = SIDE == 0 ? args.m : args.n;
    v.columns = SIDE == 0 ? args.n : args.m;
    v.first_column = blockIdx.x * TILE_X;
    v.begin = begin;
    v.end = begin + length;
    v.steps = (length + STEP_K - 1) / STEP_K;
    v.first = length > 0 ? length - (v.steps - 1) * STEP_K : 0;
    return v;
}

#include "skinny_small.cuh"
#include "skinny_stream.cuh"
#include "skinny_sum.cuh"

/* Rows of the small operand that are multiplied together. */
#define GROUP_ROWS 4

/* sum += s[e] * stream for one k of a fragment and the rows from r on. The register file reads two values of
 * different banks in a cycle and keeps those that the next instruction uses again. So the rows are walked
 * back and forth, and one factor stays the same. */
static __device__ __forceinline__ void add_rows(float (&sum)[ROWS_W][TX], int r, const float (&s)[GROUP_ROWS],
                                                const struct fragment &stream, int i)
{
#pragma unroll
    for (int e = 0; e < GROUP_ROWS && r + e < ROWS_W; e++)
#pragma unroll
        for (int step = 0; step < TX; step++) {
            const int x = e % 2 ? TX - 1 - step : step;
            sum[r + e][x] = fmaf(s[e], stream.at(i, x), sum[r + e][x]);
        }
}

/* sum += small * stream for one fragment; `small` points at the lane's first k of the step. */
static __device__ __forceinline__ void multiply(float (&sum)[ROWS_W][TX], const struct fragment &stream,
                                                const float *small)
{
    constexpr int PIECE = STREAM_ALONG_K ? VX : K_LANE; /* consecutive k of a lane */
#pragma unroll
    for (int r = 0; r < ROWS_W; r += GROUP_ROWS) {
        float s[K_LANE][GROUP_ROWS];
#pragma unroll
        for (int i = 0; i < K_LANE; i += K_MAJOR ? 1 : PIECE) {
            const float *at = small + offset_of(i / PIECE * PIECE * (STREAM_ALONG_K ? LANES_K : 1));
            if constexpr (K_MAJOR) {
                load_shared<GROUP_ROWS>(s[i], at + i % PIECE * ROWS_S + r);
            } else {
#pragma unroll
                for (int e = 0; e < GROUP_ROWS && r + e < ROWS_W; e++) {
                    float row[PIECE];
                    load_shared<PIECE>(row, at + (r + e) * STRIDE_S);
#pragma unroll
                    for (int k = 0; k < PIECE; k++) s[i + k][e] = row[k];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < K_LANE; i++) add_rows(sum, r, s[i], stream, i);
    }
}

/* sum = the products over the block's range of k. Fragments are fetched DEPTH steps ahead, the small operand
 * BUFFERS - 1 chunks ahead. The first loads are issued before all other work, which then runs while they are
 * in flight. */
static __device__ __forceinline__ void multiply_range(float (&sum)[ROWS_W][TX], const struct view &view)
{
    const struct place place = place_of(threadIdx.x);
    float *const buffers = gt_shared_memory();
    struct stream stream;
    struct fragment f[DEPTH];
    if constexpr (CLUSTER) join_cluster(); /* its fence would wait for copies in flight */
    stream.start(view, place);
    stream.fetch<true>(f[0], true, view.first);
#pragma unroll
    for (int d = 1; d < DEPTH; d++) stream.fetch<false>(f[d], d < view.steps, 0);
    copy_chunk<true>(buffers, view, 0);
#pragma unroll 1
    for (int chunk = 1; chunk < BUFFERS - 1; chunk++) copy_chunk<false>(buffers, view, chunk);
    /* Registers known to be zero would be cleared in pairs, which fixes their banks. Vector stores of the
     * unchanged sums would fix them, too, hence the product with alpha there. */
    const float zero = view.rows < 0 ? 1.0f : 0.0f;
#pragma unroll
    for (int r = 0; r < ROWS_W; r++)
#pragma unroll
        for (int x = 0; x < TX; x++) sum[r][x] = zero;

    const int lane_k = (place.warp_k * LANES_K) * K_LANE + place.lane_k * (STREAM_ALONG_K ? VX : K_LANE);
    int step = 0;
#pragma unroll 1
    for (int chunk = 0; step < view.steps; chunk++) {
        chunk_ready();
        copy_chunk<false>(buffers, view, chunk + BUFFERS - 1);
        const float *small = buffers + chunk % BUFFERS * BUFFER_FLOATS + offset_of(lane_k) +
                             place.warp_r * ROWS_W * (K_MAJOR ? 1 : STRIDE_S);
#pragma unroll 1
        for (int i = 0; i < STEPS && step < view.steps; i += DEPTH) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                if (step + d < view.steps) {
                    multiply(sum, f[d], small + offset_of(d * STEP_K));
                    stream.fetch<false>(f[d], step + d + DEPTH < view.steps, 0);
                }
            step += DEPTH;
            small += offset_of(DEPTH * STEP_K);
        }
    }
    if constexpr (LOADER > 0) cp_async_wait<0>(); /* an empty range has not waited */
}

extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    const struct view view = view_of(args, scalar_of(args.alpha_device, args.alpha) != 0.0f);
    float sum[ROWS_W][TX];
    multiply_range(sum, view);
    /* Not loaded earlier: alpha and beta would occupy registers in the main loop. */
    const float alpha = args.k > 0 ? scalar_of(args.alpha_device, args.alpha) : 0.0f;
    const blending blend = blend_of(args);
    add_lanes_and_warps(args, view, sum, alpha, blend);
    if constexpr (CLUSTER) add_cluster(args, view, blend);
    else if (args.splits > 1 && last_of_tile(args)) add_blocks(args, view, blend);
}

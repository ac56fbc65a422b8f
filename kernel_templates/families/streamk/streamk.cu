/* SPDX-License-Identifier: MIT */
/* streamk.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in strict FP32, by as many blocks as the GPU holds
 * at once, all of which have equally much to multiply: no last wave of tiles leaves SMs idle (stream-K: Osama
 * et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU",
 * PPoPP 2023).
 *
 *     blocks 0 1 2, tiles of C as wide as they take long:
 *
 *     a tile a block                          streamk
 *     0 [ tile 0 ][ tile 3 ]                  0 [ tile 0 ][ 1 .. ]
 *     1 [ tile 1 ]                            1 [ .. 1 ][ tile 2 ]...      time ->
 *     2 [ tile 2 ]                            2 ...
 *
 * streamk_line.h says which tiles, and which of their k, each block multiplies: first its share of the tiles
 * that are divided, then whole ones. The main loop is simt's (gt_pipeline.cuh), and so are the tiles of
 * block, warp and thread (simt.cu has a picture). Sums of a part of k go to the workspace; the last block of
 * a tile to arrive adds them and stores the tile (streamk_parts.cuh). No block waits for another one. The
 * order of additions is fixed, and with it the result, bit for bit.
 *
 * Launch: args.splits blocks share the work, the host makes the grid (x, 1, batch items) no smaller; those
 * beyond them return at once. Parameters (-D) and their trade-offs: streamk_params.def; legal combinations:
 * streamk_rules.h. TRANS_A, TRANS_B are 0 or 1. Arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_memory.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"
#include "streamk_line.h"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "streamk_rules.h"

/* What the main loop reads. */
struct source {
    const float *matrix;
    long long ld;
    int x_end;
};

static __device__ __forceinline__ struct source source_of_a(const struct gemm_args &args)
{
    return {args.a, args.lda, args.m};
}

static __device__ __forceinline__ struct source source_of_b(const struct gemm_args &args)
{
    return {args.b, args.ldb, args.n};
}

#include "gt_pipeline.cuh"
#include "streamk_parts.cuh"

/* Of the grid. */
static __device__ __forceinline__ int this_block()
{
    return blockIdx.z * gridDim.x + blockIdx.x;
}

static __device__ __forceinline__ bool nothing_to_multiply(const struct gemm_args &args)
{
    return args.k == 0 || scalar_of(args.alpha_device, args.alpha) == 0.0f;
}

static __device__ __forceinline__ int tiles_of_item(const struct gemm_args &args)
{
    return ((args.m - 1) / BM + 1) * ((args.n - 1) / BN + 1);
}

static __device__ __forceinline__ struct line line_of(const struct gemm_args &args)
{
    return line_of(tiles_of_item(args) * (int)gridDim.z,
                   nothing_to_multiply(args) ? 1 : (args.k - 1) / BK + 1, args.splits);
}

/* The first tile of k is the short one. */
static __device__ __forceinline__ struct k_range k_range_of(const struct piece &piece, int k, int depth)
{
    const int first = k - (depth - 1) * BK;
    if (piece.begin == 0) return {0, piece.count, first};
    return {first + (piece.begin - 1) * BK, piece.count, BK};
}

/* The arguments of one batch item, wherever the block is in the grid. */
static __device__ __forceinline__ struct gemm_args args_of_item(struct gemm_args args, int item)
{
    args.a += item * args.stride_a;
    args.b += item * args.stride_b;
    args.c += item * args.stride_c;
#if EPILOGUE
    args.source += item * args.stride_c;
    if (BIAS) args.bias += item * args.stride_bias;
    args.stride_bias = 0;
#endif
    return args;
}

/* A tile of the batch: its item, and its place in C. */
struct tile_place {
    int item;
    struct tile_origin origin;
};

static __device__ __forceinline__ struct tile_place place_of_tile(const struct gemm_args &args, int tile)
{
    const int tiles = tiles_of_item(args), item = tile / tiles;
    return {item, tile_of_block<BM, BN>(tile - item * tiles, args.m, args.n, args.group)};
}

static __device__ __forceinline__ void store(const struct gemm_args &args, const struct tile_place &tile,
                                             const float (&sum)[TM][TN])
{
    const struct gemm_args item = args_of_item(args, tile.item);
    const float alpha = args.k == 0 ? 0.0f : scalar_of(args.alpha_device, args.alpha);
    const blending blend = blend_of(item);
    const struct thread_place place = place_of(thread_index());
    const int row = tile.origin.m + place.row, column = tile.origin.n + place.column;
    if (blend == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false>(item.c, args.ldc, args.m, args.n,
                                                                          row, column, sum, alpha, blend);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(item.c, args.ldc, args.m, args.n,
                                                                         row, column, sum, alpha, blend);
}

static __device__ __forceinline__ void multiply_piece(const struct gemm_args &args, int at,
                                                      float (&sum)[TM][TN])
{
    const struct line line = line_of(args);
    const struct piece piece = piece_at(line, this_block(), at);
    const struct tile_place tile = place_of_tile(args, piece.tile);
    multiply(args_of_item(args, tile.item), tile.origin, k_range_of(piece, args.k, line.depth), sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    if (this_block() >= args.splits) return;
    int at = start_of(line_of(args), this_block());
#pragma unroll 1
    while (at < end_of(line_of(args))) {
        float sum[TM][TN];
        if (nothing_to_multiply(args)) clear(args, sum);
        else multiply_piece(args, at, sum);

        /* Recomputing this costs some divisions; keeping it would cost registers in the main loop. */
        const struct line line = line_of(args);
        const struct piece piece = piece_at(line, this_block(), at);
        wait_for_copies();
        if (piece.count == line.depth || join_parts(args, line, piece, this_block(), sum))
            store(args, place_of_tile(args, piece.tile), sum);
        __syncthreads();
        if (!nothing_to_multiply(args)) end_barriers(gt_shared_memory(), thread_index());
        at = piece.next;
    }
}

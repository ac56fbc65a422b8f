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
#include "streamk_notes.cuh"
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

/* Multiplies a piece of a tile, and notes what is wanted of it afterwards. */
static __device__ __forceinline__ void multiply_piece(const struct gemm_args &args, const struct piece &piece,
                                                      int depth, float (&sum)[TM][TN])
{
    const int tiles = tiles_of_item(args), item = gridDim.z == 1 ? 0 : piece.tile / tiles;
    const struct tile_origin origin =
        tile_of_block<BM, BN>(piece.tile - item * tiles, args.m, args.n, args.group);
    note(NOTE_TILE, piece.tile);
    note(NOTE_COUNT, piece.count);
    note(NOTE_NEXT, piece.next);
    note(NOTE_ITEM, item);
    note(NOTE_M, origin.m);
    note(NOTE_N, origin.n);
    if (nothing_to_multiply(args)) {
        clear(args, sum);
        __syncthreads();
        return;
    }
    /* The first tile of k is the short one. */
    const int first = args.k - (depth - 1) * BK;
    struct k_range range = {0, piece.count, first};
    if (piece.begin > 0) range = {first + (piece.begin - 1) * BK, piece.count, BK};
    multiply(args_of_item(args, item), origin, range, sum);
    wait_for_copies();
}

/* Stores the noted tile. */
static __device__ __forceinline__ void store(const struct gemm_args &args, const float (&sum)[TM][TN])
{
    const struct gemm_args item = args_of_item(args, noted(NOTE_ITEM));
    const float alpha = args.k == 0 ? 0.0f : scalar_of(args.alpha_device, args.alpha);
    const blending blend = blend_of(item);
    const struct thread_place place = place_of(thread_index());
    const int row = noted(NOTE_M) + place.row, column = noted(NOTE_N) + place.column;
    if (blend == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false>(item.c, args.ldc, args.m, args.n,
                                                                          row, column, sum, alpha, blend);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(item.c, args.ldc, args.m, args.n,
                                                                         row, column, sum, alpha, blend);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    if (this_block() >= args.splits) return;
    const struct line whole = line_of(args);
    int at = first_unit(whole, this_block());
    note_line(whole, first_unit(whole, this_block() + 1));
    __syncthreads();
#pragma unroll 1
    for (;;) {
        float sum[TM][TN];
        {
            const struct line line = noted_line(args.splits);
            if (at == end_of(line)) return;
            multiply_piece(args, piece_at(line, noted(NOTE_SHARE_END), this_block(), at), line.depth, sum);
        }
        if (noted(NOTE_COUNT) == noted(NOTE_DEPTH) || join_parts(args, this_block(), sum)) store(args, sum);
        at = noted(NOTE_NEXT);
        __syncthreads();
        if (!nothing_to_multiply(args)) end_barriers(gt_shared_memory(), thread_index());
    }
}

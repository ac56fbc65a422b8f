/* SPDX-License-Identifier: MIT */
/* streamk.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in strict FP32, by as many blocks as the GPU holds
 * at once, all of which have equally much to multiply: no last wave of tiles leaves SMs idle (stream-K: Osama
 * et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU",
 * PPoPP 2023).
 *
 *     4 tiles of C for 3 blocks, each digit a third of the k of that tile:
 *
 *               a tile a block            streamk
 *     block 0   [0 0 0][3 3 3]            [0 0 0][1]
 *     block 1   [1 1 1]                   [1 1][2 2]
 *     block 2   [2 2 2]                   [2][3 3 3]
 *                time ->
 *
 * streamk_line.h says which tiles, and which of their k, each block multiplies: first its share of the tiles
 * that are divided, then whole ones. The main loop is simt's (gt_pipeline.cuh), and so are the tiles of
 * block, warp and thread (simt.cu has a picture). Sums of a part of k go to the workspace; the last block of
 * a tile to arrive adds them and stores the tile (streamk_parts.cuh). No block waits for another one. The
 * order of additions is fixed, and with it the result, bit for bit. WHOLE=1: no tile is divided, each block
 * multiplies one whole tile after the other; args.counters is then 0.
 *
 * With PRELOAD a block loads the first k of its next piece while it stores the tile before:
 *
 *     load  multiply ........  load  multiply ........  load
 *           |                  store                    store
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

/* This block's line. Without counters no tile may be divided. */
static __device__ __forceinline__ struct line line_of(const struct gemm_args &args)
{
    const int tiles = tiles_of_item(args) * (int)gridDim.z;
    const int depth = nothing_to_multiply(args) ? 1 : (args.k - 1) / BK + 1;
    if (args.counters == 0) return line_of_whole_tiles(tiles, depth, args.splits, this_block());
    return line_of(tiles, depth, args.splits);
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

/* multiply() in two steps. */
static __device__ __forceinline__ void start_product(const struct gemm_args &args, struct tile_origin origin,
                                                     struct k_range range, struct operands &in)
{
    const int thread = thread_index();
    float *const stages = gt_shared_memory();
#include "gt_start_product.cuh"
}

static __device__ __forceinline__ void finish_product(const struct gemm_args &args, struct k_range range,
                                                      struct operands &in, float (&sum)[TM][TN])
{
    const int thread = thread_index();
    float *const stages = gt_shared_memory();
#include "gt_finish_product.cuh"
}

/* What a block multiplies at a time, and where. */
struct work {
    int item;
    struct tile_origin origin;
    struct k_range range;
};

/* The block's piece at `at`, which is noted. */
static __device__ __forceinline__ struct work work_at(const struct gemm_args &args, int at)
{
    const struct line line = noted_line(args.splits);
    const struct piece piece = piece_at(line, noted(NOTE_SHARE_END), this_block(), at);
    const int tiles = tiles_of_item(args), item = gridDim.z == 1 ? 0 : piece.tile / tiles;
    const struct tile_origin origin =
        tile_of_block<BM, BN>(piece.tile - item * tiles, args.m, args.n, args.group);
    note_piece(piece, item, origin);
    /* The first tile of k is the short one. */
    const int first = args.k - (line.depth - 1) * BK;
    struct k_range range = {0, piece.count, first};
    if (piece.begin > 0) range = {first + (piece.begin - 1) * BK, piece.count, BK};
    return {item, origin, range};
}

/* After it the stages are free, and the notes of the piece have been read. */
static __device__ __forceinline__ void leave_piece(const struct gemm_args &args)
{
    __syncthreads();
    if (!nothing_to_multiply(args)) end_barriers(gt_shared_memory(), thread_index());
}

/* Stores the piece's sums, alone or with those of the tile's other pieces. */
static __device__ __forceinline__ void store(const struct gemm_args &args, const struct noted_piece &piece,
                                             float (&sum)[TM][TN])
{
    if (piece.count != noted(NOTE_DEPTH) && !join_parts(args, this_block(), piece.tile, sum)) return;
    const struct gemm_args item = args_of_item(args, piece.item);
    const float alpha = args.k == 0 ? 0.0f : scalar_of(args.alpha_device, args.alpha);
    const blending blend = blend_of(item);
    const struct thread_place place = place_of(thread_index());
    const int row = piece.origin.m + place.row, column = piece.origin.n + place.column;
    if (blend == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false>(item.c, args.ldc, args.m, args.n,
                                                                          row, column, sum, alpha, blend);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(item.c, args.ldc, args.m, args.n,
                                                                         row, column, sum, alpha, blend);
}

/* The block's pieces, each stored before the next one. */
static __device__ __forceinline__ void multiply_and_store(const struct gemm_args &args, int at)
{
#pragma unroll 1
    while (at != end_of(noted_line(args.splits))) {
        float sum[TM][TN];
        {
            const struct work work = work_at(args, at);
            if (nothing_to_multiply(args)) clear(args, sum);
            else multiply(args_of_item(args, work.item), work.origin, work.range, sum);
        }
        if (nothing_to_multiply(args)) __syncthreads(); /* as the main loop does: the piece is noted */
        wait_for_copies();
        store(args, piece_noted(), sum);
        at = noted(NOTE_NEXT);
        leave_piece(args);
    }
}

/* The same, each stored while the first k of the next one is on its way. There is one place where loads
 * start: with two, the compiler would no longer know how a loader's addresses are related, and keep them all.
 */
static __device__ __forceinline__ void multiply_while_storing(const struct gemm_args &args, int at)
{
    const int begin = at;
    struct noted_piece last;
    float sum[TM][TN];
#pragma unroll 1
    for (;;) {
        const int end = end_of(noted_line(args.splits));
        struct work work = work_at(args, at != end ? at : begin);
        struct operands in;
        if (at != end && !nothing_to_multiply(args))
            start_product(args_of_item(args, work.item), work.origin, work.range, in);
        if (at != begin) store(args, last, sum);
        if (at == end) break;
        if (nothing_to_multiply(args)) clear(args, sum);
        else finish_product(args, work.range, in, sum);
        if (nothing_to_multiply(args)) __syncthreads();
        wait_for_copies();
        last = piece_noted();
        at = last.next;
        leave_piece(args);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    if (this_block() >= args.splits) return;
    const struct line line = line_of(args);
    const int at = first_unit(line, this_block());
    if (at == end_of(line)) return;
    note_line(line, first_unit(line, this_block() + 1));
    __syncthreads();
    if (PRELOAD) multiply_while_storing(args, at);
    else multiply_and_store(args, at);
}

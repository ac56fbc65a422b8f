/* SPDX-License-Identifier: MIT */
/* mma.cu — C[m,n] = alpha * op(A) * op(B) + beta * C on tensor cores: operands are FP32 rounded to TF32 (to
 * nearest, 10 bits of fraction), products exact, sums FP32.
 *
 *             BN                    WN = 64, of mma 16 x 8 x 8         A lane's 4 rows x 4 columns of each
 *        +-----------+            +-----------------------+            32 x 32 at k = t, and t + 4:
 *        |     |     |            | 32 x 32   | 32 x 32   |
 *     BM |-----+-----|         WM | = 2 x 4   |           |               k ->        A: neighbours down a
 *        |     |warp |         64 | mma       |           |             t   t+4          column, or four
 *        +-----------+            |-----------+-----------|         m   x   x            matrices by ldmatrix
 *     THREADS = 32 warps          | 32 x 32   |           |             x   x
 *                                 |           |           |             x   x
 *                                 +-----------------------+             x   x         B: the same across
 *
 *     global memory --> STAGES tiles of BK k in shared memory --> 2 sets of fragments --> sums in registers
 *       cp.async, STAGES - 1 tiles ahead                     8 k ahead, rounded before use
 *
 * Tiles have the same layout in shared memory as in global memory. They need no transposing, since an element
 * of a TF32 fragment is a whole register and can be read along either side (mma_copy.cuh). The 16 rows and 8
 * columns of C that belong to an instruction, or 16 columns and 8 rows if SWAPPED, are chosen so that a load
 * from shared memory fills two or four registers, mostly those that mma takes, and every store to C covers
 * four neighbouring columns. There is one barrier per tile. The main
 * loop has no guard: the first tile takes the remainder of k and is filled up with zeros; sums beyond the
 * edges of C are not stored. Blocks may share a tile of C and divide k among them (SPLIT_K); their parts are
 * added by a kernel that runs after this one (gt_reduce.cuh).
 *
 * Parameters (-D) and their trade-offs: mma_params.def; legal combinations: mma_rules.h. TRANS_A, TRANS_B are
 * 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_async_copy.cuh"
#include "gt_batch.cuh"
#include "gt_load.cuh"
#include "gt_memory.cuh"
#include "gt_mma.cuh"
#include "gt_reduce.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"

#define RULE(last, holds, why) static_assert(holds, why);
#include "mma_rules.h"

#include "mma_copy.cuh"

using tile_a = tile_of<!SWAPPED, ALONG_K_A, BM, VA>::type;
using tile_b = tile_of<SWAPPED, ALONG_K_B, BN, VB>::type;
using tile_left = tile_of<true, SWAPPED ? ALONG_K_B : ALONG_K_A, SWAPPED ? BN : BM, SWAPPED ? VB : VA>::type;

/* The loaders of both operands. */
struct operands {
    tile_a a;
    tile_b b;

    template <bool GUARD> __device__ __forceinline__ void copy(int stage, bool valid, int count)
    {
        a.template copy<GUARD>(stage, valid, count);
        b.template copy<GUARD>(stage, valid, count);
        cp_async_commit();
    }
};

/* Of the warp's mma instructions, by the rows of the left operand and the columns of the right one. */
struct sums {
    static constexpr int ROWS = (SWAPPED ? WN : WM) / MMA_M, COLUMNS = (SWAPPED ? WM : WN) / MMA_N;

    float of[ROWS][COLUMNS][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) of[i][j][e] = 0.0f;
    }

    /* By a lane's values of A and B, the numbers of their x in mma_copy.cuh; half: 0 or 1, the right
     * operand's lane g = 2 t or 2 t + 1. */
    __device__ __forceinline__ float at(int i, int j, int half) const
    {
        const int left = SWAPPED ? j : i, right = SWAPPED ? i : j;
        return of[left / 2][right][left % 2 * 2 + half];
    }
};

/* sum += x y for 8 k. Back and forth, so that consecutive instructions share one operand. */
template <int LEFT, int RIGHT>
static __device__ __forceinline__ void multiply_fragments(const float (&x)[LEFT][2],
                                                          const float (&y)[RIGHT][2], struct sums &sum)
{
#pragma unroll
    for (int i = 0; i < LEFT / 2; i++)
#pragma unroll
        for (int step = 0; step < RIGHT; step++) {
            const int j = i % 2 == 0 ? step : RIGHT - 1 - step;
            multiply_add_tf32(sum.of[i][j], x[2 * i][0], x[2 * i + 1][0], x[2 * i][1], x[2 * i + 1][1],
                              y[j][0], y[j][1]);
        }
}

/* Two sets of fragments for 8 k each: one is multiplied while the other is loaded. */
struct fragments {
    float a[2][WM / 8][2], b[2][WN / 8][2];

    int other; /* floats from a lane's first two of four x to the other two, where the left operand TURNS */

    __device__ __forceinline__ void load(int set, shared_place at_a, shared_place at_b, int k)
    {
        tile_a::template fragment<WM>(a[set], at_a, other, k);
        tile_b::template fragment<WN>(b[set], at_b, other, k);
    }

    __device__ __forceinline__ void round(int set)
    {
#pragma unroll
        for (int i = 0; i < WM / 8; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) a[set][i][h] = tile_a::rounded(a[set][i][h]);
#pragma unroll
        for (int j = 0; j < WN / 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) b[set][j][h] = tile_b::rounded(b[set][j][h]);
    }

    __device__ __forceinline__ void multiply(int set, struct sums &sum) const
    {
        if constexpr (SWAPPED) multiply_fragments(b[set], a[set], sum);
        else multiply_fragments(a[set], b[set], sum);
    }
};

/* First row and column of the warp within the block's tile. */
struct warp_place {
    int row, column;
};

static __device__ __forceinline__ struct warp_place warp_place_of(int thread)
{
    const int warp = thread / 32;
    return {warp / WARPS_N * WM, warp % WARPS_N * WN};
}

/* Waits until the next stage is complete and all threads may read it; the one that was read before it is then
 * free. */
static __device__ __forceinline__ void next_stage_ready()
{
    cp_async_wait<STAGES - 2>();
    __syncthreads();
}

/* sum += the products over the block's range of k. */
static __device__ __forceinline__ void multiply(const struct gemm_args &args, struct tile_origin origin,
                                                struct k_range range, struct sums &sum)
{
    const int thread = thread_index();
    float *const stages = gt_shared_memory();
    struct operands in;
    in.a.start(ITEM_OF_BATCH(args, a), args.lda, origin.m, args.m, range.begin, stages, thread);
    in.b.start(ITEM_OF_BATCH(args, b), args.ldb, origin.n, args.n, range.begin, stages + TILE_FLOATS(BM),
               thread);
    in.copy<true>(0, true, range.first);
#pragma unroll
    for (int i = 1; i < STAGES - 1; i++) in.copy<false>(i * STAGE_FLOATS, i < range.tiles, 0);
    next_stage_ready();

    const struct warp_place place = warp_place_of(thread);
    shared_place at_a = place_in_shared(stages + tile_a::corner(place.row, thread % 32));
    shared_place at_b = place_in_shared(stages + TILE_FLOATS(BM) + tile_b::corner(place.column, thread % 32));
    struct fragments f;
    f.other = 2 - 2 * turn_of(thread % 32 / 4);
    f.load(0, at_a, at_b, 0);
    int now = 0, free = (STAGES - 1) * STAGE_FLOATS; /* offsets of the stages to read and to fill */
#pragma unroll 1
    for (int left = range.tiles; left > 0; left--) {
        in.copy<false>(free, left > STAGES - 1, 0);
        const int next = now == (STAGES - 1) * STAGE_FLOATS ? 0 : now + STAGE_FLOATS;
#pragma unroll
        for (int k = 0; k < BK; k += MMA_K) {
            const int set = k / MMA_K % 2;
            if (k < BK - MMA_K) {
                f.load(1 - set, at_a, at_b, k + MMA_K);
            } else {
                next_stage_ready();
                at_a += next - now;
                at_b += next - now;
                f.load(1 - set, at_a, at_b, 0);
            }
            f.round(set);
            f.multiply(set, sum);
        }
        free = now;
        now = next;
    }
}

/* From row `row` and column `column` on, the warp's part of C; a lane has four neighbours of a row at a time.
 */
template <bool BLEND>
static __device__ __forceinline__ void store_sums(float *c, long long ldc, int m, int n, int row, int column,
                                                  const struct sums &sum, float alpha, blending blend)
{
    const int lane = thread_index() % 32, g = lane / 4, t = lane % 4;
    const int turn = tile_left::TURNS ? turn_of(g) : 0;
    row += 4 * (SWAPPED ? t : place(g));
    column += 4 * (SWAPPED ? place(g) : t);
    biases<SWAPPED ? WN / 8 : WN / 4> bias;
    bias.template load_columns<4, SWAPPED ? 8 : 4>(blend, column, n);
#pragma unroll
    for (int i = 0; i < WM / 8; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = row + i / 4 * 32 + (SWAPPED ? i % 4 + half * 16 : i % 4 ^ turn);
            float *const line = c + r * ldc;
            if (r < m) {
                bias.load_row(blend, r);
#pragma unroll
                for (int j = 0; j < WN / 8; j += 4) {
                    const int at = column + j * 8 + (SWAPPED ? 0 : half * 16);
                    float four[4];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        four[e] = SWAPPED && turn ? sum.at(i, j + (e ^ 2), half) : sum.at(i, j + e, half);
                    if (at < n)
                        store_scaled<VC, BLEND, false, 4>(
                            line + at, four, alpha, blend,
                            bias.template part<4>(SWAPPED ? j : j * 2 + half * 4), n - at);
                }
            }
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    struct k_range range = k_range_of_split<BK>(blockIdx.y, args.k, args.k_per_split);
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) range.tiles = 0;
    const struct tile_origin origin = tile_of_block<BM, BN>(block_index(), args.m, args.n, args.group);
    struct sums sum;
    sum.clear();
    if (range.tiles > 0) multiply(args, origin, range, sum);

    float *c = ITEM_OF_BATCH(args, c);
    long long ldc = args.ldc;
    float alpha = scalar_of(args.alpha_device, args.alpha);
    blending blend = blend_of(args);
    if (args.k == 0) alpha = 0.0f;
    if (args.splits > 1) {
        c = args.workspace + ((long long)blockIdx.z * args.splits + blockIdx.y) * args.m * args.n;
        ldc = args.n;
        alpha = 1.0f;
        blend = blend_of_parts(blend);
    }
    const struct warp_place place = warp_place_of(thread_index());
    const int row = origin.m + place.row, column = origin.n + place.column;
    if (blend == 0.0f) store_sums<false>(c, ldc, args.m, args.n, row, column, sum, alpha, blend);
    else store_sums<true>(c, ldc, args.m, args.n, row, column, sum, alpha, blend);
}

extern "C" __global__ void __launch_bounds__(REDUCE_THREADS) gemm_reduce(const struct gemm_args args)
{
    reduce_splits<VC>(args, args.workspace + (long long)blockIdx.z * args.splits * args.m * args.n);
}

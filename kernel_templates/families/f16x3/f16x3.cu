/* SPDX-License-Identifier: MIT */
/* f16x3.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in FP32 by the tensor cores of sm_90a, as accurate as
 * FFMA against the largest of C.
 *
 * A is multiplied by powers of two, one for each row and one for each k; so is B, by the inverse for each k
 * (f16x3_scale.cuh): no element is larger than FP16 allows, and those that matter are not below what it
 * holds. Then each x is split into two FP16 pieces, x = x0 + x1, 11 bits of the fraction each and a sign.
 * All four products of pieces are added, small ones first (LOW: the first of FP8, or not):
 *
 *     a1 b1 + a1 b0 + a0 b1 + a0 b0
 *
 * The powers of two are taken back when a tile is stored. How blocks multiply: gt_split_ring.cuh.
 *
 *     A, B --gemm_maxima--> counters: maxima of rows, columns and k
 *     A, B --gemm_pack----> workspace: pieces 0 and 1 of each item, in lines along k, of A's rows, then B's
 *                           columns; exponents
 *
 * Infinity and NaN: a piece of theirs is not finite, whatever it is multiplied by. Sums that overflow when
 * they are scaled are computed again, too.
 *
 * Elements that are smaller than 2^-14 of their row's largest (as scaled) have fewer bits, those below 2^-39
 * none: errors of up to 2^-40 of it. Denormal numbers are as any others.
 *
 * Parameters (-D) and their trade-offs: f16x3_params.def; legal combinations: f16x3_rules.h. TRANS_A,
 * TRANS_B are 0 or 1. Launch and arguments: gemm_args.h; the tensor maps of the pieces follow.
 */
#include "gemm_args.h"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "f16x3_rules.h"

static __device__ __forceinline__ long long maxima_words(const struct gemm_args &args)
{
    return MAXIMA_WORDS((long long)args.m, (long long)args.n, (long long)args.k);
}

#define PIECES_BF16 false
#define WGMMA_ANEW  wgmma_anew16
#define ARRIVALS(args)                                                                                       \
    (reinterpret_cast<unsigned *>((args).workspace) + gridDim.z * maxima_words(args)) /* behind maxima */
#define WORDS_BEFORE_PARTS(args)                                                                             \
    (PIECES * pieces_apart(args) / 2 + EXPONENT_WORDS((long long)(args).m, (args).n))
#include "gt_exponent.cuh"
#include "gt_split_ring.cuh"

struct f16x3_args {
    struct gemm_args gemm;
    struct tensor_map left, right, left8, right8;
};
static_assert(sizeof(struct f16x3_args) == ARGUMENT_BYTES, "the host must know where the maps are");

#include "f16x3_scale.cuh"
#include "f16x3_split.cuh"

/* Takes A' B' to A B. What is beyond C is not looked at. */
static __device__ __forceinline__ void scale_sums(const struct gemm_args &args, int row, int column,
                                                  float (&sum)[QUADS][4])
{
    const int *const of_rows = exponents_of(args), *const of_columns = of_rows + args.m;
    int r[2];
#pragma unroll
    for (int i = 0; i < 2; i++) r[i] = (row + 8 * i < args.m ? of_rows[row + 8 * i] : 0) - 2 * TOP_EXPONENT;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int own = column + q * 8 + i, c = own < args.n ? of_columns[own] : 0;
            sum[q][i] = scaled(sum[q][i], r[0] + c);
            sum[q][2 + i] = scaled(sum[q][2 + i], r[1] + c);
        }
}

/* multiplied: false if A and B are not read. */
static __device__ __forceinline__ void store_sums(const struct gemm_args &args, struct tile_origin origin,
                                                  bool multiplied, float (&sum)[QUADS][4])
{
    struct target to;
    to.c = ITEM_OF_BATCH(args, c);
    to.ldc = args.ldc;
    to.m = args.m;
    to.n = args.n;
    to.alpha = multiplied ? scalar_of(args.alpha_device, args.alpha) : 0.0f;
    to.blend = blend_of(args);
    const int row = origin.m + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const int column = origin.n + threadIdx.x % 4 * 2;
    if (multiplied) scale_sums(args, row, column, sum);
    if (to.blend != 0.0f) store_quads<true>(args, to, row, column, sum);
    else store_quads<false>(args, to, row, column, sum);
}

/* One thread: a stage of a piece. */
static __device__ __forceinline__ void start_copies(struct ring ring, turn_of<STAGES> &turn, int k,
                                                    const struct tensor_map &a, const struct tensor_map &b,
                                                    struct tile_origin origin, int piece)
{
    struct mbarrier *const full = ring.full(turn.stage);
    const shared_place to = ring.stage(turn.stage);
    mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);
    mbarrier_arrive_expect(full, STAGE_BYTES, true);
    tensor_copy(to, a, k, origin.m, piece, full);
    tensor_copy(moved(to, LEFT_BYTES), b, k, origin.n, piece, full);
    turn.step();
}

/* Pieces in the order of their products, small ones first. */
static __device__ __forceinline__ void produce(const struct f16x3_args &args, struct ring ring,
                                               const struct share &share, turn_of<STAGES> &turn)
{
    const struct tile_origin origin = share.origin(args.gemm);
    const int item = PIECES * blockIdx.z;
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) {
        if (LOW == 8) start_copies(ring, turn, k / 2, args.left8, args.right8, origin, item + 2);
#pragma unroll
        for (int step = k; step < k + BK; step += STEP_K) {
            start_copies(ring, turn, step, args.left, args.right, origin, item + 1);
            start_copies(ring, turn, step, args.left, args.right, origin, item);
        }
    }
}

/* The same of the pieces of 8 bits, of BK k. */
static __device__ __forceinline__ void multiply_eighths(struct ring ring, turn_of<STAGES> eighths, int group,
                                                        float (&part)[QUADS][4])
{
    const unsigned long long left = matrix_at(moved(ring.stage(eighths.stage), group * (64 * 128))),
                             right = matrix_at(moved(ring.stage(eighths.stage), LEFT_BYTES));
    wgmma_e5m2<true>(part, left, right);
#pragma unroll
    for (int k = 1; k < BK / 32; k++) wgmma_e5m2<false>(part, left + k * 2, right + k * 2);
}

/* sum += the products of BK k. */
static __device__ __forceinline__ void add_step(struct ring ring, int group, turn_of<STAGES> &turn,
                                                float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
    const bool speaks = threadIdx.x % 32 == 0;
#pragma unroll
    for (int step = 0; step < BK / STEP_K; step++) {
        const bool has_eighths = LOW == 8 && step == 0;
        turn_of<STAGES> eighths;
        if (has_eighths) {
            eighths = turn.taken();
            mbarrier_wait(ring.full(eighths.stage), eighths.parity);
            wgmma_begin();
            multiply_eighths(ring, eighths, group, part);
        }
        const turn_of<STAGES> low = turn.taken(), high = turn.taken();
        mbarrier_wait(ring.full(low.stage), low.parity);
        if (LOW == 16) {
            wgmma_begin();
            multiply_pieces<true>(ring, low, low, group, part);
        }
        mbarrier_wait(ring.full(high.stage), high.parity);
        wgmma_begin();
        if (LOW == 16 || has_eighths) multiply_pieces<false>(ring, low, high, group, part);
        else multiply_pieces<true>(ring, low, high, group, part);
        multiply_pieces<false>(ring, high, low, group, part);
        wgmma_end();
        multiply_pieces<false>(ring, high, high, group, part);
        wgmma_end();
        wgmma_wait<1>(part);
        if (has_eighths) mbarrier_arrive(ring.empty(eighths.stage), speaks);
        mbarrier_arrive(ring.empty(low.stage), speaks);
        wgmma_wait<0>(part);
        mbarrier_arrive(ring.empty(high.stage), speaks);
        promote(part, sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(const __grid_constant__ struct f16x3_args args)
{
    const struct ring ring = {swizzle_aligned(gt_shared_memory())};
    if (threadIdx.x == CONSUMER_THREADS) {
        tensor_prefetch(args.left);
        tensor_prefetch(args.right);
    }
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(ring.full(i), 1);
            mbarrier_init(ring.empty(i), CONSUMERS * 4);
        }
        mbarrier_ready();
    }
    __syncthreads();
    wait_for_kernel_before();

    const struct gemm_args &gemm = args.gemm;
    if (gemm.k > 0) clear_maxima(gemm);
    const int k = scalar_of(gemm.alpha_device, gemm.alpha) == 0.0f ? 0 : gemm.k;
    const unsigned tiles = ((gemm.m - 1) / BM + 1) * ((gemm.n - 1) / BN + 1), shares = tiles * gemm.splits;
    turn_of<STAGES> turn;
    if (threadIdx.x >= CONSUMER_THREADS) {
        have_registers<COPY_REGISTERS, false>();
        if (threadIdx.x == CONSUMER_THREADS)
            for (unsigned number = blockIdx.x; number < shares; number += gridDim.x)
                produce(args, ring, share_of(gemm, number, tiles, k), turn);
    } else {
        have_registers<PRODUCT_REGISTERS, true>();
        const int group = threadIdx.x / WARPGROUP;
        float part[QUADS][4], sum[QUADS][4];
        clear(part);
        for (unsigned number = blockIdx.x; number < shares; number += gridDim.x) {
            const struct share share = share_of(gemm, number, tiles, k);
            clear(sum);
#pragma unroll 1
            for (int at = share.begin; at < share.end; at += BK) add_step(ring, group, turn, part, sum);
            if (gemm.splits == 1 || add_parts(gemm, share.tile, tiles, share.split, ring.flag(), sum))
                store_sums(gemm, share.origin(gemm), k > 0, sum);
        }
    }
}

/* SPDX-License-Identifier: MIT */
/* bf16x6.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in FP32 by the tensor cores of sm_90a, as accurate as
 * FFMA.
 *
 * A first kernel splits each x of A and B into three BF16 pieces, x = x0 + x1 + x2 without error: 8 bits of
 * the fraction each. The second one adds six of the nine products of pieces, small ones first:
 *
 *     a2 b0 + a0 b2 + a1 b1 + a1 b0 + a0 b1 + a0 b0
 *
 * What is left out is at most 2^-24 |a b|. How blocks multiply, and what becomes of infinities and NaN:
 * gt_split_ring.cuh; pieces arrive in the order 2, 0, 1.
 *
 *     A, B --split--> workspace: pieces 0, 1, 2 of each item, in lines along k, of A's rows, then B's columns
 *
 * FUSE: 1: there is no first kernel, the block's own warps split what they load (bf16x6_fuse.cuh). 2: the
 * left operand arrives as it is and is split in the registers of those that multiply (bf16x6_raw.cuh); the
 * first kernel splits the right one alone. 3: other warps of the block split that, too. The left operand is A
 * or, with SWAP, B.
 *
 * Elements below 2^-110 are less exact, because BF16 has no more exponents than FP32: an error of up to
 * 2^-134 each.
 *
 * Parameters (-D) and their trade-offs: bf16x6_params.def; legal combinations: bf16x6_rules.h. TRANS_A,
 * TRANS_B are 0 or 1. Launch and arguments: gemm_args.h; the tensor maps of the pieces follow.
 */
#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "bf16x6_rules.h"

#if POINTERS
constexpr bool SHARED_ITEMS = false;
#else
constexpr bool SHARED_ITEMS = true; /* where a stride is 0 */
#endif

#define PIECES_BF16              true
#define WGMMA_ANEW               wgmma_anew
#define ARRIVALS(args)           reinterpret_cast<unsigned *>((args).workspace)
#define WORDS_BEFORE_PARTS(args) (RIGHT_SPLIT ? 0 : PIECES * pieces_apart(args) / 2)
#include "gt_split_ring.cuh"

struct bf16x6_args {
    struct gemm_args gemm;
    struct tensor_map left, right;
};
static_assert(sizeof(struct bf16x6_args) == ARGUMENT_BYTES, "the host must know where the maps are");

#include "bf16x6_split.cuh"

/* First row of the left operand and column of the right one. */
static __device__ __forceinline__ int left_of(struct tile_origin origin)
{
    return SWAP ? origin.n : origin.m;
}
static __device__ __forceinline__ int right_of(struct tile_origin origin)
{
    return SWAP ? origin.m : origin.n;
}

/* Which of 8 rows of the left operand are row g of a product. */
static __device__ __forceinline__ int row_in_eight(int g)
{
    return LEFT_RAW ? g % 4 * 2 + g / 4 : g;
}

/* multiplied: false if A and B are not read. */
static __device__ __forceinline__ void store_sums(const struct gemm_args &args, struct tile_origin origin,
                                                  bool multiplied, const float (&sum)[QUADS][4])
{
    struct target to;
    to.c = ITEM_OF_BATCH(args, c);
    to.ldc = args.ldc;
    to.m = args.m;
    to.n = args.n;
    to.alpha = multiplied ? scalar_of(args.alpha_device, args.alpha) : 0.0f;
    to.blend = blend_of(args);
    const int row = left_of(origin) + threadIdx.x / 32 * 16 + row_in_eight(threadIdx.x % 32 / 4);
    const int column = right_of(origin) + threadIdx.x % 4 * 2;
    if (to.blend != 0.0f) store_quads<true>(args, to, row, column, sum);
    else store_quads<false>(args, to, row, column, sum);
}

/* The order in which pieces arrive: those of the smallest products first. */
static __device__ __forceinline__ int piece_in_turn(int i)
{
    return i == 0 ? 2 : i - 1;
}

#if LEFT_RAW
#include "bf16x6_raw.cuh"
#endif

#if FUSE == 1
#include "bf16x6_fuse.cuh"
#elif !RIGHT_RAW
/* One thread. */
static __device__ __forceinline__ void produce(const struct bf16x6_args &args, struct ring ring,
                                               const struct share &share, struct turns &turns)
{
    const struct tile_origin origin = share.origin(args.gemm);
    const int item_left = PIECES * (SWAP ? item_of_b(args.gemm) : item_of_a(args.gemm)),
              item_right = PIECES * (SWAP ? item_of_a(args.gemm) : item_of_b(args.gemm));
    turn_of<STAGES> &turn = turns.piece;
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) {
#if LEFT_RAW
        copy_raw(args, ring, origin, k, turns.raw.taken());
#endif
#pragma unroll
        for (int i = 0; i < PIECES; i++, turn.step()) {
            struct mbarrier *const full = ring.full(turn.stage);
            const shared_place to = ring.stage(turn.stage);
            mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);
            mbarrier_arrive_expect(full, STAGE_BYTES, true);
            if (!LEFT_RAW) tensor_copy(to, args.left, k, left_of(origin), item_left + piece_in_turn(i), full);
            tensor_copy(moved(to, LEFT_BYTES), args.right, k, right_of(origin), item_right + piece_in_turn(i),
                        full);
        }
    }
}
#endif

/* The stages of a step's pieces. */
struct step {
    turn_of<STAGES> low, high, middle;
};

/* Its products are on their way, those of low pieces as a group of their own: sum += them. */
static __device__ __forceinline__ void end_step(struct ring ring, const struct step &step,
                                                float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
    const bool speaks = threadIdx.x % 32 == 0;
    wgmma_wait<1>(part);
    mbarrier_arrive(ring.empty(step.low.stage), speaks);
    wgmma_wait<0>(part);
    mbarrier_arrive(ring.empty(step.high.stage), speaks);
    mbarrier_arrive(ring.empty(step.middle.stage), speaks);
    promote(part, sum);
}

/* sum += the products of BK k. */
static __device__ __forceinline__ void add_step(struct ring ring, int group, struct turns &turns,
                                                float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
    const struct step step = {turns.piece.taken(), turns.piece.taken(), turns.piece.taken()};
    const turn_of<STAGES> &low = step.low, &high = step.high, &middle = step.middle;
#if LEFT_RAW
    const turn_of<RAW_STAGES> raw = turns.raw.taken();
    struct left_pieces left;
    mbarrier_wait(ring.raw_full(raw.stage), raw.parity);
    left.split(ring.raw(raw.stage), group);
#endif
    mbarrier_wait(ring.full(low.stage), low.parity);
    mbarrier_wait(ring.full(high.stage), high.parity);
    wgmma_begin();
#if LEFT_RAW
    left.multiply<2, true>(ring.stage(high.stage), part);
    left.multiply<0, false>(ring.stage(low.stage), part);
    wgmma_end();
    mbarrier_arrive(ring.raw_empty(raw.stage), threadIdx.x % 32 == 0);
#else
    multiply_pieces<true>(ring, low, high, group, part);
    multiply_pieces<false>(ring, high, low, group, part);
    wgmma_end();
#endif
    mbarrier_wait(ring.full(middle.stage), middle.parity);
    wgmma_begin();
#if LEFT_RAW
    left.multiply<1, false>(ring.stage(middle.stage), part);
    left.multiply<1, false>(ring.stage(high.stage), part);
    left.multiply<0, false>(ring.stage(middle.stage), part);
    left.multiply<0, false>(ring.stage(high.stage), part);
#else
    multiply_pieces<false>(ring, middle, middle, group, part);
    multiply_pieces<false>(ring, middle, high, group, part);
    multiply_pieces<false>(ring, high, middle, group, part);
    multiply_pieces<false>(ring, high, high, group, part);
#endif
    wgmma_end();
    end_step(ring, step, part, sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(const __grid_constant__ struct bf16x6_args args)
{
    const struct ring ring = {swizzle_aligned(gt_shared_memory())};
    if (FUSE != 1 && threadIdx.x == CONSUMER_THREADS) {
        tensor_prefetch(args.left);
        tensor_prefetch(args.right);
    }
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(ring.full(i), RIGHT_RAW ? SPLITTERS / 32 : RIGHT_SPLIT ? WARPGROUP / 32 : 1);
            mbarrier_init(ring.empty(i), CONSUMERS * 4);
        }
#pragma unroll
        for (int i = 0; i < RAW_STAGES; i++) {
            mbarrier_init(ring.raw_full(i), 1);
            mbarrier_init(ring.raw_empty(i), CONSUMERS * 4 + (RIGHT_RAW ? SPLITTERS / 32 : 0));
        }
        mbarrier_ready();
    }
    __syncthreads();
    wait_for_kernel_before();

    const struct gemm_args &gemm = args.gemm;
    const int k = scalar_of(gemm.alpha_device, gemm.alpha) == 0.0f ? 0 : gemm.k;
    const unsigned tiles = ((gemm.m - 1) / BM + 1) * ((gemm.n - 1) / BN + 1), shares = tiles * gemm.splits;
    struct turns turns;
    if (threadIdx.x >= CONSUMER_THREADS) {
        have_registers<COPY_REGISTERS, FUSE == 1>();
        if (FUSE == 1 || threadIdx.x == CONSUMER_THREADS)
            for (unsigned number = blockIdx.x; number < shares; number += gridDim.x)
                produce(args, ring, share_of(gemm, number, tiles, k), turns);
#if RIGHT_RAW
        if (threadIdx.x >= CONSUMER_THREADS + 32) {
            const struct right_runs runs;
            for (unsigned number = blockIdx.x; number < shares; number += gridDim.x)
                split_share(ring, runs, share_of(gemm, number, tiles, k), turns);
        }
#endif
    } else {
        have_registers<PRODUCT_REGISTERS, FUSE != 1>();
        const int group = threadIdx.x / WARPGROUP;
        float part[QUADS][4], sum[QUADS][4];
        clear(part);
        for (unsigned number = blockIdx.x; number < shares; number += gridDim.x) {
            const struct share share = share_of(gemm, number, tiles, k);
            clear(sum);
#pragma unroll 1
            for (int at = share.begin; at < share.end; at += BK) add_step(ring, group, turns, part, sum);
            if (gemm.splits == 1 || add_parts(gemm, share.tile, tiles, share.split, ring.flag(), sum))
                store_sums(gemm, share.origin(gemm), k > 0, sum);
        }
    }
}

/* SPDX-License-Identifier: MIT */
/* bf16x6.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in FP32 by the tensor cores of sm_90a, as accurate as
 * FFMA.
 *
 * A first kernel splits each x of A and B into three BF16 pieces, x = x0 + x1 + x2 without error: 8 bits of
 * the fraction each. The second one adds six of the nine products of pieces, small ones first:
 *
 *     a2 b0 + a0 b2 + a1 b1 + a1 b0 + a0 b1 + a0 b0
 *
 * What is left out is below 2^-25 |a b|. How blocks multiply, and what becomes of infinities and NaN:
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

#define PIECES_BF16 true
#include "gt_split_ring.cuh"

struct bf16x6_args {
    struct gemm_args gemm;
    struct tensor_map left, right;
};
static_assert(sizeof(struct bf16x6_args) == ARGUMENT_BYTES, "the host must know where the maps are");

/* Nothing is scaled. */
static __device__ __forceinline__ void finish_sums(const struct gemm_args &, int, int, float (&)[QUADS][4]) {}

#include "bf16x6_split.cuh"

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
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) {
#if LEFT_RAW
        copy_raw(args, ring, origin, k, turns.raw.taken());
#endif
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            start_copies(ring, turns.piece, k, args.left, args.right, origin, item_left + piece_in_turn(i),
                         item_right + piece_in_turn(i));
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
    const int splitters = RIGHT_RAW ? SPLITTERS / 32 : 0; /* warps */
    make_barriers(ring, FUSE == 1 ? WARPGROUP / 32 : RIGHT_RAW ? splitters : 1, splitters);
    wait_for_kernel_before();

    const struct walk walk(args.gemm);
    struct turns turns;
    if (threadIdx.x >= CONSUMER_THREADS) {
        have_registers<COPY_REGISTERS, FUSE == 1>();
        if (FUSE == 1 || threadIdx.x == CONSUMER_THREADS)
            for (unsigned number = blockIdx.x; number < walk.shares; number += gridDim.x)
                produce(args, ring, walk.at(number), turns);
#if RIGHT_RAW
        if (threadIdx.x >= CONSUMER_THREADS + 32) {
            const struct right_runs runs;
            for (unsigned number = blockIdx.x; number < walk.shares; number += gridDim.x)
                split_share(ring, runs, walk.at(number), turns);
        }
#endif
    } else {
        have_registers<PRODUCT_REGISTERS, FUSE != 1>();
        multiply_shares(args.gemm, ring, walk, turns);
    }
}

/* SPDX-License-Identifier: MIT */
/* bf16x6.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in FP32 by the tensor cores of sm_90a, as accurate as
 * FFMA.
 *
 * A first kernel splits each x of A and B into three BF16 pieces, x = x0 + x1 + x2 without error: 8 bits of
 * the fraction each. The second one adds six of the nine products of pieces, small ones first:
 *
 *     a2 b0 + a0 b2 + a1 b1 + a1 b0 + a0 b1 + a0 b0
 *
 * What is left out is below 2^-25 |a b|. The tensor cores truncate what they add; so after each BK of k their
 * sums are added to others in FP32 by FADD, which rounds to nearest ("promoted").
 *
 *     A, B --split--> workspace: pieces 0, 1, 2 of each item, in lines along k, of A's rows, then B's columns
 *
 *                                STAGES stages of one piece
 *                              +-----+-----+-----+-----+
 *     one thread: TMA -------> |  2  |  0  |  1  |  2  | -----> BM / 64 groups of four warps, each with 64
 *                              +-----+-----+-----+-----+        rows of the tile: sums of BK k --> sums of
 * all
 *
 * With FUSE there is no first kernel: the block's own warps split what they load (bf16x6_fuse.cuh).
 *
 * A block takes every so many tiles of C (SMS); copies for the next one go on while a tile is stored. Blocks
 * may share a tile and divide k among them (SPLIT_K): the last one to arrive adds the parts, in a fixed
 * order.
 *
 * Infinity and NaN: a piece of theirs is not finite, and neither is any sum that it enters. So a thread whose
 * sums are not all finite computes those again from A and B, by FFMA in the order of k: C is what a kernel
 * without pieces gives. Nothing else is needed to find them, or to find sums that overflow.
 *
 * Elements below 2^-110 are less exact, because BF16 has no more exponents than FP32: an error of up to
 * 2^-134 each.
 *
 * Parameters (-D) and their trade-offs: bf16x6_params.def; legal combinations: bf16x6_rules.h. TRANS_A,
 * TRANS_B are 0 or 1. Launch and arguments: gemm_args.h; the tensor maps of the pieces follow.
 */
#include "gemm_args.h"
#include "gt_barrier.cuh"
#include "gt_batch.cuh"
#include "gt_dependent.cuh"
#include "gt_epilogue.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"

#if SWAP
#define WGMMA_N BM
#else
#define WGMMA_N BN
#endif
#include "gt_promoted.cuh"
#include "gt_reduce.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "bf16x6_rules.h"

struct bf16x6_args {
    struct gemm_args gemm;
    struct tensor_map left, right;
};
static_assert(sizeof(struct bf16x6_args) == ARGUMENT_BYTES, "the host must know where the maps are");

/* First row of the left operand and column of the right one. */
static __device__ __forceinline__ int left_of(struct tile_origin origin)
{
    return SWAP ? origin.n : origin.m;
}
static __device__ __forceinline__ int right_of(struct tile_origin origin)
{
    return SWAP ? origin.m : origin.n;
}

#include "bf16x6_split.cuh"
#include "bf16x6_store.cuh"

/* The block's shared memory. */
struct ring {
    float *memory; /* the stages */

    __device__ __forceinline__ shared_place stage(int i) const
    {
        return moved(place_in_shared(memory), i * STAGE_BYTES);
    }
    __device__ __forceinline__ struct mbarrier *full(int i) const
    {
        return reinterpret_cast<struct mbarrier *>(memory + (RING_BYTES + RAWS_BYTES) / 4) + i;
    }
    __device__ __forceinline__ struct mbarrier *empty(int i) const { return full(STAGES + i); }
    /* The left operand as it is. */
    __device__ __forceinline__ shared_place raw(int i) const
    {
        return moved(place_in_shared(memory), RING_BYTES + i * RAW_BYTES);
    }
    __device__ __forceinline__ struct mbarrier *raw_full(int i) const { return full(2 * STAGES + i); }
    __device__ __forceinline__ struct mbarrier *raw_empty(int i) const
    {
        return full(2 * STAGES + RAW_STAGES + i);
    }
    __device__ __forceinline__ float *flag() const
    {
        return memory + (RING_BYTES + RAWS_BYTES + 16 * (STAGES + RAW_STAGES)) / 4;
    }
};

/* Which of COUNT stages is next, and the parity of its phase. */
template <int COUNT> struct turn_of {
    int stage = 0;
    unsigned parity = 0;

    __device__ __forceinline__ void step()
    {
        if (++stage < COUNT) return;
        stage = 0;
        parity ^= 1;
    }
    __device__ __forceinline__ struct turn_of taken()
    {
        const struct turn_of now = *this;
        step();
        return now;
    }
};

/* Of the pieces, and of the left operand as it is. */
struct turns {
    turn_of<STAGES> piece;
    turn_of<RAW_STAGES> raw;
};

/* What a block computes at a time: some k of a tile of C. */
struct share {
    unsigned tile;
    int split, begin, end;

    __device__ __forceinline__ struct tile_origin origin(const struct gemm_args &args) const
    {
        return tile_of_block<BM, BN>(tile, args.m, args.n, args.group);
    }
};

/* All first parts of tiles, then all second ones ...: blocks that run at the same time share rows and
 * columns. k: 0 if A and B are not to be read. */
static __device__ __forceinline__ struct share share_of(const struct gemm_args &args, unsigned number,
                                                        unsigned tiles, int k)
{
    const int split = number / tiles, begin = split * args.k_per_split, end = begin + args.k_per_split;
    return {number % tiles, split, begin, end < k ? end : k};
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

#if !LEFT_RAW
/* Products of a piece of the left operand with one of the right, of the group's 64 rows. */
template <bool ANEW>
static __device__ __forceinline__ void multiply_pieces(struct ring ring, turn_of<STAGES> a, turn_of<STAGES> b,
                                                       int group, float (&part)[QUADS][4])
{
    const unsigned long long left = matrix_at(moved(ring.stage(a.stage), group * (64 * 128))),
                             right = matrix_at(moved(ring.stage(b.stage), LEFT_BYTES));
#pragma unroll
    for (int k = 0; k < BK / 16; k++) { /* 32 bytes further, in units of 16 */
        if (ANEW && k == 0) wgmma_anew(part, left, right);
        else wgmma<true, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);
    }
}
#endif

/* By FADD, which rounds to nearest. */
static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[q][e] += part[q][e];
}

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

template <int REGISTERS, bool MORE> static __device__ __forceinline__ void have_registers()
{
    if constexpr (MOVE_REGISTERS && MORE) take_registers<REGISTERS>();
    if constexpr (MOVE_REGISTERS && !MORE) leave_registers<REGISTERS>();
}

static __device__ __forceinline__ void clear(float (&sum)[QUADS][4])
{
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[q][e] = 0.0f;
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

/* SPDX-License-Identifier: MIT */
/* f16x3.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in FP32 by the tensor cores of sm_90a, as accurate as
 * FFMA against the largest of C.
 *
 * A is multiplied by powers of two, one for each row and one for each k; so is B, by the inverse for each k
 * (f16x3_scale.cuh): no element is larger than FP16 allows, and those that matter are not below what it
 * holds. Then each x is split into two FP16 pieces, x = x0 + x1, 11 bits of the fraction each and a sign.
 * All four products of pieces are added, small ones first (or three, PRODUCTS):
 *
 *     a1 b1 + a1 b0 + a0 b1 + a0 b0
 *
 * The tensor cores truncate what they add; so after each BK of k their sums are added to others in FP32 by
 * FADD, which rounds to nearest ("promoted"). The powers of two are taken back when a tile is stored.
 *
 *     A, B --gemm_maxima--> counters: maxima of rows, columns and k
 *     A, B --gemm_pack----> workspace: pieces 0 and 1 of each item, in lines along k, of A's rows, then B's
 *                           columns; exponents
 *
 *                                STAGES stages of one piece
 *                              +-----+-----+-----+-----+
 *     one thread: TMA -------> |  1  |  0  |  1  |  0  | -----> BM / 64 groups of four warps, each with 64
 *                              +-----+-----+-----+-----+        rows of the tile: sums of BK k --> sums of
 * all
 *
 * A block takes every so many tiles of C (SMS); copies for the next one go on while a tile is stored. Blocks
 * may share a tile and divide k among them (SPLIT_K): the last one to arrive adds the parts, in a fixed
 * order.
 *
 * Infinity and NaN: a piece of theirs is not finite, whatever it is multiplied by, and neither is any sum
 * that it enters. So a thread whose sums are not all finite computes those again from A and B, by FFMA in the
 * order of k: C is what a kernel without pieces gives. Sums that overflow when they are scaled are, too.
 *
 * Elements that are smaller than 2^-14 of their row's largest (as scaled) have fewer bits, those below 2^-39
 * none: errors of up to 2^-40 of it. Denormal numbers are as any others.
 *
 * Parameters (-D) and their trade-offs: f16x3_params.def; legal combinations: f16x3_rules.h. TRANS_A,
 * TRANS_B are 0 or 1. Launch and arguments: gemm_args.h; the tensor maps of the pieces follow.
 */
#include "gemm_args.h"
#include "gt_barrier.cuh"
#include "gt_batch.cuh"
#include "gt_dependent.cuh"
#include "gt_epilogue.cuh"
#include "gt_exponent.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"

#define WGMMA_N BN
#include "gt_promoted16.cuh"
#include "gt_reduce.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "f16x3_rules.h"

struct f16x3_args {
    struct gemm_args gemm;
    struct tensor_map a, b, a8, b8;
};
static_assert(sizeof(struct f16x3_args) == ARGUMENT_BYTES, "the host must know where the maps are");

#include "f16x3_scale.cuh"
#include "f16x3_split.cuh"
#include "f16x3_store.cuh"

/* The block's shared memory. */
struct ring {
    float *memory; /* the stages */

    __device__ __forceinline__ shared_place stage(int i) const
    {
        return moved(place_in_shared(memory), i * STAGE_BYTES);
    }
    __device__ __forceinline__ struct mbarrier *full(int i) const
    {
        return reinterpret_cast<struct mbarrier *>(memory + RING_BYTES / 4) + i;
    }
    __device__ __forceinline__ struct mbarrier *empty(int i) const { return full(STAGES + i); }
    __device__ __forceinline__ float *flag() const { return memory + (RING_BYTES + 16 * STAGES) / 4; }
};

/* Which stage of the ring is next, and the parity of its phase. */
struct turn {
    int stage = 0;
    unsigned parity = 0;

    __device__ __forceinline__ void step()
    {
        if (++stage < STAGES) return;
        stage = 0;
        parity ^= 1;
    }
    __device__ __forceinline__ struct turn taken()
    {
        const struct turn now = *this;
        step();
        return now;
    }
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

/* One thread: a stage of a piece. */
static __device__ __forceinline__ void start_copies(struct ring ring, struct turn &turn, int k,
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
                                               const struct share &share, struct turn &turn)
{
    const struct tile_origin origin = share.origin(args.gemm);
    const int item = PIECES * blockIdx.z;
#pragma unroll 1
    for (int k = share.begin; k < share.end; k += BK) {
        if (LOW == 8) start_copies(ring, turn, k / 2, args.a8, args.b8, origin, item + 2);
#pragma unroll
        for (int step = k; step < k + BK; step += STEP_K) {
            start_copies(ring, turn, step, args.a, args.b, origin, item + 1);
            start_copies(ring, turn, step, args.a, args.b, origin, item);
        }
    }
}

/* Products of a piece of A with one of B, of the group's 64 rows. */
template <bool ANEW>
static __device__ __forceinline__ void multiply_pieces(struct ring ring, struct turn a, struct turn b,
                                                       int group, float (&part)[QUADS][4])
{
    const unsigned long long left = matrix_at(moved(ring.stage(a.stage), group * (64 * 128))),
                             right = matrix_at(moved(ring.stage(b.stage), LEFT_BYTES));
#pragma unroll
    for (int k = 0; k < STEP_K / 16; k++) { /* 32 bytes further, in units of 16 */
        if (ANEW && k == 0) wgmma_anew16(part, left, right);
        else wgmma<false, true, true, BN, 0>(part, left + k * 2, right + k * 2);
    }
}

/* By FADD, which rounds to nearest. */
static __device__ __forceinline__ void promote(const float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[q][e] += part[q][e];
}

/* The same of the pieces of 8 bits, of BK k. */
static __device__ __forceinline__ void multiply_eighths(struct ring ring, struct turn eighths, int group,
                                                        float (&part)[QUADS][4])
{
    const unsigned long long left = matrix_at(moved(ring.stage(eighths.stage), group * (64 * 128))),
                             right = matrix_at(moved(ring.stage(eighths.stage), LEFT_BYTES));
    wgmma_e5m2<true>(part, left, right);
#pragma unroll
    for (int k = 1; k < BK / 32; k++) wgmma_e5m2<false>(part, left + k * 2, right + k * 2);
}

/* sum += the products of BK k. */
static __device__ __forceinline__ void add_step(struct ring ring, int group, struct turn &turn,
                                                float (&part)[QUADS][4], float (&sum)[QUADS][4])
{
    const bool speaks = threadIdx.x % 32 == 0;
#pragma unroll
    for (int step = 0; step < BK / STEP_K; step++) {
        const bool has_eighths = LOW == 8 && step == 0;
        struct turn eighths;
        if (has_eighths) {
            eighths = turn.taken();
            mbarrier_wait(ring.full(eighths.stage), eighths.parity);
            wgmma_begin();
            multiply_eighths(ring, eighths, group, part);
        }
        const struct turn low = turn.taken(), high = turn.taken();
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

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(const __grid_constant__ struct f16x3_args args)
{
    const struct ring ring = {swizzle_aligned(gt_shared_memory())};
    if (threadIdx.x == CONSUMER_THREADS) {
        tensor_prefetch(args.a);
        tensor_prefetch(args.b);
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
    struct turn turn;
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

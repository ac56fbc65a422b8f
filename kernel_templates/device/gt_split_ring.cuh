/* SPDX-License-Identifier: MIT */
/* gt_split_ring.cuh — how blocks multiply operands of FP32 that have been split into pieces of 16 bits: a
 * ring of stages, the walk from tile to tile, and sums that are promoted.
 *
 *                             STAGES stages of one piece
 *                           +-----+-----+-----+-----+
 *     one thread: TMA ----> |     |     |     |     | -----> LEFT / 64 groups of four warps, each with 64
 *                           +-----+-----+-----+-----+        rows: sums of STEP_K k --> sums of all
 *
 * The tensor cores truncate what they add; so after each STEP_K of k their sums are added to others in FP32
 * by FADD, which rounds to nearest ("promoted").
 *
 * A block takes every so many tiles of C (SMS); copies for the next one go on while a tile is stored. Blocks
 * may share a tile and divide k among them (SPLIT_K): the last one to arrive adds the parts, in a fixed
 * order.
 *
 * Infinity and NaN: a piece of theirs is not finite, and neither is any sum that it enters. So a thread whose
 * sums are not all finite computes those again from A and B, by FFMA in the order of k: C is what a kernel
 * without pieces gives. Nothing else is needed to find them, or to find sums that overflow.
 *
 * Included after the family's rules, with what gt_split_sizes.h says, and: PIECES_BF16, true or false, the
 * pieces' type; WGMMA_ANEW, the product that begins sums of them; ARRIVALS(args), where a launch counts
 * blocks that share tiles; WORDS_BEFORE_PARTS(args), words of an item between the counters and the parts.
 * These are macros, and the kernel's own loops are in the family's file, because the order of registers, and
 * with it the machine code, depends on which functions are inlined into which.
 */
#ifndef GT_SPLIT_RING_CUH
#define GT_SPLIT_RING_CUH

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
#include "gt_promoted16.cuh"
#include "gt_reduce.cuh"

#include "gt_split_store.cuh"

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
    /* Operands as they are. */
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

/* Of the pieces, and of operands as they are. */
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

/* Products of a piece of the left operand with one of the right, of the group's 64 rows. */
template <bool ANEW>
static __device__ __forceinline__ void multiply_pieces(struct ring ring, turn_of<STAGES> a, turn_of<STAGES> b,
                                                       int group, float (&part)[QUADS][4])
{
    const unsigned long long left = matrix_at(moved(ring.stage(a.stage), group * (64 * 128))),
                             right = matrix_at(moved(ring.stage(b.stage), LEFT_BYTES));
#pragma unroll
    for (int k = 0; k < STEP_K / 16; k++) { /* 32 bytes further, in units of 16 */
        if (ANEW && k == 0) WGMMA_ANEW(part, left, right);
        else wgmma<PIECES_BF16, true, true, WGMMA_N, 0>(part, left + k * 2, right + k * 2);
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

#endif

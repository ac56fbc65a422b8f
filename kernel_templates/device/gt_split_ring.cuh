/* SPDX-License-Identifier: MIT */
/* gt_split_ring.cuh — how blocks multiply operands of FP32 that have been split into pieces of 16 bits: a
 * ring of stages, the walk from tile to tile, and sums that are promoted.
 *
 *                                STAGES stages of one piece
 *                              +-----+-----+-----+-----+
 *     one thread: TMA -------> |     |     |     |     | -----> BM / 64 groups of four warps, each with 64
 *                              +-----+-----+-----+-----+        rows of the tile: sums of STEP_K --> sums of
 * all
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
 * Included after the family's rules, with what gt_split_sizes.h says; PIECES_BF16 is true or false: the
 * pieces' type.
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

/* What blocks compute: all first parts of tiles, then all second ones ...: those that run at the same time
 * share rows and columns. */
struct walk {
    unsigned tiles, shares;
    int k, k_per_split; /* k: 0 if A and B are not to be read */

    __device__ __forceinline__ explicit walk(const struct gemm_args &args)
    {
        k = scalar_of(args.alpha_device, args.alpha) == 0.0f ? 0 : args.k;
        k_per_split = args.k_per_split;
        tiles = ((args.m - 1) / BM + 1) * ((args.n - 1) / BN + 1);
        shares = tiles * args.splits;
    }
    __device__ __forceinline__ struct share at(unsigned number) const
    {
        const int split = number / tiles, begin = split * k_per_split, end = begin + k_per_split;
        return {number % tiles, split, begin, end < k ? end : k};
    }
};

/* One thread: a stage of pieces, from k on; left_item, right_item: where they are in their maps. */
static __device__ __forceinline__ void start_copies(struct ring ring, turn_of<STAGES> &turn, int k,
                                                    const struct tensor_map &left,
                                                    const struct tensor_map &right, struct tile_origin origin,
                                                    int left_item, int right_item)
{
    struct mbarrier *const full = ring.full(turn.stage);
    const shared_place to = ring.stage(turn.stage);
    mbarrier_wait(ring.empty(turn.stage), turn.parity ^ 1);
    mbarrier_arrive_expect(full, STAGE_BYTES, true);
    if (!LEFT_RAW) tensor_copy(to, left, k, left_of(origin), left_item, full);
    tensor_copy(moved(to, LEFT_BYTES), right, k, right_of(origin), right_item, full);
    turn.step();
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
        if (ANEW && k == 0) PIECES_BF16 ? wgmma_anew(part, left, right) : wgmma_anew16(part, left, right);
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

/* All threads. So many of them write a stage, or of operands as they are read one besides the groups. */
static __device__ __forceinline__ void make_barriers(struct ring ring, int writers, int raw_readers)
{
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(ring.full(i), writers);
            mbarrier_init(ring.empty(i), CONSUMERS * 4);
        }
#pragma unroll
        for (int i = 0; i < RAW_STAGES; i++) {
            mbarrier_init(ring.raw_full(i), 1);
            mbarrier_init(ring.raw_empty(i), CONSUMERS * 4 + raw_readers);
        }
        mbarrier_ready();
    }
    __syncthreads();
}

/* The family defines it: sum += the products of BK k, which take their turns in the ring. */
static __device__ __forceinline__ void add_step(struct ring ring, int group, struct turns &turns,
                                                float (&part)[QUADS][4], float (&sum)[QUADS][4]);

/* The threads of the groups. */
static __device__ __forceinline__ void multiply_shares(const struct gemm_args &args, struct ring ring,
                                                       const struct walk &walk, struct turns &turns)
{
    const int group = threadIdx.x / WARPGROUP;
    float part[QUADS][4], sum[QUADS][4];
    clear(part);
    for (unsigned number = blockIdx.x; number < walk.shares; number += gridDim.x) {
        const struct share share = walk.at(number);
        clear(sum);
#pragma unroll 1
        for (int at = share.begin; at < share.end; at += BK) add_step(ring, group, turns, part, sum);
        if (args.splits == 1 || add_parts(args, share.tile, walk.tiles, share.split, ring.flag(), sum))
            store_sums(args, share.origin(args), walk.k > 0, sum);
    }
}

#endif

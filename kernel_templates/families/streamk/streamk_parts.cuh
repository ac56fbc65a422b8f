/* SPDX-License-Identifier: MIT */
/* streamk_parts.cuh — the sum of a tile whose k several blocks share: added by the last of them to arrive, as
 * part of the first k + part of the next k + ...
 *
 * All blocks start their shares of the line at the same time, and a share ends with the beginning of a tile:
 * the block that begins a tile arrives last as a rule, when the others have stored their parts. It then adds
 * these to the sums in its registers, and its own part is never stored. Whether it is the last it knows from
 * the tile's counter. So it counts in twice: before it stores its part, and, if others are still to come,
 * once more after. The others count in once.
 *
 *     count of a tile of 2 parts      the block that goes on   the block that begins
 *     as a rule                       stores, 0 -> 1           1 -> 2 = all parts: adds
 *     the other way round             stores, 2 -> 3: adds     0 -> 1, stores, 1 -> 2
 */
#ifndef GT_STREAMK_PARTS_CUH
#define GT_STREAMK_PARTS_CUH

#include "gemm_args.h"
#include "gt_arrive.cuh"
#include "gt_memory.cuh"
#include "gt_reduce.cuh"
#include "streamk_line.h"
#include "streamk_notes.cuh"

using part = tile_part<TM, TN, THREADS, MIN_BLOCKS>;

/* sum += a part: as many values at a time as the registers hold besides the sums. */
static __device__ __forceinline__ void add_part(const float *from, float (&sum)[TM][TN])
{
    from += threadIdx.x * part::V;
#pragma unroll
    for (int first = 0; first < part::COUNT; first += part::GROUP_COUNT) {
        float x[part::GROUP_COUNT];
#pragma unroll
        for (int i = 0; i < part::GROUP_COUNT; i += part::V)
            if (first + i < part::COUNT) load_own<part::V>(x + i, from + (first + i) * THREADS);
#pragma unroll
        for (int i = 0; i < part::GROUP_COUNT; i++)
            if (first + i < part::COUNT) sum[(first + i) / TN][(first + i) % TN] += x[i];
    }
}

/* sum = -0, to which any number adds as itself; hidden from the compiler, as 0 is in clear(). */
static __device__ __forceinline__ void forget(const struct gemm_args &args, float (&sum)[TM][TN])
{
    const float nothing = args.k < 0 ? 1.0f : -0.0f;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = nothing;
}

/* Takes the block's sums of a part of a tile. Returns true for the block that then has those of all of k. */
static __device__ __forceinline__ bool join_parts(const struct gemm_args &args, int block, int tile,
                                                  float (&sum)[TM][TN])
{
    const struct line line = noted_line(args.splits);
    const int begins = block_of_unit(line, tile * line.depth);
    const int others = block_of_unit(line, tile * line.depth + line.depth - 1) - begins;
    unsigned *const counter = reinterpret_cast<unsigned *>(args.workspace) + tile;
    float *const parts = args.workspace + args.counters;
    const float *const rest = parts + (long long)slot_of(line, begins + 1, false) * part::FLOATS;
    float *const flag = place_of_note(NOTE_FLAG); /* the stages may be in use */
    const float *next = rest;
    int left = others; /* to add */
    if (block != begins || !last_to_arrive(counter, others + 1, flag)) {
        const float one = args.k < 0 ? 0.0f : 1.0f; /* hidden; tile_part::store says what it is for */
        part::store(parts + (long long)slot_of(line, block, block == begins) * part::FLOATS, sum, one);
        if (!last_to_arrive(counter, others + 2, flag)) return false;
        forget(args, sum);
        next = parts + (long long)slot_of(line, begins, true) * part::FLOATS;
        left = others + 1;
    }
#pragma unroll 1
    for (; left > 0; left--) {
        add_part(next, sum);
        next = left > others ? rest : next + part::FLOATS;
    }
    return true;
}

#endif

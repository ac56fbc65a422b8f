/* SPDX-License-Identifier: MIT */
/* streamk_notes.cuh — numbers that a block keeps in shared memory, after the stages: what is the same for all
 * pieces, and what it must still know of a piece when it has multiplied it. Registers would be taken from the
 * main loop, and to compute them again would take some 15 divisions a piece. */
#ifndef GT_STREAMK_NOTES_CUH
#define GT_STREAMK_NOTES_CUH

#include "gt_memory.cuh"
#include "gt_schedule.cuh"
#include "streamk_line.h"

enum {
    NOTE_DEPTH, /* of the line */
    NOTE_SHARED,
    NOTE_WAVES,
    NOTE_UNITS,
    NOTE_SHARE_END, /* of the block */
    NOTE_TILE,      /* of the piece that is multiplied */
    NOTE_COUNT,
    NOTE_NEXT,
    NOTE_ITEM, /* of its tile */
    NOTE_M,
    NOTE_N,
    NOTE_FLAG, /* of last_to_arrive() */
    NOTED
};
static_assert(NOTED <= NOTES, "the host must know how much shared memory notes take");

static __device__ __forceinline__ float *place_of_note(int number)
{
    return gt_shared_memory() + STAGES * STAGE_FLOATS + number;
}

/* Thread 0 writes them; all may read them after the next __syncthreads(). */
static __device__ __forceinline__ void note(int number, int value)
{
    union {
        int number;
        float moved;
    } x;
    x.number = value;
    if (thread_index() == 0) store_shared<1>(place_of_note(number), &x.moved);
}

static __device__ __forceinline__ int noted(int number)
{
    union {
        int number;
        float moved;
    } x;
    load_shared<1>(&x.moved, place_of_note(number));
    return x.number;
}

/* Of a piece: what is needed of it when it has been multiplied. */
struct noted_piece {
    int tile, count, next, item;
    struct tile_origin origin;
};

static __device__ __forceinline__ void note_piece(const struct piece &piece, int item,
                                                  struct tile_origin origin)
{
    note(NOTE_TILE, piece.tile);
    note(NOTE_COUNT, piece.count);
    note(NOTE_NEXT, piece.next);
    note(NOTE_ITEM, item);
    note(NOTE_M, origin.m);
    note(NOTE_N, origin.n);
}

static __device__ __forceinline__ struct noted_piece piece_noted()
{
    return {noted(NOTE_TILE),
            noted(NOTE_COUNT),
            noted(NOTE_NEXT),
            noted(NOTE_ITEM),
            {noted(NOTE_M), noted(NOTE_N)}};
}

static __device__ __forceinline__ void note_line(const struct line &line, int share_end)
{
    note(NOTE_DEPTH, line.depth);
    note(NOTE_SHARED, line.shared);
    note(NOTE_WAVES, line.waves);
    note(NOTE_UNITS, line.units);
    note(NOTE_SHARE_END, share_end);
}

static __device__ __forceinline__ struct line noted_line(int blocks)
{
    return {blocks, noted(NOTE_DEPTH), noted(NOTE_SHARED), noted(NOTE_WAVES), noted(NOTE_UNITS)};
}

#endif

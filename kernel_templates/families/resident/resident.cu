/* SPDX-License-Identifier: MIT */
/* resident.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in strict FP32 for a C that is long and low (or
 * narrow): one operand is so small that it stays in shared memory while the other is streamed past it, once.
 *
 *     SIDE 0                    n ->                         SIDE 1 is the same with A and B exchanged:
 *                        k  +--------------------------+     B stays, A is streamed.
 *                           | B streamed: BK x BN a    |
 *                           | stage, tile after tile   |     Block w walks tiles w, w + W, w + 2 W ... of
 *                           +--------------------------+     its row of tiles; k is walked within each:
 *            k
 *         +------+          +------+------+------+-----+     tile w   k 0   k 1   k 2   store C
 *      BM |  A   |          |  w   |w + 1 | ...  |w + W|     tile w+W k 0   k 1   k 2   store C
 *         |      |          |      |      |      |     |
 *         +------+          +------+------+------+-----+     To the stages it is one sequence: while a tile
 *     all of k, in shared   C: a row of tiles of BM x BN     of C is stored, the copies for the next ones
 *     memory from the start                                  are on their way.
 *
 * Within a tile everything is as in simt.cu: warps, lanes, two sets of fragments. With LOADER 1 there is one
 * barrier per stage, and BK need not be even, so that it can divide a k like 27 or 147. With 2 and 3 each
 * warp waits for stages on its own (resident_flow.cuh). Where BK does not divide k, the first tile takes the
 * remainder and is filled up with zeros. C is stored past the caches, since it is not read again.
 *
 * Parameters (-D) and their trade-offs: resident_params.def; legal combinations: resident_rules.h; limits of
 * speed: README.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_async_copy.cuh"
#include "gt_barrier.cuh"
#include "gt_bulk_copy.cuh"
#include "gt_compute.cuh"
#include "gt_load.cuh"
#include "gt_memory.cuh"
#include "gt_schedule.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "resident_rules.h"

/* The problem by the operands' roles, resident and streamed, and this block's share of it. */
struct view {
    const float *resident, *stream;
    long long resident_ld, stream_ld;
    int resident_end, stream_end; /* rows or columns of C */
    int resident_x, stream_x;     /* first row or column of this block's first tile */
    int step_x, tiles;            /* from one of its tiles to the next; number of its tiles */
    struct k_range k;
    int length; /* K */
    int first_rows,
        k_rows; /* of the first stage, of all of them, with the zeros that fill the first one up */
};

static __device__ __forceinline__ struct view view_of(const struct gemm_args &args)
{
    const float *const a = args.a + blockIdx.z * args.stride_a;
    const float *const b = args.b + blockIdx.z * args.stride_b;
    struct view v;
    v.resident = SIDE == 0 ? a : b;
    v.stream = SIDE == 0 ? b : a;
    v.resident_ld = SIDE == 0 ? args.lda : args.ldb;
    v.stream_ld = SIDE == 0 ? args.ldb : args.lda;
    v.resident_end = SIDE == 0 ? args.m : args.n;
    v.stream_end = SIDE == 0 ? args.n : args.m;
    const int rows = (v.resident_end - 1) / RESIDENT_X + 1, walkers = gridDim.x / rows;
    const int row = block_index() % rows, walker = block_index() / rows;
    v.resident_x = row * RESIDENT_X;
    v.stream_x = walker * STREAM_X;
    v.step_x = walkers * STREAM_X;
    v.tiles = ((v.stream_end - 1) / STREAM_X - walker) / walkers + 1;
    v.k = k_range_of_split<BK>(0, args.k, args.k);
    v.length = args.k;
    v.first_rows = (v.k.first + K_STEP - 1) / K_STEP * K_STEP;
    v.k_rows = (v.k.tiles - 1) * BK + v.first_rows;
    return v;
}

#include "resident_copy.cuh"

/* Waits until the next stage is complete and all threads may read it; the one that was read before it is then
 * free. */
static __device__ __forceinline__ void next_stage_ready()
{
    cp_async_wait<STAGES - 2>();
    __syncthreads();
}

#include "gt_fragments.cuh"

/* Position of the first piece of a thread's rows and columns within the block's tile. */
struct thread_place {
    int row, column;
};

static __device__ __forceinline__ struct thread_place place_of(int thread)
{
    const int warp = thread / 32;
    const struct lane_place lane = lane_place_of<LANES_M, LANES_N>(thread % 32);
    return {warp / WARPS_N * WM + lane.m * CHUNK_M, warp % WARPS_N * WN + lane.n * CHUNK_N};
}

/* The block's iteration over the stages, in step with `stream`. */
struct walk {
    struct stream in;
    struct fragments f;
    float *stages;
    shared_place at_a, at_b;
    int now, next, free; /* offsets of stages */

    __device__ __forceinline__ void copy(int stage, const struct view &v)
    {
        in.copy(stages + stage, v);
        cp_async_commit();
    }

    __device__ __forceinline__ void start(const struct view &v)
    {
        const struct thread_place place = place_of(thread_index());
        stages = gt_shared_memory();
        float *const resident = stages + STAGES * STAGE_FLOATS;
        copy_resident(resident, v);
        in.start(v);
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++) copy(i * STAGE_FLOATS, v);
        at_a = place_in_shared((SIDE == 0 ? resident : stages) + place.row);
        at_b = place_in_shared((SIDE == 0 ? stages : resident) + place.column);
        now = 0;
        next = STAGE_FLOATS;
        free = (STAGES - 1) * STAGE_FLOATS;
        next_stage_ready();
        f.load(0, at_a, at_b, 0);
    }

    /* Advances to the next stage, `resident_step` floats further in the resident operand. */
    __device__ __forceinline__ void move_on(int resident_step)
    {
        at_a += SIDE == 0 ? resident_step : next - now;
        at_b += SIDE == 0 ? next - now : resident_step;
        free = now;
        now = next;
        next = next == (STAGES - 1) * STAGE_FLOATS ? 0 : next + STAGE_FLOATS;
    }

    /* sum += the products of one stage. When the stage is released, the fragments of its last step are in
     * registers. The first fragments of the next stage are loaded into the other set or, where BK is odd,
     * into the same set after its last use. */
    __device__ __forceinline__ void multiply_stage(float (&sum)[TM][TN], const struct view &v,
                                                   int resident_step)
    {
        constexpr int LOOPED = (BK - 1) / UNROLL * UNROLL;
        copy(free, v);
#pragma unroll 1
        for (int k = 0; k < LOOPED; k += UNROLL)
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                f.load((u + 1) % 2, at_a, at_b, k + u + 1);
                add_outer_product<ORDER>(sum, f.a[u % 2], f.b[u % 2]);
            }
#pragma unroll
        for (int k = LOOPED; k < BK - 1; k++) {
            f.load((k + 1) % 2, at_a, at_b, k + 1);
            add_outer_product<ORDER>(sum, f.a[k % 2], f.b[k % 2]);
        }
        next_stage_ready();
        move_on(resident_step);
        if (BK % 2 == 0) f.load(0, at_a, at_b, 0);
        add_outer_product<ORDER>(sum, f.a[(BK - 1) % 2], f.b[(BK - 1) % 2]);
        if (BK % 2 == 1) f.load(0, at_a, at_b, 0);
    }

    /* sum += the products of one tile. */
    __device__ __forceinline__ void multiply(float (&sum)[TM][TN], const struct view &v)
    {
        int left = v.k.tiles;
#pragma unroll 1
        do multiply_stage(sum, v, (left > 1 ? 1 : 1 - v.k.tiles) * RESIDENT_FLOATS);
        while (--left > 0);
    }
};

#include "resident_flow.cuh"

#if LOADER == 1
typedef struct walk block_walk;
#else
typedef struct flow block_walk;
#endif

#include "gt_stream.cuh"

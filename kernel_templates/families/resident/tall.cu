/* SPDX-License-Identifier: MIT */
/* tall.cu — C[m,n] = alpha * op(A) * op(B) + beta * C in strict FP32 for a C that is long and narrow (or
 * low), where the long operand is contiguous along k, in rows that begin at any multiple of 4 bytes.
 *
 *     SIDE 1            n                            SIDE 0 is the same with A and B exchanged:
 *                    +------+                        A stays, B (stored N x K) is streamed, C is low.
 *                  k |  B   |  all of k, in shared
 *                    |      |  memory from the       Block w walks tiles w, w + W, w + 2 W ... of the rows;
 *            k       +------+  start                 k is walked within each, BK at a time:
 *         +------+   +------+
 *         |  A   |   |  w   |                        tile w    k 0   k 1   k 2   store C
 *      BM | BK a |   +------+                        tile w+W  k 0   k 1   k 2   store C
 *         | stage|   | w+1  |
 *         +------+   +------+                        To the stages it is one sequence: while a tile of C is
 *                      BN   C                        stored, the copies for the next ones are on their way.
 *
 * resident.cu does the same, but transposes such rows float by float while it copies them. Here a row stays a
 * row and is copied 16 bytes at a time, from the multiple of 16 bytes at or before its first float. That
 * float lands `shift` floats after the beginning of its row of shared memory.
 *
 *     device memory   ... x x|x a b c|d e f g|h i j y|y ...     shift 1: the first vector brings a float from
 *     shared memory         [x a b c d e f g h i j y]           before it, the last one a float after it
 *
 * A vector that would touch memory before or after the operand is copied float by float. The rows that a
 * thread multiplies are a multiple of 4 apart, and so have the same shift.
 *
 * Parameters (-D) and their trade-offs: tall_params.def; legal combinations: tall_rules.h; limits of speed:
 * README.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_async_copy.cuh"
#include "gt_compute.cuh"
#include "gt_memory.cuh"
#include "gt_schedule.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "tall_rules.h"

/* The problem by the operands' roles, and this block's share of it, which is part of a single row of
 * tiles. */
struct view {
    enum { resident_x = 0 };
    const float *resident, *stream;
    const float *stream_last; /* last address where a vector may begin: 4 floats before the operand's end */
    long long resident_ld, stream_ld;
    int resident_end, stream_end; /* rows or columns of C */
    int stream_x;                 /* first row or column of this block's first tile */
    int step_x, tiles;            /* from one of its tiles to the next; number of its tiles */
    struct k_range k;
    int length; /* K */
};

static __device__ __forceinline__ struct view view_of(const struct gemm_args &args)
{
    const float *const a = args.a + blockIdx.z * args.stride_a;
    const float *const b = args.b + blockIdx.z * args.stride_b;
    const int walkers = gridDim.x, walker = block_index();
    struct view v;
    v.resident = SIDE == 0 ? a : b;
    v.stream = SIDE == 0 ? b : a;
    v.resident_ld = SIDE == 0 ? args.lda : args.ldb;
    v.stream_ld = SIDE == 0 ? args.ldb : args.lda;
    v.resident_end = SIDE == 0 ? args.m : args.n;
    v.stream_end = SIDE == 0 ? args.n : args.m;
    v.stream_last = v.stream + ((v.stream_end - 1) * v.stream_ld + args.k - 4);
    v.stream_x = walker * STREAM_X;
    v.step_x = walkers * STREAM_X;
    v.tiles = ((v.stream_end - 1) / STREAM_X - walker) / walkers + 1;
    v.k = k_range_of_split<BK>(0, args.k, args.k);
    v.length = args.k;
    return v;
}

#include "tall_copy.cuh"

/* Waits until the next stage is complete and all threads may read it; the one that was read before it is then
 * free. */
static __device__ __forceinline__ void next_stage_ready()
{
    cp_async_wait<STAGES - 2>();
    __syncthreads();
}

/* Position of the first piece of a thread's share within the block's tile. */
struct thread_place {
    int row, column;
};

static __device__ __forceinline__ struct thread_place place_of(int thread)
{
    const struct lane_place lane = lane_place_of<LANES_M, LANES_N>(thread % 32);
    const int along = thread / 32 * WARP_X; /* along the streamed side */
    return {SIDE == 0 ? lane.m * CHUNK_RESIDENT : along + lane.m,
            SIDE == 0 ? along + lane.n : lane.n * CHUNK_RESIDENT};
}

struct fragments {
    float stream[2][STREAM_T], resident[2][RESIDENT_T];

    __device__ __forceinline__ void load(int set, shared_place at_stream, shared_place at_resident, int k)
    {
        load_fragment<STREAM_T, 1, LANES_STREAM * STRIDE_STREAM>(stream[set], at_stream + k);
        load_fragment<RESIDENT_T, CHUNK_RESIDENT, LANES_RESIDENT>(resident[set],
                                                                  at_resident + k * STRIDE_RESIDENT);
    }

    __device__ __forceinline__ void multiply(float (&sum)[TM][TN], int set) const
    {
        add_outer_product(sum, SIDE == 0 ? resident[set] : stream[set],
                          SIDE == 0 ? stream[set] : resident[set]);
    }
};

/* The block's iteration over the stages, in step with `stream`. */
struct walk {
    struct stream in;
    float *stages;
    shared_place at_stream, at_resident; /* addresses of the thread: in stage 0 without its shift; at k = 0 */
    int now, free;                       /* offsets of stages */
    int shift;                           /* of the thread's rows, at k = 0 */

    __device__ __forceinline__ void copy(int stage, const struct view &v)
    {
        in.copy(stages + stage, v);
        cp_async_commit();
    }

    __device__ __forceinline__ void start(const struct view &v)
    {
        const struct thread_place place = place_of(thread_index());
        const int resident_place = SIDE == 0 ? place.row : place.column;
        const int stream_place = SIDE == 0 ? place.column : place.row;
        float *const resident = gt_shared_memory();
        stages = resident + RESIDENT_ROWS(v.length) * STRIDE_RESIDENT;
        copy_resident(resident, v);
        in.start(v);
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++) copy(i * STAGE_FLOATS, v);
        at_resident = place_in_shared(resident + resident_place);
        at_stream = place_in_shared(stages + stream_place * STRIDE_STREAM);
        shift = shift_of(v.stream + stream_place * v.stream_ld);
        now = 0;
        free = (STAGES - 1) * STAGE_FLOATS;
    }

    /* sum += the products of `steps` steps that begin at k. During each step the fragments of the next one
     * are read. Those read during the last step belong to other data and are not used. */
    __device__ __forceinline__ void multiply_stage(float (&sum)[TM][TN], int k, int steps) const
    {
        shared_place from_stream = at_stream + (now + ((shift + k) & 3)),
                     from_resident = at_resident + k * STRIDE_RESIDENT;
        struct fragments f;
        int left = steps;
        f.load(0, from_stream, from_resident, 0);
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                f.load((u + 1) % 2, from_stream, from_resident, u + 1);
                f.multiply(sum, u % 2);
            }
            from_stream += UNROLL;
            from_resident += UNROLL * STRIDE_RESIDENT;
        }
#pragma unroll 1
        for (; left > 0; left--) {
            f.multiply(sum, 0);
            from_stream += 1;
            from_resident += STRIDE_RESIDENT;
            f.load(0, from_stream, from_resident, 0);
        }
    }

    /* sum += the products of one tile. */
    __device__ __forceinline__ void multiply(float (&sum)[TM][TN], const struct view &v)
    {
        int k = 0, steps = v.k.first;
#pragma unroll 1
        do {
            next_stage_ready();
            copy(free, v);
            multiply_stage(sum, k, steps);
            free = now;
            now = now == (STAGES - 1) * STAGE_FLOATS ? 0 : now + STAGE_FLOATS;
            k += steps;
            steps = BK;
        } while (k < v.length);
    }
};

typedef struct walk block_walk;

#include "gt_stream.cuh"

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
 * Parameters (-D) and their trade-offs: template_tall.c; legal combinations: tall_rules.h; limits of speed:
 * docs/kernels.md. TRANS_A, TRANS_B are 0 or 1. Launch and arguments: gemm_args.h.
 */
#include "gemm_args.h"
#include "gt_async_copy.cuh"
#include "gt_compute.cuh"
#include "gt_memory.cuh"
#include "gt_schedule.cuh"
#include "gt_store.cuh"

#define RULE(last, holds, why)    static_assert(holds, why);
#define RULE_OP(last, holds, why) static_assert(holds, why);
#include "tall_rules.h"

/* The problem by the operands' roles, small and tall, and this block's share of it. */
struct view {
    const float *small, *tall;
    const float *tall_last; /* last address where a vector may begin: 4 floats before the operand's end */
    long long small_ld, tall_ld;
    int small_end, tall_end; /* rows or columns of C */
    int tall_x;              /* first row or column of this block's first tile */
    int step_x, tiles;       /* from one of its tiles to the next; number of its tiles */
    struct k_range k;
    int length; /* K */
};

static __device__ __forceinline__ struct view view_of(const struct gemm_args &args)
{
    const float *const a = args.a + blockIdx.z * args.stride_a;
    const float *const b = args.b + blockIdx.z * args.stride_b;
    const int walkers = gridDim.x, walker = block_index();
    struct view v;
    v.small = SIDE == 0 ? a : b;
    v.tall = SIDE == 0 ? b : a;
    v.small_ld = SIDE == 0 ? args.lda : args.ldb;
    v.tall_ld = SIDE == 0 ? args.ldb : args.lda;
    v.small_end = SIDE == 0 ? args.m : args.n;
    v.tall_end = SIDE == 0 ? args.n : args.m;
    v.tall_last = v.tall + ((v.tall_end - 1) * v.tall_ld + args.k - 4);
    v.tall_x = walker * TALL_X;
    v.step_x = walkers * TALL_X;
    v.tiles = ((v.tall_end - 1) / TALL_X - walker) / walkers + 1;
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
    int small, tall;
};

static __device__ __forceinline__ struct thread_place place_of(int thread)
{
    const struct lane_place lane = lane_place_of<LANES_M, LANES_N>(thread % 32);
    return {(SIDE == 0 ? lane.m : lane.n) * CHUNK_SMALL,
            thread / 32 * WARP_X + (SIDE == 0 ? lane.n : lane.m)};
}

struct fragments {
    float tall[2][TALL_T], small[2][SMALL_T];

    __device__ __forceinline__ void load(int set, shared_place at_tall, shared_place at_small, int k)
    {
        load_fragment<TALL_T, 1, LANES_TALL * STRIDE_TALL>(tall[set], at_tall + k);
        load_fragment<SMALL_T, CHUNK_SMALL, LANES_SMALL>(small[set], at_small + k * STRIDE_SMALL);
    }

    __device__ __forceinline__ void multiply(float (&sum)[TM][TN], int set) const
    {
        add_outer_product(sum, SIDE == 0 ? small[set] : tall[set], SIDE == 0 ? tall[set] : small[set]);
    }
};

/* The block's iteration over the stages, in step with `stream`. */
struct walk {
    struct stream in;
    float *stages;
    shared_place at_tall, at_small; /* addresses of the thread: in stage 0 without its shift; at k = 0 */
    int now, free;                  /* offsets of stages */
    int shift;                      /* of the thread's rows, at k = 0 */

    __device__ __forceinline__ void copy(int stage, const struct view &v)
    {
        in.copy(stages + stage, v);
        cp_async_commit();
    }

    __device__ __forceinline__ void start(const struct view &v)
    {
        const struct thread_place place = place_of(thread_index());
        float *const small = gt_shared_memory();
        stages = small + SMALL_ROWS(v.length) * STRIDE_SMALL;
        copy_small(small, v);
        in.start(v);
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++) copy(i * STAGE_FLOATS, v);
        at_small = place_in_shared(small + place.small);
        at_tall = place_in_shared(stages + place.tall * STRIDE_TALL);
        shift = shift_of(v.tall + place.tall * v.tall_ld);
        now = 0;
        free = (STAGES - 1) * STAGE_FLOATS;
    }

    /* sum += the products of `steps` steps that begin at k. During each step the fragments of the next one
     * are read. Those read during the last step belong to other data and are not used. */
    __device__ __forceinline__ void multiply_stage(float (&sum)[TM][TN], int k, int steps) const
    {
        shared_place tall = at_tall + (now + ((shift + k) & 3)), small = at_small + k * STRIDE_SMALL;
        struct fragments f;
        int left = steps;
        f.load(0, tall, small, 0);
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                f.load((u + 1) % 2, tall, small, u + 1);
                f.multiply(sum, u % 2);
            }
            tall += UNROLL;
            small += UNROLL * STRIDE_SMALL;
        }
#pragma unroll 1
        for (; left > 0; left--) {
            f.multiply(sum, 0);
            tall += 1;
            small += STRIDE_SMALL;
            f.load(0, tall, small, 0);
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

static __device__ __forceinline__ void store(const struct gemm_args &args, const struct view &v, int tall_x,
                                             const float (&sum)[TM][TN], float alpha, float beta)
{
    const struct thread_place place = place_of(thread_index());
    float *const c = args.c + blockIdx.z * args.stride_c;
    const int row = SIDE == 0 ? place.small : tall_x + place.tall;
    const int column = SIDE == 0 ? tall_x + place.tall : place.small;
    const bool inside = v.small_end == SMALL_X && v.tall_end - tall_x >= TALL_X; /* tile inside C */
    if (inside && beta == 0.0f)
        store_inner_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(c, args.ldc, row, column, sum,
                                                                               alpha);
    else if (beta == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false, true>(
            c, args.ldc, args.m, args.n, row, column, sum, alpha, beta);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true, true>(c, args.ldc, args.m, args.n,
                                                                               row, column, sum, alpha, beta);
}

/* C = beta * C, where there are no products to add. */
static __device__ __forceinline__ void scale(const struct gemm_args &args, const struct view &v, float beta)
{
    float *const c = args.c + blockIdx.z * args.stride_c;
    int x = v.tall_x;
#pragma unroll 1
    for (int left = v.tiles; left > 0; left--) {
#pragma unroll 1
        for (int i = thread_index(); i < BM * BN; i += THREADS) {
            const int row = (SIDE == 0 ? 0 : x) + i / BN, column = (SIDE == 0 ? x : 0) + i % BN;
            const float nothing = 0.0f;
            float *const at = c + row * args.ldc + column;
            if (row >= args.m || column >= args.n) continue;
            if (beta == 0.0f) store_scaled<1, false>(at, &nothing, 0.0f, 0.0f);
            else store_scaled<1, true>(at, &nothing, 0.0f, beta);
        }
        if (left > 1) x += v.step_x;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    const struct view v = view_of(args);
    const float alpha = scalar_of(args.alpha_device, args.alpha);
    const float beta = scalar_of(args.beta_device, args.beta);
    if (alpha == 0.0f || v.k.tiles == 0) {
        scale(args, v, beta);
        return;
    }
    struct walk walk;
    walk.start(v);

    /* 0, hidden from the assembler (simt.cu says why). */
    const float zero = args.k < 0 ? 1.0f : 0.0f;
    int x = v.tall_x;
#pragma unroll 1
    for (int left = v.tiles; left > 0; left--) {
        float sum[TM][TN];
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++) sum[i][j] = zero;
        walk.multiply(sum, v);
        store(args, v, x, sum, alpha, beta);
        if (left > 1) x += v.step_x;
    }
}

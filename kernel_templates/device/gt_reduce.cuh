/* SPDX-License-Identifier: MIT */
/* gt_reduce.cuh — the sum over the parts of a product that is split along k: computed by a second kernel,
 * which then does C = alpha * sum + beta * C (gt_epilogue.cuh), or by the last block of a tile to arrive.
 *
 * The order of additions is fixed (gt_reduce_rules.h), and with it the result, bit for bit. Grid of the
 * second kernel: groups of vectors along x, batch items along z. The host limits the workspace so that a
 * matrix in it has less than 2^31 elements.
 */
#ifndef GT_REDUCE_CUH
#define GT_REDUCE_CUH

#include "gemm_args.h"
#include "gt_batch.cuh"
#include "gt_memory.cuh"
#include "gt_reduce_rules.h"
#include "gt_store.cuh"

/* sum = partial products begin .. end - 1 of one vector of C, `step` floats apart, added in ascending order.
 * Eight loads are in flight at a time, also at the end of the range: waiting for single loads would cost
 * microseconds. */
template <int V>
static __device__ __forceinline__ void add_splits(float *sum, const float *partial, long long step, int begin,
                                                  int end)
{
    constexpr int AT_ONCE = 8;
#pragma unroll
    for (int e = 0; e < V; e++) sum[e] = 0.0f;
    partial += begin * step;
#pragma unroll 1
    for (int s = begin; s < end; s += AT_ONCE) {
        float x[AT_ONCE][V];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
#pragma unroll
            for (int e = 0; e < V; e++) x[i][e] = 0.0f;
            if (s + i < end) load_own<V>(x[i], partial + i * step);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int e = 0; e < V; e++) sum[e] += x[i][e];
        partial += AT_ONCE * step;
    }
}

/* parts: those of the block's batch item. */
template <int V>
static __device__ __forceinline__ void reduce_splits(const struct gemm_args &args, const float *parts)
{
    const int vectors = args.m * (args.n / V), ways = reduce_ways(vectors, args.splits);
    const int width = REDUCE_THREADS / ways, place = threadIdx.x % width, way = threadIdx.x / width;
    const int vector = blockIdx.x * width + place;
    const int run = (args.splits + ways - 1) / ways;
    const int begin = way * run, end = begin + run < args.splits ? begin + run : args.splits;
    const long long step = (long long)args.m * args.n;
    const float *const partial = parts + (long long)vector * V;

    float sum[V];
    if (vector < vectors) add_splits<V>(sum, partial, step, begin, end);
    if (ways > 1) {
        float *const shared = gt_shared_memory();
        if (vector < vectors) store_shared<V>(shared + threadIdx.x * V, sum);
        __syncthreads();
        if (way == 0 && vector < vectors)
#pragma unroll 1
            for (int first = 1; first < ways; first += 8) {
                float x[8][V];
#pragma unroll
                for (int i = 0; i < 8; i++)
                    if (first + i < ways) load_shared<V>(x[i], shared + ((first + i) * width + place) * V);
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int e = 0; e < V; e++)
                        if (first + i < ways) sum[e] += x[i][e];
            }
    }
    if (way > 0 || vector >= vectors) return;

    const float alpha = scalar_of(args.alpha_device, args.alpha);
    const blending blend = blend_of(args);
    const int row = vector / (args.n / V), column = vector % (args.n / V) * V;
    float *const c = ITEM_OF_BATCH(args, c) + row * args.ldc + column;
    const biases<V> bias = biases_at<V>(blend, row, column);
    if (blend == 0.0f) store_scaled<V, false>(c, sum, alpha, blend, bias);
    else store_scaled<V, true>(c, sum, alpha, blend, bias);
}

/* A tile's part for one split, in the order of threads: each thread stores vectors as wide as its number of
 * sums allows, and neighbouring threads store neighbouring vectors. The whole tile is stored, also beyond the
 * edges of C. MIN_BLOCKS_SM: blocks that share the registers of an SM. */
template <int TILE_M, int TILE_N, int THREAD_COUNT, int MIN_BLOCKS_SM> struct tile_part {
    static constexpr int COUNT = TILE_M * TILE_N; /* sums of a thread */
    static constexpr int FLOATS = COUNT * THREAD_COUNT;
    static constexpr int V = COUNT % 4 == 0 ? 4 : COUNT % 2 == 0 ? 2 : 1;

    /* Values in flight at a time: as many as the registers besides sums and addresses allow. A thread with
     * few sums loads several parts at once, a thread with many loads one group of sums at a time. */
    static constexpr int LIMIT = 65536 / (THREAD_COUNT * MIN_BLOCKS_SM);
    static constexpr int SPARE = (LIMIT < 255 ? LIMIT : 255) - COUNT - 40;
    static constexpr int ON_THE_WAY = SPARE >= 64 ? 64 : SPARE >= 32 ? 32 : 16;
    static constexpr int GROUP_COUNT = COUNT < ON_THE_WAY ? COUNT : ON_THE_WAY;
    static constexpr int AT_ONCE = ON_THE_WAY / GROUP_COUNT < 8 ? ON_THE_WAY / GROUP_COUNT : 8;

    /* The product with alpha decouples the registers of the sums from the consecutive ones that vector stores
     * need. */
    static __device__ __forceinline__ void store(float *part, const float (&sum)[TILE_M][TILE_N], float alpha)
    {
        part += threadIdx.x * V;
#pragma unroll
        for (int i = 0; i < COUNT; i += V) {
            float out[V];
#pragma unroll
            for (int e = 0; e < V; e++) out[e] = alpha * sum[(i + e) / TILE_N][(i + e) % TILE_N];
            store_global<V>(part + i * THREAD_COUNT, out);
        }
    }

    /* sum = the parts of all splits, added in ascending order. */
    static __device__ __forceinline__ void add(const float *parts, int splits, float (&sum)[TILE_M][TILE_N])
    {
        parts += threadIdx.x * V;
#pragma unroll
        for (int first = 0; first < COUNT; first += GROUP_COUNT) {
            const int end = first + GROUP_COUNT < COUNT ? first + GROUP_COUNT : COUNT;
            const float *at = parts;
#pragma unroll
            for (int i = first; i < end; i++) sum[i / TILE_N][i % TILE_N] = 0.0f;
#pragma unroll 1
            for (int s = 0; s < splits; s += AT_ONCE) {
                float x[AT_ONCE][GROUP_COUNT];
#pragma unroll
                for (int p = 0; p < AT_ONCE; p++)
#pragma unroll
                    for (int i = first; i < end; i += V) {
#pragma unroll
                        for (int e = 0; e < V; e++) x[p][i - first + e] = 0.0f;
                        if (s + p < splits) load_own<V>(&x[p][i - first], at + p * FLOATS + i * THREAD_COUNT);
                    }
#pragma unroll
                for (int p = 0; p < AT_ONCE; p++)
#pragma unroll
                    for (int i = first; i < end; i++) sum[i / TILE_N][i % TILE_N] += x[p][i - first];
                at += AT_ONCE * FLOATS;
            }
        }
    }
};

#endif

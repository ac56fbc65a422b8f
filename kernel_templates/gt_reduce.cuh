/* gt_reduce.cuh — the second kernel of a product split along k: C = alpha * (sum of the partial products) +
 * beta * C.
 *
 * Always the same order of additions (gt_reduce_rules.h), hence the same bits. Grid: x = groups of vectors, z
 * = batch items. The host keeps the workspace so small that a matrix has less than 2^31 elements.
 */
#ifndef GT_REDUCE_CUH
#define GT_REDUCE_CUH

#include "gemm_args.h"
#include "gt_reduce_rules.h"
#include "gt_store.cuh"

/* sum = partial products begin .. end - 1 of one vector of C, `step` floats apart, in ascending order. Eight are
 * on their way together, the last few, too: waiting for them one by one would cost microseconds. */
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

template <int V> static __device__ __forceinline__ void reduce_splits(const struct gemm_args &args)
{
    const int vectors = args.m * (args.n / V), ways = reduce_ways(vectors, args.splits);
    const int width = REDUCE_THREADS / ways, place = threadIdx.x % width, way = threadIdx.x / width;
    const int vector = blockIdx.x * width + place;
    const int run = (args.splits + ways - 1) / ways;
    const int begin = way * run, end = begin + run < args.splits ? begin + run : args.splits;
    const long long step = (long long)args.m * args.n;
    const float *const partial = args.workspace + blockIdx.z * (args.splits * step) + (long long)vector * V;

    float sum[V];
    if (vector < vectors) add_splits<V>(sum, partial, step, begin, end);
    if (ways > 1) {
        float *const shared = gt_shared_memory();
        if (vector < vectors) store_shared<V>(shared + threadIdx.x * V, sum);
        __syncthreads();
        if (way == 0 && vector < vectors)
            for (int w = 1; w < ways; w++) {
                float x[V];
                load_shared<V>(x, shared + (w * width + place) * V);
#pragma unroll
                for (int e = 0; e < V; e++) sum[e] += x[e];
            }
    }
    if (way > 0 || vector >= vectors) return;

    const float alpha = scalar_of(args.alpha_device, args.alpha),
                beta = scalar_of(args.beta_device, args.beta);
    const int row = vector / (args.n / V), column = vector % (args.n / V) * V;
    float *const c = args.c + blockIdx.z * args.stride_c + row * args.ldc + column;
    if (beta == 0.0f) store_scaled<V, false>(c, sum, alpha, beta);
    else store_scaled<V, true>(c, sum, alpha, beta);
}

#endif

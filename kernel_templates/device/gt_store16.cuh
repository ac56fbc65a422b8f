/* SPDX-License-Identifier: MIT */
/* gt_store16.cuh — how kernels with 16-bit operands store C, in the operands' type or FP32: sums of a lane go
 * to rows in shared memory, vectors of a row to C, blended and with the epilogue (gt_epilogue.cuh).
 *
 * An accumulator is a quad: the neighbours (row g, columns 2 t, 2 t + 1) of the instruction's product and the
 * same of row g + 8, with g = lane / 4 and t = lane % 4. With the macro SWAP its rows are columns of C.
 * TYPE_A and TYPE_C are the elements' types.
 */
#ifndef GT_STORE16_CUH
#define GT_STORE16_CUH

#include "gemm_args.h"
#include "gt_epilogue.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_schedule.cuh"

/* Only their names are used. */
struct __half;
struct __nv_bfloat16;
template <class T> struct is_bf16 {
    static constexpr bool value = false;
};
template <> struct is_bf16<__nv_bfloat16> {
    static constexpr bool value = true;
};
constexpr bool BF16 = is_bf16<TYPE_A>::value;

/* The block's batch item of an operand, as in gt_batch.cuh. */
template <class T, class FLOAT>
static __device__ __forceinline__ T *item_of_batch(FLOAT *operand, long long stride)
{
#if POINTERS
    return reinterpret_cast<T *const *>(operand)[blockIdx.z];
#else
    return reinterpret_cast<T *>(operand) + blockIdx.z * stride;
#endif
}

/* Memory that holds elements of the type: floats or bits. */
template <class T> struct stored_as {
    using type = unsigned short;
};
template <> struct stored_as<float> {
    using type = float;
};
using c_element = stored_as<TYPE_C>::type;

template <int V> static __device__ __forceinline__ void load_c(float (&v)[V], const float *c)
{
    load_own<V>(v, c);
}
template <int V> static __device__ __forceinline__ void load_c(float (&v)[V], const unsigned short *c)
{
    unsigned short bits[V];
    load_elements<V>(bits, c);
#pragma unroll
    for (int e = 0; e < V; e++) v[e] = unpacked<BF16>(bits[e]);
}
template <int V> static __device__ __forceinline__ void store_c(float *c, const float (&v)[V])
{
    store_global<V>(c, v);
}
template <int V> static __device__ __forceinline__ void store_c(unsigned short *c, const float (&v)[V])
{
    unsigned short bits[V];
#pragma unroll
    for (int e = 0; e < V; e += 2) {
        const unsigned two = packed<BF16>(v[e], e + 1 < V ? v[e + 1] : 0.0f);
        bits[e] = (unsigned short)two;
        if (e + 1 < V) bits[e + 1] = (unsigned short)(two >> 16);
    }
    store_elements<V>(c, bits);
}

static __device__ __forceinline__ float element_of_c(const c_element *c)
{
    float value[1];
    load_c<1>(value, c);
    return value[0];
}

/* Where the block's sums go: m x n elements of C are left from c on. */
struct destination {
    c_element *c;
    long long ldc;
    int m, n;
    float alpha, beta;
#if EPILOGUE
    const c_element *source, *bias; /* of the first element */
#endif

    /* V sums of neighbours. A vector at the edge of C, whose lines may be aligned and yet end within a
     * vector, is read and stored element by element; with INSIDE there is none. */
    template <int V, bool INSIDE = V == 1>
    __device__ __forceinline__ void put(int row, int column, const float *sum) const
    {
        if (row >= m || column >= n) return;
        const bool whole = INSIDE || column + V <= n;
        const long long offset = row * ldc + column;
        float out[V];
#pragma unroll
        for (int e = 0; e < V; e++) out[e] = alpha * sum[e];
        if (beta != 0.0f) {
#if EPILOGUE
            const c_element *const from = source + offset;
#else
            const c_element *const from = c + offset;
#endif
            float old[V];
            if (whole) {
                load_c<V>(old, from);
            } else {
#pragma unroll
                for (int e = 0; e < V; e++) old[e] = column + e < n ? element_of_c(from + e) : 0.0f;
            }
#pragma unroll
            for (int e = 0; e < V; e++) out[e] = fmaf(beta, old[e], out[e]);
        }
#if EPILOGUE
#pragma unroll
        for (int e = 0; e < V; e++) {
            if (BIAS == 1) out[e] += column + e < n ? element_of_c(bias + column + e) : 0.0f;
            if (BIAS == 2) out[e] += element_of_c(bias + row);
            out[e] = activated(out[e], ACTIVATION == 1 ? 0.0f : infinite());
        }
#endif
        if (whole) {
            store_c<V>(c + offset, out);
        } else {
#pragma unroll
            for (int e = 0; e < V; e++) {
                const float one[1] = {out[e]};
                if (column + e < n) store_c<1>(c + offset + e, one);
            }
        }
    }

    /* What is stored, in place of the sums at pair(q), of columns column + 8 q and the next, for q below
     * COUNT. Pairs of C begin at multiples of their size. */
    template <int COUNT, class PAIR>
    __device__ __forceinline__ void finish_pairs(int row, int column, const PAIR &pair) const
    {
#pragma unroll
        for (int q = 0; q < COUNT; q++)
#pragma unroll
            for (int e = 0; e < 2; e++) pair(q)[e] *= alpha;
        const int left = row < m ? n - column : 0;
        const long long offset = row * ldc + column;
        if (beta != 0.0f) {
#if EPILOGUE
            const c_element *const from = source + offset;
#else
            const c_element *const from = c + offset;
#endif
#pragma unroll
            for (int q = 0; q < COUNT; q++) {
                float old[2];
                load_two<BF16>(old, from + 8 * q, left - 8 * q);
#pragma unroll
                for (int e = 0; e < 2; e++) pair(q)[e] = fmaf(beta, old[e], pair(q)[e]);
            }
        }
#if EPILOGUE
        float of_row = 0.0f;
        if (BIAS == 2 && row < m) of_row = element_of_c(bias + row);
#pragma unroll
        for (int q = 0; q < COUNT; q++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                if (BIAS == 1) of_row = 8 * q + e < left ? element_of_c(bias + column + 8 * q + e) : 0.0f;
                pair(q)[e] =
                    activated(BIAS ? pair(q)[e] + of_row : pair(q)[e], ACTIVATION == 1 ? 0.0f : infinite());
            }
#endif
    }
};

static __device__ __forceinline__ struct destination destination_of(const struct gemm_args &args,
                                                                    struct tile_origin origin)
{
    struct destination to;
    to.ldc = args.ldc;
    to.m = args.m - origin.m;
    to.n = args.n - origin.n;
    to.alpha = args.k == 0 ? 0.0f : scalar_of(args.alpha_device, args.alpha);
    to.beta = scalar_of(args.beta_device, args.beta);
    const long long first = origin.m * args.ldc + origin.n;
    to.c = item_of_batch<c_element>(args.c, args.stride_c) + first;
#if EPILOGUE
    to.source = reinterpret_cast<const c_element *>(args.source) + blockIdx.z * args.stride_c + first;
    to.bias = reinterpret_cast<const c_element *>(args.bias);
    if (BIAS) to.bias += blockIdx.z * args.stride_bias + (BIAS == 1 ? origin.n : origin.m);
#endif
    return to;
}

/* Puts a quad into rows of sums, ROW floats apart, of which `tile` is the first; (left, right) is the quad's
 * first element by rows and columns of the instruction. */
template <int ROW>
static __device__ __forceinline__ void put_quad(float *tile, int left, int right, const float (&quad)[4])
{
    if constexpr (SWAP) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            store_shared<1>(tile + (right + e % 2) * ROW + left + e / 2 * 8, quad + e);
    } else {
        store_shared<2>(tile + left * ROW + right, quad);
        store_shared<2>(tile + (left + 8) * ROW + right, quad + 2);
    }
}

#endif

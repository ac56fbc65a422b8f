/* SPDX-License-Identifier: MIT */
/* gt_epilogue.cuh — what is done to a sum before it is stored: C = alpha * sum + beta * C or, with the macro
 * EPILOGUE, D = act(alpha * sum + beta * C + bias).
 *
 * EPILOGUE is the code of epilogue.h. Without it a blending is beta alone, and the functions below do
 * nothing else. Rows and columns are those of C. What is stored in the workspace, to be added later, is a
 * part of a sum: it passes through the same functions with blend_of_parts().
 */
#ifndef GT_EPILOGUE_CUH
#define GT_EPILOGUE_CUH

#include "gemm_args.h"
#include "gt_memory.cuh"

#if EPILOGUE
#include "gt_fast_math.cuh"

#define BIAS         (EPILOGUE % 4)     /* 1: a value for each column of C, 2: for each row */
#define ACTIVATION   (EPILOGUE / 4 % 4) /* 1: ReLU, 2: GELU */
#define OUT_OF_PLACE (EPILOGUE / 16)    /* D is not C */
#endif

/* What a sum is blended with: beta, and more with an epilogue. */
#if EPILOGUE
struct blending {
    float beta;
    bool finishes;       /* false: parts of sums, which are stored as they are: */
    float limit;         /* then minus infinity, beyond which no activation changes anything */
    const float *bias;   /* of the row and column from which positions are counted */
    long long to_source; /* bytes from an element of D to that of C */

    __device__ __forceinline__ operator float() const { return beta; }
};
#else
typedef float blending;
#endif

/* *device if device is not null (alpha and beta may be in device memory), else value. */
static __device__ __forceinline__ float scalar_of(const float *device, float value)
{
    if (device) load_own<1>(&value, device);
    return value;
}

/* Of the block's batch item. */
static __device__ __forceinline__ blending blend_of(const struct gemm_args &args)
{
#if EPILOGUE
    const char *const source = reinterpret_cast<const char *>(args.source);
    return {scalar_of(args.beta_device, args.beta), true, ACTIVATION == 1 ? 0.0f : infinite(),
            BIAS ? args.bias + blockIdx.z * args.stride_bias : args.bias,
            OUT_OF_PLACE ? source - reinterpret_cast<const char *>(args.c) : 0};
#else
    return scalar_of(args.beta_device, args.beta);
#endif
}

/* The same for parts: given that of C, which says where the bias is. */
static __device__ __forceinline__ blending blend_of_parts(blending blend)
{
#if EPILOGUE
    return {0.0f, false, -infinite(), blend.bias, 0};
#else
    return 0.0f;
#endif
}

/* The same for positions counted from (row, column) on. */
static __device__ __forceinline__ blending blend_from(blending blend, int row, int column)
{
#if EPILOGUE
    if (BIAS) blend.bias += BIAS == 1 ? column : row;
#endif
    return blend;
}

/* Where C is read that is stored to c. */
static __device__ __forceinline__ const float *source_of(blending blend, const float *c)
{
#if EPILOGUE
    if (OUT_OF_PLACE)
        return reinterpret_cast<const float *>(reinterpret_cast<const char *>(c) + blend.to_source);
#endif
    return c;
}

/* What is added to COUNT elements of a row. Each row or each column has a bias: only one of the two functions
 * that load it does anything. */
template <int COUNT> struct biases {
#if EPILOGUE
    float of[COUNT];
#endif

    /* Of columns in pieces of CN, CN GRID_N apart, the first at `column`; n columns in all. */
    template <int CN, int GRID_N>
    __device__ __forceinline__ void load_columns(blending blend, int column, int n)
    {
#if EPILOGUE
        if (BIAS == 1) {
            const float *const from = blend.bias + column;
#pragma unroll
            for (int j = 0; j < COUNT; j++) {
                const int offset = j / CN * (GRID_N * CN) + j % CN; /* of a load from one address */
                of[j] = blend.finishes && column + offset < n ? __ldg(from + offset) : 0.0f;
            }
        }
#endif
    }

    __device__ __forceinline__ void load_row(blending blend, int row)
    {
#if EPILOGUE
        if (BIAS == 2) {
            of[0] = blend.finishes ? __ldg(blend.bias + row) : 0.0f;
#pragma unroll
            for (int j = 1; j < COUNT; j++) of[j] = of[0];
        }
#endif
    }

    /* That of elements first .. first + PART - 1. */
    template <int PART> __device__ __forceinline__ biases<PART> part(int first) const
    {
        biases<PART> part;
#if EPILOGUE
#pragma unroll
        for (int e = 0; e < PART; e++) part.of[e] = BIAS ? of[first + e] : 0.0f;
#endif
        return part;
    }
};

/* Of neighbouring elements of a row, all of them inside C. */
template <int COUNT>
static __device__ __forceinline__ biases<COUNT> biases_at(blending blend, int row, int column)
{
    biases<COUNT> bias;
    bias.template load_columns<COUNT, 1>(blend, column, column + COUNT);
    bias.load_row(blend, row);
    return bias;
}

#if EPILOGUE
/* Without a branch for parts. NaN stays NaN. */
static __device__ __forceinline__ float activated(float x, float limit)
{
    if (ACTIVATION == 1) return x < limit ? limit : x;
    if (ACTIVATION == 2) {
        /* x / 2 (1 + tanh(u)) = x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), where exp(-2 u)
         * is 2 to the power of -2 log2(e) u. */
        const float power = x * fmaf(x * x, -0.10294324f, -2.3022082f);
        return x * fast_reciprocal(1.0f + fast_exp2(limit < power ? limit : power));
    }
    return x;
}
#endif

/* value[0..COUNT) = what is stored, of alpha * sum + beta * C. */
template <int COUNT>
static __device__ __forceinline__ void finish(float (&value)[COUNT], blending blend,
                                              const biases<COUNT> &bias)
{
#if EPILOGUE
#pragma unroll
    for (int e = 0; e < COUNT; e++)
        value[e] = activated(BIAS ? value[e] + bias.of[e] : value[e], blend.limit);
#endif
}

#endif

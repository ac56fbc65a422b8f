/* SPDX-License-Identifier: MIT */
/* gt_exponent.cuh — exponents of floats, scaling by powers of two, and maxima that many threads find. The
 * contract is as in gt_memory.cuh.
 *
 *   magnitude(x)        the bits of |x|, ordered as |x| is; 0 if x is not finite
 *   exponent_of(bits)   of a magnitude above 0: the e of 2^e <= |x| < 2^(e + 1), also below the normal floats
 *   power_of_two(e)     2^e for e of -126 to 127
 *   scaled(x, e)        x * 2^e, rounded once, for any e; a denormal result of more than 250 powers is 0
 *   warp_maximum(x)     the largest x of the warp, in all its lanes
 *   raise(p, x)         *p = max(*p, x), by any number of threads and blocks
 */
#ifndef GT_EXPONENT_CUH
#define GT_EXPONENT_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else

static __device__ __forceinline__ unsigned bits_of(float x)
{
    return __float_as_uint(x);
}

static __device__ __forceinline__ float power_of_two(int e)
{
    return __int_as_float((e + 127) << 23);
}

static __device__ __forceinline__ int leading_zeros(unsigned x)
{
    return __clz((int)x);
}

static __device__ __forceinline__ unsigned warp_maximum(unsigned x)
{
    return __reduce_max_sync(~0u, x);
}

template <typename T> static __device__ __forceinline__ void raise(T *p, T x)
{
    atomicMax(p, x);
}
#endif

static __device__ __forceinline__ unsigned magnitude(float x)
{
    const unsigned bits = bits_of(x) & 0x7fffffffu;
    return bits < 0x7f800000u ? bits : 0;
}

static __device__ __forceinline__ int exponent_of(unsigned bits)
{
    return bits >= 0x00800000u ? (int)(bits >> 23) - 127 : 31 - leading_zeros(bits) - 149;
}

/* In two steps, since one factor has not enough exponents. The first is exact: it makes |x| larger, or does
 * not make it denormal unless the second leaves nothing of it. */
static __device__ __forceinline__ float scaled(float x, int e)
{
    const int most = e < -250 ? -250 : e > 250 ? 250 : e, half = most >> 1;
    return x * power_of_two(half) * power_of_two(most - half);
}

#endif

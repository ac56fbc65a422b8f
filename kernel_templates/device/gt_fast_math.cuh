/* SPDX-License-Identifier: MIT */
/* gt_fast_math.cuh — functions that the GPU computes approximately in one instruction; results below 2^-126
 * are 0. The CPU execution of the tests has functions of its own (gt_memory.cuh).
 *
 *   fast_exp2(x)        2^x, relative error 2^-22
 *   fast_reciprocal(x)  1 / x, relative error 2^-23
 *   infinite()          infinity
 */
#ifndef GT_FAST_MATH_CUH
#define GT_FAST_MATH_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else

static __device__ __forceinline__ float infinite()
{
    return __int_as_float(0x7f800000);
}

static __device__ __forceinline__ float fast_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float fast_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif
#endif

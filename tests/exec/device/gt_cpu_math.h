/* gt_cpu_math.h — the functions of the device headers that compute without matrix units, for the CPU. */
#ifndef GT_CPU_MATH_H
#define GT_CPU_MATH_H

#include "gt_cpu.h"

/* The functions of gt_fast_math.cuh. */
static inline float infinite()
{
    return __builtin_inff();
}
static inline float fast_exp2(float x)
{
    return __builtin_exp2f(x);
}
static inline float fast_reciprocal(float x)
{
    return 1.0f / x;
}

/* The functions of gt_exponent.cuh. */
static inline unsigned bits_of(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float power_of_two(int e)
{
    const unsigned bits = (unsigned)(e + 127) << 23;
    float x;
    if (e < -126 || e > 127) gt_no_power(e);
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline int leading_zeros(unsigned x)
{
    return x ? __builtin_clz(x) : 32;
}
static inline unsigned warp_maximum(unsigned x)
{
    unsigned all[32], most = 0;
    gt_warp_share(&x, sizeof x, all);
    for (int i = 0; i < 32; i++) most = max(most, all[i]);
    return most;
}
template <typename T> static inline void raise(T *p, T x)
{
    *p = max(*p, x);
}

#endif

/* gt_cpu.h — replaces CUDA when the tests run a kernel template on the CPU.
 *
 * Put in front of a template by `g++ -std=c++17 -DGT_CPU -include gt_cpu.h`. The template itself needs no
 * change: a block's threads are fibers that run one at a time, each as far as its next barrier, in an order
 * that the test chooses (cpu_block.h), so that a missing barrier gives a wrong result in every run and not
 * only sometimes.
 *
 * Static __shared__ arrays and gt_shared_memory() hold NaN when a block starts. An asynchronous copy makes
 * its target NaN when it is issued and fills it only when its own thread waits for its group, or when a phase
 * of an mbarrier lacks nothing else and is waited for. Fences do nothing here, and a missing one is not
 * detected, except of those between writes to a box and its store.
 */
#ifndef GT_CPU_H
#define GT_CPU_H

#include "gt_cpu_calls.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__    const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...) /* struct kernel_launch has it */
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       static __attribute__((section("gt_shared")))

#define threadIdx gt_thread_index
#define blockIdx  gt_block_index
#define blockDim  gt_block_size
#define gridDim   gt_grid_size
static const int warpSize = 32;

#define __syncthreads() gt_barrier(__LINE__)
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    gt_warp_barrier(mask);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* The scheduler fills the static shared arrays between these symbols with NaN. Weak: a template may have
 * none. */
extern "C" {
extern char __start_gt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_gt_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((used, visibility("default"))) void gt_static_shared(char **begin, char **end)
{
    *begin = __start_gt_shared;
    *end = __stop_gt_shared;
}
}

/* Vector types with the same alignment requirements as on the GPU; the undefined-behaviour sanitizer stops at
 * a misaligned one. */
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <typename T> static inline void __stcs(T *p, T value)
{
    *p = value;
}
template <typename T> static inline void __stcg(T *p, T value)
{
    *p = value;
}

/* The product of two floats is exact in double: one rounding of the sum to double and one to float. */
static inline float fmaf(float a, float b, float c)
{
    return (float)((double)a * b + c);
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}

#define GT_MIN_MAX(T)                                                                                        \
    static inline T min(T x, T y)                                                                            \
    {                                                                                                        \
        return y < x ? y : x;                                                                                \
    }                                                                                                        \
    static inline T max(T x, T y)                                                                            \
    {                                                                                                        \
        return x < y ? y : x;                                                                                \
    }
GT_MIN_MAX(int)
GT_MIN_MAX(unsigned)
GT_MIN_MAX(long)
GT_MIN_MAX(unsigned long)
GT_MIN_MAX(long long)
GT_MIN_MAX(unsigned long long)
GT_MIN_MAX(float)
#undef GT_MIN_MAX

/* One thread runs at a time. */
template <typename T> static inline T atomicAdd(T *p, T value)
{
    T old = *p;
    *p += value;
    return old;
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    gt_warp_exchange(mask, &value, sizeof value, self / width * width + lane % width);
    return value;
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    int from = self ^ bits;
    gt_warp_exchange(mask, &value, sizeof value, from / width == self / width ? from : self);
    return value;
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int self = (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
    int from = self + (int)by;
    gt_warp_exchange(mask, &value, sizeof value, from / width == self / width ? from : self);
    return value;
}

#include "gt_cpu_math.h"
#include "gt_cpu_memory.h"
#include "gt_cpu_mma.h"
#include "gt_cpu_wgmma.h"

#endif

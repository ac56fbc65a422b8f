/* SPDX-License-Identifier: MIT */
/* gt_memory.cuh — thread and block indices, global memory, and the shared memory of a block.
 *
 * This and the other headers that wrap PTX (gt_async_copy.cuh, gt_barrier.cuh, gt_bulk_copy.cuh,
 * gt_cluster_ops.cuh, gt_mma.cuh, gt_fast_math.cuh) are a contract: a program that executes kernels on a CPU
 * defines GT_CPU, and its gt_cpu.h supplies all of it. V is 1, 2 or 4 floats; addresses are multiples of 4 V
 * bytes. Kernels access memory that other threads can see only through these functions.
 *
 *   gt_shared_memory()       the block's dynamic shared memory, 16-byte aligned
 *   load_global<V>(v, g, ok) v[0..V) = g[0..V) if ok, else v is left as it is and g is not touched.
 *                            For memory that nobody writes while the kernel runs
 *   load_stream<V>(v, g, ok) the same, for what is read once
 *   load_own<V>(v, g)        without a condition, for memory that this thread alone writes (C), or that
 *                            others wrote before a fence
 *   ask_for(g)               prefetch the line of g to L2, if it is not there: load_own will soon read it
 *   store_global<V>(g, v)
 *   store_stream<V>(g, v)    the same, for what is not read again soon
 *   load_shared<V>(v, s), store_shared<V>(s, v)
 *   struct shared_place      a 32-bit address in shared memory, as the hardware uses it: cheap to move
 *                            around in a loop. place_in_shared(s) makes one of a pointer, p + n and p += n
 *                            move it by n floats, moved(p, n) by n bytes; load_shared and cp_async take
 *                            it for s
 *   opaque(x)                x, but the compiler does not know its value
 *   count_in(c)              adds 1 to *c and returns its old value; what this block stored before a
 *                            __syncthreads() is visible to blocks that count later, after their next one
 *
 * Otherwise the kernels use plain C++17 and: __global__ __device__ __launch_bounds__ __forceinline__,
 * threadIdx, blockIdx, gridDim, blockDim, __syncthreads(), __threadfence(), atomicAdd, __shfl_xor_sync, fmaf,
 * __ldg (memory that nobody writes while the kernel runs), #pragma unroll.
 */
#ifndef GT_MEMORY_CUH
#define GT_MEMORY_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else

static __device__ __forceinline__ float *gt_shared_memory()
{
    extern __shared__ float4 gt_dynamic_shared[];
    return reinterpret_cast<float *>(gt_dynamic_shared);
}

static __device__ __forceinline__ long long opaque(long long x)
{
    asm("" : "+l"(x));
    return x;
}

static __device__ __forceinline__ int thread_index()
{
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    __builtin_assume(x >= 0); /* then halving takes one instruction instead of three */
    return x;
}

static __device__ __forceinline__ int block_index()
{
    int x;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
    return x;
}

/* A predicated instruction instead of a branch keeps the main loop one basic block. */
template <int V> static __device__ __forceinline__ void load_global(float *v, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile(
            "{.reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.nc.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
            : "l"(g), "r"((int)valid));
    else if constexpr (V == 2)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; @p ld.global.nc.L2::128B.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(v[0]), "+f"(v[1])
                     : "l"(g), "r"((int)valid));
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.nc.L2::128B.f32 %0, [%1];}"
                     : "+f"(v[0])
                     : "l"(g), "r"((int)valid));
}

/* For data that is read once, by one thread: it is not kept in L1. */
template <int V> static __device__ __forceinline__ void load_stream(float *v, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %5, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];}"
                     : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
                     : "l"(g), "r"((int)valid));
    else if constexpr (V == 2)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(v[0]), "+f"(v[1])
                     : "l"(g), "r"((int)valid));
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; "
                     "@p ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];}"
                     : "+f"(v[0])
                     : "l"(g), "r"((int)valid));
}

template <int V> struct gt_vector;

template <> struct gt_vector<1> {
    using type = float;
};

template <> struct gt_vector<2> {
    using type = float2;
};

template <> struct gt_vector<4> {
    using type = float4;
};

/* One access of V floats; the compiler derives the address space from the pointer. */
template <int V> static __device__ __forceinline__ void gt_read(float *v, const float *p)
{
    union {
        typename gt_vector<V>::type whole;
        float part[V];
    } x;
    x.whole = *reinterpret_cast<const typename gt_vector<V>::type *>(p);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = x.part[i];
}

template <int V> static __device__ __forceinline__ void gt_write(float *p, const float *v)
{
    union {
        typename gt_vector<V>::type whole;
        float part[V];
    } x;
#pragma unroll
    for (int i = 0; i < V; i++) x.part[i] = v[i];
    *reinterpret_cast<typename gt_vector<V>::type *>(p) = x.whole;
}

template <int V> static __device__ __forceinline__ void load_own(float *v, const float *g)
{
    gt_read<V>(v, g);
}

static __device__ __forceinline__ void ask_for(const float *g)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(g));
}

template <int V> static __device__ __forceinline__ void store_global(float *g, const float *v)
{
    gt_write<V>(g, v);
}

template <int V> static __device__ __forceinline__ void store_stream(float *g, const float *v)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
    if constexpr (V == 4)
        asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(g), "f"(v[0]), "f"(v[1]), "f"(v[2]),
                     "f"(v[3])
                     : "memory");
    else if constexpr (V == 2)
        asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(g), "f"(v[0]), "f"(v[1]) : "memory");
    else asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(g), "f"(v[0]) : "memory");
}

template <int V> static __device__ __forceinline__ void load_shared(float *v, const float *s)
{
    gt_read<V>(v, s);
}

template <int V> static __device__ __forceinline__ void store_shared(float *s, const float *v)
{
    gt_write<V>(s, v);
}

struct shared_place {
    unsigned address;

    __device__ __forceinline__ struct shared_place operator+(int floats) const
    {
        return {address + 4 * floats};
    }
    __device__ __forceinline__ void operator+=(int floats) { address += 4 * floats; }
};

static __device__ __forceinline__ struct shared_place moved(struct shared_place p, int bytes)
{
    return {p.address + bytes};
}

static __device__ __forceinline__ struct shared_place place_in_shared(const float *s)
{
    return {(unsigned)__cvta_generic_to_shared(s)};
}

/* Converted to a generic pointer and back: the compiler recognises an address in shared memory. */
template <int V> static __device__ __forceinline__ void load_shared(float *v, struct shared_place s)
{
    gt_read<V>(v, static_cast<const float *>(__cvta_shared_to_generic(s.address)));
}

/* One acquire-release operation: two full fences (__threadfence) around a relaxed one would cost a
 * microsecond more. */
static __device__ __forceinline__ unsigned count_in(unsigned *counter)
{
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

#endif
#endif

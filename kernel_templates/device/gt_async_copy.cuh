/* SPDX-License-Identifier: MIT */
/* gt_async_copy.cuh — copies from global to shared memory that a thread starts and waits for later (sm_80).
 *
 *   cp_async<V>(s, g, ok)    start s[0..V) = g[0..V), or zeros if not ok (g is not touched). It has
 *                            landed for this thread after a cp_async_wait that covers its group, for
 *                            the others after a __syncthreads() that follows
 *   cp_async_commit()        close the group of the copies started since the last commit
 *   cp_async_wait<N>()       wait until at most the N youngest groups are in flight
 */
#ifndef GT_ASYNC_COPY_CUH
#define GT_ASYNC_COPY_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_memory.cuh"

/* A source size of 0 fills with zeros. 16-byte copies bypass L1 (.cg); narrower copies cannot. */
template <int V>
static __device__ __forceinline__ void cp_async(struct shared_place s, const float *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4, "vectors hold 1, 2 or 4 floats");
#if __CUDA_ARCH__ >= 800
    const int bytes = valid ? 4 * V : 0;
    if constexpr (V == 4)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(s.address), "l"(g),
                     "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(s.address), "l"(g),
                     "n"(4 * V), "r"(bytes)
                     : "memory");
#else
    static_assert(V == 0, "cp.async needs sm_80");
#endif
}

template <int V> static __device__ __forceinline__ void cp_async(float *s, const float *g, bool valid)
{
    cp_async<V>(place_in_shared(s), g, valid);
}

static __device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> static __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif
#endif

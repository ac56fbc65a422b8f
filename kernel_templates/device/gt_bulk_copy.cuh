/* SPDX-License-Identifier: MIT */
/* gt_bulk_copy.cuh — copies of whole rows: one thread starts a copy, an mbarrier counts its bytes (sm_90).
 *
 *   bulk_copy(s, g, bytes, b, ok)
 *                            start s[0..bytes/4) = g[0..bytes/4) if ok; the bytes count for the current
 *                            phase of b. `bytes` and both addresses are multiples of 16
 *   one_lane()               true in one lane of a warp whose 32 lanes are all active; a bulk copy costs
 *                            least where that lane computes its arguments
 */
#ifndef GT_BULK_COPY_CUH
#define GT_BULK_COPY_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_barrier.cuh"
#include "gt_memory.cuh"

/* After elect.sync the assembler knows that a single lane runs what follows, and does not repeat it for the
 * other lanes. */
static __device__ __forceinline__ bool one_lane()
{
#if __CUDA_ARCH__ >= 900
    int yes;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p;}" : "=r"(yes));
    return yes != 0;
#else
    return thread_index() % 32 == 0;
#endif
}

static __device__ __forceinline__ void bulk_copy(float *s, const float *g, unsigned bytes, struct mbarrier *b,
                                                 bool valid)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %4, 0; "
        "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];}" ::"r"(
            (unsigned)__cvta_generic_to_shared(s)),
        "l"(g), "r"(bytes), "r"(gt_address_of(b)), "r"((int)valid)
        : "memory");
#endif
}

#endif
#endif

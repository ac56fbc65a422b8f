/* SPDX-License-Identifier: MIT */
/* gt_dependent.cuh — kernels that begin while the kernel before them on the stream still runs (programmatic
 * dependent launch, sm_90; launch_plan.h: dependent). The contract is as in gt_memory.cuh.
 *
 *   wait_for_kernel_before()  until the kernels before have ended and what they wrote is visible to the
 *                             block; returns at once in a kernel that was launched plainly. Every block calls
 *                             it, in at least one thread, before any of its threads reads or writes global
 *                             memory: also scalars and workspace, and also if it stores nothing
 *   next_kernel_may_begin(now)
 *                             if `now`, a dependent kernel after this one may begin as soon as every block
 *                             has called it or has ended
 *
 * The kernel before may be anybody's, and may let this one begin at any time. Since every block waits, a
 * kernel ends after all kernels before it, and the next one needs to wait for this one only. The argument and
 * the tensor maps in it are no global memory.
 */
#ifndef GT_DEPENDENT_CUH
#define GT_DEPENDENT_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else

static __device__ __forceinline__ void wait_for_kernel_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void next_kernel_may_begin(bool now)
{
#if __CUDA_ARCH__ >= 900
    if (now) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif
#endif

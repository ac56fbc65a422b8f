/* SPDX-License-Identifier: MIT */
/* gt_barrier.cuh — a barrier that threads pass in two steps, each with work of its own in between (sm_80):
 * `struct mbarrier`, 8 bytes of shared memory. Its phases follow each other; a phase is complete when `count`
 * arrivals have been made and as many bytes have been copied as were announced. What a thread did before it
 * arrived is seen by who waited for that phase.
 *
 *   mbarrier_init(b, count)  by one thread; the others may use b after mbarrier_ready() of that thread
 *                            and a __syncthreads()
 *   mbarrier_ready(), mbarrier_ready_for_send() where no copy counts as copied
 *   mbarrier_arrive(b, who)  one arrival if `who`. One lane may arrive for its warp after a __syncwarp()
 *   mbarrier_arrive_expect(b, bytes, who)
 *                            the same, and so many bytes of bulk copies or of send belong to the phase,
 *                            started before or after (sm_90)
 *   mbarrier_arrive_copies(b, who)
 *                            one arrival if `who`, as soon as all cp_async that this thread has started
 *                            have landed; whoever waits for the phase sees them
 *   mbarrier_wait(b, parity) until phase 0, 2, 4 ... (parity 0) or 1, 3, 5 ... (parity 1) is complete;
 *                            that is the phase that runs, or the one before it
 *   mbarrier_end(b)          by one thread, when nobody uses b any more and before its memory is used for
 *                            something else, which others may do after a __syncthreads()
 *   bulk_copy_fence()        between stores of this thread to shared memory and bulk copies to the same
 *                            place, which somebody starts who has waited for this thread afterwards
 */
#ifndef GT_BARRIER_CUH
#define GT_BARRIER_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else

struct mbarrier {
    unsigned long long state;
};

static __device__ __forceinline__ unsigned gt_address_of(const struct mbarrier *b)
{
    return (unsigned)__cvta_generic_to_shared(b);
}

static __device__ __forceinline__ void mbarrier_init(struct mbarrier *b, int count)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(gt_address_of(b)), "r"(count) : "memory");
#endif
}

/* Without it the memory may get a late write of the barrier's state, long after the last phase (seen on an
 * H200). */
static __device__ __forceinline__ void mbarrier_end(struct mbarrier *b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(gt_address_of(b)) : "memory");
#endif
}

/* Bulk copies see shared memory through another proxy than threads do. */
static __device__ __forceinline__ void bulk_copy_fence()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_ready_for_send()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_ready()
{
    mbarrier_ready_for_send();
    bulk_copy_fence();
}

/* Predicated, as the loads are. */
static __device__ __forceinline__ void mbarrier_arrive(struct mbarrier *b, bool who)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p; .reg .b64 state; setp.ne.b32 p, %1, 0; "
                 "@p mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(gt_address_of(b)),
                 "r"((int)who)
                 : "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_arrive_expect(struct mbarrier *b, unsigned bytes, bool who)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p; .reg .b64 state; setp.ne.b32 p, %2, 0; "
                 "@p mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;}" ::"r"(gt_address_of(b)),
                 "r"(bytes), "r"((int)who)
                 : "memory");
#endif
}

static __device__ __forceinline__ void mbarrier_arrive_copies(struct mbarrier *b, bool who)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p; setp.ne.b32 p, %1, 0; "
                 "@p cp.async.mbarrier.arrive.noinc.shared.b64 [%0];}" ::"r"(gt_address_of(b)),
                 "r"((int)who)
                 : "memory");
#endif
}

/* From sm_90 on the hardware lets a thread sleep for a while before it says no. */
static __device__ __forceinline__ void mbarrier_wait(struct mbarrier *b, unsigned parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again;}" ::"r"(gt_address_of(b)),
                 "r"(parity)
                 : "memory");
#elif __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p;\n"
                 "again: mbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again;}" ::"r"(gt_address_of(b)),
                 "r"(parity)
                 : "memory");
#endif
}

#endif
#endif

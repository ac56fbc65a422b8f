/* SPDX-License-Identifier: MIT */
/* gt_barrier.cuh — a barrier whose arrival and wait are separate calls, so that a thread can do other work
 * between them (sm_80): `struct mbarrier`, 8 bytes of shared memory. A barrier goes through one phase
 * after another. A phase is complete when `count` arrivals have been made and as many bytes have been
 * copied as were announced. What a thread did before it arrived is visible to a thread that has waited for
 * that phase.
 *
 *   mbarrier_init(b, count)  by one thread; the others may use b after that thread's mbarrier_ready() and a
 *                            __syncthreads()
 *   mbarrier_ready()         makes the initialised barrier visible. mbarrier_ready_for_send() is enough where
 *                            bytes come from send alone, not from bulk copies
 *   mbarrier_arrive(b, who)  one arrival if `who`. One lane may arrive for its warp after a __syncwarp()
 *   mbarrier_arrive_expect(b, bytes, who)
 *                            the same, and announces `bytes` bytes of bulk copies or of send for the phase;
 *                            these may start before or after the call (sm_90)
 *   mbarrier_arrive_copies(b, who)
 *                            one arrival if `who`, as soon as all cp_async that this thread has started
 *                            have landed; a thread that has waited for the phase sees what they copied
 *   mbarrier_wait(b, parity) until phase 0, 2, 4 ... (parity 0) or 1, 3, 5 ... (parity 1) is complete;
 *                            this must be the current phase or the one before it
 *   mbarrier_end(b)          by one thread, after the last use of b and before its memory is used for
 *                            something else, which other threads may do after a __syncthreads()
 *   bulk_copy_fence()        orders this thread's stores to shared memory before bulk copies to the same
 *                            addresses; the thread that starts the copies waits for this one after the fence
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

/* Without it, the hardware may write the barrier's state to its memory long after the last phase (seen on an
 * H200). */
static __device__ __forceinline__ void mbarrier_end(struct mbarrier *b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(gt_address_of(b)) : "memory");
#endif
}

/* Bulk copies access shared memory through the async proxy, threads through the generic proxy. */
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

/* Predicated, as the loads are: no branch. */
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

/* From sm_90 on, try_wait may suspend the thread for a while before it returns false. */
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

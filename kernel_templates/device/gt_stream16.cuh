/* SPDX-License-Identifier: MIT */
/* gt_stream16.cuh — loads of elements of 16 bits for products that are as fast as they arrive. The contract
 * is as in gt_memory.cuh.
 *
 *   load_run<V, ONCE>(w, g, ok)
 *                            w[0..(V + 1) / 2) = the V elements at g, 1, 2, 4 or 8, two a word, if ok; else
 *                            w is left as it is and g is not touched. ONCE: they are read once, by one thread
 *   computed(g)              g, which is computed before what follows in the text
 *   ask_for_run(g, bytes)    prefetch to L2 what lies there in whole 16 bytes (sm_90; before that nothing). A
 *                            warp asks for one run after the other
 *   ask_for_line(g)          prefetch to L2 the line of memory in which g is
 *
 * The loads are plain ones, not those for memory that nobody writes while the kernel runs: the kernel before
 * may do so until this one has waited for it.
 */
#ifndef GT_STREAM16_CUH
#define GT_STREAM16_CUH

#include "gt_early_args.h"
#include "gt_memory.cuh"

#ifdef GT_CPU
#include "gt_cpu.h"
#else

/* Lines that are read once are the first to leave L2, and never enter L1; but several narrow loads of a line
 * should find it there. */
template <int V, bool ONCE>
static __device__ __forceinline__ void load_run(unsigned *w, const unsigned short *g, bool valid)
{
    static_assert(V == 1 || V == 2 || V == 4 || V == 8, "vectors hold 1, 2, 4 or 8 elements");
    if constexpr (V == 8 && ONCE)
        asm volatile(
            "{.reg .pred p; .reg .b64 first; setp.ne.b32 p, %5, 0; "
            "createpolicy.fractional.L2::evict_first.b64 first, 1.0; "
            "@p ld.global.L1::no_allocate.L2::cache_hint.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4], first;}"
            : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3])
            : "l"(g), "r"((int)valid));
    else if constexpr (V == 8)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4];}"
                     : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3])
                     : "l"(g), "r"((int)valid));
    else if constexpr (V == 4)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; @p ld.global.L2::128B.v2.b32 {%0, %1}, [%2];}"
                     : "+r"(w[0]), "+r"(w[1])
                     : "l"(g), "r"((int)valid));
    else if constexpr (V == 2)
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.L2::128B.b32 %0, [%1];}"
                     : "+r"(w[0])
                     : "l"(g), "r"((int)valid));
    else
        asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.L2::128B.u16 %0, [%1];}"
                     : "+r"(w[0])
                     : "l"(g), "r"((int)valid));
}

static __device__ __forceinline__ const unsigned short *computed(const unsigned short *g)
{
    asm volatile("" : "+l"(g));
    return g;
}

static __device__ __forceinline__ void ask_for_line(const unsigned short *g)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(g));
}

static __device__ __forceinline__ void ask_for_run(const unsigned short *g, int bytes)
{
#if __CUDA_ARCH__ >= 900
    const unsigned long long at = reinterpret_cast<unsigned long long>(g), begin = (at + 15) / 16 * 16,
                             end = (at + bytes) / 16 * 16;
    if (begin < end)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"((unsigned)(end - begin))
                     : "memory");
#endif
}

#endif

/* Whether operands may be asked for while the kernel before runs: where they lie, and whether they are read
 * at all, must not be something that it may write. */
static __device__ __forceinline__ bool can_ask(const struct early_args &all, int k)
{
#if POINTERS
    return false;
#else
    return all.ask > 0 && k > 0 && !all.gemm.alpha_device && all.gemm.alpha != 0.0f;
#endif
}

/* All threads: asks L2 for `count` lines of an operand, of k from k0 on. Runs along k are long, those across
 * k are a few lines of memory. */
template <bool ALONG_K, int THREAD_COUNT>
static __device__ __forceinline__ void ask_for_tile(const unsigned short *matrix, long long ld, int x0,
                                                    int count, int k0, int k)
{
    constexpr int WARPS_OF_BLOCK = THREAD_COUNT / 32, LINE = 64; /* elements */
    const int thread = thread_index();
    if constexpr (ALONG_K) {
#pragma unroll 1
        for (int i = thread % 32 * WARPS_OF_BLOCK + thread / 32; i < count; i += THREAD_COUNT)
            ask_for_run(matrix + (x0 + i) * ld + k0, 2 * k);
    } else {
#pragma unroll 1
        for (int i = thread; i < k; i += THREAD_COUNT)
#pragma unroll 1
            for (int x = 0; x < count; x += LINE) ask_for_line(matrix + (k0 + i) * ld + x0 + x);
    }
}

#endif

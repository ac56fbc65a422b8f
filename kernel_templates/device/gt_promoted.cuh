/* SPDX-License-Identifier: MIT */
/* gt_promoted.cuh — what kernels that promote their sums need besides gt_wgmma.cuh, in PTX (sm_90a): the sums
 * of a few products begin anew in one set of registers and are then added to another, because the tensor
 * cores truncate what they add. The contract is as in gt_memory.cuh; WGMMA_N as in gt_wgmma.cuh.
 *
 *   wgmma_anew(sum, left, right)  as wgmma of BF16 operands along k, but sum = left * right: what was there
 *                                 is not read
 *   wgmma_left<ANEW>(sum, x, right)
 *                                 as wgmma, or with ANEW wgmma_anew, with the left operand in registers: with
 *                                 g = lane / 4 and t = lane % 4 x[i] = k 2 t + 8 (i / 2) and the next one, in
 *                                 the high half, of row g + 8 (i % 2) of the warp's 16
 *   packed_finite(x, y)           as packed<true> (gt_mma16.cuh), but what is larger than the largest BF16
 *                                 becomes that one
 *   flipped(s, bits)              the place whose address has these bits the other way
 *   store_words(s, w0, w1, w2, w3)
 *                                 four words, at a multiple of 16 bytes, in one access
 *   leave_registers<N>(), take_registers<N>()
 *                                 from here on a thread of this warpgroup has N registers, fewer or more than
 *                                 before; all threads of the warpgroup call it. Taking waits until others of
 *                                 the block have left as many
 *   sums_again()                  this thread computes sums again, which were not finite: nothing; the CPU
 *                                 execution counts, because a second computation hides faults of the first
 */
#ifndef GT_PROMOTED_CUH
#define GT_PROMOTED_CUH

#include "gt_wgmma_tf32.cuh"

#ifndef GT_CPU
static __device__ __forceinline__ void sums_again() {}

template <int REGISTERS> static __device__ __forceinline__ void leave_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> static __device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* The descriptors are outputs for the reason given at GT_WGMMA. */
template <int COUNT>
static __device__ __forceinline__ void wgmma_anew(float (&sum)[COUNT][4], unsigned long long left,
                                                  unsigned long long right)
{
    static_assert(COUNT == WGMMA_N / 8, "an instruction has a quad for 8 columns");
    constexpr int FIRST = 0;
    asm volatile("wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k16.f32.bf16.bf16 {" GT_QUADS(WGMMA_N)(
                     GT_QUAD_TEXT, GT_COMMA_TEXT) "}, %0, %1, 0, 1, 1, 0, 0;"
                 : "+l"(left), "+l"(right), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA));
}

static __device__ __forceinline__ unsigned packed_finite(float x, float y)
{
    unsigned both;
    asm("cvt.rn.satfinite.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
}

static __device__ __forceinline__ struct shared_place flipped(struct shared_place s, unsigned bits)
{
    return {s.address ^ bits};
}

/* Of a store of float4 the compiler makes four, all lanes of which meet in few banks. */
static __device__ __forceinline__ void store_words(struct shared_place s, unsigned w0, unsigned w1,
                                                   unsigned w2, unsigned w3)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(s.address), "r"(w0), "r"(w1), "r"(w2),
                 "r"(w3)
                 : "memory");
}

/* As wgmma_tf32 with a left operand in registers. */
template <bool ANEW, int COUNT>
static __device__ __forceinline__ void wgmma_left(float (&sum)[COUNT][4], const unsigned (&x)[4],
                                                  unsigned long long right)
{
    static_assert(COUNT == WGMMA_N / 8, "an instruction has a quad for 8 columns");
    constexpr int FIRST = 0;
    unsigned first = x[0];
#define GT_WGMMA_LEFT(adds)                                                                                  \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k16.f32.bf16.bf16 {" GT_QUADS(        \
                     WGMMA_N)(GT_QUAD_TEXT, GT_COMMA_TEXT) "}, {%1, " GT_AFTER(WGMMA_N) "}, %0, " adds       \
                                                                                        ", 1, 1, 0;"         \
                 : "+l"(right), "+r"(first), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA)                       \
                 : "r"(x[1]), "r"(x[2]), "r"(x[3]))
    if constexpr (ANEW) GT_WGMMA_LEFT("0");
    else GT_WGMMA_LEFT("1");
}

#endif
#endif

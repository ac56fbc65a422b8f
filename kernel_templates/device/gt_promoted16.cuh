/* SPDX-License-Identifier: MIT */
/* gt_promoted16.cuh — what gt_promoted.cuh has for BF16, for FP16. The contract is as in gt_memory.cuh.
 *
 *   wgmma_anew16(sum, left, right)  as wgmma of FP16 operands along k, but sum = left * right: what was there
 *                                   is not read
 *   wgmma_e5m2<ANEW>(sum, left, right)
 *                                   the same for FP8 (E5M2: the high byte of FP16), of 64 x 32 by
 *                                   32 x WGMMA_N; not ANEW: it adds to sum. The sums keep about 14 bits
 *   rounded_to_e5m2(bits)           the nearest FP8 of the bits of an FP16, ties to even
 */
#ifndef GT_PROMOTED16_CUH
#define GT_PROMOTED16_CUH

#include "gt_promoted.cuh"

#ifndef GT_CPU
/* The descriptors are outputs for the reason given at GT_WGMMA. */
template <int COUNT>
static __device__ __forceinline__ void wgmma_anew16(float (&sum)[COUNT][4], unsigned long long left,
                                                    unsigned long long right)
{
    static_assert(COUNT == WGMMA_N / 8, "an instruction has a quad for 8 columns");
    constexpr int FIRST = 0;
    asm volatile("wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k16.f32.f16.f16 {" GT_QUADS(WGMMA_N)(
                     GT_QUAD_TEXT, GT_COMMA_TEXT) "}, %0, %1, 0, 1, 1, 0, 0;"
                 : "+l"(left), "+l"(right), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA));
}

template <bool ANEW, int COUNT>
static __device__ __forceinline__ void wgmma_e5m2(float (&sum)[COUNT][4], unsigned long long left,
                                                  unsigned long long right)
{
    static_assert(COUNT == WGMMA_N / 8, "an instruction has a quad for 8 columns");
    constexpr int FIRST = 0;
#define GT_WGMMA_E5M2(adds)                                                                                  \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k32.f32.e5m2.e5m2 {" GT_QUADS(        \
                     WGMMA_N)(GT_QUAD_TEXT, GT_COMMA_TEXT) "}, %0, %1, " adds ", 1, 1;"                      \
                 : "+l"(left), "+l"(right), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA))
    if constexpr (ANEW) GT_WGMMA_E5M2("0");
    else GT_WGMMA_E5M2("1");
}

static __device__ __forceinline__ unsigned rounded_to_e5m2(unsigned bits)
{
    return (bits + 0x7f + (bits >> 8 & 1)) >> 8 & 0xff;
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* gt_wgmma_tf32.cuh — products of whole tiles of TF32 by a group of four warps, in PTX (sm_90a), beside those
 * of gt_wgmma.cuh, whose functions begin and end them. The contract is as there.
 *
 *   wgmma_tf32<WIDTH, FIRST>(sum, left, right)
 *                            start sum += left * right for 64 x 8 by 8 x WGMMA_N, with descriptors of lines
 *                            along k, of 32 floats; sum as in wgmma()
 *   wgmma_tf32<WIDTH, FIRST>(sum, x, right)
 *                            the same with the left operand in registers: with g = lane / 4 and t = lane % 4
 *                            x[i] = row g + 8 (i % 2) of the warp's 16, k = t + 4 (i / 2)
 *
 *   wgmma_done()             until no group is unfinished, as wgmma_wait<0>(sum), but the sums are not valid
 *
 * The tensor cores ignore the 13 bits that TF32 lacks: who wants them rounded rounds before.
 */
#ifndef GT_WGMMA_TF32_CUH
#define GT_WGMMA_TF32_CUH

#include "gt_wgmma.cuh"

#ifndef GT_CPU
static __device__ __forceinline__ void wgmma_done()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define GT_WGMMA_TF32(left)                                                                                  \
    "wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k8.f32.tf32.tf32 {" GT_QUADS(WGMMA_N)(             \
        GT_QUAD_TEXT, GT_COMMA_TEXT) "}, " left ", %0, 1, 1, 1;"

template <int WIDTH, int FIRST, int COUNT>
static __device__ __forceinline__ void wgmma_tf32(float (&sum)[COUNT][4], unsigned long long left,
                                                  unsigned long long right)
{
    static_assert(WIDTH == WGMMA_N, "one width for all instructions of a kernel");
    static_assert(FIRST + WIDTH / 8 <= COUNT, "an instruction has a quad for 8 columns");
    asm volatile(GT_WGMMA_TF32("%1") : "+l"(right), "+l"(left), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA));
}

/* The three operands that follow an instruction's sums, by its width. */
#define GT_AFTER_8   "%6, %7, %8"
#define GT_AFTER_16  "%10, %11, %12"
#define GT_AFTER_24  "%14, %15, %16"
#define GT_AFTER_32  "%18, %19, %20"
#define GT_AFTER_40  "%22, %23, %24"
#define GT_AFTER_48  "%26, %27, %28"
#define GT_AFTER_56  "%30, %31, %32"
#define GT_AFTER_64  "%34, %35, %36"
#define GT_AFTER_72  "%38, %39, %40"
#define GT_AFTER_80  "%42, %43, %44"
#define GT_AFTER_88  "%46, %47, %48"
#define GT_AFTER_96  "%50, %51, %52"
#define GT_AFTER_104 "%54, %55, %56"
#define GT_AFTER_112 "%58, %59, %60"
#define GT_AFTER_120 "%62, %63, %64"
#define GT_AFTER_128 "%66, %67, %68"
#define GT_AFTER_136 "%70, %71, %72"
#define GT_AFTER_144 "%74, %75, %76"
#define GT_AFTER_152 "%78, %79, %80"
#define GT_AFTER_160 "%82, %83, %84"
#define GT_AFTER_168 "%86, %87, %88"
#define GT_AFTER_176 "%90, %91, %92"
#define GT_AFTER_184 "%94, %95, %96"
#define GT_AFTER_192 "%98, %99, %100"
#define GT_AFTER_200 "%102, %103, %104"
#define GT_AFTER_208 "%106, %107, %108"
#define GT_AFTER_216 "%110, %111, %112"
#define GT_AFTER_224 "%114, %115, %116"
#define GT_AFTER_232 "%118, %119, %120"
#define GT_AFTER_240 "%122, %123, %124"
#define GT_AFTER_248 "%126, %127, %128"
#define GT_AFTER_256 "%130, %131, %132"

#define GT_AFTER__(n) GT_AFTER_##n
#define GT_AFTER(n)   GT_AFTER__(n)

/* The first float is operand 1, so that the sums begin at operand 2 here, too. */
template <int WIDTH, int FIRST, int COUNT>
static __device__ __forceinline__ void wgmma_tf32(float (&sum)[COUNT][4], const float (&x)[4],
                                                  unsigned long long right)
{
    static_assert(WIDTH == WGMMA_N, "one width for all instructions of a kernel");
    static_assert(FIRST + WIDTH / 8 <= COUNT, "an instruction has a quad for 8 columns");
    unsigned first = __float_as_uint(x[0]);
    asm volatile(GT_WGMMA_TF32("{%1, " GT_AFTER(WGMMA_N) "}")
                 : "+l"(right), "+r"(first), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA)
                 : "r"(__float_as_uint(x[1])), "r"(__float_as_uint(x[2])), "r"(__float_as_uint(x[3])));
}
#endif
#endif

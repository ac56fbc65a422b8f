/* SPDX-License-Identifier: MIT */
/* gt_mma.cuh — tensor-core instructions of a warp, in PTX. The contract is as in gt_memory.cuh: with GT_CPU
 * defined gt_cpu.h supplies all of it. All 32 lanes of a warp execute each function together. Below, g = lane
 * / 4 and t = lane % 4.
 *
 *   load_matrices(v, s)   four matrices of 8 rows of 4 floats. In lane 8 i + r, s is where row r of matrix i
 *                         begins in shared memory, a multiple of 16 bytes. v[i] = row g, column t of matrix i
 *   rounded_to_tf32(x)    x with 10 bits of fraction, to nearest (ties to even from sm_90 on, away from zero
 *                         before); the bits below are 0, or ignored by the tensor core
 *   moved_to_tf32(x)      the same (ties away from zero); the result need not be in the register of x
 *   multiply_add_tf32(d, a0, a1, a2, a3, b0, b1)
 *                         d += A B for A of 16 x 8, B of 8 x 8, d of 16 x 8, where this lane holds
 *                             a0 = A[g, t]    a1 = A[g + 8, t]    a2 = A[g, t + 4]    a3 = A[g + 8, t + 4]
 *                             b0 = B[t, g]    b1 = B[t + 4, g]
 *                             d[0..1] = D[g, 2 t + 0..1]          d[2..3] = D[g + 8, 2 t + 0..1]
 *                         Operands must be rounded before. Products are exact, sums are in FP32 and may be
 *                         truncated (sm_80)
 */
#ifndef GT_MMA_CUH
#define GT_MMA_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_memory.cuh"

static __device__ __forceinline__ void load_matrices(float (&v)[4], struct shared_place s)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "r"(s.address)
                 : "memory");
}

/* Adds half a unit in the last place, which is 2^-11 times the power of two at or below |x|. The result is
 * that of cvt.rna.tf32.f32 for all but denormals, which are truncated. That instruction is compiled to
 * predicated ones, which would tie the result to the register of x. Infinity and NaN are unchanged. */
static __device__ __forceinline__ float moved_to_tf32(float x)
{
    return fmaf(__uint_as_float(__float_as_uint(x) & 0xff800000u), 0x1p-11f, x);
}

/* One instruction from sm_90 on. The compiler leaves its result in the register of x and copies it where mma
 * needs it in another one: two copies for each value where operands must be gathered. */
static __device__ __forceinline__ float rounded_to_tf32(float x)
{
#if __CUDA_ARCH__ >= 900
    unsigned bits;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
#else
    return moved_to_tf32(x);
#endif
}

static __device__ __forceinline__ void multiply_add_tf32(float (&d)[4], float a0, float a1, float a2,
                                                         float a3, float b0, float b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a1)), "r"(__float_as_uint(a2)),
          "r"(__float_as_uint(a3)), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
#endif
}

#endif
#endif

/* SPDX-License-Identifier: MIT */
/* gt_mma16.cuh — elements of 16 bits and the tensor-core instructions that multiply them, in PTX (sm_80). The
 * contract is as in gt_memory.cuh: with GT_CPU defined gt_cpu.h supplies all of it. BF16: the elements are
 * BF16, else FP16. Their bits are an unsigned short. Below, g = lane / 4 and t = lane % 4.
 *
 *   packed<BF16>(x, y)       x in the low half of a word, y in the high half, both rounded to nearest even
 *   unpacked<BF16>(bits)     an element as a float
 *   load_element(g, ok)      *g if ok, else 0 without touching g
 *   load_elements<V>(v, g)   v[0..V) = g[0..V), V of 1, 2, 4 or 8: memory that this thread alone writes (C)
 *   load_two<BF16>(v, g, count)
 *                            v[0..2) = the first `count` of two elements or floats, at a multiple of their
 *                            size, and 0 for the rest: memory that this thread alone reads (C)
 *   store_elements<V>(g, v)
 *   store_pair(s, word), store_pair(g, word)
 *                            two elements, at a multiple of 4 bytes, to shared or global memory
 *   copy_elements<V>(s, g, count)
 *                            start a copy of V elements, 2, 4 or 8, to shared memory: `count` of them from g,
 *                            zeros for the rest. A copy of gt_async_copy.cuh, which says when it has landed
 *   load_matrices<TRANSPOSED>(v, s)
 *                            four matrices of 8 rows of 8 elements, or two if v has two words. In lane
 *                            8 i + r s is where row r of matrix i begins, a multiple of 16 bytes. v[i] = row
 *                            g, elements 2 t and 2 t + 1 of matrix i; TRANSPOSED: rows 2 t and 2 t + 1 of
 *                            column g
 *   multiply_add<BF16>(d, a, b)
 *                            d += A B for A of 16 x 16, B of 16 x 8, d of 16 x 8. A lane has two elements,
 *                            neighbours along k, in each word:
 *                                a[0..3] = A[g, 2 t], A[g + 8, 2 t], A[g, 2 t + 8], A[g + 8, 2 t + 8]
 *                                b[0..1] = B[2 t, g], B[2 t + 8, g]
 *                                d[0..1] = D[g, 2 t + 0..1]    d[2..3] = D[g + 8, 2 t + 0..1]
 *                            Products are exact, sums are in FP32 and may be truncated
 */
#ifndef GT_MMA16_CUH
#define GT_MMA16_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_async_copy.cuh"
#include "gt_memory.cuh"

template <bool BF16> static __device__ __forceinline__ unsigned packed(float x, float y)
{
    unsigned both;
    if constexpr (BF16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
}

template <bool BF16> static __device__ __forceinline__ float unpacked(unsigned short bits)
{
    if constexpr (BF16) return __uint_as_float((unsigned)bits << 16);
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

static __device__ __forceinline__ unsigned load_element(const unsigned short *g, bool valid)
{
    unsigned short bits = 0;
    asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.u16 %0, [%1];}"
                 : "+h"(bits)
                 : "l"(g), "r"((int)valid));
    return bits;
}

template <int V> struct gt_elements;

template <> struct gt_elements<1> {
    using type = unsigned short;
};

template <> struct gt_elements<2> {
    using type = unsigned;
};

template <> struct gt_elements<4> {
    using type = uint2;
};

template <> struct gt_elements<8> {
    using type = uint4;
};

template <int V>
static __device__ __forceinline__ void load_elements(unsigned short (&v)[V], const unsigned short *g)
{
    union {
        typename gt_elements<V>::type whole;
        unsigned short part[V];
    } x;
    x.whole = *reinterpret_cast<const typename gt_elements<V>::type *>(g);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = x.part[i];
}

template <int V>
static __device__ __forceinline__ void store_elements(unsigned short *g, const unsigned short (&v)[V])
{
    union {
        typename gt_elements<V>::type whole;
        unsigned short part[V];
    } x;
#pragma unroll
    for (int i = 0; i < V; i++) x.part[i] = v[i];
    *reinterpret_cast<typename gt_elements<V>::type *>(g) = x.whole;
}

/* No branch: it is repeated for every pair of a thread. */
template <bool BF16>
static __device__ __forceinline__ void load_two(float (&v)[2], const unsigned short *g, int count)
{
    unsigned both = 0;
    asm volatile("{.reg .pred two, one; setp.ge.s32 two, %2, 2; setp.eq.s32 one, %2, 1; "
                 "@two ld.global.b32 %0, [%1]; @one ld.global.u16 %0, [%1];}"
                 : "+r"(both)
                 : "l"(g), "r"(count)
                 : "memory");
    v[0] = unpacked<BF16>((unsigned short)both);
    v[1] = unpacked<BF16>((unsigned short)(both >> 16));
}

template <bool BF16> static __device__ __forceinline__ void load_two(float (&v)[2], const float *g, int count)
{
    v[0] = v[1] = 0.0f;
    asm volatile("{.reg .pred two, one; setp.ge.s32 two, %3, 2; setp.eq.s32 one, %3, 1; "
                 "@two ld.global.v2.f32 {%0, %1}, [%2]; @one ld.global.f32 %0, [%2];}"
                 : "+f"(v[0]), "+f"(v[1])
                 : "l"(g), "r"(count)
                 : "memory");
}

static __device__ __forceinline__ void store_pair(struct shared_place s, unsigned word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(s.address), "r"(word) : "memory");
}

static __device__ __forceinline__ void store_pair(unsigned short *g, unsigned word)
{
    *reinterpret_cast<unsigned *>(g) = word;
}

/* 16-byte copies bypass L1 (.cg); narrower copies cannot. */
template <int V>
static __device__ __forceinline__ void copy_elements(struct shared_place s, const unsigned short *g,
                                                     int count)
{
    static_assert(V == 2 || V == 4 || V == 8, "copies have 2, 4 or 8 elements");
    if constexpr (V == 8)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(s.address), "l"(g),
                     "r"(2 * count)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(s.address), "l"(g),
                     "n"(2 * V), "r"(2 * count)
                     : "memory");
}

template <bool TRANSPOSED>
static __device__ __forceinline__ void load_matrices(unsigned (&v)[4], struct shared_place s)
{
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(s.address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(s.address)
                     : "memory");
}

template <bool TRANSPOSED>
static __device__ __forceinline__ void load_matrices(unsigned (&v)[2], struct shared_place s)
{
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(v[0]), "=r"(v[1])
                     : "r"(s.address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(v[0]), "=r"(v[1])
                     : "r"(s.address)
                     : "memory");
}

template <bool BF16>
static __device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4],
                                                    const unsigned (&b)[2])
{
    if constexpr (BF16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
#endif

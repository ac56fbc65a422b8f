/* SPDX-License-Identifier: MIT */
/* gt_wgmma.cuh — products of whole tiles in shared memory by a group of four warps, and the copies of boxes
 * between these tiles and global memory, in PTX (sm_90a). The contract is as in gt_memory.cuh: with GT_CPU
 * defined gt_cpu.h supplies all of it. The macro WGMMA_N, a multiple of 8 up to 256, is the width of an
 * instruction: PTX needs it as text.
 *
 *   struct tensor_map        128 bytes that the driver encodes: extents and strides of an operand, size of a
 *                            box, swizzle (launch_plan.h: struct tensor_view)
 *   tensor_prefetch(map)
 *   tensor_copy(s, map, x, y, z, b)
 *                            start a copy of the box at (x, y, z) to s, a multiple of 1024 bytes; its bytes,
 *                            those beyond the extents as zeros, count for the current phase of b
 *   tensor_store(map, x, y, z, s)
 *                            start a copy of the box at s to (x, y, z), without what is beyond the extents:
 *                            in whole 16 bytes. Every thread that wrote to the box has called
 *                            bulk_copy_fence() since, and then met this one at a barrier
 *   tensor_store_end()       closes a group of this thread's stores
 *   tensor_store_wait<N>()   until at most the last N groups still read shared memory. A thread waits for
 *                            all of its groups before it ends
 *   group_sync(id, threads)  a barrier of some of the block's threads, `id` from 1 to 15
 *   store_matrices(s, v)     four matrices of 8 rows of 8 elements. In lane 8 i + r s is where row r of
 *                            matrix i goes, a multiple of 16 bytes. v[i] = row lane / 4, elements
 *                            2 (lane % 4) and the next one of matrix i
 *   store_two(s, x, y)       two floats, at a multiple of 8 bytes
 *   matrix_at(s)             descriptor of a matrix of 64 k in shared memory, in the 128-byte swizzle: lines
 *                            along k, or blocks of 64 lines of 64 elements across k; s is a multiple of 1024
 *                            bytes
 *   wgmma_begin()            before the first product of a group: the sums may be used
 *   wgmma<BF16, LEFT_ALONG_K, RIGHT_ALONG_K, WIDTH, FIRST>(sum, left, right)
 *                            start sum += left * right for 64 x 16 by 16 x WGMMA_N, sum[FIRST + q] quads as
 *                            in gt_store16.cuh: warp w of the four has rows from 16 w, quad q columns from
 *                            8 q. Products are exact, sums are in FP32 and may be truncated
 *   wgmma_end()              closes a group of products
 *   wgmma_wait<N>(sum)       until at most the last N groups are unfinished: the others' tiles are free, and
 *                            with N = 0 the sums are valid
 */
#ifndef GT_WGMMA_CUH
#define GT_WGMMA_CUH

#ifdef GT_CPU
#include "gt_cpu.h"
#else
#include "gt_barrier.cuh"
#include "gt_memory.cuh"

struct alignas(64) tensor_map {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void tensor_prefetch(const struct tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

static __device__ __forceinline__ void tensor_copy(struct shared_place s, const struct tensor_map &map, int x,
                                                   int y, int z, struct mbarrier *b)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(s.address),
                 "l"(&map), "r"(x), "r"(y), "r"(z), "r"(gt_address_of(b))
                 : "memory");
}

static __device__ __forceinline__ void tensor_store(const struct tensor_map &map, int x, int y, int z,
                                                    struct shared_place s)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
        "r"(x), "r"(y), "r"(z), "r"(s.address)
        : "memory");
}

static __device__ __forceinline__ void tensor_store_end()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int N> static __device__ __forceinline__ void tensor_store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

static __device__ __forceinline__ void store_matrices(struct shared_place s, const unsigned (&v)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(s.address),
                 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

static __device__ __forceinline__ void store_two(struct shared_place s, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(s.address), "f"(x), "f"(y) : "memory");
}

static __device__ __forceinline__ float *swizzle_aligned(float *s)
{
    return s + (1024 - place_in_shared(s).address % 1024) % 1024 / 4;
}

static __device__ __forceinline__ void group_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Groups of eight lines are 1024 bytes apart, blocks across k 8192. In a cluster a shared address has bits
 * above the 18 that a descriptor holds. */
static __device__ __forceinline__ unsigned long long matrix_at(struct shared_place s)
{
    return 1ull << 62 | (unsigned long long)(1024 >> 4) << 32 | (unsigned long long)(8192 >> 4) << 16 |
           (s.address & 0x3ffff) >> 4;
}

static __device__ __forceinline__ void wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_end()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* The sums pass through it, so that the compiler does not move them while products are on the way. */
template <int N, int COUNT> static __device__ __forceinline__ void wgmma_wait(float (&sum)[COUNT][4])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
    if constexpr (N == 0) {
#pragma unroll
        for (int q = 0; q < COUNT; q++)
            asm volatile("" : "+f"(sum[q][0]), "+f"(sum[q][1]), "+f"(sum[q][2]), "+f"(sum[q][3])::"memory");
    }
}

/* The quads of an instruction, by its width: Q(number, its four operands) for each, with C() between them.
 * Operands 0 and 1 are the descriptors. */
#define GT_QUADS_8(Q, C)   Q(0, 2, 3, 4, 5)
#define GT_QUADS_16(Q, C)  GT_QUADS_8(Q, C) C() Q(1, 6, 7, 8, 9)
#define GT_QUADS_24(Q, C)  GT_QUADS_16(Q, C) C() Q(2, 10, 11, 12, 13)
#define GT_QUADS_32(Q, C)  GT_QUADS_24(Q, C) C() Q(3, 14, 15, 16, 17)
#define GT_QUADS_40(Q, C)  GT_QUADS_32(Q, C) C() Q(4, 18, 19, 20, 21)
#define GT_QUADS_48(Q, C)  GT_QUADS_40(Q, C) C() Q(5, 22, 23, 24, 25)
#define GT_QUADS_56(Q, C)  GT_QUADS_48(Q, C) C() Q(6, 26, 27, 28, 29)
#define GT_QUADS_64(Q, C)  GT_QUADS_56(Q, C) C() Q(7, 30, 31, 32, 33)
#define GT_QUADS_72(Q, C)  GT_QUADS_64(Q, C) C() Q(8, 34, 35, 36, 37)
#define GT_QUADS_80(Q, C)  GT_QUADS_72(Q, C) C() Q(9, 38, 39, 40, 41)
#define GT_QUADS_88(Q, C)  GT_QUADS_80(Q, C) C() Q(10, 42, 43, 44, 45)
#define GT_QUADS_96(Q, C)  GT_QUADS_88(Q, C) C() Q(11, 46, 47, 48, 49)
#define GT_QUADS_104(Q, C) GT_QUADS_96(Q, C) C() Q(12, 50, 51, 52, 53)
#define GT_QUADS_112(Q, C) GT_QUADS_104(Q, C) C() Q(13, 54, 55, 56, 57)
#define GT_QUADS_120(Q, C) GT_QUADS_112(Q, C) C() Q(14, 58, 59, 60, 61)
#define GT_QUADS_128(Q, C) GT_QUADS_120(Q, C) C() Q(15, 62, 63, 64, 65)
#define GT_QUADS_136(Q, C) GT_QUADS_128(Q, C) C() Q(16, 66, 67, 68, 69)
#define GT_QUADS_144(Q, C) GT_QUADS_136(Q, C) C() Q(17, 70, 71, 72, 73)
#define GT_QUADS_152(Q, C) GT_QUADS_144(Q, C) C() Q(18, 74, 75, 76, 77)
#define GT_QUADS_160(Q, C) GT_QUADS_152(Q, C) C() Q(19, 78, 79, 80, 81)
#define GT_QUADS_168(Q, C) GT_QUADS_160(Q, C) C() Q(20, 82, 83, 84, 85)
#define GT_QUADS_176(Q, C) GT_QUADS_168(Q, C) C() Q(21, 86, 87, 88, 89)
#define GT_QUADS_184(Q, C) GT_QUADS_176(Q, C) C() Q(22, 90, 91, 92, 93)
#define GT_QUADS_192(Q, C) GT_QUADS_184(Q, C) C() Q(23, 94, 95, 96, 97)
#define GT_QUADS_200(Q, C) GT_QUADS_192(Q, C) C() Q(24, 98, 99, 100, 101)
#define GT_QUADS_208(Q, C) GT_QUADS_200(Q, C) C() Q(25, 102, 103, 104, 105)
#define GT_QUADS_216(Q, C) GT_QUADS_208(Q, C) C() Q(26, 106, 107, 108, 109)
#define GT_QUADS_224(Q, C) GT_QUADS_216(Q, C) C() Q(27, 110, 111, 112, 113)
#define GT_QUADS_232(Q, C) GT_QUADS_224(Q, C) C() Q(28, 114, 115, 116, 117)
#define GT_QUADS_240(Q, C) GT_QUADS_232(Q, C) C() Q(29, 118, 119, 120, 121)
#define GT_QUADS_248(Q, C) GT_QUADS_240(Q, C) C() Q(30, 122, 123, 124, 125)
#define GT_QUADS_256(Q, C) GT_QUADS_248(Q, C) C() Q(31, 126, 127, 128, 129)

#define GT_QUADS__(n)               GT_QUADS_##n
#define GT_QUADS(n)                 GT_QUADS__(n)
#define GT_TEXT__(x)                #x
#define GT_TEXT(x)                  GT_TEXT__(x)
#define GT_QUAD_TEXT(q, w, x, y, z) "%" #w ", %" #x ", %" #y ", %" #z
#define GT_COMMA_TEXT()             ", "
#define GT_QUAD_SUMS(q, w, x, y, z)                                                                          \
    "+f"(sum[FIRST + q][0]), "+f"(sum[FIRST + q][1]), "+f"(sum[FIRST + q][2]), "+f"(sum[FIRST + q][3])
#define GT_COMMA() ,

/* The descriptors are named as outputs, although they do not change: so they are the first operands, whatever
 * the number of sums. */
#define GT_WGMMA(types, left_major, right_major)                                                             \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" GT_TEXT(WGMMA_N) "k16.f32." types " {" GT_QUADS(        \
                     WGMMA_N)(GT_QUAD_TEXT, GT_COMMA_TEXT) "}, %0, %1, 1, 1, 1, " left_major                 \
                                                           ", " right_major ";"                              \
                 : "+l"(left), "+l"(right), GT_QUADS(WGMMA_N)(GT_QUAD_SUMS, GT_COMMA))

template <bool BF16, bool LEFT_ALONG_K, bool RIGHT_ALONG_K, int WIDTH, int FIRST, int COUNT>
static __device__ __forceinline__ void wgmma(float (&sum)[COUNT][4], unsigned long long left,
                                             unsigned long long right)
{
    static_assert(WIDTH == WGMMA_N, "one width for all instructions of a kernel");
    static_assert(FIRST + WIDTH / 8 <= COUNT, "an instruction has a quad for 8 columns");
    if constexpr (BF16) {
        if constexpr (LEFT_ALONG_K && RIGHT_ALONG_K) GT_WGMMA("bf16.bf16", "0", "0");
        else if constexpr (LEFT_ALONG_K) GT_WGMMA("bf16.bf16", "0", "1");
        else if constexpr (RIGHT_ALONG_K) GT_WGMMA("bf16.bf16", "1", "0");
        else GT_WGMMA("bf16.bf16", "1", "1");
    } else {
        if constexpr (LEFT_ALONG_K && RIGHT_ALONG_K) GT_WGMMA("f16.f16", "0", "0");
        else if constexpr (LEFT_ALONG_K) GT_WGMMA("f16.f16", "0", "1");
        else if constexpr (RIGHT_ALONG_K) GT_WGMMA("f16.f16", "1", "0");
        else GT_WGMMA("f16.f16", "1", "1");
    }
}

#endif
#endif

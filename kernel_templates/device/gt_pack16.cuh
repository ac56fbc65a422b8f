/* SPDX-License-Identifier: MIT */
/* gt_pack16.cuh — where a block finds its part of the workspace (gt_workspace16.h), and a kernel that runs
 * before the product and copies there operands whose lines begin anywhere. It uses the names of the family's
 * rules: PACK, PACK_A, PACK_B, LAST_BLOCK, BM, BN, and where blocks form pairs PAIR, PAIR_M and PAIR_N.
 *
 * A warp copies PACK_ELEMENTS of a line, in words of two elements. Memory bandwidth limits it: each thread
 * has four loads in flight.
 */
#ifndef GT_PACK16_CUH
#define GT_PACK16_CUH

#include "gemm_args.h"
#include "gt_dependent.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_store16.cuh"
#include "gt_workspace16.h"

#ifndef PAIR
#define PAIR   1
#define PAIR_M BM
#define PAIR_N BN
#endif

/* The block's batch item in the workspace. */
static __device__ __forceinline__ struct workspace_item item_of(const struct gemm_args &args)
{
    const long long tiles =
        ((long long)args.m + PAIR_M - 1) / PAIR_M * ((args.n + PAIR_N - 1) / PAIR_N) * PAIR;
    return workspace_item(PACK, TRANS_A, TRANS_B, args.m, args.n, args.k,
                          LAST_BLOCK && args.splits > 1 ? tiles * args.splits * (BM * BN) : 0);
}

static __device__ __forceinline__ float *base_of(const struct gemm_args &args, struct workspace_item item)
{
    return args.workspace + args.counters + blockIdx.z * item.floats;
}

static __device__ __forceinline__ unsigned short *packed_a(const struct gemm_args &args)
{
    return reinterpret_cast<unsigned short *>(base_of(args, item_of(args)));
}

static __device__ __forceinline__ unsigned short *packed_b(const struct gemm_args &args)
{
    const struct workspace_item item = item_of(args);
    return reinterpret_cast<unsigned short *>(base_of(args, item) + item.b);
}

#if PACK
/* A word of the copy is one of the line if this begins at a multiple of 4 bytes. Else it has the halves of
 * two, and the lane before has the first of these; lane 0 loads its half alone. */
static __device__ __forceinline__ void pack_piece(const unsigned short *from, long long ld,
                                                  unsigned short *to, int width, int piece)
{
    const int row = (int)packed_line(width), pieces = (row + PACK_ELEMENTS - 1) / PACK_ELEMENTS;
    const int lane = threadIdx.x % 32, line = piece / pieces,
              first = piece % pieces * PACK_ELEMENTS + lane * 2;
    from += line * ld;
    to += line * (long long)row;
    const int shift = reinterpret_cast<unsigned long long>(from) % 4 / 2;
    unsigned word[PACK_WORDS], alone[PACK_WORDS];
#pragma unroll
    for (int i = 0; i < PACK_WORDS; i++) {
        const int e = first + i * 64;
        word[i] = load_pair(from + e + shift, width - e - shift);
        alone[i] = load_pair(from + e, lane == 0 && shift && e < width);
    }
#pragma unroll
    for (int i = 0; i < PACK_WORDS; i++) {
        const int e = first + i * 64;
        const unsigned before = __shfl_sync(0xffffffffu, word[i], lane > 0 ? lane - 1 : 0) >> 16;
        const unsigned low = lane == 0 ? alone[i] : before;
        if (e < row) store_pair(to + e, shift ? low | word[i] << 16 : word[i]);
    }
}

extern "C" __global__ void __launch_bounds__(PACK_THREADS) gemm_pack(const struct gemm_args args)
{
    next_kernel_may_begin(true); /* the product, which waits for this kernel */
    wait_for_kernel_before();
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return; /* then A and B are not read */
    const int lines_a = TRANS_A ? args.k : args.m, width_a = TRANS_A ? args.m : args.k;
    const int lines_b = TRANS_B ? args.n : args.k, width_b = TRANS_B ? args.k : args.n;
    const int pieces_a = PACK_A ? (int)pack_pieces(lines_a, width_a) : 0;
    const int pieces_b = PACK_B ? (int)pack_pieces(lines_b, width_b) : 0;
    const int piece = blockIdx.x * (PACK_THREADS / 32) + threadIdx.x / 32;
    if (piece < pieces_a)
        pack_piece(item_of_batch<const unsigned short>(args.a, args.stride_a), args.lda, packed_a(args),
                   width_a, piece);
    else if (piece < pieces_a + pieces_b)
        pack_piece(item_of_batch<const unsigned short>(args.b, args.stride_b), args.ldb, packed_b(args),
                   width_b, piece - pieces_a);
}
#endif

#endif

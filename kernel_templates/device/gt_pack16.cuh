/* SPDX-License-Identifier: MIT */
/* gt_pack16.cuh — where a block finds its part of the workspace (gt_workspace16.h), and a kernel that runs
 * before the product and copies there operands whose lines begin anywhere. It uses the names of the family's
 * rules: PACK, PACK_A, PACK_B, LAST_BLOCK, BM, BN.
 *
 * A warp copies PACK_ELEMENTS of a line: pairs of elements, which are loaded one by one since their address
 * is a multiple of 2 bytes, and stored as words. Memory bandwidth limits it: each thread has eight loads in
 * flight.
 */
#ifndef GT_PACK16_CUH
#define GT_PACK16_CUH

#include "gemm_args.h"
#include "gt_dependent.cuh"
#include "gt_memory.cuh"
#include "gt_mma16.cuh"
#include "gt_store16.cuh"
#include "gt_workspace16.h"

/* The block's batch item in the workspace. */
static __device__ __forceinline__ struct workspace_item item_of(const struct gemm_args &args)
{
    const long long tiles = ((long long)args.m + BM - 1) / BM * ((args.n + BN - 1) / BN);
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
static __device__ __forceinline__ void pack_piece(const unsigned short *from, long long ld,
                                                  unsigned short *to, int width, int piece)
{
    const int row = (int)packed_line(width), pieces = (row + PACK_ELEMENTS - 1) / PACK_ELEMENTS;
    const int line = piece / pieces, first = piece % pieces * PACK_ELEMENTS + threadIdx.x % 32 * 2;
    unsigned low[PACK_WORDS], high[PACK_WORDS];
    from += line * ld;
    to += line * (long long)row;
#pragma unroll
    for (int i = 0; i < PACK_WORDS; i++) {
        const int e = first + i * 64;
        low[i] = load_element(from + e, e < width);
        high[i] = load_element(from + e + 1, e + 1 < width);
    }
#pragma unroll
    for (int i = 0; i < PACK_WORDS; i++) {
        const int e = first + i * 64;
        if (e < row) store_pair(to + e, low[i] | high[i] << 16);
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

/* SPDX-License-Identifier: MIT */
/* gt_pack32.cuh — where a block finds its part of the workspace (gt_workspace32.h), and a kernel that runs
 * before the product and copies there operands of 32 bits so that they lie along k, in lines that begin at
 * multiples of 128 bytes. It uses the names of the family's rules: PACK, PACK_A, PACK_B, LAST_BLOCK, BM, BN.
 *
 * A warp copies PACK_SIDE lines of as many k, with all of its loads in flight; an operand across k passes
 * through shared memory.
 */
#ifndef GT_PACK32_CUH
#define GT_PACK32_CUH

#include "gemm_args.h"
#include "gt_dependent.cuh"
#include "gt_memory.cuh"
#include "gt_store16.cuh"
#include "gt_workspace32.h"

/* The block's batch item in the workspace. */
static __device__ __forceinline__ struct workspace_item item_of(const struct gemm_args &args)
{
    const long long tiles = ((long long)args.m + BM - 1) / BM * ((args.n + BN - 1) / BN);
    return workspace_item32(PACK, args.m, args.n, args.k,
                            LAST_BLOCK && args.splits > 1 ? tiles * args.splits * (BM * BN) : 0);
}

static __device__ __forceinline__ float *base_of(const struct gemm_args &args, struct workspace_item item)
{
    return args.workspace + args.counters + blockIdx.z * item.floats;
}

#if PACK
/* `lines` lines of k floats, which lie along k or across it, ld apart; `turn` is the warp's. */
template <bool ALONG_K>
static __device__ __forceinline__ void pack_piece(const float *from, long long ld, float *to, int lines,
                                                  int k, int piece, float (&turn)[PACK_SIDE][PACK_SIDE + 1])
{
    const int row = (int)packed_line32(k), pieces = row / PACK_SIDE, lane = threadIdx.x % 32;
    const int line = piece / pieces * PACK_SIDE, first = piece % pieces * PACK_SIDE;
    /* The first line that is read, how many of them there are, and this lane's place in a line. */
    const int source = ALONG_K ? line : first, count = (ALONG_K ? lines : k) - source;
    const int place = (ALONG_K ? first : line) + lane, length = ALONG_K ? k : lines;
    float x[PACK_SIDE];
    from += source * ld + place;
#pragma unroll
    for (int i = 0; i < PACK_SIDE; i++) {
        x[i] = 0.0f;
        load_global<1>(x + i, from + i * ld, i < count && place < length);
    }
    if constexpr (!ALONG_K) {
#pragma unroll
        for (int i = 0; i < PACK_SIDE; i++) store_shared<1>(&turn[lane][i], x + i);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PACK_SIDE; i++) load_shared<1>(x + i, &turn[i][lane]);
    }
    to += line * (long long)row + first + lane;
#pragma unroll
    for (int i = 0; i < PACK_SIDE; i++)
        if (line + i < lines) store_global<1>(to + i * (long long)row, x + i);
}

extern "C" __global__ void __launch_bounds__(PACK_THREADS) gemm_pack(const struct gemm_args args)
{
    __shared__ float turns[PACK_THREADS / 32][PACK_SIDE][PACK_SIDE + 1];
    next_kernel_may_begin(true); /* the product, which waits for this kernel */
    wait_for_kernel_before();
    if (scalar_of(args.alpha_device, args.alpha) == 0.0f) return; /* then A and B are not read */
    const struct workspace_item item = item_of(args);
    const int pieces_a = PACK_A ? (int)pack_pieces32(args.m, args.k) : 0;
    const int pieces_b = PACK_B ? (int)pack_pieces32(args.n, args.k) : 0;
    const int piece = blockIdx.x * (PACK_THREADS / 32) + threadIdx.x / 32;
    float(&turn)[PACK_SIDE][PACK_SIDE + 1] = turns[threadIdx.x / 32];
    if (piece < pieces_a)
        pack_piece<!TRANS_A>(item_of_batch<const float>(args.a, args.stride_a), args.lda, base_of(args, item),
                             args.m, args.k, piece, turn);
    else if (piece < pieces_a + pieces_b)
        pack_piece<TRANS_B>(item_of_batch<const float>(args.b, args.stride_b), args.ldb,
                            base_of(args, item) + item.b, args.n, args.k, piece - pieces_a, turn);
}
#endif

#endif

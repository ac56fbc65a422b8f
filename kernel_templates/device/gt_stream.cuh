/* SPDX-License-Identifier: MIT */
/* gt_stream.cuh — the kernel of families that stream one operand past another one, which stays in shared
 * memory: resident and tall. A block iterates over tiles of C: products, then the store. Included at the end
 * of the family's source. It uses the names of the family's rules, struct view (the problem, and the block's
 * share of it), block_walk (multiply: sum += the products of the next tile), and place_of. */
#ifndef GT_STREAM_CUH
#define GT_STREAM_CUH

#include "gemm_args.h"
#include "gt_memory.cuh"
#include "gt_store.cuh"

static __device__ __forceinline__ void store(const struct gemm_args &args, const struct view &v, int stream_x,
                                             const float (&sum)[TM][TN], float alpha, blending blend)
{
    const struct thread_place place = place_of(thread_index());
    float *const c = args.c + blockIdx.z * args.stride_c;
    const int row = (SIDE == 0 ? v.resident_x : stream_x) + place.row;
    const int column = (SIDE == 0 ? stream_x : v.resident_x) + place.column;
    const bool inside =
        v.resident_end - v.resident_x >= RESIDENT_X && v.stream_end - stream_x >= STREAM_X; /* of C, wholly */
    if (inside && blend == 0.0f)
        store_inner_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true>(c, args.ldc, row, column, sum,
                                                                               alpha, blend);
    else if (blend == 0.0f)
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, false, true>(
            c, args.ldc, args.m, args.n, row, column, sum, alpha, blend);
    else
        store_tile<TM, TN, CHUNK_M, CHUNK_N, LANES_M, LANES_N, VC, true, true>(
            c, args.ldc, args.m, args.n, row, column, sum, alpha, blend);
}

/* C = beta * C, and what else blend says, where there are no products to add. */
static __device__ __forceinline__ void scale(const struct gemm_args &args, const struct view &v,
                                             blending blend)
{
    float *const c = args.c + blockIdx.z * args.stride_c;
    int x = v.stream_x;
#pragma unroll 1
    for (int left = v.tiles; left > 0; left--) {
#pragma unroll 1
        for (int i = thread_index(); i < BM * BN; i += THREADS) {
            const int row = (SIDE == 0 ? v.resident_x : x) + i / BN,
                      column = (SIDE == 0 ? x : v.resident_x) + i % BN;
            const float nothing = 0.0f;
            float *const at = c + row * args.ldc + column;
            if (row >= args.m || column >= args.n) continue;
            const biases<1> bias = biases_at<1>(blend, row, column);
            if (blend == 0.0f) store_scaled<1, false>(at, &nothing, 0.0f, blend, bias);
            else store_scaled<1, true>(at, &nothing, 0.0f, blend, bias);
        }
        if (left > 1) x += v.step_x;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    const struct view v = view_of(args);
    const float alpha = scalar_of(args.alpha_device, args.alpha);
    const blending blend = blend_of(args);
    if (alpha == 0.0f || v.k.tiles == 0) {
        scale(args, v, blend);
        return;
    }
    block_walk walk;
    walk.start(v);

    /* 0, hidden from the assembler (simt.cu says why). */
    const float zero = args.k < 0 ? 1.0f : 0.0f;
    int x = v.stream_x;
#pragma unroll 1
    for (int left = v.tiles; left > 0; left--) {
        float sum[TM][TN];
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++) sum[i][j] = zero;
        walk.multiply(sum, v);
        store(args, v, x, sum, alpha, blend);
        if (left > 1) x += v.step_x;
    }
}

#endif

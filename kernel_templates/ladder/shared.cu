/* SPDX-License-Identifier: MIT */
/* shared.cu — rung 3: the block brings tiles of A and B into shared memory, once for all of its threads.
 *
 *                     ┌──BN──┐
 *                  BK │  Bs  │  ↓ walks down B
 *                     └──────┘
 *         ┌─BK─┐      ┌──BN──┐
 *      BM │ As │      │  C   │   one thread, one element, as before
 *         └────┘ →    └──────┘
 *
 *     for each step of BK:  all threads load As and Bs │ barrier │ BK products each │ barrier
 *
 * The first barrier ensures that no thread multiplies before the tile is complete, the second that no thread
 * overwrites it before all have used it.
 *
 * Gained: an element of A now comes from global memory N / BN times instead of N times, one of B M / BM
 * times. Beyond the edges the tiles are filled with zeros, so the inner loop needs no conditions.
 *
 * What limits it now: an FMA needs two loads from shared memory, and an SM can issue four times as many FMAs
 * as such loads. The arithmetic waits for shared memory.
 *
 * BM, BN   rows and columns of C per block; BM * BN threads
 * BK       depth of a step: fewer barriers against more shared memory
 */
#include "ladder_device.cuh"

#include "ladder_rules.h"

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const struct scalars s = read_scalars(args);
    const int tiles_n = (args.n + BN - 1) / BN;
    const int tile_m = (int)blockIdx.x / tiles_n * BM, tile_n = (int)blockIdx.x % tiles_n * BN;
    const int tid = (int)threadIdx.x;
    const int row = tid / BN, col = tid % BN;

    float sum = 0.0f;
    for (int k0 = 0; k0 < s.k; k0 += BK) {
        for (int i = tid; i < BM * BK; i += THREADS)
            As[i / BK][i % BK] = load(args.a, args.lda, tile_m + i / BK, k0 + i % BK, args.m, s.k);
        for (int i = tid; i < BK * BN; i += THREADS)
            Bs[i / BN][i % BN] = load(args.b, args.ldb, k0 + i / BN, tile_n + i % BN, s.k, args.n);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) sum += As[row][k] * Bs[k][col];
        __syncthreads();
    }

    const int m = tile_m + row, n = tile_n + col;
    if (m < args.m && n < args.n) update(&args.c[m * args.ldc + n], sum, s);
}

/* SPDX-License-Identifier: MIT */
/* blocktile_2d.cu — rung 5: a thread computes a TM x TN piece of C, a sum of outer products in registers.
 *
 *                   ┌──────BN──────┐
 *                BK │    │▒▒▒│     │
 *                   └────┼───┼─────┘
 *         ┌─BK─┐    ┌────┼─TN┼─────┐
 *      BM │▒▒▒▒│ →  │    │███│ TM  │   for each k: a[TM] × b[TN] → TM * TN FMAs
 *         │    │    │    └───┘     │
 *         └────┘    └──────────────┘
 *
 * Gained: TM + TN loads from shared memory feed TM * TN FMAs: for 8 x 8 a quarter of a load per FMA, where
 * the rung below needed 1 + 1/8. From here on it is arithmetic that limits an ideal kernel.
 *
 * What limits it now: the loads are one float wide; a thread's column of As is BK floats apart from row to
 * row, so that its TM reads cannot be merged; every step waits twice, for global memory and at a barrier,
 * with nothing else to do.
 *
 * BM, BN   rows and columns of C per block; BM / TM * BN / TN threads
 * BK       depth of a step
 * TM, TN   rows and columns of C per thread: reuse against registers
 */
#include "ladder_device.cuh"

#include "ladder_rules.h"

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const struct scalars s = read_scalars(args);
    const struct tile_place tile = tile_of_block<BM, BN>(args.n);
    const int tid = (int)threadIdx.x;
    const int row = tid / (BN / TN) * TM, col = tid % (BN / TN) * TN;

    float sum[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < s.k; k0 += BK) {
        load_tiles<THREADS>(As, Bs, args, tile, k0, s.k, tid);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) a[i] = As[row + i][k];
#pragma unroll
            for (int j = 0; j < TN; j++) b[j] = Bs[k][col + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int m = tile.m + row + i;
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const int n = tile.n + col + j;
            if (m < args.m && n < args.n) update(&args.c[m * args.ldc + n], sum[i][j], s);
        }
    }
}

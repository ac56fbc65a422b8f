/* SPDX-License-Identifier: MIT */
/* blocktile_1d.cu — rung 4: a thread computes TM elements of a column of C; what it reads of B stays in a
 * register.
 *
 *                  ┌─────BN─────┐
 *               BK │     Bs     │
 *                  └────┬─┬─────┘
 *         ┌─BK─┐   ┌────┼─┼─────┐
 *         │    │   │    └─┘     │
 *      BM │████│   │    │█│ TM  │   one thread: TM rows, one column
 *         │    │   │    │█│     │
 *         └────┘   └────┴─┴─────┘
 *
 * Gained: for each k a thread reads one element of Bs and TM of As, and does TM FMAs with them: 1 + 1/TM
 * loads per FMA instead of 2. The TM sums live in registers for the whole kernel. The tile of C is TM times
 * as large for the same number of threads, so global memory is read less, too.
 *
 * What limits it now: still more than one load from shared memory for each FMA.
 *
 * BM, BN   rows and columns of C per block; BM / TM * BN threads
 * BK       depth of a step
 * TM       rows of C per thread: fewer loads against more registers and fewer threads
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
    const int row = tid / BN * TM, col = tid % BN;

    float sum[TM] = {0.0f};
    for (int k0 = 0; k0 < s.k; k0 += BK) {
        load_tiles<THREADS>(As, Bs, args, tile, k0, s.k, tid);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
            const float b = Bs[k][col];
#pragma unroll
            for (int i = 0; i < TM; i++) sum[i] += As[row + i][k] * b;
        }
        __syncthreads();
    }

    const int n = tile.n + col;
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int m = tile.m + row + i;
        if (m < args.m && n < args.n) update(&args.c[m * args.ldc + n], sum[i], s);
    }
}

/* SPDX-License-Identifier: MIT */
/* naive.cu — rung 1: one thread computes one element of C, straight from the definition.
 *
 *     C[m,n] = alpha * sum over k of A[m,k] * B[k,n] + beta * C[m,n]
 *
 *            k →                n
 *         ┌────────┐          ┌──┬─────┐
 *       m │████████│  ×   k ↓ │██│     │   one thread: a row of A and a column of B
 *         │        │          │██│     │
 *         └────────┘          └──┴─────┘
 *
 * Neighbouring threads of a warp take neighbouring ROWS of C, as a loop over m would. That is the weakness of
 * this kernel: the 32 lanes read A at 32 addresses lda apart, and write C at 32 addresses ldc apart. Each is
 * a memory transaction of its own, of which one float in eight is used.
 *
 * BM, BN   rows and columns of C per block; BM * BN threads
 */
#include "ladder_device.cuh"

#include "ladder_rules.h"

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    const struct scalars s = read_scalars(args);
    const int tiles_n = (args.n + BN - 1) / BN;
    const int m = (int)blockIdx.x / tiles_n * BM + (int)threadIdx.x % BM;
    const int n = (int)blockIdx.x % tiles_n * BN + (int)threadIdx.x / BM;
    if (m >= args.m || n >= args.n) return;

    float sum = 0.0f;
    for (int k = 0; k < s.k; k++) sum += args.a[m * args.lda + k] * args.b[k * args.ldb + n];

    update(&args.c[m * args.ldc + n], sum, s);
}

/* SPDX-License-Identifier: MIT */
/* coalesced.cu — rung 2: the same thread-per-element kernel, the lanes of a warp laid along a row of C.
 *
 *     naive:  lane → row          here:  lane → column
 *       C  ┌─┬──────┐               C  ┌────────┬─┐
 *          │0│      │                  │0 1 2 3…│ │
 *          │1│      │                  ├────────┘ │
 *          │2│      │                  │          │
 *
 * Gained: the 32 lanes read 32 neighbouring floats of a row of B, and write 32 neighbouring floats of C: four
 * 32-byte transactions instead of 32. A[m,k] is the same address for all of them: one transaction, broadcast.
 *
 * What limits it now: every FMA still needs two loads. An element of A is read by N threads and an element of
 * B by M, each time through the caches.
 *
 * BM, BN   rows and columns of C per block; BM * BN threads. BN = 32 puts a warp on one row.
 */
#include "ladder_device.cuh"

#include "ladder_rules.h"

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    const struct scalars s = read_scalars(args);
    const int tiles_n = (args.n + BN - 1) / BN;
    const int m = (int)blockIdx.x / tiles_n * BM + (int)threadIdx.x / BN;
    const int n = (int)blockIdx.x % tiles_n * BN + (int)threadIdx.x % BN;
    if (m >= args.m || n >= args.n) return;

    float sum = 0.0f;
    for (int k = 0; k < s.k; k++) sum += args.a[m * args.lda + k] * args.b[k * args.ldb + n];

    update(&args.c[m * args.ldc + n], sum, s);
}

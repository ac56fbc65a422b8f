/* SPDX-License-Identifier: MIT */
/* double_buffered.cu — rung 7: the next tile is loaded while this one is used; one barrier per step.
 *
 *     global memory     ┌ load t+1 into registers ┐
 *     arithmetic        │ ····· tile t, BK outer products ····· │
 *     shared memory                                └ store t+1 into the other buffer ┘ barrier
 *
 *     buffers:   step t computes from [t % 2] and fills [(t + 1) % 2]
 *
 * One barrier is enough: buffer (t + 1) % 2 was last read in step t - 1, and all threads have passed the
 * barrier that ended it. The same at the next level: while the outer product of k runs, the vectors a and b
 * of k + 1 are already being read from shared memory into a second set of registers.
 *
 * Gained: the latency of global memory (some 600 cycles) and of shared memory (some 30) hides behind FMAs.
 *
 * What limits it now: how the threads of a warp lie on the tile. A warp covers a band of two rows of threads
 * and the whole width of the tile, so its lanes read much more of Bs than of As, with TN * 4 bytes between
 * them: several lanes access the same banks at once.
 *
 * BM, BN   rows and columns of C per block; BM / TM * BN / TN threads
 * BK       depth of a step
 * TM, TN   rows and columns of C per thread, multiples of 4
 * MIN_BLOCKS
 *          blocks an SM must hold: while one waits at its barrier another computes, but each thread gets
 *          fewer registers
 */
#include "ladder_device.cuh"

#define VECTOR  4
#define BUFFERS 2
#include "ladder_rules.h"

#include "ladder_staged.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    __shared__ __align__(16) float As[BUFFERS][BK][A_ROW];
    __shared__ __align__(16) float Bs[BUFFERS][BK][BN];

    const struct scalars s = read_scalars(args);
    const bool vectors_a = fits_vectors(args.a, args.lda), vectors_b = fits_vectors(args.b, args.ldb);
    const struct tile_place tile = tile_of_block<BM, BN>(args.n);
    const int tid = (int)threadIdx.x;
    const int row = tid / (BN / TN) * TM, col = tid % (BN / TN) * TN;

    struct staged next;
    __align__(16) float a[2][TM], b[2][TN];
    float sum[TM][TN] = {{0.0f}};

    fetch(next, args, tile, 0, s.k, vectors_a, vectors_b);
    stage(next, As[0], Bs[0]);
    __syncthreads();

    int buffer = 0;
    for (int k0 = 0; k0 < s.k; k0 += BK) {
        const bool more = k0 + BK < s.k;
        if (more) fetch(next, args, tile, k0 + BK, s.k, vectors_a, vectors_b);

        read_fragment<TM>(a[0], &As[buffer][0][row]);
        read_fragment<TN>(b[0], &Bs[buffer][0][col]);
#pragma unroll
        for (int k = 0; k < BK; k++) {
            if (k + 1 < BK) {
                read_fragment<TM>(a[(k + 1) % 2], &As[buffer][k + 1][row]);
                read_fragment<TN>(b[(k + 1) % 2], &Bs[buffer][k + 1][col]);
            }
            add_products(sum, a[k % 2], b[k % 2]);
        }

        if (more) {
            buffer = 1 - buffer;
            stage(next, As[buffer], Bs[buffer]);
            __syncthreads();
        }
    }

    update_pieces(args, tile.m + row, tile.n + col, sum, s);
}

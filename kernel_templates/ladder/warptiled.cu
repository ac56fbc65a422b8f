/* SPDX-License-Identifier: MIT */
/* warptiled.cu — rung 8: a level between block and thread: each warp owns a compact WM x WN part of the tile.
 *
 *      block BM x BN             warp WM x WN                thread TM x TN, in pieces of 4 x 4
 *     ┌─────┬─────┐             ┌──┬──┬──┬──┬──┬──┬──┬──┐    ┌─┬ ─ ─ ┬─┐
 *     │warp │     │             │ 0│ 2│ 4│ 6│ 8│10│12│14│    │█│     │█│   the pieces of one thread lie
 *     ├─────┼─────┤             │ 1│ 3│ 5│ 7│ 9│11│13│15│    ├─┘     └─┤   as far apart as the grid of
 *     │     │     │             │16│18│  …              │    │         │   lanes is large
 *     ├─────┼─────┤             │17│19│  …              │    ├─┐     ┌─┤
 *     │     │     │             └──┴──┴──┴──┴──┴──┴──┴──┘    │█│     │█│
 *     └─────┴─────┘              lanes, each 4 x 4           └─┴ ─ ─ ┴─┘
 *
 * What follows from this map of lanes:
 *  - a compact rectangle reads few different floats of As and Bs (WM + WN for WM * WN sums); lanes that
 *    read the same float are served by one broadcast;
 *  - the vectors that a warp reads at one time are neighbours: no two lanes read different words of a bank;
 *  - a 16-byte load is served fastest where lanes 2 i and 2 i + 1 read the same vector of Bs: the low bit
 *    of the lane walks down, the next bits walk along a row.
 *
 * Gained: fewer cycles of shared memory for the same FMAs. Stores to C are 16-byte vectors side by side.
 *
 * What limits it now: little that a fixed kernel could change. Which BM ... TN are best depends on shape and
 * GPU, and that is where tuning starts: simt.cu is this kernel with its decisions as parameters.
 *
 * BM, BN   rows and columns of C per block
 * BK       depth of a step
 * WM, WN   rows and columns of C per warp: WM / TM * (WN / TN) = 32
 * TM, TN   rows and columns of C per thread, multiples of 4
 * MIN_BLOCKS
 *          blocks an SM must hold: while one waits at its barrier another computes, but each thread gets
 *          fewer registers
 */
#include "ladder_device.cuh"

#define VECTOR  4
#define BUFFERS 2
#define LANES   32
#include "ladder_rules.h"

#include "ladder_staged.cuh"

#define LANES_N (WN / TN)     /* lanes side by side, LANES / LANES_N below each other */
#define STEP_M  (WM / TM * 4) /* from one piece of a thread to its next */
#define STEP_N  (LANES_N * 4)

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    __shared__ __align__(16) float As[BUFFERS][BK][A_ROW];
    __shared__ __align__(16) float Bs[BUFFERS][BK][BN];

    const struct scalars s = read_scalars(args);
    const bool vectors_a = fits_vectors(args.a, args.lda), vectors_b = fits_vectors(args.b, args.ldb);
    const struct tile_place tile = tile_of_block<BM, BN>(args.n);
    const int tid = (int)threadIdx.x;
    const int warp = tid / LANES, lane = tid % LANES;
    const int lane_m = lane % 2 + lane / (2 * LANES_N) * 2, lane_n = lane / 2 % LANES_N;
    const int row = warp / (BN / WN) * WM + lane_m * 4; /* of the thread's first piece */
    const int col = warp % (BN / WN) * WN + lane_n * 4;

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

        read_fragment<TM, STEP_M>(a[0], &As[buffer][0][row]);
        read_fragment<TN, STEP_N>(b[0], &Bs[buffer][0][col]);
#pragma unroll
        for (int k = 0; k < BK; k++) {
            if (k + 1 < BK) {
                read_fragment<TM, STEP_M>(a[(k + 1) % 2], &As[buffer][k + 1][row]);
                read_fragment<TN, STEP_N>(b[(k + 1) % 2], &Bs[buffer][k + 1][col]);
            }
            add_products(sum, a[k % 2], b[k % 2]);
        }

        if (more) {
            buffer = 1 - buffer;
            stage(next, As[buffer], Bs[buffer]);
            __syncthreads();
        }
    }

    update_pieces<STEP_M, STEP_N>(args, tile.m + row, tile.n + col, sum, s);
}

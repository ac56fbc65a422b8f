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

#define VECTOR           4
#define BUFFERS          2
#define RULE(holds, why) static_assert(holds, why);
#include "ladder_rules.h"

#define LOADS_A (BM * BK / 4 / THREADS) /* vectors per thread and step */
#define LOADS_B (BK * BN / 4 / THREADS)

/* The part of the next tile that this thread copies. */
struct staged {
    float4 a[LOADS_A], b[LOADS_B];
};

__device__ __forceinline__ void fetch(struct staged &next, const struct gemm_args &args, int tile_m,
                                      int tile_n, int k0, int depth, bool vectors_a, bool vectors_b)
{
#pragma unroll
    for (int l = 0; l < LOADS_A; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        next.a[l] =
            load4(args.a, args.lda, tile_m + i / (BK / 4), k0 + i % (BK / 4) * 4, args.m, depth, vectors_a);
    }
#pragma unroll
    for (int l = 0; l < LOADS_B; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        next.b[l] =
            load4(args.b, args.ldb, k0 + i / (BN / 4), tile_n + i % (BN / 4) * 4, depth, args.n, vectors_b);
    }
}

__device__ __forceinline__ void stage(const struct staged &next, float (*As)[A_ROW], float (*Bs)[BN])
{
#pragma unroll
    for (int l = 0; l < LOADS_A; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        const int m = i / (BK / 4), k = i % (BK / 4) * 4;
        As[k][m] = next.a[l].x;
        As[k + 1][m] = next.a[l].y;
        As[k + 2][m] = next.a[l].z;
        As[k + 3][m] = next.a[l].w;
    }
#pragma unroll
    for (int l = 0; l < LOADS_B; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        *reinterpret_cast<float4 *>(&Bs[i / (BN / 4)][i % (BN / 4) * 4]) = next.b[l];
    }
}

/* Count floats at x, a multiple of four, into registers. */
template <int Count> __device__ __forceinline__ void read_fragment(float *fragment, const float *x)
{
#pragma unroll
    for (int i = 0; i < Count; i += 4)
        *reinterpret_cast<float4 *>(&fragment[i]) = *reinterpret_cast<const float4 *>(&x[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const struct gemm_args args)
{
    __shared__ __align__(16) float As[BUFFERS][BK][A_ROW];
    __shared__ __align__(16) float Bs[BUFFERS][BK][BN];

    const struct scalars s = read_scalars(args);
    const bool vectors_a = fits_vectors(args.a, args.lda), vectors_b = fits_vectors(args.b, args.ldb);
    const int tiles_n = (args.n + BN - 1) / BN;
    const int tile_m = (int)blockIdx.x / tiles_n * BM, tile_n = (int)blockIdx.x % tiles_n * BN;
    const int tid = (int)threadIdx.x;
    const int row = tid / (BN / TN) * TM, col = tid % (BN / TN) * TN;

    struct staged next;
    __align__(16) float a[2][TM], b[2][TN];
    float sum[TM][TN] = {{0.0f}};

    fetch(next, args, tile_m, tile_n, 0, s.k, vectors_a, vectors_b);
    stage(next, As[0], Bs[0]);
    __syncthreads();

    int buffer = 0;
    for (int k0 = 0; k0 < s.k; k0 += BK) {
        const bool more = k0 + BK < s.k;
        if (more) fetch(next, args, tile_m, tile_n, k0 + BK, s.k, vectors_a, vectors_b);

        read_fragment<TM>(a[0], &As[buffer][0][row]);
        read_fragment<TN>(b[0], &Bs[buffer][0][col]);
#pragma unroll
        for (int k = 0; k < BK; k++) {
            if (k + 1 < BK) {
                read_fragment<TM>(a[(k + 1) % 2], &As[buffer][k + 1][row]);
                read_fragment<TN>(b[(k + 1) % 2], &Bs[buffer][k + 1][col]);
            }
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) sum[i][j] += a[k % 2][i] * b[k % 2][j];
        }

        if (more) {
            buffer = 1 - buffer;
            stage(next, As[buffer], Bs[buffer]);
            __syncthreads();
        }
    }

    const bool vectors_c = fits_vectors(args.c, args.ldc);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            update4(args.c, args.ldc, tile_m + row + i, tile_n + col + j, args.m, args.n, vectors_c,
                    &sum[i][j], s);
}

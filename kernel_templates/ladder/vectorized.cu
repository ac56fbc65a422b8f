/* SPDX-License-Identifier: MIT */
/* vectorized.cu — rung 6: As is stored transposed, and everything moves four floats at a time.
 *
 *        A in global memory            As in shared memory
 *        k →                           m →            + 4
 *      ┌─────────┐                   ┌─────────────┬───┐
 *    m │ 0 1 2 3 │ one 16-byte load  │ 0           │pad│
 *    ↓ │         │ ───────────────►  │ 1           │   │  k ↓
 *      │         │ four stores       │ 2           │   │
 *      └─────────┘                   │ 3           │   │
 *                                    └─────────────┴───┘
 *
 * Gained: the TM rows that a thread needs at one k are now neighbours: TM / 4 loads of 16 bytes instead of TM
 * of 4. An SM issues one instruction a cycle for each of its four schedulers, FMA or not; fewer loads leave
 * more room for FMAs. The pad of four floats spreads the four stores of a transposed vector over the banks
 * and keeps rows 16-byte aligned.
 *
 * Where a leading dimension or a pointer is not a multiple of 16 bytes, and at the edges, the same values are
 * loaded one by one.
 *
 * What limits it now: waiting. Between the two barriers of a step nothing is loaded, between the loads
 * nothing is computed.
 *
 * BM, BN   rows and columns of C per block; BM / TM * BN / TN threads
 * BK       depth of a step
 * TM, TN   rows and columns of C per thread, multiples of 4
 */
#include "ladder_device.cuh"

#define VECTOR 4
#include "ladder_rules.h"

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const struct gemm_args args)
{
    __shared__ __align__(16) float As[BK][A_ROW];
    __shared__ __align__(16) float Bs[BK][BN];

    const struct scalars s = read_scalars(args);
    const bool vectors_a = fits_vectors(args.a, args.lda), vectors_b = fits_vectors(args.b, args.ldb);
    const struct tile_place tile = tile_of_block<BM, BN>(args.n);
    const int tid = (int)threadIdx.x;
    const int row = tid / (BN / TN) * TM, col = tid % (BN / TN) * TN;

    float sum[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < s.k; k0 += BK) {
#pragma unroll
        for (int i = tid; i < BM * BK / 4; i += THREADS) {
            const int m = i / (BK / 4), k = i % (BK / 4) * 4;
            const float4 v = load4(args.a, args.lda, tile.m + m, k0 + k, args.m, s.k, vectors_a);
            As[k][m] = v.x;
            As[k + 1][m] = v.y;
            As[k + 2][m] = v.z;
            As[k + 3][m] = v.w;
        }
#pragma unroll
        for (int i = tid; i < BK * BN / 4; i += THREADS) {
            const int k = i / (BN / 4), n = i % (BN / 4) * 4;
            *reinterpret_cast<float4 *>(&Bs[k][n]) =
                load4(args.b, args.ldb, k0 + k, tile.n + n, s.k, args.n, vectors_b);
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
            __align__(16) float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                *reinterpret_cast<float4 *>(&a[i]) = *reinterpret_cast<const float4 *>(&As[k][row + i]);
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                *reinterpret_cast<float4 *>(&b[j]) = *reinterpret_cast<const float4 *>(&Bs[k][col + j]);
            add_products(sum, a, b);
        }
        __syncthreads();
    }

    update_pieces(args, tile.m + row, tile.n + col, sum, s);
}

/* SPDX-License-Identifier: MIT */
/* gt_pack.cuh — a kernel that runs before the product and copies an operand into the workspace: one whose
 * rows are not aligned for vectors, or which is contiguous along k.
 *
 * The copy is k rows of x (m for A, n for B), `row` floats apart, with zeros after the last x
 * (simt_workspace.h). Memory bandwidth limits this kernel if enough loads are in flight: each thread has 8.
 * It moves single floats, since vectors would not be aligned; a warp still reads and writes 128 contiguous
 * bytes.
 *
 *     x contiguous: copied            k contiguous: through shared memory
 *
 *          x ->  4 x 32 lanes              k ->  2 x 32 lanes            x ->  32 lanes
 *        k  warp 0 . . .               x  warp 0 .                    k  warp 0
 *        |  warp 1                     |  warp 1         ------>      |  warp 1
 *        v  ...   twice                v  ...   4 times               v  ...   8 times
 */
#ifndef GT_PACK_CUH
#define GT_PACK_CUH

#include "gt_memory.cuh"
#include "simt_workspace.h"

/* The matrix to pack, and its destination. */
struct packing {
    const float *from;
    long long ld;
    float *to;
    int row, x_end, k_end; /* floats a row of `to`; size of the matrix */
};

#define PACK_WARPS (PACK_THREADS / 32)

template <bool TRANSPOSE> static __device__ __forceinline__ void pack_tile(const struct packing &p, int tile)
{
    constexpr int TILE_K = PACK_TILE_K(TRANSPOSE), TILE_X = PACK_TILE_X(TRANSPOSE);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if constexpr (TRANSPOSE) {
        constexpr int STRIDE = TILE_K + 1; /* a column covers all 32 banks */
        const int tiles_k = (p.k_end - 1) / TILE_K + 1;
        const int k0 = tile % tiles_k * TILE_K, x0 = tile / tiles_k * TILE_X;
        float value[TILE_X / PACK_WARPS][TILE_K / 32];
#pragma unroll
        for (int i = 0; i < TILE_X / PACK_WARPS; i++)
#pragma unroll
            for (int j = 0; j < TILE_K / 32; j++) {
                const int x = x0 + warp + i * PACK_WARPS, k = k0 + lane + j * 32;
                value[i][j] = 0.0f;
                load_stream<1>(&value[i][j], p.from + x * p.ld + k, x < p.x_end && k < p.k_end);
            }
        float *const shared = gt_shared_memory();
#pragma unroll
        for (int i = 0; i < TILE_X / PACK_WARPS; i++)
#pragma unroll
            for (int j = 0; j < TILE_K / 32; j++)
                store_shared<1>(shared + (warp + i * PACK_WARPS) * STRIDE + lane + j * 32, &value[i][j]);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K / PACK_WARPS; i++) {
            const int k = warp + i * PACK_WARPS;
            float moved;
            load_shared<1>(&moved, shared + lane * STRIDE + k);
            if (k0 + k < p.k_end) store_global<1>(p.to + (long long)(k0 + k) * p.row + x0 + lane, &moved);
        }
    } else {
        const int tiles_x = (p.x_end - 1) / TILE_X + 1;
        const int k0 = tile / tiles_x * TILE_K, x0 = tile % tiles_x * TILE_X;
        float value[TILE_K / PACK_WARPS][TILE_X / 32];
#pragma unroll
        for (int i = 0; i < TILE_K / PACK_WARPS; i++)
#pragma unroll
            for (int j = 0; j < TILE_X / 32; j++) {
                const int x = x0 + lane + j * 32, k = k0 + warp + i * PACK_WARPS;
                value[i][j] = 0.0f;
                load_stream<1>(&value[i][j], p.from + k * p.ld + x, x < p.x_end && k < p.k_end);
            }
#pragma unroll
        for (int i = 0; i < TILE_K / PACK_WARPS; i++)
#pragma unroll
            for (int j = 0; j < TILE_X / 32; j++) {
                const int x = x0 + lane + j * 32, k = k0 + warp + i * PACK_WARPS;
                if (x < p.row && k < p.k_end) store_global<1>(p.to + (long long)k * p.row + x, &value[i][j]);
            }
    }
}

#endif

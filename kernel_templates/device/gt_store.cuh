/* SPDX-License-Identifier: MIT */
/* gt_store.cuh — a thread's part of C from its accumulators to global memory. */
#ifndef GT_STORE_CUH
#define GT_STORE_CUH

#include "gt_epilogue.cuh"
#include "gt_memory.cuh"

/* c[0..V) = alpha * sum[0..V) + beta * c[0..V), and what else blend says (gt_epilogue.cuh) with the bias; C
 * is read only if BLEND. COUNT neighbouring elements, of which `left` are inside C, are all read before the
 * first is stored. STREAM: C is not read again soon. */
template <int V, bool BLEND, bool STREAM = false, int COUNT = V>
static __device__ __forceinline__ void store_scaled(float *c, const float *sum, float alpha, blending blend,
                                                    const biases<COUNT> &bias, int left = COUNT)
{
    float old[COUNT], out[COUNT];
    if (BLEND)
#pragma unroll
        for (int e = 0; e < COUNT; e += V)
            if (COUNT == V || e < left) load_own<V>(old + e, source_of(blend, c + e));
#pragma unroll
    for (int e = 0; e < COUNT; e++) out[e] = BLEND ? fmaf(blend, old[e], alpha * sum[e]) : alpha * sum[e];
    finish(out, blend, bias);
#pragma unroll
    for (int e = 0; e < COUNT; e += V)
        if (COUNT == V || e < left) {
            if (STREAM) store_stream<V>(c + e, out + e);
            else store_global<V>(c + e, out + e);
        }
}

/* A thread reads C one vector at a time, because more would take registers from the product; each read then
 * waits for the one before. So everything of C that store_tile will read is prefetched at once. */
template <int TILE_M, int TILE_N, int CM, int CN, int GRID_M, int GRID_N>
static __device__ __forceinline__ void ask_for_tile(const float *c, long long ldc, int m, int n, int row,
                                                    int column)
{
#pragma unroll 1
    for (int i = 0; i < TILE_M; i++) {
        const int r = row + i / CM * (GRID_M * CM) + i % CM;
#pragma unroll
        for (int j = 0; j < TILE_N; j += CN) {
            const int x = column + j / CN * (GRID_N * CN);
            if (r < m && x < n) ask_for(c + r * ldc + x);
        }
    }
}

/* The thread's rows and columns come in pieces of CM x CN values (gt_compute.cuh). The pieces are CM GRID_M
 * rows and CN GRID_N columns apart; the first is at (row, column) of the m x n matrix c. */
template <int TILE_M, int TILE_N, int CM, int CN, int GRID_M, int GRID_N, int V, bool BLEND,
          bool STREAM = false>
static __device__ __forceinline__ void store_tile(float *c, long long ldc, int m, int n, int row, int column,
                                                  const float (&sum)[TILE_M][TILE_N], float alpha,
                                                  blending blend)
{
    constexpr int WIDTH = BLEND ? CN : V;
    if (BLEND)
        ask_for_tile<TILE_M, TILE_N, CM, CN, GRID_M, GRID_N>(source_of(blend, c), ldc, m, n, row, column);
    biases<TILE_N> bias;
    bias.template load_columns<CN, GRID_N>(blend, column, n);
#pragma unroll
    for (int i = 0; i < TILE_M; i++) {
        const int r = row + i / CM * (GRID_M * CM) + i % CM;
        float *line = c + r * ldc + column;
        if (r < m) {
            bias.load_row(blend, r);
#pragma unroll
            for (int j = 0; j < TILE_N; j += WIDTH) {
                const int offset = j / CN * (GRID_N * CN) + j % CN;
                if (column + offset < n)
                    store_scaled<V, BLEND, STREAM, WIDTH>(line + offset, &sum[i][j], alpha, blend,
                                                          bias.template part<WIDTH>(j), n - column - offset);
            }
        }
    }
}

/* The same for a block's tile that lies entirely inside C, without beta. It needs no comparisons, and
 * computes each row's address from that of the row before. */
template <int TILE_M, int TILE_N, int CM, int CN, int GRID_M, int GRID_N, int V, bool STREAM = false>
static __device__ __forceinline__ void store_inner_tile(float *c, long long ldc, int row, int column,
                                                        const float (&sum)[TILE_M][TILE_N], float alpha,
                                                        blending blend)
{
    const long long to_next_piece = (GRID_M * CM - CM + 1) * ldc;
    float *line = c + row * ldc + column;
    biases<TILE_N> bias;
    bias.template load_columns<CN, GRID_N>(blend, column, 0x7fffffff);
#pragma unroll
    for (int i = 0; i < TILE_M; i++) {
        bias.load_row(blend, row + i / CM * (GRID_M * CM) + i % CM);
#pragma unroll
        for (int j = 0; j < TILE_N; j += V)
            store_scaled<V, false, STREAM>(line + (j / CN * (GRID_N * CN) + j % CN), &sum[i][j], alpha, blend,
                                           bias.template part<V>(j));
        line += (i + 1) % CM ? ldc : to_next_piece;
    }
}

#endif

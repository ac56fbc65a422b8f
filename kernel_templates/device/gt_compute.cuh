/* SPDX-License-Identifier: MIT */
/* gt_compute.cuh — the lanes of a warp, fragments of A and B in registers, and their outer product. */
#ifndef GT_COMPUTE_CUH
#define GT_COMPUTE_CUH

#include "gt_memory.cuh"

struct lane_place {
    int m, n;
};

/* The position of a lane in a grid of GRID_M x GRID_N lanes. Lanes 0 and 1, 2 and 3, and so on are neighbours
 * along the shorter side, so that the 16-byte reads of a fragment take two passes over the banks instead of
 * four:
 *
 *     4 x 8    0  2  4 ... 14
 *              1  3  5 ... 15
 *             16 18 20 ... 30
 *             17 19 21 ... 31
 */
template <int GRID_M, int GRID_N> static __device__ __forceinline__ struct lane_place lane_place_of(int lane)
{
    static_assert(GRID_M * GRID_N == 32, "a warp has 32 lanes");
    if (GRID_M == 1) return {0, lane};
    if (GRID_N == 1) return {lane, 0};
    if (GRID_M <= GRID_N) return {lane % 2 + lane / (2 * GRID_N) * 2, lane / 2 % GRID_N};
    return {lane / 2 % GRID_M, lane % 2 + lane / (2 * GRID_M) * 2};
}

/* T values of one row of k: pieces of CHUNK floats, LANES * CHUNK apart. `row` is the position of the
 * lane's first piece: a pointer, or a shared_place. */
template <int T, int CHUNK, int LANES, class PLACE>
static __device__ __forceinline__ void load_fragment(float *v, PLACE row)
{
#pragma unroll
    for (int i = 0; i < T; i += CHUNK) load_shared<CHUNK>(v + i, row + i * LANES);
}

/* sum[i][j] += a[i] * b[j]. The register file reads two values of different banks in a cycle and keeps those
 * that the next instructions use again. So the rows (of the longer side) are walked back and forth: from one
 * product to the next, one of the two factors stays the same. The assembler mostly keeps this order and then
 * assigns registers; how many bank conflicts result is hard to predict. HOW selects another order, and
 * thereby another assignment:
 *
 *     0  1 2 3 4    1  4 3 2 1    2  the last     3  1 3 5 7    two rows at once, by
 *        8 7 6 5       5 6 7 8       row first       4 2 8 6    the diagonals of 2 x 2
 *
 * 4 is 0 with the shorter side outside: it reads the fewest registers where few steps follow a branch.
 */
template <int HOW = 0, int TILE_M, int TILE_N>
static __device__ __forceinline__ void add_outer_product(float (&sum)[TILE_M][TILE_N], const float *a,
                                                         const float *b)
{
    constexpr bool ROWS = (TILE_M >= TILE_N) == (HOW != 4);
    constexpr int OUTER = ROWS ? TILE_M : TILE_N, INNER = ROWS ? TILE_N : TILE_M;
    static_assert(HOW != 3 || (OUTER % 2 == 0 && INNER % 2 == 0), "blocks of 2 x 2");
#pragma unroll
    for (int step = 0; step < OUTER * INNER; step++) {
        int x, y;
        if (HOW == 3) {
            const int row = step / (2 * INNER), column = step / 4 % (INNER / 2), corner = step % 4;
            x = 2 * row + corner % 2;
            y = 2 * (row % 2 ? INNER / 2 - 1 - column : column) + (corner == 1 || corner == 2);
        } else {
            const int row = step / INNER, column = step % INNER;
            x = HOW == 2 ? OUTER - 1 - row : row;
            y = row % 2 == (HOW == 1) ? column : INNER - 1 - column;
        }
        const int i = ROWS ? x : y, j = ROWS ? y : x;
        sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
}

#endif

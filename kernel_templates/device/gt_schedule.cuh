/* SPDX-License-Identifier: MIT */
/* gt_schedule.cuh — which part of the problem a block computes: its tile of C, its range of k, its batch
 * item. */
#ifndef GT_SCHEDULE_CUH
#define GT_SCHEDULE_CUH

/* First row and column of the block's tile of C. */
struct tile_origin {
    int m, n;
};

/* Consecutive blocks go down `group` rows of tiles before they step to the next column of tiles, so that
 * blocks that run at the same time share rows of A and columns of B in L2:
 *
 *     group = 2    0 2 4 6
 *                  1 3 5 7
 *                  8 ...
 */
template <int TILE_M, int TILE_N>
static __device__ __forceinline__ struct tile_origin tile_of_block(unsigned block, unsigned m, unsigned n,
                                                                   unsigned group)
{
    const unsigned tiles_m = (m - 1) / TILE_M + 1, tiles_n = (n - 1) / TILE_N + 1;
    const unsigned rows = group < tiles_m ? group : tiles_m;
    const unsigned first = block / (rows * tiles_n) * rows;
    unsigned row = 0, column = block - first * tiles_n;
    if (rows > 1) { /* saves a division, which shows in the shortest launches */
        const unsigned height = rows < tiles_m - first ? rows : tiles_m - first;
        row = column % height;
        column /= height;
    }
    return {(int)((first + row) * TILE_M), (int)(column * TILE_N)};
}

/* A range of k, cut into tiles. The first tile takes the remainder, so that all others are whole. */
struct k_range {
    int begin;
    int tiles; /* 0: no products to add */
    int first; /* length of the first tile, 1 .. TILE_K */
};

template <int TILE_K>
static __device__ __forceinline__ struct k_range k_range_of_split(int split, int k, int k_per_split)
{
    const int begin = split * k_per_split;
    const int length = k - begin < k_per_split ? k - begin : k_per_split;
    if (length <= 0) return {0, 0, 0};
    const int tiles = (length - 1) / TILE_K + 1;
    return {begin, tiles, length - (tiles - 1) * TILE_K};
}

#endif

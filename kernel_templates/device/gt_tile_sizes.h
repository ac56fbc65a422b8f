/* SPDX-License-Identifier: MIT */
/* gt_tile_sizes.h — derived sizes of a kernel whose blocks multiply tiles of A and B by gt_pipeline.cuh; read
 * by the host (C) and by the kernels (CUDA C++).
 *
 * The family's rules add the number of THREADS, the k that a team multiplies of a tile (TEAM_K), and whether
 * operands are contiguous along m and n (ALONG_M, ALONG_N).
 */
#ifndef GT_TILE_SIZES_H
#define GT_TILE_SIZES_H

#define LANES_M (WM / TM) /* the lane grid of a warp */
#define LANES_N (WN / TN)
#define WARPS_N (BN / WN)
#define WARPS   ((BM / WM) * (BN / WN)) /* that divide the tile of C */

/* Width of the contiguous pieces that a thread's rows (columns) consist of. */
#define CHUNK_M (TM % 4 == 0 ? 4 : TM % 2 == 0 ? 2 : 1)
#define CHUNK_N (TN % 4 == 0 ? 4 : TN % 2 == 0 ? 2 : 1)

/* A row of k of a tile in shared memory, in floats. Padded by one 16-byte vector: rows stay aligned, and a
 * transposing store, which goes down a column, uses different banks. */
#define STRIDE_A     ((BM + 3) / 4 * 4 + 4)
#define STRIDE_B     ((BN + 3) / 4 * 4 + 4)
#define STAGE_FLOATS (BK * (STRIDE_A + STRIDE_B))
#define STAGE_BYTES  (4 * STAGE_FLOATS)

/* Whether an operand reaches shared memory by cp.async. */
#define ASYNC_A (LOADER == 3 || (LOADER > 0 && ALONG_M))
#define ASYNC_B (LOADER == 3 || (LOADER > 0 && ALONG_N))

/* Whether threads arrive at a tile's barrier before they have finished the tile. A thread that has passed the
 * barrier then only knows that the others have finished the tile before, so copies run one tile less ahead
 * than the stages would allow. */
#define TWO_STEPS   (LOADER == 2)
#define TILES_AHEAD (TWO_STEPS ? STAGES - 2 : STAGES - 1)

#endif

/* SPDX-License-Identifier: MIT */
/* skinny_rules.h — derived sizes of the skinny kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_SKINNY_SIZES
#define GT_SKINNY_SIZES

#define K_LANE  4              /* k that a lane takes at a time */
#define LANES_K (32 / LANES_X) /* lanes of a warp that share columns and divide k */
#define THREADS (32 * WARPS_X * WARPS_K * WARPS_R)
#define ROWS_W  (ROWS / WARPS_R)             /* rows that a warp multiplies */
#define TILE_X  (WARPS_X * LANES_X * TX)     /* columns of the streamed operand per block */
#define STEP_K  (WARPS_K * LANES_K * K_LANE) /* k per block and step */
#define CHUNK_K (STEPS * STEP_K)             /* k of the small operand in one of the BUFFERS */

/* Shared memory first holds BUFFERS chunks of the small operand: rows of k, padded by one 16-byte vector so
 * that stores down a column use different banks. Afterwards it holds the partial sums of all warps along k,
 * all rows at once or eight at a time. With LOADER 2 the small operand keeps its layout in memory, k times
 * rows, with a vector of padding after every four k: lanes that read the same row of every fourth k use
 * different banks. With few columns, C is contiguous along the rows, and the stride of the sums is padded for
 * reads in that direction. Blocks of a cluster also have an inbox for the sums of all blocks over their share
 * of the tile. */
#define STRIDE_S      (CHUNK_K + 4)
#define BUFFER_FLOATS (K_MAJOR ? CHUNK_K / 4 * GROUP_S : ROWS * STRIDE_S)
#define STRIDE_SUM    (SIDE == 0 ? TILE_X : (TILE_X + 3) / 4 * 4 + 4)
#define PASS_ROWS     (ROWS <= 8 || ROWS * WARPS_K * STRIDE_SUM <= 64 * THREADS ? ROWS : 8)
#define PASSES        ((ROWS + PASS_ROWS - 1) / PASS_ROWS)
#define SUM_FLOATS    (WARPS_K * PASS_ROWS * STRIDE_SUM)
#define WORK_FLOATS   (BUFFERS * BUFFER_FLOATS > SUM_FLOATS ? BUFFERS * BUFFER_FLOATS : SUM_FLOATS)
#define PART_FLOATS   (PASSES * PASS_ROWS * TILE_X) /* of a tile's sum over a split */
#define SMEM_FLOATS   (CLUSTER ? INBOX_FULL_AT + 2 : WORK_FLOATS)

#define K_MAJOR (LOADER == 2)
#define ROWS_S  ((ROWS + 3) / 4 * 4)
#define GROUP_S (4 * ROWS_S + 4)

/* Who adds the parts when k is split: 1 the last block of a tile to arrive, from the workspace; 2 to 8 a
 * cluster of that many blocks, each of which adds SHARE vectors of the tile. The mbarrier that counts the
 * inbox's bytes follows the inbox. */
#define CLUSTER       (REDUCE > 1 ? REDUCE : 0)
#define SHARE         ((PART_FLOATS / VC + REDUCE - 1) / REDUCE)
#define INBOX_AT      ((WORK_FLOATS + 3) / 4 * 4)
#define INBOX_FULL_AT (INBOX_AT + (REDUCE * SHARE * VC + 3) / 4 * 4)

/* Which operand is streamed, and whether it and the small one are contiguous along k in memory. */
#define STREAM_ALONG_K (SIDE == 0 ? TRANS_B : !TRANS_A)
#define SMALL_ALONG_K  (SIDE == 0 ? !TRANS_A : TRANS_B)

#endif

#ifdef RULE
RULE(VX, VX == 1 || VX == 2 || VX == 4, "VX must be 1, 2 or 4")
RULE(VS, VS == 1 || VS == 2 || VS == 4, "VS must be 1, 2 or 4")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
RULE(LANES_X, 32 % LANES_X == 0, "LANES_X must divide the 32 lanes of a warp")
RULE(WARPS_R, ROWS % WARPS_R == 0, "WARPS_R must divide ROWS")
RULE(LOADER, WARPS_R == 1 || LOADER != 2 || ROWS_W % 4 == 0,
     "with LOADER 2 a warp's rows must be a multiple of 4")
RULE(WARPS_R, SIDE == 0 || PASS_ROWS % VC == 0,
     "VC must divide the rows that are stored together (ROWS, or 8)")
RULE(WARPS_R, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(STEPS, STEPS % DEPTH == 0, "STEPS must be a multiple of DEPTH")
RULE(STEPS, CHUNK_K % 16 == 0, "a chunk of k (STEPS * WARPS_K * 32 / LANES_X * 4) must be a multiple of 16")
RULE(LOADER, LOADER != 2 || (ROWS + VS - 1) / VS <= THREADS,
     "LOADER 2 needs a thread for each vector of the rows")
RULE(WARPS_X, SIDE == 1 || TILE_X % VC == 0, "VC must divide the columns of a tile")
#endif

#ifdef RULE_OP
RULE_OP(LOADER, LOADER != 2 || !SMALL_ALONG_K, "LOADER 2 needs a small operand that lies across k")
RULE_OP(LOADER, LOADER != 2 || !STREAM_ALONG_K || LANES_K * VX % 4 == 0,
        "with LOADER 2 the lanes along k must read at least four k at once")
RULE_OP(VX, STREAM_ALONG_K || TX % VX == 0, "VX must divide TX where the streamed operand runs across k")
#endif

/* Rules for the host alone: launch-time parameters. */
#ifdef HOST_RULES
RULE(SPLIT_K, !CLUSTER || SPLIT_K == CLUSTER, "SPLIT_K must be the size of the cluster (REDUCE)")
#endif

/* SPDX-License-Identifier: MIT */
/* gemv16_rules.h — derived sizes of the streaming kernel for 16-bit operands, and which configurations are
 * correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_GEMV16_SIZES
#define GT_GEMV16_SIZES

#define RUN_K   (32 * SPAN) /* k that a warp takes at a time: two instructions for each piece of 32 */
#define THREADS (32 * WARPS_X * WARPS_K)
#define EIGHTS  (FEW / 8)                 /* rows of a lane */
#define TILE_X  (8 * TX * WARPS_X)        /* columns of the streamed operand per block */
#define STEP_K  (RUN_K * DEPTH * WARPS_K) /* k per block and pass of its loop */

/* The tile in rows and columns of C. */
#define TILE_M (SIDE == 0 ? FEW : TILE_X)
#define TILE_N (SIDE == 0 ? TILE_X : FEW)

/* Which operand is streamed, and whether it and the small one are contiguous along k in memory. */
#define STREAM_ALONG_K (SIDE == 0 ? TRANS_B : !TRANS_A)
#define SMALL_ALONG_K  (SIDE == 0 ? !TRANS_A : TRANS_B)

#define LAST_BLOCK (REDUCE == 1)
#define CLUSTER    (REDUCE > 1 ? REDUCE : 0)

/* Shared memory: the sums of each of WARPS_K warps in rows of C, whose length is 8 floats more than a
 * multiple of 16; then the inbox of gt_cluster.cuh and its mbarrier. */
#define SUMS_ROW(n) ((n) + ((n) % 16 == 8 ? 0 : 8))
#define TILE_BYTES  (4 * TILE_M * SUMS_ROW(TILE_N))
#define AFTER_BYTES (WARPS_K * TILE_BYTES)
#define INBOX_FLOATS                                                                                         \
    (REDUCE > 1 ? REDUCE * ((TILE_M + REDUCE - 1) / (REDUCE + !REDUCE)) * SUMS_ROW(TILE_N) : 0)
#define SMEM_BYTES (AFTER_BYTES + (CLUSTER ? 4 * INBOX_FLOATS + 8 : 16)) /* 16: a flag (gt_arrive.cuh) */

/* Words of a lane's RUN_K / 4 k of so many rows or columns, by V elements a load. */
#define RUN_WORDS(count, v) (SPAN * ((v) == 1 ? 8 * (count) : 4 * (count)))

#endif

#ifdef RULE
RULE(FEW, FEW % 8 == 0, "FEW must be a multiple of 8")
RULE(SPAN, SPAN == 1 || SPAN == 2 || SPAN == 4 || SPAN == 8, "SPAN must be 1, 2, 4 or 8")
RULE(VX, VX == 1 || VX == 2 || VX == 4 || VX == 8, "VX must be 1, 2, 4 or 8")
RULE(VS, VS == 1 || VS == 2 || VS == 4 || VS == 8, "VS must be 1, 2, 4 or 8")
RULE(VC, VC == 1 || VC == 2 || VC == 4 || VC == 8, "VC must be 1, 2, 4 or 8")
RULE(WARPS_K, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(REDUCE, TILE_M >= REDUCE, "REDUCE: each block of a cluster adds at least one row of the tile")
#endif

#ifdef RULE_OP
RULE_OP(VX, STREAM_ALONG_K || TX % VX == 0, "VX must divide TX where the streamed operand runs across k")
RULE_OP(VS, SMALL_ALONG_K || EIGHTS % VS == 0, "VS must divide FEW / 8 where the small operand runs across k")
#endif

/* Rules for the host alone: launch-time parameters. */
#ifdef HOST_RULES
RULE(SPLIT_K, !CLUSTER || SPLIT_K == CLUSTER, "SPLIT_K must be the size of the cluster (REDUCE)")
RULE(ASK, ASK == 0 || PDL > 0, "ASK is for kernels that begin early (PDL)")
RULE(PAD, PAD == 0 || PDL > 0, "PAD is for kernels that begin early (PDL)")
#endif

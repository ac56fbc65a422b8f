/* SPDX-License-Identifier: MIT */
/* mma16_rules.h — derived sizes of the tensor-core kernel for 16-bit operands, and which configurations are
 * correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_MMA16_SIZES
#define GT_MMA16_SIZES

/* WARPS divide the tile; WARPS_K such teams divide each BK. */
#define WARPS_N (BN / WN)
#define WARPS   ((BM / WM) * (BN / WN))
#define THREADS (32 * WARPS * WARPS_K)

/* Rows, columns and k of the product of one mma instruction. */
#define MMA_M 16
#define MMA_N 8
#define MMA_K 16

/* The left operand of mma, of 16 rows, is A or, if SWAP, B^T: the product is C^T then. */
#define WARP_LEFT  (SWAP ? WN : WM)
#define WARP_RIGHT (SWAP ? WM : WN)

/* Contiguous along k in memory, and therefore in shared memory, too. */
#define ALONG_K_A (!TRANS_A)
#define ALONG_K_B TRANS_B

#define PACK_A (PACK % 2 == 1)
#define PACK_B (PACK / 2 == 1)

#define LAST_BLOCK (REDUCE == 1)
#define CLUSTER    (REDUCE > 1 ? REDUCE : 0)

#define STAGE_BYTES (2 * BK * (BM + BN))
#define RING_BYTES  (STAGES * STAGE_BYTES)

/* Sums pass through shared memory in FP32, in rows with a gap that makes neighbouring rows begin in different
 * banks (their length is 8 floats more than a multiple of 16): strips of a warp's tile or, if teams or blocks
 * of a cluster add them, the tile of each team, and then the inbox of gt_cluster.cuh and its mbarrier. */
#define SUMS_ROW(n)  ((n) + ((n) % 16 == 8 ? 0 : 8))
#define STRIP        (SWAP ? MMA_N : MMA_M)
#define WHOLE_TILES  (WARPS_K > 1 || CLUSTER)
#define STRIP_BYTES  (4 * STRIP * SUMS_ROW(WN))
#define TILE_BYTES   (4 * BM * SUMS_ROW(BN))
#define SUMS_BYTES   (WHOLE_TILES ? WARPS_K * TILE_BYTES : WARPS * STRIP_BYTES)
#define AFTER_BYTES  (RING_BYTES > SUMS_BYTES ? RING_BYTES : SUMS_BYTES) /* what follows ring or sums */
#define INBOX_FLOATS (REDUCE > 1 ? REDUCE * ((BM + REDUCE - 1) / (REDUCE + !REDUCE)) * SUMS_ROW(BN) : 0)
#define SMEM_BYTES   (AFTER_BYTES + (CLUSTER ? 4 * INBOX_FLOATS + 8 : 16)) /* 16: a flag (gt_arrive.cuh) */

#endif

#ifdef RULE
RULE(BM, BM % 8 == 0, "BM must be a multiple of 8")
RULE(BN, BN % 8 == 0, "BN must be a multiple of 8")
RULE(BK, BK % MMA_K == 0, "BK must be a multiple of 16, the k of an instruction")
RULE(WM, BM % WM == 0, "BM must be a multiple of WM")
RULE(WN, BN % WN == 0, "BN must be a multiple of WN")
RULE(SWAP, WARP_LEFT % MMA_M == 0,
     "a warp's side along the 16 rows of an instruction (WM, with SWAP WN) must be a multiple of 16")
RULE(SWAP, WARP_RIGHT == MMA_N || WARP_RIGHT % (2 * MMA_N) == 0,
     "a warp's side along the 8 columns of an instruction (WN, with SWAP WM) must be 8 or a multiple of 16")
RULE(WARPS_K, BK % (MMA_K * WARPS_K) == 0, "BK must be a multiple of 16 for each of WARPS_K")
RULE(WARPS_K, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(VA, VA == 1 || VA == 2 || VA == 4 || VA == 8, "VA must be 1, 2, 4 or 8")
RULE(VB, VB == 1 || VB == 2 || VB == 4 || VB == 8, "VB must be 1, 2, 4 or 8")
RULE(VC, VC == 1 || VC == 2 || VC == 4 || VC == 8, "VC must be 1, 2, 4 or 8")
RULE(REDUCE, BM >= REDUCE, "REDUCE: each block of a cluster adds at least one row of the tile")
#endif

#ifdef HOST_RULES
RULE(SPLIT_K, !CLUSTER || SPLIT_K == CLUSTER, "SPLIT_K must be the size of the cluster (REDUCE)")
RULE(ASK, ASK == 0 || PDL > 0, "ASK is for kernels that begin early (PDL)")
#endif

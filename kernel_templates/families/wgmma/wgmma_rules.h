/* SPDX-License-Identifier: MIT */
/* wgmma_rules.h — derived sizes of the kernel that multiplies with wgmma, and which configurations are
 * correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_WGMMA_SIZES
#define GT_WGMMA_SIZES

/* The instruction's left operand, of 64 rows, is A or, if SWAP, B^T: the product is C^T then. */
#define LEFT          (SWAP ? BN : BM)
#define RIGHT         (SWAP ? BM : BN)
#define LEFT_ALONG_K  (SWAP ? B_ALONG_K : A_ALONG_K)
#define RIGHT_ALONG_K (SWAP ? A_ALONG_K : B_ALONG_K)

/* As tensor maps see them: PACK turns operands of TF32, which wgmma reads along k only. */
#define A_ALONG_K (!TRANS_A || (TF32 && PACK_A))
#define B_ALONG_K (TRANS_B || (TF32 && PACK_B))

/* The left operand of TF32 that lies across k passes through registers. */
#define LEFT_IN_REGISTERS (TF32 && !LEFT_ALONG_K)
#define ELEMENT_BYTES     (TF32 ? 4 : 2)

/* A warpgroup is four warps. The last warp of the block starts the copies. */
#define WARPGROUP        128
#define CONSUMER_THREADS (WARPGROUP * CONSUMERS)
#define THREADS          (CONSUMER_THREADS + 32)

/* Warpgroups that share a tile: all, or each has its own (WALK 2). */
#define SHARERS (WALK == 2 ? 1 : CONSUMERS)

#define WGMMA_M 64
#define WGMMA_K (32 / ELEMENT_BYTES)
#define TALL    (LEFT / SHARERS / WGMMA_M) /* instructions down a warpgroup's rows */

#define PACK_A (PACK % 2 == 1)
#define PACK_B (PACK / 2 == 1)

#define LAST_BLOCK (REDUCE == 1)
#define CLUSTER    (REDUCE > 1 ? REDUCE : 0)

/* A stage consists of pieces of 64 k (TF32: 32), which are lines of 128 bytes for each row of an operand, or
 * blocks of 64 x 64 (TF32: 32 x 32). */
#define PIECE_K     (128 / ELEMENT_BYTES)
#define BLOCK_BYTES (128 * PIECE_K)
#define LEFT_BYTES  (128 * LEFT)
#define RIGHT_BYTES (128 * RIGHT)
#define STAGE_BYTES (BK / PIECE_K * (LEFT_BYTES + RIGHT_BYTES))
#define RING_BYTES  (STAGES * STAGE_BYTES)

/* STORE: sums of C go by boxes; those of TF32's C^T (SWAP) go straight from registers to C, 32 bytes of a row
 * at a time. Boxes have 16 rows of a warp's sums, of as many bytes, in the swizzle of that width. */
#define BOXES     (STORE && !SWAP)
#define DIRECT    (STORE && SWAP)
#define BOX_LINE  (BN % 64 == 0 ? 128 : BN % 32 == 0 ? 64 : 32)
#define BOX_BYTES (16 * BOX_LINE)

/* Otherwise sums pass through shared memory in FP32, in rows with a gap that makes neighbouring rows begin in
 * different banks: strips of a warp's 16 rows (SWAP: columns of a warpgroup) or, in a cluster, the tile.
 * Boxes or sums take the place of the stages or, if the block walks on, follow them, in strips of 32 columns.
 * After both the mbarriers of the stages, and the inbox of gt_cluster.cuh and its mbarrier, or a flag
 * (gt_arrive.cuh). */
#define SUMS_ROW(n) ((n) + ((n) % 16 == 8 ? 0 : 8))
#define STRIP_ROWS  (SWAP ? RIGHT : 16)
#define STRIP_WIDTH (SWAP ? WGMMA_M : WALK ? (RIGHT % 32 == 0 ? 32 : 8) : RIGHT)
#define STRIP_BYTES (4 * STRIP_ROWS * SUMS_ROW(STRIP_WIDTH))
#define TILE_BYTES  (4 * BM * SUMS_ROW(BN))
#define SUMS_BYTES                                                                                           \
    (CLUSTER  ? TILE_BYTES                                                                                   \
     : DIRECT ? 0                                                                                            \
              : CONSUMERS * (SWAP ? 1 : 4) * (BOXES ? STORE * BOX_BYTES : STRIP_BYTES))
#define SUMS_AT       (WALK ? RING_BYTES : 0)
#define AFTER_BYTES   (RING_BYTES > SUMS_AT + SUMS_BYTES ? RING_BYTES : SUMS_AT + SUMS_BYTES)
#define INBOX_FLOATS  (REDUCE > 1 ? REDUCE * ((BM + REDUCE - 1) / (REDUCE + !REDUCE)) * SUMS_ROW(BN) : 0)
#define SWIZZLE_BYTES 1024 /* the ring begins at a multiple of it */
#define SMEM_BYTES                                                                                           \
    (SWIZZLE_BYTES + AFTER_BYTES + 16 * STAGES +                                                             \
     (CLUSTER     ? 4 * INBOX_FLOATS + 8                                                                     \
      : WALK == 2 ? 8 * CONSUMERS                                                                            \
                  : 16))

/* Offsets in the argument: the tensor maps of the left and the right operand follow struct gemm_args, then
 * PDL and, if it is used, the map of C. */
#define MAP_LEFT_AT    192
#define MAP_RIGHT_AT   (MAP_LEFT_AT + 128)
#define PDL_AT         (MAP_RIGHT_AT + 128)
#define MAP_C_AT       (PDL_AT + 64)
#define ARGUMENT_BYTES (MAP_C_AT + (BOXES ? 128 : 0))

#endif

#ifdef RULE
RULE(BM, BM % 8 == 0, "BM must be a multiple of 8")
RULE(BN, BN % 8 == 0, "BN must be a multiple of 8")
RULE(BK, BK % PIECE_K == 0, "BK must be a multiple of 64 (TF32: 32)")
RULE(SWAP, LEFT % WGMMA_M == 0,
     "the tile's side along the 64 rows of an instruction (BM, with SWAP BN) must be a multiple of 64")
RULE(VC, VC == 1 || VC == 2 || VC == 4 || VC == 8, "VC must be 1, 2, 4 or 8")
RULE(WALK, !WALK || LAST_BLOCK, "WALK: blocks that take several tiles share none (REDUCE 1)")
RULE(WALK, WALK<2 || CONSUMERS> 1, "WALK 2: CONSUMERS that take tiles in turns are more than one")
RULE(WALK, LEFT % (WGMMA_M * SHARERS) == 0,
     "each of CONSUMERS must have a multiple of 64 rows (SWAP: columns)")
RULE(WALK, TALL <= 2, "each of CONSUMERS has 128 rows at most (SWAP: columns)")
RULE(STORE, !STORE || SWAP || (LAST_BLOCK && BN % 16 == 0),
     "STORE: boxes of C have whole sums and 16 columns (REDUCE 1, BN a multiple of 16)")
RULE(STORE, !STORE || !SWAP || (TF32 && LAST_BLOCK && STORE == 1),
     "STORE: with SWAP only 1, for whole sums of TF32, which need no boxes (REDUCE 1)")
RULE(STORE, !WALK || !SWAP || STORE,
     "WALK: with SWAP there is no room for sums beside the ring, which STORE does not need")
RULE(REDUCE, BM >= REDUCE, "REDUCE: each block of a cluster adds at least one row of the tile")
#endif

#ifdef RULE_OP
RULE_OP(SWAP, TF32 || RIGHT_ALONG_K || RIGHT % 64 == 0,
        "an operand across k is copied in blocks of 64: BN (with SWAP BM) must be a multiple of 64")
RULE_OP(PACK, !TF32 || RIGHT_ALONG_K,
        "TF32 is read along k only: B (with SWAP A) lies along k, or PACK turns it")
RULE_OP(PRELOAD, !PRELOAD || LEFT_IN_REGISTERS,
        "PRELOAD: only a left operand of TF32 that lies across k passes through registers")
#endif

#ifdef HOST_RULES
RULE(SPLIT_K, !CLUSTER || SPLIT_K == CLUSTER, "SPLIT_K must be the size of the cluster (REDUCE)")
RULE(SPLIT_K, !WALK || SPLIT_K == 1, "WALK: blocks that take several tiles share none (SPLIT_K 1)")
RULE(SMS, WALK || SMS == 1, "SMS means nothing without WALK")
#endif

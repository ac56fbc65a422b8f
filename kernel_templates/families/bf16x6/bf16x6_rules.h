/* SPDX-License-Identifier: MIT */
/* bf16x6_rules.h — derived sizes of the kernel that multiplies FP32 operands as three BF16 pieces, and which
 * configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_BF16X6_SIZES
#define GT_BF16X6_SIZES

/* A warpgroup is four warps. The last one of the block starts the copies, the others multiply 64 rows each.
 */
#define WARPGROUP        128
#define CONSUMERS        (BM / 64)
#define CONSUMER_THREADS (WARPGROUP * CONSUMERS)
#define THREADS          (CONSUMER_THREADS + WARPGROUP)

/* Registers of a thread that multiplies, and of one that copies or splits. A block of several groups begins
 * with as many for each; then those that copy leave some to the others, or take some if they split. */
#define MOVE_REGISTERS (CONSUMERS > 1)
#define PRODUCT_REGISTERS                                                                                    \
    (!MOVE_REGISTERS ? 255 : FUSE ? (CONSUMERS == 2 ? 152 : 96) : CONSUMERS == 2 ? 232 : 160)
#define COPY_REGISTERS (FUSE ? (CONSUMERS == 2 ? 200 : 224) : CONSUMERS == 2 ? 40 : 32)

/* A stage is one piece of BK k: lines of 128 bytes for each row of A's tile, then for each column of B's. */
#define PIECES        3
#define LEFT_BYTES    (128 * BM)
#define STAGE_BYTES   (128 * (BM + BN))
#define RING_BYTES    (STAGES * STAGE_BYTES)
#define SWIZZLE_BYTES 1024 /* the ring begins at a multiple of it */
#define SMEM_BYTES    (SWIZZLE_BYTES + RING_BYTES + 16 * STAGES + 16) /* mbarriers, and a flag */

/* The splitting kernel: a block takes SPLIT_SIDE rows (of A, or columns of B) by SPLIT_SIDE k, which pass
 * through shared memory in lines with a gap. */
#define SPLIT_THREADS 256
#define SPLIT_SIDE    64
#define SPLIT_LINE    (SPLIT_SIDE + 1)
#define SPLIT_BYTES   (4 * SPLIT_SIDE * SPLIT_LINE)

/* Offsets in the argument: the tensor maps of A's and B's pieces follow struct gemm_args. */
#define MAP_A_AT       192
#define MAP_B_AT       (MAP_A_AT + 128)
#define ARGUMENT_BYTES (MAP_B_AT + 128)

#endif

#ifdef RULE
RULE(BM, BM % 64 == 0, "BM must be a multiple of 64")
RULE(BN, BN % 8 == 0, "BN must be a multiple of 8")
RULE(FUSE, !FUSE || STAGES % PIECES == 0,
     "FUSE: all pieces of a step are stored at once: STAGES must be a multiple of 3")
RULE(FUSE, !FUSE || BN % 16 == 0, "FUSE: BN must be a multiple of 16")
RULE(FUSE, !FUSE || BM + BN <= 256,
     "FUSE: what is split at a time must fit in the registers: BM + BN is 256 at most")
RULE(FUSE, BN + 24 <= PRODUCT_REGISTERS, "the sums do not fit in the registers")
RULE(VA, VA == 1 || (FUSE && VA == 4), "VA must be 1, or with FUSE 4")
RULE(VB, VB == 1 || (FUSE && VB == 4), "VB must be 1, or with FUSE 4")
#endif

#ifdef RULE_OP
RULE_OP(VA, VA == 1 || !TRANS_A, "VA means nothing where A lies across k")
RULE_OP(VB, VB == 1 || TRANS_B, "VB means nothing where B lies across k")
#endif

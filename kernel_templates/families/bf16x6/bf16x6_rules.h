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

/* What becomes of an operand: pieces that a kernel before has made, or the block makes. */
#define LEFT_RAW    (FUSE >= 2) /* the groups split their own rows, into registers */
#define RIGHT_RAW   (FUSE == 3) /* the last warpgroups split, what has arrived as it is */
#define RIGHT_SPLIT (FUSE == 1 || RIGHT_RAW)

#define HELPERS (RIGHT_RAW ? 2 : 1)

/* Registers of a thread that multiplies, and of one that copies or splits. A block of several groups begins
 * with as many for each; then those that copy leave some to the others, or take some if they split. */
#define MOVE_REGISTERS (CONSUMERS > 1 || RIGHT_RAW)
#define PRODUCT_REGISTERS                                                                                    \
    (!MOVE_REGISTERS  ? 255                                                                                  \
     : FUSE == 1      ? (CONSUMERS == 2 ? 152 : 96)                                                          \
     : RIGHT_RAW      ? (CONSUMERS == 1 ? 248 : 200)                                                         \
     : CONSUMERS == 2 ? 232                                                                                  \
                      : 160)
#define COPY_REGISTERS                                                                                       \
    (FUSE == 1        ? (CONSUMERS == 2 ? 200 : 224)                                                         \
     : RIGHT_RAW      ? (CONSUMERS == 1 ? 128 : 56)                                                          \
     : CONSUMERS == 2 ? 40                                                                                   \
                      : 32)
#define PIECE_REGISTERS (LEFT_RAW ? 48 : 0) /* of 64 rows by BK k */

#define PIECES 3

/* Rows of operands by BK k as they are, for as many steps as the pieces: the left one, then the right one,
 * whose boxes across k have 32 rows. */
#define RAW_STAGES     (LEFT_RAW ? (STAGES + PIECES - 1) / PIECES : 0)
#define RAW_LEFT_BYTES (4 * BK * LEFT)
#define RAW_BYTES      (RAW_LEFT_BYTES + (RIGHT_RAW ? 4 * BK * ((RIGHT + 31) / 32 * 32) : 0))

/* Nothing is scaled. */
#define MAXIMA_WORDS(m, n, k) 0
#define EXPONENT_WORDS(m, n)  0

#include "gt_split_sizes.h"

#define SPLITTERS      (WARPGROUP * HELPERS - 32) /* FUSE 3: one warp starts the copies */
#define SPLIT_BYTES    (4 * SPLIT_SIDE * SPLIT_LINE)
#define ARGUMENT_BYTES (MAP_RIGHT_AT + 128)

#endif

#ifdef RULE
RULE(SWAP, !SWAP || LEFT_RAW, "SWAP must be 0 unless FUSE is 2 or 3")
RULE(SWAP, LEFT % 64 == 0, "BM must be a multiple of 64, with SWAP BN")
RULE(SWAP, RIGHT % 8 == 0, "BN must be a multiple of 8, with SWAP BM")
RULE(SWAP, !RIGHT_SPLIT || STAGES % PIECES == 0,
     "FUSE 1 and 3: all pieces of a step are stored at once: STAGES must be a multiple of 3")
RULE(SWAP, FUSE != 1 || BN % 16 == 0, "FUSE 1: BN must be a multiple of 16")
RULE(SWAP, FUSE != 1 || BM + BN <= 256,
     "FUSE 1: what is split at a time must fit in the registers: BM + BN is 256 at most")
RULE(SWAP, !RIGHT_RAW || CONSUMERS <= 2,
     "FUSE 3: BM must be 128 at most, with SWAP BN: a block of more groups has no registers for their sums")
RULE(SWAP, RIGHT + PIECE_REGISTERS + 24 <= PRODUCT_REGISTERS, "the sums do not fit in the registers")
RULE(VA, VA == 1 || (FUSE == 1 && VA == 4), "VA must be 1, or with FUSE 1 4")
RULE(VB, VB == 1 || (FUSE == 1 && VB == 4), "VB must be 1, or with FUSE 1 4")
RULE(VC, VC == 1 || !SWAP, "SWAP: VC must be 1, because a thread has no neighbours of a row of C")
#endif

#ifdef RULE_OP
RULE_OP(VA, VA == 1 || !TRANS_A, "VA means nothing where A lies across k")
RULE_OP(VB, VB == 1 || TRANS_B, "VB means nothing where B lies across k")
#endif

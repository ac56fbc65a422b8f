/* SPDX-License-Identifier: MIT */
/* f16x3_rules.h — derived sizes of the kernels that multiply FP32 operands as two FP16 pieces, and which
 * configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_F16X3_SIZES
#define GT_F16X3_SIZES

/* A is the left operand, a kernel before makes the pieces of both, and one thread starts the copies. */
#define SWAP        0
#define LEFT_RAW    0
#define RIGHT_SPLIT 0
#define RAW_STAGES  0
#define RAW_BYTES   0
#define HELPERS     1

/* Registers of a thread that multiplies, and of one that copies. A block of several groups begins with as
 * many for each; then those that copy leave some to the others. */
#define MOVE_REGISTERS    (CONSUMERS > 1)
#define PRODUCT_REGISTERS (!MOVE_REGISTERS ? 255 : CONSUMERS == 2 ? 232 : 160)
#define COPY_REGISTERS    (CONSUMERS == 2 ? 40 : 32)

/* Pieces in memory: high, low, and the low one rounded to 8 bits. Lines are as long as those of FP16. */
#define PIECES (LOW == 8 ? 3 : 2)

/* The kernel of the maxima: a block takes MAXIMA_LINES lines of an operand as it lies, of MAXIMA_LENGTH
 * elements each. */
#define MAXIMA_THREADS 256
#define MAXIMA_LINES   64
#define MAXIMA_LENGTH  128

/* gemm_pack has besides a tile the factors of its k, and what is known of all k by the exponent of a maximum.
 * SPLIT_BLOCKS of its blocks share an SM. */
#define SPLIT_BLOCKS 4
#define EXPONENT_MIN (-149) /* of the smallest float, without a leading one */
#define EXPONENTS    (128 - EXPONENT_MIN)
#define SPLIT_BYTES  (4 * (SPLIT_SIDE * SPLIT_LINE + SPLIT_SIDE + 2 * EXPONENTS + 2))

/* Exponent of the largest element of a row of A, or column of B, when it is split. */
#define TOP_EXPONENT 14

/* Words of an item in the array of counters: maxima of A's rows, of its columns, of B's rows, of its
 * columns. */
#define MAXIMA_WORDS(m, n, k) ((m) + (n) + 2 * (k))

/* Exponents of an item, of A's rows and B's columns: so many that what follows is aligned. */
#define EXPONENT_WORDS(m, n) (((m) + (n) + 31) / 32 * 32)

#include "gt_split_sizes.h"

/* Offsets in the argument: the maps of the pieces of 8 bits follow the others. */
#define MAP_LEFT8_AT   (MAP_RIGHT_AT + 128)
#define MAP_RIGHT8_AT  (MAP_LEFT8_AT + 128)
#define ARGUMENT_BYTES (MAP_RIGHT8_AT + 128)

#endif

#ifdef RULE
RULE(BM, BM % 64 == 0, "BM must be a multiple of 64")
RULE(BN, BN % 8 == 0, "BN must be a multiple of 8")
RULE(LOW, LOW == 0 || LOW == 8 || LOW == 16, "LOW must be 0, 8 or 16")
RULE(LOW, BK == (LOW == 8 ? 128 : 64), "BK must be 128 with a LOW of 8, else 64")
RULE(LOW, STAGES >= PIECES, "a stage for each piece")
RULE(BN, BN + 24 <= PRODUCT_REGISTERS, "the sums do not fit in the registers")
#endif

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

/* A warpgroup is four warps. The last one of the block starts the copies, the others multiply 64 rows each.
 */
#define WARPGROUP        128
#define CONSUMERS        (BM / 64)
#define CONSUMER_THREADS (WARPGROUP * CONSUMERS)
#define THREADS          (CONSUMER_THREADS + WARPGROUP)

/* Registers of a thread that multiplies, and of one that copies. A block of several groups begins with as
 * many for each; then those that copy leave some to the others. */
#define MOVE_REGISTERS    (CONSUMERS > 1)
#define PRODUCT_REGISTERS (!MOVE_REGISTERS ? 255 : CONSUMERS == 2 ? 232 : 160)
#define COPY_REGISTERS    (CONSUMERS == 2 ? 40 : 32)

/* Pieces in memory: high, low, and the low one rounded to 8 bits. Lines are as long as those of FP16. */
#define PIECES (LOW == 8 ? 3 : 2)

/* A stage is one piece of 64 k, of FP8 of 128: lines of 128 bytes for each row of A's tile, then for each
 * column of B's. Sums of STEP_K are promoted. */
#define STEP_K        64
#define LEFT_BYTES    (128 * BM)
#define STAGE_BYTES   (128 * (BM + BN))
#define RING_BYTES    (STAGES * STAGE_BYTES)
#define SWIZZLE_BYTES 1024 /* the ring begins at a multiple of it */
#define SMEM_BYTES    (SWIZZLE_BYTES + RING_BYTES + 16 * STAGES + 16) /* mbarriers, and a flag */

/* The kernel of the maxima: a block takes MAXIMA_LINES lines of an operand as it lies, of MAXIMA_LENGTH
 * elements each. */
#define MAXIMA_THREADS 256
#define MAXIMA_LINES   64
#define MAXIMA_LENGTH  128

/* The splitting kernel: a block takes SPLIT_SIDE rows (of A, or columns of B) by SPLIT_SIDE k at a time,
 * which pass through shared memory in lines with a gap; then there are the factors of these k, and what is
 * known of all k by the exponent of a maximum. SPLIT_BLOCKS of them share an SM. */
#define SPLIT_THREADS 256
#define SPLIT_SIDE    64
#define SPLIT_LINE    (SPLIT_SIDE + 1)
#define SPLIT_BLOCKS  4
#define EXPONENT_MIN  (-149) /* of the smallest float, without a leading one */
#define EXPONENTS     (128 - EXPONENT_MIN)
#define SPLIT_BYTES   (4 * (SPLIT_SIDE * SPLIT_LINE + SPLIT_SIDE + 2 * EXPONENTS + 2))

/* Exponent of the largest element of a row of A, or column of B, when it is split. */
#define TOP_EXPONENT 14

/* Words of an item in the array of counters: maxima of A's rows, of its columns, of B's rows, of its
 * columns. */
#define MAXIMA_WORDS(m, n, k) ((m) + (n) + 2 * (k))

/* Exponents of an item, of A's rows and B's columns: so many that what follows is aligned. */
#define EXPONENT_WORDS(m, n) (((m) + (n) + 31) / 32 * 32)

/* Offsets in the argument: the tensor maps of A's and B's pieces follow struct gemm_args, then those of the
 * pieces of 8 bits. */
#define MAP_A_AT       192
#define MAP_B_AT       (MAP_A_AT + 128)
#define MAP_A8_AT      (MAP_B_AT + 128)
#define MAP_B8_AT      (MAP_A8_AT + 128)
#define ARGUMENT_BYTES (MAP_B8_AT + 128)

#endif

#ifdef RULE
RULE(BM, BM % 64 == 0, "BM must be a multiple of 64")
RULE(BN, BN % 8 == 0, "BN must be a multiple of 8")
RULE(LOW, LOW == 0 || LOW == 8 || LOW == 16, "LOW must be 0, 8 or 16")
RULE(LOW, BK == (LOW == 8 ? 128 : 64), "BK must be 128 with a LOW of 8, else 64")
RULE(LOW, STAGES >= PIECES, "a stage for each piece")
RULE(BN, BN + 24 <= PRODUCT_REGISTERS, "the sums do not fit in the registers")
#endif

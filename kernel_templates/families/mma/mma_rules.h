/* SPDX-License-Identifier: MIT */
/* mma_rules.h — derived sizes of the tensor-core kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_MMA_SIZES
#define GT_MMA_SIZES

#define WARPS_N (BN / WN)
#define WARPS   ((BM / WM) * (BN / WN))
#define THREADS (32 * WARPS)

/* Rows, columns and k of the product of one mma instruction. */
#define MMA_M 16
#define MMA_N 8
#define MMA_K 8

/* Contiguous along k in memory, and therefore in shared memory, too. */
#define ALONG_K_A (!TRANS_A)
#define ALONG_K_B TRANS_B

/* The left operand of mma, of 16 rows, is A, or B^T where that takes fewer instructions: a left operand that
 * is contiguous along x is loaded straight into the registers that mma takes. The product is C^T then. */
#define SWAPPED (ALONG_K_A && !ALONG_K_B)

/* An operand's tile in a stage, in floats: x is m for A and n for B. Along k: four rows of BK and a gap of 16
 * bytes; otherwise rows of x with such a gap. The size has room for either. */
#define TILE_FLOATS(x) ((x)*BK + ((x) > 4 * BK ? (x) : 4 * BK))
#define STAGE_FLOATS   (TILE_FLOATS(BM) + TILE_FLOATS(BN))
#define SMEM_BYTES     (4 * STAGES * STAGE_FLOATS)

#endif

#ifdef RULE
RULE(BM, BM % 32 == 0, "BM must be a multiple of 32")
RULE(BN, BN % 32 == 0, "BN must be a multiple of 32")
RULE(BK, BK % (2 * MMA_K) == 0, "BK must be a multiple of 16: the fragments alternate between two sets")
RULE(WM, WM % 32 == 0, "WM must be a multiple of 32: a lane reads four neighbouring rows of each 32")
RULE(WM, BM % WM == 0, "BM must be a multiple of WM")
RULE(WN, WN % 32 == 0, "WN must be a multiple of 32: a lane reads four neighbouring columns of each 32")
RULE(WN, BN % WN == 0, "BN must be a multiple of WN")
RULE(WN, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(VA, VA == 1 || VA == 2 || VA == 4, "VA must be 1, 2 or 4")
RULE(VB, VB == 1 || VB == 2 || VB == 4, "VB must be 1, 2 or 4")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
#endif

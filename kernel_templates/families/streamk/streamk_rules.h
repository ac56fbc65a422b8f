/* SPDX-License-Identifier: MIT */
/* streamk_rules.h — derived sizes of the streamk kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_STREAMK_SIZES
#define GT_STREAMK_SIZES

#include "gt_tile_sizes.h"

#define THREADS    (32 * WARPS)
#define TEAM_K     BK /* one team of warps multiplies a tile */
#define NOTES      12 /* numbers in shared memory after the stages */
#define SMEM_BYTES (STAGES * STAGE_BYTES + 4 * NOTES)

/* Whether an operand is contiguous along m or n, as it is in shared memory. */
#define ALONG_M (TRANS_A)
#define ALONG_N (!TRANS_B)

#endif

#ifdef RULE
RULE(WM, BM % WM == 0, "BM must be a multiple of WM")
RULE(WN, BN % WN == 0, "BN must be a multiple of WN")
RULE(TM, WM % TM == 0, "WM must be a multiple of TM")
RULE(TN, WN % TN == 0, "WN must be a multiple of TN")
RULE(TN, (LANES_M) * (LANES_N) == 32, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp")
RULE(WN, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(BK, BK % 2 == 0, "BK must be even: the fragments alternate between two sets of registers")
RULE(UNROLL, UNROLL % 2 == 0, "UNROLL must be even: the fragments alternate between two sets of registers")
RULE(UNROLL, BK % UNROLL == 0, "BK must be a multiple of UNROLL")
RULE(STORE_AT, STORE_AT < UNROLL, "STORE_AT must be one of the UNROLL steps")
RULE(LOADER, !TWO_STEPS || STAGES > 2,
     "LOADER 2 needs 3 STAGES: one that is read, one that may still be, one that is filled")
RULE(ORDER, ORDER != 3 || (TM % 2 == 0 && TN % 2 == 0),
     "ORDER 3 goes by blocks of 2 x 2: TM and TN must be even")
RULE(VA, VA == 1 || VA == 2 || VA == 4, "VA must be 1, 2 or 4")
RULE(VB, VB == 1 || VB == 2 || VB == 4, "VB must be 1, 2 or 4")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
RULE(VC, VC <= CHUNK_N, "VC must not exceed the contiguous columns of a thread (4, 2 or 1, as TN allows)")
#endif

#ifdef RULE_OP
RULE_OP(VA, (ALONG_M ? BM : BK) % VA == 0, "VA must divide the side of A's tile that is contiguous in memory")
RULE_OP(VB, (ALONG_N ? BN : BK) % VB == 0, "VB must divide the side of B's tile that is contiguous in memory")
RULE_OP(VA, LOADER != 3 || ALONG_M || VA == 1, "LOADER 3 transposes by single floats: VA must be 1")
RULE_OP(VB, LOADER != 3 || ALONG_N || VB == 1, "LOADER 3 transposes by single floats: VB must be 1")
RULE_OP(LOADER, LOADER != 3 || !ALONG_M || !ALONG_N, "LOADER 3 has nothing to transpose: that is LOADER 1")
RULE_OP(LOADER, LOADER == 0 || LOADER == 2 || ASYNC_A || ASYNC_B,
        "LOADER 1 has nothing to copy: both operands are transposed on the way")
#endif

/* A value that the kernel accepts but that has no effect. */
#ifdef HOST_RULES
RULE_OP(STORE_AT, !ASYNC_A || !ASYNC_B || TWO_STEPS || STORE_AT == UNROLL / 2,
        "STORE_AT means nothing where no operand takes registers: only UNROLL / 2 is taken")
#endif

/* SPDX-License-Identifier: MIT */
/* simt_rules.h — derived sizes of the simt kernel, and which configurations are correct.
 *
 * Read twice, with two meanings of RULE: the kernel makes each a static_assert, the host an `if (!(holds))
 * return why;` before compiling (tiled_check.c has checked the range of each parameter by then, so
 * nothing here divides by zero or overflows). RULE_OP depends on the op of the problem, too. Each rule begins
 * with the last parameter, in the template's order, that it reads: when only the first values are known, the
 * host tests the rules that need no others (check_prefix). The kernel ignores this argument. Rules are only
 * about correctness; values that are worth trying belong in configs/spaces.
 */
#ifndef GT_SIMT_SIZES
#define GT_SIMT_SIZES

#include "gt_tile_sizes.h"

#define THREADS (32 * WARPS * WARPS_K) /* WARPS_K teams of warps divide k */
#define TEAM_K  (BK / WARPS_K)         /* k of a tile that each team multiplies */

/* Who adds the parts when k is split: 0 a second kernel, 1 the last block of a tile to arrive, 2 to 8 a
 * cluster of that many blocks. Each team's tile of C uses the memory of the stages; the inbox of a cluster
 * follows. */
#define LAST_BLOCK   (REDUCE == 1)
#define CLUSTER      (REDUCE > 1 ? REDUCE : 0)
#define STRIDE_C     ((BN + 3) / 4 * 4 + 4)
#define TILE_FLOATS  (BM * STRIDE_C)
#define SUMS_FLOATS  (WARPS_K > 1 ? WARPS_K * TILE_FLOATS : 0)
#define INBOX_AT     (SUMS_FLOATS > STAGES * STAGE_FLOATS ? SUMS_FLOATS : STAGES * STAGE_FLOATS)
#define INBOX_FLOATS (REDUCE > 1 ? REDUCE * ((BM + REDUCE - 1) / (REDUCE + !REDUCE)) * STRIDE_C : 0)
#define SMEM_FLOATS  (INBOX_AT + (CLUSTER ? INBOX_FLOATS + 2 : 0)) /* and an mbarrier */
#define SMEM_BYTES   (4 * SMEM_FLOATS)

/* Which operand the kernel gemm_pack copies into the workspace first. */
#define PACK_A (PACK % 2 == 1)
#define PACK_B (PACK / 2 == 1)

/* Whether an operand is contiguous along m or n when it is loaded, as it is in shared memory. */
#define ALONG_M (TRANS_A || PACK_A)
#define ALONG_N (!TRANS_B || PACK_B)

#endif

#ifdef RULE
RULE(WM, BM % WM == 0, "BM must be a multiple of WM")
RULE(WN, BN % WN == 0, "BN must be a multiple of WN")
RULE(TM, WM % TM == 0, "WM must be a multiple of TM")
RULE(TN, WN % TN == 0, "WN must be a multiple of TN")
RULE(TN, (LANES_M) * (LANES_N) == 32, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp")
RULE(WN, 32 * WARPS <= 1024, "a block holds at most 1024 threads")
RULE(WARPS_K, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(BK, BK % 2 == 0, "BK must be even: the fragments alternate between two sets of registers")
RULE(WARPS_K, BK % WARPS_K == 0, "BK must be a multiple of WARPS_K")
RULE(UNROLL, UNROLL % 2 == 0, "UNROLL must be even: the fragments alternate between two sets of registers")
RULE(UNROLL, TEAM_K % UNROLL == 0, "BK must be a multiple of UNROLL for each of WARPS_K")
RULE(STORE_AT, STORE_AT < UNROLL, "STORE_AT must be one of the UNROLL steps")
RULE(LOADER, !TWO_STEPS || STAGES > 2,
     "LOADER 2 needs 3 STAGES: one that is read, one that may still be, one that is filled")
RULE(ORDER, ORDER != 3 || (TM % 2 == 0 && TN % 2 == 0),
     "ORDER 3 goes by blocks of 2 x 2: TM and TN must be even")
RULE(VA, VA == 1 || VA == 2 || VA == 4, "VA must be 1, 2 or 4")
RULE(VB, VB == 1 || VB == 2 || VB == 4, "VB must be 1, 2 or 4")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
RULE(REDUCE, WARPS_K == 1 || !LAST_BLOCK,
     "the last block (REDUCE 1) adds the sums of one team: WARPS_K must be 1")
RULE(VC, VC <= CHUNK_N, "VC must not exceed the contiguous columns of a thread (4, 2 or 1, as TN allows)")
#endif

#ifdef RULE_OP
RULE_OP(VA, (ALONG_M ? BM : BK) % VA == 0, "VA must divide the side of A's tile that is contiguous in memory")
RULE_OP(VB, (ALONG_N ? BN : BK) % VB == 0, "VB must divide the side of B's tile that is contiguous in memory")
RULE_OP(VA, LOADER != 3 || ALONG_M || VA == 1, "LOADER 3 transposes by single floats: VA must be 1")
RULE_OP(VB, LOADER != 3 || ALONG_N || VB == 1, "LOADER 3 transposes by single floats: VB must be 1")
RULE_OP(PACK, LOADER != 3 || !ALONG_M || !ALONG_N, "LOADER 3 has nothing to transpose: that is LOADER 1")
RULE_OP(PACK, LOADER == 0 || LOADER == 2 || ASYNC_A || ASYNC_B,
        "LOADER 1 has nothing to copy: both operands are transposed on the way")
#endif

/* Rules for the host alone: values that the kernel accepts but that have no effect, and launch-time
 * parameters. */
#ifdef HOST_RULES
RULE(SPLIT_K, !CLUSTER || SPLIT_K == CLUSTER, "SPLIT_K must be the size of the cluster (REDUCE)")
RULE_OP(STORE_AT, !ASYNC_A || !ASYNC_B || TWO_STEPS || STORE_AT == UNROLL / 2,
        "STORE_AT means nothing where no operand takes registers: only UNROLL / 2 is taken")
#endif

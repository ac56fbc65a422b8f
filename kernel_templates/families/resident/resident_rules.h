/* SPDX-License-Identifier: MIT */
/* resident_rules.h — derived sizes of the resident kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_RESIDENT_SIZES
#define GT_RESIDENT_SIZES

#define LANES_M (WM / TM) /* the lane grid of a warp */
#define LANES_N (WN / TN)
#define WARPS_N (BN / WN)
#define WARPS   ((BM / WM) * (BN / WN))
#define THREADS (32 * WARPS)

/* Width of the contiguous pieces that a thread's rows (columns) consist of. */
#define CHUNK_M (TM % 4 == 0 ? 4 : TM % 2 == 0 ? 2 : 1)
#define CHUNK_N (TN % 4 == 0 ? 4 : TN % 2 == 0 ? 2 : 1)

/* The two operands by their roles: x is m for A and n for B. */
#define RESIDENT_X       (SIDE == 0 ? BM : BN)
#define STREAM_X         (SIDE == 0 ? BN : BM)
#define RESIDENT_ALONG_K (SIDE == 0 ? !TRANS_A : TRANS_B) /* contiguous in memory */
#define STREAM_ALONG_K   (SIDE == 0 ? TRANS_B : !TRANS_A)

/* A row of k in shared memory, in floats: a multiple of 16 bytes, and one vector more where the operand may
 * be transposed while it is copied, so that the stores of neighbouring lanes use different banks. */
#define STRIDE_RESIDENT ((RESIDENT_X + 3) / 4 * 4 + 4)
#define STRIDE_STREAM   ((STREAM_X + 3) / 4 * 4 + (STREAM_ALONG_K ? 4 : 0))
#define STRIDE_A        (SIDE == 0 ? STRIDE_RESIDENT : STRIDE_STREAM)
#define STRIDE_B        (SIDE == 0 ? STRIDE_STREAM : STRIDE_RESIDENT)
#define STAGE_FLOATS    (BK * STRIDE_STREAM)
#define BARRIER_FLOATS  (LOADER == 1 ? 0 : 4 * STAGES) /* two mbarriers per stage */
#define RESIDENT_FLOATS (BK * STRIDE_RESIDENT)         /* for each tile of k */
#define K_STEP          (LOADER == 1 ? BK : UNROLL)    /* zeros fill k up to a multiple of it */

#endif

#ifdef RULE
RULE(WM, BM % WM == 0, "BM must be a multiple of WM")
RULE(WN, BN % WN == 0, "BN must be a multiple of WN")
RULE(WN, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(TM, WM % TM == 0, "WM must be a multiple of TM")
RULE(TN, WN % TN == 0, "WN must be a multiple of TN")
RULE(TN, (LANES_M) * (LANES_N) == 32, "(WM / TM) * (WN / TN) must be the 32 lanes of a warp")
RULE(ORDER, ORDER != 3 || (TM % 2 == 0 && TN % 2 == 0),
     "ORDER 3 goes by blocks of 2 x 2: TM and TN must be even")
RULE(VS, VS == 1 || VS == 2 || VS == 4, "VS must be 1, 2 or 4")
RULE(VS, LOADER != 3 || VS == 4, "bulk copies need VS 4: they begin and end at multiples of 16 bytes")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
RULE(VC, VC <= CHUNK_N, "VC must not exceed the contiguous columns of a thread (4, 2 or 1, as TN allows)")
RULE(UNROLL, UNROLL % 2 == 0, "UNROLL must be even: the fragments alternate between two sets of registers")
RULE(UNROLL, LOADER != 1 || UNROLL <= BK + 1, "UNROLL must not exceed BK (rounded up to an even number)")
RULE(UNROLL, LOADER == 1 || BK % UNROLL == 0, "BK must be a multiple of UNROLL where stages have mbarriers")
#endif

#ifdef RULE_OP
RULE_OP(VS, !STREAM_ALONG_K || VS == 1, "VS must be 1 where the streamed operand runs along k")
RULE_OP(VS, STREAM_ALONG_K || STREAM_X % VS == 0,
        "VS must divide the streamed side of the tile (BN, or BM with SIDE 1)")
#endif

/* SPDX-License-Identifier: MIT */
/* tall_rules.h — derived sizes of the tall kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (template_tall.c, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_TALL_SIZES
#define GT_TALL_SIZES

/* The two sides of C by their roles: the tall one is that of the operand that is streamed. */
#define SMALL_X (SIDE == 0 ? BM : BN)
#define TALL_X  (SIDE == 0 ? BN : BM)
#define SMALL_T (SIDE == 0 ? TM : TN)
#define TALL_T  (SIDE == 0 ? TN : TM)

/* A warp spans the small side; lanes that do not fit there lie along the tall one. */
#define LANES_SMALL (SMALL_X / SMALL_T)
#define LANES_TALL  (32 / LANES_SMALL)
#define LANES_M     (SIDE == 0 ? LANES_SMALL : LANES_TALL)
#define LANES_N     (SIDE == 0 ? LANES_TALL : LANES_SMALL)
#define WARP_X      (LANES_TALL * TALL_T)
#define WARPS       (TALL_X / WARP_X)
#define THREADS     (32 * WARPS)

/* Contiguous pieces of a thread's share. On the small side they are vectors of shared memory. On the tall
 * side they are single rows, LANES_TALL apart, so that what a warp reads at once comes from neighbouring
 * rows. */
#define CHUNK_SMALL (SMALL_T % 4 == 0 ? 4 : SMALL_T % 2 == 0 ? 2 : 1)
#define CHUNK_M     (SIDE == 0 ? CHUNK_SMALL : 1)
#define CHUNK_N     (SIDE == 0 ? 1 : CHUNK_SMALL)

#define SMALL_ALONG_K (SIDE == 0 ? !TRANS_A : TRANS_B) /* contiguous in memory */

/* Number of vectors of 4 floats that BK floats touch, wherever the first one is, and the length of a stage's
 * row in floats: an odd number of vectors, so that 8 neighbouring rows use 32 different banks. */
#define VECTORS      ((BK + 6) / 4)
#define STRIDE_TALL  (4 * (VECTORS | 1))
#define STRIDE_SMALL ((SMALL_X + 3) / 4 * 4)
#define STAGE_FLOATS (TALL_X * STRIDE_TALL)

/* Fragments are read one step ahead. The last ones are read from memory to which nothing is copied: a row
 * after the small operand, a vector after the stages. */
#define SMALL_ROWS(k) ((k) + 1)
#define SPARE_FLOATS  4

/* Threads along a row when it is copied, and rows side by side. */
#define ALONG     (VECTORS > 16 ? 32 : VECTORS > 8 ? 16 : VECTORS > 4 ? 8 : VECTORS > 2 ? 4 : VECTORS)
#define COPY_ROWS (THREADS / ALONG)

#endif

#ifdef RULE
RULE(BK, VECTORS <= 32, "BK must not exceed 125: a warp copies a row at once")
RULE(TN, SMALL_X % SMALL_T == 0,
     "the small side of the tile must be a multiple of the thread's (BM of TM, or BN of TN with SIDE 1)")
RULE(TN, LANES_SMALL == 1 || LANES_SMALL == 2 || LANES_SMALL == 4 || LANES_SMALL == 8,
     "1, 2, 4 or 8 lanes must cover the small side of the tile (BM / TM, or BN / TN with SIDE 1)")
RULE(TN, TALL_X % WARP_X == 0, "the tall side of the tile must be a multiple of a warp's")
RULE(TN, THREADS <= 1024, "a block holds at most 1024 threads")
RULE(TN, COPY_ROWS % 4 == 0, "the block must copy 4 rows at once, or a multiple: these are aligned alike")
RULE(VC, VC == 1 || VC == 2 || VC == 4, "VC must be 1, 2 or 4")
RULE(VC, VC <= CHUNK_N, "VC must not exceed the contiguous columns of a thread (1 with SIDE 0)")
RULE(UNROLL, UNROLL % 2 == 0, "UNROLL must be even: the fragments alternate between two sets of registers")
RULE(UNROLL, UNROLL <= BK + 1, "UNROLL must not exceed BK (rounded up to an even number)")
#endif

#ifdef RULE_OP
RULE_OP(SIDE, SIDE == 0 ? TRANS_B : !TRANS_A,
        "the streamed operand must run along k (B of nt, or A of nn with SIDE 1)")
#endif

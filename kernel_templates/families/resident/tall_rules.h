/* SPDX-License-Identifier: MIT */
/* tall_rules.h — derived sizes of the tall kernel, and which configurations are correct.
 *
 * Read twice, as simt_rules.h is: by the kernel (static_assert) and by the host (family_template.h, which has
 * checked the range of each parameter by then). Each rule begins with the last parameter, in the template's
 * order, that it reads.
 */
#ifndef GT_TALL_SIZES
#define GT_TALL_SIZES

/* The two sides of C by their roles: the tall one is that of the operand that is streamed. */
#define RESIDENT_X (SIDE == 0 ? BM : BN)
#define STREAM_X   (SIDE == 0 ? BN : BM)
#define RESIDENT_T (SIDE == 0 ? TM : TN)
#define STREAM_T   (SIDE == 0 ? TN : TM)

/* A warp spans the small side; lanes that do not fit there lie along the tall one. */
#define LANES_RESIDENT (RESIDENT_X / RESIDENT_T)
#define LANES_STREAM   (32 / LANES_RESIDENT)
#define LANES_M        (SIDE == 0 ? LANES_RESIDENT : LANES_STREAM)
#define LANES_N        (SIDE == 0 ? LANES_STREAM : LANES_RESIDENT)
#define WARP_X         (LANES_STREAM * STREAM_T)
#define WARPS          (STREAM_X / WARP_X)
#define THREADS        (32 * WARPS)

/* Contiguous pieces of a thread's share. On the small side they are vectors of shared memory. On the tall
 * side they are single rows, LANES_STREAM apart, so that what a warp reads at once comes from neighbouring
 * rows. */
#define CHUNK_RESIDENT (RESIDENT_T % 4 == 0 ? 4 : RESIDENT_T % 2 == 0 ? 2 : 1)
#define CHUNK_M        (SIDE == 0 ? CHUNK_RESIDENT : 1)
#define CHUNK_N        (SIDE == 0 ? 1 : CHUNK_RESIDENT)

#define RESIDENT_ALONG_K (SIDE == 0 ? !TRANS_A : TRANS_B) /* contiguous in memory */

/* Number of vectors of 4 floats that BK floats touch, wherever the first one is, and the length of a stage's
 * row in floats: an odd number of vectors, so that 8 neighbouring rows use 32 different banks. */
#define VECTORS         ((BK + 6) / 4)
#define STRIDE_STREAM   (4 * (VECTORS | 1))
#define STRIDE_RESIDENT ((RESIDENT_X + 3) / 4 * 4)
#define STAGE_FLOATS    (STREAM_X * STRIDE_STREAM)

/* Fragments are read one step ahead. The last ones are read from memory to which nothing is copied: a row
 * after the small operand, a vector after the stages. */
#define RESIDENT_ROWS(k) ((k) + 1)
#define SPARE_FLOATS     4

/* Threads along a row when it is copied, and rows side by side. */
#define ALONG     (VECTORS > 16 ? 32 : VECTORS > 8 ? 16 : VECTORS > 4 ? 8 : VECTORS > 2 ? 4 : VECTORS)
#define COPY_ROWS (THREADS / ALONG)

#endif

#ifdef RULE
RULE(BK, VECTORS <= 32, "BK must not exceed 125: a warp copies a row at once")
RULE(TN, RESIDENT_X % RESIDENT_T == 0,
     "the small side of the tile must be a multiple of the thread's (BM of TM, or BN of TN with SIDE 1)")
RULE(TN, LANES_RESIDENT == 1 || LANES_RESIDENT == 2 || LANES_RESIDENT == 4 || LANES_RESIDENT == 8,
     "1, 2, 4 or 8 lanes must cover the small side of the tile (BM / TM, or BN / TN with SIDE 1)")
RULE(TN, STREAM_X % WARP_X == 0, "the tall side of the tile must be a multiple of a warp's")
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

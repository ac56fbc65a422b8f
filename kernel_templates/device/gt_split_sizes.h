/* SPDX-License-Identifier: MIT */
/* gt_split_sizes.h — derived sizes of a kernel that splits FP32 operands into pieces of 16 bits and
 * multiplies these by gt_split_ring.cuh; read by the host (C) and by the kernels (CUDA C++).
 *
 * The family's rules add: PIECES; SWAP, with which the left operand of products is B, and C^T is computed;
 * LEFT_RAW and RIGHT_SPLIT, whether the block itself makes the left and the right operand's pieces; HELPERS,
 * warpgroups that do not multiply; MOVE_REGISTERS, PRODUCT_REGISTERS and COPY_REGISTERS; RAW_STAGES and
 * RAW_BYTES, what arrives as it is.
 */
#ifndef GT_SPLIT_SIZES_H
#define GT_SPLIT_SIZES_H

#define LEFT  (SWAP ? BN : BM)
#define RIGHT (SWAP ? BM : BN)

/* A warpgroup is four warps. The first ones of the block multiply 64 rows each. */
#define WARPGROUP        128
#define CONSUMERS        (LEFT / 64)
#define CONSUMER_THREADS (WARPGROUP * CONSUMERS)
#define THREADS          (CONSUMER_THREADS + WARPGROUP * HELPERS)

/* A stage is one piece of STEP_K k, whose sums are promoted: lines of 128 bytes for each row of the left
 * operand, unless its pieces are in registers, then for each column of the right one. */
#define STEP_K      64
#define LEFT_BYTES  (LEFT_RAW ? 0 : 128 * LEFT)
#define STAGE_BYTES (LEFT_BYTES + 128 * RIGHT)
#define RING_BYTES  (STAGES * STAGE_BYTES)
#define RAWS_BYTES  (RAW_STAGES * RAW_BYTES)

#define SWIZZLE_BYTES 1024 /* the ring begins at a multiple of it */
#define SMEM_BYTES         /* mbarriers, and a flag */                                                       \
    (SWIZZLE_BYTES + RING_BYTES + RAWS_BYTES + 16 * (STAGES + RAW_STAGES) + 16)

/* gemm_pack: a block takes SPLIT_SIDE rows (of A, or columns of B) by SPLIT_SIDE k, which pass through shared
 * memory in lines with a gap. */
#define SPLIT_THREADS 256
#define SPLIT_SIDE    64
#define SPLIT_LINE    (SPLIT_SIDE + 1)

/* Offsets in the argument: the tensor maps of both operands, or their pieces, follow struct gemm_args. */
#define MAP_LEFT_AT  192
#define MAP_RIGHT_AT (MAP_LEFT_AT + 128)

#endif

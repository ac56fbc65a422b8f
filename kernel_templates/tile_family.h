/* tile_family.h — what simt and streamk share on the host: blocks multiply tiles of C by the same main loop
 * (gt_pipeline.cuh). For their files, after family_template.h.
 */
#ifndef GT_TILE_FAMILY_H
#define GT_TILE_FAMILY_H

#include "cost_ffma.h"

/* Registers hold C, and two fragments each of A and B, during the whole main loop. */
static inline struct tiled_sizes tile_sizes(const struct config *config)
{
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .sums = TM * TN,
                                .registers = TM * TN + 2 * (TM + TN),
                                .m = BM,
                                .n = BN};
}

/* template.h: redundant, once all that ASYNC_A and ASYNC_B read is known. Where nothing is copied past the
 * registers, stages beyond those that the barriers need are never ahead: of 376 pairs of kernels that differ
 * in STAGES alone the middle half took the same time within 0.3 % (H100). */
static inline int tile_redundant(const struct config *config, const struct problem *problem, int32_t *instead)
{
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
    *instead = TWO_STEPS ? 3 : 2;
    return !ASYNC_A && !ASYNC_B && STAGES > *instead ? P_STAGES : -1;
}

/* For the model: a block and its main loop; the family adds tiles, parts, packing and teams. */
static inline struct ffma_kernel ffma_kernel_of(const struct config *config, const struct problem *problem)
{
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
    return (struct ffma_kernel){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .accumulators = TM * TN,
                                .min_blocks = MIN_BLOCKS,
                                .bm = BM,
                                .bn = BN,
                                .bk = BK,
                                .tm = TM,
                                .tn = TN,
                                .stages = STAGES,
                                .unroll = UNROLL,
                                .teams = 1,
                                .vc = VC,
                                .a = {.vector = VA, .async = ASYNC_A, .across = !(ALONG_M)},
                                .b = {.vector = VB, .async = ASYNC_B, .across = !(ALONG_N)},
                                .two_steps = TWO_STEPS,
                                .splits = 1,
                                .slabs = 1};
}

#endif

/* walkers.h — what resident and tall share on the host: one operand stays in shared memory, and blocks walk
 * from tile to tile along the other one. For their files, after family_template.h; their rules name the sides
 * of a tile by their roles, RESIDENT_X and STREAM_X.
 */
#ifndef GT_WALKERS_H
#define GT_WALKERS_H

#include "cost_stream.h"
#include "launch_limits.h"

#include <math.h>

/* NULL if there is shared memory for MIN_BLOCKS blocks, which grows with k; `why` is said of a single block.
 * gpu may be NULL. */
static inline const char *check_stages(const struct config *config, int known, const struct gpu *gpu,
                                       int64_t smem_bytes, const char *why)
{
    const int64_t more_than_any_gpu_has = INT64_C(1) << 20;
    if (smem_bytes > (gpu ? gpu->smem_per_block_bytes : more_than_any_gpu_has)) return why;
    return gpu ? check_blocks_smem(gpu, smem_bytes, known > P_MIN_BLOCKS ? MIN_BLOCKS : 1) : NULL;
}

/* The side of C along the streamed operand, and the other one. */
static inline int64_t stream_length(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->n : p->m;
}

static inline int64_t stays_length(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->m : p->n;
}

/* Of a tile whose stages are BK long. Without a problem: the least shared memory. */
static inline struct tiled_sizes walker_sizes(const struct config *config, int registers_least,
                                              int64_t smem_bytes)
{
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = (int)smem_bytes,
                                .sums = TM * TN,
                                .registers = TM * TN + 2 * (TM + TN) + registers_least,
                                .m = BM,
                                .n = BN,
                                .k = BK};
}

/* What both rows say. Tiles are as many as there are: blocks walk along them. */
#define WALKERS_ROW                                                                                          \
    .at = {.sized = AT(TN), .side = AT(SIDE), .min_blocks = AT(MIN_BLOCKS), .sms = AT(SMS)},                 \
    .registers = "accumulators and fragments do not fit in the registers", .rules = check_rules,             \
    .sizes = sizes, .refuse_last = refuse_last, .launch = launch

/* For the model, with a single row of tiles and so many walkers; the family adds its instructions. */
static inline struct stream_kernel stream_kernel_of(const struct config *config,
                                                    const struct problem *problem, int64_t walkers)
{
    const double k = (double)problem->k, length = (double)stream_length(config, problem);
    return (struct stream_kernel){.threads = THREADS,
                                  .min_blocks = MIN_BLOCKS,
                                  .stages = STAGES,
                                  .bk = BK,
                                  .sums = TM * TN,
                                  .vc = VC,
                                  .stays_x = RESIDENT_X,
                                  .stream_x = STREAM_X,
                                  .stream_length = length,
                                  .rows = 1,
                                  .walkers = (double)walkers,
                                  .tiles = ceil(length / (STREAM_X)),
                                  .k = k,
                                  .k_tiles = ceil(k / BK),
                                  .k_l2 = BK};
}

#endif

/* stream_family.h — what the host halves of resident and tall share: one operand stays in shared memory, and
 * blocks walk from tile to tile along the other one. For their files, after NAME_host.h, which names the
 * sides of a tile by their roles, RESIDENT_X and STREAM_X.
 */
#ifndef GT_STREAM_FAMILY_H
#define GT_STREAM_FAMILY_H

#include "cost_stream.h"
#include "gemm_block.h"
#include "launch_limits.h"

#include <math.h>

/* NULL if an SM holds MIN_BLOCKS blocks at once, whose warps have registers in units of so many threads and
 * need so many besides sums and fragments. */
static inline const char *check_walkers(const struct config *config, int known, const struct gpu *gpu,
                                        int unit, int registers_besides)
{
    if (known > P_SMS && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (known <= P_TN) return NULL;
    const int blocks = known > P_MIN_BLOCKS ? MIN_BLOCKS : 1;
    const int64_t registers = registers_a_thread(gpu, ceil_div((int64_t)THREADS * blocks, unit) * unit);
    const char *why = check_blocks(gpu, THREADS, blocks);
    if (why) return why;
    if (TM * TN + 2 * (TM + TN) + registers_besides > registers)
        return "accumulators and fragments do not fit in the registers";
    return NULL;
}

/* The same for shared memory; `why` is said of a single block. gpu may be NULL. */
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

/* The plan: so many blocks that walk. */
static inline void plan_walkers(const struct config *config, const struct problem *p, int64_t blocks,
                                int64_t smem_bytes, struct launch_plan *plan)
{
    struct gemm_args args = gemm_args_of(p);
    args.k_per_split = (int)(ceil_div(p->k, BK) * BK);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)blocks, 1, (unsigned)smaller(p->batch, GRID_Z_MAX)},
                               .threads = (unsigned)(THREADS),
                               .smem_bytes = (unsigned)smem_bytes};
}

/* For the model, with a single row of tiles; the family adds its instructions. */
static inline struct stream_kernel stream_kernel_of(const struct config *config,
                                                    const struct problem *problem)
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
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
                                  .walkers = plan.kernel[0].grid[0],
                                  .tiles = ceil(length / (STREAM_X)),
                                  .k = k,
                                  .k_tiles = ceil(k / BK),
                                  .k_l2 = BK};
}

#endif

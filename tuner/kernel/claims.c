#include "claims.h"

#include "occupancy.h"

#include <stdio.h>
#include <string.h>

/* The kernel that resources() describes. NULL: nothing is launched. */
static const struct kernel_launch *main_kernel(const struct template *t, const struct launch_plan *plan)
{
    for (int i = 0; i < plan->kernels; i++)
        if (strcmp(plan->kernel[i].entry, t->entry ? t->entry : "gemm") == 0) return &plan->kernel[i];
    return NULL;
}

/* From warp to warp (setmaxnreg), as kernels may that are for one architecture alone: then a thread may have
 * more than the compiler says. */
static bool moves_registers(const struct template *t)
{
    return t->one_arch;
}

bool claims_hold(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                 const struct kernel_facts *facts, char why[OUTCOME_DETAIL_MAX])
{
    struct launch_plan plan;
    memset(&plan, 0, sizeof plan);
    config->template->plan(config, problem, &plan);
    const struct resources r = config->template->resources(config);
    const struct kernel_launch *k = main_kernel(config->template, &plan);
    const char *name = config->template->name;
    if (!k) return true;
    const int threads = (int)k->threads, smem_bytes = (int)k->smem_bytes + facts->static_smem_bytes,
              described = config->template->predict(config, problem, gpu, facts).blocks_per_sm,
              blocks = blocks_at_once(gpu, threads, facts->registers, smem_bytes);
    if (r.threads != threads)
        snprintf(why, OUTCOME_DETAIL_MAX, "the family %s describes %d threads a block, and launches %d", name,
                 r.threads, threads);
    else if (r.smem_bytes > (int)k->smem_bytes)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "the family %s describes %d bytes of shared memory a block, and launches with %u", name,
                 r.smem_bytes, k->smem_bytes);
    else if (facts->most_threads > 0 && threads > facts->most_threads)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "the family %s describes %d threads a block, and its kernel is compiled for at most %d",
                 name, threads, facts->most_threads);
    else if (!moves_registers(config->template) && facts->registers > 0 && facts->registers < r.accumulators)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "the family %s describes %d sums a thread, and its kernel is compiled to %d registers", name,
                 r.accumulators, facts->registers);
    else if (registers_blocks(gpu, threads, facts->registers) < 1)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "an SM has too few registers for %d threads of %d, as its kernel takes", threads,
                 facts->registers);
    else if (smem_bytes > gpu->smem_per_block_bytes)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "its kernel takes %d bytes of shared memory, and a block may have %d", smem_bytes,
                 gpu->smem_per_block_bytes);
    else if (described > blocks)
        snprintf(why, OUTCOME_DETAIL_MAX,
                 "the model of the family %s expects %d blocks on an SM, which holds %d of its kernel", name,
                 described, blocks);
    else return true;
    return false;
}

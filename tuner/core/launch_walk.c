#include "launch_walk.h"

void launch_walk_start(struct launch_walk *walk, const struct launch_plan *plan,
                       const struct problem *problem)
{
    *walk = (struct launch_walk){.plan = plan,
                                 .all = plan->args,
                                 .batch = plan->kernels ? problem->batch : 0,
                                 .k = problem->k,
                                 .step_a = problem->trans_a ? problem->lda : 1,
                                 .step_b = problem->trans_b ? 1 : problem->ldb};
}

static uintptr_t moved(const float *from, int64_t elements)
{
    return (uintptr_t)from + (uintptr_t)(elements * (int64_t)sizeof(float));
}

static const float *moved_source(const float *from, int64_t elements)
{
    return (const float *)moved(from, elements); /* NOLINT: a number, perhaps of the device */
}

bool launch_walk_next(struct launch_walk *walk, struct launch *launch)
{
    const struct launch_plan *plan = walk->plan;
    if (walk->item >= walk->batch) return false;
    const struct kernel_launch *kernel = &plan->kernel[walk->index];
    const int64_t left = walk->k - walk->k_done, items = walk->batch - walk->item;
    const bool last = plan->k_slab == 0 || left <= plan->k_slab;
    *launch =
        (struct launch){.index = walk->index,
                        .grid = {plan->k_slab && last ? kernel->last_slab : kernel->grid[0], kernel->grid[1],
                                 (unsigned)(items < plan->batch_per_launch ? items : plan->batch_per_launch)},
                        .args = walk->all,
                        .touched = walk->item > 0 || walk->k_done > 0};
    struct gemm_args *args = &launch->args;
    args->a = moved_source(args->a, walk->item * args->stride_a + walk->k_done * walk->step_a);
    args->b = moved_source(args->b, walk->item * args->stride_b + walk->k_done * walk->step_b);
    args->c = (float *)moved(args->c, walk->item * args->stride_c); /* NOLINT: as above */
    if (plan->k_slab) args->k = (int)(last ? left : plan->k_slab);
    if (walk->k_done > 0) { /* to what the slabs before have left in C */
        args->beta = 1;
        args->beta_device = NULL;
    }
    if (++walk->index < plan->kernels) return true;
    walk->index = 0;
    walk->k_done = last ? 0 : walk->k_done + plan->k_slab;
    if (last) walk->item += plan->batch_per_launch;
    return true;
}

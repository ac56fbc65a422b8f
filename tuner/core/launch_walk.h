/* launch_walk.h — the launches of a plan one after the other, with the arguments of each: a long batch goes
 * in pieces, a long k in slabs (template.h). Whoever launches kernels walks this way: the tuner, the
 * runtime, the execution on the CPU.
 *
 *     for (launch_walk_start(&walk, &plan, &problem); launch_walk_next(&walk, &launch);)
 *         ... plan.kernel[launch.index], launch.grid, launch.args ...
 */
#ifndef GT_LAUNCH_WALK_H
#define GT_LAUNCH_WALK_H

#include "template.h"

struct launch_walk {
    const struct launch_plan *plan;
    struct gemm_args all; /* of the whole problem: the plan's; pointers, scalars, workspace for the caller to
                             fill in after the start */
    int64_t batch, k;
    int64_t step_a, step_b; /* from one k to the next, in elements */
    int64_t item, k_done;   /* where the next launch begins */
    int index;              /* its kernel */
};

struct launch {
    int index;        /* in plan.kernel */
    unsigned grid[3]; /* blocks */
    struct gemm_args args;
    bool touched; /* a launch before this one writes C */
};

/* The plan must stay. */
void launch_walk_start(struct launch_walk *walk, const struct launch_plan *plan,
                       const struct problem *problem);

/* False: there are no more. Addresses are counted up as numbers: they may be the device's. */
bool launch_walk_next(struct launch_walk *walk, struct launch *launch);

#endif

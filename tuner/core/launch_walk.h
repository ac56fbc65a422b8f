/* launch_walk.h — iterates over the launches of a plan, with the argument of each: a long batch is launched
 * in pieces, a long k in slabs (launch_plan.h). The tuner, the runtime and the execution on the CPU all use
 * it.
 *
 *     for (launch_walk_start(&walk, &plan, &with); launch_walk_next(&walk, &launch);)
 *         ... plan.kernel[launch.index], launch.grid, launch.argument ...
 */
#ifndef GT_LAUNCH_WALK_H
#define GT_LAUNCH_WALK_H

#include "launch_plan.h"
#include <string.h>

/* What a call brings: addresses as numbers, for they may be the device's. */
struct launch_call {
    uintptr_t operand[LAUNCH_OPERANDS];
    uintptr_t alpha_device, beta_device; /* 0: alpha and beta are given by value */
    float alpha, beta;
};

struct launch_walk {
    const struct launch_plan *plan;
    struct launch_call call;
    int64_t item, k_done; /* where the next launch begins */
    int index;            /* its kernel */
};

struct launch {
    /* The plan's with what this launch is told; the views' places are for the launcher to fill in. */
    _Alignas(64) unsigned char argument[LAUNCH_ARGUMENT_MAX + sizeof(uintptr_t)];
    int index;                          /* in plan.kernel */
    unsigned grid[3];                   /* blocks */
    uintptr_t operand[LAUNCH_OPERANDS]; /* where this launch finds them: what views are of */
    int64_t items, k;                   /* that it computes */
    bool touched;                       /* a launch before this one writes C */
};

/* The plan must stay. */
void launch_walk_start(struct launch_walk *walk, const struct launch_plan *plan,
                       const struct launch_call *call);

/* False: there are no more. */
bool launch_walk_next(struct launch_walk *walk, struct launch *launch);

static inline void launch_write_address(unsigned char *argument, unsigned slot, uintptr_t address)
{
    memcpy(argument + slot, &address, sizeof address);
}

static inline void launch_write_scalar(unsigned char *argument, unsigned slot, float scalar)
{
    memcpy(argument + slot, &scalar, sizeof scalar);
}

#endif

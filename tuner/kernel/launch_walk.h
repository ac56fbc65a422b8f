/* launch_walk.h — iterates over the launches of a plan, with the argument of each: a long batch is launched
 * in pieces, a long k in slabs (launch_plan.h). The tuner, the runtime and the execution on the CPU all use
 * it, and exported headers contain it (tools/export/launch_text.sh): C99 that is C++, too.
 *
 *     for (launch_walk_start(&walk, &plan, &with); launch_walk_next(&walk, &launch);)
 *         ... plan.kernel[launch.index], launch.grid, launch.argument ...
 */
#ifndef GT_LAUNCH_WALK_H
#define GT_LAUNCH_WALK_H

#include "launch_plan.h"
#include <string.h>

/* Operands and scalars of a call: addresses are integers, since they may be device addresses. */
struct launch_call {
    uintptr_t operand[LAUNCH_OPERANDS];
    uintptr_t alpha_device, beta_device; /* 0: alpha and beta are passed by value */
    float alpha, beta;
};

struct launch_walk {
    const struct launch_plan *plan;
    struct launch_call call;
    int64_t item, k_done; /* start of the next launch */
    int index;            /* kernel of the next launch */
};

struct launch {
    /* The plan's argument with this launch's values; the launcher fills in the views. */
    unsigned char argument[LAUNCH_ARGUMENT_MAX + sizeof(uintptr_t)];
    int index;                          /* in plan.kernel */
    unsigned grid[3];                   /* blocks */
    uintptr_t operand[LAUNCH_OPERANDS]; /* the operands of this launch, for the views */
    int64_t items, k;                   /* computed by this launch */
    bool touched;                       /* an earlier launch writes C, too */
};

/* The plan must outlive the walk. */
void launch_walk_start(struct launch_walk *walk, const struct launch_plan *plan,
                       const struct launch_call *call);

/* Returns false if there are no more launches. */
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

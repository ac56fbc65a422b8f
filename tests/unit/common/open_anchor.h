/* open_anchor.h — the rival that problems of a type are raced against, for tests that have a device. */
#ifndef GT_OPEN_ANCHOR_H
#define GT_OPEN_ANCHOR_H

#include "rivals.h"
#include "trial_setup.h"

/* The row that problems of this type are raced against. */
static inline enum status open_anchor(struct device *gpu, const struct problem *problem,
                                      struct kernel *kernel)
{
    static struct trial_setup setup;
    char detail[RIVAL_DETAIL_MAX];
    setup = (struct trial_setup){.device = gpu, .problem = *problem};
    const struct rival_row *row = rival_anchor(problem);
    return row->open(&setup, row, kernel, detail);
}

#endif

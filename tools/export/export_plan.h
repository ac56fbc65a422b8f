/* export_plan.h — a winner in the numbers that a header contains: what it was measured for, what else it
 * fits, and the launch plan of its template. Knows no template by name.
 */
#ifndef GT_EXPORT_PLAN_H
#define GT_EXPORT_PLAN_H

#include "launch_lengths.h"
#include "template.h"
#include "winner_here.h"
#include <stdio.h>

/* The same problem as the header's caller gives it. */
struct gt_winner_shape plan_shape(const struct problem *problem);

/* What the winner of a problem was measured for, and fits: config->template is NULL for cuBLAS, which fits
 * everything, and else legal for the problem on gpu. Its kernel is -1. */
struct gt_winner plan_winner(const struct config *config, const struct problem *problem,
                             const struct gpu *gpu);

/* A plan as the template makes it, and which lengths it may be changed to. */
struct planned {
    struct launch_plan plan;
    struct launch_lengths lengths;
    int32_t takes;   /* bits of operands: those in memory of their own */
    int32_t aligned; /* elements of which the addresses of A, B, C are multiples, 4 bits each */
};

/* The lengths are found by asking: the template plans the problem with other ones, and they are allowed if
 * that is the same plan, changed by launch_relength. Errors: E_MEMORY. */
enum status plan_make(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                      struct planned *planned);

/* As initialisers of struct gt_launch_lengths and struct gt_winner_plan. */
void plan_write_lengths(const struct launch_lengths *lengths, FILE *stream);
void plan_write(const struct launch_plan *plan, FILE *stream);

#endif

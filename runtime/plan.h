/* plan.h — a problem, and the way it is computed; another way when a launch turns out to need one.
 */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include "way.h"

struct gt_plan {
    struct gt_plan *next, **link; /* in the handle's list */
    struct gt_handle *handle;
    struct place *place;
    struct problem problem;
    int alignment;
    bool scalars_on_device;
    _Atomic(struct way *) way;    /* for operands as aligned as promised */
    _Atomic(struct way *) narrow; /* for others; NULL until one comes */
    pthread_mutex_t lock;         /* making another way */
    struct way *ways;             /* all that were made: somebody may still be launching an old one */
};

/* Prepare the first choice that can be, in the place's context, which must be current. Errors: E_ABSENT
 * (nothing can compute it), E_MEMORY. */
enum status plan_make(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      int alignment, bool scalars_on_device, struct gt_plan **plan);

/* Takes it out of the handle's list. The place's context need not be current. */
void plan_free(struct gt_plan *plan);

/* After plan->way: for operands that are less aligned than promised, or after a refusal. */
enum way_result plan_launch_otherwise(struct gt_plan *plan, struct way *refused,
                                      const struct gemm_call *call);

#endif

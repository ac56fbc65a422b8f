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
    _Atomic(struct way *) spare;  /* for any, without a workspace; NULL until one is needed */
    pthread_mutex_t lock;         /* making another way */
    struct way *ways;             /* all that were made: somebody may still be launching an old one */
};

/* Prepare the first choice that can be, in the place's context, which must be current. Errors: E_ABSENT
 * (nothing can compute it), E_MEMORY. */
enum status plan_make(struct gt_handle *handle, struct place *place, const struct problem *problem,
                      int alignment, bool scalars_on_device, struct gt_plan **plan);

/* Takes it out of the handle's list. The place's context need not be current. */
void plan_free(struct gt_plan *plan);

/* What to do when the way at hand does not do: `result` is what way_launch answered (WAY_REFUSED or
 * WAY_CROWDED), or WAY_DONE where it has not been tried, because the operands are less aligned than promised
 * (way is NULL then). Prepares another way if need be, and launches it. */
enum way_result plan_launch_otherwise(struct gt_plan *plan, struct way *way, enum way_result result,
                                      const struct gemm_call *call);

#endif

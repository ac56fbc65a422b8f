/* plan.h — a problem, and what computes it; another executable when a launch turns out to need one.
 */
#ifndef GT_PLAN_H
#define GT_PLAN_H

#include "executable.h"
#include "overlap.h"

/* Operands as aligned as promised, or any; with a workspace if it wants one, or without. Bits. */
enum plan_case { PLAN_USUAL = 0, PLAN_UNALIGNED = 1, PLAN_WITHOUT = 2, PLAN_CASES = 4 };

/* How the caller means a plan, beside its problem. */
struct plan_traits {
    int alignment; /* of the operands, bytes */
    int element;   /* bytes of an element of A and B */
    int element_c; /* of C, the source and the bias */
    bool scalars_on_device;
    bool column_major; /* A and B of a call change contexts: the problem is by rows */
    bool out_of_place; /* where C is read, it is the call's source */
    bool pointers;     /* A, B and C of a call are arrays */
    bool extended;     /* a call has a bias, or a source, or only an activation: see `extents`; or arrays */
};

struct gt_plan {
    struct object object;
    struct gt_plan *next, **link; /* in the handle's list; link NULL: in none */
    struct gt_handle *handle;
    struct gpu_context *context;
    struct problem problem;
    struct plan_traits traits;
    struct extents extents;         /* of its operands */
    _Atomic(struct gt_plan *) twin; /* for beta = 0 if this is for another, and the other way round; NULL
                                       until one is needed. In no list: goes with this one */
    _Atomic(struct executable *) executable[PLAN_CASES]; /* all but the first are NULL until one is needed */
    atomic_llong without;                                /* launches that could not have their workspace */
    pthread_mutex_t lock;                                /* making another executable */
    struct executable *executables; /* all that were made: somebody may still be launching an old one */
};

extern struct object_pool plan_pool;

/* Prepare the first choice that can be, in its context, which must be current. twin: for another
 * plan, and goes with that. Errors: E_ABSENT (nothing can compute it), E_MEMORY. */
enum status plan_make(struct gt_handle *handle, struct gpu_context *context, const struct problem *problem,
                      const struct plan_traits *traits, bool twin, struct gt_plan **plan);

/* Make a problem one for a beta that is 0, or is not. If C is not read, it does not matter which matrix it
 * is: there the problem is that in place. */
void plan_problem_of_beta(struct problem *problem, const struct plan_traits *traits, bool adds_to_c);

/* The plan for calls whose beta is 0, or is not: this one or its twin, made if need be. Errors: those of
 * plan_make. */
enum status plan_of_beta(struct gt_plan *plan, bool adds_to_c, struct gt_plan **out);

/* With its twin; takes it out of the handle's list. Its context need not be current. Does nothing
 * where another thread does it. */
void plan_free(struct gt_plan *plan);

/* Its kernel is one that may be unloaded when no plan uses it any more: a plan to be counted, too. */
bool plan_is_counted(const struct gt_plan *plan);

/* What to do when the executable at hand does not do: `result` is what executable_launch answered, or
 * LAUNCH_NOT_PREPARED where there is none yet for operands that are less aligned than promised (executable is
 * NULL then). Prepares another if need be, and launches it.
 *
 * A kernel that cannot have its workspace is never run in another form: the best measured one that needs none
 * takes its context, then cuBLAS, then a plain one. */
enum launch_result plan_launch_otherwise(struct gt_plan *plan, struct executable *executable,
                                         enum launch_result result, const struct gemm_call *call);

void plan_describe(const struct gt_plan *plan, struct gt_plan_info *info);

#endif

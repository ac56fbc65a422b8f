/* prepare.h — from a problem to an executable: the choices in their order, of which the first that can
 * be prepared is taken. Which choices there are is lookup.h of tuner/winners; how one is prepared is
 * executable.h.
 */
#ifndef GT_PREPARE_H
#define GT_PREPARE_H

#include "plan.h"

/* For one of the plan's cases, in its context, which must be current; under the plan's lock once
 * others know the plan. Compiles if need be, and may be called while something is captured. Where a better
 * choice fell away for a reason that may pass, the executable is provisional. Errors: E_ABSENT (nothing can
 * compute it), E_MEMORY. */
enum status prepare_executable(const struct gt_plan *plan, enum plan_case which,
                               struct executable **executable);

#endif

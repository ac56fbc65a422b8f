/* prepare.h — from a problem to a way to compute it: the choices in their order, of which the first that can
 * be prepared is taken. Which choices there are is lookup.h of tuner/winners; how one is prepared is way.h.
 */
#ifndef GT_PREPARE_H
#define GT_PREPARE_H

#include "way.h"

/* The place's context must be current; compiles if need be, and may be called while something is captured.
 * Where a better choice fell away for a reason that may pass, the way is provisional. Errors: E_ABSENT
 * (nothing can compute it), E_MEMORY. */
enum status prepare_way(const struct way_request *request, struct way **way);

#endif

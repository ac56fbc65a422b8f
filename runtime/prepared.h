/* prepared.h — operands in the form that a family's kernels read (template.h, prepare), made once.
 *
 * An executable that takes them has a second form of its launches for each operand, made at its first use. An
 * operand is told by what it is, never by its address.
 */
#ifndef GT_PREPARED_H
#define GT_PREPARED_H

#include "config.h"
#include "device.h"
#include "gemmtune.h"
#include "launch_plan.h"
#include "problem.h"

struct prepared_forms;

/* What a configuration needs to be launched with prepared operands; NULL if it takes none. Errors: E_MEMORY.
 */
enum status prepared_forms_make(const struct config *config, const struct problem *problem,
                                struct prepared_forms **forms);

/* Takes NULL. */
void prepared_forms_free(struct prepared_forms *forms);

/* The launches with this operand prepared; of any thread. NULL: out of memory, or it takes none. */
const struct launch_plan *prepared_form(struct prepared_forms *forms, const struct gt_prepared *prepared);

uintptr_t prepared_at(const struct gt_prepared *prepared);

/* Makes the caller's problem one of calls that name this operand as prepared; leaves it where that is never
 * done, and for what is no prepared operand: prepared_check tells. */
void prepared_mark(struct gt_problem *problem, const struct gt_prepared *prepared);

/* Is it one of the plan's context and for the plan's problem, and is one named where the plan is for such
 * calls? NULL: none is. Errors: E_INPUT. */
enum status prepared_check(const struct gt_prepared *prepared, const struct gt_plan *plan);

/* When nothing of the handle runs. */
void prepared_free_all(struct gt_handle *handle);

#endif

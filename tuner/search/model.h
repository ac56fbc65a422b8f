/* model.h — predicted time of a configuration, from arithmetic alone: each family has its own model
 * (template.h: predict). It ranks the candidates of a search and makes predicted rows; it never decides about
 * a winner that can be measured.
 */
#ifndef GT_MODEL_H
#define GT_MODEL_H

#include "config.h"
#include "gpu.h"
#include "outcome.h"
#include "problem.h"
#include "status.h"
#include "template.h"
#include <stddef.h>

/* facts may be NULL (before compiling: registers are estimated). */
struct prediction model_predict(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu, const struct kernel_facts *facts);

/* False if a time that a family's model predicts is less than the machine allows (model_roofline_us with the
 * peak of the problem's type): its description of the kernel is wrong. Then `why` says so. */
bool model_is_possible(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                       double time_us, char why[OUTCOME_DETAIL_MAX]);

/* Sort candidates by predicted time, best first; equal predictions keep their order. More than a million a
 * second. predicted_us (may be NULL) gets the times in the new order. Errors: E_MEMORY. */
enum status model_sort(struct config *candidates, size_t count, const struct problem *problem,
                       const struct gpu *gpu, double *predicted_us);

/* The least time the machine allows: max(FLOP / peak, bytes / bandwidth) + one launch. For share of the
 * roofline; tflops and gb_per_s may be measured ones. */
double model_roofline_us(const struct problem *problem, double tflops, double gb_per_s);

#endif

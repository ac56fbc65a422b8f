/* gemm_block.h — struct gemm_args (gemm_args.h) as the argument of a plan: for the families whose kernels
 * take it.
 */
#ifndef GT_GEMM_BLOCK_H
#define GT_GEMM_BLOCK_H

#include "gemm_args.h"
#include "launch_plan.h"
#include "problem.h"

/* What the kernels are told of a problem: one split of all k, groups of one row of tiles, no counters; null
 * pointers, which launches fill in. */
struct gemm_args gemm_args_of(const struct problem *problem);

/* Begin a plan: false if there is nothing to do, and then the plan is complete. */
bool gemm_plan_begin(struct launch_plan *plan, const struct problem *problem);

/* Make args the argument of a plan, with what a walk needs of the problem: slots, steps, batch, k, counters.
 * Only kernels with an epilogue are passed the members for it.
 * The pointers, alpha and beta in it are not looked at. */
void gemm_args_put(struct launch_plan *plan, const struct problem *problem, const struct gemm_args *args);

/* The argument of a plan by gemm_args_put, also if a family has put more behind it; of a plan that does
 * nothing zeros. */
struct gemm_args gemm_args_in(const struct launch_plan *plan);

#endif

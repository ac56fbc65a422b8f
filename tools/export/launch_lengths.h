/* launch_lengths.h — which leading dimensions and strides a plan may be changed to, and the change. Exported
 * headers contain this file (launch_text.sh): C99 that is C++, too.
 */
#ifndef GT_LAUNCH_LENGTHS_H
#define GT_LAUNCH_LENGTHS_H

#include "launch_plan.h"

enum launch_length {
    LAUNCH_LDA,
    LAUNCH_LDB,
    LAUNCH_LDC,
    LAUNCH_STRIDE_A,
    LAUNCH_STRIDE_B,
    LAUNCH_STRIDE_C,
    LAUNCH_STRIDE_BIAS,
    LAUNCH_LENGTHS
};

#define LAUNCH_UNTOLD (-1) /* no kernel is passed it: it may be any */
#define LAUNCH_FIXED  (-2) /* the plan is for this one alone: it is in a tensor map, for example */

struct launch_lengths {
    int64_t planned[LAUNCH_LENGTHS]; /* elements */
    int32_t at[LAUNCH_LENGTHS];      /* offset of the length in the argument, 8 bytes; or one of the above */
    int32_t bytes[OPERANDS];         /* of an element */
    int32_t trans_a, trans_b;
};

/* Change a plan with the planned lengths. Returns false if it does not allow the wanted ones; then it is of
 * no use any more. */
static inline bool launch_relength(struct launch_plan *plan, const struct launch_lengths *lengths,
                                   const int64_t wanted[LAUNCH_LENGTHS])
{
    for (int i = 0; i < LAUNCH_LENGTHS; i++) {
        const int operand = i == LAUNCH_STRIDE_BIAS ? (int)OPERAND_BIAS : i % 3;
        const int64_t more = (wanted[i] - lengths->planned[i]) * lengths->bytes[operand];
        if (more == 0) continue;
        if (lengths->at[i] == LAUNCH_FIXED) return false;
        if (lengths->at[i] >= 0) memcpy(plan->argument + lengths->at[i], &wanted[i], sizeof wanted[i]);
        if (plan->k_slab && ((i == LAUNCH_LDA && lengths->trans_a) || (i == LAUNCH_LDB && !lengths->trans_b)))
            plan->k_step_bytes[operand] += more;
        if (plan->batch == 1 || i < LAUNCH_STRIDE_A) continue;
        plan->batch_step_bytes[operand] += more;
        if (i == LAUNCH_STRIDE_C) plan->batch_step_bytes[OPERAND_SOURCE] += more;
    }
    return true;
}

#endif

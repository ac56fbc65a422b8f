/* accuracy_check.h — are a kernel's errors no larger than those of FP32 on the kinds of data where a class
 * promises that, and within its bound on the others?
 *
 * FP32 is the larger of two errors: that of the strict rival (cublasSgemm), and that of adding in the order
 * of k by FFMA. All three are measured on the same operands, against FP64.
 */
#ifndef GT_ACCURACY_CHECK_H
#define GT_ACCURACY_CHECK_H

#include "accuracy.h"
#include "data_class.h"
#include "trial.h"

struct class_errors {
    struct accuracy own, rival, in_order; /* unknown: there is none */
    bool right;                           /* own is within the bound of the problem's type */
    double bound; /* of own.componentwise, on a kind of data where that is all; 0: as small as FP32's */
    char detail[OUTCOME_DETAIL_MAX]; /* if not */
};

/* The problem on which a winner for `tuned` is checked: the same, but with at most 512 rows and columns and
 * 16384 k, one item, alpha 1, beta 0, and lines without gaps beyond the next multiple of four. */
struct problem accuracy_problem(const struct problem *tuned);

/* Of one kind of data. The candidate must be legal for the problem. Errors: as trial_run. */
enum status accuracy_measure(struct trial_setup *setup, const struct candidate *candidate,
                             const struct problem *problem, enum data_class which,
                             struct class_errors *errors);

/* What the type allows: own against its bound or the larger of the two others (accuracy_answers). */
bool class_errors_answer(const struct gemm_type_row *row, const struct class_errors *errors);

#endif

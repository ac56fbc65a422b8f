/* data_class.h — the kinds of operands on which an accuracy class holds its promise. Arithmetic alone.
 */
#ifndef GT_DATA_CLASS_H
#define GT_DATA_CLASS_H

#include "oracle_plan.h"

enum data_class {
    DATA_CLASS_UNIFORM, /* both signs */
    DATA_CLASS_POSITIVE,
    DATA_CLASS_NORMAL,
    DATA_CLASS_LOGNORMAL,
    DATA_CLASS_NEAR_ONE,
    DATA_CLASS_ROWS,       /* rows of op(A) graded by 2^-40 to 2^40 */
    DATA_CLASS_COLUMNS,    /* columns of op(B) */
    DATA_CLASS_K,          /* columns of op(A), and rows of op(B) by the inverse */
    DATA_CLASS_CANCELLING, /* products of neighbouring k leave 2^-12 of each other */
    DATA_CLASS_HUGE,       /* op(A) up to the largest float, op(B) up to 2^-30 */
    DATA_CLASS_COUNT
};

const char *data_class_name(enum data_class which);

/* The rules of its operands, in place of uniform ones. */
struct random_test data_class_test(enum data_class which, const struct problem *problem, uint64_t seed);

#endif

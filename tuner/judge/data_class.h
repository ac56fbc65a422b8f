/* data_class.h — the kinds of operands on which the last check measures an accuracy class. Arithmetic alone.
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
    DATA_CLASS_SPARSE,     /* three of four elements of op(A) are 0 */
    DATA_CLASS_OUTLIERS,   /* about one column of op(A) of 64 is 2^7 times as large */
    /* Here FP32's errors are chance, or none: only accuracy_bound is asked for. */
    DATA_CLASS_EMPTY,      /* about one element of op(A) of 512 is not 0 */
    DATA_CLASS_SPIKES,     /* about one element of op(A) of 512 is 2^40 times as large */
    DATA_CLASS_CANCEL_FAR, /* some products, 2^40 times the others, cancel exactly */
    DATA_CLASS_COUNT
};

const char *data_class_name(enum data_class which);

/* Does a class promise errors as small as FP32's on it? Else only its bound, accuracy_bound. */
bool data_class_is_compared(enum data_class which);

/* The rules of its operands, in place of uniform ones. */
struct random_test data_class_test(enum data_class which, const struct problem *problem, uint64_t seed);

#endif

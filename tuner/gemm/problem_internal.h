/* problem_internal.h — what the sizes of a problem (problem.c) share with its text form (problem_text.c). */
#ifndef GT_PROBLEM_INTERNAL_H
#define GT_PROBLEM_INTERNAL_H

#include "problem.h"

#define PROBLEM_NO_STRIDES "with pointers each item of the batch has its own address: there are no strides"

#define STRIDE_ABSENT  (-1) /* not given: 0 is a stride */
#define STRIDES_ABSENT .stride_a = STRIDE_ABSENT, .stride_b = STRIDE_ABSENT, .stride_c = STRIDE_ABSENT

/* Sets every leading dimension of 0, and every absent stride, to its default. The sizes must be in range,
 * because the defaults are products of them. */
void problem_set_defaults(struct problem *p);

/* Leading dimensions are at most 2^31. Errors: E_INPUT. */
enum status problem_check_ld(const struct problem *p);

#endif

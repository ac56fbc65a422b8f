/* shape.h — where a problem lies among others, and how far apart two are. Arithmetic alone. */
#ifndef GT_SHAPE_H
#define GT_SHAPE_H

#include "problem.h"

struct shape {
    float log_m, log_n, log_k, log_batch; /* base 2 of 1 + size */
    float alpha, beta;
    uint8_t kind;     /* type and op: those of another kind are no neighbours */
    uint8_t align[3]; /* of A, B and C: 4, 2 or 1 elements */
    bool tight;       /* rows without padding */
};

struct shape shape_of(const struct problem *problem);

/* How far two problems are from each other: the root of the summed squares of log2 of the ratio of each size,
 * 1 where one size has doubled. To that 0.25 for each operand whose alignment differs, 0.02 each for other
 * leading dimensions and another alpha or beta. INFINITY for those of another kind. */
double shape_distance(const struct shape *x, const struct shape *y);

#endif

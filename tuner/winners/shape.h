/* shape.h — the position of a problem among others, and the distance between two. Arithmetic alone. */
#ifndef GT_SHAPE_H
#define GT_SHAPE_H

#include "problem.h"

struct shape {
    float log_m, log_n, log_k, log_batch; /* base 2 of 1 + size */
    float alpha, beta;
    uint8_t type, op; /* an enum gemm_type; 2 * trans_a + trans_b */
    uint8_t align[3]; /* of A, B and C: in elements */
    bool tight;       /* rows without padding */
};

struct shape shape_of(const struct problem *problem);

/* How far a problem that was tuned is from one that is asked for: the root of the summed squares of log2 of
 * the ratio of each size, 1 where one size has doubled. To that 0.25 for each operand whose alignment
 * differs, 0.02 each for another type, other leading dimensions and another alpha or beta. INFINITY for those
 * of another op, and if what won for the one does not answer the other (gemm_type_answers). */
double shape_distance(const struct shape *tuned, const struct shape *asked);

#endif

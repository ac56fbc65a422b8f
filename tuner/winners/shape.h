/* shape.h — represents problems as points, and defines the distance between two. Arithmetic alone. */
#ifndef GT_SHAPE_H
#define GT_SHAPE_H

#include "problem.h"

struct shape {
    float log_m, log_n, log_k, log_batch; /* base 2 of 1 + size */
    float alpha, beta;
    uint8_t type, op; /* an enum gemm_type; 2 * trans_a + trans_b */
    uint8_t epilogue; /* a code of epilogue.h */
    uint8_t align[3]; /* of A, B and C: in elements */
    bool tight;       /* rows without padding */
    bool pointers;    /* arrays of the addresses of batch items */
};

struct shape shape_of(const struct problem *problem);

/* The distance between two problems: the root of the summed squares of log2 of the ratio of each size, so 1
 * if one size has doubled. Added to it are GT_SHAPE_ALIGNMENT for each operand whose alignment differs, and
 * GT_SHAPE_DETAIL each for another type, for another epilogue, for padding or pointers that only one of them
 * has, and for another alpha or beta. The op does not count. An exported header has the same formula
 * (gt_winner_distance).
 */
double shape_distance(const struct shape *x, const struct shape *y);

/* Whether the winner for one may compute the other: same op and epilogue, both with pointers or neither,
 * and a type that answers the other's.
 */
bool shape_answers(const struct shape *tuned, const struct shape *asked);

#endif

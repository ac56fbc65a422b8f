/* shape.h — represents problems as points, and defines the distance between two. Arithmetic alone. */
#ifndef GT_SHAPE_H
#define GT_SHAPE_H

#include "problem.h"

struct shape {
    float log_m, log_n, log_k, log_batch; /* base 2 of 1 + size */
    uint8_t type, op;                     /* an enum gemm_type; 2 * trans_a + trans_b */
    uint8_t epilogue;                     /* a code of epilogue.h */
    uint8_t align[3];                     /* of A, B and C: in elements */
    bool tight;                           /* rows without padding */
    bool pointers;                        /* arrays of the addresses of batch items */
    uint8_t prepared;                     /* an enum prepared_operand */
    bool invariant;
    bool adds, nulls;  /* beta is not 0; alpha is 0 */
    bool one_a, one_b; /* the items of a batch share A, or B */
};

struct shape shape_of(const struct problem *problem);

/* The distance between two problems: the root of the summed squares of log2 of the ratio of each size, so 1
 * if one size has doubled. Added to it are GT_SHAPE_ALIGNMENT for each operand whose alignment differs, and
 * GT_SHAPE_DETAIL each for another type, for another epilogue, for padding, pointers or a prepared operand
 * that only one of them has, for an alpha or beta that is 0 in only one of them, and for a matrix that items
 * share in only one of them. The op does not count. An exported header has the same formula
 * (gt_winner_distance).
 */
double shape_distance(const struct shape *x, const struct shape *y);

/* True if the winner for one may compute the other: same op and epilogue, both with pointers or neither, both
 * invariant or neither, a type that answers the other's, and not the two operands prepared. A winner that was
 * timed with a prepared operand answers calls without only if it reads none (nearest_saves_work). */
bool shape_answers(const struct shape *tuned, const struct shape *wanted);

#endif

/* verify_cases.h — the problems, besides the tuned one, that a winner must compute correctly. Arithmetic
 * alone.
 *
 * Ragged sizes around the tile's edges, padded leading dimensions, batches, and special values of alpha,
 * beta, K = 0, NaN and infinity. Half of the shapes are multiples of four, so that kernels with vector loads
 * meet edges too.
 */
#ifndef GT_VERIFY_CASES_H
#define GT_VERIFY_CASES_H

#include "config.h"
#include "problem.h"

#define VERIFY_CASES_MAX 240

enum verify_data {
    DATA_PLAIN,
    DATA_NAN_OPERANDS, /* A and B are all NaN: with alpha = 0 it must not show in C */
    DATA_NOT_FINITE    /* one infinity in A, one NaN in B: both must reach C */
};

struct verify_case {
    struct problem problem;
    enum verify_data data;
};

/* Fills cases (VERIFY_CASES_MAX) for the op, type and epilogue of the tuned problem, with pointers like it,
 * and the tile of the configuration. Returns their number. */
int verify_cases(const struct config *config, const struct problem *tuned, struct verify_case *cases);

#endif

/* oracle_plan.h — what the judge computes and with which bounds, by arithmetic alone. Knows no GPU.
 *
 * The bounds and the exact test are those of docs/measuring.md, "Judging right and wrong".
 */
#ifndef GT_ORACLE_PLAN_H
#define GT_ORACLE_PLAN_H

#include "gpu.h"
#include "oracle_args.h"
#include "problem.h"

#define ORACLE_PIECES_MAX  256
#define ORACLE_SAMPLE_ROWS 64

/* |c - ref| <= slope * g + rounding * |c| with g = |alpha| |A||B| + |beta||C|. slope = 4 u K + 2 v, where u
 * is the roundoff of a sum in the problem's type and v that of an operand: the reference is of the operands
 * as they are stored, so that a kernel which does not round them is as right as one that does. */
struct error_bound {
    double slope, rounding;
};
struct error_bound oracle_bound(const struct problem *problem);

/* The exact test: whole numbers so small that operands are not rounded, and that every partial sum in any
 * order is below `limit` and so exact: 2^24 where C and its sums are FP32. alpha and beta are the problem's
 * where they are small whole numbers; else alpha = 1, and beta = 1. */
struct exact_test {
    double alpha, beta, limit;
    struct fill_rule a, b, c;
};
struct exact_test oracle_exact_test(const struct problem *problem, uint64_t seed);

/* Operands of the test with random data, uniform in [-1, 1). */
struct random_test {
    struct fill_rule a, b, c;
};
struct random_test oracle_random_test(uint64_t seed);

/* Which elements of C get a right answer. */
struct oracle_plan {
    struct piece pieces[ORACLE_PIECES_MAX];
    int count;
    bool sampled;           /* not all of C: some rows of some batch items */
    int64_t elements;       /* answers in all pieces */
    int64_t rows, rows_all; /* of C, all batch items */
    int splits;             /* of K */
    int64_t k_per_split;
    int64_t partial_bytes; /* scratch, for the largest piece */
};

/* What the reference may cost. */
struct oracle_limits {
    double products; /* multiplications: about 20 s of the GPU's FP64 units */
    int64_t bytes;   /* device memory for answers and scratch */
    int blocks;      /* fewer than this do not fill the GPU: K is split */
};
struct oracle_limits oracle_limits(const struct gpu *gpu, int64_t bytes);

/* All of C if the limits allow; else its first and last rows and random ones, as many as they allow (always
 * some). */
void oracle_plan(const struct problem *problem, const struct oracle_limits *limits, uint64_t seed,
                 struct oracle_plan *plan);

/* Device memory that the answers of a plan take: random and exact test, scratch excluded. */
int64_t oracle_answer_bytes(const struct oracle_plan *plan);

/* Where the answer of that number lies in C; false if there is none. */
bool oracle_place(const struct oracle_plan *plan, int64_t n, uint64_t answer, int64_t *item, int64_t *row,
                  int64_t *col);

#endif

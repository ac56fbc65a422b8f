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

/* |c - ref| <= slope * g + rounding * |c| with g = |alpha| |A||B| + |beta||C| + |bias|. slope = 4 u K + 2 v,
 * where u is the roundoff of a sum in the problem's type and v that of an operand. The reference is computed
 * from the operands as stored, so a kernel that does not round them is as right as one that does.
 *
 * With an epilogue slope = L (4 u K + 2 v + 3 u) + activation: beta C, the sum with the bias and what the
 * activation is applied to are rounded even where K is 0; L is the activation's steepest slope; activation is
 * its own error, relative to its argument. */
struct error_bound {
    double slope, rounding, activation;
};
struct error_bound oracle_bound(const struct problem *problem);

/* The exact test uses integers so small that operands are not rounded, and that every partial sum in any
 * order is below `limit` and therefore exact: 2^24 where C and its sums are FP32. alpha and beta are the
 * problem's if they are small integers; otherwise they are 1.
 *
 * Before an activation the products are not negative, so that it hides none of them. GELU is not exact: its
 * limit is 2^18, below which its allowed error is less than 1/2. */
struct exact_test {
    double alpha, beta, limit;
    struct fill_rule rule[OPERANDS]; /* C and the source have the same */
};
struct exact_test oracle_exact_test(const struct problem *problem, uint64_t seed);

/* Operands of the test with random data, uniform in [-1, 1). */
struct random_test {
    struct fill_rule rule[OPERANDS];
};
struct random_test oracle_random_test(uint64_t seed);

/* The elements of C for which answers are computed. */
struct oracle_plan {
    struct piece pieces[ORACLE_PIECES_MAX];
    int count;
    bool sampled;           /* only some rows, or parts of them, of some batch items */
    int64_t elements;       /* number of answers in all pieces */
    int64_t rows, rows_all; /* of C, over all batch items; parts of rows count as rows */
    int64_t row_elements;
    int splits; /* of K */
    int64_t k_per_split;
    int64_t partial_bytes; /* scratch, for the largest piece */
    bool exact_masses;     /* the exact test has masses, too: what an activation that is not exact is given */
};

/* Limits on the cost of the reference. */
#define ORACLE_SECONDS 20.0 /* of the GPU's FP64 units, if there is no hurry */
struct oracle_limits {
    double products; /* multiplications */
    int64_t bytes;   /* device memory for answers and scratch */
    int blocks;      /* fewer do not fill the GPU: then K is split */
    int64_t piece;   /* elements of a piece, which bound its scratch: 1 GiB */
};
struct oracle_limits oracle_limits(const struct gpu *gpu, int64_t bytes, double seconds);

/* All of C if the limits allow; otherwise its first and last rows and random ones, as many as the limits
 * allow (at least some); of rows that are too long for that, parts. */
void oracle_plan(const struct problem *problem, const struct oracle_limits *limits, uint64_t seed,
                 struct oracle_plan *plan);

/* Device memory for the answers of a plan: random and exact test, without scratch. */
int64_t oracle_answer_bytes(const struct oracle_plan *plan);

/* The position in C of an answer, given by its number; false if there is no such answer. */
bool oracle_place(const struct oracle_plan *plan, uint64_t answer, int64_t *item, int64_t *row, int64_t *col);

#endif

/* surrogate.h — a Gaussian process: from what some points gave, what others may be expected to give, and how
 * sure that is. Knows no search.
 *
 * Points have small whole coordinates, and belong to groups (of candidates: kernel templates) that have
 * nothing in common but the trend. Expected is trend + process:
 *
 *     trend    mean + slope * advice, by least squares; advice is what a model says of the point
 *     process  covariance 1 / (1 + sum over d of weight[d] * |x[d] - y[d]|) within a group, 0 between groups:
 *              the mean of exp(-s * sum) over all scales s, each with density exp(-s)
 *
 * Rows are the points whose values are known or awaited, slots those that are asked about. A further row
 * costs rows * (rows + slots), an answer for all slots as much. After Rasmussen & Williams, "Gaussian
 * Processes for Machine Learning", 2006, chapters 2 and 5; what is awaited is assumed to come as expected,
 * after Ginsbourger, Le Riche & Carraro, "Kriging is well-suited to parallelize optimization", 2010.
 */
#ifndef GT_SURROGATE_H
#define GT_SURROGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SURROGATE_DIMS 32

struct surrogate;

struct surrogate_point {
    uint8_t level[SURROGATE_DIMS]; /* 0 in dimensions that its group does not use */
    uint8_t group;                 /* below the number of groups */
    float advice;
};

/* Room for so many rows and slots. slope and deviation (of the process) are what is assumed of them before
 * values say otherwise. NULL: out of memory. */
struct surrogate *surrogate_build(int groups, size_t rows_max, size_t slots_max, double slope,
                                  double deviation);
void surrogate_free(struct surrogate *s); /* takes NULL */

/* How much noise the values have, as a share of the variance of the process; 1e-4 unless told, before there
 * are rows. */
void surrogate_noise(struct surrogate *s, double share);

size_t surrogate_rows(const struct surrogate *s);

/* A further row; there must be room. false: the covariance would not be positive definite; nothing is added.
 */
bool surrogate_add(struct surrogate *s, const struct surrogate_point *point);

/* Removes all rows; weights and slots stay. */
void surrogate_clear(struct surrogate *s);

/* Put points into slots, in place of what was there. */
void surrogate_place(struct surrogate *s, const size_t *slot, const struct surrogate_point *point,
                     size_t count);

/* The weights that are likeliest when the rows gave these values (NAN: awaited). Rows and slots stay. false:
 * the covariance is not positive definite any more; there are no rows. */
bool surrogate_fit(struct surrogate *s, const double *value);

/* The expected value of each slot when the rows gave these values (NAN: awaited), and its standard deviation.
 * false: no value is known. */
bool surrogate_expect(struct surrogate *s, const double *value, float *mean, float *deviation);

/* The expected addition of the process, without the trend, for points that are in no slot: rows * count,
 * after rows * rows. Every value must be known. */
void surrogate_process(struct surrogate *s, const double *value, const struct surrogate_point *point,
                       size_t count, double *process);

#endif

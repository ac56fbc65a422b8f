/* nearest.h — which measured problems are like a given one, and what their winners would take for it.
 *
 * Plain arithmetic over struct known; knows neither GPU nor database.
 */
#ifndef GT_NEAREST_H
#define GT_NEAREST_H

#include "known.h"

#define NEAREST_MAX    16
#define NEAREST_RADIUS 1.5 /* farther ones say nothing: by then one size has nearly tripled */

struct neighbour {
    const struct known_winner *winner;
    double distance; /* see nearest_distance, waves included once known */
    double time_us;  /* what its configuration, or cuBLAS, is expected to take for the problem */
};

/* How far a measured problem is from another of the same type and op: the root of the summed squares of log2
 * of the ratio of each size, 1 where one size has doubled. To that 0.25 for each operand whose alignment
 * differs, 0.02 each for other leading dimensions and another alpha or beta, 0.1 for times taken with a hot
 * cache. */
double nearest_distance(const struct known_winner *winner, const struct problem *problem);

/* The measured and exactly judged winners of this GPU within the radius whose configuration is legal for the
 * problem and for operands aligned to so many bytes, nearest first, at most NEAREST_MAX. The distance grows
 * by the difference in how full the last wave is. */
int nearest_find(const struct known *known, const struct problem *problem, int alignment,
                 struct neighbour neighbours[NEAREST_MAX]);

/* The problem with leading dimensions, or strides of the batch, that admit no vector access wider than the
 * alignment in bytes: what a template's check says of it holds for the problem with such operands. */
struct problem nearest_as_aligned(const struct problem *problem, int alignment);

/* NULL if the configuration is right for the problem with such operands, else why not. */
const char *nearest_illegal(const struct config *config, const struct problem *problem, int alignment,
                            const struct gpu *gpu);

#endif

/* nearest.h — which measured problems are like a given one, and what their winners would take for it.
 *
 * Plain arithmetic over struct winner_store; knows neither GPU nor database.
 */
#ifndef GT_NEAREST_H
#define GT_NEAREST_H

#include "winner_store.h"

#define NEAREST_MAX    16
#define NEAREST_RADIUS 1.5 /* farther ones say nothing: by then one size has nearly tripled */

struct neighbour {
    const struct stored_winner *winner;
    double distance; /* of their shapes, 0.1 more for times taken with a hot cache, waves included once known
                      */
    double time_us;  /* what its configuration, or cuBLAS, is expected to take for the problem */
};

/* The measured and exactly judged winners of this GPU within the radius whose configuration is legal for the
 * problem and for operands aligned to so many bytes, nearest first, at most NEAREST_MAX. The distance grows
 * by the difference in how full the last wave is. Reads from the database what is near, and only that.
 * Errors: E_MEMORY. */
enum status nearest_find(struct winner_store *store, const struct problem *problem, int alignment,
                         struct neighbour neighbours[NEAREST_MAX], int *count);

/* The problem with leading dimensions, or strides of the batch, that admit no vector access wider than the
 * alignment in bytes: what a template's check says of it holds for the problem with such operands. */
struct problem nearest_as_aligned(const struct problem *problem, int alignment);

/* NULL if the configuration may be used for the problem with such operands, else why not: its rules, more
 * workspace than store->workspace_bytes, or it is excluded. */
const char *nearest_illegal(const struct winner_store *store, const struct config *config,
                            const struct problem *problem, int alignment);

/* What cuBLAS, as the winner's race saw it, is expected to take for another problem, in the arithmetic of
 * that problem's type. 0: there was no cuBLAS in the race. */
double nearest_cublas_us(const struct gpu *gpu, const struct stored_winner *winner,
                         const struct problem *problem);

#endif

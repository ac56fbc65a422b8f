/* gp_parts.h — the inside of the strategy gp, shared by search_gp.c (trials and proposals), gp_rows.c (what
 * the surrogate is told) and gp_pool.c (which candidates it is asked about). No other file includes it.
 */
#ifndef GT_GP_PARTS_H
#define GT_GP_PARTS_H

#include "neighbours.h"
#include "opening.h"
#include "surrogate.h"
#include <assert.h>

enum {
    GP_ROWS = 320,   /* trials that the surrogate holds */
    GP_SLOTS = 1024, /* the pool */
    GP_BEST = 8,     /* whose neighbours are in it */
};

struct gp_trial {
    size_t candidate;
    double log_us; /* rounded; NAN: not told; INFINITY: unusable */
};

struct gp {
    const struct config *candidates;
    size_t count;
    const double *predicted_us;  /* NULL: none */
    const struct growth *growth; /* NULL: none */
    uint64_t random;
    struct neighbours *near;
    struct surrogate *surrogate;

    struct gp_trial *trial; /* in the order proposed, or told unasked; room for all candidates */
    uint32_t *trial_of;     /* a candidate's, + 1; 0: none */
    size_t trials, told, usable;
    size_t synced;       /* trials before this one are rows, or were passed over for better ones */
    size_t row[GP_ROWS]; /* the trial of each */
    double value[GP_ROWS];
    size_t next_fit; /* at how many told */

    struct opening opening;
    size_t best[GP_BEST], bests; /* trials, fastest first */
    bool *pooled;                /* a candidate: in a slot */
    bool *cheap;                 /* a candidate: another launch of a kernel that has been proposed */
    size_t slot[GP_SLOTS];       /* the candidate; NEIGHBOURS_NONE: free */
    float gain[GP_SLOTS], mean[GP_SLOTS], deviation[GP_SLOTS];
    struct surrogate_point fresh[GP_SLOTS]; /* what comes into slots */
    size_t fresh_slot[GP_SLOTS], fresh_count;
    double best_gain; /* the largest when the last proposal was made; NAN: none yet */
    size_t in_order;  /* all below are trials */

    bool broken;    /* the surrogate is given up */
    bool unlearned; /* there was a proposal without it */
    char note[160];
};

static_assert((int)SURROGATE_DIMS == (int)CONFIG_PARAMS_MAX, "a point has room for every parameter");

/* gp_rows.c */

/* The place of a candidate, and the model's time. */
void gp_place(const struct gp *g, size_t candidate, struct surrogate_point *point);
/* Every trial becomes a row. False: the surrogate fails. */
bool gp_take_in(struct gp *g);
/* The value of each row, from that of the best (gp_rank). */
void gp_take_values(struct gp *g);

/* gp_pool.c */

/* The fastest trials. A new one among them brings its neighbours into the pool. */
void gp_rank(struct gp *g);
/* New ones in the place of those that promise least. */
void gp_freshen(struct gp *g, bool first);
/* The slot that promises most for what it takes; GP_SLOTS if the pool is empty. */
size_t gp_most_promising(struct gp *g);
/* Other launches of a kernel that has been proposed. */
void gp_mark_cheap(struct gp *g, const size_t *list, size_t count);

#endif

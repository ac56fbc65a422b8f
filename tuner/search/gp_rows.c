#include "gp_parts.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_KEPT = 224 /* when there are more than GP_ROWS */ };

static const double step_least = 0.02; /* of log time over the best: up to 0.0044 counts as nothing */
static const double step_growth = 0.4;
static const double slow = 0.35;    /* log of the factor beyond the best from which on times count alike */
static const double unusable = 0.7; /* what a failure counts as: worse than slow */

void gp_place(const struct gp *g, size_t candidate, struct surrogate_point *point)
{
    point->group = (uint8_t)neighbours_place(g->near, candidate, point->level);
    const double later = g->predicted_us ? log(g->predicted_us[candidate] / g->predicted_us[0]) : 0;
    point->advice = (float)fmin(later, slow);
}

static bool add_row(struct gp *g, size_t number)
{
    struct surrogate_point point;
    gp_place(g, g->trial[number].candidate, &point);
    g->row[surrogate_rows(g->surrogate)] = number;
    return surrogate_add(g->surrogate, &point);
}

/* Rows that wait for a time come first, then the fastest; of equals the earlier. */
static int by_worth(const void *x, const void *y)
{
    const struct gp_trial *a = *(const struct gp_trial *const *)x, *b = *(const struct gp_trial *const *)y;
    if (isnan(a->log_us) != isnan(b->log_us)) return isnan(a->log_us) ? -1 : 1;
    if (a->log_us != b->log_us && !isnan(a->log_us)) return a->log_us < b->log_us ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Too many trials for the surrogate: keep the better half of what it may have, and an even choice of the
 * others. */
static bool thin(struct gp *g)
{
    const struct gp_trial **sorted = malloc(g->trials * sizeof *sorted);
    if (!sorted) return false;
    for (size_t i = 0; i < g->trials; i++) sorted[i] = &g->trial[i];
    qsort(sorted, g->trials, sizeof *sorted, by_worth);
    surrogate_clear(g->surrogate);
    const size_t half = ROWS_KEPT / 2, others = g->trials - half;
    bool good = true;
    for (size_t i = 0; i < ROWS_KEPT && good; i++) {
        const size_t at = i < half ? i : half + (i - half) * others / half;
        good = add_row(g, (size_t)(sorted[at] - g->trial));
    }
    free(sorted);
    return good;
}

bool gp_take_in(struct gp *g)
{
    bool good = true;
    if (surrogate_rows(g->surrogate) + g->trials - g->synced > GP_ROWS) {
        good = thin(g);
        /* what is in the pool is looked at anew */
        g->fresh_count = 0;
        for (size_t i = 0; i < GP_SLOTS; i++)
            if (g->slot[i] != NEIGHBOURS_NONE) {
                gp_place(g, g->slot[i], &g->fresh[g->fresh_count]);
                g->fresh_slot[g->fresh_count++] = i;
            }
        surrogate_place(g->surrogate, g->fresh_slot, g->fresh, g->fresh_count);
        g->fresh_count = 0;
        g->synced = g->trials;
    }
    for (; g->synced < g->trials && good; g->synced++) good = add_row(g, g->synced);
    return good;
}

/* Rounds an excess to steps that grow with it: the slower a candidate is, the less it matters by how much,
 * and noise seldom changes the surrogate's values. */
static double in_steps(double excess)
{
    return step_least * expm1(rint(log1p(excess / step_least) / step_growth) * step_growth);
}

/* The surrogate's values: the logarithm of how many times slower than the best, but at most `slow`. */
void gp_take_values(struct gp *g)
{
    const double best = g->trial[g->best[0]].log_us;
    for (size_t r = 0; r < surrogate_rows(g->surrogate); r++) {
        const double log_us = g->trial[g->row[r]].log_us;
        g->value[r] = isnan(log_us) ? log_us : isinf(log_us) ? unusable : fmin(in_steps(log_us - best), slow);
    }
}

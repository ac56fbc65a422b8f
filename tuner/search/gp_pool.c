#include "gp_parts.h"

#include "stats.h"
#include "template.h"
#include <math.h>
#include <string.h>

enum {
    PAIRS = 256, /* of the neighbours in two parameters of each of the best */
    RANDOM_FIRST = 512,
    RANDOM_MORE = 40, /* a proposal */
    CROSSED = 10,     /* a proposal, where the list of candidates grows */
};

static const float cheap_weight = 6; /* what a gain counts that takes no compilation (Snoek et al., 2012) */
static const float first_margin = 0.12f; /* of log time: how far below the best a gain is one at first */
static const float margin_ends = 60;     /* trials */

void gp_mark_cheap(struct gp *g, const size_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) g->cheap[list[i]] = true;
}

/* The slot that is free, or else promises least. What has just come stays. */
static size_t poorest(const struct gp *g)
{
    size_t at = 0;
    for (size_t i = 0; i < GP_SLOTS; i++) {
        if (g->slot[i] == NEIGHBOURS_NONE) return i;
        if (g->gain[i] < g->gain[at]) at = i;
    }
    return at;
}

static void admit(struct gp *g, size_t candidate)
{
    if (g->pooled[candidate] || g->trial_of[candidate] || g->fresh_count == GP_SLOTS) return;
    const size_t at = poorest(g);
    if (g->slot[at] != NEIGHBOURS_NONE) g->pooled[g->slot[at]] = false;
    g->slot[at] = candidate;
    g->gain[at] = INFINITY;
    g->pooled[candidate] = true;
    gp_place(g, candidate, &g->fresh[g->fresh_count]);
    g->fresh_slot[g->fresh_count++] = at;
}

static void admit_neighbours(struct gp *g, size_t candidate)
{
    size_t list[NEIGHBOURS_MAX];
    for (int kind = NEIGHBOUR_LAUNCH; kind <= NEIGHBOUR_PAIR; kind++) {
        const size_t count = neighbours_of(g->near, candidate, (enum neighbour_kind)kind, list);
        const bool all = kind != NEIGHBOUR_PAIR || count <= PAIRS;
        if (kind == NEIGHBOUR_LAUNCH) gp_mark_cheap(g, list, count);
        for (size_t i = 0; i < (all ? count : PAIRS); i++) {
            if (!all) { /* as a shuffled list begins */
                const size_t j = i + (size_t)stats_random_below(&g->random, count - i), x = list[j];
                list[j] = list[i];
                list[i] = x;
            }
            admit(g, list[i]);
        }
    }
}

/* The first values of a random candidate and the others of one of the best. */
static void admit_crossed(struct gp *g)
{
    for (int i = 0; i < CROSSED && g->growth; i++) {
        const size_t other = opening_draw(g->predicted_us, g->count, &g->random);
        const size_t best = g->trial[g->best[stats_random_below(&g->random, g->bests)]].candidate;
        const struct template *t = g->candidates[best].template;
        const size_t cut = 1 + (size_t)stats_random_below(&g->random, (uint64_t)t->param_count);
        struct config c = g->candidates[best];
        if (g->candidates[other].template != t) continue;
        memcpy(c.value, g->candidates[other].value, cut * sizeof *c.value);
        const size_t found = neighbours_reach(g->near, &c, best);
        if (found != NEIGHBOURS_NONE) admit(g, found);
    }
}

/* Fastest first; of equals the earlier. */
void gp_rank(struct gp *g)
{
    size_t best[GP_BEST], count = 0;
    for (size_t t = 0; t < g->trials; t++) {
        const double log_us = g->trial[t].log_us;
        size_t at = count;
        if (!isfinite(log_us)) continue;
        while (at > 0 && log_us < g->trial[best[at - 1]].log_us) at--;
        if (at == GP_BEST) continue;
        if (count < GP_BEST) count++;
        for (size_t i = count - 1; i > at; i--) best[i] = best[i - 1];
        best[at] = t;
    }
    for (size_t i = 0; i < count; i++) {
        bool old = false;
        for (size_t j = 0; j < g->bests; j++) old = old || g->best[j] == best[i];
        if (!old) admit_neighbours(g, g->trial[best[i]].candidate);
    }
    memcpy(g->best, best, count * sizeof *best);
    g->bests = count;
}

void gp_freshen(struct gp *g, bool first)
{
    for (int i = 0; i < (first ? RANDOM_FIRST : RANDOM_MORE); i++)
        admit(g, opening_draw(g->predicted_us, g->count, &g->random));
    admit_crossed(g);
    surrogate_place(g->surrogate, g->fresh_slot, g->fresh, g->fresh_count);
}

/* The margin by which a candidate must be faster than the best for a gain to begin. At first the best known
 * is far from the best of all, and a candidate that is a little faster teaches little. */
static float margin(const struct gp *g)
{
    return first_margin * fmaxf(0, 1 - (float)g->trials / margin_ends);
}

/* The expected gain over zero: of a normal variable, what it lies below on average. */
static float expected_gain(float mean, float deviation)
{
    const float u = -mean / deviation;
    return deviation * (u * 0.5f * erfcf(-u * 0.70710678f) + 0.39894228f * expf(-0.5f * u * u));
}

size_t gp_most_promising(struct gp *g)
{
    size_t most = GP_SLOTS;
    float worth = 0, best = 0;
    const float beyond = margin(g);
    for (size_t i = 0; i < GP_SLOTS; i++) {
        if (g->slot[i] == NEIGHBOURS_NONE) continue;
        g->gain[i] = expected_gain(g->mean[i] + beyond, fmaxf(g->deviation[i], 1e-6f));
        best =
            fmaxf(best, beyond > 0 ? expected_gain(g->mean[i], fmaxf(g->deviation[i], 1e-6f)) : g->gain[i]);
        const float w = g->gain[i] * (g->cheap[g->slot[i]] ? cheap_weight : 1);
        if (most != GP_SLOTS && w <= worth) continue;
        most = i;
        worth = w;
    }
    if (most != GP_SLOTS) g->best_gain = (double)best;
    return most;
}

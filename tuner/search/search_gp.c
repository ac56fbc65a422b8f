/* search_gp.c — search by expected improvement over a surrogate (surrogate.h) of log time.
 *
 * It begins with a few candidates far apart, and then proposes what is expected to gain most over the best
 * time known: little where times are known to be bad, much where they are good or little is known. What is
 * slow is slow: beyond a factor all times count alike; candidates that fail count as worse. Where a model has
 * ordered the candidates, its logarithm is the surrogate's trend, with a weight that is learned. In the first
 * trials only what is faster by more than a margin counts as a gain (gp_pool.c), so that they do not go into
 * the details of a place that is not the best.
 *
 * Only a pool of candidates is looked at: neighbours of the best, and random ones, of which a few new ones
 * come with each proposal in the place of those that promise least. Where the candidates are a sample, others
 * that are not in it come, too: the tile of a random one with the details of one of the best, cut anywhere,
 * since the parameters of a template go from the tile to the details. So a proposal costs the same, however
 * many candidates there are. Nor does it grow with the trials: the surrogate keeps some hundreds, the best
 * and an even choice of the others.
 *
 * Times are rounded to what a measurement is worth, and those of slower candidates more, so that decisions
 * seldom depend on noise.
 *
 * Where no surrogate can be made, the candidates come in the model's order and at random. Constants were
 * decided by replaying recorded spaces (docs/results/search-replay.md). After Jones, Schonlau & Welch,
 * "Efficient global optimization of expensive black-box functions", 1998.
 */
#include "search.h"

#include "gp_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FIT = 9 /* trials after which weights are fitted first */ };

#define UNLEARNED "the search goes on in the model's order and at random"

static const double grain = 0.002;           /* of log time: what a measurement is worth */
static const double assumed_slope = 1;       /* of log time over the logarithm of what the model predicts */
static const double assumed_deviation = 0.2; /* of the values told to the surrogate */
static const double fit_growth = 1.25;       /* weights are fitted again after so many times the trials */

/* ---- life ---- */

static void stop(void *self)
{
    struct gp *g = self;
    neighbours_free(g->near);
    surrogate_free(g->surrogate);
    free(g->trial);
    free(g->trial_of);
    free(g->pooled);
    free(g->cheap);
    free(g);
}

static void *start(const struct config *candidates, size_t count, const double *predicted_us,
                   const struct growth *growth, uint64_t seed)
{
    const size_t room = growth ? growth->room : count;
    struct gp *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->candidates = candidates;
    g->count = count;
    g->predicted_us = predicted_us;
    g->growth = growth;
    g->random = seed;
    g->next_fit = FIRST_FIT;
    g->best_gain = (double)NAN;
    g->near = neighbours_build(candidates, count, growth);
    g->surrogate = g->near ? surrogate_build(neighbours_templates(g->near) + 1, GP_ROWS, GP_SLOTS,
                                             predicted_us ? assumed_slope : 0, assumed_deviation)
                           : NULL;
    g->trial = calloc(room + 1, sizeof *g->trial);
    g->trial_of = calloc(room + 1, sizeof *g->trial_of);
    g->pooled = calloc(room + 1, sizeof *g->pooled);
    g->cheap = calloc(room + 1, sizeof *g->cheap);
    if (!g->near || !g->surrogate || !g->trial || !g->trial_of || !g->pooled || !g->cheap) {
        stop(g);
        return NULL;
    }
    for (int i = 0; i < GP_SLOTS; i++) g->slot[i] = NEIGHBOURS_NONE;
    opening_choose(&g->opening, candidates, count, predicted_us, &g->random);
    return g;
}

/* ---- trials ---- */

/* The other launches of the kernel are cheap, but no reason for the list of candidates to grow. */
static struct gp_trial *take(struct gp *g, size_t candidate)
{
    struct gp_trial *t = &g->trial[g->trials];
    *t = (struct gp_trial){candidate, (double)NAN};
    g->trial_of[candidate] = (uint32_t)++g->trials;
    size_t list[NEIGHBOURS_MAX];
    gp_mark_cheap(g, list, neighbours_listed_launches(g->near, candidate, list));
    return t;
}

static enum search_answer propose(struct gp *g, size_t candidate, size_t *index)
{
    take(g, candidate);
    *index = candidate;
    return SEARCH_TRY;
}

static void tell(void *self, size_t index, double time_us)
{
    struct gp *g = self;
    struct gp_trial *t = g->trial_of[index] ? &g->trial[g->trial_of[index] - 1] : take(g, index);
    if (isnan(t->log_us)) g->told++;
    else g->usable -= isfinite(t->log_us);
    t->log_us = time_us > 0 ? rint(log(time_us) / grain) * grain : (double)INFINITY; /* NAN: unusable */
    g->usable += isfinite(t->log_us);
}

/* ---- proposals ---- */

/* False: the surrogate fails. */
static bool look(struct gp *g)
{
    const bool first = surrogate_rows(g->surrogate) == 0;
    if (!gp_take_in(g)) return false;
    g->fresh_count = 0;
    gp_rank(g);
    gp_take_values(g);
    if (g->told >= g->next_fit) {
        while (g->told >= g->next_fit) g->next_fit = (size_t)(fit_growth * (double)g->next_fit);
        if (!surrogate_fit(g->surrogate, g->value)) return false;
    }
    gp_freshen(g, first);
    return surrogate_expect(g->surrogate, g->value, g->mean, g->deviation);
}

static enum search_answer next_in_order(struct gp *g, size_t *index)
{
    while (g->in_order < g->count && g->trial_of[g->in_order]) g->in_order++;
    return g->in_order < g->count ? propose(g, g->in_order, index) : SEARCH_DONE;
}

/* Nothing can be learned from: the next of the model's order and a random candidate in turn. */
static enum search_answer next_unlearned(struct gp *g, size_t *index)
{
    const size_t drawn = g->count ? opening_draw(g->predicted_us, g->count, &g->random) : 0;
    g->unlearned = true;
    if (g->trials % 2 == 0 && drawn < g->count && !g->trial_of[drawn]) return propose(g, drawn, index);
    return next_in_order(g, index);
}

static enum search_answer next(void *self, size_t *index)
{
    struct gp *g = self;
    while (opening_start(&g->opening, index))
        if (!g->trial_of[*index]) return propose(g, *index, index);
    if (g->told == 0 && opening_favourite(&g->opening, index)) return propose(g, *index, index);
    if (!g->broken && g->usable == 0) {
        if (g->told < g->opening.starts && g->told < g->trials) return SEARCH_WAIT;
        return next_unlearned(g, index);
    }
    if (!g->broken && !look(g)) {
        g->broken = true;
        snprintf(g->note, sizeof g->note,
                 "no surrogate fits the %zu trials (their covariance is not positive definite): " UNLEARNED,
                 g->told);
    }
    if (g->broken) return next_unlearned(g, index);
    for (size_t at; (at = gp_most_promising(g)) != GP_SLOTS;) {
        const size_t candidate = g->slot[at];
        g->slot[at] = NEIGHBOURS_NONE;
        g->pooled[candidate] = false;
        if (g->trial_of[candidate])
            continue; /* a suggestion that has been told since it came into the pool */
        return propose(g, candidate, index);
    }
    return next_in_order(g, index);
}

static const char *note(void *self)
{
    struct gp *g = self;
    if (!g->broken && (g->usable > 0 || !g->unlearned)) return NULL;
    if (!g->broken)
        snprintf(g->note, sizeof g->note,
                 "there is nothing to learn from, for none of %zu candidates is usable: " UNLEARNED, g->told);
    return g->note;
}

static double gain(void *self)
{
    const struct gp *g = self;
    return g->broken || g->usable == 0 ? (double)NAN : g->best_gain;
}

/* The gain was that of the last proposal, and all that was under way then has been told since. */
static void finish(void *self)
{
    struct gp *g = self;
    if (g->broken || g->usable == 0) return;
    if (look(g)) gp_most_promising(g);
    else g->best_gain = (double)NAN;
}

const struct search_strategy search_gp = {
    .name = "gp",
    .summary = "expected improvement over a Gaussian process of all trials",
    .start = start,
    .next = next,
    .tell = tell,
    .stop = stop,
    .note = note,
    .gain = gain,
    .finish = finish,
};

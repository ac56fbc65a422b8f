/* search_gp.c — search by expected improvement over a surrogate (surrogate.h) of log time.
 *
 * It begins with a few candidates far apart, and then proposes what is expected to gain most over the best
 * time known: little where times are known to be bad, much where they are good or little is known. What is
 * slow is slow: beyond a factor all times count alike; candidates that fail count as worse. Where a model has
 * ordered the candidates, its logarithm is the surrogate's trend, with a weight that is learned.
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
 * Where no surrogate can be made, local search (search_ils.c) goes on. Constants were decided by replaying
 * recorded spaces (docs/results/search-replay.md). After Jones, Schonlau & Welch, "Efficient global
 * optimization of expensive black-box functions", 1998.
 */
#include "search.h"

#include "stats.h"
#include "surrogate.h"
#include "template.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STARTS = 8,          /* the first candidates, far apart */
    START_DRAWS = 400,   /* from which they are chosen */
    START_DEPTH = 20000, /* how far down the model's order they may lie */
    ROWS = 320,          /* trials that the surrogate holds */
    ROWS_KEPT = 224,     /* of them, when there are more */
    SLOTS = 1024,        /* the pool */
    BEST = 8,            /* whose neighbours are in it */
    PAIRS = 256,         /* of the neighbours in two parameters of each */
    RANDOM_FIRST = 512,
    RANDOM_MORE = 40, /* a proposal */
    CROSSED = 10,     /* a proposal, where the list of candidates grows */
    FIRST_FIT = 9,    /* trials after which weights are fitted first */
    FAVOURITES = 24,  /* of the model, proposed before anything has been told */
    APART = 5,        /* compile-time parameters in which these differ from all before them */
};

static const double grain = 0.002;     /* of log time: what a measurement is worth */
static const double step_least = 0.02; /* of log time over the best: below about half of it it counts as 0 */
static const double step_growth = 0.4;
static const double slow = 0.35;       /* log of the factor beyond the best from which on times count alike */
static const double unusable = 0.7;    /* what a failure counts as: worse than slow */
static const double assumed_slope = 1; /* of log time over the logarithm of what the model predicts */
static const double assumed_deviation = 0.2; /* of the values told to the surrogate */
static const double fit_growth = 1.25;       /* weights are fitted again after so many times the trials */
static const float cheap_weight = 6; /* what a gain counts that takes no compilation (Snoek et al., 2012) */

struct trial {
    size_t candidate;
    double log_us; /* rounded; NAN: not told; INFINITY: unusable */
};

struct gp {
    const struct config *candidates;
    size_t count;
    const double *predicted_us;  /* NULL: none */
    const struct growth *growth; /* NULL: none */
    uint64_t seed, random;
    struct neighbours *near;
    struct surrogate *surrogate;

    struct trial *trial; /* in the order proposed, or told unasked; room for all candidates */
    uint32_t *trial_of;  /* a candidate's, + 1; 0: none */
    size_t trials, told, usable;
    size_t synced;    /* trials before this one are rows, or were passed over for better ones */
    size_t row[ROWS]; /* the trial of each */
    double value[ROWS];
    size_t next_fit; /* at how many told */

    size_t start[STARTS], starts, start_at;
    size_t best[BEST], bests; /* trials, fastest first */
    bool *pooled;             /* a candidate: in a slot */
    bool *cheap;              /* a candidate: another launch of a kernel that has been proposed */
    size_t favourites, favourite_at;
    size_t slot[SLOTS]; /* the candidate; NEIGHBOURS_NONE: free */
    float gain[SLOTS], mean[SLOTS], deviation[SLOTS];
    struct surrogate_point fresh[SLOTS]; /* what comes into slots */
    size_t fresh_slot[SLOTS], fresh_count;
    double best_gain; /* the largest when the last proposal was made; NAN: none yet */
    size_t in_order;  /* all below are trials */

    bool broken; /* the surrogate is given up */
    void *local; /* a local search, once there has been need for one */
    char note[160];
};

static_assert((int)SURROGATE_DIMS == (int)CONFIG_PARAMS_MAX, "a point has room for every parameter");

extern const struct search_strategy search_ils;

/* ---- life ---- */

static void stop(void *self)
{
    struct gp *g = self;
    if (g->local) search_ils.stop(g->local);
    neighbours_free(g->near);
    surrogate_free(g->surrogate);
    free(g->trial);
    free(g->trial_of);
    free(g->pooled);
    free(g->cheap);
    free(g);
}

/* A random candidate, of those that the model likes more often: their rank is a number in [0, 1) to the third
 * power, so that a tenth of them comes from the first thousandth. */
static size_t draw(struct gp *g, size_t depth)
{
    if (!g->predicted_us) return (size_t)stats_random_below(&g->random, g->count);
    const double u = (double)(stats_random(&g->random) >> 11) * 0x1p-53;
    return (size_t)(u * u * u * (double)depth);
}

/* Each as far as possible from those before it; the first is the model's favourite if there is a model. */
static void choose_starts(struct gp *g)
{
    size_t drawn[START_DRAWS], apart[START_DRAWS];
    const size_t depth = g->count < START_DEPTH ? g->count : START_DEPTH;
    for (int i = 0; i < START_DRAWS; i++) {
        drawn[i] = i == 0 && g->predicted_us ? 0 : draw(g, depth);
        apart[i] = SIZE_MAX;
    }
    for (size_t at = 0; g->starts < STARTS && apart[at] > 0;) {
        const struct config *chosen = &g->candidates[drawn[at]];
        g->start[g->starts++] = drawn[at];
        for (int i = 0; i < START_DRAWS; i++) {
            const size_t from = neighbours_apart(&g->candidates[drawn[i]], chosen);
            if (from < apart[i]) apart[i] = from;
        }
        for (size_t i = 0; i < START_DRAWS; i++)
            if (apart[i] > apart[at]) at = i;
    }
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
    g->seed = g->random = seed;
    g->next_fit = FIRST_FIT;
    g->best_gain = (double)NAN;
    g->near = neighbours_build(candidates, count, growth);
    g->surrogate = g->near ? surrogate_build(neighbours_templates(g->near) + 1, ROWS, SLOTS,
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
    for (int i = 0; i < SLOTS; i++) g->slot[i] = NEIGHBOURS_NONE;
    if (count > 0) choose_starts(g);
    return g;
}

/* ---- trials ---- */

static void mark_cheap(struct gp *g, const size_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) g->cheap[list[i]] = true;
}

/* Its other launches are cheap, but no reason for the list of candidates to grow. */
static struct trial *take(struct gp *g, size_t candidate)
{
    struct trial *t = &g->trial[g->trials];
    *t = (struct trial){candidate, (double)NAN};
    g->trial_of[candidate] = (uint32_t)++g->trials;
    size_t list[NEIGHBOURS_MAX];
    mark_cheap(g, list, neighbours_listed_launches(g->near, candidate, list));
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
    struct trial *t = g->trial_of[index] ? &g->trial[g->trial_of[index] - 1] : take(g, index);
    if (isnan(t->log_us)) g->told++;
    else g->usable -= isfinite(t->log_us);
    t->log_us = time_us > 0 ? rint(log(time_us) / grain) * grain : (double)INFINITY; /* NAN: unusable */
    g->usable += isfinite(t->log_us);
    if (g->local) search_ils.tell(g->local, index, time_us);
}

/* ---- rows of the surrogate ---- */

static void place_of(const struct gp *g, size_t candidate, struct surrogate_point *point)
{
    point->group = (uint8_t)neighbours_place(g->near, candidate, point->level);
    const double later = g->predicted_us ? log(g->predicted_us[candidate] / g->predicted_us[0]) : 0;
    point->advice = (float)fmin(later, slow);
}

static bool add_row(struct gp *g, size_t number)
{
    struct surrogate_point point;
    place_of(g, g->trial[number].candidate, &point);
    g->row[surrogate_rows(g->surrogate)] = number;
    return surrogate_add(g->surrogate, &point);
}

/* Those that wait for a time first, then the fastest; of equals the earlier. */
static int by_worth(const void *x, const void *y)
{
    const struct trial *a = *(const struct trial *const *)x, *b = *(const struct trial *const *)y;
    if (isnan(a->log_us) != isnan(b->log_us)) return isnan(a->log_us) ? -1 : 1;
    if (a->log_us != b->log_us && !isnan(a->log_us)) return a->log_us < b->log_us ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Too many trials for the surrogate: keep the better half of what it may have, and an even choice of the
 * others. */
static bool thin(struct gp *g)
{
    const struct trial **sorted = malloc(g->trials * sizeof *sorted);
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

/* Every trial a row. */
static bool take_in(struct gp *g)
{
    bool good = true;
    if (surrogate_rows(g->surrogate) + g->trials - g->synced > ROWS) {
        good = thin(g);
        /* what is in the pool is looked at anew */
        g->fresh_count = 0;
        for (size_t i = 0; i < SLOTS; i++)
            if (g->slot[i] != NEIGHBOURS_NONE) {
                place_of(g, g->slot[i], &g->fresh[g->fresh_count]);
                g->fresh_slot[g->fresh_count++] = i;
            }
        surrogate_place(g->surrogate, g->fresh_slot, g->fresh, g->fresh_count);
        g->fresh_count = 0;
        g->synced = g->trials;
    }
    for (; g->synced < g->trials && good; g->synced++) good = add_row(g, g->synced);
    return good;
}

/* In steps that grow with it, for the slower a candidate is, the less it matters by how much: so noise
 * seldom changes what the surrogate is told. */
static double in_steps(double excess)
{
    return step_least * expm1(rint(log1p(excess / step_least) / step_growth) * step_growth);
}

/* What the surrogate is told: the logarithm of how many times slower than the best, but at most `slow`. */
static void take_values(struct gp *g)
{
    const double best = g->trial[g->best[0]].log_us;
    for (size_t r = 0; r < surrogate_rows(g->surrogate); r++) {
        const double log_us = g->trial[g->row[r]].log_us;
        g->value[r] = isnan(log_us) ? log_us : isinf(log_us) ? unusable : fmin(in_steps(log_us - best), slow);
    }
}

/* ---- the pool ---- */

/* The slot that is free, or else promises least. What has just come stays. */
static size_t poorest(const struct gp *g)
{
    size_t at = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (g->slot[i] == NEIGHBOURS_NONE) return i;
        if (g->gain[i] < g->gain[at]) at = i;
    }
    return at;
}

static void admit(struct gp *g, size_t candidate)
{
    if (g->pooled[candidate] || g->trial_of[candidate] || g->fresh_count == SLOTS) return;
    const size_t at = poorest(g);
    if (g->slot[at] != NEIGHBOURS_NONE) g->pooled[g->slot[at]] = false;
    g->slot[at] = candidate;
    g->gain[at] = INFINITY;
    g->pooled[candidate] = true;
    place_of(g, candidate, &g->fresh[g->fresh_count]);
    g->fresh_slot[g->fresh_count++] = at;
}

static void admit_neighbours(struct gp *g, size_t candidate)
{
    size_t list[NEIGHBOURS_MAX];
    for (int kind = NEIGHBOUR_LAUNCH; kind <= NEIGHBOUR_PAIR; kind++) {
        const size_t count = neighbours_of(g->near, candidate, (enum neighbour_kind)kind, list);
        const bool all = kind != NEIGHBOUR_PAIR || count <= PAIRS;
        if (kind == NEIGHBOUR_LAUNCH) mark_cheap(g, list, count);
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
        const size_t other = draw(g, g->count);
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

/* Fastest first; of equals the earlier. Who is new among them brings its neighbours into the pool. */
static void rank(struct gp *g)
{
    size_t best[BEST], count = 0;
    for (size_t t = 0; t < g->trials; t++) {
        const double log_us = g->trial[t].log_us;
        size_t at = count;
        if (!isfinite(log_us)) continue;
        while (at > 0 && log_us < g->trial[best[at - 1]].log_us) at--;
        if (at == BEST) continue;
        if (count < BEST) count++;
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

/* ---- proposals ---- */

/* The expected gain over zero, the best: of a normal variable, what it lies below on average. */
static float expected_gain(float mean, float deviation)
{
    const float u = -mean / deviation;
    return deviation * (u * 0.5f * erfcf(-u * 0.70710678f) + 0.39894228f * expf(-0.5f * u * u));
}

/* The slot that promises most for what it takes; SLOTS if the pool is empty. */
static size_t most_promising(struct gp *g)
{
    size_t most = SLOTS;
    float worth = 0, best = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (g->slot[i] == NEIGHBOURS_NONE) continue;
        g->gain[i] = expected_gain(g->mean[i], fmaxf(g->deviation[i], 1e-6f));
        best = fmaxf(best, g->gain[i]);
        const float w = g->gain[i] * (g->cheap[g->slot[i]] ? cheap_weight : 1);
        if (most != SLOTS && w <= worth) continue;
        most = i;
        worth = w;
    }
    if (most != SLOTS) g->best_gain = (double)best;
    return most;
}

/* False: the surrogate fails. */
static bool look(struct gp *g)
{
    const bool first = surrogate_rows(g->surrogate) == 0;
    if (!take_in(g)) return false;
    g->fresh_count = 0;
    rank(g);
    take_values(g);
    if (g->told >= g->next_fit) {
        while (g->told >= g->next_fit) g->next_fit = (size_t)(fit_growth * (double)g->next_fit);
        if (!surrogate_fit(g->surrogate, g->value)) return false;
    }
    for (int i = 0; i < (first ? RANDOM_FIRST : RANDOM_MORE); i++) admit(g, draw(g, g->count));
    admit_crossed(g);
    surrogate_place(g->surrogate, g->fresh_slot, g->fresh, g->fresh_count);
    return surrogate_expect(g->surrogate, g->value, g->mean, g->deviation);
}

static enum search_answer next_in_order(struct gp *g, size_t *index)
{
    while (g->in_order < g->count && g->trial_of[g->in_order]) g->in_order++;
    return g->in_order < g->count ? propose(g, g->in_order, index) : SEARCH_DONE;
}

/* What is known is told to a local search, and it goes on. */
static enum search_answer search_locally(struct gp *g, size_t *index)
{
    if (!g->local) {
        g->local = search_ils.start(g->candidates, g->count, g->predicted_us, g->growth, g->seed);
        for (size_t t = 0; g->local && t < g->trials; t++)
            if (!isnan(g->trial[t].log_us))
                search_ils.tell(g->local, g->trial[t].candidate, exp(g->trial[t].log_us));
    }
    if (!g->local) return next_in_order(g, index); /* out of memory */
    for (;;) {
        const enum search_answer answer = search_ils.next(g->local, index);
        if (answer != SEARCH_TRY) return answer;
        if (!g->trial_of[*index]) return propose(g, *index, index);
    }
}

/* Another of the model's favourites, far from all trials, so that no compiler waits for the first result. */
static bool next_favourite(struct gp *g, size_t *index)
{
    if (!g->predicted_us || g->told > 0 || g->favourites == FAVOURITES) return false;
    const size_t depth = g->count < START_DEPTH ? g->count : START_DEPTH;
    for (; g->favourite_at < depth; g->favourite_at++) {
        bool apart = !g->trial_of[g->favourite_at];
        for (size_t t = 0; t < g->trials && apart; t++)
            apart = neighbours_apart(&g->candidates[g->favourite_at],
                                     &g->candidates[g->trial[t].candidate]) >= APART;
        if (!apart) continue;
        g->favourites++;
        *index = g->favourite_at++;
        return true;
    }
    return false;
}

static enum search_answer next(void *self, size_t *index)
{
    struct gp *g = self;
    while (g->start_at < g->starts) {
        const size_t candidate = g->start[g->start_at++];
        if (!g->trial_of[candidate]) return propose(g, candidate, index);
    }
    if (next_favourite(g, index)) return propose(g, *index, index);
    if (!g->broken && g->usable == 0) {
        if (g->told < g->starts && g->told < g->trials) return SEARCH_WAIT;
        return search_locally(g, index);
    }
    if (!g->broken && !look(g)) {
        g->broken = true;
        snprintf(
            g->note, sizeof g->note,
            "no surrogate fits the %zu trials (their covariance is not positive definite); local search goes "
            "on",
            g->told);
    }
    if (g->broken) return search_locally(g, index);
    for (size_t at; (at = most_promising(g)) != SLOTS;) {
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
    if (!g->broken && (g->usable > 0 || !g->local)) return NULL;
    if (!g->broken)
        snprintf(g->note, sizeof g->note,
                 "there is nothing to learn from, for none of %zu candidates is usable: local search goes on",
                 g->told);
    return g->note;
}

static double gain(void *self)
{
    const struct gp *g = self;
    return g->broken || g->usable == 0 ? (double)NAN : g->best_gain;
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
};

/* search_ils.c — greedy iterated local search that never makes the compilers wait.
 *
 * It begins with a spread of the model's favourites, then walks downhill from the best: neighbours of the
 * present centre are proposed one after the other, and the first that is faster becomes the centre. When a
 * neighbourhood is used up the centre is a local optimum, and a new walk starts from a few random steps away,
 * or from the model's next favourite. Several walks exist, because compilation runs ahead of measuring: as
 * long as one waits for a time, the next proposes. Walk 0 always follows the best candidate known.
 *
 * Which methods to combine was decided by replaying recorded spaces (tests/unit/search/test_replay.c), see
 * Schoonhoven et al., "Benchmarking optimization algorithms for auto-tuning GPU kernels", 2022, for greedy
 * local search.
 */
#include "search.h"

#include "stats.h"
#include "template.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    STARTS = 32,         /* the first candidates, far apart */
    START_DISTANCE = 5,  /* compile-time parameters in which they differ: the others cost nothing to try */
    START_DEPTH = 20000, /* how far down the model's order they may lie */
    WALKS = 4,           /* enough to cover the candidates being compiled */
    COUPLED_MAX = 48,    /* proposals of coupled kinds a centre: the model's best of them */
    KICKS_LEAST = 2,     /* random steps of a kick */
    KICKS_MOST = 4,
};

/* Less is noise: a walk that followed it would take another path each time. */
static const double worth = 0.002;

struct descent {
    size_t centre; /* NEIGHBOURS_NONE: needs a new start */
    size_t list[NEIGHBOURS_MAX];
    size_t length, at;
    enum neighbour_kind kind; /* of the list */
    size_t pending;           /* proposals of this walk without a time */
};

/* What is known of a candidate. */
struct seen {
    double time_us; /* NAN: not told */
    int8_t owner;   /* walk that proposed it, -1 none */
    bool asked;     /* proposed, or told unasked */
    bool spent;     /* a local optimum whose neighbourhood is used up */
};

struct ils {
    const struct config *candidates;
    size_t count;
    struct neighbours *near;
    uint64_t random;
    struct seen *seen;
    size_t start[STARTS];
    size_t starts, start_at;
    size_t best;     /* NEIGHBOURS_NONE before the first usable time */
    size_t in_order; /* all below are asked */
    unsigned kicks;
    struct descent walk[WALKS];
};

static void choose_starts(struct ils *s)
{
    size_t depth = s->count < START_DEPTH ? s->count : START_DEPTH;
    for (size_t i = 0; i < depth && s->starts < STARTS; i++) {
        bool apart = true;
        for (size_t j = 0; j < s->starts && apart; j++)
            apart = neighbours_apart(&s->candidates[i], &s->candidates[s->start[j]]) >= START_DISTANCE;
        if (apart) s->start[s->starts++] = i;
    }
}

static void stop(void *self)
{
    struct ils *s = self;
    neighbours_free(s->near);
    free(s->seen);
    free(s);
}

static void *start(const struct config *candidates, size_t count, const double *predicted_us,
                   const struct growth *growth, uint64_t seed)
{
    (void)predicted_us; /* their order says enough */
    const size_t room = growth ? growth->room : count;
    struct ils *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->candidates = candidates;
    s->count = count;
    s->random = seed;
    s->best = NEIGHBOURS_NONE;
    s->near = neighbours_build(candidates, count, growth);
    s->seen = malloc((room + 1) * sizeof *s->seen);
    if (!s->near || !s->seen) {
        stop(s);
        return NULL;
    }
    for (size_t i = 0; i < room; i++) s->seen[i] = (struct seen){.time_us = (double)NAN, .owner = -1};
    for (int w = 0; w < WALKS; w++) s->walk[w].centre = NEIGHBOURS_NONE;
    choose_starts(s);
    return s;
}

static enum search_answer propose(struct ils *s, size_t candidate, int walk, size_t *index)
{
    s->seen[candidate].asked = true;
    s->seen[candidate].owner = (int8_t)walk;
    if (walk >= 0) s->walk[walk].pending++;
    *index = candidate;
    return SEARCH_TRY;
}

static void list_kind(struct ils *s, struct descent *w, enum neighbour_kind kind)
{
    w->kind = kind;
    w->at = 0;
    w->length = neighbours_of(s->near, w->centre, kind, w->list);
    if (kind >= NEIGHBOUR_PAIR && w->length > COUPLED_MAX) w->length = COUPLED_MAX;
}

static bool is_faster(const struct ils *s, size_t candidate, size_t than)
{
    return s->seen[candidate].time_us < (1 - worth) * s->seen[than].time_us;
}

static void move_to(struct ils *s, struct descent *w, size_t centre)
{
    w->centre = centre;
    list_kind(s, w, NEIGHBOUR_LAUNCH);
}

/* The next neighbour of the walk's centre that nobody proposed, NEIGHBOURS_NONE if all were. Moves downhill
 * on the way when a neighbour is already known to be faster. */
static size_t next_neighbour(struct ils *s, struct descent *w)
{
    for (;;) {
        if (w->at == w->length) {
            if (w->kind + 1 == NEIGHBOUR_KINDS) return NEIGHBOURS_NONE;
            list_kind(s, w, w->kind + 1);
            continue;
        }
        size_t candidate = w->list[w->at++];
        if (!s->seen[candidate].asked) return candidate;
        if (is_faster(s, candidate, w->centre)) move_to(s, w, candidate);
    }
}

static size_t next_in_order(struct ils *s)
{
    while (s->in_order < s->count && s->seen[s->in_order].asked) s->in_order++;
    return s->in_order < s->count ? s->in_order : NEIGHBOURS_NONE;
}

/* A few random steps from the best candidate to one that was not asked for. */
static size_t kicked(struct ils *s)
{
    size_t list[NEIGHBOURS_MAX], at = s->best;
    size_t steps = KICKS_LEAST + (size_t)stats_random_below(&s->random, KICKS_MOST - KICKS_LEAST + 1);
    for (size_t i = 0; i < steps || (s->seen[at].asked && i < 4 * steps); i++) {
        enum neighbour_kind kind = (i & 1) ? NEIGHBOUR_PAIR : NEIGHBOUR_SINGLE;
        size_t length = neighbours_of(s->near, at, kind, list);
        if (length) at = list[stats_random_below(&s->random, length)];
    }
    return s->seen[at].asked ? NEIGHBOURS_NONE : at;
}

/* Where a walk without a centre begins anew: kicks from the best, now and then the model's next favourite. */
static size_t new_start(struct ils *s)
{
    size_t candidate = NEIGHBOURS_NONE;
    if (s->best != NEIGHBOURS_NONE && ++s->kicks % 4 != 0) candidate = kicked(s);
    return candidate != NEIGHBOURS_NONE ? candidate : next_in_order(s);
}

static enum search_answer follow_best(struct ils *s, size_t *index)
{
    struct descent *w = &s->walk[0];
    if (s->best == NEIGHBOURS_NONE || s->seen[s->best].spent) return SEARCH_WAIT;
    if (w->centre != s->best) move_to(s, w, s->best);
    size_t candidate = next_neighbour(s, w);
    if (candidate != NEIGHBOURS_NONE) return propose(s, candidate, 0, index);
    if (w->pending == 0) s->seen[s->best].spent = true;
    return SEARCH_WAIT;
}

static enum search_answer explore(struct ils *s, int number, size_t *index)
{
    struct descent *w = &s->walk[number];
    if (w->centre != NEIGHBOURS_NONE && isnan(s->seen[w->centre].time_us)) return SEARCH_WAIT;
    if (w->centre != NEIGHBOURS_NONE && isfinite(s->seen[w->centre].time_us) && !s->seen[w->centre].spent) {
        size_t candidate = next_neighbour(s, w);
        if (candidate != NEIGHBOURS_NONE) return propose(s, candidate, number, index);
        if (w->pending > 0) return SEARCH_WAIT;
        s->seen[w->centre].spent = true;
    }
    size_t candidate = new_start(s);
    if (candidate == NEIGHBOURS_NONE) return SEARCH_WAIT;
    move_to(s, w, candidate);
    return propose(s, candidate, number, index);
}

static enum search_answer next(void *self, size_t *index)
{
    struct ils *s = self;
    while (s->start_at < s->starts) {
        size_t candidate = s->start[s->start_at++];
        if (!s->seen[candidate].asked) return propose(s, candidate, -1, index);
    }
    enum search_answer answer = follow_best(s, index);
    for (int w = 1; answer == SEARCH_WAIT && w < WALKS && s->best != NEIGHBOURS_NONE; w++)
        answer = explore(s, w, index);
    if (answer == SEARCH_TRY) return answer;
    size_t candidate = next_in_order(s);
    return candidate == NEIGHBOURS_NONE ? SEARCH_DONE : propose(s, candidate, -1, index);
}

/* After the best has turned out to be unusable. */
static size_t best_of_all(const struct ils *s)
{
    size_t best = NEIGHBOURS_NONE;
    for (size_t i = 0; i < s->count; i++)
        if (isfinite(s->seen[i].time_us) &&
            (best == NEIGHBOURS_NONE || s->seen[i].time_us < s->seen[best].time_us))
            best = i;
    return best;
}

static void tell(void *self, size_t index, double time_us)
{
    struct ils *s = self;
    if (isnan(time_us)) time_us = INFINITY;
    bool first = isnan(s->seen[index].time_us);
    s->seen[index].asked = true;
    s->seen[index].time_us = time_us;
    if (index == s->best && !isfinite(time_us)) s->best = best_of_all(s);
    if (isfinite(time_us) && (s->best == NEIGHBOURS_NONE || is_faster(s, index, s->best))) s->best = index;
    int owner = s->seen[index].owner;
    if (owner < 0 || !first) return;
    struct descent *w = &s->walk[owner];
    w->pending--;
    if (w->centre != NEIGHBOURS_NONE && is_faster(s, index, w->centre)) move_to(s, w, index);
}

const struct search_strategy search_ils = {
    .name = "ils",
    .summary = "iterated local search from the model's favourites",
    .start = start,
    .next = next,
    .tell = tell,
    .stop = stop,
};

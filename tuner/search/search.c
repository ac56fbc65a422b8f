#include "search.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct search_strategy search_exhaustive, search_random, search_gp;

const struct search_strategy *const search_strategies[] = {&search_gp, &search_random, &search_exhaustive};
const size_t search_strategy_count = sizeof search_strategies / sizeof *search_strategies;

/* When there is nothing more to expect: for the later half of this search's trials the gain has been little.
 * A surrogate that is wrong expects nothing too early, and the trials that follow set it right: how many it
 * takes, and how few after a search that was resumed, was replayed (docs/results/search-replay.md). */
#define LITTLE_GAIN  0.001
#define TRIALS_LEAST 300
#define QUIET_LEAST  50 /* of this search, however many an earlier one has made */

/* Keeps the promise that no candidate is given twice, so that a strategy need not. */
struct search {
    const struct search_strategy *strategy;
    void *self;
    size_t count, room; /* candidates there were at first, and may become */
    size_t left;        /* of those at first: neither given nor told */
    size_t told, own;   /* own: without those that were told unasked, which an earlier search has made */
    size_t quiet;       /* own ones in a row, while little gain was expected */
    bool *done;
    struct feedback *feedback; /* NULL: what is told is told at once */
    bool stuck;                /* the strategy has nothing to propose until it has been told more */
    size_t awaited;            /* what is to be told before the next proposal; NEIGHBOURS_NONE: nothing */
    size_t *suggested;         /* from suggested_at on not given yet */
    size_t suggested_at, suggested_count, suggested_room;
};

enum status search_find(const char *name, const struct search_strategy **found)
{
    char known[200] = "";
    for (size_t i = 0, used = 0; i < search_strategy_count; i++) {
        *found = search_strategies[i];
        if (strcmp((*found)->name, name) == 0) return OK;
        used += (size_t)snprintf(known + used, sizeof known - used, " %s", (*found)->name);
    }
    if (strcmp(name, "ils") == 0)
        return fail(E_INPUT, "the strategy ils is gone: use gp, the default, which needs fewer trials");
    return fail(E_INPUT, "unknown strategy '%.40s'; there are%s", name, known);
}

enum status search_start(const char *strategy, const struct config *candidates, size_t count,
                         const double *predicted_us, const struct growth *growth, uint64_t seed,
                         struct search **search)
{
    const struct search_strategy *found;
    enum status st = search_find(strategy, &found);
    if (st) return st;
    struct search *s = calloc(1, sizeof *s);
    if (!s) return fail(E_MEMORY, "out of memory for the search");
    s->strategy = found;
    s->count = s->left = count;
    s->room = growth ? growth->room : count;
    s->awaited = NEIGHBOURS_NONE;
    s->done = calloc(s->room + 1, sizeof *s->done);
    s->self = s->done ? found->start(candidates, count, predicted_us, growth, seed) : NULL;
    if (!s->self) {
        free(s->done);
        free(s);
        return fail(E_MEMORY, "out of memory for a search over %zu candidates", count);
    }
    *search = s;
    return OK;
}

enum status search_suggest(struct search *search, size_t index, bool *fresh)
{
    *fresh = index < search->room && !search->done[index];
    for (size_t i = search->suggested_at; i < search->suggested_count && *fresh; i++)
        *fresh = search->suggested[i] != index;
    if (!*fresh) return OK;
    if (search->suggested_count == search->suggested_room) {
        size_t room = search->suggested_room ? 2 * search->suggested_room : 16;
        size_t *grown = realloc(search->suggested, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu suggestions", room);
        search->suggested = grown;
        search->suggested_room = room;
    }
    search->suggested[search->suggested_count++] = index;
    return OK;
}

static void mark_done(struct search *search, size_t index)
{
    search->done[index] = true;
    search->left -= index < search->count;
}

enum status search_order_feedback(struct search *search, const struct config *candidates,
                                  const struct feedback_limits *limits)
{
    search->feedback = feedback_build(candidates, search->room, limits);
    return search->feedback ? OK
                            : fail(E_MEMORY, "out of memory for a search over %zu candidates", search->count);
}

static void tell_own(struct search *search, size_t index, double time_us)
{
    search->strategy->tell(search->self, index, time_us);
    search->stuck = false;
    search->told++;
    search->own++;
    search->quiet = search_gain(search) < LITTLE_GAIN ? search->quiet + 1 : 0; /* NAN is not little */
}

/* Tells what is due before the next proposal. False: there is no result of it yet. */
static bool give_feedback(struct search *search)
{
    size_t index;
    double time_us;
    enum feedback_answer answer;
    while ((answer = feedback_next(search->feedback, search->stuck, &index, &time_us)) == FEEDBACK_TELL)
        tell_own(search, index, time_us);
    search->awaited = answer == FEEDBACK_WAIT ? index : NEIGHBOURS_NONE;
    return answer == FEEDBACK_NONE;
}

bool search_awaits(const struct search *search, size_t *index)
{
    *index = search->awaited;
    return search->awaited != NEIGHBOURS_NONE;
}

bool search_put_off(struct search *search)
{
    return search->awaited != NEIGHBOURS_NONE && feedback_put_off(search->feedback, search->awaited);
}

static enum search_answer next(struct search *search, size_t *index)
{
    if (search->suggested_at == search->suggested_count) return search->strategy->next(search->self, index);
    *index = search->suggested[search->suggested_at++];
    return SEARCH_TRY;
}

enum search_answer search_next(struct search *search, size_t *index)
{
    while (search->left > 0) {
        if (search->feedback && !give_feedback(search)) return SEARCH_WAIT;
        enum search_answer answer = next(search, index);
        search->stuck = answer == SEARCH_WAIT;
        if (search->stuck && search->feedback && feedback_waiting(search->feedback) > 0) continue;
        if (answer != SEARCH_TRY) return answer;
        if (search->done[*index]) continue;
        mark_done(search, *index);
        if (search->feedback) feedback_propose(search->feedback, *index);
        return SEARCH_TRY;
    }
    return SEARCH_DONE;
}

void search_tell(struct search *search, size_t index, double time_us)
{
    if (index >= search->room) return;
    if (search->done[index]) {
        if (!search->feedback || !feedback_result(search->feedback, index, time_us))
            tell_own(search, index, time_us);
        return;
    }
    mark_done(search, index); /* the gain that was expected then is not stored */
    if (search->feedback) feedback_know(search->feedback, index);
    search->strategy->tell(search->self, index, time_us);
    search->stuck = false;
    search->told++;
}

void search_finish(struct search *search)
{
    size_t index;
    double time_us;
    while (search->feedback && feedback_rest(search->feedback, &index, &time_us))
        tell_own(search, index, time_us);
    if (search->strategy->finish) search->strategy->finish(search->self);
}

bool search_satisfied(const struct search *search)
{
    return search->told >= TRIALS_LEAST && search->quiet >= QUIET_LEAST && 2 * search->quiet >= search->own;
}

const char *search_note(const struct search *search)
{
    return search->strategy->note ? search->strategy->note(search->self) : NULL;
}

double search_gain(const struct search *search)
{
    return search->strategy->gain ? search->strategy->gain(search->self) : (double)NAN;
}

void search_stop(struct search *search)
{
    if (!search) return;
    search->strategy->stop(search->self);
    feedback_free(search->feedback);
    free(search->suggested);
    free(search->done);
    free(search);
}

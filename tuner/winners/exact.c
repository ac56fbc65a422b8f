#include "exact.h"

#include "answer.h"

static enum answer_from from_of(const struct stored_winner *w)
{
    return w->system ? ANSWER_SYSTEM : w->pretuned ? ANSWER_SHIPS : ANSWER_OWN;
}

/* By answer.h; of one place those of the problem before those of others that are as good, cold ones before
 * hot ones. */
static bool precedes(const struct stored_winner *x, const struct stored_winner *y,
                     const struct problem *problem)
{
    const bool before = answer_precedes(x->base.predicted, from_of(x), y->base.predicted, from_of(y));
    if (before || answer_precedes(y->base.predicted, from_of(y), x->base.predicted, from_of(x)))
        return before;
    const bool same_x = problem_equal(&x->base.problem, problem),
               same_y = problem_equal(&y->base.problem, problem);
    return same_x != same_y ? same_x : x->base.cold && !y->base.cold;
}

/* Finds the winner of the problem's own type that precedes the others. False: there is none. */
static bool find_of_type(struct winner_store *store, const struct problem *problem,
                         struct stored_winner *winner, struct config *config)
{
    const struct winner_set *set = &store->set;
    const struct stored_winner *best = NULL;
    const bool own = winner_store_recorded(store, problem, winner, config);
    if (own && !winner->base.predicted) return true;
    for (size_t i = 0; i < set->count; i++) {
        const struct stored_winner *w = &set->winners[i];
        if (!w->pretuned || w->changed || w->other_gpu) continue;
        if (w->base.problem.m != problem->m || w->base.problem.n != problem->n) continue;
        if (!problem_alike(&w->base.problem, problem) || (best && !precedes(w, best, problem))) continue;
        if (w->config == CUBLAS_WON ||
            (!preferences_exclude(&store->preferences, problem, &set->configs[w->config]) &&
             !winner_store_failed(store, problem, &set->configs[w->config], w->base.when)))
            best = w;
    }
    if (!best || (own && precedes(winner, best, problem))) return own;
    *winner = *best;
    *config = best->config == CUBLAS_WON ? (struct config){.template = NULL} : set->configs[best->config];
    return true;
}

/* Of the types that decide for the problem's, or of the others that answer it. */
static enum status find(struct winner_store *store, const struct problem *problem, bool decides,
                        struct stored_winner *winner, struct config *config)
{
    bool found = false;
    const enum status st = winner_store_ask(store);
    if (st) return st;
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        struct problem p = *problem;
        struct stored_winner w;
        struct config its;
        p.type = (enum gemm_type)(((int)problem->type + i) % GEMM_TYPE_COUNT); /* the needed type first */
        if (p.prepared && !gemm_type_prepares(p.type)) continue;
        if (!gemm_type_answers(p.type, problem->type) ||
            gemm_type_decides(p.type, problem->type) != decides || !find_of_type(store, &p, &w, &its))
            continue;
        /* Of the other types the fastest measured winner counts. */
        const bool rival = found && !winner->base.predicted;
        if (i > 0 && (w.base.predicted || (rival && answer_us(&winner->base) <= answer_us(&w.base))))
            continue;
        found = true;
        *winner = w;
        *config = its;
        if (i == 0 && !w.base.predicted) break;
    }
    if (!found) return E_ABSENT;
    winner->config = config->template ? 0 : CUBLAS_WON; /* it is in *config, and not kept: the set holds what
                                                           any order of questions leads to */
    return OK;
}

enum status exact_find(struct winner_store *store, const struct problem *problem,
                       struct stored_winner *winner, struct config *config)
{
    return find(store, problem, true, winner, config);
}

enum status exact_find_stricter(struct winner_store *store, const struct problem *problem,
                                struct stored_winner *winner, struct config *config)
{
    return find(store, problem, false, winner, config);
}

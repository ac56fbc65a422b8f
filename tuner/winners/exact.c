#include "exact.h"

/* The pretuned winner for this problem, cold before hot. */
static const struct known_winner *find_pretuned(const struct winner_set *set, const struct problem *problem)
{
    const struct known_winner *best = NULL;
    for (size_t i = 0; i < set->count; i++) {
        const struct known_winner *w = &set->winners[i];
        if (!w->pretuned || w->changed || w->other_gpu) continue;
        if (w->base.problem.m != problem->m || w->base.problem.n != problem->n) continue;
        if ((!best || (w->base.cold && !best->base.cold)) && problem_equal(&w->base.problem, problem))
            best = w;
    }
    return best;
}

/* For the problem's own type: what the user measured, else the pretuned one, unless both are predictions. */
static enum status of_type(struct known *known, const struct problem *problem, struct known_winner *winner,
                           struct config *config)
{
    struct db_brief own;
    const bool has_own = known_recorded(known, problem, &own) == OK;
    if (has_own && !own.base.predicted) return known_take(known, &own, winner, config);
    const struct known_winner *pretuned = find_pretuned(&known->set, problem);
    if (has_own && (!pretuned || pretuned->base.predicted)) return known_take(known, &own, winner, config);
    if (!pretuned) return E_ABSENT;
    *winner = *pretuned;
    if (pretuned->config != KNOWN_CUBLAS) *config = known->set.configs[pretuned->config];
    return OK;
}

/* The fastest measured for the same problem of another type that answers. E_ABSENT: none. */
static enum status of_other_types(struct known *known, const struct problem *problem,
                                  struct known_winner *winner, struct config *config)
{
    enum status answer = E_ABSENT;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        struct problem other = *problem;
        struct known_winner found;
        struct config its;
        other.type = (enum gemm_type)type;
        if (other.type == problem->type || !gemm_type_answers(other.type, problem->type)) continue;
        enum status st = of_type(known, &other, &found, &its);
        if (st && st != E_ABSENT) return st;
        if (st || found.base.predicted || (!answer && winner->base.time_us <= found.base.time_us)) continue;
        *winner = found;
        if (found.config != KNOWN_CUBLAS) *config = its;
        answer = OK;
    }
    return answer;
}

enum status exact_find(struct known *known, const struct problem *problem, struct known_winner *winner,
                       struct config *config)
{
    struct known_winner other;
    struct config its;
    const enum status asked = known_ask(known);
    if (asked) return asked;
    const enum status own = of_type(known, problem, winner, config);
    if (own ? own != E_ABSENT : !winner->base.predicted) return own;
    const enum status st = of_other_types(known, problem, &other, &its);
    if (st) return st == E_ABSENT ? own : st;
    *winner = other;
    if (other.config != KNOWN_CUBLAS) *config = its;
    return OK;
}

/* search.h — strategies that choose which candidate to try next. They see indices and times, no GPU, no
 * database.
 *
 * Candidates come ordered by the model, best first. next() may be called several times before tell():
 * compilation runs ahead of measuring. A strategy does not know how long it may go on, so that a longer
 * search begins as a shorter one. One file and one row of the table a strategy.
 */
#ifndef GT_SEARCH_H
#define GT_SEARCH_H

#include "config.h"
#include "feedback.h"
#include "neighbours.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search; /* one run of a strategy */

enum search_answer {
    SEARCH_TRY,  /* *index is the next candidate; it is never given twice */
    SEARCH_WAIT, /* nothing to propose before an outstanding candidate has been told */
    SEARCH_DONE  /* no candidate is left, or the strategy is satisfied */
};

struct search_strategy {
    const char *name;    /* "exhaustive", "random", "gp" */
    const char *summary; /* one line for --help */
    /* NULL: out of memory */
    void *(*start)(const struct config *candidates, size_t count, const double *predicted_us,
                   const struct growth *growth, uint64_t seed);
    enum search_answer (*next)(void *self, size_t *index);
    void (*tell)(void *self, size_t index, double time_us);
    void (*stop)(void *self);
    const char *(*note)(void *self); /* as search_note; NULL: never has one */
    double (*gain)(void *self);      /* as search_gain; NULL: does not know */
    void (*finish)(void *self);      /* gain is to be that of all that was told; NULL: it is */
};

extern const struct search_strategy *const search_strategies[];
extern const size_t search_strategy_count;

/* The strategy of that name. Errors: E_INPUT (lists the known names). */
enum status search_find(const char *name, const struct search_strategy **found);

/* predicted_us: the model's times in the order of the candidates, NULL if their order is no model's. Both
 * must outlive the search. growth: how a strategy comes by neighbours that are not among them; NULL: there
 * are no others. Errors: those of search_find, E_MEMORY. */
enum status search_start(const char *strategy, const struct config *candidates, size_t count,
                         const double *predicted_us, const struct growth *growth, uint64_t seed,
                         struct search **search);

/* Before anything is asked: the strategy hears of its proposals in an order that follows from them
 * (feedback.h), in whatever order they are told; search_next may then answer SEARCH_WAIT for a result that is
 * late. candidates: as given to search_start. Errors: E_MEMORY. */
enum status search_order_feedback(struct search *search, const struct config *candidates,
                                  const struct feedback_limits *limits);

/* The candidate whose result a search waits for, after SEARCH_WAIT. False: none in particular. */
bool search_awaits(const struct search *search, size_t *index);

/* The search goes on without the result that it waits for, and takes it when it comes: later proposals depend
 * on when that is. False: it goes on without as many as it may already. */
bool search_put_off(struct search *search);

enum search_answer search_next(struct search *search, size_t *index);

/* Give this candidate before any that the strategy would; several in the order suggested. *fresh: it had
 * neither been given nor told nor suggested. Errors: E_MEMORY. */
enum status search_suggest(struct search *search, size_t index, bool *fresh);

/* The time of a candidate, INFINITY if it is unusable. Also used to replay what an earlier run measured:
 * telling an index that was not asked for marks it as done. One that is told again has turned out to be
 * unusable. */
void search_tell(struct search *search, size_t index, double time_us);

/* The search ends, or rests: all results there are are reported to the strategy, so that its note, its gain
 * and whether it is satisfied leave out none. It may be asked again later. */
void search_finish(struct search *search);
void search_stop(struct search *search); /* takes NULL */

/* A note for the user on how the search went, a sentence without its full stop; NULL: none. */
const char *search_note(const struct search *search);

/* The expected gain of the next trial as a share of the best time: 0.01 is one per cent. NAN: the strategy
 * does not know, or not yet. */
double search_gain(const struct search *search);

/* True while nothing more is to be expected: for the later half of the trials that this search has asked for
 * the gain has been below a tenth of a per cent, and there are enough, those told unasked included. Never
 * true of a strategy that does not know. */
bool search_satisfied(const struct search *search);

#endif

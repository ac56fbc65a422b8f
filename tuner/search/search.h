/* search.h — strategies that choose which candidate to try next. They see indices and times, no GPU, no
 * database.
 *
 * Candidates come ordered by the model, best first. next() may be called several times before tell():
 * compilation runs ahead of measuring. One file and one row of the table a strategy.
 */
#ifndef GT_SEARCH_H
#define GT_SEARCH_H

#include "config.h"
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
    const char *name;    /* "exhaustive", "random", "ils" */
    const char *summary; /* one line for --help */
    void *(*start)(const struct config *candidates, size_t count, uint64_t seed); /* NULL: out of memory */
    enum search_answer (*next)(void *self, size_t *index);
    void (*tell)(void *self, size_t index, double time_us);
    void (*stop)(void *self);
};

extern const struct search_strategy *const search_strategies[];
extern const size_t search_strategy_count;

/* candidates must outlive the search. Errors: E_INPUT for an unknown name (lists the known), E_MEMORY. */
enum status search_start(const char *strategy, const struct config *candidates, size_t count, uint64_t seed,
                         struct search **search);
enum search_answer search_next(struct search *search, size_t *index);

/* Give this candidate before any that the strategy would; several in the order suggested. *fresh: it had
 * neither been given nor told nor suggested. Errors: E_MEMORY. */
enum status search_suggest(struct search *search, size_t index, bool *fresh);

/* The time of a candidate, INFINITY if it is unusable. Also used to replay what an earlier run measured:
 * telling an index that was not asked for marks it as done. */
void search_tell(struct search *search, size_t index, double time_us);
void search_stop(struct search *search);

#endif

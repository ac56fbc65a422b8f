/* replay.h — a search strategy on a recorded space: how many evaluations it needs. */
#ifndef GT_REPLAY_H
#define GT_REPLAY_H

#include "replay_space.h"

enum { REPLAY_SHARES = 3 };
extern const double replay_share[REPLAY_SHARES]; /* of the best: 0.90, 0.95, 0.99 */

/* What one search needed. */
struct replay_run {
    double evaluations[REPLAY_SHARES]; /* until a candidate was that good; INFINITY: not within the limit */
    double ended, reached; /* evaluations until nothing more was expected, INFINITY: it did not come to that;
                              best time over that of the best found then (0..1) */
    double host_us;        /* of the strategy's own time, a proposal */
    char note[160];        /* search_note, or "" */
};

/* Of one search. to_end: it goes on until search_satisfied. pending: proposals that have been made and not
 * measured, at any time; 1: each waits for the one before. The seed decides the strategy's choices and,
 * without a model, the order of the candidates. Ends when all shares are reached, or after `limit`
 * evaluations. Errors: E_INPUT (unknown strategy), E_MEMORY. */
enum status replay_search(const struct replay_space *space, const char *strategy, uint64_t seed,
                          size_t pending, size_t limit, bool to_end, struct replay_run *run);

/* Leave of a space what a search of so many trials tried, each waiting for the one before. Errors: E_MEMORY.
 */
enum status replay_shorten(struct replay_space *space, size_t trials);

#endif

/* replay.h — a search strategy on a recorded space: how many evaluations it needs. */
#ifndef GT_REPLAY_H
#define GT_REPLAY_H

#include "replay_space.h"

enum { REPLAY_SHARES = 3 };
extern const double replay_share[REPLAY_SHARES]; /* of the best: 0.90, 0.95, 0.99 */

struct replay_options {
    size_t pending; /* proposals that have been made and not measured, at any time; 1: each waits for the one
                       before */
    size_t limit;   /* most evaluations */
    bool to_end;    /* go on until search_satisfied */
    size_t at;      /* go on until so many evaluations, and end there; 0: no such end */
    double noise;   /* standard deviation of what a search is told, as a share of the time */
    uint64_t noise_seed;
    int compilers; /* against the clock: evaluations are seconds, and pending, noise and ends mean nothing;
                      0: not */
    uint64_t clock_seed; /* of the durations */
};

/* What one search needed. */
struct replay_run {
    double evaluations[REPLAY_SHARES]; /* until a candidate was that good; INFINITY: not within the limit */
    double ended, reached; /* evaluations until nothing more was expected, or options.at; INFINITY: it did not
                              come to that; best time over that of the best found then (0..1) */
    uint64_t path;         /* a hash of what was evaluated, in that order */
    double host_us;        /* of the strategy's own time, a proposal */
    char note[160];        /* search_note, or "" */
};

/* Of one search. The seed decides the strategy's choices and, without a model, the order of the candidates.
 * Ends when all shares are reached, or as the options say. With noise, what has been found is judged by its
 * recorded time. Errors: E_INPUT (unknown strategy), E_MEMORY. */
enum status replay_search(const struct replay_space *space, const char *strategy, uint64_t seed,
                          const struct replay_options *options, struct replay_run *run);

/* Leave of a space what a search of so many trials tried, each waiting for the one before. Errors: E_MEMORY.
 */
enum status replay_shorten(struct replay_space *space, size_t trials);

#endif

/* race.h — from finalists to a winner, from numbers alone. docs/measuring.md describes the method.
 *
 * Rounds in random order, with the anchor (cuBLAS) first and last in each; score = log(block / anchor
 * interpolated in time). After min_rounds, a finalist is dropped when a paired t test says that it is behind
 * the fastest by more than `margin`: two-sided at `alpha` with Holm's correction, of which only slower
 * counts. The race ends with one left, or after max_rounds. Finalists within `tie` of the fastest tie with
 * it; so do those within `doubt` that are not proven more than `tie` slower: neither dropped nor found so by
 * a signed-rank test, one-sided at `alpha` without correction. A tie is always broken the same way: less
 * shared memory, fewer registers, then the text of the configuration. Knows no GPU and no clock.
 */
#ifndef GT_RACE_H
#define GT_RACE_H

#include "status.h"
#include <stdbool.h>
#include <stdint.h>

#define RACE_RUNNERS_MAX 16
#define RACE_ROUNDS_MAX  64
#define RACE_ANCHOR      (-1)
#define RACE_DONE        (-2)

struct race_options {
    int min_rounds, max_rounds; /* 8, 30; at most RACE_ROUNDS_MAX */
    double alpha;               /* 0.05 */
    double margin;              /* 0.003: smaller differences drop no finalist */
    double tie, doubt;          /* 0.001, 0.005 */
    uint64_t seed;
};

struct race_runner {
    int smem_bytes, registers; /* for breaking ties */
    const char *text;          /* configuration; must outlive the race */
};

struct race_result {
    double time_us; /* median block of this runner */
    double ratio;   /* anchor time / own time in the same rounds (> 1: faster than the anchor) */
    double ratio_low, ratio_high; /* 95 % interval; of fewer than 6 rounds their range */
    int blocks;
    bool dropped, failed;
};

struct race;

struct race_options race_defaults(void);

/* 1 <= count <= RACE_RUNNERS_MAX. Errors: E_MEMORY. */
enum status race_start(const struct race_runner *runners, int count, const struct race_options *options,
                       struct race **race);

/* The runner of the next block: an index, RACE_ANCHOR or RACE_DONE. The anchor's block between two rounds is
 * the last of one and the first of the next. */
int race_next(const struct race *race);

/* The block's mean time of a call; INFINITY (or anything but a positive number) when the runner failed: it
 * leaves the race. An anchor that fails is never asked again, and the runners are compared by their plain
 * times. */
void race_tell(struct race *race, double time_us);

/* End early (budget): only complete rounds count. */
void race_cut(struct race *race);

/* Winner's index, or -1 if all failed; *tied is set if others could not be told apart from the fastest (the
 * tie was broken). Before the first complete round nothing is known: the first runner that has not failed,
 * tied with the rest.
 */
int race_winner(const struct race *race, bool *tied);
struct race_result race_result(const struct race *race, int runner); /* numbers are NAN without a block */
double race_anchor_us(const struct race *race);                      /* median; NAN without an anchor */
int race_rounds(const struct race *race);                            /* complete ones */
int race_runners(const struct race *race);                           /* as it was started */
void race_free(struct race *race);                                   /* takes NULL */

#endif

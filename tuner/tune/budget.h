/* budget.h — divides the time of a run: over its problems, and within a problem over search, race and check.
 * Pure arithmetic on seconds.
 */
#ifndef GT_BUDGET_H
#define GT_BUDGET_H

#include "status.h"
#include <stdbool.h>
#include <stddef.h>

#define BUDGET_DEFAULT_S 600.0 /* a problem */
#define BUDGET_MAX_S     (366 * 86400.0)

/* "90", "30s", "10m", "8h", "1h30m". Errors: E_USAGE with the text and an example. */
enum status budget_parse(const char *text, double *seconds);

/* The share of the next problem: the time left, divided evenly over the rounds in which `gpus` at a time work
 * off the unfinished problems (those being worked on by other GPUs left out, this one counted). */
double budget_share(double left_s, int problems, int gpus);

/* The same for problems of different weight: a fifth of the time is divided evenly, so that none is left out,
 * the rest by weight. weight: the next problem's; weights: of all unfinished ones, it included. */
double budget_weighted_share(double left_s, double weight, double weights, int problems, int gpus);

/* The weight of a problem against others: its worth to the user, and more where a call takes long even at the
 * machine's peak (call_us), if not in proportion: a search gains most from its first trials. */
double budget_weight(double worth, double call_us);

/* A budget that is too short for so many problems is exceeded, since each takes some trials and a race: how
 * long after its end problems still begin. */
double budget_grace_s(double budget_s);

/* A budget is kept whatever a call takes: what is expected to take longer than is left does not begin, unless
 * it is so short; and what the GPU is still at so long after the end is ended. */
#define BUDGET_CHANCE_S  1.0
#define BUDGET_OVERRUN_S 2.0

#define BUDGET_LONG_CALL_S 0.1 /* from here on each call counts */

/* True if a search that has found nothing better for so many trials and seconds had better leave the rest of
 * its share to other problems. */
bool budget_converged(double share_s, size_t quiet_trials, double quiet_s);

/* The time after which a search no longer waits for a compilation or a trial that usually lasts usual_s (0:
 * unknown). A compilation has up to CHILDREN_DEADLINE_S. */
double budget_patience_s(double usual_s);

/* How the finalists race, and when the search has to stop for it. */
struct race_plan {
    int finalists;
    double block_ms;
    int min_rounds, max_rounds;
    double reserve_s; /* for race and check together */
};

/* The expected time of the check of a winner. best_us: time of one call. */
double budget_check_s(double best_us);

/* best_us: time of one call; check_s: what checking the winner is expected to take; contenders: how many
 * would race now. The reserve is for these and one more, for the last trial may be of another. */
struct race_plan budget_race(double share_s, double best_us, double check_s, int contenders);

/* True if a race of so many complete rounds may have missed the fastest: fewer finalists or less time for
 * each than a closing race has. */
bool budget_wants_closing_race(const struct race_plan *plan, int rounds);

/* How the fastest of a race run again under load (timing.h): rounds of all, cuBLAS first and last. */
struct load_plan {
    int finalists; /* 0: there is no time for it */
    int rounds;
    double lead_ms, block_ms;
};

/* Calls from here on run at the GPU's power limit for so long that a program's speed depends on it. */
#define BUDGET_LOAD_US 100.0

/* What is possible in allowed_s, and what it takes. energy: blocks of two seconds, for the counter. */
struct load_plan budget_load(double allowed_s, double best_us, bool energy);
double budget_load_s(const struct load_plan *plan, double best_us, int finalists);
/* What of a problem's time it may take. closing: of that of a race without a search. */
double budget_load_share_s(double share_s, bool closing);

/* How long the trials and the race last in which a stored winner and its runners-up are measured again. */
double budget_refresh_s(double call_us);

/* Rounds of a race of so many finalists, with what loading them takes. */
double budget_rounds_s(const struct race_plan *plan, double best_us, int finalists, int rounds);

/* Rounds that decide a race when time is up: of long calls, which differ by much more than their noise, one.
 */
int budget_rounds_least(double best_us);

/* A closing race decides among the fastest that are known, without a search: what it takes, with preparation
 * and check, and of a long call a race under load; and how it is run in share_s, thoroughly enough if that is
 * as long. */
double budget_closing_s(double best_us, double check_s, bool load);
struct race_plan budget_closing_race(double share_s, double best_us, double check_s);

#endif

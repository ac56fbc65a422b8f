/* slices.h — which problem is searched next, and for how long, where there is time to come back to problems.
 *
 * A search gains most from its first trials: so each problem first gets a second, and a winner in it; after
 * that the next slice goes to the problem that promises most for its time, by use. A slice takes as long as
 * all before it, so that races and preparations stay a small part. The race of a short slice is short; in the
 * end there is time for closing races, which search no more. Pure arithmetic on seconds.
 */
#ifndef GT_SLICES_H
#define GT_SLICES_H

#include <stdbool.h>
#include <stddef.h>

#define SLICE_FIRST_S 1.0

/* The history of one problem; zero, but for worth, before its first slice. */
struct slice_history {
    double worth;            /* what it is worth against others: its share of a program's time, or 1 */
    double spent_s;          /* in all slices */
    double time_us;          /* of its winner */
    double expected;         /* gain of the next slice, as a share of the time */
    bool behind;             /* its winner is slower than cuBLAS, after few trials */
    double closing_s;        /* what a closing race takes */
    bool wants_closing_race; /* the race that its winner has won (budget_wants_closing_race) */
};

/* True if there is time for it. even_s: what an even division of the budget gives each problem; weighted: a
 * program's problems, of which some take most of the time. */
bool slices_fit(double even_s, size_t problems, int gpus, bool weighted);

/* How long the problem's next slice lasts. left_s: of the run. */
double slice_length_s(const struct slice_history *history, double even_s, double left_s);

/* The gain that a second of the next slice promises; INFINITY before the first. */
double slice_promise(const struct slice_history *history, double even_s, double left_s);

/* Time is left for a further slice of a problem that has a winner. */
bool slice_is_worth_beginning(double even_s, double left_s);

/* A slice has ended with a winner. tried: candidates so far; trial_gain: what the strategy expects of the
 * next trial (NAN: it does not know). */
void slice_ended(struct slice_history *history, double seconds, double time_us, size_t tried,
                 double trial_gain);

/* Call it after slice_ended. ratio: of the winner to cuBLAS; 0: there was no race. Where a search that has
 * hardly begun is slower than cuBLAS, what its strategy expects says little. */
void slice_compared(struct slice_history *history, double ratio, size_t tried);

/* True if the next slice is expected to gain no more than a percent: a problem that is behind goes first. */
bool slice_is_last_percent(const struct slice_history *history);

/* True if time is kept for its closing race: for one that is too long for this part of the budget it would be
 * kept in vain. */
bool slice_closing_is_kept_time_for(const struct slice_history *history, double budget_s);

/* The part of the time left that is kept for closing races. owed_s: what they take, one after the other;
 * longest_s: the longest of them. */
double slices_reserve_s(double owed_s, double longest_s, double budget_s, int gpus);

/* True if there is time for a closing race, and how long it lasts: longer where there is more than enough for
 * all. owed_s: what all take, this one included. */
bool slice_closing_fits(const struct slice_history *history, double left_s);
double slice_closing_length_s(const struct slice_history *history, double owed_s, double left_s, int gpus);

#endif

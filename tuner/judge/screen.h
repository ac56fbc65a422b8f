/* screen.h — when a candidate has been measured enough, and when clocks have settled. Decisions on numbers
 * alone.
 *
 * The thresholds are those of docs/measuring.md, "Timing one candidate".
 */
#ifndef GT_SCREEN_H
#define GT_SCREEN_H

#include <stdbool.h>

/* Samples (blocks) of a candidate that is about as fast as the best: 10, fewer if a call takes more than 2
 * ms. */
int screen_samples(double call_us);

/* Decides after `count` samples; best_us is the best median so far, 0: none; call_us a rough time of one
 * call. Returns the number of further samples to take, 0: enough. *drop: the candidate is too slow to
 * continue. */
int screen_next(const double *samples_us, int count, double call_us, double best_us, bool *drop);

/* From here on a call is long: each counts, and a trial makes as few as it can. */
#define SCREEN_LONG_US 1e5

/* True if a trial ends after its first judged call, which took call_us, because a long call is too slow or
 * leaves no time for the others that judge and time it, and for a check. limit_s: of the trial, 0: none. */
bool screen_at_sight(double call_us, double best_us, double limit_s);

/* Further calls by which the last check repeats a judged one, so that all take limit_s at most (0: no limit);
 * 0: there is time for a single judged call. */
int screen_check_runs(double call_us, double limit_s);

/* Calls in a block: at least 1 ms of them, so that the resolution of events and gaps between launches become
 * negligible. */
int screen_calls(double call_us, double block_us);

/* True once the last SCREEN_STEADY block medians lie within 0.3 %. */
#define SCREEN_STEADY 4
bool screen_steady(const double *medians, int count);

#endif

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

/* What to do after `count` samples; best_us is the best median so far, 0: none; call_us a rough time of one
 * call. Returns the number of further samples to take, 0: enough. *drop: the candidate is too slow to
 * continue. */
int screen_next(const double *samples_us, int count, double call_us, double best_us, bool *drop);

/* Calls in a block: at least 1 ms of them, so that the resolution of events and gaps between launches become
 * negligible. */
int screen_calls(double call_us, double block_us);

/* True once the last SCREEN_STEADY block medians lie within 0.3 %. */
#define SCREEN_STEADY 4
bool screen_steady(const double *medians, int count);

#endif

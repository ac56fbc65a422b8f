/* screen.h — when a candidate has been measured enough, and when clocks have settled. Decisions on numbers
 * alone.
 *
 * The thresholds are those of docs/measuring.md, "Timing one candidate".
 */
#ifndef GT_SCREEN_H
#define GT_SCREEN_H

#include <stdbool.h>

/* Samples (blocks) that a candidate gets when it is not dropped: 10, fewer when a call takes longer than 2
 * ms. */
int screen_samples(double call_us);

/* What to do after `count` samples; best_us is the best median so far, 0: none; call_us one call timed
 * roughly. Returns how many more samples to take, 0: enough. *drop: it is too slow to go on with. */
int screen_next(const double *samples_us, int count, double call_us, double best_us, bool *drop);

/* Calls in a block: at least 1 ms of them, so that the resolution of events and gaps between launches vanish.
 */
int screen_calls(double call_us, double block_us);

/* True once the last three block medians lie within 0.3 %. */
bool screen_steady(const double *medians, int count);

#endif

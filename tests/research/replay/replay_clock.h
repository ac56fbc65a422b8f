/* replay_clock.h — a search on a recorded space against the clock: compilers and a GPU take their time, as in
 * tune.
 */
#ifndef GT_REPLAY_CLOCK_H
#define GT_REPLAY_CLOCK_H

#include "replay.h"
#include "search.h"

/* Until run->evaluations, in seconds from when the GPU is ready, or so many trials. candidates, time_us: in
 * the order that the search knows. Errors: E_MEMORY. */
enum status replay_drive_clock(struct search *search, const struct config *candidates, const double *time_us,
                               const struct replay_space *space, const struct replay_options *options,
                               struct replay_run *run);

#endif

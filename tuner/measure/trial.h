/* trial.h — one candidate on a prepared setup: load, judge, time, judge, outcome.
 *
 * Every failure of a candidate is an outcome. A returned error means trouble with the setup itself; if
 * device_lost(), the outcome says crashed and the process must end.
 */
#ifndef GT_TRIAL_H
#define GT_TRIAL_H

#include "trial_setup.h"

struct candidate {
    struct config config; /* has passed its template's check for the setup */
    const char *cubin, *checksum;
    struct kernel_facts facts;
};

/* best_us: the best median so far, 0: none; much slower candidates are dropped early. limit_s: what it should
 * take, 0: no limit. Where a call is so long that this is not enough, or much slower than the best, it is
 * slow after one call, of which the judge has seen C. Errors: E_IO, E_INPUT (the cubin is missing or
 * damaged), E_GPU (not caused by the candidate). */
enum status trial_run(struct trial_setup *setup, const struct candidate *candidate, double best_us,
                      double limit_s, struct outcome *outcome);

#endif

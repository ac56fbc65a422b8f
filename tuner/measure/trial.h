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

/* best_us: the best median so far, 0: none; much slower candidates are dropped early. Errors: E_IO, E_INPUT
 * (the cubin is missing or damaged), E_GPU (not caused by the candidate). */
enum status trial_run(struct trial_setup *setup, const struct candidate *candidate, double best_us,
                      struct outcome *outcome);

#endif

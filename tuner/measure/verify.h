/* verify.h — is a winner also correct for shapes other than the tuned one? */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "trial.h"

struct verification {
    enum verdict verdict;            /* measured: right in all cases */
    char detail[OUTCOME_DETAIL_MAX]; /* what is wrong where; or the numbers of right and skipped cases */
    int shapes;                      /* cases judged */
    int skipped;                     /* cases refused by the template's rules for this configuration */
    struct accuracy errors;          /* of the setup's problem, on the data used for the rival; or unknown */
    struct accuracy_checked checked; /* of an accuracy class: on each kind of data; or unknown */
};

/* Twenty runs of the setup's problem that must be equal bit for bit, then the cases of verify_cases.h. Stops
 * at the first wrong one. call_us: time of a call; of so long calls that they would take more than limit_s
 * (0: no limit) there are fewer, at least one. Errors as in trial_run. */
enum status verify_run(struct trial_setup *setup, const struct candidate *candidate, double call_us,
                       double limit_s, struct verification *verification);

#endif

/* verify.h — is a winner also correct for shapes other than the tuned one? */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "trial.h"

struct verification {
    enum verdict verdict;            /* measured: right everywhere it was asked */
    char detail[OUTCOME_DETAIL_MAX]; /* what is wrong where; or how many cases were right and how many skipped
                                      */
    int shapes;                      /* cases judged */
    int skipped;                     /* cases that the template's rules refuse for this configuration */
    struct accuracy
        errors; /* of the setup's problem, on the data of which the rival was judged; or unknown */
};

/* Twenty bitwise equal runs of the setup's problem, then the cases of verify_cases.h. Stops at the first
 * wrong one. Errors as in trial_run. */
enum status verify_run(struct trial_setup *setup, const struct candidate *candidate,
                       struct verification *verification);

#endif

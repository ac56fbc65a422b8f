/* trial_setup.h — everything needed to test candidates on one GPU for one problem: operands, reference
 * results, timer.
 *
 * Prepared once per problem; all its trials, race blocks and verifications use it.
 */
#ifndef GT_TRIAL_SETUP_H
#define GT_TRIAL_SETUP_H

#include "measure.h"
#include "oracle.h"

struct trial_setup {
    struct device *device;
    const char *cache; /* the caller's */
    struct oracle_kernels kernels;
    struct stopwatch watch;
    double reference_s; /* what each of a problem's two references may take; 0: ORACLE_SECONDS */
    bool ready;         /* a problem is prepared: the following members are valid */
    struct problem problem;
    bool cold; /* requested cache policy */
    uint64_t seed;
    struct workload work;
    struct oracle oracle;
    struct accuracy anchor_errors; /* on the same data; unknown until it is judged, and without an anchor */
};

/* Loads the judge's kernels and measures the clock. setup must not move afterwards. cache: folder of compiled
 * kernels; the text must outlive the setup. */
enum status trial_setup_open(struct device *device, const char *cache, struct trial_setup *setup);
void trial_setup_close(struct trial_setup *setup); /* takes a zeroed struct too */

/* Releases the former problem, then fills operands and computes references. Errors: E_GPU, with the sizes if
 * memory does not suffice. */
enum status trial_setup_prepare(struct trial_setup *setup, const struct problem *problem, bool cold,
                                uint64_t seed);
void trial_setup_clear(struct trial_setup *setup); /* release the problem */

#endif

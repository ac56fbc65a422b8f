/* session.h — one run of the main job: assigns problems to GPUs, keeps the compilers busy for all of them,
 * and divides the time.
 *
 * The supervisor's event loop. Knows jobs, children and database; prints progress through report.h.
 */
#ifndef GT_SESSION_H
#define GT_SESSION_H

#include "job.h"

struct session {
    const struct tune_options *options;
    struct children *children;
    struct db *db;
    const struct space *space;
    struct job_result *results; /* one a problem, in the order of options->problems */
    const int *workers;         /* of the children: those to be used */
    int worker_count;
    double began_s;    /* of clock.h: the budget counts from here */
    double busy_share; /* of the GPUs' time after the first 20 s, 0..1 */
    double seconds;
    size_t trials, kernels; /* of this run */
};

/* Tune all problems; fills results as far as it got. Errors: E_INTERRUPTED, E_GPU (all GPUs given up),
 * E_COMPILER, those of the database. A problem without a winner is no error here: its result says why. */
enum status session_run(struct session *session);

#endif

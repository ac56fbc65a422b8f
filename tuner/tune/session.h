/* session.h — one run of the main job: tunes all problems on all GPUs, and divides the time.
 *
 * Knows children and database; prints progress through report.h. run.h shows the inside.
 */
#ifndef GT_SESSION_H
#define GT_SESSION_H

#include "children.h"
#include "db.h"
#include "field.h"
#include "space.h"
#include "tune_options.h"

enum job_how {
    JOB_RUNNING,
    JOB_TUNED,       /* a winner is stored */
    JOB_KNOWN,       /* an earlier run stored one that is up to date: nothing done */
    JOB_KEPT,        /* nothing faster was found: the winner that job_defend named stays */
    JOB_FRUITLESS,   /* no candidate is usable, or the GPU cannot take the problem; why says it */
    JOB_INTERRUPTED, /* Ctrl-C; best so far in winner, nothing stored as winner */
    JOB_ORPHANED     /* its GPU was given up: another may take it */
};

struct job_result {
    enum job_how how;
    char why[512];
    struct db_winner
        winner; /* JOB_TUNED; for JOB_INTERRUPTED the best of the search, time_us 0 if there is none */
    size_t legal, tried, trials; /* candidates; tried in all runs; of this run */
    size_t hints;                /* candidates that go first, from winners of similar problems */
    struct recalled recalled;
    double raw, seconds;
    bool left_out;           /* JOB_FRUITLESS: not begun, the budget was over */
    bool lost;               /* the winner defended failed in the race or the last check */
    bool exhausted;          /* the search cannot go on, or need not */
    double gain;             /* search_gain in the end */
    bool wants_closing_race; /* the race was (budget_wants_closing_race); JOB_KEPT: or somebody else needs one
                              */
    double closing_s;        /* JOB_TUNED, JOB_KEPT: what a closing race takes (budget_closing_s) */
};

struct session {
    const struct tune_options *options;
    struct children *children;
    struct db *db;
    struct db *known;  /* read only; NULL: none */
    struct keep *keep; /* NULL: none */
    const struct space *space;
    struct job_result *results; /* one a problem, in the order of options->problems */
    const int *workers;         /* of the children: those to be used */
    int worker_count;
    /* Writes the page of options->report. live: the run goes on. */
    enum status (*write_page)(const struct session *session, bool live);
    double began_s;    /* of clock.h: the budget counts from here */
    double busy_share; /* of the GPUs' time after the first 20 s, 0..1 */
    double seconds;
    size_t trials, kernels; /* of this run */
};

/* Tune all problems; fills results as far as it got. Errors: E_INTERRUPTED, E_GPU (all GPUs given up),
 * E_COMPILER, those of the database. A problem without a winner is no error here: its result says why. */
enum status session_run(struct session *session);

#endif

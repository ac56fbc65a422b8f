/* job.h — one problem on one GPU: recall known outcomes, search, trials, race, check, store the winner.
 *
 * A state machine: the session opens it, lends it a worker, compiles the kernels that it requests, passes on
 * the worker's answers, and steps it. Before it has a worker it only requests kernels ahead of time. It never
 * waits.
 */
#ifndef GT_JOB_H
#define GT_JOB_H

#include "builds.h"
#include "children.h"
#include "db.h"
#include "field.h"
#include "report.h"
#include "space.h"
#include "tune_options.h"

struct job;

/* What all jobs of a run share. */
struct job_env {
    struct children *children;
    struct db *db;
    struct builds *builds;
    struct report *report;
    const struct space *space;
    const struct tune_options *options;
    int waiting;                     /* problems that could use the time that one leaves over */
    double even_s;                   /* an even division of the budget; 0 unless it is given in slices */
    double check_excess_s;           /* most that a check took beyond what was expected (budget_check_s) */
    double end_s;                    /* of the run's budget; 0: nobody looks at it */
    bool strict;                     /* calls are long: after the budget's end no problem begins */
    bool warm[CHILDREN_WORKERS_MAX]; /* this worker's GPU has reached its steady state once */
};

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
    bool lost;        /* the winner defended failed in the race or the last check */
    bool exhausted;   /* the search cannot go on, or need not */
    double gain;      /* search_gain in the end */
    bool hasty;       /* the race was (budget_race_is_hasty); JOB_KEPT: or somebody else needs one */
    double closing_s; /* JOB_TUNED, JOB_KEPT: what a closing race takes (budget_closing_s) */
};

/* With what its worker needs for a preparation. Errors: E_MEMORY. */
enum status job_open(struct job_env *env, const struct db_context *context, int64_t run_id,
                     const struct problem *problem, struct job **job);
void job_close(struct job *job); /* takes NULL */

/* A slice has ended, or was given back before it began, and another may follow: candidates, search and what
 * it has proposed stay as they are. */
void job_rest(struct job *job);
/* The next slice, in place of job_open; job_explore has nothing left to do. */
void job_resume(struct job *job, const struct db_context *context, int64_t run_id);
/* What it holds, about. */
size_t job_bytes(const struct job *job);

/* Enumerate, order, recall; nothing if that is done. It may take as long as the preparation: where it was not
 * done ahead, it follows job_begin, and nothing but job_close or job_abandon comes between. Errors: E_ABSENT
 * (nothing is legal), those of the database, E_MEMORY. */
enum status job_explore(struct job *job);

/* This one of its candidates, if it has been tried, is among the finalists: the winner of a search that is
 * continued. raced: against the fastest of all trials there are; if none of those to come is faster, it stays
 * without another race (JOB_KEPT). If it is none of its candidates, from another
 * space, it stays unless the winner of the race is faster. */
void job_defend(struct job *job, const struct db_winner *winner, bool raced);

/* Before job_begin: no search, only a closing race of the fastest, the check and the winner. */
void job_only_race(struct job *job);

/* Lend it a worker for about share_s seconds; a free one is asked to prepare the problem. Errors: E_MEMORY.
 */
enum status job_begin(struct job *job, int worker, double share_s);

/* Once it is begun and explored. What other problems have won since it was explored is taken as hints. first:
 * of its problem in this run; what it learnt from others is told once. share_s: what is left to it now; 0:
 * still that of job_begin. Errors: those of the database,
 * E_MEMORY. */
enum status job_start_search(struct job *job, double share_s, bool first);
bool job_half_done(const struct job *job);    /* begun, and half of its time is over, or its search */
bool job_has_searched(const struct job *job); /* it races and checks, and wants few kernels more */

/* Choose candidates ahead; then the next kernel that a compiler should make, NULL if there is none. */
enum status job_fill(struct job *job);
struct built *job_wants(const struct job *job);

/* It has chosen candidates with which it can go on at once: there may be no event to wait for. */
bool job_can_step(const struct job *job);

/* Do what can be done now. Errors end the run: the database cannot be written, out of memory. */
enum status job_step(struct job *job);

/* An answer, a loss, a return of its worker. Takes over event->answer. */
enum status job_event(struct job *job, struct children_event *event);

/* Ctrl-C: end after the trial under way. */
void job_stop(struct job *job);

/* The fastest so far, without a race; time_us stays 0 if there is none. */
void job_best(const struct job *job, struct db_winner *winner);

/* The run ends in the middle of a trial: the attempt does not count against its candidate. */
void job_abandon(struct job *job);

const struct job_result *job_result(const struct job *job);
const struct problem *job_problem(const struct job *job);
void job_progress(const struct job *job, struct progress *progress);

#endif

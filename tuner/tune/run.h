/* run.h — the inside of a run: its GPUs, its problems, and what its slices share. Only the files of this
 * folder that make up a run include it.
 *
 *   session.c   begins the run, has a thread for each GPU, and ends it
 *   deal.c      which problem a GPU works on next, and for how long
 *   ahead.c     opens that problem while the GPU is at another
 *   slice.c     one slice: search, race, check, winner
 *   settle.c    what becomes of a problem whose slice has ended
 *   keep.c      the copy of the database, and how far the run is, for others
 *   wait.c      how threads wait for the children, and what they do about an event
 *
 * All threads hold the run's lock while they are awake, but for the enumeration of a space. So they take
 * turns wherever they wait, as the handlers of an event loop would, and nothing else needs a lock: database,
 * children, compiled kernels and report included. A GPU has a thread, and a second one while a problem is
 * opened ahead.
 */
#ifndef GT_RUN_H
#define GT_RUN_H

#include "builds.h"
#include "report.h"
#include "session.h"
#include "slices.h"
#include <pthread.h>

struct job;

/* A GPU: the problems that its thread works on, and its worker process. */
struct gpu_worker {
    struct run *run;
    pthread_t thread;
    int number; /* of the children's workers */
    struct db_context context;
    int64_t run_id;
    struct job *now;
    struct problem_state *next; /* opened ahead: its first kernels are compiled while `now` is measured */
    struct job *opening;        /* being opened ahead, by a thread of its own; NULL: none */
    pthread_t opener;           /* that thread, or the last one: `joinable` */
    bool joinable;
    bool warm; /* it has reached its steady state once */
    bool gone; /* given up; why says it */
    char why[OUTCOME_DETAIL_MAX];

    bool preparing;    /* its process was asked to prepare, and its answer is not taken in */
    bool prepared;     /* its process has the problem of `now` */
    bool pending;      /* a request is outstanding, */
    double sent_s;     /* since then, */
    const char *until; /* and this is when it ends */
    bool lost, hung;   /* the process died on the last request, or by its deadline: reason */
    json_t *answer;    /* to the last request; owned */
    char reason[OUTCOME_DETAIL_MAX];
};

/* A problem that has a winner and waits for a further slice is WAITING, too. */
enum standing { WAITING, TAKEN, ENDED };

struct problem_state {
    enum standing standing;
    struct slice_history history;
    bool begun;          /* in this run */
    bool raced;          /* its winner, in this run, against all trials there were before its last slice */
    bool searched;       /* nothing is left to search */
    bool closing;        /* TAKEN for its closing race */
    bool opening;        /* TAKEN to be opened ahead */
    int fruitless;       /* later slices in a row without a winner */
    struct job *resting; /* opened, or kept, for the next slice; NULL: there is none */
};

struct run {
    struct session *s;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an event has been taken, or a thread has ended */
    int threads;            /* that have not come to their end */
    bool polling;           /* a thread waits for the children; the others wait for it */
    enum status failed;     /* ends all threads, with this sentence */
    char sentence[1024];

    struct builds *builds;
    struct report *report;
    struct gpu_worker *gpu;
    int gpus;
    struct problem_state *problem; /* in the order of the options */
    int ended;                     /* problems */
    int left_out;                  /* problems that the budget had no time for */
    double began_s, budget_s, end_s;
    double even_s;         /* what an even division of the budget gives each problem */
    bool slices;           /* the budget is given in slices */
    double beside_s;       /* what a slice takes beside its search: preparation, race and check */
    double ending_s;       /* of this, race and check; 0: not known yet */
    bool strict;           /* calls are long: after the budget's end no problem begins */
    double check_excess_s; /* most that a check took beyond what was expected (budget_check_s) */
    bool stopping;         /* Ctrl-C, once */
    double page_due_s;     /* when the page of --report is written again */
};

/* ---- wait.c ---- */

/* Feeds the compilers, and sleeps until something has happened, TICK_S at the most. Errors end the run. */
enum status run_wait(struct run *run);
/* The run ends with this status and the present sentence, unless it has failed already. */
void run_fail(struct run *run, enum status st);

/* ---- deal.c ---- */

bool run_same_model(const struct gpu *x, const struct gpu *y);
int run_gpus_alive(const struct run *run); /* that have not been given up */
double run_left_s(const struct run *run);  /* of the budget */
/* Problems that could use the time that one leaves over: no GPU works on them yet. */
int run_waiting(const struct run *run);
/* Settles a problem: no more is done for it in this run. */
void run_settle(struct run *run, size_t at);

/* The next job of a GPU that has none: gpu->now stays NULL where there is no work. */
enum status deal_next(struct gpu_worker *gpu);
/* The job that is likely to come after the present one. *job NULL: there is none. */
enum status deal_after(const struct gpu_worker *gpu, struct job **job);
/* Opens the search of a job. Where nothing is legal the problem is settled, and the job has ended. */
enum status deal_open_search(struct job *job);
/* How long the slice of a job that begins now lasts. */
double deal_length_s(const struct job *job);
void deal_say_begun(const struct job *job);
/* The problem waits, and its job is kept for the next slice of its problem, with its search and what that has
 * proposed. If all together take too much memory, those of problems that promise least are closed. */
void deal_let_rest(struct job *job);

/* ---- ahead.c ---- */

/* Begins to open the job that is likely to come after the present one, and to propose its first kernels, when
 * it is time and there is one. Then it rests until it is due. */
enum status ahead_begin(struct gpu_worker *gpu);
/* Waits until nothing is being opened. */
void ahead_await(struct gpu_worker *gpu);
/* The same, and the thread has ended. */
void ahead_end(struct gpu_worker *gpu);

/* ---- slice.c ---- */

/* Search, race, check and store the winner of gpu->now, for as long as deal_length_s says. Returns when its
 * time is over, and how it ended is in its result. Errors end the run: the database cannot be written, out of
 * memory, Ctrl-C twice. */
enum status tune_slice(struct gpu_worker *gpu);

/* ---- settle.c ---- */

/* Takes the result of a GPU's slice, and closes its job or keeps it for another. */
void settle_slice(struct gpu_worker *gpu);

#endif

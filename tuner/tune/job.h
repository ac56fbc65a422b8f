/* job.h — one problem on one GPU, from slice to slice: its candidates, the search, what that has proposed,
 * and the best so far. A slice (slice.h) spends time on it.
 *
 * Functions that return a status do nothing for a job that has ended (job_runs).
 */
#ifndef GT_JOB_H
#define GT_JOB_H

#include "budget.h"
#include "builds.h"
#include "db.h"
#include "field.h"
#include "race.h"
#include "refusals.h"
#include "report.h"
#include "session.h"
#include "transfer.h"

struct run;
struct gpu_worker;

enum job_phase { PHASE_SEARCH, PHASE_RACE, PHASE_CHECK };

#define JOB_TRIALS_LEAST 3 /* of a slice, however short, if so many are compiled */

#define CRASHES_MAX 2 /* of a candidate in a job, whatever the database knows */

/* A candidate that the search has asked for and that has not been told. */
struct ahead {
    size_t index;
    struct built *built;
    double begun_s;  /* its first trial; 0: not yet */
    bool recompiled; /* its cubin had left the cache once */
    bool late;       /* the search does not wait for its result */
};

struct finalist {
    size_t index; /* in the field */
    struct config config;
    struct built *built;
    char text[CONFIG_TEXT_MAX];
    int smem_bytes;
    int losses; /* times a worker died on its blocks or its last check */
    bool refused;
    bool recompiled; /* its cubin had left the cache */
};

/* race.h decides among them; here are their samples, and which of them the last check has refused. The
 * fastest may race a second time, under load (timing.h). */
struct finalists {
    struct finalist finalist[RACE_RUNNERS_MAX];
    int count;
    enum call_timing timing; /* of the race at hand */
    struct race *race;
    struct race *second;      /* NULL: none, or not yet */
    int of[RACE_RUNNERS_MAX]; /* the finalist that runs in it in this place */
    struct load_plan load;    /* how it is run */
    bool by_energy;           /* it is decided by the energy of a call */
    bool capped;              /* the GPU was at its power limit in a block */
    int processes;            /* with a context on the GPU, at most; 0: unknown */
    double limit_w[2];        /* least and largest power limit during the blocks; 0: unknown */
    struct db_race_sample *samples;
    int sample_count, sample_room;
    int anchor_losses;
    int repeats; /* of the present block, because the GPU was throttled */
};

struct job {
    struct run *run;
    size_t at; /* of its problem, in the run */
    struct db_context context;
    int64_t run_id;
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    struct job_result result;

    struct field field;
    bool pinned; /* the field is what the user pinned */
    struct transferred transferred;
    struct search *search;
    struct ahead *ahead; /* in the order asked for */
    size_t ahead_count, ahead_limit;
    size_t library_ahead; /* of them, algorithms of NVIDIA's library, which come first */
    bool kernel_was_last; /* the one tried last was none of these: both kinds take turns */
    bool search_over;
    bool satisfied; /* nothing more was expected when a proposal was made */
    size_t late;    /* results that the search did not wait for */

    size_t best;               /* index of the fastest so far */
    double best_us, said_us;   /* said_us: the best that was last told to the user */
    int contenders;            /* that would race now */
    double trial_s;            /* what a trial takes, smoothed; 0: none yet */
    double slowness;           /* of the candidates tried, the least time over the model's; 0: none yet */
    char trouble[256];         /* the last failure, for a job with only one candidate */
    struct db_winner defender; /* job_defend; config.template NULL: none */
    struct config raced[RACE_RUNNERS_MAX + 1]; /* refresh: what ran in the defender's race, itself first */
    int raced_count;
    bool defender_raced; /* against all trials that were known when it was opened */

    /* Members of one slice. */
    struct gpu_worker *gpu; /* that works on it; NULL: none does */
    enum job_phase phase;
    double began_s, share_s;
    double searched_s, search_end_s; /* how long the search lasted, and when it ended */
    double warmed_s;                 /* what `warming` has added to share_s */
    bool warming;                    /* for all slices, not at the cost of this one */
    bool only_race;   /* no search, only a closing race of the fastest, the check and the winner */
    bool trying;      /* a trial is under way, of `tried` */
    bool passed_over; /* a candidate was not tried because there was no time for it */
    struct ahead tried;
    int prepare_failures;
    double anchor_us;              /* the rival, as the preparation timed it; 0: there is none */
    char rival[32];                /* its name; "" without */
    struct accuracy anchor_errors; /* of the rival's product; or unknown */
    double found_us;               /* fastest trial; 0: none */
    double gain_us, gain_s;        /* the best that was worth noting, and when it was found */
    size_t gain_trials;            /* trials until then */
    size_t failures[VERDICT_COUNT];
    struct refusals refusals;
    struct race_plan plan;
    struct finalists finalists;
};

/* ---- job.c ---- */

/* The job of a problem of the run. NULL: out of memory. */
struct job *job_open(const struct gpu_worker *gpu, size_t at);
void job_close(struct job *job); /* takes NULL */

/* The job's slice has ended, or was given back before it began: candidates, search and proposals stay as they
 * are. The next slice calls job_resume in place of job_open. */
void job_rest(struct job *job);
void job_resume(struct job *job, const struct gpu_worker *gpu);
size_t job_bytes(const struct job *job); /* what it holds, about */

/* This one of its candidates, if it has been tried, is among the finalists: the winner of a search that is
 * continued. raced: against the fastest of all trials there are; if none of those to come is faster, it stays
 * without another race (JOB_KEPT). If it is none of its candidates, from another space, it stays unless the
 * winner of the race is faster. */
void job_defend(struct job *job, const struct db_winner *winner, bool raced);

/* Enumerate, order, recall; nothing if that is done. It may take as long as a preparation, and most of it is
 * without the run's lock. Errors: E_ABSENT (nothing is legal), those of the database, E_MEMORY. */
enum status job_open_search(struct job *job);

/* Takes winners that other problems have found since the job was opened as hints. first: the first slice of
 * its problem in this run, in which it tells what it learnt from others. Errors: those of the database,
 * E_MEMORY. */
enum status job_begin_search(struct job *job, bool first);

/* Says and stores a sentence on how the search went. Errors: those of the database. */
enum status job_note(const struct job *job, const char *note);

/* Record and tell the candidates that the compiler refused or that spill, and choose others, whose kernels
 * the compilers make. */
enum status job_work_ahead(struct job *job);
struct built *job_wants(const struct job *job); /* the next kernel to compile; NULL: there is none */

/* A candidate of the search is built: there may be no event to wait for. */
bool job_can_try(const struct job *job);

/* Takes out the first candidate whose kernel is built, and for which there is time. */
enum status job_take_built(struct job *job, struct ahead *ahead, bool *taken);
void job_put_back(struct job *job, const struct ahead *ahead); /* it comes again */

/* Tells everybody but the database of an outcome; the search alone of a time. */
void job_tell(struct job *job, size_t index, const struct outcome *outcome);
void job_tell_search(struct job *job, size_t index, double time_us);

bool job_runs(const struct job *job);
void job_end(struct job *job, enum job_how how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void job_progress(const struct job *job, struct progress *progress);

/* ---- job_refresh.c ---- */

/* In place of an enumeration: the field is what ran in the race of the stored winner, which is the defender,
 * as far as it may be used here. Errors: E_ABSENT (nothing of it may), those of the database, E_MEMORY. */
enum status job_open_raced(struct job *job);

/* ---- job_library.c ---- */

/* Takes the proposals of cublasLt from the answer to a preparation: they take turns with kernels. Errors:
 * those of the database, E_MEMORY. */
enum status job_take_library(struct job *job, const json_t *answer);

/* ---- job_time.c ---- */

double job_call_s(const struct job *job, size_t index); /* expected of a candidate */
void job_learn_time(struct job *job, size_t index);     /* it has been tried */
double job_check_s(const struct job *job);              /* what checking the winner is expected to take */
double job_prepare_limit_s(const struct job *job);      /* what the worker is told; 0: no limit */
double job_trial_limit_s(const struct job *job);
double job_check_limit_s(const struct job *job);
double job_deadline_s(const struct job *job, double predicted_us); /* beyond which a trial hangs */
bool job_trial_fits(const struct job *job, size_t index);          /* there is time for it */
bool job_any_trial_fits(const struct job *job);                    /* that might be faster than the best */
bool job_is_overtime(const struct job *job);                       /* its worker takes too long */
bool job_is_overdue(const struct job *job, const struct ahead *ahead);
bool job_is_half_done(const struct job *job);      /* half of its time is over */
bool job_compiles_too_late(const struct job *job); /* for a trial in this slice */
bool job_is_ending(const struct job *job);         /* nearly all is, or its search */
bool job_is_exhausted(const struct job *job);      /* more time would not help its search */
bool job_search_is_over(const struct job *job);
double job_race_left_s(const struct job *job); /* until the check */
double job_load_s(const struct job *job);      /* what a race under load may take, after this one */
double job_closing_s(const struct job *job);   /* of a race of its fastest, in a slice of its own */
bool job_by_energy(const struct job *job);  /* asked for, or so the winner that is raced again was chosen */
bool job_is_closing(const struct job *job); /* its slice is a race without a search */
bool job_may_race_again(const struct job *job); /* after refusals: a little beyond the slice, too */

/* ---- finalists.c ---- */

void job_count_contenders(struct job *job, double time_us);    /* after a trial of this time */
bool job_lists_defender(const struct job *job, size_t *index); /* the winner defended is a candidate */
/* The winner defended stays without a race: nothing faster was found. False: there is a race. */
bool job_keeps_defender(struct job *job);
/* Chooses the finalists, or ends the job: nothing is usable. */
enum status job_choose_finalists(struct job *job);
bool job_finalists_are_built(const struct job *job); /* or refused */
/* Starts the race of the finalists that could be built; ends the job if there are none. Errors: E_MEMORY. */
enum status job_start_race(struct job *job);

/* After the first race: whether the fastest run again, and the start of that, or OK without one where there
 * is no time for it. Errors: E_MEMORY, those of the database. */
bool job_wants_second_race(const struct job *job);
enum status job_start_second_race(struct job *job);

/* Whose block is next: a finalist, RACE_ANCHOR or RACE_DONE. */
int finalists_next(const struct finalists *finalists);
int finalists_rounds(const struct finalists *finalists); /* complete ones of the race at hand */
void finalists_cut(struct finalists *finalists);

/* The block that was next: time (INFINITY: it failed), energy and the GPU's state; the rest is filled in. The
 * second race ends without a decision if it is to be decided by an energy that is not known. Errors:
 * E_MEMORY. */
enum status finalists_tell(struct finalists *finalists, const struct db_race_sample *block);
enum status finalists_tell_failed(struct finalists *finalists);

/* The winner among those not refused, -1 if there is none. */
int finalists_choice(const struct finalists *finalists, bool *tied);

/* Fill in what the race knows of a finalist: configuration, times, ratio, rounds, registers, energy. */
void finalists_evidence(const struct finalists *finalists, int finalist, struct db_winner *winner);

void finalists_free(struct finalists *finalists); /* takes a zeroed struct */

/* ---- job_winner.c ---- */

/* The fastest so far, without a race; time_us stays 0 if there is none. */
void job_best(const struct job *job, struct db_winner *winner);
/* Stores the finalist that passed the last check, and ends the job. errors: of its product. checked: as in
 * verify.h. */
enum status job_store_winner(struct job *job, int choice, bool tied, const struct accuracy *errors,
                             const struct accuracy_checked *checked);

#endif

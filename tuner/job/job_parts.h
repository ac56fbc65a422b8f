/* job_parts.h — the inside of a job, shared by job.c (life cycle), job_trial.c (search), job_race.c
 * (decision), job_time.c (what there is time for) and job_rest.c (between slices). No other file includes it.
 */
#ifndef GT_JOB_PARTS_H
#define GT_JOB_PARTS_H

#include "final_race.h"
#include "job.h"
#include "transfer.h"

enum job_phase {
    PHASE_SEARCH,
    PHASE_CALL /* kernels of the finalists */,
    PHASE_RACE,
    PHASE_CHECK,
    PHASE_ENDED
};

#define CRASHES_MAX 2 /* of a candidate in a job, whatever the database knows */

/* What the worker has been asked and has not answered. */
enum asked { ASKED_NOTHING, ASKED_PREPARE, ASKED_TRIAL, ASKED_BLOCK, ASKED_CHECK };

/* A candidate that the search has asked for and that has not been told. */
struct ahead {
    size_t index;
    struct built *built;
    double begun_s;  /* its first trial; 0: not yet */
    bool recompiled; /* its cubin had left the cache once */
    bool late;       /* the search does not wait for its result */
};

struct job {
    struct job_env *env;
    struct db_context context;
    int64_t run_id;
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    struct job_result result;

    struct field field;
    bool pinned; /* the field is what a person wants */
    struct transferred transferred;
    struct search *search;
    struct ahead *ahead; /* in the order asked for */
    size_t ahead_count, ahead_limit;
    size_t library_ahead; /* of them, algorithms of NVIDIA's library, which are tried first */
    bool search_over;
    bool satisfied; /* nothing more was expected when a proposal was made */
    size_t late;    /* results that the search did not wait for */
    enum job_phase phase;

    int worker;
    double began_s, share_s;
    bool prepared, stopping, warming; /* warming: for all slices, not at the cost of this one */
    int prepare_failures;
    double anchor_us;              /* the rival, as the preparation timed it; 0: there is none */
    char rival[32];                /* its name; "" without */
    struct accuracy anchor_errors; /* of the rival's product; or unknown */

    enum asked asked;
    double sent_s;
    struct ahead flying; /* ASKED_TRIAL */
    int64_t attempt;

    size_t best;             /* index of the fastest so far */
    double best_us, said_us; /* said_us: the best that was last told to the user */
    int contenders;          /* that would race now */
    double gain_us, gain_s;  /* the best that was worth noting, and when it was found */
    size_t gain_trials;      /* trials of this run until then */
    double trial_s;          /* what a trial takes, smoothed; 0: none yet */
    double slowness;         /* of the candidates tried, the least time over the model's; 0: none yet */
    bool passed_over;        /* a candidate was not tried because there was no time for it */
    size_t failures[VERDICT_COUNT];
    char trouble[256]; /* the last failure, for who has only one candidate */

    double found_us; /* fastest trial of this slice; 0: none */

    struct db_winner defender; /* job_defend; config.template NULL: none */
    bool defender_raced;       /* against all trials that were known when it was opened */
    bool only_race;            /* job_only_race */
    struct final_race final_race;
    struct race_plan plan;
    int choice; /* ASKED_CHECK */
    bool tied;
};

/* Tells the search of a time, unless the search does not know the candidate. */
static inline void job_tell_search(struct job *job, size_t index, double time_us)
{
    if (!field_is_library(&job->field, index)) search_tell(job->search, index, time_us);
}

/* Send to the worker and remember what it was. */
enum status job_ask(struct job *job, enum asked what, json_t *request, double deadline_s);

/* End with a sentence (printf-like). */
void job_end(struct job *job, enum job_how how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What checking the winner is expected to take. */
double job_check_s(const struct job *job);

/* job_time.c */
double job_call_s(const struct job *job, size_t index); /* expected of a candidate */
void job_learn_time(struct job *job, size_t index);     /* it has been tried */
double job_prepare_limit_s(const struct job *job);      /* what the worker is told; 0: no limit */
double job_trial_limit_s(const struct job *job);
double job_check_limit_s(const struct job *job);
bool job_trial_fits(const struct job *job, size_t index); /* there is time for it */
bool job_any_trial_fits(const struct job *job);           /* that might be faster than the best */
void job_cut_overtime(struct job *job);                   /* end it if its worker takes too long */
void job_end_without_time(struct job *job);               /* no trial fits */

/* job_trial.c */
double search_end_s(const struct job *job);
bool search_is_over(const struct job *job);
bool search_is_exhausted(const struct job *job);   /* more time would not help */
enum status trial_settle_unbuilt(struct job *job); /* candidates that the compiler refused or that spill */
enum status trial_send(struct job *job);
void trial_pass_over(struct job *job, size_t index); /* there is no time for it in this run */
bool trial_put_off(struct job *job); /* the result that the search waits for, if it is overdue */
enum status trial_answered(struct job *job, const json_t *answer);
enum status trial_lost(struct job *job, bool hung, const char *reason);
double trial_deadline_s(const struct job *job, double predicted_us);

/* job_race.c */
void race_recount(struct job *job, double time_us); /* contenders, after a trial of this time */
bool race_is_needless(const struct job *job);       /* the winner defended stays anyway */
void race_keep(struct job *job);                    /* end with it */
enum status race_call(struct job *job);             /* choose the finalists */
enum status race_begin(struct job *job);            /* once their kernels are there */
bool race_called(const struct job *job);
enum status race_send(struct job *job);
enum status race_answered(struct job *job, const json_t *answer);
enum status race_lost(struct job *job, bool hung, const char *reason);
enum status check_send(struct job *job);
enum status check_answered(struct job *job, const json_t *answer);
enum status check_lost(struct job *job, bool hung, const char *reason);

#endif

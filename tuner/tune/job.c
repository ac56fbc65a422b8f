#include "job.h"

#include "clock.h"
#include "hints.h"
#include "preferred.h"
#include "run.h"
#include "template.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROPOSALS_MOST 256   /* looked at before the GPU is looked after */
#define WORTH_SAYING   0.99  /* of the best that was last told */
#define GAIN_WORTH     0.999 /* of the best that was last noted */
#define SEARCH_BYTES   3e6   /* of a search, about, */
#define EACH_BYTES     64    /* and for each candidate, with the index of neighbours */

/* ---- from slice to slice ---- */

struct job *job_open(const struct gpu_worker *gpu, size_t at)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job) {
        fail(E_MEMORY, "out of memory for a problem");
        return NULL;
    }
    job->run = gpu->run;
    job->at = at;
    job->problem = gpu->run->s->options->problems[at];
    job->result.winner.base.problem = job->problem;
    problem_format(&job->problem, job->text);
    job_resume(job, gpu);
    return job;
}

void job_close(struct job *job)
{
    if (!job) return;
    finalists_free(&job->finalists);
    if (job->search) search_stop(job->search);
    field_close(&job->field);
    free(job->ahead);
    free(job);
}

void job_rest(struct job *job)
{
    finalists_free(&job->finalists);
    job->gpu = NULL;
    job->phase = PHASE_SEARCH;
    job->began_s = job->share_s = job->searched_s = job->search_end_s = job->warmed_s = 0;
    job->warming = job->only_race = job->trying = job->passed_over = false;
    job->prepare_failures = 0;
    job->anchor_us = job->found_us = job->gain_us = job->gain_s = 0;
    job->gain_trials = job->late = 0;
    job->plan = (struct race_plan){0};
    memset(job->failures, 0, sizeof job->failures);
    job->refusals = (struct refusals){.alike = 0};
    for (size_t i = 0; i < job->ahead_count; i++) job->ahead[i].begun_s = 0;
    job->result = (struct job_result){.legal = job->result.legal,
                                      .tried = job->result.tried,
                                      .hints = job->result.hints,
                                      .recalled = job->result.recalled,
                                      .raw = job->result.raw,
                                      .winner.base.problem = job->problem,
                                      .winner.gpu = job->context.gpu};
}

void job_resume(struct job *job, const struct gpu_worker *gpu)
{
    job->context = gpu->context;
    job->run_id = gpu->run_id;
    job->result.winner.gpu = gpu->context.gpu;
}

size_t job_bytes(const struct job *job)
{
    const size_t each = sizeof(struct config) + 2 * sizeof(double) + EACH_BYTES;
    return (size_t)SEARCH_BYTES + job->field.count * each;
}

void job_defend(struct job *job, const struct db_winner *winner, bool raced)
{
    job->defender = *winner;
    job->defender_raced = raced;
}

/* ---- opening the search ---- */

static enum status take_hints(struct job *job)
{
    size_t given;
    const struct session *s = job->run->s;
    if (s->options->refresh) return OK;
    enum status st = hints_give(&job->field, s->db, s->known, &job->context, &job->problem,
                                s->options->pretuned, job->search, &given);
    job->result.hints += given;
    return st;
}

/* As many jobs as there are GPUs share the compilers. */
static int compilers_of_a_job(const struct children *children)
{
    const int jobs = children_workers(children);
    return jobs > 1 ? (children_compilers(children) + jobs - 1) / jobs : children_compilers(children);
}

/* Meanwhile the other threads go on. */
static enum status enumerate(struct job *job)
{
    const struct session *s = job->run->s;
    struct field field;
    pthread_mutex_unlock(&job->run->lock);
    const enum status st = field_open(s->space, &job->problem, &job->context.gpu, s->options->workspace_bytes,
                                      s->options->library, &field);
    pthread_mutex_lock(&job->run->lock);
    if (!st) job->field = field;
    return st;
}

enum status job_open_search(struct job *job)
{
    if (job->search) return OK;
    const struct session *s = job->run->s;
    const struct tune_options *options = s->options;
    const struct feedback_limits feedback = feedback_limits_of(compilers_of_a_job(s->children));
    struct search *search = NULL;
    job->ahead_limit = feedback_most(&feedback);
    enum status st = options->refresh ? job_open_raced(job) : enumerate(job);
    if (!st)
        st = preferred_apply(&job->field, s->db, &job->context.gpu, &job->problem, options->workspace_bytes,
                             options->pin.template ? &options->pin : NULL, &job->pinned);
    if (!st && !job->pinned && options->transfer)
        st = transfer_trials(&job->field, s->db, s->known, &job->context, &job->problem, &job->transferred);
    if (!st && !(job->ahead = calloc(job->ahead_limit + FIELD_LIBRARY_MAX + 1, sizeof *job->ahead)))
        st = fail(E_MEMORY, "out of memory for a problem");
    if (!st)
        st = search_start(options->strategy, job->field.config, job->field.count, job->field.predicted_us,
                          field_growth(&job->field), options->seed, &search);
    job->search = search;
    if (!st) st = search_order_feedback(search, job->field.config, &feedback);
    if (!st && !options->refresh)
        st = field_recall(&job->field, s->db, &job->context, &job->problem, search, &job->result.recalled);
    if (!st) st = take_hints(job);
    if (st) return st;
    job->result.legal = (size_t)job->field.legal;
    job->result.raw = job->field.raw_count;
    job->result.tried = job->result.recalled.usable + job->result.recalled.failed;
    if (field_best(&job->field, &job->best, 1)) {
        job->best_us = job->field.time_us[job->best];
        job_learn_time(job, job->best);
    }
    job_count_contenders(job, job->best_us);
    return OK;
}

enum status job_note(const struct job *job, const char *note)
{
    report_say(job->run->report, "%s: %s", job->text, note);
    return db_note(job->run->s->db, job->run_id, &job->problem, note);
}

enum status job_begin_search(struct job *job, bool first)
{
    enum status st = OK;
    char text[256];
    if (first && job->transferred.trials) {
        transfer_note(&job->transferred, text);
        st = job_note(job, text);
    }
    if (!st && first && job->field.sample) {
        field_note(&job->field, text);
        st = job_note(job, text);
    }
    return st ? st : take_hints(job);
}

/* ---- candidates, and kernels ahead of time ---- */

static bool at_trial_limit(const struct job *job)
{
    const int64_t limit = job->run->s->options->max_trials;
    const size_t ahead = job->ahead_count - job->library_ahead;
    return limit > 0 && job->result.tried + ahead + job->trying >= (size_t)limit;
}

static bool wants_more(const struct job *job)
{
    if (job->phase != PHASE_SEARCH || job->only_race || job->search_over) return false;
    if (job->run->stopping || at_trial_limit(job)) return false;
    if (job->satisfied && job->run->s->options->budget_s == 0) return false;
    return job->ahead_count - job->library_ahead < job->ahead_limit;
}

/* The candidate that is to be compiled or tried, or is. */
static struct ahead *under_way(struct job *job, size_t index)
{
    if (job->trying && job->tried.index == index) return &job->tried;
    for (size_t i = 0; i < job->ahead_count; i++)
        if (job->ahead[i].index == index) return &job->ahead[i];
    return NULL;
}

/* Goes on without the result that the search waits for, if it is overdue. */
static bool put_off(struct job *job)
{
    size_t index;
    struct ahead *a = search_awaits(job->search, &index) ? under_way(job, index) : NULL;
    if (!a || !job_is_overdue(job, a) || !search_put_off(job->search)) return false;
    a->late = true;
    job->late++;
    return true;
}

/* There is no time for it in this run. */
static void pass_over(struct job *job, size_t index)
{
    job_tell_search(job, index, 1e6 * job_call_s(job, index));
    job->passed_over = true;
}

/* Leaves out a candidate that is quarantined: it crashed twice on this GPU, for whatever problem. */
static enum status leave_if_quarantined(struct job *job, size_t index, bool *left)
{
    enum status st = db_quarantined(job->run->s->db, &job->context, &job->field.config[index], left);
    if (st || !*left) return st;
    job->field.time_us[index] = (double)INFINITY;
    job_tell_search(job, index, (double)INFINITY);
    return OK;
}

static enum status propose(struct job *job)
{
    for (int looked_at = 0; wants_more(job) && looked_at < PROPOSALS_MOST; looked_at++) {
        size_t i;
        const enum search_answer answer = search_next(job->search, &i);
        job->search_over = answer == SEARCH_DONE;
        if (answer == SEARCH_WAIT && put_off(job)) continue;
        if (answer != SEARCH_TRY) break;
        /* Asked when a proposal is made, for in between what has been told depends on the clock. */
        job->satisfied |= search_satisfied(job->search);
        bool left;
        enum status st = leave_if_quarantined(job, i, &left);
        if (st) return st;
        if (left) continue;
        if (job->gpu && !job_trial_fits(job, i)) {
            pass_over(job, i);
            continue;
        }
        const struct kernel_key kernel =
            kernel_key_of(&job->field.config[i], &job->problem, job->context.gpu.arch);
        struct built *built = builds_get(job->run->builds, &kernel);
        if (!built) return E_MEMORY;
        job->ahead[job->ahead_count++] = (struct ahead){.index = i, .built = built};
    }
    return OK;
}

static void drop_ahead(struct job *job, size_t at)
{
    job->ahead_count--;
    job->library_ahead -= at < job->library_ahead;
    memmove(&job->ahead[at], &job->ahead[at + 1], (job->ahead_count - at) * sizeof *job->ahead);
}

/* Settles candidates that the compiler refused or that spill. */
static enum status settle_unbuilt(struct job *job, bool *any)
{
    const struct session *s = job->run->s;
    *any = false;
    for (size_t i = 0; i < job->ahead_count;) {
        const struct ahead a = job->ahead[i];
        if (a.built->state != BUILD_DONE || a.built->ok) {
            i++;
            continue;
        }
        drop_ahead(job, i);
        struct outcome outcome = outcome_failed(a.built->verdict, "%s", a.built->detail);
        outcome.facts = a.built->facts;
        outcome.cold = job->context.cold;
        int64_t attempt;
        enum status st = db_attempt(s->db, job->run_id, &job->problem, &job->field.config[a.index], &attempt);
        if (!st) st = db_record(s->db, attempt, &outcome);
        if (st) return st;
        job_tell(job, a.index, &outcome);
        *any = true;
    }
    return OK;
}

enum status job_work_ahead(struct job *job)
{
    if (!job_runs(job) || !job->search) return OK;
    bool again;
    enum status st;
    do {
        again = false;
        st = job->gpu ? settle_unbuilt(job, &again) : OK;
        if (!st) st = propose(job);
    } while (!st && again);
    return st;
}

struct built *job_wants(const struct job *job)
{
    /* Kernels of the race may be wanted, too: another GPU's job may have found that a cubin is gone. */
    const bool searching = job->phase == PHASE_SEARCH && !job->only_race;
    for (int i = 0; !searching && i < job->finalists.count; i++)
        if (job->finalists.finalist[i].built->state == BUILD_WANTED) return job->finalists.finalist[i].built;
    for (size_t i = 0; searching && i < job->ahead_count; i++)
        if (job->ahead[i].built->state == BUILD_WANTED) return job->ahead[i].built;
    return NULL;
}

bool job_can_try(const struct job *job)
{
    bool can = false;
    for (size_t i = 0; job->phase == PHASE_SEARCH && i < job->ahead_count; i++)
        can |= job->ahead[i].built->state == BUILD_DONE;
    return can;
}

/* The first from here on whose kernel is built; job->ahead_count: there is none. */
static size_t first_built(const struct job *job, size_t from)
{
    while (from < job->ahead_count &&
           (job->ahead[from].built->state != BUILD_DONE || !job->ahead[from].built->ok))
        from++;
    return from;
}

/* An algorithm of the library and a kernel in turns, so that neither waits for all of the other kind. */
static size_t next_built(const struct job *job)
{
    const size_t first = first_built(job, 0), kernel = first_built(job, job->library_ahead);
    return !job->kernel_was_last && kernel < job->ahead_count ? kernel : first;
}

enum status job_take_built(struct job *job, struct ahead *ahead, bool *taken)
{
    size_t at;
    *taken = false;
    while (job_runs(job) && !*taken && (at = next_built(job)) < job->ahead_count) {
        *ahead = job->ahead[at];
        job->kernel_was_last = at >= job->library_ahead;
        drop_ahead(job, at);
        bool left;
        enum status st = leave_if_quarantined(job, ahead->index, &left);
        if (st) return st;
        *taken = !left && job_trial_fits(job, ahead->index);
        if (!left && !*taken) pass_over(job, ahead->index);
    }
    return OK;
}

void job_put_back(struct job *job, const struct ahead *ahead)
{
    job->ahead[job->ahead_count++] = *ahead; /* there is room: it came from there */
}

/* ---- what became of a candidate ---- */

static void say_best(struct job *job)
{
    if (job->said_us > 0 && job->best_us > WORTH_SAYING * job->said_us) return;
    job->said_us = job->best_us;
    char config[CONFIG_TEXT_MAX];
    config_brief(&job->field.config[job->best], config);
    report_best(job->run->report, job->text, job->best_us, problem_flop(&job->problem) / job->best_us * 1e-6,
                job->anchor_us, config);
}

static void note_gain(struct job *job)
{
    if (job->gain_us > 0 && job->best_us > GAIN_WORTH * job->gain_us) return;
    job->gain_us = job->best_us;
    job->gain_s = now_s();
    job->gain_trials = job->result.trials;
}

void job_tell_search(struct job *job, size_t index, double time_us)
{
    if (!field_is_library(&job->field, index)) search_tell(job->search, index, time_us);
}

void job_tell(struct job *job, size_t index, const struct outcome *outcome)
{
    field_tell(&job->field, index, outcome);
    const double time_us = job->field.time_us[index];
    job_tell_search(job, index, time_us);
    if (!field_is_library(&job->field, index)) job_learn_time(job, index);
    job->result.tried += !field_is_library(&job->field, index);
    job->result.trials++;
    job->failures[outcome->verdict]++;
    refusals_add(&job->refusals, outcome);
    if (!outcome_usable(outcome))
        snprintf(job->trouble, sizeof job->trouble, "%s (%.180s)", verdict_name(outcome->verdict),
                 outcome->detail);
    if (outcome->verdict != VERDICT_MEASURED) return;
    if (job->found_us == 0 || time_us < job->found_us) job->found_us = time_us;
    if (job->best_us == 0 || time_us < job->best_us) {
        job->best = index;
        job->best_us = time_us;
        note_gain(job);
        say_best(job);
    }
    job_count_contenders(job, time_us);
}

/* ---- how it stands ---- */

bool job_runs(const struct job *job)
{
    return job->result.how == JOB_RUNNING;
}

void job_end(struct job *job, enum job_how how, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(job->result.why, sizeof job->result.why, format, args);
    va_end(args);
    job->result.how = how;
    job->result.seconds = now_s() - job->began_s;
}

void job_progress(const struct job *job, struct progress *p)
{
    static const char *const phases[] = {"searching", "racing", "checking"};
    const struct gpu_worker *gpu = job->gpu;
    const bool searching = job->phase == PHASE_SEARCH;
    *p = (struct progress){.done = job->result.tried, .trials = job->result.trials};
    memcpy(p->problem, job->text, sizeof p->problem);
    memcpy(p->failures, job->failures, sizeof p->failures);
    p->gpu = children_worker(job->run->s->children, gpu->number)->device;
    p->phase = gpu->prepared || !searching ? phases[job->phase] : "warming up";
    p->best_us = job->best_us;
    p->anchor_us = job->anchor_us;
    p->gain = job->search ? search_gain(job->search) : (double)NAN;
    if (job->best_us > 0) {
        p->tflops = problem_flop(&job->problem) / job->best_us * 1e-6;
        config_brief(&job->field.config[job->best], p->best);
    }
    p->elapsed_s = now_s() - job->began_s;
    p->left_s = fmax(0, job->share_s - p->elapsed_s);
    const int64_t limit = job->run->s->options->max_trials;
    size_t all = job->field.count;
    if (limit > 0 && all > (size_t)limit) all = (size_t)limit;
    const double left = all > p->done ? (double)(all - p->done) : 0;
    double time_for = left;
    if (job->trial_s > 0) {
        p->left_s = fmin(p->left_s, left * job->trial_s + job->plan.reserve_s);
        time_for = fmin(left, floor(fmax(0, p->left_s - job->plan.reserve_s) / job->trial_s));
    }
    p->planned = p->done + (searching ? (size_t)time_for : 0);
}

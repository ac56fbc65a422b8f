#include "job.h"

#include "clock.h"
#include "hints.h"
#include "job_parts.h"
#include "messages.h"
#include "preferred.h"
#include "template.h"
#include "workspace.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARE_TRIES 3
#define WARM_SHARE    0.08 /* of the problem's time, for warming up */
#define WARM_MOST_S   30.0
#define FILL_MOST     256 /* proposals of a turn */
#define REWARM_MOST_S 1.5 /* a GPU that was at work a moment ago */

/* ---- opening ---- */

static enum status take_hints(struct job *job)
{
    size_t given;
    enum status st = hints_give(&job->field, job->env->db, &job->context, &job->problem,
                                job->env->options->pretuned, job->search, &given);
    job->result.hints += given;
    return st;
}

/* As many jobs as there are GPUs share the compilers. */
static int compilers_of_a_job(const struct children *children)
{
    const int jobs = children_workers(children);
    return jobs > 1 ? (children_compilers(children) + jobs - 1) / jobs : children_compilers(children);
}

enum status job_open(struct job_env *env, const struct db_context *context, int64_t run_id,
                     const struct problem *problem, struct job **out)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job) return fail(E_MEMORY, "out of memory for a problem");
    job->env = env;
    job->context = *context;
    job->run_id = run_id;
    job->problem = *problem;
    job->worker = -1;
    job->result.winner.base.problem = *problem;
    job->result.winner.gpu = context->gpu;
    problem_format(problem, job->text);

    *out = job;
    return OK;
}

/* A slice is of the search: it does not pay for opening it. */
static void begin_slice(struct job *job)
{
    if (job->worker >= 0 && job->env->even_s > 0) job->began_s = now_s();
}

enum status job_explore(struct job *job)
{
    if (job->search) return OK;
    const struct job_env *env = job->env;
    const struct db_context *context = &job->context;
    const struct problem *problem = &job->problem;
    const struct tune_options *options = env->options;
    const struct turn_limits turns = turn_limits_of(compilers_of_a_job(env->children));
    job->ahead_limit = turns_most(&turns);
    enum status st = field_open(env->space, problem, &context->gpu, options->workspace_bytes,
                                options->library, &job->field);
    if (!st)
        st = preferred_apply(&job->field, env->db, &context->gpu, problem, options->workspace_bytes,
                             options->pin.template ? &options->pin : NULL, &job->pinned);
    if (!st && !job->pinned && options->transfer)
        st = transfer_trials(&job->field, env->db, context, problem, &job->transferred);
    if (!st && !(job->ahead = calloc(job->ahead_limit + FIELD_LIBRARY_MAX + 1, sizeof *job->ahead)))
        st = fail(E_MEMORY, "out of memory for a problem");
    if (!st)
        st = search_start(options->strategy, job->field.config, job->field.count, job->field.predicted_us,
                          field_growth(&job->field), options->seed, &job->search);
    if (!st) st = search_in_turns(job->search, job->field.config, &turns);
    if (!st) st = field_recall(&job->field, env->db, context, problem, job->search, &job->result.recalled);
    if (!st) st = take_hints(job);
    if (st) return st;
    job->result.legal = (size_t)job->field.legal;
    job->result.raw = job->field.raw_count;
    job->result.tried = job->result.recalled.usable + job->result.recalled.failed;
    if (field_best(&job->field, &job->best, 1)) {
        job->best_us = job->field.time_us[job->best];
        job_learn_time(job, job->best);
    }
    race_recount(job, job->best_us);
    begin_slice(job);
    return OK;
}

void job_close(struct job *job)
{
    if (!job) return;
    final_race_free(&job->final_race);
    if (job->search) search_stop(job->search);
    field_close(&job->field);
    free(job->ahead);
    free(job);
}

void job_defend(struct job *job, const struct db_winner *winner, bool raced)
{
    job->defender = *winner;
    job->defender_raced = raced;
}

void job_only_race(struct job *job)
{
    job->only_race = true;
}

enum status job_start_search(struct job *job, double share_s, bool first)
{
    if (share_s > 0) job->share_s = share_s;
    enum status st = OK;
    if (first && job->transferred.trials) {
        char text[256];
        transfer_note(&job->transferred, text);
        report_say(job->env->report, "%s: %s", job->text, text);
        st = db_note(job->env->db, job->run_id, &job->problem, text);
    }
    if (!st && first && job->field.sample) {
        char text[256];
        field_note(&job->field, text);
        report_say(job->env->report, "%s: %s", job->text, text);
        st = db_note(job->env->db, job->run_id, &job->problem, text);
    }
    return st ? st : take_hints(job);
}

bool job_half_done(const struct job *job)
{
    return job->worker >= 0 && (job->phase != PHASE_SEARCH || now_s() > job->began_s + 0.5 * job->share_s);
}

bool job_has_searched(const struct job *job)
{
    return job->phase != PHASE_SEARCH;
}

const struct job_result *job_result(const struct job *job)
{
    return &job->result;
}

const struct problem *job_problem(const struct job *job)
{
    return &job->problem;
}

/* ---- kernels ahead of time ---- */

static bool at_trial_limit(const struct job *job)
{
    int64_t limit = job->env->options->max_trials;
    size_t flying = job->asked == ASKED_TRIAL;
    const size_t ahead = job->ahead_count - job->library_ahead;
    return limit > 0 && job->result.tried + ahead + flying >= (size_t)limit;
}

static bool wants_more(const struct job *job)
{
    if (job->phase != PHASE_SEARCH || job->only_race || job->search_over) return false;
    if (job->stopping || at_trial_limit(job)) return false;
    if (job->satisfied && job->env->options->budget_s == 0) return false;
    return job->ahead_count - job->library_ahead < job->ahead_limit;
}

enum status job_fill(struct job *job)
{
    /* Not all candidates are looked through in one turn. */
    for (int looked_at = 0; wants_more(job) && looked_at < FILL_MOST; looked_at++) {
        size_t i;
        enum search_answer answer = search_next(job->search, &i);
        job->search_over = answer == SEARCH_DONE;
        if (answer == SEARCH_WAIT && trial_put_off(job)) continue;
        if (answer != SEARCH_TRY) break;
        /* Asked when a proposal is made, for in between what has been told depends on the clock. */
        job->satisfied |= search_satisfied(job->search);
        bool quarantined;
        enum status st = db_quarantined(job->env->db, &job->context, &job->field.config[i], &quarantined);
        if (st) return st;
        if (quarantined) { /* it crashed twice on this GPU, if for another problem */
            job->field.time_us[i] = (double)INFINITY;
            search_tell(job->search, i, (double)INFINITY);
            continue;
        }
        if (job->worker >= 0 && !job_trial_fits(job, i)) {
            trial_pass_over(job, i);
            continue;
        }
        const struct kernel_key kernel =
            kernel_key_of(&job->field.config[i], &job->problem, job->context.gpu.arch);
        struct built *built = builds_get(job->env->builds, &kernel);
        if (!built) return E_MEMORY;
        job->ahead[job->ahead_count++] = (struct ahead){.index = i, .built = built};
    }
    return OK;
}

struct built *job_wants(const struct job *job)
{
    /* Of the race, too: another GPU's job may have found that a cubin is gone. */
    for (int i = 0; job->phase != PHASE_SEARCH && i < job->final_race.count; i++)
        if (job->final_race.finalist[i].built->state == BUILD_WANTED)
            return job->final_race.finalist[i].built;
    for (size_t i = 0; job->phase == PHASE_SEARCH && i < job->ahead_count; i++)
        if (job->ahead[i].built->state == BUILD_WANTED) return job->ahead[i].built;
    return NULL;
}

/* ---- talking to the worker ---- */

enum status job_ask(struct job *job, enum asked what, json_t *request, double deadline_s)
{
    enum status st = children_send(job->env->children, job->worker, request, deadline_s, job);
    if (st) return st;
    job->asked = what;
    job->sent_s = now_s();
    return OK;
}

static enum status send_prepare(struct job *job)
{
    const struct tune_options *o = job->env->options;
    bool *warm = &job->env->warm[job->worker];
    double warm_s = fmin(REWARM_MOST_S, WARM_SHARE * job->share_s);
    if (!*warm) {
        /* The first slice is short, but this lasts for the whole run. */
        warm_s = fmin(WARM_MOST_S, WARM_SHARE * fmax(job->share_s, job->env->even_s));
        job->warming = job->env->even_s > 0;
    }
    *warm = true;
    return job_ask(job, ASKED_PREPARE,
                   request_prepare(&job->problem, o->cold, o->seed, warm_s, job_prepare_limit_s(job)),
                   CHILDREN_PREPARE_S);
}

enum status job_begin(struct job *job, int worker, double share_s)
{
    job->worker = worker;
    job->began_s = now_s();
    job->share_s = share_s;
    return children_worker_idle(job->env->children, worker) ? send_prepare(job) : OK;
}

/* What cublasLt proposes is tried first: nothing needs to be compiled. */
static enum status add_library(struct job *job, const struct config *config)
{
    const struct job_env *env = job->env;
    const struct gpu *gpu = &job->context.gpu;
    const char *why = config->template->check(config, &job->problem, gpu);
    size_t i;
    if (why || !template_is_library(config->template)) return OK;
    if (workspace_refuses(config, &job->problem, env->options->workspace_bytes)) return OK;
    bool excluded;
    enum status st = preferred_excludes(env->db, gpu, &job->problem, config, &excluded);
    if (st || excluded || field_find(&job->field, config, &i)) return st;
    if (!field_add_library(&job->field, config, &job->problem, gpu, &i)) return OK;
    st = field_recall_one(&job->field, i, env->db, &job->context, &job->problem, NULL, &job->result.recalled);
    if (st || job->field.time_us[i] > 0) return st; /* an earlier run has tried it */
    const struct kernel_key kernel = kernel_key_of(config, &job->problem, gpu->arch);
    struct built *built = builds_get(env->builds, &kernel);
    if (!built) return E_MEMORY;
    memmove(job->ahead + job->library_ahead + 1, job->ahead + job->library_ahead,
            (job->ahead_count - job->library_ahead) * sizeof *job->ahead);
    job->ahead[job->library_ahead++] = (struct ahead){.index = i, .built = built};
    job->ahead_count++;
    return OK;
}

/* The winner of an earlier run may be an algorithm that this version of the library does not propose. */
static enum status take_library(struct job *job, const json_t *answer)
{
    const json_t *text;
    size_t i;
    enum status st = OK;
    if (job->pinned || job->only_race || !job->env->options->library) return OK;
    json_array_foreach(json_object_get(answer, "library"), i, text)
    {
        struct config config;
        if (!st && json_is_string(text) && config_parse(json_string_value(text), &config) == OK)
            st = add_library(job, &config);
    }
    const struct config *old = &job->defender.config;
    if (!st && old->template && template_is_library(old->template)) st = add_library(job, old);
    if (field_best(&job->field, &job->best, 1)) job->best_us = job->field.time_us[job->best];
    return st;
}

static void prepare_answered(struct job *job, const json_t *answer)
{
    if (message_check(answer)) {
        if (++job->prepare_failures >= PREPARE_TRIES)
            job_end(job, JOB_FRUITLESS, "GPU %d cannot take this problem: %s",
                    children_worker(job->env->children, job->worker)->device, status_text());
        else children_cancel(job->env->children, job->worker); /* a fresh process may have more memory */
        return;
    }
    job->prepared = true;
    job->prepare_failures = 0;
    if (job->warming) job->share_s += now_s() - fmax(job->sent_s, job->began_s);
    job->warming = false;
    job->anchor_us = json_number_value(json_object_get(answer, "anchor_us"));
    const char *rival = json_string_value(json_object_get(answer, "rival"));
    snprintf(job->rival, sizeof job->rival, "%s", rival && job->anchor_us > 0 ? rival : "");
    const bool wrong = json_is_false(json_object_get(answer, "anchor_right"));
    accuracy_from_json(json_object_get(answer, "anchor_errors"), &job->anchor_errors);
    if (wrong) {
        const char *detail = json_string_value(json_object_get(answer, "anchor_detail"));
        report_say(job->env->report, "%s: cuBLAS's own result is beyond the error bound: %s", job->text,
                   detail ? detail : "");
    }
    const bool compared = job->rival[0] && !wrong && accuracy_is_known(&job->anchor_errors);
    if (gemm_type_has_limits(job->problem.type) && !compared)
        job_end(job, JOB_FRUITLESS, "%s is judged by the errors of cuBLAS on the same data, and %s",
                gemm_type_row(job->problem.type)->name,
                wrong ? "they are beyond the error bound" : "there is no cuBLAS to measure");
}

static enum status keep_note(const struct job *job, const char *note)
{
    report_say(job->env->report, "%s: %s", job->text, note);
    return db_note(job->env->db, job->run_id, &job->problem, note);
}

/* What a person should know of the search is kept. */
static enum status keep_notes(const struct job *job)
{
    const char *note = search_note(job->search);
    enum status st = note ? keep_note(job, note) : OK;
    if (st || job->late == 0) return st;
    char late[256];
    snprintf(late, sizeof late,
             "the search did not wait for %zu overdue result%s: another run with the same seed may try other "
             "candidates",
             job->late, job->late == 1 ? "" : "s");
    return keep_note(job, late);
}

/* What a person would not expect of how the search ended. */
static void say_end(const struct job *job)
{
    if (job->env->options->budget_s == 0 && job->satisfied)
        report_say(job->env->report,
                   "%s: after %zu trials nothing more is expected of the search (--budget lets it go on)",
                   job->text, job->result.tried);
}

static enum status end_search(struct job *job)
{
    if (job->only_race) return race_call(job);
    search_finish(job->search);
    say_end(job);
    job->result.exhausted = search_is_exhausted(job);
    for (size_t i = 0; job->result.exhausted && i < job->ahead_count; i++) job->late += !job->ahead[i].late;
    job->result.gain = search_gain(job->search);
    enum status st = keep_notes(job);
    if (st) return st;
    if (!race_is_needless(job)) return race_call(job);
    race_keep(job);
    return OK;
}

bool job_can_step(const struct job *job)
{
    if (job->phase != PHASE_SEARCH || job->worker < 0) return false;
    const bool free =
        job->prepared && job->asked == ASKED_NOTHING && children_worker_idle(job->env->children, job->worker);
    for (size_t i = 0; i < job->ahead_count; i++)
        if (job->ahead[i].built->state == BUILD_DONE && (free || !job->ahead[i].built->ok)) return true;
    return false;
}

enum status job_step(struct job *job)
{
    if (job->phase == PHASE_ENDED || job->worker < 0) return OK;
    job_cut_overtime(job);
    if (job->phase == PHASE_ENDED) return OK;
    enum status st = trial_settle_unbuilt(job);
    if (st || job->asked != ASKED_NOTHING) return st;
    if (job->stopping) {
        const bool searching = job->phase == PHASE_SEARCH; /* else its notes are kept */
        job_best(job, &job->result.winner);
        job_end(job, JOB_INTERRUPTED, "interrupted");
        if (!searching) return OK;
        search_finish(job->search);
        return keep_notes(job);
    }
    if (job->phase == PHASE_SEARCH && search_is_over(job)) st = end_search(job);
    if (!st && job->phase == PHASE_CALL && race_called(job)) st = race_begin(job);
    if (st || job->phase == PHASE_ENDED || !children_worker_idle(job->env->children, job->worker)) return st;

    if (!job->prepared) {
        if (job->sent_s == 0) begin_slice(job); /* the worker was still at work for another problem */
        return send_prepare(job);
    }
    switch (job->phase) {
    case PHASE_SEARCH:
        return trial_send(job);
    case PHASE_RACE:
        return race_send(job);
    case PHASE_CHECK:
        return check_send(job);
    default:
        return OK;
    }
}

static enum status answered(struct job *job, enum asked asked, const json_t *answer)
{
    switch (asked) {
    case ASKED_PREPARE:
        prepare_answered(job, answer);
        return job->prepared ? take_library(job, answer) : OK;
    case ASKED_TRIAL:
        return trial_answered(job, answer);
    case ASKED_BLOCK:
        return race_answered(job, answer);
    case ASKED_CHECK:
        return check_answered(job, answer);
    default:
        return OK;
    }
}

static enum status lost(struct job *job, enum asked asked, bool hung, const char *reason)
{
    job->prepared = false;
    switch (asked) {
    case ASKED_PREPARE:
        if (++job->prepare_failures >= PREPARE_TRIES) {
            char why[OUTCOME_DETAIL_MAX];
            snprintf(why, sizeof why, "its worker died %d times in a row while it prepared a problem: %.100s",
                     PREPARE_TRIES, reason);
            children_give_up(job->env->children, job->worker, why);
        }
        return OK;
    case ASKED_TRIAL:
        return trial_lost(job, hung, reason);
    case ASKED_BLOCK:
        return race_lost(job, hung, reason);
    case ASKED_CHECK:
        return check_lost(job, hung, reason);
    default:
        return OK;
    }
}

enum status job_event(struct job *job, struct children_event *event)
{
    enum status st = OK;
    enum asked asked = job->asked;
    if (event->kind == CHILDREN_ANSWER || event->kind == CHILDREN_LOST) {
        job->asked = ASKED_NOTHING;
        if (asked != ASKED_NOTHING) report_busy(job->env->report, job->sent_s, now_s());
    }
    if (job->phase == PHASE_ENDED) st = OK;
    else if (event->kind == CHILDREN_ANSWER) st = answered(job, asked, event->answer);
    else if (event->kind == CHILDREN_LOST) st = lost(job, asked, event->hung, event->reason);
    else if (event->kind == CHILDREN_BACK) job->prepared = false;
    else if (event->kind == CHILDREN_GONE) {
        job_abandon(job);
        job_end(job, JOB_ORPHANED, "GPU %d is given up: %s",
                children_worker(job->env->children, job->worker)->device, event->reason);
    }
    json_decref(event->answer);
    event->answer = NULL;
    return st;
}

/* ---- ending ---- */

double job_check_s(const struct job *job)
{
    return budget_check_s(job->best_us) + job->env->check_excess_s;
}

void job_stop(struct job *job)
{
    job->stopping = true;
    /* A trial ends soon and is kept; a preparation may take long and is worth nothing. */
    if (job->asked == ASKED_PREPARE) {
        children_cancel(job->env->children, job->worker);
        job->asked = ASKED_NOTHING;
    }
}

void job_end(struct job *job, enum job_how how, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(job->result.why, sizeof job->result.why, format, args);
    va_end(args);
    job->result.how = how;
    job->result.seconds = now_s() - job->began_s;
    job->phase = PHASE_ENDED;
}

void job_progress(const struct job *job, struct progress *p)
{
    static const char *const phases[] = {"searching", "racing", "racing", "checking", "done"};
    *p = (struct progress){.done = job->result.tried, .trials = job->result.trials};
    memcpy(p->problem, job->text, sizeof p->problem);
    memcpy(p->failures, job->failures, sizeof p->failures);
    p->gpu = children_worker(job->env->children, job->worker)->device;
    p->phase = job->prepared || job->phase != PHASE_SEARCH ? phases[job->phase] : "warming up";
    p->best_us = job->best_us;
    p->anchor_us = job->anchor_us;
    p->gain = search_gain(job->search);
    if (job->best_us > 0) {
        p->tflops = problem_flop(&job->problem) / job->best_us * 1e-6;
        config_summary(&job->field.config[job->best], p->best);
    }
    p->elapsed_s = now_s() - job->began_s;
    p->left_s = fmax(0, job->share_s - p->elapsed_s);
    int64_t limit = job->env->options->max_trials;
    size_t all = job->field.count;
    if (limit > 0 && all > (size_t)limit) all = (size_t)limit;
    const double left = all > p->done ? (double)(all - p->done) : 0;
    double time_for = left;
    if (job->trial_s > 0) {
        p->left_s = fmin(p->left_s, left * job->trial_s + job->plan.reserve_s);
        time_for = fmin(left, floor(fmax(0, p->left_s - job->plan.reserve_s) / job->trial_s));
    }
    p->planned = p->done + (job->phase == PHASE_SEARCH ? (size_t)time_for : 0);
}

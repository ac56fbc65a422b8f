#include "job_parts.h"

#include "clock.h"
#include "messages.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEADLINE_LEAST_S 2.0
#define DEADLINE_FACTOR  20.0
#define FIRST_S          8.0   /* before anything is known of how long a trial takes */
#define LAUNCHES_MOST    300.0 /* of judge and screen, five times over: a slow candidate is no hung one */
#define WORTH_SAYING     0.99  /* of the best that was last told */
#define GAIN_WORTH       0.999 /* of the best that was last noted */

/* ---- when the search ends ---- */

double search_end_s(const struct job *job)
{
    double end = job->began_s + job->share_s;
    if (job->best_us == 0) return end; /* nothing to race yet */
    return end - budget_race(job->share_s, job->best_us, job_check_s(job), job->contenders).reserve_s;
}

/* Another problem can make better use of the time. Without a budget a search that is satisfied is exhausted,
 * as soon as what was proposed is measured. */
static bool has_converged(const struct job *job)
{
    const bool limited = job->env->options->budget_s > 0;
    if (!limited && job->satisfied) return false;
    return job->env->waiting > 0 && job->gain_us > 0 &&
           ((limited && search_satisfied(job->search)) ||
            budget_converged(job->share_s, job->result.trials - job->gain_trials, now_s() - job->gain_s));
}

/* A compiler or the GPU has been at it for too long. What waits for either of them is not overdue. */
static bool is_overdue(const struct job *job, const struct ahead *a)
{
    if (a->begun_s > 0) return now_s() > a->begun_s + budget_patience_s(job->trial_s);
    return a->built->state == BUILD_ASKED &&
           now_s() > a->built->asked_s + budget_patience_s(builds_usual_s(job->env->builds));
}

static bool all_are_overdue(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->ahead_count; i++) count += is_overdue(job, &job->ahead[i]);
    return count == job->ahead_count;
}

/* What was proposed until it was satisfied is measured, so that the trials do not depend on when this is
 * asked. */
bool search_is_exhausted(const struct job *job)
{
    int64_t limit = job->env->options->max_trials;
    bool enough = limit > 0 && job->result.tried >= (size_t)limit;
    /* Where the space has nothing, what the library proposes is heard of first. */
    bool all = job->search_over && job->ahead_count == 0 && (job->prepared || job->field.count > 0);
    bool satisfied = job->env->options->budget_s == 0 && job->satisfied && all_are_overdue(job);
    return enough || all || satisfied;
}

bool search_is_over(const struct job *job)
{
    if (job->asked == ASKED_TRIAL) return false;
    if (job->only_race) return true;
    /* However short the budget, one candidate gets its chance. */
    bool late = now_s() >= search_end_s(job) && (job->result.trials > 0 || job->best_us > 0);
    return search_is_exhausted(job) || late || !job_any_trial_fits(job) || has_converged(job);
}

/* ---- what became of a candidate ---- */

static void say_best(struct job *job)
{
    if (job->said_us > 0 && job->best_us > WORTH_SAYING * job->said_us) return;
    job->said_us = job->best_us;
    char config[CONFIG_TEXT_MAX];
    config_summary(&job->field.config[job->best], config);
    report_best(job->env->report, job->text, job->best_us, problem_flop(&job->problem) / job->best_us * 1e-6,
                job->anchor_us, config);
}

static void note_gain(struct job *job)
{
    if (job->gain_us > 0 && job->best_us > GAIN_WORTH * job->gain_us) return;
    job->gain_us = job->best_us;
    job->gain_s = now_s();
    job->gain_trials = job->result.trials;
}

/* Tell everybody but the database. */
static void settle(struct job *job, size_t index, const struct outcome *outcome)
{
    field_tell(&job->field, index, outcome);
    double time_us = job->field.time_us[index];
    job_tell_search(job, index, time_us);
    if (!field_is_library(&job->field, index)) job_learn_time(job, index);
    job->result.tried += !field_is_library(&job->field, index);
    job->result.trials++;
    job->failures[outcome->verdict]++;
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
    race_recount(job, time_us);
}

static void drop_ahead(struct job *job, size_t at)
{
    job->ahead_count--;
    job->library_ahead -= at < job->library_ahead;
    memmove(&job->ahead[at], &job->ahead[at + 1], (job->ahead_count - at) * sizeof *job->ahead);
}

enum status trial_settle_unbuilt(struct job *job)
{
    for (size_t i = 0; i < job->ahead_count;) {
        struct ahead a = job->ahead[i];
        if (a.built->state != BUILD_DONE || a.built->ok) {
            i++;
            continue;
        }
        drop_ahead(job, i);
        struct outcome outcome = outcome_failed(a.built->verdict, "%s", a.built->detail);
        outcome.facts = a.built->facts;
        outcome.cold = job->context.cold;
        int64_t attempt;
        enum status st =
            db_attempt(job->env->db, job->run_id, &job->problem, &job->field.config[a.index], &attempt);
        if (!st) st = db_record(job->env->db, attempt, &outcome);
        if (st) return st;
        settle(job, a.index, &outcome);
    }
    return OK;
}

/* ---- a trial ---- */

double trial_deadline_s(const struct job *job, double predicted_us)
{
    double usual_s = job->trial_s > 0 ? DEADLINE_FACTOR * job->trial_s : FIRST_S;
    double slow_us = fmax(predicted_us, fmax(job->best_us, job->anchor_us));
    return fmax(DEADLINE_LEAST_S, usual_s) + LAUNCHES_MOST * 1e-6 * slow_us;
}

void trial_pass_over(struct job *job, size_t index)
{
    job_tell_search(job, index, 1e6 * job_call_s(job, index));
    job->passed_over = true;
}

/* Takes out the first candidate whose kernel is built. One that has crashed twice on this GPU since it was
 * proposed, for another problem, is left out, and so is one that there is no time for. */
static enum status take_built(struct job *job, struct ahead *a, bool *taken)
{
    size_t at = 0;
    *taken = false;
    while (at < job->ahead_count && !*taken) {
        if (job->ahead[at].built->state != BUILD_DONE) {
            at++;
            continue;
        }
        *a = job->ahead[at];
        drop_ahead(job, at);
        bool quarantined;
        enum status st =
            db_quarantined(job->env->db, &job->context, &job->field.config[a->index], &quarantined);
        if (st) return st;
        if (quarantined) {
            job->field.time_us[a->index] = (double)INFINITY;
            job_tell_search(job, a->index, (double)INFINITY);
        }
        const bool fits = quarantined || job_trial_fits(job, a->index);
        if (!fits) trial_pass_over(job, a->index);
        *taken = !quarantined && fits;
    }
    return OK;
}

enum status trial_send(struct job *job)
{
    struct ahead a;
    bool taken;
    enum status st = take_built(job, &a, &taken);
    if (st || !taken) return st; /* the compilers are at it */
    if (a.begun_s == 0) a.begun_s = now_s();

    const struct config *config = &job->field.config[a.index];
    st = db_attempt(job->env->db, job->run_id, &job->problem, config, &job->attempt);
    if (st) return st;
    struct build build;
    builds_read(a.built, &build);
    job->flying = a;
    double deadline_s = trial_deadline_s(job, job->field.predicted_us[a.index]);
    return job_ask(job, ASKED_TRIAL, request_trial(config, &build, job->best_us, job_trial_limit_s(job)),
                   deadline_s);
}

/* The candidate that is to be compiled or tried, or is. */
static struct ahead *under_way(struct job *job, size_t index)
{
    if (job->asked == ASKED_TRIAL && job->flying.index == index) return &job->flying;
    for (size_t i = 0; i < job->ahead_count; i++)
        if (job->ahead[i].index == index) return &job->ahead[i];
    return NULL;
}

bool trial_put_off(struct job *job)
{
    size_t index;
    struct ahead *a = search_awaits(job->search, &index) ? under_way(job, index) : NULL;
    if (!a || !is_overdue(job, a) || !search_put_off(job->search)) return false;
    a->late = true;
    job->late++;
    return true;
}

/* Two crashes quarantine a configuration; the first may have had another cause, so it is tried once more. */
static enum status settle_crash(struct job *job, const struct outcome *outcome)
{
    enum status st = db_record(job->env->db, job->attempt, outcome);
    bool quarantined = ++job->field.crashes[job->flying.index] >= CRASHES_MAX;
    if (!st && !quarantined)
        st = db_quarantined(job->env->db, &job->context, &job->field.config[job->flying.index], &quarantined);
    if (st) return st;
    if (quarantined) settle(job, job->flying.index, outcome);
    else job->ahead[job->ahead_count++] = job->flying; /* there is room: it came from there */
    return OK;
}

enum status trial_lost(struct job *job, bool hung, const char *reason)
{
    struct outcome outcome = outcome_failed(hung ? VERDICT_HUNG : VERDICT_CRASHED, "%s", reason);
    outcome.facts = job->flying.built->facts;
    outcome.cold = job->context.cold;
    outcome.wall_ms = 1e3 * (now_s() - job->sent_s);
    return settle_crash(job, &outcome);
}

void job_abandon(struct job *job)
{
    if (job->asked != ASKED_TRIAL) return;
    db_forget_attempt(job->env->db, job->attempt);
    job->asked = ASKED_NOTHING;
}

/* The answer is no outcome. A cubin that has left the cache is made again, once; anything else is the GPU's
 * or the worker's trouble with this candidate, and that process is not trusted any more. */
static enum status trial_refused(struct job *job, enum status why)
{
    if ((why == E_IO || why == E_INPUT) && !job->flying.recompiled) {
        builds_forget(job->flying.built);
        job->flying.recompiled = true;
        job->ahead[job->ahead_count++] = job->flying;
        return db_forget_attempt(job->env->db, job->attempt);
    }
    char reason[OUTCOME_DETAIL_MAX];
    snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, status_text());
    children_cancel(job->env->children, job->worker);
    job->prepared = false;
    return trial_lost(job, false, reason);
}

enum status trial_answered(struct job *job, const json_t *answer)
{
    struct outcome outcome;
    enum status st = message_check(answer);
    if (!st && outcome_from_json(json_object_get(answer, "outcome"), &outcome)) st = E_CHILD;
    if (st) return trial_refused(job, st);

    outcome.facts = job->flying.built->facts;
    if (outcome.verdict == VERDICT_CRASHED || outcome.verdict == VERDICT_HUNG) {
        children_cancel(job->env->children, job->worker);
        job->prepared = false;
        return settle_crash(job, &outcome);
    }
    double seconds = now_s() - job->sent_s;
    job->trial_s = job->trial_s > 0 ? 0.9 * job->trial_s + 0.1 * seconds : seconds;
    st = db_record(job->env->db, job->attempt, &outcome);
    if (!st) settle(job, job->flying.index, &outcome);
    return st;
}

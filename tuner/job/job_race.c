#include "job_parts.h"

#include "clock.h"
#include "messages.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHECK_DEADLINE_S 120.0 /* many ragged shapes */
#define LOSSES_MAX       2     /* a worker that dies twice on a finalist's blocks */
#define REPEATS_MAX      3
#define FINALISTS_LEAST  2
#define FINALIST_REACH   1.03  /* times the fastest trial: medians of ten samples differ by half a per cent */
#define FASTER           0.999 /* times the winner's trial: less is no reason for a race */
#define MODEL_FIRST      16    /* the report: how good were the model's first few */
/* NVML's clocks_throttle_reasons that make a time worthless: hardware slowdown, its thermal and power-brake
 * kinds, and software thermal slowdown. The software power cap is normal for a large GEMM. */
#define THROTTLED 0xe8u

/* ---- the finalists ---- */

/* Among the candidates. */
static bool lists_defender(const struct job *job, size_t *index)
{
    return job->defender.config.template && field_find(&job->field, &job->defender.config, index);
}

/* The same, if it has a time. */
static bool find_defender(const struct job *job, size_t *index)
{
    return lists_defender(job, index) && job->field.time_us[*index] > 0 &&
           isfinite(job->field.time_us[*index]);
}

/* A winner loses to nothing but a race: in the place of the slowest finalist, if it is not one itself. */
static void add_defender(const struct job *job, size_t *best, int count)
{
    size_t defender;
    if (!find_defender(job, &defender)) return;
    for (int i = 0; i < count; i++)
        if (best[i] == defender) return;
    best[count - 1] = defender;
}

/* Trials of earlier slices do not count: they have had their race. */
bool race_is_needless(const struct job *job)
{
    size_t defender;
    return job->defender_raced && find_defender(job, &defender) &&
           (job->found_us == 0 || job->found_us >= FASTER * job->field.time_us[defender]);
}

/* A trial within the noise may be of a faster one: it has had no race. */
void race_keep(struct job *job)
{
    size_t defender;
    job->result.hasty = job->found_us > 0 && find_defender(job, &defender) &&
                        job->found_us <= FINALIST_REACH * job->field.time_us[defender];
    job->result.closing_s = budget_closing_s(job->best_us, job_check_s(job));
    job_end(job, JOB_KEPT, "nothing faster was found");
}

/* Of the fastest those that the noise of a trial can have kept from being first. */
static int within_reach(const struct job *job, const size_t *best, int count)
{
    int kept = count < FINALISTS_LEAST ? count : FINALISTS_LEAST;
    while (kept < count && job->field.time_us[best[kept]] <= FINALIST_REACH * job->field.time_us[best[0]])
        kept++;
    return kept;
}

void race_recount(struct job *job, double time_us)
{
    size_t best[RACE_RUNNERS_MAX];
    if (time_us <= FINALIST_REACH * job->best_us)
        job->contenders = within_reach(job, best, field_best(&job->field, best, RACE_RUNNERS_MAX));
}

enum status race_call(struct job *job)
{
    size_t best[RACE_RUNNERS_MAX];
    job->plan = job->only_race ? budget_closing_race(job->share_s, job->best_us, job_check_s(job))
                               : budget_race(job->share_s, job->best_us, job_check_s(job), job->contenders);
    int count = within_reach(job, best, field_best(&job->field, best, job->plan.finalists));
    if (count == 0 && (job->passed_over || (job->result.trials == 0 && !job_any_trial_fits(job)))) {
        job_end_without_time(job);
        return OK;
    }
    if (count == 0 && job->pinned) {
        job_end(job, JOB_FRUITLESS, "what is to be pinned is not usable here: %s",
                *job->trouble ? job->trouble : "an earlier run found so (tune explain tells why)");
        return OK;
    }
    if (count == 0 && job->field.nothing[0] && job->field.library == 0) {
        job_end(job, JOB_FRUITLESS, "%s", job->field.nothing);
        return OK;
    }
    if (count == 0) {
        job_end(job, JOB_FRUITLESS, "none of the %zu candidates tried is usable",
                job->result.tried + job->field.library);
        return OK;
    }
    if (job->best_us == 0) { /* there was time for one call of each */
        job->best = best[0];
        job->best_us = job->field.time_us[job->best];
    }
    add_defender(job, best, count);
    for (int i = 0; i < count; i++) {
        const struct kernel_key kernel =
            kernel_key_of(&job->field.config[best[i]], &job->problem, job->context.gpu.arch);
        struct built *built = builds_get(job->env->builds, &kernel);
        if (!built) return E_MEMORY;
        final_race_add(&job->final_race, best[i], &job->field.config[best[i]], built);
    }
    job->phase = PHASE_CALL;
    return OK;
}

bool race_called(const struct job *job)
{
    for (int i = 0; i < job->final_race.count; i++)
        if (job->final_race.finalist[i].built->state != BUILD_DONE) return false;
    return true;
}

/* Those before the check. */
static double race_left_s(const struct job *job)
{
    const double most_s = job->only_race ? job->share_s : 0.25 * job->share_s;
    return job->began_s + job->share_s - fmin(job_check_s(job), most_s) - now_s();
}

/* Whether there is time for the rounds that decide it. */
static bool race_fits(const struct job *job)
{
    return budget_rounds_s(&job->plan, job->best_us, job->final_race.count,
                           budget_rounds_least(job->best_us)) <= fmax(race_left_s(job), BUDGET_CHANCE_S);
}

enum status race_begin(struct job *job)
{
    enum status st = final_race_start(&job->final_race, &job->plan, job->env->options->seed);
    if (st == E_ABSENT) {
        job_end(job, JOB_FRUITLESS, "%s", status_text());
        return OK;
    }
    if (!st && !race_fits(job)) race_cut(job->final_race.race);
    job->phase = PHASE_RACE;
    return st;
}

/* Stores what is known of a finalist that failed in the race or the last check; times: twice for two crashes,
 * which quarantine it. */
static enum status record_failure(struct job *job, const struct finalist *f, enum verdict verdict,
                                  const char *detail, int times)
{
    struct outcome outcome = outcome_failed(verdict, "%s", detail);
    outcome.facts = f->built->facts;
    outcome.cold = job->context.cold;
    job->result.lost |= job->defender.config.template && config_equal(&f->config, &job->defender.config);
    field_tell(&job->field, f->index, &outcome);
    job_tell_search(job, f->index, (double)INFINITY); /* it may go on in another slice */
    job->failures[verdict]++;
    snprintf(job->trouble, sizeof job->trouble, "%s (%.180s)", verdict_name(verdict), detail);
    if (f->index == job->best && !field_best(&job->field, &job->best, 1)) job->best_us = 0;
    if (job->best_us > 0) job->best_us = job->field.time_us[job->best];
    job->said_us = 0;
    race_recount(job, job->best_us);
    enum status st = OK;
    for (int i = 0; i < times && !st; i++) {
        int64_t attempt;
        st = db_attempt(job->env->db, job->run_id, &job->problem, &f->config, &attempt);
        if (!st) st = db_record(job->env->db, attempt, &outcome);
    }
    return st;
}

/* ---- blocks ---- */

static bool race_is_late(const struct job *job)
{
    return race_left_s(job) < 0 && race_rounds(job->final_race.race) >= budget_rounds_least(job->best_us);
}

static double block_deadline_s(const struct job *job)
{
    return 10.0 + 20.0 * fmax(1e-3 * job->plan.block_ms, 4e-6 * job->best_us);
}

enum status race_send(struct job *job)
{
    if (race_is_late(job)) race_cut(job->final_race.race);
    int who;
    while ((who = final_race_next(&job->final_race)) == RACE_ANCHOR && job->anchor_us <= 0) {
        enum status st =
            final_race_tell(&job->final_race, (double)INFINITY); /* no cuBLAS: plain times decide */
        if (st) return st;
    }
    if (who == RACE_DONE) {
        job->phase = PHASE_CHECK;
        return check_send(job);
    }
    if (who == RACE_ANCHOR)
        return job_ask(job, ASKED_BLOCK, request_anchor_block(job->plan.block_ms), block_deadline_s(job));
    if (job->final_race.finalist[who].built->state != BUILD_DONE) return OK; /* it is made again */
    struct build build;
    builds_read(job->final_race.finalist[who].built, &build);
    return job_ask(job, ASKED_BLOCK,
                   request_block(&job->final_race.finalist[who].config, &build, job->plan.block_ms),
                   block_deadline_s(job));
}

enum status race_answered(struct job *job, const json_t *answer)
{
    double time_us = json_number_value(json_object_get(answer, "time_us"));
    enum status st = message_check(answer);
    if (!st && !(time_us > 0)) st = fail(E_CHILD, "a block took no time");
    if (st) {
        char reason[OUTCOME_DETAIL_MAX];
        snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, status_text());
        children_cancel(job->env->children, job->worker);
        /* Of a cubin that cannot be read the kernel is not to blame. */
        return race_lost(job, false, st == E_IO || st == E_INPUT ? NULL : reason);
    }
    const json_t *state = json_object_get(answer, "state");
    uint64_t reasons = (uint64_t)json_integer_value(json_object_get(state, "throttle_reasons"));
    if ((reasons & THROTTLED) && job->final_race.repeats++ < REPEATS_MAX)
        return OK; /* the same block again */
    return final_race_tell(&job->final_race, time_us);
}

/* The block is asked for again once the worker is back. A finalist that loses a worker twice is out; that it
 * crashed twice in this job is its outcome. reason NULL: it is not to blame. */
enum status race_lost(struct job *job, bool hung, const char *reason)
{
    job->prepared = false;
    const int who = final_race_next(&job->final_race);
    if (who == RACE_DONE) return OK;
    struct finalist *f = who == RACE_ANCHOR ? NULL : &job->final_race.finalist[who];
    int *losses = f ? &f->losses : &job->final_race.anchor_losses;
    const bool crashed = f && reason && ++job->field.crashes[f->index] >= CRASHES_MAX;
    if (++*losses < LOSSES_MAX && !crashed) return OK;
    const enum status st = final_race_tell(&job->final_race, (double)INFINITY);
    if (st || !crashed) return st;
    return record_failure(job, f, hung ? VERDICT_HUNG : VERDICT_CRASHED, reason, *losses);
}

/* ---- the last check, and the winner ---- */

enum status check_send(struct job *job)
{
    job->choice = final_race_choice(&job->final_race, &job->tied);
    if (job->choice < 0) {
        if (job->pinned)
            job_end(job, JOB_FRUITLESS, "what is to be pinned is not usable here: %s",
                    *job->trouble ? job->trouble : "it failed in the race");
        else job_end(job, JOB_FRUITLESS, "every finalist failed in the race or the last check");
        return OK;
    }
    const struct finalist *f = &job->final_race.finalist[job->choice];
    if (f->built->state != BUILD_DONE) return OK; /* it is made again */
    struct build build;
    builds_read(f->built, &build);
    return job_ask(job, ASKED_CHECK, request_verify(&f->config, &build, job->best_us, job_check_limit_s(job)),
                   CHECK_DEADLINE_S + trial_deadline_s(job, job->best_us));
}

/* The row without race evidence: what it was made with and from how much. */
static void describe(const struct job *job, size_t index, struct db_winner *w)
{
    const struct db_context *c = &job->context;
    *w = (struct db_winner){.base.problem = job->problem, .config = job->field.config[index], .gpu = c->gpu};
    config_format(&w->config, w->config_text);
    memcpy(w->gpu_uuid, c->gpu_uuid, sizeof w->gpu_uuid);
    memcpy(w->driver, c->driver, sizeof w->driver);
    memcpy(w->nvrtc, c->nvrtc, sizeof w->nvrtc);
    memcpy(w->cublas, c->cublas, sizeof w->cublas);
    w->base.cold = c->cold;
    w->base.time_us = job->field.time_us[index];
    w->trials = (int)job->result.tried;
    w->legal_count = (int64_t)job->field.legal;
    w->model_rank = (int)field_rank(&job->field, index);
    w->pinned = w->pin_holds = job->pinned;
    w->model_first16_share = field_model_share(&job->field, MODEL_FIRST, w->base.time_us);
}

void job_best(const struct job *job, struct db_winner *winner)
{
    if (job->best_us == 0) return;
    describe(job, job->best, winner);
    memcpy(winner->rival, job->rival, sizeof winner->rival);
    winner->base.anchor_us = job->anchor_us;
    winner->base.ratio = job->anchor_us > 0 ? job->anchor_us / job->best_us : 0;
}

static struct db_errors errors_of(const struct accuracy *a)
{
    if (!accuracy_is_known(a)) return (struct db_errors){0};
    return (struct db_errors){true, a->componentwise, a->rms, a->max};
}

/* A winner from another space cannot race here. Ratios to the same rival are compared, for clocks differ from
 * run to run; without them times. */
static bool stays(const struct job *job, const struct db_winner *w)
{
    const struct db_winner *old = &job->defender;
    size_t index;
    if (job->pinned || !old->config.template || old->base.time_us <= 0) return false;
    if (old->base.cold != w->base.cold || lists_defender(job, &index)) return false;
    if (w->base.ratio > 0 && old->base.ratio > 0 && strcmp(w->rival, old->rival) == 0)
        return w->base.ratio <= old->base.ratio;
    return w->base.time_us >= old->base.time_us;
}

static void end_kept(struct job *job, double time_us)
{
    char old[32], new[32];
    format_time_us(job->defender.base.time_us, old);
    format_time_us(time_us, new);
    job_end(job, JOB_KEPT, "its winner, from another space, stays: %s against %s", old, new);
}

static enum status store_winner(struct job *job, const struct accuracy *errors)
{
    const struct finalist *f = &job->final_race.finalist[job->choice];
    struct db_winner *w = &job->result.winner;
    describe(job, f->index, w);
    final_race_evidence(&job->final_race, job->choice, w);
    w->errors = errors_of(errors);
    if (race_rounds(job->final_race.race) == 0 && job->anchor_us > 0) {
        /* There was no time for a race: the trial's time against that of the preparation. */
        w->base.anchor_us = job->anchor_us;
        w->base.ratio = w->base.ratio_low = w->base.ratio_high = job->anchor_us / w->base.time_us;
    }
    if (w->base.anchor_us > 0) {
        memcpy(w->rival, job->rival, sizeof w->rival);
        w->rival_errors = errors_of(&job->anchor_errors);
    }
    w->tied = job->tied;
    job->result.hasty = budget_race_is_hasty(&job->plan, race_rounds(job->final_race.race));
    job->result.closing_s = budget_closing_s(job->best_us, job_check_s(job));
    if (stays(job, w)) {
        end_kept(job, w->base.time_us);
        return OK;
    }
    struct outcome outcome;
    bool stale;
    enum status st = db_find(job->env->db, &job->context, &job->problem, &f->config, &outcome, &stale);
    if (st && st != E_ABSENT) return st;
    w->base.exact = st == OK && outcome.exact;

    struct config runners[RACE_RUNNERS_MAX];
    for (int i = 0; i < job->final_race.count; i++) runners[i] = job->final_race.finalist[i].config;
    st = db_set_winner(job->env->db, job->run_id, w, runners, job->final_race.count, job->final_race.samples,
                       job->final_race.sample_count);
    if (!st) job_end(job, JOB_TUNED, "tuned");
    return st;
}

/* It passed the trial and failed the last check: that is remembered as its outcome, and the next one is
 * checked. */
static enum status refuse(struct job *job, enum verdict verdict, const char *detail, int times)
{
    struct finalist *f = &job->final_race.finalist[job->choice];
    f->refused = true;
    return record_failure(job, f, verdict, detail, times);
}

enum status check_answered(struct job *job, const json_t *answer)
{
    job->env->check_excess_s =
        fmax(job->env->check_excess_s, now_s() - job->sent_s - budget_check_s(job->best_us));
    enum status st = message_check(answer);
    enum verdict verdict = VERDICT_CRASHED;
    struct accuracy errors;
    const char *name = json_string_value(json_object_get(answer, "verdict"));
    const char *detail = json_string_value(json_object_get(answer, "detail"));
    if (!st) st = verdict_parse(name ? name : "", &verdict);
    if (!st && !accuracy_from_json(json_object_get(answer, "errors"), &errors))
        st = fail(E_CHILD, "the last check told errors that are none");
    if (st) {
        children_cancel(job->env->children, job->worker);
        return check_lost(job, false, status_text());
    }
    if (verdict == VERDICT_MEASURED &&
        !accuracy_answers(gemm_type_row(job->problem.type), &errors, &job->anchor_errors))
        return refuse(job, VERDICT_WRONG, "the last check found it less accurate than its type allows", 1);
    if (verdict == VERDICT_MEASURED) return store_winner(job, &errors);
    return refuse(job, verdict, detail ? detail : "refused by the last check", 1);
}

/* A worker that died during the check is asked once more: the cause may have been another. */
enum status check_lost(struct job *job, bool hung, const char *reason)
{
    job->prepared = false;
    struct finalist *f = &job->final_race.finalist[job->choice];
    f->losses++;
    if (++job->field.crashes[f->index] < CRASHES_MAX) return OK;
    char copy[OUTCOME_DETAIL_MAX];
    snprintf(copy, sizeof copy, "%s", reason);
    return refuse(job, hung ? VERDICT_HUNG : VERDICT_CRASHED, copy, f->losses);
}

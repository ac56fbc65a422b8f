/* slice.c — the main job, in the order in which it happens; tune_slice, at the end, is the whole of it.
 *
 * Each function does one thing from its beginning to its end. Wherever it waits, for the GPU or for a
 * compiler, the compilers are given work ahead and other GPUs' threads go on (idle). A function that finds
 * the job ended, by Ctrl-C or because its GPU is given up, returns OK: the caller asks goes_on.
 */
#include "clock.h"
#include "job.h"
#include "messages.h"
#include "print.h"
#include "run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARE_TRIES   3
#define WARM_SHARE      0.08 /* of the problem's time, for warming up */
#define WARM_MOST_S     30.0
#define REFRESH_LASTS_S 30.0 /* a run of races, at least, for which the GPU is warmed up once */
#define REWARM_MOST_S   1.5  /* a GPU that was at work a moment ago */

#define CHECK_DEADLINE_S 120.0 /* many ragged shapes */
#define LOSSES_MAX       2     /* a worker that dies twice on a finalist's blocks */
#define REPEATS_MAX      3
/* NVML's clocks_throttle_reasons that make a time worthless: hardware slowdown, its thermal and power-brake
 * kinds, and software thermal slowdown. The software power cap is normal for a large GEMM. */
#define THROTTLED    0xe8u
#define POWER_CAPPED 0x04u /* by the power limit, in software: normal, but it decides who is faster */

/* ---- waiting, and what ends a slice from outside ---- */

static bool goes_on(const struct job *job, enum status st)
{
    return !st && job_runs(job);
}

/* Replaces a worker whose process is not trusted any more, or is still at something that nobody waits for. */
static void replace_worker(struct gpu_worker *gpu)
{
    children_cancel(gpu->run->s->children, gpu->number);
    gpu->prepared = gpu->preparing = gpu->pending = false;
}

/* Stores the notes on the search for the user. */
static enum status keep_notes(const struct job *job)
{
    const char *note = search_note(job->search);
    const enum status st = note ? job_note(job, note) : OK;
    if (st || job->late == 0) return st;
    char late[256];
    snprintf(late, sizeof late,
             "the search did not wait for %zu overdue result%s: another run with the same seed may try other "
             "candidates",
             job->late, PRINT_S(job->late));
    return job_note(job, late);
}

static enum status interrupt(struct job *job)
{
    job_best(job, &job->result.winner);
    job_end(job, JOB_INTERRUPTED, "interrupted");
    if (job->phase != PHASE_SEARCH || !job->search) return OK; /* its notes are kept */
    search_finish(job->search);
    return keep_notes(job);
}

/* Ends the job if it has to end for a reason that is not its own. */
static enum status heed(struct job *job)
{
    struct gpu_worker *gpu = job->gpu;
    if (!job_runs(job)) return OK;
    if (gpu->gone) {
        job_end(job, JOB_ORPHANED, "GPU %d is given up: %s",
                children_worker(job->run->s->children, gpu->number)->device, gpu->why);
    } else if (job_is_overtime(job)) {
        replace_worker(gpu);
        job->run->strict = true;
        job_end(job, JOB_FRUITLESS, "the budget was over before %s (--budget; the same command goes on)",
                gpu->until);
    } else if (job->run->stopping && !(gpu->pending && gpu->prepared)) {
        /* A trial ends soon and is kept; a preparation may take long and is worth nothing. */
        if (gpu->pending) replace_worker(gpu);
        return interrupt(job);
    }
    return OK;
}

static bool is_ready(const struct gpu_worker *gpu)
{
    return gpu->prepared && children_worker_idle(gpu->run->s->children, gpu->number);
}

/* Waits until something has happened, and meanwhile gives the compilers work and opens the problem that comes
 * next. */
static enum status idle(struct job *job)
{
    enum status st = heed(job);
    if (goes_on(job, st)) st = job_work_ahead(job);
    if (goes_on(job, st)) st = ahead_begin(job->gpu);
    if (!goes_on(job, st)) return st;
    return is_ready(job->gpu) && job_can_try(job) ? OK : run_wait(job->run);
}

/* until: what is said of it if it outlasts the budget. */
static enum status send_request(struct job *job, json_t *request, double deadline_s, const char *until)
{
    struct gpu_worker *gpu = job->gpu;
    enum status st = children_send(job->run->s->children, gpu->number, request, deadline_s, NULL);
    if (st) return st;
    gpu->pending = true;
    gpu->lost = gpu->hung = false;
    gpu->sent_s = now_s();
    gpu->until = until;
    json_decref(gpu->answer);
    gpu->answer = NULL;
    return OK;
}

/* Waits until gpu->answer is there, or the worker is lost, or the job has ended. */
static enum status await(struct job *job)
{
    const struct gpu_worker *gpu = job->gpu;
    enum status st = OK;
    while (gpu->pending && goes_on(job, st)) st = idle(job);
    const bool none = gpu->gone && !gpu->lost && !gpu->answer;
    return !st && none ? heed(job) : st;
}

static enum status ask(struct job *job, json_t *request, double deadline_s, const char *until)
{
    enum status st = send_request(job, request, deadline_s, until);
    return st ? st : await(job);
}

/* The worker's process answers that it cannot, and says why; it is replaced. */
static void take_refusal(struct gpu_worker *gpu)
{
    snprintf(gpu->reason, sizeof gpu->reason, "%.*s", (int)sizeof gpu->reason - 1, status_text());
    replace_worker(gpu);
    gpu->lost = true;
}

/* ---- preparing the GPU: operands, references, the rival's time ---- */

static enum status send_preparation(struct job *job)
{
    const struct tune_options *o = job->run->s->options;
    struct gpu_worker *gpu = job->gpu;
    double warm_s = fmin(REWARM_MOST_S, WARM_SHARE * job->share_s);
    if (job->run->slices && gpu->sent_s < job->began_s) job->began_s = now_s(); /* it was not there before */
    if (!gpu->warm) {
        /* The first slice is short, but this lasts for the whole run. */
        const double lasts_s = job->run->slices ? fmax(job->share_s, job->run->even_s)
                               : o->refresh     ? fmax(job->share_s, REFRESH_LASTS_S)
                                                : job->share_s;
        warm_s = fmin(WARM_MOST_S, WARM_SHARE * lasts_s);
        job->warming = true;
    }
    gpu->warm = gpu->preparing = true;
    return send_request(job,
                        request_prepare(&job->problem, o->cold, o->seed, warm_s, job_prepare_limit_s(job)),
                        CHILDREN_PREPARE_S, "its operands, references and the rival's time were there");
}

static void take_rival(struct job *job, const json_t *answer)
{
    job->anchor_us = json_number_value(json_object_get(answer, "anchor_us"));
    const char *rival = json_string_value(json_object_get(answer, "rival"));
    snprintf(job->rival, sizeof job->rival, "%s", rival && job->anchor_us > 0 ? rival : "");
    const bool wrong = json_is_false(json_object_get(answer, "anchor_right"));
    accuracy_from_json(json_object_get(answer, "anchor_errors"), &job->anchor_errors);
    if (wrong) {
        const char *detail = json_string_value(json_object_get(answer, "anchor_detail"));
        report_say(job->run->report, "%s: cuBLAS's own result is beyond the error bound: %s", job->text,
                   detail ? detail : "");
    }
    const bool compared = job->rival[0] && !wrong && accuracy_is_known(&job->anchor_errors);
    if (gemm_type_has_limits(job->problem.type) && !compared)
        job_end(job, JOB_FRUITLESS, "%s is judged by the errors of cuBLAS on the same data, and %s",
                gemm_type_row(job->problem.type)->name,
                wrong ? "they are beyond the error bound" : "there is no cuBLAS to measure");
}

/* The GPU is warm, and its libraries are loaded: that lasts for the whole run, so that not this problem alone
 * pays for it. Its slice is longer by the time it took; where problems have one slice each, by no more than
 * an even division of what is left gives. */
static void begin_warm(struct job *job)
{
    const struct run *run = job->run;
    const double now = now_s();
    job->warming = false;
    const double length_s = job->share_s;
    job->share_s += now - fmax(job->gpu->sent_s, job->began_s);
    if (!run->slices && !run->s->options->refresh)
        job->share_s = fmin(job->share_s, now - job->began_s + deal_length_s(job));
    job->warmed_s = fmax(0, job->share_s - length_s);
}

static enum status take_preparation(struct job *job)
{
    struct gpu_worker *gpu = job->gpu;
    struct children *children = job->run->s->children;
    gpu->preparing = false;
    if (!gpu->lost && message_check(gpu->answer) == OK) {
        gpu->prepared = true;
        job->prepare_failures = 0;
        if (job->warming) begin_warm(job);
        take_rival(job, gpu->answer);
        return job_take_library(job, gpu->answer);
    }
    const bool enough = ++job->prepare_failures >= PREPARE_TRIES;
    if (!gpu->lost && enough) {
        job_end(job, JOB_FRUITLESS, "GPU %d cannot take this problem: %s",
                children_worker(children, gpu->number)->device, status_text());
    } else if (!gpu->lost) {
        replace_worker(gpu); /* a fresh process may have more memory */
    } else if (enough) {
        char why[OUTCOME_DETAIL_MAX];
        snprintf(why, sizeof why, "its worker died %d times in a row while it prepared a problem: %.100s",
                 PREPARE_TRIES, gpu->reason);
        children_give_up(children, gpu->number, why);
    }
    return OK;
}

/* Prepares the worker until it is ready: at the beginning, and again whenever its process is another. */
static enum status prepare(struct job *job)
{
    struct gpu_worker *gpu = job->gpu;
    enum status st = OK;
    while (goes_on(job, st) && !is_ready(gpu)) {
        if (!gpu->preparing && !children_worker_idle(job->run->s->children, gpu->number)) {
            st = idle(job); /* it starts anew */
            continue;
        }
        if (!gpu->preparing) st = send_preparation(job);
        if (!st) st = await(job);
        if (goes_on(job, st)) st = take_preparation(job);
    }
    return st;
}

/* The search is opened while the GPU prepares. Where there are slices, opening it is not at their cost. */
static enum status begin(struct job *job)
{
    struct gpu_worker *gpu = job->gpu;
    struct run *run = job->run;
    gpu->prepared = gpu->preparing = false;
    job->began_s = now_s();
    job->share_s = deal_length_s(job);
    enum status st = await(job); /* for what the GPU was asked for another problem */
    if (goes_on(job, st) && children_worker_idle(run->s->children, gpu->number)) st = send_preparation(job);
    if (goes_on(job, st)) st = deal_open_search(job);
    if (!goes_on(job, st)) return st;
    const bool first = !run->problem[job->at].begun;
    run->problem[job->at].begun = true;
    deal_say_begun(job);
    if (run->slices) {
        job->began_s = now_s();
        job->share_s = deal_length_s(job);
    }
    st = job_begin_search(job, first);
    return st ? st : prepare(job);
}

/* ---- the search: try candidates, each attempt stored before it can crash ---- */

/* The outcome of a trial. *again: it says nothing of the candidate, which is to be tried once more. */
static enum status try_on_gpu(struct job *job, struct outcome *outcome, bool *again)
{
    struct gpu_worker *gpu = job->gpu;
    struct ahead *a = &job->tried;
    const struct config *config = &job->field.config[a->index];
    struct build build;
    *again = false;
    builds_read(a->built, &build);
    enum status st = ask(job, request_trial(config, &build, job->best_us, job_trial_limit_s(job)),
                         job_deadline_s(job, job->field.predicted_us[a->index]), "a trial had ended");
    if (!goes_on(job, st)) return st;
    const double seconds = now_s() - gpu->sent_s;
    if (!gpu->lost) {
        st = message_check(gpu->answer);
        if (!st && outcome_from_json(json_object_get(gpu->answer, "outcome"), outcome)) st = E_CHILD;
        /* A cubin that has left the cache is made again, once. Anything else is the GPU's or the worker's
         * trouble with this candidate. */
        *again = (st == E_IO || st == E_INPUT) && !a->recompiled;
        if (*again) {
            builds_forget(a->built);
            a->recompiled = true;
            return OK;
        }
        if (st) take_refusal(gpu);
    }
    if (gpu->lost) {
        *outcome = outcome_failed(gpu->hung ? VERDICT_HUNG : VERDICT_CRASHED, "%s", gpu->reason);
        outcome->cold = job->context.cold;
        outcome->wall_ms = 1e3 * seconds;
    } else if (outcome->verdict == VERDICT_CRASHED || outcome->verdict == VERDICT_HUNG) {
        replace_worker(gpu);
    } else {
        job->trial_s = job->trial_s > 0 ? 0.9 * job->trial_s + 0.1 * seconds : seconds;
    }
    outcome->facts = a->built->facts;
    return OK;
}

/* Two crashes quarantine a configuration; the first may have had another cause, so it is tried once more. */
static enum status may_try_again(struct job *job, const struct outcome *outcome, bool *again)
{
    const size_t index = job->tried.index;
    *again = outcome->verdict == VERDICT_CRASHED || outcome->verdict == VERDICT_HUNG;
    if (!*again) return OK;
    bool quarantined = ++job->field.crashes[index] >= CRASHES_MAX;
    enum status st = OK;
    if (!quarantined)
        st = db_quarantined(job->run->s->db, &job->context, &job->field.config[index], &quarantined);
    *again = !quarantined;
    return st;
}

static enum status try_candidate(struct job *job, const struct ahead *candidate)
{
    struct db *db = job->run->s->db;
    int64_t attempt;
    struct outcome outcome = {.verdict = VERDICT_CRASHED};
    bool again = false;
    job->tried = *candidate;
    if (job->tried.begun_s == 0) job->tried.begun_s = now_s();
    enum status st =
        db_attempt(db, job->run_id, &job->problem, &job->field.config[candidate->index], &attempt);
    if (st) return st;
    job->trying = true;
    st = try_on_gpu(job, &outcome, &again);
    job->trying = false;
    if (!goes_on(job, st) || again) {
        if (again) job_put_back(job, &job->tried);
        const enum status forgotten = db_forget_attempt(db, attempt);
        return st ? st : forgotten;
    }
    st = db_record(db, attempt, &outcome);
    if (!st) st = may_try_again(job, &outcome, &again);
    if (st) return st;
    if (again) job_put_back(job, &job->tried);
    else job_tell(job, job->tried.index, &outcome);
    return OK;
}

static enum status search(struct job *job)
{
    enum status st = OK;
    const double from_s = now_s();
    while (!st && !(st = heed(job)) && job_runs(job) && !job_search_is_over(job)) {
        struct ahead candidate;
        bool built;
        if (!is_ready(job->gpu)) st = prepare(job);
        else if (!(st = job_take_built(job, &candidate, &built)))
            st = built ? try_candidate(job, &candidate)
                       : idle(job); /* others are proposed and compiled meanwhile */
    }
    job->search_end_s = now_s();
    job->searched_s = job->search_end_s - from_s;
    if (!goes_on(job, st) || job->only_race) return st;
    search_finish(job->search);
    if (job->run->s->options->budget_s == 0 && job->satisfied)
        report_say(job->run->report,
                   "%s: after %zu trial%s nothing more is expected of the search (--budget lets it go on)",
                   job->text, job->result.tried, PRINT_S(job->result.tried));
    job->result.exhausted = job_is_exhausted(job);
    for (size_t i = 0; job->result.exhausted && i < job->ahead_count; i++) job->late += !job->ahead[i].late;
    job->result.gain = search_gain(job->search);
    return keep_notes(job);
}

/* ---- the race: cuBLAS and the fastest in turns ---- */

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
    job_count_contenders(job, job->best_us);
    enum status st = OK;
    for (int i = 0; i < times && !st; i++) {
        int64_t attempt;
        st = db_attempt(job->run->s->db, job->run_id, &job->problem, &f->config, &attempt);
        if (!st) st = db_record(job->run->s->db, attempt, &outcome);
    }
    return st;
}

/* The block is run again once the worker is back. A finalist that loses a worker twice is out; that it
 * crashed twice in this job is its outcome. to_blame: what was lost is not its cubin. */
static enum status lose_block(struct job *job, struct finalist *f, bool to_blame)
{
    int *losses = f ? &f->losses : &job->finalists.anchor_losses;
    const bool crashed = f && to_blame && ++job->field.crashes[f->index] >= CRASHES_MAX;
    if (++*losses < LOSSES_MAX && !crashed) return OK;
    const enum status st = finalists_tell_failed(&job->finalists);
    if (st || !crashed) return st;
    return record_failure(job, f, job->gpu->hung ? VERDICT_HUNG : VERDICT_CRASHED, job->gpu->reason, *losses);
}

/* A cubin that has left the cache is made again, once for each finalist. */
static bool is_made_again(const struct job *job, struct finalist *f, enum status st)
{
    if ((st != E_IO && st != E_INPUT) || !f || f->recompiled || field_is_library(&job->field, f->index))
        return false;
    builds_forget(f->built);
    f->recompiled = true;
    return true;
}

/* A block of a finalist, or (NULL) of the anchor, in the race at hand. */
static json_t *request_of(const struct job *job, struct finalist *f)
{
    const struct finalists *all = &job->finalists;
    const double block_ms = all->second ? all->load.block_ms : job->plan.block_ms;
    struct build build;
    if (f) builds_read(f->built, &build);
    return request_with_timing(f ? request_block(&f->config, &build, block_ms)
                                 : request_anchor_block(block_ms),
                               all->timing, all->load.lead_ms);
}

static double block_limit_s(const struct job *job)
{
    const struct finalists *all = &job->finalists;
    const double load_s = all->second ? budget_load_s(&all->load, job->best_us, 0) : 0;
    return 10.0 + 20.0 * fmax(1e-3 * job->plan.block_ms, 4e-6 * job->best_us) + 4 * load_s;
}

/* What else may have disturbed the race is noted, and said at its end. */
static void note_state(struct finalists *all, const json_t *state, struct db_race_sample *block)
{
    const double limit_w = json_number_value(json_object_get(state, "power_limit_w"));
    const int processes = (int)json_integer_value(json_object_get(state, "processes"));
    block->sm_clock_mhz = (int)json_integer_value(json_object_get(state, "sm_clock_mhz"));
    block->power_w = json_number_value(json_object_get(state, "power_w"));
    block->throttle_reasons = (uint64_t)json_integer_value(json_object_get(state, "throttle_reasons"));
    all->capped |= (block->throttle_reasons & POWER_CAPPED) != 0;
    if (processes > all->processes) all->processes = processes;
    if (limit_w > 0 && (all->limit_w[0] == 0 || limit_w < all->limit_w[0])) all->limit_w[0] = limit_w;
    if (limit_w > all->limit_w[1]) all->limit_w[1] = limit_w;
}

/* f: NULL is the anchor. */
static enum status run_block(struct job *job, struct finalist *f)
{
    struct gpu_worker *gpu = job->gpu;
    struct db_race_sample block = {.runner = 0};
    enum status st = ask(job, request_of(job, f), block_limit_s(job), "its race had ended");
    if (!goes_on(job, st)) return st;
    if (gpu->lost) return lose_block(job, f, true);
    block.time_us = json_number_value(json_object_get(gpu->answer, "time_us"));
    block.joules = json_number_value(json_object_get(gpu->answer, "joules"));
    st = message_check(gpu->answer);
    if (!st && !(block.time_us > 0)) st = fail(E_CHILD, "a block took no time");
    if (is_made_again(job, f, st)) return OK;
    if (st) {
        take_refusal(gpu);
        return lose_block(job, f, st != E_IO && st != E_INPUT);
    }
    note_state(&job->finalists, json_object_get(gpu->answer, "state"), &block);
    if ((block.throttle_reasons & THROTTLED) && job->finalists.repeats++ < REPEATS_MAX)
        return OK; /* the same block again */
    const bool second = job->finalists.second != NULL;
    st = finalists_tell(&job->finalists, &block);
    if (st || !second || job->finalists.second) return st;
    return job_note(job, "the driver counts no energy of this GPU: the fastest won");
}

static bool race_is_late(const struct job *job)
{
    const struct finalists *all = &job->finalists;
    const int least = all->second ? 1 : budget_rounds_least(job->best_us);
    const double kept_s = all->second ? 0 : job_load_s(job);
    return job_race_left_s(job) < kept_s && finalists_rounds(all) >= least;
}

static enum status run_race(struct job *job)
{
    struct finalists *all = &job->finalists;
    enum status st = OK;
    while (!st && !(st = heed(job)) && job_runs(job)) {
        if (race_is_late(job)) finalists_cut(all);
        const int who = finalists_next(all);
        if (who == RACE_DONE) break;
        struct finalist *f = who == RACE_ANCHOR ? NULL : &all->finalist[who];
        if (!f && job->anchor_us <= 0) st = finalists_tell_failed(all); /* plain times decide */
        else if (!is_ready(job->gpu)) st = prepare(job);
        else if (f && f->built->state != BUILD_DONE) st = idle(job); /* it is made again */
        else st = run_block(job, f);
    }
    return st;
}

static enum status say_disturbances(struct job *job)
{
    const struct finalists *all = &job->finalists;
    char text[160];
    enum status st = OK;
    if (all->processes > 1) {
        snprintf(text, sizeof text, "%d other process%s used the GPU during the race: its times may be wrong",
                 all->processes - 1, all->processes == 2 ? "" : "es");
        st = job_note(job, text);
    }
    if (st || all->limit_w[0] == all->limit_w[1]) return st;
    snprintf(text, sizeof text, "the power limit changed from %.0f W to %.0f W during the race",
             all->limit_w[0], all->limit_w[1]);
    return job_note(job, text);
}

static enum status race(struct job *job)
{
    job->phase = PHASE_RACE;
    enum status st = job_choose_finalists(job);
    while (goes_on(job, st) && !job_finalists_are_built(job)) st = idle(job);
    if (goes_on(job, st)) st = job_start_race(job);
    if (goes_on(job, st)) st = run_race(job);
    if (goes_on(job, st) && job_wants_second_race(job)) {
        st = job_start_second_race(job);
        if (goes_on(job, st)) st = run_race(job);
    }
    return goes_on(job, st) ? say_disturbances(job) : st;
}

/* ---- the last check, and the winner ---- */

/* A finalist passed its trial and failed the last check: the failure is stored as its outcome, and the next
 * one is checked. */
static enum status refuse(struct job *job, struct finalist *f, enum verdict verdict, const char *detail,
                          int times)
{
    f->refused = true;
    if (verdict == VERDICT_WRONG && gemm_type_has_limits(job->problem.type) && field_divides_k(&f->config))
        field_defer_divided(&job->field);
    return record_failure(job, f, verdict, detail, times);
}

/* A worker that died during the check is asked once more: the cause may have been another. */
static enum status lose_check(struct job *job, struct finalist *f)
{
    f->losses++;
    if (++job->field.crashes[f->index] < CRASHES_MAX) return OK;
    return refuse(job, f, job->gpu->hung ? VERDICT_HUNG : VERDICT_CRASHED, job->gpu->reason, f->losses);
}

/* *right: the finalist may win, and this was measured of its errors. */
static enum status check(struct job *job, struct finalist *f, bool *right, struct accuracy *errors,
                         struct accuracy_checked *checked)
{
    struct gpu_worker *gpu = job->gpu;
    struct build build;
    builds_read(f->built, &build);
    enum status st = ask(job, request_verify(&f->config, &build, job->best_us, job_check_limit_s(job)),
                         CHECK_DEADLINE_S + job_deadline_s(job, job->best_us), "its fastest was checked");
    if (!goes_on(job, st)) return st;
    if (gpu->lost) return lose_check(job, f);
    job->run->check_excess_s =
        fmax(job->run->check_excess_s, now_s() - gpu->sent_s - budget_check_s(job->best_us));
    enum verdict verdict = VERDICT_CRASHED;
    const char *name = json_string_value(json_object_get(gpu->answer, "verdict"));
    const char *detail = json_string_value(json_object_get(gpu->answer, "detail"));
    st = message_check(gpu->answer);
    if (!st) st = verdict_parse(name ? name : "", &verdict);
    if (!st && (!accuracy_from_json(json_object_get(gpu->answer, "errors"), errors) ||
                !accuracy_checked_from_json(json_object_get(gpu->answer, "checked"), checked)))
        st = fail(E_CHILD, "the last check told errors that are none");
    if (is_made_again(job, f, st)) return OK;
    if (st) {
        take_refusal(gpu);
        return lose_check(job, f);
    }
    if (verdict != VERDICT_MEASURED)
        return refuse(job, f, verdict, detail ? detail : "refused by the last check", 1);
    *right = accuracy_answers(gemm_type_row(job->problem.type), errors, &job->anchor_errors);
    if (*right) return OK;
    return refuse(job, f, VERDICT_WRONG, "the last check found it less accurate than its type allows", 1);
}

static void end_without_winner(struct job *job)
{
    if (job->pinned)
        job_end(job, JOB_FRUITLESS, "what is to be pinned is not usable here: %s",
                *job->trouble ? job->trouble : "it failed in the race");
    else job_end(job, JOB_FRUITLESS, "every finalist failed in the race or the last check");
}

/* All finalists are out, and the last check refused some: the next ones race. Each time fewer are left, for
 * what is refused is no candidate any more. *raced: there are finalists again. */
static enum status race_others(struct job *job, bool *raced)
{
    struct finalists *all = &job->finalists;
    bool refused = false;
    size_t next;
    for (int i = 0; i < all->count; i++) refused |= all->finalist[i].refused;
    *raced = refused && !job->pinned && job_may_race_again(job) && field_best(&job->field, &next, 1) > 0;
    if (!*raced) return OK;
    finalists_free(all);
    const enum status st = race(job);
    job->phase = PHASE_CHECK;
    return st;
}

/* The winner of the race that passes the check is stored. */
static enum status verify(struct job *job)
{
    enum status st = OK;
    job->phase = PHASE_CHECK;
    while (!st && !(st = heed(job)) && job_runs(job)) {
        bool tied, right = false;
        struct accuracy errors;
        struct accuracy_checked checked;
        const int choice = finalists_choice(&job->finalists, &tied);
        if (choice < 0) {
            bool raced;
            st = race_others(job, &raced);
            if (raced) continue;
            end_without_winner(job);
            break;
        }
        struct finalist *f = &job->finalists.finalist[choice];
        if (!is_ready(job->gpu)) st = prepare(job);
        else if (f->built->state != BUILD_DONE) st = idle(job); /* it is made again */
        else st = check(job, f, &right, &errors, &checked);
        if (!st && right) st = job_store_winner(job, choice, tied, &errors, &checked);
    }
    return st;
}

/* ---- the whole ---- */

enum status tune_slice(struct gpu_worker *gpu)
{
    struct job *job = gpu->now;
    job->gpu = gpu;
    enum status st = begin(job);                                      /* prepare the GPU, open the search */
    if (goes_on(job, st)) st = search(job);                           /* propose, build, try, record, tell */
    if (goes_on(job, st) && !job_keeps_defender(job)) st = race(job); /* the fastest against cuBLAS */
    if (goes_on(job, st)) st = verify(job);                           /* check and store the winner */
    return st;
}

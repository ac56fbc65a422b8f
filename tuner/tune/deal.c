/* deal.c — which problem a GPU works on next, and for how long. */
#include "budget.h"
#include "clock.h"
#include "job.h"
#include "model.h"
#include "preferred.h"
#include "print.h"
#include "run.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESTING_BYTES_MOST 2e9
#define LEAST_SHARE        0.8   /* of an even division, at most: some is left for those that weigh most */
#define RESTING_SHARE      0.125 /* of the machine's memory, if that is less */

static size_t problems(const struct run *run)
{
    return run->s->options->problem_count;
}

bool run_same_model(const struct gpu *x, const struct gpu *y)
{
    return strcmp(x->name, y->name) == 0 && x->sm_count == y->sm_count;
}

int run_gpus_alive(const struct run *run)
{
    int alive = 0;
    for (int i = 0; i < run->gpus; i++) alive += !run->gpu[i].gone;
    return alive;
}

double run_left_s(const struct run *run)
{
    return run->end_s - now_s();
}

/* No GPU works on the problem, and none is about to. */
static bool is_waiting(const struct run *run, size_t at)
{
    return run->problem[at].standing == WAITING && !run->problem[at].searched;
}

/* It needs time yet, from its beginning. */
static bool is_to_begin(const struct run *run, size_t at)
{
    const struct problem_state *p = &run->problem[at];
    return p->history.spent_s <= 0 && (is_waiting(run, at) || p->opening);
}

int run_waiting(const struct run *run)
{
    int count = 0;
    for (size_t i = 0; i < problems(run); i++) count += is_waiting(run, i) || run->problem[i].opening;
    return count;
}

void run_settle(struct run *run, size_t at)
{
    run->problem[at].standing = ENDED;
    run->ended++;
    job_close(run->problem[at].resting);
    run->problem[at].resting = NULL;
}

/* ---- time for searches, and time kept for closing races ---- */

/* The time that closing races take. */
struct owed {
    double all_s;             /* those that are due, one after the other */
    double kept_s, longest_s; /* those that time is kept for, and the longest of them */
};

static void keep_time(const struct run *run, struct owed *owed, const struct slice_history *history)
{
    if (!slice_closing_is_kept_time_for(history, run->budget_s)) return;
    owed->kept_s += history->closing_s;
    owed->longest_s = fmax(owed->longest_s, history->closing_s);
}

static struct owed owed_of(const struct run *run)
{
    struct owed owed = {0};
    for (size_t i = 0; i < problems(run); i++) {
        const struct problem_state *p = &run->problem[i];
        if (p->standing == ENDED || p->closing || !p->history.wants_closing_race) continue;
        owed.all_s += p->history.closing_s;
        keep_time(run, &owed, &p->history);
    }
    return owed;
}

/* The time left for searching this problem. A short slice allows a short race, which wants a closing race.
 * Where problems have one slice each, no time is kept: those that are behind had better be searched on. */
static double search_left_s(const struct run *run, const struct slice_history *history, struct owed owed)
{
    if (!run->slices) return run_left_s(run);
    if (!history->wants_closing_race) keep_time(run, &owed, history);
    return run_left_s(run) -
           slices_reserve_s(owed.kept_s, owed.longest_s, run->budget_s, run_gpus_alive(run));
}

/* The gain that a second of the problem's next slice promises. */
static double promise_of(const struct run *run, size_t at, struct owed owed)
{
    const struct slice_history *history = &run->problem[at].history;
    return slice_promise(history, run->even_s, search_left_s(run, history, owed));
}

/* At the machine's peak. */
static double call_us(const struct run *run, const struct gpu *gpu, size_t at)
{
    const struct problem *problem = &run->s->options->problems[at];
    return model_roofline_us(problem, gpu_peak_tflops(gpu, problem->type), gpu->memory_gb_per_s);
}

static double weight_of(const struct run *run, const struct gpu *gpu, size_t at)
{
    const struct tune_options *o = run->s->options;
    return budget_weight(o->weights ? o->weights[at] : 1, call_us(run, gpu, at));
}

/* The job's share of the time left, of which each problem has one that is to begin: what it takes beside its
 * search, and a part of the rest. */
static double share_s(const struct run *run, const struct job *job)
{
    const struct gpu *gpu = &job->context.gpu;
    const double weight = weight_of(run, gpu, job->at);
    double weights = weight;
    int unfinished = 1;
    for (size_t i = 0; i < problems(run); i++) {
        if (!is_to_begin(run, i)) continue;
        unfinished++;
        weights += weight_of(run, gpu, i);
    }
    const int gpus = run_gpus_alive(run);
    const double left_s = run_left_s(run), even_s = budget_share(left_s, unfinished, gpus);
    const double least_s = fmin(run->beside_s, LEAST_SHARE * even_s);
    const double spare_s = even_s > 0 ? left_s * (1 - least_s / even_s) : 0;
    return least_s + budget_weighted_share(spare_s, weight, weights, unfinished, gpus);
}

double deal_length_s(const struct job *job)
{
    const struct run *run = job->run;
    const struct problem_state *p = &run->problem[job->at];
    if (run->s->options->refresh) return budget_refresh_s(call_us(run, &job->context.gpu, job->at));
    if (!run->slices && p->history.spent_s <= 0) return share_s(run, job);
    const struct owed owed = owed_of(run);
    if (p->closing)
        return slice_closing_length_s(&p->history, owed.all_s + p->history.closing_s, run_left_s(run),
                                      run_gpus_alive(run));
    return slice_length_s(&p->history, run->even_s, search_left_s(run, &p->history, owed));
}

/* ---- which problem ---- */

static bool is_opened_ahead(const struct run *run, size_t at)
{
    bool opened = false;
    for (int i = 0; i < run->gpus; i++) opened |= run->gpu[i].next == &run->problem[at];
    return opened;
}

/* Chooses the waiting problem whose next slice promises most, of equals the first; where that is the last
 * percent, one that is behind cuBLAS. ahead: none that is opened ahead already. */
static bool choose_slice(const struct run *run, bool ahead, size_t *at)
{
    const struct owed owed = owed_of(run);
    double most = -1, most_behind = -1;
    size_t behind = 0;
    for (size_t i = 0; i < problems(run); i++) {
        const struct problem_state *p = &run->problem[i];
        if (!is_waiting(run, i) || (ahead && is_opened_ahead(run, i))) continue;
        if (p->history.spent_s > 0 &&
            !slice_is_worth_beginning(run->even_s, search_left_s(run, &p->history, owed)))
            continue;
        const double promise = promise_of(run, i, owed);
        if (p->history.behind && promise > most_behind) {
            most_behind = promise;
            behind = i;
        }
        if (promise <= most) continue;
        most = promise;
        *at = i;
    }
    if (most_behind >= 0 && slice_is_last_percent(&run->problem[*at].history)) *at = behind;
    return most >= 0;
}

/* First whoever is worth most: there may not be time for all. */
static bool choose_closing(const struct run *run, bool ahead, size_t *at)
{
    const double left_s = run_left_s(run);
    double most = -1;
    for (size_t i = 0; i < problems(run); i++) {
        const struct problem_state *p = &run->problem[i];
        if (p->standing != WAITING || !p->history.wants_closing_race || p->history.worth <= most) continue;
        if (ahead && is_opened_ahead(run, i)) continue;
        if (!slice_closing_fits(&p->history, left_s)) continue;
        most = p->history.worth;
        *at = i;
    }
    return most >= 0;
}

/* A slice or, where none is due, a closing race. */
static bool choose(const struct run *run, bool ahead, size_t *at, bool *closing)
{
    *closing = false;
    if (choose_slice(run, ahead, at)) return true;
    return *closing = choose_closing(run, ahead, at);
}

/* Whoever is being searched promises less after this slice; by how much is not known yet. */
static bool another_is_next(const struct run *run, size_t now)
{
    size_t at = 0;
    if (!choose_slice(run, true, &at)) return choose_closing(run, true, &at);
    const struct owed owed = owed_of(run);
    return promise_of(run, at, owed) >= 0.5 * promise_of(run, now, owed);
}

/* Problems no longer begin: the budget was too short for their number. One at least begins. */
static bool is_too_late(const struct run *run)
{
    bool any = false;
    for (size_t i = 0; i < problems(run) && !any; i++) any = run->problem[i].begun;
    return any && run_left_s(run) < (run->strict ? 0 : -budget_grace_s(run->budget_s));
}

/* ---- what earlier runs have stored ---- */

struct wanted {
    struct job_result *result;
    int64_t workspace_bytes;
    bool pinned; /* a configuration is pinned for the problem */
};

static bool take_winner(void *self, const struct db_winner *winner)
{
    const struct wanted *w = self;
    if (winner->base.predicted || winner->stale || winner->unusable) return true;
    if (winner->pinned && !w->pinned) return true; /* since it was unpinned, no search has ended */
    if (winner->config.template &&
        workspace_refuses(&winner->config, &winner->base.problem, w->workspace_bytes))
        return true;
    w->result->winner = *winner;
    w->result->how = JOB_KNOWN;
    return false;
}

/* A winner that is stored, up to date, and takes no more than is allowed; another is something to defend. */
static enum status look_in(struct run *run, struct db *db, const struct db_context *context, size_t at)
{
    const struct tune_options *o = run->s->options;
    struct job_result *result = &run->s->results[at];
    struct wanted wanted = {result, o->workspace_bytes, false};
    struct db_filter filter = {.gpu = context->gpu.name, .problem = &o->problems[at]};
    enum status st = preferred_pinned(db, &context->gpu, filter.problem, &wanted.pinned);
    if (!st) st = db_winners(db, &filter, context, take_winner, &wanted);
    if (st == E_ABSENT) st = OK;
    if (st || result->how != JOB_KNOWN) return st;
    bool other = o->own_count > 0; /* a winner of another kernel is no reason to leave these out */
    for (int i = 0; i < o->own_count; i++) other = other && result->winner.config.template != o->own[i];
    if (result->winner.base.cold != context->cold || o->again || other) result->how = JOB_RUNNING;
    return OK;
}

/* What is known in another database needs no further search here. */
static enum status look_up_elsewhere(struct run *run, const struct db_context *context, size_t at)
{
    struct job_result *result = &run->s->results[at];
    const struct db_winner own = result->winner;
    enum status st = look_in(run, run->s->known, context, at);
    if (st == E_MEMORY) return st;
    if (st)
        report_say(run->report, "nothing is known for now: %s", status_text()); /* it may be being written */
    if (st || result->how != JOB_KNOWN) {
        result->how = JOB_RUNNING;
        result->winner = own;
        return OK;
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(&run->s->options->problems[at], text);
    snprintf(result->why, sizeof result->why, "known from %.400s", run->s->options->known);
    report_say(run->report, "%s: skipped, its winner of %s in %s is up to date", text,
               result->winner.base.when, run->s->options->known);
    run_settle(run, at);
    return OK;
}

static enum status look_up(struct run *run, const struct db_context *context, size_t at)
{
    const struct tune_options *o = run->s->options;
    struct db *db = run->s->db;
    struct job_result *result = &run->s->results[at];
    enum status st = look_in(run, db, context, at);
    if (st) return st;
    if (result->how != JOB_KNOWN) return run->s->known ? look_up_elsewhere(run, context, at) : OK;
    snprintf(result->why, sizeof result->why, "tuned on %s", result->winner.base.when);
    const size_t tried = (size_t)result->winner.trials;
    const int64_t limit = o->max_trials;
    const bool all = (int64_t)tried >= result->winner.legal_count || (limit > 0 && (int64_t)tried >= limit);
    bool continues = run->slices && !all && o->goes_on;
    if (run->slices && !all && !continues)
        st = db_decision_continues(db, result->winner.decision_id, o->command, &continues);
    if (st) return st;
    if (continues) { /* its first slice was that run's */
        struct slice_history *history = &run->problem[at].history;
        const double time_us = result->winner.base.time_us;
        slice_ended(history, SLICE_FIRST_S, time_us, tried, (double)NAN);
        slice_compared(history, result->winner.base.ratio, tried);
        history->wants_closing_race = true;
        history->closing_s =
            budget_closing_s(time_us, budget_check_s(time_us), result->winner.timing == TIMING_LOAD);
        return OK;
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(&o->problems[at], text);
    report_say(run->report, "%s: skipped, its winner of %s is up to date (%d trial%s; --again searches on)",
               text, result->winner.base.when, result->winner.trials, PRINT_S(result->winner.trials));
    run_settle(run, at);
    return OK;
}

/* ---- jobs that rest between two slices ---- */

/* The memory that resting searches may take together. */
static size_t resting_bytes_most(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    const double machine = pages > 0 && page > 0 ? (double)pages * (double)page : RESTING_BYTES_MOST;
    return (size_t)fmin(RESTING_BYTES_MOST, RESTING_SHARE * machine);
}

/* Whoever promises least is opened again when it is due. */
static void make_room(struct run *run, size_t most)
{
    for (;;) {
        const struct owed owed = owed_of(run);
        size_t sum = 0, least = 0;
        double promise = (double)INFINITY;
        for (size_t i = 0; i < problems(run); i++) {
            if (!run->problem[i].resting) continue;
            sum += job_bytes(run->problem[i].resting);
            const double p = promise_of(run, i, owed);
            if (p >= promise && isfinite(promise)) continue;
            promise = p;
            least = i;
        }
        if (sum <= most) return;
        job_close(run->problem[least].resting);
        run->problem[least].resting = NULL;
    }
}

void deal_let_rest(struct job *job)
{
    struct problem_state *p = &job->run->problem[job->at];
    job_rest(job);
    p->resting = job;
    p->standing = WAITING;
    p->closing = false;
    make_room(job->run, resting_bytes_most());
}

/* ---- dealing ---- */

static void leave_out(struct run *run, size_t at)
{
    struct job_result *result = &run->s->results[at];
    result->how = JOB_FRUITLESS;
    result->left_out = true;
    snprintf(result->why, sizeof result->why, "not begun: the budget was over");
    run_settle(run, at);
    run->left_out++;
}

/* Takes the problem's job, the one that rests if there is one. Times of one model of GPU say nothing of a
 * slice on another. */
static enum status take(const struct gpu_worker *gpu, size_t at, bool closing, struct job **out)
{
    struct run *run = gpu->run;
    struct problem_state *p = &run->problem[at];
    struct job *job = p->resting;
    p->resting = NULL;
    if (job && run_same_model(&job->context.gpu, &gpu->context.gpu)) {
        job_resume(job, gpu);
    } else {
        job_close(job);
        if (!(job = job_open(gpu, at))) return E_MEMORY;
    }
    p->standing = TAKEN;
    p->closing = job->only_race = closing;
    if (!run->s->options->refresh) job_defend(job, &run->s->results[at].winner, p->raced);
    *out = job;
    return OK;
}

/* The job of the next problem for a GPU; *job NULL: there is none left. */
static enum status deal(const struct gpu_worker *gpu, bool ahead, struct job **job)
{
    struct run *run = gpu->run;
    size_t at = 0;
    bool closing;
    *job = NULL;
    const bool late = is_too_late(run);
    while (choose(run, ahead, &at, &closing)) {
        if (run->problem[at].history.spent_s > 0) return take(gpu, at, closing, job);
        for (; at < problems(run); at++) { /* those that have no winner go first, in their order */
            const struct problem_state *p = &run->problem[at];
            if (!is_waiting(run, at) || p->history.spent_s > 0 || (ahead && is_opened_ahead(run, at)))
                continue;
            enum status st = look_up(run, &gpu->context, at);
            if (st) return st;
            if (p->standing == ENDED || p->history.spent_s > 0) continue;
            if (!late) return take(gpu, at, false, job);
            leave_out(run, at);
        }
    }
    return OK;
}

enum status deal_open_search(struct job *job)
{
    struct run *run = job->run;
    enum status st = job_open_search(job);
    if (st != E_ABSENT) return st;
    struct job_result *result = &run->s->results[job->at];
    struct problem_state *p = &run->problem[job->at];
    job_end(job, JOB_FRUITLESS, "%s", status_text());
    if (p->history.spent_s > 0) {
        report_say(run->report, "%s: its winner stays, and the search does not go on: %s", job->text,
                   job->result.why);
    } else {
        result->how = JOB_FRUITLESS;
        result->winner.gpu = job->context.gpu;
        memcpy(result->why, job->result.why, sizeof result->why);
    }
    p->closing = false;
    run_settle(run, job->at);
    return OK;
}

enum status deal_next(struct gpu_worker *gpu)
{
    gpu->now = NULL;
    gpu->next = NULL;
    return gpu->gone || gpu->run->stopping ? OK : deal(gpu, false, &gpu->now);
}

enum status deal_after(const struct gpu_worker *gpu, struct job **job)
{
    *job = NULL;
    return gpu->run->slices && !another_is_next(gpu->run, gpu->now->at) ? OK : deal(gpu, true, job);
}

/* Reports that a problem begins: one that was opened ahead may have waited for long. */
void deal_say_begun(const struct job *job)
{
    const struct run *run = job->run;
    const struct problem_state *p = &run->problem[job->at];
    const struct job_result *r = &job->result;
    const size_t known = r->recalled.usable + r->recalled.failed;
    if (p->closing) {
        report_say(run->report, "%s: its fastest race once more (%zu trial%s)", job->text, r->tried,
                   PRINT_S(r->tried));
    } else if (p->history.spent_s > 0) {
        report_say(run->report, "%s: the search goes on (%zu trial%s so far)", job->text, r->tried,
                   PRINT_S(r->tried));
    } else {
        if (run->s->options->refresh)
            report_say(run->report, "%s on %s: what raced on %s is tried again", job->text,
                       job->context.gpu.name, job->defender.base.when);
        else if (r->legal == 0)
            report_say(run->report, "%s on %s: only algorithms of cublasLt to choose from", job->text,
                       job->context.gpu.name);
        else
            report_say(run->report, "%s on %s: %zu configuration%s to choose from", job->text,
                       job->context.gpu.name, r->legal, PRINT_S(r->legal));
        if (known)
            report_say(run->report, "    %zu known from earlier runs are skipped (%zu of them failed)", known,
                       r->recalled.failed);
        if (r->hints)
            report_say(run->report, "    %zu like the winners of similar problems go first", r->hints);
        report_advice(run->report, &job->problem);
    }
}

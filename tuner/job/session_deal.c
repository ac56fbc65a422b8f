#include "session_parts.h"

#include "budget.h"
#include "clock.h"
#include "model.h"
#include "preferred.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESTING_BYTES_MOST 2e9
#define RESTING_SHARE      0.125 /* of the machine's memory, if that is less */

int session_slots_alive(const struct state *x)
{
    int alive = 0;
    for (int i = 0; i < x->slots; i++) alive += !x->slot[i].gone;
    return alive;
}

double session_left_s(const struct state *x)
{
    return x->budget_s - (now_s() - x->began_s);
}

void session_settle(struct state *x, size_t at)
{
    x->lot[at].turn = ENDED;
    x->ended++;
    job_close(x->lot[at].resting);
    x->lot[at].resting = NULL;
}

/* For all resting jobs together. */
static size_t resting_bytes_most(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    const double machine = pages > 0 && page > 0 ? (double)pages * (double)page : RESTING_BYTES_MOST;
    return (size_t)fmin(RESTING_BYTES_MOST, RESTING_SHARE * machine);
}

/* Whoever promises least is opened again when it is due. */
static void make_room(struct state *x, size_t most)
{
    for (;;) {
        size_t sum = 0, least = 0;
        double promise = (double)INFINITY;
        for (size_t i = 0; i < x->s->options->problem_count; i++) {
            if (!x->lot[i].resting) continue;
            sum += job_bytes(x->lot[i].resting);
            const double p = session_promise(x, i);
            if (p >= promise && isfinite(promise)) continue;
            promise = p;
            least = i;
        }
        if (sum <= most) return;
        job_close(x->lot[least].resting);
        x->lot[least].resting = NULL;
    }
}

void session_let_rest(struct state *x, size_t at, struct job *job)
{
    job_rest(job);
    x->lot[at].resting = job;
    make_room(x, resting_bytes_most());
}

/* What closing races take. */
struct owed {
    double all_s;             /* those that are due, one after the other */
    double kept_s, longest_s; /* those that time is kept for, and the longest of them */
};

static void keep_time(const struct state *x, struct owed *owed, const struct slice_history *history)
{
    if (!slice_closing_is_kept_time_for(history, x->budget_s)) return;
    owed->kept_s += history->closing_s;
    owed->longest_s = fmax(owed->longest_s, history->closing_s);
}

static struct owed owed_of(const struct state *x)
{
    struct owed owed = {0};
    for (size_t i = 0; i < x->s->options->problem_count; i++) {
        const struct lot *lot = &x->lot[i];
        if (lot->turn == ENDED || lot->closing || !lot->history.hasty) continue;
        owed.all_s += lot->history.closing_s;
        keep_time(x, &owed, &lot->history);
    }
    return owed;
}

/* What is left for searching this problem. A short slice may make a winner's race a hasty one. */
static double search_left_s(const struct state *x, const struct slice_history *history, struct owed owed)
{
    if (!history->hasty) keep_time(x, &owed, history);
    return session_left_s(x) -
           slices_reserve_s(owed.kept_s, owed.longest_s, x->budget_s, session_slots_alive(x));
}

double session_promise(const struct state *x, size_t at)
{
    const struct slice_history *history = &x->lot[at].history;
    return slice_promise(history, x->even_s, search_left_s(x, history, owed_of(x)));
}

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
    if (winner->config.template && workspace_of(&winner->config, &winner->base.problem) > w->workspace_bytes)
        return true;
    w->result->winner = *winner;
    w->result->how = JOB_KNOWN;
    return false;
}

/* A winner that is stored, up to date, and takes no more than is allowed. */
static enum status look_up(struct state *x, const struct gpu_slot *slot, size_t at)
{
    struct job_result *result = &x->s->results[at];
    struct wanted wanted = {result, x->s->options->workspace_bytes, false};
    struct db_filter filter = {.gpu = slot->context.gpu.name, .problem = &x->s->options->problems[at]};
    enum status st = preferred_pinned(x->s->db, &slot->context.gpu, filter.problem, &wanted.pinned);
    if (!st) st = db_winners(x->s->db, &filter, &slot->context, take_winner, &wanted);
    if (st == E_ABSENT) st = OK;
    if (st || result->how != JOB_KNOWN) return st;
    if (result->winner.base.cold != slot->context.cold || x->s->options->again) {
        result->how = JOB_RUNNING;
        return OK;
    }
    snprintf(result->why, sizeof result->why, "tuned on %s", result->winner.base.when);
    const size_t tried = (size_t)result->winner.trials;
    const int64_t limit = x->s->options->max_trials;
    const bool all = (int64_t)tried >= result->winner.legal_count || (limit > 0 && (int64_t)tried >= limit);
    bool continues = false;
    if (x->slices && !all)
        st = db_decision_continues(x->s->db, result->winner.decision_id, x->s->options->command, &continues);
    if (st) return st;
    if (continues) { /* its first slice was that run's */
        struct slice_history *history = &x->lot[at].history;
        const double time_us = result->winner.base.time_us;
        slice_ended(history, SLICE_FIRST_S, time_us, tried, (double)NAN);
        history->hasty = true;
        history->closing_s = budget_closing_s(time_us, budget_check_s(time_us));
        return OK;
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(&x->s->options->problems[at], text);
    report_say(x->env.report, "%s: skipped, its winner of %s is up to date (%d trials; --again searches on)",
               text, result->winner.base.when, result->winner.trials);
    session_settle(x, at);
    return OK;
}

static void say_opened(struct state *x, const struct gpu_slot *slot, const struct job *job)
{
    const struct job_result *r = job_result(job);
    char text[PROBLEM_TEXT_MAX], known[128] = "", hints[96] = "";
    problem_format(job_problem(job), text);
    size_t skipped = r->recalled.usable + r->recalled.failed;
    if (skipped)
        snprintf(known, sizeof known, "%zu known from earlier runs are skipped (%zu of them failed)", skipped,
                 r->recalled.failed);
    if (r->hints)
        snprintf(hints, sizeof hints, "%zu like the winners of similar problems go first", r->hints);
    if (r->legal == 0)
        report_say(x->env.report, "%s on %s: only algorithms of cublasLt to choose from", text,
                   slot->context.gpu.name);
    else
        report_say(x->env.report, "%s on %s: %zu configurations to choose from", text, slot->context.gpu.name,
                   r->legal);
    if (*known) report_say(x->env.report, "    %s", known);
    if (*hints) report_say(x->env.report, "    %s", hints);
    report_advice(x->env.report, job_problem(job));
}

static void say_continued(struct state *x, const struct job *job)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(job_problem(job), text);
    report_say(x->env.report, "%s: the search goes on (%zu trials so far)", text, job_result(job)->tried);
}

static void say_closing(struct state *x, const struct job *job)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(job_problem(job), text);
    report_say(x->env.report, "%s: its fastest race once more (%zu trials)", text, job_result(job)->tried);
}

/* Of those that nobody works on, the one whose next slice promises most; of equals the first. */
bool session_choose(const struct state *x, size_t *at)
{
    const struct owed owed = owed_of(x);
    double most = -1;
    for (size_t i = 0; i < x->s->options->problem_count; i++) {
        const struct lot *lot = &x->lot[i];
        const double left_s = search_left_s(x, &lot->history, owed);
        if (lot->turn != WAITING || lot->searched) continue;
        if (lot->history.spent_s > 0 && !slice_is_worth_beginning(x->even_s, left_s)) continue;
        const double promise = slice_promise(&lot->history, x->even_s, left_s);
        if (promise <= most) continue;
        most = promise;
        *at = i;
    }
    return most >= 0;
}

/* First whoever is worth most: there may not be time for all. */
bool session_choose_closing(const struct state *x, size_t *at)
{
    const double left_s = session_left_s(x);
    double most = -1;
    for (size_t i = 0; i < x->s->options->problem_count; i++) {
        const struct lot *lot = &x->lot[i];
        if (lot->turn != WAITING || !lot->history.hasty || lot->history.worth <= most) continue;
        if (!slice_closing_fits(&lot->history, left_s)) continue;
        most = lot->history.worth;
        *at = i;
    }
    return most >= 0;
}

/* A slice or, where none is due, a closing race. */
static bool choose(const struct state *x, size_t *at, bool *closing)
{
    *closing = false;
    if (session_choose(x, at)) return true;
    return *closing = session_choose_closing(x, at);
}

/* Nothing is legal: the problem's fault, not ours. */
static void give_up(struct state *x, size_t at, const struct gpu *gpu)
{
    struct job_result *result = &x->s->results[at];
    result->how = JOB_FRUITLESS;
    result->winner.gpu = *gpu;
    snprintf(result->why, sizeof result->why, "%s", status_text());
    session_settle(x, at);
}

/* Problems no longer begin: the budget was too short for their number. One at least begins. */
static bool is_too_late(const struct state *x)
{
    bool any = false;
    for (size_t i = 0; i < x->s->options->problem_count && !any; i++) any = x->lot[i].begun;
    return any && session_left_s(x) < (x->env.strict ? 0 : -budget_grace_s(x->budget_s));
}

static void leave_out(struct state *x, size_t at)
{
    struct job_result *result = &x->s->results[at];
    result->how = JOB_FRUITLESS;
    snprintf(result->why, sizeof result->why, "not begun: the budget was over");
    session_settle(x, at);
    x->left_out++;
}

/* The job of the next problem for a GPU; *job NULL: there is none left. */
static enum status deal(struct state *x, struct gpu_slot *slot, struct job **job, size_t *at)
{
    bool closing;
    *job = NULL;
    while (choose(x, at, &closing)) {
        const bool begun = x->lot[*at].history.spent_s > 0;
        enum status st = begun ? OK : look_up(x, slot, *at);
        if (st) return st;
        if (x->lot[*at].turn == ENDED) continue;
        if (!begun && x->lot[*at].history.spent_s <= 0 && is_too_late(x)) {
            leave_out(x, *at);
            continue;
        }
        if (!begun && x->lot[*at].history.spent_s > 0) continue; /* others promise more, perhaps */
        *job = x->lot[*at].resting;
        x->lot[*at].resting = NULL;
        if (*job) job_resume(*job, &slot->context, slot->run_id);
        else st = job_open(&x->env, &slot->context, slot->run_id, &x->s->options->problems[*at], job);
        if (st) return st;
        job_defend(*job, &x->s->results[*at].winner, x->lot[*at].raced);
        if (closing) job_only_race(*job);
        x->lot[*at].turn = TAKEN;
        x->lot[*at].closing = closing;
        return OK;
    }
    return OK;
}

/* A problem of which nothing is legal ends, and *job is NULL. */
static enum status explore(struct state *x, const struct gpu_slot *slot, struct job **job, size_t at)
{
    enum status st = job_explore(*job);
    if (!st) return OK;
    if (st == E_ABSENT) give_up(x, at, &slot->context.gpu);
    else x->lot[at].turn = WAITING;
    x->lot[at].closing = false;
    job_close(*job);
    *job = NULL;
    return st == E_ABSENT ? OK : st;
}

enum status session_deal_ahead(struct state *x, struct gpu_slot *slot)
{
    bool dealt = true;
    enum status st = OK;
    while (!st && dealt && !slot->next) {
        st = deal(x, slot, &slot->next, &slot->next_at);
        dealt = slot->next;
        if (!st && dealt) st = explore(x, slot, &slot->next, slot->next_at);
    }
    return st;
}

/* Nobody works on it yet. */
bool session_is_ahead(const struct state *x, size_t at)
{
    bool ahead = x->lot[at].turn == WAITING && !x->lot[at].searched;
    for (int slot = 0; slot < x->slots; slot++) ahead |= x->slot[slot].next && x->slot[slot].next_at == at;
    return ahead;
}

static double weight_of(const struct state *x, const struct gpu *gpu, size_t at)
{
    const struct tune_options *o = x->s->options;
    double call_us =
        model_roofline_us(&o->problems[at], gpu_peak_tflops(gpu, o->problems[at].type), gpu->memory_gb_per_s);
    return budget_weight(o->weights ? o->weights[at] : 1, call_us);
}

/* What the next job may take of the time left: its part of what is not finished and not being worked on. */
static double share_s(const struct state *x, const struct gpu_slot *slot)
{
    const struct gpu *gpu = &slot->context.gpu;
    double weight = weight_of(x, gpu, slot->now_at), weights = weight;
    int unfinished = 1;
    for (size_t i = 0; i < x->s->options->problem_count; i++) {
        if (!session_is_ahead(x, i)) continue;
        unfinished++;
        weights += weight_of(x, gpu, i);
    }
    return budget_weighted_share(session_left_s(x), weight, weights, unfinished, session_slots_alive(x));
}

void session_drop_next(struct state *x, struct gpu_slot *slot)
{
    if (!slot->next) return;
    x->lot[slot->next_at].turn = WAITING;
    x->lot[slot->next_at].closing = false;
    /* Without slices the next GPU may be of another model. */
    if (x->slices) session_let_rest(x, slot->next_at, slot->next);
    else job_close(slot->next);
    slot->next = NULL;
}

/* There is still time for what was opened ahead. */
static bool is_due(const struct state *x, size_t at)
{
    const struct lot *lot = &x->lot[at];
    if (lot->history.spent_s <= 0) return !is_too_late(x);
    if (lot->closing) return slice_closing_fits(&lot->history, session_left_s(x));
    return slice_is_worth_beginning(x->even_s, search_left_s(x, &lot->history, owed_of(x)));
}

static double length_s(const struct state *x, const struct gpu_slot *slot)
{
    const struct lot *lot = &x->lot[slot->now_at];
    if (!x->slices) return share_s(x, slot);
    const struct owed owed = owed_of(x);
    if (lot->closing)
        return slice_closing_length_s(&lot->history, owed.all_s + lot->history.closing_s, session_left_s(x),
                                      session_slots_alive(x));
    return slice_length_s(&lot->history, x->even_s, search_left_s(x, &lot->history, owed));
}

/* A GPU without work takes a problem that was opened ahead for one that has some. */
static enum status take_over(struct state *x, struct gpu_slot *slot)
{
    for (int i = 0; i < x->slots && !slot->now; i++) {
        if (!x->slot[i].now || !x->slot[i].next) continue;
        session_drop_next(x, &x->slot[i]);
        enum status st = deal(x, slot, &slot->now, &slot->now_at);
        if (st) return st;
    }
    return OK;
}

/* What is opened ahead may be dropped: it is said now. */
static void say_begun(struct state *x, const struct gpu_slot *slot)
{
    const struct lot *lot = &x->lot[slot->now_at];
    if (lot->closing) say_closing(x, slot->now);
    else if (lot->history.spent_s > 0) say_continued(x, slot->now);
    else say_opened(x, slot, slot->now);
}

/* Begin the next job of a GPU that has none. */
enum status session_begin(struct state *x, struct gpu_slot *slot)
{
    if (slot->next && !is_due(x, slot->next_at)) session_drop_next(x, slot);
    if (slot->next) {
        slot->now = slot->next;
        slot->now_at = slot->next_at;
        slot->next = NULL;
    } else {
        enum status st = deal(x, slot, &slot->now, &slot->now_at);
        if (!st && !slot->now) st = take_over(x, slot);
        if (st || !slot->now) return st;
    }
    slot->fresh = true;
    return job_begin(slot->now, slot->worker, length_s(x, slot));
}

enum status session_start_search(struct state *x, struct gpu_slot *slot)
{
    if (!slot->now || !slot->fresh) return OK;
    slot->fresh = false;
    enum status st = explore(x, slot, &slot->now, slot->now_at);
    if (st || !slot->now) return st;
    struct lot *lot = &x->lot[slot->now_at];
    const bool first = !lot->begun;
    lot->begun = true;
    say_begun(x, slot);
    /* Opening took time that the slice was to have. */
    return job_start_search(slot->now, x->slices ? length_s(x, slot) : 0, first);
}

#include "session_parts.h"

#include "budget.h"
#include "clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_S 0.2

/* ---- the GPUs ---- */

static enum status open_slot(struct state *x, int i)
{
    struct session *s = x->s;
    struct gpu_slot *slot = &x->slot[i];
    const struct worker_info *info = children_worker(s->children, s->workers[i]);
    slot->worker = s->workers[i];
    struct db_context *c = &slot->context;
    c->gpu = info->gpu;
    c->cold = s->options->cold;
    c->power_limit_w = info->power_limit_w;
    snprintf(c->gpu_uuid, sizeof c->gpu_uuid, "%s", info->uuid);
    snprintf(c->driver, sizeof c->driver, "%s", info->driver);
    snprintf(c->cublas, sizeof c->cublas, "%s", info->cublas);
    snprintf(c->nvrtc, sizeof c->nvrtc, "%s", children_nvrtc(s->children));
    return db_run_start(s->db, c, s->options->command, s->options->seed, &slot->run_id);
}

/* Times of one model say nothing of a slice on another. */
static bool slots_alike(const struct state *x)
{
    const struct gpu *first = &x->slot[0].context.gpu;
    for (int i = 1; i < x->slots; i++) {
        const struct gpu *gpu = &x->slot[i].context.gpu;
        if (strcmp(gpu->name, first->name) != 0 || gpu->sm_count != first->sm_count) return false;
    }
    return true;
}

/* ---- one turn of the loop ---- */

static enum status feed_compilers(struct state *x)
{
    for (int ahead = 0; ahead < 2; ahead++)
        for (int i = 0; i < x->slots; i++) {
            struct job *job = ahead ? x->slot[i].next : x->slot[i].now;
            enum status st = job ? job_fill(job) : OK;
            struct built *built = NULL;
            while (!st && job && children_idle_compilers(x->s->children) > 0 && (built = job_wants(job))) {
                st = children_compile(x->s->children, &built->kernel, built);
                if (st == E_BUSY) return OK;
                builds_ask(built);
            }
            if (st) return st;
        }
    return OK;
}

/* Whoever is being searched promises less after this slice; by how much is not known yet. */
static bool another_is_next(const struct state *x, size_t now)
{
    size_t at = 0;
    if (!session_choose(x, &at)) return session_choose_closing(x, &at);
    return session_promise(x, at) >= 0.5 * session_promise(x, now);
}

/* Compilers with nothing to do, or none but what a search that has ended left behind, start on the problem
 * that comes next: not too early, for opening it takes a moment, and winners found meanwhile are hints. */
static enum status look_ahead(struct state *x)
{
    for (int i = 0; i < x->slots && !x->stopping; i++) {
        struct gpu_slot *slot = &x->slot[i];
        if (slot->gone || !slot->now || slot->next || !job_half_done(slot->now)) continue;
        if (x->slices && !another_is_next(x, slot->now_at)) continue;
        if (!job_has_searched(slot->now) && !children_compilers_rest(x->s->children)) continue;
        enum status st = session_deal_ahead(x, slot);
        if (st) return st;
    }
    return OK;
}

/* All GPUs are at work before the first search is opened. */
static enum status begin_lanes(struct state *x, bool *changed)
{
    enum status st = OK;
    for (int i = 0; i < x->slots && !st; i++) {
        struct gpu_slot *slot = &x->slot[i];
        if (!slot->now && !slot->gone && !x->stopping) st = session_begin(x, slot);
    }
    for (int i = 0; i < x->slots && !st; i++) {
        const bool begun = x->slot[i].now;
        st = session_start_search(x, &x->slot[i]);
        *changed |= begun && !x->slot[i].now;
    }
    return st;
}

static enum status step_lanes(struct state *x, bool *working, bool *changed)
{
    *working = *changed = false;
    x->env.waiting = 0;
    for (size_t i = 0; i < x->s->options->problem_count; i++) x->env.waiting += session_is_ahead(x, i);
    enum status st = begin_lanes(x, changed);
    if (st) return st;
    for (int i = 0; i < x->slots; i++) {
        struct gpu_slot *slot = &x->slot[i];
        if (slot->now) st = job_step(slot->now);
        if (st) return st;
        if (!slot->now) continue;
        *working = true;
        if (job_result(slot->now)->how == JOB_RUNNING) continue;
        session_close_ended(x, slot);
        *changed = true;
    }
    return OK;
}

/* Problems that have a winner, or never will. */
static int answered(const struct state *x)
{
    int count = x->ended;
    for (size_t i = 0; i < x->s->options->problem_count; i++)
        count += x->lot[i].turn != ENDED && x->lot[i].history.spent_s > 0;
    return count;
}

static void show_progress(struct state *x)
{
    struct progress progress[CHILDREN_WORKERS_MAX];
    int count = 0;
    for (int i = 0; i < x->slots; i++)
        if (x->slot[i].now) job_progress(x->slot[i].now, &progress[count++]);
    if (count) report_progress(x->env.report, progress, count, answered(x), session_left_s(x), false);
}

static enum status interrupt(struct state *x)
{
    if (x->stopping) return fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    x->stopping = true;
    report_say(x->env.report, "stopping after the trial under way (once more: at once)");
    for (int i = 0; i < x->slots; i++) {
        session_drop_next(x, &x->slot[i]);
        if (x->slot[i].now) job_stop(x->slot[i].now);
    }
    return OK;
}

static enum status handle(struct state *x, struct children_event *event)
{
    if (event->kind == CHILDREN_INTERRUPT) return interrupt(x);
    if (event->kind == CHILDREN_BUILT) {
        x->s->kernels += event->build.built && !event->build.cached;
        return builds_tell(x->env.builds, event->tag, &event->build);
    }
    if (event->worker < 0) return OK;
    struct gpu_slot *slot = NULL;
    for (int i = 0; i < x->slots; i++)
        if (x->slot[i].worker == event->worker) slot = &x->slot[i];
    if (slot && event->kind == CHILDREN_GONE) {
        slot->gone = true;
        snprintf(x->gone_reason, sizeof x->gone_reason, "%s", event->reason);
        report_say(x->env.report, "GPU %d is given up: %s",
                   children_worker(x->s->children, slot->worker)->device, event->reason);
        session_drop_next(x, slot);
    }
    if (slot && slot->now) return job_event(slot->now, event);
    json_decref(event->answer);
    return OK;
}

static bool can_step(const struct state *x)
{
    for (int i = 0; i < x->slots; i++)
        if (x->slot[i].now && job_can_step(x->slot[i].now)) return true;
    return false;
}

static enum status loop(struct state *x)
{
    for (;;) {
        bool working, changed;
        enum status st = step_lanes(x, &working, &changed);
        if (!st) st = feed_compilers(x);
        if (!st) st = look_ahead(x);
        if (st) return st;
        if (changed) continue;
        if (!working) return OK;
        show_progress(x);
        struct children_event event;
        /* A kernel that was refused is settled in the next turn, so every event gets one. */
        st = children_wait(x->s->children, can_step(x) ? 0 : TICK_S, &event);
        if (!st) st = handle(x, &event);
        if (st) return st;
    }
}

/* ---- the whole ---- */

static enum status open_state(struct state *x)
{
    struct session *s = x->s;
    size_t problems = s->options->problem_count;
    x->slot = calloc((size_t)s->worker_count, sizeof *x->slot);
    x->lot = calloc(problems, sizeof *x->lot);
    if (!x->slot || !x->lot) return fail(E_MEMORY, "out of memory for the run");
    x->env = (struct job_env){.children = s->children, .db = s->db, .space = s->space, .options = s->options};
    int64_t recovered = 0;
    enum status st = builds_open(&x->env.builds);
    if (!st) st = report_open((int)problems, s->worker_count, &x->env.report);
    if (!st) st = db_recover(s->db, &recovered);
    if (!st && recovered)
        report_say(x->env.report, "%lld attempts of an earlier run never ended; they count as crashes",
                   (long long)recovered);
    for (int i = 0; i < s->worker_count && !st; i++) {
        x->slots = i + 1;
        st = open_slot(x, i);
    }
    return st;
}

/* Those under way when the run had to end keep what they found. */
static void keep_unfinished(struct state *x, enum status st)
{
    for (int i = 0; i < x->slots; i++) {
        struct gpu_slot *slot = &x->slot[i];
        session_drop_next(x, slot);
        if (!slot->now) continue;
        struct job_result *result = &x->s->results[slot->now_at];
        x->s->trials += job_result(slot->now)->trials;
        if (x->lot[slot->now_at].history.spent_s <= 0) {
            *result = *job_result(slot->now);
            job_best(slot->now, &result->winner);
            result->how = st == E_INTERRUPTED ? JOB_INTERRUPTED : JOB_FRUITLESS;
            if (!*result->why) snprintf(result->why, sizeof result->why, "the run ended");
        }
        job_abandon(slot->now);
        job_close(slot->now);
    }
}

/* Problems wait, and no GPU is left to work on them. */
static bool is_deserted(const struct state *x)
{
    bool waiting = false;
    for (size_t i = 0; i < x->s->options->problem_count; i++) waiting |= x->lot[i].turn == WAITING;
    return waiting && session_slots_alive(x) == 0;
}

/* The time is over. */
static void settle_begun(struct state *x)
{
    for (size_t i = 0; i < x->s->options->problem_count; i++)
        if (x->lot[i].turn == WAITING && x->lot[i].history.spent_s > 0) session_settle(x, i);
}

enum status session_run(struct session *s)
{
    struct state x = {.s = s, .began_s = s->began_s};
    const struct tune_options *o = s->options;
    for (size_t i = 0; i < o->problem_count; i++) s->results[i].winner.base.problem = o->problems[i];
    enum status st = open_state(&x);
    for (size_t i = 0; !st && x.slots == 1 && i < o->problem_count; i++)
        s->results[i].winner.gpu = x.slot[0].context.gpu; /* its row may be that of a problem never begun */
    x.budget_s = o->budget_s > 0
                     ? o->budget_s
                     : BUDGET_DEFAULT_S * ceil((double)o->problem_count / fmax(1, s->worker_count));
    x.env.end_s = x.began_s + x.budget_s;
    x.even_s = budget_share(x.budget_s, (int)o->problem_count, s->worker_count);
    x.slices = !st && slots_alike(&x) && slices_fit(x.even_s, o->problem_count, s->worker_count);
    x.env.even_s = x.slices ? x.even_s : 0;
    for (size_t i = 0; !st && i < o->problem_count; i++)
        x.lot[i].history.worth = o->weights ? o->weights[i] : 1;
    if (!st) st = loop(&x);
    if (!st && x.stopping) st = fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    if (!st && is_deserted(&x)) st = fail(E_GPU, "no GPU is left to work on: %s", x.gone_reason);
    if (!st) settle_begun(&x);
    if (x.left_out)
        report_say(x.env.report,
                   "the budget of %.3g s was too short for %zu problems: %d were not begun; the same command "
                   "goes on with them",
                   x.budget_s, o->problem_count, x.left_out);
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());

    if (x.slot) keep_unfinished(&x, st);
    for (size_t i = 0; x.lot && i < o->problem_count; i++) job_close(x.lot[i].resting);
    for (int i = 0; x.slot && i < x.slots; i++)
        if (x.slot[i].run_id)
            db_run_end(s->db, x.slot[i].run_id,
                       st == OK              ? "finished"
                       : st == E_INTERRUPTED ? "interrupted"
                                             : "error");
    s->seconds = now_s() - x.began_s;
    if (x.env.report) s->busy_share = report_busy_share(x.env.report);
    report_close(x.env.report);
    builds_close(x.env.builds);
    free(x.slot);
    free(x.lot);
    return st ? fail(st, "%s", sentence) : OK;
}

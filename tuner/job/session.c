#include "session.h"

#include "budget.h"
#include "clock.h"
#include "model.h"
#include "preferred.h"
#include "slices.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_S         0.2
#define TIE            0.005 /* as in a race */
#define FRUITLESS_MOST 2     /* later slices in a row */

/* A GPU and what it is doing. */
struct gpu_slot {
    int worker;
    bool gone;
    struct db_context context;
    int64_t run_id;
    struct job *now, *next; /* next: not begun, its first kernels are compiled while `now` is measured */
    size_t now_at, next_at; /* their problems */
};

/* A problem that has a winner and waits for a further slice is WAITING, too. */
enum turn { WAITING, TAKEN, ENDED };

struct lot {
    enum turn turn;
    struct slice_history history;
    bool begun;    /* in this run */
    int fruitless; /* later slices in a row without a winner */
};

struct state {
    struct session *s;
    struct job_env env;
    struct gpu_slot *slot;
    int slots;
    struct lot *lot; /* of each problem */
    int ended;
    double began_s, budget_s;
    double even_s; /* what an even division of the budget gives each problem */
    bool slices;
    bool stopping;
    char gone_reason[OUTCOME_DETAIL_MAX];
};

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

static int slots_alive(const struct state *x)
{
    int alive = 0;
    for (int i = 0; i < x->slots; i++) alive += !x->slot[i].gone;
    return alive;
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

/* ---- dealing problems ---- */

static double left_s(const struct state *x)
{
    return x->budget_s - (now_s() - x->began_s);
}

static void settle(struct state *x, size_t at)
{
    x->lot[at].turn = ENDED;
    x->ended++;
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
        slice_ended(&x->lot[at].history, SLICE_FIRST_S, result->winner.base.time_us, tried, (double)NAN);
        return OK;
    }
    char text[PROBLEM_TEXT_MAX];
    problem_format(&x->s->options->problems[at], text);
    report_say(x->env.report, "%s: skipped, its winner of %s is up to date (%d trials; --again searches on)",
               text, result->winner.base.when, result->winner.trials);
    settle(x, at);
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
    report_say(x->env.report, "%s on %s: %zu configurations to choose from", text, slot->context.gpu.name,
               r->legal);
    if (*known) report_say(x->env.report, "    %s", known);
    if (*hints) report_say(x->env.report, "    %s", hints);
}

static void say_continued(struct state *x, const struct job *job)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(job_problem(job), text);
    report_say(x->env.report, "%s: the search goes on (%zu trials so far)", text, job_result(job)->tried);
}

/* Of those that nobody works on, the one whose next slice promises most; of equals the first. */
static bool choose(const struct state *x, size_t *at)
{
    const bool again = slice_is_worth_beginning(x->even_s, left_s(x));
    double most = -1;
    for (size_t i = 0; i < x->s->options->problem_count; i++) {
        const struct lot *lot = &x->lot[i];
        if (lot->turn != WAITING || (lot->history.spent_s > 0 && !again)) continue;
        const double promise = slice_promise(&lot->history, x->even_s, left_s(x));
        if (promise <= most) continue;
        most = promise;
        *at = i;
    }
    return most >= 0;
}

/* Nothing is legal: the problem's fault, not ours. */
static void give_up(struct state *x, size_t at, const struct gpu *gpu)
{
    struct job_result *result = &x->s->results[at];
    result->how = JOB_FRUITLESS;
    result->winner.gpu = *gpu;
    snprintf(result->why, sizeof result->why, "%s", status_text());
    settle(x, at);
}

/* The next problem for a GPU, or no job if there is none left. */
static enum status deal(struct state *x, struct gpu_slot *slot, struct job **job, size_t *at)
{
    *job = NULL;
    while (choose(x, at)) {
        const bool begun = x->lot[*at].history.spent_s > 0;
        enum status st = begun ? OK : look_up(x, slot, *at);
        if (st) return st;
        if (x->lot[*at].turn == ENDED) continue;
        if (!begun && x->lot[*at].history.spent_s > 0) continue; /* others promise more, perhaps */
        st = job_open(&x->env, &slot->context, slot->run_id, &x->s->options->problems[*at], job);
        if (st == E_ABSENT) {
            give_up(x, *at, &slot->context.gpu);
            continue;
        }
        if (st) return st;
        job_defend(*job, &x->s->results[*at].winner.config);
        if (begun) say_continued(x, *job);
        else say_opened(x, slot, *job);
        x->lot[*at].turn = TAKEN;
        return OK;
    }
    return OK;
}

/* Nobody works on it yet. */
static bool is_ahead(const struct state *x, size_t at)
{
    bool ahead = x->lot[at].turn == WAITING;
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
        if (!is_ahead(x, i)) continue;
        unfinished++;
        weights += weight_of(x, gpu, i);
    }
    return budget_weighted_share(left_s(x), weight, weights, unfinished, slots_alive(x));
}

static void drop_next(struct state *x, struct gpu_slot *slot)
{
    if (!slot->next) return;
    x->lot[slot->next_at].turn = WAITING;
    job_close(slot->next);
    slot->next = NULL;
}

/* Begin the next job of a GPU that has none. */
static enum status begin(struct state *x, struct gpu_slot *slot)
{
    if (slot->next && x->lot[slot->next_at].history.spent_s > 0 &&
        !slice_is_worth_beginning(x->even_s, left_s(x)))
        drop_next(x, slot);
    if (slot->next) {
        slot->now = slot->next;
        slot->now_at = slot->next_at;
        slot->next = NULL;
    } else {
        enum status st = deal(x, slot, &slot->now, &slot->now_at);
        if (st || !slot->now) return st;
    }
    struct lot *lot = &x->lot[slot->now_at];
    const double seconds = x->slices ? slice_length_s(&lot->history, x->even_s, left_s(x)) : share_s(x, slot);
    const bool first = !lot->begun;
    lot->begun = true;
    return job_begin(slot->now, slot->worker, seconds, first);
}

/* One sentence on how a problem ended. */
static void say_ended(struct state *x, const struct job_result *r)
{
    const struct db_winner *w = &r->winner;
    char text[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX], time[32], took[32];
    problem_format(&w->base.problem, text);
    if (r->how == JOB_FRUITLESS || r->how == JOB_ORPHANED)
        report_say(x->env.report, "%s: no winner: %s", text, r->why);
    if (r->how != JOB_TUNED) return;
    format_time_us(w->base.time_us, time);
    format_duration(r->seconds, took);
    report_say(x->env.report, "%s: tuned in %s: %s, %.2f TFLOPS%s", text, took, time,
               problem_flop(&w->base.problem) / w->base.time_us * 1e-6, w->tied ? ", a tie" : "");
    if (w->base.ratio > 0)
        report_say(x->env.report, "    %.3f times as fast as cuBLAS (%.3f..%.3f)%s", w->base.ratio,
                   w->base.ratio_low, w->base.ratio_high,
                   w->base.ratio_high < 1 && w->base.ratio < 1 / (1 + TIE) ? ": cuBLAS is faster here" : "");
    if (w->config.template) config_summary(&w->config, config);
    report_say(x->env.report, "    %s", w->config.template ? config : w->config_text);
}

/* A later slice without a winner takes none away, and may be followed by a better one. */
static void take_fruitless(struct state *x, size_t at, const struct job_result *r)
{
    struct job_result *all = &x->s->results[at];
    struct lot *lot = &x->lot[at];
    char text[PROBLEM_TEXT_MAX];
    problem_format(&x->s->options->problems[at], text);
    report_say(x->env.report, "%s: nothing new was found, its winner stays: %s", text, r->why);
    all->trials += r->trials;
    all->seconds += r->seconds;
    lot->history.spent_s += r->seconds;
    if (x->slices && ++lot->fruitless < FRUITLESS_MOST && !r->exhausted && !x->stopping) lot->turn = WAITING;
    else settle(x, at);
}

/* A slice adds to those before it, and takes no winner away. It goes on while the search could and there is
 * time. */
static void take_result(struct state *x, size_t at, const struct job_result *r)
{
    struct job_result *all = &x->s->results[at];
    struct slice_history *history = &x->lot[at].history;
    const bool again = history->spent_s > 0, won = r->how == JOB_TUNED;
    const bool faster = !again || r->winner.base.time_us < all->winner.base.time_us;
    const struct job_result before = *all;
    if (won || !again) *all = *r;
    if (again) {
        all->trials = before.trials + r->trials;
        all->seconds = before.seconds + r->seconds;
    }
    if (faster || !won) say_ended(x, won || !again ? all : r);
    if (won) {
        slice_ended(history, r->seconds, r->winner.base.time_us, r->tried, r->gain);
        x->lot[at].fruitless = 0;
    }
    if (x->slices && won && !r->exhausted && !x->stopping) x->lot[at].turn = WAITING;
    else settle(x, at);
}

static void close_ended(struct state *x, struct gpu_slot *slot)
{
    const struct job_result *r = job_result(slot->now);
    x->s->trials += r->trials;
    const bool begun = x->lot[slot->now_at].history.spent_s > 0,
               taken_over = slots_alive(x) > 0 && !x->stopping;
    if (r->how == JOB_ORPHANED && (begun || taken_over)) {
        x->lot[slot->now_at].turn = WAITING; /* a problem that has a winner keeps it */
    } else if (r->how == JOB_FRUITLESS && begun) {
        take_fruitless(x, slot->now_at, r);
    } else {
        take_result(x, slot->now_at, r);
    }
    job_close(slot->now);
    slot->now = NULL;
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
                built->state = BUILD_ASKED;
            }
            if (st) return st;
        }
    return OK;
}

/* Whoever is being searched promises less after this slice; by how much is not known yet. */
static bool another_is_next(const struct state *x, size_t now)
{
    size_t at = 0;
    return choose(x, &at) && slice_promise(&x->lot[at].history, x->even_s, left_s(x)) >=
                                 0.5 * slice_promise(&x->lot[now].history, x->even_s, left_s(x));
}

/* Compilers with nothing to do start on the problem that comes next: not too early, for opening it takes a
 * moment, and winners found meanwhile are hints. */
static enum status look_ahead(struct state *x)
{
    for (int i = 0; i < x->slots && !x->stopping; i++) {
        struct gpu_slot *slot = &x->slot[i];
        if (slot->gone || !slot->now || slot->next || !job_half_done(slot->now)) continue;
        if (x->slices && !another_is_next(x, slot->now_at)) continue;
        if (children_idle_compilers(x->s->children) < children_compilers(x->s->children)) return OK;
        enum status st = deal(x, slot, &slot->next, &slot->next_at);
        if (st) return st;
    }
    return OK;
}

static enum status step_lanes(struct state *x, bool *working, bool *changed)
{
    *working = *changed = false;
    x->env.waiting = 0;
    for (size_t i = 0; i < x->s->options->problem_count; i++) x->env.waiting += is_ahead(x, i);
    for (int i = 0; i < x->slots; i++) {
        struct gpu_slot *slot = &x->slot[i];
        enum status st = OK;
        if (!slot->now && !slot->gone && !x->stopping) st = begin(x, slot);
        if (!st && slot->now) st = job_step(slot->now);
        if (st) return st;
        if (!slot->now) continue;
        *working = true;
        if (job_result(slot->now)->how == JOB_RUNNING) continue;
        close_ended(x, slot);
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
    if (count) report_progress(x->env.report, progress, count, answered(x), left_s(x), false);
}

static enum status interrupt(struct state *x)
{
    if (x->stopping) return fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    x->stopping = true;
    report_say(x->env.report, "stopping after the trial under way (once more: at once)");
    for (int i = 0; i < x->slots; i++) {
        drop_next(x, &x->slot[i]);
        if (x->slot[i].now) job_stop(x->slot[i].now);
    }
    return OK;
}

static enum status handle(struct state *x, struct children_event *event)
{
    if (event->kind == CHILDREN_INTERRUPT) return interrupt(x);
    if (event->kind == CHILDREN_BUILT) {
        x->s->kernels += event->build.built && !event->build.cached;
        return builds_tell(event->tag, &event->build);
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
        drop_next(x, slot);
    }
    if (slot && slot->now) return job_event(slot->now, event);
    json_decref(event->answer);
    return OK;
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
        st = children_wait(x->s->children, TICK_S, &event);
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
        drop_next(x, slot);
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
    return waiting && slots_alive(x) == 0;
}

/* The time is over. */
static void settle_begun(struct state *x)
{
    for (size_t i = 0; i < x->s->options->problem_count; i++)
        if (x->lot[i].turn == WAITING && x->lot[i].history.spent_s > 0) settle(x, i);
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
    x.even_s = budget_share(x.budget_s, (int)o->problem_count, s->worker_count);
    x.slices = !st && slots_alike(&x) && slices_fit(x.even_s, o->problem_count, s->worker_count);
    x.env.even_s = x.slices ? x.even_s : 0;
    for (size_t i = 0; !st && i < o->problem_count; i++)
        x.lot[i].history.worth = o->weights ? o->weights[i] : 1;
    if (!st) st = loop(&x);
    if (!st && x.stopping) st = fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    if (!st && is_deserted(&x)) st = fail(E_GPU, "no GPU is left to work on: %s", x.gone_reason);
    if (!st) settle_begun(&x);
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());

    if (x.slot) keep_unfinished(&x, st);
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

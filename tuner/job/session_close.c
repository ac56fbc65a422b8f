/* session_close.c — what a job leaves when it ends: its problem's result, and whether more of it follows. */
#include "answer.h"
#include "session_parts.h"

#include <stdio.h>
#include <string.h>

#define FRUITLESS_MOST 2 /* later slices in a row */

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
    report_say(x->env.report, "%s: tuned in %s: %s%s, %.2f TFLOPS%s", text, took,
               answer_is_cublas(w) ? "cuBLAS won, the best kernel takes " : "", time,
               problem_flop(&w->base.problem) / w->base.time_us * 1e-6, w->tied ? ", a tie" : "");
    if (w->base.ratio > 0)
        report_say(x->env.report, "    %.3f times as fast as cuBLAS (%.3f..%.3f)%s", w->base.ratio,
                   w->base.ratio_low, w->base.ratio_high,
                   !answer_is_rival(&w->base) ? ""
                   : w->pin_holds             ? ": cuBLAS is faster, but this is pinned"
                                              : ": cuBLAS is faster, and stays in use");
    if (w->config.template) config_summary(&w->config, config);
    report_say(x->env.report, "    %s", w->config.template ? config : w->config_text);
}

/* More of it follows while the search could go on, or its last race was hasty. */
static void await_more(struct state *x, size_t at, const struct job_result *r)
{
    struct lot *lot = &x->lot[at];
    lot->searched = r->exhausted;
    const bool due = !lot->closing && (!r->exhausted || lot->history.hasty);
    if (x->slices && due && !x->stopping) lot->turn = WAITING;
    else session_settle(x, at);
}

/* A later slice without a winner takes none away unless that has failed, and may be followed by a better one.
 */
static void take_fruitless(struct state *x, size_t at, const struct job_result *r)
{
    struct job_result *all = &x->s->results[at];
    struct lot *lot = &x->lot[at];
    char text[PROBLEM_TEXT_MAX];
    problem_format(&x->s->options->problems[at], text);
    if (r->lost) {
        all->how = r->how;
        all->winner = r->winner;
        memcpy(all->why, r->why, sizeof all->why);
        say_ended(x, all);
    } else {
        report_say(x->env.report, "%s: nothing new was found, its winner stays: %s", text, r->why);
    }
    all->trials += r->trials;
    all->seconds += r->seconds;
    lot->history.spent_s += r->seconds;
    lot->raced = false;
    if (x->slices && ++lot->fruitless < FRUITLESS_MOST && !lot->closing && !r->exhausted && !x->stopping)
        lot->turn = WAITING;
    else session_settle(x, at);
}

/* Nothing faster was found: the winner and its race stand. It is of an earlier slice or, from another space,
 * of an earlier run. */
static void take_kept(struct state *x, size_t at, const struct job_result *r)
{
    struct job_result *all = &x->s->results[at];
    struct slice_history *history = &x->lot[at].history;
    char text[PROBLEM_TEXT_MAX];
    problem_format(&x->s->options->problems[at], text);
    report_say(x->env.report, "%s: %s (%zu trials so far)", text, r->why, r->tried);
    if (history->spent_s <= 0) {
        all->how = JOB_KNOWN;
        memcpy(all->why, r->why, sizeof all->why);
        history->time_us = all->winner.base.time_us;
    }
    all->tried = r->tried;
    all->winner.trials = (int)r->tried;
    all->trials += r->trials;
    all->seconds += r->seconds;
    slice_ended(history, r->seconds, history->time_us, r->tried, r->gain);
    if (r->hasty) {
        history->hasty = true;
        history->closing_s = r->closing_s;
    }
    x->lot[at].fruitless = 0;
    await_more(x, at, r);
}

/* A slice adds to those before it, and takes no winner away. */
static void take_result(struct state *x, size_t at, const struct job_result *r)
{
    struct job_result *all = &x->s->results[at];
    struct slice_history *history = &x->lot[at].history;
    const bool again = history->spent_s > 0, won = r->how == JOB_TUNED;
    const bool faster =
        !again || all->winner.base.time_us <= 0 || r->winner.base.time_us < all->winner.base.time_us;
    const struct job_result before = *all;
    if (won || !again) *all = *r;
    if (again) {
        all->trials = before.trials + r->trials;
        all->seconds = before.seconds + r->seconds;
    }
    if (faster || !won || x->lot[at].closing) say_ended(x, won || !again ? all : r);
    if (!won) {
        session_settle(x, at);
        return;
    }
    slice_ended(history, r->seconds, r->winner.base.time_us, r->tried, r->gain);
    history->hasty = r->hasty;
    history->closing_s = r->closing_s;
    x->lot[at].fruitless = 0;
    x->lot[at].raced = true;
    await_more(x, at, r);
}

void session_close_ended(struct state *x, struct gpu_slot *slot)
{
    const struct job_result *r = job_result(slot->now);
    x->s->trials += r->trials;
    const bool begun = x->lot[slot->now_at].history.spent_s > 0,
               taken_over = session_slots_alive(x) > 0 && !x->stopping;
    if (r->how == JOB_ORPHANED && (begun || taken_over)) {
        x->lot[slot->now_at].turn = WAITING; /* a problem that has a winner keeps it */
        x->lot[slot->now_at].raced = false;
    } else if (r->how == JOB_KEPT) {
        take_kept(x, slot->now_at, r);
    } else if (r->how == JOB_FRUITLESS && begun) {
        take_fruitless(x, slot->now_at, r);
    } else {
        take_result(x, slot->now_at, r);
    }
    x->lot[slot->now_at].closing = false;
    if (x->lot[slot->now_at].turn == WAITING && (r->how == JOB_TUNED || r->how == JOB_KEPT))
        session_let_rest(x, slot->now_at, slot->now);
    else job_close(slot->now);
    slot->now = NULL;
}

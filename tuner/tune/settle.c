/* settle.c — what a slice leaves when it has ended: its problem's result, and whether more of it follows. */
#include "answer.h"
#include "job.h"
#include "print.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FRUITLESS_MOST 2   /* later slices in a row */
#define OVERHEAD_KEPT  0.8 /* of what was known, at each slice */

/* One sentence on how a problem ended. */
static void say_ended(struct run *run, const struct job_result *r)
{
    const struct db_winner *w = &r->winner;
    char text[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX], time[32], took[32];
    problem_format(&w->base.problem, text);
    if (r->how == JOB_FRUITLESS || r->how == JOB_ORPHANED)
        report_say(run->report, "%s: no winner: %s", text, r->why);
    if (r->how != JOB_TUNED) return;
    format_time_us(w->base.time_us, time);
    format_duration(r->seconds, took);
    report_say(run->report, "%s: tuned in %s: %s%s, %.2f TFLOPS%s", text, took,
               answer_is_cublas(w) ? "cuBLAS won, the best kernel takes " : "", time,
               problem_flop(&w->base.problem) / w->base.time_us * 1e-6, w->tied ? ", a tie" : "");
    if (w->base.ratio > 0)
        report_say(run->report, "    %.3f times as fast as cuBLAS (%.3f..%.3f)%s", w->base.ratio,
                   w->base.ratio_low, w->base.ratio_high,
                   !answer_is_rival(&w->base) ? ""
                   : w->pin_holds             ? ": cuBLAS is faster, but this is pinned"
                                              : ": cuBLAS is faster, and stays in use");
    if (w->config.template) config_brief(&w->config, config);
    report_say(run->report, "    %s", w->config.template ? config : w->config_text);
}

/* More of it follows while the search could go on, or its winner wants a closing race. Where problems have
 * one slice each, those that are behind have another. */
static void await_more(const struct job *job)
{
    struct run *run = job->run;
    struct problem_state *p = &run->problem[job->at];
    p->searched = job->result.exhausted;
    const bool due = !p->closing && (!p->searched || p->history.wants_closing_race);
    const bool more = run->slices ? due : p->history.behind && !p->searched && !p->closing;
    if (more && !run->stopping) p->standing = WAITING;
    else run_settle(run, job->at);
}

/* A later slice without a winner takes none away unless that has failed, and may be followed by a better one.
 */
static void take_fruitless(const struct job *job)
{
    struct run *run = job->run;
    const struct job_result *r = &job->result;
    struct job_result *all = &run->s->results[job->at];
    struct problem_state *p = &run->problem[job->at];
    if (r->lost) {
        all->how = r->how;
        all->winner = r->winner;
        memcpy(all->why, r->why, sizeof all->why);
        say_ended(run, all);
    } else {
        report_say(run->report, "%s: nothing new was found, its winner stays: %s", job->text, r->why);
    }
    all->trials += r->trials;
    all->seconds += r->seconds;
    p->history.spent_s += r->seconds;
    p->raced = false;
    if (run->slices && ++p->fruitless < FRUITLESS_MOST && !p->closing && !r->exhausted && !run->stopping)
        p->standing = WAITING;
    else run_settle(run, job->at);
}

/* Nothing faster was found: the winner and its race stand. It is of an earlier slice or, from another space,
 * of an earlier run. */
static void take_kept(const struct job *job)
{
    struct run *run = job->run;
    const struct job_result *r = &job->result;
    struct job_result *all = &run->s->results[job->at];
    struct problem_state *p = &run->problem[job->at];
    report_say(run->report, "%s: %s (%zu trial%s so far)", job->text, r->why, r->tried, PRINT_S(r->tried));
    if (p->history.spent_s <= 0) {
        all->how = JOB_KNOWN;
        memcpy(all->why, r->why, sizeof all->why);
        p->history.time_us = all->winner.base.time_us;
    }
    all->tried = r->tried;
    all->winner.trials = (int)r->tried;
    all->trials += r->trials;
    all->seconds += r->seconds;
    slice_ended(&p->history, r->seconds, p->history.time_us, r->tried, r->gain);
    slice_compared(&p->history, all->winner.base.ratio, r->tried);
    if (r->wants_closing_race) {
        p->history.wants_closing_race = true;
        p->history.closing_s = r->closing_s;
    }
    p->fruitless = 0;
    await_more(job);
}

/* A slice adds to those before it, and takes no winner away. */
static void take_result(const struct job *job)
{
    struct run *run = job->run;
    const struct job_result *r = &job->result;
    struct job_result *all = &run->s->results[job->at];
    struct problem_state *p = &run->problem[job->at];
    const bool again = p->history.spent_s > 0, won = r->how == JOB_TUNED;
    const bool faster =
        !again || all->winner.base.time_us <= 0 || r->winner.base.time_us < all->winner.base.time_us;
    const struct job_result before = *all;
    if (won || !again) *all = *r;
    if (again) {
        all->trials = before.trials + r->trials;
        all->seconds = before.seconds + r->seconds;
    }
    if (faster || !won || p->closing) say_ended(run, won || !again ? all : r);
    if (!won) {
        run_settle(run, job->at);
        return;
    }
    slice_ended(&p->history, r->seconds, r->winner.base.time_us, r->tried, r->gain);
    slice_compared(&p->history, r->winner.base.ratio, r->tried);
    p->history.wants_closing_race = r->wants_closing_race;
    p->history.closing_s = r->closing_s;
    p->fruitless = 0;
    p->raced = true;
    await_more(job);
}

/* A problem that could not be opened is settled already (deal_open_search). */
static void take_slice(const struct job *job)
{
    struct run *run = job->run;
    struct problem_state *p = &run->problem[job->at];
    const enum job_how how = job->result.how;
    const bool begun = p->history.spent_s > 0, taken_over = run_gpus_alive(run) > 0 && !run->stopping;
    if (p->standing == ENDED) return;
    if (how == JOB_ORPHANED && (begun || taken_over)) {
        p->standing = WAITING; /* a problem that has a winner keeps it */
        p->raced = false;
    } else if (how == JOB_KEPT) {
        take_kept(job);
    } else if (how == JOB_FRUITLESS && begun) {
        take_fruitless(job);
    } else {
        take_result(job);
    }
}

/* What the next slice takes beside its search is about what the last ones took. */
static void learn_overhead(const struct job *job)
{
    struct run *run = job->run;
    if (run->slices || run->s->options->refresh || job->result.how != JOB_TUNED) return;
    const double took_s = job->result.seconds, ending_s = job->began_s + took_s - job->search_end_s;
    const double trials_s = fmin(job->searched_s, JOB_TRIALS_LEAST * job->trial_s);
    const double beside_s = took_s - job->warmed_s - job->searched_s + trials_s;
    const double kept = run->ending_s > 0 ? OVERHEAD_KEPT : 0;
    /* No more than a slice: a worker that died in one says nothing about the others. */
    run->ending_s = kept * run->ending_s + (1 - kept) * fmin(ending_s, run->even_s);
    run->beside_s = kept * run->beside_s + (1 - kept) * fmin(beside_s, run->even_s);
}

void settle_slice(struct gpu_worker *gpu)
{
    struct run *run = gpu->run;
    struct job *job = gpu->now;
    struct problem_state *p = &run->problem[job->at];
    const enum job_how how = job->result.how;
    run->s->trials += job->result.trials;
    learn_overhead(job);
    take_slice(job);
    p->closing = false;
    if (p->standing == WAITING && (how == JOB_TUNED || how == JOB_KEPT)) deal_let_rest(job);
    else job_close(job);
    gpu->now = NULL;
}

#include "explain.h"

#include "print.h"
#include "template.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_S          1.5  /* without a trial: other work */
#define GPU_LIMITS     0.85 /* shares of the time in which the GPU works */
#define COMPILING_ALSO 0.5
#define TRIALS_LEAST   10
#define TRIAL_MS       1e-3 /* one that took less never came to the GPU */
#define CLOCK_S        1e-6 /* what it can tell apart */

/* --- which kernels were compiled for this problem --- */

static bool same_kernel(const struct pace_trial *x, const struct pace_trial *y)
{
    return !x->config.template || !y->config.template || config_same_kernel(&x->config, &y->config);
}

/* By compile time, then in the order in which they ended. */
static int by_compile_time(const void *x, const void *y)
{
    const struct pace_trial *a = *(const struct pace_trial *const *)x,
                            *b = *(const struct pace_trial *const *)y;
    if (a->compile_ms != b->compile_ms) return a->compile_ms < b->compile_ms ? -1 : 1;
    return (a > b) - (a < b);
}

/* Trials that share a kernel have the compile time of the one compilation. It belongs to the first of them.
 */
static enum status find_compiled(const struct pace_trial *trials, size_t count, bool *compiled)
{
    const struct pace_trial **sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted) return fail(E_MEMORY, "out of memory for %zu trials", count);
    for (size_t i = 0; i < count; i++) sorted[i] = &trials[i];
    qsort(sorted, count, sizeof *sorted, by_compile_time);
    for (size_t i = 0; i < count; i++) {
        bool first = sorted[i]->compile_ms > 0;
        for (size_t j = i; first && j > 0 && sorted[j - 1]->compile_ms == sorted[i]->compile_ms; j--)
            first = !same_kernel(sorted[j - 1], sorted[i]);
        compiled[sorted[i] - trials] = first;
    }
    free(sorted);
    return OK;
}

/* --- spans --- */

struct span {
    double begin_s, end_s; /* of the clock */
    int trials, kernels;
    double gpu_s, compile_s;
    double ahead_s; /* before its first trial, in which its first kernels must have been compiled */
};

static void add_trial(struct span *span, const struct pace_trial *t, bool compiled)
{
    const double began_s = 1e-6 * (double)t->ended_us - 1e-3 * t->wall_ms;
    span->end_s = 1e-6 * (double)t->ended_us;
    span->trials += t->wall_ms >= TRIAL_MS;
    span->gpu_s += 1e-3 * t->wall_ms;
    if (!compiled) return;
    span->kernels++;
    span->compile_s += 1e-3 * t->compile_ms;
    span->ahead_s = fmax(span->ahead_s, 1e-3 * t->compile_ms - (began_s - span->begin_s));
}

/* Adds a span that is over to pace. Returns the time that its compilers had before its first trial. */
static double close_span(const struct span *span, struct search_pace *pace)
{
    const double seconds = span->end_s - span->begin_s;
    if (seconds <= 0 || span->gpu_s > seconds + CLOCK_S) return 0;
    pace->trials += span->trials;
    pace->seconds += seconds;
    pace->gpu_s += span->gpu_s;
    pace->kernels += span->kernels;
    pace->compile_s += span->compile_s;
    return span->ahead_s;
}

static enum pace_limit limit_of(const struct search_pace *pace)
{
    const double share = pace->gpu_s / pace->seconds;
    if (share > GPU_LIMITS) return PACE_GPU;
    if (pace->compilers < 0.5) return PACE_NEITHER;
    return share < COMPILING_ALSO ? PACE_COMPILING : PACE_BOTH;
}

enum status search_pace(const struct pace_trial *trials, size_t count, struct search_pace *pace)
{
    *pace = (struct search_pace){0};
    bool *compiled = malloc(count + 1);
    if (!compiled) return fail(E_MEMORY, "out of memory for %zu trials", count);
    enum status st = find_compiled(trials, count, compiled);
    struct span span = {0};
    bool open = false;
    double ahead_s = 0;
    for (size_t i = 0; !st && i < count; i++) {
        const struct pace_trial *t = &trials[i];
        const double began_s = 1e-6 * (double)t->ended_us - 1e-3 * t->wall_ms;
        const double gap_s = fmax(GAP_S, compiled[i] ? 1e-3 * t->compile_ms : 0);
        if (open && (t->other || began_s - span.end_s > gap_s)) {
            ahead_s += close_span(&span, pace);
            open = false;
        }
        if (t->other) continue;
        if (!open) span = (struct span){.begin_s = began_s};
        open = true;
        add_trial(&span, t, compiled[i]);
    }
    if (open) ahead_s += close_span(&span, pace);
    free(compiled);
    if (st || pace->trials == 0) return st;
    pace->compilers = pace->compile_s / (pace->seconds + ahead_s);
    pace->limit = limit_of(pace);
    return OK;
}

/* --- from the database --- */

struct run {
    const struct problem *problem;
    bool cold;
    int64_t id; /* 0: none */
    struct pace_trial *trials;
    size_t count, room;
    bool starved;
};

/* A killed trial ended when it was found, long after. */
static bool counts(const struct run *run, const struct db_trial *t)
{
    return !t->recovered && t->outcome.verdict != VERDICT_PREDICTED && t->outcome.cold == run->cold;
}

static bool find_newest(void *self, const struct db_trial *t)
{
    struct run *run = self;
    if (counts(run, t) && t->run_id > run->id) run->id = t->run_id;
    return true;
}

static bool take(void *self, const struct db_trial *t)
{
    struct run *run = self;
    if (!counts(run, t)) return true;
    if (run->count == run->room) {
        const size_t room = run->room ? 2 * run->room : 256;
        struct pace_trial *grown = realloc(run->trials, room * sizeof *grown);
        if (!grown) {
            run->starved = true;
            return false;
        }
        run->trials = grown;
        run->room = room;
    }
    struct pace_trial trial = {.ended_us = t->ended_us,
                               .wall_ms = t->outcome.wall_ms,
                               .compile_ms = t->outcome.facts.compile_ms,
                               .other = !problem_equal(&t->problem, run->problem)};
    if (config_parse(t->config_text, &trial.config)) trial.config.template = NULL;
    run->trials[run->count++] = trial;
    return true;
}

enum status search_pace_collect(struct db *db, const struct db_filter *filter, bool cold,
                                struct search_pace *pace)
{
    struct run run = {.problem = filter->problem, .cold = cold};
    *pace = (struct search_pace){0};
    enum status st = db_trials(db, filter, find_newest, &run);
    if (!st && run.id) st = db_run_trials(db, run.id, take, &run);
    if (!st && run.starved) st = fail(E_MEMORY, "out of memory while reading %zu trials", run.count);
    if (!st) st = search_pace(run.trials, run.count, pace);
    free(run.trials);
    return st;
}

/* --- what is said --- */

bool search_pace_text(const struct search_pace *pace, char *text, size_t room)
{
    static const char *const limits[] = {[PACE_COMPILING] = "compiling was the limit",
                                         [PACE_BOTH] = "both it and compiling were the limit",
                                         [PACE_GPU] = "the GPU was the limit",
                                         [PACE_NEITHER] = "neither it nor compiling was the limit"};
    if (pace->trials < TRIALS_LEAST) return false;
    char kernels[96] = "no kernel was compiled", at_a_time[48] = "";
    if (pace->compilers >= 0.5)
        snprintf(at_a_time, sizeof at_a_time, ", about %.0f at a time", pace->compilers);
    if (pace->kernels > 0)
        snprintf(kernels, sizeof kernels, "%d kernel%s of %.2f s%s%s", pace->kernels, PRINT_S(pace->kernels),
                 pace->compile_s / pace->kernels, pace->kernels == 1 ? "" : " each", at_a_time);
    const double made = pace->trials / pace->seconds, possible = pace->trials / pace->gpu_s;
    snprintf(text, room, "%.0f %% of %.1f s the GPU worked, %s: %s; %.*f trials a second, %.*f possible",
             100 * pace->gpu_s / pace->seconds, pace->seconds, limits[pace->limit], kernels, made < 9.95,
             made, possible < 9.95, possible);
    return true;
}

json_t *search_pace_json(const struct search_pace *pace)
{
    static const char *const limits[] = {
        [PACE_COMPILING] = "compiling", [PACE_BOTH] = "both", [PACE_GPU] = "gpu", [PACE_NEITHER] = "neither"};
    if (pace->trials < TRIALS_LEAST) return json_null();
    return json_pack("{s:s, s:f, s:f, s:f, s:i, s:f, s:f, s:i, s:f, s:f}", "limit", limits[pace->limit],
                     "seconds", pace->seconds, "gpu_seconds", pace->gpu_s, "gpu_share",
                     pace->gpu_s / pace->seconds, "kernels", pace->kernels, "compile_seconds",
                     pace->compile_s, "compilers", pace->compilers, "trials", pace->trials,
                     "trials_per_second", pace->trials / pace->seconds, "possible_per_second",
                     pace->trials / pace->gpu_s);
}

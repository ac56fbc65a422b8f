#include "predict.h"

#include "answer.h"
#include "budget.h"
#include "builds.h"
#include "claims.h"
#include "clock.h"
#include "exact.h"
#include "model.h"
#include "preferred.h"
#include "refusals.h"
#include "report.h"
#include "template.h"
#include "transfer.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREDICT_FIRST                                                                                        \
    64 /* candidates compiled if --max-trials says nothing: the model's order is good at its top */
#define TICK_S       0.2
#define TELL_AT_ONCE 8

/* One problem, on a GPU that is not here. */
struct forecast {
    struct session *s;
    struct builds *builds;
    struct report *report;
    struct winner_store *shared; /* what others have measured */
    struct db_context context;
    int64_t run_id;
    const struct problem *problem;
    struct job_result *result;
    struct field field;
    bool pinned; /* a configuration is; the field is that one */
    struct transferred transferred;
    struct built **built; /* of the first `wanted` candidates */
    bool *told;
    size_t wanted, done, recalled; /* recalled: of those done, by earlier runs */
    size_t failures[VERDICT_COUNT];
    struct refusals refusals;
    char doubt[OUTCOME_DETAIL_MAX]; /* why the first prediction was refused; "": none was */
    double began_s, share_s;
    double end_s; /* of the whole budget */
    size_t after; /* problems after this one */
    size_t best;
    double best_us;
    int best_registers;
};

/* Stores a prediction once: an earlier run's row says the same, since the model is arithmetic. */
static enum status store_once(struct forecast *f, const struct config *config, const struct outcome *outcome)
{
    struct outcome known;
    bool stale;
    enum status st = db_find(f->s->db, &f->context, f->problem, config, &known, &stale);
    if (st == OK && !stale && known.verdict == outcome->verdict && known.time_us == outcome->time_us)
        return OK;
    if (st && st != E_ABSENT) return st;
    int64_t attempt;
    st = db_attempt(f->s->db, f->run_id, f->problem, config, &attempt);
    return st ? st : db_record(f->s->db, attempt, outcome);
}

static void take_outcome(struct forecast *f, size_t i, const struct outcome *outcome)
{
    f->told[i] = true;
    f->done++;
    f->failures[outcome->verdict]++;
    refusals_add(&f->refusals, outcome);
    if (outcome->verdict != VERDICT_PREDICTED || (f->best_us > 0 && outcome->time_us >= f->best_us)) return;
    f->best = i;
    f->best_us = outcome->time_us;
    f->best_registers = outcome->facts.registers;
}

/* Families were described otherwise, perhaps, when it was stored. */
static bool may_stay(const struct forecast *f, const struct config *config, double time_us)
{
    char why[OUTCOME_DETAIL_MAX];
    return model_is_possible(config, f->problem, &f->context.gpu, time_us, why);
}

/* Recalls the predictions of earlier runs, which are not compiled again: the search goes on where they
 * stopped. */
static enum status recall(struct forecast *f)
{
    for (size_t i = 0; i < f->wanted; i++) {
        struct outcome known;
        bool stale;
        enum status st = db_find(f->s->db, &f->context, f->problem, &f->field.config[i], &known, &stale);
        if (st == E_ABSENT) continue;
        if (st) return st;
        const bool of_compiler = known.verdict == VERDICT_PREDICTED || known.verdict == VERDICT_UNBUILDABLE ||
                                 known.verdict == VERDICT_SPILLS;
        if (stale || !of_compiler) continue;
        if (known.verdict == VERDICT_PREDICTED && !may_stay(f, &f->field.config[i], known.time_us)) continue;
        take_outcome(f, i, &known);
        f->recalled++;
    }
    return OK;
}

/* The correction of a candidate's predicted time by trials of other problems. */
static double correction(const struct forecast *f, size_t i)
{
    if (!f->transferred.trials) return 1;
    return f->field.predicted_us[i] /
           model_predict(&f->field.config[i], f->problem, &f->context.gpu, NULL).time_us;
}

/* The model's time with the registers of the compiled kernel; not below the roofline, where trials of other
 * problems have corrected it. Refused, with the reason, where the kernel is another than its family
 * describes, or the time is impossible. */
static struct outcome predict_built(struct forecast *f, size_t i)
{
    const struct config *config = &f->field.config[i];
    const struct gpu *gpu = &f->context.gpu;
    const struct kernel_facts *facts = &f->built[i]->facts;
    const double least_us =
        model_roofline_us(f->problem, gpu_peak_tflops(gpu, f->problem->type), gpu->memory_gb_per_s);
    struct outcome outcome = {.verdict = VERDICT_PREDICTED, .errors = accuracy_unknown()};
    char why[OUTCOME_DETAIL_MAX];
    outcome.time_us = model_predict(config, f->problem, gpu, facts).time_us;
    if (!claims_hold(config, f->problem, gpu, facts, why) ||
        !model_is_possible(config, f->problem, gpu, outcome.time_us, why))
        return outcome_failed(VERDICT_REFUSED, "%s", why);
    outcome.time_us = fmax(outcome.time_us * correction(f, i), least_us);
    return outcome;
}

static void say_refused(struct forecast *f, const char *why)
{
    char problem[PROBLEM_TEXT_MAX];
    if (f->doubt[0]) return;
    snprintf(f->doubt, sizeof f->doubt, "%s", why);
    problem_format(f->problem, problem);
    report_say(f->report, "%s: no prediction: %s", problem, why);
}

/* Stored like any trial, but for a refusal, which says nothing of the kernel. */
static enum status tell(struct forecast *f, size_t i)
{
    const struct built *built = f->built[i];
    struct outcome outcome =
        built->ok ? predict_built(f, i) : outcome_failed(built->verdict, "%s", built->detail);
    outcome.facts = built->facts;
    outcome.cold = f->context.cold;
    enum status st = OK;
    if (outcome.verdict == VERDICT_REFUSED) say_refused(f, outcome.detail);
    else st = store_once(f, &f->field.config[i], &outcome);
    if (st) return st;
    take_outcome(f, i, &outcome);
    f->s->trials++;
    return OK;
}

/* Ask for kernels while a compiler is idle, and take in those that are there: a few at a time, since each is
 * stored, and in between somebody may want to end it. *rest: there are more. */
static enum status advance(struct forecast *f, bool more, bool *rest)
{
    enum status st = OK;
    int taken = 0;
    *rest = false;
    for (size_t i = 0; i < f->wanted && !st; i++) {
        struct built *b = f->built[i];
        if (f->told[i]) continue;
        if (b->state == BUILD_DONE && taken == TELL_AT_ONCE) *rest = true;
        else if (b->state == BUILD_DONE) st = tell(f, i), taken++;
        else if (b->state == BUILD_WANTED && more && children_idle_compilers(f->s->children) > 0) {
            st = children_compile(f->s->children, &b->kernel, b);
            if (st == E_BUSY) return OK;
            builds_ask(b);
        }
    }
    return st;
}

static bool any_under_way(const struct forecast *f)
{
    for (size_t i = 0; i < f->wanted; i++)
        if (f->built[i]->state == BUILD_ASKED) return true;
    return false;
}

static void show(const struct forecast *f, int ended)
{
    struct progress p = {
        .phase = "compiling", .gain = (double)NAN, .done = f->done, .planned = f->wanted, .trials = f->done};
    problem_format(f->problem, p.problem);
    memcpy(p.failures, f->failures, sizeof p.failures);
    p.elapsed_s = now_s() - f->began_s;
    double rate = p.elapsed_s > 0 ? (double)f->done / p.elapsed_s : 0;
    p.left_s = rate > 0 ? fmin(f->share_s - p.elapsed_s, (double)(f->wanted - f->done) / rate)
                        : f->share_s - p.elapsed_s;
    p.best_us = f->best_us;
    if (f->best_us > 0) {
        p.tflops = problem_flop(f->problem) / f->best_us * 1e-6;
        config_brief(&f->field.config[f->best], p.best);
    }
    double run_s = fmax(0, f->end_s - now_s());
    if (rate > 0) run_s = fmin(run_s, (double)(f->wanted - f->done + f->after * f->wanted) / rate);
    report_progress(f->report, &p, 1, ended, run_s, false);
}

/* Take in what the compilers say. Errors: E_INTERRUPTED. */
static enum status listen(struct session *s, struct builds *builds, double timeout_s)
{
    struct children_event event;
    enum status st = children_wait(s->children, timeout_s, &event);
    if (st) return st;
    json_decref(event.answer);
    if (event.kind == CHILDREN_INTERRUPT)
        return fail(E_INTERRUPTED, "interrupted; everything finished is kept");
    if (event.kind != CHILDREN_BUILT) return OK;
    s->kernels += event.build.built && !event.build.cached;
    return builds_tell(builds, event.tag, &event.build);
}

static enum status compile_first(struct forecast *f, int ended)
{
    for (;;) {
        bool more = now_s() - f->began_s < f->share_s || f->done == 0, rest;
        enum status st = advance(f, more, &rest);
        if (st) return st;
        if (f->done == f->wanted || (!more && !rest && !any_under_way(f))) return OK;
        if (f->done > 0 && now_s() >= f->end_s) return OK;
        show(f, ended);
        if ((st = listen(f->s, f->builds, rest ? 0 : TICK_S))) return st;
    }
}

static void describe(const struct forecast *f, struct db_winner *w)
{
    const struct config *config = &f->field.config[f->best];
    *w = (struct db_winner){
        .base.problem = *f->problem, .config = *config, .gpu = f->context.gpu, .base.predicted = true};
    config_format(config, w->config_text);
    memcpy(w->nvrtc, f->context.nvrtc, sizeof w->nvrtc);
    w->base.cold = f->context.cold;
    w->base.time_us = f->best_us;
    w->trials = (int)f->done;
    w->pinned = f->pinned;
    w->legal_count = (int64_t)f->field.legal;
    w->model_rank = (int)(f->best + 1);
    w->registers = f->best_registers;
    w->smem_bytes = config->template->resources(config).smem_bytes;
}

static size_t wanted_of(const struct forecast *f)
{
    const int64_t limit = f->s->options->max_trials;
    return limit > 0 ? (size_t)limit : PREDICT_FIRST;
}

static enum status choose_kernels(struct forecast *f)
{
    f->wanted = wanted_of(f);
    if (f->wanted > f->field.count) f->wanted = f->field.count;
    f->built = calloc(f->wanted, sizeof *f->built);
    f->told = calloc(f->wanted, sizeof *f->told);
    if (!f->built || !f->told) return fail(E_MEMORY, "out of memory for %zu candidates", f->wanted);
    for (size_t i = 0; i < f->wanted; i++) {
        const struct kernel_key kernel = kernel_key_of(&f->field.config[i], f->problem, f->context.gpu.arch);
        f->built[i] = builds_get(f->builds, &kernel);
        if (!f->built[i]) return E_MEMORY;
    }
    return OK;
}

static bool take_winner(void *self, const struct db_winner *winner)
{
    struct forecast *f = self;
    if (winner->stale || winner->unusable || winner->base.cold != f->context.cold) return true;
    /* A prediction for a former pin; what was measured for it is not replaced by a prediction. */
    if (winner->pinned && winner->base.predicted && !f->pinned) return true;
    if (winner->config.template &&
        workspace_refuses(&winner->config, f->problem, f->s->options->workspace_bytes))
        return true;
    if (winner->base.predicted && !may_stay(f, &winner->config, winner->base.time_us)) return true;
    /* The time was over before all that are wanted were compiled. */
    const int64_t wanted = (int64_t)wanted_of(f), legal = winner->legal_count;
    if (winner->base.predicted && winner->trials < (wanted < legal ? wanted : legal)) return true;
    f->result->winner = *winner;
    f->result->how = JOB_KNOWN;
    return false;
}

/* A winner that is stored and up to date, measured or predicted. */
static enum status look_up(struct forecast *f)
{
    struct db_filter filter = {.gpu = f->context.gpu.name, .problem = f->problem};
    struct db_context now = f->context;
    enum status st = preferred_pinned(f->s->db, &now.gpu, f->problem, &f->pinned);
    if (!st) st = db_winners(f->s->db, &filter, &now, take_winner, f);
    if (st == E_ABSENT) st = OK;
    if (st || f->result->how != JOB_KNOWN) return st;
    snprintf(f->result->why, sizeof f->result->why, "%s on %s",
             f->result->winner.base.predicted ? "predicted" : "tuned", f->result->winner.base.when);
    return OK;
}

static enum status note_sample(struct forecast *f, const char *problem)
{
    char text[256];
    field_note(&f->field, text);
    report_say(f->report, "%s: %s", problem, text);
    return db_note(f->s->db, f->run_id, f->problem, text);
}

/* Corrects the model's order by trials of other problems. */
static enum status learn_from_others(struct forecast *f, const char *problem)
{
    char text[256];
    enum status st =
        transfer_trials(&f->field, f->s->db, f->s->known, &f->context, f->problem, &f->transferred);
    if (st || !f->transferred.trials) return st;
    transfer_note(&f->transferred, text);
    report_say(f->report, "%s: %s", problem, text);
    return db_note(f->s->db, f->run_id, f->problem, text);
}

/* A prediction does not answer where others have measured the problem. */
static enum status say_measured(struct forecast *f, const char *problem)
{
    struct stored_winner winner;
    struct config config;
    char instead[ANSWER_INSTEAD_MAX];
    const struct db_winner *w = &f->result->winner;
    if (!w->base.predicted || w->pinned || w->pin_holds) return OK;
    enum status st = exact_find(f->shared, f->problem, &winner, &config);
    if (st) return st == E_ABSENT ? OK : st;
    if (winner.base.predicted || winner.base.problem.type != f->problem->type) return OK;
    bool failed = false;
    if (winner.config != CUBLAS_WON)
        st = db_has_failed(f->s->db, &f->context.gpu, f->problem, &config, winner.base.when, &failed);
    if (st || failed) return st;
    answer_instead(&winner.base, winner.system ? ANSWER_SYSTEM : ANSWER_SHIPS, instead);
    report_say(f->report, "%s: %s; that is used, not the prediction", problem, instead);
    if (f->result->how == JOB_TUNED) snprintf(f->result->why, sizeof f->result->why, "%s", instead);
    return OK;
}

/* The operands alone; what they are judged with is not asked for where nothing runs. */
static bool fits_memory(struct forecast *f)
{
    const struct gpu *gpu = &f->context.gpu;
    const double needed = problem_memory_bytes(f->problem), gib = 1 << 30;
    if (gpu->memory_bytes <= 0 || needed <= (double)gpu->memory_bytes) return true;
    snprintf(
        f->result->why, sizeof f->result->why,
        "its operands need %.1f GiB, and the %.60s has %.1f GiB: choose a smaller problem or another GPU",
        needed / gib, gpu->name, (double)gpu->memory_bytes / gib);
    return false;
}

/* E_ABSENT: there is nothing that a prediction could choose among, whatever the values of parameters. */
static enum status check_served(const struct problem *problem, const struct gpu *gpu)
{
    const char *first = NULL;
    for (size_t i = 0; i < templates_all(); i++) {
        const struct template *const t = template_at(i);
        if ((!t->space && !t->own) || !template_serves(t, problem)) continue;
        const struct config any = {.template = t};
        const char *why = t->check_prefix ? t->check_prefix(&any, 0, problem, gpu) : NULL;
        if (!why) return OK;
        if (!first) first = why;
    }
    return fail(E_ABSENT, "no kernel of gemmtune computes such a problem of %s on %s (%s)%s",
                gemm_type_row(problem->type)->name, gpu->name, first ? first : "no family has the type",
                problem->invariant ? "" : "; algorithms of cublasLt may, which only the GPU itself proposes");
}

static enum status predict_one(struct forecast *f, int ended)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(f->problem, text);
    struct job_result *r = f->result;
    if (!f->s->options->again) {
        enum status known = look_up(f);
        if (known) return known;
        if (r->how == JOB_KNOWN) {
            report_say(f->report, "%s: skipped, it was %s (--again does it anew)", text, r->why);
            return say_measured(f, text);
        }
    }
    r->how = JOB_FRUITLESS;
    if (!fits_memory(f)) {
        report_say(f->report, "%s: no prediction: %s", text, r->why);
        return OK;
    }
    enum status st = check_served(f->problem, &f->context.gpu);
    if (!st)
        st = field_open(f->s->space, f->problem, &f->context.gpu, f->s->options->workspace_bytes, false,
                        &f->field);
    if (!st)
        st = preferred_apply(&f->field, f->s->db, &f->context.gpu, f->problem, f->s->options->workspace_bytes,
                             f->s->options->pin.template ? &f->s->options->pin : NULL, &f->pinned);
    if (!st && f->pinned && template_is_library(f->field.config[0].template))
        st = fail(E_ABSENT, "an algorithm of cublasLt is pinned, which only its GPU can tell anything of");
    if (st == E_ABSENT) {
        snprintf(r->why, sizeof r->why, "%s", status_text());
        return OK;
    }
    if (!st && f->field.sample) st = note_sample(f, text);
    if (!st && !f->pinned && f->s->options->transfer) st = learn_from_others(f, text);
    if (!st) st = choose_kernels(f);
    if (!st && !f->s->options->again) st = recall(f);
    if (st) return st;
    r->legal = (size_t)f->field.legal;
    r->raw = f->field.raw_count;
    report_say(f->report, "%s: the model's best %zu of %zu are compiled", text, f->wanted, r->legal);
    if (f->recalled) report_say(f->report, "    %zu of them were predicted in earlier runs", f->recalled);
    report_advice(f->report, f->problem);
    st = compile_first(f, ended);
    r->tried = f->done;
    r->trials = f->done - f->recalled;
    r->seconds = now_s() - f->began_s;
    if (f->done == 0 || f->best_us == 0) {
        char first[OUTCOME_DETAIL_MAX + 160];
        if (!st)
            snprintf(r->why, sizeof r->why, "none of the %zu kernels compiled is usable%s%s", f->done,
                     f->doubt[0] ? ": " : "", f->doubt[0] ? f->doubt : refusals_say(&f->refusals, first));
        return st;
    }
    describe(f, &r->winner);
    if (st == E_INTERRUPTED) r->how = JOB_INTERRUPTED;
    if (st) return st;
    st = db_set_winner(f->s->db, f->run_id, &r->winner, &r->winner.config, 1, NULL, 0);
    if (st) return st;
    r->how = JOB_TUNED;
    return say_measured(f, text);
}

static void close_forecast(struct forecast *f)
{
    field_close(&f->field);
    free(f->built);
    free(f->told);
    f->built = NULL;
    f->told = NULL;
}

enum status predict_run(struct session *s, const struct gpu *gpu)
{
    const struct tune_options *o = s->options;
    struct db_context context = {.gpu = *gpu, .cold = o->cold};
    snprintf(context.nvrtc, sizeof context.nvrtc, "%s", children_nvrtc(s->children));
    for (size_t i = 0; i < o->problem_count; i++)
        s->results[i].winner = (struct db_winner){.base.problem = o->problems[i], .gpu = *gpu};

    struct builds *builds = NULL;
    struct report *report = NULL;
    struct winner_store shared = {.db = NULL};
    struct notices quiet;
    int64_t run_id = 0, recovered;
    notices_start(&quiet, true);
    enum status st = builds_open(&builds);
    if (!st) st = winner_store_open_shared(&shared, gpu, s->db, &quiet);
    if (!st) st = report_open((int)o->problem_count, 1, &report);
    if (!st) st = db_recover(s->db, &recovered);
    if (!st) st = db_run_start(s->db, &context, o->command, o->seed, &run_id);

    double budget_s = o->budget_s > 0 ? o->budget_s : BUDGET_DEFAULT_S * (double)o->problem_count;
    for (size_t i = 0; i < o->problem_count && !st; i++) {
        const double left_s = budget_s - (now_s() - s->began_s);
        if ((st = listen(s, builds, 0))) break;
        if (left_s <= 0) {
            s->results[i].how = JOB_FRUITLESS;
            s->results[i].left_out = true;
            snprintf(s->results[i].why, sizeof s->results[i].why,
                     "the budget was spent before it (--budget; the same command goes on)");
            continue;
        }
        struct forecast f = {.s = s,
                             .builds = builds,
                             .report = report,
                             .shared = &shared,
                             .context = context,
                             .run_id = run_id,
                             .problem = &o->problems[i],
                             .result = &s->results[i],
                             .began_s = now_s(),
                             .end_s = s->began_s + budget_s,
                             .after = o->problem_count - 1 - i};
        f.share_s = budget_share(left_s, (int)(o->problem_count - i), 1);
        st = predict_one(&f, (int)i);
        close_forecast(&f);
    }
    if (run_id) {
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", status_text());
        enum status ended = db_run_end(s->db, run_id,
                                       st == OK              ? "finished"
                                       : st == E_INTERRUPTED ? "interrupted"
                                                             : "error");
        if (st) fail(st, "%s", sentence);
        else st = ended;
    }
    s->seconds = now_s() - s->began_s;
    report_close(report);
    builds_close(builds);
    winner_store_close(&shared);
    return st;
}

/* report_data.c — the figures of the page: a row for each winner with its race, its search and what failed.
 */
#include "answer.h"
#include "change.h"
#include "command_line.h"
#include "db_view.h"
#include "due.h"
#include "model.h"
#include "race_cells.h"
#include "race_rank.h"
#include "report_page.h"
#include "table.h"
#include "tried.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIALS_ALL   45000 /* of all problems together: about 35 bytes each */
#define TRIALS_MOST  2500  /* of one */
#define TRIALS_LEAST 40
#define DETAILS_MOST 200 /* problems that are more than a row */

struct rows {
    struct db_winner *at; /* owned */
    size_t count, room;
    enum status st;
};

static bool keep(void *self, const struct db_winner *w)
{
    struct rows *rows = self;
    if (!rows->at || rows->count == rows->room) {
        const size_t room = rows->room ? 2 * rows->room : 64;
        struct db_winner *grown = realloc(rows->at, room * sizeof *grown);
        if (!grown) {
            rows->st = fail(E_MEMORY, "out of memory while listing winners");
            return false;
        }
        rows->at = grown;
        rows->room = room;
    }
    rows->at[rows->count++] = *w;
    return true;
}

/* A problem that has trials, but no winner yet: its row names the GPU of its newest trial. */
static bool keep_trial(void *self, const struct db_trial *t)
{
    struct db_winner w = {.base = {.problem = t->problem, .cold = t->outcome.cold}};
    memcpy(w.gpu.name, t->gpu_name, sizeof w.gpu.name);
    keep(self, &w);
    return false;
}

static enum status list_rows(const struct report_wanted *wanted, struct rows *rows)
{
    struct db_filter filter = {.gpu = wanted->gpu};
    enum status st = OK;
    for (size_t i = 0; i < wanted->problem_count && !st; i++) {
        const size_t before = rows->count;
        filter.problem = &wanted->problems[i];
        st = db_winners(wanted->db, &filter, wanted->now, keep, rows);
        if (st == E_ABSENT) st = OK;
        if (!st && rows->count == before) st = db_newest_trials(wanted->db, &filter, keep_trial, rows);
        if (st == E_ABSENT) st = OK;
    }
    if (wanted->problem_count == 0) st = db_winners(wanted->db, &filter, wanted->now, keep, rows);
    if (st == E_ABSENT) st = OK;
    return st ? st : rows->st;
}

/* ---- one row ---- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *known(double value)
{
    return value > 0 ? real(value) : json_null();
}

static json_t *said(const char *text)
{
    return text && *text ? text_json(text) : json_null();
}

/* The machine's limits for it. */
static json_t *gpu_json(const struct gpu *gpu, const struct problem *problem)
{
    const double tflops = gpu_peak_tflops(gpu, problem->type);
    const bool bound = tflops > 0 && gpu->memory_gb_per_s > 0;
    return json_pack("{s:o, s:o, s:o}", "peak_tflops", known(tflops), "memory_gb_per_s",
                     known(gpu->memory_gb_per_s), "roofline_us",
                     bound ? known(model_roofline_us(problem, tflops, gpu->memory_gb_per_s)) : json_null());
}

static const char *state_name(const struct db_winner *w)
{
    if (!w->decision_id) return "no winner yet";
    if (w->base.predicted) return "predicted";
    if (w->unusable) return "unusable";
    return w->imported ? "imported" : w->stale ? "stale" : "ok";
}

/* Only this machine's own GPU can race it again. */
static const char *due_here(const struct report_wanted *wanted, const struct db_winner *w)
{
    const bool here = wanted->now && gpu_same_name(wanted->now->gpu.name, w->gpu.name);
    return here ? due_name(w->due) : NULL;
}

static json_t *row_json(const struct report_wanted *wanted, const struct db_winner *w)
{
    const struct problem *p = &w->base.problem;
    char problem[PROBLEM_TEXT_MAX];
    problem_format(p, problem);
    const bool decided = w->decision_id != 0;
    const char *used = !decided ? NULL : answer_name(w);
    const double used_us = decided ? answer_us(&w->base) : 0;
    json_t *row = json_pack("{s:s, s:o, s:s, s:s, s:f}", "problem", problem, "gpu", text_json(w->gpu.name),
                            "cache", w->base.cold ? "cold" : "hot", "type", gemm_type_row(p->type)->name,
                            "intensity", problem_flop(p) / problem_bytes(p));
    json_t *rest = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "configuration", said(w->config_text), "used",
        said(used), "used_us", known(used_us), "tflops", known(race_tflops(p, used_us)), "ratio",
        known(w->base.ratio), "ratio_low", known(w->base.ratio_low), "ratio_high", known(w->base.ratio_high),
        "rival", said(w->rival), "rival_us", known(answer_rival_us(&w->base)), "state", state_name(w));
    json_t *made = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:I, s:b, s:b, s:i, s:i}", "when",
                             said(w->base.when), "driver", said(w->driver), "cublas", said(w->cublas),
                             "nvrtc", said(w->nvrtc), "why", said(w->why), "due", said(due_here(wanted, w)),
                             "trials_made", w->trials, "legal", (json_int_t)w->legal_count, "tied", w->tied,
                             "pinned", w->pin_holds, "registers", w->registers, "smem_bytes", w->smem_bytes);
    if (gemm_type_has_limits(p->type)) {
        char text[ACCURACY_TEXT_MAX];
        const struct accuracy_claim claim = reading_claim(w);
        json_object_set_new(row, "error", known(claim.rms));
        json_object_set_new(row, "checked", said(accuracy_checked_format(&claim.checked, text)));
    }
    if (w->base.ratio > 0) json_object_set_new(row, "timing", json_string(timing_name(w->timing)));
    json_object_set_new(row, "joules", known(w->joules));
    json_object_set_new(row, "rival_joules", known(w->rival_joules));
    json_object_update(row, rest);
    json_object_update(row, made);
    json_decref(rest);
    json_decref(made);
    json_t *bound = gpu_json(&w->gpu, p);
    json_object_update(row, bound);
    json_decref(bound);
    return row;
}

/* ---- what it was before ---- */

struct earlier {
    const struct db_winner *now;
    struct db_winner winner;
    bool found;
};

static bool take_earlier(void *self, const struct db_winner *w)
{
    struct earlier *e = self;
    if (w->base.cold != e->now->base.cold || w->gpu.sm_count != e->now->gpu.sm_count) return true;
    e->winner = *w;
    e->found = true;
    return false;
}

/* In per cent. */
static json_t *percent(double quotient)
{
    return real(100 * (quotient - 1));
}

static enum status add_change(const struct report_wanted *wanted, const struct db_winner *w, json_t *row)
{
    struct earlier earlier = {.now = w};
    struct decided a, b;
    const struct db_filter filter = {.gpu = w->gpu.name, .problem = &w->base.problem};
    if (!wanted->before || w->decision_id == 0) return OK;
    enum status st = db_winners(wanted->before, &filter, NULL, take_earlier, &earlier);
    if (st == E_ABSENT) st = OK;
    if (!st && earlier.found) st = decided_read(wanted->before, &earlier.winner, &a);
    if (!st) st = decided_read(wanted->db, w, &b);
    if (st) return st;
    const struct change c = change_of(earlier.found ? &a : NULL, &b);
    json_object_set_new(row, "change", json_string(earlier.found ? change_name(c.verdict) : "new"));
    if (!earlier.found) return OK;
    json_object_set_new(row, "change_percent", percent(c.used.value));
    json_object_set_new(row, "change_low", percent(c.used.low));
    json_object_set_new(row, "change_high", percent(c.used.high));
    json_object_set_new(row, "before_us", known(a.used_us.value));
    json_object_set_new(row, "before_winner", text_json(decided_answer(&a)));
    json_object_set_new(row, "before_made", text_json(earlier.winner.base.when));
    json_object_set_new(row, "before_driver", said(earlier.winner.driver));
    json_object_set_new(row, "other_winner", json_boolean(c.other_winner));
    return OK;
}

/* ---- its details ---- */

static enum status add_race(struct db *db, const struct db_winner *w, json_t *row)
{
    struct db_evidence evidence = {0};
    struct ranked *ranked = NULL;
    int count = 0;
    json_t *race = json_array();
    enum status st = w->decision_id ? db_evidence(db, w->decision_id, &evidence) : OK;
    if (!st && w->decision_id) st = race_rank(&evidence, w->config_text, &ranked, &count);
    for (int i = 0; i < count && !st; i++) {
        const struct ranked *r = &ranked[i];
        json_array_append_new(
            race, json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:b}", "configuration", text_json(r->text),
                            "blocks", r->blocks, "median_us", real(r->median_us), "behind", real(r->behind),
                            "low", real(r->behind_low), "high", real(r->behind_high), "failed", r->failed));
    }
    free(ranked);
    db_evidence_free(&evidence);
    json_object_set_new(row, "race", race);
    return st;
}

static enum status add_failures(struct db *db, const struct db_filter *filter, bool cold, json_t *row)
{
    struct tried tried = {0};
    json_t *failures = json_array(), *verdicts = json_object();
    const enum status st = tried_collect(db, filter, cold, NULL, &tried);
    for (int v = 0; v < VERDICT_COUNT && !st; v++)
        if (tried.verdicts[v])
            json_object_set_new(verdicts, verdict_name((enum verdict)v), json_integer(tried.verdicts[v]));
    for (int i = 0; i < tried.group_count && !st; i++) {
        const struct tried_group *g = &tried.groups[i];
        json_array_append_new(failures, json_pack("{s:s, s:i, s:o, s:o}", "verdict",
                                                  g->recovered ? "cut off" : verdict_name(g->verdict),
                                                  "count", g->count, "reason", text_json(g->reason),
                                                  "example", text_json(g->example)));
    }
    tried_free(&tried);
    json_object_set_new(row, "failures", failures);
    json_object_set_new(row, "verdicts", verdicts);
    return st == E_ABSENT ? OK : st;
}

static enum status add_details(struct db *db, const struct db_winner *w, size_t trials_most, json_t *row)
{
    const struct db_filter filter = {.gpu = w->gpu.name, .problem = &w->base.problem};
    json_t *trials = NULL;
    char command[1024] = "";
    enum status st = w->decision_id ? db_decision_command(db, w->decision_id, command, sizeof command) : OK;
    if (!st) json_object_set_new(row, "command", said(command));
    if (!st) st = add_race(db, w, row);
    if (!st) st = add_failures(db, &filter, w->base.cold, row);
    if (!st) st = report_trials(db, &filter, w->base.cold, trials_most, &trials);
    if (!st) json_object_set_new(row, "trials", trials);
    return st;
}

/* ---- the whole ---- */

static json_t *verdict_names(void)
{
    json_t *list = json_array();
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_array_append_new(list, json_string(verdict_name((enum verdict)v)));
    return list;
}

/* By family, the words that people are spared: parameters that have their least value (config_brief). */
static json_t *usual_words(const struct rows *rows)
{
    json_t *families = json_object();
    for (size_t i = 0; i < rows->count; i++) {
        const struct template *t = rows->at[i].config.template;
        if (!t || json_object_get(families, t->name)) continue;
        json_t *words = json_array();
        for (int p = 0; p < t->param_count; p++)
            json_array_append_new(words, json_sprintf("%s=%d", t->params[p].name, (int)t->params[p].least));
        json_object_set_new(families, t->name, words);
    }
    return families;
}

/* Rows, all of them, and the details of the first. */
static enum status collect(const struct report_wanted *wanted, const struct rows *rows, json_t *list,
                           json_t *details)
{
    size_t most = rows->count ? TRIALS_ALL / rows->count : 0;
    most = most < TRIALS_LEAST ? TRIALS_LEAST : most > TRIALS_MOST ? TRIALS_MOST : most;
    enum status st = OK;
    for (size_t i = 0; i < rows->count && !st; i++) {
        const struct db_winner *w = &rows->at[i];
        json_t *row = row_json(wanted, w), *detail = i < DETAILS_MOST ? json_object() : NULL;
        if (!row || json_array_append_new(list, row) ||
            (i < DETAILS_MOST && json_array_append_new(details, detail)))
            st = fail(E_MEMORY, "out of memory for the report");
        else if (detail) st = add_details(wanted->db, w, most, detail);
        if (!st) st = add_change(wanted, w, row);
    }
    return st;
}

enum status report_data(const struct report_wanted *wanted, json_t **data)
{
    struct rows rows = {0};
    char when[32];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    enum status st = list_rows(wanted, &rows);
    if (!st && rows.count == 0 && !wanted->live) st = fail(E_ABSENT, "nothing is known of these problems");
    json_t *list = json_array(), *details = json_array();
    if (!st) st = collect(wanted, &rows, list, details);
    *data = st ? NULL
               : json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:o, s:O}", "made", when, "program",
                           command_version, "database", text_json(wanted->file), "before",
                           said(wanted->before_file), "command", text_json(wanted->command), "live",
                           wanted->live, "verdicts", verdict_names(), "usual", usual_words(&rows), "count",
                           (json_int_t)rows.count, "columns", report_columns(list), "details", details);
    free(rows.at);
    json_decref(list);
    json_decref(details);
    if (!st && !*data) st = fail(E_MEMORY, "out of memory for the report");
    return st;
}

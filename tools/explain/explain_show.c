#include "explain.h"

#include "db_view.h"
#include "print.h"
#include "race_cells.h"
#include "stats.h"
#include "table.h"
#include "template.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_SHOWN 12
#define NOTES_SHOWN  6

void explanation_free(struct explanation *e)
{
    free(e->ranked);
    db_evidence_free(&e->evidence);
    tried_free(&e->tried);
    free(e->preferences);
    free(e->notes);
}

/* What the user's search has found: the winner, or the prediction that does not answer. */
static const struct db_winner *found_here(const struct explanation *e)
{
    return e->predicted.config_text[0] ? &e->predicted : &e->winner;
}

static double percent(double x)
{
    return 100 * x;
}

/* --- for people --- */

static void title(FILE *out, const char *words)
{
    print_end(out);
    print_line(out, "%s", words);
}

void explain_say(FILE *out, const char *name, const char *format, ...)
{
    enum { NAMES = 13 };
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_part(out, "%-*s", NAMES, name);
    print_wrapped(out, NAMES, print_columns(out), line);
}

static const char *rival_of(const struct db_winner *w)
{
    return w->rival[0] ? w->rival : "cuBLAS";
}

/* The race, to cuBLAS: the stored configuration is only the best of the kernels. */
static bool lost(const struct db_winner *w)
{
    return w->config.template && answer_is_cublas(w);
}

static void say_ratio(const struct db_winner *w, FILE *out)
{
    if (w->base.ratio <= 0) return;
    char rounds[64];
    if (w->rounds > 0 && w->rounds < STATS_INTERVAL_MIN)
        snprintf(rounds, sizeof rounds, ", range of %d rounds)", w->rounds);
    else snprintf(rounds, sizeof rounds, " with 95 %% confidence), %d rounds", w->rounds);
    explain_say(out, "x cuBLAS", "%.3f (%.3f..%.3f%s against %.2f us of %s", w->base.ratio, w->base.ratio_low,
                w->base.ratio_high, rounds, w->base.anchor_us, rival_of(w));
}

static void say_timing(const struct db_winner *w, FILE *out)
{
    static const char *const what[TIMING_COUNT + 1] = {
        [TIMING_REPEAT] = "the call again and again",
        [TIMING_BEHIND] = "behind another kernel, which has just written A",
        [TIMING_LOAD] = "under load, so long that clocks and power have settled",
        [TIMING_COUNT] = "in a way that only a later version knows"};
    if (w->base.predicted || w->base.ratio <= 0) return;
    explain_say(out, "timed", "%s%s", what[w->timing],
                w->by_energy ? "; of the fastest the one of least energy won" : "");
    if (w->joules > 0 && w->rival_joules > 0)
        explain_say(out, "energy", "%.4g J a call, %.3f of %s's %.4g J", w->joules,
                    w->joules / w->rival_joules, rival_of(w), w->rival_joules);
    else if (w->joules > 0) explain_say(out, "energy", "%.4g J a call", w->joules);
}

/* Of an accuracy class. */
static void say_checked(const struct db_winner *w, FILE *out)
{
    char text[ACCURACY_TEXT_MAX];
    const struct accuracy_claim claim = reading_claim(w);
    if (accuracy_claim_format(&claim, false, text)[0]) explain_say(out, "checked", "%s", text);
}

static void say_winner(const struct explanation *e, FILE *out)
{
    const struct db_winner *w = &e->winner;
    if (lost(w)) explain_say(out, "winner", "cuBLAS: no kernel was faster than %s", rival_of(w));
    explain_say(out, lost(w) ? "best kernel" : "winner", "%s", w->config_text);
    if (e->from != ANSWER_OWN)
        explain_say(out, "from", "%s",
                    e->from == ANSWER_SYSTEM ? "the system's database" : "it ships with gemmtune");
    explain_say(out, "time", "%.2f us, %.2f TFLOPS%s", w->base.time_us,
                race_tflops(&w->base.problem, w->base.time_us),
                w->base.predicted ? " (predicted by the model, never run)" : "");
    say_ratio(w, out);
    say_timing(w, out);
    if (w->errors.measured)
        explain_say(out, "errors", "%.2g of |A||B| at most, %.2g rms and %.2g at most of the largest C",
                    w->errors.componentwise, w->errors.rms, w->errors.max);
    if (w->rival_errors.measured)
        explain_say(out, "the rival's", "%.2g of |A||B| at most, %.2g rms and %.2g at most of the largest C",
                    w->rival_errors.componentwise, w->rival_errors.rms, w->rival_errors.max);
    say_checked(w, out);
    if (!w->base.predicted && strcmp(w->config_text, "cublas") != 0)
        explain_say(out, "right", "integers %s; %d registers, %d bytes of shared memory",
                    w->base.exact ? "bit by bit" : "not compared bit by bit", w->registers, w->smem_bytes);
    if (reading_workspace(w) > 0)
        explain_say(out, "workspace", "%.1f MiB of device memory", reading_workspace(w) / (1 << 20));
    char versions[3 * (DB_TEXT_MAX + 16)] = "";
    const char *const known[][2] = {{"driver", w->driver}, {"cuBLAS", w->cublas}, {"NVRTC", w->nvrtc}};
    size_t used = 0;
    for (int i = 0; i < 3; i++)
        if (known[i][1][0])
            used += (size_t)snprintf(versions + used, sizeof versions - used, ", %s %s", known[i][0],
                                     known[i][1]);
    explain_say(out, "made", "%s%s, operands %s", w->base.when, versions,
                w->base.cold ? "out of the cache" : "in the cache");
    explain_say(out, "state", "%s%s%s",
                w->unusable ? "unusable"
                : w->stale  ? "stale"
                            : "ok",
                w->why[0] ? ": " : "", w->why);
    if (e->predicted.config_text[0]) {
        char why[ANSWER_INSTEAD_MAX];
        answer_instead(&w->base, e->from, why);
        explain_say(out, "predicted", "%.2f us by the model, of %s; it does not answer: %s",
                    e->predicted.base.time_us, e->predicted.config_text, why);
    }
}

static const struct ranked *runner_up(const struct explanation *e)
{
    for (int i = 1; i < e->ranked_count; i++)
        if (e->ranked[i].runner >= 0 && !e->ranked[i].failed && !isnan(e->ranked[i].behind))
            return &e->ranked[i];
    return NULL;
}

static void say_margin(const struct explanation *e, FILE *out)
{
    const struct ranked *up = runner_up(e);
    if (!e->winner.base.predicted && e->from == ANSWER_OWN && !up)
        explain_say(out, "runner-up", "none: it ran alone or against cuBLAS only");
    if (!up) return;
    explain_say(out, "runner-up", "%s", up->text);
    explain_say(out, "margin", "%+.2f %% (%.2f..%.2f) behind the %s in %d common round%s",
                percent(up->behind), percent(up->behind_low), percent(up->behind_high),
                lost(&e->winner) ? "best kernel" : "winner", up->blocks, PRINT_S(up->blocks));
    if (e->winner.tied)
        explain_say(
            out, "tie",
            "others could not be told apart from the fastest (within 0.1 %%, or within 0.5 %% and not proven "
            "slower): less shared memory, then fewer registers, then the text decided");
}

/* What a person has decided. */
static void say_preferences(const struct explanation *e, FILE *out)
{
    for (int i = 0; i < e->preference_count; i++) {
        const struct db_preference *p = &e->preferences[i];
        if (!p->pin)
            explain_say(out, "excluded", "%s (since %s; tune --include takes it back)", p->config_text,
                        p->when);
        else if (e->decided && strcmp(p->config_text, e->winner.config_text) == 0)
            explain_say(out, "pinned", "since %s: no other is considered%s (tune --unpin takes it back)",
                        p->when, answer_is_rival(&e->winner.base) ? ", though cuBLAS is faster" : "");
        else explain_say(out, "pinned", "%s (since %s; tune --unpin takes it back)", p->config_text, p->when);
    }
}

static enum status say_race(const struct explanation *e, FILE *out, int width)
{
    static const struct column columns[] = {
        {"place", "place", COLUMN_NUMBER | COLUMN_KEY, 0},
        {"blocks", "blocks", COLUMN_NUMBER | COLUMN_RANK(3), 0},
        {"median_us", "median (us)", COLUMN_NUMBER, 2},
        {"behind_percent", "behind (%)", COLUMN_NUMBER, 2},
        {"low", "low", COLUMN_NUMBER | COLUMN_RANK(2), 2},
        {"high", "high", COLUMN_NUMBER | COLUMN_RANK(2), 2},
        {"configuration", "configuration", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(3), 0}};
    if (e->ranked_count == 0) return OK;
    struct table *t = table_new(columns, 7);
    if (!t) return fail(E_MEMORY, "out of memory while explaining");
    for (int i = 0; i < e->ranked_count; i++) {
        const struct ranked *r = &e->ranked[i];
        table_number(t, r->failed ? (double)NAN : i + 1);
        table_number(t, r->blocks);
        table_number(t, r->median_us);
        table_number(t, percent(r->behind));
        table_number(t, percent(r->behind_low));
        table_number(t, percent(r->behind_high));
        table_text(t, r->text);
    }
    title(out, "The race");
    enum status st = table_print_text(t, width, out);
    table_free(t);
    return st;
}

/* What became of the trials: "30 measured, 2 wrong". */
static void count_verdicts(const struct tried *t, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int v = 0; v < VERDICT_COUNT && used < room; v++)
        if (t->verdicts[v])
            used += (size_t)snprintf(text + used, room - used, "%s %d %s", used ? "," : "", t->verdicts[v],
                                     verdict_name((enum verdict)v));
    if (t->recovered && used < room)
        used += (size_t)snprintf(text + used, room - used, "%s %d cut off by a kill", used ? "," : "",
                                 t->recovered);
    if (t->outdated && used < room)
        snprintf(text + used, room - used, "%s %d with kernels that have changed since", used ? "," : "",
                 t->outdated);
}

static void say_search(const struct explanation *e, FILE *out)
{
    const struct tried *t = &e->tried;
    char verdicts[512], share[96] = "", pace[256];
    const struct db_winner *w = found_here(e);
    title(out, "The search");
    if (e->decided && w->legal_count > 0)
        explain_say(out, "possible", "%" PRId64 " configuration%s", w->legal_count, PRINT_S(w->legal_count));
    count_verdicts(t, verdicts, sizeof verdicts);
    explain_say(out, "tried", "%d configuration%s in %d trial%s:%s", t->configs, PRINT_S(t->configs),
                t->trials, PRINT_S(t->trials), verdicts);
    if (search_pace_text(&e->pace, pace, sizeof pace)) explain_say(out, "pace", "%s", pace);
    if (w->model_first16_share > 0)
        snprintf(share, sizeof share, "; the best of its first 16 reaches %.1f %% of the winner's speed",
                 percent(w->model_first16_share));
    if (e->decided && w->model_rank > 0)
        explain_say(out, "model", "ranked the %s %d before anything ran%s",
                    w == &e->winner ? "winner" : "predicted one", w->model_rank, share);
    for (int i = 0; i < e->note_count && i < NOTES_SHOWN; i++)
        explain_say(out, i ? "" : "notes", "%s: %s", e->notes[i].when, e->notes[i].text);
    if (t->best_us > 0)
        explain_say(out, "fastest", "%.2f us%s: %s", t->best_us,
                    t->predicted ? " (predicted)" : " when tried alone", t->best);
}

static enum status say_failures(const struct explanation *e, FILE *out, int width)
{
    static const struct column columns[] = {
        {"count", "count", COLUMN_NUMBER | COLUMN_KEY, 0},
        {"verdict", "verdict", COLUMN_TEXT | COLUMN_KEY, 0},
        {"reason", "reason, and an example", COLUMN_TEXT | COLUMN_LAST, 0}};
    if (e->tried.group_count == 0) return OK;
    struct table *t = table_new(columns, 3);
    if (!t) return fail(E_MEMORY, "out of memory while explaining");
    for (int i = 0; i < e->tried.group_count && i < GROUPS_SHOWN; i++) {
        const struct tried_group *g = &e->tried.groups[i];
        table_number(t, g->count);
        table_text(t, verdict_name(g->verdict));
        char reason[sizeof g->reason + sizeof g->example + 8];
        snprintf(reason, sizeof reason, "%s (%s)", g->reason, g->example);
        table_text(t, reason);
    }
    title(out, "What failed");
    enum status st = table_print_text(t, width, out);
    if (e->tried.group_count > GROUPS_SHOWN)
        print_line(out, "and %d other reasons (--format json has them all)",
                   e->tried.group_count - GROUPS_SHOWN);
    table_free(t);
    return st;
}

/* The value that the winner has, or the prediction, or the best where nothing was decided. */
static bool is_chosen(const struct explanation *e, const struct tried_value *v)
{
    struct config config;
    const char *text = e->decided ? found_here(e)->config_text : e->tried.best;
    return config_parse(text, &config) == OK && config.template == e->tried.template &&
           config.value[v->param] == v->value;
}

/* Parameters that took one value only say nothing. */
static bool varied(const struct tried *t, int at)
{
    return (at > 0 && t->values[at - 1].param == t->values[at].param) ||
           (at + 1 < t->value_count && t->values[at + 1].param == t->values[at].param);
}

static enum status say_values(const struct explanation *e, FILE *out, int width)
{
    static const struct column columns[] = {{"parameter", "parameter", COLUMN_TEXT | COLUMN_KEY, 0},
                                            {"value", "value", COLUMN_NUMBER | COLUMN_KEY, 0},
                                            {"chosen", "chosen", COLUMN_TEXT, 0},
                                            {"best_us", "best (us)", COLUMN_NUMBER, 2},
                                            {"loss", "loss (%)", COLUMN_NUMBER | COLUMN_RANK(1), 1},
                                            {"count", "tried", COLUMN_NUMBER | COLUMN_RANK(2), 0}};
    const struct tried *tried = &e->tried;
    struct table *t = table_new(columns, 6);
    if (!t) return fail(E_MEMORY, "out of memory while explaining");
    for (int i = 0; i < tried->value_count; i++) {
        const struct tried_value *v = &tried->values[i];
        if (!varied(tried, i)) continue;
        bool again = i > 0 && tried->values[i - 1].param == v->param;
        table_text(t, again ? "" : tried->template->params[v->param].name);
        table_number(t, v->value);
        table_text(t, is_chosen(e, v) ? "<-" : "");
        table_number(t, v->best_us);
        table_number(t, percent(v->best_us / tried->best_us - 1));
        table_number(t, v->count);
    }
    enum status st = OK;
    if (table_rows(t) > 0) {
        print_end(out);
        print_line(out, "Best time by value (%s%s)", tried->template->name,
                   tried->predicted ? ", predicted" : "");
        st = table_print_text(t, width, out);
    }
    table_free(t);
    return st;
}

enum status explain_text(const struct explanation *e, FILE *out)
{
    char problem[PROBLEM_TEXT_MAX];
    int width = print_columns(out);
    problem_format(&e->problem, problem);
    print_line(out, "%s on %s", problem, e->gpu);
    if (e->decided) {
        say_winner(e, out);
        say_margin(e, out);
    } else if (e->winner.config_text[0]) {
        explain_say(out, "winner", "none: %s, decided %s, has failed since", e->winner.config_text,
                    e->winner.base.when);
    } else {
        explain_say(out, "winner", "none yet: the search was interrupted before its race");
    }
    say_preferences(e, out);
    enum status st = e->decided ? say_race(e, out, width) : OK;
    if (!st) say_search(e, out);
    if (!st) st = say_failures(e, out, width);
    if (!st) st = say_values(e, out, width);
    return st;
}

/* --- JSON --- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *errors_json(const struct db_errors *e)
{
    if (!e->measured) return json_null();
    return json_pack("{s:f, s:f, s:f}", "componentwise", e->componentwise, "rms", e->rms, "max", e->max);
}

static json_t *checked_json(const struct db_winner *w)
{
    char text[ACCURACY_TEXT_MAX];
    return accuracy_checked_format(&w->checked, text)[0] ? json_string(text) : json_null();
}

/* used: NULL if it does not answer. */
static json_t *winner_json(const struct db_winner *w, enum answer_from from, const char *used)
{
    json_t *ratio = w->base.ratio > 0 ? json_pack("{s:f, s:f, s:f, s:o, s:f}", "ratio", w->base.ratio, "low",
                                                  w->base.ratio_low, "high", w->base.ratio_high, "rival",
                                                  text_json(w->rival), "cublas_us", w->base.anchor_us)
                                      : json_null();
    return json_pack(
        "{s:o, s:s, s:s?, s:f, s:o, s:o, s:b, s:b, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:i, s:I, s:i, "
        "s:i, s:i, s:o, s:f, s:o, s:o, s:o, s:s, s:s, s:o, s:o}",
        "configuration", text_json(w->config_text), "from", answer_from_name(from), "used", used, "time_us",
        w->base.time_us, "tflops", real(race_tflops(&w->base.problem, w->base.time_us)), "x_cublas", ratio,
        "tied", w->tied, "bitwise", w->base.exact, "provenance", w->base.predicted ? "predicted" : "measured",
        "state",
        w->unusable ? "unusable"
        : w->stale  ? "stale"
                    : "ok",
        "why", text_json(w->why), "when", w->base.when, "cache", w->base.cold ? "cold" : "hot", "driver",
        text_json(w->driver), "cublas", text_json(w->cublas), "nvrtc", text_json(w->nvrtc), "rounds",
        w->rounds, "legal", (json_int_t)w->legal_count, "model_rank", w->model_rank, "registers",
        w->registers, "smem_bytes", w->smem_bytes, "workspace_bytes", real(reading_workspace(w)),
        "model_first16_share", w->model_first16_share, "errors", errors_json(&w->errors), "rival_errors",
        errors_json(&w->rival_errors), "checked", checked_json(w), "timing", timing_name(w->timing),
        "objective", w->by_energy ? "energy" : "time", "joules", real(w->joules), "rival_joules",
        real(w->rival_joules));
}

static json_t *race_json(const struct explanation *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->ranked_count; i++) {
        const struct ranked *r = &e->ranked[i];
        json_array_append_new(list, json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:b}", "configuration",
                                              text_json(r->text), "blocks", r->blocks, "median_us",
                                              real(r->median_us), "behind", real(r->behind), "behind_low",
                                              real(r->behind_low), "behind_high", real(r->behind_high),
                                              "failed", r->failed));
    }
    return list;
}

static json_t *failures_json(const struct tried *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->group_count; i++) {
        const struct tried_group *g = &t->groups[i];
        json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:o, s:o}", "count", g->count, "verdict",
                                              verdict_name(g->verdict), "cut_off", g->recovered, "reason",
                                              text_json(g->reason), "example", text_json(g->example)));
    }
    return list;
}

static json_t *values_json(const struct explanation *e)
{
    json_t *list = json_array();
    const struct tried *t = &e->tried;
    for (int i = 0; i < t->value_count; i++) {
        const struct tried_value *v = &t->values[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:f, s:i, s:b}", "parameter",
                                        t->template->params[v->param].name, "value", (int)v->value, "best_us",
                                        v->best_us, "tried", v->count, "chosen", is_chosen(e, v)));
    }
    return list;
}

static json_t *preferences_json(const struct explanation *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->preference_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "kind",
                                              e->preferences[i].pin ? "pinned" : "excluded", "configuration",
                                              text_json(e->preferences[i].config_text), "since",
                                              e->preferences[i].when));
    return list;
}

static json_t *notes_json(const struct explanation *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->note_count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "when", e->notes[i].when, "text", text_json(e->notes[i].text)));
    return list;
}

json_t *explain_json(const struct explanation *e)
{
    const struct tried *t = &e->tried;
    char problem[PROBLEM_TEXT_MAX];
    problem_format(&e->problem, problem);
    json_t *verdicts = json_object();
    for (int v = 0; v < VERDICT_COUNT; v++)
        if (t->verdicts[v])
            json_object_set_new(verdicts, verdict_name((enum verdict)v), json_integer(t->verdicts[v]));
    json_t *tried = json_pack("{s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "trials", t->trials, "configurations",
                              t->configs, "outdated", t->outdated, "cut_off", t->recovered, "verdicts",
                              verdicts, "fastest", t->best_us > 0 ? text_json(t->best) : json_null(),
                              "fastest_us", t->best_us > 0 ? json_real(t->best_us) : json_null());
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "problem", problem, "gpu",
        text_json(e->gpu), "winner",
        e->decided ? winner_json(&e->winner, e->from, answer_name(&e->winner)) : json_null(), "predicted",
        e->predicted.config_text[0] ? winner_json(&e->predicted, ANSWER_OWN, NULL) : json_null(), "race",
        race_json(e), "tried", tried, "pace", search_pace_json(&e->pace), "failures", failures_json(t),
        "values", values_json(e), "preferences", preferences_json(e), "notes", notes_json(e));
}

#include "explain.h"

#include "print.h"
#include "race_cells.h"
#include "report.h"
#include "table.h"

#include <math.h>
#include <string.h>

#define OTHERS_SHOWN 3

/* A search gains nearly all it gains in so many trials (docs/results/h200-search-fast.md), which take so long
 * beside their calls. */
#define TRIALS_USUAL 300
#define TRIAL_S      0.03
#define TRIAL_CALLS  20

static const char *source_name(enum choice_source source)
{
    static const char *const names[] = {[CHOICE_EXACT] = "exact",
                                        [CHOICE_NEAREST] = "nearest",
                                        [CHOICE_PREDICTED] = "predicted",
                                        [CHOICE_FALLBACK] = "fallback"};
    return names[source];
}

/* By the search for the problem that the choice was measured for, if it is stored here. */
static enum status expect_tuning(struct db *db, struct untuned *u)
{
    const struct choice *c = &u->choices[0];
    struct problem near;
    struct search_pace pace = {0};
    u->trials = TRIALS_USUAL;
    u->tuning_s = TRIALS_USUAL * (TRIAL_S + TRIAL_CALLS * 1e-6 * c->time_us);
    if (!db || u->count == 0 || c->pretuned || problem_parse(c->tuned_for, &near)) return OK;
    const struct db_filter filter = {.gpu = u->gpu.name, .problem = &near};
    enum status st = search_pace_collect(db, &filter, true, &pace);
    if (st == E_ABSENT) return OK;
    if (st || !(pace.seconds > 0) || pace.trials < 10) return st;
    u->trials = pace.trials;
    u->tuning_s = pace.seconds;
    u->measured = true;
    return OK;
}

enum status untuned_find(struct db *db, const char *database, const struct gpu *gpu,
                         const struct problem *problem, struct untuned *u)
{
    struct winner_store store = {0};
    struct notices notices;
    *u = (struct untuned){.problem = *problem, .gpu = *gpu};
    notices_start(&notices, true);
    enum status st = database ? winner_store_open(&store, gpu, database, NULL, &notices)
                              : winner_store_open_shared(&store, gpu, NULL, &notices);
    if (!st) st = winner_store_ask(&store);
    if (!st) st = lookup_exact(&store, problem, 16, u->choices, &u->count);
    if (!st && u->count == 0) st = lookup_others(&store, problem, 16, u->choices, &u->count);
    winner_store_close(&store);
    return st ? st : expect_tuning(db, u);
}

/* ---- for people ---- */

/* "cublas", or the configuration without the parameters that have their least value. */
static void name(const struct choice *c, char text[CONFIG_TEXT_MAX])
{
    if (c->cublas) snprintf(text, CONFIG_TEXT_MAX, "cublas");
    else config_brief(&c->config, text);
}

void untuned_text(const struct untuned *u, FILE *out)
{
    char problem[PROBLEM_TEXT_MAX], text[CONFIG_TEXT_MAX], takes[32], checked[ACCURACY_TEXT_MAX];
    const struct choice *c = &u->choices[0];
    const bool measured = c->source == CHOICE_EXACT;
    format_duration(u->tuning_s, takes);
    problem_format(&u->problem, problem);
    print_line(out, "%s on %s", problem, u->gpu.name);
    explain_say(out, "winner", "none: it was never tuned");
    if (u->count == 0) {
        explain_say(out, "would use", "nothing: no configuration is legal for it");
        return;
    }
    name(c, text);
    explain_say(out, "would use", "%s", text);
    explain_say(out, "because", "%s: %s", source_name(c->source), c->why);
    if (c->time_us > 0)
        explain_say(out, "time", "%.2f us, %.2f TFLOPS (%s)", c->time_us,
                    race_tflops(&u->problem, c->time_us), measured ? "measured" : "expected, not measured");
    if (c->gain > 0 && !c->cublas)
        explain_say(out, "x cuBLAS", "%.3f%s", c->gain, measured ? "" : " expected");
    if (choice_checked(c, &u->problem, checked)[0]) explain_say(out, "checked", "%s", checked);
    if (c->loss >= 0)
        explain_say(out, "loss", "about %.0f %% of the time, against what tuning it is expected to find",
                    100 * c->loss);
    else explain_say(out, "loss", "unknown");
    for (int i = 1; i < u->count && i <= OTHERS_SHOWN; i++) {
        name(&u->choices[i], text);
        explain_say(out, i == 1 ? "else" : "", "%s (%s)", text, source_name(u->choices[i].source));
    }
    explain_say(out, "tuning it",
                "takes about %s (%d trials%s%s), most of the gain comes first: tune --shape %s", takes,
                u->trials, u->measured ? ", as for " : "", u->measured ? c->tuned_for : "", problem);
}

/* ---- JSON ---- */

static json_t *known(double value, double least)
{
    return isfinite(value) && value >= least ? json_real(value) : json_null();
}

static json_t *choice_json(const struct problem *problem, const struct choice *c)
{
    char text[CONFIG_TEXT_MAX] = "cublas", checked[ACCURACY_TEXT_MAX];
    if (!c->cublas) config_format(&c->config, text);
    return json_pack(
        "{s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "source", source_name(c->source), "configuration",
        text, "tuned_for", c->tuned_for[0] ? text_json(c->tuned_for) : json_null(), "pretuned", c->pretuned,
        "expected_us", known(c->time_us, 1e-9), "expected_ratio", known(c->cublas ? 0 : c->gain, 1e-9),
        "expected_loss", known(c->loss, 0), "why", text_json(c->why), "checked",
        choice_checked(c, problem, checked)[0] ? json_string(checked) : json_null());
}

json_t *untuned_json(const struct untuned *u)
{
    char problem[PROBLEM_TEXT_MAX];
    json_t *choices = json_array();
    problem_format(&u->problem, problem);
    for (int i = 0; i < u->count; i++)
        json_array_append_new(choices, choice_json(&u->problem, &u->choices[i]));
    return json_pack("{s:s, s:o, s:n, s:o, s:{s:f, s:i, s:b}}", "problem", problem, "gpu",
                     text_json(u->gpu.name), "winner", "choices", choices, "tuning", "seconds", u->tuning_s,
                     "trials", u->trials, "as_stored", u->measured);
}

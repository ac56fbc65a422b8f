/* cmd_explain.c — tune explain: why this winner. From what is stored alone. */
#include "answers.h"
#include "command_line.h"
#include "commands.h"
#include "explain.h"
#include "paths.h"
#include "print.h"
#include "problem_list.h"
#include "result_json.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* What answers, of the user's database or in place of its prediction. */
struct kept {
    struct db_winner winner,
        predicted; /* predicted: what does not answer; its config_text is "" if it is none */
    enum answer_from from;
};

struct explain {
    struct problem_list problems;
    struct db_view view;
    struct answers *answers;
    const struct problem *problem; /* of the list, in turn */
    struct kept *winners;          /* all that match */
    size_t winner_count;
    size_t shown;   /* explanations, as text */
    json_t *list;   /* with --format json and csv */
    enum status st; /* of collecting */
};

static enum status check_options(void *self)
{
    const struct explain *x = self;
    return x->problems.count ? problem_list_check(&x->problems)
                             : fail(E_USAGE, "say which problem: --shape MxNxK, or --suite FILE");
}

static const struct command_option options[] = {
    OPTION_ROWS_PROBLEMS("a problem, MxNxK or in full (see tune --help)"),
    OPTION_ROW_GPU(struct explain, view.gpu, "only on this GPU"), OPTION_ROW_DB(struct explain, view.file),
    OPTION_ROWS_FORMAT(struct explain, view.format)};

static const char manual[] =
    "Explain why a configuration won: its evidence, the runner-up and the margin, how ties were broken, how "
    "the model ranked it, what was tried, what failed and why, and the best time for each value of each "
    "parameter.\vRace times are compared only within a round, so that clock drift cancels out; margins are "
    "medians with a 95 % interval (of fewer than 6 rounds their range). Others tie with the fastest if they "
    "are within 0.1 %, or within 0.5 % and not proven slower. Times under \"best time by value\" are single "
    "trials, the newest of each configuration; loss is relative to the fastest of them. Pace says what "
    "limited the search in the newest run: the GPU, if it worked for more than 85 % of the time; compiling, "
    "if the GPU worked for less than half of it; both in between; neither if hardly anything was compiled. A "
    "kernel counts once; one that was compiled earlier, or for another problem of the run, does not count, "
    "nor does the time of races and of other problems. Notes are what a search said of itself: that trials "
    "of other problems corrected its order, or that there was nothing to learn from.\n"
    "\n"
    "A problem that was never tuned has no winner: then it is shown what the library would use "
    "in its place (nearest: measured for a similar problem; predicted: by the model), which share of the "
    "time "
    "that is expected to lose, and how long tuning would take. Without a database --gpu names the GPU, and "
    "the "
    "winners that ship answer.\n"
    "\n"
    "If a search was interrupted before its race there is no winner, nor if the winner has failed in a later "
    "trial, race or check; the trials are shown all the same.\n"
    "\n"
    "Examples:\n"
    "  tune explain --shape 4096x4096x4096\n"
    "  tune explain --shape 4096x4096x4096 --gpu this --json\n"
    "\n"
    "Exit status: 0 explained; 1 nothing is known; 2 wrong command line; 3 wrong shape; 4 the database is "
    "foreign, newer or damaged; 5 --gpu this without a GPU; 7 it cannot be read.";

static bool keep(void *self, const struct answer *answer)
{
    struct explain *x = self;
    if (answer->instead && answer->instead_from == ANSWER_OWN) return true;
    struct kept *grown = realloc(x->winners, (x->winner_count + 1) * sizeof *grown);
    if (!grown) {
        x->st = fail(E_MEMORY, "out of memory while listing winners");
        return false;
    }
    x->winners = grown;
    struct kept *k = &x->winners[x->winner_count++];
    *k = (struct kept){.winner = *answer->winner, .from = answer->from};
    if (answer->instead)
        *k = (struct kept){
            .winner = *answer->instead, .predicted = *answer->winner, .from = answer->instead_from};
    return true;
}

static enum status add_json(struct explain *x, json_t *json)
{
    return json_array_append_new(x->list, json) == 0 ? OK : fail(E_MEMORY, "out of memory while explaining");
}

static enum status show(struct explain *x, const struct explanation *e)
{
    if (x->list) return add_json(x, explain_json(e));
    if (x->shown++) print_end(stdout);
    return explain_text(e, stdout);
}

/* ---- a problem that was never tuned ---- */

/* The GPU of the newest run that the filter takes. */
struct gpu_wanted {
    const char *name;
    struct gpu gpu;
    bool found;
};

static bool take_gpu(void *self, const struct db_gpu *gpu)
{
    struct gpu_wanted *w = self;
    w->found = !w->name || gpu_fits(&gpu->gpu, w->name);
    if (w->found) w->gpu = gpu->gpu;
    return !w->found;
}

/* The GPU that is meant: one of the database, else one that is described. */
static enum status choose_gpu(struct explain *x, struct gpu_wanted *wanted)
{
    char folder[PATH_MAX];
    *wanted = (struct gpu_wanted){.name = x->view.filter.gpu ? x->view.filter.gpu : x->view.gpu};
    enum status st = x->view.db ? db_gpus(x->view.db, take_gpu, wanted) : OK;
    if (st || wanted->found || !wanted->name || paths_configs("gpus", folder, sizeof folder)) return st;
    wanted->found = gpu_choose(folder, wanted->name, &wanted->gpu) == OK;
    return OK;
}

/* *answered: false if the GPU is not known. */
static enum status explain_untuned(struct explain *x, bool *answered)
{
    struct gpu_wanted wanted;
    struct untuned untuned;
    enum status st = choose_gpu(x, &wanted);
    *answered = !st && wanted.found;
    if (!*answered) return st;
    st = untuned_find(x->view.db, x->view.db ? x->view.path : NULL, &wanted.gpu, x->problem, &untuned);
    if (st) return st;
    if (x->list) return add_json(x, untuned_json(&untuned));
    if (x->shown++) print_end(stdout);
    untuned_text(&untuned, stdout);
    return OK;
}

/* ---- what a person has decided, and should know ---- */

struct remarks {
    struct explanation *explanation;
    enum status st; /* of collecting */
};

/* Room for one more in a list; NULL out of memory. */
static void *with_one_more(struct remarks *r, void *list, int count, size_t each, const char *what)
{
    void *grown = realloc(list, (size_t)(count + 1) * each);
    if (!grown) r->st = fail(E_MEMORY, "out of memory while listing %s", what);
    return grown;
}

static bool keep_preference(void *self, const struct db_preference *preference)
{
    struct remarks *r = self;
    struct explanation *e = r->explanation;
    struct db_preference *grown =
        with_one_more(r, e->preferences, e->preference_count, sizeof *grown, "pins and exclusions");
    if (!grown) return false;
    e->preferences = grown;
    e->preferences[e->preference_count++] = *preference;
    return true;
}

/* The newest of those that say the same. */
static bool keep_note(void *self, const struct db_search_note *note)
{
    struct remarks *r = self;
    struct explanation *e = r->explanation;
    for (int i = 0; i < e->note_count; i++)
        if (strcmp(e->notes[i].text, note->text) == 0) return true;
    struct db_search_note *grown = with_one_more(r, e->notes, e->note_count, sizeof *grown, "notes");
    if (!grown) return false;
    e->notes = grown;
    e->notes[e->note_count++] = *note;
    return true;
}

static enum status collect_remarks(struct explain *x, const struct db_filter *filter, struct explanation *e)
{
    struct remarks r = {.explanation = e};
    enum status st = db_preferences(x->view.db, filter, keep_preference, &r);
    if (!st && !r.st) st = db_notes(x->view.db, filter, keep_note, &r);
    if (r.st) return r.st;
    return st == E_ABSENT ? OK : st;
}

static enum status explain_winner(struct explain *x, const struct kept *k)
{
    const bool own = k->from == ANSWER_OWN;
    const struct db_winner *stored = own ? &k->winner : &k->predicted; /* in the user's database */
    struct explanation e = {.problem = stored->base.problem,
                            .decided = true,
                            .winner = k->winner,
                            .from = k->from,
                            .predicted = k->predicted};
    memcpy(e.gpu, stored->gpu.name, sizeof e.gpu);
    struct db_filter filter = {.gpu = stored->gpu.name, .problem = &stored->base.problem};
    const struct template *t =
        stored->config.template; /* NULL: cuBLAS, or unusable: that of the fastest tried */
    enum status st = own ? db_evidence(x->view.db, stored->decision_id, &e.evidence) : OK;
    if (!st && own) st = race_rank(&e.evidence, stored->config_text, &e.ranked, &e.ranked_count);
    if (!st) st = tried_collect(x->view.db, &filter, stored->base.cold, t, &e.tried);
    if (!st) st = search_pace_collect(x->view.db, &filter, stored->base.cold, &e.pace);
    if (!st) st = collect_remarks(x, &filter, &e);
    if (!st) st = show(x, &e);
    explanation_free(&e);
    return st;
}

static bool keep_failed(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return false;
}

/* No winner: what was tried, if anything was. */
static enum status explain_undecided(struct explain *x)
{
    struct explanation e = {.problem = *x->problem};
    char problem[PROBLEM_TEXT_MAX];
    problem_format(x->problem, problem);
    snprintf(e.gpu, sizeof e.gpu, "%s", x->view.filter.gpu ? x->view.filter.gpu : "all GPUs");
    enum status st = db_failed_winners(x->view.db, &x->view.filter, keep_failed, &e.winner);
    if (!st) st = tried_collect(x->view.db, &x->view.filter, true, NULL, &e.tried);
    const bool cold = e.tried.configs > 0;
    if (!st && !cold) st = tried_collect(x->view.db, &x->view.filter, false, NULL, &e.tried);
    if (!st) st = search_pace_collect(x->view.db, &x->view.filter, cold, &e.pace);
    if (!st) st = collect_remarks(x, &x->view.filter, &e);
    if (!st && e.tried.configs > 0) st = show(x, &e);
    bool answered = !st && e.tried.configs > 0;
    if (answered)
        print_line(stderr, "tune: %s of %s%s: tune --shape %s goes on where it was",
                   e.winner.config_text[0] ? "the winner" : "no winner", problem,
                   e.winner.config_text[0] ? " has failed since" : " is decided yet", problem);
    else if (!st) st = explain_untuned(x, &answered);
    if (!st && !answered)
        st = db_view_nothing(
            &x->view, "trial",
            &(struct problem_list){.at = (struct problem *)(uintptr_t)x->problem, .count = 1});
    explanation_free(&e);
    return st;
}

static enum status explain_one(struct explain *x, const struct problem *problem)
{
    struct db_view *r = &x->view;
    x->problem = r->filter.problem = problem;
    x->winner_count = 0;
    enum status st = answers_own(x->answers, &r->filter, keep, x);
    if (!st) st = x->st;
    if (!st && x->winner_count == 0) return explain_undecided(x);
    for (size_t i = 0; !st && i < x->winner_count; i++) st = explain_winner(x, &x->winners[i]);
    return st;
}

/* A problem of which nothing is known does not keep the others from being explained. */
static enum status explain_all(struct explain *x)
{
    char sentence[1024];
    size_t without = 0;
    for (size_t i = 0; i < x->problems.count; i++) {
        const enum status st = explain_one(x, &x->problems.at[i]);
        if (st == E_ABSENT && without++ == 0) snprintf(sentence, sizeof sentence, "%s", status_text());
        if (st && st != E_ABSENT) return st;
    }
    if (without > 1)
        return fail(E_ABSENT, "nothing is known of %zu of %zu problems; the first: %s", without,
                    x->problems.count, sentence);
    return without ? fail(E_ABSENT, "%s", sentence) : OK;
}

/* There is no database: what ships with the program still answers, but in place of no file that was named. */
static enum status explain_without_db(struct explain *x)
{
    char sentence[1024];
    bool all = x->view.file == NULL, answered;
    snprintf(sentence, sizeof sentence, "%s", status_text());
    for (size_t i = 0; i < x->problems.count; i++) {
        x->problem = &x->problems.at[i];
        const enum status st = explain_untuned(x, &answered);
        if (st) return st;
        all &= answered;
    }
    return all ? OK : fail(E_ABSENT, "%s", sentence);
}

/* ---- csv: a row for each value, which a path names as in json ---- */

static const struct column columns[] = {{"problem", "problem", COLUMN_TEXT, 0},
                                        {"gpu", "gpu", COLUMN_TEXT, 0},
                                        {"path", "path", COLUMN_TEXT, 0},
                                        {"value", "value", COLUMN_TEXT, 0}};

/* One of the explanations, while it becomes rows. */
struct rows {
    struct table *table;
    const char *problem, *gpu;
};

static void add_values(const struct rows *rows, const char *path, const json_t *value)
{
    char below[256];
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        add_values(rows, below, member);
    }
    json_array_foreach(value, i, member)
    {
        snprintf(below, sizeof below, "%s.%zu", path, i);
        add_values(rows, below, member);
    }
    if (json_is_object(value) || json_is_array(value)) return;
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    table_text(rows->table, rows->problem);
    table_text(rows->table, rows->gpu);
    table_text(rows->table, path);
    table_text(rows->table, json_is_null(value) ? NULL : text ? text : json_string_value(value));
    free(text);
}

static enum status print_rows(const json_t *list)
{
    size_t i;
    json_t *explanation;
    struct rows rows = {.table = table_new(columns, sizeof columns / sizeof *columns)};
    if (!rows.table) return fail(E_MEMORY, "out of memory while explaining");
    json_array_foreach(list, i, explanation)
    {
        rows.problem = json_string_value(json_object_get(explanation, "problem"));
        rows.gpu = json_string_value(json_object_get(explanation, "gpu"));
        add_values(&rows, "", explanation);
    }
    enum status st = table_print(rows.table, TABLE_CSV, stdout);
    table_free(rows.table);
    return st;
}

const struct command_line cmd_explain_line = {.options = options,
                                              .option_count = sizeof options / sizeof *options,
                                              .about = manual,
                                              .check = check_options};

enum status cmd_explain(int argc, char **argv)
{
    struct explain x = {0};
    enum status st = command_line_read(&cmd_explain_line, argc, argv, &x);
    if (!st && x.view.format != TABLE_TEXT && !(x.list = json_array())) st = fail(E_MEMORY, "out of memory");
    if (!st) {
        st = db_view_open(&x.view);
        if (!st && !(st = answers_open(&x.view, &x.answers))) st = explain_all(&x);
        else if (st == E_ABSENT && !x.view.db) st = explain_without_db(&x);
        enum status printed = OK;
        if (x.list && (!st || st == E_ABSENT))
            printed = x.view.format == TABLE_CSV ? print_rows(x.list)
                                                 : result_print(json_incref(x.list), "explanation");
        if (printed) st = printed;
    }
    json_decref(x.list);
    free(x.winners);
    answers_close(x.answers);
    problem_list_free(&x.problems);
    db_view_close(&x.view);
    return st;
}

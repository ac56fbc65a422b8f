/* cmd_query.c — tune query: the winners that answer, wherever they are from, and what is due. Reads only;
 * where there is a GPU, it asks for the versions of the libraries beside it. */
#include "answers.h"
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "due.h"
#include "print.h"
#include "problem_list.h"
#include "race_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERED_MAX (PROBLEM_TEXT_MAX + 24)

struct query {
    struct problem_list problems; /* --shape; none: all */
    struct db_view view;
    struct answers *answers;
    bool predicted, measured;          /* neither: both */
    bool all;                          /* json and csv are that anyway */
    bool own;                          /* the user's alone; so are those of --db, and predictions */
    struct db_preference *preferences; /* all that hold */
    size_t preference_count;
    enum status st;                         /* of keeping them */
    const struct problem *asked, *answered; /* of the list: now; the last that had a row */
    struct table *table;
    const char *order; /* --sort */
    int64_t limit;     /* --limit; 0: all */
};

static const struct command_option options[] = {
    OPTION_ROW_GPU(struct query, view.gpu, "only this GPU"),
    OPTION_ROWS_PROBLEMS("only this problem, MxNxK or in full (see tune --help)"),
    {"measured", 0, NULL, "only what was measured", OPTION_FLAG(struct query, measured)},
    {"predicted", 0, NULL, "only your predictions made without the GPU, also those that do not answer",
     OPTION_FLAG(struct query, predicted)},
    {"own", 0, NULL, "only those of your database, also those that do not answer",
     OPTION_FLAG(struct query, own)},
    {"db", 0, "FILE", "only those of this database, instead of what answers",
     OPTION_TEXT(struct query, view.file)},
    OPTION_ROWS_FORMAT(struct query, view.format),
    {"all", 0, NULL, "everything that is known, one line per value, instead of a table",
     OPTION_FLAG(struct query, all)},
    {"sort", 0, "COLUMN", "order the rows by a column of json and csv, as ratio; -ratio: the largest first",
     OPTION_TEXT(struct query, order)},
    {"limit", 0, "N", "show the first N rows only", OPTION_WHOLE(struct query, limit, 1, INT32_MAX)}};

static const char text[] =
    "The fastest known configuration of each problem on each GPU, and whether cuBLAS is faster.\vOne row per "
    "problem, GPU and cache policy, of what the library would use: the winners of your database, those of "
    "the "
    "system's, and those that ship; from says which (own, system, ships). Of a problem those of the first of "
    "the three answer that has measured it; a prediction of yours answers only if none has (and "
    "in the library only if nothing similar was measured either). Without --gpu "
    "the "
    "GPUs of the two databases and of this machine are listed, or all if there are none. --own, --predicted, "
    "or --db "
    "FILE, "
    "lists what is in the database alone: a prediction that does not answer is used by nothing there, and "
    "why "
    "says what answers. Values that all rows share are printed above the table; on a narrow terminal the "
    "least "
    "important columns are left out and configurations are abbreviated: --all, json and csv have everything. "
    "\"x cuBLAS\" is the time of cuBLAS divided by that of the configuration, interleaved in one race, with "
    "its 95 % interval (low, high; of fewer than 6 rounds their range): above 1 is faster than cuBLAS. "
    "Used is what the library, the drop-in and exported headers use: the kernel if it is pinned or faster "
    "than cuBLAS, else cuBLAS. A "
    "configuration is tied if others could not be told apart from the fastest: within 0.1 % of it, or within "
    "0.5 % and not proven slower. Provenance is measured or predicted (by the model, without the GPU: a "
    "ranking, not a promise). State is ok; stale, if it was measured with another driver or by another "
    "method than the present ones, or stands in for one that has failed since: it is correct but may not be "
    "the fastest; or unusable, if its kernel has changed since: tune it again. Due is what tune refresh "
    "would do with your winners, and why says for which reason: race it again (another driver, cuBLAS or "
    "power "
    "limit), build it with another NVRTC and race it, or tune again; on a machine without a GPU it is only "
    "known of kernels. A winner that a later trial, race or check found wrong, or that crashed or hung "
    "there, "
    "is none any more. Pinned says since when this configuration is pinned (tune --pin), excluded how many "
    "others may not win (--exclude); tune explain names them. Of sgemm_accurate and sgemm_normwise, error / "
    "FP32 is the kernel's root mean square error over cuBLAS's, on uniform data; json, csv and --all have "
    "the "
    "errors, and what the last check measured on other data (checked). A shape for which nothing was "
    "measured is "
    "answered as the library answers it: by winners for another alpha, or for another beta if neither is 0. "
    "A "
    "range of M, such as 1..64x4096x4096, stands for its ends and the powers of two between them; each row "
    "then names the M that its winner answers, which was tuned for the largest of them.\n"
    "\n"
    "json is one array of objects and csv has one header line; both use the same column names, print every "
    "digit, and add the versions, the reason for a state, and the size of the search.\n"
    "\n"
    "Examples:\n"
    "  tune query                                 everything for your GPUs\n"
    "  tune query --gpu h200                      one GPU\n"
    "  tune query --gpu this --measured           the GPU of this machine\n"
    "  tune query --own                           what you have tuned\n"
    "  tune query --shape 512x512x512 --all       all about one problem\n"
    "  tune query --shape 1..64x4096x4096         a row for each range of M\n"
    "  tune query --sort -ratio --limit 10        the ten greatest gains over cuBLAS\n"
    "  tune query --shape 4096x4096x4096 --json\n"
    "\n"
    "Exit status: 0 something was found; 1 nothing was (the table is empty); 2 wrong command line; 3 wrong "
    "shape; 4 the database is foreign, newer or damaged; 5 --gpu this without a GPU; 7 it cannot be read.";

static const struct column columns[] = {
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"configuration", "configuration", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(3), 0},
    RACE_COLUMNS,
    {"tied", "tied", COLUMN_BOOL | COLUMN_RANK(5), 0},
    {"provenance", "provenance", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(3), 0},
    {"state", "state", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(3), 0},
    {"stale", NULL, COLUMN_BOOL, 0},
    {"unusable", NULL, COLUMN_BOOL, 0},
    {"why", NULL, COLUMN_TEXT, 0},
    {"due", "due", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(3), 0},
    {"cache", "cache", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"when", "when", COLUMN_TEXT | COLUMN_RANK(7), 0},
    {"driver", "driver", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"cublas", "cuBLAS", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"nvrtc", "NVRTC", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"gpu_id", NULL, COLUMN_TEXT, 0},
    {"gpu_arch", NULL, COLUMN_TEXT, 0},
    {"gpu_uuid", NULL, COLUMN_TEXT, 0},
    {"rival", "rival", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"cublas_us", NULL, COLUMN_NUMBER, 2},
    {"bitwise", NULL, COLUMN_BOOL, 0},
    {"rounds", NULL, COLUMN_NUMBER, 0},
    {"trials", NULL, COLUMN_NUMBER, 0},
    {"legal", NULL, COLUMN_NUMBER, 0},
    {"model_rank", NULL, COLUMN_NUMBER, 0},
    {"registers", NULL, COLUMN_NUMBER, 0},
    {"smem_bytes", NULL, COLUMN_NUMBER, 0},
    {"workspace_bytes", NULL, COLUMN_NUMBER, 0},
    {"from", "from", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(2), 0},
    {"used", "used", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(2), 0},
    {"pinned", "pinned", COLUMN_TEXT | COLUMN_RANK(3), 0},
    {"excluded", "excluded", COLUMN_NUMBER | COLUMN_RANK(4), 0},
    ERROR_COLUMNS(8),
    TIMING_COLUMNS(8),
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static bool keep_preference(void *self, const struct db_preference *preference)
{
    struct query *query = self;
    struct db_preference *grown = realloc(query->preferences, (query->preference_count + 1) * sizeof *grown);
    if (!grown) {
        query->st = fail(E_MEMORY, "out of memory for the preferences");
        return false;
    }
    query->preferences = grown;
    query->preferences[query->preference_count++] = *preference;
    return true;
}

/* Since when the winner is pinned, and how many others are excluded. */
static void add_preferences(const struct query *query, const struct db_winner *w)
{
    const char *pinned = NULL;
    int excluded = 0;
    for (size_t i = 0; i < query->preference_count; i++) {
        const struct db_preference *p = &query->preferences[i];
        if (strcmp(p->gpu.name, w->gpu.name) != 0 || p->gpu.sm_count != w->gpu.sm_count ||
            !problem_equal(&p->problem, &w->base.problem))
            continue;
        if (!p->pin) excluded++;
        else if (strcmp(p->config_text, w->config_text) == 0) pinned = p->when;
    }
    table_text(query->table, pinned);
    table_number(query->table, excluded ? excluded : (double)NAN);
}

/* The problem, with the M that its winner answers where ranges were asked for, as the library does
 * (nearest.h): those above the M that was tuned before, and above half of its own. */
static void format_answered(const struct query *query, const struct db_winner *w, char shown[ANSWERED_MAX])
{
    const struct problem_list *list = &query->problems;
    const struct problem *asked = query->asked, *before = query->answered;
    char problem[PROBLEM_TEXT_MAX];
    int64_t least = w->base.problem.m;
    problem_format(&w->base.problem, problem);
    if (list->ranges && asked > list->at && problem_alike_but_m(asked, asked - 1)) {
        least = asked->m / 2 + 1;
        if (before && problem_alike_but_m(asked, before) && before->m >= least) least = before->m + 1;
    }
    const char *const op = strchr(problem, ':') + 1, *const sizes = strchr(op, ':') + 1;
    if (least < w->base.problem.m)
        snprintf(shown, ANSWERED_MAX, "%.*s%" PRId64 "..%s", (int)(sizes - problem), problem, least, sizes);
    else snprintf(shown, ANSWERED_MAX, "%s", problem);
}

/* Why it is in its state, or what answers in its place. */
static const char *why_of(const struct answer *answer, char sentence[ANSWER_INSTEAD_MAX])
{
    if (!answer->instead) return answer->winner->why;
    answer_instead(&answer->instead->base, answer->instead_from, sentence);
    return sentence;
}

static bool add_row(void *self, const struct answer *answer)
{
    struct query *query = self;
    const struct db_winner *w = answer->winner;
    struct table *t = query->table;
    if (query->predicted != query->measured && w->base.predicted != query->predicted) return true;
    char problem[ANSWERED_MAX], arch[16], brief[CONFIG_TEXT_MAX], instead[ANSWER_INSTEAD_MAX];
    reading_brief(w, brief);
    format_answered(query, w, problem);
    gpu_arch_name(w->gpu.arch, arch);
    table_text(t, w->gpu.name);
    table_text(t, problem);
    table_text_brief(t, w->config_text, brief);
    race_cells(t, &w->base);
    table_bool(t, w->tied);
    table_text(t, w->base.predicted ? "predicted" : "measured");
    table_text(t, w->unusable ? "unusable" : w->stale ? "stale" : "ok");
    table_bool(t, w->stale);
    table_bool(t, w->unusable);
    table_text(t, table_said(why_of(answer, instead)));
    table_text(t, due_name(w->due));
    table_text(t, w->base.cold ? "cold" : "hot");
    table_text(t, w->base.when);
    table_text(t, table_said(w->driver));
    table_text(t, table_said(w->cublas));
    table_text(t, table_said(w->nvrtc));
    table_text(t, table_said(w->gpu.id));
    table_text(t, arch);
    table_text(t, table_said(w->gpu_uuid));
    table_text(t, table_said(w->rival));
    table_number(t, table_known(w->base.anchor_us));
    table_bool(t, w->base.exact);
    table_number(t, w->rounds);
    table_number(t, w->trials);
    table_number(t, (double)w->legal_count);
    table_number(t, table_known(w->model_rank));
    table_number(t, w->registers);
    table_number(t, w->smem_bytes);
    table_number(t, reading_workspace(w));
    table_text(t, answer_from_name(answer->from));
    table_text(t, answer->instead ? NULL : answer_name(w));
    add_preferences(query, w);
    winner_error_cells(t, w);
    timing_cells(t, w);
    return true;
}

static enum status add_rows(void *self, const struct db_filter *filter)
{
    struct query *const query = self;
    const int before = table_rows(query->table);
    query->asked = filter->problem;
    const enum status st = query->own ? answers_own(query->answers, filter, add_row, self)
                                      : answers_each(query->answers, filter, add_row, self);
    if (table_rows(query->table) > before) query->answered = filter->problem;
    return st;
}

static enum status fill(struct query *query)
{
    struct db_view *r = &query->view;
    enum status st = r->db ? db_preferences(r->db, NULL, keep_preference, query) : OK;
    if (!st) st = query->st;
    if (!st) st = answers_open(r, &query->answers);
    return st ? st : problem_list_each(&query->problems, r->filter, add_rows, query);
}

/* Where the user's database has nothing, or is not there, others may still answer. */
static enum status open_all(struct query *query)
{
    char sentence[1024];
    query->own |= query->view.file != NULL || query->predicted; /* nobody else's predictions answer */
    const enum status st = db_view_open(&query->view);
    if (st && (!query->view.empty || query->own)) return st;
    snprintf(sentence, sizeof sentence, "%s", st ? status_text() : "");
    db_view_versions(&query->view);
    const enum status filled = fill(query);
    return filled || !st || table_rows(query->table) > 0 ? filled
                                                         : fail(st, "%s; no such winner ships", sentence);
}

static bool count_failed(void *self, const struct db_winner *winner)
{
    (void)winner;
    ++*(int *)self;
    return true;
}

/* Nothing found is told apart: the table is printed empty and the sentence says what was looked for. */
static enum status nothing(struct query *query)
{
    const char *what = query->predicted == query->measured ? "configuration"
                       : query->predicted                  ? "predicted configuration"
                                                           : "measured configuration";
    int failed = 0;
    query->view.filter.problem = query->problems.count ? &query->problems.at[0] : NULL;
    enum status st = db_failed_winners(query->view.db, &query->view.filter, count_failed, &failed);
    if (!st) st = db_view_nothing(&query->view, what, &query->problems);
    if (st != E_ABSENT || !failed) return st;
    char sentence[600];
    snprintf(sentence, sizeof sentence, "%.*s", (int)sizeof sentence - 1, status_text());
    return fail(st, "%s; %d that won once %s failed since: tune again (tune explain tells why)", sentence,
                failed, failed == 1 ? "has" : "have");
}

static const char *const excluding[][2] = {{"measured", "predicted"}, {NULL}};

const struct command_line cmd_query_line = {.options = options,
                                            .option_count = sizeof options / sizeof *options,
                                            .about = text,
                                            .excluding = excluding};

enum status cmd_query(int argc, char **argv)
{
    struct query query = {.predicted = false};
    enum status st = command_line_read(&cmd_query_line, argc, argv, &query), printed;
    if (!st && !(query.table = table_new(columns, COLUMN_COUNT))) st = fail(E_MEMORY, "out of memory");
    if (st) goto out;
    if (query.all && query.view.format == TABLE_TEXT) query.view.format = TABLE_ALL;
    st = open_all(&query);
    if (!st && query.order) st = table_sort(query.table, query.order);
    if (!st && query.limit) table_cut(query.table, (int)query.limit);
    if (!st && table_rows(query.table) == 0) st = nothing(&query);
    if (!st || st == E_ABSENT) {
        printed = table_print(query.table, query.view.format, stdout);
        if (printed) st = printed;
    }
out:
    table_free(query.table);
    problem_list_free(&query.problems);
    free(query.preferences);
    answers_close(query.answers);
    db_view_close(&query.view);
    return st;
}

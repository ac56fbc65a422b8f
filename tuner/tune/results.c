#include "results.h"

#include "answer.h"
#include "race_cells.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>

static const struct column columns[] = {
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"result", "result", COLUMN_TEXT, 0},
    RACE_COLUMNS,
    {"cublas_us", NULL, COLUMN_NUMBER, 2},
    {"tied", NULL, COLUMN_BOOL, 0},
    {"trials", "tried", COLUMN_NUMBER | COLUMN_RANK(5), 0},
    {"legal", "of possible", COLUMN_NUMBER | COLUMN_RANK(6), 0},
    {"raw", NULL, COLUMN_NUMBER, 0},
    {"model_rank", NULL, COLUMN_NUMBER, 0},
    {"model_first16_share", NULL, COLUMN_NUMBER, 0},
    {"workspace_bytes", NULL, COLUMN_NUMBER, 0},
    {"config", "configuration", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(3), 0},
    ERROR_COLUMNS(7),
    {"why", NULL, COLUMN_TEXT, 0},
    TIMING_COLUMNS(7),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* What is told of a row whose kernel is slower than cuBLAS. */
static const char *result_name(const struct job_result *r)
{
    const struct db_winner *w = &r->winner;
    const bool slower = answer_is_rival(&w->base), pinned = w->pinned || w->pin_holds;
    if (w->base.time_us <= 0) return r->how == JOB_INTERRUPTED ? "interrupted" : "no winner";
    if (r->how != JOB_TUNED && r->how != JOB_KNOWN)
        return slower ? "best so far (cuBLAS is faster)" : "best so far";
    if (pinned && slower) return "pinned (cuBLAS is faster)";
    if (pinned && r->how == JOB_TUNED) return w->base.predicted ? "pinned (predicted)" : "pinned";
    if (answer_is_cublas(w)) return r->how == JOB_TUNED ? "cuBLAS won" : "known (cuBLAS won)";
    if (w->base.predicted) return "predicted";
    return r->how == JOB_KNOWN ? "known" : w->tied ? "tuned (tie)" : "tuned";
}

static void add_row(struct table *table, const struct job_result *r)
{
    const struct db_winner *w = &r->winner;
    char problem[PROBLEM_TEXT_MAX], brief[CONFIG_TEXT_MAX];
    problem_format(&w->base.problem, problem);
    bool any = w->base.time_us > 0;
    table_text(table, problem);
    table_text(table, table_said(w->gpu.name));
    table_text(table, result_name(r));
    race_cells(table, &w->base);
    table_number(table, table_known(w->base.anchor_us));
    table_bool(table, w->tied);
    table_number(table, any ? w->trials : (double)r->tried);
    table_number(table, any ? (double)w->legal_count : (double)r->legal);
    table_number(table, table_known(r->raw));
    table_number(table, table_known(w->model_rank));
    table_number(table, table_known(w->model_first16_share));
    table_number(table,
                 w->config.template ? (double)workspace_of(&w->config, &w->base.problem) : (double)NAN);
    if (any && w->config.template) config_brief(&w->config, brief);
    table_text_brief(table, any ? w->config_text : NULL,
                     !any                 ? NULL
                     : w->config.template ? brief
                                          : w->config_text);
    winner_error_cells(table, w);
    table_text(table, r->how == JOB_TUNED && !w->base.predicted ? NULL : table_said(r->why));
    timing_cells(table, w);
}

enum status results_print(const struct job_result *results, size_t count, enum table_format format)
{
    struct table *table = table_new(columns, COLUMNS);
    if (!table) return fail(E_MEMORY, "out of memory for the table of results");
    for (size_t i = 0; i < count; i++) add_row(table, &results[i]);
    enum status st = table_print(table, format, stdout);
    table_free(table);
    return st;
}

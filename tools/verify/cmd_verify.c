/* cmd_verify.c — tune verify: is the database whole, and may its winners still be used? Reads only; runs
 * nothing on a GPU.
 */
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct verify {
    struct db_view view;
    struct table *table;
    int winners, unusable, failed;
    char first[300]; /* the first finding */
};

static const struct command_option options[] = {
    OPTION_ROW_DB(struct verify, view.file),
    OPTION_ROW_GPU(struct verify, view.gpu, "winners of this GPU only"),
    OPTION_ROWS_FORMAT(struct verify, view.format)};

static const char text[] =
    "Check the database: the structure of the file, the references between its tables, that every row still "
    "matches its stored hash, and that every winner passes the present rules of its kernel template.\vOne "
    "row per check, then one row per winner. A winner is ok; stale, if it was measured with another driver "
    "or by another method than the present ones, or stands in for one that has failed since (correct, but "
    "perhaps not the fastest); or unusable, if its kernel has changed or its rules refuse it: tune it again. "
    "Winners that have failed since and for which none stands in are counted. Nothing is changed, and "
    "nothing is run "
    "on a GPU. Takes about 15 s for a million trials.\n"
    "\n"
    "Examples:\n"
    "  tune verify\n"
    "  tune verify --db results.db --format json\n"
    "\n"
    "Exit status: 0 intact, and every winner is usable; 1 intact, but some winners are unusable, or there is "
    "no database; 2 wrong command line; 4 damaged, foreign or newer; 5 --gpu this without a GPU; 7 it cannot "
    "be read.";

static const struct column columns[] = {{"check", "check", COLUMN_TEXT | COLUMN_KEY, 0},
                                        {"result", "result", COLUMN_TEXT | COLUMN_KEY, 0},
                                        {"detail", "detail", COLUMN_TEXT | COLUMN_LAST, 0},
                                        {"gpu", NULL, COLUMN_TEXT, 0},
                                        {"problem", NULL, COLUMN_TEXT, 0},
                                        {"configuration", NULL, COLUMN_TEXT, 0}};

static void row(struct verify *v, const char *check, const char *result, const char *detail, const char *gpu,
                const char *problem, const char *configuration)
{
    char all[PROBLEM_TEXT_MAX + GPU_NAME_MAX +
             2 * CONFIG_TEXT_MAX]; /* for people: which winner it is, and what is the matter with it */
    const char *said = detail && detail[0] ? detail : NULL;
    if (problem)
        snprintf(all, sizeof all, "%s on %s%s%s; %s", problem, gpu, said ? ": " : "", said ? said : "",
                 configuration);
    table_text(v->table, check);
    table_text(v->table, result);
    table_text_brief(v->table, said, problem ? all : said);
    table_text(v->table, gpu);
    table_text(v->table, problem);
    table_text(v->table, configuration);
}

static void add_check(void *self, const char *what, const char *finding)
{
    struct verify *v = self;
    row(v, what, finding[0] ? "damaged" : "ok", finding, NULL, NULL, NULL);
    if (finding[0] && !v->first[0]) snprintf(v->first, sizeof v->first, "%s: %.200s", what, finding);
}

static bool add_winner(void *self, const struct db_winner *w)
{
    struct verify *v = self;
    char problem[PROBLEM_TEXT_MAX];
    problem_format(&w->base.problem, problem);
    row(v, "winner",
        w->unusable ? "unusable"
        : w->stale  ? "stale"
                    : "ok",
        w->why, w->gpu.name, problem, w->config_text);
    v->winners++;
    v->unusable += w->unusable;
    return true;
}

static bool add_failed(void *self, const struct db_winner *winner)
{
    struct verify *v = self;
    (void)winner;
    v->failed++;
    return true;
}

static enum status check(struct verify *v)
{
    struct db_view *r = &v->view;
    struct db_counts counts;
    bool clean;
    enum status st = db_check_each(r->db, add_check, v, &clean);
    if (!st && !clean)
        return fail(E_DB, "%s is damaged (%s): put it aside and go on with a backup or a new file (--db)",
                    r->path, v->first);
    if (!st) st = db_count(r->db, &counts);
    if (st) return st;
    char detail[160] = "";
    if (counts.attempts)
        snprintf(detail, sizeof detail,
                 "%" PRId64 " under way: by a tuner that runs now, or cut off with one that was killed",
                 counts.attempts);
    row(v, "attempts", "ok", detail, NULL, NULL, NULL);
    snprintf(detail, sizeof detail,
             "%" PRId64 " trial%s of %" PRId64 " configuration%s and %" PRId64 " problem%s in %" PRId64
             " run%s",
             counts.trials, PRINT_S(counts.trials), counts.configs, PRINT_S(counts.configs), counts.problems,
             PRINT_S(counts.problems), counts.runs, PRINT_S(counts.runs));
    row(v, "contents", "ok", detail, NULL, NULL, NULL);
    if ((st = db_failed_winners(r->db, &r->filter, add_failed, v))) return st;
    snprintf(detail, sizeof detail, "%d, which are none until they are tuned again: tune explain tells why",
             v->failed);
    if (v->failed) row(v, "winners that failed since", "ok", detail, NULL, NULL, NULL);
    st = db_winners(r->db, &r->filter, r->now.gpu.name[0] ? &r->now : NULL, add_winner, v);
    if (st || !v->unusable) return st;
    return fail(E_ABSENT, "%d of %d winner%s in %s may not be used by this program: tune again", v->unusable,
                v->winners, PRINT_S(v->winners), r->path);
}

const struct command_line cmd_verify_line = {
    .options = options, .option_count = sizeof options / sizeof *options, .about = text};

enum status cmd_verify(int argc, char **argv)
{
    struct verify v = {0};
    enum status st = command_line_read(&cmd_verify_line, argc, argv, &v);
    if (st) return st;
    if (!(v.table = table_new(columns, 6))) return fail(E_MEMORY, "out of memory");
    st = db_view_open(&v.view);
    if (!st) st = check(&v);
    if (table_rows(v.table) > 0) {
        enum status printed = table_print(v.table, v.view.format, stdout);
        if (printed) st = printed;
    }
    table_free(v.table);
    db_view_close(&v.view);
    return st;
}

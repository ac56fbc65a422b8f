/* cmd_diff.c — tune diff: what changed between two databases, drivers, dates or GPUs. Reads only. */
#include "change.h"
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "exchange_json.h"
#include "print.h"
#include "problem_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the two that are compared. */
struct side {
    struct db_view view;
    char gpu[GPU_NAME_MAX], driver[DB_TEXT_MAX], date[32]; /* "": any */
    struct decided *decided; /* owned; after reading by problem, cache policy and GPU */
    size_t count, room;
    enum status st; /* of reading */
};

struct diff {
    struct problem_list problems; /* --shape; none: all */
    struct command_words files;
    const char *file, *gpu, *driver, *date;
    enum table_format format;
    bool all;         /* json and csv are that anyway */
    const char *sort; /* --sort */
    bool changed;     /* --changed: no noise */

    struct side side[2];
    bool across_gpus;                              /* the sides are two GPUs */
    int (*order_of)(const void *x, const void *y); /* what is compared with what */
    struct table *table;
    int verdicts[CHANGE_VERDICTS], others;
    double logs; /* of the times' quotients, of compared ones */
    int compared;
};

static enum status check_options(void *self);

static const struct command_option options[] = {
    OPTION_ROWS_PROBLEMS("only this problem, MxNxK or in full (see tune --help)"),
    {"gpu", 0, "GPU", "only this GPU, or OLD,NEW: two GPUs against each other",
     OPTION_TEXT(struct diff, gpu)},
    {"driver", 0, "OLD,NEW", "what was decided with one driver against what was with the other",
     OPTION_TEXT(struct diff, driver)},
    {"date", 0, "OLD,NEW",
     "what was decided last until the one day (2026-11-20) or time, and until the other",
     OPTION_TEXT(struct diff, date)},
    {"changed", 0, NULL, "leave out what is only noise or drift", OPTION_FLAG(struct diff, changed)},
    OPTION_ROW_DB(struct diff, file),
    OPTION_ROWS_FORMAT(struct diff, format),
    {"all", 0, NULL, "everything that is known, one line per value, instead of a table",
     OPTION_FLAG(struct diff, all)},
    {"sort", 0, "COLUMN", "order the rows by a column of json and csv; -change_percent: the slower first",
     OPTION_TEXT(struct diff, sort)}};

static const char text[] =
    "What changed from A to B: two databases or, in one, two drivers, dates or GPUs.\vOne row per problem, "
    "cache policy and GPU. Time is that of what is used: the winner or, where cuBLAS was faster, cuBLAS. "
    "Change is faster or slower if the 95 % intervals of the two races (of fewer than 6 rounds their range) "
    "do not touch, else noise. It is drift if the time is beyond the noise but the ratio to the same cuBLAS "
    "on the same GPU is not: then the clock differed. Low and high bound the change of the time in per cent; "
    "below 0 is faster. \"cuBLAS (%)\" is the change of cuBLAS's own time. Predictions are not compared.\n"
    "\n"
    "With --driver or --date a side has, for each problem, the newest measured decision made with that "
    "driver "
    "or until that date, whether it still holds or not.\n"
    "\n"
    "Examples:\n"
    "  tune diff before.db after.db\n"
    "  tune diff --driver 570.86.15,580.95.05 --gpu h200 --changed\n"
    "  tune diff --date 2026-11-01,2026-11-20 --json\n"
    "  tune diff --gpu h100,h200 --sort change_percent\n"
    "\n"
    "Exit status: 0 something was compared; 1 nothing is in both, or there is no database; 2 wrong command "
    "line; 3 wrong shape or date; 4 a database is foreign, newer or damaged; 7 it cannot be read.";

const struct command_line cmd_diff_line = {.options = options,
                                           .option_count = sizeof options / sizeof *options,
                                           .about = text,
                                           .arguments = "[A [B]]",
                                           .words = offsetof(struct diff, files),
                                           .check = check_options};

static const struct column columns[] = {
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"cache", "cache", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"change", "change", COLUMN_TEXT | COLUMN_KEY, 0},
    {"time_a_us", "A (us)", COLUMN_NUMBER | COLUMN_RANK(1), 2},
    {"time_b_us", "B (us)", COLUMN_NUMBER | COLUMN_RANK(1), 2},
    {"change_percent", "time (%)", COLUMN_NUMBER, 1},
    {"change_low", "low", COLUMN_NUMBER | COLUMN_RANK(3), 1},
    {"change_high", "high", COLUMN_NUMBER | COLUMN_RANK(3), 1},
    {"ratio_a", "x cuBLAS A", COLUMN_NUMBER | COLUMN_RANK(2), 3},
    {"ratio_b", "x cuBLAS B", COLUMN_NUMBER | COLUMN_RANK(2), 3},
    {"rival_percent", "cuBLAS (%)", COLUMN_NUMBER | COLUMN_RANK(4), 1},
    {"same_winner", NULL, COLUMN_BOOL, 0},
    {"winner_a", NULL, COLUMN_TEXT, 0},
    {"winner_b", "winner of B", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(2), 0},
    {"gpu_b", NULL, COLUMN_TEXT, 0},
    {"driver_a", "driver A", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"driver_b", "driver B", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"cublas_a", "cuBLAS A", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"cublas_b", "cuBLAS B", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(6), 0},
    {"nvrtc_a", NULL, COLUMN_TEXT, 0},
    {"nvrtc_b", NULL, COLUMN_TEXT, 0},
    {"when_a", NULL, COLUMN_TEXT, 0},
    {"when_b", NULL, COLUMN_TEXT, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* ---- what is compared with what ---- */

static int by_problem(const void *x, const void *y)
{
    const struct winner *a = &((const struct decided *)x)->winner.base,
                        *b = &((const struct decided *)y)->winner.base;
    char p[PROBLEM_TEXT_MAX], q[PROBLEM_TEXT_MAX];
    problem_format(&a->problem, p);
    problem_format(&b->problem, q);
    const int order = strcmp(p, q);
    return order ? order : b->cold - a->cold;
}

static int by_problem_and_gpu(const void *x, const void *y)
{
    const struct gpu *a = &((const struct decided *)x)->winner.gpu,
                     *b = &((const struct decided *)y)->winner.gpu;
    int order = by_problem(x, y);
    if (!order) order = strcmp(a->name, b->name);
    return order ? order : a->sm_count - b->sm_count;
}

/* ---- which two ---- */

/* "OLD,NEW" into both sides, a single value into neither: *two says which it was. */
static enum status split(const char *option, const char *value, char *a, char *b, size_t room, bool *two)
{
    const char *comma = value ? strchr(value, ',') : NULL;
    *two = comma;
    if (!comma) return OK;
    const size_t length = (size_t)(comma - value);
    if (length == 0 || length >= room || !comma[1] || strlen(comma + 1) >= room || strchr(comma + 1, ','))
        return fail(E_USAGE, "--%s '%.60s' is not OLD,NEW", option, value);
    snprintf(a, room, "%.*s", (int)length, value);
    snprintf(b, room, "%s", comma + 1);
    return OK;
}

static enum status split_two(const char *option, const char *value, char *a, char *b, size_t room, bool *any)
{
    bool two;
    enum status st = split(option, value, a, b, room, &two);
    if (!st && value && !two) st = fail(E_USAGE, "--%s '%.60s' is not OLD,NEW", option, value);
    *any |= two;
    return st;
}

static enum status check_date(const char *date)
{
    char whole[64];
    int64_t us;
    snprintf(whole, sizeof whole, "%s%s", date, strlen(date) == 10 ? "T00:00:00Z" : "");
    return *date && time_parse(whole, &us)
               ? fail(E_INPUT, "--date: '%.40s' is no day such as 2026-11-20", date)
               : OK;
}

static enum status check_options(void *self)
{
    struct diff *d = self;
    struct side *a = &d->side[0], *b = &d->side[1];
    bool two = d->files.count > 1;
    if (d->files.count > 2) return fail(E_USAGE, "two databases are compared, not %d", d->files.count);
    if (d->files.count && d->file)
        return fail(E_USAGE, "the databases are named twice: as words, and by --db");
    enum status st = split("gpu", d->gpu, a->gpu, b->gpu, sizeof a->gpu, &d->across_gpus);
    if (!st) st = split_two("driver", d->driver, a->driver, b->driver, sizeof a->driver, &two);
    if (!st) st = split_two("date", d->date, a->date, b->date, sizeof a->date, &two);
    if (!st) st = check_date(a->date);
    if (!st) st = check_date(b->date);
    if (!st && !two && !d->across_gpus)
        st =
            fail(E_USAGE, "say what is compared: two databases (tune diff A B), or --driver, --date or --gpu "
                          "with OLD,NEW");
    d->order_of = d->across_gpus ? by_problem : by_problem_and_gpu;
    for (int i = 0; i < 2; i++) {
        struct db_view *view = &d->side[i].view;
        view->gpu = d->across_gpus ? d->side[i].gpu : d->gpu;
        view->file = d->files.count ? d->files.at[i < d->files.count ? i : 0] : d->file;
    }
    if (d->files.count) db_choose = ""; /* they are named on the command line */
    return st;
}

/* ---- reading ---- */

static bool is_of_side(const struct side *s, const struct db_winner *w)
{
    if (s->driver[0] && strcmp(w->driver, s->driver) != 0) return false;
    return !s->date[0] || strncmp(w->base.when, s->date, strlen(s->date)) <= 0;
}

/* Of several decisions the newest that was measured, else the newest. They come with the oldest first. */
static bool keep(void *self, const struct db_winner *w)
{
    struct side *s = self;
    if (!is_of_side(s, w)) return true;
    struct db_winner *last = s->count ? &s->decided[s->count - 1].winner : NULL;
    if (last && problem_equal(&last->base.problem, &w->base.problem) && last->base.cold == w->base.cold &&
        strcmp(last->gpu.name, w->gpu.name) == 0 && last->gpu.sm_count == w->gpu.sm_count) {
        if (last->base.predicted || !w->base.predicted) *last = *w;
        return true;
    }
    if (!s->decided || s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        struct decided *grown = realloc(s->decided, room * sizeof *grown);
        if (!grown) {
            s->st = fail(E_MEMORY, "out of memory while listing winners");
            return false;
        }
        s->decided = grown;
        s->room = room;
    }
    s->decided[s->count++].winner = *w;
    return true;
}

static enum status keep_all(void *self, const struct db_filter *filter)
{
    struct side *s = self;
    const bool history = s->driver[0] || s->date[0];
    const enum status st =
        history ? db_decisions(s->view.db, filter, keep, s) : db_winners(s->view.db, filter, NULL, keep, s);
    return st == E_ABSENT ? OK : st ? st : s->st;
}

static enum status read_side(struct diff *d, struct side *s)
{
    enum status st = db_view_open(&s->view);
    s->view.filter.alike = false;
    if (!st) st = problem_list_each(&d->problems, s->view.filter, keep_all, s);
    for (size_t i = 0; i < s->count && !st; i++) {
        const struct db_winner winner = s->decided[i].winner;
        st = decided_read(s->view.db, &winner, &s->decided[i]);
    }
    if (s->count) qsort(s->decided, s->count, sizeof *s->decided, d->order_of);
    return st;
}

/* ---- showing ---- */

static double percent(double quotient)
{
    return 100 * (quotient - 1);
}

static void add_both(struct table *t, const char *a, const char *b)
{
    table_text(t, table_said(a));
    table_text(t, table_said(b));
}

/* Of a side that has no decision. */
static const struct decided none = {.used_us = {(double)NAN, (double)NAN, (double)NAN}};

static void add_row(struct diff *d, const struct decided *a, const struct decided *b)
{
    const struct change c = change_of(a, b);
    d->verdicts[c.verdict]++;
    d->others += c.other_winner;
    if (c.verdict <= CHANGE_DRIFT) {
        d->logs += log(c.used.value);
        d->compared++;
    }
    if (d->changed && !c.other_winner && (c.verdict == CHANGE_NOISE || c.verdict == CHANGE_DRIFT)) return;
    struct table *t = d->table;
    const struct decided *x = a ? a : &none, *y = b ? b : &none, *any = a ? x : y;
    char problem[PROBLEM_TEXT_MAX], brief[CONFIG_TEXT_MAX];
    problem_format(&any->winner.base.problem, problem);
    snprintf(brief, sizeof brief, "%s", decided_answer(y));
    if (strcmp(brief, "cublas") != 0) reading_brief(&y->winner, brief);
    table_text(t, any->winner.gpu.name);
    table_text(t, problem);
    table_text(t, any->winner.base.cold ? "cold" : "hot");
    table_text(t, change_name(c.verdict));
    table_number(t, x->used_us.value);
    table_number(t, y->used_us.value);
    table_number(t, percent(c.used.value));
    table_number(t, percent(c.used.low));
    table_number(t, percent(c.used.high));
    table_number(t, table_known(x->winner.base.ratio));
    table_number(t, table_known(y->winner.base.ratio));
    table_number(t, percent(c.rival.value));
    table_bool(t, a && b && !c.other_winner);
    table_text(t, table_said(decided_answer(x)));
    table_text_brief(t, table_said(decided_answer(y)), !b ? NULL : a && !c.other_winner ? "the same" : brief);
    table_text(t, table_said(y->winner.gpu.name));
    add_both(t, x->winner.driver, y->winner.driver);
    add_both(t, x->winner.cublas, y->winner.cublas);
    add_both(t, x->winner.nvrtc, y->winner.nvrtc);
    add_both(t, x->winner.base.when, y->winner.base.when);
}

static void add_rows(struct diff *d)
{
    const struct side *a = &d->side[0], *b = &d->side[1];
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        const int order = i == a->count   ? 1
                          : j == b->count ? -1
                                          : d->order_of(&a->decided[i], &b->decided[j]);
        const struct decided *x = order <= 0 ? &a->decided[i++] : NULL;
        const struct decided *y = order >= 0 ? &b->decided[j++] : NULL;
        add_row(d, x, y);
    }
}

static void say_sum(const struct diff *d)
{
    const int *v = d->verdicts;
    if (d->compared)
        print_line(
            stderr,
            "%d compared: %d faster, %d slower, %d within the noise, %d drifted with cuBLAS; %d won by "
            "another; B takes %.4f of A's time (geometric mean)",
            d->compared, v[CHANGE_FASTER], v[CHANGE_SLOWER], v[CHANGE_NOISE], v[CHANGE_DRIFT], d->others,
            exp(d->logs / d->compared));
    if (v[CHANGE_TIMING])
        print_line(stderr, "%d timed otherwise: races of other timings do not compare (docs/measuring.md)",
                   v[CHANGE_TIMING]);
    if (v[CHANGE_UNMEASURED] || v[CHANGE_ONLY_A] || v[CHANGE_ONLY_B])
        print_line(stderr, "not compared: %d not measured, %d only in A, %d only in B", v[CHANGE_UNMEASURED],
                   v[CHANGE_ONLY_A], v[CHANGE_ONLY_B]);
}

static enum status judge(const struct diff *d)
{
    if (d->compared || d->verdicts[CHANGE_UNMEASURED] || d->verdicts[CHANGE_TIMING]) return OK;
    const size_t a = d->side[0].count, b = d->side[1].count;
    return fail(E_ABSENT, "nothing to compare: A has %zu winner%s and B has %zu, none for the same problem%s",
                a, PRINT_S(a), b, d->across_gpus ? "" : " and GPU");
}

enum status cmd_diff(int argc, char **argv)
{
    struct diff d = {.format = TABLE_TEXT};
    enum status st = command_line_read(&cmd_diff_line, argc, argv, &d);
    if (!st && !(d.table = table_new(columns, COLUMN_COUNT))) st = fail(E_MEMORY, "out of memory");
    for (int i = 0; i < 2 && !st; i++) st = read_side(&d, &d.side[i]);
    if (!st) add_rows(&d);
    if (!st && d.sort) st = table_sort(d.table, d.sort);
    if (!st) st = table_print(d.table, d.all && d.format == TABLE_TEXT ? TABLE_ALL : d.format, stdout);
    if (!st) say_sum(&d);
    if (!st) st = judge(&d);
    table_free(d.table);
    problem_list_free(&d.problems);
    for (int i = 0; i < 2; i++) {
        free(d.side[i].decided);
        db_view_close(&d.side[i].view);
    }
    return st;
}

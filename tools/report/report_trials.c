/* report_trials.c — the trials of one problem, packed: texts of one letter a value, lists of numbers as text.
 * page.js (unpackTrials) has the other half. A configuration's parameters are a letter each, 'A' for the
 * least value that any trial has; where a parameter has more values than letters, the rest shares the last
 * one.
 */
#include "report_page.h"

#include "template.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_S       1.5 /* without a trial: other work, which is no search of this problem */
#define CLOCKS_MOST 120 /* rows of clocks and power */
#define LETTERS     57  /* 'A' to 'y' */

struct row {
    struct config config; /* template NULL: not known any more */
    int64_t ended_us;
    double search_s; /* of the search, when it ended */
    double time_us;  /* 0: none */
    enum verdict verdict;
    struct gpu_state state;
};

struct rows {
    struct row *row; /* owned; after sorting in the order in which they ended */
    size_t count, room;
    bool cold, starved;
};

static bool take(void *self, const struct db_trial *t)
{
    struct rows *rows = self;
    if (t->outcome.cold != rows->cold || t->recovered) return true;
    if (!rows->row || rows->count == rows->room) {
        const size_t room = rows->room ? 2 * rows->room : 1024;
        struct row *grown = realloc(rows->row, room * sizeof *grown);
        rows->starved = !grown;
        if (!grown) return false;
        rows->row = grown;
        rows->room = room;
    }
    struct row *row = &rows->row[rows->count++];
    *row = (struct row){.ended_us = t->ended_us,
                        .time_us = outcome_usable(&t->outcome) ? t->outcome.time_us : 0,
                        .verdict = t->outcome.verdict,
                        .state = t->outcome.state};
    if (!t->current || config_parse(t->config_text, &row->config)) row->config.template = NULL;
    return true;
}

static int by_end(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    return (a->ended_us > b->ended_us) - (a->ended_us < b->ended_us);
}

static int by_time(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void count_seconds(struct rows *rows)
{
    double s = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const double gap = i ? 1e-6 * (double)(rows->row[i].ended_us - rows->row[i - 1].ended_us) : 0;
        rows->row[i].search_s = s += fmin(gap, GAP_S);
    }
}

/* The slowest time that is kept for being fast; 0: all are kept. A third of the room is for the fastest. */
static enum status fast_limit(const struct rows *rows, size_t most, double *limit_us)
{
    *limit_us = 0;
    if (rows->count <= most) return OK;
    double *times = malloc(rows->count * sizeof *times);
    if (!times) return fail(E_MEMORY, "out of memory for %zu trials", rows->count);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].time_us > 0) times[count++] = rows->row[i].time_us;
    qsort(times, count, sizeof *times, by_time);
    if (count) *limit_us = times[(most / 3 < count ? most / 3 : count) - (most / 3 > 0)];
    free(times);
    return OK;
}

/* Leaves out slow ones evenly. What was the best so far is among the fastest, or is kept as such. */
static enum status thin(struct rows *rows, size_t most)
{
    double limit_us, best_us = INFINITY;
    size_t kept = 0;
    const enum status st = fast_limit(rows, most, &limit_us);
    if (st || limit_us <= 0) return st;
    const size_t half = most / 2 + 1, step = rows->count / half + 1;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row row = rows->row[i];
        const bool gain = row.time_us > 0 && row.time_us < best_us;
        if (gain) best_us = row.time_us;
        if (gain || i % step == 0 || i + 1 == rows->count || (row.time_us > 0 && row.time_us <= limit_us))
            rows->row[kept++] = row;
    }
    rows->count = kept;
    return OK;
}

/* ---- packing ---- */

/* The values that a parameter of a family has in the trials, ascending; the first LETTERS. */
struct values {
    int32_t at[LETTERS];
    int count;
};

static void add_value(struct values *v, int32_t value)
{
    int at = 0;
    while (at < v->count && v->at[at] < value) at++;
    if ((at < v->count && v->at[at] == value) || v->count == LETTERS) return;
    memmove(&v->at[at + 1], &v->at[at], (size_t)(v->count - at) * sizeof *v->at);
    v->at[at] = value;
    v->count++;
}

static char letter_of(const struct values *v, int32_t value)
{
    int at = 0;
    while (at + 1 < v->count && v->at[at] < value) at++;
    return (char)('A' + at);
}

/* The letters of a configuration, a text. */
typedef char config_letters[CONFIG_PARAMS_MAX + 1];

/* One family's names and values; its trials get their letters. */
static json_t *family_json(const struct rows *rows, const struct template *t, config_letters *letters)
{
    struct values values[CONFIG_PARAMS_MAX] = {0};
    json_t *names = json_array(), *lists = json_array();
    for (size_t i = 0; i < rows->count; i++)
        for (int p = 0; p < t->param_count && rows->row[i].config.template == t; p++)
            add_value(&values[p], rows->row[i].config.value[p]);
    for (size_t i = 0; i < rows->count; i++)
        for (int p = 0; p < t->param_count && rows->row[i].config.template == t; p++)
            letters[i][p] = letter_of(&values[p], rows->row[i].config.value[p]);
    for (int p = 0; p < t->param_count; p++) {
        json_t *list = json_array();
        for (int v = 0; v < values[p].count; v++) json_array_append_new(list, json_integer(values[p].at[v]));
        json_array_append_new(names, json_string(t->params[p].name));
        json_array_append_new(lists, list);
    }
    return json_pack("{s:s, s:o, s:o}", "name", t->name, "parameters", names, "values", lists);
}

/* Numbers with five digits and a blank between them. */
struct numbers {
    char *text;
    size_t length;
};

static void add_number(struct numbers *n, double value)
{
    n->length += (size_t)sprintf(n->text + n->length, n->length ? " %.5g" : "%.5g", value);
}

/* Clock, power and temperature of trials that ran, evenly spaced: [number of the trial, MHz, W, C]. */
static json_t *clocks_json(const struct rows *rows)
{
    json_t *list = json_array();
    const size_t step = rows->count / CLOCKS_MOST + 1;
    for (size_t i = 0; i < rows->count; i += step) {
        const struct gpu_state *s = &rows->row[i].state;
        if (s->sm_clock_mhz <= 0) continue;
        json_array_append_new(
            list, json_pack("[i, i, f, i]", (int)i, s->sm_clock_mhz, s->power_w, s->temperature_c));
    }
    return list;
}

/* Lists of all trials, in the order in which they ended. */
struct packed {
    config_letters *letters;
    char *family, *verdict, *configs; /* a letter a trial; all their letters */
    struct numbers times, seconds;
};

static bool packed_open(struct packed *p, size_t n)
{
    enum { NUMBER = 14 };
    *p = (struct packed){.letters = calloc(n, sizeof *p->letters),
                         .family = calloc(n + 1, 1),
                         .verdict = calloc(n + 1, 1),
                         .configs = calloc(n, CONFIG_PARAMS_MAX + 1),
                         .times = {calloc(n, NUMBER), 0},
                         .seconds = {calloc(n, NUMBER), 0}};
    return p->letters && p->family && p->verdict && p->configs && p->times.text && p->seconds.text;
}

static void packed_free(struct packed *p)
{
    free(p->letters);
    free(p->family);
    free(p->verdict);
    free(p->configs);
    free(p->times.text);
    free(p->seconds.text);
}

static json_t *pack(const struct rows *rows, size_t total, struct packed *p)
{
    json_t *families = json_array();
    for (size_t t = 0; t < templates_all(); t++) {
        bool any = false;
        for (size_t i = 0; i < rows->count; i++) {
            if (rows->row[i].config.template != template_at(t)) continue;
            p->family[i] = (char)('A' + json_array_size(families));
            any = true;
        }
        if (any) json_array_append_new(families, family_json(rows, template_at(t), p->letters));
    }
    char *end = p->configs;
    for (size_t i = 0; i < rows->count; i++) {
        if (!p->family[i]) p->family[i] = '-';
        p->verdict[i] = (char)('A' + (int)rows->row[i].verdict);
        end = stpcpy(end, p->letters[i]);
        add_number(&p->times, rows->row[i].time_us);
        add_number(&p->seconds, rows->row[i].search_s);
    }
    return json_pack("{s:I, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "total", (json_int_t)total, "families",
                     families, "family", p->family, "verdict", p->verdict, "letters", p->configs, "times_us",
                     p->times.text, "seconds", p->seconds.text, "clocks", clocks_json(rows));
}

enum status report_trials(struct db *db, const struct db_filter *filter, bool cold, size_t most,
                          json_t **trials)
{
    struct rows rows = {.cold = cold};
    enum status st = db_trials(db, filter, take, &rows);
    if (st == E_ABSENT) st = OK;
    if (rows.starved) st = fail(E_MEMORY, "out of memory while reading %zu trials", rows.count);
    *trials = json_null();
    if (!st && rows.count) {
        struct packed packed = {0};
        const size_t total = rows.count;
        qsort(rows.row, rows.count, sizeof *rows.row, by_end);
        count_seconds(&rows);
        st = thin(&rows, most);
        if (!st && (!packed_open(&packed, rows.count) || !(*trials = pack(&rows, total, &packed))))
            st = fail(E_MEMORY, "out of memory for the report");
        packed_free(&packed);
    }
    free(rows.row);
    return st;
}

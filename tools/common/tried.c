#include "tried.h"

#include "template.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trial, as far as it is needed; texts are owned. */
struct row {
    char *text, *detail;
    int64_t run;
    int order; /* within the list: later is newer inside a run */
    enum verdict verdict;
    bool recovered, current;
    double time_us;
};

struct rows {
    struct row *row;
    size_t count, room;
    bool cold, starved;
};

static bool take(void *self, const struct db_trial *trial)
{
    struct rows *rows = self;
    if (trial->outcome.cold != rows->cold) return true;
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 256;
        struct row *grown = realloc(rows->row, room * sizeof *grown);
        if (!grown) {
            rows->starved = true;
            return false;
        }
        rows->row = grown;
        rows->room = room;
    }
    struct row row = {.text = strdup(trial->config_text),
                      .detail = strdup(trial->outcome.detail),
                      .run = trial->run_id,
                      .order = (int)rows->count,
                      .verdict = trial->outcome.verdict,
                      .recovered = trial->recovered,
                      .current = trial->current,
                      .time_us = trial->outcome.time_us};
    if (!row.text || !row.detail) rows->starved = true;
    rows->row[rows->count++] = row;
    return !rows->starved;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->row[i].text);
        free(rows->row[i].detail);
    }
    free(rows->row);
}

/* By configuration; the one that counts first: told before cut off, current before outdated, new before old.
 */
static int by_config(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int order = strcmp(a->text, b->text);
    if (order) return order;
    if (a->current != b->current) return b->current - a->current;
    if (a->recovered != b->recovered) return a->recovered - b->recovered;
    if (a->run != b->run) return a->run < b->run ? 1 : -1;
    return b->order - a->order;
}

/* "C[12,7] = 0.5" and "C[3,4] = 9e9" are one reason: each number becomes N. */
static void reason_shape(const char *reason, char shape[OUTCOME_DETAIL_MAX])
{
    size_t used = 0;
    while (*reason && used + 1 < OUTCOME_DETAIL_MAX) {
        if (isdigit((unsigned char)*reason)) {
            char *end;
            strtod(reason, &end);
            reason = end;
            shape[used++] = 'N';
        } else {
            shape[used++] = *reason++;
        }
    }
    shape[used] = '\0';
}

static enum status add_failure(struct tried *tried, const struct row *row)
{
    char shape[OUTCOME_DETAIL_MAX];
    reason_shape(row->detail, shape);
    for (int i = 0; i < tried->group_count; i++) {
        struct tried_group *g = &tried->groups[i];
        if (g->verdict != row->verdict || g->recovered != row->recovered || strcmp(g->shape, shape) != 0)
            continue;
        g->count++;
        return OK;
    }
    struct tried_group *grown = realloc(tried->groups, (size_t)(tried->group_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory while grouping failures");
    tried->groups = grown;
    struct tried_group *g = &grown[tried->group_count++];
    *g = (struct tried_group){.verdict = row->verdict, .recovered = row->recovered, .count = 1};
    snprintf(g->reason, sizeof g->reason, "%s", row->detail);
    snprintf(g->example, sizeof g->example, "%s", row->text);
    memcpy(g->shape, shape, sizeof g->shape);
    return OK;
}

static enum status add_values(struct tried *tried, const struct row *row)
{
    struct config config;
    if (config_parse(row->text, &config) || config.template != tried->template) return OK;
    for (int p = 0; p < tried->template->param_count; p++) {
        int i = 0;
        while (i < tried->value_count &&
               (tried->values[i].param != p || tried->values[i].value != config.value[p]))
            i++;
        if (i == tried->value_count) {
            struct tried_value *grown = realloc(tried->values, (size_t)(i + 1) * sizeof *grown);
            if (!grown) return fail(E_MEMORY, "out of memory while looking at parameters");
            tried->values = grown;
            tried->values[tried->value_count++] = (struct tried_value){.param = p, .value = config.value[p]};
        }
        struct tried_value *v = &tried->values[i];
        if (v->count++ == 0 || row->time_us < v->best_us) v->best_us = row->time_us;
    }
    return OK;
}

static int by_count(const void *x, const void *y)
{
    const struct tried_group *a = x, *b = y;
    return a->count != b->count ? b->count - a->count : (int)a->verdict - (int)b->verdict;
}

static int by_value(const void *x, const void *y)
{
    const struct tried_value *a = x, *b = y;
    if (a->param != b->param) return a->param - b->param;
    return (a->value > b->value) - (a->value < b->value);
}

/* With a time that counts. Predictions count where nothing was measured. */
static bool timed(const struct row *row, bool predicted)
{
    if (predicted) return row->time_us > 0 && row->verdict == VERDICT_PREDICTED;
    return row->time_us > 0 && (row->verdict == VERDICT_MEASURED || row->verdict == VERDICT_SLOW);
}

/* Sorted by by_config, the first row of each configuration is the one that counts. */
static bool counts(const struct rows *rows, size_t i)
{
    return i == 0 || strcmp(rows->row[i].text, rows->row[i - 1].text) != 0;
}

static void count_all(const struct rows *rows, struct tried *tried)
{
    tried->trials = (int)rows->count;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!counts(rows, i)) continue;
        tried->configs++;
        if (!row->current) tried->outdated++;
        else if (row->recovered) tried->recovered++;
        else tried->verdicts[row->verdict]++;
    }
    tried->predicted = tried->verdicts[VERDICT_MEASURED] + tried->verdicts[VERDICT_SLOW] == 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!counts(rows, i) || !row->current || row->recovered || !timed(row, tried->predicted)) continue;
        if (tried->best_us > 0 && row->time_us >= tried->best_us) continue;
        tried->best_us = row->time_us;
        snprintf(tried->best, sizeof tried->best, "%s", row->text);
    }
}

static bool failed(const struct row *row)
{
    return row->recovered || (row->verdict != VERDICT_MEASURED && row->verdict != VERDICT_SLOW &&
                              row->verdict != VERDICT_PREDICTED);
}

enum status tried_collect(struct db *db, const struct db_filter *filter, bool cold, const struct template *t,
                          struct tried *tried)
{
    struct rows rows = {.cold = cold};
    memset(tried, 0, sizeof *tried);
    enum status st = db_trials(db, filter, take, &rows);
    if (!st && rows.starved) st = fail(E_MEMORY, "out of memory while reading %zu trials", rows.count);
    if (!st && rows.count) {
        qsort(rows.row, rows.count, sizeof *rows.row, by_config);
        count_all(&rows, tried);
    }
    struct config best;
    tried->template = t ? t : tried->best[0] && config_parse(tried->best, &best) == OK ? best.template : NULL;
    for (size_t i = 0; !st && i < rows.count; i++) {
        const struct row *row = &rows.row[i];
        if (!counts(&rows, i) || !row->current) continue;
        if (failed(row)) st = add_failure(tried, row);
        else if (tried->template && timed(row, tried->predicted)) st = add_values(tried, row);
    }
    free_rows(&rows);
    if (st) {
        tried_free(tried);
        return st;
    }
    if (tried->group_count) qsort(tried->groups, (size_t)tried->group_count, sizeof *tried->groups, by_count);
    if (tried->value_count) qsort(tried->values, (size_t)tried->value_count, sizeof *tried->values, by_value);
    return OK;
}

void tried_free(struct tried *tried)
{
    free(tried->groups);
    free(tried->values);
    *tried = (struct tried){0};
}

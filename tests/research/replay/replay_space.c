#include "replay_space.h"

#include "exchange_json.h"
#include "import_ours.h"
#include "model.h"
#include "neighbours.h"
#include "recorded.h"
#include "template.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A result, before it is known which space and which place it has. */
struct result {
    json_t *configuration;       /* of other tuners */
    struct db_full_trial *trial; /* of ours */
    struct config config;
    double time_us;
    size_t order; /* in the file */
};

struct results {
    struct result *list;
    size_t count, room;
    const struct recorded *file;
    int64_t left_out;
    enum status st;
};

static void free_results(struct results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        json_decref(r->list[i].configuration);
        free(r->list[i].trial);
    }
    free(r->list);
}

/* ---- reading ---- */

/* The configuration's own text says all that a replay needs: its kernel may have changed since. */
static enum status take_ours(const struct recorded_row *row, const json_t *gpus, struct result *result)
{
    struct db_full_trial *trial = calloc(1, sizeof *trial);
    if (!trial) return fail(E_MEMORY, "out of memory for the results");
    enum status st = trial_from_json(row->gemmtune, gpus, trial);
    if (st == E_ABSENT && trial->config.template) st = OK;
    if (!st && trial->outcome.verdict == VERDICT_PREDICTED) st = E_ABSENT;
    /* The model computes with what the rules have let through only. */
    if (!st && trial->config.template->check(&trial->config, &trial->problem, &trial->context.gpu))
        st = E_ABSENT;
    if (st) {
        free(trial);
        return st == E_INPUT ? E_ABSENT : st;
    }
    result->trial = trial;
    result->config = trial->config;
    result->time_us = outcome_usable(&trial->outcome) ? trial->outcome.time_us : (double)INFINITY;
    return result->time_us > 0 ? OK : E_ABSENT;
}

static enum status take_others(const struct recorded_row *row, struct result *result)
{
    const bool correct = row->verdict == RECORDED_CORRECT;
    if (correct && !(row->time_ms > 0)) return E_ABSENT;
    result->configuration = json_incref(row->configuration);
    result->time_us = correct ? 1e3 * row->time_ms : (double)INFINITY;
    return OK;
}

static bool take_row(void *self, const struct recorded_row *row)
{
    struct results *r = self;
    struct result result = {.order = r->count};
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 1024;
        struct result *grown = realloc(r->list, room * sizeof *grown);
        if (!grown) {
            r->st = fail(E_MEMORY, "out of memory for %zu results", room);
            return false;
        }
        r->list = grown;
        r->room = room;
    }
    enum status st = r->file->gpus && row->gemmtune ? take_ours(row, r->file->gpus, &result)
                     : r->file->gpus                ? E_ABSENT
                                                    : take_others(row, &result);
    if (st == E_ABSENT) {
        free(result.trial);
        r->left_out++;
    } else if (st) r->st = st;
    else r->list[r->count++] = result;
    return !r->st;
}

/* ---- parameters of other tuners ---- */

static int rank_of_type(const json_t *value)
{
    return json_is_number(value) ? 2 : json_is_string(value) ? 3 : json_is_boolean(value) ? 1 : 0;
}

/* Nothing, false, true, numbers, texts. Lists and objects are nothing. */
int replay_compare_values(const json_t *x, const json_t *y)
{
    const int a = rank_of_type(x), b = rank_of_type(y);
    if (a != b) return a < b ? -1 : 1;
    if (a == 1) return json_is_true(x) - json_is_true(y);
    if (a == 2)
        return (json_number_value(x) > json_number_value(y)) - (json_number_value(x) < json_number_value(y));
    return a == 3 ? strcmp(json_string_value(x), json_string_value(y)) : 0;
}

static int by_value(const void *x, const void *y)
{
    return replay_compare_values(*(const json_t *const *)x, *(const json_t *const *)y);
}

/* The values of a parameter that occur, ascending; returns how many. column has room for one a result. */
static size_t values_of(const struct results *r, const char *name, const json_t **column)
{
    size_t distinct = 0;
    for (size_t i = 0; i < r->count; i++) column[i] = json_object_get(r->list[i].configuration, name);
    qsort(column, r->count, sizeof *column, by_value);
    for (size_t i = 0; i < r->count; i++)
        if (i == 0 || replay_compare_values(column[distinct - 1], column[i]) != 0)
            column[distinct++] = column[i];
    return distinct;
}

/* A parameter that has several values; each becomes its number among them. */
static enum status add_parameter(struct results *r, struct made_template *made, const char *name,
                                 const json_t **column, size_t distinct)
{
    const int p = made->template.param_count;
    if (p == CONFIG_PARAMS_MAX)
        return fail(E_INPUT, "%s has more than %d parameters with several values: too many for a search",
                    r->file->path, CONFIG_PARAMS_MAX);
    if (!(made->name[p] = json_string(name))) return fail(E_MEMORY, "out of memory for the parameters");
    made->param[p] = (struct param){
        .name = json_string_value(made->name[p]), .kind = PARAM_COMPILE, .most = INT32_MAX, .meaning = ""};
    made->template.param_count++;
    if (!(made->values[p] = json_array())) return fail(E_MEMORY, "out of memory for the parameters");
    for (size_t v = 0; v < distinct; v++) /* a result that lacks the parameter has no value at all */
        json_array_append_new(made->values[p],
                              column[v] ? json_incref((json_t *)(uintptr_t)column[v]) : json_null());
    for (size_t i = 0; i < r->count; i++) {
        const json_t *value = json_object_get(r->list[i].configuration, name);
        const json_t **at = bsearch(&value, column, distinct, sizeof *column, by_value);
        r->list[i].config.value[p] = (int32_t)(at - column);
    }
    return OK;
}

static enum status make_template(struct results *r, struct made_template *made)
{
    const json_t **column = malloc((r->count + 1) * sizeof *column);
    json_t *names = json_object(), *unused;
    const char *name;
    enum status st = column && names ? OK : fail(E_MEMORY, "out of memory for the parameters");
    made->template = (struct template){.name = "recorded", .params = made->param};
    for (size_t i = 0; i < r->count && !st; i++) {
        r->list[i].config.template = &made->template;
        json_object_foreach(r->list[i].configuration, name, unused)
            json_object_set_new(names, name, json_true());
    }
    json_object_foreach(names, name, unused)
    {
        const size_t distinct = st ? 0 : values_of(r, name, column);
        if (distinct > 1) st = add_parameter(r, made, name, column, distinct);
    }
    json_decref(names);
    free(column);
    return st;
}

/* ---- spaces ---- */

static int compare_spaces(const struct result *x, const struct result *y)
{
    if (!x->trial || !y->trial) return 0;
    int order = strcmp(x->trial->context.gpu.name, y->trial->context.gpu.name);
    char a[PROBLEM_TEXT_MAX], b[PROBLEM_TEXT_MAX];
    problem_format(&x->trial->problem, a);
    problem_format(&y->trial->problem, b);
    if (order == 0) order = strcmp(a, b);
    return order ? order : x->trial->outcome.cold - y->trial->outcome.cold;
}

static int compare_configs(const struct config *x, const struct config *y)
{
    if (x->template != y->template) return strcmp(x->template->name, y->template->name);
    return memcmp(x->value, y->value, sizeof x->value);
}

static int by_space(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    int order = compare_spaces(a, b);
    if (order == 0) order = compare_configs(&a->config, &b->config);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    return (a->order > b->order) - (a->order < b->order);
}

static void free_space(struct replay_space *s)
{
    free(s->config);
    free(s->time_us);
    free(s->predicted_us);
}

/* The candidates in the model's order, and their times with them. */
static enum status order_by_model(struct replay_space *s, const struct db_full_trial *trial)
{
    struct config *ordered = malloc(s->count * sizeof *ordered);
    double *time_us = malloc(s->count * sizeof *time_us);
    s->predicted_us = calloc(s->count, sizeof *s->predicted_us);
    struct neighbours *near = neighbours_build(s->config, s->count, NULL);
    enum status st = ordered && time_us && s->predicted_us && near
                         ? OK
                         : fail(E_MEMORY, "out of memory for %zu candidates", s->count);
    if (!st) {
        memcpy(ordered, s->config, s->count * sizeof *ordered);
        st = model_sort(ordered, s->count, &trial->problem, &trial->context.gpu, s->predicted_us);
    }
    for (size_t i = 0; i < s->count && !st; i++) time_us[i] = s->time_us[neighbours_find(near, &ordered[i])];
    neighbours_free(near);
    if (st) {
        free(ordered);
        free(time_us);
        return st;
    }
    free(s->config);
    free(s->time_us);
    s->config = ordered;
    s->time_us = time_us;
    return OK;
}

static void name_space(struct replay_space *s, const struct recorded *file, const struct db_full_trial *trial)
{
    if (trial) {
        char problem[PROBLEM_TEXT_MAX];
        problem_format(&trial->problem, problem);
        snprintf(s->name, sizeof s->name, "%.100s on %.40s%s", problem, trial->context.gpu.name,
                 trial->outcome.cold ? "" : " (hot)");
    } else {
        snprintf(s->name, sizeof s->name, "%.50s%s%.40s%s%.60s", file->kernel[0] ? file->kernel : "kernel",
                 file->problem[0] ? " " : "", file->problem, file->device[0] ? " on " : "", file->device);
    }
}

/* Results of one space, sorted, each configuration once, become candidates in the file's order. */
static enum status add_space(struct replay_spaces *all, struct result *list, size_t count,
                             const struct recorded *file)
{
    struct replay_space s = {.count = count, .best_us = INFINITY};
    const struct db_full_trial *trial = list[0].trial;
    qsort(list, count, sizeof *list, by_order);
    s.config = malloc(count * sizeof *s.config);
    s.time_us = malloc(count * sizeof *s.time_us);
    struct replay_space *grown = realloc(all->space, (all->count + 1) * sizeof *grown);
    if (grown) all->space = grown;
    enum status st = OK;
    if (!s.config || !s.time_us || !grown) st = fail(E_MEMORY, "out of memory for %zu candidates", count);
    for (size_t i = 0; i < count && !st; i++) {
        s.config[i] = list[i].config;
        s.time_us[i] = list[i].time_us;
        s.failed += isinf(list[i].time_us) ? 1 : 0;
        s.best_us = fmin(s.best_us, list[i].time_us);
    }
    name_space(&s, file, trial);
    if (trial) {
        s.ours = true;
        s.problem = trial->problem;
        s.gpu = trial->context.gpu;
    }
    if (!st && isfinite(s.best_us) && trial) st = order_by_model(&s, trial);
    if (!st && !isfinite(s.best_us)) all->left_out += (int64_t)count;
    if (st || !isfinite(s.best_us)) free_space(&s);
    else all->space[all->count++] = s;
    return st;
}

/* What comes twice goes to the end of the list, the last stays; then one space after the other. */
static enum status divide(struct results *r, struct replay_spaces *all)
{
    if (r->count) qsort(r->list, r->count, sizeof *r->list, by_space);
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        const bool again = i + 1 < r->count && compare_spaces(&r->list[i], &r->list[i + 1]) == 0 &&
                           compare_configs(&r->list[i].config, &r->list[i + 1].config) == 0;
        all->repeated += again ? 1 : 0;
        if (again) continue;
        const struct result repeated = r->list[kept]; /* or the very one */
        r->list[kept++] = r->list[i];
        r->list[i] = repeated;
    }
    enum status st = OK;
    for (size_t first = 0, end; first < kept && !st; first = end) {
        for (end = first + 1; end < kept && compare_spaces(&r->list[first], &r->list[end]) == 0;) end++;
        st = add_space(all, r->list + first, end - first, r->file);
    }
    return st;
}

static enum status take_results(const char *bytes, size_t length, struct recorded *file,
                                struct replay_spaces *all)
{
    struct results r = {.file = file};
    enum status st = recorded_rows(bytes, length, file, take_row, &r);
    if (!st) st = r.st;
    if (!st && !file->gpus) {
        all->made = calloc(1, sizeof *all->made);
        st = all->made ? make_template(&r, all->made) : fail(E_MEMORY, "out of memory for the parameters");
    }
    if (!st) st = divide(&r, all);
    all->left_out += r.left_out + file->broken;
    all->cut = file->cut;
    if (!st && all->count == 0)
        st = r.count ? fail(E_INPUT,
                            "%s: none of its %zu configurations has a time: there is nothing to search for",
                            file->path, r.count)
                     : fail(E_INPUT, "%s holds no result with a time", file->path);
    free_results(&r);
    return st;
}

enum status replay_read(const char *path, struct replay_spaces *spaces)
{
    char *bytes = NULL;
    size_t length = 0;
    struct recorded file = {.unit_ms = 1};
    *spaces = (struct replay_spaces){0};
    enum status st = import_read(path, &bytes, &length);
    if (!st) st = recorded_open(path, bytes, length, &file);
    if (!st && file.format == RECORDED_UNKNOWN && (length == 0 || file.cut))
        st = fail(E_INPUT, "%s ends before anything that can be read of it", path);
    if (!st && file.format == RECORDED_UNKNOWN)
        st = fail(E_INPUT, "%s is none of what is read: T4 (tune export --t4), a cache file of Kernel Tuner",
                  path);
    if (!st) st = take_results(bytes, length, &file, spaces);
    recorded_close(&file);
    free(bytes);
    if (st) replay_free(spaces);
    return st;
}

void replay_free(struct replay_spaces *spaces)
{
    for (size_t i = 0; i < spaces->count; i++) free_space(&spaces->space[i]);
    free(spaces->space);
    if (spaces->made)
        for (int p = 0; p < CONFIG_PARAMS_MAX; p++) {
            json_decref(spaces->made->name[p]);
            json_decref(spaces->made->values[p]);
        }
    free(spaces->made);
    *spaces = (struct replay_spaces){0};
}

#include "field.h"

#include "model.h"
#include "sample.h"
#include "template.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An estimate claims no more. */
static double two_digits(double x)
{
    const double unit = pow(10, floor(log10(fmax(x, 1))) - 1);
    return unit * rint(x / unit);
}

static enum status make_room(struct field *field)
{
    const size_t all = field->room + FIELD_LIBRARY_MAX;
    struct config *config = realloc(field->config, all * sizeof *config);
    if (config) field->config = config;
    field->predicted_us = calloc(all, sizeof *field->predicted_us);
    field->time_us = calloc(all, sizeof *field->time_us);
    field->screened_out = calloc(all, sizeof *field->screened_out);
    field->crashes = calloc(all, sizeof *field->crashes);
    return config && field->predicted_us && field->time_us && field->screened_out && field->crashes
               ? OK
               : fail(E_MEMORY, "out of memory for %zu candidates", field->room);
}

/* NVIDIA's library may propose something for the problem. */
static bool library_serves(const struct problem *problem, const struct gpu *gpu)
{
    for (size_t i = 0; i < template_count; i++) {
        struct config config = {.template = templates[i]};
        if (!template_is_library(templates[i])) continue;
        for (int p = 0; p < templates[i]->param_count; p++) config.value[p] = templates[i]->params[p].least;
        if (!templates[i]->check(&config, problem, gpu)) return true;
    }
    return false;
}

/* The first index from `from` on that is a candidate; those of the library come last. */
static size_t next_of(const struct field *field, size_t from)
{
    return from < field->count || from >= field->room ? from : field->room;
}

enum status field_open(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                       int64_t workspace_bytes, bool or_library, struct field *field)
{
    *field = (struct field){0};
    struct candidates legal = {0};
    enum status st = space_enumerate(space, problem, gpu, workspace_bytes, &legal);
    if (st == E_ABSENT && or_library && library_serves(problem, gpu)) {
        snprintf(field->nothing, sizeof field->nothing, "%.255s", status_text());
        st = OK;
    }
    if (st) return st;
    field->config = legal.config; /* taken over */
    field->count = legal.count;
    field->room = legal.count;
    field->raw_count = legal.raw_count;
    field->legal = legal.sampled ? two_digits(legal.legal) : legal.legal;
    if (legal.sampled) st = sample_open(field, space, problem, gpu, workspace_bytes);
    if (!st) st = make_room(field);
    if (!st && field->sample) st = sample_descend(field);
    if (!st) st = model_sort(field->config, field->count, problem, gpu, field->predicted_us);
    if (st) field_close(field);
    return st;
}

enum status field_open_few(const struct config *configs, size_t count, const struct problem *problem,
                           const struct gpu *gpu, struct field *field)
{
    *field =
        (struct field){.count = count, .room = count, .raw_count = (double)count, .legal = (double)count};
    enum status st = make_room(field);
    if (!st && count) memcpy(field->config, configs, count * sizeof *configs);
    if (!st) st = model_sort(field->config, count, problem, gpu, field->predicted_us);
    if (st) field_close(field);
    return st;
}

void field_close(struct field *field)
{
    free(field->config);
    free(field->predicted_us);
    free(field->time_us);
    free(field->screened_out);
    free(field->crashes);
    sample_free(field->sample);
    *field = (struct field){0};
}

void field_leave(struct field *field, const struct config *config, const struct problem *problem,
                 const struct gpu *gpu)
{
    field->config[0] = *config;
    field->predicted_us[0] = model_predict(config, problem, gpu, NULL).time_us;
    field->count = field->room = 1;
    field->legal = 1;
    sample_free(field->sample);
    field->sample = NULL;
}

enum status field_drop(struct field *field, const struct config *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < field->count; i++) {
        if (config_equal(&field->config[i], config)) continue;
        field->config[kept] = field->config[i];
        field->predicted_us[kept++] = field->predicted_us[i];
    }
    field->legal -= (double)(field->count - kept);
    field->count = kept;
    return field->sample ? sample_exclude(field->sample, config) : OK;
}

bool field_add_library(struct field *field, const struct config *config, const struct problem *problem,
                       const struct gpu *gpu, size_t *index)
{
    if (field_find(field, config, index)) return true;
    if (field->library == FIELD_LIBRARY_MAX) return false;
    *index = field->room + field->library++;
    field->config[*index] = *config;
    field->predicted_us[*index] = model_predict(config, problem, gpu, NULL).time_us;
    return true;
}

bool field_find(const struct field *field, const struct config *config, size_t *index)
{
    for (*index = next_of(field, 0); *index < field->room + field->library;
         *index = next_of(field, *index + 1))
        if (config_equal(&field->config[*index], config)) return true;
    return false;
}

/* ---- what earlier runs know ---- */

struct keyed {
    uint64_t hash;
    size_t index;
};

static int by_hash(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* The candidates of which the database has outcomes. The index over the field is made when there is a first
 * one. */
struct lookup {
    struct field *field;
    size_t ranked; /* candidates that are in the index */
    struct keyed *keyed;
    uint8_t *seen;
    bool out_of_memory;
};

static bool make_index(struct lookup *l)
{
    size_t n = l->field->count;
    l->ranked = n;
    l->keyed = calloc(n, sizeof *l->keyed);
    l->seen = calloc(l->field->room, 1);
    if (!l->keyed || !l->seen) return false;
    for (size_t i = 0; i < n; i++) l->keyed[i] = (struct keyed){config_hash(&l->field->config[i]), i};
    qsort(l->keyed, n, sizeof *l->keyed, by_hash);
    return true;
}

static bool see_trial(void *self, const struct db_trial *trial)
{
    struct lookup *l = self;
    struct config config;
    if (config_parse(trial->config_text, &config)) return true; /* of a template that is no more */
    if (!l->keyed && !make_index(l)) {
        l->out_of_memory = true;
        return false;
    }
    struct keyed key = {.hash = config_hash(&config)};
    const struct keyed *k = bsearch(&key, l->keyed, l->ranked, sizeof *k, by_hash);
    if (!k) {
        const size_t added = field_reach(l->field, &config);
        if (added != NEIGHBOURS_NONE) l->seen[added] = 1;
        return true;
    }
    while (k > l->keyed && k[-1].hash == key.hash) k--;
    for (; k < l->keyed + l->ranked && k->hash == key.hash; k++)
        if (config_equal(&l->field->config[k->index], &config)) l->seen[k->index] = 1;
    return true;
}

enum status field_recall_one(struct field *field, size_t i, struct db *db, const struct db_context *context,
                             const struct problem *problem, struct search *search, struct recalled *recalled)
{
    struct outcome outcome;
    bool stale = false, quarantined = false;
    enum status st = db_find(db, context, problem, &field->config[i], &outcome, &stale);
    if (st == E_ABSENT) return OK; /* another GPU, cache policy or template code */
    if (st || outcome.verdict == VERDICT_PREDICTED) return st;
    if (outcome.verdict == VERDICT_CRASHED || outcome.verdict == VERDICT_HUNG) {
        st = db_quarantined(db, context, &field->config[i], &quarantined);
        if (st || !quarantined) {
            recalled->interrupted++;
            return st;
        }
    }
    recalled->stale += stale;
    if (outcome_usable(&outcome)) recalled->usable++;
    else recalled->failed++;
    field_tell(field, i, &outcome);
    if (search) search_tell(search, i, field->time_us[i]);
    return OK;
}

enum status field_recall(struct field *field, struct db *db, const struct db_context *context,
                         const struct problem *problem, struct search *search, struct recalled *recalled)
{
    *recalled = (struct recalled){0};
    struct lookup lookup = {.field = field};
    struct db_filter filter = {.gpu = context->gpu.name, .problem = problem};
    enum status st = db_trials(db, &filter, see_trial, &lookup);
    if (st == E_ABSENT) st = OK;
    if (lookup.out_of_memory) st = fail(E_MEMORY, "out of memory for what earlier runs know");
    for (size_t i = 0; !st && lookup.seen && i < field->count; i++)
        if (lookup.seen[i]) st = field_recall_one(field, i, db, context, problem, search, recalled);
    free(lookup.keyed);
    free(lookup.seen);
    return st;
}

/* ---- how they did ---- */

void field_tell(struct field *field, size_t index, const struct outcome *outcome)
{
    bool usable = outcome_usable(outcome) && outcome->time_us > 0;
    field->time_us[index] = usable ? outcome->time_us : (double)INFINITY;
    field->screened_out[index] = outcome->verdict == VERDICT_SLOW;
}

/* Insert into the fastest so far, which is kept sorted. */
static int insert(const struct field *field, size_t i, size_t *best, int count, int room)
{
    int at = count;
    while (at > 0 && field->time_us[i] < field->time_us[best[at - 1]]) at--;
    if (at == room) return count;
    int last = count < room ? count : room - 1;
    for (int j = last; j > at; j--) best[j] = best[j - 1];
    best[at] = i;
    return last + 1;
}

int field_best(const struct field *field, size_t *index, int room)
{
    int count = 0;
    for (int pass = 0; pass < 2 && count == 0; pass++) /* the screened out only if there is nothing better */
        for (size_t i = next_of(field, 0); i < field->room + field->library; i = next_of(field, i + 1)) {
            bool usable = field->time_us[i] > 0 && isfinite(field->time_us[i]);
            if (usable && (pass || !field->screened_out[i])) count = insert(field, i, index, count, room);
        }
    return count;
}

bool field_divides_k(const struct config *config)
{
    return config_get(config, "SPLIT_K") > 1 || config_get(config, "WARPS_K") > 1;
}

void field_defer_divided(struct field *field)
{
    for (size_t i = next_of(field, 0); i < field->room + field->library; i = next_of(field, i + 1))
        if (field_divides_k(&field->config[i])) field->screened_out[i] = 1;
}

size_t field_rank(const struct field *field, size_t index)
{
    size_t before = 0;
    if (field_is_library(field, index)) return 0;
    if (!field->sample) return index + 1;
    for (size_t i = 0; i < field->count; i++)
        before += field->predicted_us[i] < field->predicted_us[index] ||
                  (field->predicted_us[i] == field->predicted_us[index] && i < index);
    return before + 1;
}

double field_model_share(const struct field *field, size_t n, double winner_us)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < n && i < field->count; i++)
        if (field->time_us[i] > 0) best = fmin(best, field->time_us[i]);
    return isfinite(best) ? winner_us / best : 0;
}

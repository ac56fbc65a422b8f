#include "sample.h"

#include "model.h"
#include "template.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define GROWN_MOST    500000 /* far more than a search asks for */
#define DESCENT_EACH  40     /* candidates of each kind whose neighbours the model is asked about */
#define DESCENT_ANY   300  /* and after that in turn of any kind and of one of those that are near the best */
#define KIND_REACH    1.15 /* times the best of all: the model errs by less between kinds (opening.c) */
#define COUPLED_EVERY 10   /* which of their steps also for changes of any two parameters, which are many */
#define KINDS_MOST    32   /* the shipped families have 12; for more only the last DESCENT_ANY steps look */

struct sample {
    const struct space *space;
    struct problem problem;
    struct gpu gpu;
    int64_t workspace_bytes;
    struct growth growth;
    struct config *excluded;
    size_t excluded_count;
    uint32_t *slot; /* open addressing over the field: index + 1, 0 is empty; NULL: to be made */
    size_t mask, indexed;
};

void sample_free(struct sample *s)
{
    if (!s) return;
    free(s->excluded);
    free(s->slot);
    free(s);
}

enum status sample_exclude(struct sample *s, const struct config *config)
{
    struct config *grown = realloc(s->excluded, (s->excluded_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for what is excluded");
    grown[s->excluded_count++] = *config;
    s->excluded = grown;
    return OK;
}

/* ---- which candidates there are ---- */

static size_t slot_of(const struct field *field, const struct config *config)
{
    const struct sample *s = field->sample;
    const uint64_t hash =
        XXH3_64bits_withSeed(config->value, sizeof config->value, (uintptr_t)config->template);
    size_t at = (size_t)hash & s->mask;
    while (s->slot[at] && !config_equal(&field->config[s->slot[at] - 1], config)) at = (at + 1) & s->mask;
    return at;
}

/* Adds the field's new candidates to the index. */
static bool index_field(const struct field *field)
{
    struct sample *s = field->sample;
    if (!s->slot) {
        size_t slots = 16;
        while (slots < 2 * field->room) slots *= 2;
        s->slot = calloc(slots, sizeof *s->slot);
        s->mask = slots - 1;
        s->indexed = 0;
    }
    if (!s->slot) return false;
    for (; s->indexed < field->count; s->indexed++)
        s->slot[slot_of(field, &field->config[s->indexed])] = (uint32_t)s->indexed + 1;
    return true;
}

static void forget_index(struct sample *s)
{
    free(s->slot);
    s->slot = NULL;
}

/* ---- growth ---- */

static bool is_excluded(const struct sample *s, const struct config *config)
{
    for (size_t i = 0; i < s->excluded_count; i++)
        if (config_equal(&s->excluded[i], config)) return true;
    return false;
}

/* The correction of the model there by trials of other problems. */
static double correction(const struct field *field, size_t at)
{
    const struct sample *s = field->sample;
    if (at == NEIGHBOURS_NONE) return 1;
    return field->predicted_us[at] / model_predict(&field->config[at], &s->problem, &s->gpu, NULL).time_us;
}

/* A candidate of the space: its index, at the end if it is new. */
static size_t take(struct field *field, const struct config *config, size_t from)
{
    const struct sample *s = field->sample;
    if (!index_field(field)) return NEIGHBOURS_NONE;
    const uint32_t known = s->slot[slot_of(field, config)];
    if (known) return known - 1;
    if (field->count == field->room || is_excluded(s, config)) return NEIGHBOURS_NONE;
    field->config[field->count] = *config;
    field->predicted_us[field->count] =
        model_predict(config, &s->problem, &s->gpu, NULL).time_us * correction(field, from);
    return field->count++;
}

static size_t reach(void *self, const struct config *wanted, size_t from)
{
    struct field *field = self;
    const struct sample *s = field->sample;
    struct config config = *wanted;
    /* A candidate that is no neighbour is a winner, or was tried. */
    if (!space_reach(s->space, &s->problem, &s->gpu, s->workspace_bytes, from == NEIGHBOURS_NONE, &config))
        return NEIGHBOURS_NONE;
    return take(field, &config, from);
}

static size_t find(void *self, const struct config *wanted)
{
    const struct field *field = self;
    const struct sample *s = field->sample;
    struct config config = *wanted;
    if (!space_reach(s->space, &s->problem, &s->gpu, s->workspace_bytes, true, &config) ||
        !index_field(field))
        return NEIGHBOURS_NONE;
    const uint32_t known = s->slot[slot_of(field, &config)];
    return known ? known - 1 : NEIGHBOURS_NONE;
}

const struct growth *field_growth(struct field *field)
{
    struct sample *s = field->sample;
    if (!s) return NULL;
    s->growth = (struct growth){.room = field->room,
                                .reach = reach,
                                .find = find,
                                .self = field,
                                .predicted_us = field->predicted_us};
    return &s->growth;
}

size_t field_reach(struct field *field, const struct config *config)
{
    if (!field->sample) return NEIGHBOURS_NONE;
    const size_t at = reach(field, config, NEIGHBOURS_NONE);
    return at != NEIGHBOURS_NONE && config_equal(&field->config[at], config) ? at : NEIGHBOURS_NONE;
}

enum status field_reach_launches(struct field *field, const struct config *config)
{
    const struct sample *s = field->sample;
    struct candidates launches;
    if (!s) return OK;
    enum status st = space_launches(s->space, &s->problem, &s->gpu, s->workspace_bytes, config, &launches);
    if (st) return st;
    for (size_t i = 0; i < launches.count; i++) take(field, &launches.config[i], NEIGHBOURS_NONE);
    candidates_free(&launches);
    return OK;
}

/* ---- opening ---- */

/* Whose neighbours have been added: of candidates that are predicted alike one, for details that the model
 * does not see would be all that it looks at. */
struct descent {
    struct neighbours *near;
    struct {
        const struct template *template;
        double predicted_us;
    } seen[KINDS_MOST * DESCENT_EACH + DESCENT_ANY];
    int count;
};

static bool was_there(const struct descent *d, const struct template *template, double predicted_us)
{
    for (int i = 0; i < d->count; i++)
        if (d->seen[i].predicted_us == predicted_us && d->seen[i].template == template) return true;
    return false;
}

/* The next best candidate of one kind, or of all (NULL). NEIGHBOURS_NONE: there are no others. */
static size_t next_best(const struct field *field, const struct descent *d, const struct template_kind *kind)
{
    const double *us = field->predicted_us;
    size_t best = NEIGHBOURS_NONE;
    for (size_t i = 0; i < field->count; i++) {
        if (best != NEIGHBOURS_NONE && us[i] >= us[best]) continue;
        if (kind && !template_is_of_kind(&field->config[i], kind)) continue;
        if (!was_there(d, field->config[i].template, us[i])) best = i;
    }
    return best;
}

/* step: of this kind, counted from 0. False: there is none. */
static bool step_down(struct field *field, struct descent *d, const struct template_kind *kind, int step)
{
    size_t list[NEIGHBOURS_MAX];
    const size_t at = next_best(field, d, kind);
    if (at == NEIGHBOURS_NONE) return false;
    neighbours_of(d->near, at, NEIGHBOUR_LAUNCH, list);
    neighbours_of(d->near, at, NEIGHBOUR_SINGLE, list);
    if (step % COUPLED_EVERY == 0) neighbours_of(d->near, at, NEIGHBOUR_PAIR, list);
    neighbours_of(d->near, at, NEIGHBOUR_SCALED, list);
    d->seen[d->count].template = field->config[at].template;
    d->seen[d->count++].predicted_us = field->predicted_us[at];
    return true;
}

static int find_kinds(const struct field *field, struct template_kind kinds[KINDS_MOST])
{
    int count = 0;
    for (size_t i = 0; i < field->count && count < KINDS_MOST; i++) {
        int k = 0;
        while (k < count && !template_is_of_kind(&field->config[i], &kinds[k])) k++;
        if (k == count) kinds[count++] = template_kind(&field->config[i]);
    }
    return count;
}

static double best_of(const struct field *field, const struct template_kind *kind)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < field->count; i++)
        if (field->predicted_us[i] < best && (!kind || template_is_of_kind(&field->config[i], kind)))
            best = field->predicted_us[i];
    return best;
}

/* Keeps the kinds whose best is predicted near the best of all, in place; returns how many. */
static int keep_near(const struct field *field, struct template_kind *kinds, int count)
{
    const double best = best_of(field, NULL);
    int near = 0;
    for (int k = 0; k < count; k++)
        if (best_of(field, &kinds[k]) <= KIND_REACH * best) kinds[near++] = kinds[k];
    return near;
}

/* A sample has few of those that the model likes best: the neighbours of its favourites, and theirs, are
 * added. The model errs by some per cent between kinds, and no small step leads from one to another that
 * shares k differently, so that the favourites of each are looked for.
 */
static enum status descend(struct field *field)
{
    struct template_kind kinds[KINDS_MOST];
    const int count = find_kinds(field, kinds);
    struct descent *d = calloc(1, sizeof *d);
    if (d) d->near = neighbours_build(field->config, field->count, field_growth(field));
    const bool good = d && d->near;
    for (int k = 0; good && k < count; k++)
        for (int i = 0; i < DESCENT_EACH && step_down(field, d, &kinds[k], i); i++) continue;
    const int near = good ? keep_near(field, kinds, count) : 0;
    for (int i = 0; good && i < DESCENT_ANY; i++) {
        const struct template_kind *kind = i % 2 && near ? &kinds[i / 2 % near] : NULL;
        step_down(field, d, kind, kind ? i / 2 / near : i);
    }
    if (d) neighbours_free(d->near);
    free(d);
    return good ? OK : fail(E_MEMORY, "out of memory for %zu candidates", field->count);
}

static bool grow_lists(struct field *field)
{
    const size_t room = field->count + GROWN_MOST;
    struct config *config = realloc(field->config, room * sizeof *config);
    if (!config) return false;
    field->config = config;
    field->room = room;
    return true;
}

enum status sample_open(struct field *field, const struct space *space, const struct problem *problem,
                        const struct gpu *gpu, int64_t workspace_bytes)
{
    struct sample *s = calloc(1, sizeof *s);
    if (!s || !grow_lists(field)) {
        free(s);
        return fail(E_MEMORY, "out of memory for a sample");
    }
    s->space = space;
    s->problem = *problem;
    s->gpu = *gpu;
    s->workspace_bytes = workspace_bytes;
    field->sample = s;
    return OK;
}

enum status sample_descend(struct field *field)
{
    const struct sample *s = field->sample;
    for (size_t i = 0; i < field->count; i++)
        field->predicted_us[i] = model_predict(&field->config[i], &s->problem, &s->gpu, NULL).time_us;
    enum status st = descend(field);
    forget_index(field->sample); /* they are ranked next */
    return st;
}

void field_note(const struct field *field, char text[256])
{
    snprintf(text, 256,
             "the space has about %.2g legal candidates, too many to list: %zu are, a sample and what the "
             "model likes "
             "best; a search adds the neighbours of the fastest",
             field->legal, field->count);
}

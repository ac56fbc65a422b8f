#include "replay_from.h"

#include "neighbours.h"
#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels of other tuners ---- */

/* The number that a value has in the other file's numbering; -1: it does not occur there. */
static int number_of(const json_t *values, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (replay_compare_values(json_array_get(values, i), value) == 0) return (int)i;
    return -1;
}

static int param_named(const struct made_template *made, const char *name)
{
    for (int p = 0; p < made->template.param_count; p++)
        if (strcmp(made->param[p].name, name) == 0) return p;
    return -1;
}

/* A configuration of one file as one of the other. A parameter that has one value in either is left out. */
static bool translate(const struct made_template *to, const struct made_template *from,
                      const struct config *config, struct config *out)
{
    *out = (struct config){.template = &to->template};
    for (int p = 0; p < to->template.param_count; p++) {
        const int there = param_named(from, to->param[p].name);
        const int value =
            there < 0
                ? -1
                : number_of(to->values[p], json_array_get(from->values[there], (size_t)config->value[there]));
        if (value < 0) return false;
        out->value[p] = value;
    }
    return true;
}

/* ---- problems ---- */

static bool teaches(const struct replay_space *space, const struct replay_space *other)
{
    if (!space->ours) return !other->ours;
    return other->ours && gpu_same_name(space->gpu.name, other->gpu.name) &&
           space->problem.type == other->problem.type && !problem_equal(&space->problem, &other->problem);
}

static double distance(const struct replay_space *x, const struct replay_space *y)
{
    const struct shape a = shape_of(&x->problem), b = shape_of(&y->problem);
    return x->ours ? shape_distance(&a, &b) : 0;
}

/* The trials of one space. *trial is malloc'ed. */
static enum status take_trials(const struct replay_spaces *spaces, const struct replay_spaces *from,
                               const struct replay_space *other, struct prior_trial **trial, size_t *count)
{
    *count = 0;
    *trial = malloc(other->count * sizeof **trial);
    if (!*trial) return fail(E_MEMORY, "out of memory for %zu trials", other->count);
    for (size_t i = 0; i < other->count; i++) {
        struct prior_trial *t = &(*trial)[*count];
        *t = (struct prior_trial){other->config[i], other->time_us[i],
                                  other->predicted_us ? other->predicted_us[i] : 1};
        if (other->ours || translate(spaces->made, from->made, &other->config[i], &t->config)) ++*count;
    }
    return OK;
}

/* What is corrected is the order; the times have to follow. */
static enum status correct(struct replay_space *space, const struct prior_problem *problems, size_t count,
                           struct prior_used *used)
{
    double *time_us = malloc(space->count * sizeof *time_us);
    struct config *before = malloc(space->count * sizeof *before);
    struct neighbours *near = NULL;
    enum status st =
        time_us && before ? OK : fail(E_MEMORY, "out of memory for %zu candidates", space->count);
    const bool modelled = space->predicted_us;
    if (!st && !modelled) {
        space->predicted_us = malloc(space->count * sizeof *space->predicted_us);
        if (!space->predicted_us) st = fail(E_MEMORY, "out of memory for %zu candidates", space->count);
        for (size_t i = 0; !st && i < space->count; i++) space->predicted_us[i] = 1;
    }
    if (!st) memcpy(before, space->config, space->count * sizeof *before);
    if (!st && !(near = neighbours_build(before, space->count, NULL)))
        st = fail(E_MEMORY, "out of memory for %zu candidates", space->count);
    if (!st) st = prior_correct(space->config, space->predicted_us, space->count, problems, count, used);
    for (size_t i = 0; !st && i < space->count; i++)
        time_us[i] = space->time_us[neighbours_find(near, &space->config[i])];
    if (!st) memcpy(space->time_us, time_us, space->count * sizeof *time_us);
    if (!modelled && used->trials == 0) {
        free(space->predicted_us);
        space->predicted_us = NULL;
    }
    neighbours_free(near);
    free(before);
    free(time_us);
    return st;
}

enum status replay_teach(struct replay_spaces *spaces, size_t number, const struct replay_spaces *from,
                         struct prior_used *used)
{
    struct replay_space *space = &spaces->space[number];
    const struct replay_space *nearest[PRIOR_PROBLEMS_MAX];
    struct prior_problem problems[PRIOR_PROBLEMS_MAX] = {{NULL, 0}};
    struct prior_trial *trial[PRIOR_PROBLEMS_MAX] = {NULL};
    size_t count = 0;
    *used = (struct prior_used){0};
    for (size_t i = 0; i < from->count; i++) {
        if (!teaches(space, &from->space[i])) continue;
        const double d = distance(space, &from->space[i]);
        size_t at = count;
        while (at > 0 && d < distance(space, nearest[at - 1])) at--;
        if (at == PRIOR_PROBLEMS_MAX) continue;
        if (count < PRIOR_PROBLEMS_MAX) count++;
        for (size_t j = count - 1; j > at; j--) nearest[j] = nearest[j - 1];
        nearest[at] = &from->space[i];
    }
    enum status st = OK;
    for (size_t i = 0; i < count && !st; i++) {
        st = take_trials(spaces, from, nearest[i], &trial[i], &problems[i].count);
        problems[i].trial = trial[i];
    }
    if (!st && count > 0) st = correct(space, problems, count, used);
    for (size_t i = 0; i < count; i++) free(trial[i]);
    return st;
}

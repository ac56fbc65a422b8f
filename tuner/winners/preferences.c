#include "winner_store.h"

#include <stdlib.h>

struct reading {
    struct preferences *preferences;
    const struct gpu *gpu;
    enum status st;
};

static bool add(void *self, const struct db_preference *stored)
{
    struct reading *reading = self;
    struct preferences *all = reading->preferences;
    struct preference p = {.problem = stored->problem, .pin = stored->pin};
    if (stored->gpu.arch != reading->gpu->arch || stored->gpu.sm_count != reading->gpu->sm_count ||
        config_parse(stored->config_text, &p.config)) /* its template is gone */
        return true;
    struct preference *grown = realloc(all->list, (all->count + 1) * sizeof *grown);
    if (grown) {
        all->list = grown;
        all->list[all->count++] = p;
    } else {
        reading->st = fail(E_MEMORY, "out of memory while reading preferences");
    }
    return grown;
}

enum status preferences_read(struct preferences *preferences, struct db *db, const struct gpu *gpu)
{
    struct reading reading = {.preferences = preferences, .gpu = gpu};
    const struct db_filter filter = {.gpu = gpu->name};
    preferences->count = 0;
    const enum status read = db_preferences(db, &filter, add, &reading);
    const enum status st = reading.st ? reading.st : read;
    if (st) preferences->count = 0;
    return st;
}

const struct config *preferences_pin(const struct preferences *preferences, const struct problem *problem)
{
    const struct config *alike = NULL;
    for (size_t i = 0; i < preferences->count; i++) {
        const struct preference *p = &preferences->list[i];
        if (!p->pin || p->problem.m != problem->m || !problem_alike(&p->problem, problem)) continue;
        if (problem_equal(&p->problem, problem)) return &p->config;
        if (!alike) alike = &p->config;
    }
    return alike;
}

bool preferences_exclude(const struct preferences *preferences, const struct problem *problem,
                         const struct config *config)
{
    bool excluded = false;
    for (size_t i = 0; !excluded && i < preferences->count; i++) {
        const struct preference *p = &preferences->list[i];
        excluded = !p->pin && config_equal(&p->config, config) && problem_alike(&p->problem, problem);
    }
    return excluded;
}

void preferences_free(struct preferences *preferences)
{
    free(preferences->list);
    *preferences = (struct preferences){.list = NULL};
}

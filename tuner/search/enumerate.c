/* enumerate.c — walks the values of a space depth first and keeps what the rules allow.
 *
 * The tile alone spans 1e8 combinations and more, nearly all illegal. A template that can refuse a
 * configuration from its first values (check_prefix) lets the walk drop whole subtrees.
 */
#include "space_values.h"

#include "template.h"
#include "workspace.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CHECKS_MAX  2e8 /* some tens of seconds: beyond this the file is wrong, not the machine slow */
#define REASONS_MAX 64

/* What of a launch can differ between candidates of one kernel: its grids, and then the argument. */
enum { GRIDS_BYTES = LAUNCH_KERNELS_MAX * 3 * sizeof(unsigned) };

struct enumeration {
    const struct space_section *section;
    const struct problem *problem;
    const struct gpu *gpu;
    int64_t workspace_bytes;
    double below[CONFIG_PARAMS_MAX + 1]; /* combinations of the parameters from that one on */
    struct config config;
    struct candidates *out;
    size_t room;
    struct config kernel;    /* that of the last candidate */
    unsigned char *launches; /* of all its candidates so far, one after the other */
    size_t launch_bytes;     /* of one */
    size_t launch_count, launch_room;
    double checks;
    struct {
        const char *why; /* the rules give constant sentences: compared by address */
        double count;
    } reason[REASONS_MAX];
    int reason_count;
};

static void blame(struct enumeration *w, const char *why, double count)
{
    int i = 0;
    while (i < w->reason_count && w->reason[i].why != why) i++;
    if (i == REASONS_MAX) return;
    if (i == w->reason_count) w->reason[w->reason_count++].why = why;
    w->reason[i].count += count;
}

static void write_launch(const struct launch_plan *plan, unsigned char *at)
{
    const size_t grid_bytes = sizeof plan->kernel[0].grid;
    for (size_t i = 0; i < LAUNCH_KERNELS_MAX; i++)
        memcpy(at + i * grid_bytes, plan->kernel[i].grid, grid_bytes);
    memcpy(at + GRIDS_BYTES, plan->argument, (size_t)plan->argument_bytes);
}

/* Whether a candidate of the same kernel is launched alike; if not, remembers this one. */
static enum status known_already(struct enumeration *w, const struct launch_plan *plan, bool *known)
{
    const size_t bytes = GRIDS_BYTES + (size_t)plan->argument_bytes;
    *known = false;
    if (w->launch_count == 0 || bytes != w->launch_bytes || !config_same_kernel(&w->kernel, &w->config))
        w->launch_count = 0;
    w->kernel = w->config;
    w->launch_bytes = bytes;
    if ((w->launch_count + 1) * bytes > w->launch_room) {
        w->launch_room = w->launch_room ? 2 * w->launch_room : 64 * (GRIDS_BYTES + LAUNCH_ARGUMENT_MAX);
        unsigned char *grown = realloc(w->launches, w->launch_room);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu launches", w->launch_count + 1);
        w->launches = grown;
    }
    unsigned char *launch = w->launches + w->launch_count * bytes;
    write_launch(plan, launch);
    for (const unsigned char *other = w->launches; other < launch && !*known; other += bytes)
        *known = memcmp(other, launch, bytes) == 0;
    w->launch_count += !*known;
    return OK;
}

/* *found: it is a candidate, if perhaps one that there is already. */
static enum status keep(struct enumeration *w, bool *found)
{
    struct candidates *out = w->out;
    struct launch_plan plan;
    w->config.template->plan(&w->config, w->problem, &plan);
    *found = plan.workspace_bytes <= w->workspace_bytes;
    if (!*found) {
        blame(w, "it needs more workspace than is allowed (--workspace)", 1);
        return OK;
    }
    bool known;
    enum status st = known_already(w, &plan, &known);
    if (st || known) return st;
    if (out->count == SPACE_CANDIDATES_MAX)
        return fail(E_INPUT,
                    "the space has more than %d legal candidates for this problem; list fewer values",
                    SPACE_CANDIDATES_MAX);
    if (out->count == w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        struct config *grown = realloc(out->config, w->room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu candidates", w->room);
        out->config = grown;
    }
    out->config[out->count++] = w->config;
    return OK;
}

/* All values of parameter p with those before it set; of a `first` one only up to the first that leads to a
 * candidate. *found tells whether any did. */
static enum status walk_from(struct enumeration *w, int p, bool *found)
{
    const struct template *t = w->section->template;
    if (p == t->param_count) return keep(w, found);
    const struct space_values *values = &w->section->values[p];
    for (int i = 0; i < values->count; i++) {
        w->config.value[p] = values->value[i];
        if (++w->checks > CHECKS_MAX)
            return fail(E_INPUT,
                        "%.0g combinations of [%s] were tried and the space still goes on; list fewer values",
                        CHECKS_MAX, w->section->name);
        const char *why = NULL;
        if (p + 1 == t->param_count) why = t->check(&w->config, w->problem, w->gpu);
        else if (t->check_prefix) why = t->check_prefix(&w->config, p + 1, w->problem, w->gpu);
        if (why) {
            blame(w, why, w->below[p + 1]);
            continue;
        }
        bool here = false;
        enum status st = walk_from(w, p + 1, &here);
        if (st) return st;
        *found = *found || here;
        if (here && values->first) return OK;
    }
    return OK;
}

static enum status walk_section(const struct space_section *section, struct enumeration *w)
{
    w->section = section;
    w->checks = 0;
    memset(&w->config, 0, sizeof w->config);
    w->config.template = section->template;
    w->below[section->template->param_count] = 1;
    for (int p = section->template->param_count - 1; p >= 0; p--)
        w->below[p] = w->below[p + 1] * section->values[p].count;
    w->out->raw_count += w->below[0];
    bool found = false;
    enum status st = walk_from(w, 0, &found);
    w->out->checks += w->checks;
    return st;
}

/* Sections may overlap: keep the first of equal candidates, in order. */
static enum status drop_repeated(struct candidates *candidates)
{
    size_t slots = 16, kept = 0;
    while (slots < 2 * candidates->count) slots *= 2;
    uint32_t *slot = calloc(slots, sizeof *slot); /* index + 1, 0 is empty */
    if (!slot) return fail(E_MEMORY, "out of memory for %zu candidates", candidates->count);
    struct config *config = candidates->config;
    for (size_t i = 0; i < candidates->count; i++) {
        uint64_t hash =
            XXH3_64bits_withSeed(config[i].value, sizeof config[i].value, (uintptr_t)config[i].template);
        size_t at = hash & (slots - 1);
        while (slot[at] && !config_equal(&config[slot[at] - 1], &config[i])) at = (at + 1) & (slots - 1);
        if (slot[at]) continue;
        config[kept] = config[i];
        slot[at] = (uint32_t)++kept;
    }
    free(slot);
    candidates->count = kept;
    return OK;
}

enum status space_enumerate(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                            int64_t workspace_bytes, struct candidates *candidates)
{
    memset(candidates, 0, sizeof *candidates);
    struct enumeration w = {
        .problem = problem, .gpu = gpu, .workspace_bytes = workspace_bytes, .out = candidates};
    enum status st = OK;
    for (int i = 0; !st && i < space->section_count; i++) st = walk_section(&space->section[i], &w);
    free(w.launches);
    if (!st && space->section_count > 1) st = drop_repeated(candidates);
    if (!st && candidates->count == 0) {
        int worst = 0;
        for (int i = 1; i < w.reason_count; i++)
            if (w.reason[i].count > w.reason[worst].count) worst = i;
        char text[PROBLEM_TEXT_MAX];
        problem_format(problem, text);
        st = fail(E_ABSENT, "%s: none of %.3g combinations is legal for %s on %s; most often: %s",
                  space->path, candidates->raw_count, text, gpu->name, w.reason[worst].why);
    }
    if (st) {
        candidates_free(candidates);
        return st;
    }
    struct config *fitted = realloc(candidates->config, candidates->count * sizeof *fitted);
    if (fitted) candidates->config = fitted;
    return OK;
}

void candidates_free(struct candidates *candidates)
{
    free(candidates->config);
    memset(candidates, 0, sizeof *candidates);
}

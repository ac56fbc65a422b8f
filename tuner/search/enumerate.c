/* enumerate.c — walks the values of a space depth first and keeps what the rules allow.
 *
 * The tile alone spans 1e8 combinations and more, nearly all illegal. A template that can refuse a
 * configuration from its first values (check_prefix) lets the walk drop whole subtrees.
 */
#include "enumeration.h"

#include "cores.h"
#include "workspace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The walk of a section on all cores: what begins with the same first values is a part. The parts' candidates
 * are put one after the other, so that they lie as one walk would leave them. */
struct part {
    struct enumeration w;
    struct candidates out;
    enum status st;
    char why[512]; /* the sentence of a failure, which belongs to the thread */
};

struct parts {
    struct part *part;
    size_t count, room;
    struct enumerated total;
};

void enumeration_launch(const struct launch_plan *plan, unsigned char *at)
{
    const size_t grid_bytes = sizeof plan->kernel[0].grid;
    for (size_t i = 0; i < LAUNCH_KERNELS_MAX; i++)
        memcpy(at + i * grid_bytes, plan->kernel[i].grid, grid_bytes);
    memcpy(at + GRIDS_BYTES, plan->argument, (size_t)plan->argument_bytes);
}

/* Remembers why so many combinations are no candidates. */
static void blame(struct enumeration *w, const char *why, double count)
{
    int i = 0;
    while (i < w->reason_count && w->reason[i].why != why) i++;
    if (i == REASONS_MAX) return;
    if (i == w->reason_count) w->reason[w->reason_count++].why = why;
    w->reason[i].count += count;
}

static enum status is_full(struct enumeration *w)
{
    w->full = true;
    return fail(E_INPUT, "the space has more than %d legal candidates for this problem; list fewer values",
                SPACE_CANDIDATES_MAX);
}

static enum status goes_on(const struct enumeration *w)
{
    return fail(E_INPUT,
                "%.0g combinations of [%s] were tried and the space still goes on; list fewer values",
                CHECKS_MAX, w->section->name);
}

/* True if a candidate of the same kernel is launched alike; if not, remembers this one. */
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
    enumeration_launch(plan, launch);
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
    *found = plan.workspace_bytes <= workspace_allowed(w->problem, w->workspace_bytes);
    if (!*found) {
        blame(w, "it needs more workspace than is allowed (--workspace)", 1);
        return OK;
    }
    bool known;
    enum status st = known_already(w, &plan, &known);
    if (st || known) return st;
    const size_t count = w->total ? atomic_fetch_add(&w->total->candidates, 1) : out->count;
    if (count >= SPACE_CANDIDATES_MAX) return is_full(w);
    if (out->count == w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        struct config *grown = realloc(out->config, w->room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu candidates", w->room);
        out->config = grown;
    }
    out->config[out->count++] = w->config;
    return OK;
}

uint64_t enumeration_hash(uint64_t hash, int32_t value)
{
    return XXH3_64bits_withSeed(&value, sizeof value, hash);
}

bool enumeration_takes(uint64_t hash, double share)
{
    return share >= 1 || (double)(hash >> 11) * 0x1p-53 < share;
}

const char *enumeration_refusal(struct enumeration *w, int p)
{
    const struct template *t = w->section->template;
    w->checks++;
    if (p + 1 == t->param_count) return t->check(&w->config, w->problem, w->gpu);
    return t->check_prefix ? t->check_prefix(&w->config, p + 1, w->problem, w->gpu) : NULL;
}

bool enumeration_is_redundant(const struct enumeration *w, int p)
{
    const struct template *t = w->section->template;
    int32_t instead;
    const int of =
        t->redundant && !w->redundant_too ? t->redundant(&w->config, p + 1, w->problem, &instead) : -1;
    if (of < 0) return false;
    const struct space_values *values = &w->section->values[of];
    for (int i = 0; i < values->count; i++)
        if (values->value[i] == instead) return true;
    return false;
}

static bool is_wanted(const struct enumeration *w, int p, int32_t value)
{
    return !w->wanted || w->section->values[p].first || value == w->wanted->value[p] ||
           w->section->template->params[p].kind == PARAM_LAUNCH;
}

/* Parts tell each other now and then. */
static bool has_tried_enough(struct enumeration *w)
{
    enum { NOW_AND_THEN = 4096 };
    if (!w->total) return w->checks >= w->checks_most;
    if (w->checks - w->checks_told >= NOW_AND_THEN) {
        atomic_fetch_add(&w->total->checks, (long long)(w->checks - w->checks_told));
        w->checks_told = w->checks;
    }
    return (double)atomic_load(&w->total->checks) >= w->checks_most;
}

/* Candidates that begin with these values become a part. */
static enum status put_off(struct enumeration *w, bool *found)
{
    struct parts *parts = w->parts;
    if (parts->count == parts->room) {
        parts->room = parts->room ? 2 * parts->room : 64;
        struct part *grown = realloc(parts->part, parts->room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the parts of a space");
        parts->part = grown;
    }
    struct part *part = &parts->part[parts->count++];
    memset(part, 0, sizeof *part);
    part->w = *w;
    *found = true;
    return OK;
}

/* All values of parameter p with those before it set; of a `first` one only up to the first that leads to a
 * candidate. *found tells whether any did; what is legal so far and not taken for its hash counts as if.
 * Errors: E_INPUT (is_full, goes_on), E_MEMORY. */
static enum status walk(struct enumeration *w, int p, uint64_t hash, bool *found)
{
    const struct template *t = w->section->template;
    if (p == t->param_count) return keep(w, found);
    if (w->parts && p == ENUMERATION_FIRST) return put_off(w, found);
    const struct space_values *values = &w->section->values[p];
    for (int i = 0; i < values->count; i++) {
        if (!is_wanted(w, p, values->value[i])) continue;
        w->config.value[p] = values->value[i];
        const uint64_t here_hash = enumeration_hash(hash, values->value[i]);
        const bool taken = enumeration_takes(here_hash, w->share[p]);
        if (!taken && *found) continue;
        if (has_tried_enough(w)) return goes_on(w);
        const char *why = enumeration_refusal(w, p);
        if (why) {
            blame(w, why, w->below[p + 1]);
            continue;
        }
        if (enumeration_is_redundant(w, p)) { /* nothing is to take its place */
            *found = true;
            if (values->first) return OK;
            continue;
        }
        bool here = !taken;
        enum status st = taken ? walk(w, p + 1, here_hash, &here) : OK;
        if (st) return st;
        *found = *found || here;
        if (here && values->first) return OK;
    }
    return OK;
}

/* ---- on all cores ---- */

/* Parts must be independent: none knows whether a value of another has led to a candidate, or the launches of
 * another's kernel. */
static bool can_be_divided(const struct enumeration *w)
{
    const struct template *t = w->section->template;
    bool can = t->param_count > ENUMERATION_FIRST && !w->wanted;
    for (int p = 0; p < t->param_count; p++) can = can && w->share[p] >= 1;
    for (int p = 0; p < ENUMERATION_FIRST && can; p++)
        can = !w->section->values[p].first && t->params[p].kind != PARAM_LAUNCH;
    return can;
}

static void walk_part(void *self, size_t i)
{
    struct parts *parts = self;
    struct part *part = &parts->part[i];
    struct enumeration *w = &part->w;
    bool found = false;
    w->total = &parts->total;
    w->out = &part->out;
    w->parts = NULL;
    w->launches = NULL;
    w->launch_room = w->launch_count = w->room = 0;
    w->checks = w->checks_told = 0;
    w->reason_count = 0;
    part->st = walk(w, ENUMERATION_FIRST, 0, &found);
    if (part->st) snprintf(part->why, sizeof part->why, "%s", status_text());
    free(w->launches);
}

static enum status join(struct enumeration *w, struct parts *parts)
{
    struct candidates *out = w->out;
    size_t count = out->count;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->part[i];
        w->checks += part->w.checks;
        w->full = w->full || part->w.full;
        for (int r = 0; r < part->w.reason_count; r++)
            blame(w, part->w.reason[r].why, part->w.reason[r].count);
        if (part->st) return fail(part->st, "%s", part->why);
        count += part->out.count;
    }
    if (count > SPACE_CANDIDATES_MAX) return is_full(w);
    if (w->checks >= w->checks_most) return goes_on(w);
    struct config *grown = count ? realloc(out->config, count * sizeof *grown) : NULL;
    if (count && !grown) return fail(E_MEMORY, "out of memory for %zu candidates", count);
    if (!count) return OK;
    out->config = grown;
    w->room = count;
    for (size_t i = 0; i < parts->count; i++) {
        struct candidates *some = &parts->part[i].out;
        if (some->count) memcpy(out->config + out->count, some->config, some->count * sizeof *some->config);
        out->count += some->count;
        candidates_free(some); /* or there would be two of each at the end */
    }
    return OK;
}

/* The whole section, on all cores if it can be divided. Errors: those of walk. */
static enum status walk_parts(struct enumeration *w)
{
    bool found = false;
    if (!can_be_divided(w)) return walk(w, 0, 0, &found);
    struct parts parts = {0};
    w->parts = &parts;
    enum status st = walk(w, 0, 0, &found);
    w->parts = NULL;
    atomic_init(&parts.total.candidates, w->out->count);
    atomic_init(&parts.total.checks, (long long)w->checks);
    if (!st) parallel_for(parts.count, walk_part, &parts);
    if (!st) st = join(w, &parts);
    for (size_t i = 0; i < parts.count; i++) candidates_free(&parts.part[i].out);
    free(parts.part);
    return st;
}

/* ---- sections ---- */

void enumeration_begin(struct enumeration *w, const struct space_section *section)
{
    const int params = section->template->param_count;
    w->section = section;
    w->checks = 0;
    w->checks_most = CHECKS_MAX;
    memset(&w->config, 0, sizeof w->config);
    w->config.template = section->template;
    w->below[params] = 1;
    for (int p = params - 1; p >= 0; p--) w->below[p] = w->below[p + 1] * section->values[p].count;
    for (int p = 0; p < params; p++) w->share[p] = 1;
}

/* sampled: sections among which a sample is divided. */
static enum status walk_section(struct enumeration *w, const struct space_section *section,
                                struct extent *extent, int sampled)
{
    const size_t before = w->out->count;
    double share;
    enum status st;
    do {
        enumeration_begin(w, section);
        share = extent->sampled ? extent_shares(w, extent, sampled) : 1;
        st = walk_parts(w);
        w->out->checks += w->checks;
        if (!w->full || !extent->nodes[0]) break;
        /* There is far more than was estimated. */
        extent->sampled = true;
        for (int p = 0; p < section->template->param_count; p++)
            extent->nodes[p] = 4 * fmax(extent->nodes[p], 1);
        w->out->count = before;
        w->full = false;
    } while (true);
    w->out->raw_count += w->below[0];
    w->out->legal += (double)(w->out->count - before) / share;
    w->out->sampled = w->out->sampled || extent->sampled;
    return st;
}

static enum status walk_all(struct enumeration *w, const struct space *space)
{
    struct extent *extent = calloc((size_t)space->section_count, sizeof *extent);
    if (!extent) return fail(E_MEMORY, "out of memory while a space is walked");
    enum status st = OK;
    int sampled = 0;
    for (int i = 0; i < space->section_count && !st && !w->wanted; i++) {
        st = extent_measure(w, &space->section[i], &extent[i]);
        sampled += extent[i].sampled;
    }
    for (int i = 0; i < space->section_count && !st; i++)
        if (!w->wanted || w->wanted->template == space->section[i].template)
            st = walk_section(w, &space->section[i], &extent[i], sampled);
    free(extent);
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

enum status space_launches(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                           int64_t workspace_bytes, const struct config *config,
                           struct candidates *candidates)
{
    memset(candidates, 0, sizeof *candidates);
    struct enumeration w = {.problem = problem,
                            .gpu = gpu,
                            .workspace_bytes = workspace_bytes,
                            .wanted = config,
                            .redundant_too = true,
                            .out = candidates};
    enum status st = walk_all(&w, space);
    free(w.launches);
    if (!st) st = drop_repeated(candidates);
    if (st) candidates_free(candidates);
    return st;
}

enum status space_enumerate(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                            int64_t workspace_bytes, struct candidates *candidates)
{
    memset(candidates, 0, sizeof *candidates);
    struct enumeration w = {
        .problem = problem, .gpu = gpu, .workspace_bytes = workspace_bytes, .out = candidates};
    enum status st = walk_all(&w, space);
    free(w.launches);
    if (!st && space->section_count > 1) st = drop_repeated(candidates);
    if (!candidates->sampled) candidates->legal = (double)candidates->count;
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

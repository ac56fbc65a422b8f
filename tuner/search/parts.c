/* parts.c — the walk of a section on all cores: what begins with the same first values is a part. The parts'
 * candidates are put one after the other, so that they lie as one walk would leave them.
 */
#include "enumeration.h"

#include "parallel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What a part knows must say nothing of the others: neither that a value of theirs has led to a candidate,
 * nor launches of a kernel of theirs. */
static bool can_be_divided(const struct enumeration *w)
{
    const struct template *t = w->section->template;
    bool can = t->param_count > ENUMERATION_FIRST && !w->wanted;
    for (int p = 0; p < t->param_count; p++) can = can && w->share[p] >= 1;
    for (int p = 0; p < ENUMERATION_FIRST && can; p++)
        can = !w->section->values[p].first && t->params[p].kind != PARAM_LAUNCH;
    return can;
}

enum status enumeration_put_off(struct enumeration *w, bool *found)
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
    part->st = enumeration_walk(w, ENUMERATION_FIRST, 0, &found);
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
            enumeration_blame(w, part->w.reason[r].why, part->w.reason[r].count);
        if (part->st) return fail(part->st, "%s", part->why);
        count += part->out.count;
    }
    if (count > SPACE_CANDIDATES_MAX) return enumeration_is_full(w);
    if (w->checks >= w->checks_most) return enumeration_goes_on(w);
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

enum status enumeration_walk_all(struct enumeration *w)
{
    bool found = false;
    if (!can_be_divided(w)) return enumeration_walk(w, 0, 0, &found);
    struct parts parts = {0};
    w->parts = &parts;
    enum status st = enumeration_walk(w, 0, 0, &found);
    w->parts = NULL;
    atomic_init(&parts.total.candidates, w->out->count);
    atomic_init(&parts.total.checks, (long long)w->checks);
    if (!st) parallel_for(parts.count, walk_part, &parts);
    if (!st) st = join(w, &parts);
    for (size_t i = 0; i < parts.count; i++) candidates_free(&parts.part[i].out);
    free(parts.part);
    return st;
}

/* enumerate.c — walks the values of a space depth first and keeps what the rules allow.
 *
 * The tile alone spans 1e8 combinations and more, nearly all illegal. A template that can refuse a
 * configuration from its first values (check_prefix) lets the walk drop whole subtrees.
 */
#include "space_values.h"

#include "templates.h"
#include <stdlib.h>
#include <string.h>

#define CHECKS_MAX  2e8 /* some tens of seconds: beyond this the file is wrong, not the machine slow */
#define REASONS_MAX 64

struct walk {
    const struct space_section *section;
    const struct problem *problem;
    const struct gpu *gpu;
    int order[CONFIG_PARAMS_MAX]; /* parameters from outermost to innermost: those marked `first` come last */
    int plain_count;              /* how many of them are not `first` */
    int prefix[CONFIG_PARAMS_MAX];       /* after depth d, so many leading parameters are set */
    double below[CONFIG_PARAMS_MAX + 1]; /* combinations under a node of that depth */
    struct config config;
    struct candidates *out;
    size_t room;
    double checks;
    struct {
        const char *why; /* the rules give constant sentences: compared by address */
        double count;
    } reason[REASONS_MAX];
    int reason_count;
};

static void plan_walk(struct walk *w)
{
    const struct space_section *s = w->section;
    int count = s->template->param_count, used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int p = 0; p < count; p++)
            if (s->values[p].first == (pass == 1)) w->order[used++] = p;
        if (pass == 0) w->plain_count = used;
    }
    bool set[CONFIG_PARAMS_MAX + 1] = {false};
    for (int depth = 0, known = 0; depth < count; depth++) {
        set[w->order[depth]] = true;
        while (set[known]) known++;
        w->prefix[depth] = known;
    }
    w->below[count] = 1;
    for (int depth = count - 1; depth >= 0; depth--)
        w->below[depth] = w->below[depth + 1] * s->values[w->order[depth]].count;
}

static void blame(struct walk *w, const char *why, double count)
{
    int i = 0;
    while (i < w->reason_count && w->reason[i].why != why) i++;
    if (i == REASONS_MAX) return;
    if (i == w->reason_count) w->reason[w->reason_count++].why = why;
    w->reason[i].count += count;
}

static enum status keep(struct walk *w)
{
    struct candidates *out = w->out;
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

static enum status descend(struct walk *w, int depth, bool *found);

/* All values of the parameter at this depth; of a `first` one only up to the first that leads to a candidate.
 */
static enum status try_values(struct walk *w, int depth, bool *found)
{
    const struct template *t = w->section->template;
    const struct space_values *values = &w->section->values[w->order[depth]];
    for (int i = 0; i < values->count; i++) {
        w->config.value[w->order[depth]] = values->value[i];
        if (++w->checks > CHECKS_MAX)
            return fail(E_INPUT,
                        "%.0g combinations of [%s] were tried and the space still goes on; list fewer values",
                        CHECKS_MAX, t->name);
        bool leaf = depth + 1 == t->param_count;
        const char *why = NULL;
        if (leaf) why = t->check(&w->config, w->problem, w->gpu);
        else if (t->check_prefix && w->prefix[depth] > 0 &&
                 (depth == 0 || w->prefix[depth] > w->prefix[depth - 1]))
            why = t->check_prefix(&w->config, w->prefix[depth], w->problem, w->gpu);
        if (why) {
            blame(w, why, w->below[depth + 1]);
            continue;
        }
        bool here = false;
        enum status st = descend(w, depth + 1, &here);
        if (st) return st;
        *found = *found || here;
        if (here && depth >= w->plain_count) return OK;
    }
    return OK;
}

static enum status descend(struct walk *w, int depth, bool *found)
{
    if (depth < w->section->template->param_count) return try_values(w, depth, found);
    *found = true;
    return keep(w);
}

static enum status walk_section(const struct space_section *section, const struct problem *problem,
                                const struct gpu *gpu, struct candidates *out, struct walk *w)
{
    w->section = section;
    w->problem = problem;
    w->gpu = gpu;
    w->out = out;
    w->checks = 0;
    memset(&w->config, 0, sizeof w->config);
    w->config.template = section->template;
    plan_walk(w);
    out->raw_count += w->below[0];
    bool found = false;
    return descend(w, 0, &found);
}

enum status space_enumerate(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                            struct candidates *candidates)
{
    memset(candidates, 0, sizeof *candidates);
    struct walk w = {.room = 0};
    enum status st = OK;
    for (int i = 0; !st && i < space->section_count; i++)
        st = walk_section(&space->section[i], problem, gpu, candidates, &w);
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

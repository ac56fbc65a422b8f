/* enumerate.c — walks the values of a space depth first and keeps what the rules allow.
 *
 * The tile alone spans 1e8 combinations and more, nearly all illegal. A template that can refuse a
 * configuration from its first values (check_prefix) lets the walk drop whole subtrees.
 *
 * Of a section with too many legal candidates a sample is taken. A probe follows a thousand prefixes of each
 * length and estimates from them how many there are; then the walk takes such a share of each parameter's
 * values that no length has more prefixes than can be afforded. A hash of the values decides: what is taken
 * is the same each time, each candidate of the section is as likely to be taken as any other, and what is
 * dropped costs nothing below. The first parameters, the tile's, are thinned least.
 */
#include "space_values.h"

#include "template.h"
#include "workspace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CHECKS_MAX  2e8 /* some tens of seconds: beyond this the file is wrong, not the machine slow */
#define REASONS_MAX 64

#define PROBE_RAW   1e9    /* smaller sections are walked as a whole at once */
#define PROBE_NODES 1000   /* prefixes of each length that the probe follows */
#define WHOLE_MOST  5e5    /* of sections that are estimated to have more candidates a sample is taken, */
#define ASKED_MOST  1e7    /* or if the rules must be asked more often to find them */
#define NODES_MOST  80000  /* prefixes of one length in the second walk: what the walk costs */
#define TAKEN_MOST  250000 /* candidates: many launches of the same kernels are cheap */

/* What of a launch can differ between candidates of one kernel: its grids, and then the argument. */
enum { GRIDS_BYTES = LAUNCH_KERNELS_MAX * 3 * sizeof(unsigned) };

struct enumeration {
    const struct space_section *section;
    const struct problem *problem;
    const struct gpu *gpu;
    int64_t workspace_bytes;
    double below[CONFIG_PARAMS_MAX + 1]; /* combinations of the parameters from that one on */
    const struct config *wanted;         /* only candidates with its kernel; NULL: all */
    double share[CONFIG_PARAMS_MAX];     /* of the values of each parameter that are taken; 1: all */
    struct config config;
    struct candidates *out;
    size_t room;
    struct config kernel;    /* that of the last candidate */
    unsigned char *launches; /* of all its candidates so far, one after the other */
    size_t launch_bytes;     /* of one */
    size_t launch_count, launch_room;
    double checks, checks_most;
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

static uint64_t mix(uint64_t hash, int32_t value)
{
    return XXH3_64bits_withSeed(&value, sizeof value, hash);
}

static bool within(uint64_t hash, double share)
{
    return share >= 1 || (double)(hash >> 11) * 0x1p-53 < share;
}

/* Why no candidate begins with the first p + 1 values; NULL: one may. */
static const char *refusal(struct enumeration *w, int p)
{
    const struct template *t = w->section->template;
    w->checks++;
    if (p + 1 == t->param_count) return t->check(&w->config, w->problem, w->gpu);
    return t->check_prefix ? t->check_prefix(&w->config, p + 1, w->problem, w->gpu) : NULL;
}

static bool is_wanted(const struct enumeration *w, int p, int32_t value)
{
    return !w->wanted || w->section->values[p].first || value == w->wanted->value[p] ||
           w->section->template->params[p].kind == PARAM_LAUNCH;
}

/* All values of parameter p with those before it set; of a `first` one only up to the first that leads to a
 * candidate. *found tells whether any did; what is legal so far and not taken for its hash counts as if. */
static enum status walk_from(struct enumeration *w, int p, uint64_t hash, bool *found)
{
    const struct template *t = w->section->template;
    if (p == t->param_count) return keep(w, found);
    const struct space_values *values = &w->section->values[p];
    for (int i = 0; i < values->count; i++) {
        if (!is_wanted(w, p, values->value[i])) continue;
        w->config.value[p] = values->value[i];
        const uint64_t here_hash = mix(hash, values->value[i]);
        const bool taken = within(here_hash, w->share[p]);
        if (!taken && *found) continue;
        if (w->checks >= w->checks_most)
            return fail(E_INPUT,
                        "%.0g combinations of [%s] were tried and the space still goes on; list fewer values",
                        CHECKS_MAX, w->section->name);
        const char *why = refusal(w, p);
        if (why) {
            blame(w, why, w->below[p + 1]);
            continue;
        }
        bool here = !taken;
        enum status st = taken ? walk_from(w, p + 1, here_hash, &here) : OK;
        if (st) return st;
        *found = *found || here;
        if (here && values->first) return OK;
    }
    return OK;
}

/* ---- how much there is ---- */

/* Some legal prefixes of one length, with their hashes. */
struct prefixes {
    struct config *config;
    uint64_t *hash;
    size_t count, room;
};

static bool add_prefix(struct prefixes *x, const struct config *config, uint64_t hash)
{
    if (x->count == x->room) {
        x->room = x->room ? 2 * x->room : 4 * PROBE_NODES;
        struct config *configs = realloc(x->config, x->room * sizeof *configs);
        if (configs) x->config = configs;
        uint64_t *hashes = configs ? realloc(x->hash, x->room * sizeof *hashes) : NULL;
        if (hashes) x->hash = hashes;
        if (!hashes) return false;
    }
    x->config[x->count] = *config;
    x->hash[x->count++] = hash;
    return true;
}

/* All that are a value longer. Of a `first` parameter the first value that is not refused. */
static bool lengthen(struct enumeration *w, const struct prefixes *from, int p, struct prefixes *to)
{
    const struct space_values *values = &w->section->values[p];
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        w->config = from->config[i];
        for (int v = 0; v < values->count; v++) {
            w->config.value[p] = values->value[v];
            if (refusal(w, p)) continue;
            if (!add_prefix(to, &w->config, mix(from->hash[i], values->value[v]))) return false;
            if (values->first) break;
        }
    }
    return true;
}

/* Leave about PROBE_NODES of them; returns the share. */
static double thin(struct prefixes *x)
{
    const double share = fmin(1, PROBE_NODES / fmax((double)x->count, 1));
    size_t kept = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (!within(x->hash[i], share)) continue;
        x->config[kept] = x->config[i];
        x->hash[kept++] = x->hash[i];
    }
    x->count = kept;
    return share;
}

/* How many legal prefixes there are of each length, about; [param_count - 1]: candidates. */
static enum status estimate(struct enumeration *w, double nodes[CONFIG_PARAMS_MAX])
{
    struct prefixes known = {0}, longer = {0};
    double stands_for = 1;
    bool good = add_prefix(&known, &w->config, 0);
    for (int p = 0; p < w->section->template->param_count && good; p++) {
        good = lengthen(w, &known, p, &longer);
        nodes[p] = stands_for * (double)longer.count;
        stands_for /= thin(&longer);
        const struct prefixes other = known;
        known = longer;
        longer = other;
    }
    free(known.config);
    free(known.hash);
    free(longer.config);
    free(longer.hash);
    return good ? OK : fail(E_MEMORY, "out of memory while a space is sampled");
}

/* ---- sections ---- */

/* What the probe says of one. */
struct extent {
    bool sampled;
    double nodes[CONFIG_PARAMS_MAX];
};

static void begin(struct enumeration *w, const struct space_section *section)
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

static enum status measure(struct enumeration *w, const struct space_section *section, struct extent *extent)
{
    const int params = section->template->param_count;
    double asked = 0;
    begin(w, section);
    if (w->below[0] <= PROBE_RAW) return OK;
    enum status st = estimate(w, extent->nodes);
    w->out->checks += w->checks;
    for (int p = 1; p < params; p++) asked += extent->nodes[p - 1] * section->values[p].count;
    extent->sampled = extent->nodes[params - 1] > WHOLE_MOST || asked > ASKED_MOST;
    return st;
}

/* Shares that leave no more prefixes of any length than can be afforded. Of `first` values all are needed,
 * since which one is taken depends on them. Returns their product. */
static double choose_shares(struct enumeration *w, const struct extent *extent, int sampled)
{
    const struct template *t = w->section->template;
    double whole = 1;
    for (int p = 0; p < t->param_count; p++) {
        const double most = (t->params[p].kind == PARAM_LAUNCH ? TAKEN_MOST : NODES_MOST) / sampled;
        if (w->section->values[p].first) continue;
        w->share[p] = fmin(1, most / fmax(whole * extent->nodes[p], 1));
        whole *= w->share[p];
    }
    return whole;
}

/* sampled: sections among which a sample is divided. */
static enum status walk_section(struct enumeration *w, const struct space_section *section,
                                const struct extent *extent, int sampled)
{
    const size_t before = w->out->count;
    begin(w, section);
    const double share = extent->sampled ? choose_shares(w, extent, sampled) : 1;
    bool found = false;
    enum status st = walk_from(w, 0, 0, &found);
    w->out->raw_count += w->below[0];
    w->out->checks += w->checks;
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
        st = measure(w, &space->section[i], &extent[i]);
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

/* ---- single candidates ---- */

/* Times that the rules may be asked for one candidate: each `first` value twice. What is illegal for another
 * reason would be asked about with all combinations of them. */
static double patience(const struct space_section *section)
{
    double most = 8;
    for (int p = 0; p < section->template->param_count; p++)
        if (section->values[p].first) most += 2 * section->values[p].count;
    return most;
}

/* The parameters from p on that follow from those before them; the others are as wanted. */
static bool follow(struct enumeration *w, int p)
{
    const int params = w->section->template->param_count;
    if (p == params) return true;
    const struct space_values *values = &w->section->values[p];
    const bool is_last = p + 1 == params, before_choice = !is_last && values[1].first;
    for (int i = 0; i < values->count && w->checks < w->checks_most; i++) {
        if (!values->first && values->value[i] != w->wanted->value[p]) continue;
        w->config.value[p] = values->value[i];
        if ((values->first || is_last || before_choice) && refusal(w, p)) continue;
        if (follow(w, p + 1)) return true;
    }
    return false;
}

/* The value before it in the line of a launch-time parameter, if that gives the same launch. */
static bool step_back(struct enumeration *w)
{
    unsigned char here[GRIDS_BYTES + LAUNCH_ARGUMENT_MAX], there[GRIDS_BYTES + LAUNCH_ARGUMENT_MAX];
    const struct template *t = w->section->template;
    struct launch_plan plan, before;
    t->plan(&w->config, w->problem, &plan);
    write_launch(&plan, here);
    for (int p = 0; p < t->param_count; p++) {
        const struct space_values *values = &w->section->values[p];
        if (t->params[p].kind != PARAM_LAUNCH || values->first) continue;
        int at = 0;
        while (values->value[at] != w->config.value[p]) at++;
        if (at == 0) continue;
        struct config other = w->config;
        other.value[p] = values->value[at - 1];
        if (t->check(&other, w->problem, w->gpu)) continue;
        t->plan(&other, w->problem, &before);
        write_launch(&before, there);
        if (memcmp(here, there, GRIDS_BYTES + (size_t)plan.argument_bytes) != 0) continue;
        w->config = other;
        return true;
    }
    return false;
}

bool space_reach(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                 int64_t workspace_bytes, struct config *config)
{
    struct enumeration w = {
        .problem = problem, .gpu = gpu, .workspace_bytes = workspace_bytes, .wanted = config};
    for (int i = 0; i < space->section_count; i++) {
        struct launch_plan plan;
        w.section = &space->section[i];
        if (w.section->template != config->template) continue;
        w.config = *config;
        w.checks = 0;
        w.checks_most = patience(w.section);
        if (!follow(&w, 0)) continue;
        w.config.template->plan(&w.config, problem, &plan);
        if (plan.workspace_bytes > workspace_bytes) continue;
        while (step_back(&w)) continue;
        *config = w.config;
        return true;
    }
    return false;
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
                            .out = candidates};
    enum status st = walk_all(&w, space);
    free(w.launches);
    if (!st) st = drop_repeated(candidates);
    if (st) candidates_free(candidates);
    return st;
}

/* ---- all candidates ---- */

enum status space_enumerate(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                            int64_t workspace_bytes, struct candidates *candidates)
{
    memset(candidates, 0, sizeof *candidates);
    struct enumeration w = {
        .problem = problem, .gpu = gpu, .workspace_bytes = workspace_bytes, .out = candidates};
    enum status st = walk_all(&w, space);
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

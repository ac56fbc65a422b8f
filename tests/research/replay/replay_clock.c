#include "replay_clock.h"

#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As measured on an H200 with 16 compilers (docs/results/h200-search-fast.md). */
#define COMPILE_LEAST_S 0.56
#define COMPILE_MOST_S  0.88
#define TRIAL_S         0.013

struct kernel {
    const struct config *config;
    bool begun;
    double done_s;
};

struct ahead {
    size_t index, kernel;
};

struct run {
    struct search *search;
    const struct config *candidates;
    const struct replay_options *options;
    uint64_t random; /* of the durations */
    double now_s;
    struct kernel *kernel; /* room for all candidates */
    size_t kernels;
    struct ahead *ahead; /* in the order asked for */
    size_t count, limit;
    bool flying;
    size_t flown; /* the candidate on the GPU */
    double lands_s;
    size_t asked;
    uint64_t path;
};

static size_t kernel_of(struct run *r, const struct config *config)
{
    for (size_t i = r->kernels; i-- > 0;)
        if (config_same_kernel(r->kernel[i].config, config)) return i;
    r->kernel[r->kernels] = (struct kernel){.config = config, .done_s = INFINITY};
    return r->kernels++;
}

static bool is_built(const struct run *r, const struct ahead *a)
{
    return r->kernel[a->kernel].done_s <= r->now_s;
}

static void ask(struct run *r)
{
    size_t index;
    while (r->count < r->limit && search_next(r->search, &index) == SEARCH_TRY) {
        r->ahead[r->count++] = (struct ahead){index, kernel_of(r, &r->candidates[index])};
        r->asked++;
        r->path = (r->path ^ index) * 0x100000001b3u;
    }
}

static void compile(struct run *r)
{
    int busy = 0;
    for (size_t k = 0; k < r->kernels; k++) busy += r->kernel[k].begun && r->kernel[k].done_s > r->now_s;
    for (size_t i = 0; i < r->count && busy < r->options->compilers; i++) {
        struct kernel *k = &r->kernel[r->ahead[i].kernel];
        if (k->begun) continue;
        const double u = (double)(stats_random(&r->random) >> 11) * 0x1p-53;
        k->begun = true;
        k->done_s = r->now_s + COMPILE_LEAST_S + u * (COMPILE_MOST_S - COMPILE_LEAST_S);
        busy++;
    }
}

static void fly(struct run *r)
{
    size_t at = 0;
    while (at < r->count && !is_built(r, &r->ahead[at])) at++;
    if (r->flying || at == r->count) return;
    r->flying = true;
    r->flown = r->ahead[at].index;
    r->lands_s = r->now_s + TRIAL_S;
    r->count--;
    memmove(&r->ahead[at], &r->ahead[at + 1], (r->count - at) * sizeof *r->ahead);
}

/* INFINITY: nothing happens any more. */
static double next_event(const struct run *r)
{
    double next_s = r->flying ? r->lands_s : INFINITY;
    for (size_t k = 0; k < r->kernels; k++)
        if (r->kernel[k].begun && r->kernel[k].done_s > r->now_s) next_s = fmin(next_s, r->kernel[k].done_s);
    return next_s;
}

static bool all_reached(const struct replay_run *run)
{
    for (int s = 0; s < REPLAY_SHARES; s++)
        if (isinf(run->evaluations[s])) return false;
    return true;
}

enum status replay_drive_clock(struct search *search, const struct config *candidates, const double *time_us,
                               const struct replay_space *space, const struct replay_options *options,
                               struct replay_run *run)
{
    struct run r = {.search = search, .candidates = candidates, .options = options};
    r.random = options->clock_seed;
    const struct feedback_limits feedback = feedback_limits_of(options->compilers);
    r.limit = feedback_most(&feedback);
    r.kernel = malloc(space->count * sizeof *r.kernel);
    r.ahead = malloc((r.limit + 1) * sizeof *r.ahead);
    enum status st = OK;
    if (!r.kernel || !r.ahead) st = fail(E_MEMORY, "out of memory for %zu candidates", space->count);
    double best_us = INFINITY;
    size_t told = 0;
    for (int s = 0; s < REPLAY_SHARES; s++) run->evaluations[s] = INFINITY;
    run->ended = INFINITY;
    while (!st && told < options->limit && !all_reached(run)) {
        ask(&r);
        compile(&r);
        fly(&r);
        const double next_s = next_event(&r);
        if (isinf(next_s)) break;
        r.now_s = next_s;
        if (!r.flying || r.lands_s > r.now_s) continue;
        r.flying = false;
        told++;
        best_us = fmin(best_us, time_us[r.flown]);
        for (int s = 0; s < REPLAY_SHARES; s++)
            if (isinf(run->evaluations[s]) && best_us * replay_share[s] <= space->best_us)
                run->evaluations[s] = r.now_s;
        search_tell(search, r.flown, time_us[r.flown]);
    }
    run->path = r.path;
    free(r.kernel);
    free(r.ahead);
    return st;
}

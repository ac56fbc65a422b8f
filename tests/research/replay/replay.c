#include "replay.h"

#include "replay_clock.h"
#include "search.h"
#include "stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const double replay_share[REPLAY_SHARES] = {0.90, 0.95, 0.99};

#define ORDER_SEED 1000 /* apart from the strategy's own */

/* The candidates as the search sees them. */
struct table_of_times {
    struct config *config;
    double *time_us;
};

/* Without a model no order of candidates is better than another, and that of a file may be. */
static void shuffle(struct table_of_times *t, size_t count, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t i = count; i-- > 1;) {
        const size_t j = (size_t)stats_random_below(&random, i + 1);
        const struct config c = t->config[i];
        const double time_us = t->time_us[i];
        t->config[i] = t->config[j];
        t->time_us[i] = t->time_us[j];
        t->config[j] = c;
        t->time_us[j] = time_us;
    }
}

/* A sum of twelve: near enough to a normal deviation. */
static double normal(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += (double)(stats_random(random) >> 11) * 0x1p-53;
    return sum;
}

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static bool is_over(const struct replay_run *run, const struct replay_options *o)
{
    if (o->at > 0) return isfinite(run->ended);
    for (int s = 0; s < REPLAY_SHARES; s++)
        if (isinf(run->evaluations[s])) return false;
    return !o->to_end || isfinite(run->ended);
}

/* queue has room for all candidates. */
static void drive(struct search *search, const struct replay_space *space, const double *time_us,
                  const struct replay_options *o, size_t *queue, struct replay_run *run)
{
    uint64_t random = o->noise_seed;
    size_t asked = 0, told = 0;
    double best_us = INFINITY;
    for (int s = 0; s < REPLAY_SHARES; s++) run->evaluations[s] = INFINITY;
    run->ended = INFINITY;
    const double before = cpu_us();
    while (told < o->limit && !is_over(run, o)) {
        while (asked - told < o->pending && search_next(search, &queue[asked]) == SEARCH_TRY) asked++;
        if (told == asked) break;
        const size_t index = queue[told++];
        best_us = fmin(best_us, time_us[index]);
        for (int s = 0; s < REPLAY_SHARES; s++)
            if (isinf(run->evaluations[s]) && best_us * replay_share[s] <= space->best_us)
                run->evaluations[s] = (double)told;
        run->path = (run->path ^ index) * 0x100000001b3u;
        search_tell(search, index, time_us[index] * (1 + o->noise * normal(&random)));
        const bool ended = o->at > 0 ? told == o->at || told == space->count : search_satisfied(search);
        if (isinf(run->ended) && ended) {
            run->ended = (double)told;
            run->reached = space->best_us / best_us;
        }
    }
    run->host_us = asked ? (cpu_us() - before) / (double)asked : 0;
}

enum status replay_search(const struct replay_space *space, const char *strategy, uint64_t seed,
                          const struct replay_options *options, struct replay_run *run)
{
    const size_t count = space->count;
    struct table_of_times t = {.config = malloc(count * sizeof *t.config),
                               .time_us = malloc(count * sizeof *t.time_us)};
    size_t *queue = malloc(count * sizeof *queue);
    struct search *search = NULL;
    enum status st = OK;
    *run = (struct replay_run){.note = ""};
    if (!t.config || !t.time_us || !queue) st = fail(E_MEMORY, "out of memory for %zu candidates", count);
    if (!st) {
        memcpy(t.config, space->config, count * sizeof *t.config);
        memcpy(t.time_us, space->time_us, count * sizeof *t.time_us);
        if (!space->predicted_us) shuffle(&t, count, seed + ORDER_SEED);
        st = search_start(strategy, t.config, count, space->predicted_us, NULL, seed, &search);
    }
    if (!st && options->compilers) {
        const struct feedback_limits feedback = feedback_limits_of(options->compilers);
        st = search_order_feedback(search, t.config, &feedback);
    }
    if (!st && options->compilers) st = replay_drive_clock(search, t.config, t.time_us, space, options, run);
    else if (!st) drive(search, space, t.time_us, options, queue, run);
    if (!st) {
        const char *note = search_note(search);
        snprintf(run->note, sizeof run->note, "%s", note ? note : "");
    }
    search_stop(search);
    free(queue);
    free(t.time_us);
    free(t.config);
    return st;
}

enum status replay_shorten(struct replay_space *space, size_t trials)
{
    struct search *search;
    enum status st = search_start("gp", space->config, space->count, space->predicted_us, NULL, 0, &search);
    if (st) return st;
    struct config *config = malloc(space->count * sizeof *config);
    double *time_us = malloc(space->count * sizeof *time_us), *predicted_us = NULL;
    if (space->predicted_us) predicted_us = malloc(space->count * sizeof *predicted_us);
    if (!config || !time_us || (space->predicted_us && !predicted_us)) {
        search_stop(search);
        free(config);
        free(time_us);
        free(predicted_us);
        return fail(E_MEMORY, "out of memory for %zu candidates", space->count);
    }
    size_t tried = 0, index;
    while (tried < trials && search_next(search, &index) == SEARCH_TRY) {
        search_tell(search, index, space->time_us[index]);
        config[tried] = space->config[index];
        if (predicted_us) predicted_us[tried] = space->predicted_us[index];
        time_us[tried++] = space->time_us[index];
    }
    search_stop(search);
    free(space->config);
    free(space->time_us);
    free(space->predicted_us);
    space->config = config;
    space->time_us = time_us;
    space->predicted_us = predicted_us;
    space->count = tried;
    return OK;
}

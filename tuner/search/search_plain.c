/* search_plain.c — strategies that learn nothing: every candidate once, at random (the yardstick for every
 * other strategy) or in the model's order, the best predictions first.
 */
#include "search.h"

#include "stats.h"
#include <stdlib.h>

struct plain {
    bool shuffled;
    uint64_t state;
    size_t count, at;
    uint32_t order[]; /* [0, at) were given; the rest is shuffled as it is drawn (Fisher & Yates) */
};

static struct plain *start(size_t count, bool shuffled, uint64_t seed)
{
    struct plain *p = malloc(sizeof *p + count * sizeof *p->order);
    if (!p) return NULL;
    *p = (struct plain){.shuffled = shuffled, .state = seed, .count = count};
    for (size_t i = 0; i < count; i++) p->order[i] = (uint32_t)i;
    return p;
}

static void *start_random(const struct config *candidates, size_t count, const double *predicted_us,
                          const struct growth *growth, uint64_t seed)
{
    (void)candidates, (void)predicted_us, (void)growth;
    return start(count, true, seed);
}

static void *start_exhaustive(const struct config *candidates, size_t count, const double *predicted_us,
                              const struct growth *growth, uint64_t seed)
{
    (void)candidates, (void)predicted_us, (void)growth;
    return start(count, false, seed);
}

static enum search_answer next(void *self, size_t *index)
{
    struct plain *p = self;
    if (p->at == p->count) return SEARCH_DONE;
    const size_t drawn =
        p->shuffled ? p->at + (size_t)stats_random_below(&p->state, p->count - p->at) : p->at;
    *index = p->order[drawn];
    p->order[drawn] = p->order[p->at++];
    return SEARCH_TRY;
}

static void tell(void *self, size_t index, double time_us)
{
    (void)self, (void)index, (void)time_us;
}

const struct search_strategy search_random = {
    .name = "random",
    .summary = "uniform without replacement",
    .start = start_random,
    .next = next,
    .tell = tell,
    .stop = free,
};

const struct search_strategy search_exhaustive = {
    .name = "exhaustive",
    .summary = "every candidate once, the model's best first",
    .start = start_exhaustive,
    .next = next,
    .tell = tell,
    .stop = free,
};

/* search_random.c — uniform without replacement: the yardstick for every other strategy. */
#include "search.h"

#include "stats.h"
#include <stdlib.h>

struct random_search {
    uint64_t state;
    size_t count, at;
    uint32_t order[]; /* [0, at) were given; the rest is shuffled as it is drawn (Fisher & Yates) */
};

static void *start(const struct config *candidates, size_t count, const double *predicted_us,
                   const struct growth *growth, uint64_t seed)
{
    (void)candidates, (void)predicted_us, (void)growth;
    struct random_search *r = malloc(sizeof *r + count * sizeof *r->order);
    if (!r) return NULL;
    r->state = seed;
    r->count = count;
    r->at = 0;
    for (size_t i = 0; i < count; i++) r->order[i] = (uint32_t)i;
    return r;
}

static enum search_answer next(void *self, size_t *index)
{
    struct random_search *r = self;
    if (r->at == r->count) return SEARCH_DONE;
    size_t drawn = r->at + (size_t)stats_random_below(&r->state, r->count - r->at);
    uint32_t given = r->order[drawn];
    r->order[drawn] = r->order[r->at];
    r->order[r->at++] = given;
    *index = given;
    return SEARCH_TRY;
}

static void tell(void *self, size_t index, double time_us)
{
    (void)self, (void)index, (void)time_us;
}

const struct search_strategy search_random = {
    .name = "random",
    .summary = "uniform without replacement",
    .start = start,
    .next = next,
    .tell = tell,
    .stop = free,
};

/* search_exhaustive.c — every candidate once, in the model's order: the best predictions first. */
#include "search.h"

#include <stdlib.h>

struct exhaustive {
    size_t count, at;
};

static void *start(const struct config *candidates, size_t count, const double *predicted_us,
                   const struct growth *growth, uint64_t seed)
{
    (void)candidates, (void)predicted_us, (void)growth, (void)seed;
    struct exhaustive *e = calloc(1, sizeof *e);
    if (e) e->count = count;
    return e;
}

static enum search_answer next(void *self, size_t *index)
{
    struct exhaustive *e = self;
    if (e->at == e->count) return SEARCH_DONE;
    *index = e->at++;
    return SEARCH_TRY;
}

static void tell(void *self, size_t index, double time_us)
{
    (void)self, (void)index, (void)time_us;
}

const struct search_strategy search_exhaustive = {
    .name = "exhaustive",
    .summary = "every candidate once, the model's best first",
    .start = start,
    .next = next,
    .tell = tell,
    .stop = free,
};

#include "replay_order.h"

#include <math.h>
#include <stdlib.h>

const size_t replay_first[REPLAY_FIRSTS] = {1, 8, 64};

struct placed {
    double time_us, predicted_us;
    double place; /* by prediction; equal ones share the mean of theirs */
};

static int by_time(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    return (a->time_us > b->time_us) - (a->time_us < b->time_us);
}

/* list is sorted by prediction. */
static void place(struct placed *list, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && list[end].predicted_us == list[first].predicted_us;) end++;
        for (size_t i = first; i < end; i++) list[i].place = 0.5 * (double)(first + end - 1);
    }
}

/* list is sorted by time. */
static double correlation(const struct placed *list, size_t count)
{
    const double middle = 0.5 * ((double)count - 1);
    double both = 0, x2 = 0, y2 = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && list[end].time_us == list[first].time_us;) end++;
        const double y = 0.5 * (double)(first + end - 1) - middle;
        for (size_t i = first; i < end; i++) {
            const double x = list[i].place - middle;
            both += x * y;
            x2 += x * x;
            y2 += y * y;
        }
    }
    return x2 > 0 && y2 > 0 ? both / sqrt(x2 * y2) : (double)NAN;
}

enum status replay_order(const struct replay_space *space, struct replay_order *order)
{
    *order = (struct replay_order){.correlation = (double)NAN};
    struct placed *list = malloc(space->count * sizeof *list);
    if (!list) return fail(E_MEMORY, "out of memory for %zu candidates", space->count);
    size_t known = 0;
    for (size_t i = 0; i < space->count && space->predicted_us; i++)
        if (isfinite(space->time_us[i]))
            list[known++] = (struct placed){space->time_us[i], space->predicted_us[i], 0};
    place(list, known);
    qsort(list, known, sizeof *list, by_time);
    order->correlation = correlation(list, known);
    free(list);
    for (int f = 0; f < REPLAY_FIRSTS; f++) {
        double best_us = INFINITY;
        for (size_t i = 0; i < replay_first[f] && i < space->count; i++)
            best_us = fmin(best_us, space->time_us[i]);
        order->reached[f] = space->best_us / best_us;
    }
    return OK;
}

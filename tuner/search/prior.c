#include "prior.h"

#include "neighbours.h"
#include "stats.h"
#include "surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decided by replaying recorded spaces (docs/results/search-replay.md). */
enum { DEPTH = 20000 };                      /* so many of the model's first are corrected */
static const double noise = 1;               /* as a share of the process's variance */
static const double trust = 0.7;             /* the part of what is expected that is believed */
static const double enough = 240;            /* trials for that; with fewer it is less */
static const double farthest = 1;            /* log of a ratio, from the median on; beyond all count alike */
static const double assumed_deviation = 0.2; /* of those logarithms */

struct learned {
    struct surrogate *surrogate;
    struct neighbours *near;
    double value[PRIOR_TRIALS_MAX];
};

/* Fastest first; of equals the earlier. */
static int by_time(const void *x, const void *y)
{
    const struct prior_trial *a = *(const struct prior_trial *const *)x,
                             *b = *(const struct prior_trial *const *)y;
    if (a->time_us != b->time_us) return a->time_us < b->time_us ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool place_of(const struct learned *l, const struct config *config, struct surrogate_point *point)
{
    const int group = neighbours_place_config(l->near, config, point->level);
    point->group = (uint8_t)group;
    point->advice = 0; /* the model's part is known: it is in the ratio */
    return group >= 0;
}

static void add_row(struct learned *l, const struct prior_trial *trial)
{
    struct surrogate_point point;
    const size_t row = surrogate_rows(l->surrogate);
    if (place_of(l, &trial->config, &point) && surrogate_add(l->surrogate, &point))
        l->value[row] = log(trial->time_us / trial->predicted_us);
}

/* The rows of one problem: how good its model is as a whole says nothing of the order. */
static void centre(struct learned *l, size_t first)
{
    const size_t rows = surrogate_rows(l->surrogate);
    if (rows == first) return;
    const double middle = stats_median(l->value + first, rows - first);
    for (size_t i = first; i < rows; i++) l->value[i] = fmax(-farthest, fmin(farthest, l->value[i] - middle));
}

/* Learns from one problem: the better half of the trials that it may contribute, and an even choice of the
 * others. */
static enum status learn(struct learned *l, const struct prior_problem *problem, size_t room)
{
    const struct prior_trial **sorted = malloc((problem->count + 1) * sizeof *sorted);
    size_t known = 0;
    if (!sorted) return fail(E_MEMORY, "out of memory for trials of another problem");
    for (size_t i = 0; i < problem->count; i++) {
        const struct prior_trial *t = &problem->trial[i];
        if (t->time_us > 0 && isfinite(t->time_us) && t->predicted_us > 0) sorted[known++] = t;
    }
    qsort(sorted, known, sizeof *sorted, by_time);
    const size_t wanted = known < room ? known : room, half = wanted / 2, others = known - half;
    const size_t first = surrogate_rows(l->surrogate);
    for (size_t i = 0; i < wanted; i++)
        add_row(l, sorted[i < half ? i : half + (i - half) * others / (wanted - half)]);
    centre(l, first);
    free(sorted);
    return OK;
}

/* ---- candidates ---- */

struct ranked {
    double time_us;
    size_t index;
};

static int by_rank(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->time_us != b->time_us) return a->time_us < b->time_us ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static enum status correct(struct learned *l, struct config *candidates, double *predicted_us, size_t count)
{
    const size_t depth = count < DEPTH ? count : DEPTH;
    struct surrogate_point *point = malloc(depth * sizeof *point);
    double *expected = malloc(depth * sizeof *expected);
    struct ranked *order = malloc(count * sizeof *order);
    struct config *ordered = malloc(count * sizeof *ordered);
    enum status st = point && expected && order && ordered
                         ? OK
                         : fail(E_MEMORY, "out of memory for %zu candidates", count);
    if (st) goto out;
    for (size_t i = 0; i < depth; i++) place_of(l, &candidates[i], &point[i]);
    surrogate_process(l->surrogate, l->value, point, depth, expected);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){
            predicted_us[i] *
                (i < depth ? exp(trust * fmin(1, (double)surrogate_rows(l->surrogate) / enough) * expected[i])
                           : 1),
            i};
    qsort(order, count, sizeof *order, by_rank);
    for (size_t i = 0; i < count; i++) {
        ordered[i] = candidates[order[i].index];
        predicted_us[i] = order[i].time_us;
    }
    memcpy(candidates, ordered, count * sizeof *ordered);
out:
    free(point);
    free(expected);
    free(order);
    free(ordered);
    return st;
}

enum status prior_correct(struct config *candidates, double *predicted_us, size_t count,
                          const struct prior_problem *problems, size_t problem_count, struct prior_used *used)
{
    *used = (struct prior_used){0};
    if (count == 0 || problem_count == 0) return OK;
    struct learned l = {.near = neighbours_build(candidates, count, NULL)};
    if (l.near)
        l.surrogate =
            surrogate_build(neighbours_templates(l.near), PRIOR_TRIALS_MAX, 1, 0, assumed_deviation);
    enum status st = l.surrogate ? OK : fail(E_MEMORY, "out of memory for what other problems say");
    if (!st) surrogate_noise(l.surrogate, noise);
    for (size_t i = 0; i < problem_count && !st; i++) {
        const size_t before = surrogate_rows(l.surrogate);
        st = learn(&l, &problems[i], PRIOR_TRIALS_MAX / problem_count);
        if (!st) used->problems += surrogate_rows(l.surrogate) > before;
    }
    if (!st) used->trials = surrogate_rows(l.surrogate);
    if (!st && used->trials >= PRIOR_TRIALS_LEAST && surrogate_fit(l.surrogate, l.value))
        st = correct(&l, candidates, predicted_us, count);
    else *used = (struct prior_used){0};
    surrogate_free(l.surrogate);
    neighbours_free(l.near);
    return st;
}

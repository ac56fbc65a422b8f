#include "slices.h"

#include <math.h>

#define LEAST_S          3.0 /* of the later ones: opening, race and check take about half a second */
#define LEAST_SHARE      0.1 /* of an even division */
#define EVEN_LEAST_S     8.0 /* below, one slice is all */
#define WEIGHTED_LEAST_S 4.0 /* the same of problems with weights: most need little more than the first */

#define CLOSING_SHARE 0.15 /* of the budget, at most */
#define CLOSING_FITS  0.9  /* of its time: it is estimated with some to spare */
#define CLOSING_MOST  3.0  /* times its time */

/* A search that has tried n candidates gains about FEW_TRIALS / n by trying as many again, and the doubling
 * after it GROWTH times that (docs/results/search-replay.md). */
#define FEW_TRIALS 2.0
#define GAIN_MOST  0.3
#define GROWTH     0.6

#define LAST_PERCENT 0.01

bool slices_fit(double even_s, size_t problems, int gpus, bool weighted)
{
    return even_s >= (weighted ? WEIGHTED_LEAST_S : EVEN_LEAST_S) && problems > (size_t)gpus;
}

static double least_s(double even_s)
{
    return fmax(LEAST_S, LEAST_SHARE * even_s);
}

double slice_length_s(const struct slice_history *history, double even_s, double left_s)
{
    if (history->spent_s <= 0) return SLICE_FIRST_S;
    const double least = least_s(even_s), length = fmax(least, history->spent_s);
    return left_s - length < least ? fmax(left_s, 0) : length;
}

double slice_promise(const struct slice_history *history, double even_s, double left_s)
{
    if (history->spent_s <= 0) return (double)INFINITY;
    return history->worth * history->expected / fmax(slice_length_s(history, even_s, left_s), 1e-3);
}

bool slice_is_worth_beginning(double even_s, double left_s)
{
    return left_s >= 0.5 * least_s(even_s);
}

void slice_ended(struct slice_history *history, double seconds, double time_us, size_t tried,
                 double trial_gain)
{
    const double gained = history->spent_s > 0 ? fmax(0, 1 - time_us / history->time_us) : 0;
    const double usual = fmin(GAIN_MOST, FEW_TRIALS / fmax(1, (double)tried));
    /* The problem's last gain counts as much as the usual gain of searches of this length. */
    history->expected = history->spent_s > 0 ? 0.5 * (usual + GROWTH * gained) : usual;
    if (!isnan(trial_gain)) history->expected = fmin(history->expected, trial_gain * (double)tried);
    history->spent_s += seconds;
    history->time_us = time_us;
}

void slice_compared(struct slice_history *history, double ratio, size_t tried)
{
    const double usual = fmin(GAIN_MOST, FEW_TRIALS / fmax(1, (double)tried));
    history->behind = ratio > 0 && ratio < 1 && usual > LAST_PERCENT;
    if (history->behind) history->expected = usual;
}

bool slice_is_last_percent(const struct slice_history *history)
{
    return history->spent_s > 0 && !history->behind && history->expected <= LAST_PERCENT;
}

bool slice_closing_is_kept_time_for(const struct slice_history *history, double budget_s)
{
    return CLOSING_FITS * history->closing_s <= CLOSING_SHARE * budget_s;
}

double slices_reserve_s(double owed_s, double longest_s, double budget_s, int gpus)
{
    return fmin(fmax(owed_s / fmax(gpus, 1), longest_s), CLOSING_SHARE * budget_s);
}

bool slice_closing_fits(const struct slice_history *history, double left_s)
{
    return left_s >= CLOSING_FITS * history->closing_s;
}

double slice_closing_length_s(const struct slice_history *history, double owed_s, double left_s, int gpus)
{
    const double times = owed_s > 0 ? left_s * fmax(gpus, 1) / owed_s : 1;
    return fmax(0, fmin(left_s, fmin(fmax(times, 1), CLOSING_MOST) * history->closing_s));
}

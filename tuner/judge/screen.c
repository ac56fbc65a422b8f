#include "screen.h"

#include "messages.h"
#include "stats.h"
#include <math.h>

#define DROP_AT_SIGHT 3.0 /* dropped after one call if it is slower than the best by this factor */
#define DROP_EARLY    1.25
#define DROP_LATE     1.15
#define BEHIND        1.04 /* no race is won from here: what is left to measure would decide nothing */
#define SETTLED       0.003

/* From here on a block is one or two calls, and blocks differ by much less than the thresholds. */
#define LONG_CALL_US 2e3

enum { EARLY = 3, SECOND_OF_LONG = 2, ENOUGH_OF_LONG = 5, ENOUGH = 10, CALLS_MAX = 1 << 20 };

enum { JUDGED_CALLS = 3, CHECK_RUNS = 20 };

int screen_samples(double call_us)
{
    if (call_us > 1e6) return 1;
    if (call_us > SCREEN_LONG_US) return EARLY;
    return call_us > LONG_CALL_US ? ENOUGH_OF_LONG : ENOUGH;
}

int screen_next(const double *samples_us, int count, double call_us, double best_us, bool *drop)
{
    bool long_call = call_us > LONG_CALL_US;
    int enough = screen_samples(call_us), early = long_call ? 1 : EARLY;
    int sure = long_call ? SECOND_OF_LONG : EARLY; /* one block alone may have been disturbed */
    *drop = false;
    if (count == 0) return best_us > 0 && call_us > DROP_AT_SIGHT * best_us ? 1 : early;
    double median = stats_median(samples_us, (size_t)count);
    if (best_us > 0 && median > (long_call ? DROP_LATE : DROP_EARLY) * best_us) *drop = true;
    bool behind = best_us > 0 && median > BEHIND * best_us;
    if (count >= sure && behind) enough = count;
    if (count >= enough && best_us > 0 && median > DROP_LATE * best_us) *drop = true;
    if (*drop || count >= enough) return 0;
    if (count < early) return early - count;
    return (behind ? sure : enough) - count;
}

bool screen_at_sight(double call_us, double best_us, double limit_s)
{
    if (call_us < SCREEN_LONG_US) return false;
    if (best_us > 0 && call_us > DROP_AT_SIGHT * best_us) return true;
    const double calls = TRIAL_CALLS_LEAST + CHECK_CALLS_LEAST;
    const bool fits = limit_s <= 0 || 1e-6 * call_us * calls <= limit_s;
    return !fits && (best_us <= 0 || call_us > DROP_LATE * best_us);
}

int screen_check_runs(double call_us, double limit_s)
{
    if (limit_s <= 0 || call_us <= 0) return CHECK_RUNS;
    const double runs = floor(1e6 * limit_s / call_us) - JUDGED_CALLS;
    return runs < 1 ? 0 : runs > CHECK_RUNS ? CHECK_RUNS : (int)runs;
}

int screen_calls(double call_us, double block_us)
{
    double calls = ceil(block_us / fmax(call_us, 1e-3));
    return calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (int)calls;
}

bool screen_steady(const double *medians, int count)
{
    if (count < SCREEN_STEADY) return false;
    double low = medians[count - 1], high = low;
    for (int i = count - SCREEN_STEADY; i < count; i++) {
        low = fmin(low, medians[i]);
        high = fmax(high, medians[i]);
    }
    return high - low <= SETTLED * low;
}

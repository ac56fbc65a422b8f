#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* A sorted copy, or NULL for no samples (or no memory). */
static double *sorted_copy(const double *x, size_t count)
{
    double *copy = count ? malloc(count * sizeof *copy) : NULL;
    if (!copy) return NULL;
    memcpy(copy, x, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, ascending);
    return copy;
}

double stats_quantile(const double *x, size_t count, double q)
{
    double *sorted = sorted_copy(x, count);
    if (!sorted) return NAN;
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    double result = sorted[below];
    if (below + 1 < count) result += (at - (double)below) * (sorted[below + 1] - sorted[below]);
    free(sorted);
    return result;
}

double stats_median(const double *x, size_t count)
{
    return stats_quantile(x, count, 0.5);
}

double stats_mean(const double *x, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += x[i];
    return count ? sum / (double)count : NAN;
}

double stats_stddev(const double *x, size_t count)
{
    if (count < 2) return 0.0;
    double mean = stats_mean(x, count), sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)(count - 1));
}

void stats_median_interval(const double *x, size_t count, double *low, double *high)
{
    double *sorted = sorted_copy(x, count);
    if (!sorted) {
        *low = *high = NAN;
        return;
    }
    /* The largest rank r with P(Binomial(count, 1/2) < r) <= 0.025: the median lies between the r-th sample
     * from below and the r-th from above. */
    double probability = pow(0.5, (double)count), tail = probability;
    size_t rank = 0;
    while (tail <= 0.025 && rank < count / 2) {
        rank++;
        probability *= (double)(count - rank + 1) / (double)rank;
        tail += probability;
    }
    if (rank > 0) rank--; /* ranks start at 0 here */
    *low = sorted[rank];
    *high = sorted[count - 1 - rank];
    free(sorted);
}

/* Continued fraction of the incomplete beta function (modified Lentz; Press et al., Numerical Recipes, 6.4).
 */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    if (fabs(d) < tiny) d = tiny;
    d = 1.0 / d;
    double h = d;
    for (int m = 1; m <= 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        d = 1.0 + even * d;
        c = 1.0 + even / c;
        if (fabs(d) < tiny) d = tiny;
        if (fabs(c) < tiny) c = tiny;
        d = 1.0 / d;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        if (fabs(d) < tiny) d = tiny;
        if (fabs(c) < tiny) c = tiny;
        d = 1.0 / d;
        double factor = d * c;
        h *= factor;
        if (fabs(factor - 1.0) < 1e-14) break;
    }
    return h;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double stats_t_test(const double *x, size_t count, double mu)
{
    if (count < 2) return 1.0;
    double difference = stats_mean(x, count) - mu, spread = stats_stddev(x, count);
    if (spread == 0.0) return difference == 0.0 ? 1.0 : 0.0;
    double t = difference / (spread / sqrt((double)count)), freedom = (double)(count - 1);
    return incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
}

static int by_magnitude(const void *x, const void *y)
{
    double a = fabs(*(const double *)x), b = fabs(*(const double *)y);
    return (a > b) - (a < b);
}

/* chance[s]: that the doubled ranks of positive sign so far add up to s, of at most `sum`. One more rank. */
static void add_rank(double *chance, size_t sum, size_t rank)
{
    for (size_t s = sum + 1; s-- > 0;) chance[s] = 0.5 * (chance[s] + (s >= rank ? chance[s - rank] : 0.0));
}

/* x: differences other than 0 by magnitude. Ranks are doubled, so that means of two are whole. */
static double signed_rank(const double *x, size_t count, double *chance)
{
    size_t sum = 0, positive = 0;
    chance[0] = 1.0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && fabs(x[end]) == fabs(x[i]);) end++;
        size_t rank = i + 1 + end;
        for (size_t j = i; j < end; j++) {
            sum += rank;
            if (x[j] > 0.0) positive += rank;
            add_rank(chance, sum, rank);
        }
    }
    double p = 0.0;
    for (size_t s = sum + 1; s-- > positive;) p += chance[s];
    return fmin(p, 1.0);
}

double stats_signed_rank(const double *x, size_t count, double shift)
{
    double *difference = malloc((count + 1) * sizeof *difference);
    double *chance = calloc(count * (count + 1) + 1, sizeof *chance);
    size_t kept = 0;
    for (size_t i = 0; difference && i < count; i++)
        if (x[i] != shift) difference[kept++] = x[i] - shift;
    double p = 1.0;
    if (kept > 0 && chance) {
        qsort(difference, kept, sizeof *difference, by_magnitude);
        p = signed_rank(difference, kept, chance);
    }
    free(difference);
    free(chance);
    return p;
}

uint64_t stats_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t stats_random_below(uint64_t *state, uint64_t n)
{
    /* Reject the last, incomplete span so that every value is equally likely. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, r;
    do r = stats_random(state);
    while (r >= limit);
    return r % n;
}

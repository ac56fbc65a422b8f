/* stats.h — small statistics on samples of time. Pure functions; none changes its input unless it says so. */
#ifndef GT_STATS_H
#define GT_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Median; NAN for count 0. Copies, so the input keeps its order. */
double stats_median(const double *x, size_t count);

/* Quantile q in [0,1] by linear interpolation (Hyndman & Fan 1996, type 7); NAN for count 0. */
double stats_quantile(const double *x, size_t count, double q);

double stats_mean(const double *x, size_t count);
double stats_stddev(const double *x, size_t count); /* n - 1; 0 for count < 2 */

/* Distribution-free interval that holds the median in at least 95 %, from order statistics (binomial). Fewer
 * than STATS_INTERVAL_MIN samples cannot give one: it is their range then, which holds it in 50, 75, 87.5 and
 * 93.75 % for 2 to 5. */
#define STATS_INTERVAL_MIN 6
void stats_median_interval(const double *x, size_t count, double *low, double *high);

/* Two-sided p of a one-sample t test of mean(x) == mu (Student 1908); 1 for count < 2. */
double stats_t_test(const double *x, size_t count, double mu);

/* One-sided p of the signed-rank test (Wilcoxon 1945) that samples lie above `shift`. Null hypothesis: they
 * are symmetric about it. Distances from `shift` are ranked; p is the chance that the ranks of those above
 * add up to at least as much as observed. It is exact for any count, from all 2^n choices of signs. Samples
 * equal to `shift` are left out, as by Wilcoxon; equal distances share the mean of their ranks. At least
 * 2^-n, so that fewer than 5 samples prove nothing at 0.05; 1 for no samples. */
double stats_signed_rank(const double *x, size_t count, double shift);

/* splitmix64 (Steele, Lea, Flood 2014): a seed's next 64 bits; and a number in [0, n). */
uint64_t stats_random(uint64_t *state);
uint64_t stats_random_below(uint64_t *state, uint64_t n);

#endif

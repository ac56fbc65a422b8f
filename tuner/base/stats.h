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

/* Distribution-free interval of the median at about 95 %, from order statistics (binomial). For fewer than 6
 * samples it is the range. */
void stats_median_interval(const double *x, size_t count, double *low, double *high);

/* Two-sided p of a one-sample t test of mean(x) == mu (Student 1908); 1 for count < 2. */
double stats_t_test(const double *x, size_t count, double mu);

/* One-sided p of the signed-rank test (Wilcoxon 1945) that samples lie above `shift`: under the null
 * hypothesis that they are symmetric about it (or lie lower), the chance of a sum of positive ranks of |x -
 * shift| at least as large as theirs. Exact for any count: all signs are equally likely. Samples equal to
 * `shift` are left out, as by Wilcoxon; equal distances share the mean of their ranks. At least 2^-n for n
 * samples, so that fewer than 5 prove nothing at 0.05. 1 for no samples. */
double stats_signed_rank(const double *x, size_t count, double shift);

/* splitmix64 (Steele, Lea, Flood 2014): a seed's next 64 bits; and a number in [0, n). */
uint64_t stats_random(uint64_t *state);
uint64_t stats_random_below(uint64_t *state, uint64_t n);

#endif

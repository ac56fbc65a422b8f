#include "stats.h"
#include "unit.h"

#include <math.h>

TEST(median_of_even_count_is_the_middle)
{
    const double x[] = {4, 1, 3, 2};
    assert_true(stats_median(x, 4) == 2.5);
    assert_true(x[0] == 4); /* the input keeps its order */
    assert_true(isnan(stats_median(x, 0)));
}

TEST(quantiles_interpolate)
{
    const double x[] = {0, 10, 20, 30, 40};
    assert_true(fabs(stats_quantile(x, 5, 0.1) - 4.0) < 1e-12);
    assert_true(stats_quantile(x, 5, 1.0) == 40);
}

TEST(t_test_agrees_with_tables)
{
    /* mean 1, s 1, n 10: t = 3.1623, p = 0.01150 (two-sided, 9 degrees of freedom) */
    const double offsets[] = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
    double x[10], s = stats_stddev(offsets, 10);
    for (int i = 0; i < 10; i++) x[i] = 1.0 + offsets[i] / s;
    assert_true(fabs(stats_t_test(x, 10, 0.0) - 0.01150) < 1e-4);
    assert_true(stats_t_test(x, 10, 1.0) > 0.999);
    assert_true(stats_t_test(x, 1, 0.0) == 1.0);
}

TEST(median_interval_holds_the_median_at_least_95_times_in_100)
{
    uint64_t seed = 7;
    int held = 0;
    for (int round = 0; round < 2000; round++) {
        double x[25], low, high;
        for (int i = 0; i < 25; i++) x[i] = (double)(stats_random(&seed) >> 11) * 0x1p-53;
        stats_median_interval(x, 25, &low, &high);
        held += low <= 0.5 && 0.5 <= high;
    }
    assert_true(held >= 1900);
    assert_true(held <= 1995); /* an interval that always holds says nothing */
}

TEST(few_samples_give_their_range)
{
    const double x[] = {3, 1, 2};
    double low, high;
    stats_median_interval(x, 3, &low, &high);
    assert_true(low == 1 && high == 3);
}

TEST(random_below_is_even)
{
    uint64_t seed = 1;
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) seen[stats_random_below(&seed, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 9500, 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_even_count_is_the_middle),
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(t_test_agrees_with_tables),
        cmocka_unit_test(median_interval_holds_the_median_at_least_95_times_in_100),
        cmocka_unit_test(few_samples_give_their_range),
        cmocka_unit_test(random_below_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

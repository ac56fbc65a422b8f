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

TEST(signed_rank_test_agrees_with_tables)
{
    /* Wilcoxon 1945: of 2^n choices of signs those whose positive ranks add up to at least as much. */
    const double above[] = {3, 1, 4, 2, 5};
    assert_true(stats_signed_rank(above, 5, 0) == 1.0 / 32);
    const double smallest_below[] = {3, -1, 4, 2, 5}; /* 14 of 15: two choices of 32 */
    assert_true(stats_signed_rank(smallest_below, 5, 0) == 2.0 / 32);
    const double below[] = {-3, -1, -4, -2, -5};
    assert_true(stats_signed_rank(below, 5, 0) == 1.0);
    /* Tables for n = 10 at 0.05, one-sided: a smaller sum of 10 is significant (0.0420), 11 is not (0.0527).
     */
    double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, -10};
    assert_true(stats_signed_rank(ten, 10, 0) == 43.0 / 1024);
    ten[0] = -1;
    assert_true(stats_signed_rank(ten, 10, 0) == 54.0 / 1024);
}

TEST(signed_rank_test_shares_equal_ranks_and_leaves_zeros_out)
{
    /* Ranks 1.5, 1.5, 3, 4: 8.5 of 10; at least that: 10 once, 8.5 twice. */
    const double equal[] = {-2, 2, 5, 7};
    assert_true(stats_signed_rank(equal, 4, 0) == 3.0 / 16);
    const double zeros[] = {0, -2, 2, 0, 5, 7};
    assert_true(stats_signed_rank(zeros, 6, 0) == 3.0 / 16);
    const double moved[] = {8, 12, 15, 17}; /* by 10 */
    assert_true(stats_signed_rank(moved, 4, 10) == 3.0 / 16);
}

TEST(signed_rank_test_of_nothing_proves_nothing)
{
    const double x[64] = {0};
    assert_true(stats_signed_rank(x, 0, 0) == 1.0);
    assert_true(stats_signed_rank(x, 64, 0) == 1.0);
    assert_true(stats_signed_rank(x, 1, -1) == 0.5);
    assert_true(stats_signed_rank(x, 64, -1) == ldexp(1, -64));
    assert_true(stats_signed_rank(x, 64, 1) == 1.0);
}

TEST(signed_rank_test_errs_as_rarely_as_it_says_and_is_not_moved_by_one_outlier)
{
    uint64_t seed = 5;
    int found = 0;
    for (int round = 0; round < 4000; round++) {
        double x[12];
        for (int i = 0; i < 12; i++) x[i] = (double)(stats_random(&seed) >> 11) * 0x1p-53 - 0.5;
        found += stats_signed_rank(x, 12, 0) <= 0.05;
    }
    assert_in_range(found, 150, 230); /* 4.6 % of 4000: the level next below 5 % with 12 samples */
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, -11}, far[10];
    for (int i = 0; i < 10; i++) far[i] = i == 9 ? -1e6 : x[i];
    assert_true(stats_signed_rank(x, 10, 0) == stats_signed_rank(far, 10, 0));
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
        cmocka_unit_test(signed_rank_test_agrees_with_tables),
        cmocka_unit_test(signed_rank_test_shares_equal_ranks_and_leaves_zeros_out),
        cmocka_unit_test(signed_rank_test_of_nothing_proves_nothing),
        cmocka_unit_test(signed_rank_test_errs_as_rarely_as_it_says_and_is_not_moved_by_one_outlier),
        cmocka_unit_test(median_interval_holds_the_median_at_least_95_times_in_100),
        cmocka_unit_test(few_samples_give_their_range),
        cmocka_unit_test(random_below_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

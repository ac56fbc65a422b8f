#include "screen.h"
#include "unit.h"

static const double tens[16] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};

/* After `count` blocks of a call that was expected to take first_us, the best being best_us, so many more
 * follow; if none does, the candidate is dropped or not. */
static void assert_next(const double *samples, int count, double first_us, double best_us, int more,
                        bool drop)
{
    bool dropped = false;
    assert_int_equal(screen_next(samples, count, first_us, best_us, &dropped), more);
    assert_int_equal(dropped, drop);
}

TEST(three_blocks_come_first_then_ten_in_all)
{
    assert_next(tens, 0, 10, 0, 3, false);
    assert_next(tens, 3, 10, 0, 7, false);
    assert_next(tens, 10, 10, 0, 0, false);
}

TEST(above_125_percent_of_the_best_three_blocks_are_enough)
{
    assert_next(tens, 3, 10, 7.9, 0, true);
    assert_next(tens, 3, 10, 8.1, 0, true);
}

TEST(above_104_percent_of_the_best_three_blocks_are_enough_but_it_is_not_dropped)
{
    assert_next(tens, 3, 10, 9.6, 0, false);
    assert_next(tens, 3, 10, 9.7, 7, false);
    assert_next(tens, 3, 10, 8.8, 0, false);
}

TEST(above_115_percent_of_the_best_ten_blocks_are_enough)
{
    assert_next(tens, 10, 10, 8.6, 0, true);
    assert_next(tens, 10, 10, 8.7, 0, false);
}

TEST(the_median_decides_so_one_disturbed_block_drops_nobody)
{
    const double samples[3] = {10, 100, 10};
    assert_next(samples, 3, 10, 9.7, 7, false);
}

TEST(three_times_the_best_is_dropped_after_one_block_that_confirms_it)
{
    const double confirmed = 31, refuted = 11;
    assert_next(tens, 0, 31, 10, 1, false);
    assert_next(&confirmed, 1, 31, 10, 0, true);
    assert_next(&refuted, 1, 31, 10, 2, false);
}

TEST(long_calls_get_fewer_samples)
{
    const double long_ones[3] = {2e5, 2e5, 2e5};
    assert_int_equal(screen_samples(1900), 10);
    assert_int_equal(screen_samples(2700), 5);
    assert_int_equal(screen_samples(2e5), 3);
    assert_int_equal(screen_samples(3e6), 1);
    assert_next(long_ones, 3, 2e5, 2e5, 0, false);
    /* the late threshold holds where the last sample is an early one */
    assert_next(long_ones, 3, 2e5, 1.7e5, 0, true);
}

TEST(a_long_call_that_is_hopeless_costs_one_block)
{
    const double hopeless[1] = {23100}, close[5] = {22900, 22900, 22900, 22900, 22900};
    assert_next(hopeless, 0, 23100, 20000, 1, false);
    assert_next(hopeless, 1, 23100, 20000, 0, true);
    assert_next(close, 1, 22900, 20000, 1, false);
    assert_next(close, 2, 22900, 20000, 0, false);
    assert_next(close, 1, 22900, 22500, 4, false);
    assert_next(close, 5, 22900, 22500, 0, false);
}

TEST(a_long_call_that_one_block_puts_behind_gets_a_second_one)
{
    const double disturbed[2] = {23900, 22900};
    assert_next(disturbed, 1, 23900, 22800, 1, false);
    assert_next(disturbed, 2, 22900, 22800, 3, false);
}

/* Three calls are judged, one is timed, one is for the check. */
TEST(a_trial_ends_after_a_long_call_that_leaves_no_time_or_is_hopeless)
{
    assert_false(screen_at_sight(2.5e6, 0, 0));
    assert_false(screen_at_sight(2.5e6, 0, 12.5));
    assert_true(screen_at_sight(2.5e6, 0, 12.4));
    assert_false(screen_at_sight(2.5e6, 2.4e6, 1)); /* it may be among the fastest */
    assert_true(screen_at_sight(2.5e6, 2.1e6, 1));
    assert_false(screen_at_sight(2.5e6, 2.1e6, 60));
    assert_true(screen_at_sight(2.5e6, 2e4, 60));
    assert_false(screen_at_sight(9e4, 100, 0.01)); /* short */
}

TEST(a_check_repeats_a_long_call_as_often_as_there_is_time)
{
    assert_int_equal(screen_check_runs(50, 1), 20);
    assert_int_equal(screen_check_runs(2.5e6, 0), 20);
    assert_int_equal(screen_check_runs(2.5e6, 60), 20);
    assert_int_equal(screen_check_runs(2.5e6, 25), 7);
    assert_int_equal(screen_check_runs(2.5e6, 10), 1);
    assert_int_equal(screen_check_runs(2.5e6, 9), 0);
}

TEST(a_block_lasts_at_least_as_long_as_asked)
{
    assert_int_equal(screen_calls(2700, 1000), 1);
    assert_int_equal(screen_calls(100, 1000), 10);
    assert_int_equal(screen_calls(300, 1000), 4);
    assert_int_equal(screen_calls(0, 1000), 1000000);
    assert_int_equal(screen_calls(1e-9, 1e9), 1 << 20);
}

TEST(a_clock_is_steady_when_the_last_four_lie_within_3_permille)
{
    const double settled[5] = {120, 100, 100.2, 100.1, 100.3}, drifting[5] = {100, 100.1, 100, 100.2, 100.4};
    assert_true(screen_steady(settled, 5));
    assert_false(screen_steady(settled, 4));
    assert_false(screen_steady(drifting, 5));
    assert_true(screen_steady(drifting, 4));
    assert_false(screen_steady(settled + 1, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_blocks_come_first_then_ten_in_all),
        cmocka_unit_test(above_125_percent_of_the_best_three_blocks_are_enough),
        cmocka_unit_test(above_104_percent_of_the_best_three_blocks_are_enough_but_it_is_not_dropped),
        cmocka_unit_test(above_115_percent_of_the_best_ten_blocks_are_enough),
        cmocka_unit_test(the_median_decides_so_one_disturbed_block_drops_nobody),
        cmocka_unit_test(three_times_the_best_is_dropped_after_one_block_that_confirms_it),
        cmocka_unit_test(long_calls_get_fewer_samples),
        cmocka_unit_test(a_long_call_that_is_hopeless_costs_one_block),
        cmocka_unit_test(a_long_call_that_one_block_puts_behind_gets_a_second_one),
        cmocka_unit_test(a_trial_ends_after_a_long_call_that_leaves_no_time_or_is_hopeless),
        cmocka_unit_test(a_check_repeats_a_long_call_as_often_as_there_is_time),
        cmocka_unit_test(a_block_lasts_at_least_as_long_as_asked),
        cmocka_unit_test(a_clock_is_steady_when_the_last_four_lie_within_3_permille),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

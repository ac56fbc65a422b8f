/* Slices: which problem is next, and for how long, from numbers alone. */
#include "unit.h"

#include "slices.h"

#include <math.h>

TEST(little_time_or_a_gpu_for_each_problem_makes_one_slice)
{
    assert_true(slices_fit(600, 2, 1, false));
    assert_false(slices_fit(5, 20, 1, false));
    assert_true(slices_fit(5, 20, 1, true)); /* a program's: a few take most of the time */
    assert_false(slices_fit(600, 2, 2, false));
    assert_true(slices_fit(600, 3, 2, false));
}

TEST(the_first_slice_is_a_second_and_the_later_ones_double)
{
    struct slice_history h = {.worth = 1};
    assert_true(slice_length_s(&h, 600, 6000) == 1);
    slice_ended(&h, 1, 100, 20, (double)NAN);
    assert_true(slice_length_s(&h, 600, 6000) == 60); /* a tenth of its even part at least */
    slice_ended(&h, 60, 100, 1500, (double)NAN);
    assert_true(slice_length_s(&h, 600, 6000) == 61);
    assert_true(slice_length_s(&h, 600, 100) == 100); /* what would be left is too short for another */
    assert_true(slice_length_s(&h, 600, -1) == 0);
}

TEST(who_has_no_winner_goes_first_then_who_promises_more_by_use)
{
    struct slice_history none = {.worth = 0.01}, gained = {.worth = 1}, still = {.worth = 1}, used;
    slice_ended(&gained, 60, 100, 1000, (double)NAN);
    slice_ended(&still, 60, 100, 1000, (double)NAN);
    slice_ended(&gained, 60, 90, 2000, (double)NAN);
    slice_ended(&still, 60, 100, 2000, (double)NAN);
    used = still;
    used.worth = 1000;
    assert_true(isinf(slice_promise(&none, 600, 6000)));
    assert_true(slice_promise(&gained, 600, 6000) > 3 * slice_promise(&still, 600, 6000));
    assert_true(slice_promise(&used, 600, 6000) > slice_promise(&gained, 600, 6000));
}

TEST(a_search_that_expects_nothing_promises_nothing)
{
    struct slice_history unsure = {.worth = 1}, sure = {.worth = 1};
    slice_ended(&unsure, 60, 100, 500, (double)NAN);
    slice_ended(&sure, 60, 100, 500, 1e-9);
    assert_true(slice_promise(&sure, 600, 6000) < 0.001 * slice_promise(&unsure, 600, 6000));
}

/* Twenty problems that gain alike get alike; one that is used as much as all others gets more than they. */
TEST(time_follows_use)
{
    enum { PROBLEMS = 20 };
    struct slice_history h[PROBLEMS];
    double left = PROBLEMS * 60.0;
    for (int i = 0; i < PROBLEMS; i++) h[i] = (struct slice_history){.worth = i == 7 ? PROBLEMS - 1 : 1};
    while (slice_is_worth_beginning(60, left)) {
        int at = 0;
        for (int i = 1; i < PROBLEMS; i++)
            if (slice_promise(&h[i], 60, left) > slice_promise(&h[at], 60, left)) at = i;
        const double length = slice_length_s(&h[at], 60, left);
        const size_t tried = (size_t)(25 * (h[at].spent_s + length));
        slice_ended(&h[at], length, 100 * (1 + 2.0 / (double)tried), tried, (double)NAN);
        left -= length;
    }
    double least = INFINITY, most = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        if (i == 7) continue;
        least = fmin(least, h[i].spent_s);
        most = fmax(most, h[i].spent_s);
    }
    print_message("%.0f s for the one, %.0f to %.0f for the others\n", h[7].spent_s, least, most);
    assert_true(least > 10 && h[7].spent_s > 2 * most);
}

TEST(a_slice_that_kept_its_winner_promises_less)
{
    struct slice_history h = {.worth = 1};
    slice_ended(&h, 1, 100, 50, (double)NAN);
    const double before = slice_promise(&h, 20, 600);
    slice_ended(&h, 3, h.time_us, 200, (double)NAN);
    assert_true(slice_promise(&h, 20, 600) < 0.3 * before);
    assert_true(h.spent_s == 4);
}

/* The strategy expects nothing of either; what cuBLAS beats after one trial has hardly been searched. */
TEST(who_is_behind_cublas_after_few_trials_is_not_at_its_last_percent)
{
    struct slice_history behind = {.worth = 0.001}, ahead = {.worth = 1}, long_behind = {.worth = 0.001};
    slice_ended(&behind, 1, 100, 1, 1e-9);
    slice_compared(&behind, 0.55, 1);
    slice_ended(&ahead, 60, 100, 1000, 1e-9);
    slice_compared(&ahead, 1.3, 1000);
    slice_ended(&long_behind, 60, 100, 1000, 1e-9);
    slice_compared(&long_behind, 0.55, 1000);
    assert_false(slice_is_last_percent(&behind));
    assert_true(slice_promise(&behind, 20, 600) > 0);
    assert_true(slice_is_last_percent(&ahead));
    assert_true(slice_is_last_percent(&long_behind)); /* it had its time */
    slice_ended(&behind, 3, 60, 100, 1e-9);
    slice_compared(&behind, 1.1, 100);
    assert_true(slice_is_last_percent(&behind));
}

TEST(closing_races_are_kept_time_for_but_never_more_than_a_part_of_the_budget)
{
    assert_true(slices_reserve_s(0, 0, 600, 1) == 0);
    assert_true(slices_reserve_s(40, 10, 600, 1) == 40);
    assert_true(slices_reserve_s(40, 10, 600, 2) == 20);
    assert_true(slices_reserve_s(40, 10, 600, 8) == 10); /* one takes no less on many GPUs */
    assert_true(fabs(slices_reserve_s(1000, 10, 600, 1) - 90) < 1e-9);
    assert_true(fabs(slices_reserve_s(1000, 95, 600, 20) - 90) < 1e-9);
}

TEST(no_time_is_kept_for_a_closing_race_that_is_longer_than_all_that_is_kept)
{
    const struct slice_history fits = {.closing_s = 99}, does_not = {.closing_s = 101};
    assert_true(slice_closing_is_kept_time_for(&fits, 600));
    assert_false(slice_closing_is_kept_time_for(&does_not, 600));
}

TEST(a_closing_race_lasts_longer_where_there_is_time_for_all_and_begins_only_where_it_fits)
{
    const struct slice_history h = {.worth = 1, .spent_s = 4, .closing_s = 2, .wants_closing_race = true};
    assert_true(slice_closing_length_s(&h, 20, 20, 1) == 2);
    assert_true(slice_closing_length_s(&h, 20, 5, 1) == 2); /* not all get one */
    assert_true(slice_closing_length_s(&h, 20, 30, 1) == 3);
    assert_true(slice_closing_length_s(&h, 20, 20, 2) == 4);
    assert_true(slice_closing_length_s(&h, 20, 6000, 1) == 6);
    assert_true(slice_closing_length_s(&h, 20, 1.9, 1) == 1.9);
    assert_true(slice_closing_fits(&h, 1.9));
    assert_false(slice_closing_fits(&h, 1.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_time_or_a_gpu_for_each_problem_makes_one_slice),
        cmocka_unit_test(the_first_slice_is_a_second_and_the_later_ones_double),
        cmocka_unit_test(who_has_no_winner_goes_first_then_who_promises_more_by_use),
        cmocka_unit_test(a_search_that_expects_nothing_promises_nothing),
        cmocka_unit_test(time_follows_use),
        cmocka_unit_test(a_slice_that_kept_its_winner_promises_less),
        cmocka_unit_test(who_is_behind_cublas_after_few_trials_is_not_at_its_last_percent),
        cmocka_unit_test(closing_races_are_kept_time_for_but_never_more_than_a_part_of_the_budget),
        cmocka_unit_test(no_time_is_kept_for_a_closing_race_that_is_longer_than_all_that_is_kept),
        cmocka_unit_test(
            a_closing_race_lasts_longer_where_there_is_time_for_all_and_begins_only_where_it_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Time: parsed, and divided over problems and within one. */
#include "unit.h"

#include "budget.h"
#include "race.h"

#include <math.h>
#include <string.h>

static double parse(const char *text)
{
    double seconds = -1;
    assert_ok(budget_parse(text, &seconds));
    return seconds;
}

TEST(times_are_read_in_all_their_units)
{
    assert_true(parse("90") == 90);
    assert_true(parse("30s") == 30);
    assert_true(parse("10m") == 600);
    assert_true(parse("8h") == 28800);
    assert_true(parse("1h30m") == 5400);
    assert_true(parse("0.5m") == 30);
    assert_true(parse("1d") == 86400);
}

TEST(what_is_no_time_is_refused_with_its_text)
{
    static const char *const bad[] = {"",     "0",   "-5s", "10x",   "s",      "1h30", "inf",  "nan",
                                      "0x10", "1e9", "5 m", "1..2s", "10000d", "1hm",  "1h1h", "1m2h3m"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double seconds;
        assert_int_equal(budget_parse(bad[i], &seconds), E_USAGE);
        assert_non_null(strstr(status_text(), bad[i]));
    }
}

TEST(a_search_waits_five_times_as_long_as_usual_and_five_seconds)
{
    assert_true(budget_patience_s(0.7) == 5);
    assert_true(budget_patience_s(3) == 15);
    assert_true(budget_patience_s(0) == 20); /* nobody knows */
}

TEST(time_that_one_problem_leaves_over_goes_to_the_rest)
{
    assert_true(budget_share(100, 4, 1) == 25);
    assert_true(budget_share(90, 3, 1) == 30); /* the first took 10 of its 25 */
    assert_true(budget_share(60, 1, 1) == 60);
    assert_true(budget_share(-1, 3, 1) == 0);
}

TEST(several_gpus_share_the_same_wall_clock)
{
    assert_true(budget_share(100, 4, 2) == 50);
    assert_true(budget_share(100, 2, 4) == 100);
    assert_true(budget_share(100, 5, 4) == 50); /* the fifth begins when the first of the others ends */
    assert_true(fabs(budget_weighted_share(100, 1, 5, 5, 4) - 50) < 1e-9);
}

TEST(long_calls_get_more_time_but_not_in_proportion)
{
    assert_true(budget_weight(1, 5) < 1.01);
    assert_true(budget_weight(1, 16000) > 3 && budget_weight(1, 16000) < 5);
    assert_true(budget_weight(3, 16000) == 3 * budget_weight(1, 16000));
}

TEST(a_search_that_stood_still_in_many_trials_and_half_its_time_has_converged)
{
    assert_true(budget_converged(40, 2000, 21));
    assert_false(budget_converged(40, 2000, 19));
    assert_false(budget_converged(40, 500, 39)); /* of a large product: too few were tried */
}

TEST(race_and_check_leave_at_least_half_of_any_share_to_the_search)
{
    for (double share = 0.5; share < 1e5; share *= 1.3)
        for (double best_us = 1; best_us < 1e6; best_us *= 7)
            for (double check = 0; check < 100; check += 9) {
                struct race_plan plan = budget_race(share, best_us, check, 12);
                assert_true(plan.reserve_s <= 0.5 * share + 1e-9);
                assert_true(plan.reserve_s > 0);
                assert_in_range(plan.finalists, 2, 16);
                assert_true(plan.min_rounds <= plan.max_rounds);
            }
}

TEST(a_generous_share_races_twelve_in_long_blocks_and_a_small_one_few_in_short_blocks)
{
    struct race_plan large = budget_race(300, 2700, 2, 12), small = budget_race(3, 2700, 1, 12);
    assert_int_equal(large.finalists, 12);
    assert_true(large.block_ms >= 50);
    assert_int_equal(large.min_rounds, 8);
    assert_true(large.reserve_s < 0.1 * 300);
    assert_true(small.finalists < large.finalists && small.block_ms < large.block_ms);
}

#define SHARE_S 60.0
#define BEST_US 100.0
#define CHECK_S 0.4
#define TRIAL_S 0.013

struct used {
    double searched_s, raced_s;
    int rounds;
};

/* A share on a clock of its own: trials until the reserve is due, then a race whose finalists differ by a
 * per cent, and a block takes what it asks for and as much beside it as is expected. Before the last trial
 * one of them was not known. */
static struct used use(int finalists, int counted)
{
    struct used used = {0};
    const struct race_plan plan = budget_race(SHARE_S, BEST_US, CHECK_S, counted);
    struct race_runner runner[RACE_RUNNERS_MAX];
    struct race_options options = race_defaults();
    struct race *race;
    assert_true(finalists <= plan.finalists);
    for (int i = 0; i < finalists; i++) runner[i] = (struct race_runner){0, 0, "x"};
    while (used.searched_s < SHARE_S - plan.reserve_s) used.searched_s += TRIAL_S;
    options.min_rounds = plan.min_rounds;
    options.max_rounds = plan.max_rounds;
    assert_ok(race_start(runner, finalists, &options, &race));
    for (int who; (who = race_next(race)) != RACE_DONE;) {
        used.raced_s += 1.1e-3 * plan.block_ms + 5e-3;
        race_tell(race, who == RACE_ANCHOR ? 1.2 * BEST_US : BEST_US * (1 + 0.01 * who));
    }
    used.rounds = race_rounds(race);
    race_free(race);
    return used;
}

TEST(time_is_kept_for_the_finalists_that_there_are_and_is_enough_for_them)
{
    for (int finalists = 2; finalists <= 12; finalists++) {
        const struct used all = use(finalists, 12), present = use(finalists, finalists),
                          late = use(finalists, finalists > 2 ? finalists - 1 : 2);
        const struct used *const both[] = {&present, &late};
        print_message("%d finalists: used %.0f %% of the share, %.0f %% with time for twelve\n", finalists,
                      100 * (present.searched_s + present.raced_s + CHECK_S) / SHARE_S,
                      100 * (all.searched_s + all.raced_s + CHECK_S) / SHARE_S);
        for (int i = 0; i < 2; i++) {
            assert_true(both[i]->searched_s + both[i]->raced_s + CHECK_S <= SHARE_S);
            assert_true(both[i]->rounds >= 8);
        }
        assert_true(present.searched_s >= all.searched_s);
        assert_true(finalists > 5 || present.searched_s > all.searched_s + 5);
    }
}

TEST(a_race_of_few_of_short_blocks_or_of_few_rounds_wants_a_closing_race)
{
    const struct race_plan first = budget_race(1, 100, 0.4, 12), usual = budget_race(60, 100, 0.4, 12);
    assert_true(budget_wants_closing_race(&first, first.max_rounds));
    assert_false(budget_wants_closing_race(&usual, usual.min_rounds));
    assert_true(budget_wants_closing_race(&usual, 3)); /* cut */
}

TEST(a_closing_race_wants_no_other_in_its_own_time_and_is_better_in_more)
{
    for (double best_us = 1; best_us < 1e6; best_us *= 7)
        for (double check = 0.1; check < 100; check *= 3) {
            const double takes = budget_closing_s(best_us, check, false);
            const struct race_plan plan = budget_closing_race(takes, best_us, check),
                                   slow = budget_closing_race(5 * takes, best_us, check);
            assert_false(budget_wants_closing_race(&plan, plan.min_rounds));
            assert_true(slow.finalists >= plan.finalists && slow.block_ms > plan.block_ms);
            assert_true(takes > check && plan.reserve_s == takes);
        }
    assert_true(budget_closing_s(100, 0.4, false) < 2.5);
}

/* Each plan that fits is the first that does; where there is no time there is none; cuBLAS runs once more
 * than there are rounds. */
TEST(a_race_under_load_takes_a_tenth_of_a_budget_or_is_none)
{
    for (int energy = 0; energy < 2; energy++)
        for (double best_us = 100; best_us < 1e6; best_us *= 10) {
            double before_s = 0;
            for (double allowed_s = 0.5; allowed_s < 200; allowed_s *= 1.3) {
                const struct load_plan plan = budget_load(allowed_s, best_us, energy);
                const double takes_s = budget_load_s(&plan, best_us, plan.finalists);
                assert_true(takes_s <= allowed_s && takes_s >= before_s);
                assert_true((plan.finalists == 0) == (takes_s == 0));
                if (plan.finalists)
                    assert_true(takes_s >= 1e-3 * (plan.lead_ms + plan.block_ms) *
                                               (plan.rounds * (plan.finalists + 1) + 1));
                before_s = takes_s;
            }
            assert_true(before_s > 0);
            const struct load_plan none = budget_load(0.5, best_us, energy);
            assert_int_equal(none.finalists, 0);
        }
    assert_true(budget_load_share_s(600, false) == 60 && budget_load_share_s(10, true) > 5);
    assert_true(budget_load(budget_load_share_s(600, false), 200, false).finalists == 3);
}

TEST(a_closing_race_of_what_ran_under_load_leaves_time_for_that)
{
    const double least_s = budget_load_s(&(struct load_plan){2, 2, 500, 1000}, 1000, 2);
    for (double check = 0.1; check < 100; check *= 3) {
        const double takes = budget_closing_s(1000, check, true);
        assert_true(takes >= budget_closing_s(1000, check, false) + least_s);
        assert_true(budget_load(budget_load_share_s(takes, true), 1000, false).finalists >= 2);
    }
    assert_true(budget_closing_s(99, 1, true) == budget_closing_s(99, 1, false));
    assert_true(budget_refresh_s(99) < 3 && budget_refresh_s(1000) > least_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_in_all_their_units),
        cmocka_unit_test(what_is_no_time_is_refused_with_its_text),
        cmocka_unit_test(a_search_waits_five_times_as_long_as_usual_and_five_seconds),
        cmocka_unit_test(time_that_one_problem_leaves_over_goes_to_the_rest),
        cmocka_unit_test(several_gpus_share_the_same_wall_clock),
        cmocka_unit_test(long_calls_get_more_time_but_not_in_proportion),
        cmocka_unit_test(a_search_that_stood_still_in_many_trials_and_half_its_time_has_converged),
        cmocka_unit_test(race_and_check_leave_at_least_half_of_any_share_to_the_search),
        cmocka_unit_test(a_generous_share_races_twelve_in_long_blocks_and_a_small_one_few_in_short_blocks),
        cmocka_unit_test(time_is_kept_for_the_finalists_that_there_are_and_is_enough_for_them),
        cmocka_unit_test(a_race_of_few_of_short_blocks_or_of_few_rounds_wants_a_closing_race),
        cmocka_unit_test(a_closing_race_wants_no_other_in_its_own_time_and_is_better_in_more),
        cmocka_unit_test(a_race_under_load_takes_a_tenth_of_a_budget_or_is_none),
        cmocka_unit_test(a_closing_race_of_what_ran_under_load_leaves_time_for_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

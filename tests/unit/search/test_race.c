#include "race.h"
#include "stats.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* A GPU as the race sees it: kernels of known speed, whose block times carry correlated noise (log-normal,
 * lag-1 autocorrelation 0.25, as recorded on real GPUs) on a clock that drifts. */
struct plant {
    uint64_t random;
    double noise, carried, drift; /* a block */
    double disturbed;             /* share of blocks that take a tenth longer */
    double true_us[RACE_RUNNERS_MAX];
    double anchor_us;
    int blocks;
};

static double uniform(uint64_t *state)
{
    return ((double)(stats_random(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static struct plant plant(uint64_t seed, double noise)
{
    return (struct plant){.random = seed, .noise = noise, .drift = 2e-5, .anchor_us = 1000};
}

static double block(struct plant *p, int who)
{
    const double correlation = 0.25;
    double fresh = normal(&p->random) * sqrt(1 - correlation * correlation);
    p->carried = correlation * p->carried + fresh;
    p->blocks++;
    double us = who == RACE_ANCHOR ? p->anchor_us : p->true_us[who];
    if (p->disturbed > 0 && uniform(&p->random) < p->disturbed) us *= 1.1;
    return us * exp(p->noise * p->carried + p->drift * p->blocks);
}

static const char *const names[RACE_RUNNERS_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                    "i", "j", "k", "l", "m", "n", "o", "p"};

static struct race *start_with(int count, const struct race_options *options)
{
    struct race_runner runners[RACE_RUNNERS_MAX];
    for (int i = 0; i < count; i++) runners[i] = (struct race_runner){1000, 100, names[i]};
    struct race *race;
    assert_int_equal(race_start(runners, count, options, &race), OK);
    return race;
}

static struct race *start(int count, uint64_t seed)
{
    struct race_options options = race_defaults();
    options.seed = seed;
    return start_with(count, &options);
}

/* Of kernels with these times on the plant. */
static struct race *start_on(struct plant *p, int count, const double *true_us, uint64_t seed)
{
    memcpy(p->true_us, true_us, (size_t)count * sizeof *true_us);
    return start(count, seed);
}

static void run(struct race *race, struct plant *p)
{
    for (int who; (who = race_next(race)) != RACE_DONE;) race_tell(race, block(p, who));
}

/* Whether it has a winner that no other equals. */
static void assert_won(const struct race *race, int who)
{
    bool tied;
    assert_int_equal(race_winner(race, &tied), who);
    assert_false(tied);
}

/* Share of races between two kernels in which a claim holds. */
static double share_of_races(double slower, int races, bool (*claim)(const struct race *race))
{
    int held = 0;
    for (int i = 0; i < races; i++) {
        struct plant p = plant((uint64_t)i + 1, i % 2 ? 0.003 : 0.005);
        const double true_us[] = {990, 990 * (1 + slower)};
        struct race *race = start_on(&p, 2, true_us, (uint64_t)i);
        run(race, &p);
        held += claim(race);
        race_free(race);
    }
    print_message("%.2f %% slower: %d of %d races\n", 100 * slower, held, races);
    return (double)held / races;
}

static bool called_different(const struct race *race)
{
    bool tied;
    race_winner(race, &tied);
    return !tied || race_result(race, 0).dropped || race_result(race, 1).dropped;
}

static bool first_wins_untied(const struct race *race)
{
    bool tied;
    return race_winner(race, &tied) == 0 && !tied;
}

TEST(the_same_kernel_twice_is_called_different_in_at_most_5_percent_of_races)
{
    assert_true(share_of_races(0, 1000, called_different) <= 0.05);
}

TEST(a_kernel_one_percent_slower_is_ordered_right_in_at_least_95_percent_of_races)
{
    assert_true(share_of_races(0.01, 1000, first_wins_untied) >= 0.95);
}

TEST(a_kernel_a_tenth_of_a_percent_slower_is_a_tie)
{
    assert_true(share_of_races(0.001, 300, called_different) <= 0.05);
}

/* Where blocks vary by a thousandth. */
TEST(a_third_of_a_percent_decides_if_it_is_beyond_the_noise)
{
    int decided = 0, equal = 0;
    for (int i = 0; i < 300; i++) {
        struct plant p = plant((uint64_t)i + 31, 0.001);
        const double true_us[] = {990 * 1.0032, 990};
        struct race *race = start_on(&p, 2, true_us, (uint64_t)i);
        run(race, &p);
        bool tied;
        decided += race_winner(race, &tied) == 1 && !tied;
        race_free(race);
        struct plant noisy = plant((uint64_t)i + 31, 0.01);
        struct race *other = start_on(&noisy, 2, true_us, (uint64_t)i);
        run(other, &noisy);
        race_winner(other, &tied);
        equal += tied;
        race_free(other);
    }
    print_message("0.32 %% slower: decided in %d of 300 races, tied in %d with ten times the noise\n",
                  decided, equal);
    assert_true(decided >= 295 && equal >= 200);
}

/* By the rules for ties the slower one would win. */
TEST(a_few_disturbed_blocks_do_not_hide_that_a_kernel_is_slower)
{
    int slower_won = 0;
    for (int i = 0; i < 500; i++) {
        struct plant p = plant((uint64_t)i + 31, 0.001);
        p.disturbed = 0.01;
        const double true_us[] = {990 * 1.004, 990};
        struct race *race = start_on(&p, 2, true_us, (uint64_t)i);
        run(race, &p);
        bool tied;
        slower_won += race_winner(race, &tied) == 0;
        race_free(race);
    }
    print_message("0.4 %% slower, 1 %% of blocks disturbed: wins %d of 500 races\n", slower_won);
    assert_true(slower_won <= 5);
}

/* Two kernels, the slower one first by the rules for ties, in so many rounds of a GPU without noise. */
static bool tied_after(int rounds, double slower)
{
    struct plant p = {.random = 21, .anchor_us = 1000, .true_us = {990 * (1 + slower), 990}};
    struct race_options options = race_defaults();
    options.min_rounds = options.max_rounds = rounds;
    struct race *race = start_with(2, &options);
    run(race, &p);
    bool tied;
    int winner = race_winner(race, &tied);
    assert_int_equal(winner, tied ? 0 : 1);
    race_free(race);
    return tied;
}

TEST(fewer_than_five_rounds_prove_nothing_within_the_doubt)
{
    assert_true(tied_after(4, 0.0025));
    assert_false(tied_after(5, 0.0025));
    assert_true(tied_after(5, 0.0008));
}

TEST(who_was_dropped_ties_no_more_however_few_the_rounds)
{
    assert_false(tied_after(4, 0.004));
}

TEST(among_sixteen_finalists_the_mean_regret_is_within_the_tie_and_the_worst_within_the_doubt)
{
    double worst = 0, sum = 0;
    for (int i = 0; i < 100; i++) {
        struct plant p = plant((uint64_t)i + 77, 0.004);
        double best = INFINITY;
        for (int k = 0; k < 16; k++) {
            p.true_us[k] = 950 * (1 + 0.03 * uniform(&p.random));
            best = fmin(best, p.true_us[k]);
        }
        struct race *race = start(16, (uint64_t)i);
        run(race, &p);
        bool tied;
        int winner = race_winner(race, &tied);
        double regret = p.true_us[winner] / best - 1;
        sum += regret;
        worst = fmax(worst, regret);
        race_free(race);
    }
    print_message("regret: mean %.3f %%, worst %.3f %%\n", sum, 100 * worst);
    assert_true(sum / 100 < race_defaults().tie);
    assert_true(worst < race_defaults().doubt);
}

TEST(the_ratio_is_that_to_the_anchor_and_its_interval_holds_it)
{
    int held = 0;
    for (int i = 0; i < 200; i++) {
        struct plant p = plant((uint64_t)i + 5, 0.004);
        p.true_us[0] = 800;
        struct race *race = start(1, (uint64_t)i);
        run(race, &p);
        struct race_result r = race_result(race, 0);
        assert_true(fabs(r.ratio - 1.25) < 0.02);
        assert_true(r.ratio_low <= r.ratio && r.ratio <= r.ratio_high);
        held += r.ratio_low <= 1.25 && 1.25 <= r.ratio_high;
        assert_int_equal(race_rounds(race), race_defaults().min_rounds);
        assert_int_equal(r.blocks, race_rounds(race));
        assert_true(fabs(race_anchor_us(race) - 1000) < 20);
        race_free(race);
    }
    assert_true(held >= 180);
}

TEST(a_drifting_clock_does_not_favour_anyone)
{
    /* 2 % a round: plain times of early and late blocks are not comparable at all. */
    struct plant p = plant(3, 0.001);
    p.drift = 0.02 / 5;
    for (int k = 0; k < 4; k++) p.true_us[k] = 900 + 18 * (3 - k);
    struct race *race = start(4, 3);
    run(race, &p);
    assert_won(race, 3);
    assert_true(fabs(race_result(race, 3).ratio - 1000.0 / 900) < 0.003);
    race_free(race);
}

TEST(one_disturbed_block_does_not_decide)
{
    struct plant p = plant(9, 0.002);
    const double true_us[] = {900, 915};
    struct race *race = start_on(&p, 2, true_us, 9);
    int disturbed = 0;
    for (int who; (who = race_next(race)) != RACE_DONE;) {
        double us = block(&p, who);
        if (who == 0 && race_rounds(race) % 10 == 4) us *= 1.5, disturbed++;
        race_tell(race, us);
    }
    bool tied;
    assert_true(disturbed >= 1);
    assert_int_equal(race_winner(race, &tied), 0);
    race_free(race);
}

TEST(the_anchor_is_first_and_last_in_each_round_and_orders_differ)
{
    struct plant p = plant(4, 0.001);
    for (int k = 0; k < 5; k++) p.true_us[k] = 900;
    struct race *race = start(5, 4);
    int orders[8][5] = {{0}};
    for (int round = 0; round < 8; round++) {
        if (round == 0) {
            assert_int_equal(race_next(race), RACE_ANCHOR);
            race_tell(race, block(&p, RACE_ANCHOR));
        }
        int seen = 0;
        for (int i = 0; i < 5; i++) {
            orders[round][i] = race_next(race);
            assert_in_range(orders[round][i], 0, 4);
            seen |= 1 << orders[round][i];
            race_tell(race, block(&p, orders[round][i]));
        }
        assert_int_equal(seen, 31);
        assert_int_equal(race_next(race), RACE_ANCHOR);
        assert_int_equal(race_rounds(race), round);
        race_tell(race, block(&p, RACE_ANCHOR));
    }
    int same = 0;
    for (int round = 1; round < 8; round++) same += memcmp(orders[0], orders[round], sizeof orders[0]) == 0;
    assert_true(same <= 1);
    race_free(race);
}

TEST(slow_finalists_leave_after_the_least_rounds_and_the_race_ends_with_one_left)
{
    struct plant p = plant(11, 0.002);
    p.true_us[0] = 900;
    for (int k = 1; k < 6; k++) p.true_us[k] = 900 * (1 + 0.05 * k);
    struct race *race = start(6, 11);
    run(race, &p);
    assert_won(race, 0);
    assert_int_equal(race_rounds(race), 8);
    for (int k = 1; k < 6; k++) assert_true(race_result(race, k).dropped);
    race_free(race);
}

TEST(equals_run_all_rounds_and_no_more)
{
    struct plant p = plant(12, 0.002);
    const double true_us[] = {900, 900};
    struct race *race = start_on(&p, 2, true_us, 12);
    run(race, &p);
    assert_int_equal(race_rounds(race), 30);
    assert_int_equal(race_result(race, 0).blocks, 30);
    race_free(race);
}

TEST(a_failing_runner_leaves_at_once_and_cannot_win)
{
    struct plant p = plant(13, 0.002);
    const double true_us[] = {500, 900, 905}; /* the fastest, until it fails */
    struct race *race = start_on(&p, 3, true_us, 13);
    int asked_after = 0;
    bool failed = false;
    for (int who; (who = race_next(race)) != RACE_DONE;) {
        if (who == 0 && failed) asked_after++;
        bool fails = who == 0 && race_rounds(race) == 3;
        failed = failed || fails;
        race_tell(race, fails ? INFINITY : block(&p, who));
    }
    bool tied;
    assert_int_equal(asked_after, 0);
    assert_int_not_equal(race_winner(race, &tied), 0);
    assert_true(race_result(race, 0).failed);
    assert_int_equal(race_result(race, 0).blocks, 3);
    race_free(race);
}

TEST(when_all_fail_there_is_no_winner)
{
    struct race *race = start(3, 14);
    while (race_next(race) != RACE_DONE) race_tell(race, race_next(race) == RACE_ANCHOR ? 1000 : INFINITY);
    bool tied = true;
    assert_int_equal(race_winner(race, &tied), -1);
    assert_false(tied);
    race_free(race);
}

TEST(without_an_anchor_plain_times_decide)
{
    struct plant p = plant(15, 0.002);
    const double true_us[] = {930, 900};
    struct race *race = start_on(&p, 2, true_us, 15);
    int anchors = 0;
    for (int who; (who = race_next(race)) != RACE_DONE;) {
        anchors += who == RACE_ANCHOR;
        race_tell(race, who == RACE_ANCHOR && anchors == 3 ? INFINITY : block(&p, who));
    }
    assert_int_equal(anchors, 3); /* it worked twice and failed in the second round */
    assert_won(race, 1);
    assert_true(isnan(race_result(race, 1).ratio));
    assert_true(isnan(race_anchor_us(race)));
    race_free(race);
}

TEST(cut_by_the_budget_only_complete_rounds_count)
{
    struct plant p = plant(16, 0.001);
    const double true_us[] = {900, 950};
    struct race *race = start_on(&p, 2, true_us, 16);
    for (int i = 0; i < 1 + 3 * 3 + 1; i++) { /* three rounds and one block of the fourth */
        int who = race_next(race);
        race_tell(race, race_rounds(race) == 3 ? 1.0 : block(&p, who));
    }
    race_cut(race);
    bool tied;
    assert_int_equal(race_next(race), RACE_DONE);
    assert_int_equal(race_rounds(race), 3);
    assert_int_equal(race_winner(race, &tied), 0);
    assert_int_equal(race_result(race, 0).blocks, 3);
    assert_int_equal(race_result(race, 1).blocks, 3);
    race_free(race);
}

TEST(cut_before_the_first_round_ends_the_screen_decides)
{
    struct race *race = start(3, 17);
    race_tell(race, 1000);
    race_cut(race);
    bool tied;
    assert_int_equal(race_winner(race, &tied), 0);
    assert_true(tied);
    assert_int_equal(race_rounds(race), 0);
    assert_true(isnan(race_result(race, 0).ratio));
    assert_int_equal(race_result(race, 0).blocks, 0);
    race_free(race);
}

static int winner_of_equals(struct race_runner x, struct race_runner y)
{
    struct race_runner runners[2] = {x, y};
    struct race_options options = race_defaults();
    struct race *race;
    assert_int_equal(race_start(runners, 2, &options, &race), OK);
    while (race_next(race) != RACE_DONE) race_tell(race, 1000);
    bool tied;
    int winner = race_winner(race, &tied);
    assert_true(tied);
    race_free(race);
    return winner;
}

TEST(ties_go_to_less_shared_memory_then_fewer_registers_then_the_text)
{
    assert_int_equal(
        winner_of_equals((struct race_runner){2000, 10, "a"}, (struct race_runner){1000, 99, "b"}), 1);
    assert_int_equal(
        winner_of_equals((struct race_runner){1000, 90, "a"}, (struct race_runner){1000, 80, "b"}), 1);
    assert_int_equal(
        winner_of_equals((struct race_runner){1000, 80, "b"}, (struct race_runner){1000, 80, "a"}), 1);
    assert_int_equal(
        winner_of_equals((struct race_runner){1000, 80, "a"}, (struct race_runner){1000, 80, "b"}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_kernel_twice_is_called_different_in_at_most_5_percent_of_races),
        cmocka_unit_test(a_kernel_one_percent_slower_is_ordered_right_in_at_least_95_percent_of_races),
        cmocka_unit_test(a_kernel_a_tenth_of_a_percent_slower_is_a_tie),
        cmocka_unit_test(a_third_of_a_percent_decides_if_it_is_beyond_the_noise),
        cmocka_unit_test(a_few_disturbed_blocks_do_not_hide_that_a_kernel_is_slower),
        cmocka_unit_test(fewer_than_five_rounds_prove_nothing_within_the_doubt),
        cmocka_unit_test(who_was_dropped_ties_no_more_however_few_the_rounds),
        cmocka_unit_test(
            among_sixteen_finalists_the_mean_regret_is_within_the_tie_and_the_worst_within_the_doubt),
        cmocka_unit_test(the_ratio_is_that_to_the_anchor_and_its_interval_holds_it),
        cmocka_unit_test(a_drifting_clock_does_not_favour_anyone),
        cmocka_unit_test(one_disturbed_block_does_not_decide),
        cmocka_unit_test(the_anchor_is_first_and_last_in_each_round_and_orders_differ),
        cmocka_unit_test(slow_finalists_leave_after_the_least_rounds_and_the_race_ends_with_one_left),
        cmocka_unit_test(equals_run_all_rounds_and_no_more),
        cmocka_unit_test(a_failing_runner_leaves_at_once_and_cannot_win),
        cmocka_unit_test(when_all_fail_there_is_no_winner),
        cmocka_unit_test(without_an_anchor_plain_times_decide),
        cmocka_unit_test(cut_by_the_budget_only_complete_rounds_count),
        cmocka_unit_test(cut_before_the_first_round_ends_the_screen_decides),
        cmocka_unit_test(ties_go_to_less_shared_memory_then_fewer_registers_then_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

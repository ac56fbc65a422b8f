/* The strategy with a surrogate: what the tests of all strategies (test_search.c) do not ask of it. */
#include "cube.h"
#include "search.h"
#include "stats.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every combination of `values` values. */
static struct config *make_cube(int values, size_t *count)
{
    *count = 1;
    for (int d = 0; d < DIMS; d++) *count *= (size_t)values;
    struct config *c = calloc(*count, sizeof *c);
    assert_non_null(c);
    for (size_t i = 0, rest; i < *count; i++) {
        c[i].template = &cube;
        rest = i;
        for (int d = 0; d < DIMS; d++, rest /= (size_t)values)
            c[i].value[d] = (int32_t)(rest % (size_t)values);
    }
    return c;
}

/* A bent valley; the best is 3 2 1 3 2 and whatever F. */
static double time_of(const struct config *c)
{
    const int32_t *v = c->value;
    return 100 * exp(0.2 * abs(v[0] - 3) + 0.15 * abs(v[1] - 2) + 0.1 * abs(v[2] - 1) +
                     0.1 * abs(v[3] - v[0]) + 0.05 * abs(v[4] - 2));
}

/* Trials one after the other; returns how many were made. */
static size_t drive(struct search *search, const struct config *c, double (*time)(const struct config *),
                    size_t limit, size_t *order)
{
    size_t made = 0;
    while (made < limit && search_next(search, &order[made]) == SEARCH_TRY) {
        search_tell(search, order[made], time(&c[order[made]]));
        made++;
    }
    return made;
}

static struct search *start(const struct config *c, size_t count, const double *predicted_us, uint64_t seed)
{
    struct search *search;
    assert_ok(search_start("gp", c, count, predicted_us, NULL, seed, &search));
    return search;
}

TEST(a_longer_search_begins_as_a_shorter_one)
{
    size_t count, order[2][300];
    struct config *c = make_cube(5, &count);
    for (int i = 0; i < 2; i++) {
        struct search *search = start(c, count, NULL, 9);
        drive(search, c, time_of, i ? 300 : 100, order[i]);
        search_stop(search);
    }
    assert_memory_equal(order[0], order[1], 100 * sizeof(size_t));
    free(c);
}

/* Times that differ by less than a measurement is worth; 0.002 is what search_gp.c rounds to. */
static double steady(const struct config *c)
{
    return exp(0.002 * rint(log(time_of(c)) / 0.002));
}

static double trembling(const struct config *c)
{
    static uint64_t random = 1;
    return steady(c) * (1 + 0.0015 * ((double)stats_random_below(&random, 1001) / 1000 - 0.5));
}

TEST(a_difference_below_the_noise_decides_nothing)
{
    size_t count, order[2][200];
    struct config *c = make_cube(5, &count);
    for (int i = 0; i < 2; i++) {
        struct search *search = start(c, count, NULL, 4);
        drive(search, c, i ? trembling : steady, 200, order[i]);
        search_stop(search);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    free(c);
}

/* Off by at most so much of the time. */
static double off_by = 0;
static uint64_t off_random;

static double smooth(const struct config *c)
{
    const int32_t *v = c->value;
    const double bent = 0.061 * abs(v[0] - 3) + 0.047 * abs(v[1] - 2) + 0.033 * abs(v[2] - v[0]) +
                        0.0171 * v[3] * v[4] + 0.0093 * v[5];
    return 100 * exp(bent) * (1 + off_by * ((double)stats_random_below(&off_random, 2001) / 1000 - 1));
}

TEST(little_noise_often_changes_nothing_that_is_proposed)
{
    enum { SEEDS = 20, TRIALS = 50 };
    size_t count, same = 0;
    struct config *c = make_cube(5, &count);
    off_by = 0.0002;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t order[2][TRIALS];
        for (int i = 0; i < 2; i++) {
            struct search *search = start(c, count, NULL, seed);
            off_random = 100 * seed + (uint64_t)i;
            drive(search, c, smooth, TRIALS, order[i]);
            search_stop(search);
        }
        same += memcmp(order[0], order[1], sizeof order[0]) == 0;
    }
    print_message("%zu of %d searches propose the same\n", same, SEEDS);
    assert_true(4 * same > SEEDS);
    free(c);
}

/* Half of the space spills. */
static double half_fails(const struct config *c)
{
    return c->value[4] >= 3 || c->value[2] >= 4 ? (double)INFINITY : time_of(c);
}

TEST(failures_are_learned)
{
    size_t count, order[150], failed = 0;
    struct config *c = make_cube(5, &count);
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct search *search = start(c, count, NULL, seed);
        assert_int_equal(drive(search, c, half_fails, 150, order), 150);
        for (int i = 10; i < 150; i++) failed += isinf(half_fails(&c[order[i]])) ? 1 : 0;
        search_stop(search);
    }
    assert_true(failed * 3 < 5 * 140); /* chance: more than a half */
    free(c);
}

/* Half of the truth. */
static double model(const struct config *c)
{
    return 50 * exp(0.2 * abs(c->value[0] - 3) + 0.15 * abs(c->value[1] - 2) + 0.1 * abs(c->value[2] - 1));
}

static int by_model(const void *x, const void *y)
{
    const double a = model(x), b = model(y);
    return (a > b) - (a < b);
}

TEST(the_first_trial_is_the_models_favourite_and_half_a_model_shortens_the_search)
{
    size_t count, order[200];
    struct config *c = make_cube(7, &count);
    double *predicted = calloc(count, sizeof *predicted), needed[2][9];
    qsort(c, count, sizeof *c, by_model);
    for (size_t i = 0; i < count; i++) predicted[i] = model(&c[i]);
    for (int with = 0; with < 2; with++)
        for (uint64_t seed = 0; seed < 9; seed++) {
            struct search *search = start(c, count, with ? predicted : NULL, seed);
            const size_t made = drive(search, c, time_of, 200, order);
            if (with) assert_int_equal(order[0], 0);
            needed[with][seed] = 1000;
            for (size_t i = made; i-- > 0;)
                if (time_of(&c[order[i]]) < 100.01) needed[with][seed] = (double)i + 1;
            search_stop(search);
        }
    print_message("with a model %.0f, without %.0f\n", stats_median(needed[1], 9),
                  stats_median(needed[0], 9));
    assert_true(stats_median(needed[1], 9) <= 0.8 * stats_median(needed[0], 9));
    free(predicted);
    free(c);
}

static double nothing_works(const struct config *c)
{
    (void)c;
    return (double)INFINITY;
}

TEST(without_a_usable_candidate_it_goes_on_and_says_so)
{
    size_t count, *order;
    struct config *c = make_cube(3, &count);
    order = calloc(count + 1, sizeof *order);
    struct search *search = start(c, count, NULL, 2);
    assert_null(search_note(search));
    assert_int_equal(drive(search, c, nothing_works, count + 1, order), count);
    assert_non_null(strstr(search_note(search), "none of 729 candidates is usable"));
    assert_true(isnan(search_gain(search)));
    search_stop(search);
    free(order);
    free(c);
}

static double one_of_a_hundred(const struct config *c)
{
    return c->value[0] == 2 && c->value[1] == 0 && c->value[2] == 1 ? time_of(c) : (double)INFINITY;
}

TEST(the_first_usable_candidate_is_learned_from)
{
    size_t count, order[400], usable = 0;
    struct config *c = make_cube(4, &count);
    struct search *search = start(c, count, NULL, 2);
    const size_t made = drive(search, c, one_of_a_hundred, 100, order);
    for (size_t i = 0; i < made; i++) usable += isfinite(one_of_a_hundred(&c[order[i]])) ? 1 : 0;
    assert_true(usable >= 10); /* of 64; chance: 2 */
    assert_null(search_note(search));
    search_stop(search);
    free(c);
}

/* The strategy hears of a suggestion when that is told: by then it may have thought of the same. */
TEST(suggestions_that_are_told_late_are_proposed_once)
{
    enum { SUGGESTED = 10 };
    size_t count, index, made = 0;
    struct config *c = make_cube(2, &count);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct search *search = start(c, count, NULL, seed);
        int *proposed = calloc(count, sizeof *proposed);
        size_t late[SUGGESTED];
        bool fresh;
        assert_non_null(proposed);
        for (size_t i = 0; i < SUGGESTED; i++)
            assert_ok(search_suggest(search, (7 * i + seed) % count, &fresh));
        for (size_t i = 0; i < SUGGESTED; i++) {
            assert_int_equal(search_next(search, &late[i]), SEARCH_TRY);
            proposed[late[i]]++;
        }
        for (made = SUGGESTED; search_next(search, &index) == SEARCH_TRY; made++) {
            assert_int_equal(++proposed[index], 1);
            search_tell(search, index, time_of(&c[index]));
            if (made >= 30 && made < 30 + SUGGESTED)
                search_tell(search, late[made - 30], time_of(&c[late[made - 30]]));
        }
        assert_int_equal(made, count);
        free(proposed);
        search_stop(search);
    }
    free(c);
}

TEST(more_trials_than_the_surrogate_holds_are_no_harm)
{
    size_t count, *order;
    struct config *c = make_cube(4, &count);
    order = calloc(count + 1, sizeof *order);
    struct search *search = start(c, count, NULL, 2);
    for (size_t i = 0; i < 1500; i++) search_tell(search, 2 * i, time_of(&c[2 * i]));
    assert_int_equal(drive(search, c, time_of, count + 1, order), count - 1500);
    search_stop(search);
    free(order);
    free(c);
}

TEST(what_is_left_to_gain_vanishes_as_the_search_goes_on)
{
    size_t count, order[400];
    struct config *c = make_cube(5, &count);
    struct search *search = start(c, count, NULL, 2);
    assert_true(isnan(search_gain(search)));
    drive(search, c, time_of, 20, order);
    const double early = search_gain(search);
    drive(search, c, time_of, 300, order);
    assert_true(early > 0.005 && search_gain(search) < 0.1 * early);
    search_stop(search);
    free(c);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Trials until nothing more is expected, those of an earlier search of `before` trials included. */
static size_t end_after(const struct config *c, size_t count, size_t before)
{
    size_t *order = calloc(count, sizeof *order), made = 0;
    assert_non_null(order);
    struct search *search = start(c, count, NULL, 4);
    made = drive(search, c, time_of, before, order);
    search_stop(search);
    search = start(c, count, NULL, 4);
    for (size_t i = 0; i < made; i++) search_tell(search, order[i], time_of(&c[order[i]]));
    for (; !search_satisfied(search) && search_next(search, &order[made]) == SEARCH_TRY; made++)
        search_tell(search, order[made], time_of(&c[order[made]]));
    search_stop(search);
    free(order);
    return made;
}

TEST(a_resumed_search_ends_about_when_it_would_have_without_the_interruption)
{
    size_t count;
    struct config *c = make_cube(5, &count);
    const size_t whole = end_after(c, count, 0), early = end_after(c, count, 150),
                 late = end_after(c, count, whole - 10), over = end_after(c, count, whole + 200);
    print_message("ends after %zu trials; resumed: %zu, %zu, %zu\n", whole, early, late, over);
    assert_int_equal(whole, 300);
    assert_true(early <= whole + 50);
    assert_true(late > whole && late <= whole + 60); /* what it was told unasked, it has to believe first */
    assert_true(over <= whole + 200 + 60);
    free(c);
}

TEST(half_a_million_candidates_cost_a_millisecond_a_proposal)
{
#ifdef __OPTIMIZE__
    enum { TRIALS = 400 };
#else
    enum { TRIALS = 40 }; /* its time says nothing */
#endif
    size_t count, order[TRIALS];
    struct config *c = make_cube(9, &count);
    assert_true(count > 500000);
    struct search *search = start(c, count, NULL, 2);
    const double began = cpu_ms();
    assert_int_equal(drive(search, c, time_of, TRIALS, order), TRIALS);
    const double each = (cpu_ms() - began) / TRIALS;
    print_message("%.3f ms a proposal\n", each);
#ifdef __OPTIMIZE__
    assert_true(each < SHARED_MACHINE * 1.0);
#endif
    search_stop(search);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_longer_search_begins_as_a_shorter_one),
        cmocka_unit_test(a_difference_below_the_noise_decides_nothing),
        cmocka_unit_test(little_noise_often_changes_nothing_that_is_proposed),
        cmocka_unit_test(failures_are_learned),
        cmocka_unit_test(the_first_trial_is_the_models_favourite_and_half_a_model_shortens_the_search),
        cmocka_unit_test(without_a_usable_candidate_it_goes_on_and_says_so),
        cmocka_unit_test(the_first_usable_candidate_is_learned_from),
        cmocka_unit_test(suggestions_that_are_told_late_are_proposed_once),
        cmocka_unit_test(more_trials_than_the_surrogate_holds_are_no_harm),
        cmocka_unit_test(what_is_left_to_gain_vanishes_as_the_search_goes_on),
        cmocka_unit_test(a_resumed_search_ends_about_when_it_would_have_without_the_interruption),
        cmocka_unit_test(half_a_million_candidates_cost_a_millisecond_a_proposal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

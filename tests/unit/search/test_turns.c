/* The order in which a strategy hears of its proposals. */
#include "search.h"
#include "stats.h"
#include "template.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct param params[] = {
    {"TILE", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""},
    {"DEPTH", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""},
    {"SPLIT", PARAM_LAUNCH, ROLE_NAMED, 0, 64, ""},
};
static const struct template small = {.name = "small", .params = params, .param_count = 3};
enum { TILE, DEPTH, SPLIT, SIDE = 8, LAUNCHES = 4, COUNT = SIDE * SIDE * LAUNCHES };

static struct config config[COUNT]; /* LAUNCHES in a row have a kernel */

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        config[i].template = &small;
        config[i].value[TILE] = i / (SIDE * LAUNCHES);
        config[i].value[DEPTH] = i / LAUNCHES % SIDE;
        config[i].value[SPLIT] = i % LAUNCHES;
    }
    return 0;
}

static double time_of(size_t index)
{
    const int32_t *v = config[index].value;
    return 100 * exp(0.1 * abs(v[TILE] - 5) + 0.07 * abs(v[DEPTH] - v[TILE]) + 0.03 * abs(v[SPLIT] - 2));
}

static struct turns *build(size_t first, size_t kernels, size_t launches)
{
    const struct turn_limits limits = {first, kernels, launches};
    struct turns *t = turns_build(config, COUNT, &limits);
    assert_non_null(t);
    return t;
}

static void assert_told(struct turns *t, bool stuck, size_t expected)
{
    size_t index;
    double time_us;
    assert_int_equal(turns_next(t, stuck, &index, &time_us), TURN_TELL);
    assert_int_equal(index, expected);
    assert_true(time_us == (double)expected);
}

static enum turn_answer answer_of(struct turns *t, bool stuck)
{
    size_t index;
    double time_us;
    return turns_next(t, stuck, &index, &time_us);
}

TEST(kernels_are_heard_of_in_the_order_proposed_and_not_before_the_limit)
{
    struct turns *t = build(3, 2, 1);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(answer_of(t, false), TURN_NONE);
        turns_propose(t, 4 * k);
    }
    assert_true(turns_result(t, 8, 8));
    assert_true(turns_result(t, 4, 4));
    assert_int_equal(answer_of(t, false), TURN_WAIT);
    assert_true(turns_result(t, 0, 0));
    assert_told(t, false, 0);
    assert_told(t, false, 4); /* from the first on there are two at most */
    assert_int_equal(answer_of(t, false), TURN_NONE);
    assert_int_equal(turns_waiting(t), 1);
    turns_free(t);
}

TEST(launches_of_a_known_kernel_do_not_wait_for_kernels)
{
    struct turns *t = build(8, 8, 2);
    turns_know(t, 0);
    turns_propose(t, 4);
    turns_propose(t, 1);
    turns_propose(t, 2);
    assert_int_equal(answer_of(t, false), TURN_WAIT);
    assert_true(turns_result(t, 2, 2));
    assert_int_equal(answer_of(t, false), TURN_WAIT);
    assert_true(turns_result(t, 1, 1));
    assert_told(t, false, 1);
    assert_int_equal(answer_of(t, false), TURN_NONE);
    turns_free(t);
}

TEST(launches_of_a_kernel_that_is_not_heard_of_come_after_it)
{
    struct turns *t = build(2, 2, 1);
    turns_propose(t, 5);
    turns_propose(t, 6);
    turns_propose(t, 7);
    assert_true(turns_result(t, 6, 6));
    assert_int_equal(answer_of(t, false), TURN_WAIT);
    assert_true(turns_result(t, 7, 7));
    assert_true(turns_result(t, 5, 5));
    assert_told(t, false, 5);
    assert_told(t, false, 6);
    assert_told(t, false, 7);
    assert_int_equal(answer_of(t, false), TURN_NONE);
    turns_free(t);
}

TEST(who_can_propose_nothing_hears_one_more)
{
    struct turns *t = build(8, 8, 2);
    assert_int_equal(answer_of(t, true), TURN_NONE);
    turns_propose(t, 0);
    turns_propose(t, 4);
    assert_true(turns_result(t, 4, 4));
    assert_int_equal(answer_of(t, true), TURN_WAIT);
    assert_true(turns_result(t, 0, 0));
    assert_told(t, true, 0);
    assert_false(turns_result(t, 0, 0));
    turns_free(t);
}

/* Proposals in their order; results come in a random one. Returns how many it made. */
static size_t run(const char *strategy, bool in_turns, uint64_t random, size_t *order)
{
    const struct turn_limits limits = turn_limits_of(4);
    struct search *search;
    size_t open[COUNT], count = 0, made = 0;
    assert_ok(search_start(strategy, config, COUNT, NULL, NULL, 7, &search));
    if (in_turns) assert_ok(search_in_turns(search, config, &limits));
    for (;;) {
        enum search_answer answer = SEARCH_WAIT;
        const size_t room = in_turns ? COUNT : 8 + (size_t)stats_random_below(&random, 8);
        while (count < room && (answer = search_next(search, &order[made])) == SEARCH_TRY)
            open[count++] = order[made++];
        if (count == 0) {
            assert_int_equal(answer, SEARCH_DONE);
            break;
        }
        const size_t at = (size_t)stats_random_below(&random, count), index = open[at];
        open[at] = open[--count];
        search_tell(search, index, index % 7 == 3 ? INFINITY : time_of(index));
    }
    search_stop(search);
    return made;
}

TEST(a_seed_gives_one_order_of_proposals_in_whatever_order_results_come)
{
    static const char *const strategies[] = {"ils", "gp", "random", "exhaustive"};
    for (int s = 0; s < 4; s++) {
        size_t first[COUNT], again[COUNT];
        assert_int_equal(run(strategies[s], true, 1, first), COUNT);
        for (uint64_t r = 2; r < 6; r++) {
            assert_int_equal(run(strategies[s], true, r, again), COUNT);
            assert_memory_equal(first, again, sizeof first);
        }
    }
    size_t first[COUNT], again[COUNT]; /* the results come in such orders that it could be seen */
    assert_int_equal(run("gp", false, 1, first), COUNT);
    assert_int_equal(run("gp", false, 2, again), COUNT);
    assert_memory_not_equal(first, again, sizeof first);
}

TEST(few_compilers_have_some_work_ahead_and_many_a_share)
{
    const struct turn_limits none = turn_limits_of(0), one = turn_limits_of(1), many = turn_limits_of(64);
    assert_memory_equal(&none, &one, sizeof one);
    assert_int_equal(one.kernels, 5);
    assert_int_equal(many.kernels, 80);
    assert_true(one.kernels_first >= one.kernels && many.kernels_first >= many.kernels);
    assert_int_equal(turns_most(&one), one.kernels_first + one.kernels + one.launches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_heard_of_in_the_order_proposed_and_not_before_the_limit),
        cmocka_unit_test(launches_of_a_known_kernel_do_not_wait_for_kernels),
        cmocka_unit_test(launches_of_a_kernel_that_is_not_heard_of_come_after_it),
        cmocka_unit_test(who_can_propose_nothing_hears_one_more),
        cmocka_unit_test(a_seed_gives_one_order_of_proposals_in_whatever_order_results_come),
        cmocka_unit_test(few_compilers_have_some_work_ahead_and_many_a_share),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}

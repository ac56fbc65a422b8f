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
enum { TILE, DEPTH, SPLIT, SIDE = 8, LAUNCHES = 4, COUNT = SIDE * SIDE * LAUNCHES, FIRST = 8 };

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

static struct feedback *build(size_t first, size_t kernels, size_t launches)
{
    const struct feedback_limits limits = {first, kernels, launches, .late = 2};
    struct feedback *t = feedback_build(config, COUNT, &limits);
    assert_non_null(t);
    return t;
}

static void assert_told(struct feedback *t, bool stuck, size_t expected)
{
    size_t index;
    double time_us;
    assert_int_equal(feedback_next(t, stuck, &index, &time_us), FEEDBACK_TELL);
    assert_int_equal(index, expected);
    assert_true(time_us == (double)expected);
}

static enum feedback_answer answer_of(struct feedback *t, bool stuck)
{
    size_t index;
    double time_us;
    return feedback_next(t, stuck, &index, &time_us);
}

TEST(kernels_are_heard_of_in_the_order_proposed_and_not_before_the_limit)
{
    struct feedback *t = build(3, 2, 1);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(answer_of(t, false), FEEDBACK_NONE);
        feedback_propose(t, 4 * k);
    }
    assert_true(feedback_result(t, 8, 8));
    assert_true(feedback_result(t, 4, 4));
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 0, 0));
    assert_told(t, false, 0);
    assert_told(t, false, 4); /* from the first on there are two at most */
    assert_int_equal(answer_of(t, false), FEEDBACK_NONE);
    assert_int_equal(feedback_waiting(t), 1);
    feedback_free(t);
}

TEST(launches_of_a_known_kernel_do_not_wait_for_kernels)
{
    struct feedback *t = build(8, 8, 2);
    feedback_know(t, 0);
    feedback_propose(t, 4);
    feedback_propose(t, 1);
    feedback_propose(t, 2);
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 2, 2));
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 1, 1));
    assert_told(t, false, 1);
    assert_int_equal(answer_of(t, false), FEEDBACK_NONE);
    feedback_free(t);
}

TEST(launches_of_a_kernel_that_is_not_heard_of_come_after_it)
{
    struct feedback *t = build(2, 2, 1);
    feedback_propose(t, 5);
    feedback_propose(t, 6);
    feedback_propose(t, 7);
    assert_true(feedback_result(t, 6, 6));
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 7, 7));
    assert_true(feedback_result(t, 5, 5));
    assert_told(t, false, 5);
    assert_told(t, false, 6);
    assert_told(t, false, 7);
    assert_int_equal(answer_of(t, false), FEEDBACK_NONE);
    feedback_free(t);
}

TEST(who_can_propose_nothing_hears_one_more)
{
    struct feedback *t = build(8, 8, 2);
    assert_int_equal(answer_of(t, true), FEEDBACK_NONE);
    feedback_propose(t, 0);
    feedback_propose(t, 4);
    assert_true(feedback_result(t, 4, 4));
    assert_int_equal(answer_of(t, true), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 0, 0));
    assert_told(t, true, 0);
    assert_false(feedback_result(t, 0, 0));
    feedback_free(t);
}

TEST(who_waits_too_long_goes_on_and_hears_of_it_when_it_is_there)
{
    struct feedback *t = build(2, 2, 1);
    size_t index;
    double time_us;
    feedback_propose(t, 0);
    feedback_propose(t, 4);
    assert_int_equal(feedback_next(t, false, &index, &time_us), FEEDBACK_WAIT);
    assert_int_equal(index, 0);
    assert_true(feedback_put_off(t, 0));
    assert_int_equal(answer_of(t, false), FEEDBACK_NONE);
    feedback_propose(t, 8);
    assert_true(feedback_result(t, 4, 4));
    assert_told(t, false, 4);
    feedback_propose(t, 12);
    assert_int_equal(feedback_next(t, false, &index, &time_us), FEEDBACK_WAIT);
    assert_int_equal(index, 8);
    assert_true(feedback_result(t, 0, 0));
    assert_told(t, false, 0);
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    feedback_free(t);
}

TEST(launches_of_a_kernel_that_is_put_off_come_after_it_and_hold_up_no_others)
{
    struct feedback *t = build(3, 2, 1);
    feedback_propose(t, 0);
    feedback_propose(t, 1);
    assert_true(feedback_put_off(t, 0));
    feedback_propose(t, 4);
    assert_true(feedback_result(t, 4, 4));
    assert_told(t, true, 4);
    feedback_propose(t, 5); /* of a kernel that is known, unlike 1 */
    assert_true(feedback_result(t, 5, 5));
    assert_told(t, false, 5);
    feedback_propose(t, 2); /* the second that follows 0, as many as may */
    assert_int_equal(answer_of(t, false), FEEDBACK_WAIT);
    assert_true(feedback_result(t, 0, 0));
    assert_true(feedback_result(t, 1, 1));
    assert_true(feedback_result(t, 2, 2));
    assert_told(t, false, 0);
    assert_told(t, false, 1);
    assert_told(t, false, 2);
    assert_int_equal(answer_of(t, true), FEEDBACK_NONE);
    feedback_free(t);
}

TEST(no_more_are_put_off_than_may_be_and_none_twice)
{
    struct feedback *t = build(4, 4, 1);
    for (size_t k = 0; k < 4; k++) feedback_propose(t, 4 * k);
    assert_true(feedback_put_off(t, 0));
    assert_false(feedback_put_off(t, 0));
    assert_false(feedback_put_off(t, 16)); /* never proposed */
    assert_true(feedback_put_off(t, 4));
    assert_false(feedback_put_off(t, 8));
    assert_int_equal(answer_of(t, false), FEEDBACK_NONE); /* two more may be proposed */
    assert_true(feedback_result(t, 8, 8));
    assert_true(feedback_result(t, 12, 12));
    assert_told(t, true, 8);
    assert_told(t, true, 12);
    assert_int_equal(answer_of(t, true), FEEDBACK_WAIT); /* only late ones are left */
    feedback_free(t);
}

TEST(in_the_end_it_hears_of_all_results_in_the_order_proposed)
{
    struct feedback *t = build(8, 8, 8);
    size_t index;
    double time_us;
    for (size_t k = 0; k < 5; k++) feedback_propose(t, 4 * k);
    feedback_propose(t, 1);
    assert_true(feedback_put_off(t, 4));
    static const size_t results[] = {16, 4, 1, 0};
    for (int i = 0; i < 4; i++) assert_true(feedback_result(t, results[i], (double)results[i]));
    static const size_t told[] = {0, 4, 16, 1};
    for (int i = 0; i < 4; i++) {
        assert_true(feedback_rest(t, &index, &time_us));
        assert_int_equal(index, told[i]);
        assert_true(time_us == (double)told[i]);
    }
    assert_false(feedback_rest(t, &index, &time_us));
    assert_int_equal(feedback_waiting(t), 2);
    feedback_free(t);
}

/* A search of `limit` proposals whose candidates of one tile have no result before the end, if it may go on
 * without them. Returns how many it made. */
static size_t run_without(const char *strategy, int tile, bool put_off, size_t limit)
{
    const struct feedback_limits limits = feedback_limits_of(4);
    struct search *search;
    size_t made = 0, index, held = 0, awaited;
    assert_ok(search_start(strategy, config, COUNT, NULL, NULL, 7, &search));
    assert_ok(search_order_feedback(search, config, &limits));
    for (bool goes_on = true; goes_on && made < limit;) {
        const enum search_answer answer = search_next(search, &index);
        if (answer == SEARCH_TRY) {
            made++;
            if (config[index].value[TILE] == tile && held < limits.late) held++;
            else search_tell(search, index, time_of(index));
            assert_false(search_awaits(search, &awaited));
            continue;
        }
        assert_int_equal(answer, SEARCH_WAIT);
        assert_true(search_awaits(search, &awaited));
        assert_int_equal(config[awaited].value[TILE], tile);
        goes_on = put_off && search_put_off(search);
    }
    search_stop(search);
    return made;
}

TEST(a_search_goes_on_without_what_it_puts_off)
{
    static const char *const strategies[] = {"gp", "random", "exhaustive"};
    for (int s = 0; s < 3; s++) {
        assert_true(run_without(strategies[s], 0, false, 60) < 60);
        assert_int_equal(run_without(strategies[s], 0, true, 60), 60);
    }
}

/* As few trials as there are before the first is heard of: nothing is known of what is to be gained. */
TEST(what_is_told_after_the_last_proposal_counts_in_the_end)
{
    const struct feedback_limits limits = feedback_limits_of(4);
    struct search *search;
    size_t made[FIRST], count = 0;
    assert_ok(search_start("gp", config, COUNT, NULL, NULL, 7, &search));
    assert_ok(search_order_feedback(search, config, &limits));
    while (count < FIRST && search_next(search, &made[count]) == SEARCH_TRY) count++;
    for (size_t i = 0; i < count; i++) search_tell(search, made[i], time_of(made[i]));
    assert_true(count > 4 && isnan(search_gain(search)));
    search_finish(search);
    assert_true(search_gain(search) > 0);
    search_stop(search);
}

/* Proposals in their order; results come in a random one. Returns how many it made. */
static size_t run(const char *strategy, bool in_turns, uint64_t random, size_t *order)
{
    const struct feedback_limits limits = feedback_limits_of(4);
    struct search *search;
    size_t open[COUNT], count = 0, made = 0;
    assert_ok(search_start(strategy, config, COUNT, NULL, NULL, 7, &search));
    if (in_turns) assert_ok(search_order_feedback(search, config, &limits));
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
    static const char *const strategies[] = {"gp", "random", "exhaustive"};
    for (int s = 0; s < 3; s++) {
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
    const struct feedback_limits none = feedback_limits_of(0), one = feedback_limits_of(1),
                                 many = feedback_limits_of(64);
    assert_memory_equal(&none, &one, sizeof one);
    assert_int_equal(one.kernels, 5);
    assert_int_equal(many.kernels, 80);
    assert_true(one.kernels_first >= one.kernels && many.kernels_first >= many.kernels);
    assert_int_equal(feedback_most(&one), one.kernels_first + one.kernels + one.launches + one.late);
    assert_int_equal(one.late, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_heard_of_in_the_order_proposed_and_not_before_the_limit),
        cmocka_unit_test(launches_of_a_known_kernel_do_not_wait_for_kernels),
        cmocka_unit_test(launches_of_a_kernel_that_is_not_heard_of_come_after_it),
        cmocka_unit_test(who_can_propose_nothing_hears_one_more),
        cmocka_unit_test(who_waits_too_long_goes_on_and_hears_of_it_when_it_is_there),
        cmocka_unit_test(launches_of_a_kernel_that_is_put_off_come_after_it_and_hold_up_no_others),
        cmocka_unit_test(no_more_are_put_off_than_may_be_and_none_twice),
        cmocka_unit_test(in_the_end_it_hears_of_all_results_in_the_order_proposed),
        cmocka_unit_test(a_search_goes_on_without_what_it_puts_off),
        cmocka_unit_test(what_is_told_after_the_last_proposal_counts_in_the_end),
        cmocka_unit_test(a_seed_gives_one_order_of_proposals_in_whatever_order_results_come),
        cmocka_unit_test(few_compilers_have_some_work_ahead_and_many_a_share),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}

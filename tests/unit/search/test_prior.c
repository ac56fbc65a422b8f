/* What other problems teach, on made spaces: an invented machine, its model that lacks a part of it, and two
 * problems that share that part, or do not. */
#include "cube.h"
#include "prior.h"
#include "search.h"
#include "stats.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT 15625 /* 5 values of each */
#define SEEDS 15

static const struct template stranger = {.name = "stranger", .params = cube_params, .param_count = DIMS};

/* What the model knows: how well the tiles fit, which the problem decides. */
static double model_us(const struct config *c, int problem)
{
    const int32_t *v = c->value;
    return 100 * exp(0.12 * abs(v[0] - 1 - problem) + 0.1 * abs(v[1] - 2) + 0.05 * abs(v[5] - problem));
}

/* What it does not know, and what all problems share. sign -1: a problem for which the reverse holds. */
static double time_us(const struct config *c, int problem, double sign)
{
    const int32_t *v = c->value;
    const double hidden = 0.15 * abs(v[2] - 3) + 0.12 * abs(v[3] - v[4]) - 0.3;
    const double noise =
        0.01 * sin(12.9 * v[0] + 78.2 * v[1] + 37.7 * v[2] + 9.1 * v[3] + 5.3 * v[4] + problem);
    return 1.3 * model_us(c, problem) * exp(sign * hidden + noise);
}

static struct config number(size_t i)
{
    struct config c = {.template = &cube};
    for (int d = 0; d < DIMS; d++, i /= 5) c.value[d] = (int32_t)(i % 5);
    return c;
}

static int problem_now; /* of by_model */

static int by_model(const void *x, const void *y)
{
    const double a = model_us(x, problem_now), b = model_us(y, problem_now);
    return (a > b) - (a < b);
}

struct made {
    struct config candidates[COUNT];
    double predicted_us[COUNT];
    struct prior_trial trial[PRIOR_PROBLEMS_MAX][600];
    struct prior_problem problems[PRIOR_PROBLEMS_MAX];
};

static struct made *make(int problem)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < COUNT; i++) m->candidates[i] = number(i);
    problem_now = problem;
    qsort(m->candidates, COUNT, sizeof *m->candidates, by_model);
    for (size_t i = 0; i < COUNT; i++) m->predicted_us[i] = model_us(&m->candidates[i], problem);
    return m;
}

/* Trials of another problem. */
static void teach(struct made *m, int at, int problem, double sign, size_t count)
{
    uint64_t random = 7;
    for (size_t i = 0; i < count; i++) {
        const struct config c = number((size_t)stats_random_below(&random, COUNT));
        m->trial[at][i] = (struct prior_trial){c, time_us(&c, problem, sign), model_us(&c, problem)};
    }
    m->problems[at] = (struct prior_problem){m->trial[at], count};
}

/* Evaluations of gp to 95 % of the best, the median over seeds. */
static double evaluations(const struct made *m, int problem)
{
    double needed[SEEDS], best = INFINITY;
    for (size_t i = 0; i < COUNT; i++) best = fmin(best, time_us(&m->candidates[i], problem, 1));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct search *search;
        double found = INFINITY;
        size_t index, made = 0;
        assert_ok(search_start("gp", m->candidates, COUNT, m->predicted_us, NULL, seed, &search));
        while (found * 0.95 > best && search_next(search, &index) == SEARCH_TRY) {
            const double us = time_us(&m->candidates[index], problem, 1);
            found = fmin(found, us);
            search_tell(search, index, us);
            made++;
        }
        needed[seed] = (double)made;
        search_stop(search);
    }
    return stats_median(needed, SEEDS);
}

TEST(a_kindred_problem_shortens_the_search)
{
    struct made *m = make(1);
    struct prior_used used;
    const double without = evaluations(m, 1);
    teach(m, 0, 0, 1, 200);
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    assert_int_equal(used.problems, 1);
    assert_int_equal(used.trials, 200);
    const double with = evaluations(m, 1);
    print_message("to 95 %%: %.0f without, %.0f with the trials of a kindred problem\n", without, with);
    assert_true(with <= 0.6 * without);
    free(m);
}

TEST(a_problem_where_the_reverse_holds_does_little_harm)
{
    struct made *m = make(1);
    struct prior_used used;
    const double without = evaluations(m, 1);
    teach(m, 0, 0, -1, 200);
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    const double with = evaluations(m, 1);
    print_message("to 95 %%: %.0f without, %.0f with the trials of an opposite problem\n", without, with);
    assert_true(with <= 2 * without + 10);
    free(m);
}

TEST(candidates_come_back_in_the_order_of_the_corrected_times_and_complete)
{
    struct made *m = make(1);
    struct prior_used used;
    bool *seen = calloc(COUNT, sizeof *seen);
    assert_non_null(seen);
    teach(m, 0, 0, 1, 200);
    teach(m, 1, 2, 1, 200);
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 2, &used));
    assert_int_equal(used.problems, 2);
    assert_true(used.trials <= PRIOR_TRIALS_MAX);
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = 0;
        for (int d = DIMS; d-- > 0;) at = 5 * at + (size_t)m->candidates[i].value[d];
        assert_false(seen[at]);
        seen[at] = true;
        assert_true(i == 0 || m->predicted_us[i - 1] <= m->predicted_us[i]);
    }
    free(seen);
    free(m);
}

static void assert_unchanged(const struct made *m, int problem)
{
    struct made *other = make(problem);
    assert_memory_equal(m->candidates, other->candidates, sizeof m->candidates);
    assert_memory_equal(m->predicted_us, other->predicted_us, sizeof m->predicted_us);
    free(other);
}

TEST(too_little_or_another_template_or_failures_change_nothing)
{
    struct made *m = make(1);
    struct prior_used used = {9, 9};
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 0, &used));
    assert_int_equal(used.trials, 0);
    teach(m, 0, 0, 1, PRIOR_TRIALS_LEAST - 1);
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    assert_int_equal(used.trials, 0);
    teach(m, 0, 0, 1, 200);
    for (int i = 0; i < 200; i++) m->trial[0][i].config.template = &stranger;
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    assert_int_equal(used.trials, 0);
    teach(m, 0, 0, 1, 200);
    const double no_times[] = {INFINITY, NAN, 0, -1};
    for (int i = 0; i < 200; i++) m->trial[0][i].time_us = no_times[i % 4];
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    assert_int_equal(used.trials, 0);
    assert_unchanged(m, 1);
    free(m);
}

TEST(times_without_any_difference_are_no_harm)
{
    struct made *m = make(1);
    struct prior_used used;
    teach(m, 0, 0, 1, 200);
    for (int i = 0; i < 200; i++) m->trial[0][i].time_us = m->trial[0][i].predicted_us;
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    for (size_t i = 0; i < COUNT; i++) assert_true(isfinite(m->predicted_us[i]));
    free(m);
}

TEST(the_correction_costs_less_than_a_second)
{
    struct made *m = make(1);
    struct prior_used used;
    struct timespec before, after;
    teach(m, 0, 0, 1, 600);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    assert_ok(prior_correct(m->candidates, m->predicted_us, COUNT, m->problems, 1, &used));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double s = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    print_message("%zu trials, %d candidates: %.0f ms\n", used.trials, COUNT, 1e3 * s);
    assert_int_equal(used.trials, PRIOR_TRIALS_MAX);
    assert_true(s < SHARED_MACHINE);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kindred_problem_shortens_the_search),
        cmocka_unit_test(a_problem_where_the_reverse_holds_does_little_harm),
        cmocka_unit_test(candidates_come_back_in_the_order_of_the_corrected_times_and_complete),
        cmocka_unit_test(too_little_or_another_template_or_failures_change_nothing),
        cmocka_unit_test(times_without_any_difference_are_no_harm),
        cmocka_unit_test(the_correction_costs_less_than_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

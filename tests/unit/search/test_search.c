#include "neighbours.h"
#include "search.h"
#include "stats.h"
#include "template.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A small space with what makes real ones hard: coupled parameters and a launch-time one. */
static const struct param params[] = {
    {"TILE", PARAM_COMPILE, ROLE_TILE, 1, 64, ""}, /* WARP must be TILE or TILE / 2 */
    {"WARP", PARAM_COMPILE, ROLE_SIZE, 1, 64, ""},
    {"DEPTH", PARAM_COMPILE, ROLE_THREAD, 1, 32, ""},
    {"SPLIT", PARAM_LAUNCH, ROLE_NAMED, 1, 16, ""},
};
static const struct template small = {.name = "small", .params = params, .param_count = 4};
enum { TILE, WARP, DEPTH, SPLIT };

#define COUNT (5 * 2 * 3 * 5)

static void fill(struct config candidates[COUNT])
{
    size_t used = 0;
    for (int tile = 2; tile <= 32; tile *= 2)
        for (int warp = tile / 2; warp <= tile; warp += tile / 2)
            for (int depth = 4; depth <= 16; depth *= 2)
                for (int split = 1; split <= 16; split *= 2) {
                    candidates[used] = (struct config){.template = &small};
                    const int32_t value[] = {tile, warp, depth, split};
                    memcpy(candidates[used++].value, value, sizeof value);
                }
    assert_int_equal(used, COUNT);
}

/* One valley; the best is TILE 16, WARP 8, DEPTH 8, SPLIT 4. */
static double time_of(const struct config *c)
{
    double time = 100;
    time += 10 * fabs(log2(c->value[TILE]) - 4) + 5 * (c->value[WARP] * 2 != c->value[TILE]);
    return time + 7 * fabs(log2(c->value[DEPTH]) - 3) + 3 * fabs(log2(c->value[SPLIT]) - 2);
}

static struct search *start(const char *strategy, const struct config *candidates, size_t count,
                            uint64_t seed)
{
    struct search *search;
    assert_ok(search_start(strategy, candidates, count, NULL, NULL, seed, &search));
    return search;
}

TEST(every_strategy_gives_each_candidate_once_and_then_is_done)
{
    struct config candidates[COUNT];
    fill(candidates);
    for (size_t s = 0; s < search_strategy_count; s++)
        for (size_t ahead = 1; ahead <= 64; ahead *= 8) {
            struct search *search = start(search_strategies[s]->name, candidates, COUNT, ahead);
            bool given[COUNT] = {false};
            size_t queue[COUNT], asked = 0, told = 0;
            while (told < COUNT) {
                while (asked < COUNT && asked - told < ahead &&
                       search_next(search, &queue[asked]) == SEARCH_TRY) {
                    assert_in_range(queue[asked], 0, COUNT - 1);
                    assert_false(given[queue[asked]]);
                    given[queue[asked++]] = true;
                }
                assert_true(told < asked);
                search_tell(search, queue[told], time_of(&candidates[queue[told]]));
                told++;
            }
            size_t index;
            assert_int_equal(search_next(search, &index), SEARCH_DONE);
            search_stop(search);
        }
}

TEST(exhaustive_search_keeps_the_models_order)
{
    struct config candidates[COUNT];
    fill(candidates);
    struct search *search = start("exhaustive", candidates, COUNT, 1);
    for (size_t i = 0, index; i < COUNT; i++) {
        assert_int_equal(search_next(search, &index), SEARCH_TRY);
        assert_int_equal(index, i);
    }
    search_stop(search);
}

static void first_indices(const char *strategy, uint64_t seed, size_t *index, size_t count)
{
    struct config candidates[COUNT];
    fill(candidates);
    struct search *search = start(strategy, candidates, COUNT, seed);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(search_next(search, &index[i]), SEARCH_TRY);
        search_tell(search, index[i], time_of(&candidates[index[i]]));
    }
    search_stop(search);
}

TEST(the_same_seed_gives_the_same_search_and_another_seed_another)
{
    const char *const seeded[] = {"random", "gp"};
    for (size_t s = 0; s < 2; s++) {
        size_t x[COUNT], y[COUNT], z[COUNT];
        first_indices(seeded[s], 5, x, COUNT);
        first_indices(seeded[s], 5, y, COUNT);
        first_indices(seeded[s], 6, z, COUNT);
        assert_memory_equal(x, y, sizeof x);
        assert_memory_not_equal(x, z, sizeof x);
    }
}

TEST(random_search_is_uniform)
{
    int low = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        size_t index;
        first_indices("random", seed, &index, 1);
        low += index < COUNT / 2;
    }
    assert_in_range(low, 160, 240);
}

TEST(what_was_told_unasked_is_never_given_and_guides_the_search)
{
    struct config candidates[COUNT];
    fill(candidates);
    for (size_t s = 0; s < search_strategy_count; s++) {
        struct search *search = start(search_strategies[s]->name, candidates, COUNT, 3);
        for (size_t i = 0; i < COUNT; i += 2) search_tell(search, i, time_of(&candidates[i]));
        size_t left = 0;
        for (size_t index; search_next(search, &index) == SEARCH_TRY; left++) {
            assert_int_equal(index % 2, 1);
            search_tell(search, index, time_of(&candidates[index]));
        }
        assert_int_equal(left, COUNT / 2);
        search_stop(search);
    }
}

TEST(suggestions_go_first_in_their_order_and_nothing_is_given_twice)
{
    struct config candidates[COUNT];
    fill(candidates);
    for (size_t s = 0; s < search_strategy_count; s++) {
        struct search *search = start(search_strategies[s]->name, candidates, COUNT, 3);
        static const size_t suggested[] = {100, 7, 100, 42, COUNT + 3, 20};
        size_t fresh_count = 0, index;
        bool fresh;
        search_tell(search, 20, 50); /* known from an earlier run */
        for (size_t i = 0; i < sizeof suggested / sizeof *suggested; i++) {
            assert_ok(search_suggest(search, suggested[i], &fresh));
            fresh_count += fresh;
        }
        assert_int_equal(fresh_count, 3);
        static const size_t expected[] = {100, 7, 42};
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(search_next(search, &index), SEARCH_TRY);
            assert_int_equal(index, expected[i]);
            search_tell(search, index, time_of(&candidates[index]));
        }
        bool given[COUNT] = {[100] = true, [7] = true, [42] = true, [20] = true};
        size_t left = 0;
        for (; search_next(search, &index) == SEARCH_TRY; left++) {
            assert_false(given[index]);
            given[index] = true;
            search_tell(search, index, time_of(&candidates[index]));
        }
        assert_int_equal(left, COUNT - 4);
        search_stop(search);
    }
}

TEST(everything_told_leaves_nothing_to_do)
{
    struct config candidates[COUNT];
    fill(candidates);
    for (size_t s = 0; s < search_strategy_count; s++) {
        struct search *search = start(search_strategies[s]->name, candidates, COUNT, 3);
        for (size_t i = 0; i < COUNT; i++) search_tell(search, i, 5);
        size_t index;
        assert_int_equal(search_next(search, &index), SEARCH_DONE);
        search_tell(search, COUNT + 5, 1); /* not a candidate: ignored */
        search_stop(search);
    }
}

TEST(the_surrogate_leads_to_the_best_from_far_away)
{
    struct config candidates[COUNT];
    fill(candidates);
    double taken[50];
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint64_t random = seed + 100;
        for (size_t i = COUNT - 1; i > 0; i--) {
            size_t j = (size_t)stats_random_below(&random, i + 1);
            struct config c = candidates[i];
            candidates[i] = candidates[j], candidates[j] = c;
        }
        struct search *search = start("gp", candidates, COUNT, seed);
        double time = 0;
        for (taken[seed] = 0; time != 100; taken[seed]++) {
            size_t index;
            assert_int_equal(search_next(search, &index), SEARCH_TRY);
            search_tell(search, index, time = time_of(&candidates[index]));
        }
        search_stop(search);
    }
    assert_true(stats_median(taken, 50) <= 45); /* chance needs 75 */
}

/* Values of another section lie between. */
TEST(a_value_that_no_neighbour_has_does_not_part_two)
{
    struct config candidates[3] = {{.template = &small, .value = {4, 4, 1, 1}},
                                   {.template = &small, .value = {8, 1, 9, 1}},
                                   {.template = &small, .value = {16, 16, 1, 1}}};
    struct neighbours *n = neighbours_build(candidates, 3, NULL);
    size_t out[NEIGHBOURS_MAX];
    assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_PAIR, out), 1);
    assert_int_equal(out[0], 2);
    neighbours_free(n);
}

/* A list to which its neighbours come: those whose TILE, WARP and DEPTH are 4, 2 and 1 times a number. */
struct growing {
    struct config candidates[16];
    double predicted_us[16];
    size_t count;
};

static size_t reach_proportioned(void *self, const struct config *config, size_t from)
{
    struct growing *g = self;
    const int32_t *v = config->value;
    (void)from;
    if (v[TILE] != 4 * v[DEPTH] || v[WARP] != 2 * v[DEPTH]) return NEIGHBOURS_NONE;
    g->candidates[g->count] = *config;
    g->predicted_us[g->count] = v[TILE];
    return g->count++;
}

/* Of the same parameters; all of which occur are those of 24 scaled by 5/6 and by 4/3. */
static struct growing to_be_scaled(const struct template *t)
{
    return (struct growing){.candidates = {{.template = t, .value = {24, 12, 6, 1}},
                                           {.template = t, .value = {20, 10, 5, 1}},
                                           {.template = t, .value = {28, 16, 8, 1}},
                                           {.template = t, .value = {32, 15, 7, 1}}},
                            .count = 4};
}

TEST(a_tile_is_scaled_with_the_parameters_that_go_with_it)
{
    struct growing g = to_be_scaled(&small);
    const struct growth growth = {
        .room = 16, .reach = reach_proportioned, .self = &g, .predicted_us = g.predicted_us};
    size_t out[NEIGHBOURS_MAX];
    struct neighbours *n = neighbours_build(g.candidates, g.count, &growth);
    assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_SINGLE, out), 0);
    assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_PAIR, out), 0);
    assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_SCALED, out), 2); /* by 5/6 and by 4/3 */
    assert_int_equal(g.candidates[out[0]].value[TILE], 20);
    assert_int_equal(g.candidates[out[1]].value[WARP], 16);
    neighbours_free(n);
    n = neighbours_build(g.candidates, 4, NULL);
    assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_SCALED, out), 0);
    neighbours_free(n);
}

/* The same values: a code has no size. */
TEST(what_is_no_size_is_not_scaled)
{
    static const enum param_role others[] = {ROLE_NAMED,  ROLE_DETAIL, ROLE_VECTOR, ROLE_TEAMS,
                                             ROLE_STAGES, ROLE_SPLIT,  ROLE_REDUCE};
    struct param coded_params[sizeof params / sizeof *params];
    struct template coded = small;
    size_t out[NEIGHBOURS_MAX];
    memcpy(coded_params, params, sizeof params);
    coded.params = coded_params;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        coded_params[DEPTH].role = others[i];
        struct growing g = to_be_scaled(&coded);
        const struct growth growth = {
            .room = 16, .reach = reach_proportioned, .self = &g, .predicted_us = g.predicted_us};
        struct neighbours *n = neighbours_build(g.candidates, g.count, &growth);
        assert_int_equal(neighbours_of(n, 0, NEIGHBOUR_SCALED, out), 0);
        neighbours_free(n);
    }
}

TEST(an_empty_space_is_done_at_once)
{
    for (size_t s = 0; s < search_strategy_count; s++) {
        struct search *search = start(search_strategies[s]->name, NULL, 0, 1);
        size_t index;
        assert_int_equal(search_next(search, &index), SEARCH_DONE);
        search_stop(search);
    }
}

TEST(an_unknown_strategy_is_refused_with_the_known_ones)
{
    struct search *search;
    assert_fails(search_start("genetic", NULL, 0, NULL, NULL, 1, &search), E_INPUT, "gp random exhaustive");
}

TEST(neighbours_of_coupled_parameters_are_found)
{
    struct config candidates[COUNT];
    fill(candidates);
    struct neighbours *near = neighbours_build(candidates, COUNT, NULL);
    assert_non_null(near);
    struct config c = {.template = &small, .value = {8, 4, 8, 4}};
    size_t at = neighbours_find(near, &c), list[NEIGHBOURS_MAX];
    assert_in_range(at, 0, COUNT - 1);
    assert_true(config_equal(&candidates[at], &c));

    /* TILE 4 or 16 need another WARP with them, except TILE 4 and WARP 4. */
    size_t launch = neighbours_of(near, at, NEIGHBOUR_LAUNCH, list);
    assert_int_equal(launch, 4);
    for (size_t i = 0; i < launch; i++) assert_true(config_same_kernel(&candidates[list[i]], &c));
    size_t single = neighbours_of(near, at, NEIGHBOUR_SINGLE, list);
    assert_int_equal(single, 1 + 1 + 2); /* TILE 4; WARP 8; DEPTH 4, 16 */
    size_t pairs = neighbours_of(near, at, NEIGHBOUR_PAIR, list);
    bool larger = false;
    for (size_t i = 0; i < pairs; i++) {
        const int32_t *v = candidates[list[i]].value;
        larger = larger || (v[TILE] == 16 && v[WARP] == 8 && v[DEPTH] == 8 && v[SPLIT] == 4);
        assert_true(i == 0 || list[i - 1] < list[i]);
    }
    assert_true(larger);

    c.value[WARP] = 3;
    assert_int_equal(neighbours_find(near, &c), NEIGHBOURS_NONE);
    neighbours_free(near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_gives_each_candidate_once_and_then_is_done),
        cmocka_unit_test(exhaustive_search_keeps_the_models_order),
        cmocka_unit_test(the_same_seed_gives_the_same_search_and_another_seed_another),
        cmocka_unit_test(random_search_is_uniform),
        cmocka_unit_test(what_was_told_unasked_is_never_given_and_guides_the_search),
        cmocka_unit_test(suggestions_go_first_in_their_order_and_nothing_is_given_twice),
        cmocka_unit_test(everything_told_leaves_nothing_to_do),
        cmocka_unit_test(the_surrogate_leads_to_the_best_from_far_away),
        cmocka_unit_test(a_value_that_no_neighbour_has_does_not_part_two),
        cmocka_unit_test(an_empty_space_is_done_at_once),
        cmocka_unit_test(an_unknown_strategy_is_refused_with_the_known_ones),
        cmocka_unit_test(neighbours_of_coupled_parameters_are_found),
        cmocka_unit_test(a_tile_is_scaled_with_the_parameters_that_go_with_it),
        cmocka_unit_test(what_is_no_size_is_not_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

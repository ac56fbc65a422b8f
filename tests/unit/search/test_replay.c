/* test_replay.c — strategies on a real recorded space (tests/data/README.md): how many evaluations until one
 * is within 5 % of the best? The candidates are shuffled first, so that a strategy starts without a model's
 * advice. */
#include "search.h"
#include "stats.h"
#include "template.h"
#include "unit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 20

static struct param params[CONFIG_PARAMS_MAX];
static struct template recorded = {.name = "recorded", .params = params};

static struct config *configs;
static double *times_us;
static size_t count;
static double best_us = INFINITY;

static json_t *read_cache(const char *path)
{
    char command[1200];
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    json_error_t error;
    json_t *root = json_loadf(pipe, 0, &error);
    pclose(pipe);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

static int load(void **state)
{
    (void)state;
    json_t *root = read_cache(GT_SOURCE_DIR "/tests/data/clblast_rtx3090.json.gz");
    json_t *keys = json_object_get(root, "tune_params_keys"), *cache = json_object_get(root, "cache"), *entry;
    recorded.param_count = (int)json_array_size(keys);
    for (int p = 0; p < recorded.param_count; p++) {
        char *name = strdup(json_string_value(json_array_get(keys, (size_t)p)));
        params[p] = (struct param){.name = name, .kind = PARAM_COMPILE, .least = 0, .most = 1024};
    }
    configs = calloc(json_object_size(cache), sizeof *configs);
    times_us = calloc(json_object_size(cache), sizeof *times_us);
    const char *key;
    json_object_foreach(cache, key, entry)
    {
        configs[count].template = &recorded;
        for (int p = 0; p < recorded.param_count; p++)
            configs[count].value[p] = (int32_t)json_integer_value(json_object_get(entry, params[p].name));
        json_t *time = json_object_get(entry, "time");
        times_us[count] = json_is_number(time) ? 1000 * json_number_value(time) : INFINITY;
        best_us = fmin(best_us, times_us[count++]);
    }
    json_decref(root);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    for (int p = 0; p < recorded.param_count; p++) free((void *)(uintptr_t)params[p].name);
    free(configs);
    free(times_us);
    return 0;
}

static void shuffle(uint64_t seed)
{
    uint64_t random = seed;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)stats_random_below(&random, i + 1);
        struct config c = configs[i];
        double t = times_us[i];
        configs[i] = configs[j], times_us[i] = times_us[j];
        configs[j] = c, times_us[j] = t;
    }
}

/* Evaluations until a candidate is within `share` of the best; `ahead` proposals are outstanding at any time,
 * as when compilers work ahead of the GPU. */
static double evaluations(const char *strategy, uint64_t seed, double share, size_t ahead)
{
    shuffle(seed + 1000);
    struct search *search;
    assert_ok(search_start(strategy, configs, count, NULL, NULL, seed, &search));
    size_t *queue = calloc(count + 1, sizeof *queue), asked = 0, told = 0;
    for (;;) {
        enum search_answer answer = SEARCH_WAIT;
        while (asked - told < ahead && (answer = search_next(search, &queue[asked])) == SEARCH_TRY) asked++;
        if (told == asked) {
            assert_int_equal(answer, SEARCH_DONE);
            break;
        }
        double time_us = times_us[queue[told]];
        search_tell(search, queue[told++], time_us);
        if (time_us * share <= best_us) break;
    }
    free(queue);
    search_stop(search);
    return (double)told;
}

static double median_evaluations(const char *strategy, double share, size_t ahead)
{
    double taken[SEEDS];
    for (uint64_t seed = 0; seed < SEEDS; seed++) taken[seed] = evaluations(strategy, seed, share, ahead);
    double median = stats_median(taken, SEEDS);
    print_message("%s, %zu ahead, %.0f %% of the best: median %.0f of %zu, quartiles %.0f and %.0f\n",
                  strategy, ahead, 100 * share, median, count, stats_quantile(taken, SEEDS, 0.25),
                  stats_quantile(taken, SEEDS, 0.75));
    return median;
}

TEST(the_surrogate_needs_a_tenth_of_the_evaluations_of_random_search_at_most)
{
    const double gp = median_evaluations("gp", 0.95, 1);
    assert_true(gp <= 70 && gp * 10 <= median_evaluations("random", 0.95, 1));
    assert_true(median_evaluations("gp", 0.99, 1) <= 80);
}

TEST(sixteen_pending_cost_the_surrogate_less_than_a_second_search)
{
    assert_true(median_evaluations("gp", 0.95, 16) <= 100);
    assert_true(median_evaluations("gp", 0.99, 16) <= 120);
    assert_true(median_evaluations("gp", 0.95, 32) <= 140);
}

/* The best after so many trials whose times are off by up to two thousandths. */
static double best_of(uint64_t seed, size_t trials, uint64_t noise)
{
    struct search *search;
    double best = INFINITY;
    size_t index;
    assert_ok(search_start("gp", configs, count, NULL, NULL, seed, &search));
    for (size_t i = 0; i < trials && search_next(search, &index) == SEARCH_TRY; i++) {
        const double off = 0.004 * ((double)stats_random_below(&noise, 1001) / 1000 - 0.5);
        best = fmin(best, times_us[index]);
        search_tell(search, index, times_us[index] * (1 + off));
    }
    search_stop(search);
    return best;
}

TEST(a_longer_search_under_other_noise_is_no_worse)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        shuffle(seed + 1000);
        assert_true(best_of(seed, 400, 1) <= 1.005 * best_of(seed, 200, 2));
    }
}

TEST(every_strategy_ends_at_the_best_in_the_end)
{
    for (size_t i = 0; i < search_strategy_count; i++)
        assert_true(evaluations(search_strategies[i]->name, 1, 1.0, 8) <= (double)count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_surrogate_needs_a_tenth_of_the_evaluations_of_random_search_at_most),
        cmocka_unit_test(sixteen_pending_cost_the_surrogate_less_than_a_second_search),
        cmocka_unit_test(a_longer_search_under_other_noise_is_no_worse),
        cmocka_unit_test(every_strategy_ends_at_the_best_in_the_end),
    };
    return cmocka_run_group_tests(tests, load, unload);
}

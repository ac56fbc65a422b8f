/* test_shard.c — a list of problems in shares: disjoint, complete, balanced, and the same for everybody. */
#include "unit.h"

#include "shard.h"
#include "suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(a_shard_is_a_number_below_how_many_there_are)
{
    struct shard shard;
    assert_ok(shard_parse("shard", "0/1", &shard));
    assert_ok(shard_parse("shard", "7/8", &shard));
    assert_int_equal(shard.number, 7);
    assert_int_equal(shard.count, 8);
    assert_ok(shard_parse("shard", "65535/65536", &shard));
    static const char *const wrong[] = {
        "",    "3",    "/8",   "3/",    "3/0",   "-1/8",        "3/-8",  "a/8",
        "3/b", "3/8x", " 3/8", "3 / 8", "1e1/8", "65536/65537", "3/4/5", "99999999999999999999/8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (shard_parse("shard", wrong[i], &shard) != E_USAGE) fail_msg("'%s' was read", wrong[i]);
    assert_fails(shard_parse("shard", "8/8", &shard), E_USAGE,
                 "they are numbered 0 to 7 (of a job array: --array=0-7)");
}

TEST(the_longest_goes_first_to_whoever_has_least)
{
    /* Graham's example: the rule gives 11 where 9 is possible, the worst there is for three. */
    static const uint64_t ms[] = {3, 5, 4, 5, 3, 4, 3};
    static const char *const texts[] = {"a", "b", "c", "d", "e", "f", "g"};
    int shard_of[7];
    uint64_t sum[3] = {0};
    assert_ok(shard_divide(ms, texts, 7, 3, shard_of));
    for (int i = 0; i < 7; i++) sum[shard_of[i]] += ms[i];
    uint64_t most = 0;
    for (int i = 0; i < 3; i++)
        if (sum[i] > most) most = sum[i];
    assert_int_equal(sum[0] + sum[1] + sum[2], 27);
    assert_int_equal(most, 11);
    assert_int_equal(shard_of[1], 0); /* the first of the longest, by text */
    assert_int_equal(shard_of[3], 1);
}

static struct suite suite_of(const char *name)
{
    char path[512];
    struct suite suite;
    snprintf(path, sizeof path, "%s/configs/suites/%s", GT_SOURCE_DIR, name);
    assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite));
    return suite;
}

/* A copy of a list, from its end if back, of which a shard is taken; returns how many it has. */
static size_t take(const struct suite *suite, bool back, struct shard shard, struct problem **own, char *hash)
{
    size_t count = suite->count;
    *own = calloc(count, sizeof **own);
    for (size_t i = 0; i < count; i++) (*own)[i] = suite->at[back ? count - 1 - i : i];
    assert_ok(shard_take(&shard, *own, NULL, &count, hash));
    return count;
}

static size_t find(const struct suite *suite, const struct problem *problem)
{
    for (size_t i = 0; i < suite->count; i++)
        if (problem_equal(&suite->at[i], problem)) return i;
    fail_msg("a shard has a problem that the list does not have");
    return 0;
}

/* The list's problems must all differ. */
static void check_division(const char *name, int shards)
{
    struct suite suite = suite_of(name);
    bool *taken = calloc(suite.count, sizeof *taken);
    uint64_t sum = 0, most = 0, longest = 0;
    char first[SHARD_HASH_MAX] = "", hash[SHARD_HASH_MAX];
    for (int i = 0; i < shards; i++) {
        struct problem *own, *again;
        uint64_t load = 0;
        const size_t count = take(&suite, false, (struct shard){i, shards}, &own, hash);
        assert_int_equal(take(&suite, true, (struct shard){i, shards}, &again, first), count);
        assert_string_equal(hash, first);
        for (size_t j = 0; j < count; j++) {
            const size_t at = find(&suite, &own[j]);
            if (taken[at]) fail_msg("%s, %d shards: a problem is in two", name, shards);
            taken[at] = true;
            assert_true(problem_equal(&own[j], &again[count - 1 - j])); /* whatever the order of the list */
            const uint64_t ms = shard_expected_ms(&own[j]);
            load += ms;
            if (ms > longest) longest = ms;
        }
        sum += load;
        if (load > most) most = load;
        free(own);
        free(again);
    }
    for (size_t i = 0; i < suite.count; i++)
        if (!taken[i]) fail_msg("%s, %d shards: a problem is in none", name, shards);
    /* What shard.h promises: at most the mean and (1 - 1/N) of the longest problem. */
    assert_true((double)most <=
                (double)sum / shards + (double)longest * (1 - 1.0 / shards) + 1e-6 * (double)sum);
    free(taken);
    suite_free(&suite);
}

TEST(shards_are_disjoint_complete_balanced_and_independent_of_the_order)
{
    static const int shards[] = {1, 2, 3, 8, 64, 1000};
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        check_division("ladder.txt", shards[i]);
        check_division("public.txt", shards[i]);
    }
}

static double longest_over_mean(const struct suite *suite, int shards)
{
    uint64_t sum = 0, most = 0;
    for (int i = 0; i < shards; i++) {
        struct problem *own;
        char hash[SHARD_HASH_MAX];
        uint64_t load = 0;
        const size_t count = take(suite, false, (struct shard){i, shards}, &own, hash);
        for (size_t j = 0; j < count; j++) load += shard_expected_ms(&own[j]);
        if (load > most) most = load;
        sum += load;
        free(own);
    }
    return (double)most * shards / (double)sum;
}

TEST(the_public_suite_is_divided_nearly_evenly)
{
    struct suite suite = suite_of("public.txt");
    const double two = longest_over_mean(&suite, 2), four = longest_over_mean(&suite, 4);
    if (two > 1.02 || four > 1.08) fail_msg("%.3f and %.3f times the mean", two, four);
    suite_free(&suite);
}

/* Whoever changes this changes the division of suites that are under way: hash and shares. */
TEST(the_division_is_that_of_every_version)
{
    static const char *const lines[] = {"64x64x64", "4096x4096x4096", "bf16gemm:nt:8192x8192x8192",
                                        "8x16384x16384", "100x200x300:batch=7"};
    struct suite suite = {.at = calloc(5, sizeof(struct problem)), .count = 5};
    char hash[SHARD_HASH_MAX], shares[256] = "";
    for (int i = 0; i < 5; i++) assert_ok(problem_parse(lines[i], &suite.at[i]));
    for (int i = 0; i < 3; i++) {
        struct problem *own;
        const size_t count = take(&suite, false, (struct shard){i, 3}, &own, hash);
        for (size_t j = 0; j < count; j++)
            snprintf(shares + strlen(shares), sizeof shares - strlen(shares), "%zu", find(&suite, &own[j]));
        snprintf(shares + strlen(shares), sizeof shares - strlen(shares), " ");
        free(own);
    }
    assert_string_equal(shares, "1 2 034 ");
    assert_string_equal(hash, "752e6d5350003e9e");
    suite_free(&suite);
}

TEST(weights_move_problems_and_belong_to_the_hash)
{
    struct suite suite = suite_of("ladder.txt");
    struct problem *copy = calloc(suite.count, sizeof *copy);
    double *weights = calloc(suite.count, sizeof *weights);
    char hash[2][SHARD_HASH_MAX];
    size_t counts[2];
    for (int heavy = 0; heavy < 2; heavy++) {
        memcpy(copy, suite.at, suite.count * sizeof *copy);
        for (size_t i = 0; i < suite.count; i++) weights[i] = heavy && i == 0 ? 1000 : 1;
        counts[heavy] = suite.count;
        assert_ok(shard_take(&(struct shard){0, 2}, copy, weights, &counts[heavy], hash[heavy]));
        if (heavy) assert_true(weights[0] > 1); /* they are kept with their problems */
    }
    assert_string_not_equal(hash[0], hash[1]);
    assert_int_equal(counts[1], 1); /* it is worth all others together */
    assert_true(counts[0] > 1);
    free(copy);
    free(weights);
    suite_free(&suite);
}

TEST(a_longer_problem_is_expected_to_take_longer_and_none_overflows)
{
    struct problem small, large, huge;
    assert_ok(problem_parse("64x64x64", &small));
    assert_ok(problem_parse("16384x16384x16384", &large));
    assert_ok(problem_parse("1000000x1000000x1000000", &huge));
    assert_true(shard_expected_ms(&small) >= 10000);
    assert_true(shard_expected_ms(&large) > shard_expected_ms(&small));
    assert_true(shard_expected_ms(&huge) > shard_expected_ms(&large));
    assert_true(shard_expected_ms(&huge) < UINT64_C(10000000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_is_a_number_below_how_many_there_are),
        cmocka_unit_test(the_longest_goes_first_to_whoever_has_least),
        cmocka_unit_test(shards_are_disjoint_complete_balanced_and_independent_of_the_order),
        cmocka_unit_test(the_public_suite_is_divided_nearly_evenly),
        cmocka_unit_test(the_division_is_that_of_every_version),
        cmocka_unit_test(weights_move_problems_and_belong_to_the_hash),
        cmocka_unit_test(a_longer_problem_is_expected_to_take_longer_and_none_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

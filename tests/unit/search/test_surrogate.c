#include "stats.h"
#include "surrogate.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS   40
#define SLOTS  100
#define NUGGET 1e-4 /* as surrogate.c has it, and the next two */
#define WEIGHT 0.06
#define TRUST  2.0

static struct surrogate_point point(uint64_t *random, int dims, int levels, int groups)
{
    struct surrogate_point p = {.group = (uint8_t)stats_random_below(random, (uint64_t)groups)};
    for (int d = 0; d < dims; d++) p.level[d] = (uint8_t)stats_random_below(random, (uint64_t)levels);
    return p;
}

/* Smooth in the first two dimensions, nothing in the others. */
static double valley(const struct surrogate_point *p)
{
    return 0.05 * abs(p->level[0] - 3) + 0.04 * abs(p->level[1] - 2) + 0.1 * p->group;
}

static double covariance(const struct surrogate_point *x, const struct surrogate_point *y)
{
    double sum = 0;
    for (int d = 0; d < SURROGATE_DIMS; d++) sum += WEIGHT * abs(x->level[d] - y->level[d]);
    return x->group == y->group ? 1 / (1 + sum) : 0;
}

/* x = A^-1 b by elimination. */
static void solve(size_t n, double a[ROWS][ROWS], const double *b, double *x)
{
    static double m[ROWS][ROWS + 1];
    for (size_t i = 0; i < n; i++) {
        memcpy(m[i], a[i], n * sizeof(double));
        m[i][n] = b[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double factor = m[j][i] / m[i][i];
            for (size_t k = i; k <= n && j != i; k++) m[j][k] -= factor * m[i][k];
        }
    for (size_t i = 0; i < n; i++) x[i] = m[i][n] / m[i][i];
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static struct surrogate *filled(const struct surrogate_point row[ROWS],
                                const struct surrogate_point slot[SLOTS], size_t before)
{
    struct surrogate *s = surrogate_build(2, ROWS + 1, SLOTS, 0.5, 0.2);
    size_t number[SLOTS];
    assert_non_null(s);
    for (size_t i = 0; i < SLOTS; i++) number[i] = i;
    for (size_t i = 0; i < ROWS; i++) {
        if (i == before) surrogate_place(s, number, slot, SLOTS);
        assert_true(surrogate_add(s, &row[i]));
    }
    if (before >= ROWS) surrogate_place(s, number, slot, SLOTS);
    assert_int_equal(surrogate_rows(s), ROWS);
    return s;
}

static void make(struct surrogate_point row[ROWS], struct surrogate_point slot[SLOTS], double value[ROWS])
{
    uint64_t random = 7;
    for (int i = 0; i < ROWS; i++) {
        row[i] = point(&random, 5, 8, 2);
        value[i] = valley(&row[i]);
    }
    for (int i = 0; i < SLOTS; i++) slot[i] = point(&random, 5, 8, 2);
}

TEST(what_is_expected_is_what_the_textbook_says)
{
    struct surrogate_point row[ROWS], slot[SLOTS];
    double value[ROWS], ones[ROWS], k[ROWS][ROWS], k_ones[ROWS], k_rest[ROWS], rest[ROWS];
    float mean[SLOTS], deviation[SLOTS];
    make(row, slot, value);
    struct surrogate *s = filled(row, slot, 0);
    assert_true(surrogate_expect(s, value, mean, deviation));
    for (size_t i = 0; i < ROWS; i++) {
        ones[i] = 1;
        for (size_t j = 0; j < ROWS; j++) k[i][j] = covariance(&row[i], &row[j]) + (i == j ? NUGGET : 0);
    }
    solve(ROWS, k, ones, k_ones);
    const double trend = dot(ROWS, k_ones, value) / dot(ROWS, k_ones, ones);
    for (size_t i = 0; i < ROWS; i++) rest[i] = value[i] - trend;
    solve(ROWS, k, rest, k_rest);
    const double variance = (dot(ROWS, rest, k_rest) + TRUST * 0.2 * 0.2) / (ROWS + TRUST);
    for (size_t j = 0; j < SLOTS; j++) {
        double with[ROWS], solved[ROWS];
        for (size_t i = 0; i < ROWS; i++) with[i] = covariance(&row[i], &slot[j]);
        solve(ROWS, k, with, solved);
        assert_true(fabs((double)mean[j] - trend - dot(ROWS, with, k_rest)) < 1e-3);
        const double left = fmax(1 - dot(ROWS, with, solved), 0);
        assert_true(fabs((double)deviation[j] - sqrt(variance * left)) < 1e-2);
    }
    surrogate_free(s);
}

TEST(slots_that_came_before_the_rows_are_expected_to_give_the_same)
{
    struct surrogate_point row[ROWS], slot[SLOTS];
    double value[ROWS];
    float mean[3][SLOTS], deviation[3][SLOTS];
    static const size_t before[] = {0, ROWS / 2, ROWS};
    make(row, slot, value);
    for (int i = 0; i < 3; i++) {
        struct surrogate *s = filled(row, slot, before[i]);
        assert_true(surrogate_expect(s, value, mean[i], deviation[i]));
        surrogate_free(s);
        for (int j = 0; j < SLOTS; j++) {
            assert_true(fabsf(mean[i][j] - mean[0][j]) < 1e-4f);
            assert_true(fabsf(deviation[i][j] - deviation[0][j]) < 1e-3f);
        }
    }
}

TEST(a_known_point_is_expected_to_give_its_value_and_a_strange_one_the_mean)
{
    struct surrogate_point row[ROWS], slot[SLOTS];
    double value[ROWS];
    float mean[SLOTS], deviation[SLOTS];
    make(row, slot, value);
    memcpy(slot, row, sizeof row);
    memset(slot[SLOTS - 1].level, 255, sizeof slot->level);
    struct surrogate *s = filled(row, slot, 0);
    assert_true(surrogate_expect(s, value, mean, deviation));
    for (int i = 0; i < ROWS; i++) {
        assert_true(fabs((double)mean[i] - value[i]) < 0.01);
        assert_true(deviation[i] < 0.1f * deviation[SLOTS - 1]);
    }
    surrogate_free(s);
}

TEST(an_awaited_row_makes_sure_without_moving_what_is_expected)
{
    struct surrogate_point row[ROWS], slot[SLOTS];
    double value[ROWS + 1];
    float mean[2][SLOTS], deviation[2][SLOTS];
    make(row, slot, value);
    struct surrogate *s = filled(row, slot, 0);
    assert_true(surrogate_expect(s, value, mean[0], deviation[0]));
    assert_true(surrogate_add(s, &slot[5]));
    value[ROWS] = (double)NAN;
    assert_true(surrogate_expect(s, value, mean[1], deviation[1]));
    for (int i = 0; i < SLOTS; i++) assert_true(fabsf(mean[0][i] - mean[1][i]) < 1e-3f);
    assert_true(deviation[1][5] < 0.1f * deviation[0][5]);
    surrogate_free(s);
}

TEST(without_a_known_value_nothing_is_expected)
{
    struct surrogate_point row[ROWS], slot[SLOTS];
    double value[ROWS];
    float mean[SLOTS], deviation[SLOTS];
    make(row, slot, value);
    struct surrogate *s = filled(row, slot, 0);
    for (int i = 0; i < ROWS; i++) value[i] = (double)NAN;
    assert_false(surrogate_expect(s, value, mean, deviation));
    assert_true(surrogate_fit(s, value));
    surrogate_free(s);
}

TEST(fitting_finds_which_dimensions_matter)
{
    struct surrogate_point row[ROWS], slot[SLOTS] = {{.group = 0}};
    double value[ROWS];
    float mean[SLOTS], deviation[SLOTS];
    make(row, slot, value);
    memcpy(&slot[0], &row[0], sizeof *slot);
    memcpy(&slot[1], &row[0], sizeof *slot);
    slot[0].level[0] = (uint8_t)(slot[0].level[0] + 8); /* what matters, and what does not */
    slot[1].level[4] = (uint8_t)(slot[1].level[4] + 8);
    struct surrogate *s = filled(row, slot, 0);
    assert_true(surrogate_expect(s, value, mean, deviation));
    assert_true(fabsf(deviation[0] - deviation[1]) < 0.2f * deviation[0]);
    assert_true(surrogate_fit(s, value));
    assert_int_equal(surrogate_rows(s), ROWS);
    assert_true(surrogate_expect(s, value, mean, deviation));
    assert_true(deviation[1] < 0.7f * deviation[0]);
    surrogate_free(s);
}

TEST(advice_is_followed_as_far_as_it_is_right)
{
    for (int right = 0; right < 2; right++) {
        struct surrogate_point row[ROWS], slot[SLOTS];
        double value[ROWS];
        float mean[SLOTS], deviation[SLOTS];
        uint64_t random = 3;
        make(row, slot, value);
        for (int i = 0; i < ROWS; i++) {
            row[i].advice = (float)stats_random_below(&random, 100) / 100;
            value[i] = right ? (double)row[i].advice : (double)stats_random_below(&random, 100) / 100;
        }
        memset(slot[0].level, 255, sizeof slot->level);
        slot[1] = slot[0];
        slot[1].advice = 1;
        struct surrogate *s = filled(row, slot, 0);
        assert_true(surrogate_expect(s, value, mean, deviation));
        if (right) assert_true(mean[1] - mean[0] > 0.9f);
        else assert_true(fabsf(mean[1] - mean[0]) < 0.3f);
        surrogate_free(s);
    }
}

TEST(a_point_that_comes_again_and_again_is_no_harm)
{
    struct surrogate *s = surrogate_build(1, ROWS, SLOTS, 0, 0.2);
    const struct surrogate_point same = {.level = {1, 2, 3}};
    double value[ROWS];
    float mean[SLOTS], deviation[SLOTS];
    const size_t slot = 0;
    for (int i = 0; i < ROWS; i++) {
        value[i] = i % 2;
        assert_true(surrogate_add(s, &same));
    }
    surrogate_place(s, &slot, &same, 1);
    assert_true(surrogate_fit(s, value));
    assert_true(surrogate_expect(s, value, mean, deviation));
    assert_true(fabsf(mean[0] - 0.5f) < 0.1f);
    surrogate_clear(s);
    assert_int_equal(surrogate_rows(s), 0);
    surrogate_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_expected_is_what_the_textbook_says),
        cmocka_unit_test(slots_that_came_before_the_rows_are_expected_to_give_the_same),
        cmocka_unit_test(a_known_point_is_expected_to_give_its_value_and_a_strange_one_the_mean),
        cmocka_unit_test(an_awaited_row_makes_sure_without_moving_what_is_expected),
        cmocka_unit_test(without_a_known_value_nothing_is_expected),
        cmocka_unit_test(fitting_finds_which_dimensions_matter),
        cmocka_unit_test(advice_is_followed_as_far_as_it_is_right),
        cmocka_unit_test(a_point_that_comes_again_and_again_is_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

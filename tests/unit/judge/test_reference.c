/* The references that kernels are judged by: against each other and against answers worked out by hand. */
#include "reference.h"
#include "unit.h"

#include <math.h>
#include <string.h>

TEST(a_product_by_hand_is_right_in_every_op)
{
    /* op(A) = 1 2 3   op(B) = 1 0    C = -2 1
     *         4 5 6           0 1        -2 1
     *                        -1 0                 */
    static const float a[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 4, 2, 5, 3, 6}};
    static const float b[2][6] = {{1, 0, 0, 1, -1, 0}, {1, 0, -1, 0, 1, 0}};
    static const float product[4] = {-2, 2, -2, 5};
    for (int op = 0; op < 4; op++) {
        struct problem p = {.trans_a = op / 2, .trans_b = op % 2, .m = 2, .n = 2, .k = 3, .batch = 1};
        p.lda = p.trans_a ? 2 : 3;
        p.ldb = p.trans_b ? 3 : 2;
        p.ldc = 3;
        p.alpha = 2;
        p.beta = -1;
        float x[6] = {1, 2, 77, 3, 4, 77}, y[6];
        double answer[4], magnitude[4];
        memcpy(y, x, sizeof y);
        reference_double(&p, a[op / 2], b[op % 2], x, answer, magnitude);
        reference_ijk(&p, a[op / 2], b[op % 2], x);
        reference_ikj(&p, a[op / 2], b[op % 2], y);
        static const float old[4] = {1, 2, 3, 4};
        for (int i = 0; i < 4; i++) {
            float want = 2 * product[i] - old[i];
            assert_true(x[i / 2 * 3 + i % 2] == want);
            assert_true(y[i / 2 * 3 + i % 2] == want);
            assert_true(answer[i] == (double)want);
        }
        assert_true(x[2] == 77 && x[5] == 77 && y[2] == 77 && y[5] == 77);
        assert_true(magnitude[0] == 2 * (1 + 3) + 1); /* 2 (1*1 + 2*0 + 3*1) + 1 */
    }
}

/* One element, with c before and want after, by each of the references. */
static void assert_element(const struct problem *p, float a, float b, float c, float want)
{
    float x = c, y = c;
    double answer, magnitude;
    reference_double(p, &a, &b, &x, &answer, &magnitude);
    reference_ijk(p, &a, &b, &x);
    reference_ikj(p, &a, &b, &y);
    assert_true(x == want && y == want && answer == (double)want && magnitude == (double)want);
}

TEST(beta_zero_does_not_read_c)
{
    const struct problem p = problem_make(1, 1, 1);
    assert_element(&p, 3, 4, NAN, 12);
}

TEST(alpha_zero_and_k_zero_do_not_read_a_and_b)
{
    for (int k = 0; k < 2; k++) {
        struct problem p = problem_make(1, 1, k);
        p.alpha = k ? 0 : 5;
        p.beta = 2;
        assert_element(&p, NAN, NAN, 4, 8);
    }
}

TEST(nan_and_infinity_pass_through)
{
    struct problem p = problem_make(1, 2, 2);
    const float a[2] = {INFINITY, 1}, b[4] = {1, NAN, 1, 1};
    float x[2], y[2];
    reference_ijk(&p, a, b, x);
    reference_ikj(&p, a, b, y);
    assert_true(isinf(x[0]) && isinf(y[0]) && isnan(x[1]) && isnan(y[1]));
}

/* Small integers, so that every order gives the same sums. */
static void fill(float *x, size_t count, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(*seed >> 24) % 9 - 4);
    }
}

TEST(all_three_agree_on_integers_for_many_shapes)
{
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct problem p = {.trans_a = round % 2, .trans_b = round / 2 % 2};
        p.m = round % 7;
        p.n = round % 11;
        p.k = round % 13;
        p.batch = 1 + round % 3;
        p.lda = problem_cols_a(&p) + 1 + round % 4;
        p.ldb = problem_cols_b(&p) + 1 + round % 5;
        p.ldc = p.n + 1 + round % 3;
        p.stride_a = problem_rows_a(&p) * p.lda + 2;
        p.stride_b = problem_rows_b(&p) * p.ldb;
        p.stride_c = p.m * p.ldc + 5;
        p.alpha = round % 5 - 2;
        p.beta = round % 3 - 1;
        assert_int_equal(problem_check(&p), OK);
        enum { ROOM = 3 * 13 * 20 };
        float a[ROOM], b[ROOM], x[ROOM], y[ROOM];
        static double answer[ROOM], magnitude[ROOM];
        fill(a, ROOM, &seed);
        fill(b, ROOM, &seed);
        fill(x, ROOM, &seed);
        memcpy(y, x, sizeof y);
        reference_double(&p, a, b, x, answer, magnitude);
        reference_ijk(&p, a, b, x);
        reference_ikj(&p, a, b, y);
        for (int i = 0; i < ROOM; i++) assert_true(x[i] == y[i]);
        for (int64_t z = 0, at = 0; z < p.batch; z++)
            for (int64_t i = 0; i < p.m; i++)
                for (int64_t j = 0; j < p.n; j++, at++) {
                    assert_true(answer[at] == (double)x[z * p.stride_c + i * p.ldc + j]);
                    assert_true(fabs(answer[at]) <= magnitude[at]);
                }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_by_hand_is_right_in_every_op),
        cmocka_unit_test(beta_zero_does_not_read_c),
        cmocka_unit_test(alpha_zero_and_k_zero_do_not_read_a_and_b),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(all_three_agree_on_integers_for_many_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

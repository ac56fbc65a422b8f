#include "expression.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"BM", "BN", "THREADS", NULL, "M", "N"};
static const struct expression_names known = {.name = names, .count = 6};

static int64_t value(const char *text, int bm, int bn, int64_t m, int64_t n)
{
    struct expression e;
    struct expression_error error;
    size_t length;
    int64_t result;
    const int64_t values[] = {bm, bn, 256, 0, m, n};
    if (!expression_compile(text, &known, &e, &length, &error))
        fail_msg("%s: %s at %zu", text, error.what, error.at);
    assert_int_equal(length, strlen(text));
    const char *why = expression_evaluate(&e, values, &result);
    if (why) fail_msg("%s: %s", text, why);
    return result;
}

TEST(operators_bind_as_in_c)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"100 / 10 / 5", 2},
        {"17 % 5", 2},
        {"-7 / 2", -3},
        {"-7 % 2", -1},
        {"- - 3", 3},
        {"!0 + !5", 1},
        {"1 < 2 == 1", 1},
        {"3 == 3 && 4 != 4", 0},
        {"0 && 1 || 1", 1},
        {"1 || 0 && 0", 1},
        {"5 && 7", 1},
        {"0 || 9", 1},
        {"1 ? 2 : 3 ? 4 : 5", 2},
        {"0 ? 2 : 0 ? 4 : 5", 5},
        {"(1 ? 0 : 1) ? 2 : 3", 3},
        {"1 + (0 ? 1 : 2) * 3", 7},
        {"2 * (1 && 1) + (0 || 1)", 3},
        {"ceil(7, 2) + ceil(8, 2)", 8},
        {"ceil(-7, 2)", -3},
        {"ceil(7, -2)", -3},
        {"min(3, 1, 2) * 10 + max(3, 1, 2)", 13},
        {"max(min(1, 2), -5)", 1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (value(cases[i].text, 0, 0, 0, 0) != cases[i].value)
            fail_msg("%s is not %lld", cases[i].text, (long long)cases[i].value);
}

TEST(names_have_their_values)
{
    assert_int_equal(value("ceil(M, BM) * ceil(N, BN)", 128, 64, 1000, 1000), 8 * 16);
    assert_int_equal(value("(BM * 16) % (4 * THREADS) == 0 && M % BM == 0", 128, 64, 1024, 7), 1);
    assert_int_equal(value("BM > BN ? M : N", 1, 2, 5000000000, 6000000000), 6000000000);
    assert_int_equal(value("M * N", 0, 0, INT64_C(1) << 31, INT64_C(1) << 31), INT64_C(1) << 62);
}

TEST(overflow_and_division_by_zero_have_no_value)
{
    static const char *const cases[] = {"9223372036854775807 + 1",
                                        "-9223372036854775807 - 2",
                                        "9223372036854775807 * 2",
                                        "(-9223372036854775807 - 1) / -1",
                                        "(-9223372036854775807 - 1) % -1",
                                        "-(-9223372036854775807 - 1)",
                                        "1 / BM",
                                        "1 % BM",
                                        "ceil(1, BM)",
                                        "1 && 1 / BM"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression e;
        struct expression_error error;
        size_t length;
        int64_t result;
        const int64_t values[6] = {0};
        assert_true(expression_compile(cases[i], &known, &e, &length, &error));
        if (!expression_evaluate(&e, values, &result)) fail_msg("%s has a value", cases[i]);
    }
    assert_int_equal(value("BM != 0 && 1 / BM", 0, 0, 0, 0), 0); /* what is not needed is not evaluated */
    assert_int_equal(value("BM == 0 ? 7 : 1 / BM", 0, 0, 0, 0), 7);
}

TEST(what_is_wrong_is_named_with_its_place)
{
    static const struct {
        const char *text, *what;
        size_t at;
    } cases[] = {
        {"", "expected a number, a name or '('", 0},
        {"BM +", "expected a number", 4},
        {"BM * * BN", "expected a number", 5},
        {"(BM", "expected ')'", 3},
        {"BM ? 1", "expected ':'", 6},
        {"1 + BX", "unknown name 'BX'", 4},
        {"min(1)", "two arguments", 0},
        {"ceil(1, 2, 3)", "expected ')'", 9},
        {"9223372036854775808", "larger than 2^63", 0},
        {"1.5", "whole number", 0},
        {"12BM", "whole number", 0},
        {"min 3", "expected '('", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression e;
        struct expression_error error;
        size_t length;
        assert_false(expression_compile(cases[i].text, &known, &e, &length, &error));
        if (!strstr(error.what, cases[i].what))
            fail_msg("'%s': '%s' lacks '%s'", cases[i].text, error.what, cases[i].what);
        assert_int_equal(error.at, cases[i].at);
    }
}

TEST(deep_and_long_ones_are_refused)
{
    char text[4000] = "";
    struct expression e;
    struct expression_error error;
    size_t length;
    for (int i = 0; i < 500; i++) strcat(text, "(");
    assert_false(expression_compile(text, &known, &e, &length, &error));
    assert_non_null(strstr(error.what, "deeply"));
    text[0] = '\0';
    for (int i = 0; i < 500; i++) strcat(text, "1 + ");
    strcat(text, "1");
    assert_false(expression_compile(text, &known, &e, &length, &error));
    assert_non_null(strstr(error.what, "too long"));
    text[0] = '\0';
    for (int i = 0; i < 40; i++) strcat(text, "1 + (BM * (");
    assert_false(expression_compile(text, &known, &e, &length, &error));
}

TEST(an_expression_ends_where_it_ends)
{
    struct expression e;
    struct expression_error error;
    size_t length;
    assert_true(expression_compile("BM / 2  ; block 3", &known, &e, &length, &error));
    assert_int_equal(length, 6);
    assert_int_equal(e.uses, 1);
    assert_int_equal(expression_needs(&e, 4), 1);
    assert_true(expression_compile("M * N", &known, &e, &length, &error));
    assert_int_equal(expression_needs(&e, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_c),
        cmocka_unit_test(names_have_their_values),
        cmocka_unit_test(overflow_and_division_by_zero_have_no_value),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(deep_and_long_ones_are_refused),
        cmocka_unit_test(an_expression_ends_where_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

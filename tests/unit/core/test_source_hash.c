/* What changes the hash of a text, and what does not. */
#include "source_hash.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_COUNT 4

/* The text includes a.h and b.h, if it does. */
static uint64_t asked;
static uint64_t hash_of(const char *text, const char *a, const char *b)
{
    const struct source_text sources[] = {{"x.cu", text}, {"a.h", a}, {"b.h", b}};
    static const char *const definitions[KEY_COUNT] = {"ZERO=0", "FIVE=5", "EMPTY=", "__CUDA_ARCH__=900"};
    return source_hash(sources, 3, definitions, KEY_COUNT, &asked);
}

static uint64_t hash_text(const char *text)
{
    return hash_of(text, "", "");
}

static void assert_same(const char *x, const char *y)
{
    if (hash_text(x) != hash_text(y)) fail_msg("not the same:\n%s\n--- and\n%s", x, y);
}

static void assert_different(const char *x, const char *y)
{
    if (hash_text(x) == hash_text(y)) fail_msg("the same:\n%s\n--- and\n%s", x, y);
}

#define CODE "#define A 2 / 3\nchar c = '\"', *s = \"a  /* b */ // c\\\"\"; /* d */\nint e;\n"

TEST(comments_blanks_and_lines_change_nothing)
{
    static const char *const same[] = {
        "/* what\n * this is, \"so\n */\n\n" CODE,
        "// isn't counted\n" CODE "// nor /* this",
        "// nor what a spliced comment goes on with \\\n int f;\n" CODE,
        "  " CODE "\n\t\n  ",
        "#define\tA   2 /* of */ / 3  \r\n\n    char c = '\"', *s = \"a  /* b */ // c\\\"\";\nint/**/e;",
        "#define A \\\n 2 / 3\nchar c='\"',*s=\"a  /* b */ // c\\\"\";int\ne;",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) assert_same(same[i], CODE);
    assert_same("", " /* nothing */\n");
    assert_same("#error don't\nint a;", "#error don't\n\nint a; /* why */");
}

TEST(every_piece_of_code_changes_the_hash)
{
    static const char *const different[] = {
        "",
        CODE "int f;",
        CODE "int e;",
        "#define A 2 / 4\nchar c = '\"', *s = \"a  /* b */ // c\\\"\";\nint e;",
        "#define A 2 // 3\nchar c = '\"', *s = \"a  /* b */ // c\\\"\";\nint e;", /* a comment now */
        "#define A 2 / 3\nchar c = '\"', *s = \"a /* b */ // c\\\"\";\nint e;",   /* a blank in a string */
        "#define A 2 / 3\nchar c = '\"', *s = \"a  /* B */ // c\\\"\";\nint e;",  /* no comment in a string */
        "#define A 2 / 3\nchar c = '\\'', *s = \"a  /* b */ // c\\\"\";\nint e;", /* a character */
        "#define A 2 / 3 char c = '\"', *s = \"a  /* b */ // c\\\"\";\nint e;",   /* all of it in A */
        "#define A 2 /\n3\nchar c = '\"', *s = \"a  /* b */ // c\\\"\";\nint e;", /* A is less */
        "#define A 2 / 3\nchar c = '\"', *s = \"a  /* b */ // c\\\"\";\ninte;",   /* one word */
    };
    for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
        assert_different(different[i], CODE);
        for (size_t j = 0; j < i; j++) assert_different(different[i], different[j]);
    }
    assert_different("int f() { return x++ + y; }", "int f() { return x + ++y; }");
    assert_different("int f() { return 0x1e+5; }", "int f() { return 0x1e + 5; }");
    assert_different("#define F(x) x\n", "#define F (x) x\n");
    assert_different("#pragma unroll\n", "#pragma unroll 1\n");
}

TEST(a_function_may_move_to_another_place_or_header)
{
    const char *text = "#include \"a.h\"\n#include \"b.h\"\nint main() { return f() + g(); }\n";
    const char *f = "#ifndef A\n#define A\nstatic int f() { return 1; }\n#endif\n",
               *g = "#ifndef B\n#define B\nstatic int g() { return 2; }\n#endif\n";
    const char *g_f =
        "#ifndef B\n#define B\nstatic int g() { return 2; }\nstatic int f() { return 1; }\n#endif\n";
    const uint64_t before = hash_of(text, f, g);
    assert_true(hash_of(text, "", g_f) == before);
    assert_true(hash_of(text, g, f) == before);
    assert_true(
        hash_of("#include \"b.h\"\n#include \"a.h\"\n#include \"b.h\"\nint main() { return f() + g(); }\n", f,
                g) == before);
    assert_true(hash_of("static int g() { return 2; }\nstatic int f() { return 1; }\n"
                        "int main() { return f() + g(); }\n",
                        "", "") == before);
    /* Not so its body. */
    assert_different("int f() { return 1; }\nint g() { return 2; }\n",
                     "int f() { return 2; }\nint g() { return 1; }\n");
    assert_different("int a[] = {1}, b[] = {2};", "int a[] = {2}, b[] = {1};");
    assert_different("int a =\n#if FIVE\n1;\n#endif\nint b =\n#if FIVE\n2;\n#endif\n",
                     "int a =\n#if FIVE\n2;\n#endif\nint b =\n#if FIVE\n1;\n#endif\n");
}

TEST(a_macro_that_is_defined_anew_divides_what_is_declared)
{
    assert_different("#define X 1\nint a = X;\n#undef X\n#define X 2\nint b = X;\n",
                     "#define X 1\nint b = X;\n#undef X\n#define X 2\nint a = X;\n");
    assert_different("#define X 1\nint a = X;\n#undef X\n#define X 2\nint b = X;\n",
                     "#define X 2\nint a = X;\n#undef X\n#define X 1\nint b = X;\n");
    /* Not one that is told the same again. */
    assert_same("#define X 1\nint a;\n#undef X\n#define X 1\nint b;\n#undef X\n",
                "#define X 1\nint b;\n#undef X\n#define X 1\nint a;\n#undef X\n");
}

TEST(what_is_not_active_or_not_included_changes_nothing)
{
    assert_same("int f() { return 1\n#if ZERO\n+ 2\n#endif\n; }", "int f() { return 1; }");
    assert_same("#ifdef NOWHERE\n#define X\nint g();\n#include \"nowhere.h\"\n#else\nint f();\n#endif\n",
                "int f();");
    assert_same("#if FIVE == 4\nint a;\n#elif FIVE == 5\nint b;\n#elif FIVE\nint c;\n#else\nint d;\n#endif\n",
                "int b;");
    assert_same("#if ZERO\n#if FIVE\nint a;\n#else\nint b;\n#endif\n#else\nint c;\n#endif\n", "int c;");
    assert_same("#if ZERO\n# error don't\n#endif\n", "");
    assert_same("#ifndef FIVE\n#define FIVE 6\n#endif\n", "");
    assert_true(hash_of("int f();", "int g();", "") == hash_of("int f();", "", "int h();"));
    assert_different("#if FIVE\nint a;\n#endif\n", "");
    assert_different("#define X 1\n", "");
}

TEST(conditions_are_integer_expressions_of_c)
{
    static const char *const hold[] = {
        "1",
        "FIVE",
        "!ZERO",
        "defined FIVE",
        "defined(FIVE) && FIVE > 4",
        "!defined NOWHERE",
        "NOWHERE == 0",
        "FIVE + 2 * 3 == 11",
        "(FIVE + 2) * 3 == 21",
        "FIVE - 3 - 2 == 0",
        "FIVE / 2 == 2 && FIVE % 2 == 1",
        "-7 / 2 == -3 && -7 % 2 == -1",
        "1 << 3 == 8",
        "-16 >> 2 == -4",
        "~0 == -1",
        "(6 & 3) == 2",
        "(6 | 3) == 7",
        "(6 ^ 3) == 5",
        "0x10 == 16 && 010 == 8 && 0b11 == 3 && 1'000 == 1000",
        "-1 > 0u",
        "-1 < 0",
        "ZERO ? 0 : 1",
        "FIVE ? 2 : 1 / 0",
        "1 || 1 / ZERO",
        "!(0 && 1 / ZERO)",
        "ZERO && __FUTURE__ || 1",
        "true && !false",
        "__CUDA_ARCH__ >= 900",
        "18446744073709551615u == -1",
        "+FIVE == 5 /* yes */",
        "FIVE \\\n == 5",
        "(((FIVE)))",
    };
    char text[200];
    for (size_t i = 0; i < sizeof hold / sizeof *hold; i++) {
        snprintf(text, sizeof text, "#if %s\nint a;\n#else\nint b;\n#endif\n", hold[i]);
        assert_same(text, "int a;");
        snprintf(text, sizeof text, "#if !(%s)\nint a;\n#endif\n", hold[i]);
        assert_same(text, "");
    }
    assert_same("#define SIX (FIVE + 1)\n#define SEVEN SIX + 1\n#if SEVEN * 2 == 8\nint a;\n#endif\n",
                "#define SEVEN SIX + 1\n#define SIX (FIVE + 1)\nint a;\n");
    assert_same("#define X X\n#if X\nint a;\n#endif\n", "#define X X\n");
    assert_same("#define X Y\n#define Y X\n#if X == 0\nint a;\n#endif\n", "#define X Y\n#define Y X\nint a;");
}

TEST(all_branches_count_where_nobody_knows)
{
    static const char *const open[] = {
        "1 / ZERO",
        "__FUTURE__",
        "defined __FUTURE__",
        "FUNCTION(1)",
        "__has_include(<x>)",
        "1 +",
        "",
        "(1",
        "1 1",
        "\"1\"",
        "'a'",
        "1.5",
        "09",
        "99999999999999999999",
        "1 << 64",
        "1 << -1",
        "@",
        "EMPTY",
        "#",
        "-9223372036854775807 - 1 == (-9223372036854775807 - 1) / -1",
        "FIVE ? __FUTURE__ : 1",
    };
    char text[300], other[300];
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        static const char *const bodies[][2] = {
            {"int a;", "int b;"}, {"int c;", "int b;"}, {"int a;", "int c;"}};
        uint64_t hash[3];
        for (int j = 0; j < 3; j++) {
            snprintf(text, sizeof text, "#define FUNCTION(x) x\n#if %s\n%s\n#else\n%s\n#endif\nint d;",
                     open[i], bodies[j][0], bodies[j][1]);
            hash[j] = hash_text(text);
        }
        if (hash[0] == hash[1] || hash[0] == hash[2]) fail_msg("'%s' is believed", open[i]);
        snprintf(other, sizeof other, "#define FUNCTION(x) x\nint a;int b;int d;");
        assert_different(text, other);
    }
    /* What is defined in such a branch is open, too. */
    assert_different("#ifdef __FUTURE__\n#define X\n#endif\n#ifdef X\nint a;\n#else\nint b;\n#endif\n",
                     "#ifdef __FUTURE__\n#define X\n#endif\n#ifdef X\nint a;\n#else\nint c;\n#endif\n");
    assert_different("#ifdef __FUTURE__\n#define X\n#endif\n#ifdef X\nint a;\n#endif\n",
                     "#ifdef __FUTURE__\n#define X\n#endif\n#ifdef X\nint c;\n#endif\n");
    assert_different("#if __FUTURE__\nint a;\n#elif FIVE\nint b;\n#endif\n",
                     "#if __FUTURE__\nint a;\n#elif FIVE\nint c;\n#endif\n");
}

TEST(it_is_told_which_values_were_asked_for)
{
    hash_text("int f = FIVE;\n#ifdef FIVE\n#endif\n#if defined ZERO\n#endif\n");
    assert_int_equal(asked, 0);
    hash_text("#if ZERO\n#if FIVE\n#endif\n#endif\n");
    assert_int_equal(asked, 1);
    hash_text("#define SIX (FIVE + 1)\n#if SIX\n#endif\n#if __CUDA_ARCH__ >= 800\n#endif\n");
    assert_int_equal(asked, 2 | 8);
    hash_text("#undef FIVE\n#define FIVE 6\n#if FIVE\n#endif\n");
    assert_int_equal(asked, 0);
}

TEST(texts_beyond_all_bounds_are_hashed_as_they_are)
{
    char *deep = calloc(1, 100000), *wide = calloc(1, 100000);
    assert_non_null(deep);
    assert_non_null(wide);
    for (int i = 0; i < 1000; i++) strcat(deep, "#if 1\n");
    for (int i = 0; i < 1000; i++) sprintf(wide + strlen(wide), "#define A%d\n", i);
    const char *const texts[] = {deep, wide, "const char *s = R\"(a // b)\";", "#include \"a.h\"\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *more = calloc(1, strlen(texts[i]) + 20);
        assert_non_null(more);
        sprintf(more, "%s/* more */", texts[i]);
        const char *own = "#include \"a.h\"\n#include \"b.h\"\n#include \"a.h\"\n";
        assert_true(hash_of(texts[i], own, own) != hash_of(more, own, own));
        assert_true(hash_of(texts[i], own, own) == hash_of(texts[i], own, own));
        free(more);
    }
    free(deep);
    free(wide);
}

TEST(a_header_that_is_missing_or_superfluous_is_named)
{
    char missing[64];
    const struct source_text sources[] = {
        {"x.cu", "#include \"a.h\"\n#if 0\n#include \"c.h\"\n#endif\n"}, {"a.h", ""}, {"b.h", ""}};
    source_hash_missing(sources, 2, NULL, 0, missing);
    assert_string_equal(missing, "");
    source_hash_missing(sources, 1, NULL, 0, missing);
    assert_string_equal(missing, "\"a.h\"");
    source_hash_missing(sources, 3, NULL, 0, missing);
    assert_string_equal(missing, "b.h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_blanks_and_lines_change_nothing),
        cmocka_unit_test(every_piece_of_code_changes_the_hash),
        cmocka_unit_test(a_function_may_move_to_another_place_or_header),
        cmocka_unit_test(a_macro_that_is_defined_anew_divides_what_is_declared),
        cmocka_unit_test(what_is_not_active_or_not_included_changes_nothing),
        cmocka_unit_test(conditions_are_integer_expressions_of_c),
        cmocka_unit_test(all_branches_count_where_nobody_knows),
        cmocka_unit_test(it_is_told_which_values_were_asked_for),
        cmocka_unit_test(texts_beyond_all_bounds_are_hashed_as_they_are),
        cmocka_unit_test(a_header_that_is_missing_or_superfluous_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

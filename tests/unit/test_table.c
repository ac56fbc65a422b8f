#include "unit.h"

#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {{"name", "name", COLUMN_TEXT, 0},
                                        {"time_us", "time (us)", COLUMN_NUMBER, 2},
                                        {"tied", "tied", COLUMN_BOOL, 0},
                                        {"hidden", NULL, COLUMN_TEXT, 0}};

static void row(struct table *table, const char *name, double time, int tied, const char *hidden)
{
    table_text(table, name);
    table_number(table, time);
    table_bool(table, tied);
    table_text(table, hidden);
}

/* What a table prints; owned by the caller. width < 0: through table_print in the given format. */
static char *printed(const struct table *table, enum table_format format, int width)
{
    static char
        *text; /* a local one is taken for dangling by gcc -O3, which cannot see when fclose writes it */
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_ok(width < 0 ? table_print(table, format, stream) : table_print_text(table, width, stream));
    fclose(stream);
    return text;
}

static void assert_prints(const struct table *table, enum table_format format, int width,
                          const char *expected)
{
    char *text = printed(table, format, width);
    assert_string_equal(text, expected);
    free(text);
}

TEST(columns_are_aligned_and_numbers_right)
{
    struct table *table = table_new(columns, 4);
    row(table, "a", 1234.5, 1, "x");
    row(table, "longer", 1, 0, NULL);
    row(table, NULL, NAN, 0, NULL);
    assert_int_equal(table_rows(table), 3);
    assert_prints(table, TABLE_TEXT, -1,
                  "name    time (us)  tied\n"
                  "a         1234.50  yes\n"
                  "longer       1.00  no\n"
                  "-               -  no\n");
    table_free(table);
}

TEST(width_is_counted_in_characters_not_bytes)
{
    struct table *table = table_new(columns, 4);
    row(table, "µs→", 1, 1, NULL);
    row(table, "plain", 2, 1, NULL);
    assert_prints(table, TABLE_TEXT, 0,
                  "name   time (us)  tied\n"
                  "µs→         1.00  yes\n"
                  "plain       2.00  yes\n");
    table_free(table);
}

TEST(a_narrow_terminal_cuts_text_with_an_ellipsis_and_keeps_numbers)
{
    struct table *table = table_new(columns, 4);
    row(table, "simt BM=128 BN=128 BK=16", 1, 1, NULL);
    assert_prints(table, TABLE_TEXT, 30,
                  "name           time (us)  tied\n"
                  "simt BM=128 …       1.00  yes\n");
    table_free(table);
}

TEST(a_line_is_never_wider_than_the_terminal)
{
    struct table *table = table_new(columns, 4);
    row(table, "simt BM=128 BN=128 BK=16", 123456, 1, NULL);
    for (int width = 1; width < 40; width++) {
        char *text = printed(table, TABLE_TEXT, width);
        int length = 0;
        for (const char *at = text; *at; at++) {
            if (((unsigned char)*at & 0xc0) != 0x80) length++;
            if (*at == '\n') length = 0;
            assert_true(length <= width);
        }
        free(text);
    }
    table_free(table);
}

TEST(control_characters_never_reach_the_terminal)
{
    struct table *table = table_new(columns, 4);
    row(table, "\x1b[31mred\n\x7f\xc2\x9b!", 1, 1, NULL);
    char *text = printed(table, TABLE_TEXT, 0);
    assert_non_null(strstr(text, "?[31mred?\?\?!"));
    free(text);
    table_free(table);
}

TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
    const struct {
        const char *from, *to;
    } cases[] = {{"\xff", "\xef\xbf\xbd"},
                 {"a\xc3", "a\xef\xbf\xbd"},
                 {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *valid = text_valid(cases[i].from);
        assert_string_equal(valid, cases[i].to);
        free(valid);
    }
}

TEST(json_has_one_object_a_row_and_hidden_columns_too)
{
    struct table *table = table_new(columns, 4);
    row(table, "a \"b\"\n", 0.1, 1, "h");
    row(table, NULL, NAN, 0, NULL);
    row(table, "\xff", INFINITY, 0, NULL);
    char *text = printed(table, TABLE_JSON, -1);
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    assert_non_null(json);
    assert_int_equal(json_array_size(json), 3);
    json_t *first = json_array_get(json, 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "a \"b\"\n");
    assert_true(json_real_value(json_object_get(first, "time_us")) == 0.1);
    assert_true(json_is_true(json_object_get(first, "tied")));
    assert_string_equal(json_string_value(json_object_get(first, "hidden")), "h");
    assert_true(json_is_null(json_object_get(json_array_get(json, 1), "time_us")));
    assert_true(json_is_null(json_object_get(json_array_get(json, 2), "time_us")));
    assert_non_null(strstr(text, "\"time_us\": 0.1,"));
    json_decref(json);
    free(text);
    table_free(table);
}

TEST(numbers_in_json_and_csv_keep_every_digit)
{
    static const double values[] = {1.0 / 3, 1e-300, 123456789.123456789, 1e22,
                                    -0.5,    4096,   9007199254740993.0};
    static const struct column one[] = {{"x", "x", COLUMN_NUMBER, 1}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct table *table = table_new(one, 1);
        table_number(table, values[i]);
        char *csv = printed(table, TABLE_CSV, -1), *json = printed(table, TABLE_JSON, -1);
        assert_true(strtod(csv + strlen("x\r\n"), NULL) == values[i]);
        assert_true(strtod(strchr(json, ':') + 1, NULL) == values[i]);
        free(csv);
        free(json);
        table_free(table);
    }
}

TEST(csv_is_quoted_as_rfc_4180_says)
{
    struct table *table = table_new(columns, 4);
    row(table, "a,b", 1.25, 1, "say \"hi\"");
    row(table, "two\nlines", NAN, 0, NULL);
    assert_prints(table, TABLE_CSV, -1,
                  "name,time_us,tied,hidden\r\n"
                  "\"a,b\",1.25,true,\"say \"\"hi\"\"\"\r\n"
                  "\"two\nlines\",,false,\r\n");
    table_free(table);
}

TEST(an_empty_table_is_a_head_or_an_empty_array)
{
    struct table *table = table_new(columns, 4);
    assert_prints(table, TABLE_TEXT, -1, "name  time (us)  tied\n");
    assert_prints(table, TABLE_JSON, -1, "[]\n");
    assert_prints(table, TABLE_CSV, -1, "name,time_us,tied,hidden\r\n");
    table_free(table);
}

TEST(a_stream_that_cannot_be_written_is_an_error)
{
    struct table *table = table_new(columns, 4);
    row(table, "a", 1, 1, NULL);
    for (int format = 0; format < 3; format++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(table_print(table, (enum table_format)format, full), E_IO);
        fclose(full);
    }
    table_free(table);
}

TEST(formats_are_named_table_json_csv)
{
    enum table_format format;
    assert_ok(table_format_parse("json", &format));
    assert_int_equal(format, TABLE_JSON);
    assert_ok(table_format_parse("csv", &format));
    assert_int_equal(format, TABLE_CSV);
    assert_ok(table_format_parse("table", &format));
    assert_int_equal(format, TABLE_TEXT);
    assert_fails(table_format_parse("xml", &format), E_USAGE, "'xml'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_and_numbers_right),
        cmocka_unit_test(width_is_counted_in_characters_not_bytes),
        cmocka_unit_test(a_narrow_terminal_cuts_text_with_an_ellipsis_and_keeps_numbers),
        cmocka_unit_test(a_line_is_never_wider_than_the_terminal),
        cmocka_unit_test(control_characters_never_reach_the_terminal),
        cmocka_unit_test(bytes_that_are_not_utf8_become_replacement_characters),
        cmocka_unit_test(json_has_one_object_a_row_and_hidden_columns_too),
        cmocka_unit_test(numbers_in_json_and_csv_keep_every_digit),
        cmocka_unit_test(csv_is_quoted_as_rfc_4180_says),
        cmocka_unit_test(an_empty_table_is_a_head_or_an_empty_array),
        cmocka_unit_test(a_stream_that_cannot_be_written_is_an_error),
        cmocka_unit_test(formats_are_named_table_json_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

/* ---- what people see ---- */

static const struct column wide[] = {
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"config", "configuration", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(3), 0},
    {"time_us", "time (us)", COLUMN_NUMBER, 2},
    {"ratio", "x cuBLAS", COLUMN_NUMBER | COLUMN_RANK(1), 3},
    {"low", "low", COLUMN_NUMBER | COLUMN_RANK(4), 3},
    {"when", "when", COLUMN_TEXT | COLUMN_RANK(7), 0},
    {"hidden", NULL, COLUMN_TEXT, 0},
};
#define LONG  "sgemm:nt:64x1605632x147"
#define SHORT "sgemm:nn:8x8x8"

static void wide_row(struct table *table, const char *gpu, const char *problem, double ratio)
{
    table_text(table, gpu);
    table_text(table, problem);
    table_text_brief(table, "simt BM=128 BN=256 BK=16 TM=16 TN=8 STAGES=3",
                     "simt tile 128x256x16, thread 16x8, 3 stages, split 4");
    table_number(table, 1234.5);
    table_number(table, ratio);
    table_number(table, ratio);
    table_text(table, "2026-11-20T20:52:53Z");
    table_text(table, "h");
}

static struct table *two_rows(const char *second_gpu, double ratio)
{
    struct table *table = table_new(wide, 8);
    wide_row(table, "H200", LONG, ratio);
    wide_row(table, second_gpu, SHORT, ratio);
    return table;
}

/* The longest line of text, in characters (ASCII). */
static int longest(const char *text)
{
    int most = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if ((int)strcspn(at, "\n") > most) most = (int)strcspn(at, "\n");
    return most;
}

TEST(what_all_rows_share_stands_above_them_once)
{
    struct table *table = two_rows("H200", 1.5);
    assert_prints(
        table, TABLE_TEXT, 0,
        "GPU H200\n"
        "\n"
        "problem                  time (us)  x cuBLAS    low  when                  configuration\n" LONG
        "    1234.50     1.500  1.500  2026-11-20T20:52:53Z  simt tile 128x256x16, thread 16x8, "
        "3 stages, split 4\n" SHORT
        "             1234.50     1.500  1.500  2026-11-20T20:52:53Z  simt tile 128x256x16, thread "
        "16x8, 3 stages, split 4\n");
    table_free(table);
}

/* Rows of two GPUs, printed so wide. */
static char *two_gpus(int width)
{
    struct table *table = two_rows("A100", 1.5);
    char *text = printed(table, TABLE_TEXT, width);
    table_free(table);
    return text;
}

TEST(what_tells_rows_apart_stands_in_each)
{
    char *text = two_gpus(60);
    assert_non_null(strstr(text, "H200  " LONG));
    assert_non_null(strstr(text, "A100  " SHORT));
    free(text);
}

TEST(a_column_that_is_empty_in_all_rows_is_left_out)
{
    struct table *table = two_rows("H200", NAN);
    char *text = printed(table, TABLE_TEXT, 0), *csv = printed(table, TABLE_CSV, -1);
    assert_null(strstr(text, "cuBLAS"));
    assert_non_null(strstr(csv, "ratio"));
    free(text);
    free(csv);
    table_free(table);
}

/* What a table of one column beside the name prints, in rows and as a line for each value. */
static void assert_some(int rows, double value, const char *text, const char *all)
{
    static const struct column some[] = {{"name", "name", COLUMN_TEXT | COLUMN_KEY, 0},
                                         {"error", "error", COLUMN_NUMBER | COLUMN_SOME, -3}};
    struct table *table = table_new(some, 2);
    char *lines = NULL;
    size_t length;
    for (int i = 0; i < rows; i++) {
        table_text(table, "a");
        table_number(table, value);
    }
    assert_prints(table, TABLE_TEXT, 0, text);
    FILE *stream = open_memstream(&lines, &length);
    assert_ok(table_print_all(table, 0, stream));
    fclose(stream);
    assert_string_equal(lines, all);
    free(lines);
    char *csv = printed(table, TABLE_CSV, -1);
    assert_non_null(strstr(csv, "name,error"));
    free(csv);
    table_free(table);
}

TEST(a_column_of_some_tables_is_not_seen_in_others)
{
    assert_some(0, 0, "name\n", "");
    assert_some(1, NAN, "name\na\n", "name  a\n");
    assert_some(1, 2.34567e-7, "name     error\na     2.35e-07\n", "name   a\nerror  2.35e-07\n");
}

TEST(no_width_cuts_a_key_and_no_line_is_wider)
{
    struct table *table = two_rows("H200", 1.5);
    for (int width = 30; width <= 200; width++) {
        char *text = printed(table, TABLE_TEXT, width);
        assert_non_null(strstr(text, LONG));
        assert_non_null(strstr(text, SHORT));
        assert_true(longest(text) <= width);
        free(text);
    }
    table_free(table);
}

TEST(the_least_important_columns_go_first)
{
    struct table *table = two_rows("H200", 1.5);
    static const char *const by_rank[] = {"when", "low", "x cuBLAS", "time (us)"};
    int left_out = 0;
    bool was_below = false; /* the last column, which leaves room to others */
    for (int width = 200; width >= 34; width--) {
        char *text = printed(table, TABLE_TEXT, width);
        const bool below = strstr(text, "\n    configuration") != NULL;
        int now = 0;
        while (now < 4 && !strstr(text, by_rank[now])) now++;
        for (int i = now; i < 4; i++) assert_non_null(strstr(text, by_rank[i]));
        assert_true(now >= left_out || (below && !was_below));
        left_out = now;
        was_below = below;
        free(text);
    }
    assert_int_equal(left_out, 3);
    table_free(table);
}

TEST(long_text_comes_last_broken_at_blanks_or_below_its_row)
{
    struct table *table = two_rows("H200", 1.5);
    assert_prints(table, TABLE_TEXT, 86,
                  "GPU H200\n"
                  "\n"
                  "problem                  time (us)  x cuBLAS  configuration\n" LONG
                  "    1234.50     1.500  simt tile 128x256x16, thread 16x8, 3\n"
                  "                                              stages, split 4\n" SHORT
                  "             1234.50     1.500  simt tile 128x256x16, thread 16x8, 3\n"
                  "                                              stages, split 4\n");
    assert_prints(table, TABLE_TEXT, 50,
                  "GPU H200\n"
                  "\n"
                  "problem                  time (us)  x cuBLAS\n"
                  "    configuration\n" LONG "    1234.50     1.500\n"
                  "    simt tile 128x256x16, thread 16x8, 3 stages,\n"
                  "    split 4\n" SHORT "             1234.50     1.500\n"
                  "    simt tile 128x256x16, thread 16x8, 3 stages,\n"
                  "    split 4\n");
    table_free(table);
}

/* The configuration stands below, and leaves its room to the others. */
TEST(no_column_that_would_fit_is_left_out)
{
    struct table *table = two_rows("H200", 1.5);
    assert_prints(table, TABLE_TEXT, 80,
                  "GPU H200\n"
                  "\n"
                  "problem                  time (us)  x cuBLAS    low  when\n"
                  "    configuration\n" LONG "    1234.50     1.500  1.500  2026-11-20T20:52:53Z\n"
                  "    simt tile 128x256x16, thread 16x8, 3 stages, split 4\n" SHORT
                  "             1234.50     1.500  1.500  2026-11-20T20:52:53Z\n"
                  "    simt tile 128x256x16, thread 16x8, 3 stages, split 4\n");
    table_free(table);
}

TEST(where_not_even_the_keys_fit_a_row_becomes_lines)
{
    char *text = two_gpus(28);
    assert_non_null(strstr(text, "problem\n    " LONG "\n"));
    assert_true(longest(text) <= 28);
    free(text);
}

TEST(all_has_every_column_and_texts_in_full)
{
    struct table *table = two_rows("H200", 1.5);
    for (int width = 30; width <= 120; width += 30) {
        char *text = NULL;
        size_t length;
        FILE *stream = open_memstream(&text, &length);
        assert_ok(table_print_all(table, width, stream));
        fclose(stream);
        assert_non_null(strstr(text, "hidden"));
        assert_non_null(strstr(text, "STAGES=3"));
        assert_non_null(strstr(text, "2026-11-20T20:52:53Z"));
        assert_true(longest(text) <= width);
        free(text);
    }
    table_free(table);
}

TEST(json_and_csv_have_the_full_text)
{
    struct table *table = two_rows("H200", 1.5);
    for (int format = TABLE_JSON; format <= TABLE_CSV; format++) {
        char *text = printed(table, (enum table_format)format, -1);
        assert_non_null(strstr(text, "STAGES=3"));
        assert_null(strstr(text, "3 stages"));
        free(text);
    }
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
    assert_non_null(strstr(text, "\\x1b[31mred\\n\\x7f\\x9b!"));
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

static struct table *three(void)
{
    struct table *table = table_new(columns, 4);
    row(table, "b", 2, 1, "x");
    row(table, "a", NAN, 0, "y");
    row(table, "c", 10, 0, NULL);
    row(table, "a", 2, 0, "z");
    return table;
}

TEST(rows_are_sorted_by_any_column_and_empty_cells_come_last)
{
    struct table *table = three();
    assert_ok(table_sort(table, "time_us"));
    assert_prints(table, TABLE_CSV, -1,
                  "name,time_us,tied,hidden\r\nb,2,true,x\r\na,2,false,z\r\nc,10,false,\r\na,,false,y\r\n");
    assert_ok(table_sort(table, "-time_us"));
    assert_prints(table, TABLE_CSV, -1,
                  "name,time_us,tied,hidden\r\nc,10,false,\r\nb,2,true,x\r\na,2,false,z\r\na,,false,y\r\n");
    assert_ok(table_sort(table, "name"));
    assert_prints(table, TABLE_CSV, -1,
                  "name,time_us,tied,hidden\r\na,2,false,z\r\na,,false,y\r\nb,2,true,x\r\nc,10,false,\r\n");
    assert_ok(table_sort(table, "hidden"));
    assert_fails(table_sort(table, "tiem_us"), E_USAGE,
                 "there is no column 'tiem_us'; did you mean 'time_us'?; there are name time_us tied hidden");
    table_free(table);
}

TEST(the_first_rows_may_be_kept_alone)
{
    struct table *table = three();
    table_cut(table, 4);
    assert_int_equal(table_rows(table), 4);
    table_cut(table, 1);
    assert_prints(table, TABLE_CSV, -1, "name,time_us,tied,hidden\r\nb,2,true,x\r\n");
    row(table, "new", 1, 0, NULL);
    assert_int_equal(table_rows(table), 2);
    table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_and_numbers_right),
        cmocka_unit_test(width_is_counted_in_characters_not_bytes),
        cmocka_unit_test(what_all_rows_share_stands_above_them_once),
        cmocka_unit_test(what_tells_rows_apart_stands_in_each),
        cmocka_unit_test(a_column_that_is_empty_in_all_rows_is_left_out),
        cmocka_unit_test(a_column_of_some_tables_is_not_seen_in_others),
        cmocka_unit_test(no_width_cuts_a_key_and_no_line_is_wider),
        cmocka_unit_test(the_least_important_columns_go_first),
        cmocka_unit_test(long_text_comes_last_broken_at_blanks_or_below_its_row),
        cmocka_unit_test(no_column_that_would_fit_is_left_out),
        cmocka_unit_test(where_not_even_the_keys_fit_a_row_becomes_lines),
        cmocka_unit_test(all_has_every_column_and_texts_in_full),
        cmocka_unit_test(json_and_csv_have_the_full_text),
        cmocka_unit_test(a_line_is_never_wider_than_the_terminal),
        cmocka_unit_test(control_characters_never_reach_the_terminal),
        cmocka_unit_test(bytes_that_are_not_utf8_become_replacement_characters),
        cmocka_unit_test(json_has_one_object_a_row_and_hidden_columns_too),
        cmocka_unit_test(numbers_in_json_and_csv_keep_every_digit),
        cmocka_unit_test(csv_is_quoted_as_rfc_4180_says),
        cmocka_unit_test(an_empty_table_is_a_head_or_an_empty_array),
        cmocka_unit_test(a_stream_that_cannot_be_written_is_an_error),
        cmocka_unit_test(rows_are_sorted_by_any_column_and_empty_cells_come_last),
        cmocka_unit_test(the_first_rows_may_be_kept_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The names, strings, comments, dates and files of what is exported. */
#include "files.h"
#include "store.h"

#include "exchange_json.h"
#include "export_header.h"
#include "output_file.h"

TEST(a_file_name_gives_the_table_its_name)
{
    static const char *const names[][3] = {
        {"h200.h", "h200_winners", "GT_H200_H"},
        {"some/where/H200-winners.hpp", "h200_winners", "GT_H200_WINNERS_H"},
        {"gt_my table.h", "my_table_winners", "GT_MY_TABLE_H"},
        {"__a--b__.h", "a_b_winners", "GT_A_B_H"},
        {"winners.h", "winners", "GT_WINNERS_H"},
        {"plan", "plan_winners", "GT_PLAN_H"}};
    struct header header;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(header_name(names[i][0], &header));
        assert_string_equal(header.name, names[i][1]);
        assert_string_equal(header.guard, names[i][2]);
    }
    assert_fails(header_name("--.h", &header), E_USAGE, "letters or digits");
    assert_fails(header_name("dir/", &header), E_USAGE, "letters or digits");
    assert_ok(header_name("an_extremely_long_name_of_a_file_that_goes_on_and_on_and_on_and_on_for_ever.h",
                          &header));
    assert_in_range(strlen(header.name), 10, sizeof header.name - 1);
}

static char *written(void (*write)(FILE *stream))
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    write(stream);
    fclose(stream);
    return text;
}

static void hostile_string(FILE *stream)
{
    text_c_string("a\"b\\c\n*/ ?\?/ \xff\x01"
                  "1",
                  stream);
}

static void floats(FILE *stream)
{
    text_c_float(5, stream);
    putc(' ', stream);
    text_c_float(INFINITY, stream);
    putc(' ', stream);
    text_c_float(1e300, stream);
}

TEST(nothing_ends_a_string_or_a_number_before_its_time)
{
    char *text = written(hostile_string);
    assert_string_equal(text, "\"a\\042b\\134c\\012*/ \\077\\077/ \\377\\0011\"");
    free(text);
    text = written(floats);
    assert_string_equal(text, "5.00000000e+00f 0.00000000e+00f 3.40282347e+38f");
    free(text);
}

static void hostile_comment(FILE *stream)
{
    text_c_comment("a*/ #error /* \n?\?/\\ \xff UNROLL / 2 * 3 **/", stream);
}

TEST(nothing_ends_a_comment_before_its_time)
{
    char *text = written(hostile_comment);
    assert_string_equal(text, "a* / #error / * ___/_ _ UNROLL / 2 * 3 ** /");
    free(text);
}

TEST(the_date_is_that_of_the_environment)
{
    char date[32];
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    assert_ok(text_date(date));
    assert_string_equal(date, "1970-01-02T00:00:00Z");
    setenv("SOURCE_DATE_EPOCH", "tomorrow", 1);
    assert_fails(text_date(date), E_INPUT, "tomorrow");
    unsetenv("SOURCE_DATE_EPOCH");
    assert_ok(text_date(date));
    assert_int_equal(strlen(date), 20);
}

TEST(a_file_is_there_complete_or_as_it_was)
{
    char path[160];
    struct outfile out;
    snprintf(path, sizeof path, "%s/out.txt", store_folder);
    assert_ok(outfile_open(path, &out));
    fputs("first", out.stream);
    assert_int_equal(access(path, F_OK), -1);
    assert_ok(outfile_close(&out, OK));
    assert_ok(outfile_open(path, &out));
    fputs("second", out.stream);
    assert_int_equal(outfile_close(&out, E_GPU), E_GPU);
    assert_string_equal(file_text(path), "first");
    assert_fails(outfile_open("/no/such/folder/x.h", &out), E_IO, "/no/such/folder/x.h");
    assert_int_equal(files_in(store_folder), 1);
}

TEST(times_of_day_are_read_as_others_write_them)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {{"1970-01-02T00:00:00Z", INT64_C(86400000000)},
                {"1970-01-01 00:00:01.250000+00:00", 1250000},
                {"1970-01-01T02:00:00+01:30", INT64_C(1800000000)},
                {"1970-01-01T00:00:00-01:00", INT64_C(3600000000)},
                {"2026-11-20T12:00:00.5Z", INT64_C(1795176000500000)},
                {"1970-01-01T00:00:00", 0}};
    static const char *const bad[] = {"",
                                      "yesterday",
                                      "2026-13-01T00:00:00Z",
                                      "2026-11-20",
                                      "2026-11-20T12:00:00Zulu",
                                      "1969-01-01T00:00:00Z",
                                      "2026-11-20T25:00:00Z",
                                      "2026-11-20T12:00:00+"};
    int64_t us;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(time_parse(good[i].text, &us));
        if (us != good[i].us) fail_msg("%s: %lld", good[i].text, (long long)us);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(time_parse(bad[i], &us), E_INPUT, "is not a time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_name_gives_the_table_its_name),
        cmocka_unit_test(nothing_ends_a_string_or_a_number_before_its_time),
        cmocka_unit_test(nothing_ends_a_comment_before_its_time),
        cmocka_unit_test(the_date_is_that_of_the_environment),
        STORE_TEST(a_file_is_there_complete_or_as_it_was),
        cmocka_unit_test(times_of_day_are_read_as_others_write_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

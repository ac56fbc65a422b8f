#include "unit.h"

#include "print.h"
#include "status.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* What `call` writes to `stream`; the caller frees it. */
#define WRITTEN(into, call)                                                                                  \
    do {                                                                                                     \
        size_t written_length;                                                                               \
        FILE *stream = open_memstream(&(into), &written_length);                                             \
        assert_non_null(stream);                                                                             \
        call;                                                                                                \
        fclose(stream);                                                                                      \
    } while (0)

static char *text; /* a local one is taken for dangling by gcc -O3 */

static void assert_escaped(const char *from, const char *to)
{
    char *escaped = print_escaped(from);
    assert_string_equal(escaped, to);
    free(escaped);
}

TEST(what_a_terminal_obeys_is_escaped)
{
    assert_escaped("\x1b]0;title\x07", "\\x1b]0;title\\x07");
    assert_escaped("a\rb\nc\td\be", "a\\x0db\\nc\\td\\x08e");
    assert_escaped("\x7f", "\\x7f");
    assert_escaped("\xc2\x9b"
                   "31m",
                   "\\x9b31m");
}

TEST(bytes_that_are_no_utf8_are_told)
{
    assert_escaped("\xff\xc3", "\\xff\\xc3");
    assert_escaped("\xc0\xaf", "\\xc0\\xaf");
    assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

TEST(marks_that_turn_the_direction_of_writing_are_told)
{
    assert_escaped("\xe2\x80\xae"
                   "evil",
                   "\\u202eevil");
    assert_escaped("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f", "\\u2066\\u2069\\u061c\\u200f");
    assert_escaped("\xe2\x80\xa8", "\\u2028");
}

TEST(other_text_stays_as_it_is)
{
    assert_escaped("plain, \\ \"quoted\", \xc3\xa9 \xe2\x89\xa5 \xf0\x9f\x98\x80",
                   "plain, \\ \"quoted\", \xc3\xa9 \xe2\x89\xa5 \xf0\x9f\x98\x80");
}

/* One to three bytes of any kind, among letters: nothing gets through, and nothing is read past the end. */
TEST(no_byte_below_blank_ever_comes_out)
{
    for (int first = 1; first < 256; first++)
        for (int second = 1; second < 256; second++) {
            char from[] = {(char)first, (char)second, (char)(255 - first), 'x', '\0'};
            if (!from[2]) from[2] = 1;
            char *escaped = print_escaped(from);
            for (const char *at = escaped; *at; at++) {
                const unsigned char byte = (unsigned char)*at;
                assert_true(byte >= 0x20 && byte != 0x7f);
                assert_false(byte == 0xc2 && (unsigned char)at[1] < 0xa0);
            }
            free(escaped);
        }
}

TEST(a_line_is_one_line_whatever_its_arguments_are)
{
    WRITTEN(text, print_line(stream, "found %s, %d", "a\nb\x1b", 7));
    assert_string_equal(text, "found a\\nb\\x1b, 7\n");
    free(text);
    WRITTEN(text, (print_part(stream, "%s", "a\n"), print_end(stream)));
    assert_string_equal(text, "a\\n\n");
    free(text);
}

TEST(long_lines_arrive_whole)
{
    char *many = malloc(100001);
    memset(many, 'x', 100000);
    many[100000] = '\0';
    WRITTEN(text, print_line(stream, "%s", many));
    assert_int_equal(strlen(text), 100001);
    free(text);
    free(many);
}

TEST(a_text_keeps_its_newlines_and_nothing_else)
{
    WRITTEN(text, print_text(stream, "a\n\tb\x1b\0\xe2\x80", 8));
    assert_string_equal(text, "a\n\tb\\x1b\\x00\\xe2\\x80");
    free(text);
}

TEST(a_broken_line_is_never_wider_than_its_room)
{
    static const char *const texts[] = {"some words of several lengths in a line", LETTERS LETTERS,
                                        "a " LETTERS " b", "\x1b[31m \x1b[31m\x1b[31m", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int columns = 5; columns < 60; columns++)
            for (int start = 0; start < 4; start += 3) {
                WRITTEN(text, print_wrapped(stream, start, columns, texts[i]));
                char *rest = NULL;
                int room = columns - start; /* of the first line, which begins at `start` */
                size_t words = 0;
                for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                    assert_true(print_width(line) <= room);
                    words += strlen(line + strspn(line, " "));
                    room = columns;
                }
                assert_true(i != 1 || words == 52);
                free(text);
            }
}

TEST(width_counts_columns)
{
    assert_int_equal(print_width("abc"), 3);
    assert_int_equal(print_width("\xc3\xa9"), 1);
    assert_int_equal(print_width("\xe4\xb8\xad\xe6\x96\x87"), 4); /* two Chinese characters */
    assert_int_equal(print_fitting("\xe4\xb8\xad\xe6\x96\x87", 3), 3);
    assert_int_equal(print_fitting("abc", 2), 2);
}

TEST(a_sentence_that_is_too_long_keeps_its_start_and_its_end)
{
    char *path = malloc(200001);
    for (size_t length = 900; length <= 200000; length += length < 1100 ? 1 : 50000) {
        memset(path, 'x', length);
        path[length] = '\0';
        fail(E_IO, "cannot read %s: File name too long", path);
        const char *said = status_text();
        assert_true(strncmp(said, "cannot read xxx", 15) == 0);
        assert_string_equal(said + strlen(said) - strlen("xxx: File name too long"),
                            "xxx: File name too long");
        assert_true(strlen(said) < 1024);
        assert_int_equal(strstr(said, "[...]") != NULL,
                         length + strlen("cannot read : File name too long") > 1023);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_obeys_is_escaped),
        cmocka_unit_test(bytes_that_are_no_utf8_are_told),
        cmocka_unit_test(marks_that_turn_the_direction_of_writing_are_told),
        cmocka_unit_test(other_text_stays_as_it_is),
        cmocka_unit_test(no_byte_below_blank_ever_comes_out),
        cmocka_unit_test(a_line_is_one_line_whatever_its_arguments_are),
        cmocka_unit_test(long_lines_arrive_whole),
        cmocka_unit_test(a_text_keeps_its_newlines_and_nothing_else),
        cmocka_unit_test(a_broken_line_is_never_wider_than_its_room),
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(a_sentence_that_is_too_long_keeps_its_start_and_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

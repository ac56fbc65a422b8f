/* Some members of a JSON object: as jansson reads them, or left to jansson. */
#include "files.h"
#include "json_pick.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char *const wanted[] = {"a", "b", "errors", NULL};

/* 1: read, and as jansson reads it; 0: left to jansson. */
static int picked(const char *text)
{
    json_t *quick = json_pick(text, strlen(text), wanted),
           *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (quick && !json_is_object(all)) fail_msg("jansson does not read %s", text);
    size_t expected = 0;
    for (int i = 0; quick && wanted[i]; i++) {
        json_t *x = json_object_get(quick, wanted[i]), *y = json_object_get(all, wanted[i]);
        if (x != y && !(x && y && json_equal(x, y))) fail_msg("%s differs in %s", wanted[i], text);
        expected += y != NULL;
    }
    if (quick) assert_int_equal(json_object_size(quick), expected);
    const int is = quick != NULL;
    json_decref(quick);
    json_decref(all);
    return is;
}

TEST(plain_objects_are_read_as_jansson_reads_them)
{
    static const char *const texts[] = {
        "{}",
        " { } ",
        "{\"a\": 1}",
        "{\"a\":-0, \"b\":0.5,\"c\":\"x\"}",
        "{\"c\": [1, {\"d\": \"}\"}], \"b\": true, \"a\": null}\n",
        "{\"errors\": {\"rms\": 1e-07, \"max\": 2.5}, \"a\": \"sgemm:nn:4x4x4\"}",
        "{\"a\": 123456789012345, \"b\": 0.12345678901234}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!picked(texts[i])) fail_msg("not read: %s", texts[i]);
}

TEST(all_else_is_left_to_jansson)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\": 1,}",
        "{\"a\": 1} x",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": 01}",
        "{\"a\": 1.}",
        "{\"a\": .5}",
        "{\"a\": +1}",
        "{\"a\": 1e5}",
        "{\"a\": 1, \"a\": 2}",
        "{\"c\": 1, \"c\": 2}",
        "{\"a\": tru}",
        "{\"a\": nan}",
        "{\"a\": \"\\u0041\"}",
        "{\"a\": \"\xc3\xa9\"}",
        "{\"a\": \"x}",
        "{\"c\": [1, }",
        "{\"c\": {\"d\": 1, \"d\": 1}}",
        "{\"c\": [1}]}",
        "{\"a\": 1234567890123456789012}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (picked(texts[i])) fail_msg("read: %s", texts[i]);
}

TEST(a_key_of_64_bytes_is_left_to_jansson)
{
    char text[100], key[65];
    for (int length = 63; length <= 64; length++) {
        memset(key, 'k', (size_t)length);
        key[length] = '\0';
        snprintf(text, sizeof text, "{\"%s\": 7, \"\": 8}", key);
        json_t *all = json_pick(text, strlen(text), NULL);
        assert_int_equal(all != NULL, length == 63);
        if (all) assert_int_equal(json_integer_value(json_object_get(all, key)), 7);
        if (all) assert_int_equal(json_integer_value(json_object_get(all, "")), 8);
        json_decref(all);
    }
}

/* So that opening is quick. */
TEST(every_line_that_ships_is_read)
{
    static const char *const files[] = {"h200", "h100_sxm"};
    int lines = 0;
    for (int f = 0; f < 2; f++) {
        char path[512];
        size_t length;
        snprintf(path, sizeof path, "%s/configs/winners/%s.jsonl", GT_SOURCE_DIR, files[f]);
        char *text = file_read_bytes(path, &length);
        text[length] = '\0';
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
            if (!picked(line)) fail_msg("not read: %s", line);
        free(text);
    }
    assert_true(lines > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_objects_are_read_as_jansson_reads_them),
        cmocka_unit_test(all_else_is_left_to_jansson),
        cmocka_unit_test(a_key_of_64_bytes_is_left_to_jansson),
        cmocka_unit_test(every_line_that_ships_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

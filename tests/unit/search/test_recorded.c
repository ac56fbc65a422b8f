/* The files of others: both forms of Kernel Tuner, whole, cut off and spoiled. */
#include "import_ours.h"
#include "recorded.h"
#include "spoil.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CACHE GT_SOURCE_DIR "/tests/data/kernel_tuner_cache.json"
#define T4    GT_SOURCE_DIR "/tests/data/kernel_tuner_t4.json"
#define WHOLE GT_SOURCE_DIR "/tests/data/clblast_rtx3090.json.gz"

static struct recorded read_rows(const char *bytes, size_t length)
{
    struct recorded r;
    assert_ok(recorded_open("a file", bytes, length, &r));
    assert_ok(recorded_rows(bytes, length, &r, NULL, NULL));
    return r;
}

static struct recorded read_file(const char *path)
{
    char *bytes;
    size_t length;
    assert_ok(import_read(path, &bytes, &length));
    struct recorded r = read_rows(bytes, length);
    free(bytes);
    return r;
}

TEST(a_cache_file_is_read_with_both_spellings_of_failure)
{
    struct recorded r = read_file(CACHE);
    assert_int_equal(r.format, RECORDED_CACHE);
    assert_string_equal(r.device, "NVIDIA GeForce RTX 3090");
    assert_string_equal(r.kernel, "Xgemm");
    assert_string_equal(r.problem, "[4096,4096]");
    assert_int_equal(json_array_size(r.parameters), 15);
    assert_int_equal(r.rows, 24);
    assert_int_equal(r.counts[RECORDED_CORRECT], 18);
    assert_int_equal(r.counts[RECORDED_CONSTRAINTS], 2);
    assert_int_equal(r.counts[RECORDED_COMPILE], 2);
    assert_int_equal(r.counts[RECORDED_RUNTIME], 2);
    assert_int_equal(r.broken, 0);
    assert_false(r.cut);
    assert_int_equal(json_object_size(r.best), 15);
    recorded_close(&r);
}

TEST(a_t4_file_of_kernel_tuner_itself_is_read)
{
    struct recorded r = read_file(T4);
    assert_int_equal(r.format, RECORDED_T4);
    assert_int_equal(r.rows, 16);
    assert_int_equal(r.counts[RECORDED_CORRECT], 10);
    assert_true(r.best_ms > 20 && r.best_ms < 50);
    assert_int_equal(r.ours, 0);
    recorded_close(&r);
}

static bool check_units(void *self, const struct recorded_row *row)
{
    double *seen = self;
    seen[0] = row->time_ms;
    seen[1] = row->compile_ms;
    return true;
}

TEST(both_spellings_and_every_unit_of_times_are_understood)
{
    static const char *const files[] = {
        "{\"metadata\": {\"timeunit\": \"microseconds\"}, \"results\": [{\"configuration\": {\"x\": 1}, "
        "\"times\": "
        "{\"compilation_time\": 2000, \"runtimes\": [4000, 5000, 6000]}, \"invalidity\": \"correct\", "
        "\"correctness\": 1}]}",
        "{\"results\": [{\"configuration\": {\"x\": 1}, \"times\": {\"compilation\": 0.002, \"runtimes\": "
        "[]}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": 0.005, \"unit\": \"s\"}], \"objectives\": "
        "[\"time\"], "
        "\"invalidity\": \"correct\", \"correctness\": 1}], \"metadata\": {\"timeunit\": \"seconds\"}}"};
    for (int i = 0; i < 2; i++) {
        struct recorded r;
        double seen[2] = {0, 0};
        assert_ok(recorded_open("a file", files[i], strlen(files[i]), &r));
        assert_ok(recorded_rows(files[i], strlen(files[i]), &r, check_units, seen));
        assert_true(fabs(seen[0] - 5) < 1e-9 && fabs(seen[1] - 2) < 1e-9);
        recorded_close(&r);
    }
}

TEST(a_real_file_of_18_thousand_results_is_read_compressed_as_it_is)
{
    struct recorded r = read_file(WHOLE);
    assert_int_equal(r.rows, 17956);
    assert_true(fabs(r.best_ms - 5.6578) < 1e-3);
    recorded_close(&r);
}

TEST(a_file_cut_off_anywhere_is_good_as_far_as_it_goes)
{
    static const char *const files[] = {CACHE, T4};
    for (int i = 0; i < 2; i++) {
        char *bytes;
        size_t length;
        int64_t before = 0;
        assert_ok(import_read(files[i], &bytes, &length));
        for (size_t end = 0; end < length; end += 1 + end % 7) {
            char *part = malloc(end + 1); /* exactly as long, so that a step too far is seen */
            memcpy(part, bytes, end);
            struct recorded r;
            assert_ok(recorded_open("a file", part, end, &r));
            if (r.format != RECORDED_UNKNOWN) {
                assert_ok(recorded_rows(part, end, &r, NULL, NULL));
                if (r.rows < before) fail_msg("%zu bytes: %d results", end, (int)r.rows);
                before = r.rows;
                assert_int_equal(r.broken, 0);
            }
            recorded_close(&r);
            free(part);
        }
        assert_in_range(before, 15, 24);
        free(bytes);
    }
}

TEST(only_the_closing_braces_missing_costs_no_result)
{
    char *bytes;
    size_t length;
    assert_ok(import_read(CACHE, &bytes, &length));
    while (bytes[length - 1] == '}' || bytes[length - 1] == '\n') length--;
    bytes[length++] = '}'; /* of the last entry */
    bytes[length++] = ','; /* as a file that was to go on */
    struct recorded r = read_rows(bytes, length);
    assert_int_equal(r.rows, 24);
    assert_true(r.cut);
    recorded_close(&r);
    free(bytes);
}

static void read_spoiled(const char *bytes, size_t length)
{
    struct recorded r;
    if (!recorded_open("a file", bytes, length, &r) && r.format != RECORDED_UNKNOWN)
        recorded_rows(bytes, length, &r, NULL, NULL);
    recorded_close(&r);
}

TEST(spoiled_files_are_read_or_refused)
{
    static const char *const files[] = {CACHE, T4};
    uint64_t random = 11;
    for (int i = 0; i < 2; i++) {
        char *bytes;
        size_t length;
        assert_ok(import_read(files[i], &bytes, &length));
        for (int j = 0; j < 1500; j++) {
            size_t spoiled;
            char *copy = spoil(bytes, length, &random, &spoiled);
            read_spoiled(copy, spoiled);
            free(copy);
        }
        free(bytes);
    }
}

TEST(nesting_without_end_is_refused)
{
    const size_t length = 1 << 20;
    char *bytes = malloc(length);
    memset(bytes, '[', length);
    memcpy(bytes, "{\"results\":", 11);
    struct recorded r;
    assert_ok(recorded_open("a file", bytes, length, &r));
    assert_int_equal(r.format, RECORDED_T4);
    assert_fails(recorded_rows(bytes, length, &r, NULL, NULL), E_INPUT, "is not JSON");
    recorded_close(&r);
    free(bytes);
}

TEST(what_is_no_results_file_is_told_apart)
{
    static const char *const texts[] = {"",           "{}",    "[]",           "5",
                                        "{\"a\": 1}", "hello", "{\"results\"", "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct recorded r;
        assert_ok(recorded_open("a file", texts[i], strlen(texts[i]), &r));
        assert_int_equal(r.format, RECORDED_UNKNOWN);
        assert_false(winners_here(texts[i], strlen(texts[i])));
        recorded_close(&r);
    }
    char *bytes;
    size_t length;
    assert_fails(import_read("/no/such/file", &bytes, &length), E_IO, "/no/such/file");
    assert_fails(import_read("/tmp", &bytes, &length), E_IO, "regular file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_file_is_read_with_both_spellings_of_failure),
        cmocka_unit_test(a_t4_file_of_kernel_tuner_itself_is_read),
        cmocka_unit_test(both_spellings_and_every_unit_of_times_are_understood),
        cmocka_unit_test(a_real_file_of_18_thousand_results_is_read_compressed_as_it_is),
        cmocka_unit_test(a_file_cut_off_anywhere_is_good_as_far_as_it_goes),
        cmocka_unit_test(only_the_closing_braces_missing_costs_no_result),
        cmocka_unit_test(spoiled_files_are_read_or_refused),
        cmocka_unit_test(nesting_without_end_is_refused),
        cmocka_unit_test(what_is_no_results_file_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "store.h"

#include "exchange_json.h"
#include "export_lists.h"
#include "import_ours.h"
#include "json_pull.h"
#include "recorded.h"
#include "stats.h"

#define GPUS  GT_SOURCE_DIR "/configs/gpus"
#define CACHE GT_SOURCE_DIR "/tests/data/kernel_tuner_cache.json"
#define T4    GT_SOURCE_DIR "/tests/data/kernel_tuner_t4.json"
#define WHOLE GT_SOURCE_DIR "/tests/data/clblast_rtx3090.json.gz"

#define LEGAL                                                                                                \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

/* ---- the files of others ---- */

static struct recorded read_rows(const char *bytes, size_t length)
{
    struct recorded r;
    assert_ok(recorded_open("a file", bytes, length, &r));
    assert_ok(recorded_rows(bytes, length, &r, NULL, NULL));
    return r;
}

TEST(a_cache_file_is_read_with_both_spellings_of_failure)
{
    char *bytes;
    size_t length;
    assert_ok(recorded_read(CACHE, &bytes, &length));
    struct recorded r = read_rows(bytes, length);
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
    free(bytes);
}

TEST(a_t4_file_of_kernel_tuner_itself_is_read)
{
    char *bytes;
    size_t length;
    assert_ok(recorded_read(T4, &bytes, &length));
    struct recorded r = read_rows(bytes, length);
    assert_int_equal(r.format, RECORDED_T4);
    assert_int_equal(r.rows, 16);
    assert_int_equal(r.counts[RECORDED_CORRECT], 10);
    assert_true(r.best_ms > 20 && r.best_ms < 50);
    assert_int_equal(r.ours, 0);
    recorded_close(&r);
    free(bytes);
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
    char *bytes;
    size_t length;
    assert_ok(recorded_read(WHOLE, &bytes, &length));
    struct recorded r = read_rows(bytes, length);
    assert_int_equal(r.rows, 17956);
    assert_true(fabs(r.best_ms - 5.6578) < 1e-3);
    recorded_close(&r);
    free(bytes);
}

TEST(a_file_cut_off_anywhere_is_good_as_far_as_it_goes)
{
    static const char *const files[] = {CACHE, T4};
    for (int i = 0; i < 2; i++) {
        char *bytes;
        size_t length;
        int64_t before = 0;
        assert_ok(recorded_read(files[i], &bytes, &length));
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
    assert_ok(recorded_read(CACHE, &bytes, &length));
    while (bytes[length - 1] == '}' || bytes[length - 1] == '\n') length--;
    bytes[length++] = '}'; /* of the last entry */
    bytes[length++] = ','; /* as a file that was to go on */
    struct recorded r = read_rows(bytes, length);
    assert_int_equal(r.rows, 24);
    assert_true(r.cut);
    recorded_close(&r);
    free(bytes);
}

/* Flip, remove, double and replace bytes: whatever comes out, nothing is read beyond the end and nothing
 * leaks (this runs under the sanitizers). */
static char *spoil(const char *bytes, size_t length, uint64_t *random, size_t *spoiled)
{
    static const char *const words[] = {"null",
                                        "-1",
                                        "1e999",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "\\u0000",
                                        "\xff",
                                        "true",
                                        "NaN",
                                        "\"__error__\"",
                                        "18446744073709551616",
                                        ",",
                                        ":"};
    char *copy = malloc(2 * length + 64);
    memcpy(copy, bytes, length);
    *spoiled = length;
    for (uint64_t n = 1 + stats_random_below(random, 4); n > 0; n--) {
        const size_t at = stats_random_below(random, *spoiled);
        const char *word = words[stats_random_below(random, sizeof words / sizeof *words)];
        const size_t extra = strlen(word);
        switch (stats_random_below(random, 4)) {
        case 0:
            copy[at] = (char)stats_random_below(random, 256);
            break;
        case 1:
            memmove(copy + at + extra, copy + at, *spoiled - at);
            memcpy(copy + at, word, extra);
            *spoiled += extra;
            break;
        case 2: {
            const size_t gone = stats_random_below(random, *spoiled - at < 200 ? *spoiled - at : 200);
            memmove(copy + at, copy + at + gone, *spoiled - at - gone);
            *spoiled -= gone;
            break;
        }
        default:
            if (at + extra <= *spoiled) memcpy(copy + at, word, extra);
        }
    }
    char *exact = malloc(*spoiled + 1);
    memcpy(exact, copy, *spoiled);
    free(copy);
    return exact;
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
        assert_ok(recorded_read(files[i], &bytes, &length));
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
    assert_fails(recorded_read("/no/such/file", &bytes, &length), E_IO, "/no/such/file");
    assert_fails(recorded_read("/tmp", &bytes, &length), E_IO, "regular file");
}

/* ---- our own: winners ---- */

static int64_t fill_winners(struct db *db)
{
    static const char *const problems[] = {"sgemm:nn:64x64x64", "sgemm:tt:100x200x300:batch=3",
                                           "sgemm:nt:1x1x1"};
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    for (int i = 0; i < 3; i++) {
        struct db_winner w = {.cold = true, .exact = true, .time_us = 5 + i, .ratio = 1.2, .ratio_low = 1.19};
        w.ratio_high = 1.21, w.anchor_us = 6, w.rounds = 10, w.trials = 100, w.predicted = i == 2;
        assert_ok(problem_parse(problems[i], &w.problem));
        if (i != 1) assert_ok(config_parse(LEGAL, &w.config));
        assert_ok(db_set_winner(db, run, &w, &w.config, i != 1, NULL, 0));
    }
    return run;
}

static char *export_to_text(struct db *db, size_t *length)
{
    char *text = NULL;
    struct exported exported;
    struct pick_rules rules = {false, false};
    struct db_filter filter = {.gpu = NULL};
    FILE *stream = open_memstream(&text, length);
    assert_ok(export_json_lines(db, &filter, &rules, GPUS, stream, &exported));
    fclose(stream);
    assert_int_equal(exported.written, 3);
    return text;
}

static struct imported import_text(struct db *db, const char *text, size_t length)
{
    struct imported im = {0};
    assert_true(winners_here(text, length));
    assert_ok(db_import_start(db));
    assert_ok(db_import_end(db, import_winners(db, text, length, GPUS, &im)));
    return im;
}

struct seen {
    int count, stale;
    double times;
};

static bool see(void *self, const struct db_winner *w)
{
    struct seen *seen = self;
    seen->count++;
    seen->stale += w->stale;
    seen->times += w->time_us;
    assert_false(w->unusable);
    return true;
}

static struct seen look(struct db *db)
{
    struct seen seen = {0};
    struct db_filter filter = {.gpu = NULL};
    assert_ok(db_winners(db, &filter, NULL, see, &seen));
    return seen;
}

TEST(winners_that_were_exported_are_winners_elsewhere_and_count_as_stale)
{
    char other[160];
    struct db *db = store_open(DB_WRITE), *there;
    size_t length;
    fill_winners(db);
    char *text = export_to_text(db, &length);
    snprintf(other, sizeof other, "%s/other.db", store_folder);
    assert_ok(db_open(other, DB_WRITE, &there));
    for (int again = 0; again < 3; again++) {
        struct imported im = import_text(there, text, length);
        assert_int_equal(im.read, 3);
        assert_int_equal(im.added, again ? 0 : 3);
        assert_int_equal(im.stand, again ? 0 : 3);
        assert_int_equal(im.useless + im.broken, 0);
        struct seen seen = look(there);
        assert_int_equal(seen.count, 3);
        assert_int_equal(seen.stale, 2); /* a prediction rests on nothing that could be stale */
        assert_true(seen.times == 18);
    }
    char findings[512];
    bool clean;
    assert_ok(db_check(there, findings, sizeof findings, &clean));
    assert_true(clean);
    db_close(there);
    db_close(db);
    free(text);
}

TEST(what_was_measured_here_stands_against_what_is_imported)
{
    struct db *db = store_open(DB_WRITE);
    size_t length;
    fill_winners(db);
    char *text = export_to_text(db, &length);
    struct imported im = import_text(db, text, length);
    assert_int_equal(im.added, 3);
    assert_int_equal(im.stand, 0);
    assert_int_equal(look(db).stale, 0);
    db_close(db);
    free(text);
    store_assert_clean();
}

TEST(lines_that_are_no_winners_are_counted_and_cost_the_others_nothing)
{
    struct db *db = store_open(DB_WRITE);
    size_t length;
    fill_winners(db);
    char *text = export_to_text(db, &length), *mixed = NULL;
    size_t mixed_length;
    FILE *stream = open_memstream(&mixed, &mixed_length);
    fprintf(
        stream,
        "\n{\"problem\": 5}\n%s{\"problem\": \"x\", \"config\": \"y\"}\nnot JSON at all\n[1,2]\n\n{\"problem",
        text);
    fclose(stream);
    struct imported im = import_text(db, mixed, mixed_length);
    assert_int_equal(im.added, 3);
    assert_int_equal(im.broken, 5);
    assert_non_null(strstr(im.first_broken, "line 2"));
    db_close(db);
    free(text);
    free(mixed);
}

TEST(spoiled_lines_never_spoil_the_database)
{
    struct db *db = store_open(DB_WRITE);
    size_t length, spoiled;
    uint64_t random = 5;
    fill_winners(db);
    char *text = export_to_text(db, &length);
    for (int i = 0; i < 1500; i++) {
        char *copy = spoil(text, length, &random, &spoiled);
        struct imported im = {0};
        if (winners_here(copy, spoiled)) {
            assert_ok(db_import_start(db));
            assert_ok(db_import_end(db, import_winners(db, copy, spoiled, GPUS, &im)));
        }
        free(copy);
    }
    look(db);
    db_close(db);
    free(text);
    store_assert_clean();
}

TEST(an_array_of_winners_is_read_too)
{
    struct db *db = store_open(DB_WRITE);
    size_t length, array_length;
    fill_winners(db);
    char *text = export_to_text(db, &length), *array = NULL;
    FILE *stream = open_memstream(&array, &array_length);
    putc('[', stream);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        fprintf(stream, "%s%s", line == text ? "" : ",", line);
    fputs("]", stream);
    fclose(stream);
    assert_int_equal(import_text(db, array, array_length).added, 3);
    assert_int_equal(import_text(db, array, array_length - 40).added, 0);
    db_close(db);
    free(text);
    free(array);
}

/* ---- our own: trials ---- */

static char *export_trials(struct db *db, size_t *length, struct exported *exported)
{
    char *text = NULL;
    struct db_filter filter = {.gpu = NULL};
    FILE *stream = open_memstream(&text, length);
    assert_ok(export_t4(db, &filter, "test", stream, exported));
    fclose(stream);
    return text;
}

static void fill_trials(struct db *db)
{
    struct db_context context = store_context();
    context.gpu.memory_gb_per_s = 4801; /* no descriptor says so: the figures travel with the file */
    int64_t run = store_run(db, &context);
    struct problem p = problem_make(64, 64, 64), q = problem_make(128, 64, 64);
    for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
        struct config config = store_config(verdict + 1);
        struct outcome o = store_outcome(10 + verdict);
        if (verdict != VERDICT_MEASURED && verdict != VERDICT_SLOW)
            o = outcome_failed((enum verdict)verdict, "because \"%d\" \xff\n", verdict), o.cold = true;
        o.verdict = (enum verdict)verdict;
        if (verdict == VERDICT_PREDICTED) o.time_us = 3;
        store_trial(db, run, &p, &config, &o);
        store_trial(db, run, &q, &config, &o);
    }
}

TEST(trials_that_were_exported_are_found_elsewhere)
{
    char other[160];
    struct db *db = store_open(DB_WRITE), *there;
    struct exported exported;
    struct db_counts counts;
    size_t length;
    fill_trials(db);
    char *text = export_trials(db, &length, &exported);
    assert_int_equal(exported.written, 2 * (VERDICT_COUNT - 1));
    assert_int_equal(exported.predicted, 2);
    snprintf(other, sizeof other, "%s/other.db", store_folder);
    assert_ok(db_open(other, DB_WRITE, &there));
    for (int again = 0; again < 2; again++) {
        struct recorded r;
        struct imported im = {0};
        assert_ok(recorded_open("a file", text, length, &r));
        assert_ok(db_import_start(there));
        assert_ok(db_import_end(there, import_trials(there, text, length, &r, &im)));
        assert_int_equal(r.ours, r.rows);
        assert_int_equal(im.read, exported.written);
        assert_int_equal(im.added, again ? 0 : exported.written);
        assert_int_equal(im.broken, 0);
        recorded_close(&r);
    }
    assert_ok(db_count(there, &counts));
    assert_int_equal(counts.trials, exported.written);
    assert_int_equal(counts.winners, 0);

    struct db_context context = store_context();
    struct problem p = problem_make(64, 64, 64);
    struct config config = store_config(1 + VERDICT_SLOW);
    struct outcome found, original = store_outcome(10 + VERDICT_SLOW);
    bool stale;
    assert_ok(db_find(there, &context, &p, &config, &found, &stale));
    assert_true(stale);
    assert_int_equal(found.verdict, VERDICT_SLOW);
    assert_true(found.time_us == original.time_us && found.sample_count == original.sample_count);
    assert_memory_equal(found.samples_us, original.samples_us, 3 * sizeof(double));
    assert_int_equal(found.state.throttle_reasons, original.state.throttle_reasons);

    /* A tuner goes on behind them. */
    int64_t run = store_run(there, &context);
    store_trial(there, run, &p, &config, &original);
    assert_ok(db_find(there, &context, &p, &config, &found, &stale));
    assert_false(stale);
    char findings[512];
    bool clean;
    assert_ok(db_check(there, findings, sizeof findings, &clean));
    if (!clean) fail_msg("%s", findings);
    db_close(there);
    db_close(db);
    free(text);
}

TEST(an_exported_t4_file_is_what_its_schema_asks_for)
{
    struct db *db = store_open(DB_WRITE);
    struct exported exported;
    size_t length, i;
    fill_trials(db);
    char *text = export_trials(db, &length, &exported);
    json_error_t error;
    json_t *file = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error), *result;
    if (!file) fail_msg("%s", error.text);
    assert_string_equal(json_string_value(json_object_get(file, "schema_version")), "1.0.0");
    assert_string_equal(json_string_value(json_object_get(json_object_get(file, "metadata"), "timeunit")),
                        "milliseconds");
    static const char *const verdicts[] = {"correct",     "correct", "correctness", "compile",
                                           "constraints", "runtime", "runtime",     "timeout"};
    json_array_foreach(json_object_get(file, "results"), i, result)
    {
        const json_t *times = json_object_get(result, "times");
        assert_true(json_is_string(json_object_get(result, "timestamp")));
        assert_true(json_is_integer(json_object_get(json_object_get(result, "configuration"), "BM")));
        assert_true(json_is_array(json_object_get(times, "runtimes")));
        assert_true(json_is_number(json_object_get(times, "compilation_time")));
        assert_true(json_is_number(json_object_get(times, "compilation")));
        assert_true(json_is_number(json_object_get(times, "benchmark")));
        assert_true(json_is_number(json_object_get(result, "correctness")));
        assert_string_equal(json_string_value(json_object_get(result, "invalidity")), verdicts[i / 2]);
        const json_t *time =
            json_object_get(json_array_get(json_object_get(result, "measurements"), 0), "value");
        if (i < 4) assert_true(fabs(json_number_value(time) - (10 + (double)(i / 2)) / 1e3) < 1e-12);
    }
    assert_int_equal(i, 2 * (VERDICT_COUNT - 1));
    json_decref(file);
    free(text);
    db_close(db);
}

TEST(spoiled_trials_never_spoil_the_database)
{
    struct db *db = store_open(DB_WRITE);
    struct exported exported;
    size_t length, spoiled;
    uint64_t random = 9;
    fill_trials(db);
    char *text = export_trials(db, &length, &exported);
    for (int i = 0; i < 500; i++) {
        char *copy = spoil(text, length, &random, &spoiled);
        struct recorded r;
        struct imported im = {0};
        if (!recorded_open("a file", copy, spoiled, &r) && r.gpus) {
            assert_ok(db_import_start(db));
            enum status st = db_import_end(db, import_trials(db, copy, spoiled, &r, &im));
            if (st != OK && st != E_INPUT) fail_msg("%d: %s", st, status_text());
        }
        recorded_close(&r);
        free(copy);
    }
    free(text);
    db_close(db);
    store_assert_clean();
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
        cmocka_unit_test_setup_teardown(winners_that_were_exported_are_winners_elsewhere_and_count_as_stale,
                                        store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_was_measured_here_stands_against_what_is_imported, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(lines_that_are_no_winners_are_counted_and_cost_the_others_nothing,
                                        store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(spoiled_lines_never_spoil_the_database, store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(an_array_of_winners_is_read_too, store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(trials_that_were_exported_are_found_elsewhere, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(an_exported_t4_file_is_what_its_schema_asks_for, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(spoiled_trials_never_spoil_the_database, store_setup, store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Our own files: what is exported from one database comes back in another. */
#include "store.h"

#include "exchange_json.h"
#include "export_lists.h"
#include "import_ours.h"
#include "spoil.h"

#define GPUS GT_SOURCE_DIR "/configs/gpus"

#define LEGAL                                                                                                \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

/* ---- winners ---- */

static int64_t fill_winners(struct db *db)
{
    static const char *const problems[] = {"sgemm:nn:64x64x64", "sgemm:tt:100x200x300:batch=3",
                                           "sgemm:nt:1x1x1"};
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    for (int i = 0; i < 3; i++) {
        struct db_winner w = {.base.cold = true,
                              .base.exact = true,
                              .base.time_us = 5 + i,
                              .base.ratio = 1.2,
                              .base.ratio_low = 1.19};
        w.base.ratio_high = 1.21, w.base.anchor_us = 6, w.rounds = 10, w.trials = 100,
        w.base.predicted = i == 2;
        if (i == 0) w.rival_errors = (struct db_errors){true, 1e-7, 2e-8, 1e-6};
        assert_ok(problem_parse(problems[i], &w.base.problem));
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
    assert_ok(export_json_lines(db, &filter, NULL, &rules, GPUS, stream, &exported));
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
    seen->times += w->base.time_us;
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

/* As the file has it until it is measured anew. */
TEST(an_imported_winner_that_failed_here_is_none_until_a_newer_one_is_imported)
{
    const struct db_context context = store_context();
    const struct outcome wrong = outcome_failed(VERDICT_WRONG, "told to");
    const struct problem problem = problem_make(64, 64, 64);
    struct config config;
    struct db *db = store_open(DB_WRITE);
    size_t length;
    fill_winners(db);
    char *text = export_to_text(db, &length);
    assert_ok(config_parse(LEGAL, &config));
    store_trial(db, store_run(db, &context), &problem, &config, &wrong);
    assert_int_equal(look(db).count, 2);
    import_text(db, text, length);
    assert_int_equal(look(db).count, 2);
    for (char *when = text; (when = strstr(when, "\"when\": \"20"));) memcpy(when + 9, "29", 2);
    import_text(db, text, length);
    assert_int_equal(look(db).count, 3);
    db_close(db);
    free(text);
}

TEST(a_winner_of_a_kernel_that_this_program_does_not_have_is_left_out)
{
    static const char key[] = "\"template_hash\": \"";
    struct db *db = store_open(DB_WRITE);
    char other[160];
    size_t length;
    fill_winners(db);
    char *text = export_to_text(db, &length);
    db_close(db);
    memcpy(strstr(text, key) + sizeof key - 1, "96e908e2942d6e52", 16);
    snprintf(other, sizeof other, "%s/other.db", store_folder);
    assert_ok(db_open(other, DB_WRITE, &db));
    const struct imported im = import_text(db, text, length);
    assert_int_equal(im.useless, 1);
    assert_int_equal(im.added, 2);
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

/* ---- trials ---- */

static char *export_trials(struct db *db, size_t *length, struct exported *exported)
{
    char *text = NULL;
    struct db_filter filter = {.gpu = NULL};
    FILE *stream = open_memstream(&text, length);
    assert_ok(export_t4(db, &filter, NULL, "test", stream, exported));
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
        json_t *gpus;
        bool here;
        struct imported im = {0};
        assert_ok(trials_here("a file", text, length, &here, &gpus));
        assert_true(here);
        assert_ok(db_import_start(there));
        assert_ok(db_import_end(there, import_trials(there, "a file", text, length, gpus, &im)));
        assert_int_equal(im.read, exported.written);
        assert_int_equal(im.added, again ? 0 : exported.written);
        assert_int_equal(im.broken, 0);
        json_decref(gpus);
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

/* A cut off file is taken as far as it goes; what others wrote is told apart. */
TEST(trials_of_t4_files_are_taken_as_far_as_they_are_ours)
{
    static const struct {
        const char *text, *why;
        bool here, ours;
    } files[] = {{"{\"results\": []}", NULL, true, false},
                 {"{\"cache\": {}}", NULL, false, false},
                 {"[]", NULL, false, false},
                 {"{\"metadata\": {\"gemmtune\": {\"gpus\": []}}, \"results\": [{", NULL, true, true},
                 {"{\"results\": [], \"results\": []}", "a key comes twice", true, false},
                 {"{\"results\": [], x}", "not JSON at byte 16", true, false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bool here;
        json_t *gpus;
        enum status st = trials_here("a file", files[i].text, strlen(files[i].text), &here, &gpus);
        if (files[i].why) assert_fails(st, E_INPUT, files[i].why);
        else assert_ok(st);
        assert_int_equal(here, files[i].here);
        assert_int_equal(gpus != NULL, files[i].ours);
        json_decref(gpus);
    }
    struct db *db = store_open(DB_WRITE);
    struct exported exported;
    struct imported im = {0}, other = {0};
    size_t length;
    bool here;
    json_t *gpus;
    fill_trials(db);
    char *text = export_trials(db, &length, &exported);
    static const char foreign[] = "{\"results\": [{\"configuration\": {\"BM\": 1}}, 7]}";
    assert_ok(trials_here("a file", text, length, &here, &gpus));
    assert_ok(db_import_start(db));
    enum status st = import_trials(db, "a file", text, length - 40, gpus, &im);
    if (!st) st = import_trials(db, "other", foreign, strlen(foreign), gpus, &other);
    assert_ok(db_import_end(db, st));
    assert_int_equal(im.read, exported.written - 1); /* the last one is cut */
    assert_int_equal(im.broken, 0);
    assert_int_equal(other.broken, 2);
    assert_non_null(strstr(other.first_broken, "no trial of tune export"));
    json_decref(gpus);
    free(text);
    store_close_clean(db);
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
        json_t *gpus;
        bool here;
        struct imported im = {0};
        if (!trials_here("a file", copy, spoiled, &here, &gpus) && here && gpus) {
            assert_ok(db_import_start(db));
            enum status st = db_import_end(db, import_trials(db, "a file", copy, spoiled, gpus, &im));
            if (st != OK && st != E_INPUT) fail_msg("%d: %s", st, status_text());
        }
        json_decref(gpus);
        free(copy);
    }
    free(text);
    store_close_clean(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_imported_winner_that_failed_here_is_none_until_a_newer_one_is_imported),
        STORE_TEST(winners_that_were_exported_are_winners_elsewhere_and_count_as_stale),
        STORE_TEST(a_winner_of_a_kernel_that_this_program_does_not_have_is_left_out),
        STORE_TEST(what_was_measured_here_stands_against_what_is_imported),
        STORE_TEST(lines_that_are_no_winners_are_counted_and_cost_the_others_nothing),
        STORE_TEST(spoiled_lines_never_spoil_the_database),
        STORE_TEST(an_array_of_winners_is_read_too),
        STORE_TEST(trials_that_were_exported_are_found_elsewhere),
        STORE_TEST(an_exported_t4_file_is_what_its_schema_asks_for),
        STORE_TEST(trials_of_t4_files_are_taken_as_far_as_they_are_ours),
        STORE_TEST(spoiled_trials_never_spoil_the_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

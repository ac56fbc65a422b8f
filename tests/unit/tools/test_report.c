/* tune report: which trials the page has, and how they are packed. tests/report/test_page.py looks at the
 * page. */
#include "files.h"
#include "readers.h"

#include "report_page.h"

/* So many trials, each 10 us slower than the one before, with one in the middle that is the fastest. */
static struct db_filter store_trials(struct db **db, int count, struct problem *problem)
{
    *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(*db, &context);
    *problem = problem_make(4096, 4096, 4096);
    for (int i = 0; i < count; i++) {
        const struct config config = store_config(i);
        const struct outcome o = i % 7 == 3 ? outcome_failed(VERDICT_WRONG, "C[%d,0] is wrong", i)
                                            : store_outcome(i == count / 2 + 1 ? 1 : 1000 + 10 * i);
        store_trial(*db, run, problem, &config, &o);
    }
    return (struct db_filter){.problem = problem};
}

static int words(const char *text)
{
    int count = *text != '\0';
    for (; *text; text++) count += *text == ' ';
    return count;
}

TEST(few_trials_are_packed_as_they_are)
{
    struct db *db;
    struct problem problem;
    json_t *trials = NULL;
    const struct db_filter filter = store_trials(&db, 20, &problem);
    const bool same = store_outcome(1).cold;
    assert_ok(report_trials(db, &filter, same, 100, &trials));
    assert_int_equal(number_of(trials, "total"), words(text_of(trials, "times_us")));
    const size_t n = strlen(text_of(trials, "family"));
    assert_int_equal(n, number_of(trials, "total"));
    assert_int_equal(words(text_of(trials, "seconds")), n);
    assert_int_equal(strlen(text_of(trials, "verdict")), n);
    const json_t *family = json_array_get(json_object_get(trials, "families"), 0);
    assert_string_equal(text_of(family, "name"), "simt");
    const size_t parameters = json_array_size(json_object_get(family, "parameters"));
    assert_int_equal(strlen(text_of(trials, "letters")), n * parameters);
    /* The last parameters count up, and their letters say so. */
    const json_t *values = json_array_get(json_object_get(family, "values"), parameters - 1);
    const char letter = text_of(trials, "letters")[2 * parameters - 1];
    const struct config second = store_config(1);
    assert_int_equal(json_integer_value(json_array_get(values, (size_t)(letter - 'A'))),
                     second.value[parameters - 1]);
    json_decref(trials);
    assert_ok(report_trials(db, &filter, !same, 100, &trials));
    assert_true(json_is_null(trials));
    json_decref(trials);
    db_close(db);
}

TEST(of_many_trials_the_fastest_and_an_even_choice_are_kept)
{
    struct db *db;
    struct problem problem;
    json_t *trials = NULL;
    const struct db_filter filter = store_trials(&db, 300, &problem);
    assert_ok(report_trials(db, &filter, true, 60, &trials));
    const int kept = words(text_of(trials, "times_us"));
    assert_true(kept > 30 && kept <= 75);
    assert_true(number_of(trials, "total") > 250);
    assert_non_null(strstr(text_of(trials, "times_us"), " 1 "));
    assert_int_equal(strncmp(text_of(trials, "times_us"), "1000 1010 1020 ", 15), 0);
    json_decref(trials);
    db_close(db);
}

/* A reader of HTML ends a script at the first of these, wherever it stands. */
TEST(no_text_ends_the_script_that_holds_the_figures)
{
    char page[160];
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    snprintf(context.driver, sizeof context.driver, "</script><!--<b>");
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct config config = legal(0);
    const struct db_winner w = store_winner(&problem, &config);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
    snprintf(page, sizeof page, "%s/page.html", store_folder);
    char *printed = NULL;
    assert_ok(RUN(cmd_report, &printed, "-o", page));
    free(printed);
    const char *text = file_text(page);
    assert_non_null(strstr(text, "\\u003c/script>\\u003c!--\\u003cb>"));
    assert_null(strstr(text, "</script><!--<b>"));
}

static json_t *columns_of(const char *rows)
{
    json_t *list = json_loads(rows, 0, NULL), *columns = NULL;
    assert_non_null(list);
    assert_non_null(columns = report_columns(list));
    json_decref(list);
    return columns;
}

static void assert_column(const json_t *columns, const char *key, const char *expected)
{
    char *text = json_dumps(json_object_get(columns, key), JSON_COMPACT | JSON_REAL_PRECISION(REPORT_DIGITS));
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

TEST(a_column_has_each_value_once)
{
    json_t *columns = columns_of("[{\"gpu\": \"a\", \"used\": \"x\", \"us\": 1.5, \"why\": null},"
                                 " {\"gpu\": \"a\", \"used\": null, \"us\": 2.5, \"change\": \"new\"},"
                                 " {\"gpu\": \"a\", \"used\": \"x\", \"us\": 3.00000001},"
                                 " {\"gpu\": \"a\", \"used\": null, \"us\": 3.00000002}]");
    assert_column(columns, "gpu", "{\"same\":\"a\"}");
    assert_column(columns, "used", "{\"of\":[\"x\",null],\"at\":\"ABAB\"}");
    assert_column(columns, "us", "[1.5,2.5,3.0,3.0]");
    assert_column(columns, "why", "{\"same\":null}");
    assert_column(columns, "change", "{\"of\":[null,\"new\"],\"at\":\"ABAA\"}");
    json_decref(columns);
}

TEST(words_of_configurations_are_columns)
{
    json_t *columns =
        columns_of("[{\"configuration\": \"simt BM=8 BN=8\"}, {\"configuration\": \"simt BM=16\"},"
                   " {\"configuration\": null}, {\"configuration\": \"simt BM=8 BN=8\"}]");
    assert_column(columns, "configuration",
                  "{\"words\":[{\"of\":[\"simt\",null],\"at\":\"AABA\"},"
                  "[\"BM=8\",\"BM=16\",null,\"BM=8\"],{\"of\":[\"BN=8\",null],\"at\":\"ABBA\"}]}");
    json_decref(columns);
}

/* 65 values in 130 rows: two digits each. */
TEST(many_values_have_more_digits)
{
    json_t *rows = json_array();
    for (int i = 0; i < 130; i++) json_array_append_new(rows, json_pack("{s:i}", "n", i % 65));
    json_t *columns = report_columns(rows);
    const json_t *n = json_object_get(columns, "n");
    assert_int_equal(json_array_size(json_object_get(n, "of")), 65);
    const char *at = text_of(n, "at");
    assert_int_equal(strlen(at), 260);
    assert_memory_equal(at, "AAABAC", 6);
    assert_memory_equal(at + 126, "A_BAAAAB", 8);
    json_decref(columns);
    json_decref(rows);
}

/* What is due, as the page has it: only this machine's own GPU can race it again. */
TEST(due_are_winners_of_this_gpu_alone)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context then = store_context();
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct config config = legal(0);
    const struct db_winner w = store_winner(&problem, &config);
    assert_ok(db_set_winner(db, store_run(db, &then), &w, NULL, 0, NULL, 0));
    struct db_context here = then, elsewhere = then;
    snprintf(here.driver, sizeof here.driver, "999.99");
    elsewhere = here;
    snprintf(elsewhere.gpu.name, sizeof elsewhere.gpu.name, "another GPU");
    const struct {
        const struct db_context *now;
        const char *due, *state;
    } cases[] = {{&here, "{\"same\":\"race\"}", "{\"same\":\"stale\"}"},
                 {&then, "{\"same\":null}", "{\"same\":\"ok\"}"},
                 {&elsewhere, "{\"same\":null}", "{\"same\":\"ok\"}"},
                 {NULL, "{\"same\":null}", "{\"same\":\"ok\"}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *data = NULL;
        const struct report_wanted wanted = {.db = db, .file = "", .now = cases[i].now, .command = ""};
        assert_ok(report_data(&wanted, &data));
        assert_column(json_object_get(data, "columns"), "due", cases[i].due);
        assert_column(json_object_get(data, "columns"), "state", cases[i].state);
        json_decref(data);
    }
    db_close(db);
}

/* Imported ones are due everywhere by the database, but not in a page on a machine without their GPU. */
TEST(imported_winners_are_called_so)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct config config = legal(0);
    const struct db_winner w = store_winner(&problem, &config);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    assert_ok(db_exec(db, "UPDATE runs SET protocol = 0", "import"));
    json_t *data = NULL;
    struct report_wanted wanted = {.db = db, .file = "", .command = ""};
    assert_ok(report_data(&wanted, &data));
    assert_column(json_object_get(data, "columns"), "state", "{\"same\":\"imported\"}");
    assert_column(json_object_get(data, "columns"), "due", "{\"same\":null}");
    json_decref(data);
    wanted.now = &context;
    assert_ok(report_data(&wanted, &data));
    assert_column(json_object_get(data, "columns"), "due", "{\"same\":\"race\"}");
    json_decref(data);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {READER_TEST(few_trials_are_packed_as_they_are),
                                       READER_TEST(of_many_trials_the_fastest_and_an_even_choice_are_kept),
                                       READER_TEST(no_text_ends_the_script_that_holds_the_figures),
                                       READER_TEST(a_column_has_each_value_once),
                                       READER_TEST(words_of_configurations_are_columns),
                                       READER_TEST(many_values_have_more_digits),
                                       READER_TEST(due_are_winners_of_this_gpu_alone),
                                       READER_TEST(imported_winners_are_called_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

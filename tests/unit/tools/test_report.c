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

int main(void)
{
    const struct CMUnitTest tests[] = {READER_TEST(few_trials_are_packed_as_they_are),
                                       READER_TEST(of_many_trials_the_fastest_and_an_even_choice_are_kept),
                                       READER_TEST(no_text_ends_the_script_that_holds_the_figures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

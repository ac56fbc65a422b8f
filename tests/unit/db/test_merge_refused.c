/* What a merge refuses, and what it passes over. */
#include "merge_files.h"

static void spoil(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

TEST(a_spoiled_file_is_refused_and_nothing_of_the_others_is_taken)
{
    static const char *const spoils[] = {
        "UPDATE trials SET time_us = 0.001 WHERE id = 1",
        "UPDATE trials SET run_id = 77 WHERE id = 1",
        "UPDATE decisions SET ratio = 99.0",
        "UPDATE winners SET decision_id = 2 WHERE decision_id = 1",
        "UPDATE configs SET text = 'simt BM=1' WHERE id = 1",
        "UPDATE problems SET text = 'sgemm:nn:1x1x1' WHERE id = 1",
        "DELETE FROM gpus",
        "UPDATE gpus SET name = 'NVIDIA H900'",
        "UPDATE runs SET how = 'x' || char(0) || 'y'",
        "UPDATE decision_samples SET time_us = -1.0",
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM winners; END",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 5"};
    struct db_merged merged;
    fill(0);
    struct db *db = open_at(paths[FILES], DB_WRITE);
    struct db_context context = store_context();
    store_run(db, &context);
    db_close(db);
    char *before = content(paths[FILES]);
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        unlink(paths[1]);
        fill(1);
        spoil(paths[1], spoils[i]);
        /* Once as little, once as so much that the indices would be built at its end. */
        const char *inputs[6] = {paths[0], paths[0], paths[0], paths[0], paths[0], paths[1]};
        for (int from = 0; from < 5; from += 4) {
            enum status st = merge_into(paths[FILES], inputs + from, 6 - from, &merged);
            if (st != E_DB) fail_msg("%s: status %d, %s", spoils[i], st, status_text());
            char *after = content(paths[FILES]);
            assert_string_equal(before, after);
            free(after);
        }
    }
    free(before);
}

/* Each of these changes, with the right hashes, in a file of its own. part: of the message. */
static void assert_refused(const char *const *updates, size_t count, const char *part)
{
    const char *inputs[1] = {paths[1]};
    struct db_merged merged;
    for (size_t i = 0; i < count; i++) {
        unlink(paths[1]);
        fill(1);
        change(paths[1], updates[i]);
        const enum status st = merge_into(paths[FILES], inputs, 1, &merged);
        if (st != E_DB) fail_msg("%s: status %d", updates[i], st);
        assert_non_null(strstr(status_text(), part));
    }
}

#define UNCHECKED "PRAGMA ignore_check_constraints = ON; "

/* Values that a careful attacker gave the right hashes. */
TEST(impossible_values_with_right_hashes_are_refused)
{
    static const char *const updates[] = {
        "UPDATE gpu_figures SET threads_per_sm = -4",
        "UPDATE gpus SET arch = 1",
        "UPDATE runs SET driver = printf('%.100c', 'x')",
        "UPDATE decisions SET time_us = -1.0",
        "UPDATE decisions SET ratio_high = 9e99",
        "UPDATE configs SET template = 'ladder_naive'",
        "UPDATE trials SET worst_error = -1.0",
        /* what only the schema's CHECKs forbid, which no reader applies */
        UNCHECKED "UPDATE decision_errors SET who = 'nobody'",
        UNCHECKED "UPDATE trials SET verdict = 'odd' WHERE id = 3",
        UNCHECKED "UPDATE trials SET cold = 2 WHERE id = 3",
        UNCHECKED "UPDATE trials SET exact = -1 WHERE id = 3",
        UNCHECKED "UPDATE runs SET cold = 2",
        UNCHECKED "UPDATE decisions SET tied = 3",
        UNCHECKED "UPDATE decisions SET predicted = 3",
        UNCHECKED "UPDATE decisions SET exact = 3",
    };
    assert_refused(updates, sizeof updates / sizeof *updates, "impossible");
}

struct refused {
    int numbers[8], count;
    char last[300];
};

static void note_refused(void *self, int number, enum status st)
{
    struct refused *refused = self;
    assert_true(st == E_DB || st == E_ABSENT);
    refused->numbers[refused->count++ % 8] = number;
    snprintf(refused->last, sizeof refused->last, "%s", status_text());
}

/* Of several files one is not there, and one is damaged in each of these ways, or impossible. */
TEST(the_sound_files_are_merged_without_the_others)
{
    static const char *const updates[] = {"UPDATE gpus SET arch = 1", "UPDATE decisions SET time_us = -1.0",
                                          "UPDATE decisions SET ratio_high = 9e99",
                                          "UPDATE configs SET template = 'ladder_naive'",
                                          "UPDATE trials SET worst_error = -1.0"};
    const char *inputs[4] = {paths[0], "/nowhere/at.db", paths[1], paths[2]},
               *sound[2] = {paths[0], paths[2]};
    struct db_merged merged;
    fill(0);
    fill(2);
    assert_ok(merge_into(paths[FILES], sound, 2, &merged));
    const int64_t trials = merged.trials;
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        struct refused refused = {.count = 0};
        const struct db_refusal refusal = {.visit = note_refused, .self = &refused};
        unlink(paths[1]);
        unlink(paths[FILES + 1]);
        fill(1);
        change(paths[1], updates[i]);
        struct db *db = open_at(paths[FILES + 1], DB_WRITE);
        assert_ok(db_merge_sound(db, inputs, 4, &refusal, &merged));
        db_close(db);
        assert_int_equal(refused.count, 2);
        assert_int_equal(refused.numbers[0], 1);
        assert_int_equal(refused.numbers[1], 2);
        assert_non_null(strstr(refused.last, "impossible"));
        assert_int_equal(merged.trials, trials);
        assert_same(paths[FILES], paths[FILES + 1]);
        assert_clean(paths[FILES + 1]);
    }
}

/* Files 0 and 2, of the same GPU: both have trials and a winner of one problem that a later version knows. */
TEST(rows_of_a_later_version_are_merged_as_they_are)
{
    static const char later[] = "UPDATE problems SET text = 'sgemm:nn:128x64x32:epilogue=swish', "
                                "epilogue = 'swish' WHERE m = 128";
    struct db_merged merged;
    fill(0);
    fill(2);
    change(paths[0], later);
    change(paths[2], later);
    const char *inputs[2] = {paths[0], paths[2]}, *reversed[2] = {paths[2], paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
    assert_int_equal(merged.trials, 12);
    assert_int_equal(merged.decisions, 4);
    assert_int_equal(merged.problems, 2);
    assert_ok(merge_into(paths[FILES + 1], reversed, 2, &merged));
    assert_same(paths[FILES], paths[FILES + 1]);
    assert_ok(merge_into(paths[FILES + 1], inputs, 2, &merged));
    assert_int_equal(merged.trials + merged.decisions + merged.winners, 0);
    assert_clean(paths[FILES]);
    struct db *db = open_at(paths[FILES], DB_READ);
    struct binder b = db_bind(db, "SELECT count(*) FROM winners w JOIN problems p ON p.id = w.problem_id "
                                  "JOIN decisions d ON d.id = w.decision_id WHERE p.epilogue = 'swish' "
                                  "AND d.time_us = 12"); /* the newer one */
    int64_t winners;
    assert_ok(db_integer(db, &b, &winners, "count"));
    assert_int_equal(winners, 1);
    db_close(db);
}

/* What this version can tell of any problem. */
TEST(a_problem_that_no_version_can_have_is_refused)
{
    static const char *const updates[] = {
        "UPDATE problems SET text = 'latergemm:nn:128x64x32' WHERE m = 128", /* not of its type */
        "UPDATE problems SET text = 'nothing', type = 'nothing' WHERE m = 128",
        "UPDATE problems SET text = 'later gemm:nn:1x1x1', type = 'later gemm' WHERE m = 128",
        "UPDATE problems SET text = 'latergemm:nn:1x1x1', type = 'latergemm', k = -1 WHERE m = 128"};
    assert_refused(updates, sizeof updates / sizeof *updates, "");
}

TEST(what_is_no_file_of_ours_is_refused)
{
    struct db_merged merged;
    const char *inputs[1] = {"/nowhere/at.db"};
    assert_fails(merge_into(paths[FILES], inputs, 1, &merged), E_ABSENT, "/nowhere/at.db");
    FILE *text = fopen(paths[0], "w");
    for (int i = 0; i < 100; i++) fputs("these are not the bytes of a database\n", text);
    fclose(text);
    inputs[0] = paths[0];
    assert_fails(merge_into(paths[FILES], inputs, 1, &merged), E_DB, paths[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_spoiled_file_is_refused_and_nothing_of_the_others_is_taken, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(impossible_values_with_right_hashes_are_refused, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(the_sound_files_are_merged_without_the_others, setup, store_teardown),
        cmocka_unit_test_setup_teardown(rows_of_a_later_version_are_merged_as_they_are, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(a_problem_that_no_version_can_have_is_refused, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_of_ours_is_refused, setup, store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

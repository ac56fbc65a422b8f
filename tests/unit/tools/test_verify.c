/* tune verify: what it finds in a database. */
#include "db_files.h"
#include "readers.h"

TEST(verify_finds_nothing_in_a_whole_database)
{
    make_measured();
    json_t *rows = RUN_JSON(cmd_verify, OK, "--gpu", "h200"), *row;
    size_t i, winners = 0;
    json_array_foreach(rows, i, row)
    {
        assert_string_equal(text_of(row, "result"), "ok");
        winners += strcmp(text_of(row, "check"), "winner") == 0;
    }
    assert_int_equal(winners, 1);
    json_decref(rows);
}

TEST(verify_tells_damage_from_winners_that_are_out_of_date)
{
    make_measured();
    meddle("UPDATE configs SET kernel_hash = kernel_hash + 1, hash = randomblob(16)");
    char *printed;
    assert_int_equal(RUN(cmd_verify, &printed, "--format", "csv"), E_DB); /* content and hash disagree */
    assert_non_null(strstr(printed, "content of configurations,damaged,"));
    free(printed);
    unlink(store_path);
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = {.base.problem = problem_make(64, 64, 64),
                          .config = store_config(0),
                          .base.cold = true,
                          .base.time_us = 1};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
    assert_int_equal(RUN(cmd_verify, &printed, "--format", "csv"), E_ABSENT); /* its rules refuse it */
    assert_non_null(strstr(printed, "winner,unusable,"));
    assert_non_null(strstr(status_text(), "1 of 1 winner in"));
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(verify_finds_nothing_in_a_whole_database),
        READER_TEST(verify_tells_damage_from_winners_that_are_out_of_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

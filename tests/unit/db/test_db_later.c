/* Rows whose problem only a later version can read: left alone by what this one lists. */
#include "store.h"

#include "db_exchange.h"

/* Changes problems without their trials' hashes, which lists do not read. */
static void change_problems(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

static bool count_trial(void *self, const struct db_trial *trial)
{
    assert_int_equal(trial->problem.m, 64);
    ++*(int *)self;
    return true;
}

static bool count_dumped(void *self, const struct db_full_trial *trial)
{
    assert_int_equal(trial->problem.m, 64);
    ++*(int *)self;
    return true;
}

/* A run with 4 trials of 64x64x64, then 3 and a winner of 65x64x64. */
static int64_t store_two_problems(void)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    const struct problem known = problem_make(64, 64, 64), other = problem_make(65, 64, 64);
    const int64_t run = store_run(db, &context);
    for (int i = 0; i < 7; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(10 + i);
        store_trial(db, run, i < 4 ? &known : &other, &config, &outcome);
    }
    const struct config config = store_config(0);
    struct db_winner w = store_winner(&other, &config);
    assert_ok(db_set_winner(db, run, &w, &config, 1, NULL, 0));
    db_close(db);
    return run;
}

/* Numbers of trials that each list has, or -1. */
struct listed {
    int all, newest, of_run, dumped;
};

static int result(enum status st, int count)
{
    return st ? -1 : count;
}

static struct listed list(struct db *db, int64_t run)
{
    const struct db_filter all = {.gpu = NULL};
    int count[4] = {0};
    const enum status st[4] = {
        db_trials(db, &all, count_trial, &count[0]), db_newest_trials(db, &all, count_trial, &count[1]),
        db_run_trials(db, run, count_trial, &count[2]), db_dump(db, &all, count_dumped, &count[3])};
    return (struct listed){result(st[0], count[0]), result(st[1], count[1]), result(st[2], count[2]),
                           result(st[3], count[3])};
}

TEST(trials_of_a_later_version_are_left_out_and_counted)
{
    const int64_t run = store_two_problems();
    change_problems("UPDATE problems SET text = 'latergemm:nn:65x64x64', "
                    "hash = content_hash('latergemm:nn:65x64x64') WHERE m = 65");
    struct db *db = store_open(DB_READ);
    struct db_later later;
    assert_ok(db_count_later(db, &later));
    assert_int_equal(later.problems, 0); /* nothing was listed so far */
    const struct listed l = list(db, run);
    assert_int_equal(l.all, 4);
    assert_int_equal(l.newest, 4);
    assert_int_equal(l.of_run, 4);
    assert_int_equal(l.dumped, 4);
    assert_ok(db_count_later(db, &later));
    assert_int_equal(later.problems, 1);
    assert_int_equal(later.trials, 3);
    assert_int_equal(later.winners, 1);
    db_close(db);
}

TEST(trials_of_a_changed_problem_are_an_error)
{
    const int64_t run = store_two_problems();
    change_problems("UPDATE problems SET text = 'latergemm:nn:65x64x64' WHERE m = 65");
    struct db *db = store_open(DB_READ);
    const struct listed l = list(db, run);
    assert_int_equal(l.all, -1);
    assert_int_equal(l.newest, -1);
    assert_int_equal(l.of_run, -1);
    assert_int_equal(l.dumped, -1);
    assert_non_null(strstr(status_text(), "impossible value (problem"));
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(trials_of_a_later_version_are_left_out_and_counted),
        STORE_TEST(trials_of_a_changed_problem_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

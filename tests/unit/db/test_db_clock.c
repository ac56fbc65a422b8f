/* test_db_clock.c — a clock that is wrong, or that jumps, spoils nothing. */
#include "db_files.h"

#include <sys/syscall.h>
#include <time.h>

static time_t claimed; /* what the clock says; 0: the truth */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (claimed && clock == CLOCK_REALTIME) {
        *now = (struct timespec){.tv_sec = claimed};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static void assert_readable(int trials)
{
    struct db_counts counts;
    struct db *db = store_open(DB_READ);
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, trials);
    store_close_clean(db);
}

TEST(no_run_starts_by_a_clock_outside_1970_to_9999)
{
    static const time_t times[] = {-315619200, INT64_C(253402300800), -INT64_C(100000000000000)};
    static const char *const parts[] = {"1960-01-01", "set it", "set it"};
    make_database(2);
    for (int i = 0; i < 3; i++) {
        struct db *db = store_open(DB_WRITE);
        struct db_context context = store_context();
        int64_t run;
        claimed = times[i];
        enum status st = db_run_start(db, &context, "", 0, &run);
        claimed = 0;
        assert_int_equal(st, E_INPUT);
        assert_non_null(strstr(status_text(), parts[i]));
        db_close(db);
        assert_readable(2);
    }
}

TEST(a_clock_that_jumps_during_a_run_spoils_nothing)
{
    static const time_t times[] = {-315619200, INT64_C(253402300800), 1};
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    for (int i = 0; i < 3; i++) {
        struct db *db = store_open(DB_WRITE);
        int64_t run = store_run(db, &context);
        claimed = times[i];
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        store_trial(db, run, &problem, &config, &outcome);
        struct db_winner w = {
            .base.problem = problem, .config = store_legal_config(), .base.cold = true, .base.time_us = 1};
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
        assert_ok(db_run_end(db, run, "finished"));
        claimed = 0;
        db_close(db);
        assert_readable(i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(no_run_starts_by_a_clock_outside_1970_to_9999),
        STORE_TEST(a_clock_that_jumps_during_a_run_spoils_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

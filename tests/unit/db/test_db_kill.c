#include "store.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define KILLS   25
#define CONFIGS 4000

/* What the writer tells through its pipe, each after the call has returned. */
struct report {
    char what; /* 'a': attempt begun, 'f': finished */
    int number;
};

static void tell(int pipe, char what, int number)
{
    struct report report = {.what = what, .number = number};
    if (write(pipe, &report, sizeof report) != (ssize_t)sizeof report) _exit(3);
}

/* A small supervisor: recover, then try what is not known yet, with a winner now and then. Ends only by the
 * kill, or when nothing is left to try. */
static void writer(int pipe)
{
    struct db *db;
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t lost, run, attempt;
    if (db_open(store_path, DB_WRITE, &db) || db_run_start(db, &context, "kill", 1, &run) ||
        db_recover(db, &lost))
        _exit(1);
    for (int i = 0; i < CONFIGS; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        bool stale, quarantined;
        if (db_find(db, &context, &problem, &config, &outcome, &stale) == OK) continue;
        if (db_quarantined(db, &context, &config, &quarantined)) _exit(1);
        if (quarantined) continue;
        outcome = store_outcome(i + 1);
        if (db_attempt(db, run, &problem, &config, &attempt)) _exit(1);
        tell(pipe, 'a', i);
        struct timespec pause = {.tv_nsec = 200000};
        nanosleep(&pause, NULL);
        if (db_record(db, attempt, &outcome)) _exit(1);
        tell(pipe, 'f', i);
        if (i % 5 != 0) continue;
        struct db_winner w = {
            .base.problem = problem, .config = config, .base.cold = true, .base.time_us = i + 1};
        struct db_race_sample samples[50];
        for (int s = 0; s < 50; s++)
            samples[s] = (struct db_race_sample){.runner = 0, .round = s, .time_us = i};
        if (db_set_winner(db, run, &w, &config, 1, samples, 50)) _exit(1);
    }
    db_close(db);
    _exit(0);
}

struct history {
    bool finished[CONFIGS];
    int count, open; /* finished so far; the attempt last told of, -1 once it finished */
};

/* The end of its pipe that tells what it does goes to *told. */
static pid_t start_writer(int *told)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        writer(ends[1]);
    }
    close(ends[1]);
    *told = ends[0];
    return child;
}

/* Kill it, and read what it had said. */
static void kill_writer(pid_t child, int told, struct history *history)
{
    kill(child, SIGKILL);
    struct report report;
    history->open = -1;
    while (read(told, &report, sizeof report) == (ssize_t)sizeof report) {
        assert_in_range(report.number, 0, CONFIGS - 1);
        history->open = report.what == 'a' ? report.number : -1;
        if (report.what != 'f') continue;
        assert_false(history->finished[report.number]); /* nothing that was finished is tried again */
        history->finished[report.number] = true;
        history->count++;
    }
    close(told);
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
}

static void run_and_kill(struct history *history, long wait_us)
{
    int told;
    const pid_t child = start_writer(&told);
    const struct timespec pause = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
    nanosleep(&pause, NULL);
    kill_writer(child, told, history);
}

struct found {
    bool told[CONFIGS];
    int count, recovered;
    int64_t newest_run;
};

static bool collect(void *self, const struct db_trial *trial)
{
    struct found *found = self;
    int number = trial->recovered ? -1 : (int)trial->outcome.time_us - 1;
    found->recovered += trial->recovered;
    if (number < 0) return true;
    assert_false(found->told[number]);
    found->told[number] = true;
    found->count++;
    return true;
}

/* After a kill: clean for a reader as it lies, nothing finished lost, at most one attempt open and that the
 * last one. */
static void inspect(struct history *history, int *recovered)
{
    static struct found found;
    memset(&found, 0, sizeof found);
    store_assert_clean();
    struct db *db = store_open(DB_WRITE);
    struct db_filter filter = {0};
    struct db_counts before, after;
    int64_t lost;
    assert_ok(db_count(db, &before));
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, before.attempts);
    assert_in_range(lost, 0, 1);
    assert_ok(db_count(db, &after));
    assert_int_equal(after.attempts, 0);
    assert_int_equal(after.trials, before.trials + lost);
    assert_ok(db_trials(db, &filter, collect, &found));
    *recovered += (int)lost;
    assert_int_equal(found.recovered, *recovered);
    for (int i = 0; i < CONFIGS; i++)
        if (history->finished[i] && !found.told[i]) fail_msg("trial %d was finished and is lost", i);
    /* Committed but not told of: the kill fell between the two. */
    int untold = found.count - history->count;
    assert_in_range(untold, 0, 1);
    if (untold) {
        assert_true(history->open >= 0 && found.told[history->open]);
        history->finished[history->open] = true;
        history->count++;
    } else if (history->open >= 0) {
        assert_int_equal(lost, 1);
    }
    db_close(db);
}

static void kill_often(void)
{
    static struct history history;
    memset(&history, 0, sizeof history);
    srand((unsigned)time(NULL));
    int recovered = 0;
    /* On a busy machine a writer gets little done in its time: more time, and more writers, then. */
    int most_us = 40000;
    for (int i = 0; i < KILLS || (i < 10 * KILLS && (history.count <= KILLS || recovered == 0)); i++) {
        const int before = history.count;
        run_and_kill(&history, 2000 + rand() % most_us);
        if (history.count == before && most_us < 1000000) most_us *= 2;
        if (access(store_path, F_OK) != 0) continue; /* killed before it made the file */
        struct db *db;
        if (db_open(store_path, DB_READ, &db) == E_ABSENT) continue; /* ... or before it made the tables */
        db_close(db);
        inspect(&history, &recovered);
    }
    assert_true(history.count > KILLS);
    assert_true(recovered > 0);
}

TEST(a_writer_killed_at_any_moment_loses_nothing_finished)
{
    kill_often();
}

TEST(nor_with_the_rollback_journal_of_safe_mode)
{
    setenv("GEMMTUNE_DB_SAFE", "1", 1);
    kill_often();
    unsetenv("GEMMTUNE_DB_SAFE");
}

TEST(the_lock_of_a_killed_writer_is_free)
{
    static struct history history;
    memset(&history, 0, sizeof history);
    int told;
    const pid_t child = start_writer(&told);
    struct pollfd first = {.fd = told, .events = POLLIN};
    assert_int_equal(poll(&first, 1, -1), 1); /* it writes, and so has the lock */
    kill_writer(child, told, &history);
    char lock[160];
    snprintf(lock, sizeof lock, "%s.lock", store_path);
    assert_int_equal(access(lock, F_OK), 0);
    db_close(store_open(DB_WRITE));
}

TEST(a_forked_child_cannot_use_nor_close_its_parents_connection)
{
    struct db *db = store_open(DB_WRITE);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct db_context context = store_context();
        int64_t run;
        enum status st = db_run_start(db, &context, "", 0, &run);
        db_close(db);
        _exit(st == E_DB ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct db *second;
    assert_int_equal(db_open(store_path, DB_WRITE, &second), E_BUSY); /* the lock still holds */
    struct db_context context = store_context();
    store_run(db, &context);
    store_close_clean(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_writer_killed_at_any_moment_loses_nothing_finished),
        STORE_TEST(nor_with_the_rollback_journal_of_safe_mode),
        STORE_TEST(the_lock_of_a_killed_writer_is_free),
        STORE_TEST(a_forked_child_cannot_use_nor_close_its_parents_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

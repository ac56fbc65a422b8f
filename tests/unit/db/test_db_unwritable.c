#include "db_files.h"
#include "struck_calls.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

/* --- where nothing may be written --- */

/* Root may write everywhere: such tests run as nobody, in a child. */
static int as_nobody(int (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(body());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Where nothing may be written, everything that the body says holds. */
static void assert_in_a_read_only_folder(int (*body)(void))
{
    chmod(store_folder, 0555);
    const int part = as_nobody(body);
    chmod(store_folder, 0700);
    assert_int_equal(part, 0);
}

/* Say which part does not hold, and what was said. */
static int wrong(int part)
{
    print_error("part %d: %s\n", part, status_text());
    return part;
}

/* 0 when every part holds, else the number of the one that does not. */
static int read_only_folder(void)
{
    struct db *db;
    if (db_open(store_path, DB_READ, &db)) return wrong(1);
    struct db_counts counts;
    if (db_count(db, &counts) || counts.trials != 3) return wrong(2);
    db_close(db);
    if (db_open(store_path, DB_WRITE, &db) != E_IO || !strstr(status_text(), "cannot write")) return wrong(3);
    return 0;
}

TEST(a_read_only_file_in_a_read_only_folder_can_be_read_and_not_written)
{
    make_database(3);
    chmod(store_path, 0444);
    assert_in_a_read_only_folder(read_only_folder);
}

static int writable_file_in_read_only_folder(void)
{
    struct db *db;
    if (db_open(store_path, DB_WRITE, &db) != E_IO || !strstr(status_text(), "cannot write beside"))
        return wrong(1);
    return 0;
}

TEST(a_folder_that_may_not_be_written_is_named)
{
    make_database(3);
    chmod(store_path, 0666);
    assert_in_a_read_only_folder(writable_file_in_read_only_folder);
}

/* A file that its writer left in WAL mode (another reader was connected), its log empty. */
TEST(a_file_left_in_wal_mode_can_be_read_in_a_read_only_folder)
{
    make_database(3);
    meddle("PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE)");
    chmod(store_path, 0444);
    assert_in_a_read_only_folder(read_only_folder);
}

static int log_without_index(void)
{
    struct db *db;
    return db_open(store_path, DB_READ, &db) == E_IO && strstr(status_text(), "left work in") ? 0 : wrong(1);
}

/* Its writer was killed: the log holds what was finished. */
TEST(a_file_with_a_log_left_by_a_kill_can_be_read_in_a_read_only_folder)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct db *db = store_open(DB_WRITE);
        struct db_context context = store_context();
        struct problem problem = problem_make(64, 64, 64);
        int64_t run = store_run(db, &context);
        for (int i = 0; i < 3; i++) {
            struct config config = store_config(i);
            struct outcome outcome = store_outcome(i + 1);
            store_trial(db, run, &problem, &config, &outcome);
        }
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    static const char *const files[] = {"", "-wal", "-shm"};
    char name[PATH_MAX];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, files[i]);
        assert_int_equal(chmod(name, 0444), 0);
    }
    assert_in_a_read_only_folder(read_only_folder);
    snprintf(name, sizeof name, "%s-shm", store_path); /* without its index the log cannot be read there */
    unlink(name);
    assert_in_a_read_only_folder(log_without_index);
}

static int unreadable(void)
{
    struct db *db;
    return db_open(store_path, DB_READ, &db) == E_IO && strstr(status_text(), "cannot read") ? 0 : wrong(1);
}

TEST(a_file_that_may_not_be_read_is_named)
{
    make_database(1);
    chmod(store_path, 0000);
    chmod(store_folder, 0755);
    assert_int_equal(as_nobody(unreadable), 0);
}

/* --- a full disk --- */

/* Fill until the first refusal; every trial that was stored before must still be there. */
static void fill_until_refused(struct db *db, int *stored)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t run = store_run(db, &context), attempt;
    enum status st = OK;
    for (int i = 0; !st && i < 100000; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        memset(outcome.detail, 'x', sizeof outcome.detail - 1);
        st = db_attempt(db, run, &problem, &config, &attempt);
        if (!st) st = db_record(db, attempt, &outcome);
        if (!st) ++*stored;
    }
    assert_int_equal(st, E_IO);
    assert_non_null(strstr(status_text(), "everything finished is kept"));
    assert_true(*stored > 10);
}

static void assert_stored(int stored)
{
    store_assert_clean();
    struct db *db = store_open(DB_WRITE);
    struct db_counts counts;
    int64_t lost;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, stored);
    assert_ok(db_recover(db, &lost));
    assert_in_range(lost, 0, 1); /* the attempt that the refusal hit */
    store_close_clean(db);
}

TEST(a_full_database_keeps_what_was_finished)
{
    struct db *db = store_open(DB_WRITE);
    int stored = 0;
    assert_int_equal(sqlite3_exec(db->handle, "PRAGMA max_page_count = 120", NULL, NULL, NULL), SQLITE_OK);
    fill_until_refused(db, &stored);
    assert_non_null(strstr(status_text(), "the disk is full"));
    db_close(db);
    assert_stored(stored);
}

TEST(a_full_disk_keeps_what_was_finished)
{
    struct rlimit before, small;
    int stored = 0;
    struct db *db = store_open(DB_WRITE);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 600 << 10; /* no file grows beyond it: the log, then the database */
    setrlimit(RLIMIT_FSIZE, &small);
    fill_until_refused(db, &stored);
    db_close(db);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_stored(stored);
}

TEST(a_disk_that_is_full_from_the_start_leaves_nothing_half_made)
{
    struct rlimit before, none;
    struct db *db;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t limit = 0; limit < (64 << 10); limit += 5000) {
        none = before;
        none.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &none);
        assert_int_equal(db_open(store_path, DB_WRITE, &db), E_IO);
        setrlimit(RLIMIT_FSIZE, &before);
        enum status st = db_open(store_path, DB_READ, &db);
        assert_int_equal(st, E_ABSENT);
    }
    make_database(2);
    store_assert_clean();
}

static int open_to_write(void)
{
    struct db *db;
    const enum status st = db_open(store_path, DB_WRITE, &db);
    if (!st) db_close(db);
    return st == OK ? 0 : st == E_IO ? 1 : wrong(2);
}

/* A new file, an empty one, one that is there. */
TEST(a_disk_that_is_full_at_any_point_of_opening_leaves_no_files)
{
    static const char *const kinds[] = {"new", "empty", "there"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int ended = 1;
        for (long call = 1; ended == 1; call++) {
            db_remove_files(store_path);
            if (k == 1) fclose(fopen(store_path, "w"));
            if (k == 2) make_database(2);
            ended = run_struck(open_to_write, DISK_FULL, call);
            if (ended != 0 && ended != 1) fail_msg("%s at call %ld", kinds[k], call);
            assert_folder_holds(store_folder, k == 0 ? "cache" : "test.db cache");
            make_database(2); /* and then it works */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_read_only_file_in_a_read_only_folder_can_be_read_and_not_written),
        STORE_TEST(a_folder_that_may_not_be_written_is_named),
        STORE_TEST(a_file_left_in_wal_mode_can_be_read_in_a_read_only_folder),
        STORE_TEST(a_file_with_a_log_left_by_a_kill_can_be_read_in_a_read_only_folder),
        STORE_TEST(a_file_that_may_not_be_read_is_named),
        STORE_TEST(a_full_database_keeps_what_was_finished),
        STORE_TEST(a_full_disk_keeps_what_was_finished),
        STORE_TEST(a_disk_that_is_full_from_the_start_leaves_nothing_half_made),
        STORE_TEST(a_disk_that_is_full_at_any_point_of_opening_leaves_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_db_moved.c — a file that is renamed, replaced or removed while it is written, and what has its name.
 */
#include "db_exchange.h"
#include "db_files.h"

#include <signal.h>
#include <sys/wait.h>

static char other[160];

static void name_other(const char *name)
{
    snprintf(other, sizeof other, "%s/%s", store_folder, name);
}

static bool there(const char *path, const char *suffix)
{
    char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

/* A process that may be a writer of its own: what body returned, -1 if it was killed. */
static int apart(int (*body)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(body());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *counted; /* the file of count_trials */

/* Fewer than 100; or 100 and the error. */
static int count_trials(void)
{
    struct db *db;
    struct db_counts counts = {0};
    enum status st = db_open(counted, DB_READ, &db);
    if (!st) st = db_check_whole(db);
    if (!st) st = db_count(db, &counts);
    if (st) print_message("    %s\n", status_text());
    return st ? 100 + (int)st : (int)counts.trials;
}

static int trials_in(const char *path)
{
    counted = path;
    return apart(count_trials);
}

/* Another database, of so many trials, at `other`. */
static void make_other(const char *name, int trials)
{
    make_database(trials);
    name_other(name);
    assert_int_equal(rename(store_path, other), 0);
}

TEST(a_renamed_file_has_all_and_the_run_says_where)
{
    struct db *db = store_open(DB_WRITE);
    const struct problem problem = problem_make(64, 64, 64);
    const struct config config = store_config(7);
    const struct outcome outcome = store_outcome(7);
    const int64_t run = store_some(db, 3);
    int64_t attempt;
    assert_ok(db_attempt(db, run, &problem, &config, &attempt));
    name_other("moved.db");
    assert_int_equal(rename(store_path, other), 0);
    assert_ok(db_record(db, attempt, &outcome)); /* it was under way: not lost */
    assert_fails(db_attempt(db, run, &problem, &config, &attempt), E_IO, "moved.db");
    assert_fails(db_finish(db, OK), E_IO, "moved.db");
    assert_int_equal(trials_in(other), 4);
    const struct look moved = look_at(other);
    assert_true(moved.bytes[18] == 1 && moved.bytes[19] == 1); /* no WAL: one file */
    free(moved.bytes);
    assert_false(there(store_path, "") || there(store_path, "-wal") || there(store_path, ".lock"));
}

TEST(a_file_that_keeps_its_name_ends_as_the_run_did)
{
    struct db *db = store_open(DB_WRITE);
    store_some(db, 1);
    assert_ok(db_finish(db, OK));
    assert_int_equal(db_finish(store_open(DB_WRITE), E_ABSENT), E_ABSENT);
    assert_ok(db_finish(NULL, OK));
    assert_int_equal(trials_in(store_path), 1);
}

TEST(what_a_replaced_file_held_is_in_a_copy_and_the_new_one_is_as_it_was)
{
    char rescued[200];
    snprintf(rescued, sizeof rescued, "%s.rescued", store_path);
    make_other("new.db", 5);
    struct look before = look_at(other);
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_some(db, 3);
    const struct problem problem = problem_make(64, 64, 64);
    const struct config config = store_config(7);
    int64_t attempt;
    assert_int_equal(rename(other, store_path), 0);
    assert_fails(db_attempt(db, run, &problem, &config, &attempt), E_IO, ".rescued");
    assert_fails(db_finish(db, OK), E_IO, ".rescued");
    assert_int_equal(trials_in(rescued), 3);
    assert_looks_like(store_path, before);
    assert_int_equal(trials_in(store_path), 5);
    store_assert_clean();
}

TEST(nothing_that_was_made_by_others_is_removed_with_an_unused_file)
{
    make_other("new.db", 5);
    struct db *db = store_open(DB_WRITE);
    assert_int_equal(rename(other, store_path), 0);
    assert_fails(db_finish(db, OK), E_IO, ".rescued");
    assert_int_equal(trials_in(store_path), 5);
}

TEST(a_new_file_is_not_read_with_the_log_of_the_one_whose_name_it_has)
{
    make_other("new.db", 5);
    struct db *db = store_open(DB_WRITE);
    store_some(db, 3);
    char aside[200];
    snprintf(aside, sizeof aside, "%s/aside.db", store_folder);
    assert_int_equal(rename(store_path, aside), 0);
    assert_int_equal(rename(other, store_path), 0);
    assert_int_equal(trials_in(store_path), 100 + E_BUSY);
    assert_fails(db_finish(db, OK), E_IO, "aside.db");
    assert_int_equal(trials_in(store_path), 5);
    assert_int_equal(trials_in(aside), 3);
}

static int write_and_be_killed(void)
{
    store_some(store_open(DB_WRITE), 3);
    raise(SIGKILL);
    return 0;
}

static char aside[200]; /* where the file goes whose name another takes */

static int write_lose_the_name_and_be_killed(void)
{
    store_some(store_open(DB_WRITE), 3);
    if (rename(store_path, aside) || rename(other, store_path)) return 1;
    raise(SIGKILL);
    return 0;
}

TEST(nor_after_that_tuner_was_killed)
{
    char log[220], of_aside[220];
    make_other("new.db", 5);
    snprintf(aside, sizeof aside, "%s/aside.db", store_folder);
    snprintf(log, sizeof log, "%s-wal", store_path);
    snprintf(of_aside, sizeof of_aside, "%s-wal", aside);
    assert_int_equal(apart(write_lose_the_name_and_be_killed), -1);
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "rename the log");
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "rename the log");
    assert_int_equal(rename(log, of_aside), 0);
    assert_int_equal(trials_in(store_path), 5);
    assert_int_equal(trials_in(aside), 3);
}

/* The copy gets the inode of the file that was removed, on most file systems of disks; in memory it does not.
 */
TEST(nor_a_copy_that_was_put_there_instead)
{
    char command[800], folder[] = "/tmp/gemmtune-moved-XXXXXX", usual[sizeof store_path];
    struct db *db;
    make_other("new.db", 5);
    assert_non_null(mkdtemp(folder));
    memcpy(usual, store_path, sizeof usual);
    snprintf(store_path, sizeof store_path, "%s/test.db", folder);
    assert_int_equal(apart(write_and_be_killed), -1);
    snprintf(command, sizeof command, "rm %s && cp %s %s", store_path, other, store_path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "rename the log");
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "rename the log");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
    memcpy(store_path, usual, sizeof usual);
}

TEST(a_copy_of_a_killed_tuners_folder_is_read_with_its_log)
{
    char command[600], copy[200];
    assert_int_equal(apart(write_and_be_killed), -1);
    snprintf(command, sizeof command, "mkdir %s/copy && cp -a %s %s-wal %s.lock %s/copy", store_folder,
             store_path, store_path, store_path, store_folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
    snprintf(copy, sizeof copy, "%s/copy/test.db", store_folder);
    assert_int_equal(trials_in(copy), 3);
    assert_int_equal(trials_in(store_path), 3);
}

static bool lacks_log(const char *path)
{
    struct db *db;
    char why[DB_LACKING_MAX];
    assert_ok(db_open(path, DB_READ, &db));
    const bool lacks = db_lacks_log(db, why);
    db_close(db);
    return lacks;
}

TEST(only_a_copy_of_a_file_in_use_lacks_its_log)
{
    char command[600];
    name_other("copy.db");
    snprintf(command, sizeof command, "cp %s %s", store_path, other);
    struct db *db = store_open(DB_WRITE);
    store_some(db, 3);
    assert_false(lacks_log(store_path));  /* it is being written */
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
    assert_true(lacks_log(other));
    db_close(db);
    assert_false(lacks_log(store_path));  /* at rest */
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    assert_false(lacks_log(other));
    assert_int_equal(apart(write_and_be_killed), -1);
    assert_false(lacks_log(store_path)); /* its log is there */
}

/* What it opens belongs to a process of its own. */
static int write_until_told(int from, int to)
{
    char byte;
    struct db *db = store_open(DB_WRITE);
    store_some(db, 2);
    if (write(to, "", 1) != 1 || read(from, &byte, 1) != 1) return 1;
    store_some(db, 2);
    raise(SIGKILL); /* all is in its log */
    return 0;
}

TEST(a_tuner_whose_files_were_all_removed_leaves_those_of_the_next_alone)
{
    int told[2], ready[2];
    char name[220], byte;
    assert_int_equal(pipe(told) | pipe(ready), 0);
    struct db *db = store_open(DB_WRITE);
    store_some(db, 3);
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, suffixes[i]);
        assert_int_equal(unlink(name), 0);
    }
    fflush(stdout);
    const pid_t next = fork();
    if (next == 0) {
        close(told[1]); /* it ends with this process */
        _exit(write_until_told(told[0], ready[1]));
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_fails(db_finish(db, OK), E_IO, ".rescued");
    assert_true(there(store_path, "-wal") && there(store_path, ".lock"));
    assert_int_equal(write(told[1], "", 1), 1);
    int status;
    assert_int_equal(waitpid(next, &status, 0), next);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(trials_in(store_path), 4);
    for (int i = 0; i < 2; i++) close(told[i]), close(ready[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_renamed_file_has_all_and_the_run_says_where),
        STORE_TEST(a_file_that_keeps_its_name_ends_as_the_run_did),
        STORE_TEST(what_a_replaced_file_held_is_in_a_copy_and_the_new_one_is_as_it_was),
        STORE_TEST(nothing_that_was_made_by_others_is_removed_with_an_unused_file),
        STORE_TEST(a_new_file_is_not_read_with_the_log_of_the_one_whose_name_it_has),
        STORE_TEST(nor_after_that_tuner_was_killed),
        STORE_TEST(nor_a_copy_that_was_put_there_instead),
        STORE_TEST(a_copy_of_a_killed_tuners_folder_is_read_with_its_log),
        STORE_TEST(only_a_copy_of_a_file_in_use_lacks_its_log),
        STORE_TEST(a_tuner_whose_files_were_all_removed_leaves_those_of_the_next_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

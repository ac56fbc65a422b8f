/* test_db_names.c — one file, one writer, whatever the file is called. */
#include "db_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static bool no_locks; /* fcntl answers as on a file system without locks */

/* In place of the C library's, for SQLite, too. */
static int fake_fcntl(int fd, int command, va_list args)
{
    void *argument = va_arg(args, void *);
    const bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                       command == F_OFD_SETLK || command == F_OFD_GETLK;
    if (no_locks && locks) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl(int fd, int command, ...) /* NOLINT(readability-inconsistent-declaration-parameter-name) */
{
    va_list args;
    va_start(args, command);
    int answer = fake_fcntl(fd, command, args);
    va_end(args);
    return answer;
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

static char other[160]; /* a second name */

static void name_other(const char *name)
{
    snprintf(other, sizeof other, "%s/%s", store_folder, name);
}

static char *beside(const char *path, const char *suffix)
{
    static char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return name;
}

/* Run body in a process of its own; what it exits with, -1 if it was killed. */
static int apart(int (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(body());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int write_and_be_killed(void)
{
    store_some(store_open(DB_WRITE), 3);
    raise(SIGKILL);
    return 0;
}

TEST(a_file_with_two_hard_links_is_refused_under_both)
{
    make_database(3);
    name_other("other.db");
    assert_int_equal(link(store_path, other), 0);
    const char *names[] = {store_path, other};
    for (int i = 0; i < 2; i++) {
        struct db *db;
        assert_fails(db_open(names[i], DB_READ, &db), E_DB, "2 names");
        assert_fails(db_open(names[i], DB_WRITE, &db), E_DB, "2 names");
        assert_int_equal(access(beside(names[i], ".lock"), F_OK), -1);
    }
    unlink(other);
    store_assert_clean();
}

TEST(a_symbolic_link_is_the_file_that_it_leads_to)
{
    struct db *db = store_open(DB_WRITE), *second;
    store_some(db, 3);
    name_other("link.db");
    assert_int_equal(symlink(store_path, other), 0);
    assert_fails(db_open(other, DB_WRITE, &second), E_BUSY, "process id");
    struct db_counts counts;
    assert_ok(db_open(other, DB_READ, &second));
    assert_ok(db_count(second, &counts));
    assert_int_equal(counts.trials, 3);
    db_close(second);
    db_close(db);
}

static int open_elsewhere(const char *path, enum db_mode mode)
{
    struct db *db;
    enum status st = db_open(path, mode, &db);
    if (st == OK) db_close(db);
    else print_message("    %s\n", status_text());
    return (int)st;
}

static int write_here(void)
{
    return open_elsewhere(store_path, DB_WRITE);
}

TEST(the_lock_belongs_to_the_file_even_if_the_lock_beside_it_is_removed)
{
    struct db *db = store_open(DB_WRITE);
    store_some(db, 1);
    assert_int_equal(unlink(beside(store_path, ".lock")), 0);
    assert_int_equal(apart(write_here), E_BUSY);
    store_some(db, 1);
    db_close(db);
    assert_int_equal(apart(write_here), OK);
}

TEST(the_lock_belongs_to_the_name_even_if_the_file_is_exchanged)
{
    struct db *db = store_open(DB_WRITE);
    store_some(db, 1);
    name_other("aside.db");
    assert_int_equal(rename(store_path, other), 0);
    assert_int_equal(apart(write_here), E_BUSY);
    assert_int_equal(rename(other, store_path), 0);
    db_close(db);
}

/* Its answer is where the pipe says; the file is written by a process that then is killed. */
static int wait_for_kill(void)
{
    struct db *db = store_open(DB_WRITE);
    store_some(db, 1);
    int ready[2];
    if (pipe(ready)) abort();
    pid_t child = fork(); /* it inherits what its parent has open, and lives on */
    if (child == 0) {
        if (write(ready[1], "", 1) != 1) abort();
        pause();
        _exit(0);
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1) abort(); /* fork() has returned in the child, too */
    FILE *file = fopen(beside(store_folder, "/child"), "w");
    fprintf(file, "%ld", (long)child);
    fclose(file);
    raise(SIGKILL);
    return 0;
}

TEST(a_child_does_not_keep_the_lock_of_its_dead_parent)
{
    assert_int_equal(apart(wait_for_kill), -1);
    long child = 0;
    FILE *file = fopen(beside(store_folder, "/child"), "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &child), 1);
    fclose(file);
    int again = apart(write_here);
    kill((pid_t)child, SIGKILL);
    assert_int_equal(again, OK);
}

/* ---- a bind mount ---- */

static int bind_other(void)
{
    int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(store_path, other, NULL, MS_BIND, NULL))
        return 77;
    return 0;
}

static int write_other(void)
{
    int bound = bind_other();
    return bound ? bound : open_elsewhere(other, DB_WRITE);
}

static int read_other(void)
{
    int bound = bind_other();
    return bound ? bound : open_elsewhere(other, DB_READ);
}

TEST(a_bind_mount_is_no_second_file)
{
    struct db *db = store_open(DB_WRITE);
    store_some(db, 3);
    name_other("bound.db");
    int writer = apart(write_other);
    if (writer == 77) {
        db_close(db);
        print_message("skipped: nothing may be mounted here\n");
        skip();
    }
    assert_int_equal(writer, E_BUSY);
    assert_int_equal(apart(read_other), E_BUSY);
    store_some(db, 3);
    db_close(db);
    assert_int_equal(apart(read_other), OK);
    assert_int_equal(apart(write_other), OK);
    store_assert_clean();
}

TEST(what_a_killed_writer_left_is_not_missed_under_another_name)
{
    if (setxattr(store_folder, "user.gemmtune.test", "x", 1, 0) != 0) {
        print_message("skipped: the file system of %s keeps no attributes\n", store_folder);
        skip();
    }
    assert_int_equal(apart(write_and_be_killed), -1);
    name_other("bound.db");
    int reader = apart(read_other);
    if (reader == 77) {
        print_message("(without bind mounts: nothing may be mounted here)\n");
    } else {
        assert_int_equal(reader, E_DB);
        assert_int_equal(apart(write_other), E_DB);
    }
    name_other("moved.db");
    assert_int_equal(rename(store_path, other), 0);
    struct db *db;
    assert_fails(db_open(other, DB_READ, &db), E_DB, "-wal");
    char log[200];
    snprintf(log, sizeof log, "%s-wal", other);
    assert_int_equal(rename(beside(store_path, "-wal"), log), 0);
    struct db_counts counts;
    assert_ok(db_open(other, DB_WRITE, &db));
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 3);
    db_close(db);
    assert_ok(db_open(other, DB_READ, &db));
    db_close(db);
}

TEST(the_log_of_a_file_that_was_renamed_is_not_removed_for_a_new_one)
{
    assert_int_equal(apart(write_and_be_killed), -1);
    name_other("moved.db");
    assert_int_equal(rename(store_path, other), 0);
    struct db *db;
    struct db_counts counts;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "-wal");
    assert_int_equal(access(store_path, F_OK), -1);
    assert_int_equal(rename(other, store_path), 0);
    assert_ok(db_open(store_path, DB_WRITE, &db));
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 3);
    db_close(db);
}

/* ---- where it cannot be ---- */

TEST(a_file_system_without_locks_is_named_and_nothing_is_left)
{
    struct db *db;
    no_locks = true;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_IO, "has no locks");
    no_locks = false;
    assert_int_equal(access(store_path, F_OK), -1);
    assert_int_equal(access(beside(store_path, ".lock"), F_OK), -1);
    make_database(2);
    struct look before = look_at(store_path);
    no_locks = true;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_IO, "has no locks");
    assert_fails(db_open(store_path, DB_READ, &db), E_IO, "has no locks");
    no_locks = false;
    assert_looks_like(store_path, before);
}

TEST(a_path_that_is_too_long_leaves_no_folders)
{
    static char path[PATH_MAX];
    char folder[200];
    struct db *db;
    size_t used = (size_t)snprintf(path, sizeof path, "%s", store_folder);
    for (int i = 0; i < 400; i++) used += (size_t)snprintf(path + used, sizeof path - used, "/d%d", i);
    snprintf(path + used, sizeof path - used, "/x.db");
    assert_fails(db_open(path, DB_WRITE, &db), E_INPUT, "shorter");
    snprintf(folder, sizeof folder, "%s/d0", store_folder);
    assert_int_equal(access(folder, F_OK), -1);
    memset(path, 'x', sizeof path);
    snprintf(path, sizeof path, "%s/d0/d1/%0300d/x.db", store_folder, 0);
    assert_fails(db_open(path, DB_WRITE, &db), E_IO, "cannot create the folder");
    assert_int_equal(access(folder, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_file_with_two_hard_links_is_refused_under_both),
        STORE_TEST(a_symbolic_link_is_the_file_that_it_leads_to),
        STORE_TEST(the_lock_belongs_to_the_file_even_if_the_lock_beside_it_is_removed),
        STORE_TEST(the_lock_belongs_to_the_name_even_if_the_file_is_exchanged),
        STORE_TEST(a_child_does_not_keep_the_lock_of_its_dead_parent),
        STORE_TEST(a_bind_mount_is_no_second_file),
        STORE_TEST(what_a_killed_writer_left_is_not_missed_under_another_name),
        STORE_TEST(the_log_of_a_file_that_was_renamed_is_not_removed_for_a_new_one),
        STORE_TEST(a_file_system_without_locks_is_named_and_nothing_is_left),
        STORE_TEST(a_path_that_is_too_long_leaves_no_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

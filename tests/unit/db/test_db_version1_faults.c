/* Bringing a file of version 1 up to date, interrupted at any point, and where it cannot be done. */
#include "version1.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

/* SQLite's system calls that change something, counted; at the last one the process is killed, or the disk is
 * full from there on. */
static long calls, last_call;
static bool disk_is_full;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t), (*real_unlink)(const char *);

static bool strike(void)
{
    if (++calls < last_call) return false;
    if (!disk_is_full) _exit(77);
    errno = ENOSPC;
    return true;
}

static ssize_t counted_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return strike() ? -1 : real_pwrite(fd, bytes, count, at);
}

static int counted_ftruncate(int fd, off_t size)
{
    return !disk_is_full && strike() ? -1 : real_ftruncate(fd, size);
}

static int counted_unlink(const char *path)
{
    return !disk_is_full && strike() ? -1 : real_unlink(path);
}

static sqlite3_syscall_ptr replace_call(const char *name, sqlite3_syscall_ptr with)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr was = vfs->xGetSystemCall(vfs, name);
    if (!was || vfs->xSetSystemCall(vfs, name, with) != SQLITE_OK) _exit(3);
    return was;
}

/* In a child: the exit code; 77: killed at the call, 0: it came to its end before. */
static int migrate_until(long call, bool full)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        last_call = call;
        disk_is_full = full;
        real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))replace_call(
            sizeof(off_t) == 8 && sqlite3_vfs_find(NULL)->xGetSystemCall(sqlite3_vfs_find(NULL), "pwrite64")
                ? "pwrite64"
                : "pwrite",
            (sqlite3_syscall_ptr)counted_pwrite);
        real_ftruncate =
            (int (*)(int, off_t))replace_call("ftruncate", (sqlite3_syscall_ptr)counted_ftruncate);
        real_unlink = (int (*)(const char *))replace_call("unlink", (sqlite3_syscall_ptr)counted_unlink);
        struct db *db;
        enum status st = db_open(store_path, DB_WRITE, &db);
        if (!st) db_close(db);
        _exit(st == OK ? 0 : st == E_IO ? 1 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A process that migrates the file when it is told to. It is started while no connection is open: SQLite's
 * locks are a process's. */
static int migrator_go[2], migrator_done[2];
static ssize_t (*real_pread)(int, void *, size_t, off_t);

static void migrate_at_once(void)
{
    sqlite3 *handle;
    if (db_connect(store_path, SQLITE_OPEN_READWRITE, &handle)) _exit(1);
    sqlite3_busy_timeout(handle, 0); /* whoever reads goes first */
    db_migrate(handle, store_path, &db_form);
    sqlite3_close(handle);
    _exit(write(migrator_done[1], "", 1) == 1 ? 0 : 2);
}

static ssize_t pread_and_migrate(int fd, void *bytes, size_t count, off_t at)
{
    char byte = 0;
    if (++calls == last_call &&
        (write(migrator_go[1], &byte, 1) != 1 || read(migrator_done[0], &byte, 1) != 1))
        return -1;
    return real_pread(fd, bytes, count, at);
}

/* Open it for reading, while it is migrated at a certain read; false: it took fewer reads. */
static bool read_while_migrating(enum db_mode mode, long call)
{
    int status;
    assert_int_equal(pipe(migrator_go) | pipe(migrator_done), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (read(migrator_go[0], &byte, 1) == 1) migrate_at_once();
        _exit(0);
    }
    calls = 0;
    last_call = call;
    const char *name =
        sqlite3_vfs_find(NULL)->xGetSystemCall(sqlite3_vfs_find(NULL), "pread64") ? "pread64" : "pread";
    real_pread =
        (ssize_t(*)(int, void *, size_t, off_t))replace_call(name, (sqlite3_syscall_ptr)pread_and_migrate);
    struct db *db;
    enum status st = db_open(store_path, mode, &db);
    replace_call(name, (sqlite3_syscall_ptr)real_pread);
    const bool reached = calls >= last_call;
    if (st) fail_msg("migrated at read %ld: %s", call, status_text());
    assert_winners_stand(db);
    db_close(db);
    if (!reached) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++) close(migrator_go[i]), close(migrator_done[i]);
    return reached;
}

static void forget_files(void)
{
    static const char *const ends[] = {"",      "-wal",       "-shm",           "-journal",
                                       ".lock", ".v1-backup", ".v1-backup.new", ".v1-backup-2"};
    char name[200];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, ends[i]);
        unlink(name);
    }
}

static void interrupt_everywhere(bool full, int expected)
{
    unpack_copy();
    int ended = expected, struck = 0;
    for (long call = 1; ended == expected; call += call < 20 ? 1 : 9) {
        forget_files();
        unpack();
        ended = migrate_until(call, full);
        assert_true(ended == expected || ended == 0);
        struck += ended == expected;
        struct db *db = store_open(DB_READ); /* whichever version it has now */
        struct db_counts counts;
        assert_ok(db_count(db, &counts));
        assert_int_equal(counts.trials, TRIALS);
        db_close(db);
        db_close(store_open(DB_WRITE));
        assert_same_facts(copy_path, store_path, 2);
        assert_same_facts(copy_path, beside, 1);
    }
    assert_true(struck > 25);
}

TEST(a_kill_at_any_point_loses_nothing)
{
    interrupt_everywhere(false, 77);
}

TEST(a_full_disk_loses_nothing)
{
    interrupt_everywhere(true, 1);
}

TEST(of_two_writers_one_is_refused)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    struct look before = look_at(store_path);
    int ready[2], go[2];
    assert_int_equal(pipe(ready) | pipe(go), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct db_hold *hold;
        char byte = 0;
        char resolved[PATH_MAX];
        if (db_resolve(store_path, resolved) || db_hold_write(resolved, &hold)) _exit(1);
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
        db_release(resolved, hold, true);
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct db *db;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_BUSY, "is being written by");
    assert_looks_like(store_path, before);
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(write(go[1], &byte, 1), 1);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    db_close(store_open(DB_WRITE));
}

static void migrate_at_each_read(enum db_mode mode, const char *journal)
{
    long reads = 0;
    bool reached = true;
    for (long call = 1; reached; call += call < 12 ? 1 : 13) {
        forget_files();
        unpack();
        meddle(journal);
        reached = read_while_migrating(mode, call);
        reads += reached;
    }
    assert_true(reads > 10);
}

TEST(a_reader_sees_one_version_whenever_the_file_is_migrated)
{
    migrate_at_each_read(DB_READ, "PRAGMA journal_mode = DELETE");
    migrate_at_each_read(DB_GLANCE, "PRAGMA journal_mode = DELETE");
    migrate_at_each_read(DB_READ, "PRAGMA journal_mode = WAL");
}

static int in_a_folder_that_may_not_be_written(void)
{
    struct db *db;
    struct db_counts counts;
    if (db_open(store_path, DB_READ, &db) || db_count(db, &counts) || counts.trials != TRIALS) return 1;
    db_close(db);
    if (db_open(store_path, DB_GLANCE, &db)) return 2;
    db_close(db);
    return db_open(store_path, DB_WRITE, &db) == E_IO && strstr(status_text(), "cannot write") ? 0 : 3;
}

TEST(an_older_file_is_read_where_nothing_may_be_written)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    chmod(store_path, 0444);
    chmod(store_folder, 0555);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(in_a_folder_that_may_not_be_written());
    }
    int status;
    waitpid(child, &status, 0);
    chmod(store_folder, 0700);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_kill_at_any_point_loses_nothing),
        STORE_TEST(a_full_disk_loses_nothing),
        STORE_TEST(of_two_writers_one_is_refused),
        STORE_TEST(a_reader_sees_one_version_whenever_the_file_is_migrated),
        STORE_TEST(an_older_file_is_read_where_nothing_may_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

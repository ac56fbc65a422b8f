/* test_keep.c — what a run says and leaves, whose files it takes for its own, what it takes in of others that
 * do the same, and where its database is on a network file system, which statfs says here. */
#include "store.h"

#include "db_exchange.h"
#include "keep.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

static const char *host; /* NULL: this one's */

int gethostname(char *name, size_t room)
{
    int (*real)(char *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "gethostname");
    if (!host) return real(name, room);
    snprintf(name, room, "%s", host);
    return 0;
}

static bool lockless; /* the folder of copies */

int fcntl(int fd, int command, ...)
{
    int (*real)(int, int, ...);
    char link[40], path[200] = "";
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    *(void **)&real = dlsym(RTLD_NEXT, "fcntl");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (lockless && (command == F_OFD_GETLK || command == F_OFD_SETLK || command == F_SETLK) &&
        readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/shared/")) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, command, argument);
}
int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

static long magic; /* of every file system */

int statfs(const char *path, struct statfs *info)
{
    int (*real)(const char *, struct statfs *);
    *(void **)&real = dlsym(RTLD_NEXT, "statfs");
    const int result = real(path, info);
    if (result == 0) info->f_type = magic;
    return result;
}

static double later_s; /* than the clock says */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_MONOTONIC) now->tv_sec += (time_t)later_s;
    return result;
}

static const char *stale; /* the next looks at it fail so, as those of NFS do */
static int stale_times;

int stat(const char *path, struct stat *info)
{
    if (stale_times > 0 && strcmp(path, stale) == 0) {
        stale_times--;
        errno = ESTALE;
        return -1;
    }
    return fstatat(AT_FDCWD, path, info, 0);
}

static const char *newer, *replaced; /* another process moves newer there when this one syncs its copy */

int fsync(int fd)
{
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    if (newer && rename(newer, replaced) != 0) return -1;
    newer = NULL;
    return real(fd);
}

static char folder[64], said[4096];

static int set_up(void **state)
{
    (void)state;
    magic = 0xef53; /* ext4 */
    snprintf(folder, sizeof folder, "/tmp/gemmtune-keep-XXXXXX");
    return mkdtemp(folder) ? setenv("XDG_CACHE_HOME", folder, 1) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c) */
}

/* What is printed meanwhile, in said. */
static enum status open_and_listen(struct tune_options *o, struct db **db, struct keep **keep)
{
    char path[100];
    snprintf(path, sizeof path, "%s/said", folder);
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    assert_non_null(freopen(path, "w+", stderr));
    const enum status st = keep_open(o, db, keep);
    fflush(stderr);
    rewind(stderr);
    said[fread(said, 1, sizeof said - 1, stderr)] = '\0';
    dup2(before, STDERR_FILENO);
    close(before);
    return st;
}

static struct tune_options a_shard(struct problem *problem)
{
    struct tune_options o = {.problems = problem,
                             .problem_count = 1,
                             .shard = {0, 1},
                             .suite_hash = "0123456789abcdef",
                             .budget_s = 10};
    snprintf(o.db, sizeof o.db, "%s/local.db", folder);
    snprintf(o.save, sizeof o.save, "%s/shared/0.db", folder);
    return o;
}

TEST(a_database_on_a_network_file_system_is_told_and_written_without_a_log)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *db;
    struct keep *keep;
    char log[100];
    magic = 0x0bd00bd0;
    assert_ok(open_and_listen(&o, &db, &keep));
    if (!strstr(said, "local.db is on a network file system (Lustre), where SQLite's log does not work"))
        fail_msg("said: %s", said);
    snprintf(log, sizeof log, "%s/local.db-wal", folder);
    assert_int_equal(access(log, F_OK), -1);
    assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
    keep_close(keep);
    db_close(db);
    assert_ok(db_open(o.save, DB_READ, &db)); /* the copy is there, too */
    struct db_shard shard;
    assert_ok(db_shard_get(db, &shard));
    assert_true(shard.finished);
    db_close(db);
}

TEST(a_database_on_a_local_disk_needs_no_word)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *db;
    struct keep *keep;
    assert_ok(open_and_listen(&o, &db, &keep));
    assert_string_equal(said, "");
    assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
    keep_close(keep);
    db_close(db);
}

TEST(what_an_unfinished_shard_has_spent_is_taken_from_its_budget)
{
    struct problem problem = problem_make(64, 64, 64);
    static const double spent[] = {4, 100}, left[] = {6, 1}; /* a tenth at least */
    for (int i = 0; i < 2; i++) {
        struct tune_options o = a_shard(&problem);
        struct db *db;
        struct keep *keep;
        struct db_shard shard;
        assert_ok(open_and_listen(&o, &db, &keep));
        assert_true(o.budget_s == 10 && !o.goes_on);
        assert_ok(db_shard_get(db, &shard));
        shard.spent_s = spent[i];
        assert_ok(db_shard_set(db, &shard));
        keep_close(keep);
        db_close(db);
        assert_ok(open_and_listen(&o, &db, &keep));
        assert_true(o.budget_s == left[i] && o.goes_on);
        assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
        keep_close(keep);
        db_close(db);
        o.budget_s = 10;
        assert_ok(open_and_listen(&o, &db, &keep)); /* finished: from the beginning */
        assert_true(o.budget_s == 10 && !o.goes_on);
        keep_close(keep);
        db_close(db);
        remove(o.db);
        remove(o.save);
    }
}

/* ---- whose a copy is ---- */

/* A run of a shard with some trials, which has come to its end; then without its own database. */
static void leave_copy(struct tune_options *o, int trials)
{
    struct db *db;
    struct keep *keep;
    assert_ok(open_and_listen(o, &db, &keep));
    store_some(db, trials);
    assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
    keep_close(keep);
    db_close(db);
}

static void end(struct db *db, struct keep *keep)
{
    keep_close(keep);
    db_close(db);
}

static int64_t trials_of(const char *path)
{
    struct db *db;
    struct db_counts counts;
    assert_ok(db_open(path, DB_READ, &db));
    assert_ok(db_count(db, &counts));
    db_close(db);
    return counts.trials;
}

static int number_of(const char *path)
{
    struct db *db;
    struct db_shard shard;
    assert_ok(db_open(path, DB_READ, &db));
    assert_ok(db_shard_get(db, &shard));
    db_close(db);
    return shard.number;
}

static enum status open_fails(struct tune_options *o)
{
    struct db *db = NULL;
    struct keep *keep = NULL;
    const enum status st = open_and_listen(o, &db, &keep);
    end(db, keep);
    return st;
}

static off_t size_of(const char *path, const char *suffix)
{
    char name[TUNE_PATH_MAX + 16];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &info) == 0 ? info.st_size : -1;
}

TEST(a_copy_is_not_put_beside_the_log_of_a_tuner_that_was_killed)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *db;
    struct keep *keep;
    int how;
    leave_copy(&o, 3);
    const pid_t child = fork();
    if (child == 0) {
        assert_ok(open_and_listen(&o, &db, &keep));
        store_some(db, 5);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    remove(o.db);
    const off_t log = size_of(o.db, "-wal"), note = size_of(o.db, ".lock");
    assert_true(log > 0 && note > 0);
    for (int i = 0; i < 2; i++) {
        assert_fails(open_fails(&o), E_DB, "there is no database");
        assert_int_equal(size_of(o.db, ""), -1);
        assert_int_equal(size_of(o.db, "-wal"), log);
        assert_int_equal(size_of(o.db, ".lock"), note);
    }
}

TEST(another_shards_copy_is_neither_taken_in_nor_replaced)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options first = a_shard(&problem), second = a_shard(&problem);
    first.shard = (struct shard){0, 2};
    second.shard = (struct shard){1, 2};
    snprintf(second.db, sizeof second.db, "%s/second.db", folder);
    leave_copy(&first, 3);
    /* Without a database of its own, none appears. */
    assert_fails(open_fails(&second), E_INPUT, "0.db is shard 0/2, not 1/2: name another file with --save");
    assert_int_equal(access(second.db, F_OK), -1);
    /* With one, it stays as it is. */
    snprintf(second.save, sizeof second.save, "%s/shared/1.db", folder);
    leave_copy(&second, 2);
    snprintf(second.save, sizeof second.save, "%s", first.save);
    assert_fails(open_fails(&second), E_INPUT, "--save");
    assert_int_equal(trials_of(second.db), 2);
    /* A database of another shard takes in nothing of a right copy. */
    snprintf(first.db, sizeof first.db, "%s", second.db);
    assert_fails(open_fails(&first), E_INPUT, "second.db is shard 1/2, not 0/2: name another file with --db");
    assert_int_equal(trials_of(second.db), 2);
    assert_int_equal(number_of(first.save), 0);
    assert_int_equal(trials_of(first.save), 3);
}

TEST(a_copy_of_another_version_or_suite_is_refused_by_its_name)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    leave_copy(&o, 1);
    remove(o.db);
    o.suite_hash[0] = 'f';
    assert_fails(open_fails(&o), E_INPUT, "0.db is a shard of another suite");
    o.suite_hash[0] = '0';
    struct db *db;
    assert_ok(db_open(o.save, DB_WRITE, &db));
    db_guard(db, false);
    assert_int_equal(sqlite3_exec(db->handle, "UPDATE shards SET version = '0.1'", NULL, NULL, NULL),
                     SQLITE_OK);
    db_close(db);
    assert_fails(open_fails(&o), E_INPUT, "another file with --save and this one with --known");
    assert_int_equal(access(o.db, F_OK), -1);
}

TEST(what_has_become_another_shards_meanwhile_is_not_replaced)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options other = a_shard(&problem), o = a_shard(&problem);
    struct db *db, *writer;
    struct keep *keep;
    other.shard = (struct shard){1, 2};
    snprintf(other.save, sizeof other.save, "%s/shared/1.db", folder);
    leave_copy(&other, 3);
    o.shard = (struct shard){0, 2};
    snprintf(o.db, sizeof o.db, "%s/first.db", folder);
    assert_ok(open_and_listen(&o, &db, &keep));
    assert_int_equal(rename(other.save, o.save), 0);
    assert_fails(keep_end(keep, &(struct keep_state){0}, OK), E_INPUT, "0.db is shard 1/2, not 0/2");
    assert_int_equal(trials_of(o.save), 3);
    remove(o.save);
    assert_ok(db_open(o.save, DB_WRITE, &writer)); /* a tuner begins there */
    store_some(writer, 2);
    assert_fails(keep_end(keep, &(struct keep_state){0}, OK), E_BUSY, "is being written by another tuner");
    db_close(writer);
    assert_int_equal(trials_of(o.save), 2);
    assert_fails(keep_end(keep, &(struct keep_state){0}, OK), E_INPUT, "is no copy of");
    end(db, keep);
    assert_int_equal(trials_of(o.save), 2);
}

TEST(a_copy_is_a_file_of_its_own)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *known, *writer;
    snprintf(o.save, sizeof o.save, "%s/./local.db", folder); /* neither is there yet */
    assert_fails(open_fails(&o), E_INPUT, "--save and --db are the same file");
    o = a_shard(&problem);
    snprintf(o.save, sizeof o.save, "%s/known.db", folder);
    o.known = o.save;
    assert_ok(db_open(o.known, DB_WRITE, &known));
    store_some(known, 2);
    db_close(known);
    assert_fails(open_fails(&o), E_INPUT, "--save and --known are the same file");
    o.known = NULL;
    for (int i = 0; i < 2; i++) { /* a shard's run and another */
        o.shard.count = !i;
        assert_fails(open_fails(&o), E_INPUT, "known.db has results of other runs and is no copy of");
        assert_ok(db_open(o.save, DB_WRITE, &writer));
        assert_fails(open_fails(&o), E_BUSY, "is being written by another tuner");
        db_close(writer);
        assert_int_equal(access(o.db, F_OK), -1);
    }
    assert_int_equal(trials_of(o.save), 2);
}

TEST(a_run_that_is_no_shards_goes_on_from_its_copy_and_replaces_it)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem), shard = a_shard(&problem);
    o.shard.count = 0;
    leave_copy(&o, 1);
    leave_copy(&o, 2);
    assert_int_equal(trials_of(o.save), 3);
    remove(o.db);
    leave_copy(&o, 4);
    assert_int_equal(trials_of(o.save), 7);
    remove(o.db);
    remove(o.save);
    leave_copy(&shard, 1);
    remove(o.db);
    assert_fails(open_fails(&o), E_INPUT, "this run is no shard's");
}

/* ---- damaged copies ---- */

static void overwrite(const char *path, off_t at, const char *with, size_t length)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, with, length, at), length);
    close(fd);
}

TEST(a_damaged_copy_is_put_aside_where_the_run_has_its_own_database)
{
    static const char rubbish[5000] = "rubbish";
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    char aside[2][TUNE_PATH_MAX + 20];
    snprintf(aside[0], sizeof aside[0], "%s.damaged", o.save);
    snprintf(aside[1], sizeof aside[1], "%s.damaged.2", o.save);
    leave_copy(&o, 3);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            overwrite(o.save, 0, rubbish, sizeof rubbish); /* cannot be opened */
        } else {                                           /* can be opened, but not merged */
            sqlite3 *handle;
            assert_int_equal(sqlite3_open(o.save, &handle), SQLITE_OK);
            assert_int_equal(sqlite3_exec(handle, "UPDATE trials SET time_us = 0.5", NULL, NULL, NULL),
                             SQLITE_OK);
            sqlite3_close(handle);
        }
        leave_copy(&o, 1);
        if (!strstr(said, aside[i])) fail_msg("said: %s", said);
        assert_int_equal(access(aside[i], F_OK), 0);
        assert_int_equal(trials_of(o.save), 4 + i);
    }
    /* Without it, nothing is known of what the copy had: that is for a person. */
    overwrite(o.save, 0, rubbish, sizeof rubbish);
    remove(o.db);
    assert_int_equal(open_fails(&o), E_DB);
    assert_int_equal(access(o.save, F_OK), 0);
    assert_int_equal(access(o.db, F_OK), -1);
}

TEST(what_is_of_a_later_version_or_not_ours_is_no_damaged_copy)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    char line[TUNE_PATH_MAX + 20];
    leave_copy(&o, 3);
    overwrite(o.save, 60, "\0\0\0\143", 4); /* user_version 99 */
    assert_fails(open_fails(&o), E_DB, "has version 99");
    assert_int_equal(access(o.save, F_OK), 0);
    remove(o.save);
    snprintf(line, sizeof line, "%s.json", o.save);
    remove(line);
    FILE *text = fopen(o.save, "w");
    for (int i = 0; i < 200; i++) fputs("A text that somebody has written.\n", text);
    fclose(text);
    assert_int_equal(open_fails(&o), E_DB);
    assert_int_equal(access(o.save, F_OK), 0);
    assert_int_equal(trials_of(o.db), 3);
}

/* ---- two runs of one shard at once ---- */

/* A second run, which has a database of its own, and trials that the first has not. */
static struct tune_options a_second(struct problem *problem)
{
    struct tune_options o = a_shard(problem);
    snprintf(o.db, sizeof o.db, "%s/second.db", folder);
    return o;
}

TEST(two_runs_of_one_shard_that_end_leave_what_both_have_done)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o[2] = {a_shard(&problem), a_second(&problem)};
    struct db *db[2];
    struct keep *keep[2];
    for (int i = 0; i < 2; i++) assert_ok(open_and_listen(&o[i], &db[i], &keep[i]));
    for (int i = 0; i < 2; i++) store_some(db[i], 5 - i);
    for (int i = 0; i < 2; i++) {
        assert_ok(keep_end(keep[i], &(struct keep_state){0}, OK));
        end(db[i], keep[i]);
    }
    assert_int_equal(trials_of(o[0].save), 9);
}

TEST(a_copy_in_the_middle_of_a_run_loses_nothing_of_one_that_has_ended)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o[2] = {a_shard(&problem), a_second(&problem)};
    struct db *db[2];
    struct keep *keep[2];
    for (int i = 0; i < 2; i++) assert_ok(open_and_listen(&o[i], &db[i], &keep[i]));
    int64_t run = store_some(db[0], 5), attempt;
    store_some(db[1], 4);
    const struct config config = store_config(9);
    const struct outcome outcome = store_outcome(9);
    later_s = 100;
    enum status st = keep_tick(keep[0], &(struct keep_state){0});
    assert_ok(st);
    assert_int_equal(trials_of(o[0].save), 5);
    assert_ok(keep_end(keep[1], &(struct keep_state){0}, OK));
    end(db[1], keep[1]);
    remove(o[1].db); /* nothing on that node's disk is needed any more */
    assert_ok(db_attempt(db[0], run, &problem, &config, &attempt)); /* a GPU is at it */
    later_s = 300;
    st = keep_tick(keep[0], &(struct keep_state){0});
    later_s = 0;
    assert_ok(st);
    assert_int_equal(trials_of(o[0].save), 9);
    assert_ok(db_record(db[0], attempt, &outcome));
    store_some(db[0], 1);
    assert_ok(keep_end(keep[0], &(struct keep_state){0}, OK));
    end(db[0], keep[0]);
    assert_int_equal(trials_of(o[0].save), 11);
}

TEST(a_copy_that_comes_between_the_look_and_the_rename_is_taken_in_too)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem), second = a_second(&problem);
    struct db *db;
    struct keep *keep;
    char other[100];
    snprintf(other, sizeof other, "%s/shared/other.db", folder);
    snprintf(second.save, sizeof second.save, "%s", other);
    leave_copy(&second, 4);
    assert_ok(open_and_listen(&o, &db, &keep));
    store_some(db, 5);
    newer = other;
    replaced = o.save;
    assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
    end(db, keep);
    assert_null(newer);
    assert_int_equal(trials_of(o.save), 9);
}

TEST(a_run_whose_copy_cannot_take_in_what_is_there_ends_with_an_error_and_leaves_it)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem), second = a_second(&problem);
    struct db *db;
    struct keep *keep;
    assert_ok(open_and_listen(&o, &db, &keep));
    store_some(db, 5);
    leave_copy(&second, 4);
    lockless = true;
    const enum status st = keep_end(keep, &(struct keep_state){0}, OK);
    lockless = false;
    assert_fails(st, E_IO, "has no locks");
    assert_int_equal(trials_of(o.save), 4);
    assert_ok(keep_end(keep, &(struct keep_state){0}, OK));
    end(db, keep);
    assert_int_equal(trials_of(o.save), 9);
}

TEST(clocks_are_those_of_the_runs_own_boards)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o[2] = {a_shard(&problem), a_second(&problem)};
    struct db *db[2];
    struct keep *keep[2];
    char line[TUNE_PATH_MAX + 20], text[2000];
    for (int i = 0; i < 2; i++) assert_ok(open_and_listen(&o[i], &db[i], &keep[i]));
    for (int i = 0; i < 2; i++) store_some(db[i], 5 - i);
    for (int i = 0; i < 2; i++) {
        assert_ok(keep_end(keep[i], &(struct keep_state){0}, OK));
        end(db[i], keep[i]);
    }
    snprintf(line, sizeof line, "%s.json", o[1].save);
    FILE *file = fopen(line, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, "\"trials\":4,\"clock_mhz\"")) fail_msg("%s", text);
}

/* ---- what cannot be looked at, and whose it is ---- */

TEST(an_error_is_not_taken_for_a_file_that_is_not_there)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem), second = a_second(&problem);
    struct db *db;
    struct keep *keep;
    leave_copy(&o, 60);
    for (int i = 0; i < 2; i++) { /* at the start: the copy, and the database */
        stale = i ? o.db : o.save;
        stale_times = 2;
        const enum status st = i ? open_fails(&o) : open_fails(&second);
        stale_times = 0;
        assert_fails(st, E_IO, "Stale file handle");
        assert_int_equal(trials_of(o.save), 60);
        assert_int_equal(trials_of(o.db), 60);
        assert_int_equal(access(second.db, F_OK), -1);
    }
    assert_int_equal(rename(o.save, second.db), 0); /* at the end: a copy that came meanwhile */
    remove(second.db);
    assert_ok(open_and_listen(&second, &db, &keep));
    store_some(db, 5);
    leave_copy(&o, 0);
    stale = second.save;
    stale_times = 2;
    const enum status st = keep_end(keep, &(struct keep_state){0}, OK);
    stale_times = 0;
    assert_fails(st, E_IO, "Stale file handle");
    end(db, keep);
    assert_int_equal(trials_of(o.save), 60);
}

TEST(a_database_of_a_shard_that_others_could_have_written_is_refused)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    char log[TUNE_PATH_MAX + 20];
    leave_copy(&o, 3);
    assert_int_equal(chmod(o.db, 0666), 0);
    assert_fails(open_fails(&o), E_INPUT, "local.db belongs to user");
    assert_int_equal(chmod(o.db, 0644), 0);
    snprintf(log, sizeof log, "%s-journal", o.db);
    const int fd = open(log, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(fchmod(fd, 0666), 0);
    close(fd);
    assert_fails(open_fails(&o), E_INPUT, "local.db-journal belongs to user");
    remove(log);
    if (geteuid() == 0) {
        assert_int_equal(chown(o.db, 65534, 65534), 0);
        assert_fails(open_fails(&o), E_INPUT, "local.db belongs to user 65534");
        assert_int_equal(chown(o.db, 0, 0), 0);
        assert_int_equal(chown(folder, 12345, 12345), 0);
        assert_ok(open_fails(&o)); /* as root in a container with a folder of the host's user */
        assert_int_equal(chmod(folder, 0770), 0);
        assert_fails(open_fails(&o), E_INPUT, "belongs to user 12345, who may replace what is in it");
        assert_int_equal(chmod(folder, 0700), 0);
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    assert_int_equal(trials_of(o.db), 3);
}

TEST(another_users_link_is_not_followed)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    char target[TUNE_PATH_MAX + 20], line[TUNE_PATH_MAX + 20];
    if (geteuid() != 0) skip(); /* nobody else can make one */
    leave_copy(&o, 3);
    snprintf(target, sizeof target, "%s/victim", folder);
    snprintf(line, sizeof line, "%s.json", o.save);
    remove(line);
    assert_int_equal(symlink(target, line), 0);
    assert_int_equal(lchown(line, 12345, 12345), 0);
    assert_fails(open_fails(&o), E_INPUT, "0.db.json is a symbolic link of user 12345");
    assert_int_equal(access(target, F_OK), -1);
    remove(line);
    assert_int_equal(rename(o.save, target), 0);
    assert_int_equal(symlink(target, o.save), 0);
    assert_int_equal(lchown(o.save, 12345, 12345), 0);
    assert_fails(open_fails(&o), E_INPUT, "0.db is a symbolic link of user 12345");
    assert_int_equal(lchown(o.save, 0, 0), 0);
    leave_copy(&o, 1);
    assert_int_equal(trials_of(target), 4);
}

/* ---- file systems without locks ---- */

TEST(a_copy_where_nothing_can_be_locked_is_replaced_as_often_as_it_is_due)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *db, *copy;
    struct keep *keep;
    assert_ok(open_and_listen(&o, &db, &keep));
    lockless = true;
    for (int i = 0; i < 3; i++) {
        store_some(db, 1);
        const enum status st = keep_end(keep, &(struct keep_state){0}, OK);
        if (st) lockless = false;
        assert_ok(st);
    }
    const enum status locked = db_open(o.save, DB_READ, &copy); /* the test itself */
    lockless = false;
    assert_int_equal(locked, E_IO);
    end(db, keep);
    assert_int_equal(trials_of(o.save), 3);
}

/* ---- folders and text ---- */

TEST(folders_of_a_database_that_begins_with_a_copy_are_made)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    leave_copy(&o, 3);
    snprintf(o.db, sizeof o.db, "%s/new/x/y.db", folder);
    leave_copy(&o, 1);
    assert_int_equal(trials_of(o.db), 4);
}

TEST(others_may_read_in_the_folders_of_a_copy)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    char path[100];
    struct stat info;
    snprintf(o.save, sizeof o.save, "%s/shared/more/0.db", folder);
    const mode_t before = umask(022);
    leave_copy(&o, 1);
    umask(before);
    static const char *const folders[] = {"shared", "shared/more"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0755);
    }
}

TEST(a_host_and_a_reason_that_are_not_utf_8_are_written_escaped)
{
    struct problem problem = problem_make(64, 64, 64);
    struct tune_options o = a_shard(&problem);
    struct db *db;
    struct keep *keep;
    char line[TUNE_PATH_MAX + 20], text[2000];
    host = "h\xe4user";
    assert_ok(open_and_listen(&o, &db, &keep));
    const enum status st = keep_end(keep, &(struct keep_state){0}, fail(E_IO, "cannot read /m\xfcller"));
    host = NULL;
    assert_int_equal(st, E_IO);
    end(db, keep);
    snprintf(line, sizeof line, "%s.json", o.save);
    FILE *file = fopen(line, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, "\"why\":\"cannot read /m\\\\xfcller\"") ||
        !strstr(text, "\"host\":\"h\\\\xe4user\"") || !strstr(text, "\"state\":\"failed\""))
        fail_msg("%s", text);
}

#define KEEP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_on_a_network_file_system_is_told_and_written_without_a_log,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_database_on_a_local_disk_needs_no_word, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_an_unfinished_shard_has_spent_is_taken_from_its_budget, set_up,
                                        tear_down),
        KEEP_TEST(a_copy_is_not_put_beside_the_log_of_a_tuner_that_was_killed),
        KEEP_TEST(another_shards_copy_is_neither_taken_in_nor_replaced),
        KEEP_TEST(a_copy_of_another_version_or_suite_is_refused_by_its_name),
        KEEP_TEST(what_has_become_another_shards_meanwhile_is_not_replaced),
        KEEP_TEST(a_copy_is_a_file_of_its_own),
        KEEP_TEST(a_run_that_is_no_shards_goes_on_from_its_copy_and_replaces_it),
        KEEP_TEST(a_damaged_copy_is_put_aside_where_the_run_has_its_own_database),
        KEEP_TEST(what_is_of_a_later_version_or_not_ours_is_no_damaged_copy),
        KEEP_TEST(two_runs_of_one_shard_that_end_leave_what_both_have_done),
        KEEP_TEST(a_copy_in_the_middle_of_a_run_loses_nothing_of_one_that_has_ended),
        KEEP_TEST(a_copy_that_comes_between_the_look_and_the_rename_is_taken_in_too),
        KEEP_TEST(a_run_whose_copy_cannot_take_in_what_is_there_ends_with_an_error_and_leaves_it),
        KEEP_TEST(clocks_are_those_of_the_runs_own_boards),
        KEEP_TEST(an_error_is_not_taken_for_a_file_that_is_not_there),
        KEEP_TEST(a_database_of_a_shard_that_others_could_have_written_is_refused),
        KEEP_TEST(another_users_link_is_not_followed),
        KEEP_TEST(a_copy_where_nothing_can_be_locked_is_replaced_as_often_as_it_is_due),
        KEEP_TEST(folders_of_a_database_that_begins_with_a_copy_are_made),
        KEEP_TEST(others_may_read_in_the_folders_of_a_copy),
        KEEP_TEST(a_host_and_a_reason_that_are_not_utf_8_are_written_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a program computes, as text: reading, joining, saving, and how its time is divided. */
#include "budget.h"
#include "capture.h"
#include "files.h"
#include "scratch_folder.h"
#include "suite.h"
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char path[96];

static int setup(void **state)
{
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s", in_folder("program.txt"));
    return 0;
}

static void add(struct capture *c, const char *problem, uint64_t count, double time_us)
{
    struct problem p;
    assert_ok(problem_parse(problem, &p));
    assert_ok(capture_add(c, &p, count, time_us));
}

TEST(counts_and_times_are_read_and_the_heaviest_comes_first)
{
    struct capture c = {0};
    file_write(path, "# a heading, with count=7 in it\n\n8x8x8  # count=1000 time_us=2.5\n"
                     "sgemm:nt:16x16x16:batch=3 # time_us=40 count=100\r\n 32x32x32 \n");
    assert_ok(capture_read(path, &c));
    assert_int_equal(c.count, 3);
    assert_string_equal(c.at[0].text, "sgemm:nt:16x16x16:batch=3");
    assert_true(c.at[0].count == 100 && c.at[0].time_us == 40 && capture_weight(&c.at[0]) == 4000);
    assert_string_equal(c.at[1].text, "sgemm:nn:8x8x8");
    assert_true(c.at[2].count == 1 && c.at[2].time_us == 0 && capture_weight(&c.at[2]) > 0);
    capture_free(&c);
}

TEST(the_same_problem_twice_is_one_with_the_mean_time)
{
    struct capture c = {0};
    add(&c, "8x8x8", 30, 2);
    add(&c, "9x9x9", 1, 5);
    add(&c, "sgemm:nn:8x8x8", 10, 4);
    add(&c, "8x8x8", 1000, 0); /* its time is not known */
    capture_settle(&c);
    assert_int_equal(c.count, 2);
    assert_true(c.at[0].count == 1040 && c.at[0].time_us == 2.5);
    add(&c, "8x8x8", UINT64_MAX, 2.5);
    capture_settle(&c);
    assert_true(c.at[0].count == UINT64_MAX);
    capture_free(&c);
    capture_settle(&c);
    assert_int_equal(c.count, 0);
}

TEST(problems_that_differ_in_epilogue_or_pointers_are_captured_apart)
{
    struct capture c = {0};
    add(&c, "8x8x8", 10, 3);
    add(&c, "8x8x8:epilogue=bias+gelu", 10, 2);
    add(&c, "8x8x8:epilogue=gelu+bias", 10, 2);
    add(&c, "8x8x8:batch=2", 10, 1);
    add(&c, "8x8x8:pointers:batch=2", 5, 1);
    assert_ok(capture_save(path, &c));
    assert_non_null(strstr(file_text(path), "\nsgemm:nn:8x8x8:epilogue=bias+gelu  # count=20 time_us=2\n"
                                            "sgemm:nn:8x8x8  # count=10 time_us=3\n"
                                            "sgemm:nn:8x8x8:batch=2  # count=10 time_us=1\n"
                                            "sgemm:nn:8x8x8:batch=2:pointers  # count=5 time_us=1\n"));
    capture_free(&c);
    assert_ok(capture_read(path, &c));
    assert_int_equal(c.count, 4);
    assert_true(c.at[3].problem.pointers);
    assert_int_equal(c.at[0].problem.epilogue, epilogue_code(BIAS_COLUMN, ACTIVATION_GELU, false));
    capture_free(&c);
}

TEST(what_is_saved_is_added_to_what_the_file_holds)
{
    struct capture c = {0};
    add(&c, "8x8x8", 10, 3);
    add(&c, "sgemm:tn:5x6x7:lda=12", 2, 0);
    assert_ok(capture_save(path, &c));
    assert_ok(capture_save(path, &c));
    assert_non_null(strstr(file_text(path),
                           "\nsgemm:nn:8x8x8  # count=20 time_us=3\nsgemm:tn:5x6x7:lda=12  # count=4\n"));
    struct suite suite;
    assert_ok(suite_read(path, GEMM_SGEMM, NULL, &suite)); /* it is a suite, too */
    assert_int_equal(suite.count, 2);
    suite_free(&suite);
    capture_free(&c);
}

TEST(processes_that_save_at_once_lose_nothing)
{
    enum { PROCESSES = 8, TIMES = 20 };
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            struct capture c = {0};
            struct problem p = problem_make(8, 8, 8);
            int bad = capture_add(&c, &p, 1, 1) != OK;
            for (int n = 0; n < TIMES; n++) {
                char part[PATH_MAX];
                enum status st = capture_save(path, &c);
                bad |= st == E_BUSY ? capture_save_beside(path, &c, part) != OK : st != OK;
            }
            _exit(bad);
        }
    for (int status, i = 0; i < PROCESSES; i++) assert_true(wait(&status) > 0 && status == 0);
    struct capture c = {0}, nothing = {0};
    assert_ok(capture_read(path, &c));
    assert_true(c.count == 1 && c.at[0].count == PROCESSES * TIMES);
    capture_free(&c);
    assert_ok(capture_save(path, &nothing));
    assert_int_equal(files_in(folder), 1); /* nothing is left behind */
}

TEST(a_file_that_is_no_capture_is_refused_and_left_as_it_is)
{
    static const struct {
        const char *text, *part;
    } bad[] = {{"8x8x8 # count=x\n", ":1: 'count"},
               {"\n8x8 # count=1\n", ":2: "},
               {"8x8x8 # count=-1\n", "'count=-1' is neither"},
               {"8x8x8 # time_us=nan\n", "'time_us=nan' is neither"},
               {"8x8x8 # time_us=1e999\n", "neither"},
               {"8x8x8 # count=99999999999999999999999\n", "neither"},
               {"8x8x8 # my favourite\n", "'my'"},
               {"#!/bin/sh\necho 1\n", ":2: "}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct capture c = {0};
        file_write(path, bad[i].text);
        assert_fails(capture_read(path, &c), E_INPUT, bad[i].part);
        assert_int_equal(capture_save(path, &c), E_INPUT);
        assert_string_equal(file_text(path), bad[i].text);
        capture_free(&c);
    }
}

TEST(no_file_and_no_folder_are_told)
{
    struct capture c = {0};
    assert_fails(capture_read(path, &c), E_ABSENT, path);
    add(&c, "8x8x8", 1, 1);
    assert_fails(capture_save("/nowhere/at/all.txt", &c), E_IO, "/nowhere/at/all.txt");
    if (geteuid() != 0) {
        assert_int_equal(chmod(folder, 0500), 0);
        assert_fails(capture_save(path, &c), E_IO, path);
    }
    capture_free(&c);
}

/* Whoever may write into the folder must not lead the capture elsewhere. */
TEST(no_name_that_can_be_foreseen_is_written_to_and_no_link_is_followed)
{
    struct capture c = {0};
    char victim[128], planted[160];
    add(&c, "8x8x8", 1, 1);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    FILE *file = fopen(victim, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    snprintf(planted, sizeof planted, "%s.%d.part", path, (int)getpid());
    assert_int_equal(symlink(victim, planted), 0);
    assert_ok(capture_save(path, &c));
    struct stat info;
    assert_true(stat(victim, &info) == 0 && info.st_size == 0);
    assert_true(lstat(path, &info) == 0 && S_ISREG(info.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(victim, path), 0);
    assert_fails(capture_save(path, &c), E_IO, "symbolic link");
    assert_true(stat(victim, &info) == 0 && info.st_size == 0);
    assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    capture_free(&c);
}

TEST(a_pipe_or_a_folder_is_neither_waited_for_nor_replaced)
{
    struct capture c = {0};
    struct stat info;
    add(&c, "8x8x8", 1, 1);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60); /* nobody writes into it */
    assert_fails(capture_save(path, &c), E_IO, "not a regular file");
    alarm(0);
    assert_true(lstat(path, &info) == 0 && S_ISFIFO(info.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(capture_save(path, &c), E_IO, "not a regular file");
    capture_free(&c);
}

TEST(a_capture_keeps_its_mode_and_a_new_one_is_its_owners_alone)
{
    struct capture c = {0};
    struct stat info;
    add(&c, "8x8x8", 1, 1);
    assert_ok(capture_save(path, &c));
    assert_true(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    assert_int_equal(chmod(path, 0664), 0);
    assert_ok(capture_save(path, &c));
    assert_true(stat(path, &info) == 0 && (info.st_mode & 0777) == 0664);
    capture_free(&c);
}

static atomic_bool saved_all;

/* Children that do nothing, until the pipe's other end is closed. */
static void *fork_often(void *pipe_ends)
{
    const int *end = pipe_ends;
    for (int i = 0; i < 32 && !atomic_load(&saved_all); i++) {
        char byte;
        if (fork() != 0) continue;
        close(end[1]);
        _exit((int)read(end[0], &byte, 1));
    }
    return NULL;
}

/* A child inherits the open folder, and lives on. */
TEST(a_child_that_was_forked_during_a_save_does_not_keep_the_lock)
{
    enum { SAVES = 200 };
    struct capture c = {0};
    int status, open_until[2];
    add(&c, "8x8x8", 1, 1);
    assert_int_equal(pipe(open_until), 0);
    pid_t saver = fork();
    if (saver == 0) {
        pthread_t thread;
        bool bad = pthread_create(&thread, NULL, fork_often, open_until) != 0;
        for (int n = 0; n < SAVES; n++) bad |= capture_save(path, &c) != OK;
        atomic_store(&saved_all, true);
        pthread_join(thread, NULL);
        _exit(bad);
    }
    close(open_until[0]);
    assert_int_equal(waitpid(saver, &status, 0), saver);
    assert_int_equal(status, 0);
    assert_ok(capture_save(path, &c)); /* its children are alive */
    close(open_until[1]);              /* now they end */
    capture_free(&c);
}

/* Opens a file or folder and takes its lock, as anybody may who can read it. */
static int lock_of(const char *name)
{
    const int fd = open(name, O_RDONLY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    return fd;
}

static double paused_s; /* asked for, however long it took */

int nanosleep(const struct timespec *pause, struct timespec *left)
{
    paused_s += (double)pause->tv_sec + 1e-9 * (double)pause->tv_nsec;
    return (int)syscall(SYS_nanosleep, pause, left);
}

/* For how long it wants to wait. */
static double pause_of_save(const struct capture *c, enum status expected)
{
    paused_s = 0;
    alarm(60); /* it would wait for ever */
    assert_int_equal(capture_save(path, c), expected);
    alarm(0);
    return paused_s;
}

TEST(a_lock_on_the_folder_delays_no_save)
{
    struct capture c = {0};
    add(&c, "8x8x8", 1, 1);
    const int fd = lock_of(folder);
    assert_true(pause_of_save(&c, OK) == 0);
    close(fd);
    capture_free(&c);
}

TEST(a_lock_on_the_file_delays_a_save_by_less_than_a_second_and_loses_nothing)
{
    struct capture c = {0}, all = {0};
    char part[PATH_MAX];
    add(&c, "8x8x8", 7, 1);
    assert_ok(capture_save(path, &c));
    const int fd = lock_of(path);
    const double paused = pause_of_save(&c, E_BUSY);
    assert_true(paused > 0 && paused < 1);
    assert_ok(capture_save_beside(path, &c, part));
    assert_true(strncmp(part, path, strlen(path)) == 0 && access(part, R_OK) == 0);
    assert_ok(capture_read(path, &all));
    assert_true(all.count == 1 && all.at[0].count == 14);
    capture_free(&all);
    close(fd);
    assert_ok(capture_save(path, &c)); /* takes the part in */
    assert_int_equal(files_in(folder), 1);
    assert_ok(capture_read(path, &all));
    assert_true(all.count == 1 && all.at[0].count == 21);
    capture_free(&all);
    capture_free(&c);
}

TEST(a_part_without_its_capture_is_read_and_one_that_is_none_is_left)
{
    struct capture c = {0}, all = {0};
    char part[PATH_MAX], other[160];
    add(&c, "8x8x8", 7, 1);
    assert_ok(capture_save_beside(path, &c, part));
    snprintf(other, sizeof other, "%s.part-0123456789abcdef", path);
    file_write(other, "not a problem\n");
    assert_ok(capture_read(path, &all));
    assert_true(all.count == 1 && all.at[0].count == 7);
    assert_ok(capture_save(path, &c));
    assert_non_null(strstr(file_text(path), "\nsgemm:nn:8x8x8  # count=14 "));
    assert_string_equal(file_text(other), "not a problem\n");
    assert_int_equal(files_in(folder), 2);
    capture_free(&all);
    capture_free(&c);
}

static void make_old(const char *name)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

TEST(what_a_killed_writer_has_left_is_removed_after_an_hour)
{
    struct capture c = {0};
    char left[4][160];
    static const char *const numbers[] = {"0123456789abcdef", "123456789abcdef0", "23456789abcdef01",
                                          "notes"};
    add(&c, "8x8x8", 1, 1);
    for (int i = 0; i < 4; i++) {
        snprintf(left[i], sizeof left[i], "%s/.program.txt.%s", folder, numbers[i]);
        file_write(left[i], "8x8x8\n");
        if (i != 1) make_old(left[i]); /* 1: of a moment ago */
    }
    const int fd = lock_of(left[2]); /* its writer lives */
    assert_ok(capture_save(path, &c));
    assert_true(access(left[0], F_OK) != 0);
    for (int i = 1; i < 4; i++) assert_int_equal(access(left[i], F_OK), 0);
    close(fd);
    capture_free(&c);
}

/* Leaves this process so many bytes; a sanitizer needs more address space than there is memory. */
static struct rlimit limit_memory(rlim_t left)
{
    struct rlimit before, now;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%ld", &pages) == 1 && getrlimit(RLIMIT_AS, &before) == 0);
    fclose(file);
    now = (struct rlimit){(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + left, before.rlim_max};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
#else
    (void)now;
#endif
    return before;
}

TEST(a_line_without_an_end_takes_no_memory_and_is_not_the_end_of_the_file)
{
    enum { LENGTH = 16 << 20, LEFT = 4 << 20 };
    struct capture c = {0};
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, 'x', LENGTH);
    file_write_bytes(path, text, LENGTH);
    free(text);
    const struct rlimit before = limit_memory(LEFT);
    const enum status st = capture_read(path, &c);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(st, E_INPUT);
    assert_non_null(strstr(status_text(), ":1: longer than 65535 bytes"));
    capture_free(&c);
}

TEST(the_budget_follows_the_weight_and_leaves_nobody_out)
{
    /* Of 1000 s, a fifth evenly and the rest by weight. */
    assert_true(fabs(budget_weighted_share(1000, 90, 100, 10, 1) - (20 + 720)) < 1e-9);
    assert_true(fabs(budget_weighted_share(1000, 0, 100, 10, 1) - 20) < 1e-9);
    assert_true(fabs(budget_weighted_share(1000, 10, 100, 10, 2) - 2 * (20 + 80)) < 1e-9);
    assert_true(budget_weighted_share(1000, 100, 100, 10, 4) == 1000); /* more there is not */
    assert_true(budget_weighted_share(1000, 1, 2, 1, 1) == 1000);      /* the last one takes what is left */
    assert_true(budget_weighted_share(-1, 1, 2, 2, 1) == 0);
    assert_true(budget_weighted_share(100, 0, 0, 2, 1) == 50);
    double left = 3600, weights[] = {70, 20, 9, 1}, sum = 100, spent = 0;
    for (int i = 0; i < 4; i++) {
        double share = budget_weighted_share(left - spent, weights[i], sum, 4 - i, 1);
        assert_true(share >= 3600 * 0.025);
        spent += share;
        sum -= weights[i];
    }
    assert_true(fabs(spent - left) < 1e-6);
}

TEST(what_is_left_out_is_counted_by_its_reason)
{
    struct capture c = {0};
    char why[16];
    file_write(path, "# left out: count=5 it rains\n#left out: count=7 no\n# left out: count=x no\n8x8x8\n");
    add(&c, "8x8x8", 3, 0);
    capture_leave_out(&c, "it rains", 2);
    capture_leave_out(&c, "it snows", UINT64_MAX);
    capture_leave_out(&c, "it snows", 9);
    assert_ok(capture_save(path, &c));
    assert_non_null(strstr(file_text(path), "\n# left out: count=7 it rains\n"
                                            "# left out: count=18446744073709551615 it snows\n"
                                            "sgemm:nn:8x8x8  # count=4\n"));
    capture_free(&c);
    assert_ok(capture_read(path, &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.reasons, 2);
    assert_string_equal(c.left_out[1].why, "it snows");
    for (int i = 0; i < 2 * CAPTURE_REASONS_MAX; i++) {
        snprintf(why, sizeof why, "reason %d", i);
        capture_leave_out(&c, why, 1);
    }
    assert_int_equal(c.reasons, CAPTURE_REASONS_MAX);
    assert_string_equal(c.left_out[CAPTURE_REASONS_MAX - 1].why, "other reasons");
    assert_int_equal(c.left_out[CAPTURE_REASONS_MAX - 1].count, CAPTURE_REASONS_MAX + 3);
    capture_free(&c);
}

#define SAVED(name) cmocka_unit_test_setup_teardown(name, setup, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAVED(counts_and_times_are_read_and_the_heaviest_comes_first),
        SAVED(the_same_problem_twice_is_one_with_the_mean_time),
        SAVED(problems_that_differ_in_epilogue_or_pointers_are_captured_apart),
        SAVED(what_is_saved_is_added_to_what_the_file_holds),
        SAVED(processes_that_save_at_once_lose_nothing),
        SAVED(a_file_that_is_no_capture_is_refused_and_left_as_it_is),
        SAVED(no_file_and_no_folder_are_told),
        SAVED(no_name_that_can_be_foreseen_is_written_to_and_no_link_is_followed),
        SAVED(a_pipe_or_a_folder_is_neither_waited_for_nor_replaced),
        SAVED(a_capture_keeps_its_mode_and_a_new_one_is_its_owners_alone),
        SAVED(a_child_that_was_forked_during_a_save_does_not_keep_the_lock),
        SAVED(a_lock_on_the_folder_delays_no_save),
        SAVED(a_lock_on_the_file_delays_a_save_by_less_than_a_second_and_loses_nothing),
        SAVED(a_part_without_its_capture_is_read_and_one_that_is_none_is_left),
        SAVED(what_a_killed_writer_has_left_is_removed_after_an_hour),
        SAVED(a_line_without_an_end_takes_no_memory_and_is_not_the_end_of_the_file),
        SAVED(what_is_left_out_is_counted_by_its_reason),
        cmocka_unit_test(the_budget_follows_the_weight_and_leaves_nobody_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

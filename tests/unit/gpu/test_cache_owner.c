/* test_cache_owner.c — the cache believes only its owner. */
#include "cache.h"
#include "files.h"
#include "scratch_folder.h"
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool killed_at_sync;

int fsync(int fd)
{
    if (killed_at_sync) raise(SIGKILL);
    return (int)syscall(SYS_fsync, fd);
}

static char key[CACHE_KEY_TEXT];
static struct cache_entry entry; /* stored, whole */

static int make_entry(void **state)
{
    const struct kernel_facts facts = {.registers = 32};
    cache_key((const char *const[]){"x"}, 1, key);
    return make_folder(state) || cache_store(folder, key, "cubin", 5, &facts, &entry) ? -1 : 0;
}

/* In a child, which may hang: 0 found, else the status; -1 it hung. */
static int find_it(void)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct cache_entry found;
        alarm(60);
        _exit((int)cache_find(folder, key, &found));
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_not_believed_and_replaced(void)
{
    struct cache_entry found;
    const struct kernel_facts facts = {.registers = 32};
    assert_int_equal(find_it(), E_ABSENT);
    assert_ok(cache_store(folder, key, "cubin", 5, &facts, &found));
    assert_int_equal(find_it(), OK);
}

TEST(a_fifo_makes_nobody_wait)
{
    assert_int_equal(find_it(), OK);
    assert_int_equal(unlink(entry.path), 0);
    assert_int_equal(mkfifo(entry.path, 0600), 0);
    assert_not_believed_and_replaced();
}

TEST(links_are_not_followed)
{
    char aside[160];
    snprintf(aside, sizeof aside, "%s/aside", folder);
    assert_int_equal(rename(entry.path, aside), 0);
    assert_int_equal(symlink(aside, entry.path), 0);
    assert_not_believed_and_replaced();
    char *bytes;
    size_t length;
    assert_int_equal(rename(entry.path, aside), 0);
    assert_int_equal(symlink(aside, entry.path), 0);
    assert_fails(cache_read(entry.path, entry.checksum, &bytes, &length), E_IO, "symbolic link");
}

TEST(what_others_could_have_written_is_not_believed)
{
    assert_int_equal(chmod(entry.path, 0666), 0);
    assert_not_believed_and_replaced();
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
    assert_int_equal(chown(entry.path, 65534, 65534), 0);
    assert_not_believed_and_replaced();
}

TEST(a_folder_that_others_may_write_is_refused)
{
    struct cache_entry found;
    const struct kernel_facts facts = {.registers = 32};
    assert_int_equal(chmod(folder, 0777), 0);
    assert_fails(cache_make_folder(folder), E_IO, "0777");
    assert_fails(cache_store(folder, key, "cubin", 5, &facts, &found), E_IO, "GEMMTUNE_CACHE");
    assert_int_equal(find_it(), E_ABSENT);
    assert_int_equal(chmod(folder, 01777), 0); /* like /tmp, whose mode nobody shall be told to change */
    assert_fails(cache_make_folder(folder), E_IO, "GEMMTUNE_CACHE");
    assert_null(strstr(status_text(), "chmod"));
    assert_int_equal(chmod(folder, 0700), 0);
    if (geteuid() != 0) skip();
    assert_int_equal(chown(folder, 65534, 65534), 0);
    assert_fails(cache_make_folder(folder), E_IO, "user 65534");
    assert_int_equal(find_it(), E_ABSENT);
}

TEST(folders_on_the_way_are_private_too)
{
    char path[160];
    struct stat info;
    mode_t before = umask(0);
    snprintf(path, sizeof path, "%s/a/b/c", folder);
    assert_ok(cache_make_folder(path));
    umask(before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0700);
        *strrchr(path, '/') = '\0';
    }
}

TEST(a_killed_writer_leaves_no_temporary_file)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct cache_entry found;
        const struct kernel_facts facts = {.registers = 32};
        killed_at_sync = true;
        _exit((int)cache_store(folder, key, "other", 5, &facts, &found));
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(files_in(folder), 1); /* the entry */
    assert_int_equal(find_it(), OK);
}

#define STORED(name) cmocka_unit_test_setup_teardown(name, make_entry, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORED(a_fifo_makes_nobody_wait),
        STORED(links_are_not_followed),
        STORED(what_others_could_have_written_is_not_believed),
        STORED(a_folder_that_others_may_write_is_refused),
        STORED(a_killed_writer_leaves_no_temporary_file),
        STORED(folders_on_the_way_are_private_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

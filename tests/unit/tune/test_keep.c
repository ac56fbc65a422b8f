/* test_keep.c — what a run says and leaves where its database is on a network file system, which statfs says
 * here. */
#include "unit.h"

#include "db_exchange.h"
#include "keep.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static long magic; /* of every file system */

int statfs(const char *path, struct statfs *info)
{
    int (*real)(const char *, struct statfs *);
    *(void **)&real = dlsym(RTLD_NEXT, "statfs");
    const int result = real(path, info);
    if (result == 0) info->f_type = magic;
    return result;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_on_a_network_file_system_is_told_and_written_without_a_log,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_database_on_a_local_disk_needs_no_word, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_an_unfinished_shard_has_spent_is_taken_from_its_budget, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

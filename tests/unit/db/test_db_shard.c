/* test_db_shard.c — what a file says of the shard that it is, copies of a file that is open, and clocks. */
#include "store.h"

#include "db_exchange.h"
#include "file_seen.h"
#include <dirent.h>
#include <fcntl.h>

static struct db_shard a_shard(void)
{
    return (struct db_shard){
        .suite = "0123456789abcdef", .number = 3, .count = 8, .version = "1.2 (abc)", .problems = 5};
}

TEST(a_file_remembers_whose_shard_it_is_though_nothing_else_is_stored)
{
    struct db_shard shard = a_shard(), found;
    struct db *db = store_open(DB_WRITE);
    assert_fails(db_shard_get(db, &found), E_ABSENT, "belongs to no shard");
    assert_ok(db_shard_set(db, &shard));
    db_close(db);
    db = store_open(DB_WRITE); /* a file in which nothing is stored would be gone */
    shard.spent_s = 12.5;
    shard.finished = true;
    assert_ok(db_shard_set(db, &shard));
    db_close(db);
    db = store_open(DB_READ);
    assert_ok(db_shard_get(db, &found));
    assert_string_equal(found.suite, shard.suite);
    assert_string_equal(found.version, shard.version);
    assert_int_equal(found.number, 3);
    assert_int_equal(found.count, 8);
    assert_int_equal(found.problems, 5);
    assert_true(found.spent_s == 12.5 && found.finished);
    assert_int_equal(db_shard_set(db, &shard), E_DB); /* a reader */
    db_close(db);
}

TEST(a_shard_that_cannot_be_is_reported_as_damage)
{
    static const char *const wrong[] = {
        "UPDATE shards SET number = 8",         "UPDATE shards SET number = -1",
        "UPDATE shards SET finished = 2",       "UPDATE shards SET count = 65537",
        "UPDATE shards SET count = 2147483647", "UPDATE shards SET suite = '0123456789abcdef0'",
        "UPDATE shards SET spent_s = -1.0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct db_shard shard = a_shard();
        struct db *db = store_open(DB_WRITE);
        assert_ok(db_shard_set(db, &shard));
        db_guard(db, false);
        assert_int_equal(sqlite3_exec(db->handle, wrong[i], NULL, NULL, NULL), SQLITE_OK);
        if (db_shard_get(db, &shard) != E_DB) fail_msg("%s was read", wrong[i]);
        db_close(db);
        remove(store_path);
    }
}

TEST(merging_copies_no_shard)
{
    char other[200];
    snprintf(other, sizeof other, "%s/all.db", store_folder);
    struct db_shard shard = a_shard();
    struct db_merged merged;
    const char *const path = store_path;
    struct db *db = store_open(DB_WRITE), *all;
    assert_ok(db_shard_set(db, &shard));
    store_some(db, 2);
    db_close(db);
    assert_ok(db_open(other, DB_WRITE, &all));
    assert_ok(db_merge(all, &path, 1, &merged));
    assert_int_equal(merged.trials, 2);
    assert_int_equal(db_shard_get(all, &shard), E_ABSENT);
    db_close(all);
}

/* ---- copies ---- */

static int files_in(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.' || entry->d_name[1] == 't';
    closedir(dir);
    return count;
}

static int64_t trials_in(const char *path)
{
    struct db *db;
    struct db_counts counts;
    assert_ok(db_open(path, DB_READ, &db));
    assert_ok(db_check_whole(db));
    assert_ok(db_count(db, &counts));
    db_close(db);
    return counts.trials;
}

TEST(a_copy_of_an_open_file_is_whole_plain_and_takes_the_place_of_the_last)
{
    char folder[200], copy[220];
    unsigned char head[20];
    snprintf(folder, sizeof folder, "%s/shared", store_folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    struct db *db = store_open(DB_WRITE);
    for (int i = 1; i <= 3; i++) {
        store_some(db, 10);
        assert_ok(db_save(db, copy, NULL));
        assert_int_equal(trials_in(copy), 10 * i);
        assert_int_equal(files_in(folder), 1); /* no log, no temporary file */
    }
    const int fd = open(copy, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, head, sizeof head), sizeof head);
    close(fd);
    assert_true(head[18] == 1 && head[19] == 1); /* no WAL: it may be on a network file system */
    db_close(db);
}

TEST(a_copy_that_fails_leaves_the_last_one_and_nothing_else)
{
    char folder[200], copy[220];
    snprintf(folder, sizeof folder, "%s/shared", store_folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(copy, 0700), 0); /* nothing can take its place */
    struct db *db = store_open(DB_WRITE);
    store_some(db, 10);
    assert_fails(db_save(db, copy, NULL), E_IO, "cannot write");
    assert_int_equal(files_in(folder), 1);
    assert_int_equal(rmdir(copy), 0);
    assert_ok(db_save(db, copy, NULL));
    assert_fails(db_save(db, "/nowhere/copy.db", NULL), E_IO, "/nowhere");
    assert_int_equal(trials_in(copy), 10);
    db_close(db);
}

TEST(a_copy_takes_the_place_neither_of_its_own_file_nor_of_one_that_is_being_written)
{
    char copy[200], link[200];
    snprintf(copy, sizeof copy, "%s/copy.db", store_folder);
    snprintf(link, sizeof link, "%s/link.db", store_folder);
    struct db *db = store_open(DB_WRITE), *other;
    store_some(db, 4);
    assert_int_equal(symlink(store_path, link), 0);
    assert_true(db_same_file(link, store_path) && !db_same_file(copy, store_path));
    assert_fails(db_save(db, store_path, NULL), E_INPUT, "a copy of itself");
    assert_fails(db_save(db, link, NULL), E_INPUT, "a copy of itself");
    assert_false(db_is_written(copy));
    assert_ok(db_open(copy, DB_WRITE, &other));
    assert_true(db_is_written(copy) && db_is_written(link));
    store_some(other, 3);
    assert_fails(db_save(db, copy, NULL), E_BUSY, "a tuner is writing");
    assert_int_equal(files_in(store_folder), 10); /* two files, their locks and logs, link, cache: no other */
    db_close(other);
    assert_int_equal(trials_in(copy), 3);
    assert_ok(db_save(db, copy, NULL));
    assert_int_equal(trials_in(copy), 4);
    db_close(db);
}

TEST(a_copy_takes_the_place_only_of_the_one_that_was_looked_at)
{
    char copy[200], newer[200];
    struct stat was, now;
    snprintf(copy, sizeof copy, "%s/copy.db", store_folder);
    snprintf(newer, sizeof newer, "%s/newer.db", store_folder);
    struct db *db = store_open(DB_WRITE);
    store_some(db, 4);
    assert_ok(file_see(copy, &was));
    assert_false(file_is_there(&was));
    assert_ok(db_save(db, copy, &was));
    assert_ok(file_see(copy, &now));
    assert_true(file_is_there(&was) && file_unchanged(&was, &now));
    assert_ok(db_save(db, newer, NULL));
    store_some(db, 3);
    assert_ok(db_save(db, copy, &was));
    assert_int_equal(rename(newer, copy), 0);
    assert_fails(db_save(db, copy, &was), E_BUSY, "another process has written");
    assert_int_equal(trials_in(copy), 4);
    was = (struct stat){0}; /* there was none */
    assert_fails(db_save(db, copy, &was), E_BUSY, "another process has written");
    assert_ok(file_see(copy, &was));
    assert_ok(db_save(db, copy, &was));
    assert_int_equal(trials_in(copy), 7);
    db_close(db);
}

TEST(a_name_has_one_holder_and_meanwhile_no_writer)
{
    char path[200], lock[220];
    int name, second;
    struct db *db;
    snprintf(path, sizeof path, "%s/copy.db", store_folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_ok(db_name_hold(path, 0, &name));
    assert_fails(db_name_hold(path, 0, &second), E_BUSY, path);
    assert_int_equal(second, -1);
    assert_int_equal(db_open(path, DB_WRITE, &db), E_BUSY);
    db_name_release(path, second);
    assert_int_equal(access(lock, F_OK), 0);
    db_name_release(path, name);
    assert_int_equal(access(lock, F_OK), -1);
    assert_ok(db_open(path, DB_WRITE, &db));
    assert_fails(db_name_hold(path, 0, &name), E_BUSY, path);
    db_close(db);
}

static void leave_bytes(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("what a killed tuner has left", file);
    fclose(file);
}

TEST(a_copy_does_not_take_the_place_of_a_file_with_a_log)
{
    static const char *const suffixes[] = {"-wal", "-journal"};
    char copy[PATH_MAX], log[PATH_MAX];
    struct working w = store_begin();
    snprintf(copy, sizeof copy, "%.4000s.copy", store_path);
    for (int i = 0; i < 4; i++) {
        snprintf(log, sizeof log, "%.4000s%s", copy, suffixes[i % 2]);
        leave_bytes(log);
        assert_fails(db_save(w.db, copy, NULL), E_DB,
                     i < 2 ? "there is no database" : "in the log beside it");
        remove(log);
        if (i == 1) assert_ok(db_save(w.db, copy, NULL));
    }
    db_close(w.db);
    remove(copy);
}

TEST(who_lets_go_of_a_name_leaves_the_lock_of_another)
{
    char lock[PATH_MAX], moved[PATH_MAX];
    int first, second;
    snprintf(lock, sizeof lock, "%.4000s.lock", store_path);
    snprintf(moved, sizeof moved, "%.4000s.moved", store_path);
    assert_ok(db_name_hold(store_path, 0, &first));
    assert_int_equal(rename(lock, moved), 0);
    assert_ok(db_name_hold(store_path, 0, &second));
    db_name_release(store_path, first);
    assert_int_equal(access(lock, F_OK), 0);
    db_name_release(store_path, second);
    assert_int_equal(access(lock, F_OK), -1);
    remove(moved);
}

TEST(a_reader_can_be_copied_too)
{
    char copy[200];
    snprintf(copy, sizeof copy, "%s/copy.db", store_folder);
    struct db *db = store_open(DB_WRITE);
    store_some(db, 4);
    struct db *reader = store_open(DB_READ);
    assert_ok(db_save(reader, copy, NULL));
    db_close(reader);
    db_close(db);
    assert_int_equal(trials_in(copy), 4);
}

/* ---- clocks ---- */

struct clocks {
    int count;
    struct db_clock at[4];
};

static bool take_clock(void *self, const struct db_clock *clock)
{
    struct clocks *c = self;
    if (c->count < 4) c->at[c->count] = *clock;
    c->count++;
    return true;
}

TEST(the_clock_of_a_board_is_the_median_of_this_process)
{
    struct clocks clocks = {0};
    struct working w = store_begin();
    struct outcome outcome = store_outcome(5);
    outcome.state.sm_clock_mhz = 1;
    for (int i = 0; i < 9; i++) {
        struct config config = store_config(100 + i);
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    db_close(w.db); /* an earlier process's do not count */
    w = store_begin();
    static const int mhz[] = {1980, 1000, 1200, 1100, 0};
    for (int i = 0; i < 5; i++) {
        struct config config = store_config(i);
        outcome.state.sm_clock_mhz = mhz[i];
        store_trial(w.db, w.run, &w.problem, &config, &outcome);
    }
    struct db_context other = w.context;
    snprintf(other.gpu_uuid, sizeof other.gpu_uuid, "GPU-2");
    const int64_t run = store_run(w.db, &other);
    struct config config = store_config(7);
    outcome.state.sm_clock_mhz = 1755;
    store_trial(w.db, run, &w.problem, &config, &outcome);
    assert_ok(db_clocks(w.db, take_clock, &clocks));
    assert_int_equal(clocks.count, 2);
    assert_string_equal(clocks.at[0].uuid, "GPU-1");
    assert_int_equal(clocks.at[0].trials, 4); /* one is unknown */
    assert_int_equal(clocks.at[0].median_mhz, 1100);
    assert_int_equal(clocks.at[1].median_mhz, 1755);
    db_close(w.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_file_remembers_whose_shard_it_is_though_nothing_else_is_stored),
        STORE_TEST(a_shard_that_cannot_be_is_reported_as_damage),
        STORE_TEST(merging_copies_no_shard),
        STORE_TEST(a_copy_of_an_open_file_is_whole_plain_and_takes_the_place_of_the_last),
        STORE_TEST(a_copy_that_fails_leaves_the_last_one_and_nothing_else),
        STORE_TEST(a_copy_takes_the_place_neither_of_its_own_file_nor_of_one_that_is_being_written),
        STORE_TEST(a_copy_takes_the_place_only_of_the_one_that_was_looked_at),
        STORE_TEST(a_name_has_one_holder_and_meanwhile_no_writer),
        STORE_TEST(a_copy_does_not_take_the_place_of_a_file_with_a_log),
        STORE_TEST(who_lets_go_of_a_name_leaves_the_lock_of_another),
        STORE_TEST(a_reader_can_be_copied_too),
        STORE_TEST(the_clock_of_a_board_is_the_median_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

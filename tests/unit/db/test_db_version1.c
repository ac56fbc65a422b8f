/* A file of version 1 is read as it is, brought up to date and merged. */
#include "db_exchange.h"
#include "files.h"
#include "version1.h"

/* ---- reading ---- */

TEST(an_older_file_is_read_as_it_is_and_left_as_it_is)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE");
    struct look before = look_at(store_path);
    struct db *db = store_open(DB_READ);
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS);
    assert_int_equal(counts.attempts, 1);
    assert_winners_stand(db);
    assert_int_equal(sqlite3_exec(db->handle, "DELETE FROM winners", NULL, NULL, NULL), SQLITE_READONLY);
    store_close_clean(db);
    assert_looks_like(store_path, before);
    assert_int_equal(access(beside, F_OK), -1);
}

TEST(at_a_glance_there_are_the_same_winners)
{
    unpack();
    struct db *db = store_open(DB_GLANCE);
    assert_winners_stand(db);
    struct db_context context = store_context();
    struct problem problem = problem_make(512, 512, 512);
    struct db_brief brief;
    assert_ok(db_brief_find(db, &context.gpu, &problem, &brief));
    assert_true(brief.config.template && !brief.changed && brief.base.cold);
    db_close(db);
}

static int64_t ask(struct db *db, const char *sql)
{
    int64_t value = -1;
    assert_int_equal(db_ask(db->handle, sql, &value), SQLITE_OK);
    return value;
}

/* A hash is computed of each row: a file has thousands of configurations to one that won. */
TEST(a_glance_takes_what_the_winners_refer_to_and_no_more)
{
    unpack();
    struct db *db = store_open(DB_GLANCE);
    assert_int_equal(ask(db, "SELECT count(*) FROM winners"), WINNERS);
    assert_int_equal(ask(db, "SELECT count(*) FROM configs"),
                     ask(db, "SELECT count(DISTINCT config_id) FROM decisions"));
    assert_int_equal(ask(db, "SELECT count(*) FROM decisions"), WINNERS);
    assert_int_equal(ask(db, "SELECT count(*) FROM runs"),
                     ask(db, "SELECT count(DISTINCT run_id) FROM decisions"));
    db_close(db);
}

/* ---- bringing it up to date ---- */

TEST(an_older_file_is_brought_up_to_date_without_losing_a_trial)
{
    unpack();
    unpack_copy();
    chmod(store_path, 0640);
    struct db *db = store_open(DB_WRITE);
    assert_winners_stand(db);
    db_close(db);
    assert_int_equal(count_of(store_path, "PRAGMA user_version"), 2);
    assert_int_equal(count_of(store_path, "SELECT count(*) FROM trials"), TRIALS);
    assert_int_equal(count_of(store_path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'"), 0);
    assert_same_facts(copy_path, store_path, 2);
    assert_same_facts(copy_path, beside, 1);
    assert_int_equal(count_of(beside, "PRAGMA user_version"), 1);
    struct stat info;
    assert_int_equal(stat(beside, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    store_assert_clean();
}

TEST(an_older_file_is_brought_up_to_date_on_a_network_file_system)
{
    unpack();
    unpack_copy();
    setenv("GEMMTUNE_DB_SAFE", "1", 1);
    struct db *db = store_open(DB_WRITE);
    assert_winners_stand(db);
    db_close(db);
    unsetenv("GEMMTUNE_DB_SAFE");
    assert_same_facts(copy_path, store_path, 2);
    store_assert_clean();
}

TEST(a_tuner_goes_on_in_it)
{
    unpack();
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_counts counts;
    int64_t lost;
    assert_int_equal(store_run(db, &context), 9); /* 8 had been handed out */
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, TRIALS + 1);
    assert_int_equal(counts.gpus, 2); /* the same GPU is the same row */
    store_close_clean(db);
}

TEST(what_was_tried_is_found_again)
{
    unpack();
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(512, 512, 512);
    struct db_best best[64];
    int count;
    bool stale;
    struct outcome outcome;
    assert_ok(db_best(db, &context, &problem, best, 64, &count));
    assert_true(count > 10);
    for (int i = 0; i < count; i++)
        assert_ok(db_find(db, &context, &problem, &best[i].config, &outcome, &stale));
    db_close(db);
}

TEST(a_backup_is_never_overwritten)
{
    unpack();
    file_write(beside, "mine");
    struct look before = look_at(beside);
    db_close(store_open(DB_WRITE));
    assert_looks_like(beside, before);
    char second[200], third[200];
    snprintf(second, sizeof second, "%s-2", beside);
    snprintf(third, sizeof third, "%s-3", beside);
    assert_int_equal(count_of(second, "SELECT count(*) FROM trials"), TRIALS);
    unpack(); /* the same once more: the backup is there already */
    db_close(store_open(DB_WRITE));
    assert_int_equal(access(third, F_OK), -1);
    unpack();
    meddle("UPDATE runs SET how = 'finished'");
    db_close(store_open(DB_WRITE));
    assert_int_equal(access(third, F_OK), 0);
}

TEST(damage_is_found_afterwards_as_before)
{
    static const char *const changes[][2] = {
        {"UPDATE trials SET time_us = time_us * 0.5 WHERE verdict = 'measured'", "content of trials"},
        {"UPDATE configs SET text = text || ' ' WHERE id = 5", "content of configurations"},
        {"UPDATE gpu_figures SET fp32_tflops = 1000.0 WHERE id = 1", "content of GPU figures"},
        {"UPDATE decisions SET ratio = 2.0 WHERE id = 2", "content of decisions"},
        {"UPDATE decision_samples SET time_us = 2.0 WHERE decision_id = 2 AND position = 1",
         "content of decisions"},
        {"UPDATE runs SET driver = '1' WHERE id = 1", "content of runs"}};
    char text[1000];
    bool clean;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unpack();
        meddle(changes[i][0]);
        for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
            struct db *db = store_open((enum db_mode)mode);
            if (mode == DB_WRITE) db_guard(db, false);
            assert_ok(db_check(db, text, sizeof text, &clean));
            if (!strstr(text, changes[i][1])) fail_msg("%s: '%s'", changes[i][0], text);
            db_close(db);
        }
    }
}

TEST(a_file_that_would_lose_rows_is_left_alone)
{
    unpack();
    meddle("PRAGMA journal_mode = DELETE; UPDATE trials SET config_id = 7777 WHERE id = 3");
    struct look before = look_at(store_path);
    struct db *db;
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "without what they refer to; nothing was changed");
    assert_looks_like(store_path, before);
}

TEST(an_older_file_with_other_tables_is_refused)
{
    unpack();
    meddle("ALTER TABLE runs ADD COLUMN more TEXT");
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "calls itself version 1");
    assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "calls itself version 1");
}

/* An index that knows of a trial which its table lacks: the copy that is read has indices of its own. */
static const char *const stale_index[] = {
    "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'trials_by_key'; "
    "PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = sql || ' WHERE id < 0' WHERE name = 'trials_by_key'",
    "DELETE FROM trials WHERE id = 3; PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = (SELECT sql FROM kept) WHERE name = 'trials_by_key'",
    "DROP TABLE kept", NULL};
/* A trial that is there twice, which a copy refuses. */
static const char *const same_trial_twice[] = {
    "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name IN ('trials', 'sqlite_autoindex_trials_1'); "
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_trials_1'; "
    "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL UNIQUE', 'NOT NULL') WHERE name = 'trials'",
    "CREATE TEMP TABLE one AS SELECT * FROM trials WHERE id = 3; UPDATE one SET id = 99999; "
    "INSERT INTO trials SELECT * FROM one; PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = (SELECT sql FROM kept WHERE type = 'table') WHERE name = 'trials'; "
    "INSERT INTO sqlite_schema SELECT * FROM kept WHERE type = 'index'",
    "DROP TABLE kept", NULL};

static void damage(const char *const *steps)
{
    unpack();
    for (; *steps; steps++) meddle(*steps); /* each with the tables that the one before has left */
}

TEST(damage_that_a_copy_does_not_have_is_found_in_the_file)
{
    char text[1000];
    bool clean;
    damage(stale_index);
    struct db *db = store_open(DB_READ);
    assert_ok(db_check(db, text, sizeof text, &clean));
    if (clean || !strstr(text, "structure of the file")) fail_msg("'%s'", text);
    db_close(db);
}

TEST(damage_that_no_copy_can_have_is_named)
{
    damage(same_trial_twice);
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_DB, "is damaged (");
}

/* ---- merging ---- */

TEST(versions_merge_in_any_order_to_the_same)
{
    struct db_merged merged;
    const char *inputs[] = {copy_path, store_path};
    char fresh[160];
    unpack();
    unpack_copy();
    struct db *db = store_open(DB_WRITE);
    const char *old[] = {copy_path};
    assert_ok(db_merge(db, old, 1, &merged)); /* what it was made of adds nothing */
    assert_int_equal(merged.trials + merged.runs + merged.decisions + merged.configs + merged.winners, 0);
    assert_int_equal(merged.known, TRIALS + WINNERS + 7);
    db_close(db);
    for (int i = 0; i < 2; i++) {
        snprintf(fresh, sizeof fresh, "%s.%d", store_path, i);
        assert_ok(db_open(fresh, DB_WRITE, &db));
        const char *in_order[] = {inputs[i], inputs[1 - i]};
        assert_ok(db_merge(db, in_order, 2, &merged));
        assert_int_equal(merged.trials, TRIALS);
        assert_int_equal(merged.winners, WINNERS);
        db_close(db);
        assert_int_equal(count_of(fresh, "SELECT count(*) FROM trials"), TRIALS);
    }
    assert_int_equal(count_of(copy_path, "PRAGMA user_version"), 1);
}

/* Migrated by a program whose kernels are all others: rows as that one would have written them. */
static void migrate_with_other_kernels(const char *path)
{
    struct db *db;
    sqlite3 *handle;
    char *why = NULL;
    assert_ok(db_open(path, DB_WRITE, &db));
    db_close(db);
    assert_ok(db_connect(path, SQLITE_OPEN_READWRITE, &handle));
#define OF_ROW                                                                                               \
    "(SELECT hash FROM runs WHERE id = x.run_id), (SELECT hash FROM problems WHERE id = x.problem_id), "     \
    "(SELECT hash FROM configs WHERE id = x.config_id), "
    if (sqlite3_exec(handle,
                     "UPDATE configs SET kernel_hash = kernel_hash / 2; "
                     "UPDATE configs SET hash = content_hash(template, kernel_hash, schema_hash, text); "
                     "UPDATE trials AS x SET hash = content_hash(" OF_ROW DB_TRIAL_CONTENT "); "
                     "UPDATE decisions AS x SET hash = content_hash(" OF_ROW DB_EVIDENCE
                     ", " DB_DECISION_CONTENT ")",
                     NULL, NULL, &why))
        fail_msg("%s", why);
#undef OF_ROW
    sqlite3_close(handle);
}

TEST(copies_migrated_with_different_kernels_merge_as_different_trials)
{
    struct db_merged merged;
    struct db *db;
    char fresh[160];
    unpack();
    unpack_copy();
    db_close(store_open(DB_WRITE));
    migrate_with_other_kernels(copy_path);
    const char *inputs[] = {copy_path, store_path, copy_path};
    for (int i = 0; i < 2; i++) {
        snprintf(fresh, sizeof fresh, "%s.%d", store_path, i);
        assert_ok(db_open(fresh, DB_WRITE, &db));
        assert_ok(db_merge(db, inputs + i, 2, &merged));
        assert_int_equal(merged.trials, 2 * TRIALS);
        assert_winners_stand(db); /* with the kernels that there are */
        db_close(db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_older_file_is_read_as_it_is_and_left_as_it_is),
        STORE_TEST(at_a_glance_there_are_the_same_winners),
        STORE_TEST(a_glance_takes_what_the_winners_refer_to_and_no_more),
        STORE_TEST(an_older_file_is_brought_up_to_date_without_losing_a_trial),
        STORE_TEST(an_older_file_is_brought_up_to_date_on_a_network_file_system),
        STORE_TEST(a_tuner_goes_on_in_it),
        STORE_TEST(what_was_tried_is_found_again),
        STORE_TEST(a_backup_is_never_overwritten),
        STORE_TEST(damage_is_found_afterwards_as_before),
        STORE_TEST(a_file_that_would_lose_rows_is_left_alone),
        STORE_TEST(an_older_file_with_other_tables_is_refused),
        STORE_TEST(damage_that_a_copy_does_not_have_is_found_in_the_file),
        STORE_TEST(damage_that_no_copy_can_have_is_named),
        STORE_TEST(versions_merge_in_any_order_to_the_same),
        STORE_TEST(copies_migrated_with_different_kernels_merge_as_different_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "db_files.h"
#include "files.h"

#include <limits.h>

/* As it was, and nothing lies beside it. */
static void assert_untouched(const char *path, struct look before)
{
    assert_looks_like(path, before);
    static const char *const beside[] = {".lock", "-journal", ".v0-backup"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        assert_int_equal(access(name, F_OK), -1);
    }
}

/* Neither reading nor writing opens it, both say the same, and nothing is changed. */
static void assert_refused(enum status expected, const char *part)
{
    struct db *db = NULL;
    struct look before = look_at(store_path);
    assert_fails(db_open(store_path, DB_READ, &db), expected, part);
    assert_fails(db_open(store_path, DB_WRITE, &db), expected, part);
    assert_null(db);
    assert_non_null(strstr(status_text(), store_path));
    assert_untouched(store_path, before);
}

/* --- not ours --- */

TEST(a_text_file_is_refused)
{
    static const char text[] =
        "BM=128 BN=128\nthis is no database, but long enough to be taken for a header of one\n"
        "this is no database, but long enough to be taken for a header of one\n";
    file_write_bytes(store_path, text, sizeof text);
    assert_refused(E_DB, "not a database");
    file_write_bytes(store_path, "x", 1);
    assert_refused(E_DB, "not a database");
}

TEST(a_database_of_another_program_is_refused)
{
    meddle("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x'); PRAGMA user_version = 3");
    assert_refused(E_DB, "another program");
    meddle("PRAGMA application_id = 252006673");
    assert_refused(E_DB, "another program");
}

TEST(a_newer_version_is_refused)
{
    make_database(2);
    meddle("PRAGMA user_version = 3");
    assert_refused(E_DB, "newer gemmtune");
    meddle("PRAGMA user_version = -5");
    assert_refused(E_DB, "impossible version");
}

TEST(a_schema_with_code_or_other_tables_is_refused)
{
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
        "CREATE VIEW v AS SELECT * FROM trials",
        "CREATE VIRTUAL TABLE f USING fts5 (x)",
        "CREATE INDEX i ON trials (lower(verdict))",
        "CREATE INDEX i ON trials (verdict) WHERE time_us > 0",
        "CREATE UNIQUE INDEX i ON trials (verdict, id)",
        "DROP INDEX trials_fatal",
        "ALTER TABLE runs RENAME COLUMN seed TO seeds",
        "ALTER TABLE runs ADD COLUMN more TEXT CHECK (more IS NULL)",
        "ALTER TABLE runs ADD COLUMN more TEXT AS (command || 'x')",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'command TEXT', 'command "
        "TEXT "
        "COLLATE NOCASE') WHERE name = 'runs'"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_database(2);
        meddle(changes[i]);
        struct db *db;
        assert_fails(db_open(store_path, DB_READ, &db), E_DB, "its tables differ");
        assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "its tables differ");
        unlink(store_path);
    }
}

/* What a newer program may have added (docs/database.md): plain columns of every table, tables, indices. */
TEST(a_schema_with_plain_columns_and_tables_more_is_read_and_written)
{
    static const char *const names[] = {
        "gpus",     "gpu_figures", "gpu_rates", "problems",         "configs",          "runs",
        "attempts", "trials",      "decisions", "decision_runners", "decision_samples", "decision_errors",
        "winners"};
    make_database(2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "ALTER TABLE %s ADD COLUMN more TEXT NOT NULL DEFAULT 'what it was'; "
                 "ALTER TABLE %s ADD COLUMN most REAL DEFAULT -1.5",
                 names[i], names[i]);
        meddle(sql);
        db_close(store_open(DB_GLANCE));
    }
    meddle("CREATE TABLE setups (name TEXT PRIMARY KEY) STRICT; CREATE INDEX trials_by_end ON trials "
           "(ended_us)");
    store_assert_clean();
    make_database(3);
    store_assert_clean();
}

TEST(a_folder_or_a_pipe_is_refused)
{
    struct db *db;
    assert_fails(db_open(store_folder, DB_READ, &db), E_IO, "is a folder");
    assert_fails(db_open(store_folder, DB_WRITE, &db), E_IO, "is a folder");
    assert_int_equal(mkfifo(store_path, 0600), 0);
    assert_fails(db_open(store_path, DB_READ, &db), E_IO, "not a regular file");
    assert_fails(db_open("/dev/null", DB_WRITE, &db), E_IO, "not a regular file");
}

TEST(a_path_through_a_file_is_refused)
{
    file_write_bytes(store_path, "x", 1);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/below.db", store_path);
    struct db *db;
    assert_int_equal(db_open(path, DB_READ, &db), E_IO);
    assert_int_equal(db_open(path, DB_WRITE, &db), E_IO);
    assert_non_null(strstr(status_text(), store_path));
}

TEST(an_empty_file_is_nothing_to_read_and_a_start_to_write)
{
    struct db *db;
    file_write_bytes(store_path, "", 0);
    assert_fails(db_open(store_path, DB_READ, &db), E_ABSENT, "is empty");
    make_database(1);
    store_assert_clean();
}

TEST(a_missing_file_is_absent_and_not_made_by_reading)
{
    struct db *db;
    assert_fails(db_open(store_path, DB_READ, &db), E_ABSENT, "no database");
    assert_int_equal(access(store_path, F_OK), -1);
}

/* --- damaged --- */

TEST(every_truncation_is_noticed)
{
    make_database(40);
    struct look whole = look_at(store_path);
    for (long size = 1; size < whole.size; size += whole.size / 23) {
        file_write_bytes(store_path, whole.bytes, (size_t)size);
        struct db *db = NULL;
        assert_int_equal(db_open(store_path, DB_READ, &db), E_DB);
        assert_int_equal(db_open(store_path, DB_WRITE, &db), E_DB);
    }
    free(whole.bytes);
}

static bool ignore_winner(void *self, const struct db_winner *winner)
{
    ++*(int *)self;
    return winner != NULL;
}

static bool ignore_trial(void *self, const struct db_trial *trial)
{
    ++*(int *)self;
    return trial != NULL;
}

/* Use everything that reads; whatever it says, it must say it with a status. */
static void read_everything(struct db *db)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    struct db_filter filter = {0};
    struct db_best best[4];
    int visits = 0, count;
    char text[1024];
    bool clean;
    db_winners(db, &filter, &context, ignore_winner, &visits);
    db_trials(db, &filter, ignore_trial, &visits);
    db_run_trials(db, 1, ignore_trial, &visits);
    db_best(db, &context, &problem, best, 4, &count);
    db_check(db, text, sizeof text, &clean);
}

TEST(flipped_bytes_never_do_more_than_an_error)
{
    make_database(30);
    struct look whole = look_at(store_path);
    uint64_t state = 1;
    int opened = 0;
    for (int i = 0; i < 400; i++) {
        char *copy = malloc((size_t)whole.size);
        memcpy(copy, whole.bytes, (size_t)whole.size);
        for (int flips = 0; flips < 3; flips++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            copy[(state >> 33) % (uint64_t)whole.size] = (char)(state >> 20);
        }
        file_write_bytes(store_path, copy, (size_t)whole.size);
        free(copy);
        struct db *db = NULL;
        if (db_open(store_path, i % 2 ? DB_READ : DB_WRITE, &db) == OK) {
            read_everything(db);
            db_close(db);
            opened++;
        }
    }
    assert_true(opened > 0); /* some hit only values */
    free(whole.bytes);
}

TEST(the_full_check_finds_a_changed_value_that_sqlite_cannot)
{
    static const char *const changes[] = {"UPDATE trials SET time_us = time_us * 0.5 WHERE id = 3",
                                          "UPDATE configs SET text = text || ' '",
                                          "UPDATE problems SET text = 'sgemm:nn:64x64x65'",
                                          "UPDATE problems SET epilogue = 'relu'",
                                          "UPDATE gpus SET sm_count = 1",
                                          "UPDATE gpu_figures SET clock_mhz = 1",
                                          "UPDATE runs SET driver = '1'",
                                          "UPDATE decisions SET ratio = 2",
                                          "UPDATE trials SET recovered_us = 1 WHERE id = 3",
                                          "UPDATE decisions SET cold = 0"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unlink(store_path);
        make_database(5);
        store_assert_clean();
        meddle(changes[i]);
        struct db *db = store_open(DB_READ);
        char text[512];
        bool clean;
        assert_ok(db_check(db, text, sizeof text, &clean));
        if (clean) fail_msg("not found: %s", changes[i]);
        assert_true(text[0] != '\0' && text[strlen(text) - 1] == '\n');
        db_close(db);
    }
}

TEST(impossible_values_are_named_and_never_believed)
{
    static const char *const changes[] = {"UPDATE trials SET samples_us = x'0102'",
                                          "UPDATE trials SET samples_us = zeroblob(100000)",
                                          "UPDATE trials SET samples_us = x'000000000000f87f'",
                                          "UPDATE trials SET time_us = -1",
                                          "UPDATE trials SET time_us = 9e999",
                                          "UPDATE trials SET registers = -1",
                                          "UPDATE trials SET wall_ms = -9e999",
                                          "UPDATE trials SET detail = printf('%.*c', 5000, 'x')",
                                          "UPDATE trials SET spill_bytes = 1 << 40"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unlink(store_path);
        make_database(3);
        meddle(changes[i]);
        struct db *db = store_open(DB_READ);
        struct db_filter filter = {0};
        int visits = 0;
        assert_fails(db_trials(db, &filter, ignore_trial, &visits), E_DB, "impossible value");
        assert_fails(db_run_trials(db, 1, ignore_trial, &visits), E_DB, "impossible value");
        assert_int_equal(visits, 0);
        db_close(db);
    }
}

static bool assert_unusable(void *self, const struct db_winner *winner)
{
    assert_true(winner->unusable);
    assert_null(winner->config.template);
    assert_true(winner->why[0] != '\0');
    return self != NULL;
}

TEST(a_configuration_that_is_not_one_is_reported_and_never_parsed_into_a_winner)
{
    static const char *const texts[] = {"simt BM=128; rm -rf /", "nothing BM=1", "simt", "",
                                        "simt BM=99999999999999999999"};
    make_database(1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char sql[256];
        snprintf(sql, sizeof sql, "UPDATE configs SET text = '%s'", texts[i]);
        meddle(sql);
        struct db *db = store_open(DB_READ);
        struct db_filter filter = {0};
        assert_ok(db_winners(db, &filter, NULL, assert_unusable, &filter));
        db_close(db);
    }
}

TEST(a_changed_template_makes_its_trials_and_winners_unusable)
{
    make_database(2);
    meddle("UPDATE configs SET kernel_hash = kernel_hash + 1, hash = randomblob(16)");
    struct db *db = store_open(DB_READ);
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    struct config config = store_config(1);
    struct outcome outcome;
    struct db_filter filter = {0};
    struct db_best best[4];
    int count;
    bool stale;
    assert_int_equal(db_find(db, &context, &problem, &config, &outcome, &stale), E_ABSENT);
    assert_ok(db_best(db, &context, &problem, best, 4, &count));
    assert_int_equal(count, 0);
    assert_ok(db_winners(db, &filter, NULL, assert_unusable, &filter));
    db_close(db);
}

/* What is stored goes by the arch of the row, and what is looked for by the GPU's. */
TEST(nothing_is_stored_for_a_gpu_whose_row_says_another)
{
    static const char *const changes[] = {"UPDATE gpus SET arch = arch + 1",
                                          "UPDATE gpus SET sm_count = sm_count - 1",
                                          "UPDATE gpus SET name = name || ' '"};
    struct db_context context = store_context();
    const struct problem problem = problem_make(64, 64, 64);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unlink(store_path);
        make_database(1);
        meddle(changes[i]);
        struct db *db = store_open(DB_WRITE);
        int64_t run;
        bool changed;
        assert_fails(db_run_start(db, &context, "tune", 1, &run), E_DB, "gpus");
        assert_fails(db_prefer(db, &context.gpu, &problem, false, "simt BM=128", true, &changed), E_DB,
                     "tune verify");
        db_close(db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_text_file_is_refused),
        STORE_TEST(a_database_of_another_program_is_refused),
        STORE_TEST(a_newer_version_is_refused),
        STORE_TEST(a_schema_with_code_or_other_tables_is_refused),
        STORE_TEST(a_schema_with_plain_columns_and_tables_more_is_read_and_written),
        STORE_TEST(a_folder_or_a_pipe_is_refused),
        STORE_TEST(a_path_through_a_file_is_refused),
        STORE_TEST(an_empty_file_is_nothing_to_read_and_a_start_to_write),
        STORE_TEST(a_missing_file_is_absent_and_not_made_by_reading),
        STORE_TEST(every_truncation_is_noticed),
        STORE_TEST(flipped_bytes_never_do_more_than_an_error),
        STORE_TEST(the_full_check_finds_a_changed_value_that_sqlite_cannot),
        STORE_TEST(impossible_values_are_named_and_never_believed),
        STORE_TEST(a_configuration_that_is_not_one_is_reported_and_never_parsed_into_a_winner),
        STORE_TEST(a_changed_template_makes_its_trials_and_winners_unusable),
        STORE_TEST(nothing_is_stored_for_a_gpu_whose_row_says_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

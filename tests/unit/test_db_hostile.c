#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What a file looks like from outside: bytes and what lies beside it. */
struct look {
    char *bytes;
    long size;
};

static struct look look_at(const char *path)
{
    struct look look = {.size = -1};
    FILE *file = fopen(path, "rb");
    if (!file) return look;
    fseek(file, 0, SEEK_END);
    look.size = ftell(file);
    rewind(file);
    look.bytes = malloc((size_t)look.size + 1);
    assert_int_equal(fread(look.bytes, 1, (size_t)look.size, file), look.size);
    fclose(file);
    return look;
}

static void assert_untouched(const char *path, struct look before)
{
    struct look after = look_at(path);
    assert_int_equal(after.size, before.size);
    if (after.size > 0) assert_memory_equal(after.bytes, before.bytes, (size_t)after.size);
    static const char *const beside[] = {".lock", "-journal", ".v0.backup"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        assert_int_equal(access(name, F_OK), -1);
    }
    free(after.bytes);
    free(before.bytes);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
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

/* A database with some trials and a winner, at rest. */
static void make_database(int trials)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t run = store_run(db, &context);
    for (int i = 0; i < trials; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct db_winner w = {.problem = problem, .config = store_legal_config(), .cold = true, .time_us = 1};
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    db_close(db);
}

/* Run SQL on the file as anybody could. */
static void meddle(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(handle, sql, NULL, NULL, &why)) fail_msg("%s: %s", sql, why);
    sqlite3_close(handle);
}

/* --- not ours --- */

TEST(a_text_file_is_refused)
{
    static const char text[] =
        "BM=128 BN=128\nthis is no database, but long enough to be taken for a header of one\n"
        "this is no database, but long enough to be taken for a header of one\n";
    write_file(store_path, text, sizeof text);
    assert_refused(E_DB, "not a database");
    write_file(store_path, "x", 1);
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
    meddle("PRAGMA user_version = 2");
    assert_refused(E_DB, "newer gemmtune");
    meddle("PRAGMA user_version = -5");
    assert_refused(E_DB, "impossible version");
}

TEST(a_schema_with_code_or_other_tables_is_refused)
{
    static const char *const changes[][2] = {
        {"CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END", "DROP TRIGGER t"},
        {"CREATE VIEW v AS SELECT * FROM trials", "DROP VIEW v"},
        {"CREATE TABLE more (x)", "DROP TABLE more"},
        {"CREATE VIRTUAL TABLE f USING fts5 (x)", "DROP TABLE f"},
        {"CREATE INDEX i ON trials (verdict)", "DROP INDEX i"},
        {"ALTER TABLE runs ADD COLUMN more TEXT", NULL}};
    make_database(2);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        meddle(changes[i][0]);
        struct db *db;
        assert_fails(db_open(store_path, DB_READ, &db), E_DB, "its tables are others");
        assert_fails(db_open(store_path, DB_WRITE, &db), E_DB, "its tables are others");
        if (changes[i][1]) meddle(changes[i][1]);
        if (changes[i][1]) db_close(store_open(DB_READ));
    }
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
    write_file(store_path, "x", 1);
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
    write_file(store_path, "", 0);
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
        write_file(store_path, whole.bytes, (size_t)size);
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
        write_file(store_path, copy, (size_t)whole.size);
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
    meddle("UPDATE configs SET template_hash = template_hash + 1, hash = randomblob(16)");
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

/* --- where nothing may be written --- */

/* Root may write everywhere: such tests run as nobody, in a child. */
static int as_nobody(int (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(body());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Say which part does not hold, and what was said. */
static int wrong(int part)
{
    print_error("part %d: %s\n", part, status_text());
    return part;
}

/* 0 when every part holds, else the number of the one that does not. */
static int read_only_folder(void)
{
    struct db *db;
    if (db_open(store_path, DB_READ, &db)) return wrong(1);
    struct db_counts counts;
    if (db_count(db, &counts) || counts.trials != 3) return wrong(2);
    db_close(db);
    if (db_open(store_path, DB_WRITE, &db) != E_IO || !strstr(status_text(), "cannot write")) return wrong(3);
    return 0;
}

TEST(a_read_only_file_in_a_read_only_folder_can_be_read_and_not_written)
{
    make_database(3);
    chmod(store_path, 0444);
    chmod(store_folder, 0555);
    assert_int_equal(as_nobody(read_only_folder), 0);
    chmod(store_folder, 0700);
}

static int writable_file_in_read_only_folder(void)
{
    struct db *db;
    if (db_open(store_path, DB_WRITE, &db) != E_IO || !strstr(status_text(), "cannot write beside"))
        return wrong(1);
    return 0;
}

TEST(a_folder_that_may_not_be_written_is_named)
{
    make_database(3);
    chmod(store_path, 0666);
    chmod(store_folder, 0555);
    assert_int_equal(as_nobody(writable_file_in_read_only_folder), 0);
    chmod(store_folder, 0700);
}

/* A file that its writer left in WAL mode (another reader was connected), its log empty. */
TEST(a_file_left_in_wal_mode_can_be_read_in_a_read_only_folder)
{
    make_database(3);
    meddle("PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE)");
    chmod(store_path, 0444);
    chmod(store_folder, 0555);
    assert_int_equal(as_nobody(read_only_folder), 0);
    chmod(store_folder, 0700);
}

static int log_without_index(void)
{
    struct db *db;
    return db_open(store_path, DB_READ, &db) == E_IO && strstr(status_text(), "left work in") ? 0 : wrong(1);
}

/* Its writer was killed: the log holds what was finished. */
TEST(a_file_with_a_log_left_by_a_kill_can_be_read_in_a_read_only_folder)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct db *db = store_open(DB_WRITE);
        struct db_context context = store_context();
        struct problem problem = problem_make(64, 64, 64);
        int64_t run = store_run(db, &context);
        for (int i = 0; i < 3; i++) {
            struct config config = store_config(i);
            struct outcome outcome = store_outcome(i + 1);
            store_trial(db, run, &problem, &config, &outcome);
        }
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    static const char *const files[] = {"", "-wal", "-shm"};
    char name[PATH_MAX];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", store_path, files[i]);
        assert_int_equal(chmod(name, 0444), 0);
    }
    chmod(store_folder, 0555);
    assert_int_equal(as_nobody(read_only_folder), 0);
    chmod(store_folder, 0700);
    snprintf(name, sizeof name, "%s-shm", store_path); /* without its index the log cannot be read there */
    unlink(name);
    chmod(store_folder, 0555);
    assert_int_equal(as_nobody(log_without_index), 0);
    chmod(store_folder, 0700);
}

static int unreadable(void)
{
    struct db *db;
    return db_open(store_path, DB_READ, &db) == E_IO && strstr(status_text(), "cannot read") ? 0 : wrong(1);
}

TEST(a_file_that_may_not_be_read_is_named)
{
    make_database(1);
    chmod(store_path, 0000);
    chmod(store_folder, 0755);
    assert_int_equal(as_nobody(unreadable), 0);
}

/* --- a full disk --- */

/* Fill until the first refusal; every trial that was stored before must still be there. */
static void fill_until_refused(struct db *db, int *stored)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t run = store_run(db, &context), attempt;
    enum status st = OK;
    for (int i = 0; !st && i < 100000; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        memset(outcome.detail, 'x', sizeof outcome.detail - 1);
        st = db_attempt(db, run, &problem, &config, &attempt);
        if (!st) st = db_record(db, attempt, &outcome);
        if (!st) ++*stored;
    }
    assert_int_equal(st, E_IO);
    assert_non_null(strstr(status_text(), "everything finished is kept"));
    assert_true(*stored > 10);
}

static void assert_stored(int stored)
{
    store_assert_clean();
    struct db *db = store_open(DB_WRITE);
    struct db_counts counts;
    int64_t lost;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, stored);
    assert_ok(db_recover(db, &lost));
    assert_in_range(lost, 0, 1); /* the attempt that the refusal hit */
    db_close(db);
    store_assert_clean();
}

TEST(a_full_database_keeps_what_was_finished)
{
    struct db *db = store_open(DB_WRITE);
    int stored = 0;
    assert_int_equal(sqlite3_exec(db->handle, "PRAGMA max_page_count = 120", NULL, NULL, NULL), SQLITE_OK);
    fill_until_refused(db, &stored);
    assert_non_null(strstr(status_text(), "the disk is full"));
    db_close(db);
    assert_stored(stored);
}

TEST(a_full_disk_keeps_what_was_finished)
{
    struct rlimit before, small;
    int stored = 0;
    struct db *db = store_open(DB_WRITE);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 600 << 10; /* no file grows beyond it: the log, then the database */
    setrlimit(RLIMIT_FSIZE, &small);
    fill_until_refused(db, &stored);
    db_close(db);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_stored(stored);
}

TEST(a_disk_that_is_full_from_the_start_leaves_nothing_half_made)
{
    struct rlimit before, none;
    struct db *db;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t limit = 0; limit < (64 << 10); limit += 5000) {
        none = before;
        none.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &none);
        assert_int_equal(db_open(store_path, DB_WRITE, &db), E_IO);
        setrlimit(RLIMIT_FSIZE, &before);
        enum status st = db_open(store_path, DB_READ, &db);
        assert_int_equal(st, E_ABSENT);
    }
    make_database(2);
    store_assert_clean();
}

/* --- migration --- */

#define STEP_1                                                                                               \
    "PRAGMA application_id = 1735224677; CREATE TABLE facts (x INTEGER) STRICT; INSERT INTO facts VALUES "   \
    "(7);"

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *handle;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
    return value;
}

static enum status migrate(const struct db_migration *steps, int newest)
{
    sqlite3 *handle;
    assert_ok(db_connect(store_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &handle));
    enum status st = db_migrate(handle, store_path, steps, newest);
    sqlite3_close(handle);
    return st;
}

TEST(a_migration_backs_up_and_sets_the_version_last)
{
    static const struct db_migration steps[] = {
        {STEP_1},
        {"CREATE TABLE news (y INTEGER) STRICT; INSERT INTO news SELECT x * 2 FROM facts"},
        {"DROP TABLE facts"}};
    char backup[PATH_MAX];
    snprintf(backup, sizeof backup, "%s.v1.backup", store_path);
    assert_ok(migrate(steps, 1));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 1);
    assert_int_equal(access(backup, F_OK), -1); /* nothing to back up in a new file */
    assert_ok(migrate(steps, 3));
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 3);
    assert_int_equal(ask(store_path, "SELECT y FROM news"), 14);
    assert_int_equal(ask(backup, "PRAGMA user_version"), 1);
    assert_int_equal(ask(backup, "SELECT x FROM facts"), 7);
    assert_ok(migrate(steps, 3)); /* nothing left to do */
    assert_fails(migrate(steps, 2), E_DB, "newer gemmtune");
}

TEST(a_migration_that_fails_changes_nothing)
{
    static const struct db_migration broken[] = {
        {STEP_1}, {"CREATE TABLE news (y INTEGER); INSERT INTO nowhere VALUES (1)"}};
    static const struct db_migration orphans[] = {
        {STEP_1}, {"CREATE TABLE news (y INTEGER REFERENCES facts (rowid)); INSERT INTO news VALUES (99)"}};
    assert_ok(migrate(broken, 1));
    struct look before = look_at(store_path);
    assert_int_equal(migrate(broken, 2), E_DB);
    struct look after = look_at(store_path);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, (size_t)after.size);
    free(before.bytes);
    free(after.bytes);
    assert_int_not_equal(migrate(orphans, 2), OK);
    assert_int_equal(ask(store_path, "PRAGMA user_version"), 1);
    assert_int_equal(ask(store_path, "SELECT count(*) FROM sqlite_schema WHERE name = 'news'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_text_file_is_refused),
        STORE_TEST(a_database_of_another_program_is_refused),
        STORE_TEST(a_newer_version_is_refused),
        STORE_TEST(a_schema_with_code_or_other_tables_is_refused),
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
        STORE_TEST(a_read_only_file_in_a_read_only_folder_can_be_read_and_not_written),
        STORE_TEST(a_folder_that_may_not_be_written_is_named),
        STORE_TEST(a_file_left_in_wal_mode_can_be_read_in_a_read_only_folder),
        STORE_TEST(a_file_with_a_log_left_by_a_kill_can_be_read_in_a_read_only_folder),
        STORE_TEST(a_file_that_may_not_be_read_is_named),
        STORE_TEST(a_full_database_keeps_what_was_finished),
        STORE_TEST(a_full_disk_keeps_what_was_finished),
        STORE_TEST(a_disk_that_is_full_from_the_start_leaves_nothing_half_made),
        STORE_TEST(a_migration_backs_up_and_sets_the_version_last),
        STORE_TEST(a_migration_that_fails_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

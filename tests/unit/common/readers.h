/* readers.h — the commands that read the database, on a file made here: what they print and answer. */
#ifndef GT_TEST_READERS_H
#define GT_TEST_READERS_H

#include "store.h"

#include "commands.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The file's text, owned by the caller. */
static inline char *text_in(FILE *file)
{
    const long length = (fseek(file, 0, SEEK_END), ftell(file));
    assert_true(length >= 0);
    rewind(file);
    char *text = calloc(1, (size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)length, file), length);
    return text;
}

/* Run a command with its output in memory (owned by the caller). The stream stays what it is and its
 * descriptor changes: cuBLAS, which a command may load, keeps the stream, and flushes it at the end of the
 * process. */
static inline enum status run(enum status (*command)(int, char **), const char *const *arguments,
                              char **printed)
{
    char *argv[16] = {(char[]){"tune test"}, (char[]){"--db"}, store_path};
    int argc = 3;
    for (; *arguments; arguments++) argv[argc++] = strdup(*arguments);
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    enum status st = command(argc, argv);
    fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    *printed = text_in(file);
    fclose(file);
    for (int i = 3; i < argc; i++) free(argv[i]);
    return st;
}

#define RUN(command, printed, ...) run(command, (const char *const[]){__VA_ARGS__, NULL}, printed)

/* The same, as JSON; the status must be as expected. */
static inline json_t *run_json(enum status (*command)(int, char **), const char *const *arguments,
                               enum status expected)
{
    char *printed = NULL;
    enum status st = run(command, arguments, &printed);
    if (st != expected) fail_msg("status %d instead of %d: %s\n%s", st, expected, status_text(), printed);
    json_error_t error;
    json_t *json = json_loads(printed, 0, &error);
    if (!json) fail_msg("no JSON: %s\n%s", error.text, printed);
    free(printed);
    return json;
}

#define RUN_JSON(command, expected, ...)                                                                     \
    run_json(command, (const char *const[]){"--format", "json", __VA_ARGS__, NULL}, expected)

static inline const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static inline double number_of(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

/* The legal configurations of a naive rung, all different. */
static inline struct config legal(int number)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(4096, 4096, 4096);
    struct config config = {.template = template_find("ladder_coalesced")};
    int seen = 0;
    for (config.value[0] = 1; config.value[0] <= 256; config.value[0]++)
        for (config.value[1] = 1; config.value[1] <= 256; config.value[1]++)
            if (!config.template->check(&config, &problem, &context.gpu) && seen++ == number) return config;
    fail_msg("there are only %d legal configurations", seen);
    return config;
}

/* Eight measured, four failed in two ways, one cut off; a race of the first two with cuBLAS. */
static inline void make_measured(void)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(4096, 4096, 4096);
    int64_t run = store_run(db, &context), attempt, lost;
    for (int i = 0; i < 8; i++) {
        struct config config = legal(i);
        struct outcome outcome = store_outcome(2600 + 10 * i);
        store_trial(db, run, &problem, &config, &outcome);
    }
    for (int i = 0; i < 4; i++) {
        struct config config = legal(8 + i);
        struct outcome outcome =
            outcome_failed(i < 3 ? VERDICT_WRONG : VERDICT_SPILLS, "C[%d,7] is %g, not 1.5e+03", i, 1e-3 * i);
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct config cut = legal(12), runners[2] = {legal(0), legal(1)};
    assert_ok(db_attempt(db, run, &problem, &cut, &attempt));
    struct db_race_sample samples[4 * 10];
    for (int round = 0; round < 10; round++) {
        double drift = 1 + 0.05 * round; /* the clock falls: only times within a round compare */
        samples[4 * round] = (struct db_race_sample){.runner = -1, .round = round, .time_us = 2626 * drift};
        samples[4 * round + 1] =
            (struct db_race_sample){.runner = 1, .round = round, .time_us = 2613 * drift};
        samples[4 * round + 2] =
            (struct db_race_sample){.runner = 0, .round = round, .time_us = 2600 * drift};
        samples[4 * round + 3] =
            (struct db_race_sample){.runner = -1, .round = round, .time_us = 2626 * drift};
    }
    const struct db_winner w = store_winner(&problem, &runners[0]);
    assert_ok(db_set_winner(db, run, &w, runners, 2, samples, 40));
    assert_ok(db_run_end(db, run, "finished"));
    db_close(db);

    db = store_open(DB_WRITE);
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    db_close(db);
}

/* A later race of make_measured's winner, with this ratio to cublasSgemm. */
static inline void race_again(double ratio, bool pinned)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct problem problem = problem_make(4096, 4096, 4096);
    const struct config config = legal(0);
    struct db_winner w = store_winner(&problem, &config);
    w.base.ratio = ratio;
    w.base.ratio_low = 0.99 * ratio;
    w.base.ratio_high = 1.01 * ratio;
    w.base.anchor_us = 2600 * ratio;
    w.pinned = pinned;
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

/* What a command says of that problem has this part. */
static inline bool is_said(enum status (*command)(int, char **), const char *part)
{
    char *printed = NULL;
    assert_ok(RUN(command, &printed, "--shape", "4096x4096x4096"));
    const bool found = strstr(printed, part);
    free(printed);
    return found;
}

static inline int no_proc(void **state)
{
    setenv("GEMMTUNE_PROC", "/nonexistent", 1);
    return store_setup(state);
}

#define READER_TEST(name) cmocka_unit_test_setup_teardown(name, no_proc, store_teardown)

#endif

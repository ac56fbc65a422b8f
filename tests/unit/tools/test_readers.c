/* The commands that read the database, on a file made here: what they print and answer. */
#include "store.h"

#include "commands.h"
#include "race_rank.h"
#include "this_gpu.h"
#include "tried.h"
#include <jansson.h>
#include <limits.h>

/* Run a command with its output in memory (owned by the caller). */
static enum status run(enum status (*command)(int, char **), const char *const *arguments, char **printed)
{
    char *argv[16] = {(char[]){"tune test"}, (char[]){"--db"}, store_path};
    int argc = 3;
    for (; *arguments; arguments++) argv[argc++] = strdup(*arguments);
    size_t length;
    FILE *before = stdout;
    stdout = open_memstream(printed, &length);
    enum status st = command(argc, argv);
    fclose(stdout);
    stdout = before;
    for (int i = 3; i < argc; i++) free(argv[i]);
    return st;
}

#define RUN(command, printed, ...) run(command, (const char *const[]){__VA_ARGS__, NULL}, printed)

/* The same, as JSON; the status must be as expected. */
static json_t *run_json(enum status (*command)(int, char **), const char *const *arguments,
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

static const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static double number_of(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

/* The legal configurations of a naive rung, all different. */
static struct config legal(int number)
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
static void make_measured(void)
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
        samples[4 * round] = (struct db_race_sample){-1, round, 2626 * drift};
        samples[4 * round + 1] = (struct db_race_sample){1, round, 2613 * drift};
        samples[4 * round + 2] = (struct db_race_sample){0, round, 2600 * drift};
        samples[4 * round + 3] = (struct db_race_sample){-1, round, 2626 * drift};
    }
    struct db_winner w = {.base.problem = problem,
                          .config = runners[0],
                          .base.cold = true,
                          .tied = true,
                          .base.exact = true,
                          .base.time_us = 2600,
                          .base.ratio = 1.01,
                          .base.ratio_low = 1.005,
                          .base.ratio_high = 1.015,
                          .rival = "cublasSgemm",
                          .base.anchor_us = 2626,
                          .rounds = 10,
                          .trials = 12,
                          .legal_count = 500,
                          .model_rank = 3,
                          .model_first16_share = 0.98,
                          .registers = 40,
                          .smem_bytes = 0};
    assert_ok(db_set_winner(db, run, &w, runners, 2, samples, 40));
    assert_ok(db_run_end(db, run, "finished"));
    db_close(db);
    db = store_open(DB_WRITE);
    assert_ok(db_recover(db, &lost));
    assert_int_equal(lost, 1);
    db_close(db);
}

/* A second GPU, predicted only. */
static void add_predicted(void)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    snprintf(context.gpu.name, sizeof context.gpu.name, "NVIDIA A100-SXM4-80GB");
    snprintf(context.gpu.id, sizeof context.gpu.id, "a100");
    context.gpu.arch = 80;
    context.gpu_uuid[0] = context.driver[0] = context.cublas[0] = '\0';
    struct db_winner w = {.base.problem = problem_make(64, 64, 64),
                          .config = legal(0),
                          .base.cold = true,
                          .base.predicted = true,
                          .base.time_us = 5};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

/* /proc of a machine with a GPU. */
static void fake_proc(const char *model, const char *driver)
{
    char path[PATH_MAX];
    static const char *const folders[] = {"", "/driver", "/driver/nvidia", "/driver/nvidia/gpus",
                                          "/driver/nvidia/gpus/0000:1b:00.0"};
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/proc%s", store_folder, folders[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", store_folder);
    FILE *file = fopen(path, "w");
    fprintf(file,
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\nGCC version:  gcc "
            "version 13.3.0\n",
            driver);
    fclose(file);
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus/0000:1b:00.0/information", store_folder);
    file = fopen(path, "w");
    fprintf(file, "Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t GPU-12345678-1234\nBus Type: \t PCIe\n",
            model);
    fclose(file);
    snprintf(path, sizeof path, "%s/proc", store_folder);
    setenv("GEMMTUNE_PROC", path, 1);
}

static int no_proc(void **state)
{
    setenv("GEMMTUNE_PROC", "/nonexistent", 1);
    return store_setup(state);
}

/* --- query --- */

TEST(query_shows_what_is_stored)
{
    make_measured();
    add_predicted();
    json_t *rows = RUN_JSON(cmd_query, OK, "--gpu", "H200");
    assert_int_equal(json_array_size(rows), 1);
    json_t *row = json_array_get(rows, 0);
    char config[CONFIG_TEXT_MAX];
    struct config winner = legal(0);
    config_format(&winner, config);
    assert_string_equal(text_of(row, "gpu"), "NVIDIA H200");
    assert_string_equal(text_of(row, "problem"), "sgemm:nn:4096x4096x4096");
    assert_string_equal(text_of(row, "configuration"), config);
    assert_string_equal(text_of(row, "provenance"), "measured");
    assert_string_equal(text_of(row, "state"), "ok");
    assert_string_equal(text_of(row, "driver"), "580.95.05");
    assert_true(number_of(row, "time_us") == 2600);
    assert_true(fabs(number_of(row, "tflops") - 2.0 * 4096 * 4096 * 4096 / 2600e6) < 1e-9);
    assert_true(number_of(row, "ratio_low") == 1.005);
    assert_true(json_is_true(json_object_get(row, "tied")));
    json_decref(rows);
}

TEST(query_filters_by_gpu_shape_and_provenance)
{
    make_measured();
    add_predicted();
    const struct {
        const char *arguments[4];
        size_t rows;
    } cases[] = {{{NULL}, 2},
                 {{"--predicted"}, 1},
                 {{"--measured"}, 1},
                 {{"--gpu", "sm_80"}, 1},
                 {{"--shape", "64x64x64"}, 1},
                 {{"--shape", "64x64x64", "--shape", "4096x4096x4096"}, 2},
                 {{"--gpu", "a100", "--predicted"}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const arguments[] = {"--format",
                                         "json",
                                         cases[i].arguments[0],
                                         cases[i].arguments[1],
                                         cases[i].arguments[1] ? cases[i].arguments[2] : NULL,
                                         cases[i].arguments[2] ? cases[i].arguments[3] : NULL,
                                         NULL};
        json_t *rows = run_json(cmd_query, arguments, OK);
        assert_int_equal(json_array_size(rows), cases[i].rows);
        json_decref(rows);
    }
    char *printed = NULL;
    assert_int_equal(RUN(cmd_query, &printed, "--predicted", "--measured"), E_USAGE);
    free(printed);
}

TEST(query_without_a_result_says_so_and_prints_an_empty_table)
{
    make_measured();
    json_t *rows = RUN_JSON(cmd_query, E_ABSENT, "--gpu", "a100");
    assert_int_equal(json_array_size(rows), 0);
    assert_non_null(strstr(status_text(), "on a100"));
    assert_non_null(strstr(status_text(), "which knows NVIDIA H200"));
    json_decref(rows);
    rows = RUN_JSON(cmd_query, E_ABSENT, "--predicted");
    assert_non_null(strstr(status_text(), "no predicted configuration"));
    json_decref(rows);
    unlink(store_path);
    rows = RUN_JSON(cmd_query, E_ABSENT, "--measured");
    assert_non_null(strstr(status_text(), "no database"));
    json_decref(rows);
    char *printed;
    assert_int_equal(RUN(cmd_query, &printed, "--format", "csv"), E_ABSENT);
    assert_int_equal(strncmp(printed, "gpu,problem,configuration,time_us,", 34), 0);
    assert_int_equal(strlen(printed), strcspn(printed, "\n") + 1);
    free(printed);
}

TEST(query_refuses_a_wrong_shape_and_an_unknown_format)
{
    char *printed;
    make_measured();
    assert_int_equal(RUN(cmd_query, &printed, "--shape", "12x"), E_INPUT);
    assert_string_equal(printed, "");
    free(printed);
    assert_int_equal(RUN(cmd_query, &printed, "--format", "xml"), E_USAGE);
    assert_string_equal(printed, "");
    free(printed);
}

TEST(this_gpu_is_the_one_of_this_machine_that_was_measured)
{
    make_measured();
    add_predicted();
    char *printed;
    assert_int_equal(RUN(cmd_query, &printed, "--gpu", "this"), E_GPU);
    free(printed);
    fake_proc("NVIDIA H200", "580.95.05");
    json_t *rows = RUN_JSON(cmd_query, OK, "--gpu", "this");
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(text_of(json_array_get(rows, 0), "state"), "ok");
    json_decref(rows);
    fake_proc("NVIDIA A100-SXM4-80GB", "580.95.05"); /* predicted only: never measured here */
    rows = RUN_JSON(cmd_query, E_ABSENT, "--gpu", "this");
    assert_non_null(
        strstr(status_text(), "nothing was measured on a GPU like this machine's (NVIDIA A100-SXM4-80GB)"));
    json_decref(rows);
}

TEST(another_driver_makes_this_gpus_winners_stale_and_no_others)
{
    make_measured();
    fake_proc("NVIDIA H200", "590.10");
    json_t *rows = RUN_JSON(cmd_query, OK, "--measured");
    assert_string_equal(text_of(json_array_get(rows, 0), "state"), "stale");
    assert_string_equal(text_of(json_array_get(rows, 0), "why"),
                        "measured with driver 580.95.05, now it is 590.10");
    json_decref(rows);
    fake_proc("NVIDIA L40S", "590.10");
    rows = RUN_JSON(cmd_query, OK, "--measured");
    assert_string_equal(text_of(json_array_get(rows, 0), "state"), "ok");
    json_decref(rows);
}

TEST(the_gpus_of_a_machine_are_read_from_proc)
{
    struct this_gpu gpus[THIS_GPUS_MAX];
    int count;
    fake_proc("NVIDIA GeForce RTX 4090", "550.54.14");
    this_gpus(gpus, &count);
    assert_int_equal(count, 1);
    assert_string_equal(gpus[0].name, "NVIDIA GeForce RTX 4090");
    assert_string_equal(gpus[0].uuid, "GPU-12345678-1234");
    assert_string_equal(gpus[0].driver, "550.54.14");
    setenv("GEMMTUNE_PROC", "/nonexistent", 1);
    this_gpus(gpus, &count);
    assert_int_equal(count, 0);
}

/* --- explain --- */

TEST(explain_gives_margin_search_and_failures)
{
    make_measured();
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
    assert_int_equal(json_array_size(list), 1);
    json_t *e = json_array_get(list, 0), *race = json_object_get(e, "race"),
           *tried = json_object_get(e, "tried");
    assert_int_equal(json_array_size(race), 3);
    /* 2613 / 2600 - 1 in every round, whatever the clock did; cuBLAS last. */
    assert_true(number_of(json_array_get(race, 0), "behind") == 0);
    assert_true(fabs(number_of(json_array_get(race, 1), "behind") - 0.005) < 1e-9);
    assert_true(fabs(number_of(json_array_get(race, 2), "behind") - 0.01) < 1e-9);
    assert_string_equal(text_of(json_array_get(race, 2), "configuration"), "cublas");
    assert_true(number_of(tried, "configurations") == 13);
    assert_true(number_of(tried, "cut_off") == 1);
    assert_true(number_of(json_object_get(tried, "verdicts"), "measured") == 8);
    assert_true(number_of(json_object_get(tried, "verdicts"), "wrong") == 3);
    json_t *failures = json_object_get(e, "failures");
    assert_int_equal(json_array_size(failures),
                     3); /* wrong: one reason but for its numbers; spills; cut off */
    assert_true(number_of(json_array_get(failures, 0), "count") == 3);
    assert_string_equal(text_of(json_array_get(failures, 0), "verdict"), "wrong");
    json_decref(list);
}

TEST(explain_gives_the_best_time_of_each_value)
{
    make_measured();
    json_t *list = RUN_JSON(cmd_explain, OK, "--shape", "4096x4096x4096");
    json_t *values = json_object_get(json_array_get(list, 0), "values"), *value;
    int chosen = 0, counted = 0;
    double best = INFINITY;
    size_t i;
    json_array_foreach(values, i, value)
    {
        chosen += json_is_true(json_object_get(value, "chosen"));
        counted += (int)number_of(value, "tried");
        best = fmin(best, number_of(value, "best_us"));
    }
    struct config winner = legal(0);
    assert_int_equal(chosen, winner.template->param_count);
    assert_int_equal(counted, 8 * winner.template->param_count); /* the measured ones, once a parameter */
    assert_true(best == 2600);
    json_decref(list);
}

TEST(explain_is_readable)
{
    make_measured();
    char *printed;
    assert_ok(RUN(cmd_explain, &printed, "--shape", "4096x4096x4096", "--gpu", "h200"));
    static const char *const parts[] = {
        "sgemm:nn:4096x4096x4096 on NVIDIA H200\nwinner       ladder_coalesced ",
        "\ntime         2600.00 us, 52.86 TFLOPS\n",
        "\nx cuBLAS     1.010 (1.005..1.015 with 95 % confidence), 10 rounds against 2626.00 us of "
        "cublasSgemm\n",
        "\nmargin       +0.50 % (0.50..0.50) behind the winner in 10 common rounds\n",
        "\ntie          others were within 0.5 %: less shared memory, then fewer registers, then the text "
        "decided\n",
        "\nlegal        500 configurations\n",
        "\ntried        13 configurations in 13 trials: 8 measured, 3 wrong, 1 spills, 1 cut off by a kill\n",
        "\nmodel        had put the winner in place 3; the best of its first 16 reaches 98.0 % of the "
        "winner\n",
        "\nWhat failed\n",
        "\nBest time by value (ladder_coalesced)\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(printed, parts[i])) fail_msg("'%s' is not in\n%s", parts[i], printed);
    free(printed);
}

TEST(explain_without_a_winner_shows_what_was_tried)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(4096, 4096, 4096);
    struct config config = legal(0);
    struct outcome outcome = store_outcome(2600);
    store_trial(db, store_run(db, &context), &problem, &config, &outcome);
    db_close(db);
    json_t *list = RUN_JSON(cmd_explain, E_ABSENT, "--shape", "4096x4096x4096");
    assert_non_null(strstr(status_text(), "goes on where it was"));
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "winner")));
    assert_true(number_of(json_object_get(json_array_get(list, 0), "tried"), "fastest_us") == 2600);
    json_decref(list);
    list = RUN_JSON(cmd_explain, E_ABSENT, "--shape", "5x5x5");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

TEST(a_reason_that_differs_in_numbers_only_is_one_group_and_the_newest_outcome_counts)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t run = store_run(db, &context);
    static const char *const reasons[] = {"C[1,2] is 3.5", "C[10,20] is 1e-07", "C[1,2] is nan",
                                          "no answer in 2000 ms"};
    for (int i = 0; i < 4; i++) {
        struct config config = store_config(i);
        struct outcome outcome = outcome_failed(VERDICT_WRONG, "%s", reasons[i]);
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct config again = store_config(3);
    struct outcome right = store_outcome(7);
    store_trial(db, run, &problem, &again, &right);
    struct tried tried;
    struct db_filter filter = {.problem = &problem};
    assert_ok(tried_collect(db, &filter, true, NULL, &tried));
    assert_int_equal(tried.trials, 5);
    assert_int_equal(tried.configs, 4);
    assert_int_equal(tried.verdicts[VERDICT_WRONG], 3);
    assert_int_equal(tried.verdicts[VERDICT_MEASURED], 1);
    assert_int_equal(tried.group_count, 2);
    assert_int_equal(tried.groups[0].count, 2);
    assert_true(tried.best_us == 7);
    tried_free(&tried);
    db_close(db);
}

TEST(a_runner_that_failed_is_ranked_last_and_one_that_left_early_is_compared_in_common_rounds)
{
    char texts[3][CONFIG_TEXT_MAX] = {"fails", "leaves", "wins"};
    struct db_race_sample samples[] = {{0, 0, 90},  {1, 0, 101}, {2, 0, 100}, {0, 1, INFINITY},
                                       {1, 1, 202}, {2, 1, 200}, {2, 2, 50},  {2, 3, 50}};
    struct db_evidence evidence = {texts, 3, samples, 8};
    struct ranked *ranked;
    int count;
    assert_ok(race_rank(&evidence, "wins", &ranked, &count));
    assert_int_equal(count, 3);
    assert_string_equal(ranked[0].text, "wins");
    assert_true(ranked[0].blocks == 4 && ranked[0].behind == 0);
    assert_string_equal(ranked[1].text, "leaves");
    assert_true(ranked[1].blocks == 2 && fabs(ranked[1].behind - 0.01) < 1e-12);
    assert_string_equal(ranked[2].text, "fails");
    assert_true(ranked[2].failed);
    free(ranked);
    evidence = (struct db_evidence){0};
    assert_ok(race_rank(&evidence, "wins", &ranked, &count));
    assert_int_equal(count, 0);
    free(ranked);
}

/* --- verify --- */

static void meddle(const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

TEST(verify_finds_nothing_in_a_whole_database)
{
    make_measured();
    json_t *rows = RUN_JSON(cmd_verify, OK, "--gpu", "h200"), *row;
    size_t i, winners = 0;
    json_array_foreach(rows, i, row)
    {
        assert_string_equal(text_of(row, "result"), "ok");
        winners += strcmp(text_of(row, "check"), "winner") == 0;
    }
    assert_int_equal(winners, 1);
    json_decref(rows);
}

TEST(verify_tells_damage_from_winners_that_are_out_of_date)
{
    make_measured();
    meddle("UPDATE configs SET kernel_hash = kernel_hash + 1, hash = randomblob(16)");
    char *printed;
    assert_int_equal(RUN(cmd_verify, &printed, "--format", "csv"), E_DB); /* content and hash disagree */
    assert_non_null(strstr(printed, "content of configurations,damaged,"));
    free(printed);
    unlink(store_path);
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    struct db_winner w = {.base.problem = problem_make(64, 64, 64),
                          .config = store_config(0),
                          .base.cold = true,
                          .base.time_us = 1};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
    assert_int_equal(RUN(cmd_verify, &printed, "--format", "csv"), E_ABSENT); /* its rules refuse it */
    assert_non_null(strstr(printed, "winner,unusable,"));
    assert_non_null(strstr(status_text(), "1 of 1 winners"));
    free(printed);
}

#define READER_TEST(name) cmocka_unit_test_setup_teardown(name, no_proc, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(query_shows_what_is_stored),
        READER_TEST(query_filters_by_gpu_shape_and_provenance),
        READER_TEST(query_without_a_result_says_so_and_prints_an_empty_table),
        READER_TEST(query_refuses_a_wrong_shape_and_an_unknown_format),
        READER_TEST(this_gpu_is_the_one_of_this_machine_that_was_measured),
        READER_TEST(another_driver_makes_this_gpus_winners_stale_and_no_others),
        READER_TEST(the_gpus_of_a_machine_are_read_from_proc),
        READER_TEST(explain_gives_margin_search_and_failures),
        READER_TEST(explain_gives_the_best_time_of_each_value),
        READER_TEST(explain_is_readable),
        READER_TEST(explain_without_a_winner_shows_what_was_tried),
        READER_TEST(a_reason_that_differs_in_numbers_only_is_one_group_and_the_newest_outcome_counts),
        READER_TEST(a_runner_that_failed_is_ranked_last_and_one_that_left_early_is_compared_in_common_rounds),
        READER_TEST(verify_finds_nothing_in_a_whole_database),
        READER_TEST(verify_tells_damage_from_winners_that_are_out_of_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

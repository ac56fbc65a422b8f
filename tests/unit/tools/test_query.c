/* tune query: which winners it shows, and which of them are those of this machine. */
#include "files.h"
#include "readers.h"

#include "this_gpu.h"
#include <limits.h>

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
    char text[256];
    snprintf(text, sizeof text,
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\nGCC version:  gcc "
             "version 13.3.0\n",
             driver);
    file_write(path, text);
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus/0000:1b:00.0/information", store_folder);
    snprintf(text, sizeof text,
             "Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t GPU-12345678-1234\nBus Type: \t PCIe\n", model);
    file_write(path, text);
    snprintf(path, sizeof path, "%s/proc", store_folder);
    setenv("GEMMTUNE_PROC", path, 1);
}

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

/* As the library answers. */
TEST(a_shape_is_answered_by_the_winner_for_another_alpha_or_beta)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    static const char *const stored[] = {"64x64x48:alpha=0.125", "64x64x64:beta=0.1",
                                         "64x64x64:batch=2:stride_a=0"};
    static const char *const asked[][2] = {
        {"64x64x48", "sgemm:nn:64x64x48:alpha=0.125"},
        {"64x64x48:alpha=3", "sgemm:nn:64x64x48:alpha=0.125"},
        {"64x64x64:beta=1", "sgemm:nn:64x64x64:beta=0.1"},
        {"64x64x64:beta=0.100000001", "sgemm:nn:64x64x64:beta=0.1"},
        {"64x64x64:batch=2:stride_a=0", "sgemm:nn:64x64x64:batch=2:stride_a=0"}};
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        struct problem problem;
        assert_ok(problem_parse(stored[i], &problem));
        const struct db_winner w = store_winner(&problem, NULL);
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
    store_close_clean(db);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        json_t *rows = RUN_JSON(cmd_query, OK, "--shape", asked[i][0]);
        assert_int_equal(json_array_size(rows), 1);
        assert_string_equal(text_of(json_array_get(rows, 0), "problem"), asked[i][1]);
        json_decref(rows);
        rows = RUN_JSON(cmd_explain, OK, "--shape", asked[i][0]);
        assert_string_equal(text_of(json_array_get(rows, 0), "problem"), asked[i][1]);
        json_decref(rows);
    }
    json_decref(RUN_JSON(cmd_query, E_ABSENT, "--shape", "64x64x64"));
    json_decref(RUN_JSON(cmd_query, E_ABSENT, "--shape", "64x64x64:batch=2"));
}

TEST(a_winner_with_an_epilogue_is_shown_under_its_own_problem)
{
    static const char *const text = "sgemm:nn:4096x4096x4096:epilogue=bias+gelu";
    make_measured();
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    struct problem problem;
    assert_ok(problem_parse(text, &problem));
    const struct db_winner w = store_winner(&problem, NULL);
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    store_close_clean(db);
    json_t *rows = RUN_JSON(cmd_query, OK, "--shape", "4096x4096x4096");
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(text_of(json_array_get(rows, 0), "problem"), "sgemm:nn:4096x4096x4096");
    json_decref(rows);
    rows = RUN_JSON(cmd_query, OK, "--shape", "4096x4096x4096:epilogue=gelu+bias");
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(text_of(json_array_get(rows, 0), "problem"), text);
    assert_string_equal(text_of(json_array_get(rows, 0), "configuration"), "cublas");
    json_decref(rows);
    char *printed = NULL;
    assert_ok(RUN(cmd_explain, &printed, "--shape", text));
    assert_non_null(
        strstr(printed, "sgemm:nn:4096x4096x4096:epilogue=bias+gelu on NVIDIA H200\nwinner       cublas"));
    free(printed);
    assert_int_equal(RUN(cmd_query, &printed, "--shape", "64x64x64:epilogue=tanh"), E_INPUT);
    assert_non_null(strstr(status_text(), "parts are bias or rowbias, relu or gelu, and out"));
    free(printed);
}

/* A winner of this type beside make_measured's. */
static void add_class(const char *text)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct config config = legal(0);
    struct problem problem;
    assert_ok(problem_parse(text, &problem));
    struct db_winner w = store_winner(&problem, &config);
    w.errors = (struct db_errors){true, 1e-7, 2e-7, 3e-7};
    w.rival_errors = (struct db_errors){true, 2e-7, 8e-7, 6e-7};
    if (gemm_type_has_limits(problem.type))
        w.checked = (struct accuracy_checked){12, 3, 512, 512, 4096, 0.44};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    store_close_clean(db);
}

TEST(a_winner_of_an_accuracy_class_has_its_errors_beside_its_speed)
{
    static const char *const numbers[] = {"error",
                                          "error_rms",
                                          "error_max",
                                          "error_componentwise",
                                          "cublas_error_rms",
                                          "cublas_error_max",
                                          "cublas_error_componentwise"};
    static const double values[] = {0.25, 2e-7, 3e-7, 1e-7, 8e-7, 6e-7, 2e-7};
    static const char checked[] =
        "error at most 0.44 of FP32's on 12 kinds of data, within its bound on 3, at "
        "512x512x4096";
    char *printed = NULL;
    make_measured();
    add_class("tf32gemm:nn:4096x4096x4096");
    assert_ok(RUN(cmd_query, &printed, "--own"));
    assert_null(strstr(printed, "error"));
    free(printed);
    add_class("sgemm_accurate:nn:4096x4096x4096");
    json_t *rows = RUN_JSON(cmd_query, OK, "--own"), *row;
    size_t at;
    assert_int_equal(json_array_size(rows), 3);
    json_array_foreach(rows, at, row)
    {
        const bool class = at == 2;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            const json_t *number = json_object_get(row, numbers[i]);
            assert_true(class ? fabs(json_real_value(number) - values[i]) < 1e-12 : json_is_null(number));
        }
        if (class) assert_string_equal(text_of(row, "checked"), checked);
        else assert_true(json_is_null(json_object_get(row, "checked")));
    }
    json_decref(rows);
    assert_ok(RUN(cmd_query, &printed, "--own"));
    assert_non_null(strstr(printed, "error / FP32"));
    free(printed);
    assert_ok(RUN(cmd_query, &printed, "--shape", "sgemm_accurate:nn:4096x4096x4096", "--all"));
    assert_non_null(strstr(printed, "checked"));
    free(printed);
    rows = RUN_JSON(cmd_explain, OK, "--shape", "sgemm_accurate:nn:4096x4096x4096");
    assert_string_equal(text_of(json_object_get(json_array_get(rows, 0), "winner"), "checked"), checked);
    json_decref(rows);
    assert_ok(RUN(cmd_explain, &printed, "--shape", "sgemm_accurate:nn:4096x4096x4096"));
    assert_non_null(strstr(printed, "root mean square error 0.25 of cuBLAS's on uniform data; error at most "
                                    "0.44 of FP32's"));
    free(printed);
}

/* The problem of make_measured becomes one of a later version. */
static void age_program(void)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(store_path, &handle), SQLITE_OK);
    assert_int_equal(db_register_functions(handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle,
                                  "UPDATE problems SET text = 'latergemm:nn:1x1x1', type = 'latergemm', "
                                  "hash = content_hash('latergemm:nn:1x1x1') WHERE m = 4096",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(handle);
}

/* What is printed when all rows share it is printed above the table. */
TEST(query_says_whether_cublas_is_used)
{
    static const struct {
        double ratio;
        bool pinned;
        const char *used;
    } cases[] = {{1.001, false, "kernel"}, {0.683, false, "cuBLAS"}, {0.994, false, "cuBLAS"},
                 {0.009, false, "cuBLAS"}, {1, false, "cuBLAS"},     {0, false, "kernel"},
                 {0.683, true, "kernel"}};
    make_measured();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char part[32];
        race_again(cases[i].ratio, cases[i].pinned);
        json_t *rows = RUN_JSON(cmd_query, OK, "--shape", "4096x4096x4096"), *row = json_array_get(rows, 0);
        assert_non_null(text_of(row, "used"));
        assert_string_equal(text_of(row, "used"), cases[i].used);
        assert_string_not_equal(text_of(row, "configuration"), "cublas"); /* what is stored is shown */
        json_decref(rows);
        snprintf(part, sizeof part, ", used %s, timing repeat\n", cases[i].used);
        assert_true(is_said(cmd_query, part));
    }
}

TEST(what_is_left_out_is_counted_once_and_what_a_command_says_stays)
{
    make_measured();
    add_predicted();
    age_program();
    char *printed = NULL, *said = NULL;
    size_t length;
    FILE *before = stderr;
    stderr = open_memstream(&said, &length);
    const enum status found = RUN(cmd_query, &printed, "--format", "csv");
    free(printed);
    const enum status none = RUN(cmd_query, &printed, "--gpu", "h200");
    fclose(stderr);
    stderr = before;
    free(printed);
    assert_int_equal(found, OK);
    assert_int_equal(none, E_ABSENT);
    assert_non_null(strstr(status_text(), "no configuration on h200 in"));
    static const char notice[] = "1 winner of 1 problem in ";
    const char *first = strstr(said, notice);
    assert_non_null(first);
    assert_non_null(strstr(first, "which this version cannot read\n"));
    assert_non_null(strstr(first + 1, notice)); /* of the second command */
    assert_null(strstr(strstr(first + 1, notice) + 1, notice));
    free(said);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(query_shows_what_is_stored),
        READER_TEST(query_says_whether_cublas_is_used),
        READER_TEST(a_winner_of_an_accuracy_class_has_its_errors_beside_its_speed),
        READER_TEST(a_shape_is_answered_by_the_winner_for_another_alpha_or_beta),
        READER_TEST(a_winner_with_an_epilogue_is_shown_under_its_own_problem),
        READER_TEST(what_is_left_out_is_counted_once_and_what_a_command_says_stays),
        READER_TEST(query_filters_by_gpu_shape_and_provenance),
        READER_TEST(query_without_a_result_says_so_and_prints_an_empty_table),
        READER_TEST(query_refuses_a_wrong_shape_and_an_unknown_format),
        READER_TEST(this_gpu_is_the_one_of_this_machine_that_was_measured),
        READER_TEST(another_driver_makes_this_gpus_winners_stale_and_no_others),
        READER_TEST(the_gpus_of_a_machine_are_read_from_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

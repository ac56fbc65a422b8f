/* The runtime library without a GPU, when something is missing, damaged, foreign or hostile: a right answer
 * by another way, or an error code with a sentence; said once.
 */
#include "files.h"
#include "runtime_fakes.h"

#include <sys/wait.h>
#include <time.h>

#define TEXT "sgemm:nn:64x64x64"

/* Open, compute, compare; twice with different operands. What was said on standard error, and the plan's
 * info. */
static const char *compute(const struct gt_options *options, struct gt_plan_info *info)
{
    stderr_catch();
    struct gt_handle *handle = open_handle(options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    struct gt_problem p = problem_of(TEXT);
    for (int i = 0; i < 2; i++) {
        struct operand_set set = operands_make(TEXT, i);
        enum gt_status status = launch_set(plan, &set);
        if (!status) operands_check(&set, 1, "launched");
        if (!status) status = gemm_set(handle, &p, &set);
        if (status) {
            dup2(stderr_before, 2);
            fail_msg("%s", gt_error_text());
        }
        operands_check(&set, 1, "gemm");
        operands_free(&set);
    }
    *info = info_of(plan);
    gt_close(handle);
    return stderr_release();
}

static void assert_said(const char *said, int lines, const char *part)
{
    if (lines_in(said) != lines || !strstr(said, part))
        fail_msg("'%s' is not %d lines with '%s'", said, lines, part);
}

/* ---- the database ---- */

TEST(a_database_that_is_not_there_is_no_trouble)
{
    struct gt_plan_info info = gt_plan_info_make();
    unsetenv("GEMMTUNE_DB");
    setenv("XDG_DATA_HOME", store_folder, 1);
    assert_string_equal(compute(NULL, &info), ""); /* nobody asked for it by name */
    assert_true(info.uses_cublas && info.source == GT_FALLBACK);
    setenv("GEMMTUNE_DB", "/nowhere/winners.db", 1);
    assert_said(compute(NULL, &info), 1, "/nowhere/winners.db");
    unsetenv("XDG_DATA_HOME");
}

TEST(a_file_that_is_no_database_is_said_once_and_left_out)
{
    struct gt_plan_info info = gt_plan_info_make();
    char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7 + i / 13);
    file_write_bytes(store_path, bytes, sizeof bytes);
    assert_said(compute(NULL, &info), 1, "tuned winners are not used");
    assert_true(info.uses_cublas);
}

TEST(a_newer_database_is_left_alone)
{
    struct gt_plan_info info = gt_plan_info_make();
    put_winner(TEXT, SIMT, 5, false);
    sqlite3_close(open_stored("PRAGMA user_version = 99"));
    assert_said(compute(NULL, &info), 1, "99");
    assert_true(info.uses_cublas);
}

TEST(a_database_that_is_being_changed_is_not_waited_for)
{
    struct gt_plan_info info = gt_plan_info_make();
    put_winner(TEXT, SIMT, 5, false);
    sqlite3 *handle = open_stored("BEGIN EXCLUSIVE");
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const char *said = compute(NULL, &info);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_said(said, 1, "too long");
    assert_true(end.tv_sec - start.tv_sec < 5); /* as long as a writer would wait */
    assert_true(info.uses_cublas);
    sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(handle);
    assert_string_equal(compute(NULL, &info), "");
    assert_int_equal(info.source, GT_EXACT);
}

TEST(wherever_a_byte_is_damaged_the_answer_is_right)
{
    struct gt_plan_info info = gt_plan_info_make();
    put_winner(TEXT, SIMT, 5, false);
    put_winner("sgemm:nn:64x64x68", SIMT_SPLIT, 5, false);
    struct stat file;
    assert_int_equal(stat(store_path, &file), 0);
    char *bytes = malloc((size_t)file.st_size), *damaged = malloc((size_t)file.st_size);
    FILE *in = fopen(store_path, "rb");
    assert_true(bytes && damaged && in && fread(bytes, 1, (size_t)file.st_size, in) == (size_t)file.st_size);
    fclose(in);
    srand(7);
    for (int i = 0; i < 150; i++) {
        memcpy(damaged, bytes, (size_t)file.st_size);
        for (int j = 0; j < 1 + i % 20; j++)
            damaged[((size_t)rand() * 31 + (size_t)rand()) % (size_t)file.st_size] = (char)rand();
        file_write_bytes(store_path, damaged, (size_t)(i % 10 == 9 ? rand() % file.st_size : file.st_size));
        *fake.launch_count = 0;
        const char *said = compute(NULL, &info);
        if (lines_in(said) > 2) fail_msg("damage %d: %s", i, said);
    }
    free(bytes);
    free(damaged);
}

/* A database with one statement run on it behind the program's back. */
static void tamper(const char *sql)
{
    put_winner(TEXT, SIMT, 5, false);
    sqlite3_close(open_stored(sql));
}

TEST(hostile_rows_never_reach_the_compiler_or_the_gpu)
{
    static const char *const statements[] = {
        "UPDATE configs SET text = replace(text, 'BM=64', 'BM=65')",
        "UPDATE configs SET text = replace(text, 'BM=64', 'BM=64;system(1)')",
        "UPDATE configs SET text = replace(text, 'BM=64', 'BM=999999999999')",
        "UPDATE configs SET text = replace(text, 'SPLIT_K=1', 'SPLIT_K=4096')",
        "UPDATE configs SET text = replace(text, 'VA=4', 'VA=0')",
        "UPDATE configs SET text = 'simt'",
        "UPDATE configs SET text = '../../etc/passwd'",
        "UPDATE configs SET text = printf('%.*c', 100000, 'x')",
        "UPDATE configs SET kernel_hash = 1",
        "UPDATE decisions SET time_us = 9e999",
        "UPDATE decisions SET time_us = -5",
        "UPDATE decisions SET config_id = 77",
        "UPDATE runs SET driver = printf('%.*c', 5000, 'y')",
        "UPDATE problems SET text = 'sgemm:nn:9999999999999x1x1'",
        "UPDATE problems SET text = 'sgemm:nn:64x64x64:lda=1'",
        "UPDATE problems SET text = CAST(x'7300ff' AS TEXT)",
        "DROP TABLE winners",
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM trials; END",
        "CREATE VIEW v AS SELECT 1",
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        struct gt_plan_info info = gt_plan_info_make();
        tamper(statements[i]);
        *fake.launch_count = 0;
        const char *said = compute(NULL, &info);
        if (info.source == GT_EXACT) fail_msg("%s was believed: %s", statements[i], info.config);
        if (lines_in(said) > 1) fail_msg("%s: %s", statements[i], said);
        assert_int_equal(remove(store_path), 0);
    }
}

TEST(a_configuration_is_asked_for_its_rules_before_it_is_built)
{
    struct gt_plan_info info = gt_plan_info_make();
    tamper("UPDATE configs SET text = replace(text, 'BK=16', 'BK=15')");
    compute(NULL, &info);
    assert_true(info.uses_cublas);
    assert_int_equal(*fake.compilations, 0);
}

/* ---- pretuned text ---- */

TEST(lines_that_are_no_winners_are_passed_over_and_said_once)
{
    struct gt_plan_info info = gt_plan_info_make();
    char good[2048], cut[2048], text[1 << 14];
    pretuned_line(good, sizeof good, TEXT, SIMT, 5);
    pretuned_line(cut, sizeof cut, "sgemm:nn:8x8x8", SIMT, 5);
    cut[strlen(cut) - 20] = '\0';
    snprintf(text, sizeof text,
             "\n[1, 2]\n{}\nnull\n{\"problem\": 5}\n%s\n%s{\"problem\": \"\\u0000\"}\n{\"a\": %04000d}\n",
             cut, good, 7);
    put_text("a.jsonl", text);
    put_text("b.txt", "not read\n");
    put_text(".hidden.jsonl", "nor this\n");
    unsetenv("GEMMTUNE_DB");
    setenv("XDG_DATA_HOME", store_folder, 1);
    assert_said(compute(NULL, &info), 1, "7 pretuned winners are passed over, the first: ");
    assert_true(info.source == GT_EXACT && info.pretuned);
    unsetenv("XDG_DATA_HOME");
}

TEST(pretuned_winners_of_another_kernel_text_or_gpu_are_not_exact)
{
    static const char *const changes[][2] = {{"\"template_hash\": \"", "\"template_hash\": \"f"},
                                             {"\"gpu\": \"NVIDIA H200\"", "\"gpu\": \"NVIDIA H100\""},
                                             {"\"sm_count\": 132", "\"sm_count\": 114"},
                                             {"\"arch\": 90", "\"arch\": 80"},
                                             {"\"time_us\": 5", "\"time_us\": \"5\""},
                                             {"\"time_us\": 5", "\"time_us\": -5"},
                                             {"BM=64", "BM=48"}};
    const struct gt_options options = {.size = sizeof(struct gt_options), .database = "", .flags = GT_QUIET};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct gt_plan_info info = gt_plan_info_make();
        char line[2048], changed[2200], path[200];
        pretuned_line(line, sizeof line, TEXT, SIMT, 5);
        char *at = strstr(line, changes[i][0]);
        assert_non_null(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - line), line, changes[i][1],
                 at + strlen(changes[i][0]));
        if (i == 0)
            memmove(strstr(changed, "\"f") + 17, strstr(changed, "\"f") + 18,
                    strlen(strstr(changed, "\"f") + 18) + 1);
        snprintf(path, sizeof path, "%s/configs/winners/h200.jsonl", store_folder);
        file_write_bytes(path, changed, strlen(changed));
        *fake.launch_count = 0;
        compute(&options, &info);
        if (info.source == GT_EXACT) fail_msg("believed: %s", changed);
    }
}

TEST(a_folder_of_pretuned_winners_that_is_not_there_is_said)
{
    struct gt_plan_info info = gt_plan_info_make();
    const struct gt_options options = {
        .size = sizeof(struct gt_options), .database = "", .pretuned = "/nowhere"};
    assert_said(compute(&options, &info), 1, "/nowhere");
}

/* ---- the cache ---- */

static void cache_path(char *path, size_t room)
{
    snprintf(path, room, "%s/kernels", store_folder);
}

TEST(a_cache_that_cannot_be_written_is_replaced_for_the_moment)
{
    struct gt_plan_info info = gt_plan_info_make();
    char path[128];
    put_winner(TEXT, SIMT, 5, false);
    /* Writing the winner made the folder, for checked/. */
    cache_path(path, sizeof path);
    nftw(path, store_remove, 16, FTW_DEPTH | FTW_PHYS);
    file_write_bytes(path, "a file", 6);
    assert_said(compute(NULL, &info), 1, "compiled kernels are not kept");
    assert_string_equal(info.config, SIMT);
    assert_int_equal(
        system("test -z \"$(find /tmp -maxdepth 1 -name 'gemmtune-cache-*' -newer \"$GEMMTUNE_CACHE\")\""),
        0);
}

TEST(damaged_kernels_in_the_cache_are_compiled_again)
{
    struct gt_plan_info info = gt_plan_info_make();
    char command[300];
    put_winner(TEXT, SIMT, 5, false);
    static const char *const damages[] = {
        "for f in *.cubin; do printf x | dd of=$f bs=1 seek=3 conv=notrunc status=none; done",
        "for f in *.cubin; do : > $f; done", "rm *.cubin", "for f in *.cubin; do echo '{' >> $f; done"};
    compute(NULL, &info);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        int before = *fake.compilations;
        snprintf(command, sizeof command, "cd '%s/kernels' && %s", store_folder, damages[i]);
        assert_int_equal(system(command), 0);
        compute(NULL, &info);
        assert_string_equal(info.config, SIMT);
        assert_true(*fake.compilations > before);
    }
}

/* ---- compiler, driver, cuBLAS ---- */

/* With the variable set, the winner (NULL: cuBLAS) cannot be used: that is said once, and the kernel of a
 * similar problem is. */
static struct gt_plan_info assert_replaced(const char *winner, const char *variable, const char *value,
                                           const char *said)
{
    struct gt_plan_info info = gt_plan_info_make();
    put_winner(TEXT, winner, 5, false);
    put_winner("sgemm:nn:64x64x68", SIMT, 5, false);
    setenv(variable, value, 1);
    assert_said(compute(NULL, &info), 1, said);
    assert_string_equal(info.config, SIMT);
    return info;
}

TEST(a_kernel_that_the_compiler_refuses_is_replaced)
{
    const struct gt_plan_info info =
        assert_replaced(SIMT_LARGE, "FAKE_NVRTC_REFUSES", "-DBM=128", "the compiler refuses");
    assert_int_equal(info.source, GT_NEAREST);
}

TEST(a_kernel_that_the_driver_refuses_to_load_is_replaced)
{
    assert_replaced(SIMT_LARGE, "FAKE_GPU_THREADS", "128", "needs 256 threads"); /* SIMT_LARGE does */
}

TEST(a_launch_that_is_refused_is_computed_by_cublas)
{
    put_winner(TEXT, SIMT, 5, false);
    static const char *const refusals[] = {"cuLaunchKernel=701", "cuLaunchKernel=1", "cuLaunchKernel=2"};
    for (int i = 0; i < 3; i++) {
        struct gt_plan_info info = gt_plan_info_make();
        setenv("FAKE_GPU_FAIL", refusals[i], 1);
        assert_said(compute(NULL, &info), 1, "the driver refuses the kernel");
        assert_true(info.uses_cublas);
        unsetenv("FAKE_GPU_FAIL");
    }
}

/* The launch fails with the sentence, nothing else is tried, and C is as it was. */
static void assert_not_computed(unsigned flags, const char *failure, const char *part)
{
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_flagged(flags);
    struct gt_plan *plan = make_plan(handle, TEXT);
    struct operand_set set = operands_make(TEXT, 0);
    setenv("FAKE_GPU_FAIL", failure, 1);
    assert_gt_fails(launch_set(plan, &set), GT_DEVICE, part);
    unsetenv("FAKE_GPU_FAIL");
    assert_int_equal(*fake.blas_calls, 0);
    operands_check(&set, 0, "untouched");
    operands_free(&set);
    gt_close(handle);
}

TEST(a_launch_that_is_refused_everywhere_is_an_error_with_a_sentence)
{
    assert_not_computed(GT_NO_CUBLAS | GT_QUIET, "cuLaunchKernel=701", "nothing here can compute");
}

TEST(a_lost_gpu_is_an_error_and_nothing_else_is_tried)
{
    assert_not_computed(0, "cuLaunchKernel=700", "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST(where_cublas_does_not_take_the_problem_a_kernel_does)
{
    assert_replaced(NULL, "FAKE_CUBLAS_FAIL", "15", "status 15");
    setenv("FAKE_CUBLAS_FAIL", "13", 1); /* it failed in the middle */
    struct gt_handle *handle = open_handle(NULL);
    struct operand_set set = operands_make(TEXT, 0);
    assert_gt_fails(launch_set(make_plan(handle, TEXT), &set), GT_DEVICE, "status 13");
    operands_free(&set);
    gt_close(handle);
}

TEST(quiet_means_quiet)
{
    struct gt_plan_info info = gt_plan_info_make();
    file_write_bytes(store_path, "nonsense", 8);
    put_text("a.jsonl", "nonsense\n");
    const struct gt_options options = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
    assert_string_equal(compute(&options, &info), "");
    setenv("GEMMTUNE_QUIET", "1", 1);
    assert_string_equal(compute(NULL, &info), "");
    setenv("GEMMTUNE_QUIET", "0", 1);
    assert_said(compute(NULL, &info), 2, "gemmtune: ");
}

TEST(the_environment_cannot_turn_strict_fp32_into_something_else)
{
    struct gt_plan_info info = gt_plan_info_make();
    void *gpu = dlopen(FAKE_GPU, RTLD_NOW);
    const int *math = dlsym(gpu, "fake_blas_math");
    compute(NULL, &info);
    assert_int_equal(*math, 0);
    setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1);
    compute(NULL, &info);
    assert_int_equal(*math, 2);                                          /* pedantic */
    assert_string_equal(getenv("CUBLAS_EMULATE_SINGLE_PRECISION"), "1"); /* the program's own business */
    unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
}

/* ---- what is missing from the start: each in a process of its own, where nothing is loaded yet ---- */

static int without(const char *what)
{
    struct gt_plan_info info = gt_plan_info_make();
    if (strcmp(what, "driver") == 0) {
        struct gt_handle *handle = (void *)1;
        setenv("GEMMTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        return gt_open(&handle, NULL) == GT_NO_GPU && !handle && strstr(gt_error_text(), "no NVIDIA driver")
                   ? 0
                   : 2;
    }
    if (fakes_setup(NULL)) return 3;
    put_winner(TEXT, SIMT, 5, false);
    bool compiler = strcmp(what, "compiler") == 0 || strcmp(what, "both") == 0;
    bool blas = strcmp(what, "cublas") == 0 || strcmp(what, "both") == 0;
    if (compiler) setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    if (blas) setenv("GEMMTUNE_LIBCUBLAS", "/nowhere/libcublas.so", 1);
    if (compiler && blas) {
        const struct gt_options quiet = {.size = sizeof(struct gt_options), .flags = GT_QUIET};
        struct gt_handle *handle = open_handle(&quiet);
        struct gt_problem p = problem_of(TEXT);
        struct gt_plan *plan;
        int wrong = gt_plan_open(handle, &p, &plan) != GT_UNAVAILABLE || plan;
        gt_close(handle);
        return wrong ? 4 : fakes_teardown(NULL);
    }
    const char *said = compute(NULL, &info);
    bool right = compiler ? info.uses_cublas : strcmp(info.config, SIMT) == 0;
    /* Without cuBLAS nothing is missed until somebody's operands are not aligned: then a plain kernel does.
     */
    if (!right || lines_in(said) != 1 || !strstr(said, compiler ? "libnvrtc" : "libcublas")) {
        print_error("%s: %s, %s\n", what, info.config, said);
        return 5;
    }
    return fakes_teardown(NULL);
}

static void run_without(const char *what)
{
    int how;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_runtime_broken", "--without", what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

TEST(without_a_driver_gt_open_says_so)
{
    run_without("driver");
}

TEST(without_the_compiler_cublas_computes)
{
    run_without("compiler");
}

TEST(without_cublas_kernels_compute)
{
    run_without("cublas");
}

TEST(without_compiler_and_cublas_the_plan_is_an_error)
{
    run_without("both");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--without") == 0) return without(argv[2]);
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_database_that_is_not_there_is_no_trouble),
        ON_FAKES(a_file_that_is_no_database_is_said_once_and_left_out),
        ON_FAKES(a_newer_database_is_left_alone),
        ON_FAKES(a_database_that_is_being_changed_is_not_waited_for),
        ON_FAKES(wherever_a_byte_is_damaged_the_answer_is_right),
        ON_FAKES(hostile_rows_never_reach_the_compiler_or_the_gpu),
        ON_FAKES(a_configuration_is_asked_for_its_rules_before_it_is_built),
        ON_FAKES(lines_that_are_no_winners_are_passed_over_and_said_once),
        ON_FAKES(pretuned_winners_of_another_kernel_text_or_gpu_are_not_exact),
        ON_FAKES(a_folder_of_pretuned_winners_that_is_not_there_is_said),
        ON_FAKES(a_cache_that_cannot_be_written_is_replaced_for_the_moment),
        ON_FAKES(damaged_kernels_in_the_cache_are_compiled_again),
        ON_FAKES(a_kernel_that_the_compiler_refuses_is_replaced),
        ON_FAKES(a_kernel_that_the_driver_refuses_to_load_is_replaced),
        ON_FAKES(a_launch_that_is_refused_is_computed_by_cublas),
        ON_FAKES(a_launch_that_is_refused_everywhere_is_an_error_with_a_sentence),
        ON_FAKES(a_lost_gpu_is_an_error_and_nothing_else_is_tried),
        ON_FAKES(where_cublas_does_not_take_the_problem_a_kernel_does),
        ON_FAKES(quiet_means_quiet),
        ON_FAKES(the_environment_cannot_turn_strict_fp32_into_something_else),
        cmocka_unit_test(without_a_driver_gt_open_says_so),
        cmocka_unit_test(without_the_compiler_cublas_computes),
        cmocka_unit_test(without_cublas_kernels_compute),
        cmocka_unit_test(without_compiler_and_cublas_the_plan_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

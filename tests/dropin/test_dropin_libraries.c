/* What the drop-in brings into a program: nothing but the C library, until a call needs the engine; and then
 * nothing that the program's own libraries could be taken for. */
#include "dropin_runs.h"
#include "runtime_fakes.h"

#include <sys/wait.h>

#define PROBLEM "sgemm:nn:16x24x32"
#define BY_OURS "status 0 0, by its cuBLAS 0 0, wrong 0\n"
#define BY_ITS  "status 0 0, by its cuBLAS 1 1, wrong 0\n"

static char said[1 << 16], complaints[1 << 16];

static void read_back(FILE *file, char *text, size_t room)
{
    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

/* Run a program with something preloaded (NULL: nothing), in a folder (NULL: here); its exit status. */
static int run_in(const char *folder, const char *preload, const char *const *words)
{
    FILE *out = tmpfile(), *err = tmpfile();
    assert_true(out && err);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(out), 1);
        dup2(fileno(err), 2);
        if (folder && chdir(folder)) _exit(125);
        if (preload) setenv("LD_PRELOAD", preload, 1);
        execvp(words[0], (char **)(uintptr_t)words);
        _exit(126);
    }
    int status = -1;
    waitpid(child, &status, 0);
    read_back(out, said, sizeof said);
    read_back(err, complaints, sizeof complaints);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void run(const char *preload, const char *const *words)
{
    int status = run_in(NULL, preload, words);
    if (status) fail_msg("%s ended with %d:\n%s%s", words[0], status, said, complaints);
}

static void check_said(const char *text)
{
    if (!strstr(said, text)) fail_msg("'%s' is missing in:\n%s%s", text, said, complaints);
}

static void check_not_said(const char *text)
{
    if (strstr(said, text)) fail_msg("'%s' is in:\n%s", text, said);
}

static int winner_setup(void **state)
{
    if (fakes_setup(state)) return -1;
    setenv("FAKE_GPU_COMPUTES", "1", 1);
    setenv("GEMMTUNE_WAIT", "1", 1);
    put_winner(PROBLEM, SIMT, 5, false);
    return 0;
}

TEST(a_program_without_products_has_the_stub_alone)
{
    const char *const words[] = {PROGRAM_ALONE, NULL};
    run(DROPIN, words);
    check_said("libgemmtune_cublas.so\n");
    static const char *const others[] = {"engine", "sqlite", "jansson", "inih", "xxhash", "libcuda"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) check_not_said(others[i]);
}

TEST(when_it_is_switched_off_the_engine_stays_away)
{
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    setenv("GEMMTUNE_DROPIN", "off", 1);
    run(DROPIN, words);
    unsetenv("GEMMTUNE_DROPIN");
    check_said(BY_ITS);
    check_not_said("engine");
    check_not_said("sqlite");
}

TEST(a_switch_that_is_not_understood_is_off_and_says_so)
{
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    setenv("GEMMTUNE_DROPIN", "of", 1);
    run(DROPIN, words);
    unsetenv("GEMMTUNE_DROPIN");
    check_said(BY_ITS);
    assert_string_equal(complaints, "gemmtune: everything goes to cuBLAS: GEMMTUNE_DROPIN 'of' is not exact, "
                                    "nearest or off: off is used\n");
}

TEST(the_engine_brings_no_library_that_a_program_may_have)
{
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    run(DROPIN, words);
    check_said(BY_OURS);
    check_said("libgemmtune_cublas_engine.so\n");
    static const char *const others[] = {"sqlite", "jansson", "inih", "xxhash", "libz"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) check_not_said(others[i]);
}

/* Found by DT_RUNPATH, and as conda has it: by DT_RPATH, beside the program, with all that we take. */
TEST(a_program_may_bring_other_libraries_of_these_names)
{
    static const char *const programs[] = {PROGRAM_RUNPATH, PROGRAM_CONDA};
    for (int i = 0; i < 2; i++) {
        const char *const words[] = {programs[i], "product", NULL};
        run(DROPIN, words);
        check_said("own library: 42\n");
        check_said(BY_OURS);
        check_said("own/lib/libsqlite3.so.0\n");
    }
    check_said("own/lib/libjansson.so.4\n");
}

TEST(python_keeps_its_own_sqlite)
{
    const char *const words[] = {PYTHON, PYTHON_CALLS, HALF_13, NULL};
    char version[64] = "";
#ifdef GT_SANITIZED
    skip(); /* Python would have to be built with the sanitizers, too */
#endif
    int status = PYTHON[0] ? run_in(NULL, NULL, words) : 77;
    if (status == 77) skip();
    check_said(BY_ITS);
    assert_int_equal(sscanf(said, "sqlite %63[^\n]", version), 1);
    assert_non_null(strstr(version, " 45 45"));
    run(DROPIN, words);
    check_said(version);
    check_said(BY_OURS);
}

/* They may have threads, and functions that are called at the program's end. */
TEST(what_is_closed_stays)
{
    static const char *const files[] = {DROPIN, ENGINE, LIBRARY};
    for (int i = 0; i < 3; i++) {
        Dl_info info;
        void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) fail_msg("%s", dlerror());
        static const char *const names[] = {"cublasSgemm_v2", "gemmtune_cublas_engine", "gt_version"};
        void *address = dlsym(library, names[i]);
        assert_non_null(address);
        assert_int_equal(dlclose(library), 0);
        if (!dladdr(address, &info)) fail_msg("%s is gone", files[i]);
    }
}

/* ---- an engine that is not the stub's ---- */

static void stub_alone(char folder[200], char path[240])
{
    char command[1000];
    snprintf(folder, 200, "%s/alone", store_folder);
    snprintf(path, 240, "%s/libgemmtune_cublas.so", folder);
    snprintf(command, sizeof command, "mkdir -p %s && cp %s %s", folder, DROPIN, path);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own words */
}

static void put_engine(const char *folder, const char *file)
{
    char command[1000];
    snprintf(command, sizeof command, "cp %s %s/libgemmtune_cublas_engine.so", file, folder);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own words */
}

TEST(without_its_engine_everything_goes_to_cublas_and_that_is_said_once)
{
    char folder[200], path[240];
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    stub_alone(folder, path);
    run(path, words);
    check_said(BY_ITS);
    assert_non_null(strstr(complaints, "gemmtune: everything goes to cuBLAS: its engine cannot be opened: "));
    assert_non_null(strstr(complaints, folder));
    assert_int_equal(lines_in(complaints), 1);
    setenv("GEMMTUNE_QUIET", "1", 1);
    run(path, words);
    unsetenv("GEMMTUNE_QUIET");
    check_said(BY_ITS);
    assert_string_equal(complaints, "");
}

TEST(an_engine_of_another_version_is_not_used)
{
    static const struct {
        const char *engine, *why;
    } cases[] = {{OTHER_ENGINE, "is of another version than the preloaded library"},
                 {FAKE_NVRTC, "is not its engine"}};
    char folder[200], path[240];
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    stub_alone(folder, path);
    for (int i = 0; i < 2; i++) {
        put_engine(folder, cases[i].engine);
        run(path, words);
        check_said(BY_ITS);
        assert_non_null(strstr(complaints, cases[i].why));
        assert_int_equal(lines_in(complaints), 1);
    }
}

TEST(the_engine_is_found_beside_a_stub_that_is_named_relative)
{
    char folder[200], path[240];
    const char *const words[] = {PROGRAM_ALONE, "product", "/", NULL};
    stub_alone(folder, path);
    put_engine(folder, ENGINE);
    assert_int_equal(run_in(folder, "./libgemmtune_cublas.so", words), 0);
    check_said(BY_OURS);
    check_said("alone/libgemmtune_cublas_engine.so\n");
}

/* ---- another library that answers dlsym ---- */

TEST(a_limiter_of_the_gpu_is_asked_before_the_drop_in_and_behind_it)
{
    static const char *const orders[] = {DROPIN ":" LIMITER, LIMITER ":" DROPIN};
    const char *const words[] = {PROGRAM_ALONE, "product", NULL};
    int launches = 0, allocations = 0, streams = 0;
    run(LIMITER, words);
    if (sscanf(complaints, "limiter: asked for launches %*d, allocations %*d, streams %d\n", &streams) != 1)
        fail_msg("alone: %s", complaints);
    const int by_program = streams;
    for (int i = 0; i < 2; i++) {
        run(orders[i], words);
        check_said(BY_OURS);
        if (sscanf(complaints, "limiter: asked for launches %d, allocations %d, streams %d\n", &launches,
                   &allocations, &streams) != 3 ||
            !launches || !allocations || streams <= by_program)
            fail_msg("%s: %s", orders[i], complaints);
    }
}

/* ---- threads of little stack ---- */

/* Lines with a table, of a capture, and of a log take most. */
TEST(a_thread_of_little_stack_may_multiply_and_end_the_program)
{
    static const char *const variables[] = {"GEMMTUNE_QUIET", "GEMMTUNE_LOG", "GEMMTUNE_CAPTURE",
                                            "GEMMTUNE_NONE"};
    const char *const ends[] = {TUNE, "run", "--", PROGRAM_ALONE, "small", NULL};
    const char *const words[] = {TUNE, "run", "--", PROGRAM_ALONE, "small", "product", NULL};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        char path[240];
        snprintf(path, sizeof path, "%s/small.txt", store_folder);
        setenv(variables[i], strstr(variables[i], "CAPTURE") ? path : "1", 1);
        run(NULL, ends);
        run(NULL, words);
        unsetenv(variables[i]);
        check_said(BY_OURS);
    }
    assert_non_null(strstr(complaints, "gemmtune: 100 % of 2 products answered"));
}

/* ---- tune run ---- */

/* "tune run -- PROGRAM ARGUMENT": its exit status. */
static int run_under(const char *program, const char *argument)
{
    const char *const words[] = {TUNE, "run", "--", program, argument, NULL};
    return run_in(NULL, NULL, words);
}

static void check_complaint(const char *text)
{
    if (!strstr(complaints, text)) fail_msg("'%s' is missing in: %s", text, complaints);
    assert_int_equal(lines_in(complaints), 1);
}

TEST(tune_run_serves_a_program_that_is_linked_with_cublas)
{
    assert_int_equal(run_under(PROGRAM_ALONE, "product"), 0);
    check_said(BY_OURS);
    check_complaint("gemmtune: 100 % of 2 products answered, about 1.25 times as fast\n");
    const char *const words[] = {TUNE, "run", "--quiet", "--", PROGRAM_ALONE, "product", NULL};
    assert_int_equal(run_in(NULL, NULL, words), 0);
    assert_string_equal(complaints, "");
}

TEST(tune_run_serves_a_python_that_opens_cublas_by_path)
{
    const char *const words[] = {TUNE, "run", "--", PYTHON, PYTHON_CALLS, MAJORS "/libcublas.so.13", NULL};
#ifdef GT_SANITIZED
    skip(); /* Python would have to be built with the sanitizers, too */
#endif
    int status = PYTHON[0] ? run_in(NULL, NULL, words) : 77;
    if (status == 77) skip();
    assert_int_equal(status, 0);
    check_said("status 0 0, by its cuBLAS 0 0, wrong 0\n");
    assert_int_equal(run_in(NULL, NULL, words + 3), 0);
    check_said("status 0 0, by its cuBLAS 1 0, wrong 0\n");
}

TEST(a_program_without_products_is_told_why)
{
    assert_int_equal(run_under(TUNE, "--version"), 0);
    check_complaint("gemmtune: no product of tune could be answered: it has loaded no cuBLAS");
    setenv("GEMMTUNE_QUIET", "1", 1);
    assert_int_equal(run_under(TUNE, "--version"), 0);
    unsetenv("GEMMTUNE_QUIET");
    assert_string_equal(complaints, "");
}

TEST(a_cublas_inside_of_a_program_is_out_of_reach)
{
    assert_int_equal(run_under(PROGRAM_INSIDE, NULL), 3);
    check_complaint("could be answered: cuBLAS is linked statically into " PROGRAM_INSIDE "\n");
}

TEST(a_program_without_a_loader_is_out_of_reach)
{
    assert_int_equal(run_under(PROGRAM_STATIC, NULL), 3);
    check_complaint("program_static runs without tuned kernels: it is linked statically");
}

TEST(a_program_with_rights_is_out_of_reach)
{
    char command[1000], path[240];
    snprintf(path, sizeof path, "%s/with_rights", store_folder);
    snprintf(command, sizeof command, "cp %s %s && chown 1 %s && chmod 4755 %s", PROGRAM_INSIDE, path, path,
             path);
    if (getuid() != 0) skip();
    assert_int_equal(system(command), 0); /* NOLINT: a test's own words */
    chmod(store_folder, 0755);
    assert_int_equal(run_under(path, NULL), 3);
    check_complaint("with_rights runs without tuned kernels: it is set-uid");
}

TEST(a_program_of_another_machine_is_left_alone)
{
    char command[1000], path[240];
    snprintf(path, sizeof path, "%s/other_machine", store_folder);
    /* e_machine, of 32-bit ARM */
    snprintf(command, sizeof command,
             "cp %s %s && printf '\\050' | dd of=%s bs=1 seek=18 conv=notrunc 2>/dev/null", PROGRAM_INSIDE,
             path, path);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own words */
    assert_int_not_equal(run_under(path, NULL), 0);
    assert_non_null(strstr(complaints, "it is a program of another architecture"));
}

/* The sanitizer ends programs whose first library it is not. */
TEST(programs_with_a_sanitizer_run)
{
    static const char *const programs[] = {PROGRAMS_SANITIZED};
    char *own = strdup(getenv("ASAN_OPTIONS"));
    assert_non_null(own);
#ifdef __SANITIZE_THREAD__
    skip(); /* the drop-in has another sanitizer than the programs */
#endif
    unsetenv("ASAN_OPTIONS");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *const words[] = {TUNE,        "run", "--", "env", "ASAN_OPTIONS=detect_leaks=0",
                                     programs[i], NULL};
        if (run_under(programs[i], NULL) != 3) fail_msg("%s: %s", programs[i], complaints);
        const bool has_options = strstr(programs[i], "options");
        if (!has_options && run_in(NULL, NULL, words) != 3)
            fail_msg("%s by env: %s", programs[i], complaints);
    }
    const char *const preloaded[] = {TUNE, "run", "--", PROGRAM_INSIDE, NULL};
    if (LIBASAN[0] == '/' && run_in(NULL, LIBASAN, preloaded) != 3) fail_msg("preloaded: %s", complaints);
    setenv("ASAN_OPTIONS", own, 1);
    free(own);
}

TEST(an_unreadable_database_leaves_everything_to_cublas)
{
    char path[240];
    snprintf(path, sizeof path, "%s/garbage.db", store_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("this is no database, and long enough to be looked at as one by whoever opens it for that\n", file);
    fclose(file);
    setenv("GEMMTUNE_DB", path, 1);
    assert_int_equal(run_under(PROGRAM_ALONE, "product"), 0);
    setenv("GEMMTUNE_DB", store_path, 1);
    check_said(BY_ITS);
    assert_non_null(strstr(complaints, "garbage.db"));
    assert_non_null(strstr(complaints, "gemmtune: none of 2 products was answered"));
    assert_int_equal(lines_in(complaints), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_products_has_the_stub_alone),
        cmocka_unit_test(when_it_is_switched_off_the_engine_stays_away),
        cmocka_unit_test(a_switch_that_is_not_understood_is_off_and_says_so),
        cmocka_unit_test(the_engine_brings_no_library_that_a_program_may_have),
        cmocka_unit_test(a_program_may_bring_other_libraries_of_these_names),
        cmocka_unit_test(python_keeps_its_own_sqlite),
        cmocka_unit_test(what_is_closed_stays),
        cmocka_unit_test(without_its_engine_everything_goes_to_cublas_and_that_is_said_once),
        cmocka_unit_test(an_engine_of_another_version_is_not_used),
        cmocka_unit_test(the_engine_is_found_beside_a_stub_that_is_named_relative),
        cmocka_unit_test(a_limiter_of_the_gpu_is_asked_before_the_drop_in_and_behind_it),
        cmocka_unit_test(a_thread_of_little_stack_may_multiply_and_end_the_program),
        cmocka_unit_test(tune_run_serves_a_program_that_is_linked_with_cublas),
        cmocka_unit_test(tune_run_serves_a_python_that_opens_cublas_by_path),
        cmocka_unit_test(a_program_without_products_is_told_why),
        cmocka_unit_test(a_cublas_inside_of_a_program_is_out_of_reach),
        cmocka_unit_test(a_program_without_a_loader_is_out_of_reach),
        cmocka_unit_test(a_program_with_rights_is_out_of_reach),
        cmocka_unit_test(a_program_of_another_machine_is_left_alone),
        cmocka_unit_test(programs_with_a_sanitizer_run),
        cmocka_unit_test(an_unreadable_database_leaves_everything_to_cublas),
    };
    return cmocka_run_group_tests_name("test_dropin_libraries", tests, winner_setup, store_teardown);
}

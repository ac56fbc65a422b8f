/* The runtime library without a GPU: machine code that ships, and what the cache holds, serve without the
 * compiler; what cannot be used is said, and the kernel compiled.
 */
#include "compile.h"
#include "db_code.h"
#include "files.h"
#include "kernel_key.h"
#include "runtime_fakes.h"

#include <sys/wait.h>

#define TEXT "sgemm:nn:64x64x64"

static char shipped_path[200];

static struct kernel_key key_of(const char *problem, const char *config)
{
    struct problem p;
    struct config c;
    assert_ok(problem_parse(problem, &p));
    assert_ok(config_parse(config, &c));
    return kernel_key_of(&c, &p, 90);
}

/* Files for the fake driver, which takes everything but what begins with "FOREIGN". */
static void ship(int arch, const char *const *configs, int count, const char *code)
{
    struct db_code kernels[4] = {{.kernel = "some kernel"}};
    for (int i = 0; i < count; i++) {
        const struct kernel_key key = key_of(TEXT, configs[i]);
        kernels[i] = (struct db_code){.kernel = configs[i], .code = code, .bytes = strlen(code) + 1};
        assert_ok(compile_id(&key, kernels[i].id));
    }
    snprintf(shipped_path, sizeof shipped_path, "%s/configs/winners/code-%d.sqlite", store_folder, arch);
    assert_ok(db_code_write(shipped_path, kernels, count));
}

static void ship_one(const char *code)
{
    const char *const configs[] = {SIMT};
    ship(90, configs, 1, code);
}

/* What computes the problem; what was said is in `said`. */
static struct gt_plan_info compute(unsigned flags, const char **said)
{
    const struct gt_options options = {.size = sizeof(struct gt_options),
                                       .flags = flags,
                                       .database = access(store_path, F_OK) == 0 ? NULL : ""};
    stderr_catch();
    struct gt_handle *handle = open_handle(&options);
    struct gt_plan *plan = make_plan(handle, TEXT);
    struct operand_set set = operands_make(TEXT, 0);
    const enum gt_status status = launch_set(plan, &set);
    const struct gt_plan_info info = info_of(plan);
    gt_close(handle);
    *said = stderr_release();
    if (status) fail_msg("%s", gt_error_text());
    operands_check(&set, 1, "launched");
    operands_free(&set);
    return info;
}

static void assert_kernel(const char *part)
{
    const char *said;
    const struct gt_plan_info info = compute(0, &said);
    assert_string_equal(info.config, SIMT);
    if (part ? lines_in(said) != 1 || !strstr(said, part) : said[0] != '\0') fail_msg("said: '%s'", said);
}

TEST(a_winner_that_ships_is_not_compiled)
{
    put_pretuned(TEXT, SIMT, 5);
    ship_one("machine code");
    assert_kernel(NULL);
    assert_int_equal(*fake.compilations, 0);
    assert_int_equal(*fake.loads, 1);
}

TEST(a_winner_of_the_users_that_ships_too_is_not_compiled)
{
    put_winner(TEXT, SIMT, 5, false);
    ship_one("machine code");
    assert_kernel(NULL);
    assert_int_equal(*fake.compilations, 0);
}

TEST(with_no_compiler_wanted_what_ships_is_used_and_the_rest_is_cublas)
{
    const char *said;
    put_pretuned(TEXT, SIMT, 5);
    assert_true(compute(GT_NO_COMPILER, &said).uses_cublas);
    ship_one("machine code");
    assert_string_equal(compute(GT_NO_COMPILER, &said).config, SIMT);
    assert_string_equal(said, "");
    assert_int_equal(*fake.compilations, 0);
}

TEST(what_the_driver_does_not_know_is_said_and_compiled)
{
    put_pretuned(TEXT, SIMT, 5);
    ship_one("FOREIGN machine code");
    assert_kernel("the driver does not load");
    assert_int_equal(*fake.compilations, 1);
}

TEST(the_code_of_another_kernel_or_architecture_is_not_taken)
{
    const char *const configs[] = {SIMT_SPLIT, SIMT_LARGE};
    put_pretuned(TEXT, SIMT, 5);
    ship(90, configs + 1, 1, "machine code");
    assert_kernel(NULL);
    assert_int_equal(*fake.compilations, 1);
    /* SPLIT_K is no part of a kernel's text. */
    const struct kernel_key x = key_of(TEXT, SIMT), y = key_of(TEXT, SIMT_SPLIT);
    assert_true(kernel_key_equal(&x, &y));
}

TEST(an_id_covers_text_options_definitions_and_architecture_but_no_compiler)
{
    char ids[6][COMPILE_ID_TEXT];
    struct kernel_key key = key_of(TEXT, SIMT);
    assert_ok(compile_id(&key, ids[0]));
    key.arch = 80;
    assert_ok(compile_id(&key, ids[1]));
    key = key_of("sgemm:tn:64x64x64", SIMT);
    assert_ok(compile_id(&key, ids[2]));
    key = key_of(TEXT, SIMT_LARGE);
    assert_ok(compile_id(&key, ids[3]));
    key = key_of("sgemm:nn:64x64x64:epilogue=bias", SIMT);
    assert_ok(compile_id(&key, ids[4]));
    /* A changed header: the same key, another text. */
    struct template changed = *template_find("simt");
    struct source_text sources[32] = {{NULL, NULL}};
    for (int i = 0; changed.sources[i].name; i++) sources[i] = changed.sources[i];
    sources[1].text = "#define CHANGED\n";
    changed.sources = sources;
    key = key_of(TEXT, SIMT);
    key.config.template = &changed;
    assert_ok(compile_id(&key, ids[5]));
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(ids[i], ids[j]);
}

TEST(a_kernel_whose_text_changed_since_is_compiled)
{
    struct db_code kernel = {.kernel = "of an older text", .code = "machine code", .bytes = 13};
    put_pretuned(TEXT, SIMT, 5);
    struct template older = *template_find("simt");
    struct source_text sources[32] = {{NULL, NULL}};
    for (int i = 0; older.sources[i].name; i++) sources[i] = older.sources[i];
    sources[0].text = "// as it was\n";
    older.sources = sources;
    struct kernel_key key = key_of(TEXT, SIMT);
    key.config.template = &older;
    assert_ok(compile_id(&key, kernel.id));
    snprintf(shipped_path, sizeof shipped_path, "%s/configs/winners/code-90.sqlite", store_folder);
    assert_ok(db_code_write(shipped_path, &kernel, 1));
    assert_kernel(NULL);
    assert_int_equal(*fake.compilations, 1);
}

TEST(a_damaged_file_is_said_once_and_the_kernel_compiled)
{
    put_pretuned(TEXT, SIMT, 5);
    ship_one("machine code");
    size_t length;
    char *whole = file_read_bytes(shipped_path, &length);
    file_write_bytes(shipped_path, whole, length / 2);
    assert_kernel("machine code that ships is not used");
    assert_int_equal(*fake.compilations, 1);
    free(whole);
}

TEST(what_others_may_write_is_said_and_not_used)
{
    put_pretuned(TEXT, SIMT, 5);
    ship_one("machine code");
    assert_int_equal(chmod(shipped_path, 0666), 0);
    assert_kernel("others could have written it");
    assert_int_equal(*fake.compilations, 1);
}

/* ---- where there is no compiler: each in a process of its own, where nothing is loaded yet ---- */

enum { CODE_SHIPS, CODE_IS_KEPT, CODE_IS_OF_ANOTHER_ARCH, SCENES };

static void prepare(int scene)
{
    const char *const configs[] = {SIMT};
    if (scene == CODE_IS_KEPT) put_winner(TEXT, SIMT, 5, false);
    else put_pretuned(TEXT, SIMT, 5);
    if (scene == CODE_SHIPS) ship(90, configs, 1, "machine code");
    if (scene == CODE_IS_OF_ANOTHER_ARCH) ship(80, configs, 1, "machine code");
    if (scene == CODE_IS_KEPT) assert_kernel(NULL); /* compiles */
}

static int without_compiler(const char *folder, int scene)
{
    snprintf(store_folder, sizeof store_folder, "%s", folder);
    snprintf(store_path, sizeof store_path, "%s/test.db", folder);
    fakes_attach();
    const char *said;
    const struct gt_plan_info info = compute(0, &said);
    const bool right = scene == CODE_IS_OF_ANOTHER_ARCH
                           ? info.uses_cublas && lines_in(said) == 1 && strstr(said, "libnvrtc")
                           : strcmp(info.config, SIMT) == 0 && said[0] == '\0';
    if (!right) print_error("%s: '%s'\n", info.config, said);
    return right ? 0 : 1;
}

static void run_without_compiler(int scene)
{
    char number[16];
    int how;
    prepare(scene);
    snprintf(number, sizeof number, "%d", scene);
    setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_runtime_shipped", "--without-compiler", store_folder, number,
              (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

TEST(without_a_compiler_what_ships_computes)
{
    run_without_compiler(CODE_SHIPS);
}

TEST(without_a_compiler_what_the_cache_holds_computes)
{
    run_without_compiler(CODE_IS_KEPT);
}

TEST(without_a_compiler_and_without_code_cublas_computes)
{
    run_without_compiler(CODE_IS_OF_ANOTHER_ARCH);
}

/* The build's program and NVIDIA's compiler. */
TEST(what_the_build_makes_is_found_by_the_library)
{
    char command[900], *code;
    size_t bytes;
    put_pretuned(TEXT, SIMT, 5);
    put_pretuned("tf32gemm:nn:64x64x64", MMA, 5);
    put_pretuned("sgemm:nn:96x96x96", "cublas", 5);
    snprintf(command, sizeof command,
             "unset GEMMTUNE_LIBNVRTC; %s 90 %s/configs/winners %s/configs/winners %s/build >/dev/null",
             SHIP_CODE, store_folder, store_folder, store_folder);
    const int how = system(command);
    if (WIFEXITED(how) && WEXITSTATUS(how) == status_exit_code(E_COMPILER)) skip(); /* there is no NVRTC */
    assert_int_equal(how, 0);
    assert_kernel(NULL);
    assert_int_equal(*fake.compilations, 0);
    snprintf(shipped_path, sizeof shipped_path, "%s/configs/winners/code-90.sqlite", store_folder);
    const struct kernel_key key = key_of("tf32gemm:nn:64x64x64", MMA);
    char id[COMPILE_ID_TEXT];
    assert_ok(compile_id(&key, id));
    assert_ok(db_code_find(shipped_path, id, &code, &bytes));
    assert_true(bytes > 1000 && memcmp(code, "\177ELF", 4) == 0);
    free(code);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--without-compiler") == 0)
        return without_compiler(argv[2], atoi(argv[3]));
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_winner_that_ships_is_not_compiled),
        ON_FAKES(a_winner_of_the_users_that_ships_too_is_not_compiled),
        ON_FAKES(with_no_compiler_wanted_what_ships_is_used_and_the_rest_is_cublas),
        ON_FAKES(what_the_driver_does_not_know_is_said_and_compiled),
        ON_FAKES(the_code_of_another_kernel_or_architecture_is_not_taken),
        ON_FAKES(an_id_covers_text_options_definitions_and_architecture_but_no_compiler),
        ON_FAKES(a_kernel_whose_text_changed_since_is_compiled),
        ON_FAKES(a_damaged_file_is_said_once_and_the_kernel_compiled),
        ON_FAKES(what_others_may_write_is_said_and_not_used),
        ON_FAKES(without_a_compiler_what_ships_computes),
        ON_FAKES(without_a_compiler_what_the_cache_holds_computes),
        ON_FAKES(without_a_compiler_and_without_code_cublas_computes),
        ON_FAKES(what_the_build_makes_is_found_by_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

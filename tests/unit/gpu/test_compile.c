#include "compile.h"
#include "frame.h"
#include "messages.h"
#include "ptxas_log.h"
#include "scratch_folder.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler_child.h"

static const struct source_text simple[] = {
    {"simple.cu", "#include \"part.h\"\n"
                  "extern \"C\" __global__ void gemm(float *p)\n"
                  "{ __shared__ float s[SIZE]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads();\n"
                  "  p[threadIdx.x] = twice(s[threadIdx.x ^ 1]); }\n"
                  "extern \"C\" __global__ void gemm_reduce(float *p) { p[threadIdx.x] *= 2; }\n"},
    {"part.h", "__device__ inline float twice(float x) { return 2 * x; }\n"},
};

static struct compiled build(const char *definition, int arch)
{
    struct compiled out;
    assert_ok(compile_sources(simple, 2, &definition, 1, arch, folder, &out));
    return out;
}

TEST(a_text_with_a_header_becomes_a_cubin_with_its_facts)
{
    struct compiled out = build("-DSIZE=64", 90);
    assert_true(out.built);
    assert_false(out.cached);
    assert_int_equal(out.facts.static_smem_bytes, 256);
    assert_true(out.facts.registers >= 4 && out.facts.registers <= 32);
    assert_int_equal(out.facts.spill_bytes, 0);
    assert_true(out.facts.compile_ms > 0);
    char *bytes;
    size_t length;
    assert_ok(compile_read_cubin(out.path, out.checksum, &bytes, &length));
    assert_int_equal(length, out.facts.cubin_bytes);
    assert_memory_equal(bytes, "\177ELF", 4);
    free(bytes);
}

TEST(the_second_time_it_comes_from_the_cache)
{
    struct compiled first = build("-DSIZE=64", 90), second = build("-DSIZE=64", 90);
    assert_true(second.cached && second.built);
    assert_true(second.facts.compile_ms == 0);
    assert_string_equal(first.path, second.path);
    assert_string_equal(first.checksum, second.checksum);
    assert_int_equal(first.facts.registers, second.facts.registers);
}

TEST(another_definition_header_or_architecture_is_another_entry)
{
    struct compiled first = build("-DSIZE=64", 90);
    assert_false(build("-DSIZE=128", 90).cached);
    assert_false(build("-DSIZE=64", 80).cached);
    struct source_text changed[] = {
        simple[0], {"part.h", "__device__ inline float twice(float x) { return x + x + 1; }\n"}};
    struct compiled out;
    const char *definition = "-DSIZE=64";
    assert_ok(compile_sources(changed, 2, &definition, 1, 90, folder, &out));
    assert_false(out.cached);
    assert_string_not_equal(out.path, first.path);
}

TEST(a_damaged_entry_is_compiled_again_to_the_same_bytes)
{
    struct compiled first = build("-DSIZE=64", 90);
    assert_int_equal(truncate(first.path, 100), 0);
    struct compiled again = build("-DSIZE=64", 90);
    assert_false(again.cached);
    assert_string_equal(first.checksum, again.checksum);
}

TEST(ptx_is_text_for_an_architecture_and_those_after_it)
{
    struct compiled ptx, again, cubin;
    struct config config;
    const struct problem problem = problem_make(64, 64, 64);
    char *text;
    size_t length;
    assert_ok(config_parse("ladder_coalesced BM=32 BN=32", &config));
    const struct kernel_key kernel = kernel_key_of(&config, &problem, 90);
    assert_ok(compile_ptx(&kernel, folder, &ptx));
    assert_true(ptx.built);
    assert_ok(compile_read_cubin(ptx.path, ptx.checksum, &text, &length));
    assert_int_equal(strlen(text) + 1, length);
    assert_non_null(strstr(text, ".target sm_90\n")); /* not sm_90a */
    assert_non_null(strstr(text, ".entry gemm("));
    free(text);
    assert_ok(compile_ptx(&kernel, folder, &again));
    assert_true(again.cached);
    assert_ok(compile_kernel(&kernel, folder, &cubin));
    assert_false(cubin.cached);
    assert_string_not_equal(cubin.path, ptx.path);
}

/* Where the compiler may contract, it writes mul.f32 and add.f32, else mul.rn.f32 and add.rn.f32. */
TEST(no_bias_is_contracted_with_alpha_where_rows_are_to_have_the_same_bits)
{
    struct compiled ptx;
    struct config config;
    struct problem problem = problem_make(64, 64, 64);
    char *text;
    size_t length;
    problem.type = GEMM_BF16;
    problem.epilogue = 1; /* a bias for each column */
    assert_ok(
        config_parse("mma16 BM=64 BN=64 BK=32 WM=32 WN=32 WARPS_K=1 SWAP=0 STAGES=3 PRELOAD=0 VA=8 VB=8 "
                     "VC=8 PACK=0 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1 PDL=0 ASK=0",
                     &config));
    const struct kernel_key kernel = kernel_key_of(&config, &problem, 90);
    assert_ok(compile_ptx(&kernel, folder, &ptx));
    assert_true(ptx.built);
    assert_ok(compile_read_cubin(ptx.path, ptx.checksum, &text, &length));
    assert_non_null(strstr(text, "mul.rn.f32"));
    assert_non_null(strstr(text, "add.rn.f32"));
    assert_null(strstr(text, "mul.f32"));
    assert_null(strstr(text, "add.f32"));
    free(text);
}

TEST(what_one_architecture_alone_has_is_no_ptx_for_later_ones)
{
    struct compiled ptx, cubin;
    struct config config;
    struct problem problem = problem_make(128, 128, 128);
    problem.type = GEMM_BF16;
    assert_ok(config_parse("wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=1 MIN_BLOCKS=1 "
                           "REDUCE=1 WALK=0 GROUP=1 SPLIT_K=1 SMS=1",
                           &config));
    const struct kernel_key kernel = kernel_key_of(&config, &problem, 90);
    assert_ok(compile_kernel(&kernel, folder, &cubin));
    assert_true(cubin.built);
    assert_ok(compile_ptx(&kernel, folder, &ptx));
    assert_false(ptx.built);
    assert_string_equal(ptx.log, "its instructions exist on this architecture alone");
}

/* The cubin of a kernel, with the type that a problem needs. */
static struct compiled build_typed(const struct template *t, enum gemm_type type)
{
    struct compiled out;
    struct config config = {.template = t};
    struct problem problem = problem_make(64, 64, 64);
    problem.type = type;
    for (int i = 0; i < t->param_count; i++) config.value[i] = 32;
    const struct kernel_key kernel = kernel_key_of(&config, &problem, 90);
    assert_ok(compile_kernel(&kernel, folder, &out));
    assert_true(out.built);
    return out;
}

TEST(types_share_a_cubin_only_where_the_text_does_not_ask_for_them)
{
    const struct template *plain = template_find("ladder_naive");
    struct template asking = *plain;
    asking.macros = TEMPLATE_MACRO_TYPE;
    asking.computes |= GEMM_TYPE_BIT(GEMM_TF32);
    const struct compiled strict = build_typed(&asking, GEMM_SGEMM), tf32 = build_typed(&asking, GEMM_TF32);
    assert_string_not_equal(strict.path, tf32.path);
    assert_false(tf32.cached);
    assert_true(build_typed(&asking, GEMM_TF32).cached);
    const struct compiled one = build_typed(plain, GEMM_SGEMM), other = build_typed(plain, GEMM_TF32);
    assert_string_equal(one.path, other.path);
    assert_string_not_equal(one.path, strict.path);
}

TEST(every_architecture_of_the_project_compiles)
{
    static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct compiled out = build("-DSIZE=32", archs[i]);
        assert_true(out.built);
        assert_int_equal(out.facts.static_smem_bytes, 128);
    }
}

TEST(a_refused_text_is_an_answer_with_the_line_that_says_why)
{
    const struct source_text wrong = {"wrong.cu", "static_assert(SIZE % 2 == 0, \"SIZE must be even\");\n"};
    const char *definition = "-DSIZE=3";
    struct compiled out;
    assert_ok(compile_sources(&wrong, 1, &definition, 1, 90, folder, &out));
    assert_false(out.built);
    assert_non_null(strstr(out.log, "SIZE must be even"));
    assert_true(strlen(out.log) < OUTCOME_DETAIL_MAX);
}

TEST(spills_are_reported)
{
    const struct source_text spilling = {
        "spilling.cu", "extern \"C\" __global__ void __launch_bounds__(1024, 2) gemm(float *p)\n"
                       "{ float r[80];\n"
                       "  for (int i = 0; i < 80; i++) r[i] = p[i * threadIdx.x];\n"
                       "  for (int j = 0; j < 80; j++) for (int i = 0; i < 80; i++) r[i] += r[j] * p[j];\n"
                       "  for (int i = 0; i < 80; i++) p[i * threadIdx.x] = r[i]; }\n"};
    struct compiled out;
    assert_ok(compile_sources(&spilling, 1, NULL, 0, 90, folder, &out));
    assert_true(out.built);
    assert_true(out.facts.spill_bytes > 0);
}

/* The sums are read while products are on the way. */
TEST(a_kernel_whose_products_wait_for_each_other_is_refused_with_the_assemblers_code)
{
    const struct source_text serial = {
        "serial.cu", "extern \"C\" __global__ void gemm(float *c, unsigned long long a)\n"
                     "{ float s[4] = {0, 0, 0, 0};\n"
                     "  for (int i = 0; i < 4; i++) {\n"
                     "    asm volatile(\"wgmma.fence.sync.aligned;\");\n"
                     "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, "
                     "%3}, %4, %4, 1, 1, \"\n"
                     "                 \"1, 0, 0;\" : \"+f\"(s[0]), \"+f\"(s[1]), \"+f\"(s[2]), \"+f\"(s[3]) "
                     ": \"l\"(a));\n"
                     "    asm volatile(\"wgmma.commit_group.sync.aligned;\");\n"
                     "    c[threadIdx.x] = s[0]; }\n"
                     "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\"); }\n"};
    struct compiled out;
    assert_ok(compile_sources(&serial, 1, NULL, 0, 90, folder, &out));
    assert_false(out.built);
    assert_non_null(strstr(out.log, "(C75"));
    assert_false(out.out_of_memory);
}

TEST(an_unknown_architecture_is_the_compilers_fault)
{
    struct compiled out;
    const char *definition = "-DSIZE=32";
    assert_fails(compile_sources(simple, 2, &definition, 1, 33, folder, &out), E_COMPILER, "sm_33");
}

static const char report[] =
    "wrong.cu(2): warning #177-D: variable \"error\" was declared but never referenced\n\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'gemm_reduce' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm_reduce\n"
    "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 200 registers, used 0 barriers, 512 bytes smem, 360 bytes cmem[0]\n"
    "ptxas info    : Compile time = 2.285 ms\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "ptxas         .     1824 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 1824 bytes cumulative stack size, 256 bytes smem\n"
    "ptxas info    : Function properties for _Z6helperf\n"
    "ptxas         .     0 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n";

TEST(registers_are_those_of_gemm_and_spills_the_sum_of_all_functions)
{
    struct kernel_facts facts = {0};
    assert_ok(ptxas_log_parse(report, &facts));
    assert_int_equal(facts.registers, 32);
    assert_int_equal(facts.static_smem_bytes, 256);
    assert_int_equal(facts.spill_bytes, 4 + 8 + 16 + 20 + 1 + 2);
}

TEST(without_gemm_the_largest_entry_counts)
{
    struct kernel_facts facts = {0};
    char other[sizeof report];
    strcpy(other, report);
    for (char *at; (at = strstr(other, "gemm'"));) memcpy(at, "fill'", 5);
    memcpy(strstr(other, "for gemm\n"), "for fill\n", 9);
    assert_ok(ptxas_log_parse(other, &facts));
    assert_int_equal(facts.registers, 200);
    assert_int_equal(facts.static_smem_bytes, 512);
}

/* The report with its first `from` replaced by `to`. */
static void edited(const char *from, const char *to, char text[2048])
{
    const char *at = strstr(report, from);
    assert_non_null(at);
    snprintf(text, 2048, "%.*s%s%s", (int)(at - report), report, to, at + strlen(from));
}

TEST(a_report_in_another_form_is_refused_not_believed)
{
    static const char *const edits[][3] = {
        {"4 bytes spill stores", "4 words spilled", "does not know"},
        {"Used 200 registers", "Used about 200 registers", "does not know"},
        {"ptxas info    : Used 200 registers, used 0 barriers, 512 bytes smem, 360 bytes cmem[0]\n", "",
         "registers"},
        {"ptxas info    : Function properties for gemm_reduce\n", "", "spills"},
        {"512 bytes smem", "many bytes smem", "does not know"},
        {"1 bytes spill stores, 2 bytes spill loads\n", "1 bytes spill stores, 2", "does not know"},
        {"4 bytes spill stores", "2147483647 bytes spill stores", "does not know"},
        {"4 bytes spill stores", "-4 bytes spill stores", "does not know"},
        {"ptxas         .     0 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n", "",
         "ends before"},
    };
    struct kernel_facts facts = {0};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char text[2048];
        edited(edits[i][0], edits[i][1], text);
        assert_fails(ptxas_log_parse(text, &facts), E_COMPILER, edits[i][2]);
    }
    assert_fails(ptxas_log_parse("", &facts), E_COMPILER, "no kernel");
    assert_int_equal(facts.registers, 0);
}

TEST(without_nvrtc_one_sentence_says_what_to_do)
{
    pid_t pid = fork(); /* this process has loaded it already */
    if (pid == 0) {
        setenv("GEMMTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
        execl("/proc/self/exe", "test_compile", "--without-nvrtc", (char *)NULL);
        _exit(127);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static int without_nvrtc(void)
{
    char version[16];
    return compile_load(version) == E_COMPILER && strstr(status_text(), "/nowhere/libnvrtc.so") &&
                   strstr(status_text(), "GEMMTUNE_LIBNVRTC")
               ? 0
               : 1;
}

TEST(the_cache_folder_follows_the_environment)
{
    char path[1024], wanted[1024];
    setenv("GEMMTUNE_CACHE", folder, 1);
    assert_ok(compile_cache_folder(path, sizeof path));
    assert_string_equal(path, folder);
    unsetenv("GEMMTUNE_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_ok(compile_cache_folder(path, sizeof path));
    snprintf(wanted, sizeof wanted, "%s/gemmtune", folder);
    assert_string_equal(path, wanted);
    assert_int_equal(access(path, W_OK), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/proc/nobody", 1);
    assert_fails(compile_cache_folder(path, sizeof path), E_IO, "GEMMTUNE_CACHE");
}

/* A compiler child on the other end of a socket. */
static pid_t start_child(int *socket_out)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        dup2(ends[1], 3);
        if (ends[1] != 3) close(ends[1]);
        execl("/proc/self/exe", "test_compile", "--child", "--cache", folder, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *socket_out = ends[0];
    return pid;
}

/* Send a request (stolen), receive the answer. */
static json_t *ask(int fd, json_t *request)
{
    json_t *reply = NULL;
    assert_ok(frame_send(fd, request));
    json_decref(request);
    assert_ok(frame_receive(fd, &reply));
    return reply;
}

static json_t *compile_request(const char *config, int arch)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:i, s:b, s:i}}", "do", "compile", "key", "config", config,
                     "op", "nt", "type", "sgemm", "epilogue", 0, "pointers", 0, "arch", arch);
}

static int end_child(pid_t pid, int fd)
{
    int how;
    close(fd);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return how;
}

TEST(the_child_compiles_what_it_is_asked_and_ends_with_its_socket)
{
    int fd;
    pid_t pid = start_child(&fd);
    json_t *reply = ask(fd, json_pack("{s:s}", "do", "hello"));
    char version[16];
    assert_ok(message_check(reply));
    assert_ok(compile_load(version));
    assert_string_equal(json_string_value(json_object_get(reply, "nvrtc")), version);
    json_decref(reply);

    reply = ask(fd, compile_request("ladder_naive BM=16 BN=16", 75));
    assert_ok(message_check(reply));
    if (!json_is_true(json_object_get(reply, "built")))
        fail_msg("not built: %s", json_string_value(json_object_get(reply, "detail")));
    const char *path = json_string_value(json_object_get(reply, "cubin"));
    const char *checksum = json_string_value(json_object_get(reply, "checksum"));
    assert_non_null(path);
    assert_non_null(checksum);
    struct kernel_facts facts;
    assert_ok(facts_from_json(json_object_get(reply, "facts"), &facts));
    assert_true(facts.registers > 0);
    char *bytes;
    size_t length;
    assert_ok(compile_read_cubin(path, checksum, &bytes, &length));
    free(bytes);
    json_decref(reply);
    int how = end_child(pid, fd);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

TEST(the_child_answers_bad_requests_and_goes_on)
{
    int fd;
    pid_t pid = start_child(&fd);
    json_t *reply = ask(fd, json_pack("{s:s}", "do", "dance"));
    assert_fails(message_check(reply), E_CHILD, "dance");
    json_decref(reply);
    reply = ask(fd, json_pack("{s:s}", "do", "compile"));
    assert_fails(message_check(reply), E_CHILD, "malformed");
    json_decref(reply);
    reply = ask(fd, compile_request("tango BM=1", 90));
    assert_fails(message_check(reply), E_INPUT, "tango");
    json_decref(reply);
    reply = ask(fd, compile_request("ladder_naive BM=16 BN=16", 42));
    assert_fails(message_check(reply), E_INPUT, "4.2");
    json_decref(reply);
    /* A block of 65536 threads: the rules refuse it before the compiler sees it. */
    reply = ask(fd, compile_request("ladder_naive BM=256 BN=256", 90));
    assert_ok(message_check(reply));
    assert_true(json_is_false(json_object_get(reply, "built")));
    assert_string_equal(json_string_value(json_object_get(reply, "verdict")), "unbuildable");
    assert_true(strlen(json_string_value(json_object_get(reply, "detail"))) > 0);
    json_decref(reply);
    unsetenv("GEMMTUNE_TEST");
    reply = ask(fd, json_pack("{s:s}", "do", "crash"));
    assert_fails(message_check(reply), E_CHILD, "crash");
    json_decref(reply);
    int how = end_child(pid, fd);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

TEST(the_child_crashes_on_request_only_for_tests)
{
    int fd;
    setenv("GEMMTUNE_TEST", "1", 1);
    pid_t pid = start_child(&fd);
    unsetenv("GEMMTUNE_TEST");
    json_t *request = json_pack("{s:s}", "do", "crash"), *reply = NULL;
    assert_ok(frame_send(fd, request));
    json_decref(request);
    assert_int_not_equal(frame_receive(fd, &reply), OK);
    int how = end_child(pid, fd);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--without-nvrtc") == 0) return without_nvrtc();
    if (argc > 2 && strcmp(argv[1], "--child") == 0) return cmd_compiler_child(argc - 1, argv + 1) != OK;
    char version[16];
    if (compile_load(version)) {
        fprintf(stderr, "%s\n", status_text());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_text_with_a_header_becomes_a_cubin_with_its_facts),
        FOLDER_TEST(the_second_time_it_comes_from_the_cache),
        FOLDER_TEST(another_definition_header_or_architecture_is_another_entry),
        FOLDER_TEST(a_damaged_entry_is_compiled_again_to_the_same_bytes),
        FOLDER_TEST(ptx_is_text_for_an_architecture_and_those_after_it),
        FOLDER_TEST(no_bias_is_contracted_with_alpha_where_rows_are_to_have_the_same_bits),
        FOLDER_TEST(what_one_architecture_alone_has_is_no_ptx_for_later_ones),
        FOLDER_TEST(types_share_a_cubin_only_where_the_text_does_not_ask_for_them),
        FOLDER_TEST(every_architecture_of_the_project_compiles),
        FOLDER_TEST(a_refused_text_is_an_answer_with_the_line_that_says_why),
        FOLDER_TEST(spills_are_reported),
        FOLDER_TEST(a_kernel_whose_products_wait_for_each_other_is_refused_with_the_assemblers_code),
        FOLDER_TEST(an_unknown_architecture_is_the_compilers_fault),
        cmocka_unit_test(registers_are_those_of_gemm_and_spills_the_sum_of_all_functions),
        cmocka_unit_test(without_gemm_the_largest_entry_counts),
        cmocka_unit_test(a_report_in_another_form_is_refused_not_believed),
        FOLDER_TEST(the_child_compiles_what_it_is_asked_and_ends_with_its_socket),
        FOLDER_TEST(the_child_answers_bad_requests_and_goes_on),
        FOLDER_TEST(the_child_crashes_on_request_only_for_tests),
        cmocka_unit_test(without_nvrtc_one_sentence_says_what_to_do),
        FOLDER_TEST(the_cache_folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

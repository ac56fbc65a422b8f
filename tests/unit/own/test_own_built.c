/* Own kernels, compiled by NVRTC: which symbol is the kernel, what it takes, and what is refused. */
#include "compile.h"
#include "entries.h"
#include "gpu.h"
#include "own.h"
#include "own_read.h"
#include "scratch_folder.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gpu h200;

/* Of this source, with the description in front; values of parameters behind the name. */
static struct compiled build(const char *source, const char *values, struct config *config,
                             struct problem *problem)
{
    char path[100], text[CONFIG_TEXT_MAX], *all;
    const struct template *t;
    struct compiled out;
    snprintf(path, sizeof path, "%s/my.cu", folder);
    FILE *f = fopen(path, "w");
    if (!f || fputs(source, f) < 0 || fclose(f)) abort();
    assert_ok(own_read(path, &all));
    assert_ok(own_add(all, &t));
    free(all);
    snprintf(text, sizeof text, "%s%s", t->name, values);
    assert_ok(config_parse(text, config));
    const char *why = t->check(config, problem, &h200);
    if (why) fail_msg("%s", why);
    const struct kernel_key key = kernel_key_of(config, problem, 90);
    assert_ok(compile_kernel(&key, folder, &out));
    return out;
}

static enum status find(const struct compiled *built, const struct config *config,
                        const struct problem *problem, struct launch_plan *plan, struct entries *entries)
{
    char *bytes;
    size_t length;
    memset(plan, 0, sizeof *plan);
    config->template->plan(config, problem, plan);
    assert_ok(compile_read_cubin(built->path, built->checksum, &bytes, &length));
    const enum status st = entries_find(bytes, length, plan, entries);
    free(bytes);
    return st;
}

#define HEAD "// gemmtune: param X 2 ; grid 1 ; block 32 ; args M alpha A C lda\n"

TEST(kernels_are_found_by_the_names_of_the_source)
{
    static const struct {
        const char *source, *symbol;
    } cases[] = {
        {HEAD "// entry f\nextern \"C\" __global__ void f(int m, float a, const float *x, float *c, int l) { "
              "*c = a * *x + m + l + X; }\n",
         "f"},
        {HEAD "// entry f\n__global__ void f(int m, float a, const float *x, float *c, long long l) { *c = a "
              "* *x + m + l; }\n"
              "__global__ void ff(float *c) { *c = 1; }\n",
         "_Z1fifPKfPfx"},
        {HEAD "// entry n::k::f<X>\nnamespace n { namespace k { template <int X> __global__ void f(int m, "
              "float a, const float *x, float *c, "
              "unsigned l) { *c = a * *x + m + l + X; } } }\n",
         "_ZN1n1k1fILi2EEEvifPKfPfj"},
        {HEAD "// entry f<X, TYPE_C>\ntemplate <int X, typename T> __global__ void f(size_t m, float a, "
              "const T *x, T *c, int l) { *c = a * *x + m "
              "+ l + X; }\n",
         "_Z1fILi2EfEvmfPKT0_PS0_i"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config config;
        struct problem p = problem_make(64, 64, 64);
        struct launch_plan plan;
        struct entries entries;
        const struct compiled built = build(cases[i].source, " X=2", &config, &p);
        if (!built.built) fail_msg("%s", built.log);
        assert_ok(find(&built, &config, &p, &plan, &entries));
        assert_string_equal(plan.kernel[0].entry, cases[i].symbol);
    }
}

TEST(nothing_is_launched_whose_parameters_are_others)
{
    static const struct {
        const char *parameters, *said;
    } cases[] = {
        {"int m, float a, const float *x, float *c", "takes 4 parameters, and 5 are passed"},
        {"int m, double a, const float *x, float *c, int l",
         "parameter 2 of the kernel f has 8 bytes, and a float is passed"},
        {"int m, float a, int x, float *c, int l",
         "parameter 3 of the kernel f has 4 bytes, and an address of 8 is passed"},
        {"short m, float a, const float *x, float *c, int l",
         "parameter 1 of the kernel f has 2 bytes, and an integer"},
        {"int m, float a, const float *x, float *c, int4 l", "parameter 5 of the kernel f has 16 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[600];
        struct config config;
        struct problem p = problem_make(64, 64, 64);
        struct launch_plan plan;
        struct entries entries;
        snprintf(source, sizeof source, HEAD "// entry f\nextern \"C\" __global__ void f(%s) { *c = X; }\n",
                 cases[i].parameters);
        const struct compiled built = build(source, " X=2", &config, &p);
        if (!built.built) fail_msg("%s", built.log);
        assert_fails(find(&built, &config, &p, &plan, &entries), E_ABSENT, cases[i].said);
    }
}

TEST(an_integer_that_does_not_fit_is_not_cut)
{
    struct config config;
    struct problem p = problem_make(64, 64, 64);
    struct launch_plan plan;
    struct entries entries;
    const char head[] =
        "// gemmtune: entry f ; param X 2 ; grid 1 ; block 32 ; args C (M * M * M * M * M * M)\n";
    char source[300];
    for (int wide = 0; wide < 2; wide++) {
        snprintf(source, sizeof source, "%sextern \"C\" __global__ void f(float *c, %s n) { *c = n; }\n",
                 head, wide ? "long long" : "int");
        const struct compiled built = build(source, " X=2", &config, &p);
        assert_true(built.built);
        if (wide) assert_ok(find(&built, &config, &p, &plan, &entries));
        else assert_fails(find(&built, &config, &p, &plan, &entries), E_ABSENT, "68719476736 does not fit");
    }
}

TEST(what_the_compiler_refuses_is_said_with_its_line)
{
    static const struct {
        const char *source, *said;
    } cases[] = {
        {HEAD "// entry f\n__global__ void f(int m) {\n nosuch(); }\n",
         "my.cu(4): error: identifier \"nosuch\" is undefined"},
        {HEAD "// entry g\n__global__ void f(int m) {}\n", "the source has no kernel g"},
        {HEAD "// entry f\nstatic __device__ void f(int m) {}\n__global__ void h(int m) { f(m); }\n",
         "the source has no kernel f"},
        {HEAD "// entry f\n__global__ void f(int m) {}\n__global__ void f(float m) {}\n",
         "more than one kernel f"},
        {HEAD "// entry f<X>\ntemplate <typename T> __global__ void f(T m) {}\n", "error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config config;
        struct problem p = problem_make(64, 64, 64);
        const struct compiled built = build(cases[i].source, " X=2", &config, &p);
        assert_false(built.built);
        if (!strstr(built.log, cases[i].said)) fail_msg("'%s' lacks '%s'", built.log, cases[i].said);
    }
}

TEST(kernels_that_keep_something_from_call_to_call_are_refused)
{
    static const char *const kept[] = {
        "__device__ float *last;\nextern \"C\" __global__ void f(int m, float a, const float *x, float *c, "
        "int l) { last = c; *c = 1; }\n",
        "__device__ int calls = 1;\nextern \"C\" __global__ void f(int m, float a, const float *x, float *c, "
        "int l) { *c = calls++ > 3 ? 0 : 1; }\n",
        "extern \"C\" __global__ void f(int m, float a, const float *x, float *c, int l) { static int calls; "
        "*c = atomicAdd(&calls, 1); }\n",
        "template <int S> __device__ float cache[1 << S];\nextern \"C\" __global__ void f(int m, float a, "
        "const float *x, float *c, int l) { "
        "cache<20>[m] = *x; *c = cache<20>[l]; }\n",
    };
    char source[700];
    struct config config;
    struct problem p = problem_make(64, 64, 64);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(source, sizeof source, HEAD "// entry f\n%s", kept[i]);
        const struct compiled built = build(source, " X=2", &config, &p);
        if (built.built || !strstr(built.log, "keeps from call to call"))
            fail_msg("%s: '%s'", kept[i], built.log);
    }
    snprintf(source, sizeof source,
             HEAD "// entry f\n__constant__ float table[4] = {1, 2, 3, 4};\nextern \"C\" __global__ void "
                  "f(int m, float a, "
                  "const float *x, float *c, int l) { *c = table[m & 3]; }\n");
    assert_true(build(source, " X=2", &config, &p).built);
}

TEST(damaged_files_are_read_without_harm)
{
    struct config config;
    struct problem p = problem_make(64, 64, 64);
    struct launch_plan plan;
    struct entries entries;
    char *bytes;
    size_t length;
    const struct compiled built = build(
        HEAD "// entry f\n__global__ void f(int m, float a, const float *x, float *c, int l) { *c = X; }\n",
        " X=2", &config, &p);
    assert_ok(compile_read_cubin(built.path, built.checksum, &bytes, &length));
    uint32_t random = 1;
    for (int i = 0; i < 4000; i++) {
        random = random * 1664525u + 1013904223u;
        const size_t size = i % 4 == 0 ? random % length : length, at = random / 7 % length;
        char *copy = malloc(size + 1); /* exactly: the sanitizer sees what is read behind it */
        memcpy(copy, bytes, size);
        if (i % 4 && at < size) copy[at] = (char)(random >> 24);
        if (i % 4 == 2 && size > 64) copy[40 + random % 24] = (char)(random >> 16); /* of the header */
        memset(&plan, 0, sizeof plan);
        config.template->plan(&config, &p, &plan);
        entries_find(copy, size, &plan, &entries);
        cubin_keeps_state(copy, size);
        cubin_most_threads(copy, size, "f");
        free(copy);
    }
    free(bytes);
}

TEST(headers_of_the_toolkit_are_found)
{
    struct config config;
    struct problem p = problem_make(64, 64, 64);
    const struct compiled built = build(HEAD "// entry f\n#include <cuda_fp16.h>\n__global__ void f(int m, "
                                             "float a, const float *x, float *c, int l) "
                                             "{ *c = __half2float(__float2half(*x)); }\n",
                                        " X=2", &config, &p);
    if (!built.built) fail_msg("%s", built.log);
}

TEST(the_examples_are_built_and_found)
{
    static const char *const examples[][2] = {
        {"simple", " BX=32 BY=8"},
        {"warptile", " BM=128 BN=128 BK=16 WM=64 WN=64 WNITER=4 TM=8 TN=4 THREADS=128"}};
    for (int i = 0; i < 2; i++) {
        char path[300], text[CONFIG_TEXT_MAX], *all;
        const struct template *t;
        struct config config;
        struct compiled built;
        struct launch_plan plan;
        struct entries entries;
        const struct problem p = problem_make(512, 512, 512);
        snprintf(path, sizeof path, "%s/docs/examples/kernels/%s.cu", GT_SOURCE_DIR, examples[i][0]);
        assert_ok(own_read(path, &all));
        assert_ok(own_add(all, &t));
        free(all);
        snprintf(text, sizeof text, "%s%s", t->name, examples[i][1]);
        assert_ok(config_parse(text, &config));
        assert_null(t->check(&config, &p, &h200));
        const struct kernel_key key = kernel_key_of(&config, &p, 90);
        assert_ok(compile_kernel(&key, folder, &built));
        if (!built.built) fail_msg("%s", built.log);
        assert_ok(find(&built, &config, &p, &plan, &entries));
        assert_int_equal(built.facts.spill_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_found_by_the_names_of_the_source),
        cmocka_unit_test(nothing_is_launched_whose_parameters_are_others),
        cmocka_unit_test(an_integer_that_does_not_fit_is_not_cut),
        cmocka_unit_test(what_the_compiler_refuses_is_said_with_its_line),
        cmocka_unit_test(kernels_that_keep_something_from_call_to_call_are_refused),
        cmocka_unit_test(damaged_files_are_read_without_harm),
        cmocka_unit_test(headers_of_the_toolkit_are_found),
        cmocka_unit_test(the_examples_are_built_and_found),
    };
    if (gpu_read(GT_SOURCE_DIR "/configs/gpus/h200.conf", &h200)) return 1;
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

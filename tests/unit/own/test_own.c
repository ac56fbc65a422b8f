#include "config.h"
#include "gpu.h"
#include "kernel_hash.h"
#include "kernel_key.h"
#include "launch_walk.h"
#include "own.h"
#include "own_read.h"
#include "scratch_folder.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct gpu h200;

static const char *write_file(const char *name, const char *text)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) abort();
    return path;
}

static const struct template *add_file(const char *path)
{
    char *text;
    const struct template *t;
    assert_ok(own_read(path, &text));
    assert_ok(own_add(text, &t));
    free(text);
    return t;
}

static const struct template *add(const char *name, const char *text)
{
    return add_file(write_file(name, text));
}

static struct problem problem(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

static const char *check(const char *config_text, const char *problem_text)
{
    struct config config;
    const struct problem p = problem(problem_text);
    assert_ok(config_parse(config_text, &config));
    return config.template->check(&config, &p, &h200);
}

TEST(the_examples_are_templates_like_any_other)
{
    const struct template *t = add_file(GT_SOURCE_DIR "/docs/examples/kernels/warptile.cu");
    struct config config, again;
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, "%s BM=128 BN=128 BK=16 WM=64 WN=64 WNITER=4 TM=8 TN=4 THREADS=128", t->name);
    assert_true(strncmp(t->name, "warptile@", 9) == 0 && strlen(t->name) == 17);
    assert_ptr_equal(template_find(t->name), t);
    assert_ptr_equal(add_file(GT_SOURCE_DIR "/docs/examples/kernels/warptile.cu"), t); /* once */
    assert_ok(config_parse(text, &config));
    config_format(&config, text);
    assert_ok(config_parse(text, &again));
    assert_true(config_equal(&config, &again));
    const struct problem p = problem("4096x2048x512:beta=2");
    assert_null(t->check(&config, &p, &h200));
    struct launch_plan plan;
    memset(&plan, 0, sizeof plan);
    t->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.kernel[0].grid[0], 16);
    assert_int_equal(plan.kernel[0].grid[1], 32);
    assert_int_equal(plan.kernel[0].threads, 128);
    assert_int_equal(plan.kernel[0].own.count, 8);
    assert_int_equal(t->resources(&config).accumulators, 128);
    assert_int_equal(template_tile(&config).k, 16);
    assert_true(t->predict(&config, &p, &h200, NULL).time_us > 0);
    assert_string_equal(t->check(&config, &(struct problem){.type = GEMM_BF16}, &h200),
                        "the kernel is not of this type");
    const struct problem ragged = problem("100x128x128");
    assert_non_null(strstr(t->check(&config, &ragged, &h200), "only M % BM == 0"));
    config_set(&config, "WM", 32);
    assert_non_null(strstr(t->check(&config, &p, &h200), "rule"));
}

static uintptr_t address_at(const struct launch *l, const struct kernel_launch *k, int parameter)
{
    uintptr_t address;
    memcpy(&address, l->argument + k->own.at[parameter], sizeof address);
    return address;
}

static int64_t integer_at(const struct launch *l, const struct kernel_launch *k, int parameter)
{
    int64_t value;
    memcpy(&value, l->argument + k->own.at[parameter], sizeof value);
    return value;
}

TEST(launches_get_what_the_description_lists)
{
    const struct template *t =
        add("split.cu", "// gemmtune: entry part ; param SPLIT 1 2 4\n"
                        "// grid ceil(N, 32), ceil(M, 8), SPLIT ; block 32, 8 ; shared 1024\n"
                        "// args (K / SPLIT) ldb A B workspace M\n"
                        "// workspace 4 * M * N * SPLIT\n"
                        "// launch sum grid ceil(M * N, 256) block 256 args workspace C alpha SPLIT\n");
    char text[CONFIG_TEXT_MAX];
    struct config config;
    struct launch_plan plan;
    struct launch_walk walk;
    struct launch l;
    const struct problem p = problem("100x70x64:batch=2:alpha=3");
    const struct launch_call call = {.operand = {[LAUNCH_A] = 0x1000000,
                                                 [LAUNCH_B] = 0x2000000,
                                                 [LAUNCH_C] = 0x3000000,
                                                 [LAUNCH_WORKSPACE] = 0x4000000},
                                     .alpha = 3};
    snprintf(text, sizeof text, "%s SPLIT=2", t->name);
    assert_ok(config_parse(text, &config));
    assert_null(t->check(&config, &p, &h200));
    memset(&plan, 0, sizeof plan);
    t->plan(&config, &p, &plan);
    assert_int_equal(plan.kernels, 2);
    assert_int_equal(plan.workspace_bytes, 4 * 100 * 70 * 2);
    assert_int_equal(plan.kernel[0].threads, 256);
    assert_int_equal(plan.kernel[0].own.block[0], 8);
    assert_int_equal(plan.kernel[0].smem_bytes, 1024);
    launch_walk_start(&walk, &plan, &call);
    for (int item = 0; item < 2; item++) { /* the kernel takes no batch: a launch each */
        assert_true(launch_walk_next(&walk, &l));
        const struct kernel_launch *k = &plan.kernel[0];
        assert_int_equal(l.grid[0], 3);
        assert_int_equal(l.grid[1], 13);
        assert_int_equal(l.grid[2], 2);
        assert_int_equal(integer_at(&l, k, 0), 32);
        assert_int_equal(integer_at(&l, k, 1), 70);
        assert_int_equal(address_at(&l, k, 2), 0x1000000 + item * 4 * 100 * 64);
        assert_int_equal(address_at(&l, k, 3), 0x2000000 + item * 4 * 64 * 70);
        assert_int_equal(address_at(&l, k, 4), 0x4000000);
        assert_true(launch_walk_next(&walk, &l));
        k = &plan.kernel[1];
        assert_int_equal(l.grid[0], 28);
        assert_int_equal(address_at(&l, k, 1), 0x3000000 + item * 4 * 100 * 70);
        float alpha;
        memcpy(&alpha, l.argument + k->own.at[2], sizeof alpha);
        assert_true(alpha == 3);
        assert_int_equal(integer_at(&l, k, 3), 2);
    }
    assert_false(launch_walk_next(&walk, &l));
}

TEST(what_a_kernel_does_not_take_is_refused)
{
    const struct template *t =
        add("bare.cu", "// gemmtune: entry f ; param X 1 ; grid N, M ; block 32 ; args M N K A B C\n");
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, "%s X=1", t->name);
    assert_null(check(text, "64x64x64"));
    assert_null(check(text, "64x64x64:batch=3"));
    static const struct {
        const char *problem, *why;
    } cases[] = {
        {"64x64x64:alpha=2", "takes no alpha"},        {"64x64x64:beta=1", "takes no beta"},
        {"64x64x64:lda=100", "takes no lda"},          {"64x64x64:ldb=100", "takes no ldb"},
        {"64x64x64:ldc=100", "takes no ldc"},          {"nt:64x64x64", "does not compute this op"},
        {"bf16gemm:64x64x64", "not of this type"},     {"64x64x64:epilogue=bias", "no epilogue"},
        {"64x64x64:batch=2:pointers", "no arrays of"}, {"64x65536x64:beta=0", NULL},
        {"65536x64x64", "a grid has at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = check(text, cases[i].problem);
        if (!cases[i].why ? why != NULL : !why || !strstr(why, cases[i].why))
            fail_msg("%s: %s", cases[i].problem, why ? why : "allowed");
    }
}

TEST(launches_beyond_the_hardware_are_refused_before_a_compiler_sees_them)
{
    static const struct {
        const char *clauses, *why;
    } cases[] = {
        {"grid 0 ; block 32", "below 1"},
        {"grid N - 64 ; block 32", "below 1"},
        {"grid 1, 65536 ; block 32", "at most 2147483647"},
        {"grid 1 ; block 0", "a block has no threads"},
        {"grid 1 ; block 1025", "more than 1024"},
        {"grid 1 ; block 64, 32", "at most 1024 threads"},
        {"grid 1 ; block 1, 1, 65", "more than 1024"},
        {"grid 1 ; block 32 ; shared 300000", "no such shared memory"},
        {"grid 1 ; block 32 ; shared -1", "below 0"},
        {"grid M / (N - 64) ; block 32", "has no value"},
        {"grid 1 ; block 32 ; cluster 2", "no multiple of the cluster"},
        {"grid 32 ; block 32 ; cluster 16", "1 to 8 blocks"},
        {"grid 1 ; block 32 ; workspace -1", "less than 0 bytes"},
        {"grid 1 ; block 32 ; workspace M * M * M * M * M * M * M * M * M * M * M", "no value"},
        {"grid 1 ; block 32 ; rule X / (X - 1) > 0", "rule X / (X - 1) > 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400], config[100];
        snprintf(text, sizeof text, "// gemmtune: entry f ; param X 1 ; args C M\n// %s\n// int %zu\n",
                 cases[i].clauses, i);
        snprintf(text, sizeof text, "// gemmtune: entry f ; param X 1 ; args C M\n// %s\n", cases[i].clauses);
        const struct template *t = add("limits.cu", text);
        snprintf(config, sizeof config, "%s X=1", t->name);
        const char *why = check(config, "64x64x64");
        if (!why || !strstr(why, cases[i].why)) fail_msg("%s: %s", cases[i].clauses, why ? why : "allowed");
    }
}

TEST(a_prefix_refuses_what_no_completion_allows)
{
    const struct template *t = add("prefix.cu", "// gemmtune: entry f ; param X 1 2 ; Y 1 2 ; args C\n"
                                                "// rule X == 1 && X + Y == 2 ; grid 1 ; block 32 * X\n");
    struct config config = {.template = t, .value = {2, 0}};
    assert_null(t->check_prefix(&config, 0, NULL, NULL));
    assert_non_null(t->check_prefix(&config, 1, NULL, NULL));
    config.value[0] = 1;
    assert_null(t->check_prefix(&config, 1, NULL, NULL));
    config.value[1] = 2;
    assert_non_null(t->check_prefix(&config, 2, NULL, NULL));
}

TEST(identity_is_the_text_with_what_it_includes)
{
    static const char kernel[] =
        "// gemmtune: entry f ; param X 1 ; grid 1 ; block 32 ; args C\n#include \"part.cuh\"\nint a;\n";
    write_file("part.cuh", "#include <part2.cuh>\n#include \"nosuch.h\"\nint b;\n");
    write_file("part2.cuh", "#include \"part.cuh\"\nint c;\n"); /* a loop */
    const struct template *one = add("loop.cu", kernel);
    assert_int_equal(template_source_count(one), 4); /* with the description */
    assert_ptr_equal(add("loop.cu", "/* a remark */ // gemmtune nothing\n"
                                    "// gemmtune: entry f ; param X 1 2 ; grid 1 ; block 32 ; args "
                                    "C\n#include \"part.cuh\"\nint   a;\n"),
                     one);
    write_file("part2.cuh", "int d;\n");
    assert_ptr_not_equal(add("loop.cu", kernel), one);
}

TEST(a_description_beside_the_source_is_used)
{
    write_file("beside.tune", "entry f\nparam X 1\ngrid 1\nblock 32\nargs C\n");
    const struct template *t = add("beside.cu", "int a;\n");
    assert_string_equal(own_description(t)->launch[0].name, "f");
}

TEST(files_that_are_none_are_refused)
{
    char *text;
    char path[4200];
    assert_fails(own_read("/nowhere/at.cu", &text), E_IO, "/nowhere/at.cu");
    assert_fails(own_read(folder, &text), E_INPUT, "expected a file such as my.cu");
    snprintf(path, sizeof path, "%s/dir.cu", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(own_read(path, &text), E_INPUT, "is no file");
    const char *const big = write_file("big.cu", "");
    assert_int_equal(truncate(big, INT64_C(1) << 30), 0);
    assert_fails(own_read(big, &text), E_INPUT, "longer than");
    assert_fails(own_read(write_file("latin.cu", "// \xe9\n"), &text), E_INPUT, "no text in UTF-8");
    assert_ok(own_read(write_file("none.cu", "int x;\n"), &text));
    const struct template *t;
    assert_fails(own_add(text, &t), E_ABSENT, "no line '// gemmtune: ...'");
    free(text);
    assert_fails(own_add("{}", &t), E_INPUT, "no");
    assert_fails(own_add("[1]", &t), E_INPUT, "no");
    assert_fails(own_add("{\"file\": \"x\", \"sources\": [[\"a\"]]}", &t), E_INPUT, "no");
    assert_fails(own_add("", &t), E_INPUT, "no");
}

TEST(parameters_are_macros_or_template_arguments)
{
    const char *options[KERNEL_DEFINITIONS_MAX];
    char room[2048], text[200], expression[300];
    struct config config;
    const struct problem p = problem("tt:64x64x64");
    const struct template *plain =
                              add("plain.cu",
                                  "// gemmtune: ops tt ; entry f ; param X 7 ; grid 1 ; block 32 ; args C\n"),
                          *bare = add("args.cu", "// gemmtune: ops tt ; entry f<X, 2 * X, TRANS_A, TYPE_A, "
                                                 "Xs> ; param X 7 ; grid 1 ; block 32 ; args C\n");
    snprintf(text, sizeof text, "%s X=7", plain->name);
    assert_ok(config_parse(text, &config));
    struct kernel_key key = kernel_key_of(&config, &p, 90);
    assert_int_equal(kernel_key_definitions(&key, options, KERNEL_DEFINITIONS_MAX, room, sizeof room), 4);
    assert_string_equal(options[0], "-DGEMMTUNE=1");
    assert_string_equal(options[1], "-DX=7");
    assert_string_equal(options[2], "-DTRANS_A=1");
    assert_false(plain->expression(&key, 0, expression, sizeof expression));
    snprintf(text, sizeof text, "%s X=7", bare->name);
    assert_ok(config_parse(text, &config));
    key = kernel_key_of(&config, &p, 90);
    assert_int_equal(kernel_key_definitions(&key, options, KERNEL_DEFINITIONS_MAX, room, sizeof room), 1);
    assert_true(bare->expression(&key, 0, expression, sizeof expression));
    assert_string_equal(expression, "f<7, 2 * 7, 1, float, Xs>");
    assert_false(bare->expression(&key, 0, expression, 10));
    assert_false(bare->expression(&key, 1, expression, sizeof expression));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_are_templates_like_any_other),
        cmocka_unit_test(launches_get_what_the_description_lists),
        cmocka_unit_test(what_a_kernel_does_not_take_is_refused),
        cmocka_unit_test(launches_beyond_the_hardware_are_refused_before_a_compiler_sees_them),
        cmocka_unit_test(a_prefix_refuses_what_no_completion_allows),
        cmocka_unit_test(identity_is_the_text_with_what_it_includes),
        cmocka_unit_test(a_description_beside_the_source_is_used),
        cmocka_unit_test(files_that_are_none_are_refused),
        cmocka_unit_test(parameters_are_macros_or_template_arguments),
    };
    if (gpu_read(GT_SOURCE_DIR "/configs/gpus/h200.conf", &h200)) return 1;
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

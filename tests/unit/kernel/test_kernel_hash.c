/* Of which kernels what was measured holds: the templates' own texts. */
#include "epilogue.h"
#include "kernel_hash.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct config plain(const struct template *t)
{
    struct config config = {.template = t};
    for (int i = 0; i < t->param_count; i++) config.value[i] = t->params[i].least;
    return config;
}

static struct kernel_key key_with(const char *template, const char *name, int value, int arch)
{
    const struct problem problem = problem_make(64, 64, 64);
    struct config config = plain(template_find(template));
    if (name) assert_true(config_set(&config, name, value));
    return kernel_key_of(&config, &problem, arch);
}

static uint64_t hash_with(const char *template, const char *name, int value, int arch)
{
    const struct kernel_key key = key_with(template, name, value, arch);
    return kernel_hash(&key);
}

TEST(kernels_that_conditions_of_a_source_tell_apart_keep_numbers_of_their_own)
{
    const uint64_t simt = hash_with("simt", NULL, 0, 90);
    assert_true(hash_with("simt", "BM", 256, 90) == simt); /* beside it, in the configuration */
    assert_true(hash_with("simt", "REDUCE", 2, 90) != simt);
    assert_true(hash_with("simt", "REDUCE", 3, 90) == hash_with("simt", "REDUCE", 2, 90));
    assert_true(hash_with("simt", "PACK", 1, 90) != simt);
    assert_true(hash_with("simt", NULL, 0, 80) != simt);
    assert_true(hash_with("simt", NULL, 0, 86) == hash_with("simt", NULL, 0, 80));
    assert_true(hash_with("simt", NULL, 0, 100) == simt);
    for (size_t i = 0; i < template_count; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(hash_with(templates[i]->name, NULL, 0, 90) !=
                        hash_with(templates[j]->name, NULL, 0, 90));
}

/* The sources of a template, of which one can be changed; its own numbers are not remembered. */
static struct source_text changed_sources[34];
static struct template changed;

static void change(const char *template, const char *source, const char *front, const char *back)
{
    static char *text;
    changed = *template_find(template);
    const int count = template_source_count(&changed);
    assert_true(count < 32);
    memset(changed_sources, 0, sizeof changed_sources);
    memcpy(changed_sources, changed.sources, (size_t)count * sizeof *changed.sources);
    changed.sources = changed_sources;
    for (int i = 0; i < count; i++) {
        if (strcmp(changed_sources[i].name, source) != 0) continue;
        const char *was = changed_sources[i].text;
        free(text);
        text = malloc(strlen(was) + strlen(front) + strlen(back) + 1);
        assert_non_null(text);
        sprintf(text, "%s%s%s", front, was, back);
        changed_sources[i].text = text;
        return;
    }
    fail_msg("%s has no %s", template, source);
}

static uint64_t changed_hash(void)
{
    const struct problem problem = problem_make(64, 64, 64);
    const struct config config = plain(&changed);
    return kernel_hash_of(&config, &problem, 90);
}

/* ---- sources ---- */

static uint64_t hash_of_text(const char *text)
{
    const struct source_text sources[] = {{"x.cu", text}, {NULL, NULL}};
    const struct template t = {.name = "x", .sources = sources};
    return kernel_source_hash(&t);
}

TEST(comments_and_white_space_do_not_count_and_all_else_does)
{
    static const char *const same[][2] = {
        {"int a; int b;", "/* first */ int a;\n\n\tint b; // last"},
        {"int a;", "int/* a comment is a blank */a;"},
        {"#define A 1\nint a;", "#define /* one */ A \\\n 1 // yes\n\n  int a;\n"},
        {"a\n#if X\nb\n#endif\nc", "a // c\n  #if X /* \n */\n b\n#endif\n\nc\n"},
        {"s = \"/* text */\";", "s  =\n\"/* text */\"; /* \" */"}};
    static const char *const other[][2] = {{"#define A 1\nint a;", "#define A 1 int a;"},
                                           {"int a;", "inta;"},
                                           {"s = \"a b\";", "s = \"a  b\";"},
                                           {"s = \"/* x */\";", "s = \"\";"},
                                           {"c = '\"'; /* x */ d;", "c = '\"'; /* x */ e;"},
                                           {"s = \"\\\" // \"; a", "s = \"\\\" // \"; b"},
                                           {"int a; int b;", "int b; int a;"},
                                           {"a", "a /"},
                                           {"a #b", "a\n#b"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (hash_of_text(same[i][0]) != hash_of_text(same[i][1])) fail_msg("%s, %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (hash_of_text(other[i][0]) == hash_of_text(other[i][1]))
            fail_msg("%s, %s", other[i][0], other[i][1]);
}

TEST(any_text_is_hashed)
{
    static const char *const odd[] = {"",     "/",   "/*", "/* ", "//",   "\"",   "'",
                                      "\"\\", "'\\", "#",  "\\",  "\\\n", "a\\\n"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char *exact = strdup(odd[i]); /* so that a sanitizer notices what is read behind it */
        assert_true(hash_of_text(exact) != 0);
        free(exact);
    }
    static char large[20000];
    for (size_t i = 0; i < sizeof large - 1; i++) large[i] = (char)(1 + (i * 7919 + i / 251) % 255);
    const uint64_t hash = hash_of_text(large);
    large[sizeof large - 2] = 'x';
    assert_true(hash_of_text(large) != hash);
}

TEST(a_source_of_today_has_its_rows_and_a_changed_one_has_none)
{
    for (const struct kept_source *kept = kept_sources; kept->template; kept++) {
        const struct template *t = template_find(kept->template);
        assert_non_null(t);
        for (int i = 0; i < 2; i++) assert_true(!kept->params[i] || template_param(t, kept->params[i]) >= 0);
        if (kernel_source_hash(t) != kept->source)
            fail_msg("{%s, 0x%016llx}: compare the machine code as tests/compare_kernels.c says, and put "
                     "this number "
                     "into kernel_templates/kept_hashes.c",
                     t->name, (unsigned long long)kernel_source_hash(t));
    }
    change("simt", "simt.cu", "/* better explained */\n", "\n");
    assert_true(changed_hash() == hash_with("simt", NULL, 0, 90));
    change("simt", "gt_store.cuh", "", "static int unused;\n");
    assert_true(changed_hash() == kernel_source_hash(&changed));
}

/* Of the database of the same version tests/unit/db/test_db_version2.c says it. */
TEST(winners_that_ship_are_of_kernels_of_today_and_usable_by_default)
{
    static const char *const files[] = {"h200", "h100_sxm"};
    int winners = 0, algorithms = 0;
    for (int i = 0; i < 2; i++) {
        char path[200], line[4096], texts[3][CONFIG_TEXT_MAX];
        static const char *const keys[] = {"\"problem\": \"", "\"config\": \"", "\"template_hash\": \""};
        snprintf(path, sizeof path, "%s/configs/winners/%s.jsonl", GT_SOURCE_DIR, files[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            struct problem problem;
            struct config config;
            for (int j = 0; j < 3; j++) {
                const char *at = strstr(line, keys[j]);
                assert_non_null(at);
                at += strlen(keys[j]);
                snprintf(texts[j], sizeof texts[j], "%.*s", (int)strcspn(at, "\""), at);
            }
            assert_int_equal(problem_parse(texts[0], &problem), OK);
            assert_int_equal(config_parse(texts[1], &config), OK);
            const struct kernel_key key = kernel_key_of(&config, &problem, 90);
            if (!kernel_hash_means(&key, texts[2])) fail_msg("%s: %s", texts[0], texts[2]);
            const char *const why = workspace_refuses(&config, &problem, WORKSPACE_DEFAULT);
            if (why) fail_msg("%s, by default: %s", texts[0], why);
            winners++;
            algorithms += template_is_library(config.template);
        }
        fclose(file);
    }
    assert_true(winners == 513 && algorithms < winners / 2);
}

TEST(a_function_in_a_device_header_counts_for_those_who_include_it)
{
    const char *const function = "static __device__ int more() { return 1; }\n";
    static const struct {
        const char *header, *users, *others;
    } headers[] = {{"gt_memory.cuh", "simt skinny resident tall", "ladder_naive ladder_warptiled"},
                   {"gt_async_copy.cuh", "simt skinny resident tall", "ladder_naive ladder_warptiled"},
                   {"gt_barrier.cuh", "simt skinny resident", "tall"},
                   {"gt_cluster_ops.cuh", "simt skinny", "resident tall"},
                   {"gt_bulk_copy.cuh", "resident", "simt skinny tall"}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        for (size_t j = 0; j < template_count; j++) {
            const struct template *t = templates[j];
            bool listed = false;
            for (int k = 0; t->sources[k].name; k++)
                listed |= strcmp(t->sources[k].name, headers[i].header) == 0;
            if (strstr(listed ? headers[i].others : headers[i].users, t->name))
                fail_msg("%s and %s", t->name, headers[i].header);
            if (!listed) continue;
            change(t->name, headers[i].header, "", function);
            assert_true(changed_hash() != hash_with(t->name, NULL, 0, 90));
        }
}

/* Values of the code are beside the hash, as those of parameters are. */
TEST(kernels_with_an_epilogue_are_others)
{
    static const char *const families[] = {"simt",    "skinny", "resident", "tall",
                                           "streamk", "mma",    "mma16",    "wgmma"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct kernel_key key = key_with(families[i], NULL, 0, 90);
        const uint64_t plain = kernel_hash(&key);
        key.epilogue = epilogue_code(BIAS_COLUMN, ACTIVATION_GELU, false);
        const uint64_t with_bias = kernel_hash(&key);
        key.epilogue = epilogue_code(BIAS_NONE, ACTIVATION_RELU, true);
        assert_true(with_bias != plain);
        assert_true(kernel_hash(&key) == with_bias);
        key.epilogue = 0;
        assert_true(kernel_hash(&key) == plain);
    }
}

/* What is forgotten in the list would not be found by the compiler, and would not count. */
TEST(templates_list_the_headers_that_they_include_and_no_other)
{
    for (size_t i = 0; i < template_count; i++) {
        const struct source_text *sources = templates[i]->sources;
        const int count = template_source_count(templates[i]);
        bool included[32] = {true};
        assert_true(count <= 32);
        for (int j = 0; j < count; j++)
            for (const char *at = sources[j].text; (at = strstr(at, "#include \"")); at++) {
                const char *name = strchr(at, '"') + 1;
                const size_t length = strcspn(name, "\"");
                int k = 0;
                while (k < count &&
                       !(strlen(sources[k].name) == length && memcmp(sources[k].name, name, length) == 0))
                    k++;
                if (k == count && strncmp(name, "gt_cpu.h\"", 9) == 0) continue; /* of the CPU execution */
                if (k == count) fail_msg("%s: %.*s", templates[i]->name, (int)length, name);
                included[k] = true;
            }
        for (int j = 0; j < count; j++)
            if (!included[j]) fail_msg("%s: %s", templates[i]->name, sources[j].name);
    }
}

static void *look_up(void *mismatches)
{
    static const char *const names[] = {"simt", "skinny"};
    static const int archs[] = {75, 80, 90, 120};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2; i++)
            for (int arch = 0; arch < 4; arch++)
                for (int reduce = 0; reduce <= 8; reduce++) {
                    const struct template *t = template_find(names[i]);
                    struct template copy = *t; /* of which nothing is remembered */
                    struct kernel_key key = key_with(names[i], "REDUCE", reduce, archs[arch]);
                    const uint64_t hash = kernel_hash(&key);
                    key.config.template = &copy;
                    *(int *)mismatches += hash != kernel_hash(&key);
                }
    return NULL;
}

TEST(what_is_remembered_is_what_would_be_found_by_any_thread)
{
    pthread_t thread[2];
    int mismatches[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, look_up, &mismatches[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(mismatches[0] + mismatches[1], 0);
}

TEST(a_hundred_thousand_are_looked_up_in_no_time)
{
    struct kernel_key key = key_with("simt", "REDUCE", 2, 90);
    const uint64_t hash = kernel_hash(&key);
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int i = 0; i < 100000; i++) {
        key.config.value[0] = 1 + i % 128;
        if (kernel_hash(&key) != hash) fail_msg("not the same");
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double ms =
        1e3 * (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_nsec - start.tv_nsec);
    assert_true(ms < 50 * SHARED_MACHINE);
}

TEST(kernels_that_take_pointers_are_others)
{
    struct kernel_key key = key_with("simt", NULL, 0, 90);
    const uint64_t plain = kernel_hash(&key);
    key.pointers = true;
    assert_true(kernel_hash(&key) != plain);
    key.pointers = false;
    assert_true(kernel_hash(&key) == plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_conditions_of_a_source_tell_apart_keep_numbers_of_their_own),
        cmocka_unit_test(comments_and_white_space_do_not_count_and_all_else_does),
        cmocka_unit_test(any_text_is_hashed),
        cmocka_unit_test(a_source_of_today_has_its_rows_and_a_changed_one_has_none),
        cmocka_unit_test(winners_that_ship_are_of_kernels_of_today_and_usable_by_default),
        cmocka_unit_test(a_function_in_a_device_header_counts_for_those_who_include_it),
        cmocka_unit_test(kernels_with_an_epilogue_are_others),
        cmocka_unit_test(kernels_that_take_pointers_are_others),
        cmocka_unit_test(templates_list_the_headers_that_they_include_and_no_other),
        cmocka_unit_test(what_is_remembered_is_what_would_be_found_by_any_thread),
        cmocka_unit_test(a_hundred_thousand_are_looked_up_in_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

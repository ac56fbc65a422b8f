/* Of which kernels what was measured holds: the templates' own texts. */
#include "epilogue.h"
#include "kernel_hash.h"
#include "source_hash.h"
#include "template.h"
#include "unit.h"

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

TEST(the_number_of_a_kernel_is_that_of_its_active_text)
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

TEST(comments_and_inactive_features_void_nothing)
{
    const uint64_t simt = hash_with("simt", NULL, 0, 90);
    change("simt", "simt.cu", "/* better explained */\n", "\n");
    assert_true(changed_hash() == simt);
    change("simt", "simt.cu", "", "#if EPILOGUE\nextern \"C\" __global__ void gemm_epilogue() {}\n#endif\n");
    assert_true(changed_hash() == simt);
    change("simt", "gemm_args.h", "", "#if PACK > 100\nstruct more;\n#endif\n");
    assert_true(changed_hash() == simt);
    change("simt", "gt_store.cuh", "", "static int unused;\n");
    assert_true(changed_hash() != simt);
    change("simt", "gt_memory.cuh", "int early();\n", "");
    assert_true(changed_hash() != simt);
}

TEST(a_new_header_voids_nothing_before_it_is_included)
{
    change("simt", "simt.cu", "", "");
    changed_sources[template_source_count(&changed)] = (struct source_text){"gt_new.cuh", "int f();"};
    assert_true(changed_hash() == hash_with("simt", NULL, 0, 90));
    change("simt", "simt.cu", "#include \"gt_new.cuh\"\n", "");
    changed_sources[template_source_count(&changed)] = (struct source_text){"gt_new.cuh", "int f();"};
    assert_true(changed_hash() != hash_with("simt", NULL, 0, 90));
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
    static const char *const families[] = {"simt", "skinny", "resident", "tall", "streamk", "mma", "mma16"};
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
        static const char *const definitions[] = {"__CUDA_ARCH__=900", "__CUDACC__=1", "TRANS_A=0",
                                                  "TRANS_B=0", "EPILOGUE=1"};
        char missing[64];
        if (template_is_library(templates[i])) continue;
        source_hash_missing(templates[i]->sources, template_source_count(templates[i]), definitions, 5,
                            missing);
        if (missing[0]) fail_msg("%s: %s", templates[i]->name, missing);
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
        cmocka_unit_test(the_number_of_a_kernel_is_that_of_its_active_text),
        cmocka_unit_test(comments_and_inactive_features_void_nothing),
        cmocka_unit_test(a_new_header_voids_nothing_before_it_is_included),
        cmocka_unit_test(a_function_in_a_device_header_counts_for_those_who_include_it),
        cmocka_unit_test(kernels_with_an_epilogue_are_others),
        cmocka_unit_test(kernels_that_take_pointers_are_others),
        cmocka_unit_test(kernels_that_take_pointers_are_others),
        cmocka_unit_test(templates_list_the_headers_that_they_include_and_no_other),
        cmocka_unit_test(what_is_remembered_is_what_would_be_found_by_any_thread),
        cmocka_unit_test(a_hundred_thousand_are_looked_up_in_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

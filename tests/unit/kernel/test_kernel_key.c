/* Kernel keys: what is equal has one compiled kernel, and what differs never does. */
#include "family_texts.h"
#include "kernel_key.h"
#include "messages.h"
#include "template.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"

static struct kernel_key key_of(const char *config_text, const char *problem_text, int arch)
{
    struct config config;
    struct problem problem;
    assert_ok(config_parse(config_text, &config));
    assert_ok(problem_parse(problem_text, &problem));
    return kernel_key_of(&config, &problem, arch);
}

TEST(launch_time_values_and_sizes_are_of_no_kernel)
{
    const struct kernel_key x = key_of(SIMT, "nt:64x64x64", 90);
    struct config config = x.config;
    struct problem problem;
    assert_ok(problem_parse("nt:1x2x3:beta=1:batch=7", &problem));
    assert_true(config_set(&config, "SPLIT_K", 8) && config_set(&config, "GROUP", 4));
    const struct kernel_key y = kernel_key_of(&config, &problem, 90);
    assert_true(kernel_key_equal(&x, &y));
    assert_true(kernel_key_hash(&x) == kernel_key_hash(&y));
}

TEST(whatever_else_differs_is_another_kernel)
{
    const struct kernel_key x = key_of(SIMT, "nt:64x64x64", 90);
    struct kernel_key other[8];
    for (int i = 0; i < 8; i++) other[i] = x;
    other[0].type = GEMM_TF32;
    other[1].trans_a = true;
    other[2].trans_b = false;
    other[3].epilogue = 1;
    other[4].arch = 89;
    assert_true(config_set(&other[5].config, "MIN_BLOCKS", 2));
    other[6].config.template = template_find("skinny");
    other[7].pointers = true;
    for (int i = 0; i < 8; i++) {
        assert_false(kernel_key_equal(&x, &other[i]));
        assert_true(kernel_key_hash(&x) != kernel_key_hash(&other[i]));
    }
}

/* The check of a kernel looks at those before the first of a launch. */
TEST(launch_time_parameters_are_the_last_of_every_template)
{
    for (size_t i = 0; i < template_count; i++) {
        const struct template *t = templates[i];
        for (int j = 1; j < t->param_count; j++)
            if (t->params[j - 1].kind == PARAM_LAUNCH) assert_int_equal(t->params[j].kind, PARAM_LAUNCH);
        if (!t->check_prefix)
            for (int j = 0; j < t->param_count; j++) assert_int_equal(t->params[j].kind, PARAM_COMPILE);
    }
}

TEST(a_kernel_of_a_cluster_may_be_compiled_though_its_splits_are_not_said)
{
    const struct gpu gpu = {.arch = 90,
                            .sm_count = 132,
                            .threads_per_sm = 2048,
                            .blocks_per_sm = 32,
                            .registers_per_sm = 65536,
                            .smem_per_sm_bytes = 228 << 10,
                            .smem_per_block_bytes = 227 << 10,
                            .smem_reserved_bytes = 1024};
    struct kernel_key key = key_of(SIMT, "64x64x64", 90);
    assert_true(config_set(&key.config, "REDUCE", 4));
    assert_non_null(key.config.template->check(&key.config, NULL, &gpu));
    assert_null(kernel_key_check(&key, &gpu));
    assert_true(config_set(&key.config, "WM", 48));
    assert_non_null(kernel_key_check(&key, &gpu));
}

/* All of them, a blank after each. */
static int define(const struct kernel_key *key, char all[2048])
{
    const char *options[KERNEL_DEFINITIONS_MAX];
    char text[1024];
    const int count = kernel_key_definitions(key, options, KERNEL_DEFINITIONS_MAX, text, sizeof text);
    all[0] = '\0';
    for (int i = 0; i < count; i++) {
        strncat(all, options[i], 2048 - strlen(all) - 1);
        strncat(all, " ", 2048 - strlen(all) - 1);
    }
    return count;
}

TEST(definitions_name_compile_parameters_and_the_op)
{
    const struct kernel_key key = key_of(SIMT, "tn:64x64x64", 90);
    const struct template *t = key.config.template;
    const char *options[KERNEL_DEFINITIONS_MAX];
    char text[1024], all[2048];
    assert_true(define(&key, all) > 2);
    assert_non_null(strstr(all, "-DTRANS_A=1 -DTRANS_B=0 "));
    for (int i = 0; i < t->param_count; i++) {
        char wanted[80];
        snprintf(wanted, sizeof wanted, "-D%s=%d ", t->params[i].name, key.config.value[i]);
        assert_int_equal(strstr(all, wanted) != NULL, t->params[i].kind == PARAM_COMPILE);
    }
    /* Too little room is told, not cut. */
    assert_int_equal(kernel_key_definitions(&key, options, KERNEL_DEFINITIONS_MAX, text, 20), 0);
    assert_int_equal(kernel_key_definitions(&key, options, 3, text, sizeof text), 0);
}

/* What strict kernels are compiled with must not change: their cubins would. */
TEST(a_template_that_does_not_ask_is_not_told_the_type)
{
    char all[2048], again[2048];
    for (size_t i = 0; i < template_count; i++) {
        struct config config = {.template = templates[i]};
        for (int j = 0; j < templates[i]->param_count; j++) config.value[j] = templates[i]->params[j].least;
        const struct problem problem = problem_make(1, 1, 1);
        struct kernel_key key = kernel_key_of(&config, &problem, 90);
        if (templates[i]->macros) continue;
        define(&key, all);
        assert_null(strstr(all, "TYPE"));
        assert_null(strstr(all, "EPILOGUE"));
        key.type = GEMM_TF32;
        define(&key, again);
        assert_string_equal(all, again);
    }
}

TEST(a_template_that_asks_is_told_the_type_and_the_epilogue)
{
    struct template asking = *template_find("simt");
    char all[2048];
    struct kernel_key key = key_of(SIMT, "64x64x64", 90);
    key.config.template = &asking;
    asking.macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE;
    define(&key, all);
    assert_non_null(
        strstr(all, "-DTYPE_SGEMM=1 -DTYPE_A=float -DTYPE_B=float -DTYPE_C=float -DTYPE_SUM=float "));
    assert_null(strstr(all, "EPILOGUE")); /* what plain kernels are compiled with must not change */
    key.epilogue = epilogue_code(BIAS_COLUMN, ACTIVATION_GELU, true);
    define(&key, all);
    assert_non_null(strstr(all, "-DTYPE_SUM=float -DEPILOGUE=25 "));
    key.type = GEMM_TF32;
    define(&key, all);
    assert_non_null(strstr(all, "-DTYPE_TF32GEMM=1 "));
    assert_null(strstr(all, "SGEMM"));
    key.type = GEMM_BF16_TO_F32; /* "bf16gemm:c=f32" */
    define(&key, all);
    assert_non_null(strstr(all, "-DTYPE_BF16GEMM_C_F32=1 -DTYPE_A=__nv_bfloat16 "));
    assert_non_null(strstr(all, "-DTYPE_C=float "));
}

TEST(a_key_reaches_another_process_as_it_is)
{
    struct kernel_key read;
    for (int epilogue = 0; epilogue < EPILOGUE_CODES; epilogue++) {
        struct kernel_key key =
            epilogue % 2 ? key_of(SIMT, "tn:64x64x64", 86) : key_of(MMA_BASE, "tf32gemm:tn:64x64x64", 86);
        key.epilogue = epilogue;
        key.pointers = epilogue % 2;
        if (!epilogue_is_known(epilogue)) continue;
        json_t *json = kernel_to_json(&key);
        assert_ok(kernel_from_json(json, &read));
        assert_true(kernel_key_equal(&key, &read));
        json_decref(json);
    }
}

TEST(a_malformed_key_is_refused)
{
    const struct kernel_key key = key_of(SIMT, "tn:64x64x64", 86);
    struct kernel_key read;
    const struct {
        const char *member, *text, *why;
    } cases[] = {{"op", "tx", "op 'tx'"},
                 {"op", "t", "op 't'"},
                 {"op", "", "op ''"},
                 {"type", "zgemm", "type 'zgemm'"},
                 {"config", "tango", "tango"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = kernel_to_json(&key);
        json_object_set_new(json, cases[i].member, json_string(cases[i].text));
        assert_fails(kernel_from_json(json, &read), i < 4 ? E_CHILD : E_INPUT, cases[i].why);
        json_object_del(json, cases[i].member);
        assert_fails(kernel_from_json(json, &read), E_CHILD, "malformed kernel key");
        json_decref(json);
    }
    json_t *json = kernel_to_json(&key);
    json_object_set_new(json, "epilogue", json_integer(BIAS_ROW + 1));
    assert_fails(kernel_from_json(json, &read), E_CHILD, "epilogue 3");
    json_decref(json);
}

TEST(a_template_that_asks_is_told_of_pointers)
{
    struct kernel_key key = key_of(SIMT, "64x64x64:batch=3:pointers", 90);
    char all[2048];
    define(&key, all);
    assert_non_null(strstr(all, "-DTRANS_B=0 -DPOINTERS=1 "));
    key.pointers = false;
    define(&key, all);
    assert_null(strstr(all, "POINTERS")); /* what plain kernels are compiled with must not change */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_time_values_and_sizes_are_of_no_kernel),
        cmocka_unit_test(whatever_else_differs_is_another_kernel),
        cmocka_unit_test(launch_time_parameters_are_the_last_of_every_template),
        cmocka_unit_test(a_kernel_of_a_cluster_may_be_compiled_though_its_splits_are_not_said),
        cmocka_unit_test(definitions_name_compile_parameters_and_the_op),
        cmocka_unit_test(a_template_that_does_not_ask_is_not_told_the_type),
        cmocka_unit_test(a_template_that_asks_is_told_the_type_and_the_epilogue),
        cmocka_unit_test(a_template_that_asks_is_told_of_pointers),
        cmocka_unit_test(a_key_reaches_another_process_as_it_is),
        cmocka_unit_test(a_malformed_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

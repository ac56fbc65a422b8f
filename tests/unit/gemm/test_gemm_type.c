/* Types: their names, what satisfies what, and which errors a class takes. */
#include "accuracy.h"
#include "problem.h"
#include "unit.h"

#include <math.h>
#include <string.h>

TEST(each_type_is_found_by_its_name_and_no_other_is)
{
    char names[GEMM_TYPE_NAMES_MAX];
    enum gemm_type found;
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        assert_true(gemm_type_find(gemm_type_row((enum gemm_type)i)->name, &found));
        assert_int_equal(found, i);
    }
    assert_false(gemm_type_find("", &found));
    assert_false(gemm_type_find("sgem", &found));
    assert_false(gemm_type_find("sgemm ", &found));
    assert_string_equal(gemm_type_names(names),
                        "sgemm sgemm_accurate sgemm_normwise tf32gemm bf16gemm hgemm");
}

TEST(an_accuracy_names_a_class_of_fp32)
{
    static const char *const names[] = {"sgemm", "sgemm_accurate", "sgemm_normwise", "tf32gemm"};
    char accuracies[] = GEMM_ACCURACIES;
    enum gemm_type found;
    int i = 0;
    for (const char *name = strtok(accuracies, "|"); name; name = strtok(NULL, "|")) {
        assert_true(gemm_type_of_accuracy(name, &found));
        assert_string_equal(gemm_type_row(found)->name, names[i++]);
    }
    assert_int_equal(i, 4);
    assert_false(gemm_type_of_accuracy("exact", &found) || gemm_type_of_accuracy("", &found));
}

TEST(c_has_the_elements_of_a_and_b_or_is_fp32)
{
    static const struct {
        enum gemm_type from, to;
        const char *element;
    } rows[] = {{GEMM_BF16, GEMM_BF16_TO_F32, "f32"}, {GEMM_F16, GEMM_F16_TO_F32, "f32"},
                {GEMM_BF16, GEMM_BF16, "bf16"},       {GEMM_BF16_TO_F32, GEMM_BF16, "bf16"},
                {GEMM_SGEMM, GEMM_SGEMM, "f32"},      {GEMM_SGEMM_NORMWISE, GEMM_SGEMM_NORMWISE, "f32"},
                {GEMM_TF32, GEMM_TF32, "f32"}};
    enum gemm_type type;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        type = rows[i].from;
        assert_true(gemm_type_with_c(rows[i].element, &type));
        assert_int_equal(type, rows[i].to);
    }
    type = GEMM_BF16;
    assert_false(gemm_type_with_c("f16", &type));
    type = GEMM_SGEMM;
    assert_false(gemm_type_with_c("bf16", &type) || gemm_type_with_c("", &type));
    assert_int_equal(type, GEMM_SGEMM);
}

/* Strict FP32 is right wherever FP32 in and out is asked for, and the accurate class where the normwise one
 * is. The classes do not satisfy TF32, whose bound holds for each element and on every kind of data. Types of
 * other elements answer themselves alone. */
TEST(a_stricter_type_answers_a_laxer_one_and_never_the_reverse)
{
    for (int delivered = 0; delivered < GEMM_TYPE_COUNT; delivered++)
        for (int needed = 0; needed < GEMM_TYPE_COUNT; needed++)
            assert_int_equal(gemm_type_satisfies((enum gemm_type)delivered, (enum gemm_type)needed),
                             delivered == needed || (delivered == GEMM_SGEMM && needed <= GEMM_TF32) ||
                                 (delivered == GEMM_SGEMM_ACCURATE && needed == GEMM_SGEMM_NORMWISE));
}

TEST(what_was_never_held_to_a_limit_does_not_answer_a_type_with_one)
{
    assert_true(gemm_type_answers(GEMM_SGEMM, GEMM_SGEMM));
    assert_true(gemm_type_answers(GEMM_SGEMM, GEMM_TF32));
    assert_false(gemm_type_answers(GEMM_SGEMM, GEMM_SGEMM_ACCURATE));
    assert_false(gemm_type_answers(GEMM_SGEMM, GEMM_SGEMM_NORMWISE));
    assert_true(gemm_type_answers(GEMM_SGEMM_ACCURATE, GEMM_SGEMM_NORMWISE));
    assert_false(gemm_type_answers(GEMM_SGEMM_ACCURATE, GEMM_TF32));
    assert_false(gemm_type_answers(GEMM_SGEMM_NORMWISE, GEMM_TF32));
    assert_false(gemm_type_answers(GEMM_SGEMM_NORMWISE, GEMM_SGEMM_ACCURATE));
    assert_false(gemm_type_answers(GEMM_TF32, GEMM_SGEMM));
    for (int i = 0; i < GEMM_TYPE_COUNT; i++)
        assert_true(gemm_type_answers((enum gemm_type)i, (enum gemm_type)i));
}

/* The rivals are rows of tuner/measure/rivals.c: cublasSgemm for strict FP32 and the classes, another for
 * TF32. */
TEST(a_race_decides_for_another_type_only_if_both_have_one_rival)
{
    for (int tuned = 0; tuned < GEMM_TYPE_COUNT; tuned++)
        for (int needed = 0; needed < GEMM_TYPE_COUNT; needed++) {
            const enum gemm_type x = (enum gemm_type)tuned, y = (enum gemm_type)needed;
            const bool one_rival = strcmp(gemm_type_row(x)->rate, gemm_type_row(y)->rate) == 0;
            assert_int_equal(gemm_type_decides(x, y), gemm_type_answers(x, y) && one_rival);
        }
}

TEST(elements_have_a_size_and_sixteen_bytes_hold_some)
{
    assert_int_equal(element_bytes(ELEMENT_F32), 4);
    assert_int_equal(element_bytes(ELEMENT_F16), 2);
    assert_int_equal(element_bytes(ELEMENT_BF16), 2);
    for (int i = 0; i < ELEMENT_COUNT; i++)
        assert_int_equal(element_bytes((enum element)i) * element_vector((enum element)i), 16);
    assert_string_equal(element_name(ELEMENT_BF16), "bf16");
    assert_string_equal(element_cuda_name(ELEMENT_F16), "__half");
}

static bool answers(enum gemm_type type, struct accuracy own)
{
    const struct accuracy rival = {.componentwise = 1e-6, .rms = 1e-6, .max = 1e-5};
    return accuracy_answers(gemm_type_row(type), &own, &rival);
}

TEST(a_class_takes_errors_up_to_its_limits_and_no_larger_ones)
{
    assert_true(answers(GEMM_SGEMM_ACCURATE, (struct accuracy){1e-6, 1e-6, 1e-5}));
    assert_true(answers(GEMM_SGEMM_ACCURATE, (struct accuracy){1.49e-6, 1.09e-6, 1.49e-5}));
    assert_false(answers(GEMM_SGEMM_ACCURATE, (struct accuracy){1e-6, 1.2e-6, 1e-5}));
    assert_false(answers(GEMM_SGEMM_ACCURATE, (struct accuracy){1e-6, 1e-6, 1.6e-5}));
    assert_false(answers(GEMM_SGEMM_ACCURATE, (struct accuracy){1.6e-6, 1e-6, 1e-5}));
    assert_true(answers(GEMM_SGEMM_NORMWISE, (struct accuracy){1.6e-6, 1e-6, 1e-5}));
    assert_false(answers(GEMM_SGEMM_NORMWISE, (struct accuracy){1e-6, 2.2e-6, 1e-5}));
}

TEST(types_without_limits_take_any_error)
{
    assert_true(answers(GEMM_SGEMM, (struct accuracy){1, 1, 1}));
    assert_true(answers(GEMM_TF32, (struct accuracy){1, 1, 1}));
}

TEST(an_error_that_is_no_number_is_too_large_and_one_rounding_is_not)
{
    const struct gemm_type_row *row = gemm_type_row(GEMM_SGEMM_ACCURATE);
    const double u = 0x1p-24;
    const struct accuracy none = {0, 0, 0}, rounding = {u, u / 2, u}, wrong = {INFINITY, INFINITY, INFINITY},
                          nonsense = {(double)NAN, (double)NAN, (double)NAN};
    assert_true(accuracy_answers(row, &none, &none));
    assert_true(accuracy_answers(row, &rounding, &none));
    assert_false(accuracy_answers(row, &(struct accuracy){2 * u, u, u}, &none));
    assert_false(accuracy_answers(row, &wrong, &rounding));
    assert_false(accuracy_answers(row, &nonsense, &rounding));
    assert_false(accuracy_answers(row, &(struct accuracy){1, 1, 1}, &nonsense));
}

TEST(what_was_checked_is_told_and_survives_the_way_through_json)
{
    const struct accuracy_checked checked = {12, 3, 512, 512, 4096, 0.304}, strict = {12, 0, 1, 2, 3, 1},
                                  unknown = {0};
    const struct accuracy own = {1e-7, 2e-7, 3e-7}, rival = {1e-7, 4e-7, 3e-7}, none = accuracy_unknown();
    const struct accuracy_claim claim = accuracy_claim_of(&own, &rival, &checked),
                                half = accuracy_claim_of(&own, &rival, &unknown),
                                nothing = accuracy_claim_of(&own, &none, &unknown);
    char text[ACCURACY_TEXT_MAX];
    assert_string_equal(accuracy_checked_format(&checked, text),
                        "error at most 0.30 of FP32's on 12 kinds of data, within its bound on 3, at "
                        "512x512x4096");
    assert_string_equal(accuracy_checked_format(&strict, text),
                        "error at most 1.00 of FP32's on 12 kinds of data, at 1x2x3");
    assert_string_equal(accuracy_checked_format(&unknown, text), "");
    assert_string_equal(accuracy_claim_format(&half, false, text),
                        "root mean square error 0.50 of cuBLAS's on uniform data");
    assert_string_equal(accuracy_claim_format(&claim, true, text),
                        "computed by FFMA; root mean square error 0.50 of cuBLAS's on uniform data; error at "
                        "most 0.30 of FP32's on 12 kinds of data, within its bound on 3, at 512x512x4096");
    assert_string_equal(accuracy_claim_format(&nothing, true, text), "computed by FFMA");
    assert_string_equal(accuracy_claim_format(&nothing, false, text), "");

    struct accuracy_checked back;
    json_t *json = accuracy_checked_to_json(&checked);
    assert_true(accuracy_checked_from_json(json, &back));
    assert_string_equal(accuracy_checked_format(&back, text),
                        "error at most 0.30 of FP32's on 12 kinds of data, within its bound on 3, at "
                        "512x512x4096");
    assert_true(back.rms == 0.304);
    static const char *const wrong[][2] = {{"kinds", "0"},  {"kinds", "1.5"},    {"bounded", "-1"},
                                           {"m", "0"},      {"n", "3000000000"}, {"k", "null"},
                                           {"rms", "-0.1"}, {"rms", "\"small\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *other = json_copy(json);
        json_object_set_new(other, wrong[i][0], json_loads(wrong[i][1], JSON_DECODE_ANY, NULL));
        if (accuracy_checked_from_json(other, &back)) fail_msg("%s = %s", wrong[i][0], wrong[i][1]);
        assert_int_equal(back.kinds, 0);
        json_decref(other);
    }
    json_decref(json);
    assert_null(accuracy_checked_to_json(&unknown));
    assert_true(accuracy_checked_from_json(NULL, &back));
    assert_int_equal(back.kinds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_checked_is_told_and_survives_the_way_through_json),
        cmocka_unit_test(c_has_the_elements_of_a_and_b_or_is_fp32),
        cmocka_unit_test(each_type_is_found_by_its_name_and_no_other_is),
        cmocka_unit_test(an_accuracy_names_a_class_of_fp32),
        cmocka_unit_test(a_stricter_type_answers_a_laxer_one_and_never_the_reverse),
        cmocka_unit_test(what_was_never_held_to_a_limit_does_not_answer_a_type_with_one),
        cmocka_unit_test(a_race_decides_for_another_type_only_if_both_have_one_rival),
        cmocka_unit_test(elements_have_a_size_and_sixteen_bytes_hold_some),
        cmocka_unit_test(a_class_takes_errors_up_to_its_limits_and_no_larger_ones),
        cmocka_unit_test(types_without_limits_take_any_error),
        cmocka_unit_test(an_error_that_is_no_number_is_too_large_and_one_rounding_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

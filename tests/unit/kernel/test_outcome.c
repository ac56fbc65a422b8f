#include "h200.h"
#include "messages.h"
#include "outcome.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static struct outcome sample_outcome(void)
{
    return (struct outcome){.verdict = VERDICT_MEASURED,
                            .facts = {.registers = 128, .cubin_bytes = 9000, .compile_ms = 212.5},
                            .time_us = 2622.25,
                            .sample_count = 3,
                            .samples_us = {2620.5, 2622.25, 2630.125},
                            .worst_error = 0.125,
                            .errors = {0x1p-22, 0x1p-25, 0x1p-24},
                            .exact = true,
                            .cold = true,
                            .state = {.sm_clock_mhz = 1980, .power_w = 545.5, .throttle_reasons = 4},
                            .wall_ms = 91.5};
}

TEST(outcome_survives_json)
{
    struct outcome before = sample_outcome(), after;
    json_t *json = outcome_to_json(&before);
    assert_non_null(json);
    assert_ok(outcome_from_json(json, &after));
    assert_memory_equal(&before, &after, sizeof before);
    json_decref(json);
}

TEST(infinite_error_survives_as_more_than_any_bound)
{
    struct outcome before = outcome_failed(VERDICT_WRONG, "NaN in C at %d", 7), after;
    before.worst_error = INFINITY;
    json_t *json = outcome_to_json(&before);
    assert_non_null(json);
    assert_ok(outcome_from_json(json, &after));
    assert_true(after.worst_error > 1e300);
    assert_string_equal(after.detail, "NaN in C at 7");
    json_decref(json);
}

TEST(errors_that_nobody_measured_are_left_out_and_impossible_ones_refused)
{
    struct outcome before = sample_outcome(), after;
    before.errors = accuracy_unknown();
    json_t *json = outcome_to_json(&before);
    assert_null(json_object_get(json, "errors"));
    assert_ok(outcome_from_json(json, &after));
    assert_false(accuracy_is_known(&after.errors));
    static const char *const wrong[] = {"{}", "[1, 2, 3]", "{\"componentwise\": 1, \"rms\": 1}",
                                        "{\"componentwise\": 1, \"rms\": -1, \"max\": 1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_object_set_new(json, "errors", json_loads(wrong[i], 0, NULL));
        assert_fails(outcome_from_json(json, &after), E_INPUT, "errors");
    }
    json_decref(json);
    before.errors = (struct accuracy){INFINITY, 0, INFINITY};
    json = outcome_to_json(&before);
    assert_ok(outcome_from_json(json, &after));
    assert_true(after.errors.componentwise > 1e300 && after.errors.rms == 0);
    json_decref(json);
}

TEST(a_measured_outcome_without_a_time_is_refused)
{
    struct outcome o = sample_outcome(), out;
    o.time_us = 0.0;
    json_t *json = outcome_to_json(&o);
    assert_fails(outcome_from_json(json, &out), E_INPUT, "without a time");
    json_decref(json);
}

TEST(malformed_outcomes_are_refused)
{
    static const char *const keys[] = {"verdict",    "detail", "facts",  "time_us",
                                       "samples_us", "state",  "wall_ms"};
    struct outcome o = sample_outcome(), out;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *json = outcome_to_json(&o);
        json_object_set_new(json, keys[i], json_true());
        assert_int_equal(outcome_from_json(json, &out), E_INPUT);
        json_object_del(json, keys[i]);
        assert_int_equal(outcome_from_json(json, &out), E_INPUT);
        json_decref(json);
    }
}

TEST(every_verdict_has_a_name_that_parses_back)
{
    for (int v = 0; v < VERDICT_COUNT; v++) {
        enum verdict back;
        assert_ok(verdict_parse(verdict_name((enum verdict)v), &back));
        assert_int_equal(back, v);
    }
}

TEST(failure_message_carries_status_and_sentence)
{
    fail(E_GPU, "no driver: %s", "install one");
    json_t *answer = message_failure(E_GPU);
    assert_fails(message_check(answer), E_GPU, "install one");
    json_decref(answer);
    answer = json_pack("{s:b}", "ok", 1);
    assert_ok(message_check(answer));
    json_decref(answer);
    answer = json_object();
    assert_int_equal(message_check(answer), E_CHILD);
    json_decref(answer);
}

TEST(gpu_survives_json)
{
    struct gpu before = {H200_LIMITS, H200_FIGURES, .rate = {{"fp32", 66.9}, {"tf32", 494.7}},
                         .source = "test"},
               after;
    json_t *json = gpu_to_json(&before);
    assert_ok(gpu_from_json(json, &after));
    assert_memory_equal(&before, &after, sizeof before);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_that_nobody_measured_are_left_out_and_impossible_ones_refused),
        cmocka_unit_test(outcome_survives_json),
        cmocka_unit_test(infinite_error_survives_as_more_than_any_bound),
        cmocka_unit_test(a_measured_outcome_without_a_time_is_refused),
        cmocka_unit_test(malformed_outcomes_are_refused),
        cmocka_unit_test(every_verdict_has_a_name_that_parses_back),
        cmocka_unit_test(failure_message_carries_status_and_sentence),
        cmocka_unit_test(gpu_survives_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

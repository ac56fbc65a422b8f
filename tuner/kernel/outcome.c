#include "outcome.h"

#include "messages.h"
#include "utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const verdict_names[VERDICT_COUNT] = {
    "measured", "slow", "wrong", "unbuildable", "spills", "refused", "crashed", "hung", "predicted"};

const char *verdict_name(enum verdict verdict)
{
    return (unsigned)verdict < VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

enum status verdict_parse(const char *name, enum verdict *verdict)
{
    for (int i = 0; i < VERDICT_COUNT; i++)
        if (strcmp(name, verdict_names[i]) == 0) {
            *verdict = (enum verdict)i;
            return OK;
        }
    return fail(E_INPUT, "unknown verdict '%.40s'", name);
}

bool outcome_usable(const struct outcome *outcome)
{
    return outcome->verdict == VERDICT_MEASURED || outcome->verdict == VERDICT_SLOW;
}

struct outcome outcome_failed(enum verdict verdict, const char *format, ...)
{
    struct outcome o = {.verdict = verdict, .errors = accuracy_unknown()};
    va_list args;
    va_start(args, format);
    vsnprintf(o.detail, sizeof o.detail, format, args);
    va_end(args);
    return o;
}

/* JSON has no infinity: an error beyond all bounds is written as the largest double. */
static double bounded(double x)
{
    return isfinite(x) ? x : 1.7e308;
}

json_t *outcome_to_json(const struct outcome *o)
{
    json_t *samples = json_array();
    for (int i = 0; samples && i < o->sample_count; i++)
        json_array_append_new(samples, json_real(bounded(o->samples_us[i])));
    char detail[OUTCOME_DETAIL_MAX]; /* cut to fit, possibly within a character */
    utf8_copy(detail, sizeof detail, o->detail);
    return json_pack("{s:s, s:s, s:o, s:f, s:o, s:f, s:b, s:b, s:{s:i, s:i, s:f, s:i, s:I}, s:f, s:o*}",
                     "verdict", verdict_name(o->verdict), "detail", detail, "facts", facts_to_json(&o->facts),
                     "time_us", bounded(o->time_us), "samples_us", samples, "worst_error",
                     bounded(o->worst_error), "exact", o->exact, "cold", o->cold, "state", "sm_clock_mhz",
                     o->state.sm_clock_mhz, "memory_clock_mhz", o->state.memory_clock_mhz, "power_w",
                     bounded(o->state.power_w), "temperature_c", o->state.temperature_c, "throttle_reasons",
                     (json_int_t)o->state.throttle_reasons, "wall_ms", bounded(o->wall_ms), "errors",
                     accuracy_to_json(&o->errors));
}

enum status outcome_from_json(const json_t *json, struct outcome *outcome)
{
    struct outcome o = {.errors = accuracy_unknown()};
    const char *verdict, *detail;
    json_t *facts, *samples, *state, *errors = NULL;
    int exact, cold;
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)json, &error, 0,
                       "{s:s, s:s, s:o, s:F, s:o, s:F, s:b, s:b, s:o, s:F, s?o}", "verdict", &verdict,
                       "detail", &detail, "facts", &facts, "time_us", &o.time_us, "samples_us", &samples,
                       "worst_error", &o.worst_error, "exact", &exact, "cold", &cold, "state", &state,
                       "wall_ms", &o.wall_ms, "errors", &errors))
        return fail(E_INPUT, "malformed outcome: %s", error.text);
    enum status st;
    if ((st = verdict_parse(verdict, &o.verdict))) return st;
    if ((st = facts_from_json(facts, &o.facts))) return st;
    json_int_t reasons;
    if (json_unpack_ex(state, &error, 0, "{s:F, s:I}", "power_w", &o.state.power_w, "throttle_reasons",
                       &reasons))
        return fail(E_INPUT, "malformed GPU state: %s", error.text);
    if (!message_int(state, "sm_clock_mhz", INT32_MIN, &o.state.sm_clock_mhz) ||
        !message_int(state, "memory_clock_mhz", INT32_MIN, &o.state.memory_clock_mhz) ||
        !message_int(state, "temperature_c", INT32_MIN, &o.state.temperature_c))
        return fail(E_INPUT, "malformed GPU state: a figure is missing or too large");
    o.state.throttle_reasons = (uint64_t)reasons;
    if (!json_is_array(samples) || json_array_size(samples) > OUTCOME_SAMPLES_MAX)
        return fail(E_INPUT, "malformed outcome: samples_us must be an array of at most %d",
                    OUTCOME_SAMPLES_MAX);
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        if (!json_is_number(sample) || json_number_value(sample) < 0.0)
            return fail(E_INPUT, "malformed outcome: sample %zu is not a time", i);
        o.samples_us[o.sample_count++] = json_number_value(sample);
    }
    if (o.time_us < 0.0 || o.worst_error < 0.0 || o.wall_ms < 0.0)
        return fail(E_INPUT, "malformed outcome: negative time or error");
    if (!accuracy_from_json(errors, &o.errors))
        return fail(E_INPUT, "malformed outcome: errors must be three numbers from 0 on");
    if (outcome_usable(&o) && (o.time_us <= 0.0 || o.sample_count == 0))
        return fail(E_INPUT, "malformed outcome: %s without a time", verdict);
    snprintf(o.detail, sizeof o.detail, "%s", detail);
    o.exact = exact, o.cold = cold;
    *outcome = o;
    return OK;
}

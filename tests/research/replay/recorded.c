#include "recorded.h"

#include "json_pull.h"
#include "stats.h"
#include "utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 256

static const char *const verdict_names[RECORDED_VERDICTS] = {"correct", "correctness", "constraints",
                                                             "compile", "runtime",     "timeout"};

const char *recorded_verdict_name(enum recorded_verdict verdict)
{
    return verdict_names[verdict];
}

/* ---- what it says of itself ---- */

static void take_text(json_t *value, char *text, size_t room)
{
    if (json_is_string(value)) {
        utf8_copy(text, room, json_string_value(value)); /* what is cut is still text */
    } else if (value) {
        char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        utf8_copy(text, room, dumped ? dumped : "");
        free(dumped);
    }
}

static double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"seconds", 1e3}, {"milliseconds", 1}, {"microseconds", 1e-3}, {"nanoseconds", 1e-6}};
    for (size_t i = 0; name && i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0) return units[i].ms;
    return 1;
}

static void take_metadata(struct recorded *r, const json_t *metadata)
{
    r->unit_ms = unit_of(json_string_value(json_object_get(metadata, "timeunit")));
    take_text(json_object_get(metadata, "device_name"), r->device, sizeof r->device);
    take_text(json_object_get(metadata, "kernel_name"), r->kernel, sizeof r->kernel);
    take_text(json_object_get(metadata, "problem_size"), r->problem, sizeof r->problem);
    json_t *gpus = json_object_get(json_object_get(metadata, "gemmtune"), "gpus");
    if (!json_is_array(gpus)) return;
    json_decref(r->gpus);
    r->gpus = json_incref(gpus);
    take_text(json_object_get(json_array_get(gpus, 0), "name"), r->device, sizeof r->device);
}

/* One member of the outermost object, but for the results themselves. */
static void take_member(struct recorded *r, const char *key, json_t *value)
{
    if (strcmp(key, "device_name") == 0) take_text(value, r->device, sizeof r->device);
    else if (strcmp(key, "kernel_name") == 0) take_text(value, r->kernel, sizeof r->kernel);
    else if (strcmp(key, "problem_size") == 0) take_text(value, r->problem, sizeof r->problem);
    else if (strcmp(key, "metadata") == 0) take_metadata(r, value);
    else if (strcmp(key, "tune_params_keys") == 0 && json_is_array(value)) {
        json_decref(r->parameters);
        r->parameters = json_incref(value);
    }
}

static enum status not_json(const struct recorded *r, const struct pull *p, const char *bytes)
{
    const size_t at = (size_t)(p->at - bytes);
    if (p->twice)
        return fail(E_INPUT,
                    "%s has an object at byte %zu in which a key comes twice: which of its values is meant?",
                    r->path, at);
    return fail(E_INPUT, "%s is not JSON at byte %zu", r->path, at);
}

/* Remember a key of an object; it must not come again. seen may be NULL (out of memory): nothing is noticed.
 */
static void meet(struct pull *p, json_t *seen, const char *key)
{
    if (strlen(key) + 1 >= KEY_MAX) return; /* it was cut */
    if (json_object_get(seen, key)) p->wrong = p->twice = true;
    else json_object_set_new(seen, key, json_true());
}

enum status recorded_open(const char *path, const char *bytes, size_t length, struct recorded *r)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    char key[KEY_MAX];
    *r = (struct recorded){.path = path, .unit_ms = 1, .parameters = json_array()};
    if (!r->parameters) return fail(E_MEMORY, "out of memory");
    if (pull_peek(&p) != '{' || !pull_enter(&p, '{')) return OK;
    json_t *seen = json_object();
    while (pull_key(&p, key, sizeof key)) {
        meet(&p, seen, key);
        if (strcmp(key, "cache") == 0) r->format = RECORDED_CACHE;
        if (strcmp(key, "results") == 0) r->format = RECORDED_T4;
        if (strcmp(key, "cache") == 0 || strcmp(key, "results") == 0) {
            pull_skip(&p);
            continue;
        }
        json_t *value = pull_value(&p);
        if (value) take_member(r, key, value);
        json_decref(value);
    }
    json_decref(seen);
    r->cut = p.cut;
    return p.wrong && r->format != RECORDED_UNKNOWN ? not_json(r, &p, bytes) : OK;
}

void recorded_close(struct recorded *r)
{
    json_decref(r->parameters);
    json_decref(r->gpus);
    json_decref(r->best);
    *r = (struct recorded){.unit_ms = 1};
}

/* ---- rows ---- */

/* The median of numbers; 0 if there are none. */
static double median_of(const json_t *times)
{
    const size_t count = json_array_size(times);
    double *numbers = count ? calloc(count, sizeof *numbers) : NULL;
    size_t used = 0, i;
    json_t *time;
    if (!numbers) return 0;
    json_array_foreach(times, i, time) if (json_is_number(time) && json_number_value(time) > 0)
        numbers[used++] = json_number_value(time);
    const double median = used ? stats_median(numbers, used) : 0;
    free(numbers);
    return median;
}

static bool verdict_of(const char *name, enum recorded_verdict *verdict)
{
    for (int i = 0; name && i < RECORDED_VERDICTS; i++)
        if (strcmp(name, verdict_names[i]) == 0) {
            *verdict = (enum recorded_verdict)i;
            return true;
        }
    return false;
}

static double number_or_0(const json_t *value)
{
    const double number = json_number_value(value);
    return json_is_number(value) && isfinite(number) && number > 0 ? number : 0;
}

/* The measurement named by the first objective, or "time". */
static double measured_time(const json_t *result)
{
    const json_t *objectives = json_object_get(result, "objectives"),
                 *list = json_object_get(result, "measurements");
    const char *objective = json_string_value(json_array_get(objectives, 0));
    size_t i;
    json_t *measurement;
    json_array_foreach(list, i, measurement)
    {
        const char *name = json_string_value(json_object_get(measurement, "name"));
        if (name && strcmp(name, objective ? objective : "time") == 0)
            return number_or_0(json_object_get(measurement, "value"));
    }
    return 0;
}

static bool read_result(const struct recorded *r, json_t *result, struct recorded_row *row)
{
    const json_t *times = json_object_get(result, "times"),
                 *compile = json_object_get(times, "compilation_time");
    const char *timestamp = json_string_value(json_object_get(result, "timestamp"));
    *row = (struct recorded_row){.configuration = json_object_get(result, "configuration"),
                                 .runtimes = json_object_get(times, "runtimes"),
                                 .timestamp = timestamp ? timestamp : "",
                                 .gemmtune = json_object_get(result, "gemmtune")};
    if (!json_is_object(row->configuration) || !json_is_object(times) ||
        !verdict_of(json_string_value(json_object_get(result, "invalidity")), &row->verdict))
        return false;
    if (!compile) compile = json_object_get(times, "compilation"); /* as Kernel Tuner writes it */
    row->compile_ms = number_or_0(compile) * r->unit_ms;
    if (row->verdict != RECORDED_CORRECT) return true;
    row->time_ms = measured_time(result);
    if (row->time_ms == 0) row->time_ms = median_of(row->runtimes);
    row->time_ms *= r->unit_ms;
    return true;
}

/* Kernel Tuner's names for what failed, in `time` or, since version 1.1, in `__error__`. */
static enum recorded_verdict error_of(const char *name)
{
    if (strcmp(name, "InvalidConfig") == 0) return RECORDED_CONSTRAINTS;
    if (strcmp(name, "CompilationFailedConfig") == 0) return RECORDED_COMPILE;
    return RECORDED_RUNTIME;
}

static bool is_metric(const char *key)
{
    static const char *const known[] = {
        "time",          "times",          "compile_time", "verification_time", "benchmark_time",
        "strategy_time", "framework_time", "timestamp",    "__error__",         "GFLOP/s"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0) return true;
    return false;
}

/* The parameters among the members of an entry: those that the file lists, or all that are not known to be
 * figures. */
static json_t *entry_configuration(const struct recorded *r, json_t *entry)
{
    json_t *configuration = json_object(), *value;
    const char *key;
    size_t i;
    if (json_array_size(r->parameters)) {
        json_array_foreach(r->parameters, i, value) if (json_is_string(value)) json_object_set(
            configuration, json_string_value(value), json_object_get(entry, json_string_value(value)));
    } else {
        json_object_foreach(entry, key, value) if (!is_metric(key))
            json_object_set(configuration, key, value);
    }
    return configuration;
}

static bool read_entry(const struct recorded *r, json_t *entry, struct recorded_row *row)
{
    const json_t *time = json_object_get(entry, "time");
    const char *error = json_string_value(json_object_get(entry, "__error__"));
    const char *timestamp = json_string_value(json_object_get(entry, "timestamp"));
    *row = (struct recorded_row){.runtimes = json_object_get(entry, "times"),
                                 .timestamp = timestamp ? timestamp : "",
                                 .compile_ms = number_or_0(json_object_get(entry, "compile_time"))};
    if (!json_is_object(entry) || (!time && !error)) return false;
    if (!error) error = json_string_value(time);
    if (error) row->verdict = error_of(error);
    else row->time_ms = number_or_0(time);
    if (!error && row->time_ms == 0) return false;
    row->configuration = entry_configuration(r, entry);
    return row->configuration != NULL;
}

static bool count_row(struct recorded *r, const struct recorded_row *row,
                      bool (*visit)(void *self, const struct recorded_row *row), void *self)
{
    r->rows++;
    r->counts[row->verdict]++;
    r->ours += row->gemmtune != NULL;
    if (row->time_ms > 0 && (r->best_ms == 0 || row->time_ms < r->best_ms)) {
        r->best_ms = row->time_ms;
        json_decref(r->best);
        r->best = json_incref(row->configuration);
    }
    return !visit || visit(self, row);
}

/* One result or entry. False to stop. */
static bool take_row(struct recorded *r, json_t *value,
                     bool (*visit)(void *self, const struct recorded_row *row), void *self)
{
    struct recorded_row row;
    const bool cache = r->format == RECORDED_CACHE;
    if (!(cache ? read_entry(r, value, &row) : read_result(r, value, &row))) {
        r->broken++;
        return true;
    }
    bool more = count_row(r, &row, visit, self);
    if (cache) json_decref(row.configuration); /* made for this row */
    return more;
}

enum status recorded_rows(const char *bytes, size_t length, struct recorded *r,
                          bool (*visit)(void *self, const struct recorded_row *row), void *self)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    char key[KEY_MAX];
    const bool cache = r->format == RECORDED_CACHE;
    bool more = true;
    json_t *seen = cache ? json_object() : NULL;
    pull_enter(&p, '{');
    while (more && pull_key(&p, key, sizeof key)) {
        if (strcmp(key, cache ? "cache" : "results") != 0) {
            pull_skip(&p);
            continue;
        }
        pull_enter(&p, cache ? '{' : '[');
        while (more && (cache ? pull_key(&p, key, sizeof key) : pull_element(&p))) {
            if (cache) meet(&p, seen, key);
            json_t *value = pull_value(&p);
            if (value) more = take_row(r, value, visit, self);
            json_decref(value);
        }
    }
    json_decref(seen);
    r->cut = r->cut || p.cut;
    return p.wrong ? not_json(r, &p, bytes) : OK;
}

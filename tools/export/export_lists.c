#include "export_lists.h"

#include "answer.h"
#include "exchange_json.h"
#include "messages.h"
#include "print.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIGITS JSON_REAL_PRECISION(10)

struct listing {
    struct db *db;
    const struct pick_rules *rules;
    const char *descriptors;
    FILE *stream;
    struct table *table;
    struct exported *exported;
    int64_t seen;                 /* winners, wanted or not */
    char known_gpu[GPU_NAME_MAX]; /* asked for last: has it a descriptor? */
    bool known;
    enum status st;
};

static bool wanted(struct listing *l, const struct db_winner *w)
{
    l->seen++;
    if ((l->rules->measured_only && w->base.predicted) || (l->rules->no_cublas && answer_is_cublas(w)))
        return false;
    if (!w->unusable) return true;
    l->exported->unusable++;
    l->st = reasons_add(&l->exported->why, w->why);
    return false;
}

static enum status list_each(struct listing *l, const struct db_filter *filter,
                             bool (*visit)(void *self, const struct db_winner *w))
{
    const int64_t before = l->seen;
    enum status st = db_winners(l->db, filter, NULL, visit, l);
    if (!st) st = l->st;
    if (st || !filter->problem || l->seen > before) return st;
    l->exported->unknown++;
    return reasons_add(&l->exported->why, NO_WINNER);
}

/* ---- JSON lines ---- */

static bool has_descriptor(struct listing *l, const struct gpu *gpu)
{
    struct gpu descriptor;
    if (l->known_gpu[0] && gpu_same_name(l->known_gpu, gpu->name)) return l->known;
    memcpy(l->known_gpu, gpu->name, sizeof l->known_gpu);
    l->known = gpu_find(l->descriptors, gpu->name, &descriptor) == OK && descriptor.arch == gpu->arch;
    return l->known;
}

static bool write_line(void *self, const struct db_winner *w)
{
    struct listing *l = self;
    if (!wanted(l, w)) return l->st == OK;
    json_t *json = winner_to_json(w, !has_descriptor(l, &w->gpu));
    if (!json || json_dumpf(json, l->stream, DIGITS | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII)) {
        if (!json) l->st = fail(E_MEMORY, "out of memory for a winner");
        json_decref(json);
        return false; /* a stream that cannot be written is told of by who closes it */
    }
    json_decref(json);
    putc('\n', l->stream);
    l->exported->written++;
    return true;
}

static enum status write_lines(void *self, const struct db_filter *filter)
{
    return list_each(self, filter, write_line);
}

enum status export_json_lines(struct db *db, const struct db_filter *filter,
                              const struct problem_list *problems, const struct pick_rules *rules,
                              const char *descriptors, FILE *stream, struct exported *exported)
{
    struct listing l = {
        .db = db, .rules = rules, .descriptors = descriptors, .stream = stream, .exported = exported};
    *exported = (struct exported){.written = 0};
    return problem_list_each(problems, *filter, write_lines, &l);
}

/* ---- CSV ---- */

static const struct column columns[] = {
    {"problem", NULL, COLUMN_TEXT, 0},
    {"gpu", NULL, COLUMN_TEXT, 0},
    {"arch", NULL, COLUMN_NUMBER, 0},
    {"sm_count", NULL, COLUMN_NUMBER, 0},
    {"config", NULL, COLUMN_TEXT, 0},
    {"template_hash", NULL, COLUMN_TEXT, 0},
    {"time_us", NULL, COLUMN_NUMBER, 0},
    {"cublas_us", NULL, COLUMN_NUMBER, 0},
    {"ratio", NULL, COLUMN_NUMBER, 0},
    {"ratio_low", NULL, COLUMN_NUMBER, 0},
    {"ratio_high", NULL, COLUMN_NUMBER, 0},
    {"cold", NULL, COLUMN_BOOL, 0},
    {"exact", NULL, COLUMN_BOOL, 0},
    {"predicted", NULL, COLUMN_BOOL, 0},
    {"protocol", NULL, COLUMN_NUMBER, 0},
    {"driver", NULL, COLUMN_TEXT, 0},
    {"nvrtc", NULL, COLUMN_TEXT, 0},
    {"cublas", NULL, COLUMN_TEXT, 0},
    {"when", NULL, COLUMN_TEXT, 0},
    {"tied", NULL, COLUMN_BOOL, 0},
    {"rounds", NULL, COLUMN_NUMBER, 0},
    {"trials", NULL, COLUMN_NUMBER, 0},
    {"legal", NULL, COLUMN_NUMBER, 0},
    {"model_rank", NULL, COLUMN_NUMBER, 0},
    {"model_first16_share", NULL, COLUMN_NUMBER, 0},
    {"registers", NULL, COLUMN_NUMBER, 0},
    {"smem_bytes", NULL, COLUMN_NUMBER, 0},
    {"gpu_uuid", NULL, COLUMN_TEXT, 0},
    {"rival", NULL, COLUMN_TEXT, 0},
};

/* The same values under the same names as in the JSON form, out of that. */
static bool add_row(void *self, const struct db_winner *w)
{
    struct listing *l = self;
    if (!wanted(l, w)) return l->st == OK;
    json_t *json = winner_to_json(w, false);
    if (!json) {
        l->st = fail(E_MEMORY, "out of memory for a winner");
        return false;
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const json_t *value = json_object_get(json, columns[i].key);
        if (columns[i].kind == COLUMN_TEXT) table_text(l->table, json_string_value(value));
        else if (columns[i].kind == COLUMN_BOOL) table_bool(l->table, json_is_true(value));
        else table_number(l->table, json_number_value(value));
    }
    json_decref(json);
    l->exported->written++;
    return true;
}

static enum status add_rows(void *self, const struct db_filter *filter)
{
    return list_each(self, filter, add_row);
}

enum status export_csv(struct db *db, const struct db_filter *filter, const struct problem_list *problems,
                       const struct pick_rules *rules, FILE *stream, struct exported *exported)
{
    struct listing l = {.db = db, .rules = rules, .exported = exported};
    *exported = (struct exported){.written = 0};
    if (!(l.table = table_new(columns, sizeof columns / sizeof *columns)))
        return fail(E_MEMORY, "out of memory");
    enum status st = problem_list_each(problems, *filter, add_rows, &l);
    if (!st) st = table_print(l.table, TABLE_CSV, stream);
    table_free(l.table);
    return st;
}

/* ---- T4 ---- */

struct t4 {
    struct db *db;
    FILE *stream;
    struct exported *exported;
    struct gpu *gpus;
    int gpu_count;
    enum status st;
};

static bool same_gpu(const struct gpu *x, const struct gpu *y)
{
    const int64_t pairs[][2] = {{x->arch, y->arch},
                                {x->sm_count, y->sm_count},
                                {x->threads_per_sm, y->threads_per_sm},
                                {x->blocks_per_sm, y->blocks_per_sm},
                                {x->registers_per_sm, y->registers_per_sm},
                                {x->smem_per_sm_bytes, y->smem_per_sm_bytes},
                                {x->smem_per_block_bytes, y->smem_per_block_bytes},
                                {x->smem_reserved_bytes, y->smem_reserved_bytes},
                                {x->l2_bytes, y->l2_bytes},
                                {x->memory_bytes, y->memory_bytes}};
    bool same = strcmp(x->name, y->name) == 0 && strcmp(x->id, y->id) == 0 &&
                strcmp(x->source, y->source) == 0 && x->clock_mhz == y->clock_mhz &&
                x->memory_gb_per_s == y->memory_gb_per_s && gpu_rate(x, "fp32") == gpu_rate(y, "fp32");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) same = same && pairs[i][0] == pairs[i][1];
    return same;
}

/* Its number; gpu_count if it is not among them. */
static int gpu_number(const struct t4 *t4, const struct gpu *gpu)
{
    int i = 0;
    while (i < t4->gpu_count && !same_gpu(&t4->gpus[i], gpu)) i++;
    return i;
}

static bool add_gpu(void *self, const struct db_gpu *gpu)
{
    struct t4 *t4 = self;
    if (gpu_number(t4, &gpu->gpu) < t4->gpu_count) return true;
    struct gpu *grown = realloc(t4->gpus, ((size_t)t4->gpu_count + 1) * sizeof *grown);
    if (!grown) {
        t4->st = fail(E_MEMORY, "out of memory for GPUs");
        return false;
    }
    t4->gpus = grown;
    grown[t4->gpu_count++] = gpu->gpu;
    return true;
}

/* The values by the names of the parameters: from the text, since the template may be unknown by now. */
static json_t *configuration(const struct db_full_trial *t)
{
    char copy[CONFIG_TEXT_MAX], problem[PROBLEM_TEXT_MAX], *rest = NULL;
    memcpy(copy, t->config_text, sizeof copy);
    problem_format(&t->problem, problem);
    char *name = strtok_r(copy, " ", &rest);
    char *valid = text_valid(name ? name : "");
    json_t *json = valid ? json_pack("{s:s, s:s}", "problem", problem, "template", valid) : NULL;
    free(valid);
    for (char *word; json && (word = strtok_r(NULL, " ", &rest));) {
        char *equals = strchr(word, '=');
        if (!equals) continue;
        *equals = '\0';
        if (!(valid = text_valid(word)) ||
            json_object_set_new(json, valid, json_integer(strtol(equals + 1, NULL, 10)))) {
            json_decref(json);
            json = NULL;
        }
        free(valid);
    }
    return json;
}

static const char *invalidity(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_MEASURED:
    case VERDICT_SLOW:
        return "correct";
    case VERDICT_WRONG:
        return "correctness";
    case VERDICT_UNBUILDABLE:
        return "compile";
    case VERDICT_SPILLS:
        return "constraints";
    case VERDICT_HUNG:
        return "timeout";
    default:
        return "runtime";
    }
}

static json_t *times(const struct outcome *o)
{
    json_t *runtimes = json_array();
    for (int i = 0; runtimes && i < o->sample_count; i++)
        json_array_append_new(runtimes, json_real(isfinite(o->samples_us[i]) ? o->samples_us[i] / 1e3 : 0));
    const double compile_ms = o->facts.compile_ms, run_ms = fmax(o->wall_ms - compile_ms, 0);
    return json_pack("{s:f, s:f, s:f, s:o, s:f, s:f, s:f}", "compilation_time", compile_ms, "compilation",
                     compile_ms, "benchmark", run_ms, "runtimes", runtimes, "framework", 0.0,
                     "search_algorithm", 0.0, "validation", 0.0);
}

static json_t *measurement(const char *name, double value, const char *unit)
{
    return json_pack("{s:s, s:f, s:s}", "name", name, "value", isfinite(value) ? value : 0, "unit", unit);
}

static json_t *measurements(const struct db_full_trial *t)
{
    const struct outcome *o = &t->outcome;
    if (!outcome_usable(o) || o->time_us <= 0) return json_array();
    return json_pack("[o, o, o, o, o, o]", measurement("time", o->time_us / 1e3, "ms"),
                     measurement("GFLOP/s", problem_flop(&t->problem) / o->time_us / 1e3, "GFLOP/s"),
                     measurement("registers", o->facts.registers, ""),
                     measurement("sm_clock", o->state.sm_clock_mhz, "MHz"),
                     measurement("power", o->state.power_w, "W"),
                     measurement("temperature", o->state.temperature_c, "C"));
}

static void timestamp(int64_t us, char text[40])
{
    const time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    char date[24] = "1970-01-01T00:00:00";
    if (gmtime_r(&seconds, &parts)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, 40, "%s.%06dZ", date, (int)(us % 1000000));
}

static json_t *result(const struct t4 *t4, const struct db_full_trial *t)
{
    char when[40];
    timestamp(t->started_us, when);
    return json_pack("{s:s, s:o, s:[s], s:o, s:s, s:i, s:o, s:o}", "timestamp", when, "configuration",
                     configuration(t), "objectives", "time", "times", times(&t->outcome), "invalidity",
                     invalidity(t->outcome.verdict), "correctness", outcome_usable(&t->outcome),
                     "measurements", measurements(t), "gemmtune",
                     trial_to_json(t, gpu_number(t4, &t->context.gpu)));
}

static bool write_result(void *self, const struct db_full_trial *t)
{
    struct t4 *t4 = self;
    if (t->outcome.verdict == VERDICT_PREDICTED) {
        t4->exported->predicted++;
        return true;
    }
    json_t *json = result(t4, t);
    if (!json) {
        t4->st = fail(E_MEMORY, "out of memory for a trial");
        return false;
    }
    fputs(t4->exported->written++ ? ",\n" : "\n", t4->stream);
    bool written = json_dumpf(json, t4->stream, JSON_COMPACT | JSON_ENSURE_ASCII) == 0;
    json_decref(json);
    return written;
}

static enum status write_metadata(const struct t4 *t4, const char *generator)
{
    json_t *gpus = json_array();
    for (int i = 0; gpus && i < t4->gpu_count; i++) json_array_append_new(gpus, gpu_to_json(&t4->gpus[i]));
    json_t *json = json_pack("{s:s, s:s, s:o}", "timeunit", "milliseconds", "generator", generator,
                             "gemmtune", json_pack("{s:o}", "gpus", gpus));
    if (!json) return fail(E_MEMORY, "out of memory for the metadata");
    fputs("{\"schema_version\": \"1.0.0\",\n\"metadata\": ", t4->stream);
    json_dumpf(json, t4->stream, JSON_ENSURE_ASCII);
    json_decref(json);
    return OK;
}

static enum status write_results(void *self, const struct db_filter *filter)
{
    struct t4 *t4 = self;
    enum status st = db_dump(t4->db, filter, write_result, t4);
    return st ? st : t4->st;
}

enum status export_t4(struct db *db, const struct db_filter *filter, const struct problem_list *problems,
                      const char *generator, FILE *stream, struct exported *exported)
{
    struct t4 t4 = {.db = db, .stream = stream, .exported = exported};
    *exported = (struct exported){.written = 0};
    /* First what the results refer to: a file that was cut off can then still be read as far as it goes. */
    enum status st = db_gpus(db, add_gpu, &t4);
    if (!st) st = t4.st;
    if (!st) st = write_metadata(&t4, generator);
    if (!st) {
        fputs(",\n\"results\": [", stream);
        st = problem_list_each(problems, *filter, write_results, &t4);
        fputs("\n]}\n", stream);
    }
    free(t4.gpus);
    return st;
}

#define SAID_MOST 20 /* rules have many sentences */

enum status reasons_add(struct reasons *reasons, const char *text)
{
    for (int i = 0; i < reasons->count; i++)
        if (strcmp(reasons->list[i].text, text) == 0) {
            reasons->list[i].count++;
            return OK;
        }
    struct reason *grown = realloc(reasons->list, ((size_t)reasons->count + 1) * sizeof *grown);
    if (grown) reasons->list = grown;
    char *copy = grown ? strdup(text) : NULL;
    if (!copy) return fail(E_MEMORY, "out of memory for reasons");
    grown[reasons->count++] = (struct reason){copy, 1};
    return OK;
}

static int compare(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    const int order = (x->count < y->count) - (x->count > y->count);
    return order ? order : strcmp(x->text, y->text);
}

void reasons_say(struct reasons *reasons)
{
    int64_t rest = 0;
    if (reasons->count) qsort(reasons->list, (size_t)reasons->count, sizeof *reasons->list, compare);
    for (int i = 0; i < reasons->count; i++) {
        const struct reason *r = &reasons->list[i];
        if (i < SAID_MOST) print_line(stderr, "tune: %6" PRId64 "  %s", r->count, r->text);
        else rest += r->count;
    }
    if (rest) print_line(stderr, "tune: %6" PRId64 "  for other reasons", rest);
}

void reasons_free(struct reasons *reasons)
{
    for (int i = 0; i < reasons->count; i++) free(reasons->list[i].text);
    free(reasons->list);
    *reasons = (struct reasons){.count = 0};
}

#include "exchange_json.h"

#include "messages.h"
#include "table.h"
#include "templates.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- reading with checks ---- */

struct fields {
    const json_t *object;
    const char *bad; /* the first key that is missing or wrong */
};

static void text_of(struct fields *f, const char *key, bool needed, char *text, size_t room)
{
    const json_t *value = json_object_get(f->object, key);
    const char *given = json_string_value(value);
    text[0] = '\0';
    if (!value && !needed) return;
    if (given && json_string_length(value) < room && strlen(given) == json_string_length(value))
        memcpy(text, given, json_string_length(value) + 1);
    else if (!f->bad) f->bad = key;
}

static double number_of(struct fields *f, const char *key, bool needed)
{
    const json_t *value = json_object_get(f->object, key);
    if (!value && !needed) return 0;
    if (json_is_number(value) && isfinite(json_number_value(value))) return json_number_value(value);
    if (!f->bad) f->bad = key;
    return 0;
}

static int64_t integer_of(struct fields *f, const char *key, bool needed, int64_t least, int64_t most)
{
    const json_t *value = json_object_get(f->object, key);
    if (!value && !needed) return 0;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= most) return number;
    if (!f->bad) f->bad = key;
    return 0;
}

static bool bool_of(struct fields *f, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(f->object, key);
    if (!value) return otherwise;
    if (!json_is_boolean(value) && !f->bad) f->bad = key;
    return json_is_true(value);
}

static enum status wrong(const struct fields *f)
{
    return f->bad ? fail(E_INPUT, "'%s' is missing or of the wrong kind", f->bad) : OK;
}

enum status time_parse(const char *text, int64_t *us)
{
    struct tm parts = {0};
    int used = 0;
    long fraction = 0, sign = 0, hours = 0, minutes = 0;
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6 ||
        used == 0)
        return fail(E_INPUT, "'%.40s' is not a time such as 2026-11-20T12:00:00Z", text);
    const char *at = text + used;
    if (*at == '.') {
        long unit = 100000;
        for (at++; isdigit((unsigned char)*at); at++, unit /= 10) fraction += (*at - '0') * unit;
    }
    if ((*at == '+' || *at == '-') && sscanf(at + 1, "%2ld:%2ld%n", &hours, &minutes, &used) == 2 &&
        used == 5) {
        sign = *at == '-' ? 1 : -1; /* local time to UTC */
        at += 6;
    } else if (*at == 'Z') {
        at++;
    }
    const bool possible = parts.tm_year >= 1970 && parts.tm_mon >= 1 && parts.tm_mon <= 12 &&
                          parts.tm_mday >= 1 && parts.tm_mday <= 31 && parts.tm_hour >= 0 &&
                          parts.tm_hour < 24 && parts.tm_min >= 0 && parts.tm_min < 60 && parts.tm_sec >= 0 &&
                          parts.tm_sec <= 60 && hours >= 0 && minutes >= 0;
    if (*at || !possible) return fail(E_INPUT, "'%.40s' is not a time such as 2026-11-20T12:00:00Z", text);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    const int64_t seconds = (int64_t)timegm(&parts) + sign * (hours * 3600 + minutes * 60);
    *us = (seconds < 0 ? 0 : seconds) * 1000000 + fraction;
    return OK;
}

/* ---- GPUs ---- */

/* Texts from a database may hold any bytes. */
static json_t *json_text(const char *text)
{
    char *valid = text_valid(text);
    json_t *json = valid ? json_string(valid) : NULL;
    free(valid);
    return json;
}

/* ---- winners ---- */

json_t *winner_to_json(const struct db_winner *w, bool figures)
{
    char problem[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX] = "cublas", hash[24] = "";
    problem_format(&w->problem, problem);
    if (w->config.template) {
        config_format(&w->config, config);
        snprintf(hash, sizeof hash, "%016" PRIx64, template_hash(w->config.template));
    }
    /* What a reader needs comes first, in the order of docs/runtime.md. */
    json_t *json = json_pack(
        "{s:s, s:o, s:i, s:i, s:s, s:s*, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b, s:i, s:o, s:o, s:o, s:s}",
        "problem", problem, "gpu", json_text(w->gpu.name), "arch", w->gpu.arch, "sm_count", w->gpu.sm_count,
        "config", config, "template_hash", hash[0] ? hash : NULL, "time_us", w->time_us, "cublas_us",
        w->anchor_us, "ratio", w->ratio, "ratio_low", w->ratio_low, "ratio_high", w->ratio_high, "cold",
        w->cold, "exact", w->exact, "predicted", w->predicted, "protocol", w->stale ? 0 : DB_PROTOCOL,
        "driver", json_text(w->driver), "nvrtc", json_text(w->nvrtc), "cublas", json_text(w->cublas), "when",
        w->when);
    json_t *more =
        json_pack("{s:b, s:i, s:i, s:I, s:i, s:f, s:i, s:i, s:o}", "tied", w->tied, "rounds", w->rounds,
                  "trials", w->trials, "legal", (json_int_t)w->legal_count, "model_rank", w->model_rank,
                  "model_first16_share", w->model_first16_share, "registers", w->registers, "smem_bytes",
                  w->smem_bytes, "gpu_uuid", json_text(w->gpu_uuid));
    bool good = json && more && json_object_update(json, more) == 0;
    if (good && figures) good = json_object_set_new(json, "figures", gpu_to_json(&w->gpu)) == 0;
    json_decref(more);
    if (good) return json;
    json_decref(json);
    return NULL;
}

/* The GPU's figures: as given, or of the descriptor; its name, architecture and size are the winner's own. */
static enum status find_gpu(const json_t *json, const char *descriptors, struct gpu *gpu)
{
    struct fields f = {.object = json};
    struct gpu named = {.arch = (int)integer_of(&f, "arch", true, 10, 9999)};
    text_of(&f, "gpu", true, named.name, sizeof named.name);
    named.sm_count = (int)integer_of(&f, "sm_count", true, 1, 1 << 16);
    enum status st = wrong(&f);
    if (st) return st;
    const json_t *figures = json_object_get(json, "figures");
    if (figures) st = gpu_from_json(figures, gpu);
    else if (gpu_find(descriptors, named.name, gpu))
        st = fail(E_INPUT, "GPU '%.60s' has no descriptor in %.200s and the line tells no figures",
                  named.name, descriptors);
    if (st) return st;
    if (gpu->arch != named.arch)
        return fail(E_INPUT, "GPU '%.60s' is not of architecture %d", named.name, named.arch);
    memcpy(gpu->name, named.name, sizeof gpu->name);
    gpu->sm_count = named.sm_count;
    return OK;
}

static enum status find_config(const json_t *json, struct db_winner *w)
{
    struct fields f = {.object = json};
    char hash[24], now[24];
    text_of(&f, "config", true, w->config_text, sizeof w->config_text);
    enum status st = wrong(&f);
    if (st || strcmp(w->config_text, "cublas") == 0) return st;
    text_of(&f, "template_hash", true, hash, sizeof hash);
    if ((st = wrong(&f))) return st;
    if (config_parse(w->config_text, &w->config)) {
        char why[200];
        snprintf(why, sizeof why, "%.190s", status_text());
        return fail(E_ABSENT, "%s", why);
    }
    snprintf(now, sizeof now, "%016" PRIx64, template_hash(w->config.template));
    if (strcmp(hash, now) != 0)
        return fail(E_ABSENT, "the kernel template %s has changed since", w->config.template->name);
    const char *why = w->config.template->check(&w->config, &w->problem, &w->gpu);
    return why ? fail(E_ABSENT, "its rules refuse it: %s", why) : OK;
}

enum status winner_from_json(const json_t *json, const char *descriptors, struct db_winner *w,
                             int64_t *decided_us)
{
    struct fields f = {.object = json};
    char problem[PROBLEM_TEXT_MAX];
    if (!json_is_object(json)) return fail(E_INPUT, "it is not a JSON object");
    memset(w, 0, sizeof *w);
    text_of(&f, "problem", true, problem, sizeof problem);
    w->time_us = number_of(&f, "time_us", true);
    w->anchor_us = number_of(&f, "cublas_us", false);
    w->ratio = number_of(&f, "ratio", false);
    w->ratio_low = number_of(&f, "ratio_low", false);
    w->ratio_high = number_of(&f, "ratio_high", false);
    w->cold = bool_of(&f, "cold", true);
    w->exact = bool_of(&f, "exact", true);
    w->predicted = bool_of(&f, "predicted", false);
    w->tied = bool_of(&f, "tied", false);
    text_of(&f, "driver", false, w->driver, sizeof w->driver);
    text_of(&f, "nvrtc", false, w->nvrtc, sizeof w->nvrtc);
    text_of(&f, "cublas", false, w->cublas, sizeof w->cublas);
    text_of(&f, "when", false, w->when, sizeof w->when);
    text_of(&f, "gpu_uuid", false, w->gpu_uuid, sizeof w->gpu_uuid);
    w->rounds = (int)integer_of(&f, "rounds", false, 0, 1 << 20);
    w->trials = (int)integer_of(&f, "trials", false, 0, INT32_MAX);
    w->legal_count = integer_of(&f, "legal", false, 0, INT64_MAX);
    w->model_rank = (int)integer_of(&f, "model_rank", false, 0, INT32_MAX);
    w->model_first16_share = number_of(&f, "model_first16_share", false);
    w->registers = (int)integer_of(&f, "registers", false, 0, 1 << 20);
    w->smem_bytes = (int)integer_of(&f, "smem_bytes", false, 0, INT32_MAX);
    enum status st = wrong(&f);
    if (!st) st = problem_parse(problem, &w->problem);
    *decided_us = 0;
    if (!st && w->when[0]) st = time_parse(w->when, decided_us);
    if (!st) st = find_gpu(json, descriptors, &w->gpu);
    return st ? st : find_config(json, w);
}

/* ---- trials ---- */

json_t *trial_to_json(const struct db_full_trial *t, int gpu)
{
    char problem[PROBLEM_TEXT_MAX], hash[24];
    problem_format(&t->problem, problem);
    snprintf(hash, sizeof hash, "%016" PRIx64, t->template_hash);
    return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:f, s:i, s:I, s:I, s:b, s:o}", "problem",
                     problem, "config", json_text(t->config_text), "template_hash", hash, "gpu", gpu,
                     "gpu_uuid", json_text(t->context.gpu_uuid), "driver", json_text(t->context.driver),
                     "nvrtc", json_text(t->context.nvrtc), "cublas", json_text(t->context.cublas),
                     "power_limit_w", t->context.power_limit_w, "protocol", t->protocol, "started_us",
                     (json_int_t)t->started_us, "ended_us", (json_int_t)t->ended_us, "recovered",
                     t->recovered, "outcome", outcome_to_json(&t->outcome));
}

enum status trial_from_json(const json_t *json, const json_t *gpus, struct db_full_trial *t)
{
    struct fields f = {.object = json};
    char problem[PROBLEM_TEXT_MAX], hash[24], now[24];
    memset(t, 0, sizeof *t);
    text_of(&f, "problem", true, problem, sizeof problem);
    text_of(&f, "config", true, t->config_text, sizeof t->config_text);
    text_of(&f, "template_hash", true, hash, sizeof hash);
    text_of(&f, "gpu_uuid", true, t->context.gpu_uuid, sizeof t->context.gpu_uuid);
    text_of(&f, "driver", true, t->context.driver, sizeof t->context.driver);
    text_of(&f, "nvrtc", true, t->context.nvrtc, sizeof t->context.nvrtc);
    text_of(&f, "cublas", true, t->context.cublas, sizeof t->context.cublas);
    t->context.power_limit_w = number_of(&f, "power_limit_w", true);
    t->started_us = integer_of(&f, "started_us", true, 0, INT64_MAX);
    t->ended_us = integer_of(&f, "ended_us", true, 0, INT64_MAX);
    t->recovered = bool_of(&f, "recovered", false);
    const int64_t gpu = integer_of(&f, "gpu", true, 0, INT32_MAX);
    enum status st = wrong(&f);
    if (!st && (size_t)gpu >= json_array_size(gpus))
        st = fail(E_INPUT, "there is no GPU number %" PRId64, gpu);
    if (!st) st = gpu_from_json(json_array_get(gpus, (size_t)gpu), &t->context.gpu);
    if (!st) st = problem_parse(problem, &t->problem);
    if (!st) st = outcome_from_json(json_object_get(json, "outcome"), &t->outcome);
    if (st) return st;
    if (config_parse(t->config_text, &t->config)) {
        char why[200];
        snprintf(why, sizeof why, "%.190s", status_text());
        return fail(E_ABSENT, "%s", why);
    }
    snprintf(now, sizeof now, "%016" PRIx64, template_hash(t->config.template));
    if (strcmp(hash, now) != 0)
        return fail(E_ABSENT, "the kernel template %s has changed since", t->config.template->name);
    return OK;
}

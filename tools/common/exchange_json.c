#include "exchange_json.h"

#include "fields.h"
#include "kernel_hash.h"
#include "messages.h"
#include "table.h"
#include "template.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum status time_parse(const char *text, int64_t *us)
{
    struct tm parts = {0};
    int used = 0;
    long fraction = 0, sign = 0, hours = 0, minutes = 0;
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6 ||
        used == 0)
        return fail(E_INPUT, "'%.40s' is not a time from 1970 on such as 2026-11-20T12:00:00Z", text);
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
    if (*at || !possible)
        return fail(E_INPUT, "'%.40s' is not a time from 1970 on such as 2026-11-20T12:00:00Z", text);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    const int64_t seconds = (int64_t)timegm(&parts) + sign * (hours * 3600 + minutes * 60);
    *us = (seconds < 0 ? 0 : seconds) * 1000000 + fraction;
    return OK;
}

/* ---- winners ---- */

static json_t *errors_to_json(const struct db_errors *e)
{
    const struct accuracy accuracy = {e->componentwise, e->rms, e->max};
    return accuracy_to_json(&accuracy);
}

static enum status errors_from_json(const json_t *json, struct db_errors *e)
{
    struct accuracy a;
    if (!json) return OK;
    if (!accuracy_from_json(json, &a) || !accuracy_is_known(&a))
        return fail(E_INPUT, "errors are not three numbers from 0 on");
    *e = (struct db_errors){true, a.componentwise, a.rms, a.max};
    return OK;
}

json_t *winner_to_json(const struct db_winner *w, bool figures)
{
    char problem[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX] = "cublas", hash[24] = "";
    problem_format(&w->base.problem, problem);
    if (w->config.template) {
        config_format(&w->config, config);
        const struct kernel_key key = kernel_key_of(&w->config, &w->base.problem, w->gpu.arch);
        kernel_hash_format(&key, hash);
    }
    /* What a reader needs comes first, in the order of docs/winners.md. */
    json_t *json = json_pack(
        "{s:s, s:o, s:i, s:i, s:s, s:s*, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b, s:i, s:o, s:o, s:o, s:s}",
        "problem", problem, "gpu", text_json(w->gpu.name), "arch", w->gpu.arch, "sm_count", w->gpu.sm_count,
        "config", config, "template_hash", hash[0] ? hash : NULL, "time_us", w->base.time_us, "cublas_us",
        w->base.anchor_us, "ratio", w->base.ratio, "ratio_low", w->base.ratio_low, "ratio_high",
        w->base.ratio_high, "cold", w->base.cold, "exact", w->base.exact, "predicted", w->base.predicted,
        "protocol", w->stale ? 0 : DB_PROTOCOL, "driver", text_json(w->driver), "nvrtc", text_json(w->nvrtc),
        "cublas", text_json(w->cublas), "when", w->base.when);
    json_t *more =
        json_pack("{s:b, s:i, s:i, s:I, s:i, s:f, s:i, s:i, s:o}", "tied", w->tied, "rounds", w->rounds,
                  "trials", w->trials, "legal", (json_int_t)w->legal_count, "model_rank", w->model_rank,
                  "model_first16_share", w->model_first16_share, "registers", w->registers, "smem_bytes",
                  w->smem_bytes, "gpu_uuid", text_json(w->gpu_uuid));
    bool good = json && more && json_object_update(json, more) == 0;
    if (good && w->rival[0]) good = json_object_set_new(json, "rival", text_json(w->rival)) == 0;
    if (good && w->errors.measured)
        good = json_object_set_new(json, "errors", errors_to_json(&w->errors)) == 0;
    if (good && w->rival_errors.measured)
        good = json_object_set_new(json, "rival_errors", errors_to_json(&w->rival_errors)) == 0;
    if (good && w->checked.kinds > 0)
        good = json_object_set_new(json, "checked", accuracy_checked_to_json(&w->checked)) == 0;
    if (good && w->timing != TIMING_REPEAT)
        good = json_object_set_new(json, "timing", json_string(timing_name(w->timing))) == 0;
    if (good && w->by_energy) good = json_object_set_new(json, "objective", json_string("energy")) == 0;
    if (good && w->joules > 0) good = json_object_set_new(json, "joules", json_real(w->joules)) == 0;
    if (good && w->rival_joules > 0)
        good = json_object_set_new(json, "rival_joules", json_real(w->rival_joules)) == 0;
    if (good && w->config.template && w->config.template->own)
        good = json_object_set_new(json, "kernel", text_json(w->config.template->own)) == 0;
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
    struct gpu named = {.arch = (int)field_integer(&f, "arch", true, 10, 9999)};
    field_copy(&f, "gpu", true, named.name, sizeof named.name);
    named.sm_count = (int)field_integer(&f, "sm_count", true, 1, 1 << 16);
    enum status st = fields_check(&f);
    if (st) return st;
    const json_t *figures = json_object_get(json, "figures");
    if (figures) st = gpu_from_json(figures, gpu);
    else if ((st = gpu_find(descriptors, named.name, gpu)) == E_ABSENT)
        st = fail(E_INPUT, "GPU '%.60s' has no descriptor in %.200s and the line tells no figures",
                  named.name, descriptors);
    if (st) return st;
    if (gpu->arch != named.arch)
        return fail(E_INPUT, "GPU '%.60s' is not of architecture %d", named.name, named.arch);
    memcpy(gpu->name, named.name, sizeof gpu->name);
    gpu->sm_count = named.sm_count;
    return OK;
}

/* The text of an own kernel that nobody here knows: code, which is taken only where that is wanted. */
static enum status take_kernel(const json_t *json, const char *config)
{
    const char *const text = json_string_value(json_object_get(json, "kernel"));
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(config, " "), config);
    if (!text || template_find(name)) return OK;
    if (!db_accepts_kernels)
        return fail(E_ABSENT,
                    "it is of the own kernel %s, whose text is code that would run on your GPUs; "
                    "--accept-kernels takes it",
                    name);
    const enum status st = db_take_kernel ? db_take_kernel(text) : OK;
    return st == E_INPUT ? fail(E_ABSENT, "%s", status_text()) : st;
}

static enum status find_config(const json_t *json, struct db_winner *w)
{
    struct fields f = {.object = json};
    char hash[24];
    field_copy(&f, "config", true, w->config_text, sizeof w->config_text);
    enum status st = fields_check(&f);
    if (st || strcmp(w->config_text, "cublas") == 0) return st;
    field_copy(&f, "template_hash", true, hash, sizeof hash);
    if ((st = fields_check(&f))) return st;
    if ((st = take_kernel(json, w->config_text))) return st;
    if (config_parse(w->config_text, &w->config)) {
        char why[200];
        snprintf(why, sizeof why, "%.190s", status_text());
        return fail(E_ABSENT, "%s", why);
    }
    const struct kernel_key key = kernel_key_of(&w->config, &w->base.problem, w->gpu.arch);
    if (!kernel_hash_means(&key, hash))
        return fail(E_ABSENT, "the kernel template %s has changed since", w->config.template->name);
    const char *why = w->config.template->check(&w->config, &w->base.problem, &w->gpu);
    return why ? fail(E_ABSENT, "its rules refuse it: %s", why) : OK;
}

enum status winner_from_json(const json_t *json, const char *descriptors, struct db_winner *w,
                             int64_t *decided_us)
{
    struct fields f = {.object = json};
    char problem[PROBLEM_TEXT_MAX];
    if (!json_is_object(json)) return fail(E_INPUT, "it is not a JSON object");
    memset(w, 0, sizeof *w);
    field_copy(&f, "problem", true, problem, sizeof problem);
    w->base.time_us = field_number(&f, "time_us", true, -DBL_MAX, DBL_MAX);
    w->base.anchor_us = field_number(&f, "cublas_us", false, -DBL_MAX, DBL_MAX);
    w->base.ratio = field_number(&f, "ratio", false, -DBL_MAX, DBL_MAX);
    w->base.ratio_low = field_number(&f, "ratio_low", false, -DBL_MAX, DBL_MAX);
    w->base.ratio_high = field_number(&f, "ratio_high", false, -DBL_MAX, DBL_MAX);
    w->base.cold = field_bool(&f, "cold", true);
    w->base.exact = field_bool(&f, "exact", true);
    w->base.predicted = field_bool(&f, "predicted", false);
    w->tied = field_bool(&f, "tied", false);
    field_copy(&f, "driver", false, w->driver, sizeof w->driver);
    field_copy(&f, "nvrtc", false, w->nvrtc, sizeof w->nvrtc);
    field_copy(&f, "cublas", false, w->cublas, sizeof w->cublas);
    field_copy(&f, "rival", false, w->rival, sizeof w->rival);
    field_copy(&f, "when", false, w->base.when, sizeof w->base.when);
    field_copy(&f, "gpu_uuid", false, w->gpu_uuid, sizeof w->gpu_uuid);
    w->rounds = (int)field_integer(&f, "rounds", false, 0, 1 << 20);
    w->trials = (int)field_integer(&f, "trials", false, 0, INT32_MAX);
    w->legal_count = field_integer(&f, "legal", false, 0, INT64_MAX);
    w->model_rank = (int)field_integer(&f, "model_rank", false, 0, INT32_MAX);
    w->model_first16_share = field_number(&f, "model_first16_share", false, -DBL_MAX, DBL_MAX);
    w->registers = (int)field_integer(&f, "registers", false, 0, 1 << 20);
    w->smem_bytes = (int)field_integer(&f, "smem_bytes", false, 0, INT32_MAX);
    w->joules = field_number(&f, "joules", false, 0, DB_JOULES_MAX);
    w->rival_joules = field_number(&f, "rival_joules", false, 0, DB_JOULES_MAX);
    char timing[16] = "", objective[16] = "";
    field_copy(&f, "timing", false, timing, sizeof timing);
    field_copy(&f, "objective", false, objective, sizeof objective);
    w->by_energy = strcmp(objective, "energy") == 0;
    if (timing[0] && timing_parse(timing, &w->timing)) w->timing = TIMING_COUNT; /* a later version's */
    enum status st = fields_check(&f);
    if (!st) st = problem_parse(problem, &w->base.problem);
    *decided_us = 0;
    if (!st && w->base.when[0]) st = time_parse(w->base.when, decided_us);
    if (!st) st = find_gpu(json, descriptors, &w->gpu);
    if (!st) st = errors_from_json(json_object_get(json, "errors"), &w->errors);
    if (!st) st = errors_from_json(json_object_get(json, "rival_errors"), &w->rival_errors);
    if (!st && !accuracy_checked_from_json(json_object_get(json, "checked"), &w->checked))
        st = fail(E_INPUT, "checked is not what a last check tells: kinds, bounded, m, n, k, rms");
    if (!st) st = find_config(json, w);
    /* Until rivals had names there was one. */
    if (!st && !w->rival[0] && (w->base.anchor_us > 0 || !w->config.template))
        snprintf(w->rival, sizeof w->rival, "cublasSgemm");
    return st;
}

/* ---- trials ---- */

json_t *trial_to_json(const struct db_full_trial *t, int gpu)
{
    char problem[PROBLEM_TEXT_MAX], hash[24];
    problem_format(&t->problem, problem);
    snprintf(hash, sizeof hash, "%016" PRIx64, t->kernel_hash);
    return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:f, s:i, s:I, s:I, s:b, s:o}", "problem",
                     problem, "config", text_json(t->config_text), "template_hash", hash, "gpu", gpu,
                     "gpu_uuid", text_json(t->context.gpu_uuid), "driver", text_json(t->context.driver),
                     "nvrtc", text_json(t->context.nvrtc), "cublas", text_json(t->context.cublas),
                     "power_limit_w", t->context.power_limit_w, "protocol", t->protocol, "started_us",
                     (json_int_t)t->started_us, "ended_us", (json_int_t)t->ended_us, "recovered",
                     t->recovered, "outcome", outcome_to_json(&t->outcome));
}

enum status trial_from_json(const json_t *json, const json_t *gpus, struct db_full_trial *t)
{
    struct fields f = {.object = json};
    char problem[PROBLEM_TEXT_MAX], hash[24];
    memset(t, 0, sizeof *t);
    field_copy(&f, "problem", true, problem, sizeof problem);
    field_copy(&f, "config", true, t->config_text, sizeof t->config_text);
    field_copy(&f, "template_hash", true, hash, sizeof hash);
    field_copy(&f, "gpu_uuid", true, t->context.gpu_uuid, sizeof t->context.gpu_uuid);
    field_copy(&f, "driver", true, t->context.driver, sizeof t->context.driver);
    field_copy(&f, "nvrtc", true, t->context.nvrtc, sizeof t->context.nvrtc);
    field_copy(&f, "cublas", true, t->context.cublas, sizeof t->context.cublas);
    t->context.power_limit_w = field_number(&f, "power_limit_w", true, -DBL_MAX, DBL_MAX);
    t->started_us = field_integer(&f, "started_us", true, 0, INT64_MAX);
    t->ended_us = field_integer(&f, "ended_us", true, 0, INT64_MAX);
    t->recovered = field_bool(&f, "recovered", false);
    const int64_t gpu = field_integer(&f, "gpu", true, 0, INT32_MAX);
    enum status st = fields_check(&f);
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
    const struct kernel_key key = kernel_key_of(&t->config, &t->problem, t->context.gpu.arch);
    if (!kernel_hash_means(&key, hash))
        return fail(E_ABSENT, "the kernel template %s has changed since", t->config.template->name);
    return OK;
}

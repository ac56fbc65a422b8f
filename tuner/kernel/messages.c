#include "messages.h"

#include "utf8.h"
#include <stdio.h>
#include <string.h>

json_t *facts_to_json(const struct kernel_facts *f)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f}", "registers", f->registers, "spill_bytes",
                     f->spill_bytes, "static_smem_bytes", f->static_smem_bytes, "cubin_bytes", f->cubin_bytes,
                     "most_threads", f->most_threads, "compile_ms", f->compile_ms);
}

bool message_int(const json_t *object, const char *key, int least, int *value)
{
    const json_t *member = json_object_get(object, key);
    const json_int_t number = json_integer_value(member);
    if (!json_is_integer(member) || number < least || number > INT32_MAX) return false;
    *value = (int)number;
    return true;
}

/* A finite number. */
static bool message_real(const json_t *object, const char *key, double *value)
{
    const json_t *member = json_object_get(object, key);
    *value = json_number_value(member);
    return json_is_number(member) && *value >= 0;
}

enum status facts_from_json(const json_t *json, struct kernel_facts *facts)
{
    struct kernel_facts f = {0};
    if (!message_int(json, "registers", 0, &f.registers) ||
        !message_int(json, "spill_bytes", 0, &f.spill_bytes) ||
        !message_int(json, "static_smem_bytes", 0, &f.static_smem_bytes) ||
        !message_int(json, "cubin_bytes", 0, &f.cubin_bytes) ||
        (json_object_get(json, "most_threads") && /* caches of earlier versions lack it */
         !message_int(json, "most_threads", 0, &f.most_threads)) ||
        !message_real(json, "compile_ms", &f.compile_ms))
        return fail(E_INPUT, "malformed kernel facts: a figure is missing, negative or too large");
    *facts = f;
    return OK;
}

json_t *kernel_to_json(const struct kernel_key *kernel)
{
    char text[CONFIG_TEXT_MAX];
    config_format(&kernel->config, text);
    return json_pack("{s:s, s:s, s:s, s:i, s:b, s:i}", "config", text, "op", kernel_key_op(kernel), "type",
                     gemm_type_row(kernel->type)->name, "epilogue", kernel->epilogue, "pointers",
                     kernel->pointers, "arch", kernel->arch);
}

static bool is_op(const char *text)
{
    return strlen(text) == 2 && strspn(text, "nt") == 2;
}

enum status kernel_from_json(const json_t *json, struct kernel_key *kernel)
{
    const char *text, *op, *type;
    int arch, pointers;
    struct config config;
    struct problem problem = {0};
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)json, &error, 0, "{s:s, s:s, s:s, s:i, s:b, s:i}", "config",
                       &text, "op", &op, "type", &type, "epilogue", &problem.epilogue, "pointers", &pointers,
                       "arch", &arch))
        return fail(E_CHILD, "malformed kernel key: %s", error.text);
    if (!is_op(op) || !gemm_type_find(type, &problem.type))
        return fail(E_CHILD, "malformed kernel key: op '%.20s', type '%.40s'", op, type);
    if (!epilogue_is_known(problem.epilogue))
        return fail(E_CHILD, "malformed kernel key: epilogue %d", problem.epilogue);
    enum status st = config_parse(text, &config);
    if (st) return st;
    problem.trans_a = op[0] == 't';
    problem.trans_b = op[1] == 't';
    problem.pointers = pointers;
    *kernel = kernel_key_of(&config, &problem, arch);
    return OK;
}

#define RATE_SUFFIX "_tflops"

json_t *gpu_to_json(const struct gpu *g)
{
    char id[sizeof g->id], name[sizeof g->name],
        source[sizeof g->source]; /* text from a driver, a file or a database */
    utf8_copy(id, sizeof id, g->id);
    utf8_copy(name, sizeof name, g->name);
    utf8_copy(source, sizeof source, g->source);
    json_t *json = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:f}", "id", id, "name", name,
        "arch", g->arch, "sm_count", g->sm_count, "threads_per_sm", g->threads_per_sm, "blocks_per_sm",
        g->blocks_per_sm, "registers_per_sm", g->registers_per_sm, "smem_per_sm_bytes", g->smem_per_sm_bytes,
        "smem_per_block_bytes", g->smem_per_block_bytes, "smem_reserved_bytes", g->smem_reserved_bytes,
        "l2_bytes", (json_int_t)g->l2_bytes, "memory_bytes", (json_int_t)g->memory_bytes, "clock_mhz",
        g->clock_mhz, "memory_gb_per_s", g->memory_gb_per_s);
    for (int i = 0; json && i < GPU_RATES_MAX && g->rate[i].name[0]; i++) {
        char key[sizeof g->rate[i].name + sizeof RATE_SUFFIX];
        snprintf(key, sizeof key, "%s" RATE_SUFFIX, g->rate[i].name);
        json_object_set_new(json, key, json_real(g->rate[i].value));
    }
    json_object_set_new(json, "source", json_string(source));
    return json;
}

/* Members with the same names as in a descriptor. Returns false if one is not a valid rate. */
static bool rates_from_json(const json_t *json, struct gpu *gpu)
{
    const size_t suffix = strlen(RATE_SUFFIX);
    const char *key;
    const json_t *member;
    json_object_foreach((json_t *)(uintptr_t)json, key, member)
    {
        const size_t length = strlen(key);
        char name[sizeof gpu->rate[0].name];
        double value;
        if (length <= suffix || strcmp(key + length - suffix, RATE_SUFFIX) != 0) continue;
        if (length - suffix >= sizeof name || !message_real(json, key, &value)) return false;
        snprintf(name, sizeof name, "%.*s", (int)(length - suffix), key);
        if (!gpu_set_rate(gpu, name, value)) return false;
    }
    return true;
}

enum status gpu_from_json(const json_t *json, struct gpu *gpu)
{
    struct gpu g = {0};
    const struct {
        const char *key;
        int least, *value;
    } limits[] = {{"arch", 50, &g.arch},
                  {"sm_count", 1, &g.sm_count},
                  {"threads_per_sm", 32, &g.threads_per_sm},
                  {"blocks_per_sm", 1, &g.blocks_per_sm},
                  {"registers_per_sm", 1, &g.registers_per_sm},
                  {"smem_per_sm_bytes", 1, &g.smem_per_sm_bytes},
                  {"smem_per_block_bytes", 1, &g.smem_per_block_bytes},
                  {"smem_reserved_bytes", 0, &g.smem_reserved_bytes}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!message_int(json, limits[i].key, limits[i].least, limits[i].value))
            return fail(E_INPUT, "malformed GPU description: %s is not a whole number of at least %d",
                        limits[i].key, limits[i].least);
    const char *id = json_string_value(json_object_get(json, "id")),
               *name = json_string_value(json_object_get(json, "name")),
               *source = json_string_value(json_object_get(json, "source"));
    const json_t *l2 = json_object_get(json, "l2_bytes"), *memory = json_object_get(json, "memory_bytes");
    if (!id || !name || !source) return fail(E_INPUT, "malformed GPU description: a text is missing");
    if (!json_is_integer(l2) || !json_is_integer(memory) || json_integer_value(l2) < 0 ||
        json_integer_value(memory) < 0 || !message_real(json, "clock_mhz", &g.clock_mhz) ||
        !message_real(json, "memory_gb_per_s", &g.memory_gb_per_s) || !rates_from_json(json, &g) ||
        !json_is_number(json_object_get(json, "fp32_tflops")))
        return fail(E_INPUT, "malformed GPU description: a figure is missing or negative");
    snprintf(g.id, sizeof g.id, "%s", id);
    snprintf(g.name, sizeof g.name, "%s", name);
    snprintf(g.source, sizeof g.source, "%s", source);
    g.l2_bytes = json_integer_value(l2), g.memory_bytes = json_integer_value(memory);
    *gpu = g;
    return OK;
}

json_t *message_failure(enum status st)
{
    char text[1024]; /* may contain a file name, and thereby any bytes */
    utf8_copy(text, sizeof text, status_text());
    return json_pack("{s:b, s:i, s:s}", "ok", 0, "status", (int)st, "error", text);
}

enum status message_check(const json_t *answer)
{
    const json_t *ok = json_object_get(answer, "ok");
    if (json_is_true(ok)) return OK;
    const json_t *st = json_object_get(answer, "status"), *text = json_object_get(answer, "error");
    if (!json_is_false(ok) || !json_is_integer(st) || json_string_length(text) == 0)
        return fail(E_CHILD, "a child process gave a malformed answer");
    json_int_t code = json_integer_value(st);
    if (code <= OK || code >= E_HELPED) code = E_CHILD;
    return fail((enum status)code, "%s", json_string_value(text));
}

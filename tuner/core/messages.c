#include "messages.h"

#include "utf8.h"
#include <stdio.h>
#include <string.h>

json_t *facts_to_json(const struct kernel_facts *f)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:f}", "registers", f->registers, "spill_bytes", f->spill_bytes,
                     "static_smem_bytes", f->static_smem_bytes, "cubin_bytes", f->cubin_bytes, "compile_ms",
                     f->compile_ms);
}

enum status facts_from_json(const json_t *json, struct kernel_facts *facts)
{
    struct kernel_facts f = {0};
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)json, &error, 0, "{s:i, s:i, s:i, s:i, s:F}", "registers",
                       &f.registers, "spill_bytes", &f.spill_bytes, "static_smem_bytes", &f.static_smem_bytes,
                       "cubin_bytes", &f.cubin_bytes, "compile_ms", &f.compile_ms))
        return fail(E_INPUT, "malformed kernel facts: %s", error.text);
    if (f.registers < 0 || f.spill_bytes < 0 || f.static_smem_bytes < 0 || f.cubin_bytes < 0 ||
        f.compile_ms < 0.0)
        return fail(E_INPUT, "malformed kernel facts: a negative value");
    *facts = f;
    return OK;
}

json_t *gpu_to_json(const struct gpu *g)
{
    char id[sizeof g->id], name[sizeof g->name],
        source[sizeof g->source]; /* of a driver, a file, a database */
    utf8_copy(id, sizeof id, g->id);
    utf8_copy(name, sizeof name, g->name);
    utf8_copy(source, sizeof source, g->source);
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:s}", "id", id, "name",
        name, "arch", g->arch, "sm_count", g->sm_count, "threads_per_sm", g->threads_per_sm, "blocks_per_sm",
        g->blocks_per_sm, "registers_per_sm", g->registers_per_sm, "smem_per_sm_bytes", g->smem_per_sm_bytes,
        "smem_per_block_bytes", g->smem_per_block_bytes, "smem_reserved_bytes", g->smem_reserved_bytes,
        "l2_bytes", (json_int_t)g->l2_bytes, "memory_bytes", (json_int_t)g->memory_bytes, "clock_mhz",
        g->clock_mhz, "memory_gb_per_s", g->memory_gb_per_s, "fp32_tflops", g->fp32_tflops, "source", source);
}

enum status gpu_from_json(const json_t *json, struct gpu *gpu)
{
    struct gpu g = {0};
    const char *id, *name, *source;
    json_int_t l2, memory;
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)json, &error, 0,
                       "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:F, s:F, s:F, s:s}",
                       "id", &id, "name", &name, "arch", &g.arch, "sm_count", &g.sm_count, "threads_per_sm",
                       &g.threads_per_sm, "blocks_per_sm", &g.blocks_per_sm, "registers_per_sm",
                       &g.registers_per_sm, "smem_per_sm_bytes", &g.smem_per_sm_bytes, "smem_per_block_bytes",
                       &g.smem_per_block_bytes, "smem_reserved_bytes", &g.smem_reserved_bytes, "l2_bytes",
                       &l2, "memory_bytes", &memory, "clock_mhz", &g.clock_mhz, "memory_gb_per_s",
                       &g.memory_gb_per_s, "fp32_tflops", &g.fp32_tflops, "source", &source))
        return fail(E_INPUT, "malformed GPU description: %s", error.text);
    if (g.arch < 50 || g.sm_count < 1 || g.threads_per_sm < 32 || g.registers_per_sm < 1 ||
        g.smem_per_block_bytes < 1)
        return fail(E_INPUT, "malformed GPU description: a limit is not positive");
    snprintf(g.id, sizeof g.id, "%s", id);
    snprintf(g.name, sizeof g.name, "%s", name);
    snprintf(g.source, sizeof g.source, "%s", source);
    g.l2_bytes = l2, g.memory_bytes = memory;
    *gpu = g;
    return OK;
}

json_t *message_failure(enum status st)
{
    char text[1024]; /* it may name a file, and file names hold any bytes */
    utf8_copy(text, sizeof text, status_text());
    return json_pack("{s:b, s:i, s:s}", "ok", 0, "status", (int)st, "error", text);
}

enum status message_check(const json_t *answer)
{
    const json_t *ok = json_object_get(answer, "ok");
    if (json_is_true(ok)) return OK;
    const json_t *st = json_object_get(answer, "status"), *text = json_object_get(answer, "error");
    if (!json_is_false(ok) || !json_is_integer(st) || !json_is_string(text))
        return fail(E_CHILD, "a child process gave a malformed answer");
    json_int_t code = json_integer_value(st);
    if (code <= OK || code >= STATUS_COUNT) code = E_CHILD;
    return fail((enum status)code, "%s", json_string_value(text));
}

/* GPU descriptors: what is read is within the limits that the rules and the model rely on, and survives a
 * message. */
#include "fuzz.h"
#include "gpu.h"
#include "messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {"[gpu]\n",
                                  "id = ",
                                  "name = ",
                                  "arch = ",
                                  "sm_count = ",
                                  "source = ",
                                  " ; ",
                                  "# ",
                                  "\n  ",
                                  "= ",
                                  ": ",
                                  "\xef\xbb\xbf",
                                  "\xff",
                                  "\xc3\xa9",
                                  "clock_mhz = ",
                                  "memory_bytes = 1e15\n",
                                  "l2_bytes = 0\n",
                                  "[other]\n",
                                  "NVIDIA GeForce",
                                  "0x7fffffff",
                                  NULL};

static void check_gpu(const struct gpu *g)
{
    PROMISE(g->arch >= 50 && g->arch <= 999 && g->sm_count >= 1 && g->sm_count <= 4096, "%d, %d", g->arch,
            g->sm_count);
    PROMISE(g->threads_per_sm >= 32 && g->blocks_per_sm >= 1 && g->registers_per_sm >= 1024,
            "an SM holds nothing");
    PROMISE(g->smem_per_block_bytes >= 1024 && g->smem_per_sm_bytes >= 1024 && g->smem_reserved_bytes >= 0,
            "memory");
    PROMISE(g->l2_bytes >= 0 && g->memory_bytes >= 1, "memory");
    PROMISE(isfinite(g->clock_mhz) && g->clock_mhz > 0 && isfinite(gpu_rate(g, "fp32")) &&
                gpu_rate(g, "fp32") > 0,
            "speed");
    PROMISE(isfinite(g->memory_gb_per_s) && g->memory_gb_per_s > 0, "speed");
    PROMISE(g->id[0] && g->name[0] && g->source[0], "a text is empty");
    PROMISE(memchr(g->id, 0, sizeof g->id) && memchr(g->name, 0, sizeof g->name), "a text does not end");
    PROMISE(gpu_same_name(g->name, g->name), "%s", g->name);
    char arch[16];
    gpu_arch_name(g->arch, arch);
    PROMISE(strncmp(arch, "sm_", 3) == 0, "%s", arch);
}

static void check_message(const struct gpu *g)
{
    struct gpu again;
    json_t *json = gpu_to_json(g);
    PROMISE(json, "%s cannot be told", g->name);
    PROMISE(gpu_from_json(json, &again) == OK, "%s", status_text());
    check_gpu(&again);
    PROMISE(again.arch == g->arch && again.sm_count == g->sm_count && again.memory_bytes == g->memory_bytes &&
                again.clock_mhz == g->clock_mhz && again.smem_per_block_bytes == g->smem_per_block_bytes,
            "%s changed", g->name);
    json_decref(json);
}

/* However long a comment is, it is one, whatever the end of it would mean on a line of its own. */
static void check_comment(const uint8_t *data, size_t size, const struct gpu *g)
{
    static const char hidden[] = "sm_count = 7";
    const size_t before = 190 + size % 16; /* about as long as the INI library's lines */
    uint8_t *longer = malloc(size + 2 + before + sizeof hidden);
    struct gpu again;
    if (!longer) abort();
    memcpy(longer, data, size);
    memcpy(longer + size, "\n#", 2);
    memset(longer + size + 2, ' ', before);
    memcpy(longer + size + 2 + before, hidden, sizeof hidden - 1);
    const enum status st = gpu_read(fuzz_file(longer, size + 2 + before + sizeof hidden - 1), &again);
    PROMISE(st != OK || again.sm_count == g->sm_count, "a comment made it %d SMs", again.sm_count);
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu gpu;
    const char *path = fuzz_file(data, size);
    const enum status st = gpu_read(path, &gpu);
    if (st) {
        PROMISE(st == E_INPUT && strstr(status_text(), path), "%s", status_text());
        return 0;
    }
    fuzz_accept();
    check_gpu(&gpu);
    check_message(&gpu);
    check_comment(data, size, &gpu);
    return 0;
}

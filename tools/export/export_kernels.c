#include "export_header.h"

#include "compile.h"
#include "forked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int kernels_number(struct export_kernels *kernels, const struct kernel_key *key)
{
    for (int i = 0; i < kernels->count; i++)
        if (kernel_key_equal(&kernels->list[i].key, key)) return i;
    struct export_kernel *grown = realloc(kernels->list, (size_t)(kernels->count + 1) * sizeof *grown);
    if (!grown) return -1;
    kernels->list = grown;
    grown[kernels->count] = (struct export_kernel){.key = *key};
    return kernels->count++;
}

static enum status compile_one(struct export_kernel *k, bool with_ptx, const char *cache)
{
    struct compiled compiled;
    char text[CONFIG_TEXT_MAX];
    enum status st = compile_kernel(&k->key, cache, &compiled);
    if (st) return st;
    config_format(&k->key.config, text);
    if (!compiled.built) return fail(E_COMPILER, "%s does not compile: %s", text, compiled.log);
    st = compile_read_cubin(compiled.path, compiled.checksum, &k->cubin, &k->cubin_bytes);
    if (st || !with_ptx) return st;
    st = compile_ptx(&k->key, cache, &compiled);
    if (st || !compiled.built) return st;
    return compile_read_cubin(compiled.path, compiled.checksum, &k->ptx, &k->ptx_bytes);
}

struct ahead {
    const struct export_kernels *kernels;
    const char *cache;
};

/* Fills the cache ahead; a kernel that fails here is told of by who reads the cache. */
static void compile_ahead(void *self, int i)
{
    const struct ahead *ahead = self;
    const struct export_kernel *k = &ahead->kernels->list[i];
    struct compiled compiled;
    compile_kernel(&k->key, ahead->cache, &compiled);
    if (ahead->kernels->with_ptx) compile_ptx(&k->key, ahead->cache, &compiled);
}

/* Means of the 287 kernels that ship: bytes of machine code, and of text for each of them. PTX, if there is
 * any, makes a header four times as large. */
#define USUAL_BYTES    40000
#define TEXT_PER_BYTE  1.84
#define PTX_PER_CODE   3
#define COMPILE_CORE_S 2.1 /* mean of 34 on a core of a server; half of it for PTX */

static void add_arch(int arch, char *archs, size_t room)
{
    char name[16];
    gpu_arch_name(arch, name);
    const size_t used = strlen(archs);
    if (!strstr(archs, name)) snprintf(archs + used, room - used, "%s%s", used ? ", " : "", name);
}

struct kernels_cost kernels_expect(const struct export_kernels *kernels)
{
    struct kernels_cost cost = {.to_compile = 0};
    char cache[4096], id[COMPILE_ID_TEXT], *code;
    const bool has_cache = compile_cache_path(cache, sizeof cache) == OK;
    double bytes = 0;
    for (int i = 0; i < kernels->count; i++) {
        const struct kernel_key *key = &kernels->list[i].key;
        const bool ptx = kernels->with_ptx && !key->config.template->one_arch;
        size_t length = USUAL_BYTES;
        add_arch(key->arch, cost.archs, sizeof cost.archs);
        if (has_cache && compile_id(key, id) == OK && compile_recall(id, cache, &code, &length) == OK) {
            free(code);
            cost.to_compile += ptx;
        } else {
            cost.core_s += COMPILE_CORE_S;
            cost.to_compile++;
        }
        if (ptx) cost.core_s += COMPILE_CORE_S / 2;
        bytes += (double)length * TEXT_PER_BYTE * (ptx ? 1 + PTX_PER_CODE : 1);
    }
    cost.bytes = (int64_t)bytes;
    return cost;
}

enum status kernels_compile(struct export_kernels *kernels)
{
    char cache[4096], version[16];
    if (kernels->count == 0) return OK;
    enum status st = compile_cache_path(cache, sizeof cache);
    if (!st) st = compile_load(version);
    if (!st) forked_for(kernels->count, compile_ahead, &(struct ahead){kernels, cache});
    for (int i = 0; !st && i < kernels->count; i++)
        st = compile_one(&kernels->list[i], kernels->with_ptx, cache);
    return st;
}

/* In words of 8 bytes: half the text of one number a byte, an eighth of the numbers to compile, and aligned
 * as machine code has to be. */
static void write_words(const char *name, const char *what, int number, const char *bytes, size_t length,
                        FILE *stream)
{
    fprintf(stream, "static const uint64_t gt_%s_%s%d[] = {", name, what, number);
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8 && i + j < length; j++)
            word |= (uint64_t)(unsigned char)bytes[i + j] << 8 * j;
        if (i % 64 == 0) putc('\n', stream);
        if (word < 10) fprintf(stream, "%d,", (int)word);
        else fprintf(stream, "0x%" PRIx64 "u,", word);
    }
    fprintf(stream, "\n};\n");
}

void kernels_write(const struct export_kernels *kernels, const char *name, FILE *stream)
{
    if (kernels->count)
        fprintf(stream, "/* Machine code, for machines that store the lowest byte first. */\n"
                        "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
                        "#error \"this header's kernels are stored for little-endian machines\"\n"
                        "#endif\n");
    for (int i = 0; i < kernels->count; i++) {
        const struct export_kernel *k = &kernels->list[i];
        write_words(name, "cubin", i, k->cubin, k->cubin_bytes, stream);
        if (k->ptx) write_words(name, "ptx", i, k->ptx, k->ptx_bytes, stream);
    }
    if (kernels->count) fprintf(stream, "static const struct gt_winner_kernel gt_%s_kernels[] = {\n", name);
    for (int i = 0; i < kernels->count; i++) {
        const struct export_kernel *k = &kernels->list[i];
        fprintf(stream, "    {gt_%s_cubin%d, ", name, i);
        if (k->ptx) fprintf(stream, "gt_%s_ptx%d, %zuu, %zuu},\n", name, i, k->cubin_bytes, k->ptx_bytes);
        else fprintf(stream, "NULL, %zuu, 0},\n", k->cubin_bytes);
    }
    if (kernels->count) fprintf(stream, "};\n");
}

void kernels_free(struct export_kernels *kernels)
{
    for (int i = 0; i < kernels->count; i++) {
        free(kernels->list[i].cubin);
        free(kernels->list[i].ptx);
    }
    free(kernels->list);
    *kernels = (struct export_kernels){0};
}

#include "export_kernels.h"

#include "compile.h"
#include "cores.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* What fills the cache ahead, every so-manieth kernel each; a kernel that fails here is told of by who reads
 * the cache. A process and not a thread, since compilers crash, and NVRTC ends its process in its own way
 * when SIGINT comes. */
static void compile_ahead(const struct export_kernels *kernels, const char *cache, int first, int step)
{
    struct compiled compiled;
    for (int i = first; i < kernels->count; i += step) {
        const struct export_kernel *k = &kernels->list[i];
        compile_kernel(&k->key, cache, &compiled);
        if (kernels->with_ptx) compile_ptx(&k->key, cache, &compiled);
    }
}

static void fill_cache(const struct export_kernels *kernels, const char *cache)
{
    pid_t children[64], parent = getpid();
    const int cores = cores_allowed();
    int started = 0, count = kernels->count < 64 ? kernels->count : 64;
    if (count > cores) count = cores;
    for (; started < count; started++) {
        children[started] = fork();
        if (children[started] < 0) break; /* then it takes longer */
        if (children[started] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would outlive a parent that a signal ends */
            if (getppid() == parent) compile_ahead(kernels, cache, started, count);
            _exit(0); /* what the parent has open is not for us to close */
        }
    }
    for (int i = 0; i < started; i++) waitpid(children[i], NULL, 0);
}

enum status kernels_compile(struct export_kernels *kernels)
{
    char cache[4096], version[16];
    if (kernels->count == 0) return OK;
    enum status st = compile_cache_path(cache, sizeof cache);
    if (!st) st = compile_load(version);
    if (!st) fill_cache(kernels, cache);
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

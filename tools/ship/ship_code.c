/* ship_code.c — at build time: compiles the winners that ship, for one architecture, into the file from which
 * library and drop-in load them without a compiler (db_code.h).
 *
 *     ship_code ARCH WINNERS OUT CACHE
 *
 * ARCH: 90. WINNERS: the folder with *.jsonl. OUT: the folder of the new file, code-90.sqlite. CACHE: a
 * folder for compiled kernels, so that the next time only those are compiled that changed. A winner that the
 * compiler refuses, or whose kernel changed since it won, is left out and named.
 */
#include "compile.h"
#include "db_code.h"
#include "forked.h"
#include "paths.h"
#include "pretuned.h"
#include "print.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shipping {
    const char *winners, *out, *cache;
    struct gpu gpu; /* only its architecture counts */
    struct kernel_key *keys;
    struct db_code *kernels;
    int count, room, changed;
    enum status st;
};

/* ---- which kernels ---- */

static void add_winner(void *self, const struct db_brief *brief)
{
    struct shipping *s = self;
    if (s->st || !brief->config.template || template_is_library(brief->config.template)) return;
    s->changed += brief->changed;
    if (brief->changed) return;
    const struct kernel_key key = kernel_key_of(&brief->config, &brief->base.problem, s->gpu.arch);
    for (int i = 0; i < s->count; i++)
        if (kernel_key_equal(&s->keys[i], &key)) return;
    if (s->count == s->room) {
        const int room = s->room ? 2 * s->room : 256;
        struct kernel_key *grown = realloc(s->keys, (size_t)room * sizeof *grown);
        if (!grown) {
            s->st = fail(E_MEMORY, "out of memory while reading winners");
            return;
        }
        s->keys = grown;
        s->room = room;
    }
    s->keys[s->count++] = key;
}

static enum status read_winners(struct shipping *s)
{
    int64_t broken = 0;
    char first[1400];
    enum status st = pretuned_read(s->winners, &s->gpu, add_winner, s, &broken, first, sizeof first);
    if (!st) st = s->st;
    if (!st && broken) st = fail(E_INPUT, "%s", first);
    if (!st && s->count == 0) st = fail(E_INPUT, "%s has no winners for it", s->winners);
    return st;
}

/* ---- their code ---- */

/* In a child; what fails here is told of by who reads the cache. */
static void compile_ahead(void *self, int i)
{
    const struct shipping *s = self;
    struct compiled compiled;
    compile_kernel(&s->keys[i], s->cache, &compiled);
}

/* "sgemm nn simt BM=16 ...": malloc'ed. */
static char *name_of(const struct kernel_key *key)
{
    char config[CONFIG_TEXT_MAX], text[CONFIG_TEXT_MAX + 64];
    config_format(&key->config, config);
    snprintf(text, sizeof text, "%s %s %s", gemm_type_row(key->type)->name, kernel_key_op(key), config);
    return strdup(text);
}

/* E_ABSENT: the compiler refuses it. */
static enum status compile_one(const struct shipping *s, const struct kernel_key *key, struct db_code *kernel)
{
    struct compiled compiled;
    char *code = NULL;
    size_t bytes = 0;
    enum status st = compile_id(key, kernel->id);
    if (!st) st = compile_kernel(key, s->cache, &compiled);
    if (!st && !compiled.built) {
        char text[CONFIG_TEXT_MAX];
        config_format(&key->config, text);
        return fail(E_ABSENT, "%s does not compile: %s", text, compiled.log);
    }
    if (!st) st = compile_read_cubin(compiled.path, compiled.checksum, &code, &bytes);
    if (st) return st;
    *kernel = (struct db_code){.kernel = name_of(key), .code = code, .bytes = bytes, .facts = compiled.facts};
    if (!kernel->kernel) st = fail(E_MEMORY, "out of memory while shipping a kernel");
    return st ? st : compile_id(key, kernel->id);
}

static enum status compile_all(struct shipping *s, int *built)
{
    char version[16];
    enum status st = compile_load(version);
    s->kernels = calloc((size_t)s->count, sizeof *s->kernels);
    if (!st && !s->kernels) st = fail(E_MEMORY, "out of memory while shipping kernels");
    if (!st) forked_for(s->count, compile_ahead, s);
    for (int i = 0; i < s->count && !st; i++) {
        st = compile_one(s, &s->keys[i], &s->kernels[*built]);
        if (!st) ++*built;
        if (st != E_ABSENT) continue;
        print_line(stderr, "ship_code: left out: %s", status_text());
        st = OK;
    }
    return st;
}

static enum status ship(struct shipping *s)
{
    char path[PATH_MAX];
    int built = 0;
    size_t made, bytes = 0;
    if (snprintf(path, sizeof path, "%s/code-%d.sqlite", s->out, s->gpu.arch) >= (int)sizeof path)
        return fail(E_IO, "the name %s is too long", s->out);
    if (paths_make_open_folders(path, &made)) return fail(E_IO, "cannot make the folder %s", s->out);
    enum status st = read_winners(s);
    if (!st) st = compile_all(s, &built);
    if (!st) st = db_code_write(path, s->kernels, built);
    for (int i = 0; i < built; i++) bytes += s->kernels[i].bytes;
    if (!st)
        print_line(stdout, "%s: %d kernels, %.1f MB of machine code; %d winners of kernels that changed",
                   path, built, 1e-6 * (double)bytes, s->changed);
    return st;
}

static void release(struct shipping *s)
{
    for (int i = 0; s->kernels && i < s->count; i++) {
        free((void *)(uintptr_t)s->kernels[i].kernel);
        free((void *)(uintptr_t)s->kernels[i].code);
    }
    free(s->kernels);
    free(s->keys);
}

int main(int argc, char **argv)
{
    struct shipping s = {.winners = NULL};
    if (argc != 5 || (s.gpu.arch = atoi(argv[1])) < 1) {
        print_line(stderr, "ship_code ARCH WINNERS OUT CACHE");
        return status_exit_code(E_USAGE);
    }
    s.winners = argv[2];
    s.out = argv[3];
    s.cache = argv[4];
    const enum status st = ship(&s);
    if (st) print_line(stderr, "ship_code: %s", status_text());
    release(&s);
    return status_exit_code(st);
}

#include "pretuned.h"

#include "env.h"
#include "fields.h"
#include "kernel_hash.h"
#include "loaded_from.h"
#include "paths.h"
#include "trusted.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 4096

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The file from which this code was loaded: the library, or the program that contains it. */
static void own_file(char own[PATH_MAX])
{
    enum status (*here)(char *, size_t) = pretuned_folder;
    void *symbol;
    memcpy(&symbol, &here, sizeof symbol);
    loaded_from(symbol, own, PATH_MAX);
}

/* As from the folder of libraries, or of programs, or `configs` in the same one. */
static bool beside(const char *own, char *path, size_t room)
{
    static const char *const places[] = {"/" GT_SHARE_FROM_LIB, "/" GT_SHARE_FROM_BIN, ""};
    char resolved[PATH_MAX];
    const char *slash = strrchr(own, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, room, "%.*s%s/configs/winners", (int)(slash - own), own, places[i]);
        if (length > 0 && (size_t)length < room && is_folder(path) && trusted(path, own, resolved))
            return snprintf(path, room, "%s", resolved) < (int)room;
    }
    return false;
}

enum status pretuned_folder(char *path, size_t room)
{
    const char *given = env_text("GEMMTUNE_CONFIGS");
    if (given) {
        int length = snprintf(path, room, "%s/winners", given);
        if (length > 0 && (size_t)length < room && is_folder(path)) return OK;
    } else {
        char own[PATH_MAX];
        own_file(own);
        if (beside(own, path, room) || paths_of_source("winners", own, path, room)) return OK;
    }
    path[0] = '\0';
    return fail(E_ABSENT, "no folder of pretuned winners");
}

/* ---- one line ---- */

static enum status parse_config(struct fields *f, int arch, struct db_brief *brief)
{
    const char *text = field_text(f, "config", true, CONFIG_TEXT_MAX);
    if (f->bad || strcmp(text, "cublas") == 0) return OK;
    enum status st = config_parse(text, &brief->config);
    if (st) return st;
    const char *hash = field_text(f, "template_hash", true, 17);
    const struct kernel_key key = kernel_key_of(&brief->config, &brief->base.problem, arch);
    brief->changed = !kernel_hash_means(&key, hash);
    struct accuracy own, rival;
    if (!accuracy_from_json(json_object_get(f->object, "errors"), &own) ||
        !accuracy_from_json(json_object_get(f->object, "rival_errors"), &rival))
        return fail(E_INPUT, "errors are not three numbers from 0 on");
    brief->unproven = !accuracy_answers(gemm_type_row(brief->base.problem.type), &own, &rival);
    return OK;
}

static enum status parse_object(const json_t *object, const struct gpu *gpu, struct db_brief *brief)
{
    struct fields f = {.object = object};
    *brief = (struct db_brief){.base.time_us = 0};
    const char *name = field_text(&f, "gpu", true, GPU_NAME_MAX);
    int arch = (int)field_integer(&f, "arch", true, 0, INT32_MAX),
        sm_count = (int)field_integer(&f, "sm_count", true, 0, INT32_MAX);
    enum status st = fields_check(&f);
    if (st) return st;
    if (arch != gpu->arch) return fail(E_ABSENT, "of another architecture");
    brief->other_gpu = !gpu_same_name(name, gpu->name) || sm_count != gpu->sm_count;
    brief->base.time_us = field_number(&f, "time_us", true, 0, 1e15);
    brief->base.anchor_us = field_number(&f, "cublas_us", false, 0, 1e15);
    brief->base.ratio = field_number(&f, "ratio", false, 0, 1e6);
    brief->base.ratio_low = field_number(&f, "ratio_low", false, 0, 1e6);
    brief->base.ratio_high = field_number(&f, "ratio_high", false, 0, 1e6);
    brief->base.cold = field_bool(&f, "cold", true);
    brief->base.exact = field_bool(&f, "exact", true);
    brief->base.predicted = field_bool(&f, "predicted", false);
    const bool told = json_object_get(object, "protocol") != NULL;
    brief->protocol = told ? (int)field_integer(&f, "protocol", true, 0, INT32_MAX) : 1;
    field_copy(&f, "driver", false, brief->driver, sizeof brief->driver);
    field_copy(&f, "when", false, brief->base.when, sizeof brief->base.when);
    const char *problem = field_text(&f, "problem", true, PROBLEM_TEXT_MAX);
    st = fields_check(&f);
    if (!st) st = problem_parse(problem, &brief->base.problem);
    if (!st) st = parse_config(&f, arch, brief);
    return st ? st : fields_check(&f);
}

enum status pretuned_parse(const char *line, size_t length, const struct gpu *gpu, struct db_brief *brief)
{
    json_error_t error;
    if (length > LINE_MAX_BYTES) return fail(E_INPUT, "the line is longer than %d bytes", LINE_MAX_BYTES);
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!object) return fail(E_INPUT, "%.120s", error.text);
    enum status st =
        json_is_object(object) ? parse_object(object, gpu, brief) : fail(E_INPUT, "it is not a JSON object");
    json_decref(object);
    return st;
}

/* ---- files ---- */

static enum status read_file(const char *path, char **text, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) return fail(E_IO, "cannot read %s: %s", path, strerror(errno));
    struct stat info;
    enum status st = OK;
    *text = NULL;
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > PRETUNED_FILE_MAX)
        st = fail(E_IO, "%s is not a file of at most %d MiB", path, PRETUNED_FILE_MAX >> 20);
    else if (!(*text = malloc((size_t)info.st_size + 1)))
        st = fail(E_MEMORY, "out of memory while reading %s", path);
    else {
        *length = fread(*text, 1, (size_t)info.st_size, file);
        if (ferror(file)) st = fail(E_IO, "cannot read %s: %s", path, strerror(errno));
    }
    fclose(file);
    if (!st) return OK;
    free(*text);
    *text = NULL;
    return st;
}

struct lines_reader {
    enum status (*take)(void *self, const char *line, size_t length);
    void *self;
    int64_t broken;
    char *first_broken;
    size_t room;
};

static enum status read_lines(struct lines_reader *r, const char *path, const char *text, size_t length)
{
    int64_t number = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        number++;
        const enum status st = stop == at ? OK : r->take(r->self, at, (size_t)(stop - at));
        if (st == E_MEMORY) return st;
        if (st && st != E_ABSENT && r->broken++ == 0)
            snprintf(r->first_broken, r->room, "%s:%" PRId64 ": %s", path, number, status_text());
        at = stop + (stop < end);
    }
    return OK;
}

static int is_lines(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && strcmp(dot, ".jsonl") == 0;
}

enum status pretuned_lines(const char *folder,
                           enum status (*take)(void *self, const char *line, size_t length), void *self,
                           int64_t *broken, char *first_broken, size_t room)
{
    struct lines_reader r = {take, self, 0, first_broken, room};
    struct dirent **entries;
    first_broken[0] = '\0';
    int count = scandir(folder, &entries, is_lines, alphasort);
    if (count < 0) return fail(E_IO, "cannot read the folder %s: %s", folder, strerror(errno));
    enum status st = OK;
    for (int i = 0; i < count; i++) {
        char path[4096], *text = NULL;
        size_t length = 0;
        int written = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (!st && written > 0 && (size_t)written < sizeof path) st = read_file(path, &text, &length);
        if (text) st = read_lines(&r, path, text, length);
        free(text);
        free(entries[i]);
    }
    free(entries);
    *broken = r.broken;
    return st;
}

struct pretuned_reader {
    const struct gpu *gpu;
    void (*visit)(void *self, const struct db_brief *brief);
    void *self;
};

static enum status read_brief(void *self, const char *line, size_t length)
{
    const struct pretuned_reader *r = self;
    struct db_brief brief;
    const enum status st = pretuned_parse(line, length, r->gpu, &brief);
    if (!st) r->visit(r->self, &brief);
    return st;
}

enum status pretuned_read(const char *folder, const struct gpu *gpu,
                          void (*visit)(void *self, const struct db_brief *brief), void *self,
                          int64_t *broken, char *first_broken, size_t room)
{
    struct pretuned_reader r = {gpu, visit, self};
    return pretuned_lines(folder, read_brief, &r, broken, first_broken, room);
}

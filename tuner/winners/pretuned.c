#include "pretuned.h"

#include "env.h"
#include "fields.h"
#include "file_seen.h"
#include "json_pick.h"
#include "kernel_hash.h"
#include "loaded_from.h"
#include "trusted.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

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
        if (beside(own, path, room)) return OK;
    }
    path[0] = '\0';
    return fail(E_ABSENT, "no folder of pretuned winners");
}

enum status pretuned_code(const char *folder, int arch, char *path, size_t room)
{
    char usual[PATH_MAX];
    enum status st = folder ? OK : pretuned_folder(usual, sizeof usual);
    if (st) return st;
    if (!folder) folder = usual;
    const int length = snprintf(path, room, "%s/code-%d.sqlite", folder, arch);
    if (!folder[0] || length < 0 || (size_t)length >= room)
        return fail(E_ABSENT, "no folder of machine code");
    return OK;
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
    struct accuracy_checked checked;
    if (!accuracy_checked_from_json(json_object_get(f->object, "checked"), &checked))
        return fail(E_INPUT, "checked is not what a last check tells: kinds, bounded, m, n, k, rms");
    if (gemm_type_has_limits(brief->base.problem.type))
        brief->claim = accuracy_claim_of(&own, &rival, &checked);
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

/* What parse_object and parse_config ask for. */
static const char *const members[] = {
    "gpu",        "arch",   "sm_count", "time_us",       "cublas_us",    "ratio",   "ratio_low",
    "ratio_high", "cold",   "exact",    "predicted",     "protocol",     "driver",  "when",
    "problem",    "config", "errors",   "template_hash", "rival_errors", "checked", NULL};

enum status pretuned_parse(const char *line, size_t length, const struct gpu *gpu, struct db_brief *brief)
{
    json_error_t error;
    if (length > LINE_MAX_BYTES) return fail(E_INPUT, "the line is longer than %d bytes", LINE_MAX_BYTES);
    json_t *object = json_pick(line, length, members);
    if (!object) object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!object) return fail(E_INPUT, "%.120s", error.text);
    enum status st =
        json_is_object(object) ? parse_object(object, gpu, brief) : fail(E_INPUT, "it is not a JSON object");
    json_decref(object);
    return st;
}

/* ---- files ---- */

static enum status read_file(const char *path, char **text, size_t *length)
{
    FILE *file;
    struct stat info;
    enum status st = file_open("winners", path, &file);
    if (st) return st == E_ABSENT ? E_IO : st;
    *text = NULL;
    if (fstat(fileno(file), &info) != 0 || info.st_size > PRETUNED_FILE_MAX)
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

/* False: the path is too long. */
static bool path_of(const char *folder, const struct dirent *entry, char path[4096])
{
    const int length = snprintf(path, 4096, "%s/%s", folder, entry->d_name);
    return length > 0 && length < 4096;
}

/* The folder's files by name; free them by free_files. Errors: E_IO. */
static enum status list_files(const char *folder, struct dirent ***entries, int *count)
{
    *count = scandir(folder, entries, is_lines, alphasort);
    return *count < 0 ? fail(E_IO, "cannot read the folder %s: %s", folder, strerror(errno)) : OK;
}

static void free_files(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
}

static enum status read_files(struct lines_reader *r, const char *folder, struct dirent *const *entries,
                              int count)
{
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        char path[4096], *text = NULL;
        size_t length = 0;
        if (!path_of(folder, entries[i], path)) continue;
        st = read_file(path, &text, &length);
        if (!st) st = read_lines(r, path, text, length);
        free(text);
    }
    return st;
}

enum status pretuned_lines(const char *folder,
                           enum status (*take)(void *self, const char *line, size_t length), void *self,
                           int64_t *broken, char *first_broken, size_t room)
{
    struct lines_reader r = {take, self, 0, first_broken, room};
    struct dirent **entries;
    int count;
    first_broken[0] = '\0';
    *broken = 0;
    enum status st = list_files(folder, &entries, &count);
    if (st) return st;
    st = read_files(&r, folder, entries, count);
    free_files(entries, count);
    *broken = r.broken;
    return st;
}

/* ---- winners of one kind of GPU ---- */

/* What a folder's files said. */
struct reading {
    char folder[4096];
    struct gpu gpu;
    uint64_t stamp; /* of the files */
    struct db_brief *briefs;
    size_t count, room;
    int64_t broken;
    char first_broken[1400];
};

/* The last reading of this process: drop-in and library ask for the same, and the lines take 15 ms. */
static struct reading last;
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;

static enum status keep_brief(void *self, const char *line, size_t length)
{
    struct reading *r = self;
    struct db_brief brief;
    const enum status st = pretuned_parse(line, length, &r->gpu, &brief);
    if (st) return st;
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 128;
        struct db_brief *grown = realloc(r->briefs, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory while reading winners");
        r->briefs = grown;
        r->room = room;
    }
    r->briefs[r->count++] = brief;
    return OK;
}

/* Changes with each file's name, size, place and time of its last change. */
static uint64_t stamp_of(const char *folder, struct dirent *const *entries, int count)
{
    uint64_t stamp = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat info;
        if (!path_of(folder, entries[i], path) || stat(path, &info)) continue;
        const int64_t facts[] = {info.st_size,         (int64_t)info.st_ino, info.st_mtim.tv_sec,
                                 info.st_mtim.tv_nsec, info.st_ctim.tv_sec,  info.st_ctim.tv_nsec};
        stamp = XXH64(facts, sizeof facts, XXH64(path, strlen(path), stamp));
    }
    return stamp;
}

static bool is_last(const char *folder, const struct gpu *gpu, uint64_t stamp)
{
    return last.stamp == stamp && strcmp(last.folder, folder) == 0 && last.gpu.arch == gpu->arch &&
           last.gpu.sm_count == gpu->sm_count && strcmp(last.gpu.name, gpu->name) == 0;
}

static enum status read_again(const char *folder, const struct gpu *gpu, struct dirent *const *entries,
                              int count, uint64_t stamp)
{
    free(last.briefs);
    last = (struct reading){.gpu = *gpu};
    snprintf(last.folder, sizeof last.folder, "%s", folder);
    struct lines_reader r = {keep_brief, &last, 0, last.first_broken, sizeof last.first_broken};
    const enum status st = read_files(&r, folder, entries, count);
    last.broken = r.broken;
    last.stamp = st ? 0 : stamp;
    return st;
}

enum status pretuned_read(const char *folder, const struct gpu *gpu,
                          void (*visit)(void *self, const struct db_brief *brief), void *self,
                          int64_t *broken, char *first_broken, size_t room)
{
    struct dirent **entries;
    int count;
    first_broken[0] = '\0';
    enum status st = list_files(folder, &entries, &count);
    if (st) return st;
    pthread_mutex_lock(&last_lock);
    const uint64_t stamp = stamp_of(folder, entries, count);
    if (!is_last(folder, gpu, stamp)) st = read_again(folder, gpu, entries, count, stamp);
    for (size_t i = 0; i < last.count; i++) visit(self, &last.briefs[i]);
    *broken = last.broken;
    snprintf(first_broken, room, "%s", last.first_broken);
    pthread_mutex_unlock(&last_lock);
    free_files(entries, count);
    return st;
}

#include "gpu.h"

#include "file_seen.h"
#include "likely.h"
#include "not_done.h"
#include "text_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void gpu_arch_name(int arch, char name[16])
{
    /* From sm_90 on, the instructions that we use exist only in the architecture-specific target. */
    snprintf(name, 16, arch >= 90 ? "sm_%da" : "sm_%d", arch);
}

bool gpu_has_cp_async(const struct gpu *gpu)
{
    return gpu->arch >= 80;
}

bool gpu_has_tma(const struct gpu *gpu)
{
    return gpu->arch >= 90;
}

double gpu_rate(const struct gpu *gpu, const char *name)
{
    for (int i = 0; i < GPU_RATES_MAX && gpu->rate[i].name[0]; i++)
        if (strcmp(gpu->rate[i].name, name) == 0) return gpu->rate[i].value;
    return 0;
}

bool gpu_set_rate(struct gpu *gpu, const char *name, double value)
{
    int i = 0;
    if (!name[0] || strlen(name) >= sizeof gpu->rate[0].name) return false;
    while (i < GPU_RATES_MAX && gpu->rate[i].name[0] && strcmp(gpu->rate[i].name, name) != 0) i++;
    if (i == GPU_RATES_MAX) return false;
    memcpy(gpu->rate[i].name, name, strlen(name) + 1);
    gpu->rate[i].value = value;
    return true;
}

static double rate_of(const struct gpu *gpu, const struct gemm_type_row *row)
{
    const double known = gpu_rate(gpu, row->rate);
    if (known > 0) return known;
    return gpu_rate(gpu, "fp32") * (row->rate_over_fp32 ? row->rate_over_fp32(gpu->arch) : 1);
}

double gpu_peak_tflops(const struct gpu *gpu, enum gemm_type type)
{
    const struct gemm_type_row *row = gemm_type_row(type);
    const double own = rate_of(gpu, row);
    /* Pieces are multiplied on sm_90 alone. */
    return row->products > 0 && gpu->arch == 90 ? fmax(own, gpu_peak_tflops(gpu, GEMM_BF16) / row->products)
                                                : own;
}

/* One key of a descriptor: its place in the struct and its range. */
struct field {
    const char *key;
    enum { TEXT, INTEGER, INTEGER64, NUMBER } kind;
    size_t offset, room;
    double least, most;
};

#define TEXT_FIELD(f)                                                                                        \
    {                                                                                                        \
#f, TEXT, offsetof(struct gpu, f), sizeof((struct gpu *)0)->f, 0, 0                                  \
    }
#define INT_FIELD(f, low, high)                                                                              \
    {                                                                                                        \
#f, INTEGER, offsetof(struct gpu, f), 0, low, high                                                   \
    }
#define LONG_FIELD(f, low, high)                                                                             \
    {                                                                                                        \
#f, INTEGER64, offsetof(struct gpu, f), 0, low, high                                                 \
    }
#define REAL_FIELD(f, low, high)                                                                             \
    {                                                                                                        \
#f, NUMBER, offsetof(struct gpu, f), 0, low, high                                                    \
    }

static const struct field fields[] = {
    TEXT_FIELD(id),
    TEXT_FIELD(name),
    INT_FIELD(arch, 50, 999),
    INT_FIELD(sm_count, 1, 4096),
    INT_FIELD(threads_per_sm, 32, 8192),
    INT_FIELD(blocks_per_sm, 1, 256),
    INT_FIELD(registers_per_sm, 1024, 1 << 24),
    INT_FIELD(smem_per_sm_bytes, 1024, 1 << 24),
    INT_FIELD(smem_per_block_bytes, 1024, 1 << 24),
    INT_FIELD(smem_reserved_bytes, 0, 1 << 20),
    LONG_FIELD(l2_bytes, 0, 1e12),
    LONG_FIELD(memory_bytes, 1, 1e15),
    REAL_FIELD(clock_mhz, 1, 1e5),
    REAL_FIELD(memory_gb_per_s, 1, 1e6),
    TEXT_FIELD(source),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* Longest line that the INI library reads whole: it takes the rest of a longer one for a line of its own. */
#define LINE_MAX_CHARS 190

struct descriptor_reader {
    struct gpu *gpu;
    bool seen[FIELD_COUNT];
    char why[256]; /* the first mistake */
    int why_line;
    struct text_file lines;
};

static int refuse(struct descriptor_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct descriptor_reader *r, const char *format, ...)
{
    va_list arguments;
    if (r->why[0]) return 0;
    va_start(arguments, format);
    vsnprintf(r->why, sizeof r->why, format, arguments);
    va_end(arguments);
    r->why_line = r->lines.number;
    return 0;
}

/* fgets for the INI library; a refused line appears as an empty one. */
static char *read_line(char *text, int room, void *stream)
{
    struct descriptor_reader *r = stream;
    const char *line = text_file_line(&r->lines);
    if (!line) return NULL;
    const size_t length = strlen(line);
    text[0] = '\0';
    if (length > LINE_MAX_CHARS || length >= (size_t)room) refuse(r, "longer than %d bytes", LINE_MAX_CHARS);
    else memcpy(text, line, length + 1);
    return text;
}

#define RATE_SUFFIX "_tflops"

static bool names_rate(const char *key)
{
    const size_t length = strlen(key), suffix = strlen(RATE_SUFFIX);
    return length > suffix && strcmp(key + length - suffix, RATE_SUFFIX) == 0;
}

static int read_rate(struct descriptor_reader *r, const char *key, const char *value)
{
    const double least = 0.01, most = 1e5;
    char name[64], *end;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= least && number <= most))
        return refuse(r, "%s = %.40s is not a number in %g..%g", key, value, least, most);
    snprintf(name, sizeof name, "%.*s", (int)(strlen(key) - strlen(RATE_SUFFIX)), key);
    return gpu_set_rate(r->gpu, name, number) ? 1 : refuse(r, "no room for the rate %.40s", key);
}

/* Called by the INI library for each line; 0 stops it and makes it report the line. */
static int read_field(void *user, const char *section, const char *key, const char *value)
{
    struct descriptor_reader *r = user;
    if (r->why[0]) return 0; /* the library goes on after an error; the first one counts */
    if (strcmp(section, "gpu") != 0) return refuse(r, "section [%.40s]; only [gpu] is known", section);
    for (int i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &fields[i];
        if (strcmp(f->key, key) != 0) continue;
        char *target = (char *)r->gpu + f->offset;
        r->seen[i] = true;
        if (f->kind == TEXT) {
            if (strlen(value) == 0 || strlen(value) >= f->room)
                return refuse(r, "%s must have 1 to %zu characters", key, f->room - 1);
            memcpy(target, value, strlen(value) + 1);
            return 1;
        }
        char *end;
        double number = strtod(value, &end);
        bool whole = f->kind == NUMBER || number == floor(number);
        if (end == value || *end != '\0' || !(number >= f->least && number <= f->most) || !whole)
            return refuse(r, "%s = %.40s is not a %snumber in %g..%g", key, value,
                          f->kind == NUMBER ? "" : "whole ", f->least, f->most);
        if (f->kind == INTEGER) *(int *)(void *)target = (int)number;
        if (f->kind == INTEGER64) *(int64_t *)(void *)target = (int64_t)number;
        if (f->kind == NUMBER) *(double *)(void *)target = number;
        return 1;
    }
    return names_rate(key) ? read_rate(r, key, value) : refuse(r, "unknown key %.40s", key);
}

enum status gpu_read(const char *path, struct gpu *gpu)
{
    struct gpu fresh = {0};
    FILE *file;
    enum status st = file_open("GPU descriptor", path, &file);
    if (st) return st == E_ABSENT ? E_IO : st;
    struct descriptor_reader r = {.gpu = &fresh, .lines = text_file_start(file, "GPU descriptor", path)};
    const int line = ini_parse_stream(read_line, &r, read_field, &r);
    const enum status end = text_file_end(&r.lines);
    fclose(file);
    if (r.why[0] && (line <= 0 || r.why_line <= line))
        return fail(E_INPUT, "%s:%d: %s", path, r.why_line, r.why);
    if (line != 0) return fail(E_INPUT, "%s:%d: not a 'key = value' line", path, line);
    if (end) return end;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (!r.seen[i]) return fail(E_INPUT, "%s: the key %s is missing", path, fields[i].key);
    if (!(gpu_rate(&fresh, "fp32") > 0)) return fail(E_INPUT, "%s: the key fp32_tflops is missing", path);
    *gpu = fresh;
    return OK;
}

static int by_id(const void *x, const void *y)
{
    return strcmp(((const struct gpu *)x)->id, ((const struct gpu *)y)->id);
}

enum status gpu_list(const char *folder, struct gpu **gpus, size_t *count)
{
    DIR *dir = opendir(folder);
    if (!dir) return fail(E_IO, "cannot read the folder of GPU descriptors %s: %s", folder, strerror(errno));
    struct gpu *list = NULL;
    size_t used = 0;
    enum status st = OK;
    for (struct dirent *entry; !st && (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".conf") != 0) continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct gpu *grown = realloc(list, (used + 1) * sizeof *list);
        if (!grown) {
            st = fail(E_MEMORY, "out of memory while reading %s", folder);
            break;
        }
        list = grown;
        st = gpu_read(path, &list[used]);
        if (!st) used++;
    }
    closedir(dir);
    if (st) {
        free(list);
        return st;
    }
    if (used) qsort(list, used, sizeof *list, by_id);
    *gpus = list;
    *count = used;
    return OK;
}

/* Lower case, letters and digits only, without a leading "nvidia" or "geforce". */
static void plain_name(const char *name, char out[GPU_NAME_MAX])
{
    size_t used = 0;
    for (; *name && used + 1 < GPU_NAME_MAX; name++)
        if (isalnum((unsigned char)*name)) out[used++] = (char)tolower((unsigned char)*name);
    out[used] = '\0';
    static const char *const prefixes[] = {"nvidia", "geforce"};
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(out, prefixes[i], length) == 0 && used > length) {
            memmove(out, out + length, used - length + 1);
            used -= length;
        }
    }
}

bool gpu_same_name(const char *x, const char *y)
{
    char plain_x[GPU_NAME_MAX], plain_y[GPU_NAME_MAX];
    plain_name(x, plain_x);
    plain_name(y, plain_y);
    return strcmp(plain_x, plain_y) == 0;
}

/* Do the first words of a GPU's name, run together, make the plain name? */
static bool begins(const char *name, const char *plain)
{
    char words[GPU_NAME_MAX], start[GPU_NAME_MAX];
    for (size_t i = 1; i < sizeof words && name[i - 1]; i++) {
        if (isalnum((unsigned char)name[i]) && isalnum((unsigned char)name[i - 1])) continue;
        snprintf(words, sizeof words, "%.*s", (int)i, name);
        plain_name(words, start);
        if (strcmp(start, plain) == 0) return true;
    }
    return false;
}

bool gpu_has_arch(const struct gpu *gpu, const char *text)
{
    const int arch = gpu->arch;
    char number[16], with_point[24];
    snprintf(with_point, sizeof with_point, "%d.%d", arch / 10, arch % 10);
    if (strcmp(text, with_point) == 0) return true;
    const size_t before = strncasecmp(text, "sm_", 3) == 0        ? 3
                          : strncasecmp(text, "compute_", 8) == 0 ? 8
                                                                  : 0;
    const size_t length = (size_t)snprintf(number, sizeof number, "%d", arch);
    const char *rest = text + before + length;
    return before && strncmp(text + before, number, length) == 0 && (!*rest || strcasecmp(rest, "a") == 0);
}

bool gpu_fits(const struct gpu *gpu, const char *name)
{
    char plain[GPU_NAME_MAX];
    plain_name(name, plain);
    if (gpu_has_arch(gpu, name) || gpu_same_name(gpu->name, name)) return true;
    return plain[0] && (begins(gpu->name, plain) || begins(gpu->id, plain));
}

static bool has_name(const struct gpu *gpu, const char *name)
{
    return gpu_same_name(gpu->id, name) || gpu_same_name(gpu->name, name);
}

/* Errors: E_ABSENT, without a sentence. */
static enum status find(const char *folder, const char *name, struct gpu **gpus, size_t *count,
                        struct gpu *gpu)
{
    enum status st = gpu_list(folder, gpus, count);
    if (st) return st;
    for (size_t i = 0; i < *count; i++) {
        if (!has_name(&(*gpus)[i], name)) continue;
        *gpu = (*gpus)[i];
        return OK;
    }
    return E_ABSENT;
}

/* " a100 b200": the ids of the GPUs that fit a name (NULL: of all); returns how many. */
static size_t list_ids(const struct gpu *gpus, size_t count, const char *name, char ids[512])
{
    size_t used = 0, fitting = 0;
    ids[0] = '\0';
    for (size_t i = 0; i < count && used < 512; i++) {
        if (name && !gpu_fits(&gpus[i], name)) continue;
        used += (size_t)snprintf(ids + used, 512 - used, " %s", gpus[i].id);
        fitting++;
    }
    return fitting;
}

static enum status unknown(const char *folder, const char *name, const struct gpu *gpus, size_t count)
{
    char ids[512], meant[LIKELY_TEXT_MAX];
    const char *why = not_done(name);
    struct likely likely = {.word = name};
    for (size_t i = 0; i < count; i++) likely_offer(&likely, gpus[i].id);
    list_ids(gpus, count, NULL, ids);
    if (why) return fail(E_ABSENT, "'%.60s': %s; known:%s", name, why, ids);
    return fail(E_ABSENT, "no GPU '%.60s' in %s; known:%s%s", name, folder, ids, likely_text(&likely, meant));
}

enum status gpu_find(const char *folder, const char *name, struct gpu *gpu)
{
    struct gpu *gpus = NULL;
    size_t count = 0;
    enum status st = find(folder, name, &gpus, &count, gpu);
    if (st == E_ABSENT) st = unknown(folder, name, gpus, count);
    free(gpus);
    return st;
}

enum status gpu_choose(const char *folder, const char *name, struct gpu *gpu)
{
    struct gpu *gpus = NULL;
    size_t count = 0;
    char ids[512];
    enum status st = find(folder, name, &gpus, &count, gpu);
    if (st == E_ABSENT) {
        const size_t fitting = list_ids(gpus, count, name, ids);
        for (size_t i = 0; i < count && fitting == 1; i++)
            if (gpu_fits(&gpus[i], name)) *gpu = gpus[i];
        st = fitting == 1  ? OK
             : fitting > 1 ? fail(E_ABSENT, "'%.60s' fits %zu GPUs:%s; name one of them", name, fitting, ids)
                           : unknown(folder, name, gpus, count);
    }
    free(gpus);
    return st;
}

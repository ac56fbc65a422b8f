/* golden_headers.c — what `tune export --with-kernels` writes of winners, without a compiler, for headers.sh.
 *
 *     headers DB FOLDER NAME
 *
 * FOLDER/NAME.tables: the tables but for the launch plans, whose text follows the members of struct
 * launch_plan; what they launch is in golden_launches.c. FOLDER/NAME.kernels: a line for each kernel, with
 * the number of all that its machine code is made of: its source without comments (kernel_source_hash) and
 * what is defined for it. This stands for the machine code itself, which NVRTC makes of nothing else, and
 * which each version of NVRTC makes anew; tests/export/kernels.sh
 * compares what a header holds with what was compiled. FOLDER/NAME.h: the whole header, with these numbers
 * for code.
 */
#include "answers.h"
#include "export_header.h"
#include "kernel_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static FILE *create(const char *folder, const char *name, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    FILE *file = fopen(path, "w");
    if (!file) perror(path);
    return file;
}

enum { NUMBER_TEXT = 17 };

/* Of the source, of all definitions, in their order, and of whether the compiler may contract. */
static uint64_t number_of(const struct kernel_key *key)
{
    const char *definition[KERNEL_DEFINITIONS_MAX];
    char text[4096];
    uint64_t number = kernel_source_hash(key->config.template) + kernel_key_contracts(key);
    const int count = kernel_key_definitions(key, definition, KERNEL_DEFINITIONS_MAX, text, sizeof text);
    for (int i = 0; i < count; i++) number = XXH64(definition[i], strlen(definition[i]), number);
    return number;
}

/* The number in place of the machine code. */
static enum status number_kernel(struct export_kernel *k, FILE *f)
{
    char text[CONFIG_TEXT_MAX], *const id = calloc(1, NUMBER_TEXT);
    if (!id) return fail(E_MEMORY, "out of memory for a kernel");
    k->cubin = id;
    k->cubin_bytes = NUMBER_TEXT;
    snprintf(id, NUMBER_TEXT, "%016" PRIx64, number_of(&k->key));
    config_format(&k->key.config, text);
    fprintf(f, "%s sm_%d %s:%s epilogue=%d pointers=%d %s\n", id, k->key.arch,
            gemm_type_row(k->key.type)->name, kernel_key_op(&k->key), k->key.epilogue, k->key.pointers, text);
    return OK;
}

static enum status write_kernels(struct export_kernels *kernels, FILE *f)
{
    enum status st = OK;
    for (int i = 0; i < kernels->count && !st; i++) st = number_kernel(&kernels->list[i], f);
    return st;
}

/* Without the lines of the plans. */
static enum status write_tables(const struct header *h, FILE *f)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return fail(E_MEMORY, "out of memory for tables");
    enum status st = tables_write(h, stream);
    fclose(stream);
    for (char *line = text, *end; !st && *line; line = end) {
        end = strchr(line, '\n') + 1;
        if (strncmp(line, "    {&gt_", 9) != 0 || !strstr(line, "_kernels["))
            fwrite(line, 1, (size_t)(end - line), f);
    }
    free(text);
    return st;
}

static enum status write_all(struct answers *answers, const char *folder, const char *name)
{
    struct picks picks = {0};
    struct header header = {
        .generator = "golden", .date = "2026-11-20T12:00:00Z", .picks = &picks, .with_kernels = true};
    const struct db_filter filter = {.gpu = NULL};
    const struct pick_rules rules = {false, false};
    FILE *const kernels = create(folder, name, "kernels"), *const tables = create(folder, name, "tables"),
                *const whole = create(folder, name, "h");
    enum status st = kernels && tables && whole ? OK : fail(E_IO, "%s cannot be written", folder);
    if (!st) st = header_name("golden.h", &header);
    if (!st) st = picks_read(answers, &filter, NULL, &rules, &picks);
    if (!st) st = header_prepare(&header);
    if (!st) st = write_kernels(&header.kernels, kernels);
    if (!st) st = write_tables(&header, tables);
    if (!st) st = header_write(&header, whole);
    if (kernels) fclose(kernels);
    if (tables) fclose(tables);
    if (whole) fclose(whole);
    header_free(&header);
    picks_free(&picks);
    return st;
}

int main(int argc, char **argv)
{
    struct answers *answers = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: headers DB FOLDER NAME\n");
        return 2;
    }
    struct db_view view = {.file = argv[1]};
    enum status st = db_view_open(&view);
    if (!st) st = answers_open(&view, &answers);
    if (!st) st = write_all(answers, argv[2], argv[3]);
    if (st) fprintf(stderr, "headers: %s\n", status_text());
    answers_close(answers);
    db_view_close(&view);
    return st != OK;
}

/* compare_kernels.c — what a change of a kernel's source is compared by, before
 * kernel_templates/kept_hashes.c keeps the numbers of its kernels: compare_kernels [TEMPLATE...], in a build
 * of the tree before the change and in one after it, with the same NVRTC.
 *
 * For each template it prints the hash of its source, and for each row of the table the hashes of the machine
 * code of some configurations that the row is for (from the lists in tests/exec; of a template without one,
 * the least). Lines of rows that are the same in both outputs may keep their numbers; the others are deleted
 * from the table.
 */
#include "compile.h"
#include "kernel_hash.h"
#include "template.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CONFIGS_MAX 64 /* of a template */
#define TRIES_MAX   4  /* of a row */

static struct config configs[CONFIGS_MAX];
static int config_count;

static void read_list(const struct template *t)
{
    char path[512], line[CONFIG_TEXT_MAX];
    snprintf(path, sizeof path, "%s/tests/exec/lists/%s.list", GT_SOURCE_DIR, t->name);
    FILE *file = fopen(path, "r");
    config_count = 0;
    while (file && config_count < CONFIGS_MAX && fgets(line, sizeof line, file)) {
        line[strcspn(line, "|#\n")] = '\0';
        for (size_t end = strlen(line); end > 0 && !strchr("0123456789", line[end - 1]);) line[--end] = '\0';
        if (config_parse(line, &configs[config_count]) == OK) config_count++;
    }
    if (file) fclose(file);
    if (config_count > 0) return;
    configs[config_count++] = (struct config){.template = t};
    for (int i = 0; i < t->param_count; i++) configs[0].value[i] = t->params[i].least;
}

/* The machine code of a kernel; 0: it does not compile, as one that the rules refuse for the op. */
static uint64_t code_of(const struct kernel_key *key, const char *cache)
{
    struct compiled compiled;
    char *cubin = NULL;
    size_t bytes = 0;
    enum status st = compile_kernel(key, cache, &compiled);
    if (!st && compiled.built) st = compile_read_cubin(compiled.path, compiled.checksum, &cubin, &bytes);
    if (st || !compiled.built) {
        if (st) fprintf(stderr, "%s: %s\n", key->config.template->name, status_text());
        return 0;
    }
    const uint64_t hash = XXH64(cubin, bytes, 0);
    free(cubin);
    return hash;
}

static void print_row(const struct kept_source *kept, const struct kept_kernel *row, const char *cache)
{
    const struct template *t = template_find(kept->template);
    int printed = 0;
    printf("%s %d %d %d {%d, %d}", t->name, row->arch, row->epilogue, row->pointers, row->least[0],
           row->least[1]);
    for (int i = 0; i < config_count && printed < TRIES_MAX; i++) {
        struct problem problem = problem_make(512, 512, 512);
        struct config config = configs[i];
        problem.type = template_first_type(t);
        problem.epilogue = row->epilogue ? epilogue_code(BIAS_COLUMN, ACTIVATION_GELU, false) : 0;
        problem.pointers = row->pointers;
        problem.trans_a = i & 1;
        problem.trans_b = i & 2;
        for (int j = 0; j < 2; j++)
            if (kept->params[j]) config_set(&config, kept->params[j], row->least[j]);
        if (t->check(&config, NULL, NULL)) continue;
        const struct kernel_key key = kernel_key_of(&config, &problem, row->arch ? row->arch : 75);
        if (kernel_hash(&key) != row->hash) continue;
        const uint64_t code = code_of(&key, cache);
        if (code) printf(" %016" PRIx64, code), printed++;
    }
    printf("%s\n", printed ? "" : " nothing that the rules allow");
}

int main(int argc, char **argv)
{
    char cache[4096], version[16];
    if (compile_cache_folder(cache, sizeof cache) || compile_load(version)) {
        fprintf(stderr, "compare_kernels: %s\n", status_text());
        return 1;
    }
    for (const struct kept_source *kept = kept_sources; kept->template; kept++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], kept->template) == 0;
        if (!wanted) continue;
        read_list(template_find(kept->template));
        printf("%s 0x%016" PRIx64 "\n", kept->template, kernel_source_hash(template_find(kept->template)));
        for (int i = 0; i < kept->count; i++) print_row(kept, &kept->kernels[i], cache);
    }
    return 0;
}

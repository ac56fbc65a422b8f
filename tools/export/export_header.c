#include "export_header.h"

#include "export_geometry.h"
#include "export_tables.h"
#include "export_text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern const char text_shape_weights_h[], text_winner_lookup_h[], text_winner_plan_code_h[],
    text_winner_lookup_code_h[], text_winner_launch_h[], text_winner_launch_code_h[],
    text_winner_epilogue_h[], text_winner_epilogue_code_h[], text_winner_epilogue_launch_h[],
    text_winner_epilogue_launch_code_h[];

/* ---- names ---- */

enum status header_name(const char *path, struct header *header)
{
    static const char suffix[] = "_winners";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char stem[48] = "";
    size_t used = 0;
    if (strncmp(base, "gt_", 3) == 0) base += 3;
    for (; *base && *base != '.' && used + 1 < sizeof stem; base++) {
        if (isalnum((unsigned char)*base)) stem[used++] = (char)tolower((unsigned char)*base);
        else if (used && stem[used - 1] != '_') stem[used++] = '_'; /* two in a row are not for us in C++ */
    }
    while (used && stem[used - 1] == '_') used--;
    stem[used] = '\0';
    if (!used)
        return fail(E_USAGE, "'%s' gives the table no name: take letters or digits, as in h200.h", path);
    const size_t tail = sizeof suffix - 2; /* "winners" */
    bool ends = used >= tail && strcmp(stem + used - tail, suffix + 1) == 0;
    snprintf(header->name, sizeof header->name, "%s%s", stem, ends ? "" : suffix);
    snprintf(header->guard, sizeof header->guard, "GT_%s_H", stem);
    for (char *c = header->guard; *c; c++) *c = (char)toupper((unsigned char)*c);
    return OK;
}

/* ---- preparing ---- */

/* The number of an element equal to one of the list, which it is added to if it is not there; -1 out of
 * memory. */
static int number_of(void **list, int *count, const void *element, size_t bytes)
{
    for (int i = 0; i < *count; i++)
        if (memcmp((const char *)*list + (size_t)i * bytes, element, bytes) == 0) return i;
    void *grown = realloc(*list, (size_t)(*count + 1) * bytes);
    if (!grown) return -1;
    *list = grown;
    memcpy((char *)grown + (size_t)*count * bytes, element, bytes);
    return (*count)++;
}

/* What was found for a configuration, for the next winner that has it. */
struct found {
    const struct pick *pick;
    struct gt_winner winner;
    const char *entry[3];
};

static bool same_launch(const struct pick *x, const struct pick *y)
{
    return x->gpu == y->gpu && x->base.problem.type == y->base.problem.type &&
           x->base.problem.trans_a == y->base.problem.trans_a &&
           x->base.problem.trans_b == y->base.problem.trans_b &&
           x->base.problem.epilogue == y->base.problem.epilogue && config_equal(&x->config, &y->config);
}

static bool find_launch(struct header *h, const struct pick *pick, struct found *found)
{
    const struct gpu *gpu = &h->picks->gpus[pick->gpu];
    struct gt_winner_geometry geometry;
    struct gt_winner_plan plan;
    void *list;
    int number;
    found->pick = pick;
    found->winner.geometry = found->winner.plan = -1;
    found->winner.needs = geometry_needs(&pick->config, &pick->base.problem, gpu);
    if (geometry_find(&pick->config, &pick->base.problem, gpu, &geometry, found->entry)) {
        list = h->geometries;
        number = number_of(&list, &h->geometry_count, &geometry, sizeof geometry);
        h->geometries = list;
        found->winner.geometry = number;
    } else {
        geometry_plan(&pick->config, &pick->base.problem, &plan, found->entry);
        list = h->plans;
        number = number_of(&list, &h->plan_count, &plan, sizeof plan);
        h->plans = list;
        found->winner.plan = number;
    }
    return number >= 0;
}

/* What the launcher that a header carries can do: no tensor maps, no attributes. */
static bool launches_plainly(const struct pick *pick)
{
    const struct template *t = pick->config.template;
    struct launch_plan plan;
    if (!t->block || t->block->bytes > GT_WINNER_BLOCK_MAX) return false;
    if (pick->base.problem.epilogue &&
        (t->block->epilogue_bytes == 0 || t->block->epilogue_bytes > GT_WINNER_BLOCK_MAX))
        return false;
    t->plan(&pick->config, &pick->base.problem, &plan);
    for (int i = 0; i < plan.kernels; i++)
        if (launch_has_attributes(&plan.kernel[i])) return false;
    return plan.views == 0;
}

/* Configurations that came before, by their hash: many winners share one. */
#define RECENT 4096

enum status header_prepare(struct header *h)
{
    struct found *recent = calloc(RECENT, sizeof *recent);
    h->winners = calloc(h->picks->count, sizeof *h->winners);
    bool enough = recent && h->winners;
    for (size_t i = 0; enough && i < h->picks->count; i++) {
        const struct pick *pick = &h->picks->list[i];
        struct gt_winner *w = &h->winners[i];
        *w = geometry_winner(&pick->base.problem);
        w->source = pick->source;
        if (!pick->config.template) continue;
        struct found *found = &recent[config_hash(&pick->config) % RECENT];
        if (!found->pick || !same_launch(found->pick, pick) || found->winner.geometry < 0)
            enough = find_launch(h, pick, found);
        w->geometry = found->winner.geometry;
        if (w->geometry >= 0) geometry_allow(&h->geometries[w->geometry], &pick->config, &pick->base.problem);
        w->plan = found->winner.plan;
        w->needs = found->winner.needs;
        if (!enough || !h->with_kernels || !launches_plainly(pick)) continue;
        const struct kernel_key key =
            kernel_key_of(&pick->config, &pick->base.problem, h->picks->gpus[pick->gpu].arch);
        w->kernel = kernels_number(&h->kernels, &key, found->entry);
        enough = w->kernel >= 0;
        if (pick->base.problem.epilogue) w->kernel = -2 - w->kernel; /* not for gt_winner_load */
    }
    free(recent);
    return enough ? OK : fail(E_MEMORY, "out of memory for %zu winners", h->picks->count);
}

void header_free(struct header *h)
{
    kernels_free(&h->kernels);
    free(h->winners);
    free(h->geometries);
    free(h->plans);
    h->winners = NULL;
    h->geometries = NULL;
    h->plans = NULL;
}

/* ---- writing ---- */

static bool has_epilogues(const struct header *h)
{
    return h->picks->list[h->picks->count - 1].base.problem.epilogue; /* the last ones */
}

static void write_top(const struct header *h, FILE *f)
{
    fprintf(
        f,
        "/* SPDX-License-Identifier: MIT */\n"
        "/* The fastest known GEMM kernels of %d GPU%s, %zu shapes. Written by `tune export --header` on "
        "%s; do not\n"
        " * change it, export again.\n"
        " *\n"
        " *     #define GT_WINNERS_IMPLEMENTATION in one file of the program, of C or C++\n"
        " *     #include this there and wherever it is used\n"
        " *\n"
        " *     gt_%s is what gt_winner_gpu_find asks for; see below.\n"
        " *\n"
        " * That one file takes the tables and functions of all exported headers of a program. Where two\n"
        " * libraries of one program have headers of their own, each defines GT_WINNERS_STATIC instead, "
        "before the\n"
        " * first include of its one file: then nothing is seen outside of that.\n",
        h->picks->gpu_count, h->picks->gpu_count == 1 ? "" : "s", h->picks->count, h->date, h->name);
    if (has_epilogues(h))
        fprintf(
            f,
            " *\n * gt_%s_epilogues is what gt_winner_epilogue_find asks for: winners of products with an\n"
            " * epilogue, each in a set of its own.\n",
            h->name);
    if (h->picks->left_out_count)
        fprintf(f, " *\n * What was left out of %zu winners is named at the end.\n", h->picks->read);
    fprintf(f, " */\n");
}

/* What every file that includes the header sees. */
static void write_declarations(const struct header *h, FILE *f)
{
    fprintf(f, "#ifndef %s\n#define %s\n\n", h->guard, h->guard);
    if (h->with_kernels) fprintf(f, "#include <cuda.h>\n\n");
    fprintf(f, "%s\n", text_winner_lookup_h);
    if (h->with_kernels) fprintf(f, "%s\n", text_winner_launch_h);
    if (has_epilogues(h)) fprintf(f, "%s\n", text_winner_epilogue_h);
    if (has_epilogues(h) && h->with_kernels) fprintf(f, "%s\n", text_winner_epilogue_launch_h);
    fprintf(f,
            "#ifndef GT_WINNERS_STATIC\n"
            "#ifdef __cplusplus\n"
            "extern \"C\" {\n"
            "#endif\n"
            "extern GT_WINNERS_API const struct gt_winner_set gt_%s;\n",
            h->name);
    if (has_epilogues(h))
        fprintf(f, "extern GT_WINNERS_API const struct gt_winner_epilogues gt_%s_epilogues;\n", h->name);
    fprintf(f, "#ifdef __cplusplus\n"
               "}\n"
               "#endif\n"
               "#endif\n\n"
               "#endif\n\n");
}

/* What one file takes. */
static enum status write_definitions(const struct header *h, FILE *f)
{
    fprintf(f,
            "#if (defined(GT_WINNERS_IMPLEMENTATION) || defined(GT_WINNERS_STATIC)) && "
            "!defined(%s_IMPLEMENTED)\n"
            "#define %s_IMPLEMENTED\n\n%s\n%s\n%s\n",
            h->guard, h->guard, text_shape_weights_h, text_winner_plan_code_h, text_winner_lookup_code_h);
    if (h->with_kernels) fprintf(f, "%s\n", text_winner_launch_code_h);
    if (has_epilogues(h)) fprintf(f, "%s\n", text_winner_epilogue_code_h);
    if (has_epilogues(h) && h->with_kernels) fprintf(f, "%s\n", text_winner_epilogue_launch_code_h);
    enum status st = tables_write(h, f);
    fprintf(f, "\n#endif\n");
    return st;
}

static void write_left_out(const struct picks *picks, FILE *f)
{
    if (picks->left_out_count == 0) return;
    fprintf(f, "\n/* Left out, %zu of %zu winners:\n *\n", picks->left_out_count, picks->read);
    for (size_t i = 0; i < picks->left_out_count; i++) {
        const struct left_out *l = &picks->left_out[i];
        fprintf(f, " * ");
        text_c_comment(l->gpu, f);
        fprintf(f, ", %s: ", l->problem);
        text_c_comment(l->why, f);
        putc('\n', f);
    }
    fprintf(f, " */\n");
}

enum status header_write(const struct header *h, FILE *f)
{
    write_top(h, f);
    write_declarations(h, f);
    enum status st = write_definitions(h, f);
    write_left_out(h->picks, f);
    return st;
}

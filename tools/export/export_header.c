#include "export_header.h"

#include "export_plan.h"
#include "print.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern const char text_shape_weights_h[], text_winner_lookup_h[], text_winner_lookup_code_h[],
    text_winner_plan_h[], text_winner_launch_h[], text_winner_walk_h[], text_winner_launch_code_h[],
    text_winner_epilogue_h[], text_winner_epilogue_code_h[];

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

enum status header_prepare(struct header *h)
{
    const struct picks *picks = h->picks;
    h->winners = calloc(picks->count, sizeof *h->winners);
    h->kernel_of = calloc(picks->count, sizeof *h->kernel_of);
    bool enough = h->winners && h->kernel_of;
    for (size_t i = 0; enough && i < picks->count; i++) {
        const struct pick *pick = &picks->list[i];
        const struct gpu *gpu = &picks->gpus[pick->gpu];
        h->winners[i] = plan_winner(&pick->config, &pick->base.problem, gpu);
        h->winners[i].source = pick->source;
        if (!pick->config.template || !h->with_kernels) continue;
        const struct kernel_key key = kernel_key_of(&pick->config, &pick->base.problem, gpu->arch);
        h->kernel_of[h->plan_count] = kernels_number(&h->kernels, &key);
        enough = h->kernel_of[h->plan_count] >= 0;
        h->winners[i].kernel = h->plan_count++;
    }
    return enough ? OK : fail(E_MEMORY, "out of memory for %zu winners", picks->count);
}

void header_free(struct header *h)
{
    kernels_free(&h->kernels);
    free(h->winners);
    free(h->kernel_of);
    h->winners = NULL;
    h->kernel_of = NULL;
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
        h->picks->gpu_count, PRINT_S(h->picks->gpu_count), h->picks->count, h->date, h->name);
    if (has_epilogues(h))
        fprintf(
            f,
            " *\n * gt_%s_epilogues is what gt_winner_epilogue_find asks for: winners of products with an\n"
            " * epilogue, each in a set of its own.\n",
            h->name);
    if (h->picks->left_out_count)
        fprintf(f, " *\n * What was left out of %zu %s is named at the end.\n", h->picks->read,
                WINNERS_TEXT(h->picks->unknown));
    fprintf(f, " */\n");
}

/* What every file that includes the header sees. */
static void write_declarations(const struct header *h, FILE *f)
{
    fprintf(f, "#ifndef %s\n#define %s\n\n", h->guard, h->guard);
    if (h->with_kernels) fprintf(f, "#include <cuda.h>\n\n");
    types_write(text_winner_lookup_h, f);
    if (h->with_kernels) fprintf(f, "%s\n%s\n", text_winner_plan_h, text_winner_launch_h);
    if (has_epilogues(h)) fprintf(f, "%s\n", text_winner_epilogue_h);
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
            "#define %s_IMPLEMENTED\n\n%s\n%s\n",
            h->guard, h->guard, text_shape_weights_h, text_winner_lookup_code_h);
    if (h->with_kernels)
        fprintf(f, "#ifndef GT_WINNER_WALK\n#define GT_WINNER_WALK\n%s#endif\n\n%s\n", text_winner_walk_h,
                text_winner_launch_code_h);
    if (has_epilogues(h)) fprintf(f, "%s\n", text_winner_epilogue_code_h);
    enum status st = tables_write(h, f);
    fprintf(f, "\n#endif\n");
    return st;
}

static void write_left_out(const struct picks *picks, FILE *f)
{
    if (picks->left_out_count == 0) return;
    fprintf(f, "\n/* Left out, %zu of %zu %s:\n *\n", picks->left_out_count, picks->read,
            WINNERS_TEXT(picks->unknown));
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

#include "export_header.h"

#include "export_geometry.h"
#include "export_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern const char text_shape_weights_h[], text_winner_lookup_h[], text_winner_plan_code_h[],
    text_winner_lookup_code_h[], text_winner_launch_h[], text_winner_launch_code_h[];

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
           x->base.problem.trans_b == y->base.problem.trans_b && config_equal(&x->config, &y->config);
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
    fprintf(f,
            "#ifndef GT_WINNERS_STATIC\n"
            "#ifdef __cplusplus\n"
            "extern \"C\" {\n"
            "#endif\n"
            "extern GT_WINNERS_API const struct gt_winner_set gt_%s;\n"
            "#ifdef __cplusplus\n"
            "}\n"
            "#endif\n"
            "#endif\n\n"
            "#endif\n\n",
            h->name);
}

static void write_geometries(const struct header *h, FILE *f)
{
    if (h->geometry_count)
        fprintf(f, "static const struct gt_winner_geometry gt_%s_geometries[] = {\n", h->name);
    for (int i = 0; i < h->geometry_count; i++) {
        const struct gt_winner_geometry *g = &h->geometries[i];
        const int32_t before[] = {
            g->bm,          g->bn,        g->bk,           g->split,         g->group,  g->walk,
            g->walkers,     g->threads,   g->smem_bytes,   g->smem_step,     g->smem_k, g->parts,
            g->part_floats, g->sum_width, g->counter_unit, g->counter_share, g->pack,   g->pack_row};
        const int32_t after[] = {g->pack_threads, g->pack_smem_bytes, g->slab_unit, g->slab_min, g->pack_mib,
                                 g->parts_mib,    g->workspace_mib,   g->batch_mib, g->m_min,    g->n_min,
                                 g->k_min,        g->m_max,           g->n_max,     g->k_max};
        fprintf(f, "    {");
        for (size_t j = 0; j < sizeof before / sizeof *before; j++) fprintf(f, "%" PRId32 ", ", before[j]);
        fprintf(f, "{%" PRId32 ", %" PRId32 "}, {%" PRId32 ", %" PRId32 "}", g->pack_x[0], g->pack_x[1],
                g->pack_k[0], g->pack_k[1]);
        for (size_t j = 0; j < sizeof after / sizeof *after; j++) fprintf(f, ", %" PRId32, after[j]);
        fprintf(f, "},\n");
    }
    if (h->geometry_count) fprintf(f, "};\n");
}

static void write_three(const uint32_t *values, FILE *f)
{
    fprintf(f, "{%" PRIu32 "u, %" PRIu32 "u, %" PRIu32 "u}", values[0], values[1], values[2]);
}

static void write_plans(const struct header *h, FILE *f)
{
    if (h->plan_count) fprintf(f, "static const struct gt_winner_plan gt_%s_plans[] = {\n", h->name);
    for (int i = 0; i < h->plan_count; i++) {
        const struct gt_winner_plan *p = &h->plans[i];
        const uint32_t *const threes[] = {p->grid[0], p->grid[1], p->grid[2], p->threads, p->smem_bytes};
        fprintf(f, "    {%" PRId32 ", {", p->kernels);
        for (size_t j = 0; j < sizeof threes / sizeof *threes; j++) {
            write_three(threes[j], f);
            fprintf(f, "%s", j == 2 ? "}, " : ", ");
        }
        fprintf(f,
                "%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId64 ", %" PRId64 ", %" PRId32 ", ",
                p->splits, p->k_per_split, p->group, p->counters, p->workspace_bytes, p->batch_per_launch,
                p->k_slab);
        write_three(p->last_slab, f);
        fprintf(f, "},\n");
    }
    if (h->plan_count) fprintf(f, "};\n");
}

static void write_sources(const struct header *h, FILE *f)
{
    fprintf(f, "static const struct gt_winner_source gt_%s_sources[] = {\n", h->name);
    for (int i = 0; i < h->picks->source_count; i++) {
        const struct pick_source *s = &h->picks->sources[i];
        fprintf(f, "    {%d, %d, ", s->predicted, s->cold);
        text_c_string(s->driver, f);
        fprintf(f, ", ");
        text_c_string(s->nvrtc, f);
        fprintf(f, ", ");
        text_c_string(s->cublas, f);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\n");
}

/* Which of the exported launcher's values are the templates'. */
static const int32_t value_of[LAUNCH_VALUES] = {
    [VALUE_A] = GT_WINNER_A,
    [VALUE_B] = GT_WINNER_B,
    [VALUE_C] = GT_WINNER_C,
    [VALUE_WORKSPACE] = GT_WINNER_WORKSPACE,
    [VALUE_LDA] = GT_WINNER_LDA,
    [VALUE_LDB] = GT_WINNER_LDB,
    [VALUE_LDC] = GT_WINNER_LDC,
    [VALUE_STRIDE_A] = GT_WINNER_STRIDE_A,
    [VALUE_STRIDE_B] = GT_WINNER_STRIDE_B,
    [VALUE_STRIDE_C] = GT_WINNER_STRIDE_C,
    [VALUE_M] = GT_WINNER_M,
    [VALUE_N] = GT_WINNER_N,
    [VALUE_K] = GT_WINNER_K,
    [VALUE_SPLITS] = GT_WINNER_SPLITS,
    [VALUE_K_PER_SPLIT] = GT_WINNER_K_PER_SPLIT,
    [VALUE_GROUP] = GT_WINNER_GROUP,
    [VALUE_COUNTERS] = GT_WINNER_COUNTERS,
    [VALUE_ALPHA] = GT_WINNER_ALPHA,
    [VALUE_BETA] = GT_WINNER_BETA,
};

static void write_block(const struct template *t, FILE *f)
{
    const struct launch_block *block = t->block;
    const struct gemm_type_row *type = gemm_type_row(t->delivers);
    int fields = 0;
    for (int i = 0; i < LAUNCH_VALUES; i++) fields += block->field[i].bytes > 0;
    fprintf(f, "{%d, {%d, %d, %d}, %d, {", block->bytes, element_bytes(type->a), element_bytes(type->b),
            element_bytes(type->c), fields);
    for (int i = 0; i < LAUNCH_VALUES; i++) {
        const struct launch_field *field = &block->field[i];
        if (field->bytes == 0) continue;
        fprintf(f, "{%" PRId32 ", %d, %d}%s", value_of[i], field->offset, field->bytes,
                --fields ? ", " : "}};\n");
    }
}

/* One for each template. */
static void write_blocks(const struct header *h, FILE *f)
{
    for (int i = 0; i < h->kernels.count; i++) {
        const struct template *t = h->kernels.list[i].key.config.template;
        bool written = false;
        for (int j = 0; j < i; j++) written = written || h->kernels.list[j].key.config.template == t;
        if (written) continue;
        fprintf(f, "static const struct gt_winner_block gt_%s_block_%s = ", h->name, t->name);
        write_block(t, f);
    }
}

static void write_kernels(const struct header *h, FILE *f)
{
    kernels_write(&h->kernels, h->name, f);
    write_blocks(h, f);
    if (h->kernels.count) fprintf(f, "static const struct gt_winner_kernel gt_%s_kernels[] = {\n", h->name);
    for (int i = 0; i < h->kernels.count; i++) {
        const struct export_kernel *k = &h->kernels.list[i];
        fprintf(f, "    {{");
        for (int j = 0; j < 3; j++) {
            if (k->entry[j]) text_c_string(k->entry[j], f);
            else fprintf(f, "NULL");
            fprintf(f, "%s", j < 2 ? ", " : "}, ");
        }
        fprintf(f, "gt_%s_cubin%d, ", h->name, i);
        if (k->ptx) fprintf(f, "gt_%s_ptx%d, %zuu, %zuu, ", h->name, i, k->cubin_bytes, k->ptx_bytes);
        else fprintf(f, "NULL, %zuu, 0, ", k->cubin_bytes);
        fprintf(f, "&gt_%s_block_%s},\n", h->name, k->key.config.template->name);
    }
    if (h->kernels.count) fprintf(f, "};\n");
}

static void write_winner(const struct pick *pick, const struct gt_winner *w, FILE *f)
{
    const double numbers[] = {(double)w->log_m,     (double)w->log_n,     (double)w->log_k,
                              (double)w->log_batch, pick->base.time_us,   pick->base.ratio,
                              pick->base.ratio_low, pick->base.ratio_high};
    char config[CONFIG_TEXT_MAX] = "cublas";
    if (pick->config.template) config_format(&pick->config, config);
    fprintf(f,
            "    {%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32
            ", %" PRId32 ", %" PRId32 ", 0x%" PRIx32 ", 0x%" PRIx32 ", ",
            w->m, w->n, w->k, w->batch, w->type, w->op, w->adds_to_c, w->tight, w->scalars,
            (uint32_t)w->align, (uint32_t)w->needs);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text_c_float(numbers[i], f);
        fprintf(f, ", ");
    }
    fprintf(f, "%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", ", w->geometry, w->plan, w->kernel,
            w->source);
    text_c_string(config, f);
    fprintf(f, ", ");
    text_c_string(pick->base.when, f);
    fprintf(f, "},\n");
}

/* A hash table with at least half of its slots empty. */
static enum status write_slots(const struct header *h, int gpu, size_t begin, size_t count, uint32_t *mask,
                               FILE *f)
{
    uint32_t slots = 4;
    while (slots < 2 * count) slots *= 2;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (!slot) return fail(E_MEMORY, "out of memory for a table of %u", slots);
    for (size_t i = 0; i < count; i++) {
        const struct gt_winner *w = &h->winners[begin + i];
        uint32_t at =
            gt_winner_hash(w->m, w->n, w->k, w->batch, w->type, w->op, w->align, w->adds_to_c) & (slots - 1);
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)i + 1;
    }
    fprintf(f, "static const uint32_t gt_%s_slots%d[] = {", h->name, gpu);
    for (uint32_t i = 0; i < slots; i++) fprintf(f, "%s%" PRIu32 ",", i % 32 ? "" : "\n    ", slot[i]);
    fprintf(f, "\n};\n");
    free(slot);
    *mask = slots - 1;
    return OK;
}

/* The picks of one GPU: [begin, end). */
static size_t end_of_gpu(const struct picks *picks, size_t begin)
{
    size_t end = begin;
    while (end < picks->count && picks->list[end].gpu == picks->list[begin].gpu) end++;
    return end;
}

static void write_gpu(const struct header *h, size_t begin, size_t end, uint32_t mask, bool substitute,
                      FILE *f)
{
    const int number = h->picks->list[begin].gpu;
    const struct gpu *gpu = &h->picks->gpus[number];
    fprintf(f, "    {");
    text_c_string(gpu->name, f);
    fprintf(f, ", %d, %d, %d, gt_%s_table%d, %zu, {", gpu->arch, gpu->sm_count, substitute, h->name, number,
            end - begin);
    for (int range = 0; range <= 4 * GT_WINNER_TYPES; range++) {
        size_t first = begin;
        while (first < end && 4 * h->winners[first].type + h->winners[first].op < range) first++;
        fprintf(f, "%s%zu", range ? ", " : "", first - begin);
    }
    fprintf(f, "}, %" PRIu32 "u, gt_%s_slots%d, ", mask, h->name, number);
    const struct {
        const char *what;
        int count;
    } shared[] = {{"geometries", h->geometry_count},
                  {"plans", h->plan_count},
                  {"sources", h->picks->source_count},
                  {"kernels", h->kernels.count}};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (i) fprintf(f, ", ");
        if (shared[i].count) fprintf(f, "gt_%s_%s", h->name, shared[i].what);
        else fprintf(f, "NULL");
    }
    fprintf(f, "},\n");
}

static void write_gpus(const struct header *h, const uint32_t *masks, bool substitute, FILE *f)
{
    fprintf(f, "static const struct gt_winner_gpu gt_%s_%s[] = {\n", h->name,
            substitute ? "substitutes" : "gpus");
    for (size_t begin = 0, end; begin < h->picks->count; begin = end) {
        end = end_of_gpu(h->picks, begin);
        write_gpu(h, begin, end, masks[h->picks->list[begin].gpu], substitute, f);
    }
    fprintf(f, "};\n");
}

static enum status write_tables(const struct header *h, FILE *f)
{
    write_geometries(h, f);
    write_plans(h, f);
    write_sources(h, f);
    write_kernels(h, f);
    uint32_t *masks = calloc((size_t)h->picks->gpu_count, sizeof *masks);
    enum status st = masks ? OK : fail(E_MEMORY, "out of memory for %d GPUs", h->picks->gpu_count);
    for (size_t begin = 0, end; !st && begin < h->picks->count; begin = end) {
        const int gpu = h->picks->list[begin].gpu;
        end = end_of_gpu(h->picks, begin);
        fprintf(f, "static const struct gt_winner gt_%s_table%d[] = {\n", h->name, gpu);
        for (size_t i = begin; i < end; i++) write_winner(&h->picks->list[i], &h->winners[i], f);
        fprintf(f, "};\n");
        st = write_slots(h, gpu, begin, end - begin, &masks[gpu], f);
    }
    for (int substitute = 0; !st && substitute <= 1; substitute++) write_gpus(h, masks, substitute, f);
    free(masks);
    return st;
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
    enum status st = write_tables(h, f);
    fprintf(f,
            "#ifdef GT_WINNERS_STATIC\n"
            "static\n"
            "#endif\n"
            "const struct gt_winner_set gt_%s = {",
            h->name);
    text_c_string(h->generator, f);
    fprintf(f, ", \"%s\", %d, gt_%s_gpus, gt_%s_substitutes};\n\n#endif\n", h->date, h->picks->gpu_count,
            h->name, h->name);
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

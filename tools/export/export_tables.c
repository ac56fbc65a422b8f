#include "export_tables.h"

#include "epilogue.h"
#include "export_text.h"
#include "template.h"

#include <inttypes.h>
#include <stdlib.h>

#define NAME_MAX_BYTES 160

_Static_assert((int)BIAS_COLUMN == (int)GT_WINNER_BIAS_COLUMN && (int)BIAS_ROW == (int)GT_WINNER_BIAS_ROW &&
                   (int)ACTIVATION_RELU == (int)GT_WINNER_RELU && (int)ACTIVATION_GELU == (int)GT_WINNER_GELU,
               "epilogues have the same numbers in exported headers");

/* "_bias_gelu"; nothing for none. */
static void epilogue_name(int epilogue, char *name)
{
    char text[EPILOGUE_TEXT_MAX];
    epilogue_format(epilogue, text);
    for (char *c = text; *c; c++)
        if (*c == '+') *c = '_';
    sprintf(name, "%s%s", *text ? "_" : "", text);
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
static const int32_t value_of[VALUE_SOURCE] = {
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

/* What kernels without an epilogue are told; bytes: of all of the argument. */
static void write_plain_block(const struct kernel_key *key, int bytes, FILE *f)
{
    const struct launch_block *block = key->config.template->block;
    const struct gemm_type_row *type = gemm_type_row(key->type);
    int fields = 0;
    for (int i = 0; i < VALUE_SOURCE; i++) fields += block->field[i].bytes > 0;
    fprintf(f, "{%d, {%d, %d, %d}, %d, {", bytes, element_bytes(type->a), element_bytes(type->b),
            element_bytes(type->c), fields);
    for (int i = 0; i < VALUE_SOURCE; i++) {
        const struct launch_field *field = &block->field[i];
        if (field->bytes == 0) continue;
        fprintf(f, "{%" PRId32 ", %d, %d}%s", value_of[i], field->offset, field->bytes,
                --fields ? ", " : "}}");
    }
}

/* gt_NAME_block_simt, or gt_NAME_block_simt_bias_gelu. */
static void block_name(const struct header *h, const struct kernel_key *key, char name[NAME_MAX_BYTES])
{
    const int used = snprintf(name, NAME_MAX_BYTES, "gt_%s_block_%s", h->name, key->config.template->name);
    epilogue_name(key->epilogue, name + used);
}

static void write_block(const struct header *h, const struct kernel_key *key, FILE *f)
{
    const struct template *t = key->config.template;
    const struct launch_field *field = t->block->field;
    char name[NAME_MAX_BYTES];
    block_name(h, key, name);
    if (!key->epilogue) {
        fprintf(f, "static const struct gt_winner_block %s = ", name);
        write_plain_block(key, t->block->bytes, f);
        fprintf(f, ";\n");
        return;
    }
    fprintf(f, "static const struct gt_winner_epilogue_block %s = {", name);
    write_plain_block(key, t->block->epilogue_bytes, f);
    fprintf(f, ", %d, %d, %d, %d, %d};\n", field[VALUE_SOURCE].offset, field[VALUE_BIAS].offset,
            field[VALUE_STRIDE_BIAS].offset, epilogue_bias(key->epilogue) != BIAS_NONE,
            epilogue_out_of_place(key->epilogue));
}

/* One for each template and epilogue. */
static void write_blocks(const struct header *h, FILE *f)
{
    for (int i = 0; i < h->kernels.count; i++) {
        const struct kernel_key *key = &h->kernels.list[i].key;
        bool written = false;
        for (int j = 0; j < i; j++) {
            const struct kernel_key *before = &h->kernels.list[j].key;
            written = written ||
                      (before->config.template == key->config.template && before->epilogue == key->epilogue);
        }
        if (!written) write_block(h, key, f);
    }
}

static void write_kernels(const struct header *h, FILE *f)
{
    kernels_write(&h->kernels, h->name, f);
    write_blocks(h, f);
    if (h->kernels.count) fprintf(f, "static const struct gt_winner_kernel gt_%s_kernels[] = {\n", h->name);
    for (int i = 0; i < h->kernels.count; i++) {
        const struct export_kernel *k = &h->kernels.list[i];
        char block[NAME_MAX_BYTES];
        block_name(h, &k->key, block);
        fprintf(f, "    {{");
        for (int j = 0; j < 3; j++) {
            if (k->entry[j]) text_c_string(k->entry[j], f);
            else fprintf(f, "NULL");
            fprintf(f, "%s", j < 2 ? ", " : "}, ");
        }
        fprintf(f, "gt_%s_cubin%d, ", h->name, i);
        if (k->ptx) fprintf(f, "gt_%s_ptx%d, %zuu, %zuu, ", h->name, i, k->cubin_bytes, k->ptx_bytes);
        else fprintf(f, "NULL, %zuu, 0, ", k->cubin_bytes);
        fprintf(f, "&%s%s},\n", block, k->key.epilogue ? ".block" : "");
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
            w->m, w->n, w->k, w->batch, w->type, w->op, w->adds_to_c, w->tight, w->shared, (uint32_t)w->align,
            (uint32_t)w->needs);
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

/* The picks of one epilogue, [begin, end), and the names of their tables. */
struct part {
    char name[NAME_MAX_BYTES]; /* gt_NAME, or gt_NAME_bias_gelu */
    int epilogue, gpus;
    size_t begin, end;
};

/* A hash table with at least half of its slots empty. */
static enum status write_slots(const struct header *h, const struct part *part, int gpu, size_t begin,
                               size_t count, uint32_t *mask, FILE *f)
{
    uint32_t slots = 4;
    while (slots < 2 * count) slots *= 2;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (!slot) return fail(E_MEMORY, "out of memory for a table of %u", slots);
    for (size_t i = 0; i < count; i++) {
        const struct gt_winner *w = &h->winners[begin + i];
        uint32_t at =
            gt_winner_hash(w->m, w->n, w->k, w->batch, w->type, w->op, w->align, w->adds_to_c, w->shared) &
            (slots - 1);
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)i + 1;
    }
    fprintf(f, "static const uint32_t %s_slots%d[] = {", part->name, gpu);
    for (uint32_t i = 0; i < slots; i++) fprintf(f, "%s%" PRIu32 ",", i % 32 ? "" : "\n    ", slot[i]);
    fprintf(f, "\n};\n");
    free(slot);
    *mask = slots - 1;
    return OK;
}

/* The picks of one GPU in a part: [begin, end). */
static size_t end_of_gpu(const struct picks *picks, const struct part *part, size_t begin)
{
    size_t end = begin;
    while (end < part->end && picks->list[end].gpu == picks->list[begin].gpu) end++;
    return end;
}

static void write_gpu(const struct header *h, const struct part *part, size_t begin, size_t end,
                      uint32_t mask, bool substitute, FILE *f)
{
    const int number = h->picks->list[begin].gpu;
    const struct gpu *gpu = &h->picks->gpus[number];
    fprintf(f, "    {");
    text_c_string(gpu->name, f);
    fprintf(f, ", %d, %d, %d, %s_table%d, %zu, {", gpu->arch, gpu->sm_count, substitute, part->name, number,
            end - begin);
    for (int range = 0; range <= 4 * GT_WINNER_TYPES; range++) {
        size_t first = begin;
        while (first < end && 4 * h->winners[first].type + h->winners[first].op < range) first++;
        fprintf(f, "%s%zu", range ? ", " : "", first - begin);
    }
    fprintf(f, "}, %" PRIu32 "u, %s_slots%d, ", mask, part->name, number);
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

static void write_gpus(const struct header *h, const struct part *part, const uint32_t *masks,
                       bool substitute, FILE *f)
{
    fprintf(f, "static const struct gt_winner_gpu %s_%s[] = {\n", part->name,
            substitute ? "substitutes" : "gpus");
    for (size_t begin = part->begin, end; begin < part->end; begin = end) {
        end = end_of_gpu(h->picks, part, begin);
        write_gpu(h, part, begin, end, masks[h->picks->list[begin].gpu], substitute, f);
    }
    fprintf(f, "};\n");
}

/* What other files see; static where nothing is seen. */
static void write_shared(const char *type, const char *name, FILE *f)
{
    fprintf(f,
            "#ifdef GT_WINNERS_STATIC\n"
            "static\n"
            "#endif\n"
            "const struct %s %s = {",
            type, name);
}

static void write_set(const struct header *h, const struct part *part, FILE *f)
{
    if (part->epilogue) fprintf(f, "static const struct gt_winner_set %s = {", part->name);
    else write_shared("gt_winner_set", part->name, f);
    text_c_string(h->generator, f);
    if (part->gpus)
        fprintf(f, ", \"%s\", %d, %s_gpus, %s_substitutes};\n", h->date, part->gpus, part->name, part->name);
    else fprintf(f, ", \"%s\", 0, NULL, NULL};\n", h->date);
}

/* The tables of a part, and their set. */
static enum status write_part(const struct header *h, struct part *part, FILE *f)
{
    uint32_t *masks = calloc((size_t)h->picks->gpu_count, sizeof *masks);
    enum status st = masks ? OK : fail(E_MEMORY, "out of memory for %d GPUs", h->picks->gpu_count);
    for (size_t begin = part->begin, end; !st && begin < part->end; begin = end) {
        const int gpu = h->picks->list[begin].gpu;
        end = end_of_gpu(h->picks, part, begin);
        fprintf(f, "static const struct gt_winner %s_table%d[] = {\n", part->name, gpu);
        for (size_t i = begin; i < end; i++) write_winner(&h->picks->list[i], &h->winners[i], f);
        fprintf(f, "};\n");
        st = write_slots(h, part, gpu, begin, end - begin, &masks[gpu], f);
        part->gpus++;
    }
    for (int substitute = 0; !st && part->gpus && substitute <= 1; substitute++)
        write_gpus(h, part, masks, substitute, f);
    if (!st) write_set(h, part, f);
    free(masks);
    return st;
}

/* The picks of an epilogue that begin there. */
static struct part part_of(const struct header *h, int epilogue, size_t begin)
{
    struct part part = {.epilogue = epilogue, .begin = begin, .end = begin};
    const int used = snprintf(part.name, sizeof part.name, "gt_%s", h->name);
    epilogue_name(epilogue, part.name + used);
    while (part.end < h->picks->count && h->picks->list[part.end].base.problem.epilogue == epilogue)
        part.end++;
    return part;
}

/* The sets of all epilogues, which come behind the winners without one, and the list of these sets. */
static enum status write_epilogues(const struct header *h, size_t begin, FILE *f)
{
    struct part parts[EPILOGUE_CODES];
    char name[NAME_MAX_BYTES];
    int count = 0;
    enum status st = OK;
    for (; !st && begin < h->picks->count; begin = parts[count++].end) {
        parts[count] = part_of(h, h->picks->list[begin].base.problem.epilogue, begin);
        st = write_part(h, &parts[count], f);
    }
    if (st || count == 0) return st;
    fprintf(f, "static const struct gt_winner_epilogue gt_%s_epilogue_sets[] = {\n", h->name);
    for (int i = 0; i < count; i++)
        fprintf(f, "    {%d, %d, %d, &%s},\n", (int)epilogue_bias(parts[i].epilogue),
                (int)epilogue_activation(parts[i].epilogue), epilogue_out_of_place(parts[i].epilogue),
                parts[i].name);
    fprintf(f, "};\n");
    snprintf(name, sizeof name, "gt_%s_epilogues", h->name);
    write_shared("gt_winner_epilogues", name, f);
    fprintf(f, "%d, gt_%s_epilogue_sets};\n", count, h->name);
    return OK;
}

enum status tables_write(const struct header *h, FILE *f)
{
    struct part plain = part_of(h, 0, 0);
    write_geometries(h, f);
    write_plans(h, f);
    write_sources(h, f);
    write_kernels(h, f);
    enum status st = write_part(h, &plain, f);
    return st ? st : write_epilogues(h, plain.end, f);
}

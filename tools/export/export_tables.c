#include "export_header.h"

#include "epilogue.h"
#include "export_plan.h"

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

/* The plans of all winners with a kernel, in the order of their numbers. */
static enum status write_plans(const struct header *h, FILE *f)
{
    if (h->plan_count == 0) return OK;
    fprintf(f, "static const struct gt_winner_planned gt_%s_plans[] = {\n", h->name);
    for (size_t i = 0; i < h->picks->count; i++) {
        const struct pick *pick = &h->picks->list[i];
        const struct problem *p = &pick->base.problem;
        struct planned planned;
        if (h->winners[i].kernel < 0) continue;
        enum status st = plan_make(&pick->config, p, &h->picks->gpus[pick->gpu], &planned);
        if (st) return st;
        fprintf(f, "    {&gt_%s_kernels[%d], 0x%" PRIx32 ", 0x%" PRIx32 ", ", h->name,
                h->kernel_of[h->winners[i].kernel], (uint32_t)planned.takes, (uint32_t)planned.aligned);
        plan_write_lengths(&planned.lengths, f);
        fprintf(f, ", ");
        plan_write(&planned.plan, f);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\n");
    return OK;
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

static void write_winner(const struct pick *pick, const struct gt_winner *w, FILE *f)
{
    const double numbers[] = {(double)w->log_m,     (double)w->log_n,     (double)w->log_k,
                              (double)w->log_batch, pick->base.time_us,   pick->base.ratio,
                              pick->base.ratio_low, pick->base.ratio_high};
    char config[CONFIG_TEXT_MAX] = "cublas";
    if (pick->config.template) config_format(&pick->config, config);
    fprintf(f,
            "    {%" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32
            ", %" PRId32 ", %" PRId32 ", 0x%" PRIx32 ", 0x%" PRIx32 ", {%" PRId32 ", %" PRId32 ", %" PRId32
            "}, ",
            w->m, w->n, w->k, w->batch, w->type, w->op, w->adds_to_c, w->tight, w->shared, (uint32_t)w->align,
            (uint32_t)w->needs, w->most[0], w->most[1], w->most[2]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text_c_float(numbers[i], f);
        fprintf(f, ", ");
    }
    fprintf(f, "%" PRId32 ", %" PRId32 ", ", w->kernel, w->source);
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
    } shared[] = {{"plans", h->plan_count}, {"sources", h->picks->source_count}};
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
    write_sources(h, f);
    kernels_write(&h->kernels, h->name, f);
    enum status st = write_plans(h, f);
    if (!st) st = write_part(h, &plain, f);
    return st ? st : write_epilogues(h, plain.end, f);
}

#include "export_plan.h"

#include "operand_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)GEMM_TYPE_COUNT == (int)GT_WINNER_TYPES, "an exported header has all types");

struct gt_winner_shape plan_shape(const struct problem *p)
{
    return (struct gt_winner_shape){.trans_a = p->trans_a,
                                    .trans_b = p->trans_b,
                                    .m = p->m,
                                    .n = p->n,
                                    .k = p->k,
                                    .lda = p->lda,
                                    .ldb = p->ldb,
                                    .ldc = p->ldc,
                                    .batch = p->batch,
                                    .stride_a = p->stride_a,
                                    .stride_b = p->stride_b,
                                    .stride_c = p->stride_c,
                                    .adds_to_c = p->beta != 0,
                                    .type = (int)p->type};
}

/* ---- what a configuration fits ---- */

static bool is_legal(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    return !config->template->check(config, problem, gpu);
}

/* Some vectors further, and an odd number of `width` elements. */
static int64_t lengthened(int64_t length, int width)
{
    return (length / 64 + 2) * 64 + width;
}

/* The widest vectors, of at most `widest` elements, that operand i (A, B, C) must allow: with a leading
 * dimension that allows narrower ones the rules refuse the problem. */
static int32_t needs_of(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                        int i, int32_t widest)
{
    for (int32_t width = 1; width < widest; width *= 2) {
        struct problem other = *problem;
        int64_t *const ld[3] = {&other.lda, &other.ldb, &other.ldc};
        *ld[i] = lengthened(*ld[i], width);
        if (is_legal(config, &other, gpu)) return width;
    }
    return widest;
}

/* What must divide lengths and addresses of operand i, whatever the length of its rows: the rules of some
 * families look at the distances of rows alone. */
static int32_t vector_of(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                         int i)
{
    const enum element element = operand_layout(problem, (enum operand)i).element;
    return needs_of(config, problem, gpu, i, element_vector(element));
}

/* The largest m, n or k (i) that the rules allow with the others as they are. */
static int32_t most_of(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                       int i)
{
    struct problem other = *problem;
    int64_t *const size = i == 0 ? &other.m : i == 1 ? &other.n : &other.k;
    for (int64_t step = INT64_C(1) << 30; step > 0; step /= 2) {
        *size += step;
        if (*size > PROBLEM_DIM_MAX || !is_legal(config, &other, gpu)) *size -= step;
    }
    return (int32_t)*size;
}

struct gt_winner plan_winner(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const struct gt_winner_shape shape = plan_shape(p);
    struct gt_winner w = {.m = (int32_t)p->m,
                          .n = (int32_t)p->n,
                          .k = (int32_t)p->k,
                          .batch = (int32_t)p->batch,
                          .type = (int32_t)p->type,
                          .op = 2 * p->trans_a + p->trans_b,
                          .adds_to_c = shape.adds_to_c,
                          .tight = gt_winner_tight(&shape),
                          .shared = gt_winner_shared(&shape),
                          .align = gt_winner_align(&shape),
                          .needs = 0x111,
                          .most = {INT32_MAX, INT32_MAX, INT32_MAX},
                          .log_m = gt_winner_log(p->m),
                          .log_n = gt_winner_log(p->n),
                          .log_k = gt_winner_log(p->k),
                          .log_batch = gt_winner_log(p->batch),
                          .kernel = -1};
    if (!config->template) return w;
    w.needs = 0;
    const int32_t align[] = {problem_align_a(p), problem_align_b(p), problem_align_c(p)};
    for (int i = 0; i < 3; i++) {
        w.needs |= needs_of(config, p, gpu, i, align[i]) << 4 * i;
        w.most[i] = most_of(config, p, gpu, i);
    }
    return w;
}

/* ---- plans ---- */

/* A whole plan, with 0 in the steps that no launch takes. */
static void make(const struct config *config, const struct problem *problem, struct launch_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    config->template->plan(config, problem, plan);
    if (plan->batch == 1) memset(plan->batch_step_bytes, 0, sizeof plan->batch_step_bytes);
    if (plan->k_slab == 0) memset(plan->k_step_bytes, 0, sizeof plan->k_step_bytes);
}

/* As text, since structs have padding; malloc'ed, NULL out of memory. */
static char *text_of(const struct launch_plan *plan)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return NULL;
    plan_write(plan, stream);
    return fclose(stream) ? NULL : text;
}

static bool same_plan(const struct launch_plan *x, const struct launch_plan *y, bool *enough)
{
    char *const text_x = text_of(x), *const text_y = text_of(y);
    const bool same = text_x && text_y && strcmp(text_x, text_y) == 0;
    *enough = *enough && text_x && text_y;
    free(text_x);
    free(text_y);
    return same;
}

static int64_t *length_in(struct problem *p, int i)
{
    int64_t *const lengths[LAUNCH_LENGTHS] = {&p->lda,      &p->ldb,      &p->ldc,        &p->stride_a,
                                              &p->stride_b, &p->stride_c, &p->stride_bias};
    return lengths[i];
}

/* Is the plan, changed to another length i of the problem, the template's? */
static bool is_relengthened(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                            const struct planned *planned, int i, int64_t length, bool *enough)
{
    struct launch_plan ours = planned->plan, theirs;
    struct problem other = *problem;
    int64_t wanted[LAUNCH_LENGTHS];
    memcpy(wanted, planned->lengths.planned, sizeof wanted);
    *length_in(&other, i) = wanted[i] = length;
    if (!is_legal(config, &other, gpu)) return false;
    make(config, &other, &theirs);
    return launch_relength(&ours, &planned->lengths, wanted) && same_plan(&ours, &theirs, enough);
}

/* Where the plan has length i: the first place that explains what the template plans for other lengths, one
 * of them as little aligned as the configuration takes. */
static int32_t place_of(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                        struct planned *planned, int i, int width, bool *enough)
{
    const int64_t length = planned->lengths.planned[i];
    for (int32_t at = LAUNCH_UNTOLD; at + 8 <= planned->plan.argument_bytes; at += at < 0 ? 1 : 8) {
        if (at >= 0 && memcmp(planned->plan.argument + at, &length, sizeof length) != 0) continue;
        planned->lengths.at[i] = at;
        if (is_relengthened(config, problem, gpu, planned, i, lengthened(length, width), enough) &&
            is_relengthened(config, problem, gpu, planned, i, length + (INT64_C(1) << 30), enough))
            return at;
    }
    return LAUNCH_FIXED;
}

enum status plan_make(const struct config *config, const struct problem *p, const struct gpu *gpu,
                      struct planned *planned)
{
    struct problem copy = *p;
    bool enough = true;
    *planned = (struct planned){.lengths = {.trans_a = p->trans_a, .trans_b = p->trans_b}};
    for (int i = 0; i < OPERANDS; i++) {
        planned->lengths.bytes[i] = element_bytes(operand_layout(p, (enum operand)i).element);
        planned->takes |= operand_is_own(p, (enum operand)i) << i;
    }
    make(config, p, &planned->plan);
    for (int i = 0; i < LAUNCH_LENGTHS; i++) planned->lengths.planned[i] = *length_in(&copy, i);
    for (int i = 0; i < LAUNCH_LENGTHS; i++) {
        const int width = i == LAUNCH_STRIDE_BIAS ? 1 : vector_of(config, p, gpu, i % 3);
        if (i < 3) planned->aligned |= width << 4 * i;
        planned->lengths.at[i] = place_of(config, p, gpu, planned, i, width, &enough);
    }
    return enough ? OK : fail(E_MEMORY, "out of memory for a plan");
}

/* ---- writing ---- */

static void write_list(const int64_t *numbers, int count, FILE *f)
{
    for (int i = 0; i < count; i++) fprintf(f, "%s%" PRId64, i ? ", " : "{", numbers[i]);
    putc('}', f);
}

void plan_write_lengths(const struct launch_lengths *l, FILE *f)
{
    putc('{', f);
    write_list(l->planned, LAUNCH_LENGTHS, f);
    for (int i = 0; i < LAUNCH_LENGTHS; i++) fprintf(f, "%s%" PRId32, i ? ", " : ", {", l->at[i]);
    for (int i = 0; i < OPERANDS; i++) fprintf(f, "%s%" PRId32, i ? ", " : "}, {", l->bytes[i]);
    fprintf(f, "}, %" PRId32 ", %" PRId32 "}", l->trans_a, l->trans_b);
}

static const char *truth(bool x)
{
    return x ? "true" : "false";
}

static void write_kernel(const struct kernel_launch *k, FILE *f)
{
    fprintf(f, "{\"%s\", {%uu, %uu, %uu}, %uu, %uu, %uu, {%uu, %uu, %uu}, %s, %s, %s, %d}", k->entry,
            k->grid[0], k->grid[1], k->grid[2], k->last_slab, k->threads, k->smem_bytes, k->cluster[0],
            k->cluster[1], k->cluster[2], truth(k->cluster_at_launch), truth(k->walks_items),
            truth(k->dependent), k->zero_at);
}

static void write_view(const struct tensor_view *v, FILE *f)
{
    int64_t box[TENSOR_RANK_MAX];
    for (int i = 0; i < TENSOR_RANK_MAX; i++) box[i] = v->box[i];
    fprintf(f, "{(enum gt_launch_operand)%d, (enum gt_element)%d, %d, %" PRId64 ", ", (int)v->operand,
            (int)v->element, v->rank, v->offset_bytes);
    write_list(v->extent, TENSOR_RANK_MAX, f);
    fprintf(f, ", ");
    write_list(v->stride_bytes, TENSOR_RANK_MAX, f);
    fprintf(f, ", ");
    write_list(box, TENSOR_RANK_MAX, f);
    fprintf(f, ", %u, %d, %d, %d}", v->swizzle_bytes, v->k_axis, v->batch_axis, v->at);
}

/* Arrays are written as far as they are used, and structs whole, since C++ warns of missing members. */
void plan_write(const struct launch_plan *p, FILE *f)
{
    static const struct kernel_launch no_kernel = {.entry = ""};
    static const struct tensor_view no_view = {.rank = 0};
    const struct launch_slots *s = &p->slots;
    fprintf(f, "{{");
    for (int i = 0; i < LAUNCH_KERNELS_MAX; i++) {
        if (i) fprintf(f, ", ");
        write_kernel(i < p->kernels ? &p->kernel[i] : &no_kernel, f);
    }
    fprintf(f, "}, %d, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", ", p->kernels,
            p->first, p->counters, p->workspace_bytes, p->batch, p->k, p->batch_per_launch, p->k_slab);
    write_list(p->batch_step_bytes, LAUNCH_OPERANDS, f);
    fprintf(f, ", ");
    write_list(p->k_step_bytes, 2, f);
    for (int i = 0; i < OPERANDS; i++) fprintf(f, "%s%d", i ? ", " : ", {{", s->at[i]);
    fprintf(f, "}, %d, %d, %d, %d, %d, %d, %d}, %d, %d, {", s->workspace, s->alpha_device, s->beta_device,
            s->alpha, s->beta, s->k, s->items, p->views, p->argument_bytes);
    for (int i = 0; i < p->views || i == 0; i++) {
        if (i) fprintf(f, ", ");
        write_view(i < p->views ? &p->view[i] : &no_view, f);
    }
    fprintf(f, "}, {");
    for (int i = 0; i < p->argument_bytes; i++) fprintf(f, "%s%d", i ? "," : "", p->argument[i]);
    fprintf(f, "}}");
}

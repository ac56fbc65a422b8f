#include "export_geometry.h"

#include "workspace.h"
#include <string.h>

#define ALL (1 << 30) /* a tile so large that there is one of them */

struct gt_winner_shape geometry_shape(const struct problem *p)
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

struct gt_winner geometry_winner(const struct problem *p)
{
    const struct gt_winner_shape shape = geometry_shape(p);
    return (struct gt_winner){.m = (int32_t)p->m,
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
                              .log_m = gt_winner_log(p->m),
                              .log_n = gt_winner_log(p->n),
                              .log_k = gt_winner_log(p->k),
                              .log_batch = gt_winner_log(p->batch),
                              .geometry = -1,
                              .plan = -1,
                              .kernel = -1};
}

_Static_assert((int)GEMM_TYPE_COUNT == (int)GT_WINNER_TYPES, "an exported header has all types");

_Static_assert(LAUNCH_KERNELS_MAX == 3, "struct gt_winner_plan has places for three kernels");

/* A number in the argument of a plan; what the kernels are not told is `otherwise`. */
static int32_t argument(const struct launch_plan *plan, const struct launch_block *block,
                        enum launch_value value, int64_t otherwise)
{
    const struct launch_field field = block->field[value];
    int32_t number = (int32_t)otherwise;
    if (field.bytes == sizeof number) memcpy(&number, plan->argument + field.offset, sizeof number);
    if (field.bytes != sizeof otherwise) return number;
    memcpy(&otherwise, plan->argument + field.offset, sizeof otherwise);
    return (int32_t)otherwise;
}

/* The kernels of a plan in their places: what packs, the product, what sums. The product is the one that is
 * launched whatever k is. */
static void place(const struct launch_plan *plan, const struct launch_block *block, const char *product,
                  struct gt_winner_plan *out, const char *entries[3])
{
    int first = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < plan->kernels; i++)
        if (strcmp(plan->kernel[i].entry, product) == 0) first = 1 - i;
    for (int i = 0; i < plan->kernels; i++) {
        const struct kernel_launch *kernel = &plan->kernel[i];
        const int to = i + first;
        for (int j = 0; j < 3; j++) out->grid[to][j] = kernel->grid[j];
        out->threads[to] = kernel->threads;
        out->smem_bytes[to] = kernel->smem_bytes;
        if (plan->k_slab) out->last_slab[to] = kernel->last_slab;
        entries[to] = kernel->entry;
    }
    if (plan->kernels == 0) return;
    out->kernels = plan->kernels;
    out->splits = argument(plan, block, VALUE_SPLITS, 1);
    out->k_per_split = argument(plan, block, VALUE_K_PER_SPLIT, plan->k);
    out->group = argument(plan, block, VALUE_GROUP, 1);
    out->counters = plan->counters;
    out->workspace_bytes = plan->workspace_bytes;
    out->batch_per_launch = plan->batch_per_launch;
    out->k_slab = (int32_t)plan->k_slab;
}

/* ---- what a template declares, as the formula wants it ---- */

static int32_t floor_to(int64_t x, int64_t unit)
{
    return (int32_t)(x / unit * unit);
}

/* The smallest power of two of MiB that holds so many bytes; 1 for none. */
static int32_t mib_of(int64_t bytes)
{
    int32_t mib = 1;
    while (mib < 1 << 20 && (int64_t)mib << 20 < bytes) mib *= 2;
    return mib;
}

static int32_t or_one(int32_t x)
{
    return x > 0 ? x : 1;
}

/* No size that is no multiple of what its rows must be aligned to can be asked for. */
static void set_limits(const struct launch_geometry *from, const struct problem *p,
                       struct gt_winner_geometry *g)
{
    int32_t step[3] = {1, 1, 1};
    int32_t *const row[3] = {&step[p->trans_a ? 0 : 2], &step[p->trans_b ? 2 : 1], &step[1]};
    for (int i = 0; i < 3; i++)
        if (*row[i] < from->align[i]) *row[i] = from->align[i];
    g->m_min = from->least[0];
    g->n_min = from->least[1];
    g->k_min = from->least[2];
    g->m_max = floor_to(from->most[0], step[0]);
    g->n_max = floor_to(from->most[1], step[1]);
    g->k_max = floor_to(from->most[2], step[2]);
}

_Static_assert((int)PARTS_NONE == (int)GT_WINNER_PARTS_NONE && (int)PARTS_OF_C == (int)GT_WINNER_PARTS_OF_C &&
                   (int)PARTS_OF_TILES == (int)GT_WINNER_PARTS_OF_TILES &&
                   (int)PARTS_IN_CLUSTER == (int)GT_WINNER_PARTS_IN_CLUSTER,
               "the parts of a cut k go where exported headers say");

static void set_parts(const struct launch_geometry *from, struct gt_winner_geometry *g)
{
    g->parts = (int32_t)from->parts;
    g->sum_width = g->counter_unit = g->parts_mib = 1;
    if (from->parts == PARTS_OF_C) g->sum_width = from->sum_width;
    if (from->parts == PARTS_OF_TILES) {
        g->part_floats = from->part_elements;
        g->counter_unit = from->counter_unit;
        g->counter_share = from->counter_share;
    }
    if (from->parts == PARTS_OF_C || from->parts == PARTS_OF_TILES) g->parts_mib = mib_of(from->parts_bytes);
}

static void set_pack(const struct launch_geometry *from, struct gt_winner_geometry *g)
{
    g->pack = from->pack;
    g->pack_row = or_one(from->pack_line);
    for (int i = 0; i < 2; i++) {
        g->pack_x[i] = or_one(from->pack_x[i]);
        g->pack_k[i] = or_one(from->pack_k[i]);
    }
    g->pack_threads = from->pack_threads;
    g->pack_smem_bytes = from->pack_smem_bytes;
    g->slab_unit = from->slab_k;
    g->slab_min = from->slab_least;
    g->pack_mib = mib_of(from->pack_bytes);
}

void geometry_allow(struct gt_winner_geometry *g, const struct config *config, const struct problem *problem)
{
    struct problem item = *problem;
    item.batch = 1;
    const int32_t mib = mib_of(workspace_of(config, &item));
    if (g->workspace_mib < mib) g->workspace_mib = mib;
}

bool geometry_is_told(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    struct launch_geometry geometry;
    const struct template *t = config->template;
    return t->block || (t->geometry && t->geometry(config, problem, gpu, &geometry));
}

bool geometry_find(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                   struct gt_winner_geometry *g, const char *entries[3])
{
    struct launch_geometry from;
    memset(g, 0, sizeof *g);
    if (!config->template->geometry || !config->template->geometry(config, problem, gpu, &from)) return false;
    g->bm = from.m ? from.m : ALL;
    g->bn = from.n ? from.n : ALL;
    g->bk = from.k;
    g->split = from.split;
    g->group = from.group;
    g->walk = from.walk;
    g->walkers = from.walkers;
    g->threads = from.threads;
    g->smem_bytes = from.smem_bytes;
    g->smem_step = from.smem_step;
    g->smem_k = from.smem_k ? from.smem_k : from.k + 1;
    set_parts(&from, g);
    set_pack(&from, g);
    set_limits(&from, problem, g);
    g->workspace_mib = g->batch_mib = 1;
    if (from.pack || from.parts == PARTS_OF_C || from.parts == PARTS_OF_TILES) {
        g->batch_mib = mib_of(from.batch_bytes);
        g->workspace_mib = mib_of(WORKSPACE_DEFAULT_BYTES);
        geometry_allow(g, config, problem);
    }
    memcpy(entries, from.entry, sizeof from.entry);
    return true;
}

int32_t geometry_needs(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    int32_t align[3] = {problem_align_a(problem), problem_align_b(problem), problem_align_c(problem)};
    struct launch_geometry from;
    if (config->template->geometry) {
        config->template->geometry(config, problem, gpu, &from);
        memcpy(align, from.align, sizeof align);
    }
    return align[0] | align[1] << 4 | align[2] << 8;
}

void geometry_plan(const struct config *config, const struct problem *problem, struct gt_winner_plan *out,
                   const char *entries[3])
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    entries[0] = entries[1] = entries[2] = NULL;
    place(&plan, config->template->block, plan.kernels ? plan.kernel[plan.kernels == 3].entry : "", out,
          entries);
}

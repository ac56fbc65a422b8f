/* tiled_plan.c — how a family with a row launches a problem: workspace, tensor maps, kernels. */
#include "tiled.h"

#include "cost_parts.h"
#include "gemm_block.h"
#include "gt_early_args.h"
#include "gt_workspace32.h"
#include "launch_limits.h"
#include "split_k.h"

#define VALUE(slot, absent) TILED_VALUE(t, slot, absent, config)

/* What follows from row, configuration and problem. */
struct work {
    const struct tiled *row;
    const struct config *config;
    const struct problem *problem;
    struct tiled_sizes sizes;
    int pack, reduce;
    struct k_cut cut;
    int64_t rows, tiles;
    struct workspace_item item; /* its packed operands, and all of it */
};

static struct workspace_item item_of(const struct work *w)
{
    const struct tiled *const t = w->row;
    const struct problem *const p = w->problem;
    const bool parts = w->cut.splits > 1 && w->reduce < 2;
    const int64_t part = w->reduce == 0 ? p->m * p->n : w->tiles * w->sizes.part_floats;
    const int64_t floats = (int64_t)w->sizes.before_bytes / 4 + (parts ? w->cut.splits * part : 0);
    switch (t->pack) {
    case PACK_LINES:
        return workspace_item(w->pack, p->trans_a, p->trans_b, p->m, p->n, p->k, floats);
    case PACK_ALONG_K:
        return workspace_item32(w->pack, p->m, p->n, p->k, floats);
    case PACK_OWN:
        break;
    }
    const int64_t unit = w->sizes.before_bytes > 0 && t->item_floats ? t->item_floats : 1;
    return (struct workspace_item){.floats = ceil_div(floats, unit) * unit};
}

/* Without SPLIT_K in one part, whose length is a multiple, too. */
static struct k_cut cut_of(const struct tiled *t, const struct config *config, int64_t k, int64_t unit)
{
    if (t->at.split_k) return cut_k(k, unit, VALUE(split_k, 1), tiled_cluster(t, config));
    return (struct k_cut){.k_per_split = ceil_div(k, unit) * unit, .splits = 1};
}

static struct work work_of(const struct tiled *t, const struct config *config, const struct problem *p)
{
    struct work w = {.row = t,
                     .config = config,
                     .problem = p,
                     .sizes = t->sizes(config, p),
                     .pack = VALUE(pack, 0),
                     .reduce = VALUE(reduce, t->reduce)};
    w.cut = cut_of(t, config, w.sizes.k_slab ? w.sizes.k_slab : p->k, w.sizes.k);
    w.rows = ceil_div(p->m, w.sizes.m);
    w.tiles = w.rows * ceil_div(p->n, w.sizes.n);
    w.item = item_of(&w);
    return w;
}

/* Items of a launch, its workspace and its counters. */
static void plan_workspace(const struct work *w, struct gemm_args *args, struct launch_plan *plan)
{
    const bool counts = w->cut.splits > 1 && w->reduce == 1;
    const int64_t words = w->sizes.words + (counts ? w->tiles : 0);
    const int64_t beside = 4 * (w->sizes.words + (counts ? w->tiles * w->row->beside_floats : 0));
    plan->batch_per_launch = GRID_Z_MAX;
    if (w->item.floats == 0) return;
    plan->batch_per_launch = items_per_launch(4 * w->item.floats + beside);
    const int64_t slice = smaller(w->problem->batch, plan->batch_per_launch);
    args->counters = (int)(ceil_div(slice * words, COUNTERS_UNIT) * COUNTERS_UNIT);
    plan->workspace_bytes = 4 * (args->counters + slice * w->item.floats);
}

_Static_assert(EARLY_AT >= sizeof(struct gemm_args) && EARLY_AT % 64 == 0, "they follow the arguments");

static void plan_argument(const struct work *w, const struct gemm_args *args, struct launch_plan *plan)
{
    const struct tiled *const t = w->row;
    const struct config *const config = w->config;
    const int bytes = w->sizes.argument_bytes;
    gemm_args_put(plan, w->problem, args);
    if (bytes == 0) return;
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(bytes - plan->argument_bytes));
    if (t->at.pdl)
        memcpy(plan->argument + t->early_at, (int[]){VALUE(pdl, 0), VALUE(ask, 0)}, 2 * sizeof(int));
    plan->argument_bytes = bytes;
}

/* ---- operands that tensor maps read ---- */

/* An operand as it lies. */
struct lines {
    enum element element;
    bool along_k;
    int64_t length, lines, ld, stride;
};

static struct lines lines_of(const struct problem *p, bool b)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    if (b)
        return (struct lines){type->b, p->trans_b, problem_cols_b(p), problem_rows_b(p), p->ldb, p->stride_b};
    return (struct lines){type->a, !p->trans_a, problem_cols_a(p), problem_rows_a(p), p->lda, p->stride_a};
}

/* The same in the workspace. */
static struct lines packed_lines(const struct work *w, struct lines from, bool b)
{
    if (w->row->pack == PACK_ALONG_K) {
        from.along_k = true;
        from.length = w->problem->k;
        from.lines = b ? w->problem->n : w->problem->m;
    }
    from.ld = w->row->pack == PACK_ALONG_K ? packed_line32(from.length) : packed_line(from.length);
    from.stride = 4 * w->item.floats / element_bytes(from.element);
    return from;
}

static void add_view(const struct work *w, bool b, struct launch_plan *plan)
{
    const struct tiled *const t = w->row;
    const struct config *const config = w->config;
    const bool packed = b ? w->pack / 2 : w->pack % 2;
    struct lines from = lines_of(w->problem, b);
    if (t->pack == PACK_ALONG_K) from.element = ELEMENT_TF32; /* copies round to it */
    if (packed) from = packed_lines(w, from, b);
    const int64_t bytes = element_bytes(from.element), batch = w->problem->batch;
    const int64_t count = packed ? smaller(batch, plan->batch_per_launch) : batch;
    const bool items = count > 1 && from.stride != 0;
    const unsigned piece = 128 / (unsigned)bytes;
    plan->view[plan->views++] = (struct tensor_view){
        .operand = packed ? LAUNCH_WORKSPACE
                   : b    ? LAUNCH_B
                          : LAUNCH_A,
        .element = from.element,
        .rank = 3,
        .offset_bytes = packed ? 4 * (plan->counters + (b ? w->item.b : 0)) : 0,
        .extent = {from.length, from.lines, items ? count : 1},
        .stride_bytes = {bytes, bytes * from.ld, bytes * (items ? from.stride : from.ld)},
        .box = {piece, from.along_k ? (unsigned)(b ? VALUE(bn, 1) : VALUE(bm, 1)) : piece, 1},
        .swizzle_bytes = 128,
        .k_axis = -1,
        .batch_axis = items ? 2 : -1,
        .at = t->map_at[b != (VALUE(swap, 0) != 0)]};
}

/* ---- kernels ---- */

static struct kernel_launch pack_launch(const struct work *w, unsigned slice, bool early)
{
    const struct problem *const p = w->problem;
    const bool turns = w->row->pack == PACK_ALONG_K;
    int64_t pieces = 0;
    if (w->pack % 2)
        pieces += turns ? pack_pieces32(p->m, p->k) : pack_pieces(problem_rows_a(p), problem_cols_a(p));
    if (w->pack / 2)
        pieces += turns ? pack_pieces32(p->n, p->k) : pack_pieces(problem_rows_b(p), problem_cols_b(p));
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)ceil_div(pieces, PACK_THREADS / 32), 1, slice},
                                  .threads = PACK_THREADS,
                                  .dependent = early};
}

static struct kernel_launch product_launch(const struct work *w, unsigned slice)
{
    const struct tiled *const t = w->row;
    const struct config *const config = w->config;
    const bool walks = t->at.sms && VALUE(walk, 1);
    const int64_t walkers = (int64_t)VALUE(sms, 1) * VALUE(min_blocks, 1);
    const unsigned cluster = (unsigned)tiled_cluster(t, config);
    struct kernel_launch product = {.entry = "gemm",
                                    .grid = {(unsigned)w->tiles, (unsigned)w->cut.splits, slice},
                                    .threads = (unsigned)w->sizes.threads,
                                    .smem_bytes = (unsigned)w->sizes.smem_bytes,
                                    .cluster = {cluster ? 1 : 0, cluster, cluster ? 1 : 0}};
    if (!walks) return product;
    product.grid[0] = (unsigned)smaller(w->tiles * w->cut.splits, walkers);
    product.grid[1] = 1;
    return product;
}

void tiled_plan(const struct config *config, const struct problem *problem, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, problem)) return;

    const struct tiled *const t = config->template->tiled;
    const struct work w = work_of(t, config, problem);
    struct gemm_args args = gemm_args_of(problem);
    args.splits = (int)w.cut.splits;
    args.k_per_split = (int)w.cut.k_per_split;
    args.group = (int)smaller(VALUE(group, 1), w.rows);
    plan->k_slab = w.sizes.k_slab;
    plan_workspace(&w, &args, plan);
    plan_argument(&w, &args, plan);
    for (int b = 0; t->arrival == BY_MAPS && b < 2; b++) add_view(&w, b, plan);

    const unsigned slice = (unsigned)smaller(problem->batch, plan->batch_per_launch);
    const bool early = VALUE(pdl, 0) > 0, packs = t->pack != PACK_OWN && w.pack && problem->k > 0;
    if (packs) plan->kernel[plan->kernels++] = pack_launch(&w, slice, early);
    struct kernel_launch product = product_launch(&w, slice);
    product.dependent = early || (packs && t->arrival == BY_MAPS);
    if (t->launch) t->launch(config, problem, plan, &product);
    plan->kernel[plan->kernels++] = product;
    if (w.cut.splits > 1 && w.reduce == 0)
        plan->kernel[plan->kernels++] = reduce_launch(&args, VALUE(vc, 1), slice);
}

struct resources tiled_resources(const struct config *config)
{
    const struct tiled_sizes sizes = config->template->tiled->sizes(config, NULL);
    return (struct resources){
        .threads = sizes.threads, .smem_bytes = sizes.smem_bytes, .accumulators = sizes.sums};
}

struct tiled_grid tiled_grid(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const struct tiled *const t = config->template->tiled;
    const struct tiled_sizes sizes = t->sizes(config, p);
    const struct k_cut cut = cut_of(t, config, p->k, sizes.k);
    const double tiles = (double)(ceil_div(p->m, sizes.m) * ceil_div(p->n, sizes.n)),
                 splits = (double)cut.splits;
    const int cluster = tiled_cluster(t, config);
    return (struct tiled_grid){.blocks = tiles * splits * (double)p->batch,
                               .splits = splits,
                               .k = cut.splits > 1 ? (double)cut.k_per_split : (double)p->k,
                               .sms = cluster ? cluster_sms(gpu, cluster) : gpu->sm_count};
}

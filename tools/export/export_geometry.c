#include "export_geometry.h"

#include "stats.h"
#include "workspace.h"
#include <string.h>

#define NEVER        (1 << 30) /* a tile so large that there is one of them */
#define PROBES       400
#define PROBES_LEAST 20 /* of them legal, or the formula counts as not tried */

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
                                    .adds_to_c = p->beta != 0};
}

_Static_assert(LAUNCH_KERNELS_MAX == 3, "struct gt_winner_plan has places for three kernels");

/* The kernels of a plan in their places: what packs, the product, what sums. The product is the one that is
 * launched whatever k is. */
static void place(const struct launch_plan *plan, const char *product, struct gt_winner_plan *out,
                  const char *entries[3])
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
    out->splits = plan->args.splits;
    out->k_per_split = plan->args.k_per_split;
    out->group = plan->args.group;
    out->counters = plan->args.counters;
    out->workspace_bytes = plan->workspace_bytes;
    out->batch_per_launch = plan->batch_per_launch;
    out->k_slab = (int32_t)plan->k_slab;
}

/* ---- alignment ---- */

/* ld is that of one operand of problem, whose alignment is width. */
static int32_t need_of(const struct config *config, struct problem *problem, const struct gpu *gpu,
                       int64_t *ld, int32_t width)
{
    const int64_t above = (*ld / 4 + 1) * 4;
    for (int32_t need = 1; need < width; need *= 2) {
        *ld = above + need; /* a multiple of need and of nothing wider */
        if (!config->template->check(config, problem, gpu)) return need;
    }
    return width;
}

int32_t geometry_needs(const struct config *config, const struct problem *problem, const struct gpu *gpu)
{
    struct problem a = *problem, b = *problem, c = *problem;
    const int32_t need_a = need_of(config, &a, gpu, &a.lda, problem_align_a(problem));
    const int32_t need_b = need_of(config, &b, gpu, &b.ldb, problem_align_b(problem));
    const int32_t need_c = need_of(config, &c, gpu, &c.ldc, problem_align_c(problem));
    return need_a | need_b << 4 | need_c << 8;
}

/* ---- probing ---- */

/* A configuration, and what is known of it so far. */
struct probe {
    const struct config *config;
    const struct problem *tuned; /* op and alignment of what is asked */
    const struct gpu *gpu;
    int32_t needs;
    int64_t step[3];     /* sizes of m, n, k are multiples of these, or rows are less aligned than needed */
    int64_t base[3];     /* legal, and as small as may be */
    const char *product; /* name of the kernel */
    const char *entries[3]; /* names that plans had */
};

static int64_t round_up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

/* A problem of the same op; operands are as aligned as their rows allow. */
static struct problem ask(const struct probe *probe, const int64_t size[3], int64_t batch)
{
    struct problem p = {.type = probe->tuned->type,
                        .trans_a = probe->tuned->trans_a,
                        .trans_b = probe->tuned->trans_b,
                        .m = size[0],
                        .n = size[1],
                        .k = size[2],
                        .batch = batch,
                        .alpha = 1};
    p.lda = round_up(problem_cols_a(&p) + 1, 4);
    p.ldb = round_up(problem_cols_b(&p) + 1, 4);
    p.ldc = round_up(p.n + 1, 4);
    p.stride_a = problem_rows_a(&p) * p.lda;
    p.stride_b = problem_rows_b(&p) * p.ldb;
    p.stride_c = p.m * p.ldc;
    return p;
}

static bool legal(const struct probe *probe, const int64_t size[3])
{
    const struct problem p = ask(probe, size, 1);
    return !probe->config->template->check(probe->config, &p, probe->gpu);
}

/* What the template plans for a problem of this size. */
static struct gt_winner_plan plan_of(struct probe *probe, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const struct problem p = ask(probe, (const int64_t[3]){m, n, k}, batch);
    struct launch_plan plan;
    struct gt_winner_plan placed;
    probe->config->template->plan(probe->config, &p, &plan);
    place(&plan, probe->product, &placed, probe->entries);
    return placed;
}

static struct probe probe_start(const struct config *config, const struct problem *tuned,
                                const struct gpu *gpu)
{
    struct probe probe = {.config = config, .tuned = tuned, .gpu = gpu, .step = {1, 1, 1}};
    probe.needs = geometry_needs(config, tuned, gpu);
    const int64_t need[3] = {probe.needs & 15, probe.needs >> 4 & 15, probe.needs >> 8};
    int64_t *const step[3] = {&probe.step[tuned->trans_a ? 0 : 2], &probe.step[tuned->trans_b ? 2 : 1],
                              &probe.step[1]};
    for (int i = 0; i < 3; i++)
        if (*step[i] < need[i]) *step[i] = need[i];
    memcpy(probe.base, probe.step, sizeof probe.base);
    if (!legal(&probe, probe.base))
        memcpy(probe.base, (const int64_t[3]){tuned->m, tuned->n, tuned->k}, sizeof probe.base);
    struct launch_plan plan;
    const struct problem p = ask(&probe, (const int64_t[3]){1, 1, 0}, 1);
    config->template->plan(config, &p, &plan);
    probe.product = plan.kernels == 1 ? plan.kernel[0].entry : NULL;
    return probe;
}

/* The last size along an axis, from `from` towards `far` in steps, at which what is asked still has the
 * answer that it has at `from`. */
static int64_t last_same(struct probe *probe, const int64_t from[3], int axis, int64_t step, int64_t far,
                         int64_t (*answer)(struct probe *probe, const int64_t size[3]))
{
    int64_t size[3], same = from[axis] / step, other = far / step;
    const int64_t wanted = answer(probe, from);
    memcpy(size, from, sizeof size);
    size[axis] = other * step;
    if (answer(probe, size) == wanted) return size[axis];
    while (same - other > 1 || other - same > 1) {
        const int64_t middle = same + (other - same) / 2;
        size[axis] = middle * step;
        if (answer(probe, size) == wanted) same = middle;
        else other = middle;
    }
    return same * step;
}

static int64_t is_legal(struct probe *probe, const int64_t size[3])
{
    return legal(probe, size);
}

static int64_t is_one_slab(struct probe *probe, const int64_t size[3])
{
    const struct problem p = ask(probe, size, 1);
    struct launch_plan plan;
    probe->config->template->plan(probe->config, &p, &plan);
    return plan.k_slab == 0;
}

/* Blocks of the product, and of what packs. */
static int64_t product_blocks(struct probe *probe, const int64_t size[3])
{
    return plan_of(probe, size[0], size[1], size[2], 1).grid[1][0];
}

static int64_t pack_blocks(struct probe *probe, const int64_t size[3])
{
    return plan_of(probe, size[0], size[1], size[2], 1).grid[0][0];
}

static int64_t product_smem(struct probe *probe, const int64_t size[3])
{
    return plan_of(probe, size[0], size[1], size[2], 1).smem_bytes[1];
}

static int32_t limit(struct probe *probe, int axis, int64_t far)
{
    return (int32_t)last_same(probe, probe->base, axis, probe->step[axis], far, is_legal);
}

/* ---- the formula's numbers ---- */

static void find_tiles(struct probe *probe, struct gt_winner_geometry *g)
{
    const int64_t one[3] = {1, 1, 1};
    const struct gt_winner_plan first = plan_of(probe, 1, 1, 1, 1);
    g->bm = (int32_t)last_same(probe, one, 0, 1, NEVER, product_blocks);
    g->bn = (int32_t)last_same(probe, one, 1, 1, NEVER, product_blocks);
    g->bk = first.k_per_split;
    g->group = plan_of(probe, NEVER, 1, 1, 1).group;
    g->threads = (int32_t)first.threads[1];
    g->smem_k = (int32_t)last_same(probe, one, 2, 1, g->bk + 1, product_smem);
    g->smem_step = (int32_t)(plan_of(probe, 1, 1, g->smem_k + 1, 1).smem_bytes[1] - first.smem_bytes[1]);
    g->smem_bytes = (int32_t)first.smem_bytes[1] - g->smem_step;
    /* Where many tiles have fewer blocks, the blocks walk. */
    const int64_t along_m = plan_of(probe, NEVER, 1, 1, 1).grid[1][0],
                  along_n = plan_of(probe, 1, NEVER, 1, 1).grid[1][0];
    if (along_n < (NEVER - 1) / g->bn + 1) g->walk = 1, g->walkers = (int32_t)along_n;
    else if (along_m < (NEVER - 1) / g->bm + 1) g->walk = 2, g->walkers = (int32_t)along_m;
    g->m_min = limit(probe, 0, 0);
    g->n_min = limit(probe, 1, 0);
    g->k_min = limit(probe, 2, 0);
    g->m_max = limit(probe, 0, PROBLEM_DIM_MAX);
    g->n_max = limit(probe, 1, PROBLEM_DIM_MAX);
    g->k_max = limit(probe, 2, PROBLEM_DIM_MAX);
}

/* What one operand's packing is cut into: x is m for A (0) and n for B (1). */
static void find_pack_tile(struct probe *probe, struct gt_winner_geometry *g, int operand)
{
    const int64_t one[3] = {1, 1, 1};
    g->pack_x[operand] = (int32_t)last_same(probe, one, operand, 1, 1 << 20, pack_blocks);
    int64_t many[3] = {1, 1, 1}; /* of this operand, beside which one block of the other is nothing */
    many[operand] = g->pack_x[operand] * 1000;
    int64_t k = 1;
    const int64_t blocks = pack_blocks(probe, many);
    for (many[2] = 2; many[2] < 1 << 16 && pack_blocks(probe, many) < blocks + 1000; many[2]++) k = many[2];
    g->pack_k[operand] = (int32_t)k;
}

static void find_pack(struct probe *probe, struct gt_winner_geometry *g)
{
    const struct gt_winner_plan small = plan_of(probe, 1, 1, 1, 1);
    g->pack_row = g->pack_x[0] = g->pack_x[1] = g->pack_k[0] = g->pack_k[1] = 1;
    if (small.grid[0][0] == 0) return;
    g->pack_threads = (int32_t)small.threads[0];
    g->pack_smem_bytes = (int32_t)small.smem_bytes[0];
    const int64_t large = 1 << 20;
    if (plan_of(probe, large, 1, 1, 1).workspace_bytes >= 4 * large) g->pack |= 1;
    if (plan_of(probe, 1, large, 1, 1).workspace_bytes >= 4 * large) g->pack |= 2;
    const int64_t operands = g->pack == 3 ? 2 : 1;
    g->pack_row = (int32_t)(small.workspace_bytes / 4 / operands);
    if (g->pack & 1) find_pack_tile(probe, g, 0);
    if (g->pack & 2) find_pack_tile(probe, g, 1);
}

/* The smallest power of two of MiB that floats do not pass. */
static int32_t mib_of(int64_t floats)
{
    int32_t mib = 1;
    while (mib < 1 << 20 && ((int64_t)mib << 18) < floats) mib *= 2;
    return mib;
}

/* What packed operands may take before k goes in slabs: the longest k of a small C that does not. */
static int32_t find_pack_limit(struct probe *probe, const struct gt_winner_geometry *g)
{
    const int64_t one[3] = {1, 1, 1};
    const struct gt_winner_shape shape = {
        .m = 1, .n = 1, .k = last_same(probe, one, 2, 1, 1 << 28, is_one_slab)};
    return g->pack ? mib_of(gt_winner_pack_floats(g, &shape, shape.k)) : 1;
}

static int64_t common_divisor(int64_t x, int64_t y)
{
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* The slabs of a k too long to be packed at once: what many divide by, and the shortest that the rules allow,
 * which is that of the largest C. */
static void find_slabs(struct probe *probe, struct gt_winner_geometry *g)
{
    const int64_t long_k = round_up(1 << 26, probe->step[2]);
    const int axis = g->pack & 1 ? 0 : 1;
    int64_t size[3] = {probe->base[0], probe->base[1], long_k}, unit = 0;
    if (!g->pack || g->split > 1 || g->k_max < long_k || !legal(probe, size)) return;
    for (int64_t k = long_k; k < long_k + 100000; k += 1777)
        unit = common_divisor(plan_of(probe, 1, 1, k, 1).k_slab, unit);
    size[axis] = last_same(probe, size, axis, probe->step[axis], PROBLEM_DIM_MAX, is_legal);
    const struct gt_winner_shape shape = {.m = size[0], .n = size[1]};
    const int64_t row = gt_winner_pack_floats(g, &shape, 1);
    if (row < 1) return;
    g->slab_unit = (int32_t)unit;
    g->slab_min = (int32_t)(((int64_t)g->pack_mib << 18) / row);
}

/* How k is cut, seen on one tile of C and a k long enough for any number of splits to come out even. */
static bool find_split(struct probe *probe, struct gt_winner_geometry *g)
{
    const int64_t m = probe->step[0], n = probe->step[1], k = (int64_t)g->bk << 20;
    g->split = g->sum_width = g->counter_unit = 1;
    if (g->bk < 1 || k > PROBLEM_DIM_MAX) return false;
    const int64_t splits = g->split = plan_of(probe, m, n, k, 1).splits;
    if (splits <= 1) return splits == 1;
    const struct gt_winner_plan cut = plan_of(probe, m, n, g->bk * splits, 1);
    if (cut.splits != splits) return false;
    if (cut.grid[2][0]) {
        g->parts = GT_WINNER_PARTS_OF_C;
        g->sum_width = probe->needs >> 8; /* as wide as C is accessed */
        return true;
    }
    const struct gt_winner_shape shape = {.m = m, .n = n, .k = g->bk * splits};
    const int64_t packed = gt_winner_pack_floats(g, &shape, shape.k);
    const int64_t floats =
        cut.workspace_bytes / 4 - cut.counters - (g->pack ? round_up(packed, g->pack_row) : 0);
    if (floats == 0 && cut.counters == 0) {
        g->parts = GT_WINNER_PARTS_IN_CLUSTER;
        return true;
    }
    if (cut.counters < 1 || floats < splits) return false;
    g->parts = GT_WINNER_PARTS_OF_TILES;
    g->counter_unit = cut.counters;
    g->part_floats = (int32_t)(floats / splits);
    return true;
}

/* What all parts together may take: the largest C that the rules allow, when k is just long enough to be cut.
 */
static int32_t find_parts_limit(struct probe *probe, const struct gt_winner_geometry *g)
{
    const int axis = g->n_max > g->m_max ? 1 : 0;
    int64_t size[3];
    memcpy(size, probe->base, sizeof size);
    size[2] = round_up(g->bk * (int64_t)g->split, probe->step[2]);
    if (g->parts == GT_WINNER_PARTS_NONE || g->parts == GT_WINNER_PARTS_IN_CLUSTER) return 1;
    if (size[2] > g->k_max) return 1;
    const int64_t other = axis == 1 ? g->m_max : g->n_max;
    size[1 - axis] = other < 4096 ? other : 4096;
    if (size[1 - axis] < probe->step[1 - axis]) size[1 - axis] = probe->step[1 - axis];
    size[axis] = last_same(probe, size, axis, probe->step[axis], axis == 1 ? g->n_max : g->m_max, is_legal);
    const struct gt_winner_shape shape = {.m = size[0], .n = size[1], .k = size[2]};
    const int64_t tiles = gt_winner_ceil(shape.m, g->bm) * gt_winner_ceil(shape.n, g->bn);
    const int64_t splits = plan_of(probe, size[0], size[1], size[2], 1).splits;
    return mib_of(gt_winner_part_floats(g, &shape, tiles, splits, INT64_MAX));
}

/* What the items of a launch take together, seen on a long batch of products with a C of m x n: where it is
 * cut. 0: it is not. */
static int32_t find_batch_limit(struct probe *probe, const struct gt_winner_geometry *g, int64_t m, int64_t n,
                                int64_t k)
{
    const struct gt_winner_plan plan = plan_of(probe, m, n, k, 1000000);
    const struct gt_winner_shape shape = {.m = m, .n = n, .k = k};
    const int64_t tiles = gt_winner_ceil(m, g->bm) * gt_winner_ceil(n, g->bn);
    const bool counted = g->parts == GT_WINNER_PARTS_OF_TILES && plan.splits > 1;
    int64_t item =
        gt_winner_pack_floats(g, &shape, k) + gt_winner_part_floats(g, &shape, tiles, plan.splits, INT64_MAX);
    if (g->pack) item = round_up(item, g->pack_row);
    if (counted) item += tiles * g->counter_share;
    if (item == 0 || plan.batch_per_launch >= GT_WINNER_BATCH_MAX) return 0;
    for (int32_t mib = 1; mib <= 1 << 14; mib *= 2)
        if (((int64_t)mib << 18) / item == plan.batch_per_launch) return mib;
    return 0;
}

void geometry_allow(struct gt_winner_geometry *g, const struct config *config, const struct problem *problem)
{
    struct problem item = *problem;
    item.batch = 1;
    const int32_t mib = mib_of(workspace_of(config, &item) / 4);
    if (g->workspace_mib < mib) g->workspace_mib = mib;
}

static bool find_limits(struct probe *probe, struct gt_winner_geometry *g)
{
    const int64_t m = probe->step[0], n = probe->step[1], k = g->bk * (int64_t)g->split;
    g->pack_mib = find_pack_limit(probe, g);
    find_slabs(probe, g);
    g->parts_mib = find_parts_limit(probe, g);
    g->workspace_mib = g->batch_mib = 1;
    if ((g->parts == GT_WINNER_PARTS_NONE || g->parts == GT_WINNER_PARTS_IN_CLUSTER) && !g->pack) return true;
    static const int sizes[][2] = {{1, 1}, {1, 4096}, {4096, 1}, {256, 256}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((g->batch_mib = find_batch_limit(probe, g, m * sizes[i][0], n * sizes[i][1], k))) {
            g->workspace_mib = mib_of(WORKSPACE_DEFAULT_BYTES / 4);
            geometry_allow(g, probe->config, probe->tuned);
            return true;
        }
    return false;
}

/* ---- does the formula say what the template says? ---- */

/* A size around a power of two, a multiple of a tile, or small. */
static int64_t random_size(uint64_t *random, int64_t of_tile, int64_t step)
{
    int64_t size = (int64_t)stats_random_below(random, UINT64_C(1) << stats_random_below(random, 21));
    if (of_tile < NEVER && stats_random_below(random, 2))
        size = (size % 64) * of_tile + (int64_t)stats_random_below(random, 3) - 1;
    if (stats_random_below(random, 4)) size = round_up(size, step);
    return size < 0 ? 0 : size;
}

static bool formula_holds(struct probe *probe, const struct gt_winner_geometry *g)
{
    uint64_t random = 1;
    int tried = 0;
    for (int i = 0; i < PROBES; i++) {
        int64_t size[3] = {random_size(&random, g->bm, probe->step[0]),
                           random_size(&random, g->bn, probe->step[1]),
                           random_size(&random, g->bk, probe->step[2])};
        const int32_t least[3] = {g->m_min, g->n_min, g->k_min}, most[3] = {g->m_max, g->n_max, g->k_max};
        for (int j = 0; j < 3; j++)
            if (i % 4 && most[j] < 1 << 21) size[j] = least[j] + size[j] % (most[j] - least[j] + 1);
        const int64_t batch =
            stats_random_below(&random, 2) ? 1 : 1 + (int64_t)stats_random_below(&random, 100000);
        const struct problem p = ask(probe, size, batch);
        const struct gt_winner_shape shape = geometry_shape(&p);
        struct gt_winner_plan ours, theirs;
        if (!gt_winner_aligned(gt_winner_align(&shape), probe->needs) ||
            !gt_winner_plan_from(g, &shape, &ours))
            continue;
        theirs = plan_of(probe, size[0], size[1], size[2], batch);
        if (ours.kernels > 0 && probe->config->template->check(probe->config, &p, probe->gpu)) return false;
        if (memcmp(&ours, &theirs, sizeof ours) != 0) return false;
        tried += ours.kernels > 0;
    }
    return tried >= PROBES_LEAST;
}

bool geometry_find(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                   struct gt_winner_geometry *g, const char *entries[3])
{
    struct probe probe = probe_start(config, problem, gpu);
    bool found = false;
    memset(g, 0, sizeof *g);
    if (!probe.product) return false;
    find_tiles(&probe, g);
    find_pack(&probe, g);
    if (!find_split(&probe, g)) return false;
    /* With k = 0 some do otherwise; who asks for that needs no tuned kernel. */
    for (int least_k = 0; !found && least_k <= 1; least_k++) {
        if (g->k_min < least_k) g->k_min = least_k;
        for (int share = 0; !found && share <= 1; share++) {
            g->counter_share = share ? g->counter_unit : 0;
            if (g->parts != GT_WINNER_PARTS_OF_TILES && share) break;
            found = find_limits(&probe, g) && formula_holds(&probe, g);
        }
    }
    memcpy(entries, probe.entries, sizeof probe.entries);
    return found;
}

void geometry_plan(const struct config *config, const struct problem *problem, struct gt_winner_plan *out,
                   const char *entries[3])
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    entries[0] = entries[1] = entries[2] = NULL;
    place(&plan, plan.kernels ? plan.kernel[plan.kernels == 3].entry : "", out, entries);
}

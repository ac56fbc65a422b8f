/* SPDX-License-Identifier: MIT */
/* winner_plan_code.h — shapes, and how a winner runs one: the first part of the definitions to
 * winner_lookup.h. winner_lookup_code.h is the second; one file of a program takes both.
 */
#ifndef GT_WINNER_PLAN_CODE
#define GT_WINNER_PLAN_CODE

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shapes ---- */

/* What overflows is refused for its factors. */
static inline int64_t gt_winner_times(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

GT_WINNERS_API struct gt_winner_shape gt_winner_shape_make(int trans_a, int trans_b, int64_t m, int64_t n,
                                                           int64_t k)
{
    struct gt_winner_shape s;
    s.trans_a = trans_a;
    s.trans_b = trans_b;
    s.m = m;
    s.n = n;
    s.k = k;
    s.lda = trans_a ? m : k;
    s.ldb = trans_b ? k : n;
    s.ldc = n;
    s.batch = 1;
    s.stride_a = gt_winner_times(m, k);
    s.stride_b = gt_winner_times(k, n);
    s.stride_c = gt_winner_times(m, n);
    s.adds_to_c = 0;
    s.type = GT_WINNER_SGEMM;
    return s;
}

/* ---- what is no shape ---- */

#define GT_WINNER_SIZE_MAX 2147418112 /* a tile may pass the edge without overflowing an int */

static inline int gt_winner_size_valid(int64_t size)
{
    return size >= 0 && size <= GT_WINNER_SIZE_MAX;
}

static inline int gt_winner_operand_valid(int64_t rows, int64_t cols, int64_t ld, int64_t batch,
                                          int64_t stride, int written)
{
    const int64_t most = (int64_t)1 << 60;
    int64_t item;
    if (ld < cols || ld > (int64_t)1 << 31) return 0;
    item = rows * ld;
    if (item > most) return 0;
    if (batch <= 1) return 1;
    if (stride < 0 || stride > (most - item) / batch) return 0;
    return !written || stride >= item;
}

static inline int gt_winner_valid(const struct gt_winner_shape *s)
{
    if (!s || s->type < 0 || s->type >= GT_WINNER_TYPES) return 0;
    if (!gt_winner_size_valid(s->m) || !gt_winner_size_valid(s->n) || !gt_winner_size_valid(s->k) ||
        !gt_winner_size_valid(s->batch))
        return 0;
    return gt_winner_operand_valid(s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->lda, s->batch,
                                   s->stride_a, 0) &&
           gt_winner_operand_valid(s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->ldb, s->batch,
                                   s->stride_b, 0) &&
           gt_winner_operand_valid(s->m, s->n, s->ldc, s->batch, s->stride_c, 1);
}

/* ---- types ---- */

GT_WINNERS_API int gt_winner_answers(int tuned, int needed)
{
    static const unsigned char answers[GT_WINNER_TYPES] = {9, 14, 12, 8, 16, 32, 64, 128}; /* bit t: type t */
    if (tuned < 0 || tuned >= GT_WINNER_TYPES || needed < 0 || needed >= GT_WINNER_TYPES) return 0;
    return answers[tuned] >> needed & 1;
}

/* ---- alignment and logarithms ---- */

static inline int32_t gt_winner_width(int64_t row, int64_t ld, int64_t batch, int64_t stride)
{
    int64_t all = row | ld | (batch > 1 ? stride : 0);
    return all & 1 ? 1 : all & 2 ? 2 : 4;
}

GT_WINNERS_API int32_t gt_winner_align(const struct gt_winner_shape *s)
{
    int32_t a, b, c;
    if (!s) return 0;
    a = gt_winner_width(s->trans_a ? s->m : s->k, s->lda, s->batch, s->stride_a);
    b = gt_winner_width(s->trans_b ? s->k : s->n, s->ldb, s->batch, s->stride_b);
    c = gt_winner_width(s->n, s->ldc, s->batch, s->stride_c);
    return a | b << 4 | c << 8;
}

static inline int gt_winner_aligned(int32_t have, int32_t need)
{
    return (have & 15) >= (need & 15) && (have >> 4 & 15) >= (need >> 4 & 15) && have >> 8 >= need >> 8;
}

/* Logarithm to base 2 of 1 + x, right to 0.0002 (a least-maximum polynomial of 4th degree); of 0 and less
 * it is that of 1. */
static inline float gt_winner_log(int64_t x)
{
    int32_t whole = 0;
    float rest;
    uint64_t one = x > 0 ? (uint64_t)x + 1 : 1;
    while (one >> (whole + 1)) whole++;
    rest = (float)(one - ((uint64_t)1 << whole)) / (float)((uint64_t)1 << whole);
    return (float)whole + rest * (1.4387f + rest * (-0.6778f + rest * (0.3212f - 0.0821f * rest)));
}

/* ---- how a winner runs a shape ---- */

static inline int64_t gt_winner_ceil(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

static inline int64_t gt_winner_least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Threads that share a vector of C when the parts are added. */
static inline int32_t gt_winner_ways(int64_t vectors, int32_t splits)
{
    int32_t ways = 1;
    while (ways < 32 && vectors * ways < 65536 && splits >= 8 * ways) ways *= 2;
    return ways;
}

#define GT_WINNER_BATCH_MAX 65535
#define GT_WINNER_REDUCERS  256 /* threads of a block that adds parts */

static inline int64_t gt_winner_round(int64_t x, int64_t unit)
{
    return gt_winner_ceil(x, unit) * unit;
}

static inline void gt_winner_plan_kernel(struct gt_winner_plan *plan, int kernel, int64_t x, int64_t y,
                                         int64_t threads, int64_t smem_bytes)
{
    plan->kernels++;
    plan->grid[kernel][0] = (uint32_t)x;
    plan->grid[kernel][1] = (uint32_t)y;
    plan->threads[kernel] = (uint32_t)threads;
    plan->smem_bytes[kernel] = (uint32_t)smem_bytes;
}

/* Floats of the workspace that so many k of the packed operands take. */
static inline int64_t gt_winner_pack_floats(const struct gt_winner_geometry *g,
                                            const struct gt_winner_shape *s, int64_t k)
{
    int64_t rows = 0;
    if (g->pack & 1) rows += gt_winner_round(s->m, g->pack_row);
    if (g->pack & 2) rows += gt_winner_round(s->n, g->pack_row);
    return rows * k;
}

/* How much of k is packed at a time: all of it, or slabs that are equal but for the last; -1: too little
 * would be. */
static inline int64_t gt_winner_slab(const struct gt_winner_geometry *g, const struct gt_winner_shape *s)
{
    const int64_t row = gt_winner_pack_floats(g, s, 1);
    const int64_t most = row > 0 ? ((int64_t)g->pack_mib << 18) / row : s->k;
    if (s->k <= most) return s->k;
    if (g->slab_unit == 0 || most < g->slab_min || most < g->slab_unit) return -1;
    return gt_winner_round(gt_winner_ceil(s->k, gt_winner_ceil(s->k, most / g->slab_unit * g->slab_unit)),
                           g->slab_unit);
}

/* Floats of the parts of a cut k; -1: more than a limit. */
static inline int64_t gt_winner_part_floats(const struct gt_winner_geometry *g,
                                            const struct gt_winner_shape *s, int64_t tiles, int64_t splits,
                                            int64_t limit)
{
    if (splits <= 1 || g->parts == GT_WINNER_PARTS_IN_CLUSTER) return 0;
    if (g->parts == GT_WINNER_PARTS_OF_TILES) {
        if (tiles > limit / (splits * g->part_floats + g->counter_share)) return -1;
        return tiles * splits * g->part_floats;
    }
    return s->m > limit / (splits * s->n) ? -1 : splits * s->m * s->n;
}

/* The workspace, and how many items of the batch one launch takes with it. 0: it would be too large. */
static inline int gt_winner_plan_workspace(const struct gt_winner_geometry *g,
                                           const struct gt_winner_shape *s, int64_t k, int64_t tiles,
                                           struct gt_winner_plan *plan)
{
    const int64_t limit = (int64_t)g->workspace_mib << 18;
    const int64_t packed = gt_winner_pack_floats(g, s, k);
    const int64_t parts = gt_winner_part_floats(g, s, tiles, plan->splits, (int64_t)g->parts_mib << 18);
    const int counted = plan->splits > 1 && g->parts == GT_WINNER_PARTS_OF_TILES;
    const int64_t share = counted ? tiles * g->counter_share : 0;
    int64_t item = packed + parts, items;
    plan->batch_per_launch = GT_WINNER_BATCH_MAX;
    if (parts < 0) return 0;
    if (g->pack) item = gt_winner_round(item, g->pack_row);
    if (item == 0) return 1;
    if (item + share > limit) return 0;
    plan->batch_per_launch =
        gt_winner_least(GT_WINNER_BATCH_MAX, ((int64_t)g->batch_mib << 18) / (item + share));
    if (plan->batch_per_launch < 1) plan->batch_per_launch = 1;
    items = gt_winner_least(s->batch, plan->batch_per_launch);
    if (counted) plan->counters = (int32_t)gt_winner_round(tiles * items, g->counter_unit);
    plan->workspace_bytes = 4 * (plan->counters + item * items);
    return 1;
}

static inline int64_t gt_winner_pack_blocks(const struct gt_winner_geometry *g,
                                            const struct gt_winner_shape *s, int64_t k)
{
    int64_t blocks = 0;
    if (g->pack & 1) blocks += gt_winner_ceil(s->m, g->pack_x[0]) * gt_winner_ceil(k, g->pack_k[0]);
    if (g->pack & 2) blocks += gt_winner_ceil(s->n, g->pack_x[1]) * gt_winner_ceil(k, g->pack_k[1]);
    return blocks;
}

/* The kernel that packs, and what is other in the last slab, the product being launched already. */
static inline void gt_winner_plan_pack(const struct gt_winner_geometry *g, const struct gt_winner_shape *s,
                                       int64_t k, struct gt_winner_plan *plan)
{
    gt_winner_plan_kernel(plan, 0, gt_winner_pack_blocks(g, s, k), 1, g->pack_threads, g->pack_smem_bytes);
    if (k == s->k) return;
    plan->k_slab = (int32_t)k;
    plan->last_slab[0] = (uint32_t)gt_winner_pack_blocks(g, s, s->k - (gt_winner_ceil(s->k, k) - 1) * k);
    plan->last_slab[1] = plan->grid[1][0];
}

static inline void gt_winner_plan_sum(const struct gt_winner_geometry *g, const struct gt_winner_shape *s,
                                      struct gt_winner_plan *plan)
{
    const int64_t vectors = s->m * (s->n / g->sum_width);
    const int32_t ways = gt_winner_ways(vectors, plan->splits);
    gt_winner_plan_kernel(plan, 2, gt_winner_ceil(vectors, GT_WINNER_REDUCERS / ways), 1, GT_WINNER_REDUCERS,
                          ways > 1 ? 4 * GT_WINNER_REDUCERS * g->sum_width : 0);
}

/* Blocks of the product: one a tile of C, or some that walk from tile to tile of a row (column). */
static inline int64_t gt_winner_blocks(const struct gt_winner_geometry *g, int64_t rows, int64_t columns)
{
    const int64_t fixed = g->walk == 1 ? rows : columns, walked = g->walk == 1 ? columns : rows;
    if (g->walk == 0) return rows * columns;
    return fixed * (g->walkers > fixed ? gt_winner_least(g->walkers / fixed, walked) : 1);
}

static inline void gt_winner_plan_clear(struct gt_winner_plan *plan)
{
    memset(plan, 0, sizeof *plan);
}

/* Shared memory of a block of the product. */
static inline int64_t gt_winner_smem_bytes(const struct gt_winner_geometry *g, int64_t k)
{
    return g->smem_bytes + g->smem_step * (k > 0 ? gt_winner_ceil(k, g->smem_k) : 1);
}

/* How so many k are cut. */
static inline void gt_winner_plan_split(const struct gt_winner_geometry *g, int64_t k,
                                        struct gt_winner_plan *plan)
{
    const int64_t k_tiles = k > 0 ? gt_winner_ceil(k, g->bk) : 1;
    int64_t per_split = gt_winner_ceil(k_tiles, gt_winner_least(g->split, k_tiles));
    plan->splits = (int32_t)gt_winner_ceil(k_tiles, per_split);
    if (g->parts == GT_WINNER_PARTS_IN_CLUSTER) {
        plan->splits = g->split;
        per_split = gt_winner_ceil(k_tiles, g->split);
    }
    plan->k_per_split = (int32_t)(per_split * g->bk);
}

/* 0 if the rules of the configuration refuse the shape; its alignment is another question. */
static inline int gt_winner_plan_from(const struct gt_winner_geometry *g, const struct gt_winner_shape *s,
                                      struct gt_winner_plan *plan)
{
    int64_t rows, columns, k;
    int i;
    gt_winner_plan_clear(plan);
    if (s->m < g->m_min || s->n < g->n_min || s->k < g->k_min) return 0;
    if (s->m > g->m_max || s->n > g->n_max || s->k > g->k_max) return 0;
    if (s->m == 0 || s->n == 0 || s->batch == 0) return 1;
    rows = gt_winner_ceil(s->m, g->bm);
    columns = gt_winner_ceil(s->n, g->bn);
    k = gt_winner_slab(g, s);
    if (columns > INT32_MAX / rows || k < 0) return 0;
    gt_winner_plan_split(g, k, plan);
    plan->group = (int32_t)gt_winner_least(g->group, rows);
    if (!gt_winner_plan_workspace(g, s, k, rows * columns, plan)) return 0;
    gt_winner_plan_kernel(plan, 1, gt_winner_blocks(g, rows, columns), plan->splits, g->threads,
                          gt_winner_smem_bytes(g, k));
    if (g->pack && k > 0) gt_winner_plan_pack(g, s, k, plan);
    if (plan->splits > 1 && g->parts == GT_WINNER_PARTS_OF_C) gt_winner_plan_sum(g, s, plan);
    for (i = 0; i < 3; i++)
        if (plan->grid[i][0]) plan->grid[i][2] = (uint32_t)gt_winner_least(s->batch, plan->batch_per_launch);
    return 1;
}

GT_WINNERS_API int gt_winner_plan_make(const struct gt_winner_gpu *gpu, const struct gt_winner *winner,
                                       const struct gt_winner_shape *shape, struct gt_winner_plan *plan)
{
    if (!plan) return 0;
    gt_winner_plan_clear(plan);
    if (!gpu || !winner || !gt_winner_valid(shape)) return 0;
    if (2 * (shape->trans_a != 0) + (shape->trans_b != 0) != winner->op) return 0;
    if (!gt_winner_answers(winner->type, shape->type)) return 0;
    if (!gt_winner_aligned(gt_winner_align(shape), winner->needs)) return 0;
    if (winner->geometry >= 0) return gt_winner_plan_from(&gpu->geometries[winner->geometry], shape, plan);
    if (winner->plan < 0) return 1;
    if (shape->m != winner->m || shape->n != winner->n || shape->k != winner->k ||
        shape->batch != winner->batch)
        return 0;
    *plan = gpu->plans[winner->plan];
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif

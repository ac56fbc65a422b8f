/* SPDX-License-Identifier: MIT */
/* winner_lookup_code.h — shapes, and which winner a shape gets: the definitions to winner_lookup.h.
 */
#ifndef GT_WINNER_LOOKUP_CODE
#define GT_WINNER_LOOKUP_CODE

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
    if (tuned < 0 || tuned >= GT_WINNER_TYPES || needed < 0 || needed >= GT_WINNER_TYPES) return 0;
    return gt_winner_type_answers(tuned) >> needed & 1;
}

/* Those types have one rival, too. */
static inline int gt_winner_decides(int tuned, int needed)
{
    return gt_winner_answers(tuned, needed) && gt_winner_type_decides(tuned) >> needed & 1;
}

/* ---- alignment and logarithms ---- */

/* Of an element of A (0), B (1) or C (2); of no known type as of FP32. */
static inline int32_t gt_winner_element_bytes(int type, int operand)
{
    return type >= 0 && type < GT_WINNER_TYPES ? gt_winner_type_bytes(type, operand) : 4;
}

static inline int32_t gt_winner_width(const struct gt_winner_shape *s, int operand, int64_t row, int64_t ld,
                                      int64_t stride)
{
    const int64_t all = row | ld | (s->batch > 1 ? stride : 0);
    int32_t width = 16 / gt_winner_element_bytes(s->type, operand);
    while (all % width) width /= 2;
    return width;
}

GT_WINNERS_API int32_t gt_winner_align(const struct gt_winner_shape *s)
{
    int32_t a, b, c;
    if (!s) return 0;
    a = gt_winner_width(s, 0, s->trans_a ? s->m : s->k, s->lda, s->stride_a);
    b = gt_winner_width(s, 1, s->trans_b ? s->k : s->n, s->ldb, s->stride_b);
    c = gt_winner_width(s, 2, s->n, s->ldc, s->stride_c);
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

/* ---- look-up ---- */

static inline uint32_t gt_winner_hash(int32_t m, int32_t n, int32_t k, int32_t batch, int32_t type,
                                      int32_t op, int32_t align, int32_t adds_to_c, int32_t shared)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t h = (((uint64_t)(uint32_t)m << 32) | (uint32_t)n) * factor;
    h = ((h ^ h >> 32) + (((uint64_t)(uint32_t)k << 32) | (uint32_t)batch)) * factor;
    h = ((h ^ h >> 32) + (uint64_t)(uint32_t)(type << 16 | align << 3 | adds_to_c << 2 | op) +
         ((uint64_t)(uint32_t)shared << 32)) *
        factor;
    return (uint32_t)(h >> 32);
}

static inline int32_t gt_winner_shared(const struct gt_winner_shape *s)
{
    return s->batch > 1 ? (s->stride_a == 0) + 2 * (s->stride_b == 0) : 0;
}

static inline const struct gt_winner *gt_winner_same_of(const struct gt_winner_gpu *gpu,
                                                        const struct gt_winner_shape *s, int32_t type)
{
    const int32_t op = 2 * (s->trans_a != 0) + (s->trans_b != 0), align = gt_winner_align(s);
    const int32_t adds_to_c = s->adds_to_c != 0, shared = gt_winner_shared(s);
    uint32_t slot = gt_winner_hash((int32_t)s->m, (int32_t)s->n, (int32_t)s->k, (int32_t)s->batch, type, op,
                                   align, adds_to_c, shared);
    for (slot &= gpu->slot_mask; gpu->slots[slot]; slot = (slot + 1) & gpu->slot_mask) {
        const struct gt_winner *w = &gpu->winners[gpu->slots[slot] - 1];
        if (w->m == s->m && w->n == s->n && w->k == s->k && w->batch == s->batch && w->type == type &&
            w->op == op && w->align == align && w->adds_to_c == adds_to_c && w->shared == shared)
            return w;
    }
    return NULL;
}

/* On whichever GPU the table is of. The shape is valid. */
static inline const struct gt_winner *gt_winner_same(const struct gt_winner_gpu *gpu,
                                                     const struct gt_winner_shape *s)
{
    const struct gt_winner *best = gt_winner_same_of(gpu, s, s->type);
    int32_t type;
    if (best) return best;
    for (type = 0; type < GT_WINNER_TYPES; type++) {
        const struct gt_winner *w = NULL;
        if (type != s->type && gt_winner_decides(type, s->type)) w = gt_winner_same_of(gpu, s, type);
        if (w && (!best || w->time_us < best->time_us)) best = w;
    }
    return best;
}

GT_WINNERS_API const struct gt_winner *gt_winner_exact(const struct gt_winner_gpu *gpu,
                                                       const struct gt_winner_shape *shape)
{
    if (!gpu || gpu->substitute || !gt_winner_valid(shape)) return NULL;
    return gt_winner_same(gpu, shape);
}

static inline float gt_winner_square(float x)
{
    return x * x;
}

/* By Newton's method, from above. */
static inline float gt_winner_root(float square)
{
    float root = square > 1 ? square : 1;
    if (square <= 0) return 0;
    for (int i = 0; i < 24; i++) root = (root + square / root) / 2;
    return root;
}

/* The errors of an accuracy class, relative to those of FP32, were measured at the winner's k, and grow as k
 * falls. */
static inline int gt_winner_is_accurate(const struct gt_winner *winner, const struct gt_winner_shape *shape)
{
    return !gt_winner_type_is_measured(winner->type) || shape->k >= winner->k;
}

GT_WINNERS_API int gt_winner_fits(const struct gt_winner *winner, const struct gt_winner_shape *shape)
{
    if (!winner || !gt_winner_valid(shape)) return 0;
    return 2 * (shape->trans_a != 0) + (shape->trans_b != 0) == winner->op &&
           gt_winner_answers(winner->type, shape->type) && gt_winner_is_accurate(winner, shape) &&
           gt_winner_aligned(gt_winner_align(shape), winner->needs) && shape->m <= winner->most[0] &&
           shape->n <= winner->most[1] && shape->k <= winner->most[2];
}

/* What is asked, and the best so far. */
struct gt_winner_search {
    const struct gt_winner_gpu *gpu;
    const struct gt_winner_shape *shape;
    int32_t align, tight, adds_to_c, shared;
    float m, n, k, batch;
    const struct gt_winner *best;
    float best_distance, reach; /* reach: farther ones are farther by their sizes alone; squared */
};

static inline int gt_winner_tight(const struct gt_winner_shape *s)
{
    return s->lda == (s->trans_a ? s->m : s->k) && s->ldb == (s->trans_b ? s->k : s->n) && s->ldc == s->n;
}

static inline struct gt_winner_search gt_winner_search_for(const struct gt_winner_gpu *gpu,
                                                           const struct gt_winner_shape *shape)
{
    struct gt_winner_search s;
    s.gpu = gpu;
    s.shape = shape;
    s.align = gt_winner_align(shape);
    s.tight = gt_winner_tight(shape);
    s.adds_to_c = shape->adds_to_c != 0;
    s.shared = gt_winner_shared(shape);
    s.m = gt_winner_log(shape->m);
    s.n = gt_winner_log(shape->n);
    s.k = gt_winner_log(shape->k);
    s.batch = gt_winner_log(shape->batch);
    s.best = NULL;
    s.best_distance = s.reach = 1e30f;
    return s;
}

/* The part of the distance that the sizes make, squared. */
static inline float gt_winner_sizes(const struct gt_winner *w, const struct gt_winner_search *s)
{
    return gt_winner_square(w->log_m - s->m) + gt_winner_square(w->log_n - s->n) +
           gt_winner_square(w->log_k - s->k) + gt_winner_square(w->log_batch - s->batch);
}

static inline float gt_winner_rest(const struct gt_winner *w, const struct gt_winner_search *s)
{
    const int32_t other = w->align ^ s->align;
    const int aligned = (other & 15) != 0, and_b = (other & 240) != 0, and_c = other >> 8 != 0;
    const int details = (w->type != s->shape->type) + (w->tight != s->tight) +
                        (w->adds_to_c != s->adds_to_c) + (w->shared != s->shared);
    return (float)GT_SHAPE_ALIGNMENT * (float)(aligned + and_b + and_c) +
           (float)GT_SHAPE_DETAIL * (float)details;
}

GT_WINNERS_API float gt_winner_distance(const struct gt_winner *winner, const struct gt_winner_shape *shape)
{
    if (!winner || !gt_winner_valid(shape)) return 1e30f;
    const struct gt_winner_search s = gt_winner_search_for(NULL, shape);
    return gt_winner_root(gt_winner_sizes(winner, &s)) + gt_winner_rest(winner, &s);
}

/* Winners of one type and op, from first to end, are in the order of m, so the search goes outwards from the
 * shape's own m until m alone is too far. */
static inline void gt_winner_search_in(struct gt_winner_search *s, int32_t first, int32_t end)
{
    const struct gt_winner *winners = s->gpu->winners;
    int32_t low = first, high = end;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (winners[middle].log_m < s->m) low = middle + 1;
        else high = middle;
    }
    for (low--; low >= first || high < end;) {
        const int down =
            low >= first && (high >= end || s->m - winners[low].log_m < winners[high].log_m - s->m);
        const struct gt_winner *w = &winners[down ? low-- : high++];
        float sizes, distance;
        if (gt_winner_square(w->log_m - s->m) > s->reach) break;
        sizes = gt_winner_sizes(w, s);
        if (sizes > s->reach) continue;
        distance = gt_winner_root(sizes) + gt_winner_rest(w, s);
        if (distance > s->best_distance || (s->best && distance == s->best_distance && w > s->best)) continue;
        if (!gt_winner_fits(w, s->shape)) continue;
        s->best = w;
        s->best_distance = distance;
        s->reach = gt_winner_square(distance) * 1.001f; /* the root is rounded */
    }
}

GT_WINNERS_API const struct gt_winner *gt_winner_nearest(const struct gt_winner_gpu *gpu,
                                                         const struct gt_winner_shape *shape, float *distance)
{
    struct gt_winner_search s;
    int32_t type, op;
    if (distance) *distance = 0;
    if (!gpu || !gt_winner_valid(shape)) return NULL;
    s = gt_winner_search_for(gpu, shape);
    op = 2 * (shape->trans_a != 0) + (shape->trans_b != 0);
    for (type = 0; type < GT_WINNER_TYPES; type++)
        if (gt_winner_answers(type, shape->type))
            gt_winner_search_in(&s, gpu->first[4 * type + op], gpu->first[4 * type + op + 1]);
    if (s.best && distance) *distance = s.best_distance;
    return s.best;
}

GT_WINNERS_API int gt_winner_find(const struct gt_winner_gpu *gpu, const struct gt_winner_shape *shape,
                                  struct gt_winner_match *match)
{
    if (!match) return 0;
    match->winner = NULL;
    match->exact = 0;
    match->distance = 0;
    if (!gpu || !gt_winner_valid(shape)) return 0;
    match->winner = gt_winner_same(gpu, shape);
    match->exact = match->winner && !gpu->substitute;
    if (!match->winner) match->winner = gt_winner_nearest(gpu, shape, &match->distance);
    return match->winner != NULL;
}

GT_WINNERS_API const struct gt_winner_gpu *gt_winner_gpu_find(const struct gt_winner_set *set,
                                                              const char *name, int arch, int sm_count)
{
    const struct gt_winner_gpu *best = NULL;
    int64_t best_far = 0;
    for (int32_t i = 0; set && i < set->gpu_count; i++) {
        const struct gt_winner_gpu *g = &set->gpus[i];
        const int named = name && strcmp(g->name, name) == 0;
        int64_t far = (int64_t)g->sm_count - sm_count;
        if (far < 0) far = -far;
        if (g->arch > arch) continue;
        if (g->arch == arch && named && far == 0) return g;
        if (g->arch == arch && named) far -= (int64_t)1 << 32;
        if (best && (g->arch < best->arch || (g->arch == best->arch && far >= best_far))) continue;
        best = &set->substitutes[i];
        best_far = far;
    }
    return best;
}

#ifdef __cplusplus
}
#endif

#endif

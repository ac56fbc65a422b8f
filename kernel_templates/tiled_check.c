/* tiled_check.c — which configurations of a family with a row are correct, and why others are not. */
#include "tiled.h"

#include "gt_workspace32.h"
#include "launch_limits.h"
#include "occupancy.h"
#include "split_k.h"

#define PACK_BYTES_MAX (INT64_C(256) << 20) /* of workspace, for packed operands of an item */
#define PACK_WHY       "PACK needs more than 256 MiB of workspace"

#define VALUE(slot, absent) TILED_VALUE(t, slot, absent, config)
#define KNOWN(slot)         (t->at.slot && known >= t->at.slot)

/* ---- what a GPU must have ---- */

static const char *check_needs(const struct tiled *t, const struct config *config, int known,
                               const struct gpu *gpu)
{
    for (int i = 0; i < TILED_NEEDS_MAX && t->needs[i].at; i++) {
        const struct tiled_need *const need = &t->needs[i];
        if (known >= need->at && config->value[need->at - 1] > need->above && gpu->arch < need->arch)
            return need->why;
    }
    return NULL;
}

static const char *check_sms(const struct tiled *t, const struct config *config, int known,
                             const struct gpu *gpu)
{
    return KNOWN(sms) && VALUE(sms, 0) > gpu->sm_count ? "SMS is more than the GPU has" : NULL;
}

/* That each of the threads of an SM may have. */
static int registers_a_thread(const struct gpu *gpu, int threads)
{
    const int most = gpu->registers_per_sm / threads / 8 * 8;
    return most < REGISTERS_MAX ? most : REGISTERS_MAX;
}

/* Does an SM hold MIN_BLOCKS blocks? */
static const char *check_room(const struct tiled *t, int blocks, const struct tiled_sizes *sizes,
                              const struct gpu *gpu)
{
    const char *why = check_blocks(gpu, sizes->threads, blocks);
    if (!why && t->smem) why = check_blocks_smem(gpu, sizes->smem_bytes, blocks);
    if (why || sizes->registers == 0) return why;
    const int most = t->quarters ? registers_limit(gpu, sizes->threads, blocks)
                                 : registers_a_thread(gpu, sizes->threads * blocks);
    return sizes->registers > most ? t->registers : NULL;
}

/* sizes: NULL as long as they are not known. */
static const char *check_gpu(const struct tiled *t, const struct config *config, int known,
                             const struct tiled_sizes *sizes, const struct gpu *gpu)
{
    const char *why = NULL;
    if (gpu->arch < t->arch.least || (t->arch.most && gpu->arch > t->arch.most)) return t->arch.why;
    if (!t->sizes_first) why = check_needs(t, config, known, gpu);
    if (!t->sizes_first && !why) why = check_sms(t, config, known, gpu);
    if (!sizes || why) return why;
    if (t->smem && sizes->smem_bytes > gpu->smem_per_block_bytes) return t->smem;
    if (t->sizes_first) why = check_needs(t, config, known, gpu);
    if (!why) why = check_room(t, KNOWN(min_blocks) ? VALUE(min_blocks, 1) : 1, sizes, gpu);
    if (t->sizes_first && !why) why = check_sms(t, config, known, gpu);
    return why;
}

/* ---- what a problem asks for ---- */

/* Of lines, of `length` elements, that begin at multiples of it. Widths are powers of two. */
static int line_align(const struct problem *p, bool finds_items, enum element element, int64_t ld,
                      int64_t stride, int64_t length)
{
    if (p->pointers && !finds_items) return 1;
    const int64_t all = ld | length | (p->batch > 1 && !p->pointers ? stride : 0);
    int width = element_vector(element);
    while (all & (width - 1)) width /= 2;
    return width;
}

int tiled_align(const struct tiled *t, const struct problem *p, enum tiled_operand operand, int side)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    const bool a = operand == TILED_A || operand == (side ? TILED_STREAMED : TILED_SMALL),
               all = t->ends == ENDS_ALONG_K;
    if (t->ends == ENDS_WITH_LINES)
        return operand == TILED_C ? problem_align_c(p) : a ? problem_align_a(p) : problem_align_b(p);
    if (operand == TILED_C) return line_align(p, t->finds_items, type->c, p->ldc, p->stride_c, 0);
    if (a) return line_align(p, t->finds_items, type->a, p->lda, p->stride_a, all && p->trans_a ? p->m : 0);
    return line_align(p, t->finds_items, type->b, p->ldb, p->stride_b, all && !p->trans_b ? p->n : 0);
}

static const char *check_vectors(const struct tiled *t, const struct config *config, int known,
                                 const struct problem *p)
{
    const int pack = VALUE(pack, 0), side = VALUE(side, 0);
    for (int i = 0; i < TILED_VECTORS_MAX && t->vectors[i].at; i++) {
        const struct tiled_vector *const vector = &t->vectors[i];
        if (known < vector->at || config->value[vector->at - 1] == 1) continue;
        if ((vector->of == TILED_A && pack % 2) || (vector->of == TILED_B && pack / 2)) continue;
        if (config->value[vector->at - 1] > tiled_align(t, p, vector->of, side)) return vector->why;
    }
    return NULL;
}

double tiled_pack_bytes(const struct tiled *t, int pack, const struct problem *p)
{
    if (t->pack == PACK_OWN) return 0;
    if (t->pack == PACK_ALONG_K)
        return 4 * (double)packed_line32(p->k) * (double)((pack % 2 ? p->m : 0) + (pack / 2 ? p->n : 0));
    const double a = (double)problem_rows_a(p) * (double)packed_line(problem_cols_a(p)),
                 b = (double)problem_rows_b(p) * (double)packed_line(problem_cols_b(p));
    return 2 * ((pack % 2 ? a : 0) + (pack / 2 ? b : 0));
}

int32_t tiled_unpacked(const struct tiled *t, const struct config *config, const struct problem *p)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    const bool turns = t->pack == PACK_ALONG_K;
    int32_t pack = VALUE(pack, 0);
    if (pack % 2 && tiled_align(t, p, TILED_A, 0) == element_vector(type->a) && !(turns && p->trans_a))
        pack -= 1;
    if (pack / 2 == 1 && tiled_align(t, p, TILED_B, 0) == element_vector(type->b) && !(turns && !p->trans_b))
        pack -= 2;
    return pack;
}

/* Can a tensor map read an operand as it lies? */
static const char *check_map(const struct problem *p, int64_t ld, int64_t stride)
{
    const int bytes = element_bytes(gemm_type_row(p->type)->a), align = 16 / bytes;
    if (p->batch <= 1) stride = 0;
    if (p->pointers) return "tensor maps know no arrays of pointers: PACK must be 3";
    if (ld % align != 0 || stride % align != 0)
        return "tensor maps need operands whose lines begin at multiples of 16 bytes, or PACK";
    if (ld >= MAP_STRIDE_MAX / bytes || stride >= MAP_STRIDE_MAX / bytes)
        return "an operand's lines, or the items of its batch, are too far apart for a tensor map";
    return NULL;
}

static const char *check_pack(const struct tiled *t, const struct config *config, const struct problem *p)
{
    const int pack = VALUE(pack, 0);
    const char *why = pack && tiled_pack_bytes(t, pack, p) > (double)PACK_BYTES_MAX ? PACK_WHY : NULL;
    if (t->arrival != BY_MAPS) return why;
    if (!why && !(pack % 2)) why = check_map(p, p->lda, p->stride_a);
    if (!why && !(pack / 2)) why = check_map(p, p->ldb, p->stride_b);
    return why;
}

static const char *check_tiles(const struct tiled *t, const struct config *config, const struct problem *p)
{
    if (p->m * p->n <= GRID_X_MAX) return NULL; /* as nearly always; both are below 2^31 */
    const int64_t rows = ceil_div(p->m, VALUE(bm, 1)), columns = ceil_div(p->n, VALUE(bn, 1));
    return rows > 0 && columns > GRID_X_MAX / rows ? t->tiles : NULL;
}

/* The workspace of the parts of a k that is cut, and their number. Divided, because products pass 2^63. */
static const char *check_parts(const struct tiled *t, const struct config *config,
                               const struct tiled_sizes *sizes, const struct problem *p)
{
    if (p->m == 0 || VALUE(split_k, 1) == 1 || tiled_cluster(t, config)) return NULL;
    const int64_t splits = cut_k(p->k, sizes->k, VALUE(split_k, 1), 0).splits, most = t->parts_bytes_max / 4;
    if (splits == 1) return NULL;
    if (VALUE(reduce, t->reduce) == 0) return p->n > most / splits / p->m ? t->parts : NULL;
    const int64_t tile = splits * sizes->part_floats + t->beside_floats;
    return ceil_div(p->n, sizes->n) > most / tile / ceil_div(p->m, sizes->m) ? t->parts : NULL;
}

static const char *check_order_of(const struct tiled *t, const struct config *config, int known,
                                  const struct problem *p)
{
    return check_order(p, (struct k_order){.unit = KNOWN(bk) ? VALUE(bk, 0) : 0,
                                           .teams = KNOWN(warps_k) ? VALUE(warps_k, 0) : 0,
                                           .cluster = KNOWN(reduce) ? tiled_cluster(t, config) : 0,
                                           .splits = KNOWN(split_k) ? VALUE(split_k, 0) : 0});
}

static const char *check_problem(const struct tiled *t, const struct config *config, int known,
                                 const struct tiled_sizes *sizes, const struct problem *p,
                                 const struct gpu *gpu)
{
    const int side = KNOWN(few) ? VALUE(side, 0) : 0;
    const char *why = p->invariant ? check_order_of(t, config, known, p) : NULL;
    if (!why && KNOWN(few) && (side ? p->n : p->m) > VALUE(few, 0)) why = t->few[side];
    if (!why && KNOWN(pack)) why = check_pack(t, config, p);
    if (!why && t->refuse) why = t->refuse(config, known, p, gpu);
    if (!why) why = check_vectors(t, config, known, p);
    if (!why && t->tiles && KNOWN(bn)) why = check_tiles(t, config, p);
    return !why && KNOWN(split_k) ? check_parts(t, config, sizes, p) : why;
}

/* Why its kernels compute no such problem, whatever the configuration. */
static const char *check_served(const struct template *template, const struct problem *problem)
{
    enum gemm_type computed;
    if (template_serves(template, problem)) return NULL;
    if (!template_type(template, problem->type, &computed)) return template->tiled->computes;
    if (problem->invariant && !template->invariant)
        return "invariant rows: the family has other orders of additions";
    return problem->pointers ? "the family takes no arrays of pointers" : "the family computes no epilogue";
}

/* ---- all of it ---- */

/* Of a block: as much of the configuration as is known, and the least values in place of the others. */
static struct tiled_sizes known_sizes(const struct tiled *t, const struct config *config, int known,
                                      const struct problem *problem)
{
    const struct template *const template = config->template;
    if (known == template->param_count) return t->sizes(config, problem);
    struct config least = *config;
    for (int i = known; i < template->param_count; i++) least.value[i] = template->params[i].least;
    return t->sizes(&least, problem);
}

const char *tiled_check_prefix(const struct config *config, int known, const struct problem *problem,
                               const struct gpu *gpu)
{
    const struct tiled *const t = config->template->tiled;
    const char *why = template_check_ranges(config, known);
    if (!why) why = t->rules(config, known, problem);
    if (why) return why;
    struct tiled_sizes of_block, *sizes = NULL;
    if (KNOWN(sized) && (gpu || KNOWN(split_k))) {
        of_block = known_sizes(t, config, known, KNOWN(split_k) ? problem : NULL);
        sizes = &of_block;
    }
    if (gpu) why = check_gpu(t, config, known, sizes, gpu);
    if (!why && problem) why = check_served(config->template, problem);
    if (!why && problem) why = check_problem(t, config, known, sizes, problem, gpu);
    if (!why && t->refuse_last) why = t->refuse_last(config, known, problem, gpu);
    return why;
}

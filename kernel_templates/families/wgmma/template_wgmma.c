/* The family for wgmma on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "wgmma_host.h"

#include "gemm_block.h"
#include "gt_workspace32.h"
#include "launch_limits.h"
#include "model_registers.h"
#include "split_k.h"

#define REGISTERS_BESIDES 26                   /* what ptxas asks for (C7602) besides the sums */
#define PARTS_BYTES_MAX   (INT64_C(256) << 20) /* for the parts of a cut k */

#define PACK_BYTES_MAX (INT64_C(256) << 20) /* for packed operands */

#define MAP_ALIGN_BYTES 16
#define MAP_STRIDE_MAX  (INT64_C(1) << 40) /* bytes, cuTensorMapEncodeTiled */
#define LONG_FLOP       1e11               /* 0.15 ms and more */
#define ACCUMULATORS    (TALL * RIGHT / 2)
#define FRAGMENTS       (TALL * (PRELOAD ? 8 * PRELOAD : 16)) /* of the left operand of TF32 */

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

#define RULES    "wgmma_rules.h"
#define COMPUTES (TF32 ? "its type is tf32gemm" : "the wgmma family computes bf16gemm and hgemm")
#include "family_template.h"

static struct resources wgmma_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = ACCUMULATORS};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (gpu->arch != 90) return "wgmma exists on sm_90 alone";
    if (KNOWN(SMS) && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!KNOWN(STORE)) return NULL;
    const struct resources need = wgmma_resources(config);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages, or the sums, do not fit in a block's shared memory";
    const char *why = check_residence(gpu, need.threads, need.smem_bytes, MIN_BLOCKS, 0);
    if (!why && need.accumulators + REGISTERS_BESIDES > registers_limit(gpu, need.threads, MIN_BLOCKS))
        why = "the sums do not fit in the registers";
    return why;
}

/* Can a tensor map read an operand as it lies? */
static bool is_mappable(const struct problem *p, int64_t ld, int64_t stride)
{
    const int align = MAP_ALIGN_BYTES / element_bytes(gemm_type_row(p->type)->a);
    return !p->pointers && ld % align == 0 && (p->batch <= 1 || stride % align == 0);
}

/* Are an operand's lines, or the items of its batch, too far apart for a tensor map? */
static bool is_far(int64_t ld, int64_t stride, enum element element, const struct problem *p)
{
    const int64_t limit = MAP_STRIDE_MAX / element_bytes(element);
    return ld >= limit || (p->batch > 1 && stride >= limit);
}

static const char *check_map(int64_t ld, int64_t stride, const struct problem *p)
{
    if (p->pointers) return "tensor maps know no arrays of pointers: PACK must be 3";
    if (!is_mappable(p, ld, stride))
        return "tensor maps need operands whose lines begin at multiples of 16 bytes, or PACK";
    if (is_far(ld, stride, gemm_type_row(p->type)->a, p))
        return "an operand's lines, or the items of its batch, are too far apart for a tensor map";
    return NULL;
}

/* Of an item's packed operands. In floating point: the largest problems pass 2^63. */
static double pack_bytes(const struct config *config, const struct problem *p)
{
    if (TF32) return 4 * (double)packed_line32(p->k) * (double)((PACK_A ? p->m : 0) + (PACK_B ? p->n : 0));
    const double a = (double)problem_rows_a(p) * (double)packed_line(problem_cols_a(p)),
                 b = (double)problem_rows_b(p) * (double)packed_line(problem_cols_b(p));
    return 2 * ((PACK_A ? a : 0) + (PACK_B ? b : 0));
}

/* The widest access to lines of C that begin at multiples of it. */
static int line_align(const struct problem *p)
{
    int width = p->pointers ? 1 : element_vector(gemm_type_row(p->type)->c);
    while (p->ldc % width || (p->batch > 1 && p->stride_c % width)) width /= 2;
    return width;
}

static struct k_cut cut(const struct config *config, int64_t k)
{
    return cut_k(k, BK, SPLIT_K, CLUSTER);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    if (!p) return NULL;
    const char *why = check_order(p, (struct k_order){.unit = KNOWN(BK) ? BK : 0,
                                                      .cluster = KNOWN(REDUCE) ? CLUSTER : 0,
                                                      .splits = KNOWN(SPLIT_K) ? SPLIT_K : 0});
    if (!why && KNOWN(PACK) && pack_bytes(config, p) > PACK_BYTES_MAX)
        why = "PACK needs more than 256 MiB of workspace";
    if (!why && KNOWN(PACK) && !PACK_A) why = check_map(p->lda, p->stride_a, p);
    if (!why && KNOWN(PACK) && !PACK_B) why = check_map(p->ldb, p->stride_b, p);
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    if (!why && gpu && KNOWN(PRELOAD) && LEFT_IN_REGISTERS &&
        ACCUMULATORS + FRAGMENTS + REGISTERS_BESIDES > registers_limit(gpu, THREADS, MIN_BLOCKS))
        why = "the sums and the left operand do not fit in the registers";
    if (why) return why;
    if (KNOWN(VC) && VC > line_align(p)) return "VC is wider than C is aligned";
    const enum element c = gemm_type_row(p->type)->c;
    if (KNOWN(STORE) && BOXES && VC < element_vector(c))
        return "STORE: C's lines begin at multiples of 16 bytes, and VC is as wide";
    if (KNOWN(STORE) && BOXES && p->n % element_vector(c) != 0)
        return "STORE: TMA stores whole 16 bytes, and C's lines end within them";
    if (KNOWN(STORE) && BOXES && is_far(p->ldc, p->stride_c, c, p))
        return "C's lines, or the items of its batch, are too far apart for a tensor map";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K) || CLUSTER) return NULL;
    const int64_t splits = cut(config, p->k).splits;
    if (splits > 1 && rows > 0 && columns > PARTS_BYTES_MAX / 4 / splits / (BM * BN) / rows)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

/* How much workspace, and how many items of the batch a launch takes with it. */
static struct workspace_item plan_workspace(const struct config *config, const struct problem *p,
                                            int64_t tiles, struct gemm_args *args, struct launch_plan *plan)
{
    const bool parts = args->splits > 1 && LAST_BLOCK;
    const int64_t floats = parts ? tiles * args->splits * BM * BN : 0;
    const struct workspace_item item =
        TF32 ? workspace_item32(PACK, p->m, p->n, p->k, floats)
             : workspace_item(PACK, p->trans_a, p->trans_b, p->m, p->n, p->k, floats);
    plan->batch_per_launch = GRID_Z_MAX;
    if (item.floats == 0) return item;
    plan->batch_per_launch = items_per_launch(4 * item.floats);
    const int64_t slice = smaller(p->batch, plan->batch_per_launch);
    if (parts) args->counters = (int)(ceil_div(slice * tiles, COUNTERS_UNIT) * COUNTERS_UNIT);
    plan->workspace_bytes = 4 * (args->counters + slice * item.floats);
    return item;
}

/* An operand as its map sees it: `lines` lines of `length` elements, in boxes. */
struct source {
    enum launch_operand operand;
    enum element element;
    int64_t length, lines, ld, stride, offset_bytes; /* stride 0: all items of the batch are one */
    unsigned box_bytes, box_lines;                   /* of a line; lines */
};

static struct source packed(struct source source, int64_t floats, int64_t item_floats)
{
    source.operand = LAUNCH_WORKSPACE;
    source.offset_bytes = 4 * floats;
    source.ld = packed_line(source.length);
    source.stride = 4 * item_floats / element_bytes(source.element);
    return source;
}

/* Of TF32: `lines` lines of k, whichever way the operand lies. */
static struct source packed_along_k(struct source source, int64_t lines, int64_t k, int64_t floats,
                                    int64_t item_floats)
{
    source.length = k;
    source.lines = lines;
    source = packed(source, floats, item_floats);
    source.ld = packed_line32(k);
    return source;
}

static void add_view(struct launch_plan *plan, const struct source *s, int64_t batch, int at)
{
    const bool items = batch > 1 && s->stride != 0;
    const int64_t bytes = element_bytes(s->element);
    plan->view[plan->views++] =
        (struct tensor_view){.operand = s->operand,
                             .element = s->element,
                             .rank = 3,
                             .offset_bytes = s->offset_bytes,
                             .extent = {s->length, s->lines, items ? batch : 1},
                             .stride_bytes = {bytes, bytes * s->ld, bytes * (items ? s->stride : s->ld)},
                             .box = {s->box_bytes / (unsigned)bytes, s->box_lines, 1},
                             .swizzle_bytes = s->box_bytes,
                             .k_axis = -1,
                             .batch_axis = items ? 2 : -1,
                             .at = (uint16_t)at};
}

static void plan_views(const struct config *config, const struct problem *p, struct workspace_item item,
                       struct launch_plan *plan)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    const int64_t batch = smaller(p->batch, plan->batch_per_launch);
    /* Their copies round to TF32. */
    struct source a = {LAUNCH_A,
                       TF32 ? ELEMENT_TF32 : type->a,
                       problem_cols_a(p),
                       problem_rows_a(p),
                       p->lda,
                       p->stride_a,
                       .box_bytes = 128,
                       .box_lines = (unsigned)(A_ALONG_K ? BM : PIECE_K)};
    struct source b = {LAUNCH_B,
                       TF32 ? ELEMENT_TF32 : type->b,
                       problem_cols_b(p),
                       problem_rows_b(p),
                       p->ldb,
                       p->stride_b,
                       .box_bytes = 128,
                       .box_lines = (unsigned)(B_ALONG_K ? BN : PIECE_K)};
    const int64_t first_a = plan->counters, first_b = first_a + item.b;
    if (PACK_A)
        a = TF32 ? packed_along_k(a, p->m, p->k, first_a, item.floats) : packed(a, first_a, item.floats);
    if (PACK_B)
        b = TF32 ? packed_along_k(b, p->n, p->k, first_b, item.floats) : packed(b, first_b, item.floats);
    add_view(plan, &a, PACK_A ? batch : p->batch, SWAP ? MAP_RIGHT_AT : MAP_LEFT_AT);
    add_view(plan, &b, PACK_B ? batch : p->batch, SWAP ? MAP_LEFT_AT : MAP_RIGHT_AT);
    const struct source c = {LAUNCH_C,       type->c, p->n, p->m, p->ldc, p->stride_c, .box_bytes = BOX_LINE,
                             .box_lines = 16};
    if (BOXES) add_view(plan, &c, p->batch, MAP_C_AT);
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(ARGUMENT_BYTES - plan->argument_bytes));
    memcpy(plan->argument + PDL_AT, &(int){PDL}, sizeof(int));
    plan->argument_bytes = ARGUMENT_BYTES;
}

static struct kernel_launch pack_launch(const struct config *config, const struct problem *p, unsigned slice)
{
    int64_t pieces = 0;
    if (PACK_A)
        pieces += TF32 ? pack_pieces32(p->m, p->k) : pack_pieces(problem_rows_a(p), problem_cols_a(p));
    if (PACK_B)
        pieces += TF32 ? pack_pieces32(p->n, p->k) : pack_pieces(problem_rows_b(p), problem_cols_b(p));
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)ceil_div(pieces, PACK_THREADS / 32), 1, slice},
                                  .threads = PACK_THREADS,
                                  .dependent = PDL > 0};
}

static void wgmma_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = wgmma_resources(config);
    const struct k_cut parts = cut(config, p->k);
    const int64_t rows = ceil_div(p->m, BM), tiles = rows * ceil_div(p->n, BN);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)parts.splits;
    args.k_per_split = (int)parts.k_per_split;
    args.group = (int)smaller(GROUP, rows);
    const struct workspace_item item = plan_workspace(config, p, tiles, &args, plan);
    gemm_args_put(plan, p, &args);
    plan_views(config, p, item, plan);
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    const int64_t blocks = WALK ? smaller(tiles, (int64_t)SMS * MIN_BLOCKS) : tiles;
    const bool packs = PACK && p->k > 0;
    if (packs) plan->kernel[plan->kernels++] = pack_launch(config, p, slice);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)blocks, (unsigned)parts.splits, slice},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0},
                               .dependent = packs || PDL};
}

/* template.h: a packed operand that a map reads as it lies; half a microsecond of a long product. */
static int wgmma_redundant(const struct config *config, int known, const struct problem *p, int32_t *instead)
{
    if (!KNOWN(PACK)) return -1;
    *instead = PACK;
    if (PACK_A && is_mappable(p, p->lda, p->stride_a) && (!TF32 || !p->trans_a)) *instead -= 1;
    if (PACK_B && is_mappable(p, p->ldb, p->stride_b) && (!TF32 || p->trans_b)) *instead -= 2;
    if (*instead != PACK) return P_PACK;
    *instead = 0;
    return KNOWN(PDL) && PDL && problem_flop(p) > LONG_FLOP ? P_PDL : -1;
}

/* Written out, since gemm_block does not describe an argument with tensor maps. */
extern const struct source_text sources_wgmma[];
extern const struct template template_wgmma;
const struct template template_wgmma = {
    .name = "wgmma",
    .summary = "BF16 and FP16 on the tensor cores of sm_90, by wgmma: operands aligned to 16 bytes, split-K",
    .space = "wgmma.conf",
    .params = params,
    .param_count = P_COUNT,
    .computes = GEMM_TYPE_BIT(GEMM_BF16) | GEMM_TYPE_BIT(GEMM_F16) | GEMM_TYPE_BIT(GEMM_BF16_TO_F32) |
                GEMM_TYPE_BIT(GEMM_F16_TO_F32),
    .one_arch = true,
    .invariant = true,
    .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
    .optional = OPTIONAL,
    .silent = SILENT,
    .sources = sources_wgmma,
    .resources = wgmma_resources,
    .check = template_check_all,
    .check_prefix = check_prefix,
    .redundant = wgmma_redundant,
    .plan = wgmma_plan,
    .predict = wgmma_predict};

/* The same for elements of 32 bits. */
const struct template template_wgmma_tf32 = {
    .name = "wgmma_tf32",
    .summary = "TF32 on the tensor cores of sm_90, by wgmma: any layout and alignment, split-K",
    .space = "wgmma_tf32.conf",
    .params = params,
    .param_count = P_COUNT,
    .computes = GEMM_TYPE_BIT(GEMM_TF32),
    .one_arch = true,
    .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
    .optional = OPTIONAL,
    .silent = SILENT,
    .sources = sources_wgmma,
    .resources = wgmma_resources,
    .check = template_check_all,
    .check_prefix = check_prefix,
    .redundant = wgmma_redundant,
    .plan = wgmma_plan,
    .predict = wgmma_predict};

/* The family for wgmma on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "wgmma_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "model_registers.h"
#include "split_k.h"

#define REGISTERS_BESIDES 26                   /* what ptxas asks for (C7602) besides the sums */
#define PARTS_BYTES_MAX   (INT64_C(256) << 20) /* for the parts of a cut k */

#define BOX_LINE       64                 /* elements of a box's line: 128 bytes, as the swizzle */
#define MAP_ALIGN      8                  /* elements: 16 bytes */
#define MAP_STRIDE_MAX (INT64_C(1) << 40) /* bytes, cuTensorMapEncodeTiled */
#define ACCUMULATORS   (TALL * RIGHT / 2)

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

#define RULES    "wgmma_rules.h"
#define COMPUTES "the wgmma family computes bf16gemm and hgemm"
#include "family_template.h"

static struct resources wgmma_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = ACCUMULATORS};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (gpu->arch != 90) return "wgmma exists on sm_90 alone";
    if (!KNOWN(REDUCE)) return NULL;
    const struct resources need = wgmma_resources(config);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages, or the sums, do not fit in a block's shared memory";
    const char *why = check_residence(gpu, need.threads, need.smem_bytes, MIN_BLOCKS, 0);
    if (!why && need.accumulators + REGISTERS_BESIDES > registers_limit(gpu, need.threads, MIN_BLOCKS))
        why = "the sums do not fit in the registers";
    return why;
}

/* What a tensor map asks of an operand. */
static const char *check_map(int64_t ld, int64_t stride, const struct problem *p)
{
    if (ld % MAP_ALIGN || (p->batch > 1 && stride % MAP_ALIGN))
        return "tensor maps need operands whose lines begin at multiples of 16 bytes";
    if (ld >= MAP_STRIDE_MAX / 2 || (p->batch > 1 && stride >= MAP_STRIDE_MAX / 2))
        return "an operand's lines, or the items of its batch, are too far apart for a tensor map";
    return NULL;
}

/* The widest access to lines of C that begin at multiples of it. */
static int line_align(const struct problem *p)
{
    int width = element_vector(gemm_type_row(p->type)->c);
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
    (void)gpu;
    if (!p) return NULL;
    const char *why = check_map(p->lda, p->stride_a, p);
    if (!why) why = check_map(p->ldb, p->stride_b, p);
    if (why) return why;
    if (KNOWN(VC) && VC > line_align(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K) || CLUSTER) return NULL;
    const int64_t splits = cut(config, p->k).splits;
    if (splits > 1 && rows > 0 && columns > PARTS_BYTES_MAX / 4 / splits / (BM * BN) / rows)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

/* How much workspace the parts take, and how many items of the batch a launch takes with it. */
static void plan_workspace(const struct config *config, const struct problem *p, int64_t tiles,
                           struct gemm_args *args, struct launch_plan *plan)
{
    plan->batch_per_launch = GRID_Z_MAX;
    if (args->splits <= 1 || CLUSTER) return;
    const int64_t item_bytes = 4 * tiles * args->splits * BM * BN;
    plan->batch_per_launch = items_per_launch(item_bytes);
    const int64_t slice = smaller(p->batch, plan->batch_per_launch);
    args->counters = (int)(ceil_div(slice * tiles, COUNTERS_UNIT) * COUNTERS_UNIT);
    plan->workspace_bytes = 4 * (int64_t)args->counters + slice * item_bytes;
}

/* A map of an operand of `lines` lines, whose boxes have box_lines. Items at the same address are one item.
 */
static struct tensor_view view_of(const struct problem *p, enum launch_operand operand, enum element element,
                                  int64_t length, int64_t lines, int64_t ld, int64_t stride,
                                  unsigned box_lines)
{
    const bool items = p->batch > 1 && stride != 0;
    return (struct tensor_view){.operand = operand,
                                .element = element,
                                .rank = 3,
                                .extent = {length, lines, items ? p->batch : 1},
                                .stride_bytes = {2, 2 * ld, 2 * (items ? stride : ld)},
                                .box = {BOX_LINE, box_lines, 1},
                                .swizzle_bytes = 2 * BOX_LINE,
                                .k_axis = -1,
                                .batch_axis = items ? 2 : -1};
}

static void plan_views(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    struct tensor_view a = p->trans_a
                               ? view_of(p, LAUNCH_A, type->a, p->m, p->k, p->lda, p->stride_a, PIECE_K)
                               : view_of(p, LAUNCH_A, type->a, p->k, p->m, p->lda, p->stride_a, (unsigned)BM);
    struct tensor_view b = p->trans_b
                               ? view_of(p, LAUNCH_B, type->b, p->k, p->n, p->ldb, p->stride_b, (unsigned)BN)
                               : view_of(p, LAUNCH_B, type->b, p->n, p->k, p->ldb, p->stride_b, PIECE_K);
    a.at = SWAP ? MAP_RIGHT_AT : MAP_LEFT_AT;
    b.at = SWAP ? MAP_LEFT_AT : MAP_RIGHT_AT;
    plan->view[plan->views++] = a;
    plan->view[plan->views++] = b;
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(ARGUMENT_BYTES - plan->argument_bytes));
    plan->argument_bytes = ARGUMENT_BYTES;
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
    plan_workspace(config, p, tiles, &args, plan);
    gemm_args_put(plan, p, &args);
    plan_views(config, p, plan);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)tiles, (unsigned)parts.splits,
                                        (unsigned)smaller(p->batch, plan->batch_per_launch)},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0}};
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
    .asks = TEMPLATE_ASKS_TYPE | TEMPLATE_ASKS_EPILOGUE,
    .optional = OPTIONAL,
    .sources = sources_wgmma,
    .resources = wgmma_resources,
    .check = template_check_all,
    .check_prefix = check_prefix,
    .plan = wgmma_plan,
    .predict = wgmma_predict};

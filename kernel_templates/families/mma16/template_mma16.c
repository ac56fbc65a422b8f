/* The tensor-core family for 16-bit operands on the host: parameters, what they need, which are correct
 * where, and how they are launched. */
#include "mma16_host.h"

#include "gemm_block.h"
#include "gt_workspace16.h"
#include "invariant.h"
#include "launch_limits.h"
#include "split_k.h"

#define REGISTERS_BESIDES 24                   /* pointers and counters: with less room the compiler spills */
#define PARTS_BYTES_MAX   (INT64_C(256) << 20) /* for the parts of a cut k */
#define PACK_BYTES_MAX    (INT64_C(256) << 20) /* for packed operands */

#define RULES    "mma16_rules.h"
#define COMPUTES "the mma16 family computes bf16gemm and hgemm, to C in 16 bits or FP32"
#include "family_template.h"

static struct resources mma16_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = WM * WN / 32};
}

/* Registers that hold values during the whole main loop: C, two sets of 16 k of A and B, and a tile's pairs
 * of elements on their way through registers. */
static int registers_needed(const struct config *config)
{
    const int held = (VA == 1 ? BM * BK : 0) + (VB == 1 ? BN * BK : 0);
    return WM * WN / 32 + WARP_LEFT / 2 + WARP_RIGHT / 2 + held / 2 / THREADS;
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "mma.sync with k 16, and cp.async, need sm_80";
    if (!KNOWN(REDUCE)) return NULL;
    if (CLUSTER && gpu->arch < 90) return "REDUCE above 1 needs clusters (sm_90)";
    if (KNOWN(PDL) && PDL && gpu->arch < 90) return "PDL above 0 needs sm_90";
    const struct resources need = mma16_resources(config);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages, or the sums, do not fit in a block's shared memory";
    return check_residence(gpu, need.threads, need.smem_bytes, MIN_BLOCKS,
                           registers_needed(config) + REGISTERS_BESIDES);
}

/* The widest access to lines that begin at multiples of it, whatever their length: the kernel takes care of
 * vectors at the edge. Where items lie that arrays of pointers say, the kernel looks itself. */
static int line_align(const struct problem *p, enum element element, int64_t ld, int64_t stride)
{
    int width = element_vector(element);
    while (ld % width || (p->batch > 1 && !p->pointers && stride % width)) width /= 2;
    return width;
}

static int align_a(const struct problem *p)
{
    return line_align(p, gemm_type_row(p->type)->a, p->lda, p->stride_a);
}

static int align_b(const struct problem *p)
{
    return line_align(p, gemm_type_row(p->type)->b, p->ldb, p->stride_b);
}

/* Of an item's packed operands. In floating point: the largest problems pass 2^63. */
static double pack_bytes(const struct config *config, const struct problem *p)
{
    const double a = (double)problem_rows_a(p) * (double)packed_line(problem_cols_a(p)),
                 b = (double)problem_rows_b(p) * (double)packed_line(problem_cols_b(p));
    return 2 * ((PACK_A ? a : 0) + (PACK_B ? b : 0));
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
    const char *why = check_order(p, (struct k_order){.unit = KNOWN(BK) ? BK : 0,
                                                      .teams = KNOWN(WARPS_K) ? WARPS_K : 0,
                                                      .cluster = KNOWN(REDUCE) ? CLUSTER : 0,
                                                      .splits = KNOWN(SPLIT_K) ? SPLIT_K : 0});
    if (why) return why;
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    if (KNOWN(PACK) && pack_bytes(config, p) > PACK_BYTES_MAX)
        return "PACK needs more than 256 MiB of workspace";
    if (KNOWN(VA) && !PACK_A && VA > align_a(p)) return "VA is wider than A is aligned";
    if (KNOWN(VB) && !PACK_B && VB > align_b(p)) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > line_align(p, type->c, p->ldc, p->stride_c)) return "VC is wider than C is aligned";
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
static void plan_workspace(const struct config *config, const struct problem *p, int64_t tiles,
                           struct gemm_args *args, struct launch_plan *plan)
{
    const bool parts = args->splits > 1 && LAST_BLOCK;
    const struct workspace_item item = workspace_item(PACK, p->trans_a, p->trans_b, p->m, p->n, p->k,
                                                      parts ? tiles * args->splits * BM * BN : 0);
    plan->batch_per_launch = GRID_Z_MAX;
    if (item.floats == 0) return;
    plan->batch_per_launch = items_per_launch(4 * item.floats);
    const int64_t slice = smaller(p->batch, plan->batch_per_launch);
    if (parts) args->counters = (int)(ceil_div(slice * tiles, COUNTERS_UNIT) * COUNTERS_UNIT);
    plan->workspace_bytes = 4 * (args->counters + slice * item.floats);
}

static struct kernel_launch pack_launch(const struct config *config, const struct problem *p, unsigned slice)
{
    int64_t pieces = 0;
    if (PACK_A) pieces += pack_pieces(problem_rows_a(p), problem_cols_a(p));
    if (PACK_B) pieces += pack_pieces(problem_rows_b(p), problem_cols_b(p));
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)ceil_div(pieces, PACK_THREADS / 32), 1, slice},
                                  .threads = PACK_THREADS,
                                  .dependent = PDL > 0};
}

static void mma16_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = mma16_resources(config);
    const struct k_cut parts = cut(config, p->k);
    const int64_t rows = ceil_div(p->m, BM), tiles = rows * ceil_div(p->n, BN);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)parts.splits;
    args.k_per_split = (int)parts.k_per_split;
    args.group = (int)smaller(GROUP, rows);
    plan_workspace(config, p, tiles, &args, plan);
    gemm_args_put(plan, p, &args);
    gemm_args_put_early(plan, PDL, ASK);
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    if (PACK && p->k > 0) plan->kernel[plan->kernels++] = pack_launch(config, p, slice);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)tiles, (unsigned)parts.splits, slice},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0},
                               .dependent = PDL > 0};
}

extern const struct template template_mma16;

/* Of few rows and of many; k whole, or in parts as an invariant problem's may be, with and without a cluster.
 */
static bool mma16_plain(int number, struct config *config)
{
    static const int16_t tiles[][P_COUNT] = {
        {[P_BM] = 128, [P_BN] = 128, [P_WM] = 64, [P_WN] = 32, [P_STAGES] = 3, [P_GROUP] = 8},
        {[P_BM] = 64, [P_BN] = 64, [P_WM] = 32, [P_WN] = 32, [P_STAGES] = 4, [P_GROUP] = 8},
        {[P_BM] = 16, [P_BN] = 64, [P_WM] = 16, [P_WN] = 16, [P_STAGES] = 4, [P_GROUP] = 1},
    };
    static const int parts[][2] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {2, 1}, {4, 1}, {8, 1}};
    const int count = (int)(sizeof tiles / sizeof *tiles), way = number / count;
    if (way >= (int)(sizeof parts / sizeof *parts)) return false;
    *config = (struct config){.template = &template_mma16};
    for (int i = 0; i < P_COUNT; i++)
        config->value[i] = tiles[number % count][i] ? tiles[number % count][i] : params[i].least;
    BK = INVARIANT_UNIT;
    PRELOAD = 1;
    SPLIT_K = parts[way][0];
    REDUCE = parts[way][1];
    return true;
}

/* template.h: a packed operand whose lines are aligned anyway. */
static int mma16_redundant(const struct config *config, int known, const struct problem *problem,
                           int32_t *instead)
{
    if (!KNOWN(PACK)) return -1;
    *instead = PACK;
    if (PACK_A && align_a(problem) == 8) *instead -= 1;
    if (PACK_B && align_b(problem) == 8) *instead -= 2;
    return *instead == PACK ? -1 : P_PACK;
}

FAMILY(mma16,
       GEMM_TYPE_BIT(GEMM_BF16) | GEMM_TYPE_BIT(GEMM_F16) | GEMM_TYPE_BIT(GEMM_BF16_TO_F32) |
           GEMM_TYPE_BIT(GEMM_F16_TO_F32),
       .summary = "BF16 and FP16 on tensor cores, by mma.sync: any layout and alignment, split-K",
       .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .invariant = true,
       .plain = mma16_plain, .redundant = mma16_redundant)

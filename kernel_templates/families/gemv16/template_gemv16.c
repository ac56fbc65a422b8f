/* The streaming family for 16-bit operands on the host: parameters, what they need, which are correct where,
 * and how they are launched. */
#include "gemv16_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "split_k.h"

#define WORKSPACE_BYTES_MAX (INT64_C(64) << 20)
#define REGISTERS_BESIDES   44 /* pointers and counters: with less room the compiler spills */
#define COUNTERS_UNIT       64 /* the parts begin at a line of memory, too */

#define RULES    "gemv16_rules.h"
#define COMPUTES "the gemv16 family computes bf16gemm and hgemm, to C in 16 bits or FP32"
#include "family_template.h"

static struct resources gemv16_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS,
                              .smem_bytes = SMEM_BYTES > 1024 * PAD ? SMEM_BYTES : 1024 * PAD,
                              .accumulators = (EIGHTS + 1) / 2 * TX * 4};
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    const struct config least = known_config(all, known), *const config = &least;
    if (!gpu_has_cp_async(gpu)) return "mma.sync with k 16 needs sm_80";
    if (!KNOWN(REDUCE)) return NULL;
    if (CLUSTER && gpu->arch < 90) return "REDUCE above 1 needs clusters (sm_90)";
    if (KNOWN(PDL) && PDL && gpu->arch < 90) return "PDL above 0 needs sm_90";
    const struct resources need = gemv16_resources(config);
    if (need.smem_bytes > gpu->smem_per_block_bytes) return "the sums do not fit in a block's shared memory";
    return check_residence(gpu, need.threads, need.smem_bytes, MIN_BLOCKS,
                           need.accumulators + DEPTH * (RUN_WORDS(EIGHTS, VS) + RUN_WORDS(TX, VX)) +
                               REGISTERS_BESIDES);
}

/* The widest access to lines of so many elements that begin at multiples of it. */
static int line_align(const struct problem *p, enum element element, int64_t ld, int64_t stride,
                      int64_t length)
{
    int width = p->pointers ? 1 : element_vector(element);
    while (ld % width || length % width || (p->batch > 1 && stride % width)) width /= 2;
    return width;
}

/* Along k the kernel takes care of vectors at the end, across k it does not. */
static int align_a(const struct problem *p)
{
    return line_align(p, gemm_type_row(p->type)->a, p->lda, p->stride_a, p->trans_a ? p->m : 0);
}

static int align_b(const struct problem *p)
{
    return line_align(p, gemm_type_row(p->type)->b, p->ldb, p->stride_b, p->trans_b ? 0 : p->n);
}

static int64_t rows_of(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->m : p->n;
}

static int64_t columns_of(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->n : p->m;
}

static struct k_cut cut(const struct config *config, int64_t k)
{
    return cut_k(k, RUN_K, SPLIT_K, CLUSTER);
}

/* Bytes of the workspace for the parts of one item of a batch. */
static int64_t parts_bytes(const struct config *config, const struct problem *p, int64_t splits)
{
    return 4 * ceil_div(columns_of(config, p), TILE_X) * splits * (TILE_M * TILE_N);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(FEW) && rows_of(config, p) > FEW)
        return SIDE == 0 ? "C has more rows than FEW" : "C has more columns than FEW";
    if (KNOWN(VX) && VX > (SIDE == 0 ? align_b(p) : align_a(p)))
        return "VX is wider than the streamed operand is aligned";
    if (KNOWN(VS) && VS > (SIDE == 0 ? align_a(p) : align_b(p)))
        return "VS is wider than the small operand is aligned";
    if (KNOWN(VC) && VC > line_align(p, gemm_type_row(p->type)->c, p->ldc, p->stride_c, 0))
        return "VC is wider than C is aligned";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut(config, p->k).splits;
    if (splits > 1 && !CLUSTER && parts_bytes(config, p, splits) > WORKSPACE_BYTES_MAX)
        return "SPLIT_K needs more than 64 MiB of workspace";
    return NULL;
}

static void gemv16_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = gemv16_resources(config);
    const struct k_cut parts = cut(config, p->k);
    const int64_t tiles = ceil_div(columns_of(config, p), TILE_X);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)parts.splits;
    args.k_per_split = (int)parts.k_per_split;
    plan->batch_per_launch = GRID_Z_MAX;
    if (parts.splits > 1 && !CLUSTER) {
        const int64_t item_bytes = parts_bytes(config, p, parts.splits);
        plan->batch_per_launch = items_per_launch(item_bytes);
        const int64_t items = smaller(p->batch, plan->batch_per_launch);
        args.counters = (int)(ceil_div(tiles * items, COUNTERS_UNIT) * COUNTERS_UNIT);
        plan->workspace_bytes = 4 * args.counters + items * item_bytes;
    }
    gemm_args_put(plan, p, &args);
    gemm_args_put_early(plan, PDL, ASK);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)tiles, (unsigned)parts.splits,
                                        (unsigned)smaller(p->batch, plan->batch_per_launch)},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0},
                               .dependent = PDL > 0};
}

static struct tile gemv16_tile(const struct config *config)
{
    return (struct tile){.m = TILE_M, .n = TILE_N, .k = STEP_K};
}

FAMILY(gemv16,
       GEMM_TYPE_BIT(GEMM_BF16) | GEMM_TYPE_BIT(GEMM_F16) | GEMM_TYPE_BIT(GEMM_BF16_TO_F32) |
           GEMM_TYPE_BIT(GEMM_F16_TO_F32),
       .summary = "BF16 and FP16 for few rows or few columns: the large operand streamed once, to mma.sync",
       .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .tile = gemv16_tile)

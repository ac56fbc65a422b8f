/* The skinny family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "skinny_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "split_k.h"

#define WORKSPACE_BYTES_MAX (INT64_C(64) << 20) /* for one item of a batch */
#define REGISTERS_BESIDES   28                  /* pointers and a vector of the small operand */
#define COUNTERS_UNIT       64                  /* what follows them begins at a multiple of 256 bytes */

#define RULES    "skinny_rules.h"
#define COMPUTES "the skinny family computes sgemm"
#include "family_template.h"

static struct resources skinny_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = 4 * SMEM_FLOATS, .accumulators = ROWS_W * TX};
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    if (!KNOWN(LOADER)) return NULL;
    const struct config least = known_config(all, known), *const config = &least;
    const struct resources need = skinny_resources(config);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the chunks or sums do not fit in a block's shared memory";
    const char *why = check_features(gpu, LOADER, REDUCE);
    if (why) return why;
    return check_residence(gpu, need.threads, need.smem_bytes, MIN_BLOCKS,
                           TX * (ROWS_W + DEPTH * K_LANE) + REGISTERS_BESIDES);
}

/* Rows and columns as the kernel counts them. */
static int64_t rows_of(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->m : p->n;
}

static int64_t columns_of(const struct config *config, const struct problem *p)
{
    return SIDE == 0 ? p->n : p->m;
}

/* Runs of k begin where the widest vectors may, and whole lines of memory where k is contiguous. */
static int k_unit(const struct config *config, const struct problem *p)
{
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    return STREAM_ALONG_K ? 32 : K_LANE;
}

static struct k_cut cut(const struct config *config, const struct problem *p)
{
    return cut_k(p->k, k_unit(config, p), SPLIT_K, CLUSTER);
}

/* Bytes of the workspace for one item of a batch. */
static int64_t item_bytes(const struct config *config, const struct problem *p, int64_t splits)
{
    return 4 * ceil_div(columns_of(config, p), TILE_X) * (splits * PART_FLOATS + COUNTERS_UNIT);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(ROWS) && rows_of(config, p) > ROWS)
        return SIDE == 0 ? "C has more rows than ROWS" : "C has more columns than ROWS";
    if (KNOWN(VX) && VX > (SIDE == 0 ? problem_align_b(p) : problem_align_a(p)))
        return "VX is wider than the streamed operand is aligned";
    if (KNOWN(VS) && VS > (SIDE == 0 ? problem_align_a(p) : problem_align_b(p)))
        return "VS is wider than the small operand is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut(config, p).splits;
    if (splits > 1 && !CLUSTER && item_bytes(config, p, splits) > WORKSPACE_BYTES_MAX)
        return "SPLIT_K needs more than 64 MiB of workspace";
    return NULL;
}

static void skinny_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = skinny_resources(config);
    const struct k_cut parts = cut(config, p);
    const int64_t tiles = ceil_div(columns_of(config, p), TILE_X);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)parts.splits;
    args.k_per_split = (int)parts.k_per_split;
    plan->batch_per_launch = GRID_Z_MAX;
    if (parts.splits > 1 && !CLUSTER) {
        plan->batch_per_launch = items_per_launch(item_bytes(config, p, parts.splits));
        const int64_t tiles_at_once = tiles * smaller(p->batch, plan->batch_per_launch);
        args.counters = (int)(ceil_div(tiles_at_once, COUNTERS_UNIT) * COUNTERS_UNIT);
        plan->workspace_bytes = 4 * (args.counters + tiles_at_once * parts.splits * PART_FLOATS);
    }
    gemm_args_put(plan, p, &args);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)tiles, (unsigned)parts.splits,
                                        (unsigned)smaller(p->batch, plan->batch_per_launch)},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0}};
}

static struct tile skinny_tile(const struct config *config)
{
    const int x = TILE_X;
    return (struct tile){.m = SIDE == 0 ? ROWS : x, .n = SIDE == 0 ? x : ROWS, .k = CHUNK_K};
}

FAMILY(
    skinny, GEMM_TYPE_BIT(GEMM_SGEMM),
    .summary = "strict FP32 for few rows or few columns: the large operand streamed once, past shared memory",
    .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .tile = skinny_tile)

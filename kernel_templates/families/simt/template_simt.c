/* The simt family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "simt_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "simt_workspace.h"
#include "split_k.h"
#include "tile_family.h"

#include <math.h>

/* Of workspace, for one item of a batch; what a caller allows is less as a rule (workspace.h). */
#define PARTS_BYTES_MAX (INT64_C(256) << 20) /* for the parts of a cut k */
#define PACK_BYTES_MAX  (INT64_C(64) << 20)  /* for packed operands: of a longer k, a slab at a time */
#define SLAB_K_MIN      512

#define RULES    "simt_rules.h"
#define COMPUTES "the simt family computes sgemm"
#include "family_template.h"

static struct resources simt_resources(const struct config *config)
{
    return tile_resources(config);
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    const struct config least = known_config(all, known), *const config = &least;
    return check_tile(config, gpu, REDUCE);
}

static struct k_cut cut(const struct config *config, int64_t k)
{
    return cut_k(k, BK, SPLIT_K, CLUSTER);
}

/* Bytes that the parts of an item take. In floating point: the largest problems pass 2^63. */
static double parts_bytes(const struct config *config, const struct problem *p, int64_t splits)
{
    const double m = (double)p->m, n = (double)p->n;
    if (splits <= 1 || CLUSTER) return 0;
    return 4 * (double)splits * (LAST_BLOCK ? ceil(m / BM) * ceil(n / BN) * BM * BN : m * n);
}

/* How many k of the packed operands fit the workspace. Slabs are equal but for the last, and long enough that
 * what they add to C is little beside the product. */
struct slabs {
    int64_t count, k; /* count 1: all of k; 0: too little fits */
};

/* Of both. */
static int64_t common_multiple(int64_t x, int64_t y)
{
    int64_t multiple = x;
    while (multiple % y) multiple += x;
    return multiple;
}

static struct slabs cut_slabs(const struct config *config, const struct problem *p)
{
    const int64_t row = (PACK_A ? packed_row(p->m) : 0) + (PACK_B ? packed_row(p->n) : 0);
    const int64_t unit = common_multiple(BK, 32), most = row > 0 ? PACK_BYTES_MAX / 4 / row : p->k;
    struct slabs slabs = {.count = 1, .k = p->k};
    if (p->k <= most) return slabs;
    if (most < SLAB_K_MIN || most < unit) return (struct slabs){.count = 0};
    slabs.count = ceil_div(p->k, most / unit * unit);
    slabs.k = ceil_div(ceil_div(p->k, slabs.count), unit) * unit;
    return slabs;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(PACK) && cut_slabs(config, p).count == 0)
        return "PACK: less than 512 k of the operands fit in its 64 MiB of workspace";
    if (KNOWN(PACK) && p->epilogue && cut_slabs(config, p).count > 1)
        return "PACK: an epilogue needs all k at once, and more than 64 MiB of workspace would hold them";
    if (KNOWN(PACK) && p->pointers && cut_slabs(config, p).count > 1)
        return "PACK: arrays of pointers need all k at once, and more than 64 MiB of workspace would hold "
               "them";
    if (KNOWN(VA) && VA > (PACK_A ? PACK_LINE : problem_align_a(p))) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > (PACK_B ? PACK_LINE : problem_align_b(p))) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut(config, p->k).splits;
    if (parts_bytes(config, p, splits) > PARTS_BYTES_MAX)
        return "SPLIT_K needs more than 256 MiB of workspace";
    if (splits > 1 && cut_slabs(config, p).count > 1) return "SPLIT_K cuts no k that PACK cuts into slabs";
    return NULL;
}

static unsigned blocks_that_pack(const struct config *config, const struct problem *p, int64_t k)
{
    int64_t blocks = 0;
    if (PACK_A) blocks += pack_blocks(!p->trans_a, p->m, k);
    if (PACK_B) blocks += pack_blocks(p->trans_b, p->n, k);
    return (unsigned)blocks;
}

static struct kernel_launch pack_launch(const struct config *config, const struct problem *p,
                                        struct slabs slabs, unsigned slice)
{
    const bool transposes = (PACK_A && !p->trans_a) || (PACK_B && p->trans_b);
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {blocks_that_pack(config, p, slabs.k), 1, slice},
                                  .last_slab =
                                      blocks_that_pack(config, p, p->k - (slabs.count - 1) * slabs.k),
                                  .threads = PACK_THREADS,
                                  .smem_bytes = transposes ? PACK_SMEM_BYTES : 0};
}

/* How much workspace, and how many items of the batch a launch takes with it. */
static void plan_workspace(const struct config *config, const struct problem *p, int64_t k, int64_t tiles,
                           struct gemm_args *args, struct launch_plan *plan)
{
    const int splits = args->splits;
    const struct workspace_item item =
        workspace_item(PACK, LAST_BLOCK ? BM : 0, LAST_BLOCK ? BN : 0, p->m, p->n, k, CLUSTER ? 1 : splits);
    plan->batch_per_launch = GRID_Z_MAX;
    if (item.floats == 0) return;
    plan->batch_per_launch = items_per_launch(4 * item.floats);
    const int64_t slice = smaller(p->batch, plan->batch_per_launch);
    if (LAST_BLOCK && splits > 1)
        args->counters = (int)(ceil_div(slice * tiles, COUNTERS_UNIT) * COUNTERS_UNIT);
    plan->workspace_bytes = 4 * (args->counters + slice * item.floats);
}

static void simt_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = simt_resources(config);
    struct slabs slabs = cut_slabs(config, p);
    if (slabs.count == 0) slabs = (struct slabs){.count = 1, .k = p->k}; /* not legal */
    const struct k_cut parts = cut(config, slabs.k);
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (slabs.count > 1) plan->k_slab = slabs.k;
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)parts.splits;
    args.k_per_split = (int)parts.k_per_split;
    args.group = (int)smaller(GROUP, rows);
    plan_workspace(config, p, slabs.k, rows * columns, &args, plan);
    gemm_args_put(plan, p, &args);
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    if (PACK && p->k > 0) plan->kernel[plan->kernels++] = pack_launch(config, p, slabs, slice);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)(rows * columns), (unsigned)parts.splits, slice},
                               .last_slab = (unsigned)(rows * columns),
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0}};
    if (parts.splits > 1 && !REDUCE) plan->kernel[plan->kernels++] = reduce_launch(&args, VC, slice);
}

extern const struct template template_simt;

/* Legal for any problem on any GPU with 46 KiB of shared memory a block. */
static bool simt_plain(int number, struct config *config)
{
    static const int16_t values[][P_COUNT] = {
        {[P_BM] = 128, [P_BN] = 128, [P_WM] = 64, [P_TM] = 8, [P_TN] = 8, [P_GROUP] = 8, [P_SPLIT_K] = 1},
        {[P_BM] = 64, [P_BN] = 64, [P_WM] = 32, [P_TM] = 4, [P_TN] = 8, [P_GROUP] = 1, [P_SPLIT_K] = 1},
        {[P_BM] = 64, [P_BN] = 64, [P_WM] = 32, [P_TM] = 4, [P_TN] = 8, [P_GROUP] = 1, [P_SPLIT_K] = 8},
        {[P_BM] = 32, [P_BN] = 64, [P_WM] = 16, [P_TM] = 4, [P_TN] = 4, [P_GROUP] = 1, [P_SPLIT_K] = 1},
    };
    if (number >= (int)(sizeof values / sizeof *values)) return false;
    *config = (struct config){.template = &template_simt};
    for (int i = 0; i < P_COUNT; i++)
        config->value[i] = values[number][i] ? values[number][i] : params[i].least;
    BK = UNROLL = 16;
    WN = 32;
    STORE_AT = 8;
    return true;
}

static int simt_redundant(const struct config *config, int known, const struct problem *problem,
                          int32_t *instead)
{
    return KNOWN(PACK) ? tile_redundant(config, problem, instead) : -1;
}

FAMILY(simt, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary =
           "strict FP32: block, warp and thread tiles, stages in shared memory, split-K, any layout and "
           "alignment",
       .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .plain = simt_plain,
       .redundant = simt_redundant)

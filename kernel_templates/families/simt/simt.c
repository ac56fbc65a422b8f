/* simt.c — strict FP32 on the host: what a block needs, which parameter is what, packed operands, whose k may
 * be computed in slabs, and the kernel as the model of FFMA kernels sees it. */
#define FAMILY_PARAMS "simt_params.def"
#define FAMILY_RULES  "simt_rules.h"
#include "family_template.h"

#include "launch_limits.h"
#include "simt_workspace.h"
#include "split_k.h"
#include "tile_family.h"

#include <math.h>

#define PACK_BYTES_MAX                                                                                       \
    (INT64_C(64) << 20) /* of workspace, for packed operands of an item: of a longer k, a slab at a time */
#define SLAB_K_MIN 512

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

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    struct tiled_sizes sizes = tile_sizes(config);
    sizes.k = BK;
    sizes.part_floats = BM * BN;
    if (!p || !PACK) return sizes;
    const struct slabs slabs = cut_slabs(config, p);
    const int64_t row = (PACK_A ? packed_row(p->m) : 0) + (PACK_B ? packed_row(p->n) : 0);
    if (slabs.count > 1) sizes.k_slab = slabs.k;
    sizes.before_bytes = 4 * (double)row * (double)(slabs.count > 1 ? slabs.k : p->k);
    return sizes;
}

static const char *refuse(const struct config *config, int known, const struct problem *p,
                          const struct gpu *gpu)
{
    (void)gpu;
    if (!KNOWN(PACK) || !PACK) return NULL;
    const int64_t slabs = cut_slabs(config, p).count;
    if (slabs == 0) return "PACK: less than 512 k of the operands fit in its 64 MiB of workspace";
    if (p->epilogue && slabs > 1)
        return "PACK: an epilogue needs all k at once, and more than 64 MiB of workspace would hold them";
    if (p->pointers && slabs > 1)
        return "PACK: arrays of pointers need all k at once, and more than 64 MiB of workspace would hold "
               "them";
    return NULL;
}

static const char *refuse_last(const struct config *config, int known, const struct problem *p,
                               const struct gpu *gpu)
{
    (void)gpu;
    if (!p || !KNOWN(SPLIT_K) || !PACK || cut_k(p->k, BK, SPLIT_K, CLUSTER).splits == 1) return NULL;
    return cut_slabs(config, p).count > 1 ? "SPLIT_K cuts no k that PACK cuts into slabs" : NULL;
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

static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    struct slabs slabs = cut_slabs(config, p);
    if (slabs.count == 0) slabs = (struct slabs){.count = 1, .k = p->k}; /* not legal */
    if (PACK && p->k > 0) plan->kernel[plan->kernels++] = pack_launch(config, p, slabs, product->grid[2]);
    product->last_slab = product->grid[0];
}

static const struct tiled tiled_simt = {
    .at = {.sized = AT(STAGES),
           .bm = AT(BM),
           .bn = AT(BN),
           .vc = AT(VC),
           .min_blocks = AT(MIN_BLOCKS),
           .group = AT(GROUP),
           .split_k = AT(SPLIT_K),
           .reduce = AT(REDUCE),
           .pack = AT(PACK)},
    .computes = "the simt family computes sgemm",
    .needs = {{AT(LOADER), 0, 80, "LOADER above 0 needs cp.async (sm_80)"},
              {AT(REDUCE), 1, 90, "REDUCE above 1 needs clusters (sm_90)"}},
    .vectors = {WIDER(VA, A, "A"), WIDER(VB, B, "B"), WIDER(VC, C, "C")},
    .tiles = "C has more tiles than a grid has blocks",
    .smem = "the stages do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .sizes_first = true,
    .parts_bytes_max = INT64_C(256) << 20,
    .parts = "SPLIT_K needs more than 256 MiB of workspace",
    .item_floats = PACK_LINE,
    .rules = check_rules,
    .sizes = sizes,
    .refuse = refuse,
    .refuse_last = refuse_last,
    .launch = launch,
};

/* ---- the predicted time ---- */

/* Bytes of the operands that are copied first: read and written. */
static double pack_bytes(const struct config *config, const struct problem *problem)
{
    double a = (double)problem->m * (double)problem->k, b = (double)problem->k * (double)problem->n;
    return 8 * (double)problem->batch * ((PACK_A ? a : 0) + (PACK_B ? b : 0));
}

static struct prediction simt_predict(const struct config *config, const struct problem *problem,
                                      const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct tiled_grid grid = tiled_grid(config, problem, gpu);
    const int64_t slab = sizes(config, problem).k_slab;
    struct ffma_kernel t = ffma_kernel_of(config, problem);
    t.teams = WARPS_K;
    t.group = (double)smaller(GROUP, ceil_div(problem->m, BM));
    t.tiles = grid.blocks / grid.splits;
    t.splits = grid.splits;
    t.k_block = grid.k;
    t.reduce = CLUSTER ? FFMA_CLUSTER : LAST_BLOCK ? FFMA_LAST_BLOCK : FFMA_SECOND_KERNEL;
    t.pack_bytes = pack_bytes(config, problem);
    t.slabs = slab > 0 ? ceil((double)problem->k / (double)slab) : 1;
    return ffma_predict(&t, problem, gpu, facts);
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

FAMILY(simt, GEMM_TYPES_FFMA,
       .summary =
           "strict FP32: block, warp and thread tiles, stages in shared memory, split-K, any layout and "
           "alignment",
       .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .plain = simt_plain,
       .redundant = simt_redundant)

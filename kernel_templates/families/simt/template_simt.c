/* The simt family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "simt_host.h"

#include "gemm_block.h"
#include "gt_reduce_rules.h"
#include "launch_limits.h"
#include "simt_workspace.h"

#include <math.h>

/* Of workspace, for one item of a batch; what a caller allows is less as a rule (workspace.h). */
#define PARTS_BYTES_MAX (INT64_C(256) << 20) /* for the parts of a cut k */
#define PACK_BYTES_MAX  (INT64_C(64) << 20)  /* for packed operands: of a longer k, a slab at a time */
#define SLAB_K_MIN      512

extern const struct source_text sources_simt[];

static const struct param params[P_COUNT] = {
    {"BM", PARAM_COMPILE, ROLE_TILE, 1, 512,
     "rows of C a block: larger reads B less often, smaller fills more SMs"},
    {"BN", PARAM_COMPILE, ROLE_TILE, 1, 512,
     "columns of C a block: larger reads A less often, smaller fills more SMs"},
    {"BK", PARAM_COMPILE, ROLE_TILE, 2, 128,
     "k a tile: longer means fewer barriers, but more shared memory and code"},
    {"WM", PARAM_COMPILE, ROLE_DETAIL, 1, 512, "rows of C a warp"},
    {"WN", PARAM_COMPILE, ROLE_DETAIL, 1, 512, "columns of C a warp: square warps read shared memory least"},
    {"TM", PARAM_COMPILE, ROLE_THREAD, 1, 32,
     "rows of C a thread: more arithmetic for each read of shared memory, more registers"},
    {"TN", PARAM_COMPILE, ROLE_THREAD, 1, 32, "columns of C a thread: the same, and the width of its stores"},
    {"WARPS_K", PARAM_COMPILE, ROLE_TEAMS, 1, 16,
     "teams of warps that share out the k of a tile: more warps an SM without smaller tiles, but their sums "
     "are added"},
    {"STAGES", PARAM_COMPILE, ROLE_STAGES, 2, 8,
     "tiles in shared memory: more hide a longer latency, fewer let more blocks in"},
    {"LOADER", PARAM_COMPILE, ROLE_NAMED, 0, 3,
     "0: through registers; 1: cp.async for operands that need no transposing (sm_80); 2: the same, and the "
     "barrier of a tile in two "
     "steps; 3: cp.async for both, the others by single floats"},
    {"PACK", PARAM_COMPILE, ROLE_NAMED, 0, 3,
     "operands copied into the workspace first: 0 none, 1 A, 2 B, 3 both; any then takes wide loads and "
     "cp.async"},
    {"VA", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats a load of A: wide is fast, narrow suits any alignment"},
    {"VB", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats a load of B: wide is fast, narrow suits any alignment"},
    {"VC", PARAM_COMPILE, ROLE_VECTOR, 1, 4,
     "floats an access to C: wide is fast, narrow suits any alignment"},
    {"UNROLL", PARAM_COMPILE, ROLE_DETAIL, 2, 128,
     "k steps of straight code: all of BK saves branches, fewer fit the instruction cache"},
    {"STORE_AT", PARAM_COMPILE, ROLE_DETAIL, 0, 126,
     "step of the last UNROLL at which registers go to shared memory and are refilled"},
    {"ORDER", PARAM_COMPILE, ROLE_DETAIL, 0, 3,
     "how a step's products follow each other: another draw of the assembler's registers"},
    {"MIN_BLOCKS", PARAM_COMPILE, ROLE_DETAIL, 1, 16,
     "blocks an SM must hold: more hide latency, but leave each thread fewer registers"},
    {"REDUCE", PARAM_COMPILE, ROLE_NAMED, 0, 8,
     "who adds the parts of SPLIT_K: 0 a second kernel; 1 a tile's last block; 2-8 a cluster of as many "
     "(sm_90)"},
    {"GROUP", PARAM_LAUNCH, ROLE_NAMED, 1, 1024,
     "rows of tiles walked together: reuse of B in L2 against reuse of A"},
    {"SPLIT_K", PARAM_LAUNCH, ROLE_SPLIT, 1, 1024,
     "blocks that share a tile of C along k: fill the GPU, but add a pass over C"},
};

static struct resources simt_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = TM * TN};
}

/* Registers that hold values during the whole main loop: C, and two fragments each of A and B. */
static int registers_needed(const struct config *config)
{
    return TM * TN + 2 * (TM + TN);
}

/* The checks below look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

#define RULES "simt_rules.h"
#include "check_rules.h"

/* What the kernel takes, but means nothing, or only a launch can get wrong. */
static const char *check_meaning(const struct config *config, int known, const struct problem *problem)
{
    if (KNOWN(SPLIT_K) && CLUSTER && SPLIT_K != CLUSTER)
        return "SPLIT_K must be the size of the cluster (REDUCE)";
    if (!problem) return NULL;
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
    if (KNOWN(STORE_AT) && ASYNC_A && ASYNC_B && !TWO_STEPS && STORE_AT != UNROLL / 2)
        return "STORE_AT means nothing where no operand takes registers: only UNROLL / 2 is taken";
    return NULL;
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    struct config seen = *all, *const config = &seen;
    if (!KNOWN(REDUCE)) REDUCE = 0;
    const struct resources need = simt_resources(config);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    const int64_t registers = registers_a_thread(gpu, (int64_t)need.threads * blocks);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages do not fit in a block's shared memory";
    if (KNOWN(LOADER) && LOADER > 0 && !gpu_has_cp_async(gpu)) return "LOADER above 0 needs cp.async (sm_80)";
    if (KNOWN(REDUCE) && CLUSTER && gpu->arch < 90) return "REDUCE above 1 needs clusters (sm_90)";
    const char *why = check_blocks(gpu, need.threads, blocks);
    if (!why) why = check_blocks_smem(gpu, need.smem_bytes, blocks);
    if (why) return why;
    if (registers_needed(config) > registers) return "accumulators and fragments do not fit in the registers";
    return NULL;
}

/* How k is cut: at most SPLIT_K runs of whole tiles, none of them empty, unless a cluster has a fixed number.
 */
struct k_cut {
    int64_t tiles, tiles_per_split, splits;
};

static struct k_cut cut_k(const struct config *config, int64_t k)
{
    struct k_cut cut = {.tiles = ceil_div(k, BK)};
    if (cut.tiles == 0) cut.tiles = 1;
    cut.tiles_per_split = ceil_div(cut.tiles, smaller(SPLIT_K, cut.tiles));
    cut.splits = ceil_div(cut.tiles, cut.tiles_per_split);
    if (CLUSTER) {
        cut.splits = CLUSTER;
        cut.tiles_per_split = ceil_div(cut.tiles, CLUSTER);
    }
    return cut;
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

static const char *check_problem(const struct config *config, int known, const struct problem *p)
{
    if (!template_serves(config->template, p)) return "the simt family computes sgemm";
    if (KNOWN(PACK) && cut_slabs(config, p).count == 0)
        return "PACK: less than 512 k of the operands fit in its 64 MiB of workspace";
    if (KNOWN(VA) && VA > (PACK_A ? PACK_LINE : problem_align_a(p))) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > (PACK_B ? PACK_LINE : problem_align_b(p))) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut_k(config, p->k).splits;
    if (parts_bytes(config, p, splits) > PARTS_BYTES_MAX)
        return "SPLIT_K needs more than 256 MiB of workspace";
    if (splits > 1 && cut_slabs(config, p).count > 1) return "SPLIT_K cuts no k that PACK cuts into slabs";
    return NULL;
}

static const char *simt_check_prefix(const struct config *config, int known, const struct problem *problem,
                                     const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known, problem);
    if (!why) why = check_meaning(config, known, problem);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    if (!why && problem) why = check_problem(config, known, problem);
    return why;
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

static struct kernel_launch reduce_launch(const struct config *config, const struct gemm_args *args,
                                          unsigned slice)
{
    const int width = VC;
    const int64_t vectors = (int64_t)args->m * (args->n / width);
    const int ways = reduce_ways(vectors, args->splits);
    return (struct kernel_launch){.entry = "gemm_reduce",
                                  .grid = {(unsigned)ceil_div(vectors, REDUCE_THREADS / ways), 1, slice},
                                  .threads = REDUCE_THREADS,
                                  .smem_bytes = ways > 1 ? (unsigned)(4 * REDUCE_THREADS * width) : 0};
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
    launch_plan_clear(plan);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;

    const struct resources need = simt_resources(config);
    struct slabs slabs = cut_slabs(config, p);
    if (slabs.count == 0) slabs = (struct slabs){.count = 1, .k = p->k}; /* not legal */
    const struct k_cut cut = cut_k(config, slabs.k);
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (slabs.count > 1) plan->k_slab = slabs.k;
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)(cut.tiles_per_split * BK);
    args.group = (int)smaller(GROUP, rows);
    plan_workspace(config, p, slabs.k, rows * columns, &args, plan);
    gemm_args_put(plan, p, &args);
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    if (PACK && p->k > 0) plan->kernel[plan->kernels++] = pack_launch(config, p, slabs, slice);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)(rows * columns), (unsigned)cut.splits, slice},
                               .last_slab = (unsigned)(rows * columns),
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes,
                               .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0}};
    if (cut.splits > 1 && !REDUCE) plan->kernel[plan->kernels++] = reduce_launch(config, &args, slice);
}

static void declare_pack(const struct config *config, const struct problem *p, struct launch_geometry *g)
{
    const int across[2] = {!p->trans_a, p->trans_b}, operands = PACK_A && PACK_B ? 2 : 1;
    const int64_t floats = PACK_BYTES_MAX / 4;
    g->entry[0] = "gemm_pack";
    g->pack = PACK;
    g->pack_line = PACK_LINE;
    g->pack_threads = PACK_THREADS;
    g->pack_bytes = PACK_BYTES_MAX;
    for (int i = 0; i < 2; i++) {
        if (!(PACK >> i & 1)) continue;
        g->pack_x[i] = PACK_TILE_X(across[i]);
        g->pack_k[i] = PACK_TILE_K(across[i]);
        if (across[i]) g->pack_smem_bytes = PACK_SMEM_BYTES;
        g->most[i] = (int32_t)(floats - (operands - 1) * PACK_LINE);
    }
    if (SPLIT_K > 1) {
        g->most[2] = (int32_t)(floats / (operands * PACK_LINE));
        return;
    }
    g->slab_k = (int32_t)common_multiple(BK, 32);
    g->slab_least = SLAB_K_MIN;
}

static bool simt_geometry(const struct config *config, const struct problem *p, const struct gpu *gpu,
                          struct launch_geometry *g)
{
    const struct resources need = simt_resources(config);
    (void)gpu;
    *g = (struct launch_geometry){.entry = {NULL, "gemm", SPLIT_K > 1 && !REDUCE ? "gemm_reduce" : NULL},
                                  .align = {PACK_A ? 1 : VA, PACK_B ? 1 : VB, VC},
                                  .m = BM,
                                  .n = BN,
                                  .k = BK,
                                  .split = SPLIT_K,
                                  .group = GROUP,
                                  .threads = need.threads,
                                  .smem_bytes = need.smem_bytes,
                                  .batch_bytes = BATCH_WORKSPACE_BYTES,
                                  .most = {PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, PROBLEM_DIM_MAX}};
    if (SPLIT_K > 1) {
        g->parts = CLUSTER ? PARTS_IN_CLUSTER : LAST_BLOCK ? PARTS_OF_TILES : PARTS_OF_C;
        g->part_elements = BM * BN;
        g->sum_width = VC;
        g->counter_unit = COUNTERS_UNIT;
        g->parts_bytes = PARTS_BYTES_MAX;
    }
    if (PACK) declare_pack(config, p, g);
    return true;
}

extern const struct template template_simt;

static struct tile simt_tile(const struct config *config)
{
    return (struct tile){.m = BM, .n = BN, .k = BK};
}

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

const struct template template_simt = {
    .name = "simt",
    .summary = "strict FP32: block, warp and thread tiles, stages in shared memory, split-K, any layout and "
               "alignment",
    .space = "simt.conf",
    .delivers = GEMM_SGEMM,
    .params = params,
    .param_count = P_COUNT,
    .optional = 1u << P_WARPS_K | 1u << P_ORDER,
    .sources = sources_simt,
    .resources = simt_resources,
    .check = template_check_all,
    .check_prefix = simt_check_prefix,
    .plan = simt_plan,
    .geometry = simt_geometry,
    .tile = simt_tile,
    .predict = simt_predict,
    .plain = simt_plain,
    .block = &gemm_block,
};

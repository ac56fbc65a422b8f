/* The skinny family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "skinny_host.h"

#include "gemm_block.h"
#include "launch_limits.h"

#define WORKSPACE_BYTES_MAX (INT64_C(64) << 20) /* for one item of a batch */
#define REGISTERS_BESIDES   28                  /* pointers and a vector of the small operand */
#define COUNTERS_UNIT       64                  /* what follows them begins at a multiple of 256 bytes */

extern const struct source_text sources_skinny[];

static const struct param params[P_COUNT] = {
    {"SIDE", PARAM_COMPILE, ROLE_NAMED, 0, 1, "0: few rows, B is streamed; 1: few columns, A is streamed"},
    {"ROWS", PARAM_COMPILE, ROLE_NAMED, 1, 64,
     "rows (columns) of C at most: all of them, each costs TX registers"},
    {"TX", PARAM_COMPILE, ROLE_NAMED, 1, 16,
     "columns of the streamed operand a lane: fewer reads of shared memory, more registers"},
    {"VX", PARAM_COMPILE, ROLE_VECTOR, 1, 4,
     "floats a load of the streamed operand: wide is fast, narrow suits any alignment"},
    {"VS", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats a load of the small operand: the same"},
    {"VC", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats an access to C: the same"},
    {"LANES_X", PARAM_COMPILE, ROLE_LANES, 1, 32,
     "lanes side by side: many read long rows, few need fewer splits of k to fill the GPU"},
    {"WARPS_X", PARAM_COMPILE, ROLE_WARPS, 1, 32,
     "warps side by side: the small operand is read by fewer blocks"},
    {"WARPS_K", PARAM_COMPILE, ROLE_WARPS, 1, 32,
     "warps that divide k: fewer splits, but a longer sum within the block"},
    {"WARPS_R", PARAM_COMPILE, ROLE_WARPS, 1, 8,
     "warps that share the columns and divide the rows: wider TX for many rows, but each reads the stream"},
    {"DEPTH", PARAM_COMPILE, ROLE_NAMED, 1, 8,
     "fragments on their way: more hide latency, but take registers"},
    {"STEPS", PARAM_COMPILE, ROLE_NAMED, 1, 64,
     "steps a chunk of the small operand: fewer barriers, more shared memory"},
    {"BUFFERS", PARAM_COMPILE, ROLE_BUFFERS, 2, 8,
     "chunks in shared memory: more hide latency where chunks are short"},
    {"LOADER", PARAM_COMPILE, ROLE_NAMED, 0, 2,
     "0: small operand through registers; 1: by cp.async, a chunk ahead (sm_80); 2: so, and as it lies "
     "across k"},
    {"MIN_BLOCKS", PARAM_COMPILE, ROLE_DETAIL, 1, 16,
     "blocks an SM must hold: more hide latency, but leave each thread fewer registers"},
    {"REDUCE", PARAM_COMPILE, ROLE_NAMED, 1, 8,
     "who adds the parts of SPLIT_K: 1 a tile's last block; 2-8 a cluster of as many blocks (sm_90)"},
    {"SPLIT_K", PARAM_LAUNCH, ROLE_SPLIT, 1, 1024,
     "blocks that share columns along k: fill the GPU evenly, but their parts must be added"},
};

static struct resources skinny_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = 4 * SMEM_FLOATS, .accumulators = ROWS_W * TX};
}

/* The checks below look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

#define RULES "skinny_rules.h"
#include "check_rules.h"

/* What only a launch can get wrong. */
static const char *check_cluster(const struct config *config, int known)
{
    if (KNOWN(SPLIT_K) && CLUSTER && SPLIT_K != CLUSTER)
        return "SPLIT_K must be the size of the cluster (REDUCE)";
    return NULL;
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    if (!KNOWN(LOADER)) return NULL;
    struct config seen = *all, *const config = &seen;
    if (!KNOWN(REDUCE)) REDUCE = 1;
    const struct resources need = skinny_resources(config);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    const int64_t registers = registers_a_thread(gpu, (int64_t)need.threads * blocks);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the chunks or sums do not fit in a block's shared memory";
    if (LOADER > 0 && !gpu_has_cp_async(gpu)) return "LOADER above 0 needs cp.async (sm_80)";
    if (KNOWN(REDUCE) && CLUSTER && gpu->arch < 90) return "REDUCE above 1 needs clusters (sm_90)";
    const char *why = check_blocks(gpu, need.threads, blocks);
    if (!why) why = check_blocks_smem(gpu, need.smem_bytes, blocks);
    if (why) return why;
    if (TX * (ROWS_W + DEPTH * K_LANE) + REGISTERS_BESIDES > registers)
        return "accumulators and fragments do not fit in the registers";
    return NULL;
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

/* How k is cut: SPLIT_K runs at most, none of them empty (unless a cluster has a fixed number), which begin
 * where the widest vectors may, and whole lines of memory where k is contiguous. */
struct k_cut {
    int64_t k_per_split, splits;
};

static int k_unit(const struct config *config, const struct problem *p)
{
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    return STREAM_ALONG_K ? 32 : K_LANE;
}

static struct k_cut cut_k(const struct config *config, const struct problem *p)
{
    const int64_t unit = k_unit(config, p);
    const int64_t units = p->k > 0 ? ceil_div(p->k, unit) : 1;
    struct k_cut cut = {.k_per_split = ceil_div(units, smaller(SPLIT_K, units)) * unit};
    cut.splits = ceil_div(p->k > 0 ? p->k : 1, cut.k_per_split);
    if (CLUSTER) {
        cut.splits = CLUSTER;
        cut.k_per_split = ceil_div(units, CLUSTER) * unit;
    }
    return cut;
}

/* Bytes of the workspace for one item of a batch. */
static int64_t item_bytes(const struct config *config, const struct problem *p, int64_t splits)
{
    return 4 * ceil_div(columns_of(config, p), TILE_X) * (splits * PART_FLOATS + COUNTERS_UNIT);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p)
{
    if (!template_serves(config->template, p)) return "the skinny family computes sgemm";
    if (KNOWN(ROWS) && rows_of(config, p) > ROWS)
        return SIDE == 0 ? "C has more rows than ROWS" : "C has more columns than ROWS";
    if (KNOWN(VX) && VX > (SIDE == 0 ? problem_align_b(p) : problem_align_a(p)))
        return "VX is wider than the streamed operand is aligned";
    if (KNOWN(VS) && VS > (SIDE == 0 ? problem_align_a(p) : problem_align_b(p)))
        return "VS is wider than the small operand is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut_k(config, p).splits;
    if (splits > 1 && !CLUSTER && item_bytes(config, p, splits) > WORKSPACE_BYTES_MAX)
        return "SPLIT_K needs more than 64 MiB of workspace";
    return NULL;
}

static const char *skinny_check_prefix(const struct config *config, int known, const struct problem *problem,
                                       const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known, problem);
    if (!why) why = check_cluster(config, known);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    if (!why && problem) why = check_problem(config, known, problem);
    return why;
}

static void skinny_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    launch_plan_clear(plan);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;

    const struct resources need = skinny_resources(config);
    const struct k_cut cut = cut_k(config, p);
    const int64_t tiles = ceil_div(columns_of(config, p), TILE_X);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)cut.k_per_split;
    plan->batch_per_launch = GRID_Z_MAX;
    if (cut.splits > 1 && !CLUSTER) {
        plan->batch_per_launch = items_per_launch(item_bytes(config, p, cut.splits));
        const int64_t parts = tiles * smaller(p->batch, plan->batch_per_launch);
        args.counters = (int)(ceil_div(parts, COUNTERS_UNIT) * COUNTERS_UNIT);
        plan->workspace_bytes = 4 * (args.counters + parts * cut.splits * PART_FLOATS);
    }
    gemm_args_put(plan, p, &args);
    plan->kernel[plan->kernels++] = (struct kernel_launch){
        .entry = "gemm",
        .grid = {(unsigned)tiles, (unsigned)cut.splits, (unsigned)smaller(p->batch, plan->batch_per_launch)},
        .threads = (unsigned)need.threads,
        .smem_bytes = (unsigned)need.smem_bytes,
        .cluster = {CLUSTER ? 1 : 0, (unsigned)(CLUSTER), CLUSTER ? 1 : 0}};
}

static bool skinny_geometry(const struct config *config, const struct problem *p, const struct gpu *gpu,
                            struct launch_geometry *g)
{
    const struct resources need = skinny_resources(config);
    (void)gpu;
    *g = (struct launch_geometry){.entry = {NULL, "gemm", NULL},
                                  .align = {SIDE == 0 ? VS : VX, SIDE == 0 ? VX : VS, VC},
                                  .m = SIDE == 0 ? 0 : TILE_X,
                                  .n = SIDE == 0 ? TILE_X : 0,
                                  .k = k_unit(config, p),
                                  .split = SPLIT_K,
                                  .group = 1,
                                  .threads = need.threads,
                                  .smem_bytes = need.smem_bytes,
                                  .batch_bytes = BATCH_WORKSPACE_BYTES,
                                  .most = {PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, PROBLEM_DIM_MAX}};
    g->most[SIDE == 0 ? 0 : 1] = ROWS;
    if (SPLIT_K == 1) return true;
    g->parts = CLUSTER ? PARTS_IN_CLUSTER : PARTS_OF_TILES;
    g->part_elements = PART_FLOATS;
    g->counter_unit = g->counter_share = COUNTERS_UNIT;
    g->parts_bytes = WORKSPACE_BYTES_MAX;
    return true;
}

static struct tile skinny_tile(const struct config *config)
{
    const int x = TILE_X;
    return (struct tile){.m = SIDE == 0 ? ROWS : x, .n = SIDE == 0 ? x : ROWS, .k = CHUNK_K};
}

extern const struct template template_skinny;
const struct template template_skinny = {
    .name = "skinny",
    .summary = "strict FP32 for few rows or few columns: the large operand streamed once, past shared memory",
    .space = "skinny.conf",
    .delivers = GEMM_SGEMM,
    .params = params,
    .param_count = P_COUNT,
    .optional = 1u << P_WARPS_R | 1u << P_BUFFERS | 1u << P_REDUCE,
    .sources = sources_skinny,
    .resources = skinny_resources,
    .check = template_check_all,
    .check_prefix = skinny_check_prefix,
    .plan = skinny_plan,
    .geometry = skinny_geometry,
    .tile = skinny_tile,
    .predict = skinny_predict,
    .block = &gemm_block,
};

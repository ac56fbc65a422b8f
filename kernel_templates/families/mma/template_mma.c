/* The tensor-core family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "mma_host.h"

#include "gemm_block.h"
#include "gt_reduce_rules.h"
#include "launch_limits.h"

#define REGISTERS_BESIDES 24                   /* pointers and counters: with less room the compiler spills */
#define PARTS_BYTES_MAX   (INT64_C(256) << 20) /* for the parts of a cut k */

extern const struct source_text sources_mma[];

static const struct param params[P_COUNT] = {
    {"BM", PARAM_COMPILE, ROLE_TILE, 32, 512,
     "rows of C a block: a large tile reads A and B less often from L2, a small one gives more blocks"},
    {"BN", PARAM_COMPILE, ROLE_TILE, 32, 512, "columns of C a block: the same"},
    {"BK", PARAM_COMPILE, ROLE_TILE, 16, 128,
     "k a tile in shared memory: fewer barriers and longer pieces of rows against shared memory and code"},
    {"WM", PARAM_COMPILE, ROLE_DETAIL, 32, 256,
     "rows of C a warp: 64x64 reads shared memory half as often as 32x32, and takes 200 registers a thread"},
    {"WN", PARAM_COMPILE, ROLE_DETAIL, 32, 256, "columns of C a warp: the same"},
    {"STAGES", PARAM_COMPILE, ROLE_STAGES, 2, 8,
     "tiles in shared memory: hide latency, but take shared memory"},
    {"VA", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats a copy of A: wide is fast; narrow suits any alignment"},
    {"VB", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats a copy of B: the same"},
    {"VC", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats an access to C: the same"},
    {"MIN_BLOCKS", PARAM_COMPILE, ROLE_DETAIL, 1, 8,
     "blocks an SM must hold: they hide each other's barriers, but leave each thread fewer registers"},
    {"GROUP", PARAM_LAUNCH, ROLE_NAMED, 1, 1024, "rows of tiles walked together: which operand L2 keeps"},
    {"SPLIT_K", PARAM_LAUNCH, ROLE_SPLIT, 1, 1024,
     "blocks that share a tile of C along k: fill the GPU, but add a pass over C"},
};

static struct resources mma_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = WM * WN / 32};
}

/* Registers that hold values during the whole main loop: C, and two sets of 8 k of A and B. */
static int registers_needed(const struct config *config)
{
    return WM * WN / 32 + (WM + WN) / 2;
}

/* The checks below look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

/* What the kernel asserts, too. */
static const char *check_rules(const struct config *config, int known)
{
#define RULE(last, holds, why)                                                                               \
    if (known > P_##last && !(holds)) return why;
#include "mma_rules.h"
#undef RULE
    return NULL;
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "mma.sync tf32 needs sm_80";
    if (!KNOWN(STAGES)) return NULL;
    const struct resources need = mma_resources(config);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    const int64_t registers =
        smaller(REGISTERS_MAX, gpu->registers_per_sm / ((int64_t)need.threads * blocks) / 8 * 8);
    if (need.smem_bytes > gpu->smem_per_block_bytes)
        return "the stages do not fit in a block's shared memory";
    if (blocks > gpu->blocks_per_sm) return "an SM does not hold MIN_BLOCKS blocks";
    if ((int64_t)need.threads * blocks > gpu->threads_per_sm)
        return "an SM does not hold the threads of MIN_BLOCKS blocks";
    if (((int64_t)need.smem_bytes + gpu->smem_reserved_bytes) * blocks > gpu->smem_per_sm_bytes)
        return "the shared memory of MIN_BLOCKS blocks does not fit in an SM";
    if (registers_needed(config) + REGISTERS_BESIDES > registers)
        return "accumulators and fragments do not fit in the registers";
    return NULL;
}

/* How k is cut: at most SPLIT_K runs of whole tiles, none of them empty. */
struct k_cut {
    int64_t tiles_per_split, splits;
};

static struct k_cut cut_k(const struct config *config, int64_t k)
{
    const int64_t tiles = k > 0 ? ceil_div(k, BK) : 1;
    const int64_t per_split = ceil_div(tiles, smaller(SPLIT_K, tiles));
    return (struct k_cut){per_split, ceil_div(tiles, per_split)};
}

static const char *check_problem(const struct config *config, int known, const struct problem *p)
{
    if (!template_serves(config->template, p)) return "the mma family computes tf32gemm";
    if (KNOWN(VA) && VA > problem_align_a(p)) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > problem_align_b(p)) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut_k(config, p->k).splits;
    if (splits > 1 && p->m > 0 && p->n > PARTS_BYTES_MAX / 4 / splits / p->m)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

static const char *mma_check_prefix(const struct config *config, int known, const struct problem *problem,
                                    const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    if (!why && problem) why = check_problem(config, known, problem);
    return why;
}

static const char *mma_check(const struct config *config, const struct problem *problem,
                             const struct gpu *gpu)
{
    return mma_check_prefix(config, P_COUNT, problem, gpu);
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

static void mma_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    launch_plan_clear(plan);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;

    const struct resources need = mma_resources(config);
    const struct k_cut cut = cut_k(config, p->k);
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    struct gemm_args args = gemm_args_of(p);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)(cut.tiles_per_split * BK);
    args.group = (int)smaller(GROUP, rows);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    if (cut.splits > 1) {
        const int64_t item_bytes = 4 * cut.splits * p->m * p->n;
        plan->batch_per_launch = items_per_launch(item_bytes);
        plan->workspace_bytes = smaller(p->batch, plan->batch_per_launch) * item_bytes;
    }
    const unsigned slice = (unsigned)smaller(p->batch, plan->batch_per_launch);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)(rows * columns), (unsigned)cut.splits, slice},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes};
    if (cut.splits > 1) plan->kernel[plan->kernels++] = reduce_launch(config, &args, slice);
}

static bool mma_geometry(const struct config *config, const struct problem *p, const struct gpu *gpu,
                         struct launch_geometry *g)
{
    const struct resources need = mma_resources(config);
    (void)p;
    (void)gpu;
    *g = (struct launch_geometry){.entry = {NULL, "gemm", SPLIT_K > 1 ? "gemm_reduce" : NULL},
                                  .align = {VA, VB, VC},
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
        g->parts = PARTS_OF_C;
        g->part_elements = BM * BN;
        g->sum_width = VC;
        g->parts_bytes = PARTS_BYTES_MAX;
    }
    return true;
}

static struct tile mma_tile(const struct config *config)
{
    return (struct tile){.m = BM, .n = BN, .k = BK};
}

extern const struct template template_mma;
const struct template template_mma = {
    .name = "mma",
    .summary = "TF32 on tensor cores, by mma.sync: any layout and alignment, split-K",
    .space = "mma.conf",
    .delivers = GEMM_TF32,
    .params = params,
    .param_count = P_COUNT,
    .sources = sources_mma,
    .resources = mma_resources,
    .check = mma_check,
    .check_prefix = mma_check_prefix,
    .plan = mma_plan,
    .tile = mma_tile,
    .predict = mma_predict,
    .geometry = mma_geometry,
    .block = &gemm_block,
};

/* The resident family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "resident_host.h"

#include "gemm_block.h"
#include "launch_limits.h"

#define REGISTERS_BESIDES 20                 /* pointers and counters: with less room the compiler spills */
#define SMEM_BYTES_MAX    (INT64_C(1) << 20) /* more than any GPU has */

extern const struct source_text sources_resident[];

static const struct param params[P_COUNT] = {
    {"SIDE", PARAM_COMPILE, ROLE_NAMED, 0, 1,
     "0: A stays in shared memory, B is streamed; 1: B stays, A is streamed"},
    {"BM", PARAM_COMPILE, ROLE_TILE, 1, 1024,
     "rows of C a block: with SIDE 0 all of them, or B is streamed more than once"},
    {"BN", PARAM_COMPILE, ROLE_TILE, 1, 1024,
     "columns of C a block: with SIDE 1 all of them; streamed ones read memory in "
     "longer pieces the more they are"},
    {"BK", PARAM_COMPILE, ROLE_TILE, 1, 128,
     "k a stage: a divisor of K wastes nothing; longer means fewer barriers, but more "
     "shared memory and code"},
    {"WM", PARAM_COMPILE, ROLE_DETAIL, 1, 1024, "rows of C a warp"},
    {"WN", PARAM_COMPILE, ROLE_DETAIL, 1, 1024, "columns of C a warp: square warps read shared memory least"},
    {"TM", PARAM_COMPILE, ROLE_THREAD, 1, 32,
     "rows of C a thread: more arithmetic for each read of shared memory, more registers"},
    {"TN", PARAM_COMPILE, ROLE_THREAD, 1, 32, "columns of C a thread: the same, and the width of its stores"},
    {"STAGES", PARAM_COMPILE, ROLE_STAGES, 2, 16,
     "tiles of the streamed operand in shared memory: more hide a longer latency, fewer let more blocks in"},
    {"LOADER", PARAM_COMPILE, ROLE_NAMED, 1, 3,
     "1: cp.async, and the block meets at every stage; 2: cp.async, and warps wait for a stage one by one; "
     "3: the "
     "same with bulk copies (sm_90), a row of k each"},
    {"ORDER", PARAM_COMPILE, ROLE_DETAIL, 0, 4,
     "how a step's products follow each other: another draw of the assembler's registers"},
    {"VS", PARAM_COMPILE, ROLE_VECTOR, 1, 4,
     "floats a copy of the streamed operand: wide is fast; 1 suits any alignment, and is all there is along "
     "k"},
    {"VC", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats an access to C: the same"},
    {"UNROLL", PARAM_COMPILE, ROLE_DETAIL, 2, 128,
     "k steps of straight code: all of BK saves branches, fewer fit the instruction cache"},
    {"MIN_BLOCKS", PARAM_COMPILE, ROLE_DETAIL, 1, 16,
     "blocks an SM must hold: more hide latency, but leave each thread fewer registers"},
    {"SMS", PARAM_LAUNCH, ROLE_DETAIL, 1, 4096,
     "SMs to fill with MIN_BLOCKS blocks each, which walk along C: as many as the GPU has"},
};

/* The checks below look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

/* Of a block: the least that it needs, as far as is known. The problem may be NULL, too. */
static int64_t smem_bytes(const struct config *config, int known, const struct problem *p)
{
    const bool TRANS_A = p ? p->trans_a : true, TRANS_B = p && p->trans_b;
    int64_t k = p ? p->k : 1, barriers = 0;
    if (KNOWN(LOADER)) barriers = BARRIER_FLOATS;
    if (KNOWN(UNROLL)) k = ceil_div(k, K_STEP) * K_STEP;
    return 4 * ((int64_t)STAGES * STAGE_FLOATS + barriers + k * STRIDE_RESIDENT);
}

/* How much more shared memory a problem needs say plan and check. */
static struct resources resident_resources(const struct config *config)
{
    return (struct resources){
        .threads = THREADS, .smem_bytes = (int)smem_bytes(config, P_COUNT, NULL), .accumulators = TM * TN};
}

#define RULES "resident_rules.h"
#include "check_rules.h"

static const char *check_smem(const struct config *config, int known, const struct problem *problem,
                              const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    const int64_t bytes = smem_bytes(config, known, problem);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    if (bytes > (gpu ? gpu->smem_per_block_bytes : SMEM_BYTES_MAX))
        return "the resident operand and the stages do not fit in a block's shared memory";
    return gpu ? check_blocks_smem(gpu, bytes, blocks) : NULL;
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "the resident family needs cp.async (sm_80)";
    if (KNOWN(LOADER) && LOADER == 3 && !gpu_has_tma(gpu)) return "bulk copies (LOADER 3) need sm_90";
    if (KNOWN(SMS) && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!KNOWN(TN)) return NULL;
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    const int64_t registers = registers_a_thread(gpu, (int64_t)THREADS * blocks);
    const char *why = check_blocks(gpu, THREADS, blocks);
    if (why) return why;
    if (TM * TN + 2 * (TM + TN) + REGISTERS_BESIDES > registers)
        return "accumulators and fragments do not fit in the registers";
    return NULL;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p)
{
    if (!template_serves(config->template, p)) return "the resident family computes sgemm";
    if (KNOWN(VS) && VS > (SIDE == 0 ? problem_align_b(p) : problem_align_a(p)))
        return "VS is wider than the streamed operand is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    return NULL;
}

static const char *resident_check_prefix(const struct config *config, int known,
                                         const struct problem *problem, const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known, problem);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    if (!why && problem) why = check_problem(config, known, problem);
    if (!why) why = check_smem(config, known, problem, gpu);
    return why;
}

static void resident_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    launch_plan_clear(plan);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;

    /* Rows of tiles share the streamed operand; each has as many blocks as the others. */
    const int64_t rows = ceil_div(SIDE == 0 ? p->m : p->n, RESIDENT_X);
    const int64_t tiles = ceil_div(SIDE == 0 ? p->n : p->m, STREAM_X);
    const int64_t blocks = (int64_t)SMS * MIN_BLOCKS;
    const int64_t walkers = blocks > rows ? smaller(blocks / rows, tiles) : 1;
    struct gemm_args args = gemm_args_of(p);
    args.k_per_split = (int)(ceil_div(p->k, BK) * BK);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    plan->kernel[plan->kernels++] = (struct kernel_launch){
        .entry = "gemm",
        .grid = {(unsigned)(rows * walkers), 1, (unsigned)smaller(p->batch, GRID_Z_MAX)},
        .threads = (unsigned)THREADS,
        .smem_bytes = (unsigned)smem_bytes(config, P_COUNT, p)};
}

/* The resident operand grows with k, until a block's shared memory is full. k = 0 is not declared: its
 * launches are told of no step at all. */
static bool resident_geometry(const struct config *config, const struct problem *p, const struct gpu *gpu,
                              struct launch_geometry *g)
{
    struct problem one = *p, two = *p;
    one.k = 1;
    two.k = K_STEP + 1;
    const int64_t first = smem_bytes(config, P_COUNT, &one);
    const int64_t step = smem_bytes(config, P_COUNT, &two) - first;
    const int64_t room =
        smaller(gpu->smem_per_block_bytes, gpu->smem_per_sm_bytes / MIN_BLOCKS - gpu->smem_reserved_bytes);
    *g = (struct launch_geometry){
        .entry = {NULL, "gemm", NULL},
        .align = {SIDE == 0 ? 1 : VS, SIDE == 0 ? VS : 1, VC},
        .m = BM,
        .n = BN,
        .k = BK,
        .split = 1,
        .group = 1,
        .walk = SIDE == 0 ? 1 : 2,
        .walkers = SMS * MIN_BLOCKS,
        .threads = THREADS,
        .smem_bytes = (int32_t)(first - step),
        .smem_step = (int32_t)step,
        .smem_k = K_STEP,
        .least = {0, 0, 1},
        .most = {PROBLEM_DIM_MAX, PROBLEM_DIM_MAX, (int32_t)((room - (first - step)) / step * K_STEP)}};
    return true;
}

static struct tile resident_tile(const struct config *config)
{
    return (struct tile){.m = BM, .n = BN, .k = BK};
}

extern const struct template template_resident;
const struct template template_resident = {
    .name = "resident",
    .summary = "strict FP32 for a long and low (or narrow) C: the small operand stays in shared memory",
    .space = "resident.conf",
    .delivers = GEMM_SGEMM,
    .params = params,
    .param_count = P_COUNT,
    .optional = 1u << P_LOADER | 1u << P_ORDER,
    .sources = sources_resident,
    .resources = resident_resources,
    .check = template_check_all,
    .check_prefix = resident_check_prefix,
    .plan = resident_plan,
    .geometry = resident_geometry,
    .tile = resident_tile,
    .predict = resident_predict,
    .block = &gemm_block,
};

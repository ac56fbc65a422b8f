/* The tall family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "tall_host.h"

#include "gemm_block.h"
#include "launch_limits.h"

#define REGISTERS_BESIDES 32                 /* pointers and counters: with less room the compiler spills */
#define SMEM_BYTES_MAX    (INT64_C(1) << 20) /* more than any GPU has */

extern const struct source_text sources_tall[];

static const struct param params[P_COUNT] = {
    {"SIDE", PARAM_COMPILE, ROLE_NAMED, 0, 1,
     "0: A stays in shared memory, B is streamed; 1: B stays, A is streamed"},
    {"BM", PARAM_COMPILE, ROLE_TILE, 1, 1024,
     "rows of C a block: with SIDE 0 no fewer than C has; streamed ones are so many warps, and bytes on "
     "their "
     "way"},
    {"BN", PARAM_COMPILE, ROLE_TILE, 1, 1024, "columns of C a block: with SIDE 1 no fewer than C has"},
    {"BK", PARAM_COMPILE, ROLE_TILE, 1, 128,
     "k a stage: a divisor of K leaves no short stage; longer means fewer barriers, and fewer vectors that "
     "two stages need"},
    {"TM", PARAM_COMPILE, ROLE_THREAD, 1, 32,
     "rows of C a thread: more arithmetic for each read of shared memory, more registers"},
    {"TN", PARAM_COMPILE, ROLE_THREAD, 1, 32,
     "columns of C a thread: the same; those of the small side are read four at a time, of the other one by "
     "one"},
    {"STAGES", PARAM_COMPILE, ROLE_STAGES, 2, 16,
     "tiles of the streamed operand in shared memory: more hide a longer latency, fewer let more blocks in"},
    {"VC", PARAM_COMPILE, ROLE_VECTOR, 1, 4, "floats an access to C: wide is fast, 1 suits any alignment"},
    {"UNROLL", PARAM_COMPILE, ROLE_DETAIL, 2, 128,
     "k steps of straight code: more save branches, fewer fit the instruction cache"},
    {"MIN_BLOCKS", PARAM_COMPILE, ROLE_DETAIL, 1, 16,
     "blocks an SM must hold: more hide latency, but leave each thread fewer registers"},
    {"SMS", PARAM_LAUNCH, ROLE_DETAIL, 1, 4096,
     "SMs to fill with MIN_BLOCKS blocks each, which walk along C: as many as the GPU has"},
};

/* The checks below look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

/* Of a block. Without a problem the least that it needs. */
static int64_t smem_bytes(const struct config *config, const struct problem *p)
{
    const int64_t k = p ? p->k : 1;
    return 4 * (SMALL_ROWS(k) * STRIDE_SMALL + (int64_t)STAGES * STAGE_FLOATS + SPARE_FLOATS);
}

/* How much more shared memory a problem needs say plan and check. */
static struct resources tall_resources(const struct config *config)
{
    return (struct resources){
        .threads = THREADS, .smem_bytes = (int)smem_bytes(config, NULL), .accumulators = TM * TN};
}

#define RULES "tall_rules.h"
#include "check_rules.h"

static const char *check_smem(const struct config *config, int known, const struct problem *problem,
                              const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    const int64_t bytes = smem_bytes(config, problem);
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    if (bytes > (gpu ? gpu->smem_per_block_bytes : SMEM_BYTES_MAX))
        return "the small operand and the stages do not fit in a block's shared memory";
    return gpu ? check_blocks_smem(gpu, bytes, blocks) : NULL;
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (!gpu_has_cp_async(gpu)) return "the tall family needs cp.async (sm_80)";
    if (KNOWN(SMS) && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!KNOWN(TN)) return NULL;
    const int blocks = KNOWN(MIN_BLOCKS) ? MIN_BLOCKS : 1;
    /* An SM's four parts have a quarter of the registers each. */
    const int64_t threads = ceil_div((int64_t)THREADS * blocks, 128) * 128;
    const int64_t registers = registers_a_thread(gpu, threads);
    const char *why = check_blocks(gpu, THREADS, blocks);
    if (why) return why;
    if (TM * TN + 2 * (TM + TN) + REGISTERS_BESIDES > registers)
        return "accumulators and fragments do not fit in the registers";
    return NULL;
}

/* Rows that vectors fit are refused though the kernel would be right: it exists for the others, and a search
 * is long enough without it. */
static const char *check_problem(const struct config *config, int known, const struct problem *p)
{
    if (!template_serves(config->template, p)) return "the tall family computes sgemm";
    if (!KNOWN(SIDE)) return NULL;
    const int64_t ld = SIDE == 0 ? p->ldb : p->lda, small = SIDE == 0 ? p->m : p->n;
    const int64_t tall = SIDE == 0 ? p->n : p->m;
    if (ld % 4 == 0) return "rows of the streamed operand begin at multiples of 16 bytes";
    if (KNOWN(BN) && small > SMALL_X) return "the tile does not reach across the small side of C";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (KNOWN(SMS) && tall > 0 && ceil_div(tall, TALL_X) < (int64_t)SMS * MIN_BLOCKS)
        return "C is too short: blocks would have no tile";
    return NULL;
}

static const char *tall_check_prefix(const struct config *config, int known, const struct problem *problem,
                                     const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known, problem);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    if (!why && problem) why = check_problem(config, known, problem);
    if (!why) why = check_smem(config, known, problem, gpu);
    return why;
}

static void tall_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    launch_plan_clear(plan);
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;
    const int64_t tiles = ceil_div(SIDE == 0 ? p->n : p->m, TALL_X);
    struct gemm_args args = gemm_args_of(p);
    args.k_per_split = (int)(ceil_div(p->k, BK) * BK);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)smaller((int64_t)SMS * MIN_BLOCKS, tiles), 1,
                                        (unsigned)smaller(p->batch, GRID_Z_MAX)},
                               .threads = (unsigned)THREADS,
                               .smem_bytes = (unsigned)smem_bytes(config, p)};
}

/* Only rows that vectors do not fit: no number says so. */
static bool tall_geometry(const struct config *config, const struct problem *p, const struct gpu *gpu,
                          struct launch_geometry *g)
{
    (void)p, (void)gpu;
    *g = (struct launch_geometry){.align = {1, 1, VC}};
    return false;
}

static struct tile tall_tile(const struct config *config)
{
    return (struct tile){.m = BM, .n = BN, .k = BK};
}

extern const struct template template_tall;
const struct template template_tall = {
    .name = "tall",
    .summary = "strict FP32 for a long and narrow (or low) C whose long operand has unaligned rows of k",
    .space = "tall.conf",
    .delivers = GEMM_SGEMM,
    .params = params,
    .param_count = P_COUNT,
    .sources = sources_tall,
    .resources = tall_resources,
    .check = template_check_all,
    .check_prefix = tall_check_prefix,
    .plan = tall_plan,
    .geometry = tall_geometry,
    .tile = tall_tile,
    .predict = tall_predict,
    .block = &gemm_block,
};

/* template_toy.c — the toy family on the host: parameters, which configurations are correct where, how they
 * are launched and how long they should take. */
#include "gemm_block.h"
#include "launch_limits.h"
#include "model_tiled.h"

extern const struct source_text sources_toy[];

/* In the order of params. */
enum { P_BM, P_BN, P_TN, P_COUNT };

static const struct param params[P_COUNT] = {
    {"BM", PARAM_COMPILE, ROLE_TILE, 1, 128, "rows of C a block"},
    {"BN", PARAM_COMPILE, ROLE_TILE, 1, 128, "columns of C a block"},
    {"TN", PARAM_COMPILE, ROLE_THREAD, 1, 16, "columns a thread: fewer reads of A, but fewer threads"},
};

#define BM (config->value[P_BM])
#define BN (config->value[P_BN])
#define TN (config->value[P_TN])

static const char *first_broken_rule(const struct config *config)
{
#define RULE(holds, why)                                                                                     \
    if (!(holds)) return why;
#include "toy_rules.h"
#undef RULE
    return NULL;
}

static struct resources toy_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .accumulators = TN};
}

static int64_t tiles_of(const struct config *config, const struct problem *p)
{
    return ceil_div(p->m, BM) * ceil_div(p->n, BN);
}

static const char *toy_check(const struct config *config, const struct problem *problem,
                             const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, P_COUNT);
    if (!why) why = first_broken_rule(config);
    if (why) return why;
    if (gpu && THREADS > gpu->threads_per_sm) return "an SM does not hold the threads of a block";
    if (!problem) return NULL;
    if (!template_serves(config->template, problem)) return "the toy family computes sgemm";
    if (tiles_of(config, problem) > GRID_X_MAX) return "C has more tiles than a grid has blocks";
    return NULL;
}

static void toy_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    *plan = (struct launch_plan){.kernels = 0};
    if (p->m == 0 || p->n == 0 || p->batch == 0) return;
    const struct gemm_args args = gemm_args_of(p);
    gemm_args_put(plan, p, &args);
    plan->batch_per_launch = GRID_Z_MAX;
    plan->kernel[plan->kernels++] = (struct kernel_launch){
        .entry = "gemm",
        .grid = {(unsigned)tiles_of(config, p), 1, (unsigned)smaller(p->batch, GRID_Z_MAX)},
        .threads = (unsigned)(THREADS)};
}

/* As a tiled kernel whose tiles of k are one k long and come through registers. */
static struct prediction toy_predict(const struct config *config, const struct problem *problem,
                                     const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct tiled_kernel t = {.threads = THREADS,
                                   .accumulators = TN,
                                   .min_blocks = 1,
                                   .bm = BM,
                                   .bn = BN,
                                   .bk = 1,
                                   .tm = 1,
                                   .tn = TN,
                                   .stages = 1,
                                   .unroll = 1,
                                   .teams = 1,
                                   .vc = 1,
                                   .a = {.vector = 1, .across = !problem->trans_a},
                                   .b = {.vector = 1, .across = problem->trans_b},
                                   .group = 1,
                                   .tiles = (double)tiles_of(config, problem) * (double)problem->batch,
                                   .splits = 1,
                                   .k_block = (double)problem->k};
    return tiled_predict(&t, problem, gpu, facts);
}

extern const struct template template_toy;
const struct template template_toy = {
    .name = "toy",
    .summary = "strict FP32 straight from the definition, to show what a family consists of",
    .space = "toy.conf",
    .delivers = GEMM_SGEMM,
    .params = params,
    .param_count = P_COUNT,
    .sources = sources_toy,
    .resources = toy_resources,
    .check = toy_check,
    .plan = toy_plan,
    .predict = toy_predict,
    .block = &gemm_block,
};

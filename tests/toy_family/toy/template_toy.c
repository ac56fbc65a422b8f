/* template_toy.c — the toy family on the host: parameters, which configurations are correct where, how they
 * are launched and how long they should take. */
#include "launch_limits.h"
#include "cost_ffma.h"

#define PARAMS "toy_params.def"
#include "family_params.h"
#include "toy_rules.h"

#define RULES    "toy_rules.h"
#define COMPUTES "the toy family computes sgemm"
#include "family_template.h"

static struct resources toy_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .accumulators = TN};
}

static int64_t tiles_of(const struct config *config, const struct problem *p)
{
    return ceil_div(p->m, BM) * ceil_div(p->n, BN);
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (KNOWN(TN) && THREADS > gpu->threads_per_sm) return "an SM does not hold the threads of a block";
    return NULL;
}

static const char *check_problem(const struct config *config, int known, const struct problem *problem,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!problem) return NULL;
    if (KNOWN(BN) && tiles_of(config, problem) > GRID_X_MAX) return "C has more tiles than a grid has blocks";
    return NULL;
}

static void toy_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;
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
    const struct ffma_kernel t = {.threads = THREADS,
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
    return ffma_predict(&t, problem, gpu, facts);
}

FAMILY(toy, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary = "strict FP32 straight from the definition, to show what a family consists of")

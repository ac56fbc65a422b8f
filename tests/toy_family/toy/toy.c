/* toy.c — the toy family on the host: what a block needs, which parameter is what, how long a kernel should
 * take. */
#define FAMILY_PARAMS "toy_params.def"
#define FAMILY_RULES  "toy_rules.h"
#include "family_template.h"

#include "cost_ffma.h"

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return (struct tiled_sizes){.threads = THREADS, .sums = TN, .m = BM, .n = BN, .k = 1};
}

static const struct tiled tiled_toy = {
    .at = {.sized = AT(TN), .bm = AT(BM), .bn = AT(BN)},
    .computes = "the toy family computes sgemm",
    .tiles = "C has more tiles than a grid has blocks",
    .rules = check_rules,
    .sizes = sizes,
};

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
                                  .tiles = tiled_grid(config, problem, gpu).blocks,
                                  .splits = 1,
                                  .k_block = (double)problem->k};
    return ffma_predict(&t, problem, gpu, facts);
}

FAMILY(toy, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary = "strict FP32 straight from the definition, to show what a family consists of")

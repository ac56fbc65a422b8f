/* model_simt.c — a simt kernel as the model of tiled kernels sees it. */
#include "simt_host.h"

#include "gemm_block.h"
#include "tile_family.h"

#include <math.h>
#include <string.h>

static const struct kernel_launch *main_launch(const struct launch_plan *plan)
{
    int i = 0;
    while (i < plan->kernels - 1 && strcmp(plan->kernel[i].entry, "gemm") != 0) i++;
    return &plan->kernel[i];
}

/* Bytes of the operands that are copied first: read and written. */
static double pack_bytes(const struct config *config, const struct problem *problem)
{
    double a = (double)problem->m * (double)problem->k, b = (double)problem->k * (double)problem->n;
    return 8 * (double)problem->batch * ((PACK_A ? a : 0) + (PACK_B ? b : 0));
}

struct prediction simt_predict(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    const struct gemm_args args = gemm_args_in(&plan);
    const bool whole = args.splits <= 1;
    struct tiled_kernel t = tiled_kernel_of(config, problem);
    t.teams = WARPS_K;
    t.group = args.group;
    t.tiles = (double)main_launch(&plan)->grid[0] * (double)problem->batch;
    t.splits = whole ? 1 : args.splits;
    t.k_block = whole ? (double)problem->k : args.k_per_split;
    t.reduce = CLUSTER ? TILED_CLUSTER : LAST_BLOCK ? TILED_LAST_BLOCK : TILED_SECOND_KERNEL;
    t.pack_bytes = pack_bytes(config, problem);
    t.slabs = plan.k_slab > 0 ? ceil((double)problem->k / (double)plan.k_slab) : 1;
    return tiled_predict(&t, problem, gpu, facts);
}

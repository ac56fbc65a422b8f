/* The streamk family on the host: parameters, what they need, which are correct where, and how they are
 * launched. */
#include "streamk_host.h"

#include "gemm_block.h"
#include "launch_limits.h"
#include "tile_family.h"

#define PARTS_BYTES_MAX (INT64_C(256) << 20) /* of workspace; what a caller allows is less as a rule */
#define COUNTERS_UNIT   64                   /* the parts after the counters begin at a line of memory */

#define RULES    "streamk_rules.h"
#define COMPUTES "the streamk family computes sgemm"
#include "family_template.h"

static struct resources streamk_resources(const struct config *config)
{
    return tile_resources(config);
}

static const char *check_gpu(const struct config *all, int known, const struct gpu *gpu)
{
    if (!KNOWN(STAGES)) return NULL;
    const struct config least = known_config(all, known), *const config = &least;
    const char *why = check_tile(config, gpu, 0);
    return !why && SMS > gpu->sm_count ? "SMS is more than the GPU has" : why;
}

/* Blocks that share the work. */
static int blocks_of(const struct config *config)
{
    return SMS * MIN_BLOCKS;
}

static int64_t tiles_of_item(const struct config *config, const struct problem *p)
{
    return ceil_div(p->m, BM) * ceil_div(p->n, BN);
}

/* Items of the batch of one launch, all launches but for the last, which has no more. The tiles of a launch
 * have numbers. */
static int64_t slice_of(const struct config *config, const struct problem *p)
{
    const int64_t most = smaller(GRID_Z_MAX, INT32_MAX / tiles_of_item(config, p));
    return ceil_div(p->batch, ceil_div(p->batch, most));
}

static int64_t depth_of(const struct config *config, const struct problem *p)
{
    return p->k > 0 ? ceil_div(p->k, BK) : 1;
}

/* Tiles that blocks share, of a launch of so many items. */
static int64_t shared_tiles(const struct config *config, const struct problem *p, int64_t items)
{
    const int64_t depth = depth_of(config, p);
    return line_of((int)(items * tiles_of_item(config, p)), (int)depth, blocks_of(config)).shared;
}

/* Tiles that may be divided, of any launch. 0: each block has whole ones. */
static int64_t divided_tiles(const struct config *config, const struct problem *p)
{
    const int64_t slice = slice_of(config, p), whole = p->batch / slice * slice;
    if (WHOLE || depth_of(config, p) == 1) return 0;
    const int64_t most = shared_tiles(config, p, slice);
    const int64_t rest = whole < p->batch ? shared_tiles(config, p, p->batch - whole) : 0;
    return most > rest ? most : rest;
}

static const char *check_line(const struct config *config, const struct problem *p)
{
    if (WHOLE) return NULL;
    const int64_t slice = slice_of(config, p), depth = depth_of(config, p), blocks = blocks_of(config);
    const int64_t tiles = slice * tiles_of_item(config, p), shared = smaller(tiles, 2 * blocks - 1);
    if (shared > (INT32_MAX - tiles / blocks) / depth)
        return "the tiles of k that blocks share are 2^31 or more";
    if (depth > 1 && 4 * slots_of(SMS * MIN_BLOCKS) * (int64_t)BM * BN > PARTS_BYTES_MAX)
        return "the parts of SMS * MIN_BLOCKS blocks need more than 256 MiB of workspace";
    return NULL;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(VA) && VA > problem_align_a(p)) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > problem_align_b(p)) return "VB is wider than B is aligned";
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN) || p->m == 0 || p->n == 0 || p->batch == 0) return NULL;
    if (ceil_div(p->m, BM) > INT32_MAX / ceil_div(p->n, BN)) return "C has more tiles than numbers";
    return KNOWN(SMS) ? check_line(config, p) : NULL;
}

static void streamk_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct resources need = streamk_resources(config);
    const int64_t slice = slice_of(config, p), launches = ceil_div(p->batch, slice);
    const int64_t last = p->batch - (launches - 1) * slice;
    struct gemm_args args = gemm_args_of(p);
    args.splits = blocks_of(config);
    args.group = (int)smaller(GROUP, ceil_div(p->m, BM));
    plan->batch_per_launch = slice;
    const int64_t divided = divided_tiles(config, p);
    if (divided > 0) {
        args.counters = (int)(ceil_div(divided, COUNTERS_UNIT) * COUNTERS_UNIT);
        plan->workspace_bytes = 4 * (args.counters + slots_of(args.splits) * (int64_t)BM * BN);
    }
    gemm_args_put(plan, p, &args);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)ceil_div(args.splits, last), 1, (unsigned)slice},
                               .threads = (unsigned)need.threads,
                               .smem_bytes = (unsigned)need.smem_bytes};
}

static int streamk_redundant(const struct config *config, int known, const struct problem *problem,
                             int32_t *instead)
{
    return KNOWN(LOADER) ? tile_redundant(config, problem, instead) : -1;
}

FAMILY(streamk, GEMM_TYPE_BIT(GEMM_SGEMM),
       .summary = "strict FP32: as many blocks as the GPU holds share all tiles evenly, parts of tiles too",
       .macros = TEMPLATE_MACRO_EPILOGUE, .redundant = streamk_redundant)

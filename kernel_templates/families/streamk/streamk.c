/* streamk.c — the streamk family on the host: what a block needs, which parameter is what, how blocks share
 * the tiles of a launch, and the kernel as the model of FFMA kernels sees it: one wave of blocks, each of
 * which multiplies one long tile, or whole tiles in waves; and what that takes beside simt.
 *
 * The constants of the time were fitted to 396 measurements of 11 problems on an H200
 * (docs/results/h200-preload.csv): half of the times are predicted within 2.7 %. PRELOAD is predicted to
 * change nothing: what it did, 6 % faster to 5 % slower, it did by the registers of the main loop, also where
 * each block has one tile.
 */
#define FAMILY_PARAMS "streamk_params.def"
#define FAMILY_RULES  "streamk_rules.h"
#include "family_template.h"

#include "cost_parts.h"
#include "gemm_block.h"
#include "launch_limits.h"
#include "streamk_line.h"
#include "tile_family.h"

#include <math.h>

#define PARTS_BYTES_MAX (INT64_C(256) << 20) /* of workspace; what a caller allows is less as a rule */
#define COUNTERS_UNIT   64                   /* the parts after the counters begin at a line of memory */

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    struct tiled_sizes sizes = tile_sizes(config);
    sizes.k = 1; /* not cut */
    return sizes;
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

static const char *refuse_last(const struct config *config, int known, const struct problem *p,
                               const struct gpu *gpu)
{
    (void)gpu;
    if (!p || !KNOWN(BN) || p->m == 0 || p->n == 0 || p->batch == 0) return NULL;
    if (ceil_div(p->m, BM) > INT32_MAX / ceil_div(p->n, BN)) return "C has more tiles than numbers";
    return KNOWN(SMS) ? check_line(config, p) : NULL;
}

/* Blocks are counted over x and z, and share all tiles of a launch. */
static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    const int64_t slice = slice_of(config, p), divided = divided_tiles(config, p);
    const int64_t last = p->batch - (ceil_div(p->batch, slice) - 1) * slice;
    struct gemm_args args = gemm_args_in(plan);
    args.splits = blocks_of(config);
    plan->batch_per_launch = slice;
    if (divided > 0) {
        args.counters = (int)(ceil_div(divided, COUNTERS_UNIT) * COUNTERS_UNIT);
        plan->workspace_bytes = 4 * (args.counters + slots_of(args.splits) * (int64_t)BM * BN);
    }
    gemm_args_put(plan, p, &args);
    product->grid[0] = (unsigned)ceil_div(args.splits, last);
    product->grid[2] = (unsigned)slice;
}

static const struct tiled tiled_streamk = {
    .at = {.sized = AT(STAGES),
           .bm = AT(BM),
           .bn = AT(BN),
           .min_blocks = AT(MIN_BLOCKS),
           .group = AT(GROUP),
           .sms = AT(SMS)},
    .computes = "the streamk family computes sgemm",
    .needs = {{AT(LOADER), 0, 80, "LOADER above 0 needs cp.async (sm_80)"}},
    .vectors = {WIDER(VA, A, "A"), WIDER(VB, B, "B"), WIDER(VC, C, "C")},
    .smem = "the stages do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .sizes_first = true,
    .rules = check_rules,
    .sizes = sizes,
    .refuse_last = refuse_last,
    .launch = launch,
};

/* ---- the predicted time ---- */

#define PIECE_US         3.0 /* of a block from one piece to the next; others of its SM compute meanwhile */
#define ARRIVE_US        2.0
#define L2_BYTES_A_CLOCK 28.0 /* an SM (cost_ffma.c) */
#define DRAM_SHARE       0.90 /* the same */
#define EMPTY_BLOCK_US   0.01 /* that returns at once */

/* All blocks have equally much to multiply and store at the same time: less of it is hidden than in simt. */
#define STORES_SEEN 0.6

/* The tiles after the last full wave are those of the first blocks, which the GPU does not spread evenly over
 * the SMs: of 264 blocks the first 88 put two on an SM, of 396 the first 116 two and the first 192 three. So
 * many times more blocks, spread evenly, would take as long. */
#define UNEVEN 1.6

/* Registers of a thread that simt does not take: where a block is in its walk, beside the addresses of copies
 * that go on. Fitted to 1,327 kernels of the wide space (CUDA 13.0, sm_90a), of which 29 % spill. */
#define REGISTERS_COPY    7.0 /* for each operand that is copied past the registers */
#define REGISTERS_PRELOAD 9.0

static double more_registers(const struct config *config, const struct ffma_kernel *t)
{
    return REGISTERS_COPY * (t->a.async + t->b.async) + (PRELOAD ? REGISTERS_PRELOAD : 0);
}

/* Of the blocks of an SM, which compute while others store. */
static double pieces_us(double pieces, int blocks_per_sm)
{
    return fmax(pieces - 1, 0) * PIECE_US / (1 + blocks_per_sm);
}

/* Of a block, one more for the tile that its share ends in. */
static double pieces_of(const struct line *line)
{
    return (double)line->shared / line->blocks + line->waves + 1;
}

/* Each block stores a part and reads one; more, if there are less tiles. */
static double parts_us(const struct config *config, const struct line *line, const struct gpu *gpu)
{
    const int blocks = line->units < line->blocks ? line->units : line->blocks;
    const double bytes = 4.0 * BM * BN, clock = L2_BYTES_A_CLOCK * gpu->clock_mhz;
    const double each = ceil((double)blocks / line->shared) - 1; /* that the last block of a tile adds */
    return ARRIVE_US + 2 * blocks * bytes / (clock * gpu->sm_count) + fmax(each, 1) * bytes / clock;
}

/* Of C, by a launch. */
static double stores_us(const struct problem *problem, int64_t items, const struct gpu *gpu)
{
    const double bytes = 4.0 * (double)problem->m * (double)problem->n * (double)items;
    return (problem->beta != 0 ? 2 : 1) * bytes / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* Of a launch whose tiles are whole: simt's waves. */
static struct prediction predict_whole(struct ffma_kernel *t, const struct line *line, double tiles,
                                       const struct problem *problem, const struct gpu *gpu,
                                       const struct kernel_facts *facts)
{
    const double rest = fmod(tiles, line->blocks);
    t->tiles = tiles - rest + fmin(line->blocks, ceil(UNEVEN * rest));
    t->k_block = (double)problem->k;
    struct prediction p = ffma_predict(t, problem, gpu, facts);
    p.waves = tiles / line->blocks;
    p.overhead_us += pieces_us(ceil(p.waves), p.blocks_per_sm);
    return p;
}

/* Of one with a line: one wave of blocks. */
static struct prediction predict_line(struct ffma_kernel *t, const struct line *line,
                                      const struct config *config, const struct problem *problem,
                                      const struct gpu *gpu, const struct kernel_facts *facts)
{
    const double units = ceil((double)line->units / line->blocks) + (double)line->waves * line->depth;
    t->tiles = fmin((double)line->units + (double)line->waves * line->blocks, line->blocks);
    t->k_block = units * BK;
    struct prediction p = ffma_predict(t, problem, gpu, facts);
    p.overhead_us += pieces_us(pieces_of(line), p.blocks_per_sm) + parts_us(config, line, gpu);
    return p;
}

static struct prediction streamk_predict(const struct config *config, const struct problem *problem,
                                         const struct gpu *gpu, const struct kernel_facts *facts)
{
    const int64_t items = slice_of(config, problem), launches = ceil_div(problem->batch, items);
    const int64_t tiles = items * tiles_of_item(config, problem);
    const int blocks = blocks_of(config);
    const bool divides = divided_tiles(config, problem) > 0; /* else there is no line */
    const int64_t last = problem->batch - (launches - 1) * items;
    const struct line line = line_of((int)tiles, divides ? (int)depth_of(config, problem) : 1, blocks);
    const bool whole = !divides || line.shared == 0;
    struct ffma_kernel t = ffma_kernel_of(config, problem);
    t.group = (double)smaller(GROUP, ceil_div(problem->m, BM));
    t.most_blocks = MIN_BLOCKS;
    t.adds_stores = true;
    t.more_registers = more_registers(config, &t);
    struct prediction p = whole ? predict_whole(&t, &line, (double)tiles, problem, gpu, facts)
                                : predict_line(&t, &line, config, problem, gpu, facts);
    const double empty = (double)(ceil_div(blocks, last) * items - blocks);
    p.overhead_us += fmax(empty, 0) * EMPTY_BLOCK_US + STORES_SEEN * stores_us(problem, items, gpu);
    p.time_us = (p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4)) * (double)launches;
    return p;
}

static int streamk_redundant(const struct config *config, int known, const struct problem *problem,
                             int32_t *instead)
{
    return KNOWN(LOADER) ? tile_redundant(config, problem, instead) : -1;
}

FAMILY(streamk, GEMM_TYPES_FFMA,
       .summary = "strict FP32: as many blocks as the GPU holds share all tiles evenly, parts of tiles too",
       .macros = TEMPLATE_MACRO_EPILOGUE, .redundant = streamk_redundant)

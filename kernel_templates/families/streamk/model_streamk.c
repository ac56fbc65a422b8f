/* model_streamk.c — a streamk kernel as the model of tiled kernels sees it: one wave of blocks, each of which
 * multiplies one long tile; and what the parts of shared tiles take.
 *
 * The constants were fitted to 332 measurements of 32 problems on an H200, in a form of the kernel that
 * stored and read all parts: 5 % deviation, and 2 % less than measured in the mean, above 60 us. Nothing is
 * said of PRELOAD, which has not been measured.
 */
#include "streamk_host.h"

#include "gemm_block.h"
#include "tile_family.h"

#include <math.h>

#define PIECE_US         3.0
#define WAVE_US          2.2 /* that a later wave of whole tiles takes more than simt's: PIECE_US with it */
#define ARRIVE_US        2.0
#define L2_BYTES_A_CLOCK 28.0 /* an SM (model_tiled.c) */
#define EMPTY_BLOCK_US   0.01 /* that returns at once */

/* Of the blocks of an SM, which compute while others store. */
static double pieces_us(const struct line *line, int blocks_per_sm)
{
    const double tiles = (double)line->shared / line->blocks + line->waves;
    const double pieces = line->shared % line->blocks > 0 && line->depth > 1 ? tiles + 1 : tiles;
    return fmax(pieces - 1, 0) * PIECE_US / (1 + blocks_per_sm);
}

/* Each block stores a part and reads one, if tiles are shared at all; more, if there are less tiles. */
static double parts_us(const struct config *config, const struct line *line, const struct gpu *gpu)
{
    const int blocks = line->units < line->blocks ? line->units : line->blocks;
    const int parts = line->units % line->blocks == 0 && line->shared % line->blocks == 0 ? 0 : blocks;
    const double bytes = 4.0 * BM * BN, clock = L2_BYTES_A_CLOCK * gpu->clock_mhz;
    if (line->depth == 1 || parts == 0) return 0;
    const double each = ceil((double)blocks / line->shared) - 1; /* that the last block of a tile adds */
    return ARRIVE_US + 2 * parts * bytes / (clock * gpu->sm_count) + fmax(each, 1) * bytes / clock;
}

/* What whole tiles take beyond those of simt. */
static double waves_us(const struct prediction *p)
{
    return fmax(ceil(p->waves) - 1, 0) * WAVE_US / (1 + p->blocks_per_sm);
}

struct prediction streamk_predict(const struct config *config, const struct problem *problem,
                                  const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    const struct gemm_args args = gemm_args_in(&plan);
    const int64_t items = plan.batch_per_launch, launches = (problem->batch - 1) / items + 1;
    const int64_t tiles = items * ((problem->m - 1) / BM + 1) * ((problem->n - 1) / BN + 1);
    const int depth = problem->k > 0 ? (int)((problem->k - 1) / BK + 1) : 1;
    const bool whole = args.counters == 0; /* then there is no line */
    const struct line line = line_of((int)tiles, whole ? 1 : depth, args.splits);
    const double units = ceil((double)line.units / line.blocks) + (double)line.waves * depth;
    struct tiled_kernel t = tiled_kernel_of(config, problem);
    t.group = args.group;
    if (whole) {
        t.tiles = (double)tiles;
        t.k_block = problem->k > 0 ? (double)depth * BK : 0;
    } else {
        t.tiles = fmin((double)line.units + (double)line.waves * line.blocks, line.blocks);
        t.k_block = units * BK;
    }
    struct prediction p = tiled_predict(&t, problem, gpu, facts);
    const double empty = (double)plan.kernel[0].grid[0] * (double)items - args.splits;
    const double more =
        fmax(empty, 0) * EMPTY_BLOCK_US +
        (whole ? waves_us(&p) : pieces_us(&line, p.blocks_per_sm) + parts_us(config, &line, gpu));
    p.overhead_us += more;
    p.time_us = (p.time_us + more) * (double)launches;
    return p;
}

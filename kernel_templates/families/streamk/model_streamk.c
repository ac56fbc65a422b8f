/* model_streamk.c — a streamk kernel as the model of tiled kernels sees it: one wave of blocks, each of which
 * multiplies one long tile, or whole tiles in waves; and what that takes beside simt.
 *
 * The constants were fitted to 396 measurements of 11 problems on an H200 (docs/results/h200-preload.csv):
 * half of the times are predicted within 2.7 %. PRELOAD is predicted to change nothing: what it did, 6 %
 * faster to 5 % slower, it did by the registers of the main loop, also where each block has one tile.
 */
#include "streamk_host.h"

#include "gemm_block.h"
#include "model_parts.h"
#include "tile_family.h"

#include <math.h>

#define PIECE_US         3.0 /* of a block from one piece to the next; others of its SM compute meanwhile */
#define ARRIVE_US        2.0
#define L2_BYTES_A_CLOCK 28.0 /* an SM (model_tiled.c) */
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

static double more_registers(const struct config *config, const struct tiled_kernel *t)
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
static struct prediction predict_whole(struct tiled_kernel *t, const struct line *line, double tiles,
                                       const struct problem *problem, const struct gpu *gpu,
                                       const struct kernel_facts *facts)
{
    const double rest = fmod(tiles, line->blocks);
    t->tiles = tiles - rest + fmin(line->blocks, ceil(UNEVEN * rest));
    t->k_block = (double)problem->k;
    struct prediction p = tiled_predict(t, problem, gpu, facts);
    p.waves = tiles / line->blocks;
    p.overhead_us += pieces_us(ceil(p.waves), p.blocks_per_sm);
    return p;
}

/* Of one with a line: one wave of blocks. */
static struct prediction predict_line(struct tiled_kernel *t, const struct line *line,
                                      const struct config *config, const struct problem *problem,
                                      const struct gpu *gpu, const struct kernel_facts *facts)
{
    const double units = ceil((double)line->units / line->blocks) + (double)line->waves * line->depth;
    t->tiles = fmin((double)line->units + (double)line->waves * line->blocks, line->blocks);
    t->k_block = units * BK;
    struct prediction p = tiled_predict(t, problem, gpu, facts);
    p.overhead_us += pieces_us(pieces_of(line), p.blocks_per_sm) + parts_us(config, line, gpu);
    return p;
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
    const bool divides = args.counters > 0; /* else there is no line */
    const struct line line = line_of((int)tiles, divides ? depth : 1, args.splits);
    const bool whole = !divides || line.shared == 0;
    struct tiled_kernel t = tiled_kernel_of(config, problem);
    t.group = args.group;
    t.most_blocks = MIN_BLOCKS;
    t.adds_stores = true;
    t.more_registers = more_registers(config, &t);
    struct prediction p = whole ? predict_whole(&t, &line, (double)tiles, problem, gpu, facts)
                                : predict_line(&t, &line, config, problem, gpu, facts);
    const double empty = (double)plan.kernel[0].grid[0] * (double)items - args.splits;
    p.overhead_us += fmax(empty, 0) * EMPTY_BLOCK_US + STORES_SEEN * stores_us(problem, items, gpu);
    p.time_us = (p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4)) * (double)launches;
    return p;
}

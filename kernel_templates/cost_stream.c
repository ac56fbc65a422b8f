/* cost_stream.c — constants fitted to resident on an H200; tall takes up to 15 % more than they say. */
#include "cost_stream.h"

#include "outcome.h"

#include <math.h>

#define TILE_SLOTS  80.0 /* addresses of C; its sums are cleared, scaled and stored besides */
#define STORE_SLOTS 1.5  /* of a tile that lies inside C, as nearly all do */

#define CODE_BYTES_MAX 32768.0 /* what the instruction cache feeds freely */
#define LONG_CODE_COST 1.35e-5 /* for each byte more */

#define BARRIER_CYCLES 200.0 /* of a lone block */
#define LONE_WARP      0.25  /* tiled kernels lose less: their barriers are counted apart from this */
#define SPILL_SLOWDOWN 2.0

#define DRAM_SHARE       0.90 /* of the published bandwidth that a stream reaches */
#define LATENCY_US       0.80 /* of device memory under load */
#define L2_BYTES_A_CLOCK 28.0 /* an SM */
#define LAUNCH_US        2.2
#define FILL_US          1.5   /* until the first stage is there, and from the last sum to its store */
#define STAY_US          0.004 /* for a float of the operand that stays, which a thread copies */

const struct lds_slots stream_lds = {.four = 3.0, .two = 1.4, .one = 1.1};

/* Issue slots of one warp for a tile of C. */
static double tile_slots(const struct stream_kernel *s)
{
    return s->steps_slots + s->k_tiles * s->stage_slots + TILE_SLOTS + s->sums * (2 + STORE_SLOTS / s->vc);
}

/* Where a tile has few stages, all of its code goes through the instruction cache again and again. */
static double code_bytes(const struct stream_kernel *s)
{
    return 16 * (s->code_slots + (s->k_tiles < 3 ? s->sums * 3 + TILE_SLOTS : 0));
}

/* Tiles of the SM that has most of them: block b is on SM b % sm_count, and the first blocks have one more.
 */
static double tiles_an_sm(const struct stream_kernel *s, const struct gpu *gpu, double batch)
{
    double blocks = s->rows * s->walkers, each = floor(s->tiles / s->walkers);
    double more = (s->tiles - each * s->walkers) * s->rows;
    return batch * (ceil(blocks / gpu->sm_count) * each + ceil(more / gpu->sm_count));
}

static double compute_us(const struct stream_kernel *s, const struct gpu *gpu, double batch,
                         double blocks_an_sm)
{
    /* Of a scheduler for a block's warps: if an SM has fewer than four, those that have one take no less. */
    double warps = s->threads / 32, turns = fmax(warps / 4, 1 / blocks_an_sm);
    double cycles = tile_slots(s) * turns / latency_hidden(blocks_an_sm * warps / 4, LONE_WARP);
    cycles += s->k_tiles * BARRIER_CYCLES / (blocks_an_sm * blocks_an_sm);
    cycles *= 1 + LONG_CODE_COST * fmax(0, code_bytes(s) - CODE_BYTES_MAX);
    return tiles_an_sm(s, gpu, batch) * cycles / gpu->clock_mhz;
}

/* Device memory sees the streamed operand once: the rows of tiles walk side by side and share it in L2. */
static double memory_us(const struct stream_kernel *s, const struct gpu *gpu, const struct problem *p,
                        double blocks_an_sm)
{
    double m = (double)p->m, n = (double)p->n, batch = (double)p->batch;
    double reads = 4 * batch * s->k * s->stream_length, from_l2 = reads * s->rows;
    double writes = 4 * batch * m * n * (p->beta != 0 ? 2 : 1);
    double sms = fmin(gpu->sm_count, s->rows * s->walkers);
    double flying = sms * blocks_an_sm * 4 * (s->stages - 1) * s->bk * s->stream_x;
    double dram = DRAM_SHARE * gpu->memory_gb_per_s * 1e3; /* bytes a us */
    double l2 = L2_BYTES_A_CLOCK * gpu->clock_mhz * sms;
    return fmax((reads + writes) / dram * narrow_stores(s->vc),
                fmax(from_l2 * LATENCY_US / flying, (from_l2 * s->k_l2 / s->bk + writes) / l2));
}

struct prediction stream_predict(const struct stream_kernel *s, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts)
{
    double batch = (double)problem->batch, blocks = s->rows * s->walkers * batch;
    struct prediction p = {.blocks_per_sm = (int)s->min_blocks};
    double blocks_an_sm = fmin(s->min_blocks, ceil(blocks / gpu->sm_count));
    p.waves = blocks / (s->min_blocks * gpu->sm_count);
    p.compute_us = compute_us(s, gpu, batch, blocks_an_sm);
    if (facts && facts->spill_bytes > 0) p.compute_us *= SPILL_SLOWDOWN;
    p.memory_us = memory_us(s, gpu, problem, blocks_an_sm);
    p.overhead_us = LAUNCH_US + ceil(p.waves) * (FILL_US + STAY_US * s->k * s->stays_x / s->threads);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

/* model_gemv16.c — predicted time of the gemv16 family: the streamed operand's bytes at the speed that the
 * bytes on their way sustain, unless L2 or instructions take longer, and what a launch and the last sums add.
 */
#include "gemv16_host.h"

#include "gemm_block.h"
#include "model_parts.h"
#include "model_registers.h"
#include "outcome.h"

#include <math.h>

/* Issue slots of a warp. */
#define LOAD_SLOTS    5.0 /* a load with its address */
#define PRODUCT_SLOTS 4.0 /* an instruction of 16 x 8 x 16 */
#define PAIR_SLOTS    1.2 /* a word put together */
#define FILLED        0.6 /* of the issue slots, with enough warps */

#define REGISTERS_BESIDE 44 /* pointers, counters, fragments */

#define LATENCY_US    0.75 /* of device memory under load */
#define DRAM_SHARE    0.91 /* of the published bandwidth that a stream reaches */
#define SM_BYTES      33.0 /* an SM and clock that arrive from L2 */
#define LINE_BYTES    128
#define LAUNCH_US     0.9
#define EARLY_US      0.5 /* of a launch and the first load that PDL hides */
#define ASKED_US      0.5 /* more of the latency, if L2 has the weights */
#define FILL_US       0.9 /* until the first products */
#define WAVE_US       0.3 /* where one block ends and the next of its SM begins */
#define CLUSTER_US    0.3
#define LAST_BLOCK_US 1.4
#define SUM_US        0.15 /* over warps, for each 4096 sums of a block */
#define SUMS_A_UNIT   4096.0

struct grid {
    double blocks, splits, k, sms; /* k: of a block; sms that blocks can fill */
};

static struct grid grid_of(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    const struct gemm_args args = gemm_args_in(&plan);
    const double splits = args.splits > 1 ? args.splits : 1;
    return (struct grid){.blocks = (double)plan.kernel[0].grid[0] * splits * (double)p->batch,
                         .splits = splits,
                         .k = splits > 1 ? args.k_per_split : (double)p->k,
                         .sms = CLUSTER ? cluster_sms(gpu, CLUSTER) : gpu->sm_count};
}

/* Issue slots of a warp's run. */
static double run_slots(const struct config *config, bool small_along_k, bool stream_along_k)
{
    const double loads = SPAN * (8.0 * TX / VX + 8.0 * EIGHTS / VS),
                 products = SPAN * 2.0 * TX * ((EIGHTS + 1) / 2);
    double pairs = 0;
    if (!stream_along_k || VX == 1) pairs += SPAN * 4.0 * TX;
    if (!small_along_k || VS == 1) pairs += SPAN * 4.0 * EIGHTS;
    return loads * LOAD_SLOTS + products * PRODUCT_SLOTS + pairs * PAIR_SLOTS;
}

/* Of the lines of memory that L2 sends for an operand, the share that is wanted: a request of a part takes as
 * long as one of the whole. */
static double line_share(const struct config *config, bool along_k, int vector)
{
    const double bytes = along_k ? vector == 8 ? 64.0 * SPAN : 64 : 16.0 * vector;
    return fmin(1, bytes / LINE_BYTES);
}

/* A wave: so many blocks at once on each SM. */
static double wave_us(const struct config *config, const struct problem *p, const struct grid *grid,
                      const struct gpu *gpu, double count, double blocks)
{
    const bool trans_a = p->trans_a, trans_b = p->trans_b, stream_along_k = SIDE == 0 ? trans_b : !trans_a,
               small_along_k = SIDE == 0 ? !trans_a : trans_b;
    const double rows = (double)(SIDE == 0 ? p->m : p->n), columns = (double)(SIDE == 0 ? p->n : p->m);
    const double stream = 2 * grid->k * fmin(columns, TILE_X), small = 2 * grid->k * rows * WARPS_X;
    const double stream_share = line_share(config, stream_along_k, VX),
                 small_share = line_share(config, small_along_k, VS);
    const double runs = grid->k / RUN_K * WARPS_X; /* of all warps of a block */
    const double on_the_way = count * fmin(WARPS_X * WARPS_K * DEPTH, runs) * RUN_K * 2 * 8 * TX;
    const double dram = blocks * stream / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    const double arrival =
        count * (stream / stream_share + small / small_share) / (SM_BYTES * gpu->clock_mhz);
    const double waiting = count * stream * LATENCY_US / on_the_way;
    const double slots =
        count * runs * run_slots(config, small_along_k, stream_along_k) / 4 / FILLED / gpu->clock_mhz;
    return overlapped_us(fmax(dram, waiting), fmax(arrival, slots), 4);
}

/* Sums, runs on the way, and what an exchange takes besides. */
static double registers_needed(const struct config *config)
{
    const double run = RUN_WORDS(EIGHTS, VS) + RUN_WORDS(TX, VX);
    return (EIGHTS + 1) / 2 * TX * 4 + DEPTH * run + (SPAN > 2 ? 0.5 * run : 0) + REGISTERS_BESIDE;
}

struct prediction gemv16_predict(const struct config *config, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct grid grid = grid_of(config, problem, gpu);
    const int limit = registers_limit(gpu, THREADS, MIN_BLOCKS);
    const double needed = registers_needed(config);
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(needed + 12, limit);
    const int smem_bytes =
        config->template->resources(config).smem_bytes + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, THREADS, registers, smem_bytes)};
    const double at_once = p.blocks_per_sm * grid.sms;
    p.waves = grid.blocks / at_once;
    const double full = floor(p.waves), rest = grid.blocks - full * at_once;
    p.memory_us = full * wave_us(config, problem, &grid, gpu, p.blocks_per_sm, at_once);
    if (rest > 0) p.memory_us += wave_us(config, problem, &grid, gpu, ceil(rest / grid.sms), rest);
    p.memory_us *= registers_spill_factor(spills);
    const double sums = (double)FEW * TILE_X * WARPS_K;
    p.overhead_us = LAUNCH_US + FILL_US + WAVE_US * fmax(0, p.waves - 1) + SUM_US * sums / SUMS_A_UNIT;
    if (grid.splits > 1) p.overhead_us += CLUSTER ? CLUSTER_US : LAST_BLOCK_US;
    if (PDL) p.overhead_us -= EARLY_US;
    if (ASK) p.overhead_us -= ASKED_US;
    p.time_us = p.overhead_us + p.memory_us;
    return p;
}

/* model_mma.c — predicted time of an mma kernel: the tensor cores' cycles, unless the instructions beside
 * them or the copies to shared memory take longer, and the bytes that blocks ask of L2 and of device memory.
 *
 * The constants are those of an H200, from 130 kernels of 4096x4096x4096, 4095x4097x4093 and 1024x1024x1024
 * in all ops: it says 0.76 to 1.35 times what was measured, but for kernels that spill (0.77 to 1.5). What
 * they say of other GPUs follows from the figures of the descriptor.
 */
#include "mma_host.h"

#include "gemm_block.h"
#include "model_parts.h"
#include "model_registers.h"
#include "outcome.h"

#include <math.h>

#define MMA_CYCLES       8.0   /* of a scheduler for m16n8k8 and what it issues beside it, fitted: 6 alone */
#define OTHER_SLOTS      3.0   /* instructions for each mma: fragments, rounding, addresses */
#define TILE_SLOTS       60.0  /* barrier, pointers and branch of one step over BK */
#define BARRIER_CYCLES   150.0 /* of a lone block; others fill it */
#define COPY_CYCLES      4.0   /* of an SM's load unit for a warp's copies of 8 or 16 bytes */
#define COPY_ONE_CYCLES  11.5  /* the same of single floats */
#define COPY_REGISTERS   0.65  /* of a thread for each of its copies in a tile: addresses and guards */
#define REGISTERS_BESIDE 40    /* C and fragments: as likely as not to spill with less */

#define LAUNCH_US        1.7
#define SECOND_LAUNCH_US 1.6 /* gemm_reduce behind gemm */
#define FILL_US          3.5 /* first tile until the first product, and the last store */
#define DRAM_SHARE       0.90
#define L2_BYTES_A_CLOCK 24.0 /* an SM: 5.9 TB/s were reached */
#define PARTS_SHARE      0.75 /* of L2's bytes for parts of a cut k, which are written, too */
#define L2_KEPT          0.6  /* of L2 that survives between uses */

struct grid {
    double blocks, splits, k; /* k: of a block */
};

static struct grid grid_of(const struct config *config, const struct problem *p)
{
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    const struct gemm_args args = gemm_args_in(&plan);
    const double splits = args.splits > 1 ? args.splits : 1;
    return (struct grid){.blocks = (double)plan.kernel[0].grid[0] * splits * (double)p->batch,
                         .splits = splits,
                         .k = splits > 1 ? args.k_per_split : (double)p->k};
}

/* Cycles of the load unit for one step of k of a tile's side. */
static double copy_cycles(double x, int vector)
{
    return x / vector / 32 * (vector > 1 ? COPY_CYCLES : COPY_ONE_CYCLES);
}

/* Time of an SM that holds so many blocks, from the first product to the last. */
static double blocks_us(const struct config *config, double count, double k, const struct gpu *gpu)
{
    const double tiles = ceil(k / BK), warps = ceil(count * THREADS / 32 / 4);
    const double products = (double)WM / MMA_M * WN / MMA_N * BK / MMA_K;
    const double scheduler = warps * fmax(products * MMA_CYCLES, products * (1 + OTHER_SLOTS) + TILE_SLOTS);
    const double copies = count * BK * (copy_cycles(BM, VA) + copy_cycles(BN, VB));
    return tiles * (overlapped_us(scheduler, copies, 4) + BARRIER_CYCLES / (count * count)) / gpu->clock_mhz;
}

static double compute_us(const struct config *config, const struct grid *grid, const struct gpu *gpu,
                         int at_once)
{
    const double full = floor(grid->blocks / ((double)at_once * gpu->sm_count));
    const double rest = grid->blocks - full * at_once * gpu->sm_count;
    const double time = full > 0 ? full * blocks_us(config, at_once, grid->k, gpu) : 0;
    return time + (rest > 0 ? blocks_us(config, ceil(rest / gpu->sm_count), grid->k, gpu) : 0);
}

static double memory_us(const struct config *config, const struct problem *p, const struct grid *grid,
                        const struct gpu *gpu)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    const double asked = grid->blocks * grid->k * 4 * (BM + BN);
    const double operands = 4 * (m * k + k * n), c = 4 * m * n * (p->beta != 0 ? 2 : 1);
    const double again = operands <= L2_KEPT * (double)gpu->l2_bytes ? 1 : 1.5;
    const double dram = (double)p->batch * (operands * again + c * narrow_stores(VC));
    return fmax(asked / l2, dram / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3));
}

static double overhead_us(const struct problem *p, const struct grid *grid, const struct gpu *gpu)
{
    const double part_bytes = 4 * grid->splits * (double)p->m * (double)p->n * (double)p->batch;
    const bool cached = part_bytes <= L2_KEPT * (double)gpu->l2_bytes;
    const double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    if (grid->splits <= 1) return LAUNCH_US + FILL_US;
    return LAUNCH_US + FILL_US + SECOND_LAUNCH_US +
           2 * part_bytes / (cached ? l2 * PARTS_SHARE : DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

struct prediction mma_predict(const struct config *config, const struct problem *problem,
                              const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct grid grid = grid_of(config, problem);
    const int limit = registers_limit(gpu, THREADS, MIN_BLOCKS);
    const double copies = BK * ((double)BM / VA + (double)BN / VB) / THREADS;
    const double needed = (double)WM * WN / 32 + (WM + WN) / 2.0 + REGISTERS_BESIDE + COPY_REGISTERS * copies;
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(needed + REGISTERS_BESIDE, limit);
    const int smem_bytes = SMEM_BYTES + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, THREADS, registers, smem_bytes)};
    p.waves = grid.blocks / ((double)p.blocks_per_sm * gpu->sm_count);
    p.compute_us = compute_us(config, &grid, gpu, p.blocks_per_sm) * registers_spill_factor(spills);
    p.memory_us = memory_us(config, problem, &grid, gpu);
    p.overhead_us = overhead_us(problem, &grid, gpu);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

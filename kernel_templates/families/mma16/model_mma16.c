/* model_mma16.c — predicted time of an mma16 kernel: what limits an SM as it works through the k of its
 * blocks (tensor cores, reads of shared memory, copies to it, bytes that arrive), device memory, and fixed
 * costs.
 *
 * The constants were fitted to 3,900 trials of 95 problems on an H100 (2026-11-25): for kernels within twice
 * the fastest of their problem the root mean square of the logarithm of predicted over measured is 0.16, and
 * the best of its first eight was 0.3 % slower than the best that was tried. What they say of other GPUs
 * follows from the figures of the descriptor.
 */
#include "mma16_host.h"

#include "gemm_block.h"
#include "model_parts.h"
#include "model_registers.h"
#include "outcome.h"

#include <math.h>

#define MMA_SHARE        0.48  /* of the peak rate that mma.sync reaches where wgmma or tcgen05 has more */
#define MMA_SHARE_OTHERS 0.8   /* the same where it is the fastest instruction */
#define FULL_WARPS       5.7   /* of an SM: fewer leave tensor cores idle */
#define SHARED_BYTES     105.0 /* an SM and clock that ldmatrix reads: 128 at most */
#define STEP_CYCLES      180.0 /* barrier and first fragments of one step over BK by a lone block */
#define PAIR_CYCLES      12.0  /* of the load units for a warp's loads of pairs, element by element */
#define COPY_CYCLES      5.0   /* the same of copies */
#define REGISTERS_BESIDE 48    /* C and fragments: as likely as not to spill with less */

#define LAUNCH_US     1.75
#define WAVE_US       0.6 /* until the first product of a block */
#define STORE_BYTES   9.4 /* an SM and clock of C, after the last product */
#define LATENCY_US    0.53
#define SM_BYTES      33.0 /* an SM and clock that arrive from L2 */
#define DRAM_SHARE    0.86
#define ASKING_SMS    0.4 /* of all: fewer do not ask for enough */
#define L2_KEPT       0.6 /* of L2 that survives between uses */
#define CLUSTER_US    0.2
#define LAST_BLOCK_US 2.7
#define PART_US       0.03 /* more of the last block for each part */
#define EARLY_US      0.3  /* of a launch and the first copies that PDL hides */
#define ASKED_US      0.25 /* of the latency, if L2 has what is copied first */
#define PACK_US       3.0  /* a launch before the product, and its end; it moves bytes as a copy does */

/* Cycles that an SM's load units take for a tile side's elements of one k, by the elements of a copy. */
static double copy_cycles(double x, int vector)
{
    return x / 32 * (vector == 1 ? PAIR_CYCLES / 2 : COPY_CYCLES / vector);
}

/* Time of an SM that holds so many blocks, from the first product to the last. */
static double blocks_us(const struct config *config, double count, double k, const struct problem *p,
                        const struct gpu *gpu)
{
    const bool faster_one = gpu->arch >= 90 && gpu->arch < 120;
    const double rate = gpu_peak_tflops(gpu, p->type) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 *
                        (faster_one ? MMA_SHARE : MMA_SHARE_OTHERS); /* products an SM and clock */
    const double warps = count * THREADS / 32, steps = ceil(k / BK);
    const double products = count * BM * BN * BK / rate * fmax(1, FULL_WARPS / warps);
    const double shared = count * WARPS * (WARP_LEFT + WARP_RIGHT) * BK * 2 / SHARED_BYTES;
    const double copies = count * BK * (copy_cycles(BM, VA) + copy_cycles(BN, VB));
    const double busy = overlapped_us(products, fmax(shared, copies), 1.6);
    const double on_the_way = count * (STAGES - 1) * STAGE_BYTES / LATENCY_US / gpu->clock_mhz;
    const double arrival = count * STAGE_BYTES / fmin(SM_BYTES, on_the_way);
    const double store = count * BM * BN * 2 / STORE_BYTES;
    return WAVE_US + (steps * fmax(busy + STEP_CYCLES / count, arrival) + store) / gpu->clock_mhz;
}

static double compute_us(const struct config *config, const struct problem *p,
                         const struct planned_grid *grid, const struct gpu *gpu, int at_once)
{
    const double full = floor(grid->blocks / (at_once * grid->sms));
    const double rest = grid->blocks - full * at_once * grid->sms;
    const double time = full > 0 ? full * blocks_us(config, at_once, grid->k, p, gpu) : 0;
    return time + (rest > 0 ? blocks_us(config, ceil(rest / grid->sms), grid->k, p, gpu) : 0);
}

static double memory_us(const struct problem *p, const struct planned_grid *grid, const struct gpu *gpu)
{
    const double bytes = problem_bytes(p);
    const double smaller_one = 2 * (double)p->k * fmin((double)p->m, (double)p->n); /* of A and B */
    const double again = smaller_one <= L2_KEPT * (double)gpu->l2_bytes ? 1 : 1.15;
    const double busy = fmin(1, grid->blocks / (ASKING_SMS * gpu->sm_count));
    return bytes * again / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3 * busy);
}

static double overhead_us(const struct config *config, const struct problem *p,
                          const struct planned_grid *grid, const struct gpu *gpu)
{
    const double sum = grid->splits <= 1 ? 0 : CLUSTER ? CLUSTER_US : LAST_BLOCK_US + PART_US * grid->splits;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double packed = (double)p->batch * 2 * k * ((PACK_A ? m : 0) + (PACK_B ? n : 0));
    const double pack = PACK ? PACK_US + 2 * packed / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3) : 0;
    return LAUNCH_US + sum + pack - (PDL ? EARLY_US : 0) - (ASK ? ASKED_US : 0);
}

struct prediction mma16_predict(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct planned_grid grid = planned_grid(config, problem, gpu, CLUSTER);
    const int limit = registers_limit(gpu, THREADS, MIN_BLOCKS);
    const double held =
        (VA == 1 ? (double)BM * BK / 2 / THREADS : 0) + (VB == 1 ? (double)BN * BK / 2 / THREADS : 0);
    const double needed = WM * WN / 32.0 + (WARP_LEFT + WARP_RIGHT) / 2.0 + REGISTERS_BESIDE + held;
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(needed + 16, limit);
    const int smem_bytes = SMEM_BYTES + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, THREADS, registers, smem_bytes)};
    p.waves = grid.blocks / ((double)p.blocks_per_sm * grid.sms);
    p.compute_us = compute_us(config, problem, &grid, gpu, p.blocks_per_sm) * registers_spill_factor(spills);
    p.memory_us = memory_us(problem, &grid, gpu);
    p.overhead_us = overhead_us(config, problem, &grid, gpu);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

#include "model_registers.h"

#include <math.h>

enum { SCHEDULERS = 4, WARP = 32, ROUNDED_TO = 8, MOST = 255 };

/* How far an estimate of `needed` is off, as the scale of a logistic distribution: fitted to 11,081 kernels
 * of the simt family, of which 748 spilled (CUDA 13.0, sm_90a). */
#define NEEDED_SCALE 7.5

#define DOUBTFUL       0.65
#define SPILL_SLOWDOWN 2.0

static int of_a_lane(const struct gpu *gpu)
{
    return gpu->registers_per_sm / SCHEDULERS / WARP;
}

static int warps_of(int threads)
{
    return threads > WARP ? (threads + WARP - 1) / WARP : 1;
}

int registers_limit(const struct gpu *gpu, int threads, int blocks)
{
    int warps = warps_of(threads) * (blocks > 1 ? blocks : 1);
    int limit = of_a_lane(gpu) / ((warps + SCHEDULERS - 1) / SCHEDULERS) / ROUNDED_TO * ROUNDED_TO;
    return limit < MOST ? limit : MOST;
}

int registers_blocks(const struct gpu *gpu, int threads, int registers)
{
    int each =
        registers > 2 * ROUNDED_TO ? (registers + ROUNDED_TO - 1) / ROUNDED_TO * ROUNDED_TO : 2 * ROUNDED_TO;
    return of_a_lane(gpu) / each * SCHEDULERS / warps_of(threads);
}

int blocks_at_once(const struct gpu *gpu, int threads, int registers, int smem_bytes)
{
    int blocks = registers_blocks(gpu, threads, registers);
    int by_threads = gpu->threads_per_sm / threads;
    int by_smem = gpu->smem_per_sm_bytes / (smem_bytes + gpu->smem_reserved_bytes + 1);
    if (by_threads < blocks) blocks = by_threads;
    if (by_smem < blocks) blocks = by_smem;
    if (gpu->blocks_per_sm < blocks) blocks = gpu->blocks_per_sm;
    return blocks > 1 ? blocks : 1;
}

double registers_spill_factor(double chance)
{
    return chance < DOUBTFUL ? 1 : 1 + (SPILL_SLOWDOWN - 1) * (chance - DOUBTFUL) / (1 - DOUBTFUL);
}

double registers_spill_chance(double needed, int limit)
{
    return 1 / (1 + exp((limit - needed) / NEEDED_SCALE));
}

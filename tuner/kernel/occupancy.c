#include "occupancy.h"

enum { SCHEDULERS = 4, WARP = 32, ROUNDED_TO = 8, MOST = 255 };

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
    const int each_bytes = smem_bytes + gpu->smem_reserved_bytes;
    int by_smem = each_bytes > 0 ? gpu->smem_per_sm_bytes / each_bytes : blocks;
    if (by_threads < blocks) blocks = by_threads;
    if (by_smem < blocks) blocks = by_smem;
    if (gpu->blocks_per_sm < blocks) blocks = gpu->blocks_per_sm;
    return blocks > 1 ? blocks : 1;
}

/* model_wgmma.c — predicted time of a wgmma kernel: waves of blocks, each limited by the tensor cores or by
 * the bytes that arrive in its SM; device memory; fixed costs.
 *
 * The constants are fitted to 1,939 trials on an H100 (2026-11-25), those of stores, clusters and the last
 * block to 208 more, which were timed side by side.
 */
#include "wgmma_host.h"

#include "model_parts.h"
#include "model_registers.h"
#include "outcome.h"
#include "split_k.h"

#include <math.h>

#define WGMMA_SHARE      0.77   /* of the peak rate that long products reach */
#define STEP_CYCLES      35.0   /* of a stage that no other block hides */
#define FILL_CYCLES      1500.0 /* until the first product, and from the last to the end */
#define LAUNCH_US        1.56
#define LATENCY_US       1.27
#define SM_BYTES         48.0  /* an SM and clock that arrive from L2, of lines at multiples of 128 bytes */
#define STORE_BYTES      10.9  /* an SM and clock that sums leave as C */
#define WALK_STORE_BYTES 7.0   /* the same while copies go on */
#define BOXES_BYTES      22.0  /* the same in boxes */
#define WALK_CYCLES      300.0 /* from a tile's store to the next product */
#define TURN_CYCLES      800.0 /* from a group's last product to the other's first */
#define DRAM_SHARE       0.81
#define PDL_US           0.4 /* of LAUNCH_US that is hidden */
#define CLUSTER_US       0.2
#define CLUSTER_PART_US  2.75e-5 /* more for each block after the first and element of its tile */
#define LAST_BLOCK_US    2.0
#define PACK_US          3.0    /* a launch before the product, and its end; it moves bytes as a copy does */
#define PART_US          3.6e-5 /* more of the last block for each part and element of its tile */

#define REGISTERS_BESIDE 40 /* C: as likely as not to spill with less */

struct grid {
    double blocks, splits, k, sms; /* k: of a block; sms that blocks can fill */
};

static struct grid grid_of(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const struct k_cut parts = cut_k(p->k, BK, SPLIT_K, CLUSTER);
    const double tiles = ceil((double)p->m / BM) * ceil((double)p->n / BN);
    return (struct grid){.blocks = tiles * (double)parts.splits * (double)p->batch,
                         .splits = (double)parts.splits,
                         .k = fmin((double)parts.k_per_split, (double)p->k),
                         .sms = CLUSTER ? cluster_sms(gpu, CLUSTER) : gpu->sm_count};
}

/* How fast boxes come whose lines do not begin at multiples of 128 bytes: each takes two lines of L2. */
static double straddling(int64_t line_bytes)
{
    return line_bytes % 128 == 0 ? 1 : line_bytes % 64 == 0 ? 0.9 : 0.5;
}

/* Cycles that an SM with so many blocks takes for the k of a tile of each. */
static double loop_cycles(const struct config *config, double count, double k, const struct problem *p,
                          const struct gpu *gpu)
{
    const double rate =
        gpu_peak_tflops(gpu, p->type) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 * WGMMA_SHARE;
    /* Both operands come from shared memory, where 64 rows of the left one take as long as some columns. */
    const double products = count * LEFT * fmax(RIGHT, TALL > 1 ? 52 : 89) * BK / rate;
    const double from_l2 = SM_BYTES * fmin(PACK_A ? 1 : straddling(ELEMENT_BYTES * p->lda),
                                           PACK_B ? 1 : straddling(ELEMENT_BYTES * p->ldb));
    const double on_the_way = count * (STAGES - 1) * STAGE_BYTES / LATENCY_US / gpu->clock_mhz;
    const double arrival = count * STAGE_BYTES / fmin(from_l2, on_the_way);
    return ceil(k / BK) * fmax(products + STEP_CYCLES / count, arrival);
}

/* Cycles in which so many blocks store a tile each. */
static double store_cycles(const struct config *config, double count, const struct problem *p)
{
    const double all = STORE  ? BOXES_BYTES
                       : WALK ? WALK_STORE_BYTES
                              : STORE_BYTES,
                 rate = all * SHARERS / CONSUMERS;
    return count * BM * BN * element_bytes(gemm_type_row(p->type)->c) / rate;
}

/* Time of an SM that holds so many blocks, from the first copy to the last store. */
static double blocks_us(const struct config *config, double count, double k, const struct problem *p,
                        const struct gpu *gpu)
{
    return (loop_cycles(config, count, k, p, gpu) + FILL_CYCLES + store_cycles(config, count, p)) /
           gpu->clock_mhz;
}

/* The same for blocks that walk: stores and copies of the next tile overlap; with WALK 2 stores and products,
 * too. */
static double walk_us(const struct config *config, double count, double tiles, const struct problem *p,
                      const struct gpu *gpu)
{
    const double loop = loop_cycles(config, count, (double)p->k, p, gpu);
    const double alone = loop + store_cycles(config, count, p) + WALK_CYCLES;
    return (FILL_CYCLES + tiles * (WALK == 2 ? fmax(loop + TURN_CYCLES, alone / CONSUMERS) : alone)) /
           gpu->clock_mhz;
}

static double compute_us(const struct config *config, const struct problem *p, const struct grid *grid,
                         const struct gpu *gpu, int at_once)
{
    if (WALK) {
        const double walkers = fmin(grid->blocks, (double)SMS * MIN_BLOCKS);
        return walk_us(config, ceil(walkers / gpu->sm_count), ceil(grid->blocks / walkers), p, gpu);
    }
    const double full = floor(grid->blocks / (at_once * grid->sms));
    const double rest = grid->blocks - full * at_once * grid->sms;
    const double time = full > 0 ? full * blocks_us(config, at_once, grid->k, p, gpu) : 0;
    return time + (rest > 0 ? blocks_us(config, ceil(rest / grid->sms), grid->k, p, gpu) : 0);
}

static double memory_us(const struct problem *p, const struct gpu *gpu)
{
    return problem_bytes(p) / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

static double overhead_us(const struct config *config, const struct problem *p, const struct grid *grid,
                          const struct gpu *gpu)
{
    const double packed = ELEMENT_BYTES * (double)p->batch * (double)p->k *
                          ((PACK_A ? (double)p->m : 0) + (PACK_B ? (double)p->n : 0));
    const double pack = PACK ? PACK_US + 2 * packed / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3) : 0;
    const double tile = (double)BM * BN, sum = grid->splits <= 1 ? 0
                                               : CLUSTER
                                                   ? CLUSTER_US + CLUSTER_PART_US * (grid->splits - 1) * tile
                                                   : LAST_BLOCK_US + PART_US * grid->splits * tile;
    return LAUNCH_US - (PDL ? PDL_US : 0) + sum + pack;
}

struct prediction wgmma_predict(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct grid grid = grid_of(config, problem, gpu);
    const int limit = registers_limit(gpu, THREADS, MIN_BLOCKS);
    const double needed = TALL * RIGHT / 2.0 + REGISTERS_BESIDE;
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(needed + 16, limit);
    const int smem_bytes = SMEM_BYTES + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, THREADS, registers, smem_bytes)};
    p.waves = grid.blocks / ((double)p.blocks_per_sm * grid.sms);
    p.compute_us = compute_us(config, problem, &grid, gpu, p.blocks_per_sm) * registers_spill_factor(spills);
    p.memory_us = memory_us(problem, gpu);
    p.overhead_us = overhead_us(config, problem, &grid, gpu);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

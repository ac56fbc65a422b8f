/* model_wgmma.c — predicted time of a wgmma kernel: waves of blocks, each limited by the tensor cores or by
 * the bytes that arrive in its SM; device memory; fixed costs.
 *
 * The constants of 16 bits are fitted to 1,939 trials on an H100 (2026-11-25), those of stores, clusters and
 * the last block to 208 more, which were timed side by side; those of TF32 to 1,059 trials on an H100, and
 * 1,423 on an H200 (2026-11-27), of which 1,166 were chosen at random.
 */
#include "wgmma_host.h"

#include "model_parts.h"
#include "model_registers.h"
#include "outcome.h"
#include "split_k.h"

#include <math.h>

#define LAUNCH_US       1.56
#define PDL_US          0.4 /* of LAUNCH_US that is hidden */
#define LATENCY_US      1.27
#define WALK_CYCLES     300.0   /* from a tile's store to the next product */
#define CLUSTER_PART_US 2.75e-5 /* more for each block after the first and element of its tile */
#define PART_US         3.6e-5  /* more of the last block for each part and element of its tile */

/* What differs by the operands' elements. */
struct rates {
    double share;            /* of the peak rate that long products reach */
    double few_columns;      /* of the right operand that take as long as 64 rows of the left one; */
    double few_if_tall;      /* with two instructions for each of them */
    double step_cycles;      /* of a stage that no other block hides */
    double fill_cycles;      /* until the first product, and from the last to the end */
    double sm_bytes;         /* an SM and clock that arrive from L2, of lines at multiples of 128 bytes */
    double store_bytes;      /* an SM and clock that sums leave as C */
    double walk_store_bytes; /* the same while copies go on */
    double boxes_bytes;      /* the same in boxes */
    double direct_bytes;     /* the same from registers */
    double turn_cycles;      /* from a group's last product to the other's first */
    double load_cycles;      /* until the left operand of a stage is in registers, */
    double piece_cycles;     /* more for each instruction's rows and 32 k */
    double ahead_cycles;     /* the same for each set that is loaded ahead */
    double dram_share;
    double cluster_us, last_block_us;
    double pack_us;    /* a launch before the product, and its end; */
    double pack_share; /* it moves bytes at this share of the memory's bandwidth */
};

static const struct rates of_16_bits = {.share = 0.77,
                                        .few_columns = 89,
                                        .few_if_tall = 52,
                                        .step_cycles = 35,
                                        .fill_cycles = 1500,
                                        .sm_bytes = 48,
                                        .store_bytes = 10.9,
                                        .walk_store_bytes = 7,
                                        .boxes_bytes = 22,
                                        .turn_cycles = 800,
                                        .dram_share = 0.81,
                                        .cluster_us = 0.2,
                                        .last_block_us = 2,
                                        .pack_us = 3,
                                        .pack_share = 0.81};

static const struct rates of_tf32 = {.share = 0.85,
                                     .few_columns = 86,
                                     .few_if_tall = 80,
                                     .step_cycles = 115,
                                     .fill_cycles = 1770,
                                     .sm_bytes = 67.6,
                                     .store_bytes = 9.15,
                                     .walk_store_bytes = 12.2,
                                     .boxes_bytes = 13.7,
                                     .direct_bytes = 13.2,
                                     .turn_cycles = 2400,
                                     .load_cycles = 49,
                                     .piece_cycles = 44,
                                     .ahead_cycles = 41,
                                     .dram_share = 0.86,
                                     .cluster_us = 0.16,
                                     .last_block_us = 2.5,
                                     .pack_us = 2.4,
                                     .pack_share = 0.73};

static const struct rates *rates_of(const struct config *config)
{
    return TF32 ? &of_tf32 : &of_16_bits;
}

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

/* Cycles until a group has the elements of a stage whose left operand passes through registers, beside what
 * the products of the elements before hide. */
static double load_cycles(const struct config *config, const struct problem *p)
{
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    const struct rates *const r = rates_of(config);
    if (!LEFT_IN_REGISTERS) return 0;
    if (PRELOAD) return r->ahead_cycles * BK / PIECE_K * (4 / PRELOAD);
    return r->load_cycles + r->piece_cycles * TALL * BK / PIECE_K;
}

/* Cycles that an SM with so many blocks takes for the k of a tile of each. */
static double loop_cycles(const struct config *config, double count, double k, const struct problem *p,
                          const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    const double rate = gpu_peak_tflops(gpu, p->type) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 * r->share;
    /* Both operands come from shared memory, where 64 rows of the left one take as long as some columns. */
    const double products =
        count * LEFT * fmax(RIGHT, TALL > 1 ? r->few_if_tall : r->few_columns) * BK / rate;
    const double from_l2 = r->sm_bytes * fmin(PACK_A ? 1 : straddling(ELEMENT_BYTES * p->lda),
                                              PACK_B ? 1 : straddling(ELEMENT_BYTES * p->ldb));
    const double on_the_way = count * (STAGES - 1) * STAGE_BYTES / LATENCY_US / gpu->clock_mhz;
    const double arrival = count * STAGE_BYTES / fmin(from_l2, on_the_way);
    /* The groups take turns: while one loads, the others multiply. */
    const double groups = count * SHARERS, turn = products / groups + load_cycles(config, p);
    return ceil(k / BK) * fmax(fmax(products, turn) + r->step_cycles / count, arrival);
}

/* Cycles in which so many blocks store a tile each. */
static double store_cycles(const struct config *config, double count, const struct problem *p)
{
    const struct rates *const r = rates_of(config);
    const double all = DIRECT  ? r->direct_bytes
                       : STORE ? r->boxes_bytes
                       : WALK  ? r->walk_store_bytes
                               : r->store_bytes,
                 rate = all * SHARERS / CONSUMERS;
    return count * BM * BN * element_bytes(gemm_type_row(p->type)->c) / rate;
}

/* Time of an SM that holds so many blocks, from the first copy to the last store. */
static double blocks_us(const struct config *config, double count, double k, const struct problem *p,
                        const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    return (loop_cycles(config, count, k, p, gpu) + r->fill_cycles + store_cycles(config, count, p)) /
           gpu->clock_mhz;
}

/* The same for blocks that walk: stores and copies of the next tile overlap; with WALK 2 stores and products,
 * too. */
static double walk_us(const struct config *config, double count, double tiles, const struct problem *p,
                      const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    const double loop = loop_cycles(config, count, (double)p->k, p, gpu);
    const double alone = loop + store_cycles(config, count, p) + WALK_CYCLES;
    return (r->fill_cycles + tiles * (WALK == 2 ? fmax(loop + r->turn_cycles, alone / CONSUMERS) : alone)) /
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

static double memory_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    return problem_bytes(p) / (r->dram_share * gpu->memory_gb_per_s * 1e3);
}

static double overhead_us(const struct config *config, const struct problem *p, const struct grid *grid,
                          const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    const double packed = ELEMENT_BYTES * (double)p->batch * (double)p->k *
                          ((PACK_A ? (double)p->m : 0) + (PACK_B ? (double)p->n : 0));
    const double pack = PACK ? r->pack_us + 2 * packed / (r->pack_share * gpu->memory_gb_per_s * 1e3) : 0;
    const double tile = (double)BM * BN,
                 sum = grid->splits <= 1 ? 0
                       : CLUSTER         ? r->cluster_us + CLUSTER_PART_US * (grid->splits - 1) * tile
                                         : r->last_block_us + PART_US * grid->splits * tile;
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
    p.memory_us = memory_us(config, problem, gpu);
    p.overhead_us = overhead_us(config, problem, &grid, gpu);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

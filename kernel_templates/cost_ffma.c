/* cost_ffma.c — from a tile's cost in issue slots up to waves over the GPU.
 *
 * The constants were fitted to simt kernels measured on an H200; what they say of other GPUs follows from the
 * figures of the descriptor. Order matters here, not the last tenth: whatever does not change the order is
 * left out.
 */
#include "cost_ffma.h"

#include "cost_parts.h"
#include "cost_registers.h"
#include "outcome.h"

#include <math.h>

/* Issue slots of a warp. A scheduler issues one instruction a cycle, and shared-memory loads hold it longer,
 * narrow ones as long as wide ones: four schedulers share the unit that serves them. */
static const struct lds_slots lds = {.four = 3, .two = 3, .one = 4};
#define STAGE_VECTOR_COST                                                                                    \
    7.0 /* a 16-byte global load, its store to shared memory and its share of addresses */
#define STAGE_SCALAR_COST 9.0  /* the same for 4 bytes, with the edge tests that scalar loads need */
#define COPY_SCALAR_COST  12.0 /* the same by cp.async, transposed or not */
#define TRANSPOSE_COST    1.2  /* more for each element that is stored across the rows of a tile */
#define TILE_SLOTS        40.0 /* barrier, pointers and branch of one step over BK */
#define UNROLL_SLOTS      4.0  /* branch and pointers of one turn of the loop inside a tile */

/* A warp waits for each store to shared memory beyond so many in a row, perhaps because a queue is full: in
 * nt, tiles of 64x128 with 16 k, 24 stores a thread, took 9 % longer than with 8 k, 12 stores. */
#define STORES_QUEUED     12
#define STORE_SLOTS       7.7
#define STORE_SLOTS_APART 1.5 /* where arrival and waiting lie apart: other warps store at other times */

#define INSTRUCTION_BYTES 16
#define LOOP_BYTES_MAX    32768.0 /* what the instruction cache feeds freely */
#define LONG_LOOP_COST    1.044   /* measured for a loop of 35 KB */

/* Cycles that a lone warp or block waits where others would fill the time. */
#define LDS_CYCLES     33.0  /* fragments of one k, requested one k ahead */
#define BARRIER_CYCLES 26.0  /* of a lone block; others fill it better than in proportion */
#define WAIT_CYCLES    14.0  /* the same where arrival and waiting lie apart */
#define COPIES_CYCLES  25.0  /* more where a lone warp a scheduler waits for copies before the barrier */
#define TURN_CYCLES    55.0  /* the same at the end of a turn of the loop inside a tile */
#define TEAM_CYCLES    0.08  /* a sum: two passes of 128 bytes a cycle, some of them over banks twice */
#define LOAD_CYCLES    700.0 /* global memory, between L2 and device memory */

/* Registers of a thread besides C, fitted to 11,081 kernels (CUDA 13.0, sm_90a): without REGISTERS_NEEDED it
 * is as likely as not to spill. REGISTERS_LIKED more are what it takes where it may: so the blocks of an SM
 * are right for 85 % of 4,336 kernels. */
#define REGISTERS_NEEDED   29
#define REGISTERS_LIKED    21
#define FEW_SUMS           48 /* a thread with fewer takes REGISTERS_FEW_SUMS more */
#define REGISTERS_FEW_SUMS 8

/* Of a thread's tile, rows and columns beyond so many take more registers: fitted to 916 kernels with 48 to
 * 200 sums a thread, a third of which spill. */
#define FRAGMENTS_FREE     24
#define REGISTERS_FRAGMENT 3

#define REGISTERS_LOAD      1.8 /* for the address of each load of a tile */
#define REGISTERS_LOOP_LOAD 0.5 /* the same where part of a tile is a loop, */
#define REGISTERS_LOOP      24  /* which takes more itself */

/* Latencies and fixed costs. */
#define LAUNCH_US        1.7
#define SECOND_LAUNCH_US 1.6 /* gemm_reduce behind gemm */
#define ARRIVE_US        1.8 /* of the last block of a tile: parts to L2, a count, the first parts back */
#define FILL_US          0.8 /* from the first tile in shared memory to the first FFMA, and the last store */
#define DRAM_LATENCY_US  0.8
#define DRAM_SHARE       0.90 /* of the published bandwidth that a stream reaches */
#define L2_BYTES_A_CLOCK 28.0 /* an SM, measured on A100 and H100 */
#define CLUSTER_US       0.05 /* for each block of a cluster: two barriers, and waiting for the slowest */
#define ONE_BLOCK_SHARE  1.25 /* more, where one block reads while most others have ended */
#define L2_KEPT          0.6  /* of L2 that survives between uses */

/* What computing does not hide, fitted to 4,913 kernels of 13 problems on an H100, four of them batches, and
 * to the recorded spaces of an H200. Between two waves each SM stores tiles of C, which takes all the time
 * that device memory needs for them, and fills the pipelines of the next ones, which takes REFILL_US. Nothing
 * hides that but the warps of other blocks of the SM: those that a scheduler has divide it by their number.
 * The stores of the last wave are seen by nobody: L2 takes them. */
#define REFILL_US 1.1

/* Of the time in which device memory reads A and B once, what a lone warp a scheduler waits if the steps over
 * k were of one k each. It waits less often in longer steps; more warps wait less by the cube of their
 * number. So in steps of 16 a lone warp waits a third of that time, and two warps a 25th. */
#define READS_SEEN 5.0

/* With 7,000 kernels of the large products measured, two warps a scheduler of 16x8, three of 12x8 and four of
 * 8x8 are predicted alike, within 3 %. */
#define LONE_WARP 0.05

/* What each team multiplies of a tile. */
static double team_k(const struct ffma_kernel *t)
{
    return t->bk / t->teams;
}

/* Registers without which the compiler spills: C, tiles on their way, the loads' addresses, and the rest. */
static double needed_registers(const struct ffma_kernel *t)
{
    double loads_a = ceil(t->bm * t->bk / t->a.vector / t->threads);
    double loads_b = ceil(t->bn * t->bk / t->b.vector / t->threads);
    double staged = (t->a.async ? 0 : t->a.vector * loads_a) + (t->b.async ? 0 : t->b.vector * loads_b);
    double loads = loads_a + loads_b;
    double addresses =
        t->unroll < team_k(t) ? REGISTERS_LOOP + REGISTERS_LOOP_LOAD * loads : REGISTERS_LOAD * loads;
    double fragments = REGISTERS_FRAGMENT * fmax(0, t->tm + t->tn - FRAGMENTS_FREE);
    return t->accumulators + staged + addresses + fragments + t->more_registers + REGISTERS_NEEDED;
}

/* Registers of a thread; *spills: how likely the compiler is to spill, 0..1. */
static int find_registers(const struct ffma_kernel *t, const struct gpu *gpu,
                          const struct kernel_facts *facts, double *spills)
{
    if (facts) {
        *spills = facts->spill_bytes > 0;
        return facts->registers;
    }
    double needed = needed_registers(t);
    int limit = registers_limit(gpu, t->threads, t->min_blocks);
    *spills = registers_spill_chance(needed, limit);
    double liked = REGISTERS_LIKED + (t->accumulators < FEW_SUMS ? REGISTERS_FEW_SUMS : 0);
    return (int)fmin(needed + liked, limit);
}

/* Issue slots that one operand's tile costs a thread, for one step of k. */
static double stage_slots(double rows, const struct ffma_operand *from, const struct ffma_kernel *t)
{
    double elements = rows * t->teams / t->threads;
    if (from->async && from->vector < 2) return elements * COPY_SCALAR_COST;
    double cost = from->vector >= 4   ? STAGE_VECTOR_COST / 4
                  : from->vector >= 2 ? (STAGE_VECTOR_COST + STAGE_SCALAR_COST) / 4
                                      : STAGE_SCALAR_COST;
    return elements * (cost + (from->across ? TRANSPOSE_COST : 0));
}

/* Instructions by which a thread stores its share of one operand's tile, if that passes through registers. */
static double tile_stores(double rows, const struct ffma_operand *from, const struct ffma_kernel *t)
{
    if (from->async) return 0;
    return rows * t->bk / t->threads / (from->across ? 1 : from->vector);
}

/* Issue slots that a warp waits while it stores a tile, if its scheduler has so many. */
static double store_slots(double warps, const struct ffma_kernel *t)
{
    double stores = tile_stores(t->bm, &t->a, t) + tile_stores(t->bn, &t->b, t);
    bool apart = t->two_steps && warps > 1;
    return fmax(0, stores - STORES_QUEUED) * (apart ? STORE_SLOTS_APART : STORE_SLOTS);
}

/* Sums of a thread. A block has a tile's, whatever the description says of its threads. */
static double sums(const struct ffma_kernel *t)
{
    return fmax(t->tm * t->tn, t->bm * t->bn * t->teams / t->threads);
}

/* Issue slots of one warp for one k. */
static double k_slots(const struct ffma_kernel *t, const struct gpu *gpu)
{
    double ffma = sums(t), fragments = fragment_slots(t->tm, &lds) + fragment_slots(t->tn, &lds);
    double other =
        fragments + stage_slots(t->bm, &t->a, t) + stage_slots(t->bn, &t->b, t) + UNROLL_SLOTS / t->unroll;
    double slots = fmax(ffma + other, ffma * ffma_cycles(gpu));
    /* The last turn of the loop inside a tile is code of its own; the other turns stay in the cache. */
    double code_k = t->unroll < team_k(t) ? 2 * t->unroll : team_k(t);
    if (code_k * (ffma + fragments) * INSTRUCTION_BYTES > LOOP_BYTES_MAX)
        slots *= 1 + (LONG_LOOP_COST - 1) * code_k / team_k(t);
    return slots;
}

/* Steps of BK a block. */
static double k_tiles(const struct ffma_kernel *t)
{
    return ceil(t->k_block / t->bk);
}

/* Of the grid. */
static double blocks(const struct ffma_kernel *t)
{
    return t->tiles * t->splits;
}

/* The sums of teams go to shared memory and back, two barriers in between. */
static double team_cycles(double b, const struct ffma_kernel *t)
{
    if (t->teams < 2) return 0;
    return b * t->teams * t->bm * t->bn * TEAM_CYCLES + 2 * BARRIER_CYCLES;
}

/* Cycles that the warps of b blocks wait for each other, and for their own latencies, in a step over BK. */
static double step_wait_cycles(double b, const struct ffma_kernel *t)
{
    double warps = fmax(1, b * t->threads / 128.0); /* a scheduler */
    double turns = team_k(t) / t->unroll;
    double cycles = (t->two_steps ? WAIT_CYCLES : BARRIER_CYCLES) / (b * b);
    if (!t->two_steps && (t->a.async || t->b.async)) cycles += COPIES_CYCLES / (warps * warps);
    /* Two turns are straight code: the last one always is code of its own. */
    if (turns > 2) cycles += (turns - 1) * TURN_CYCLES / warps;
    return cycles;
}

/* Time of an SM that holds b blocks, from their first FFMA to the last: the busiest scheduler's issue slots,
 * unless it waits for shared memory at every k or for global memory at every tile. */
static double blocks_us(double b, const struct ffma_kernel *t, double slots, const struct gpu *gpu)
{
    double warps = ceil(b * t->threads / 32.0 / 4.0);
    double cycles = team_k(t) * fmax(warps * slots, LDS_CYCLES) +
                    warps * (TILE_SLOTS + store_slots(warps, t)) + step_wait_cycles(b, t);
    cycles /= latency_hidden(b * t->threads / 128.0, LONE_WARP);
    double stages = t->two_steps ? t->stages - 1 : t->stages;
    double tiles_ahead = t->a.async && t->b.async ? fmax(1, stages - 1) : stages > 1 ? 1 : 0.5;
    return (k_tiles(t) * fmax(cycles, LOAD_CYCLES / tiles_ahead) + team_cycles(b, t)) / gpu->clock_mhz;
}

/* SMs that a layer of blocks fills. */
static double usable_sms(const struct ffma_kernel *t, const struct gpu *gpu)
{
    return t->splits > 1 && t->reduce == FFMA_CLUSTER ? cluster_sms(gpu, t->splits) : gpu->sm_count;
}

static double compute_us(const struct ffma_kernel *t, const struct gpu *gpu, int resident)
{
    double slots = k_slots(t, gpu);
    double sms = usable_sms(t, gpu), at_once = resident * sms;
    double full = floor(blocks(t) / at_once), rest = blocks(t) - full * at_once;
    double time = full > 0 ? full * blocks_us(resident, t, slots, gpu) : 0;
    if (rest > 0) time += blocks_us(ceil(rest / sms), t, slots, gpu);
    return time;
}

/* Bytes of device memory that the blocks read, given what L2 keeps: bands of `group` rows of tiles walk along
 * the columns, so B is read once a band unless all of it stays in L2, and A once unless a band of it does
 * not. */
static double dram_bytes(const struct ffma_kernel *t, const struct problem *problem, const struct gpu *gpu,
                         int resident)
{
    double m = (double)problem->m, n = (double)problem->n, k = (double)problem->k;
    double a = 4 * m * k, b = 4 * k * n, c = 4 * m * n * (problem->beta != 0 ? 2 : 1);
    double tiles_m = ceil(m / t->bm), tiles_n = ceil(n / t->bn), kept = L2_KEPT * (double)gpu->l2_bytes;
    double at_once = (double)resident * gpu->sm_count / t->splits;
    double band = fmin(tiles_m, fmax(t->group, floor(at_once / tiles_n)));
    double columns = fmin(tiles_n, fmax(1, at_once / band));
    double b_reads = b <= kept ? 1 : ceil(tiles_m / band);
    double a_reads = 4 * band * t->bm * k <= kept ? 1 : ceil(tiles_n / columns);
    return (double)problem->batch * (a * a_reads + b * b_reads + c);
}

static double memory_us(const struct ffma_kernel *t, const struct problem *problem, const struct gpu *gpu,
                        int resident)
{
    double step_bytes = 4 * (t->bm + t->bn) * t->bk, ahead = fmax(1, t->stages - (t->two_steps ? 2 : 1));
    double busy = fmin(resident, ceil(blocks(t) / gpu->sm_count)) * fmin(gpu->sm_count, blocks(t));
    double flying = busy * 4 * t->bk * (t->bm * (t->a.async ? ahead : 1) + t->bn * (t->b.async ? ahead : 1));
    double dram = fmin(DRAM_SHARE * gpu->memory_gb_per_s * 1e3, flying / DRAM_LATENCY_US); /* bytes a us */
    double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    double from_l2 = blocks(t) * k_tiles(t) * step_bytes;
    return fmax(dram_bytes(t, problem, gpu, resident) / dram * narrow_stores(t->vc), from_l2 / l2);
}

/* The parts of a cut k: written and added. */
static double reduce_us(const struct ffma_kernel *t, const struct problem *problem, const struct gpu *gpu)
{
    double part_bytes = 4.0 * t->splits * (double)problem->m * (double)problem->n * (double)problem->batch;
    double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    double tile_bytes = 4 * t->bm * t->bn;
    if (t->reduce == FFMA_CLUSTER)
        return CLUSTER_US * t->splits + tile_bytes / (L2_BYTES_A_CLOCK * gpu->clock_mhz);
    if (t->reduce == FFMA_LAST_BLOCK) {
        return ARRIVE_US + part_bytes / l2 +
               t->splits * tile_bytes / (ONE_BLOCK_SHARE * L2_BYTES_A_CLOCK * gpu->clock_mhz);
    }
    bool cached = part_bytes <= L2_KEPT * (double)gpu->l2_bytes;
    return SECOND_LAUNCH_US + 2 * part_bytes / (cached ? l2 / 2 : DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* Until the first tile has come from device memory. */
static double fill_us(const struct ffma_kernel *t, const struct gpu *gpu, int resident)
{
    double at_once = fmin(blocks(t), (double)resident * gpu->sm_count);
    return FILL_US + at_once * 4 * (t->bm + t->bn) * t->bk / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* Blocks that an SM holds, of a grid that may be too small for more. */
static double blocks_together(const struct ffma_kernel *t, const struct gpu *gpu, int resident)
{
    return fmin(resident, ceil(blocks(t) / gpu->sm_count));
}

/* Share of a block's beginning and end that the other blocks of its SM do not hide. */
static double ends_seen(const struct ffma_kernel *t, double together)
{
    return 1 / fmax(1, (together - 1) * t->threads / 128.0);
}

/* Time of device memory in which nothing computes: of stores of C between waves, and of reads. */
static double exposed_us(const struct ffma_kernel *t, const struct problem *problem, const struct gpu *gpu,
                         int resident, double waves)
{
    double m = (double)problem->m, n = (double)problem->n, k = (double)problem->k;
    double together = blocks_together(t, gpu, resident), warps = fmax(1, together * t->threads / 128.0);
    double stores = waves > 1 && !t->adds_stores ? ends_seen(t, together) * (1 - 1 / waves) : 0;
    double reads = fmin(1, READS_SEEN / (t->bk * warps * warps * warps));
    double c = m * n * (problem->beta != 0 ? 2 : 1);
    double bytes = 4 * (double)problem->batch * (stores * c + reads * (m * k + k * n));
    return bytes / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

static double overhead_us(const struct ffma_kernel *t, const struct problem *problem, const struct gpu *gpu,
                          int resident, double waves)
{
    double time = LAUNCH_US + fill_us(t, gpu, resident);
    if (waves > 1) time += (ceil(waves) - 1) * REFILL_US * ends_seen(t, resident);
    if (t->splits > 1) time += reduce_us(t, problem, gpu);
    if (t->pack_bytes > 0) {
        /* Each slab but the first reads and writes C. */
        double c_bytes =
            8 * (t->slabs - 1) * (double)problem->m * (double)problem->n * (double)problem->batch;
        time += (2 * t->slabs - 1) * SECOND_LAUNCH_US +
                (t->pack_bytes + c_bytes) / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    }
    return time;
}

struct prediction ffma_predict(const struct ffma_kernel *t, const struct problem *problem,
                               const struct gpu *gpu, const struct kernel_facts *facts)
{
    double spills;
    int registers = find_registers(t, gpu, facts, &spills);
    int smem_bytes = t->smem_bytes + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, t->threads, registers, smem_bytes)};
    if (t->most_blocks > 0 && p.blocks_per_sm > t->most_blocks) p.blocks_per_sm = t->most_blocks;
    p.waves = blocks(t) / ((double)p.blocks_per_sm * gpu->sm_count);
    p.compute_us = compute_us(t, gpu, p.blocks_per_sm) * registers_spill_factor(spills);
    double exposed = exposed_us(t, problem, gpu, p.blocks_per_sm, p.waves);
    p.memory_us = fmax(0, memory_us(t, problem, gpu, p.blocks_per_sm) - exposed);
    p.overhead_us = overhead_us(t, problem, gpu, p.blocks_per_sm, p.waves) + exposed;
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, 4);
    return p;
}

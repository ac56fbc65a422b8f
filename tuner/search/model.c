/* model.c — the arithmetic behind a prediction, from a tile's cost in issue slots up to waves over the GPU.
 *
 * The constants were fitted to kernels measured on an H200; what they say of other GPUs follows from the
 * figures of the descriptor. Order matters here, not the last tenth: whatever does not change the order is
 * left out.
 */
#include "model.h"

#include "model_registers.h"
#include "model_resident.h"
#include "model_skinny.h"
#include "model_tall.h"
#include "template.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Issue slots of a warp. A scheduler issues one instruction a cycle, and shared-memory loads hold it longer,
 * narrow ones as long as wide ones: four schedulers share the unit that serves them. */
#define LDS_128_SLOTS 3.0
#define LDS_64_SLOTS  3.0
#define LDS_32_SLOTS  4.0
#define STAGE_VECTOR_COST                                                                                    \
    7.0 /* a 16-byte global load, its store to shared memory and its share of addresses */
#define STAGE_SCALAR_COST 9.0  /* the same for 4 bytes, with the edge tests that scalar loads need */
#define COPY_SCALAR_COST  12.0 /* the same by cp.async, transposed or not */
#define TRANSPOSE_COST    1.2  /* more for each element that is stored across the rows of a tile */
#define TILE_SLOTS        40.0 /* barrier, pointers and branch of one step over BK */
#define UNROLL_SLOTS      4.0  /* branch and pointers of one turn of the loop inside a tile */

#define INSTRUCTION_BYTES 16
#define LOOP_BYTES_MAX    32768.0 /* what the instruction cache feeds freely */
#define LONG_LOOP_COST    1.044   /* measured for a loop of 35 KB */

/* Cycles that a lone warp or block waits where others would fill the time. */
#define LDS_CYCLES     33.0  /* fragments of one k, requested one k ahead */
#define BARRIER_CYCLES 80.0  /* of a lone block; others fill it better than in proportion */
#define WAIT_CYCLES    20.0  /* the same where arrival and waiting lie apart */
#define TEAM_CYCLES    0.08  /* a sum: two passes of 128 bytes a cycle, some of them over banks twice */
#define LOAD_CYCLES    700.0 /* global memory, between L2 and device memory */

/* Registers of a thread besides C, fitted to 11,081 kernels (CUDA 13.0, sm_90a): without REGISTERS_NEEDED it
 * is as likely as not to spill, REGISTERS_LIKED more are what it takes where it may. */
#define REGISTERS_NEEDED    29
#define REGISTERS_LIKED     31
#define REGISTERS_LOAD      1.8 /* for the address of each load of a tile */
#define REGISTERS_LOOP_LOAD 0.5 /* the same where part of a tile is a loop, */
#define REGISTERS_LOOP      24  /* which takes more itself */

/* Latencies and fixed costs. */
#define LAUNCH_US        1.7
#define SECOND_LAUNCH_US 1.6 /* gemm_reduce behind gemm */
#define ARRIVE_US        1.8 /* of the last block of a tile: parts to L2, a count, the first parts back */
#define FILL_US          0.8 /* first tile from device memory until the first FFMA, and the last store */
#define DRAM_LATENCY_US  0.8
#define DRAM_SHARE       0.90 /* of the published bandwidth that a stream reaches */
#define L2_BYTES_A_CLOCK 28.0 /* an SM, measured on A100 and H100 */
#define CLUSTER_US       0.05 /* for each block of a cluster: two barriers, and waiting for the slowest */
#define GPC_SMS          16.5 /* a cluster stays within one; on average (size - 1) / 3 SMs of each are left over */
#define ONE_BLOCK_SHARE  1.25 /* more, where one block reads while most others have ended */
#define L2_KEPT          0.6  /* of L2 that survives between uses */

/* What the arithmetic needs to know of a configuration. */
struct tile {
    double bm, bn, bk, tm, tn, stages, va, vb, vc, group, unroll;
    double teams, team_k; /* warps that share out the k of a tile, and what each team multiplies of it */
    int threads, smem_bytes, registers, register_limit;
    bool async_a, async_b;   /* past the registers, by cp.async */
    bool two_steps;          /* warps arrive at a tile's barrier before they wait for it */
    bool across_a, across_b; /* lie across the rows of a stage in shared memory: transposed on the way */
    double spills;           /* how likely, 0..1 */
    double blocks, splits, k_tiles; /* the grid, and steps of BK a block */
    double reduce_bytes;            /* workspace written and read again */
    double pack_bytes;              /* operands copied first: read and written */
    double slabs, slab_bytes;       /* that k is copied in; of C, read and written for all but the first */
    bool last_block_adds;           /* the parts of its tile, instead of a second kernel */
    bool cluster_adds;              /* the sums of its blocks, without a workspace */
};

enum name {
    BM,
    BN,
    BK,
    TM,
    TN,
    WARPS_K,
    STAGES,
    LOADER,
    PACK,
    VA,
    VB,
    VC,
    UNROLL,
    MIN_BLOCKS,
    REDUCE,
    NAMES
};
static const char *const names[NAMES] = {"BM",   "BN", "BK", "TM", "TN",     "WARPS_K",    "STAGES", "LOADER",
                                         "PACK", "VA", "VB", "VC", "UNROLL", "MIN_BLOCKS", "REDUCE"};

/* The value of a parameter, or what a template without it amounts to. The places are looked up once a
 * template. */
static double value_of(const struct config *config, enum name name, double otherwise)
{
    static _Thread_local const struct template *known;
    static _Thread_local int place[NAMES];
    if (known != config->template) {
        for (int i = 0; i < NAMES; i++) place[i] = template_param(config->template, names[i]);
        known = config->template;
    }
    return place[name] < 0 ? otherwise : config->value[place[name]];
}

/* Registers without which the compiler spills: C, tiles on their way, the loads' addresses, and the rest. */
static double needed_registers(const struct tile *t, int accumulators)
{
    double loads_a = ceil(t->bm * t->bk / t->va / t->threads);
    double loads_b = ceil(t->bn * t->bk / t->vb / t->threads);
    double staged = (t->async_a ? 0 : t->va * loads_a) + (t->async_b ? 0 : t->vb * loads_b);
    double loads = loads_a + loads_b;
    double addresses =
        t->unroll < t->team_k ? REGISTERS_LOOP + REGISTERS_LOOP_LOAD * loads : REGISTERS_LOAD * loads;
    return accumulators + staged + addresses + REGISTERS_NEEDED;
}

static void find_registers(struct tile *t, int accumulators, int min_blocks, const struct gpu *gpu,
                           const struct kernel_facts *facts)
{
    if (facts) {
        t->registers = facts->registers;
        t->spills = facts->spill_bytes > 0;
        return;
    }
    double needed = needed_registers(t, accumulators);
    int limit = registers_limit(gpu, t->threads, min_blocks);
    t->registers = (int)fmin(needed + REGISTERS_LIKED, limit);
    t->spills = registers_spill_chance(needed, limit);
}

static const struct kernel_launch *main_launch(const struct launch_plan *plan)
{
    int i = 0;
    while (i < plan->kernels - 1 && strcmp(plan->kernel[i].entry, "gemm") != 0) i++;
    return &plan->kernel[i];
}

/* What becomes of the operands before and in the main loop. */
static void describe_operands(struct tile *t, const struct config *config, const struct problem *problem)
{
    int pack = (int)value_of(config, PACK, 0);
    int loader = (int)value_of(config, LOADER, 0);
    bool copies = loader > 0, all = loader == 3, pack_a = pack & 1, pack_b = pack & 2;
    t->across_a = !problem->trans_a && !pack_a;
    t->across_b = problem->trans_b && !pack_b;
    t->two_steps = loader == 2;
    t->async_a = copies && (all || !t->across_a);
    t->async_b = copies && (all || !t->across_b);
    double a = (double)problem->m * (double)problem->k, b = (double)problem->k * (double)problem->n;
    t->pack_bytes = 8 * (double)problem->batch * ((pack_a ? a : 0) + (pack_b ? b : 0));
}

static struct tile describe(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                            const struct kernel_facts *facts)
{
    struct launch_plan plan = {.kernels = 0};
    config->template->plan(config, problem, &plan);
    struct resources needs = config->template->resources(config);
    struct tile t = {.threads = needs.threads > 0 ? needs.threads : 32, .smem_bytes = needs.smem_bytes};
    if (facts) t.smem_bytes += facts->static_smem_bytes;
    double accumulators = needs.accumulators > 0 ? needs.accumulators : 1;
    double side = sqrt(t.threads * accumulators), per_thread = sqrt(accumulators);
    t.bm = value_of(config, BM, side);
    t.bn = value_of(config, BN, side);
    t.bk = value_of(config, BK, 1);
    t.tm = value_of(config, TM, per_thread);
    t.tn = value_of(config, TN, per_thread);
    t.stages = value_of(config, STAGES, 1);
    t.va = value_of(config, VA, 1);
    t.vb = value_of(config, VB, 1);
    t.vc = value_of(config, VC, 1);
    t.teams = value_of(config, WARPS_K, 1);
    t.team_k = t.bk / t.teams;
    t.unroll = value_of(config, UNROLL, t.team_k);
    describe_operands(&t, config, problem);
    t.slabs = plan.k_slab > 0 ? ceil((double)problem->k / (double)plan.k_slab) : 1;
    t.slab_bytes = 8 * (t.slabs - 1) * (double)problem->m * (double)problem->n * (double)problem->batch;
    t.group = plan.args.group > 1 ? plan.args.group : 1;
    t.splits = plan.args.splits > 1 ? plan.args.splits : 1;
    const unsigned *grid = main_launch(&plan)->grid;
    t.blocks = (double)grid[0] * grid[1] * (double)problem->batch;
    double k_a_block = t.splits > 1 ? plan.args.k_per_split : (double)problem->k;
    t.k_tiles = ceil(k_a_block / t.bk);
    t.last_block_adds = value_of(config, REDUCE, 0) == 1;
    t.cluster_adds = value_of(config, REDUCE, 0) > 1;
    if (t.splits > 1)
        t.reduce_bytes = 8.0 * t.splits * (double)problem->m * (double)problem->n * (double)problem->batch;
    find_registers(&t, needs.accumulators, (int)value_of(config, MIN_BLOCKS, 1), gpu, facts);
    return t;
}

static double fragment_slots(double width)
{
    if (fmod(width, 4) == 0) return width / 4 * LDS_128_SLOTS;
    if (fmod(width, 2) == 0) return width / 2 * LDS_64_SLOTS;
    return width * LDS_32_SLOTS;
}

/* Issue slots that one operand's tile costs a thread, for one step of k. */
static double stage_slots(double rows, double vector, bool async, bool transposed, const struct tile *t)
{
    double elements = rows * t->teams / t->threads;
    if (async && vector < 2) return elements * COPY_SCALAR_COST;
    double cost = vector >= 4   ? STAGE_VECTOR_COST / 4
                  : vector >= 2 ? (STAGE_VECTOR_COST + STAGE_SCALAR_COST) / 4
                                : STAGE_SCALAR_COST;
    return elements * (cost + (transposed ? TRANSPOSE_COST : 0));
}

/* Issue slots of one warp for one k. */
static double k_slots(const struct tile *t, const struct gpu *gpu)
{
    double lanes = gpu->fp32_tflops * 1e6 / (2.0 * gpu->sm_count * gpu->clock_mhz);
    double ffma_cycles = lanes > 96 ? 1 : 2; /* of the FP32 pipe of a scheduler: 32 lanes or 16 */
    double ffma = t->tm * t->tn, fragments = fragment_slots(t->tm) + fragment_slots(t->tn);
    double other = fragments + stage_slots(t->bm, t->va, t->async_a, t->across_a, t) +
                   stage_slots(t->bn, t->vb, t->async_b, t->across_b, t) + UNROLL_SLOTS / t->unroll;
    double slots = fmax(ffma + other, ffma * ffma_cycles);
    /* The last turn of the loop inside a tile is code of its own; the other turns stay in the cache. */
    double code_k = t->unroll < t->team_k ? 2 * t->unroll : t->team_k;
    if (code_k * (ffma + fragments) * INSTRUCTION_BYTES > LOOP_BYTES_MAX)
        slots *= 1 + (LONG_LOOP_COST - 1) * code_k / t->team_k;
    return slots;
}

/* Share of the issue slots that are used when each scheduler has w warps to choose from. With 7,000 kernels
 * of the large products measured, two warps of 16x8, three of 12x8 and four of 8x8 are predicted alike,
 * within 3 %. */
static double hiding(double w)
{
    return w < 1 ? 0.72 : 1 - 0.05 / (w * w) - 0.028;
}

/* The sums of teams go to shared memory and back, two barriers in between. */
static double team_cycles(double b, const struct tile *t)
{
    if (t->teams < 2) return 0;
    return b * t->teams * t->bm * t->bn * TEAM_CYCLES + 2 * BARRIER_CYCLES;
}

/* Time of an SM that holds b blocks, from their first FFMA to the last: the busiest scheduler's issue slots,
 * unless it waits for shared memory at every k or for global memory at every tile. */
static double blocks_us(double b, const struct tile *t, double slots, const struct gpu *gpu)
{
    double warps = ceil(b * t->threads / 32.0 / 4.0);
    double cycles = t->team_k * fmax(warps * slots, LDS_CYCLES) + warps * TILE_SLOTS +
                    (t->two_steps ? WAIT_CYCLES : BARRIER_CYCLES) / (b * b);
    cycles /= hiding(b * t->threads / 128.0);
    double stages = t->two_steps ? t->stages - 1 : t->stages;
    double tiles_ahead = t->async_a && t->async_b ? fmax(1, stages - 1) : stages > 1 ? 1 : 0.5;
    return (t->k_tiles * fmax(cycles, LOAD_CYCLES / tiles_ahead) + team_cycles(b, t)) / gpu->clock_mhz;
}

/* SMs that a layer of blocks fills: with clusters, whole ones within each GPC. On an H200 32 clusters of 4
 * large blocks, 64 of 4 with two blocks an SM, and 16 of 8 took two waves; 14 of 8 took one. */
static double usable_sms(const struct tile *t, const struct gpu *gpu)
{
    if (!t->cluster_adds) return gpu->sm_count;
    double left_over = gpu->sm_count / GPC_SMS * (t->splits - 1) / 3;
    return fmax(1, floor((gpu->sm_count - left_over) / t->splits)) * t->splits;
}

static double compute_us(const struct tile *t, const struct gpu *gpu, int resident)
{
    double slots = k_slots(t, gpu);
    double sms = usable_sms(t, gpu), at_once = resident * sms;
    double full = floor(t->blocks / at_once), rest = t->blocks - full * at_once;
    double time = full > 0 ? full * blocks_us(resident, t, slots, gpu) : 0;
    if (rest > 0) time += blocks_us(ceil(rest / sms), t, slots, gpu);
    return time * registers_spill_factor(t->spills);
}

/* Bytes of device memory that the blocks read, given what L2 keeps: bands of `group` rows of tiles walk along
 * the columns, so B is read once a band unless all of it stays in L2, and A once unless a band of it does
 * not. */
static double dram_bytes(const struct tile *t, const struct problem *problem, const struct gpu *gpu,
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

static double memory_us(const struct tile *t, const struct problem *problem, const struct gpu *gpu,
                        int resident)
{
    double step_bytes = 4 * (t->bm + t->bn) * t->bk, ahead = fmax(1, t->stages - (t->two_steps ? 2 : 1));
    double busy = fmin(resident, ceil(t->blocks / gpu->sm_count)) * fmin(gpu->sm_count, t->blocks);
    double flying = busy * 4 * t->bk * (t->bm * (t->async_a ? ahead : 1) + t->bn * (t->async_b ? ahead : 1));
    double dram = fmin(DRAM_SHARE * gpu->memory_gb_per_s * 1e3, flying / DRAM_LATENCY_US); /* bytes a us */
    double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    double from_l2 = t->blocks * t->k_tiles * step_bytes;
    double narrow = t->vc >= 4 ? 1 : t->vc >= 2 ? 1.02 : 1.06; /* stores of C that need more instructions */
    return fmax(dram_bytes(t, problem, gpu, resident) / dram * narrow, from_l2 / l2);
}

/* The parts of a cut k: written and added. */
static double reduce_us(const struct tile *t, const struct gpu *gpu)
{
    double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    double tile_bytes = 4 * t->bm * t->bn;
    if (t->cluster_adds) return CLUSTER_US * t->splits + tile_bytes / (L2_BYTES_A_CLOCK * gpu->clock_mhz);
    if (t->last_block_adds) {
        return ARRIVE_US + t->reduce_bytes / 2 / l2 +
               t->splits * tile_bytes / (ONE_BLOCK_SHARE * L2_BYTES_A_CLOCK * gpu->clock_mhz);
    }
    bool cached = t->reduce_bytes / 2 <= L2_KEPT * (double)gpu->l2_bytes;
    return SECOND_LAUNCH_US + t->reduce_bytes / (cached ? l2 / 2 : DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

static double overhead_us(const struct tile *t, const struct gpu *gpu, int resident, double waves)
{
    double time = LAUNCH_US + FILL_US;
    /* Later waves fill their pipelines while the blocks beside them compute. */
    if (waves > 1) time += (ceil(waves) - 1) * FILL_US / (1 + resident);
    if (t->splits > 1) time += reduce_us(t, gpu);
    if (t->pack_bytes > 0)
        time += (2 * t->slabs - 1) * SECOND_LAUNCH_US +
                (t->pack_bytes + t->slab_bytes) / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    return time;
}

struct prediction model_predict(const struct config *config, const struct problem *problem,
                                const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct prediction p = {.overhead_us = LAUNCH_US, .time_us = LAUNCH_US};
    if (problem->m == 0 || problem->n == 0 || problem->batch == 0) return p;
    if (strcmp(config->template->name, "skinny") == 0)
        return model_skinny_predict(config, problem, gpu, facts);
    if (strcmp(config->template->name, "resident") == 0)
        return model_resident_predict(config, problem, gpu, facts);
    if (strcmp(config->template->name, "tall") == 0) return model_tall_predict(config, problem, gpu, facts);
    struct tile t = describe(config, problem, gpu, facts);
    p.blocks_per_sm = blocks_at_once(gpu, t.threads, t.registers, t.smem_bytes);
    p.waves = t.blocks / ((double)p.blocks_per_sm * gpu->sm_count);
    p.compute_us = compute_us(&t, gpu, p.blocks_per_sm);
    p.memory_us = memory_us(&t, problem, gpu, p.blocks_per_sm);
    p.overhead_us = overhead_us(&t, gpu, p.blocks_per_sm, p.waves);
    /* The larger of the two, a little more where they are close: they never overlap perfectly. */
    double least = fmin(p.compute_us, p.memory_us), most = fmax(p.compute_us, p.memory_us);
    p.time_us = p.overhead_us + (most > 0 ? most * pow(1 + pow(least / most, 4), 0.25) : 0);
    return p;
}

struct ranked {
    double time_us;
    size_t index;
};

static int by_time(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->time_us != b->time_us) return a->time_us < b->time_us ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Bring candidates into the given order, which is used up, without a second copy of them all. */
static void permute(struct config *candidates, struct ranked *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (order[i].index == i) continue;
        struct config first = candidates[i];
        size_t hole = i;
        while (order[hole].index != i) {
            size_t from = order[hole].index;
            candidates[hole] = candidates[from];
            order[hole].index = hole;
            hole = from;
        }
        candidates[hole] = first;
        order[hole].index = hole;
    }
}

enum status model_sort(struct config *candidates, size_t count, const struct problem *problem,
                       const struct gpu *gpu, double *predicted_us)
{
    struct ranked *order = malloc((count + 1) * sizeof *order);
    if (!order) return fail(E_MEMORY, "out of memory while sorting %zu candidates", count);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){model_predict(&candidates[i], problem, gpu, NULL).time_us, i};
    qsort(order, count, sizeof *order, by_time);
    for (size_t i = 0; predicted_us && i < count; i++) predicted_us[i] = order[i].time_us;
    permute(candidates, order, count);
    free(order);
    return OK;
}

double model_roofline_us(const struct problem *problem, double tflops, double gb_per_s)
{
    double compute = problem_flop(problem) / (tflops * 1e6),
           memory = problem_bytes(problem) / (gb_per_s * 1e3);
    return fmax(compute, memory) + LAUNCH_US;
}

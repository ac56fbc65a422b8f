/* model_skinny.c — predicted time of the skinny family: the streamed operand's bytes at the speed that the
 * bytes on their way sustain, unless arithmetic takes longer, and what a launch, waves and the last sums add.
 */
#include "model_skinny.h"

#include "templates.h"
#include <math.h>

/* Issue slots of a warp. */
#define LDS_SLOTS  2.0  /* a 16-byte vector of the small operand, the same for all or for many lanes */
#define LDG_SLOTS  4.0  /* a load of the streamed operand with its address */
#define STEP_SLOTS 24.0 /* branches, pointers */
#define FILLED     0.85 /* of the issue slots, with enough warps */

#define REGISTERS_BASE 44 /* besides sums and fragments: what the compiler (CUDA 13.0, sm_90a) took */

#define LATENCY_US       0.80 /* of device memory under load */
#define DRAM_SHARE       0.90 /* of the published bandwidth that a stream reaches */
#define L2_BYTES_A_CLOCK 28.0 /* an SM */
#define LAUNCH_US        2.2
#define FILL_US          1.0  /* until the first fragment is there */
#define BLOCK_SUM_US     0.25 /* over lanes and warps, a pass of eight rows */
#define ARRIVE_US        1.2  /* fence, count, fence */
#define L2_TRIP_US       0.6  /* eight parts are read in one */

enum name { SIDE, ROWS, TX, VX, LANES_X, WARPS_X, WARPS_K, DEPTH, MIN_BLOCKS, NAMES };
static const char *const names[NAMES] = {"SIDE",    "ROWS",    "TX",    "VX",        "LANES_X",
                                         "WARPS_X", "WARPS_K", "DEPTH", "MIN_BLOCKS"};

struct shape {
    double value[NAMES];
    double columns, tiles, splits, k, blocks; /* k and blocks of a launch; k of a block */
    int threads, smem_bytes, registers;
    bool along_k; /* the streamed operand is contiguous along k */
};

static struct shape describe(const struct config *config, const struct problem *p, const struct gpu *gpu,
                             const struct kernel_facts *facts)
{
    static _Thread_local const struct template *known;
    static _Thread_local int place[NAMES];
    if (known != config->template) {
        for (int i = 0; i < NAMES; i++) place[i] = template_param(config->template, names[i]);
        known = config->template;
    }
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    struct resources needs = config->template->resources(config);
    struct shape s = {.threads = needs.threads, .smem_bytes = needs.smem_bytes};
    for (int i = 0; i < NAMES; i++) s.value[i] = config->value[place[i]];
    s.along_k = s.value[SIDE] == 0 ? p->trans_b : !p->trans_a;
    s.columns = (double)(s.value[SIDE] == 0 ? p->n : p->m);
    s.tiles = plan.kernel[0].grid[0];
    s.splits = plan.args.splits;
    s.k = s.splits > 1 ? plan.args.k_per_split : (double)p->k;
    s.blocks = s.tiles * s.splits * (double)p->batch;
    int limit = gpu->registers_per_sm / (int)(s.threads * s.value[MIN_BLOCKS]) / 8 * 8;
    double wanted = s.value[TX] * (s.value[ROWS] + 4 * s.value[DEPTH]) + REGISTERS_BASE;
    s.registers = facts ? facts->registers : (int)fmin(fmin(wanted, limit), 255);
    return s;
}

static int occupancy(const struct shape *s, const struct gpu *gpu)
{
    int registers = s->registers > 16 ? (s->registers + 7) / 8 * 8 : 16;
    int blocks = gpu->registers_per_sm / (registers * s->threads);
    int by_threads = gpu->threads_per_sm / s->threads;
    int by_smem = gpu->smem_per_sm_bytes / (s->smem_bytes + gpu->smem_reserved_bytes + 1);
    if (by_threads < blocks) blocks = by_threads;
    if (by_smem < blocks) blocks = by_smem;
    if (gpu->blocks_per_sm < blocks) blocks = gpu->blocks_per_sm;
    return blocks > 1 ? blocks : 1;
}

/* Share of what is fetched that is used, and of the bandwidth that such short rows reach. */
static double row_efficiency(const struct shape *s)
{
    double lanes = s->along_k ? 32 / s->value[LANES_X] : s->value[LANES_X];
    double bytes = lanes * s->value[VX] * 4;
    if (bytes < 32) return 0.75 * bytes / 32;
    return bytes < 64 ? 0.75 : bytes < 128 ? 0.88 : bytes < 256 ? 0.96 : 1.0;
}

/* Of the streamed operand, and a block's share of C. */
static double block_bytes(const struct shape *s)
{
    double columns = fmin(s->columns, s->value[WARPS_X] * s->value[LANES_X] * s->value[TX]);
    return 4 * columns * (s->k + s->value[ROWS] / s->splits);
}

/* Issue slots of all warps of a block, for one scheduler of four. */
static double block_slots(const struct shape *s)
{
    double lane_k = 4, lanes_k = 32 / s->value[LANES_X];
    double steps = ceil(s->k / (s->value[WARPS_K] * lanes_k * lane_k));
    double vectors = s->along_k ? lane_k / s->value[VX] : 1;
    double step = s->value[ROWS] * (lane_k * s->value[TX] + LDS_SLOTS * vectors) +
                  LDG_SLOTS * lane_k * s->value[TX] / s->value[VX] + STEP_SLOTS;
    return steps * step * s->threads / 32 / 4;
}

/* A wave of `blocks` blocks: by bandwidth, by what is on its way, by arithmetic. */
static void wave(const struct shape *s, const struct gpu *gpu, double blocks, struct prediction *p)
{
    double an_sm = ceil(blocks / gpu->sm_count), bytes = block_bytes(s);
    double ahead = s->value[DEPTH] > 1 ? s->value[DEPTH] - 0.5 : 0.7; /* fragments on their way, on average */
    double flying = s->threads * 16 * s->value[TX] * ahead;
    double dram = DRAM_SHARE * gpu->memory_gb_per_s * 1e3 * row_efficiency(s);
    double small = 4 * s->value[ROWS] * s->k;
    double l2 = L2_BYTES_A_CLOCK * gpu->clock_mhz;
    p->memory_us +=
        fmax(fmax(blocks * bytes / dram, bytes * LATENCY_US / flying), an_sm * (bytes + small) / l2);
    p->compute_us += an_sm * block_slots(s) / (FILLED * gpu->clock_mhz);
}

/* The last block of a tile adds its parts, eight at a time. */
static double join_us(const struct shape *s)
{
    if (s->splits <= 1) return 0;
    double tile = s->value[ROWS] * s->value[WARPS_X] * s->value[LANES_X] * s->value[TX] / 4;
    double ways = fmax(1, fmin(s->value[WARPS_K], floor(s->threads / fmin(tile, s->threads))));
    double turns = ceil(tile / s->threads) * ceil(s->splits / ways / 8);
    return ARRIVE_US + L2_TRIP_US * turns;
}

struct prediction model_skinny_predict(const struct config *config, const struct problem *problem,
                                       const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct shape s = describe(config, problem, gpu, facts);
    struct prediction p = {.blocks_per_sm = occupancy(&s, gpu)};
    double at_once = (double)p.blocks_per_sm * gpu->sm_count;
    p.waves = s.blocks / at_once;
    double full = floor(p.waves), rest = s.blocks - full * at_once;
    if (full > 0) {
        wave(&s, gpu, at_once, &p);
        p.memory_us *= full;
        p.compute_us *= full;
    }
    if (rest > 0) wave(&s, gpu, rest, &p);
    double passes = ceil(s.value[ROWS] / 8);
    p.overhead_us = LAUNCH_US + FILL_US * (1 + (ceil(p.waves) - 1) / (1 + p.blocks_per_sm)) +
                    BLOCK_SUM_US * passes + join_us(&s);
    double least = fmin(p.compute_us, p.memory_us), most = fmax(p.compute_us, p.memory_us);
    p.time_us = p.overhead_us + (most > 0 ? most * pow(1 + pow(least / most, 4), 0.25) : 0);
    return p;
}

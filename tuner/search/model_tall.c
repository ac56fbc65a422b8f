/* model_tall.c — predicted time of the tall family: every SM has its share of the tiles, and issues their
 * instructions while the streamed operand and C move at the speed of device memory, or of what is on its way.
 *
 * Nothing here was fitted to this family: instructions are counted in its machine code (CUDA 13.0, sm_90a),
 * all else is as in model_resident.c. The fastest 18 kernels of three problems on an H200 took 0.98 to 1.15
 * times what it says, the fastest of each was 15th, 33rd and 504th in its order.
 */
#include "model_tall.h"

#include "model_stream.h"
#include "template.h"
#include <math.h>

/* Issue slots of a thread's warp. */
#define COPY_SLOTS  3.0  /* an asynchronous copy of 16 bytes, and the next row's address */
#define STAGE_SLOTS 75.0 /* barrier, shifts, pointers and branches */
#define TURN_SLOTS  4.0  /* of the loop inside a stage */
#define REST_SLOTS  30.0 /* a step left over: the next one's fragments are waited for */

enum name { SIDE, BM, BN, BK, TM, TN, STAGES, VC, UNROLL, MIN_BLOCKS, NAMES };
static const char *const names[NAMES] = {"SIDE", "BM",     "BN", "BK",     "TM",
                                         "TN",   "STAGES", "VC", "UNROLL", "MIN_BLOCKS"};

struct shape {
    double value[NAMES];
    double small_x, tall_x, small_t, tall_t; /* of a tile, of a thread */
    double walkers, tiles;                   /* blocks, and what they share */
    double k, k_tiles, threads;
};

static struct shape describe(const struct config *config, const struct problem *p)
{
    static _Thread_local const struct template *known;
    static _Thread_local int place[NAMES];
    if (!known || known != config->template) {
        for (int i = 0; i < NAMES; i++) place[i] = template_param(config->template, names[i]);
        known = config->template;
    }
    struct launch_plan plan;
    config->template->plan(config, p, &plan);
    struct shape s = {.threads = plan.kernel[0].threads, .walkers = plan.kernel[0].grid[0]};
    for (int i = 0; i < NAMES; i++) s.value[i] = config->value[place[i]];
    const bool low = s.value[SIDE] == 0;
    s.small_x = low ? s.value[BM] : s.value[BN];
    s.tall_x = low ? s.value[BN] : s.value[BM];
    s.small_t = low ? s.value[TM] : s.value[TN];
    s.tall_t = low ? s.value[TN] : s.value[TM];
    s.tiles = ceil((double)(low ? p->n : p->m) / s.tall_x);
    s.k = (double)p->k;
    s.k_tiles = ceil(s.k / s.value[BK]);
    return s;
}

static double fragment_slots(double width)
{
    if (fmod(width, 4) == 0) return width / 4 * LDS_128_SLOTS;
    if (fmod(width, 2) == 0) return width / 2 * LDS_64_SLOTS;
    return width * LDS_32_SLOTS;
}

/* A step of one warp: its instructions, or the four schedulers' turns at shared memory, which serves a row of
 * the tall side each cycle, and of the small one four floats in two. */
static double step_slots(const struct shape *s, const struct gpu *gpu)
{
    double lanes = gpu->fp32_tflops * 1e6 / (2.0 * gpu->sm_count * gpu->clock_mhz);
    double sums = s->value[TM] * s->value[TN];
    double ffma_cycles = lanes > 96 ? 1 : 2; /* a scheduler has 32 lanes or 16 */
    double issued = sums + s->tall_t * LDS_32_SLOTS + fragment_slots(s->small_t);
    return fmax(fmax(issued, sums * ffma_cycles), 4 * (s->tall_t + s->small_t / 2));
}

/* Steps of a stage of so many k that no whole turn of the loop has room for. What the last one reads ahead
 * nobody waits for. */
static double rest_of(const struct shape *s, double k)
{
    return fmax(fmod(k, s->value[UNROLL]) - 0.6, 0);
}

/* Issue slots of one warp for a tile of C. The first stage of a tile is the short one. */
static double tile_slots(const struct shape *s, const struct gpu *gpu)
{
    const double *v = s->value;
    double sums = v[TM] * v[TN], vectors = floor((v[BK] + 6) / 4);
    double along = exp2(ceil(log2(vectors)));
    double copies = ceil(s->tall_x * along / s->threads) * COPY_SLOTS;
    double first = s->k_tiles > 0 ? s->k - (s->k_tiles - 1) * v[BK] : 0;
    double rests = rest_of(s, first) + fmax(s->k_tiles - 1, 0) * rest_of(s, v[BK]);
    return s->k * (step_slots(s, gpu) + TURN_SLOTS / v[UNROLL]) + rests * REST_SLOTS +
           s->k_tiles * (STAGE_SLOTS + copies) + TILE_SLOTS + sums * (2 + STORE_SLOTS / v[VC]);
}

/* All of a tile's code goes through the instruction cache again and again where it has few stages. */
static double code_bytes(const struct shape *s)
{
    const double *v = s->value;
    double sums = v[TM] * v[TN], tile = s->k_tiles < 3 ? sums * 3 + TILE_SLOTS : 0;
    return 16 * ((v[UNROLL] + 1) * (sums + s->tall_t + s->small_t / 4) + STAGE_SLOTS + tile);
}

/* Share of the issue slots that are used when each scheduler has w warps to choose from (as in model.c). */
static double hiding(double w)
{
    return w < 1 ? 0.72 : 1 - 0.25 / (w * w) - 0.028;
}

/* Tiles of the SM that has most of them: block b is on SM b % sm_count, and the first blocks have one more.
 */
static double tiles_an_sm(const struct shape *s, const struct gpu *gpu, double batch)
{
    double each = floor(s->tiles / s->walkers), more = s->tiles - each * s->walkers;
    return batch * (ceil(s->walkers / gpu->sm_count) * each + ceil(more / gpu->sm_count));
}

static double compute_us(const struct shape *s, const struct gpu *gpu, double batch, double blocks_an_sm)
{
    double warps = s->threads / 32, tiles = tiles_an_sm(s, gpu, batch);
    double cycles = tile_slots(s, gpu) * fmax(warps / 4, 1 / blocks_an_sm) / hiding(blocks_an_sm * warps / 4);
    cycles += s->k_tiles * BARRIER_CYCLES / (blocks_an_sm * blocks_an_sm);
    cycles *= 1 + LONG_CODE_COST * fmax(0, code_bytes(s) - CODE_BYTES_MAX);
    return tiles * cycles / gpu->clock_mhz;
}

static double memory_us(const struct shape *s, const struct gpu *gpu, const struct problem *p,
                        double blocks_an_sm)
{
    double m = (double)p->m, n = (double)p->n, batch = (double)p->batch;
    double reads = 4 * batch * s->k * (s->value[SIDE] == 0 ? n : m);
    double writes = 4 * batch * m * n * (p->beta != 0 ? 2 : 1);
    double sms = fmin(gpu->sm_count, s->walkers);
    double flying = sms * blocks_an_sm * 4 * (s->value[STAGES] - 1) * s->value[BK] * s->tall_x;
    double dram = DRAM_SHARE * gpu->memory_gb_per_s * 1e3; /* bytes a us */
    double l2 = L2_BYTES_A_CLOCK * gpu->clock_mhz * sms;
    double narrow = s->value[VC] >= 4 ? 1 : s->value[VC] >= 2 ? 1.02 : 1.06;
    /* A row is a vector longer than its floats, in L2. */
    double vectors = reads * (s->value[BK] + 4) / s->value[BK];
    return fmax((reads + writes) / dram * narrow, fmax(reads * LATENCY_US / flying, (vectors + writes) / l2));
}

struct prediction model_tall_predict(const struct config *config, const struct problem *problem,
                                     const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct shape s = describe(config, problem);
    double batch = (double)problem->batch, blocks = s.walkers * batch;
    struct prediction p = {.blocks_per_sm = (int)s.value[MIN_BLOCKS]};
    double blocks_an_sm = fmin(s.value[MIN_BLOCKS], ceil(blocks / gpu->sm_count));
    p.waves = blocks / (s.value[MIN_BLOCKS] * gpu->sm_count);
    p.compute_us = compute_us(&s, gpu, batch, blocks_an_sm);
    if (facts && facts->spill_bytes > 0) p.compute_us *= SPILL_SLOWDOWN;
    p.memory_us = memory_us(&s, gpu, problem, blocks_an_sm);
    p.overhead_us = LAUNCH_US + ceil(p.waves) * (FILL_US + STAY_US * s.k * s.small_x / s.threads);
    double least = fmin(p.compute_us, p.memory_us), most = fmax(p.compute_us, p.memory_us);
    p.time_us = p.overhead_us + (most > 0 ? most * pow(1 + pow(least / most, 4), 0.25) : 0);
    return p;
}

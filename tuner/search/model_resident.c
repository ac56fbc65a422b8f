/* model_resident.c — predicted time of the resident family: every SM has its share of the tiles, and issues
 * their instructions while the streamed operand and C move at the speed of device memory, or of what is on
 * its way.
 */
#include "model_resident.h"

#include "model_stream.h"
#include "template.h"
#include <math.h>

/* Issue slots of a thread's warp. */
#define COPY_SLOTS  4.0  /* an asynchronous copy, its address and guard */
#define ALONG_SLOTS 34.0 /* one that transposes, a float: a line of memory for each few lanes */
#define STAGE_SLOTS 60.0 /* barrier, pointers and branches */
#define FLOW_SLOTS  64.0 /* two mbarriers instead */
#define BULK_SLOTS  5.0  /* a bulk copy of a row, by one warp of the block */
#define BULK_TURN   30.0 /* of the warp whose turn it is */
#define ODD_SLOTS   12.0 /* fragments are not ahead at the end of an odd stage */
#define TURN_SLOTS  5.0  /* of the loop inside a stage */

enum name { SIDE, BM, BN, BK, TM, TN, STAGES, LOADER, VS, VC, UNROLL, MIN_BLOCKS, NAMES };
static const char *const names[NAMES] = {"SIDE",   "BM",     "BN", "BK", "TM",     "TN",
                                         "STAGES", "LOADER", "VS", "VC", "UNROLL", "MIN_BLOCKS"};

struct shape {
    double value[NAMES];
    double resident_x, stream_x;                    /* of a tile */
    double rows, walkers, tiles;                    /* rows of tiles; blocks of a row; tiles of a row */
    double k, k_rows, k_tiles, threads, smem_bytes; /* k_rows: with the zeros that fill them up */
    bool along_k;                                   /* the streamed operand is transposed on its way */
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
    struct shape s = {.threads = plan.kernel[0].threads, .smem_bytes = plan.kernel[0].smem_bytes};
    for (int i = 0; i < NAMES; i++) s.value[i] = config->value[place[i]];
    const bool low = s.value[SIDE] == 0;
    s.resident_x = low ? s.value[BM] : s.value[BN];
    s.stream_x = low ? s.value[BN] : s.value[BM];
    s.along_k = low ? p->trans_b : !p->trans_a;
    s.rows = ceil((double)(low ? p->m : p->n) / s.resident_x);
    s.tiles = ceil((double)(low ? p->n : p->m) / s.stream_x);
    s.walkers = plan.kernel[0].grid[0] / s.rows;
    s.k = (double)p->k;
    s.k_tiles = ceil(s.k / s.value[BK]);
    const double step = s.value[LOADER] == 1 ? s.value[BK] : s.value[UNROLL];
    s.k_rows = ceil(s.k / step) * step;
    return s;
}

static double fragment_slots(double width)
{
    if (fmod(width, 4) == 0) return width / 4 * LDS_128_SLOTS;
    if (fmod(width, 2) == 0) return width / 2 * LDS_64_SLOTS;
    return width * LDS_32_SLOTS;
}

/* Issue slots of one warp for a tile of C. */
static double tile_slots(const struct shape *s, const struct gpu *gpu)
{
    const double *v = s->value;
    double lanes = gpu->fp32_tflops * 1e6 / (2.0 * gpu->sm_count * gpu->clock_mhz);
    double sums = v[TM] * v[TN], ffma_cycles = lanes > 96 ? 1 : 2; /* a scheduler has 32 lanes or 16 */
    double step = sums + fragment_slots(v[TM]) + fragment_slots(v[TN]);
    double floats = s->stream_x * v[BK] / s->threads;
    double copies = s->along_k ? floats * ALONG_SLOTS : floats / v[VS] * COPY_SLOTS;
    double stage = copies;
    if (v[LOADER] == 1)
        stage +=
            STAGE_SLOTS + floor((v[BK] - 1) / v[UNROLL]) * TURN_SLOTS + (fmod(v[BK], 2) == 1 ? ODD_SLOTS : 0);
    else stage += FLOW_SLOTS + v[BK] / v[UNROLL] * TURN_SLOTS;
    if (v[LOADER] == 3) stage += (v[BK] * BULK_SLOTS + BULK_TURN) * 32 / s->threads - copies;
    return s->k_rows * fmax(step, sums * ffma_cycles) + s->k_tiles * stage + TILE_SLOTS +
           sums * (2 + STORE_SLOTS / v[VC]);
}

/* Where little is left of a tile but its stages, all of it goes through the instruction cache again and
 * again. */
static double code_bytes(const struct shape *s)
{
    const double *v = s->value;
    double turns = floor((v[BK] - 1) / v[UNROLL]);
    double steps = v[LOADER] > 1 ? v[UNROLL] : turns > 1 ? v[BK] - (turns - 1) * v[UNROLL] : v[BK];
    double sums = v[TM] * v[TN], tile = s->k_tiles < 3 ? sums * 3 + TILE_SLOTS : 0;
    return 16 * (steps * (sums + (v[TM] + v[TN]) / 4) + STAGE_SLOTS + tile);
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
    double blocks = s->rows * s->walkers, each = floor(s->tiles / s->walkers);
    double more = (s->tiles - each * s->walkers) * s->rows;
    return batch * (ceil(blocks / gpu->sm_count) * each + ceil(more / gpu->sm_count));
}

static double compute_us(const struct shape *s, const struct gpu *gpu, double batch, double blocks_an_sm)
{
    double warps = s->threads / 32, tiles = tiles_an_sm(s, gpu, batch);
    double cycles = tile_slots(s, gpu) * warps / 4 / hiding(blocks_an_sm * warps / 4);
    cycles += s->k_tiles * BARRIER_CYCLES / (blocks_an_sm * blocks_an_sm);
    cycles *= 1 + LONG_CODE_COST * fmax(0, code_bytes(s) - CODE_BYTES_MAX);
    return tiles * cycles / gpu->clock_mhz;
}

/* Device memory sees the streamed operand once: the rows of tiles walk side by side and share it in L2. */
static double memory_us(const struct shape *s, const struct gpu *gpu, const struct problem *p,
                        double blocks_an_sm)
{
    double m = (double)p->m, n = (double)p->n, batch = (double)p->batch;
    double reads = 4 * batch * s->k * (s->value[SIDE] == 0 ? n : m);
    double writes = 4 * batch * m * n * (p->beta != 0 ? 2 : 1);
    double sms = fmin(gpu->sm_count, s->rows * s->walkers);
    double flying = sms * blocks_an_sm * 4 * (s->value[STAGES] - 1) * s->value[BK] * s->stream_x;
    double dram = DRAM_SHARE * gpu->memory_gb_per_s * 1e3; /* bytes a us */
    double l2 = L2_BYTES_A_CLOCK * gpu->clock_mhz * sms;
    double narrow = s->value[VC] >= 4 ? 1 : s->value[VC] >= 2 ? 1.02 : 1.06;
    return fmax((reads + writes) / dram * narrow,
                fmax(reads * s->rows * LATENCY_US / flying, (reads * s->rows + writes) / l2));
}

struct prediction model_resident_predict(const struct config *config, const struct problem *problem,
                                         const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct shape s = describe(config, problem);
    double batch = (double)problem->batch, blocks = s.rows * s.walkers * batch;
    struct prediction p = {.blocks_per_sm = (int)s.value[MIN_BLOCKS]};
    double blocks_an_sm = fmin(s.value[MIN_BLOCKS], ceil(blocks / gpu->sm_count));
    p.waves = blocks / (s.value[MIN_BLOCKS] * gpu->sm_count);
    p.compute_us = compute_us(&s, gpu, batch, blocks_an_sm);
    if (facts && facts->spill_bytes > 0) p.compute_us *= SPILL_SLOWDOWN;
    p.memory_us = memory_us(&s, gpu, problem, blocks_an_sm);
    p.overhead_us = LAUNCH_US + ceil(p.waves) * (FILL_US + STAY_US * s.k * s.resident_x / s.threads);
    double least = fmin(p.compute_us, p.memory_us), most = fmax(p.compute_us, p.memory_us);
    p.time_us = p.overhead_us + (most > 0 ? most * pow(1 + pow(least / most, 4), 0.25) : 0);
    return p;
}

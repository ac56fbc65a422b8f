/* skinny.c — few rows or columns in strict FP32 on the host: what a block needs, which parameter is what, and
 * the predicted time: the streamed operand's bytes at the speed that the bytes on their way sustain, unless
 * instructions take longer, and what a launch, waves and the last sums add. The constants were fitted to
 * 4,100 trials of six problems on an H200; those of waiting, bandwidth and turnover again to half of
 * tests/data/h200_skinny.json.gz, half of the points in tests/unit/search/test_model_skinny.c and the shipped
 * winners.
 */
#define FAMILY_PARAMS "skinny_params.def"
#define FAMILY_RULES  "skinny_rules.h"
#include "family_template.h"

#include "cost_parts.h"
#include "cost_registers.h"
#include "outcome.h"

#include <math.h>

#define REGISTERS_LEAST 28 /* pointers and a vector of the small operand */
#define COUNTERS_UNIT   64 /* what follows them begins at a multiple of 256 bytes */

/* Runs of k begin where the widest vectors may, and whole lines of memory where k is contiguous. */
static int k_unit(const struct config *config, const struct problem *p)
{
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    return STREAM_ALONG_K ? 32 : K_LANE;
}

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = 4 * SMEM_FLOATS,
                                .sums = ROWS_W * TX,
                                .registers = TX * (ROWS_W + DEPTH * K_LANE) + REGISTERS_LEAST,
                                .m = SIDE == 0 ? ROWS : TILE_X,
                                .n = SIDE == 0 ? TILE_X : ROWS,
                                .k = p ? k_unit(config, p) : K_LANE,
                                .part_floats = PART_FLOATS};
}

static const struct tiled tiled_skinny = {
    .at = {.sized = AT(LOADER),
           .side = AT(SIDE),
           .few = AT(ROWS),
           .min_blocks = AT(MIN_BLOCKS),
           .split_k = AT(SPLIT_K),
           .reduce = AT(REDUCE)},
    .computes = "the skinny family computes sgemm",
    .needs = {{AT(LOADER), 0, 80, "LOADER above 0 needs cp.async (sm_80)"},
              {AT(REDUCE), 1, 90, "REDUCE above 1 needs clusters (sm_90)"}},
    .few = {"C has more rows than ROWS", "C has more columns than ROWS"},
    .vectors = {WIDER(VX, STREAMED, "the streamed operand"), WIDER(VS, SMALL, "the small operand"),
                WIDER(VC, C, "C")},
    .smem = "the chunks or sums do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .sizes_first = true,
    .parts_bytes_max = INT64_C(64) << 20,
    .parts = "SPLIT_K needs more than 64 MiB of workspace",
    .beside_floats = COUNTERS_UNIT,
    .rules = check_rules,
    .sizes = sizes,
};

static struct tile tile(const struct config *config)
{
    const int x = TILE_X;
    return (struct tile){.m = SIDE == 0 ? ROWS : x, .n = SIDE == 0 ? x : ROWS, .k = CHUNK_K};
}

/* ---- the predicted time ---- */

/* Issue slots of a warp. */
#define LDS_SLOTS  0.9   /* a 16-byte vector of the small operand, the same for all or for many lanes */
#define LDG_SLOTS  3.6   /* a load of the streamed operand with its address */
#define STEP_SLOTS 5.0   /* branches, pointers */
#define COPY_SLOTS 20.0  /* a vector of the small operand on its way to shared memory */
#define AS_IT_LIES 0.6   /* of that, if it need not be transposed */
#define WARP_SLOTS 400.0 /* before the first load and after the last */
#define FILLED     0.72  /* of the issue slots, with enough warps */
#define IN_STEP    0.27  /* of the work of a scheduler's other warps, what a warp waits for */

#define LANE_SUM_SLOTS 3.5 /* an exchange with another lane */

#define LINE_FLOATS  32   /* of memory */
#define CROSSING     0.5  /* of a line at either end of a row, where it is not this block's */
#define WARPS_JOIN_K 0.77 /* warps side by side do not read at the same moment: powers of their number */
#define WARPS_JOIN_X 0.27
#define BLEND        3.5 /* of two limits that hide each other in part */

#define REGISTERS_BASE   44 /* besides sums and fragments: what the compiler (CUDA 13.0, sm_90a) took */
#define REGISTERS_SPARED 22 /* that it can do without before it spills */

#define LATENCY_US       0.56 /* of device memory under load */
#define DRAM_SHARE       0.92 /* of the published bandwidth that a stream reaches */
#define L2_BYTES_A_CLOCK 26.0 /* an SM, all of them reading whole lines */
#define LAUNCH_US        0.9
#define FILL_US          0.74 /* until the first fragment is there */
#define TURN             0.66 /* of what a block adds, where the next of its SM begins and the others go on */
#define BLOCK_SUM_US     0.25 /* over lanes and warps, a pass of rows */
#define ARRIVE_US        0.14 /* store, count */
#define CHUNK_BYTES_US   2e4  /* of the first chunk of the small operand, to an SM */
#define L2_TRIP_US       0.92 /* parts on their way together */
#define SEND_US          0.2  /* a block's parts, to the others of its cluster */
#define CLUSTER_UNEVEN   0.02 /* more for the busiest SM: clusters go where a whole one fits */

struct skinny_kernel {
    double value[P_COUNT];
    double columns, splits, k, blocks; /* k and blocks of a launch; k of a block */
    int threads, smem_bytes, registers;
    double spills;      /* how likely, 0..1 */
    bool along_k;       /* the streamed operand is contiguous along k */
    bool small_along_k; /* the small one, too */
    double ld;          /* of the streamed operand */
    bool aligned;       /* rows of the streamed operand begin at whole lines of memory */
};

static double rows_of_warp(const struct skinny_kernel *s)
{
    return s->value[P_ROWS] / s->value[P_WARPS_R];
}

static struct skinny_kernel describe(const struct config *config, const struct problem *p,
                                     const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct tiled_grid grid = tiled_grid(config, p, gpu);
    struct skinny_kernel s = {.threads = THREADS, .smem_bytes = 4 * SMEM_FLOATS};
    for (int i = 0; i < P_COUNT; i++) s.value[i] = config->value[i];
    s.along_k = s.value[P_SIDE] == 0 ? p->trans_b : !p->trans_a;
    s.small_along_k = s.value[P_SIDE] == 0 ? !p->trans_a : p->trans_b;
    const int64_t ld = s.value[P_SIDE] == 0 ? p->ldb : p->lda;
    s.ld = (double)ld;
    s.aligned = ld % LINE_FLOATS == 0 || LINE_FLOATS % ld == 0;
    s.columns = (double)(s.value[P_SIDE] == 0 ? p->n : p->m);
    s.splits = grid.splits;
    s.k = grid.k;
    s.blocks = grid.blocks;
    int limit = registers_limit(gpu, s.threads, (int)s.value[P_MIN_BLOCKS]);
    double wanted = s.value[P_TX] * (rows_of_warp(&s) + 4 * s.value[P_DEPTH]) + REGISTERS_BASE;
    s.registers = facts ? facts->registers : (int)fmin(wanted, limit);
    s.spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(wanted - REGISTERS_SPARED, limit);
    return s;
}

/* Share of the bandwidth that rows of this length reach; those that do not begin at whole lines fetch a part
 * of two more. */
static double row_efficiency(const struct skinny_kernel *s)
{
    double lanes = s->along_k ? 32 / s->value[P_LANES_X] * pow(s->value[P_WARPS_K], WARPS_JOIN_K)
                              : s->value[P_LANES_X] * pow(s->value[P_WARPS_X], WARPS_JOIN_X) *
                                    s->value[P_TX] / s->value[P_VX];
    double bytes = lanes * s->value[P_VX] * 4;
    if (!s->along_k && s->value[P_WARPS_X] * s->value[P_LANES_X] * s->value[P_TX] >= s->ld) return 1;
    double share = bytes < 64 ? 0.75 : bytes < 128 ? 0.88 : bytes < 256 ? 0.96 : 1.0;
    return s->aligned ? share : share / (1 + CROSSING * 4 * LINE_FLOATS / bytes);
}

/* Of the streamed operand, and a block's share of C. */
static double block_bytes(const struct skinny_kernel *s)
{
    double columns = fmin(s->columns, s->value[P_WARPS_X] * s->value[P_LANES_X] * s->value[P_TX]);
    return 4 * columns * (s->k + s->value[P_ROWS] / s->splits);
}

static double block_steps(const struct skinny_kernel *s)
{
    return ceil(s->k / (s->value[P_WARPS_K] * (32 / s->value[P_LANES_X]) * K_LANE));
}

/* Vectors that a block copies to shared memory, a warp's share of them at a time. */
static double block_copies(const struct skinny_kernel *s)
{
    double k = block_steps(s) * s->value[P_WARPS_K] * (32 / s->value[P_LANES_X]) * K_LANE;
    if (s->small_along_k) return s->value[P_ROWS] * k / s->value[P_VS] / 32;
    if (s->value[P_LOADER] == 2) return AS_IT_LIES * s->value[P_ROWS] * k / s->value[P_VS] / 32;
    double vectors = ceil(s->value[P_ROWS] / 8) * 8 * k / 32;
    return s->value[P_LOADER] == 1 ? vectors : vectors * (0.5 + 0.5 / s->value[P_VS]);
}

/* Issue slots of a warp's step. */
static double step_slots(const struct skinny_kernel *s)
{
    double vectors = s->along_k ? K_LANE / s->value[P_VX] : 1;
    return K_LANE * rows_of_warp(s) * s->value[P_TX] + rows_of_warp(s) * LDS_SLOTS * vectors +
           LDG_SLOTS * K_LANE * s->value[P_TX] / s->value[P_VX] + STEP_SLOTS;
}

/* Issue slots of all warps of a block, for one scheduler of four. */
static double block_slots(const struct skinny_kernel *s)
{
    double sums = rows_of_warp(s) * s->value[P_TX];
    double last = WARP_SLOTS + (s->value[P_LANES_X] < 32 ? LANE_SUM_SLOTS * sums : 0);
    return ((block_steps(s) * step_slots(s) + last) * s->threads / 32 + COPY_SLOTS * block_copies(s)) / 4;
}

/* A block that has an SM to itself. A warp's loads share one of the hardware's scoreboards, so it waits for
 * all that are on their way, or for none. It waits once a pass of the loop, that is for each DEPTH steps, if
 * a chunk is one pass; if it is several, once a step, and then nothing is on its way while it multiplies
 * (machine code of CUDA 13.0, sm_90a, whatever the operands). */
static double block_waiting_us(const struct skinny_kernel *s, const struct gpu *gpu)
{
    double steps = block_steps(s), warps = fmax(1, s->threads / 128.0);
    double together = s->value[P_STEPS] == s->value[P_DEPTH] ? s->value[P_DEPTH] : 1;
    double own = steps * step_slots(s) / gpu->clock_mhz;
    return ceil(steps / together) * LATENCY_US + own * (1 + IN_STEP * (warps - 1));
}

/* Bytes side by side in memory that a load of a warp meets. */
static double piece_bytes(const struct skinny_kernel *s)
{
    return 4 * s->value[P_VX] * (s->along_k ? 32 / s->value[P_LANES_X] : s->value[P_LANES_X]);
}

/* Of the lines of memory that L2 sends to an SM, the share that is wanted: a request of a part of a line
 * takes as long as one of the whole. Pieces that begin at any vector meet another line, but for one of its
 * places. */
static double line_share(const struct skinny_kernel *s)
{
    double lines = piece_bytes(s) / (4 * LINE_FLOATS);
    return lines / (s->aligned ? ceil(lines) : lines + 1 - s->value[P_VX] / LINE_FLOATS);
}

static bool is_cluster(const struct skinny_kernel *s)
{
    return s->value[P_REDUCE] > 1;
}

/* SMs that a layer of blocks fills. */
static double usable_sms(const struct skinny_kernel *s, const struct gpu *gpu)
{
    return is_cluster(s) ? cluster_sms(gpu, s->splits) : gpu->sm_count;
}

/* A wave of `blocks` blocks: by bandwidth, by what is on its way, by arithmetic. */
static void wave(const struct skinny_kernel *s, const struct gpu *gpu, double blocks, struct prediction *p)
{
    double an_sm = ceil(blocks / usable_sms(s, gpu)) * (is_cluster(s) ? 1 + CLUSTER_UNEVEN : 1),
           bytes = block_bytes(s), waiting = block_waiting_us(s, gpu);
    double dram = DRAM_SHARE * gpu->memory_gb_per_s * 1e3 * row_efficiency(s);
    double small = 4 * s->value[P_ROWS] * s->k;
    double l2 = L2_BYTES_A_CLOCK * gpu->clock_mhz;
    double memory = fmax(blocks * bytes / dram, an_sm * (bytes / line_share(s) + small) / l2);
    p->memory_us += pow(pow(memory, BLEND) + pow(waiting, BLEND), 1 / BLEND);
    p->compute_us += an_sm * block_slots(s) / (FILLED * gpu->clock_mhz);
}

/* The last block of a tile adds its parts, some tens of bytes of each thread at a time. */
static double join_us(const struct skinny_kernel *s)
{
    if (s->splits <= 1) return 0;
    if (is_cluster(s)) return SEND_US;
    double vectors =
        s->value[P_ROWS] * s->value[P_WARPS_X] * s->value[P_LANES_X] * s->value[P_TX] / s->value[P_VC];
    double ways = fmax(1, fmin(s->value[P_WARPS_K], floor(s->threads / fmin(vectors, s->threads))));
    double turns = ceil(vectors / s->threads), at_once = fmax(1, 64 / s->value[P_VC] / fmin(turns, 4));
    return ARRIVE_US + L2_TRIP_US * ceil(turns / 4) * ceil(s->splits / ways / at_once);
}

static struct prediction skinny_predict(const struct config *config, const struct problem *problem,
                                        const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct skinny_kernel s = describe(config, problem, gpu, facts);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, s.threads, s.registers, s.smem_bytes)};
    double at_once = p.blocks_per_sm * usable_sms(&s, gpu);
    p.waves = s.blocks / at_once;
    double full = floor(p.waves), rest = s.blocks - full * at_once;
    if (full > 0) {
        wave(&s, gpu, at_once, &p);
        p.memory_us *= full;
        p.compute_us *= full;
    }
    if (rest > 0) wave(&s, gpu, rest, &p);
    double chunk = fmin(s.k, s.value[P_STEPS] * s.value[P_WARPS_K] * (32 / s.value[P_LANES_X]) * K_LANE);
    double an_sm = fmin(ceil(s.blocks / usable_sms(&s, gpu)), p.blocks_per_sm);
    double passes = fmax(1, rows_of_warp(&s) * s.value[P_TX] / 96);
    double each = FILL_US + BLOCK_SUM_US * passes + an_sm * 4 * s.value[P_ROWS] * chunk / CHUNK_BYTES_US;
    p.overhead_us = LAUNCH_US + each * (1 + (ceil(p.waves) - 1) * TURN / p.blocks_per_sm) + join_us(&s);
    p.time_us = p.overhead_us + overlapped_us(p.compute_us, p.memory_us, BLEND);
    p.time_us *= registers_spill_factor(s.spills);
    return p;
}

FAMILY(
    skinny, GEMM_TYPES_FFMA,
    .summary = "strict FP32 for few rows or few columns: the large operand streamed once, past shared memory",
    .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .tile = tile)

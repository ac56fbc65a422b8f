/* gemv16.c — the streaming family for 16-bit operands on the host: what a block needs, which parameter is
 * what, and the predicted time: the streamed operand's bytes at the speed that the bytes on their way
 * sustain, unless L2 or instructions take longer, and what a launch and the last sums add.
 *
 * The constants of the time were fitted to 285 trials of ten problems on an H100 (2026-11-25): the root mean
 * square of the logarithm of predicted over measured is 0.10, and the best of the first eight was at most 0.9
 * % slower than the best that was tried.
 */
#define ASK  (config->value[P_ASK])
#define FEW  (config->value[P_FEW])
#define PAD  (config->value[P_PAD])
#define PDL  (config->value[P_PDL])
#define SPAN (config->value[P_SPAN])

#define FAMILY_PARAMS "gemv16_params.def"
#define FAMILY_RULES  "gemv16_rules.h"
#include "family_template.h"

#include "cost_parts.h"
#include "cost_registers.h"
#include "gt_early_args.h"
#include "outcome.h"

#include <math.h>

#define REGISTERS_LEAST 44 /* pointers and counters: with less room the compiler spills */

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    const int sums = (EIGHTS + 1) / 2 * TX * 4;
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES > 1024 * PAD ? SMEM_BYTES : 1024 * PAD,
                                .sums = sums,
                                .registers = sums + DEPTH * (RUN_WORDS(EIGHTS, VS) + RUN_WORDS(TX, VX)) +
                                             REGISTERS_LEAST,
                                .m = TILE_M,
                                .n = TILE_N,
                                .k = RUN_K,
                                .part_floats = TILE_M * TILE_N,
                                .argument_bytes = EARLY_BYTES};
}

static const struct tiled tiled_gemv16 = {
    .at = {.sized = AT(REDUCE),
           .side = AT(SIDE),
           .few = AT(FEW),
           .min_blocks = AT(MIN_BLOCKS),
           .split_k = AT(SPLIT_K),
           .reduce = AT(REDUCE),
           .pdl = AT(PDL),
           .ask = AT(ASK)},
    .computes = "the gemv16 family computes bf16gemm and hgemm, to C in 16 bits or FP32",
    .arch = {80, 0, "mma.sync with k 16 needs sm_80"},
    .needs = {{AT(REDUCE), 1, 90, "REDUCE above 1 needs clusters (sm_90)"},
              {AT(PDL), 0, 90, "PDL above 0 needs sm_90"}},
    .few = {"C has more rows than FEW", "C has more columns than FEW"},
    .vectors = {WIDER(VX, STREAMED, "the streamed operand"), WIDER(VS, SMALL, "the small operand"),
                WIDER(VC, C, "C")},
    .ends = ENDS_ALONG_K,
    .smem = "the sums do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .early_at = EARLY_AT,
    .parts_bytes_max = INT64_C(64) << 20,
    .parts = "SPLIT_K needs more than 64 MiB of workspace",
    .rules = check_rules,
    .sizes = sizes,
};

static struct tile tile(const struct config *config)
{
    return (struct tile){.m = TILE_M, .n = TILE_N, .k = STEP_K};
}

/* ---- the predicted time ---- */

/* Issue slots of a warp. */
#define LOAD_SLOTS     5.0 /* a load with its address */
#define PRODUCT_SLOTS  4.0 /* an instruction of 16 x 8 x 16 */
#define PAIR_SLOTS     1.2 /* a word put together */
#define EXCHANGE_SLOTS 2.4 /* a word exchanged with another lane */
#define FILLED         0.8 /* of the issue slots, with enough warps */
#define OWN            2.3 /* cycles that a warp takes for a slot of its own */

#define REGISTERS_BESIDE 44 /* pointers, counters, fragments */

#define LATENCY_US    1.03 /* of device memory under load */
#define DEEPER        0.12 /* a run more on the way: warps wait for all of theirs */
#define DRAM_SHARE    0.95 /* of the published bandwidth that a stream reaches */
#define SM_BYTES      28.4 /* an SM and clock that arrive from L2 */
#define LINE_BYTES    128
#define LAUNCH_US     2.6  /* and the first load */
#define EARLY_US      0.42 /* of it that PDL hides */
#define ASKED_US      1.2  /* and ASK */
#define CROWDED       1.5  /* more blocks on the busiest SM for each free place, where kernels begin early */
#define CROWDED_ASK   2.25
#define WAVE_US       1.0 /* where one block ends and the next of its SM begins */
#define CLUSTER_US    0.73
#define LAST_BLOCK_US 1.4
#define SUM_US        0.25 /* over warps, for each 4096 sums of a block */
#define SUMS_A_UNIT   4096.0

/* Issue slots of a warp's run. */
static double run_slots(const struct config *config, bool small_along_k, bool stream_along_k)
{
    const double loads = SPAN * (8.0 * TX / VX + 8.0 * EIGHTS / VS),
                 products = SPAN * 2.0 * TX * ((EIGHTS + 1) / 2);
    double pairs = 0, exchanged = 0;
    if (!stream_along_k || VX == 1) pairs += SPAN * 4.0 * TX;
    if (!small_along_k || VS == 1) pairs += SPAN * 4.0 * EIGHTS;
    if (stream_along_k && VX == 8) exchanged += log2(SPAN) * RUN_WORDS(TX, VX) / 2;
    if (small_along_k && VS == 8) exchanged += log2(SPAN) * RUN_WORDS(EIGHTS, VS) / 2;
    return loads * LOAD_SLOTS + products * PRODUCT_SLOTS + pairs * PAIR_SLOTS + exchanged * EXCHANGE_SLOTS;
}

/* Of the lines of memory that L2 sends for an operand, the share that is wanted: a request of a part takes as
 * long as one of the whole. */
static double line_share(const struct config *config, bool along_k, int vector)
{
    const double bytes = along_k ? vector == 8 ? 64.0 * SPAN : 64 : 16.0 * vector;
    return fmin(1, bytes / LINE_BYTES);
}

/* Blocks on the busiest SM where `count` are an SM's share: those that begin early go where there is a free
 * place, while blocks of the kernel before still hold theirs. */
static double crowded(const struct config *config, double count, double at_once)
{
    const double free_places = fmax(0, at_once - 2 * count) / count;
    return PDL ? count * (1 + fmin(1.5, free_places) * (ASK ? CROWDED_ASK : CROWDED)) : count;
}

/* A wave of so many blocks, `count` of them on the busiest SM. */
static double wave_us(const struct config *config, const struct problem *p, const struct tiled_grid *grid,
                      const struct gpu *gpu, double count, double blocks)
{
    const bool trans_a = p->trans_a, trans_b = p->trans_b, stream_along_k = SIDE == 0 ? trans_b : !trans_a,
               small_along_k = SIDE == 0 ? !trans_a : trans_b;
    const double rows = (double)(SIDE == 0 ? p->m : p->n), columns = (double)(SIDE == 0 ? p->n : p->m);
    const double stream = 2 * grid->k * fmin(columns, TILE_X), small = 2 * grid->k * rows * WARPS_X;
    const double stream_share = line_share(config, stream_along_k, VX),
                 small_share = line_share(config, small_along_k, VS);
    const double runs = grid->k / RUN_K * WARPS_X; /* of all warps of a block */
    const double slots = run_slots(config, small_along_k, stream_along_k);
    const double on_the_way =
        count * fmin(WARPS_X * WARPS_K * (1 + DEEPER * (DEPTH - 1)), runs) * RUN_K * 2 * 8 * TX;
    const double dram = blocks * stream / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    const double arrival =
        count * (stream / stream_share + small / small_share) / (SM_BYTES * gpu->clock_mhz);
    const double waiting = count * stream * LATENCY_US / on_the_way;
    const double issue = count * runs * slots / 4 / FILLED / gpu->clock_mhz;
    const double own = grid->k / RUN_K / WARPS_K * slots * OWN / gpu->clock_mhz;
    return overlapped_us(fmax(dram, waiting), fmax(arrival, issue), 4) + own;
}

/* Sums, runs on the way, and what an exchange takes besides. */
static double registers_needed(const struct config *config)
{
    const double run = RUN_WORDS(EIGHTS, VS) + RUN_WORDS(TX, VX);
    return (EIGHTS + 1) / 2 * TX * 4 + DEPTH * run + (SPAN > 2 ? 0.5 * run : 0) + REGISTERS_BESIDE;
}

static struct prediction gemv16_predict(const struct config *config, const struct problem *problem,
                                        const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct tiled_grid grid = tiled_grid(config, problem, gpu);
    const int limit = registers_limit(gpu, THREADS, MIN_BLOCKS);
    const double needed = registers_needed(config);
    const double spills = facts ? facts->spill_bytes > 0 : registers_spill_chance(needed, limit);
    const int registers = facts ? facts->registers : (int)fmin(needed + 12, limit);
    const int smem_bytes =
        config->template->resources(config).smem_bytes + (facts ? facts->static_smem_bytes : 0);
    struct prediction p = {.blocks_per_sm = blocks_at_once(gpu, THREADS, registers, smem_bytes)};
    const double at_once = p.blocks_per_sm * grid.sms;
    p.waves = grid.blocks / at_once;
    const double full = floor(p.waves), rest = grid.blocks - full * at_once;
    const double share = crowded(config, ceil(rest / grid.sms), p.blocks_per_sm);
    p.memory_us = full * wave_us(config, problem, &grid, gpu, p.blocks_per_sm, at_once);
    if (rest > 0) p.memory_us += wave_us(config, problem, &grid, gpu, share, rest);
    p.memory_us *= registers_spill_factor(spills);
    const double sums = (double)FEW * TILE_X * WARPS_K;
    p.overhead_us = LAUNCH_US + WAVE_US * fmax(0, p.waves - 1) + SUM_US * sums / SUMS_A_UNIT;
    if (grid.splits > 1) p.overhead_us += CLUSTER ? CLUSTER_US : LAST_BLOCK_US;
    if (PDL) p.overhead_us -= EARLY_US;
    if (ASK) p.overhead_us -= ASKED_US;
    p.time_us = p.overhead_us + p.memory_us;
    return p;
}

FAMILY(gemv16, GEMM_TYPES_16_BITS,
       .summary = "BF16 and FP16 for few rows or few columns: the large operand streamed once, to mma.sync",
       .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .tile = tile)

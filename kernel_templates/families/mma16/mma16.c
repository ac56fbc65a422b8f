/* mma16.c — 16-bit operands by mma.sync on the host: what a block needs, which parameter is what, and the
 * predicted time: what limits an SM as it works through the k of its blocks (tensor cores, reads of shared
 * memory, copies to it, bytes that arrive), device memory, and fixed costs.
 *
 * The constants of the time were fitted to 3,900 trials of 95 problems on an H100 (2026-11-25): for kernels
 * within twice the fastest of their problem the root mean square of the logarithm of predicted over measured
 * is 0.16, and the best of its first eight was 0.3 % slower than the best that was tried. What they say of
 * other GPUs follows from the figures of the descriptor.
 */
#define ASK           (config->value[P_ASK])
#define PDL           (config->value[P_PDL])
#define SWAP          (config->value[P_SWAP])
#define FAMILY_PARAMS "mma16_params.def"
#define FAMILY_RULES  "mma16_rules.h"
#include "family_template.h"

#include "cost_tensor.h"
#include "gt_early_args.h"
#include "invariant.h"

#include <math.h>

#define REGISTERS_LEAST 24 /* pointers and counters: with less room the compiler spills */

/* Registers that hold values during the whole main loop: C, two sets of 16 k of A and B, and a tile's pairs
 * of elements on their way through registers. */
static int registers_needed(const struct config *config)
{
    const int held = (VA == 1 ? BM * BK : 0) + (VB == 1 ? BN * BK : 0);
    return WM * WN / 32 + WARP_LEFT / 2 + WARP_RIGHT / 2 + held / 2 / THREADS;
}

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .sums = WM * WN / 32,
                                .registers = registers_needed(config) + REGISTERS_LEAST,
                                .m = BM,
                                .n = BN,
                                .k = BK,
                                .part_floats = BM * BN,
                                .argument_bytes = EARLY_BYTES};
}

static const struct tiled tiled_mma16 = {
    .at = {.sized = AT(REDUCE),
           .bm = AT(BM),
           .bn = AT(BN),
           .bk = AT(BK),
           .warps_k = AT(WARPS_K),
           .min_blocks = AT(MIN_BLOCKS),
           .group = AT(GROUP),
           .split_k = AT(SPLIT_K),
           .reduce = AT(REDUCE),
           .pack = AT(PACK),
           .pdl = AT(PDL),
           .ask = AT(ASK)},
    .computes = "the mma16 family computes bf16gemm and hgemm, to C in 16 bits or FP32",
    .arch = {80, 0, "mma.sync with k 16, and cp.async, need sm_80"},
    .needs = {{AT(REDUCE), 1, 90, "REDUCE above 1 needs clusters (sm_90)"},
              {AT(PDL), 0, 90, "PDL above 0 needs sm_90"}},
    .vectors = {WIDER(VA, A, "A"), WIDER(VB, B, "B"), WIDER(VC, C, "C")},
    .ends = ENDS_ANYWHERE,
    .finds_items = true,
    .tiles = "C has more tiles than a grid has blocks",
    .smem = "the stages, or the sums, do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .pack = PACK_LINES,
    .early_at = EARLY_AT,
    .parts_bytes_max = INT64_C(256) << 20,
    .parts = "SPLIT_K needs more than 256 MiB of workspace",
    .rules = check_rules,
    .sizes = sizes,
};

/* template.h: a packed operand whose lines are aligned anyway. */
static int mma16_redundant(const struct config *config, int known, const struct problem *problem,
                           int32_t *instead)
{
    if (!KNOWN(PACK)) return -1;
    *instead = tiled_unpacked(&tiled_mma16, config, problem);
    return *instead == PACK ? -1 : P_PACK;
}

/* ---- the predicted time ---- */

#define MMA_SHARE        0.48  /* of the peak rate that mma.sync reaches where wgmma or tcgen05 has more */
#define MMA_SHARE_OTHERS 0.8   /* the same where it is the fastest instruction */
#define FULL_WARPS       5.7   /* of an SM: fewer leave tensor cores idle */
#define SHARED_BYTES     105.0 /* an SM and clock that ldmatrix reads: 128 at most */
#define STEP_CYCLES      180.0 /* barrier and first fragments of one step over BK by a lone block */
#define PAIR_CYCLES      12.0  /* of the load units for a warp's loads of pairs, element by element */
#define COPY_CYCLES      5.0   /* the same of copies */
#define REGISTERS_BESIDE 48    /* C and fragments: as likely as not to spill with less */

#define LAUNCH_US     1.75
#define WAVE_US       0.6 /* until the first product of a block */
#define STORE_BYTES   9.4 /* an SM and clock of C, after the last product */
#define LATENCY_US    0.53
#define SM_BYTES      33.0 /* an SM and clock that arrive from L2 */
#define DRAM_SHARE    0.86
#define ASKING_SMS    0.4 /* of all: fewer do not ask for enough */
#define L2_KEPT       0.6 /* of L2 that survives between uses */
#define CLUSTER_US    0.2
#define LAST_BLOCK_US 2.7
#define PART_US       0.03 /* more of the last block for each part */
#define EARLY_US      0.3  /* of a launch and the first copies that PDL hides */
#define ASKED_US      0.25 /* of the latency, if L2 has what is copied first */
#define PACK_US       3.0  /* a launch before the product, and its end; it moves bytes as a copy does */

/* Cycles that an SM's load units take for a tile side's elements of one k, by the elements of a copy. */
static double copy_cycles(double x, int vector)
{
    return x / 32 * (vector == 1 ? PAIR_CYCLES / 2 : COPY_CYCLES / vector);
}

static double memory_us(const struct problem *p, double blocks, const struct gpu *gpu)
{
    const double bytes = problem_bytes(p);
    const double smaller_one = 2 * (double)p->k * fmin((double)p->m, (double)p->n); /* of A and B */
    const double again = smaller_one <= L2_KEPT * (double)gpu->l2_bytes ? 1 : 1.15;
    const double busy = fmin(1, blocks / (ASKING_SMS * gpu->sm_count));
    return bytes * again / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3 * busy);
}

static double overhead_us(const struct config *config, const struct problem *p, double splits,
                          const struct gpu *gpu)
{
    const double sum = splits <= 1 ? 0 : CLUSTER ? CLUSTER_US : LAST_BLOCK_US + PART_US * splits;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double packed = (double)p->batch * 2 * k * ((PACK_A ? m : 0) + (PACK_B ? n : 0));
    const double pack = PACK ? PACK_US + 2 * packed / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3) : 0;
    return LAUNCH_US + sum + pack - (PDL ? EARLY_US : 0) - (ASK ? ASKED_US : 0);
}

static struct prediction mma16_predict(const struct config *config, const struct problem *p,
                                       const struct gpu *gpu, const struct kernel_facts *facts)
{
    const bool faster_one = gpu->arch >= 90 && gpu->arch < 120;
    const struct tiled_grid grid = tiled_grid(config, p, gpu);
    const double held =
        (VA == 1 ? (double)BM * BK / 2 / THREADS : 0) + (VB == 1 ? (double)BN * BK / 2 / THREADS : 0);
    const struct tensor_kernel t = {
        .threads = THREADS,
        .smem_bytes = SMEM_BYTES,
        .min_blocks = MIN_BLOCKS,
        .needed = WM * WN / 32.0 + (WARP_LEFT + WARP_RIGHT) / 2.0 + REGISTERS_BESIDE + held,
        .liked = 16,
        .blocks = grid.blocks,
        .sms = grid.sms,
        .steps = ceil(grid.k / BK),
        .step_k = BK,
        .products = (double)BM * BN * BK,
        .rate = tensor_rate(gpu, p->type, faster_one ? MMA_SHARE : MMA_SHARE_OTHERS),
        .full_warps = FULL_WARPS,
        .copies = copy_cycles(BM, VA) + copy_cycles(BN, VB),
        .shared = (double)WARPS * (WARP_LEFT + WARP_RIGHT) * BK * 2,
        .shared_rate = SHARED_BYTES,
        .overlap = 1.6,
        .wait_cycles = STEP_CYCLES,
        .arrival = STAGE_BYTES,
        .arrival_rate = SM_BYTES,
        .on_the_way = (double)(STAGES - 1) * STAGE_BYTES,
        .latency_us = LATENCY_US,
        .wave_us = WAVE_US,
        .store = (double)BM * BN * 2,
        .store_rate = STORE_BYTES,
        .memory_us = memory_us(p, grid.blocks, gpu),
        .overhead_us = overhead_us(config, p, grid.splits, gpu)};
    return tensor_predict(&t, gpu, facts);
}

extern const struct template template_mma16;

/* Of few rows and of many; k whole, or in parts as an invariant problem's may be, with and without a cluster.
 */
static bool mma16_plain(int number, struct config *config)
{
    static const int16_t tiles[][P_COUNT] = {
        {[P_BM] = 128, [P_BN] = 128, [P_WM] = 64, [P_WN] = 32, [P_STAGES] = 3, [P_GROUP] = 8},
        {[P_BM] = 64, [P_BN] = 64, [P_WM] = 32, [P_WN] = 32, [P_STAGES] = 4, [P_GROUP] = 8},
        {[P_BM] = 16, [P_BN] = 64, [P_WM] = 16, [P_WN] = 16, [P_STAGES] = 4, [P_GROUP] = 1},
    };
    static const int parts[][2] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {2, 1}, {4, 1}, {8, 1}};
    const int count = (int)(sizeof tiles / sizeof *tiles), way = number / count;
    if (way >= (int)(sizeof parts / sizeof *parts)) return false;
    *config = (struct config){.template = &template_mma16};
    for (int i = 0; i < P_COUNT; i++)
        config->value[i] = tiles[number % count][i] ? tiles[number % count][i] : params[i].least;
    BK = INVARIANT_UNIT;
    PRELOAD = 1;
    SPLIT_K = parts[way][0];
    REDUCE = parts[way][1];
    return true;
}

FAMILY(mma16, GEMM_TYPES_16_BITS,
       .summary = "BF16 and FP16 on tensor cores, by mma.sync: any layout and alignment, split-K",
       .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .invariant = true,
       .plain = mma16_plain, .redundant = mma16_redundant)

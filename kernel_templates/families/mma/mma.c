/* mma.c — TF32 by mma.sync on the host: what a block needs, which parameter is what, and the predicted time.
 *
 * The constants of the time are those of an H200, from 130 kernels of 4096x4096x4096, 4095x4097x4093 and
 * 1024x1024x1024 in all ops: it says 0.76 to 1.35 times what was measured, but for kernels that spill (0.77
 * to 1.5). What they say of other GPUs follows from the figures of the descriptor.
 */
#define FAMILY_PARAMS "mma_params.def"
#define FAMILY_RULES  "mma_rules.h"
#include "family_template.h"

#include "cost_tensor.h"
#include "split_k.h"

#include <math.h>

#define REGISTERS_LEAST 24 /* pointers and counters: with less room the compiler spills */

/* Registers that hold values during the whole main loop: C, and two sets of 8 k of A and B. */
static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .sums = WM * WN / 32,
                                .registers = WM * WN / 32 + (WM + WN) / 2 + REGISTERS_LEAST,
                                .m = BM,
                                .n = BN,
                                .k = BK};
}

static const struct tiled tiled_mma = {
    .at = {.sized = AT(STAGES),
           .bm = AT(BM),
           .bn = AT(BN),
           .bk = AT(BK),
           .vc = AT(VC),
           .min_blocks = AT(MIN_BLOCKS),
           .group = AT(GROUP),
           .split_k = AT(SPLIT_K)},
    .computes = "the mma family computes tf32gemm",
    .arch = {80, 0, "mma.sync tf32 needs sm_80"},
    .vectors = {WIDER(VA, A, "A"), WIDER(VB, B, "B"), WIDER(VC, C, "C")},
    .tiles = "C has more tiles than a grid has blocks",
    .smem = "the stages do not fit in a block's shared memory",
    .registers = "accumulators and fragments do not fit in the registers",
    .parts_bytes_max = INT64_C(256) << 20,
    .parts = "SPLIT_K needs more than 256 MiB of workspace",
    .rules = check_rules,
    .sizes = sizes,
};

/* ---- the predicted time ---- */

#define MMA_CYCLES       8.0   /* of a scheduler for m16n8k8 and what it issues beside it, fitted: 6 alone */
#define OTHER_SLOTS      3.0   /* instructions for each mma: fragments, rounding, addresses */
#define TILE_SLOTS       60.0  /* barrier, pointers and branch of one step over BK */
#define BARRIER_CYCLES   150.0 /* of a lone block; others fill it */
#define COPY_CYCLES      4.0   /* of an SM's load unit for a warp's copies of 8 or 16 bytes */
#define COPY_ONE_CYCLES  11.5  /* the same of single floats */
#define COPY_REGISTERS   0.65  /* of a thread for each of its copies in a tile: addresses and guards */
#define REGISTERS_BESIDE 40    /* C and fragments: as likely as not to spill with less */

#define LAUNCH_US        1.7
#define SECOND_LAUNCH_US 1.6 /* gemm_reduce behind gemm */
#define FILL_US          3.5 /* first tile until the first product, and the last store */
#define DRAM_SHARE       0.90
#define L2_BYTES_A_CLOCK 24.0 /* an SM: 5.9 TB/s were reached */
#define PARTS_SHARE      0.75 /* of L2's bytes for parts of a cut k, which are written, too */
#define L2_KEPT          0.6  /* of L2 that survives between uses */

/* Cycles of the load unit for one step of k of a tile's side. */
static double copy_cycles(double x, int vector)
{
    return x / vector / 32 * (vector > 1 ? COPY_CYCLES : COPY_ONE_CYCLES);
}

static double memory_us(const struct config *config, const struct problem *p, double blocks, double block_k,
                        const struct gpu *gpu)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    const double asked = blocks * block_k * 4 * (BM + BN);
    const double operands = 4 * (m * k + k * n), c = 4 * m * n * (p->beta != 0 ? 2 : 1);
    const double again = operands <= L2_KEPT * (double)gpu->l2_bytes ? 1 : 1.5;
    const double dram = (double)p->batch * (operands * again + c * narrow_stores(VC));
    return fmax(asked / l2, dram / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3));
}

static double overhead_us(const struct problem *p, double splits, const struct gpu *gpu)
{
    const double part_bytes = 4 * splits * (double)p->m * (double)p->n * (double)p->batch;
    const bool cached = part_bytes <= L2_KEPT * (double)gpu->l2_bytes;
    const double l2 = L2_BYTES_A_CLOCK * gpu->sm_count * gpu->clock_mhz;
    if (splits <= 1) return LAUNCH_US + FILL_US;
    return LAUNCH_US + FILL_US + SECOND_LAUNCH_US +
           2 * part_bytes / (cached ? l2 * PARTS_SHARE : DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

static struct prediction mma_predict(const struct config *config, const struct problem *p,
                                     const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct tiled_grid grid = tiled_grid(config, p, gpu);
    const double products = (double)WM / MMA_M * WN / MMA_N * BK / MMA_K;
    const double copies = BK * ((double)BM / VA + (double)BN / VB) / THREADS;
    const struct tensor_kernel t = {
        .threads = THREADS,
        .smem_bytes = SMEM_BYTES,
        .min_blocks = MIN_BLOCKS,
        .needed = (double)WM * WN / 32 + (WM + WN) / 2.0 + REGISTERS_BESIDE + COPY_REGISTERS * copies,
        .liked = REGISTERS_BESIDE,
        .blocks = grid.blocks,
        .sms = grid.sms,
        .steps = ceil(grid.k / BK),
        .step_k = BK,
        .issue = fmax(products * MMA_CYCLES, products * (1 + OTHER_SLOTS) + TILE_SLOTS),
        .copies = copy_cycles(BM, VA) + copy_cycles(BN, VB),
        .overlap = 4,
        .wait_cycles = BARRIER_CYCLES,
        .waits_less = true,
        .memory_us = memory_us(config, p, grid.blocks, grid.k, gpu),
        .overhead_us = overhead_us(p, grid.splits, gpu)};
    return tensor_predict(&t, gpu, facts);
}

FAMILY(mma, GEMM_TYPES_TF32,
       .summary = "TF32 on tensor cores, by mma.sync: any layout and alignment, split-K",
       .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS)

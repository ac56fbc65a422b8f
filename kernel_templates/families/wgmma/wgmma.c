/* wgmma.c — 16-bit operands (wgmma) and TF32 (wgmma_tf32) by wgmma on the host: what a block needs, which
 * parameter is what, what only these two refuse and launch, and the predicted time: waves of blocks, each
 * limited by the tensor cores or by the bytes that arrive in its SM; device memory; fixed costs.
 *
 * The constants of 16 bits are fitted to 1,939 trials on an H100 (2026-11-25), those of stores, clusters and
 * the last block to 208 more, which were timed side by side; those of TF32 to 1,059 trials on an H100, and
 * 1,423 on an H200 (2026-11-27), of which 1,166 were chosen at random.
 */
#define CONSUMERS (config->value[P_CONSUMERS])
#define PDL       (config->value[P_PDL])
#define STORE     (config->value[P_STORE])
#define SWAP      (config->value[P_SWAP])
#define WALK      (config->value[P_WALK])
#define TF32      (config->template == &template_wgmma_tf32)
extern const struct template template_wgmma_tf32;

#define FAMILY_PARAMS "wgmma_params.def"
#define FAMILY_RULES  "wgmma_rules.h"
#include "family_template.h"

#include "cost_tensor.h"
#include "gemm_args.h"
#include "launch_limits.h"
#include "occupancy.h"

#include <math.h>

#define REGISTERS_LEAST 26   /* what ptxas asks for (C7602) besides the sums */
#define LONG_FLOP       1e11 /* 0.15 ms and more */
#define ACCUMULATORS    (TALL * RIGHT / 2)
#define FRAGMENTS       (TALL * (PRELOAD ? 8 * PRELOAD : 16)) /* of the left operand of TF32 */

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

static struct tiled_sizes sizes(const struct config *config, const struct problem *p)
{
    (void)p;
    return (struct tiled_sizes){.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .sums = ACCUMULATORS,
                                .registers = ACCUMULATORS + REGISTERS_LEAST,
                                .m = BM,
                                .n = BN,
                                .k = BK,
                                .part_floats = BM * BN,
                                .argument_bytes = ARGUMENT_BYTES};
}

/* A left operand that passes through registers, and C that is stored by boxes: with a VC that is wider than C
 * is aligned, that is the reason. */
static const char *refuse(const struct config *config, int known, const struct problem *p,
                          const struct gpu *gpu)
{
    const bool TRANS_A = p->trans_a, TRANS_B = p->trans_b;
    const enum element c = gemm_type_row(p->type)->c;
    const int64_t limit = MAP_STRIDE_MAX / element_bytes(c);
    if (gpu && KNOWN(PRELOAD) && LEFT_IN_REGISTERS &&
        ACCUMULATORS + FRAGMENTS + REGISTERS_LEAST > registers_limit(gpu, THREADS, MIN_BLOCKS))
        return "the sums and the left operand do not fit in the registers";
    if (!KNOWN(STORE) || !BOXES || VC > tiled_align(config->template->tiled, p, TILED_C, 0)) return NULL;
    if (VC < element_vector(c)) return "STORE: C's lines begin at multiples of 16 bytes, and VC is as wide";
    if (p->n % element_vector(c) != 0)
        return "STORE: TMA stores whole 16 bytes, and C's lines end within them";
    if (p->ldc >= limit || (p->batch > 1 && p->stride_c >= limit))
        return "C's lines, or the items of its batch, are too far apart for a tensor map";
    return NULL;
}

/* The map of C's boxes. */
static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    (void)product;
    const enum element c = gemm_type_row(p->type)->c;
    const int64_t bytes = element_bytes(c);
    const bool items = p->batch > 1 && p->stride_c != 0;
    if (!BOXES) return;
    plan->view[plan->views++] =
        (struct tensor_view){.operand = LAUNCH_C,
                             .element = c,
                             .rank = 3,
                             .extent = {p->n, p->m, items ? p->batch : 1},
                             .stride_bytes = {bytes, bytes * p->ldc, bytes * (items ? p->stride_c : p->ldc)},
                             .box = {BOX_LINE / (unsigned)bytes, 16, 1},
                             .swizzle_bytes = BOX_LINE,
                             .k_axis = -1,
                             .batch_axis = items ? 2 : -1,
                             .at = MAP_C_AT};
}

#define ROW(of_pack, why_not)                                                                                \
    {                                                                                                        \
        .at = {.sized = AT(STORE),                                                                           \
               .bm = AT(BM),                                                                                 \
               .bn = AT(BN),                                                                                 \
               .bk = AT(BK),                                                                                 \
               .swap = AT(SWAP),                                                                             \
               .min_blocks = AT(MIN_BLOCKS),                                                                 \
               .group = AT(GROUP),                                                                           \
               .split_k = AT(SPLIT_K),                                                                       \
               .reduce = AT(REDUCE),                                                                         \
               .pack = AT(PACK),                                                                             \
               .walk = AT(WALK),                                                                             \
               .sms = AT(SMS),                                                                               \
               .pdl = AT(PDL)},                                                                              \
        .computes = why_not, .arch = {90, 90, "wgmma exists on sm_90 alone"},                                \
        .vectors = {WIDER(VC, C, "C")}, .ends = ENDS_ANYWHERE,                                               \
        .tiles = "C has more tiles than a grid has blocks",                                                  \
        .smem = "the stages, or the sums, do not fit in a block's shared memory",                            \
        .registers = "the sums do not fit in the registers", .quarters = true, .arrival = BY_MAPS,           \
        .pack = of_pack, .map_at = {MAP_LEFT_AT, MAP_RIGHT_AT}, .early_at = PDL_AT,                          \
        .parts_bytes_max = INT64_C(256) << 20, .parts = "SPLIT_K needs more than 256 MiB of workspace",      \
        .rules = check_rules, .sizes = sizes, .refuse = refuse, .launch = launch                             \
    }
static const struct tiled tiled_wgmma = ROW(PACK_LINES, "the wgmma family computes bf16gemm and hgemm");
static const struct tiled tiled_wgmma_tf32 = ROW(PACK_ALONG_K, "its type is tf32gemm");

/* template.h: a packed operand that a map reads as it lies; half a microsecond of a long product. */
static int redundant(const struct config *config, int known, const struct problem *p, int32_t *instead)
{
    if (!KNOWN(PACK)) return -1;
    *instead = tiled_unpacked(config->template->tiled, config, p);
    if (*instead != PACK) return P_PACK;
    *instead = 0;
    return KNOWN(PDL) && PDL && problem_flop(p) > LONG_FLOP ? P_PDL : -1;
}

/* ---- the predicted time ---- */

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

static double store_rate(const struct config *config)
{
    const struct rates *const r = rates_of(config);
    const double all = DIRECT  ? r->direct_bytes
                       : STORE ? r->boxes_bytes
                       : WALK  ? r->walk_store_bytes
                               : r->store_bytes;
    return all * SHARERS / CONSUMERS;
}

static double overhead_us(const struct config *config, const struct problem *p, double splits,
                          const struct gpu *gpu)
{
    const struct rates *const r = rates_of(config);
    const double packed = ELEMENT_BYTES * (double)p->batch * (double)p->k *
                          ((PACK_A ? (double)p->m : 0) + (PACK_B ? (double)p->n : 0));
    const double pack = PACK ? r->pack_us + 2 * packed / (r->pack_share * gpu->memory_gb_per_s * 1e3) : 0;
    const double tile = (double)BM * BN, sum = splits <= 1 ? 0
                                               : CLUSTER
                                                   ? r->cluster_us + CLUSTER_PART_US * (splits - 1) * tile
                                                   : r->last_block_us + PART_US * splits * tile;
    return LAUNCH_US - (PDL ? PDL_US : 0) + sum + pack;
}

static struct prediction wgmma_predict(const struct config *config, const struct problem *p,
                                       const struct gpu *gpu, const struct kernel_facts *facts)
{
    const struct rates *const r = rates_of(config);
    const struct tiled_grid grid = tiled_grid(config, p, gpu);
    const double walkers = WALK ? fmin(grid.blocks, (double)SMS * MIN_BLOCKS) : 0;
    const struct tensor_kernel t = {
        .threads = THREADS,
        .smem_bytes = SMEM_BYTES,
        .min_blocks = MIN_BLOCKS,
        .needed = TALL * RIGHT / 2.0 + REGISTERS_BESIDE,
        .liked = 16,
        .blocks = grid.blocks,
        .sms = grid.sms,
        .steps = ceil(fmin(grid.k, (double)p->k) / BK),
        /* Both operands come from shared memory, where 64 rows of the left one take as long as some columns.
         */
        .products = LEFT * fmax(RIGHT, TALL > 1 ? r->few_if_tall : r->few_columns) * BK,
        .rate = tensor_rate(gpu, p->type, r->share),
        .groups = SHARERS,
        .load_cycles = load_cycles(config, p),
        .wait_cycles = r->step_cycles,
        .arrival = STAGE_BYTES,
        .arrival_rate = r->sm_bytes * fmin(PACK_A ? 1 : straddling(ELEMENT_BYTES * p->lda),
                                           PACK_B ? 1 : straddling(ELEMENT_BYTES * p->ldb)),
        .on_the_way = (double)(STAGES - 1) * STAGE_BYTES,
        .latency_us = LATENCY_US,
        .fill_cycles = r->fill_cycles,
        .store = (double)BM * BN * element_bytes(gemm_type_row(p->type)->c),
        .store_rate = store_rate(config),
        .walkers = ceil(walkers / gpu->sm_count),
        .rounds = WALK ? ceil(grid.blocks / walkers) : 0,
        .walk_cycles = WALK_CYCLES,
        .takers = WALK == 2 ? CONSUMERS : 0,
        .turn_cycles = r->turn_cycles,
        .memory_us = problem_bytes(p) / (r->dram_share * gpu->memory_gb_per_s * 1e3),
        .overhead_us = overhead_us(config, p, grid.splits, gpu)};
    return tensor_predict(&t, gpu, facts);
}

#define wgmma_tf32_predict wgmma_predict /* by the constants of its type */

FAMILY(
    wgmma, GEMM_TYPES_16_BITS,
    .summary = "BF16 and FP16 on the tensor cores of sm_90, by wgmma: operands aligned to 16 bytes, split-K",
    .one_arch = true, .invariant = true,
    .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS, .redundant = redundant)
TEMPLATE_OF(wgmma, wgmma_tf32, GEMM_TYPES_TF32,
            .summary = "TF32 on the tensor cores of sm_90, by wgmma: any layout and alignment, split-K",
            .one_arch = true,
            .macros = TEMPLATE_MACRO_TYPE | TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
            .redundant = redundant)

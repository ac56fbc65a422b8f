/* split_family.h — what bf16x6 and f16x3 share on the host: operands of FP32 are split into pieces of 16
 * bits, which blocks multiply (gt_split_ring.cuh). For their files, after family_template.h.
 */
#ifndef GT_SPLIT_FAMILY_H
#define GT_SPLIT_FAMILY_H

#include "cost_tensor.h"
#include "gemm_block.h"
#include "launch_limits.h"

#include <math.h>
#include <string.h>

#define PIECES_BYTES_MAX (INT64_C(4) << 30) /* of workspace, of an item */

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

/* ---- pieces ---- */

/* Elements of a line of pieces. */
static inline int64_t piece_line(const struct problem *p)
{
    return ceil_div(p->k, 64) * 64;
}

/* Of an item, in the workspace. In floating point: the largest problems pass 2^63. */
static inline double pieces_bytes(const struct config *config, const struct problem *p)
{
    const double left = LEFT_RAW ? 0 : (double)(SWAP ? p->n : p->m), right = (double)(SWAP ? p->m : p->n);
    return RIGHT_SPLIT ? 0 : 2.0 * PIECES * (double)piece_line(p) * (left + right);
}

/* Once all that pieces depend on is known. */
static inline const char *check_pieces(const struct config *config, const struct problem *p)
{
    return pieces_bytes(config, p) > (double)PIECES_BYTES_MAX
               ? "the pieces of A and B need more than 4 GiB of workspace"
               : NULL;
}

/* Accumulators: two sets of 64 rows among 128 threads. Maxima and exponents: gt_split_store.cuh; without a k
 * there are none, and no pieces. */
static inline struct tiled_sizes split_sizes(const struct config *config, const struct problem *p)
{
    struct tiled_sizes sizes = {.threads = THREADS,
                                .smem_bytes = SMEM_BYTES,
                                .sums = RIGHT,
                                .m = BM,
                                .n = BN,
                                .k = BK,
                                .part_floats = BM * BN,
                                .argument_bytes = ARGUMENT_BYTES};
    if (!p || p->k == 0) return sizes;
    sizes.before_bytes = pieces_bytes(config, p) + 4 * (double)EXPONENT_WORDS(p->m, p->n);
    sizes.words = MAXIMA_WORDS(p->m, p->n, p->k);
    return sizes;
}

/* What both rows say. */
#define SPLIT_ROW                                                                                            \
    .arch = {90, 90, "wgmma exists on sm_90 alone"}, .tiles = "C has more tiles than a grid has blocks",     \
    .smem = "the stages do not fit in a block's shared memory", .reduce = 1, .arrival = AS_PIECES,           \
    .parts_bytes_max = INT64_C(256) << 20, .parts = "SPLIT_K needs more than 256 MiB of workspace",          \
    .rules = check_rules, .sizes = split_sizes

/* The pieces of `lines` lines, from the line `first` of each piece on, which begin after `counters`. */
static inline struct tensor_view view_of_pieces(const struct config *config, const struct problem *p,
                                                enum element element, int64_t items, int64_t counters,
                                                int64_t first, int64_t lines, int box_lines, int at)
{
    (void)config; /* not all have as many pieces */
    const int64_t line_bytes = 2 * piece_line(p);
    return (struct tensor_view){.operand = LAUNCH_WORKSPACE,
                                .element = element,
                                .rank = 3,
                                .offset_bytes = 4 * counters + first * line_bytes,
                                .extent = {p->k, lines, PIECES * items},
                                .stride_bytes = {2, line_bytes, (p->m + p->n) * line_bytes},
                                .box = {64, (unsigned)box_lines, 1},
                                .swizzle_bytes = 128,
                                .k_axis = -1,
                                .batch_axis = -1,
                                .at = (uint16_t)at};
}

/* gemm_pack, of both operands; one tile a block. */
static inline struct kernel_launch split_launch(const struct config *config, const struct problem *p,
                                                unsigned items)
{
    (void)config;
    const int64_t tiles =
        (ceil_div(p->m, SPLIT_SIDE) + ceil_div(p->n, SPLIT_SIDE)) * ceil_div(p->k, SPLIT_SIDE);
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)tiles, 1, items},
                                  .threads = SPLIT_THREADS,
                                  .smem_bytes = SPLIT_BYTES};
}

/* ---- the predicted time ---- */

/* Measured alike with both. */
#define TENSOR_SHARE   0.84   /* of the peak rate that long products of 64 x 208 reach */
#define COLUMNS_BESIDE 12.0   /* columns that an instruction takes longer than its own */
#define SM_BYTES       42.4   /* an SM and clock that arrive from L2 */
#define FILL_CYCLES    2500.0 /* until the first product, and from the last to the end */
#define DRAM_SHARE     0.81
#define LAUNCH_US      1.56
#define LAST_BLOCK_US  2.15 /* of a tile that blocks share: adds their parts */
#define PART_BYTES     20.0 /* an SM and clock in which it reads them */

/* Of memory with bytes that are read or written; in_l2: those that are read twice fit there. */
static inline double split_memory_us(double bytes, bool twice, const struct gpu *gpu)
{
    return bytes /
           ((twice && bytes < (double)gpu->l2_bytes ? 2 : 1) * DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* Blocks that walk, one an SM: legal tiles do not spill. The family adds its products and what limits a step,
 * its stores, and the time of memory. type: of the tensor cores' rate; alone_share: what a group reaches of
 * it if no other multiplies while its sums are promoted; before_us: the kernels before. */
static inline struct tensor_kernel split_kernel(const struct config *config, const struct problem *p,
                                                const struct gpu *gpu, enum gemm_type type,
                                                double alone_share, double before_us)
{
    const struct tiled_grid grid = tiled_grid(config, p, gpu);
    const double batch = (double)p->batch, shares = grid.blocks / batch, blocks = fmin(shares, SMS);
    const double last = LAST_BLOCK_US + grid.splits * 4 * BM * BN / PART_BYTES / gpu->clock_mhz;
    return (struct tensor_kernel){.at_once = 1,
                                  .blocks = grid.blocks,
                                  .sms = grid.sms,
                                  .steps = ceil(fmin(grid.k, (double)p->k) / BK),
                                  .rate = tensor_rate(gpu, type, TENSOR_SHARE) *
                                          (CONSUMERS == 1 ? alone_share : 1),
                                  .arrival_rate = SM_BYTES,
                                  .fill_cycles = FILL_CYCLES,
                                  .store = 4.0 * BM * BN,
                                  .walkers = 1,
                                  .rounds = ceil(shares / blocks) * ceil(blocks * batch / gpu->sm_count),
                                  .overhead_us = LAUNCH_US + before_us + (grid.splits > 1 ? last : 0)};
}

#endif

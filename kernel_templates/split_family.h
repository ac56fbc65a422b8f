/* split_family.h — what the host halves of bf16x6 and f16x3 share: operands of FP32 are split into pieces of
 * 16 bits, which blocks multiply (gt_split_ring.cuh). For their files, after NAME_host.h.
 */
#ifndef GT_SPLIT_FAMILY_H
#define GT_SPLIT_FAMILY_H

#include "gemm_block.h"
#include "gt_workspace16.h"
#include "launch_limits.h"
#include "model_parts.h"
#include "split_k.h"

#include <math.h>
#include <string.h>

#define PIECES_BYTES_MAX (INT64_C(4) << 30)   /* of workspace, of an item */
#define PARTS_BYTES_MAX  (INT64_C(256) << 20) /* for the parts of a cut k, of an item */

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

/* ---- checks ---- */

/* Accumulators: two sets of 64 rows among 128 threads. */
static inline struct resources split_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = RIGHT};
}

/* sized: all that the sizes of a block depend on is known. */
static inline const char *check_split_gpu(const struct config *config, int known, bool sized,
                                          const struct gpu *gpu)
{
    if (gpu->arch != 90) return "wgmma exists on sm_90 alone";
    if (known > P_SMS && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!sized) return NULL;
    if (SMEM_BYTES > gpu->smem_per_block_bytes) return "the stages do not fit in a block's shared memory";
    return check_residence(gpu, THREADS, SMEM_BYTES, 1, 0);
}

/* C, and the parts of a cut k. */
static inline const char *check_split_c(const struct config *config, int known, const struct problem *p)
{
    if (known > P_VC && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (known <= P_BN) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (known <= P_SPLIT_K) return NULL;
    const int64_t splits = cut_k(p->k, BK, SPLIT_K, 0).splits;
    if (splits > 1 && rows > 0 && columns > PARTS_BYTES_MAX / 4 / splits / (BM * BN) / rows)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

/* ---- launches ---- */

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

/* The argument and the workspace of a plan (gt_split_store.cuh). Returns its last kernel, which depends on
 * another one if there are pieces in the workspace; its grid's z is the items of a launch. Without a k there
 * are no pieces. */
static inline struct kernel_launch plan_split(const struct config *config, const struct problem *p,
                                              struct launch_plan *plan)
{
    const int64_t rows = ceil_div(p->m, BM), tiles = rows * ceil_div(p->n, BN);
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const int64_t parts = cut.splits > 1 ? 4 * cut.splits * tiles * BM * BN : 0,
                  maxima = p->k > 0 ? MAXIMA_WORDS(p->m, p->n, p->k) : 0,
                  words = maxima + (parts > 0 ? tiles : 0),
                  before = (int64_t)pieces_bytes(config, p) + (p->k > 0 ? 4 * EXPONENT_WORDS(p->m, p->n) : 0);
    struct gemm_args args = gemm_args_of(p);
    args.group = (int)smaller(GROUP, rows);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)cut.k_per_split;
    const int64_t slice = before + parts > 0 ? items_per_launch(before + parts + 4 * maxima) : GRID_Z_MAX;
    const int64_t items = smaller(p->batch, slice);
    args.counters = (int)(ceil_div(items * words, COUNTERS_UNIT) * COUNTERS_UNIT);
    gemm_args_put(plan, p, &args);
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(ARGUMENT_BYTES - plan->argument_bytes));
    plan->argument_bytes = ARGUMENT_BYTES;
    plan->batch_per_launch = slice;
    plan->workspace_bytes = 4 * args.counters + items * (before + parts);
    return (struct kernel_launch){.entry = "gemm",
                                  .grid = {(unsigned)smaller(tiles * cut.splits, SMS), 1, (unsigned)items},
                                  .threads = (unsigned)THREADS,
                                  .smem_bytes = (unsigned)SMEM_BYTES,
                                  .dependent = before > 0};
}

/* ---- the model ---- */

/* Measured alike with both. */
#define TENSOR_SHARE   0.84   /* of the peak rate that long products of 64 x 208 reach */
#define COLUMNS_BESIDE 12.0   /* columns that an instruction takes longer than its own */
#define SM_BYTES       42.4   /* an SM and clock that arrive from L2 */
#define FILL_CYCLES    2500.0 /* until the first product, and from the last to the end */
#define DRAM_SHARE     0.81
#define LAUNCH_US      1.56
#define LAST_BLOCK_US  2.15 /* of a tile that blocks share: adds their parts */
#define PART_BYTES     20.0 /* an SM and clock in which it reads them */

/* Products of elements an SM and clock. alone_share: what a group reaches of it if no other multiplies while
 * its sums are promoted. */
static inline double tensor_rate(const struct config *config, const struct gpu *gpu, enum gemm_type type,
                                 double alone_share)
{
    return gpu_peak_tflops(gpu, type) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 * TENSOR_SHARE *
           (CONSUMERS == 1 ? alone_share : 1);
}

/* Of memory with bytes that are read or written; in_l2: those that are read twice fit there. */
static inline double split_memory_us(double bytes, bool twice, const struct gpu *gpu)
{
    return bytes /
           ((twice && bytes < (double)gpu->l2_bytes ? 2 : 1) * DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* tile_cycles: of a tile's share of k, of so many k, and of its sums on their way to C; fill_cycles: until
 * the first product, and from the last to the end; bytes: from and to memory; before_us: the kernels before.
 */
struct split_times {
    double (*tile_cycles)(const struct config *config, double k, const struct gpu *gpu);
    double fill_cycles, bytes, before_us;
};

static inline struct prediction predict_split(const struct config *config, const struct problem *p,
                                              const struct gpu *gpu, const struct split_times *times)
{
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const double splits = (double)cut.splits;
    const double shares = ceil((double)p->m / BM) * ceil((double)p->n / BN) * splits;
    const double blocks = fmin(shares, SMS) * (double)p->batch;
    const double rounds = ceil(shares / fmin(shares, SMS)) * ceil(blocks / gpu->sm_count);
    const double k = fmin((double)cut.k_per_split, (double)p->k);
    struct prediction time = {.blocks_per_sm = 1, .waves = shares * (double)p->batch / gpu->sm_count};
    time.compute_us = (times->fill_cycles + rounds * times->tile_cycles(config, k, gpu)) / gpu->clock_mhz;
    time.memory_us = split_memory_us(times->bytes, false, gpu);
    time.overhead_us = LAUNCH_US + times->before_us +
                       (splits > 1 ? LAST_BLOCK_US + splits * 4 * BM * BN / PART_BYTES / gpu->clock_mhz : 0);
    time.time_us = time.overhead_us + overlapped_us(time.compute_us, time.memory_us, 4);
    return time;
}

#endif

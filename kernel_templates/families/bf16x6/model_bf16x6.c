/* model_bf16x6.c — predicted time of a bf16x6 kernel: the splitting, which moves bytes; waves of tiles, each
 * limited by the tensor cores, by the bytes that arrive in its SM or, with FUSE, by splitting; fixed costs.
 * Fitted to two runs on an H100 (2026-11-25; test_model_bf16x6.c).
 */
#include "bf16x6_host.h"

#include "launch_limits.h"
#include "model_parts.h"
#include "split_k.h"

#include <math.h>

#define PRODUCTS       6      /* of pieces, for each product of elements */
#define TENSOR_SHARE   0.84   /* of BF16's peak rate that long products of 64 x 208 reach */
#define ALONE_SHARE    0.78   /* of that, if no other group multiplies while sums are promoted */
#define COLUMNS_BESIDE 12.0   /* columns that an instruction takes longer than its own */
#define ROW_CYCLES     25.0   /* FUSE: in which four warps split a row of BK k */
#define SM_BYTES       42.4   /* an SM and clock that arrive from L2 */
#define STORE_BYTES    16.0   /* an SM and clock that sums leave as C */
#define FILL_CYCLES    2500.0 /* until the first product, and from the last to the end */
#define DRAM_SHARE     0.81
#define LAUNCH_US      1.56
#define SPLIT_US       3.0  /* a launch before the product, and its end */
#define LAST_BLOCK_US  2.15 /* of a tile that blocks share: adds their parts */
#define PART_BYTES     20.0 /* an SM and clock in which it reads them */

/* Cycles of a tile's share of k, and of its sums on their way to C. */
static double tile_cycles(const struct config *config, double k, const struct gpu *gpu)
{
    const double rate = gpu_peak_tflops(gpu, GEMM_BF16) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 *
                        TENSOR_SHARE * (CONSUMERS == 1 ? ALONE_SHARE : 1);
    const double products = PRODUCTS * BM * (BN + COLUMNS_BESIDE) * BK / rate;
    const double arrival = (FUSE ? 4.0 * BK * (BM + BN) : (double)PIECES * STAGE_BYTES) / SM_BYTES;
    const double splitting = FUSE ? ROW_CYCLES * (BM + BN) : 0;
    return ceil(k / BK) * fmax(splitting, fmax(products, arrival)) + 4.0 * BM * BN / STORE_BYTES;
}

/* A prepared operand is not split. */
static double split_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    if (FUSE) return 0;
    const double m = p->prepared == PREPARED_A ? 0 : (double)p->m,
                 n = p->prepared == PREPARED_B ? 0 : (double)p->n;
    const double elements = (double)p->batch * (double)p->k * (m + n);
    const double bytes = elements * (4 + 2 * PIECES), in_l2 = bytes < (double)gpu->l2_bytes ? 2 : 1;
    return SPLIT_US + bytes / (in_l2 * DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

/* Pieces of a prepared operand are read in its place. */
static double bytes_moved(const struct config *config, const struct problem *p)
{
    const double a = (double)problem_count_a(p) * (double)p->m, b = (double)problem_count_b(p) * (double)p->n,
                 lines = FUSE || !p->prepared        ? 0
                         : p->prepared == PREPARED_A ? a
                                                     : b;
    return problem_bytes(p) + (2 * PIECES - 4) * lines * (double)p->k;
}

struct prediction bf16x6_predict(const struct config *config, const struct problem *p, const struct gpu *gpu,
                                 const struct kernel_facts *facts)
{
    (void)facts; /* legal tiles do not spill */
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const double splits = (double)cut.splits;
    const double shares = ceil((double)p->m / BM) * ceil((double)p->n / BN) * splits;
    const double blocks = fmin(shares, SMS) * (double)p->batch;
    const double rounds = ceil(shares / fmin(shares, SMS)) * ceil(blocks / gpu->sm_count);
    struct prediction time = {.blocks_per_sm = 1, .waves = shares * (double)p->batch / gpu->sm_count};
    const double k = fmin((double)cut.k_per_split, (double)p->k);
    time.compute_us = (FILL_CYCLES + rounds * tile_cycles(config, k, gpu)) / gpu->clock_mhz;
    time.memory_us = bytes_moved(config, p) / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    time.overhead_us = LAUNCH_US + split_us(config, p, gpu) +
                       (splits > 1 ? LAST_BLOCK_US + splits * 4 * BM * BN / PART_BYTES / gpu->clock_mhz : 0);
    time.time_us = time.overhead_us + overlapped_us(time.compute_us, time.memory_us, 4);
    return time;
}

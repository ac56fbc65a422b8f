/* model_f16x3.c — predicted time of an f16x3 kernel: the maxima and the splitting, which move bytes; waves of
 * tiles, each limited by the tensor cores or by the bytes that arrive in its SM; fixed costs. Constants are
 * those of the bf16x6 family, which multiplies in the same way.
 */
#include "f16x3_host.h"

#include "launch_limits.h"
#include "model_parts.h"
#include "split_k.h"

#include <math.h>

#define TENSOR_SHARE   0.84   /* of FP16's peak rate that long products of 64 x 208 reach */
#define ALONE_SHARE    0.65   /* of that, if no other group multiplies while sums are promoted */
#define COLUMNS_BESIDE 12.0   /* columns that an instruction takes longer than its own */
#define STEP_CYCLES    80.0   /* in which nothing is multiplied, at each promotion */
#define SM_BYTES       42.4   /* an SM and clock that arrive from L2 */
#define STORE_BYTES    12.0   /* an SM and clock that sums leave as C */
#define FILL_CYCLES    2500.0 /* until the first product, and from the last to the end */
#define DRAM_SHARE     0.81
#define LAUNCH_US      1.56
#define BEFORE_US      6.0    /* two launches before the product, and their ends */
#define TABLE_US_PER_K 0.4e-3 /* each block of the splitting reads all maxima of k */
#define LAST_BLOCK_US  2.15   /* of a tile that blocks share: adds their parts */
#define PART_BYTES     20.0   /* an SM and clock in which it reads them */

/* Cycles of a tile's share of k, and of its sums on their way to C. */
static double tile_cycles(const struct config *config, double k, const struct gpu *gpu)
{
    const double rate = gpu_peak_tflops(gpu, GEMM_F16) * 1e6 / gpu->sm_count / gpu->clock_mhz / 2 *
                        TENSOR_SHARE * (CONSUMERS == 1 ? ALONE_SHARE : 1);
    const double count = LOW == 0 ? 3 : LOW == 8 ? 3.5 : 4, stages = LOW == 8 ? 2.5 : 2;
    const double products = count * BM * (BN + COLUMNS_BESIDE) * STEP_K / rate + STEP_CYCLES;
    const double arrival = stages * STAGE_BYTES / SM_BYTES;
    return ceil(k / BK) * (BK / STEP_K) * fmax(products, arrival) + 4.0 * BM * BN / STORE_BYTES;
}

/* Operands are read twice: a second time from L2 where they fit. */
static double before_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const double elements = (double)p->batch * (double)p->k * ((double)p->m + (double)p->n);
    const double bytes = elements * (8 + (LOW == 8 ? 5 : 4)), in_l2 = bytes < (double)gpu->l2_bytes ? 2 : 1;
    return BEFORE_US + TABLE_US_PER_K * (double)p->k +
           bytes / (in_l2 * DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
}

struct prediction f16x3_predict(const struct config *config, const struct problem *p, const struct gpu *gpu,
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
    time.memory_us = problem_bytes(p) / (DRAM_SHARE * gpu->memory_gb_per_s * 1e3);
    time.overhead_us = LAUNCH_US + before_us(config, p, gpu) +
                       (splits > 1 ? LAST_BLOCK_US + splits * 4 * BM * BN / PART_BYTES / gpu->clock_mhz : 0);
    time.time_us = time.overhead_us + overlapped_us(time.compute_us, time.memory_us, 4);
    return time;
}

/* model_f16x3.c — predicted time of an f16x3 kernel: the maxima and the splitting, which move bytes; waves of
 * tiles, each limited by the tensor cores or by the bytes that arrive in its SM; fixed costs.
 */
#include "f16x3_host.h"

#include "split_family.h"

#define ALONE_SHARE    0.65   /* of the tensor cores, if no other group multiplies while sums are promoted */
#define STEP_CYCLES    80.0   /* in which nothing is multiplied, at each promotion */
#define STORE_BYTES    12.0   /* an SM and clock that sums leave as C */
#define BEFORE_US      6.0    /* two launches before the product, and their ends */
#define TABLE_US_PER_K 0.4e-3 /* each block of the splitting reads all maxima of k */

/* Cycles of a tile's share of k, and of its sums on their way to C. */
static double tile_cycles(const struct config *config, double k, const struct gpu *gpu)
{
    const double rate = tensor_rate(config, gpu, GEMM_F16, ALONE_SHARE);
    const double count = LOW == 0 ? 3 : LOW == 8 ? 3.5 : 4, stages = LOW == 8 ? 2.5 : 2;
    const double products = count * BM * (BN + COLUMNS_BESIDE) * STEP_K / rate + STEP_CYCLES;
    const double arrival = stages * STAGE_BYTES / SM_BYTES;
    return ceil(k / BK) * (BK / STEP_K) * fmax(products, arrival) + 4.0 * BM * BN / STORE_BYTES;
}

/* Operands are read twice: a second time from L2 where they fit. */
static double before_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const double elements = (double)p->batch * (double)p->k * ((double)p->m + (double)p->n);
    return BEFORE_US + TABLE_US_PER_K * (double)p->k +
           split_memory_us(elements * (8 + (LOW == 8 ? 5 : 4)), true, gpu);
}

struct prediction f16x3_predict(const struct config *config, const struct problem *p, const struct gpu *gpu,
                                const struct kernel_facts *facts)
{
    (void)facts; /* legal tiles do not spill */
    return predict_split(config, p, gpu,
                         &(struct split_times){.tile_cycles = tile_cycles,
                                               .fill_cycles = FILL_CYCLES,
                                               .bytes = problem_bytes(p),
                                               .before_us = before_us(config, p, gpu)});
}

/* model_bf16x6.c — predicted time of a bf16x6 kernel: the splitting, which moves bytes; waves of tiles, each
 * limited by the tensor cores, by the bytes that arrive in its SM, by those that pass through shared memory
 * or, with FUSE 1, by splitting; fixed costs. Fitted to runs on H100s (2026-11-25; FUSE 2 and 3 2026-11-27;
 * test_model_bf16x6.c).
 */
#include "bf16x6_host.h"

#include "split_family.h"

#define PRODUCTS     6      /* of pieces, for each product of elements */
#define ALONE_SHARE  0.78   /* of the tensor cores, if no other group multiplies while sums are promoted */
#define ROW_CYCLES   25.0   /* FUSE 1: in which four warps split a row of BK k */
#define SHARED_BYTES 84.0   /* an SM and clock through shared memory, with FUSE 2 and 3 */
#define STORE_BYTES  16.0   /* an SM and clock that sums leave as C */
#define TURNED_BYTES 12.0   /* the same with SWAP, an element at a time */
#define RAW_CYCLES   6000.0 /* FILL_CYCLES where rows arrive, are split and then multiplied */
#define SPLIT_US     3.0    /* a launch before the product, and its end */

/* Through shared memory in BK k, where rows arrive as they are: those of the left operand once in and once
 * out, the same and pieces of those of the right one, or its pieces; and these again for each product of each
 * group. */
static double shared_bytes(const struct config *config)
{
    const double pieces = 2.0 * PIECES * RIGHT;
    return BK * (8.0 * LEFT + (RIGHT_RAW ? 8.0 * RIGHT : 0) + pieces + 2.0 * PRODUCTS * CONSUMERS * RIGHT);
}

/* Cycles of a tile's share of k, and of its sums on their way to C. */
static double tile_cycles(const struct config *config, double k, const struct gpu *gpu)
{
    const double rate = tensor_rate(config, gpu, GEMM_BF16, ALONE_SHARE);
    const double products = PRODUCTS * LEFT * ((double)RIGHT + COLUMNS_BESIDE) * BK / rate;
    const double left = LEFT_RAW || FUSE == 1 ? 4 : 2 * PIECES, right = RIGHT_SPLIT ? 4 : 2 * PIECES;
    const double arrival = BK * (left * LEFT + right * RIGHT) / SM_BYTES;
    const double limit = LEFT_RAW ? shared_bytes(config) / SHARED_BYTES : FUSE ? ROW_CYCLES * (BM + BN) : 0;
    return ceil(k / BK) * fmax(limit, fmax(products, arrival)) +
           4.0 * BM * BN / (SWAP ? TURNED_BYTES : STORE_BYTES);
}

/* Does the product take this prepared operand? As template.prepare says. */
static bool reads_prepared(const struct config *config, const struct problem *p,
                           enum prepared_operand operand)
{
    return p->prepared == operand &&
           (FUSE == 0 || (FUSE == 2 && operand == (SWAP ? PREPARED_A : PREPARED_B)));
}

/* Of gemm_pack, if there is something left for it. */
static double split_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const bool a = !reads_prepared(config, p, PREPARED_A) && !(LEFT_RAW && !SWAP),
               b = !reads_prepared(config, p, PREPARED_B) && !(LEFT_RAW && SWAP);
    if (RIGHT_SPLIT || (!a && !b)) return 0;
    const double lines = (a ? (double)p->m : 0) + (b ? (double)p->n : 0);
    const double elements = (double)p->batch * (double)p->k * lines;
    return SPLIT_US + split_memory_us(elements * (4 + 2 * PIECES), true, gpu);
}

/* Pieces of a prepared operand are read in its place. */
static double bytes_moved(const struct config *config, const struct problem *p)
{
    const double a = (double)problem_count_a(p) * (double)p->m, b = (double)problem_count_b(p) * (double)p->n,
                 lines = reads_prepared(config, p, PREPARED_A)   ? a
                         : reads_prepared(config, p, PREPARED_B) ? b
                                                                 : 0;
    return problem_bytes(p) + (2 * PIECES - 4) * lines * (double)p->k;
}

struct prediction bf16x6_predict(const struct config *config, const struct problem *p, const struct gpu *gpu,
                                 const struct kernel_facts *facts)
{
    (void)facts; /* legal tiles do not spill */
    return predict_split(config, p, gpu,
                         &(struct split_times){.tile_cycles = tile_cycles,
                                               .fill_cycles = LEFT_RAW ? RAW_CYCLES : FILL_CYCLES,
                                               .bytes = bytes_moved(config, p),
                                               .before_us = split_us(config, p, gpu)});
}

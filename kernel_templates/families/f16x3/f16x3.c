/* f16x3.c — FP32 as two FP16 pieces on the host. Its own, beside what split_family.h has: maxima, exponents,
 * pieces of 8 bits. The predicted time: the maxima and the splitting, which move bytes; waves of tiles, each
 * limited by the tensor cores or by the bytes that arrive in its SM; fixed costs.
 */
#define LOW (config->value[P_LOW])

#define FAMILY_PARAMS "f16x3_params.def"
#define FAMILY_RULES  "f16x3_rules.h"
#include "family_template.h"

#include "split_family.h"

#define MAXIMA_BYTES_MAX (INT64_C(64) << 20) /* of an item */

static const char *refuse(const struct config *config, int known, const struct problem *p,
                          const struct gpu *gpu)
{
    (void)gpu;
    const char *why = KNOWN(LOW) ? check_pieces(config, p) : NULL;
    if (!why && MAXIMA_WORDS((double)p->m, (double)p->n, (double)p->k) > MAXIMA_BYTES_MAX / 4)
        why = "the maxima of rows and columns need more than 64 MiB of workspace";
    return why;
}

/* Tiles of the kernel of the maxima: of lines x length elements as they lie. */
static int64_t maxima_tiles(int64_t lines, int64_t length)
{
    return ceil_div(lines, MAXIMA_LINES) * ceil_div(length, MAXIMA_LENGTH);
}

static struct kernel_launch maxima_launch(const struct problem *p, unsigned items)
{
    const int64_t tiles = maxima_tiles(problem_rows_a(p), problem_cols_a(p)) +
                          maxima_tiles(problem_rows_b(p), problem_cols_b(p));
    return (struct kernel_launch){.entry = "gemm_maxima",
                                  .grid = {(unsigned)tiles, 1, items},
                                  .threads = MAXIMA_THREADS,
                                  .smem_bytes = MAXIMA_THREADS / 32 * MAXIMA_LENGTH * 4};
}

/* As many blocks as the GPU holds, each of which takes several tiles; at least one for each operand. */
static struct kernel_launch scaling_launch(const struct config *config, const struct problem *p,
                                           unsigned items)
{
    struct kernel_launch launch = split_launch(config, p, items);
    launch.grid[0] = (unsigned)smaller(launch.grid[0], (int64_t)SMS * SPLIT_BLOCKS);
    launch.dependent = true;
    return launch;
}

static struct tensor_view view_of(const struct config *config, const struct problem *p,
                                  const struct launch_plan *plan, unsigned items, bool right, int at)
{
    return view_of_pieces(config, p, ELEMENT_F16, items, plan->counters, right ? p->m : 0,
                          right ? p->n : p->m, right ? BN : BM, at);
}

static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    const unsigned items = product->grid[2];
    if (p->k == 0) return; /* there is nothing to multiply */
    plan->view[plan->views++] = view_of(config, p, plan, items, false, MAP_LEFT_AT);
    plan->view[plan->views++] = view_of(config, p, plan, items, true, MAP_RIGHT_AT);
    if (LOW == 8) /* two to an element of the map */
        for (int i = 0; i < 2; i++) {
            plan->view[plan->views] = plan->view[i];
            plan->view[plan->views].extent[0] = ceil_div(p->k, 2);
            plan->view[plan->views++].at = (uint16_t)(i ? MAP_RIGHT8_AT : MAP_LEFT8_AT);
        }
    plan->kernel[plan->kernels++] = maxima_launch(p, items);
    plan->kernel[plan->kernels++] = scaling_launch(config, p, items);
    product->dependent = true;
}

static const struct tiled tiled_f16x3 = {SPLIT_ROW,
                                         .at = {.sized = AT(STAGES),
                                                .bm = AT(BM),
                                                .bn = AT(BN),
                                                .group = AT(GROUP),
                                                .split_k = AT(SPLIT_K),
                                                .sms = AT(SMS)},
                                         .computes = "the f16x3 family computes sgemm_normwise",
                                         .vectors = {WIDER(VC, C, "C")},
                                         .refuse = refuse,
                                         .launch = launch};

/* ---- the predicted time ---- */

#define ALONE_SHARE    0.65   /* of the tensor cores, if no other group multiplies while sums are promoted */
#define STEP_CYCLES    80.0   /* in which nothing is multiplied, at each promotion */
#define STORE_BYTES    12.0   /* an SM and clock that sums leave as C */
#define BEFORE_US      6.0    /* two launches before the product, and their ends */
#define TABLE_US_PER_K 0.4e-3 /* each block of the splitting reads all maxima of k */

/* Operands are read twice: a second time from L2 where they fit. */
static double before_us(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    const double elements = (double)p->batch * (double)p->k * ((double)p->m + (double)p->n);
    return BEFORE_US + TABLE_US_PER_K * (double)p->k +
           split_memory_us(elements * (8 + (LOW == 8 ? 5 : 4)), true, gpu);
}

static struct prediction f16x3_predict(const struct config *config, const struct problem *p,
                                       const struct gpu *gpu, const struct kernel_facts *facts)
{
    struct tensor_kernel t = split_kernel(config, p, gpu, GEMM_F16, ALONE_SHARE, before_us(config, p, gpu));
    t.steps *= BK / STEP_K;
    t.products = (LOW == 0 ? 3 : LOW == 8 ? 3.5 : 4) * BM * (BN + COLUMNS_BESIDE) * STEP_K;
    t.wait_cycles = STEP_CYCLES;
    t.arrival = (LOW == 8 ? 2.5 : 2) * STAGE_BYTES;
    t.store_rate = STORE_BYTES;
    t.memory_us = split_memory_us(problem_bytes(p), false, gpu);
    return tensor_predict(&t, gpu, facts);
}

FAMILY(f16x3, GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE),
       .summary = "FP32 on the tensor cores of sm_90, as accurate as FFMA against the largest of C: operands "
                  "scaled by powers of two and split into two FP16 pieces",
       .one_arch = true, .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS)

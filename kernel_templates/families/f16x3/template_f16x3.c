/* The family for FP32 as two FP16 pieces on the host: parameters, what they need, which are correct where,
 * and how they are launched. Its own, beside what split_family.h has: maxima, exponents, pieces of 8 bits. */
#include "f16x3_host.h"

#include "split_family.h"

#define MAXIMA_BYTES_MAX (INT64_C(64) << 20) /* of an item */

#define RULES    "f16x3_rules.h"
#define COMPUTES "the f16x3 family computes sgemm_normwise"
#include "family_template.h"

static struct resources f16x3_resources(const struct config *config)
{
    return split_resources(config);
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    return check_split_gpu(config, known, KNOWN(STAGES), gpu);
}

/* Tiles of the kernel of the maxima: of lines x length elements as they lie. */
static int64_t maxima_tiles(int64_t lines, int64_t length)
{
    return ceil_div(lines, MAXIMA_LINES) * ceil_div(length, MAXIMA_LENGTH);
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(LOW) && pieces_bytes(config, p) > PIECES_BYTES_MAX)
        return "the pieces of A and B need more than 4 GiB of workspace";
    if (MAXIMA_WORDS((double)p->m, (double)p->n, (double)p->k) > MAXIMA_BYTES_MAX / 4)
        return "the maxima of rows and columns need more than 64 MiB of workspace";
    return check_split_c(config, known, p);
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

static void f16x3_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct kernel_launch product = plan_split(config, p, plan);
    const unsigned items = product.grid[2];
    if (p->k > 0) { /* else there is nothing to multiply */
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
    }
    plan->kernel[plan->kernels++] = product;
}

FAMILY(f16x3, GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE),
       .summary = "FP32 on the tensor cores of sm_90, as accurate as FFMA against the largest of C: operands "
                  "scaled by powers of two and split into two FP16 pieces",
       .one_arch = true, .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS)

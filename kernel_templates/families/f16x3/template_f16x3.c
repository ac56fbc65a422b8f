/* The family for FP32 as two FP16 pieces on the host: parameters, what they need, which are correct where,
 * and how they are launched. */
#include "f16x3_host.h"

#include "gemm_block.h"
#include "gt_workspace16.h"
#include "launch_limits.h"
#include "split_k.h"

#define PIECES_BYTES_MAX (INT64_C(4) << 30)   /* of workspace, of an item */
#define PARTS_BYTES_MAX  (INT64_C(256) << 20) /* for the parts of a cut k, of an item */
#define MAXIMA_BYTES_MAX (INT64_C(64) << 20)  /* of an item */
#define ACCUMULATORS     (BN)                 /* two sets of 64 rows among 128 threads */

_Static_assert(MAP_A_AT >= sizeof(struct gemm_args) && MAP_A_AT % 64 == 0, "the maps follow the arguments");
_Static_assert(MAP_B_AT == MAP_A_AT + LAUNCH_VIEW_BYTES, "and each other");

#define RULES    "f16x3_rules.h"
#define COMPUTES "the f16x3 family computes sgemm_normwise"
#include "family_template.h"

static struct resources f16x3_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = ACCUMULATORS};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (gpu->arch != 90) return "wgmma exists on sm_90 alone";
    if (KNOWN(SMS) && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!KNOWN(STAGES)) return NULL;
    if (SMEM_BYTES > gpu->smem_per_block_bytes) return "the stages do not fit in a block's shared memory";
    return check_residence(gpu, THREADS, SMEM_BYTES, 1, 0);
}

/* Elements of a line of pieces. */
static int64_t piece_line(const struct problem *p)
{
    return ceil_div(p->k, 64) * 64;
}

/* Of an item. In floating point: the largest problems pass 2^63. */
static double pieces_bytes(const struct config *config, const struct problem *p)
{
    return 2.0 * PIECES * (double)piece_line(p) * ((double)p->m + (double)p->n);
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
    if (KNOWN(VC) && VC > problem_align_c(p)) return "VC is wider than C is aligned";
    if (!KNOWN(BN)) return NULL;
    const int64_t rows = ceil_div(p->m, BM), columns = ceil_div(p->n, BN);
    if (rows > 0 && columns > GRID_X_MAX / rows) return "C has more tiles than a grid has blocks";
    if (!KNOWN(SPLIT_K)) return NULL;
    const int64_t splits = cut_k(p->k, BK, SPLIT_K, 0).splits;
    if (splits > 1 && rows > 0 && columns > PARTS_BYTES_MAX / 4 / splits / (BM * BN) / rows)
        return "SPLIT_K needs more than 256 MiB of workspace";
    return NULL;
}

/* The pieces of `lines` lines, from the line `first` of each piece on, which begin after `counters`. */
static struct tensor_view view_of(const struct config *config, const struct problem *p, int64_t items,
                                  int64_t counters, int64_t first, int64_t lines, unsigned box_lines, int at)
{
    const int64_t line_bytes = 2 * piece_line(p);
    return (struct tensor_view){.operand = LAUNCH_WORKSPACE,
                                .element = ELEMENT_F16,
                                .rank = 3,
                                .offset_bytes = 4 * counters + first * line_bytes,
                                .extent = {p->k, lines, PIECES * items},
                                .stride_bytes = {2, line_bytes, (p->m + p->n) * line_bytes},
                                .box = {64, box_lines, 1},
                                .swizzle_bytes = 128,
                                .k_axis = -1,
                                .batch_axis = -1,
                                .at = (uint16_t)at};
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

/* At least one block for each operand. */
static struct kernel_launch split_launch(const struct config *config, const struct problem *p, unsigned items)
{
    const int64_t tiles =
        (ceil_div(p->m, SPLIT_SIDE) + ceil_div(p->n, SPLIT_SIDE)) * ceil_div(p->k, SPLIT_SIDE);
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)smaller(tiles, (int64_t)SMS * SPLIT_BLOCKS), 1, items},
                                  .threads = SPLIT_THREADS,
                                  .smem_bytes = SPLIT_BYTES,
                                  .dependent = true};
}

static void f16x3_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const int64_t rows = ceil_div(p->m, BM), tiles = rows * ceil_div(p->n, BN);
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const bool splits = p->k > 0; /* else there is nothing to multiply */
    const int64_t parts = cut.splits > 1 ? 4 * cut.splits * tiles * BM * BN : 0,
                  words = (splits ? MAXIMA_WORDS(p->m, p->n, p->k) : 0) + (parts > 0 ? tiles : 0),
                  before = splits ? (int64_t)pieces_bytes(config, p) + 4 * EXPONENT_WORDS(p->m, p->n) : 0;
    struct gemm_args args = gemm_args_of(p);
    args.group = (int)smaller(GROUP, rows);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)cut.k_per_split;
    const int64_t slice = splits ? items_per_launch(before + parts + 4 * words) : GRID_Z_MAX;
    const int64_t items = smaller(p->batch, slice);
    args.counters = (int)(ceil_div(items * words, COUNTERS_UNIT) * COUNTERS_UNIT);
    gemm_args_put(plan, p, &args);
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(ARGUMENT_BYTES - plan->argument_bytes));
    plan->argument_bytes = ARGUMENT_BYTES;
    plan->batch_per_launch = slice;
    plan->workspace_bytes = 4 * args.counters + items * (before + parts);
    if (splits) {
        plan->view[plan->views++] = view_of(config, p, items, args.counters, 0, p->m, (unsigned)BM, MAP_A_AT);
        plan->view[plan->views++] =
            view_of(config, p, items, args.counters, p->m, p->n, (unsigned)BN, MAP_B_AT);
        if (LOW == 8) /* two to an element of the map */
            for (int i = 0; i < 2; i++) {
                plan->view[plan->views] = plan->view[i];
                plan->view[plan->views].extent[0] = ceil_div(p->k, 2);
                plan->view[plan->views++].at = (uint16_t)(i ? MAP_B8_AT : MAP_A8_AT);
            }
        plan->kernel[plan->kernels++] = maxima_launch(p, (unsigned)items);
        plan->kernel[plan->kernels++] = split_launch(config, p, (unsigned)items);
    }
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)smaller(tiles * cut.splits, SMS), 1, (unsigned)items},
                               .threads = (unsigned)THREADS,
                               .smem_bytes = (unsigned)SMEM_BYTES,
                               .dependent = splits};
}

/* Written out, since gemm_block does not describe an argument with tensor maps. */
extern const struct source_text sources_f16x3[];
extern const struct template template_f16x3;
const struct template template_f16x3 = {
    .name = "f16x3",
    .summary = "FP32 on the tensor cores of sm_90, as accurate as FFMA against the largest of C: operands "
               "scaled by powers of two and split into two FP16 pieces",
    .space = "f16x3.conf",
    .params = params,
    .param_count = P_COUNT,
    .computes = GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE),
    .one_arch = true,
    .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
    .optional = OPTIONAL,
    .sources = sources_f16x3,
    .resources = f16x3_resources,
    .check = template_check_all,
    .check_prefix = check_prefix,
    .plan = f16x3_plan,
    .predict = f16x3_predict};

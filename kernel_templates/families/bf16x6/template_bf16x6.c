/* The family for FP32 as three BF16 pieces on the host: parameters, what they need, which are correct where,
 * and how they are launched. */
#include "bf16x6_host.h"

#include "gemm_block.h"
#include "gt_workspace16.h"
#include "launch_limits.h"
#include "split_k.h"

#define PIECES_BYTES_MAX (INT64_C(4) << 30)   /* of workspace, of an item */
#define PARTS_BYTES_MAX  (INT64_C(256) << 20) /* for the parts of a cut k, of an item */
#define ACCUMULATORS     (RIGHT)              /* two sets of 64 rows among 128 threads */
#define MAP_STRIDE_MAX   (INT64_C(1) << 40)   /* bytes, cuTensorMapEncodeTiled */

_Static_assert(MAP_LEFT_AT >= sizeof(struct gemm_args) && MAP_LEFT_AT % 64 == 0,
               "the maps follow the arguments");
_Static_assert(MAP_RIGHT_AT == MAP_LEFT_AT + LAUNCH_VIEW_BYTES, "and each other");

#define RULES    "bf16x6_rules.h"
#define COMPUTES "the bf16x6 family computes sgemm_accurate"
#include "family_template.h"

static struct resources bf16x6_resources(const struct config *config)
{
    return (struct resources){.threads = THREADS, .smem_bytes = SMEM_BYTES, .accumulators = ACCUMULATORS};
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    if (gpu->arch != 90) return "wgmma exists on sm_90 alone";
    if (KNOWN(SMS) && SMS > gpu->sm_count) return "SMS is more than the GPU has";
    if (!KNOWN(SWAP)) return NULL;
    if (SMEM_BYTES > gpu->smem_per_block_bytes) return "the stages do not fit in a block's shared memory";
    return check_residence(gpu, THREADS, SMEM_BYTES, 1, 0);
}

/* Elements of a line of pieces. */
static int64_t piece_line(const struct problem *p)
{
    return ceil_div(p->k, 64) * 64;
}

/* Of an item, in the workspace. In floating point: the largest problems pass 2^63. */
static double pieces_bytes(const struct config *config, const struct problem *p)
{
    const double left = LEFT_RAW ? 0 : (double)(SWAP ? p->n : p->m), right = (double)(SWAP ? p->m : p->n);
    return RIGHT_SPLIT ? 0 : 2.0 * PIECES * (double)piece_line(p) * (left + right);
}

/* Can a tensor map read an operand as it lies? */
static const char *check_map(int64_t ld, int64_t stride, const struct problem *p)
{
    if (p->batch <= 1) stride = 0;
    if (p->pointers) return "FUSE 2 and 3 read operands by tensor maps, which know no arrays of pointers";
    if (ld % 4 != 0 || stride % 4 != 0)
        return "FUSE 2 and 3 need operands whose lines begin at multiples of 16 bytes: 2 A (with SWAP B), 3 "
               "both";
    if (stride >= MAP_STRIDE_MAX / 4) return "the items of the batch are too far apart for a tensor map";
    return NULL;
}

static const char *check_maps(const struct config *config, const struct problem *p)
{
    const char *why = NULL;
    if (RIGHT_RAW || (LEFT_RAW && !SWAP)) why = check_map(p->lda, p->stride_a, p);
    if (!why && (RIGHT_RAW || (LEFT_RAW && SWAP))) why = check_map(p->ldb, p->stride_b, p);
    return why;
}

static const char *check_problem(const struct config *config, int known, const struct problem *p,
                                 const struct gpu *gpu)
{
    (void)gpu;
    if (!p) return NULL;
    if (KNOWN(SWAP) && pieces_bytes(config, p) > PIECES_BYTES_MAX)
        return "the pieces of A and B need more than 4 GiB of workspace";
    const char *why = KNOWN(SWAP) ? check_maps(config, p) : NULL;
    if (why) return why;
    if (KNOWN(VA) && VA > problem_align_a(p)) return "VA is wider than A is aligned";
    if (KNOWN(VB) && VB > problem_align_b(p)) return "VB is wider than B is aligned";
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
static struct tensor_view view_of(const struct problem *p, int64_t items, int64_t counters, int64_t first,
                                  int64_t lines, unsigned box_lines, int at)
{
    const int64_t line_bytes = 2 * piece_line(p);
    return (struct tensor_view){.operand = LAUNCH_WORKSPACE,
                                .element = ELEMENT_BF16,
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

/* An operand as it lies, for a tile of so many of its rows: of op(A), or columns of op(B). */
static struct tensor_view view_of_raw(const struct problem *p, bool b, int tile_rows, int at)
{
    const bool along_k = b ? p->trans_b : !p->trans_a;
    const int64_t rows = b ? p->n : p->m, ld = b ? p->ldb : p->lda, stride = b ? p->stride_b : p->stride_a;
    const bool items = p->batch > 1 && stride != 0;
    return (struct tensor_view){
        .operand = b ? LAUNCH_B : LAUNCH_A,
        .element = ELEMENT_F32,
        .rank = 3,
        .extent = {along_k ? p->k : rows, along_k ? rows : p->k, items ? p->batch : 1},
        .stride_bytes = {4, 4 * ld, 4 * (items ? stride : ld)},
        .box = {32, (unsigned)(along_k ? tile_rows : 64), 1},
        .swizzle_bytes = 128,
        .k_axis = -1,
        .batch_axis = items ? 2 : -1,
        .at = (uint16_t)at};
}

static struct kernel_launch split_launch(const struct problem *p, unsigned items)
{
    const int64_t tiles =
        (ceil_div(p->m, SPLIT_SIDE) + ceil_div(p->n, SPLIT_SIDE)) * ceil_div(p->k, SPLIT_SIDE);
    return (struct kernel_launch){.entry = "gemm_pack",
                                  .grid = {(unsigned)tiles, 1, items},
                                  .threads = SPLIT_THREADS,
                                  .smem_bytes = SPLIT_BYTES};
}

/* The kernel that splits gets 0 lines of an operand that it leaves out. */
static void leave_out(struct kernel_launch *launch, const struct problem *p, bool b)
{
    const int64_t tiles_k = ceil_div(p->k, SPLIT_SIDE);
    launch->grid[0] = (unsigned)(ceil_div(b ? p->m : p->n, SPLIT_SIDE) * tiles_k);
    launch->zero_at = (uint16_t)(b ? offsetof(struct gemm_args, n) : offsetof(struct gemm_args, m));
}

/* Makes the pieces of `lines` lines lie alone. */
static void view_alone(struct tensor_view *view, int64_t offset_bytes, int64_t lines)
{
    view->offset_bytes = offset_bytes;
    view->stride_bytes[2] = lines * view->stride_bytes[1];
}

/* Of both operands, or of the right one. */
static void plan_pieces(const struct config *config, const struct problem *p, int64_t items, int64_t counters,
                        struct launch_plan *plan)
{
    struct kernel_launch *const launch = &plan->kernel[plan->kernels++];
    *launch = split_launch(p, (unsigned)items);
    if (LEFT_RAW) {
        const int64_t lines = SWAP ? p->m : p->n;
        struct tensor_view *const right = &plan->view[plan->views++];
        *right = view_of(p, items, counters, 0, lines, (unsigned)RIGHT, MAP_RIGHT_AT);
        view_alone(right, right->offset_bytes, lines);
        leave_out(launch, p, SWAP);
    } else {
        plan->view[plan->views++] = view_of(p, items, counters, 0, p->m, (unsigned)BM, MAP_LEFT_AT);
        plan->view[plan->views++] = view_of(p, items, counters, p->m, p->n, (unsigned)BN, MAP_RIGHT_AT);
    }
}

static void bf16x6_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const int64_t rows = ceil_div(p->m, BM), tiles = rows * ceil_div(p->n, BN);
    const struct k_cut cut = cut_k(p->k, BK, SPLIT_K, 0);
    const int64_t pieces = (int64_t)pieces_bytes(config, p), /* 0 without k */
        parts = cut.splits > 1 ? 4 * cut.splits * tiles * BM * BN : 0;
    struct gemm_args args = gemm_args_of(p);
    args.group = (int)smaller(GROUP, rows);
    args.splits = (int)cut.splits;
    args.k_per_split = (int)cut.k_per_split;
    const int64_t slice = pieces + parts > 0 ? items_per_launch(pieces + parts) : GRID_Z_MAX;
    const int64_t items = smaller(p->batch, slice);
    if (parts > 0) args.counters = (int)(ceil_div(items * tiles, COUNTERS_UNIT) * COUNTERS_UNIT);
    gemm_args_put(plan, p, &args);
    memset(plan->argument + plan->argument_bytes, 0, (size_t)(ARGUMENT_BYTES - plan->argument_bytes));
    plan->argument_bytes = ARGUMENT_BYTES;
    plan->batch_per_launch = slice;
    plan->workspace_bytes = 4 * args.counters + items * (pieces + parts);
    if (LEFT_RAW && p->k > 0) plan->view[plan->views++] = view_of_raw(p, SWAP, (int)LEFT, MAP_LEFT_AT);
    if (RIGHT_RAW && p->k > 0) plan->view[plan->views++] = view_of_raw(p, !SWAP, (int)RIGHT, MAP_RIGHT_AT);
    if (pieces > 0) plan_pieces(config, p, items, args.counters, plan);
    plan->kernel[plan->kernels++] =
        (struct kernel_launch){.entry = "gemm",
                               .grid = {(unsigned)smaller(tiles * cut.splits, SMS), 1, (unsigned)items},
                               .threads = (unsigned)THREADS,
                               .smem_bytes = (unsigned)SMEM_BYTES,
                               .dependent = pieces > 0};
}

/* The product without the pieces of operand b. What else is split has the workspace to itself. */
static void take_prepared(const struct config *config, const struct problem *p, bool b,
                          struct launch_plan *product)
{
    struct tensor_view *const view = &product->view[LEFT_RAW ? 1 : b];
    view->operand = LAUNCH_PREPARED;
    view_alone(view, 0, b ? p->n : p->m);
    if (LEFT_RAW) { /* nothing else */
        product->kernel[0] = product->kernel[1];
        product->kernel[0].dependent = false;
        product->kernels = 1;
        product->first = 1;
    } else {
        leave_out(&product->kernel[0], p, b);
        view_alone(&product->view[!b], 4 * product->counters, b ? p->m : p->n);
    }
}

/* template.h: pieces as in the workspace, without the other operand's. The kernel that splits leaves out an
 * operand that has no lines. */
static bool bf16x6_prepare(const struct config *config, const struct problem *p, enum launch_operand operand,
                           struct launch_plan *product, struct launch_plan *preparation)
{
    const bool b = operand == LAUNCH_B;
    if (RIGHT_SPLIT || (LEFT_RAW && b == (SWAP != 0)) || p->pointers || product->views == 0) return false;
    const int64_t items = p->batch > 1 && (b ? p->stride_b : p->stride_a) != 0 ? p->batch : 1;
    const int64_t item_bytes = 2 * PIECES * (b ? p->n : p->m) * piece_line(p);

    *preparation = *product;
    preparation->kernels = 1;
    leave_out(&preparation->kernel[0], p, !b);
    preparation->views = preparation->counters = 0;
    memset(preparation->argument + offsetof(struct gemm_args, counters), 0, sizeof(int));
    preparation->batch = items;
    preparation->batch_per_launch = GRID_Z_MAX;
    preparation->batch_step_bytes[LAUNCH_WORKSPACE] = item_bytes;
    preparation->workspace_bytes = items * item_bytes;

    product->batch_step_bytes[LAUNCH_PREPARED] = items > 1 ? item_bytes : 0;
    take_prepared(config, p, b, product);
    if (items == 1) product->view[LEFT_RAW ? 1 : b].extent[2] = PIECES;
    return true;
}

/* Written out, since gemm_block does not describe an argument with tensor maps. */
extern const struct source_text sources_bf16x6[];
extern const struct template template_bf16x6;
const struct template template_bf16x6 = {
    .name = "bf16x6",
    .summary =
        "FP32 on the tensor cores of sm_90, as accurate as FFMA: operands split into three BF16 pieces",
    .space = "bf16x6.conf",
    .params = params,
    .param_count = P_COUNT,
    .computes = GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE),
    .one_arch = true,
    .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
    .optional = OPTIONAL,
    .silent = SILENT,
    .sources = sources_bf16x6,
    .resources = bf16x6_resources,
    .check = template_check_all,
    .check_prefix = check_prefix,
    .plan = bf16x6_plan,
    .prepare = bf16x6_prepare,
    .predict = bf16x6_predict};

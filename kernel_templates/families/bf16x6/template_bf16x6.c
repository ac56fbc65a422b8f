/* The family for FP32 as three BF16 pieces on the host: parameters, what they need, which are correct where,
 * and how they are launched. Its own, beside what split_family.h has: operands that arrive as they are, and
 * prepared ones. */
#include "bf16x6_host.h"

#include "split_family.h"

#define MAP_STRIDE_MAX (INT64_C(1) << 40) /* bytes, cuTensorMapEncodeTiled */

#define RULES    "bf16x6_rules.h"
#define COMPUTES "the bf16x6 family computes sgemm_accurate"
#include "family_template.h"

static struct resources bf16x6_resources(const struct config *config)
{
    return split_resources(config);
}

static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu)
{
    return check_split_gpu(config, known, KNOWN(SWAP), gpu);
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
    return check_split_c(config, known, p);
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

static struct tensor_view view_of(const struct config *config, const struct problem *p,
                                  const struct launch_plan *plan, unsigned items, bool right)
{
    const bool b = right != (SWAP != 0);
    return view_of_pieces(config, p, ELEMENT_BF16, items, plan->counters, b && !LEFT_RAW ? p->m : 0,
                          b ? p->n : p->m, right ? RIGHT : LEFT, right ? MAP_RIGHT_AT : MAP_LEFT_AT);
}

/* Of both operands, or of the right one. */
static void plan_pieces(const struct config *config, const struct problem *p, unsigned items,
                        struct launch_plan *plan)
{
    struct kernel_launch *const launch = &plan->kernel[plan->kernels++];
    *launch = split_launch(config, p, items);
    if (!LEFT_RAW) plan->view[plan->views++] = view_of(config, p, plan, items, false);
    plan->view[plan->views++] = view_of(config, p, plan, items, true);
    if (LEFT_RAW) {
        struct tensor_view *const right = &plan->view[plan->views - 1];
        view_alone(right, right->offset_bytes, SWAP ? p->m : p->n);
        leave_out(launch, p, SWAP);
    }
}

static void bf16x6_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    if (!gemm_plan_begin(plan, p)) return;

    const struct kernel_launch product = plan_split(config, p, plan);
    if (LEFT_RAW && p->k > 0) plan->view[plan->views++] = view_of_raw(p, SWAP, (int)LEFT, MAP_LEFT_AT);
    if (RIGHT_RAW && p->k > 0) plan->view[plan->views++] = view_of_raw(p, !SWAP, (int)RIGHT, MAP_RIGHT_AT);
    if (product.dependent) plan_pieces(config, p, product.grid[2], plan);
    plan->kernel[plan->kernels++] = product;
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
        /* Parts lie where they do behind pieces. */
        if (product->counters == 0) product->workspace_bytes = 0;
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

FAMILY(bf16x6, GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE),
       .summary =
           "FP32 on the tensor cores of sm_90, as accurate as FFMA: operands split into three BF16 pieces",
       .one_arch = true, .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
       .prepare = bf16x6_prepare)

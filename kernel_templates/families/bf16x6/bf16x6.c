/* bf16x6.c — FP32 as three BF16 pieces on the host. Its own, beside what split_family.h has: operands that
 * arrive as they are, and prepared ones. The predicted time: the splitting, which moves bytes; waves of
 * tiles, each limited by the tensor cores, by the bytes that arrive in its SM, by those that pass through
 * shared memory or, with FUSE 1, by splitting; fixed costs. Fitted to runs on H100s (2026-11-25; FUSE 2 and 3
 * 2026-11-27; test_model_bf16x6.c).
 */
#define FUSE (config->value[P_FUSE])
#define SWAP (config->value[P_SWAP])

#define FAMILY_PARAMS "bf16x6_params.def"
#define FAMILY_RULES  "bf16x6_rules.h"
#include "family_template.h"

#include "split_family.h"

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

static const char *refuse(const struct config *config, int known, const struct problem *p,
                          const struct gpu *gpu)
{
    (void)gpu;
    const char *why = KNOWN(SWAP) ? check_pieces(config, p) : NULL;
    return !why && KNOWN(SWAP) ? check_maps(config, p) : why;
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

static void launch(const struct config *config, const struct problem *p, struct launch_plan *plan,
                   struct kernel_launch *product)
{
    if (p->k == 0) return; /* there is nothing to multiply */
    if (LEFT_RAW) plan->view[plan->views++] = view_of_raw(p, SWAP, (int)LEFT, MAP_LEFT_AT);
    if (RIGHT_RAW) plan->view[plan->views++] = view_of_raw(p, !SWAP, (int)RIGHT, MAP_RIGHT_AT);
    if (RIGHT_SPLIT) return;
    plan_pieces(config, p, product->grid[2], plan);
    product->dependent = true;
}

static const struct tiled tiled_bf16x6 = {
    SPLIT_ROW,
    .at = {.sized = AT(SWAP),
           .bm = AT(BM),
           .bn = AT(BN),
           .group = AT(GROUP),
           .split_k = AT(SPLIT_K),
           .sms = AT(SMS)},
    .computes = "the bf16x6 family computes sgemm_accurate",
    .vectors = {WIDER(VA, A, "A"), WIDER(VB, B, "B"), WIDER(VC, C, "C")},
    .refuse = refuse,
    .launch = launch};

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

/* ---- the predicted time ---- */

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

static struct prediction bf16x6_predict(const struct config *config, const struct problem *p,
                                        const struct gpu *gpu, const struct kernel_facts *facts)
{
    const double left = LEFT_RAW || FUSE == 1 ? 4 : 2 * PIECES, right = RIGHT_SPLIT ? 4 : 2 * PIECES;
    struct tensor_kernel t = split_kernel(config, p, gpu, GEMM_BF16, ALONE_SHARE, split_us(config, p, gpu));
    t.products = PRODUCTS * LEFT * ((double)RIGHT + COLUMNS_BESIDE) * BK;
    t.arrival = BK * (left * LEFT + right * RIGHT);
    t.least_cycles = LEFT_RAW ? shared_bytes(config) / SHARED_BYTES : FUSE ? ROW_CYCLES * (BM + BN) : 0;
    if (LEFT_RAW) t.fill_cycles = RAW_CYCLES;
    t.store_rate = SWAP ? TURNED_BYTES : STORE_BYTES;
    t.memory_us = split_memory_us(bytes_moved(config, p), false, gpu);
    return tensor_predict(&t, gpu, facts);
}

FAMILY(bf16x6, GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE),
       .summary =
           "FP32 on the tensor cores of sm_90, as accurate as FFMA: operands split into three BF16 pieces",
       .one_arch = true, .macros = TEMPLATE_MACRO_EPILOGUE | TEMPLATE_MACRO_POINTERS,
       .prepare = bf16x6_prepare)

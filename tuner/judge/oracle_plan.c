#include "oracle_plan.h"

#include "stats.h"
#include <math.h>

enum {
    TILE = 64,  /* of the reference kernel */
    DEPTH = 16, /* k_per_split is a multiple of it */
    PIECE_ELEMENTS = 1 << 26,
    ANSWER_BYTES = 2 * 8 + 4, /* two values and a mass per element */
    MASS_BYTES = 4,
    PARTIAL_BYTES = sizeof(struct partial)
};

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}
static int64_t most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}
static int64_t divide_up(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

/* The largest |gelu'(x)| is 1.1290, at x = 1.47. The error of cublasLt's GELU is up to 2^-18 |x| (at x
 * = 1.40; cuBLAS 13.1 on an H200), that of our kernels below 2^-21.5 |x| (test_oracle_plan.c). */
static const double gelu_slope = 1.13, gelu_error = 0x1p-17;

struct error_bound oracle_bound(const struct problem *problem)
{
    const struct gemm_type_row *row = gemm_type_row(problem->type);
    const bool gelu = epilogue_activation(problem->epilogue) == ACTIVATION_GELU;
    struct error_bound bound = {.slope =
                                    4 * row->sum_roundoff * (double)problem->k + 2 * row->operand_roundoff,
                                .rounding = row->c_roundoff,
                                .activation = gelu ? gelu_error : 0};
    if (problem->epilogue)
        bound.slope = (gelu ? gelu_slope : 1) * (bound.slope + 3 * row->sum_roundoff) + bound.activation;
    return bound;
}

static double small_whole(double x, double otherwise)
{
    return x == floor(x) && fabs(x) <= 8 ? x : otherwise;
}

static struct fill_rule rule(uint64_t seed, int which, int range, uint32_t keep)
{
    return (struct fill_rule){
        .seed = oracle_mix(seed + 0x51ed2701u * (uint64_t)(which + 1)), .range = range, .keep = keep};
}

/* Numbers of the operands' data, which are the same in all versions: those of C are its source's. */
static const struct {
    int random, exact;
} streams[OPERANDS] = {[OPERAND_A] = {0, 3},
                       [OPERAND_B] = {1, 4},
                       [OPERAND_C] = {2, 5},
                       [OPERAND_SOURCE] = {2, 5},
                       [OPERAND_BIAS] = {6, 7}};

struct exact_test oracle_exact_test(const struct problem *problem, uint64_t seed)
{
    enum { RANGE_MAX = 32, RANGE_C = 8 };
    const struct gemm_type_row *row = gemm_type_row(problem->type);
    const enum epilogue_activation activation = epilogue_activation(problem->epilogue);
    const bool biased = epilogue_bias(problem->epilogue) != BIAS_NONE;
    struct exact_test t = {.alpha = small_whole(problem->alpha, 1),
                           .beta = small_whole(problem->beta, 1),
                           .limit = 1 / fmax(row->sum_roundoff, row->c_roundoff)};
    if (activation == ACTIVATION_GELU) t.limit = fmin(t.limit, 0.25 / gelu_error);
    /* |alpha| K r^2 + |beta| RANGE_C + RANGE_C < limit, each term rounded separately */
    double room = (t.limit - 1 - (fabs(t.beta) + biased) * RANGE_C) / fmax(fabs(t.alpha), 1);
    double each = room / (double)most(problem->k, 1);
    double widest = row->operand_roundoff > 0 ? fmin(1 / row->operand_roundoff, RANGE_MAX) : RANGE_MAX;
    /* Operands are in -range..range, or of one sign and up to twice the range. */
    const int sides = activation == ACTIVATION_NONE ? 1 : 2;
    int range = (int)fmin(sqrt(each), widest) / sides;
    uint32_t keep = UINT32_MAX;
    if (range < 1) { /* a K beyond the limit: most of A is zero, so that the sum of magnitudes stays far below
                        the limit */
        range = 1;
        keep = (uint32_t)(fmin(each / 4 / (sides * sides), 1) * (double)UINT32_MAX);
    }
    for (int i = 0; i < OPERANDS; i++)
        t.rule[i] = rule(seed, streams[i].exact, i <= OPERAND_B ? range : RANGE_C,
                         i == OPERAND_A ? keep : UINT32_MAX);
    if (sides == 2) {
        t.rule[OPERAND_A].shift = t.alpha < 0 ? -range : range;
        t.rule[OPERAND_B].shift = range;
    }
    return t;
}

struct random_test oracle_random_test(uint64_t seed)
{
    struct random_test t;
    for (int i = 0; i < OPERANDS; i++) t.rule[i] = rule(seed, streams[i].random, 0, UINT32_MAX);
    return t;
}

struct oracle_limits oracle_limits(const struct gpu *gpu, int64_t bytes, double seconds)
{
    /* Ratio of FP64 to FP32 units: 1/2 on data-centre GPUs, 1/64 on others (1/32 before sm_80). Two FMAs per
     * product, at 40 % of peak. */
    bool full = gpu->arch == 60 || gpu->arch == 70 || gpu->arch == 80 || gpu->arch == 90 || gpu->arch == 100;
    double tflops = gpu_rate(gpu, "fp32") / (full ? 2 : 64);
    return (struct oracle_limits){.products = seconds * 0.4 * tflops * 1e12 / 4,
                                  .bytes = bytes,
                                  .blocks = 4 * gpu->sm_count,
                                  .piece = PIECE_ELEMENTS};
}

static void add_piece(struct oracle_plan *plan, struct piece piece)
{
    if (plan->count == ORACLE_PIECES_MAX) return;
    piece.offset = plan->elements;
    plan->pieces[plan->count++] = piece;
    plan->elements += piece.items * piece.rows * piece.cols;
    plan->rows += piece.items * piece.rows;
}

/* How C is cut into pieces: whole batch items, or rows of one, or parts of a row. */
struct cut {
    int64_t items, rows, cols;
};

static struct cut cut_of(const struct problem *p, int64_t most_elements)
{
    if (p->m <= most_elements / p->n) return (struct cut){most(most_elements / (p->m * p->n), 1), p->m, p->n};
    if (p->n > most_elements) return (struct cut){1, 1, most_elements};
    const int64_t rows = most_elements / p->n;
    return (struct cut){1, rows >= TILE ? rows / TILE * TILE : rows, p->n};
}

static void plan_all(const struct problem *p, const struct cut *cut, struct oracle_plan *plan)
{
    for (int64_t item = 0; item < p->batch; item += cut->items)
        for (int64_t row = 0; row < p->m; row += cut->rows)
            for (int64_t col = 0; col < p->n; col += cut->cols)
                add_piece(plan, (struct piece){.item = item,
                                               .items = least(cut->items, p->batch - item),
                                               .row = row,
                                               .rows = least(cut->rows, p->m - row),
                                               .col = col,
                                               .cols = least(cut->cols, p->n - col)});
}

static double pieces_for_all(const struct problem *p, const struct cut *cut)
{
    return (double)divide_up(p->batch, cut->items) * (double)divide_up(p->m, cut->rows) *
           (double)divide_up(p->n, cut->cols);
}

/* Rows of some items, or parts of them: those at the edges, where errors are most likely, and random ones.
 * Pieces may overlap. */
static void plan_sample(const struct problem *p, double affordable, uint64_t seed, int64_t most_elements,
                        struct oracle_plan *plan)
{
    enum { PIECES = 8, MOST_PIECES = 64 };
    const int64_t cols = least(p->n, most((int64_t)fmin(affordable / PIECES, (double)most_elements), 1));
    int64_t rows = least(ORACLE_SAMPLE_ROWS, least(p->m, most(most_elements / cols, 1)));
    double pieces = affordable / ((double)rows * (double)cols);
    if (pieces < PIECES) {
        rows = (int64_t)fmax(affordable / PIECES / (double)cols, 1);
        pieces = PIECES;
    }
    struct piece piece = {.items = 1, .rows = rows, .cols = cols};
    plan->sampled = true;
    add_piece(plan, piece);
    piece.item = p->batch - 1;
    piece.row = p->m - rows;
    piece.col = p->n - cols;
    add_piece(plan, piece);
    while (plan->count < (int)fmin(pieces, MOST_PIECES)) {
        piece.item = (int64_t)stats_random_below(&seed, (uint64_t)p->batch);
        piece.row = (int64_t)stats_random_below(&seed, (uint64_t)(p->m - rows + 1));
        if (cols < p->n) piece.col = (int64_t)stats_random_below(&seed, (uint64_t)(p->n - cols + 1));
        else piece.col = 0;
        add_piece(plan, piece);
    }
}

/* Enough blocks for the GPU: for a small C with a long K, K is split. */
static void plan_splits(const struct problem *p, const struct oracle_limits *limits, struct oracle_plan *plan)
{
    int64_t blocks = INT64_MAX, largest = 0;
    for (int i = 0; i < plan->count; i++) {
        const struct piece *x = &plan->pieces[i];
        blocks = least(blocks, x->items * divide_up(x->rows, TILE) * divide_up(x->cols, TILE));
        largest = most(largest, x->items * x->rows * x->cols);
    }
    int64_t wanted =
        plan->count ? least(divide_up(limits->blocks, most(blocks, 1)), divide_up(p->k, 256)) : 1;
    /* The scratch of the splits stays below the limit of a piece, too. */
    wanted = most(least(wanted, limits->piece / most(largest, 1)), 1);
    plan->k_per_split = most(divide_up(divide_up(p->k, wanted), DEPTH), 1) * DEPTH;
    plan->splits = (int)most(divide_up(p->k, plan->k_per_split), 1);
    plan->partial_bytes = largest * plan->splits * PARTIAL_BYTES;
}

static int answer_bytes(const struct oracle_plan *plan)
{
    return plan->exact_masses ? ANSWER_BYTES + MASS_BYTES : ANSWER_BYTES;
}

void oracle_plan(const struct problem *problem, const struct oracle_limits *limits, uint64_t seed,
                 struct oracle_plan *plan)
{
    const struct problem *p = problem;
    *plan = (struct oracle_plan){
        .rows_all = p->m * p->batch, .row_elements = p->n, .exact_masses = oracle_bound(p).activation > 0};
    if (p->m > 0 && p->n > 0) {
        double elements = (double)p->m * (double)p->n * (double)p->batch;
        const struct cut cut = cut_of(p, limits->piece);
        const int64_t scratch = limits->piece * PARTIAL_BYTES;
        double room = (double)most(limits->bytes - scratch, limits->bytes / 2);
        double affordable = fmin(room / answer_bytes(plan), limits->products / (double)most(p->k, 1));
        if (elements <= affordable && pieces_for_all(p, &cut) <= ORACLE_PIECES_MAX) plan_all(p, &cut, plan);
        else plan_sample(p, fmin(affordable, 16.0 * (double)limits->piece), seed, limits->piece, plan);
    }
    plan_splits(p, limits, plan);
}

int64_t oracle_answer_bytes(const struct oracle_plan *plan)
{
    return plan->elements * answer_bytes(plan);
}

bool oracle_place(const struct oracle_plan *plan, uint64_t answer, int64_t *item, int64_t *row, int64_t *col)
{
    for (int i = 0; i < plan->count; i++) {
        const struct piece *x = &plan->pieces[i];
        if ((int64_t)answer < x->offset || (int64_t)answer >= x->offset + x->items * x->rows * x->cols)
            continue;
        int64_t local = (int64_t)answer - x->offset;
        *col = x->col + local % x->cols;
        *row = x->row + local / x->cols % x->rows;
        *item = x->item + local / x->cols / x->rows;
        return true;
    }
    return false;
}

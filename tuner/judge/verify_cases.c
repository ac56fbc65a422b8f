#include "verify_cases.h"

#include "template.h"

enum { SIZES = 7 };

/* By how much leading dimensions and strides exceed their minimum. */
enum padding { PADDING_NONE, PADDING_VECTOR, PADDING_ODD, PADDING_COUNT };

/* Of 16 bytes in the shortest elements of the type. */
static int64_t vector_of(enum gemm_type type)
{
    const struct gemm_type_row *row = gemm_type_row(type);
    const int a = element_vector(row->a), c = element_vector(row->c);
    return a > c ? a : c;
}

static int64_t up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static int64_t padded(int64_t x, enum gemm_type type, enum padding padding)
{
    const int64_t vector = vector_of(type);
    if (padding == PADDING_NONE) return x;
    return padding == PADDING_VECTOR ? up(x, vector) + 2 * vector : x + 3;
}

/* 0 without a bias. An odd stride takes every alignment from the second item's. */
static int64_t padded_bias(const struct problem *p, enum padding padding)
{
    const int64_t length = problem_bias_length(p);
    if (length == 0) return 0;
    return padding == PADDING_ODD ? (length + 2) | 1 : padded(length, p->type, padding);
}

static struct problem make(const struct problem *tuned, int64_t m, int64_t n, int64_t k, int64_t batch,
                           enum padding padding)
{
    struct problem p = problem_make(m, n, k);
    p.type = tuned->type;
    p.trans_a = tuned->trans_a;
    p.trans_b = tuned->trans_b;
    p.batch = batch;
    int64_t a = problem_cols_a(&p), b = problem_cols_b(&p);
    p.lda = padded(a > 0 ? a : 1, p.type, padding);
    p.ldb = padded(b > 0 ? b : 1, p.type, padding);
    p.ldc = padded(n > 0 ? n : 1, p.type, padding);
    p.stride_a = padded(problem_rows_a(&p) * p.lda, p.type, padding);
    p.stride_b = padded(problem_rows_b(&p) * p.ldb, p.type, padding);
    p.stride_c = padded(m * p.ldc, p.type, padding);
    if (tuned->batch > 1 && tuned->stride_a == 0) p.stride_a = 0;
    if (tuned->batch > 1 && tuned->stride_b == 0) p.stride_b = 0;
    if (tuned->pointers) problem_use_pointers(&p);
    p.epilogue = tuned->epilogue;
    /* Without padding the items share a bias. */
    if (batch > 1 && padding != PADDING_NONE) p.stride_bias = padded_bias(&p, padding);
    return p;
}

static int64_t extent(int tile, int otherwise)
{
    return tile > 1 && tile <= 1024 ? tile : otherwise;
}

static void add(struct verify_case *cases, int *count, struct problem problem, double alpha, double beta,
                enum verify_data data)
{
    if (*count == VERIFY_CASES_MAX) return;
    problem.alpha = alpha;
    problem.beta = beta;
    cases[(*count)++] = (struct verify_case){.problem = problem, .data = data};
}

/* All pairs of sizes of M and N, M and K, and N and K, in SIZES^2 shapes instead of SIZES^3. */
static void add_square(struct verify_case *cases, int *count, const struct problem *tuned, const int64_t *m,
                       const int64_t *n, const int64_t *k, bool aligned)
{
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-1, 2}, {2.5, -0.75}};
    for (int i = 0; i < SIZES; i++)
        for (int shift = 0; shift < SIZES; shift++) {
            enum padding padding = (enum padding)((i + shift) % PADDING_COUNT);
            if (aligned && padding == PADDING_ODD) padding = PADDING_VECTOR;
            const double *s = scalars[(i + 2 * shift) % 4];
            struct problem p = make(tuned, m[i], n[(i + shift) % SIZES], k[(i + 2 * shift) % SIZES],
                                    shift == 3 ? 3 : 1, padding);
            add(cases, count, p, s[0], s[1], DATA_PLAIN);
        }
}

static void add_corners(struct verify_case *cases, int *count, const struct problem *tuned, int64_t m,
                        int64_t n, int64_t k)
{
    struct problem p = make(tuned, m, n, k, 1, PADDING_VECTOR),
                   none = make(tuned, m, n, 0, 1, PADDING_VECTOR);
    add(cases, count, p, 0, 0, DATA_PLAIN);
    add(cases, count, p, 0, 0, DATA_NAN_OPERANDS);
    add(cases, count, p, 0, 0.5, DATA_NAN_OPERANDS);
    add(cases, count, p, 0, 1, DATA_NAN_OPERANDS);
    add(cases, count, p, 1, 0, DATA_NOT_FINITE);
    add(cases, count, p, -2, 1, DATA_NOT_FINITE);
    add(cases, count, none, 1, 0, DATA_PLAIN);
    add(cases, count, none, 1, 0.5, DATA_PLAIN);
    add(cases, count, none, 1, 1, DATA_PLAIN);
}

/* Whole tiles, which are all that the description of an own kernel may allow; some without padding, for it
 * may take no leading dimensions. */
static void add_multiples(struct verify_case *cases, int *count, const struct problem *tuned,
                          const int64_t tile[3])
{
    static const int64_t times[][3] = {{1, 1, 1}, {2, 1, 3}, {1, 2, 2}, {3, 2, 1},
                                       {2, 3, 5}, {1, 3, 4}, {3, 1, 7}};
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-1, 2}, {2.5, -0.75}};
    for (int i = 0; i < 7; i++)
        for (int padding = PADDING_NONE; padding <= PADDING_VECTOR; padding++)
            for (int s = 0; s < 4; s++) {
                if ((i + s) % 2 && s > 1) continue;
                const struct problem p = make(tuned, times[i][0] * tile[0], times[i][1] * tile[1],
                                              times[i][2] * tile[2], i == 3 ? 3 : 1, (enum padding)padding);
                add(cases, count, p, scalars[s][0], scalars[s][1], DATA_PLAIN);
            }
    const struct problem p = make(tuned, 2 * tile[0], tile[1], 3 * tile[2], 1, PADDING_NONE);
    add(cases, count, p, 0, 0, DATA_NAN_OPERANDS);
    add(cases, count, p, 0, 0.5, DATA_NAN_OPERANDS);
    add(cases, count, p, 1, 0, DATA_NOT_FINITE);
    add(cases, count, make(tuned, tile[0], 2 * tile[1], 0, 1, PADDING_NONE), 1, 0.5, DATA_PLAIN);
}

int verify_cases(const struct config *config, const struct problem *tuned, struct verify_case *cases)
{
    const struct tile tile = template_tile(config);
    int64_t bm = extent(tile.m, 32), bn = extent(tile.n, 32), bk = extent(tile.k, 16);
    const int64_t m[SIZES] = {1, 2, 3, 7, bm - 1, bm + 1, 61};
    const int64_t n[SIZES] = {1, 2, 3, 7, bn - 1, bn + 1, 67};
    const int64_t k[SIZES] = {1, 2, 3, 7, bk - 1, bk + 1, 2 * bk + 53};
    /* Whole vectors. */
    const int64_t v = vector_of(tuned->type), bmv = up(bm, v), bnv = up(bn, v), bkv = up(bk, v);
    const int64_t mv[SIZES] = {v, 2 * v, 5 * v, bmv, bmv + v, 2 * bmv + 3 * v, 25 * v};
    const int64_t nv[SIZES] = {v, 2 * v, 5 * v, bnv, bnv + v, 2 * bnv + 3 * v, 29 * v};
    const int64_t kv[SIZES] = {v, 2 * v, 5 * v, bkv, bkv + v, 3 * bkv + 2 * v, 25 * v};
    int count = 0;
    add_square(cases, &count, tuned, m, n, k, false);
    add_square(cases, &count, tuned, mv, nv, kv, true);
    add_corners(cases, &count, tuned, bm + 1, bn + 3, 2 * bk + 5);
    add_corners(cases, &count, tuned, bmv + v, bnv + 3 * v, 2 * bkv + v);
    if (config->template->own) add_multiples(cases, &count, tuned, (const int64_t[]){bm, bn, bk});
    add(cases, &count, make(tuned, 0, 5, 3, 1, PADDING_NONE), 1, 1, DATA_PLAIN);
    add(cases, &count, make(tuned, 5, 0, 3, 1, PADDING_NONE), 1, 1, DATA_PLAIN);
    return count;
}

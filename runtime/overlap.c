#include "overlap.h"

struct extents extents_of(const struct problem *p)
{
    const struct gemm_type_row *row = gemm_type_row(p->type);
    const uint64_t a = (uint64_t)element_bytes(row->a), b = (uint64_t)element_bytes(row->b),
                   c = (uint64_t)element_bytes(row->c);
    return (struct extents){a * (uint64_t)problem_span_a(p), b * (uint64_t)problem_span_b(p),
                            c * (uint64_t)problem_span_c(p), c * (uint64_t)problem_span_bias(p)};
}

/* Equal rows at equal distances. */
struct rows {
    uint64_t at; /* address */
    int64_t count;
    int64_t length, ld; /* bytes; ld 0: a single row */
};

/* A batch without gaps is one matrix; of one with gaps only the first matrix is looked at. */
static struct rows rows_of(uint64_t at, enum element element, int64_t rows, int64_t columns, int64_t ld,
                           int64_t batch, int64_t stride)
{
    const int bytes = element_bytes(element);
    struct rows r = {at, stride == rows * ld ? rows * batch : rows, bytes * columns, bytes * ld};
    if (r.length == r.ld || r.count == 1)
        r = (struct rows){at, 1, r.length == r.ld ? r.count * r.length : r.length, 0};
    return r;
}

static int64_t floor_of(int64_t x, int64_t y)
{
    return x / y - (x % y < 0);
}

/* With the same ld, or a single row: byte j of row i of x is byte q of row p of y if (i - p) ld + (j - q) is
 * the distance of the two. */
static bool share_by_ld(const struct rows *x, const struct rows *y, int64_t ld)
{
    const int64_t distance = (int64_t)(y->at - x->at);
    const int64_t most = floor_of(distance + y->length - 1, ld),
                  least = -floor_of(x->length - 1 - distance, ld);
    return least <= most; /* of i - p: where the ranges meet, one of them is within both matrices */
}

static bool share(struct rows x, struct rows y)
{
    if (x.count == 0 || y.count == 0 || x.length == 0 || y.length == 0) return false;
    const uint64_t x_bytes = (uint64_t)((x.count - 1) * x.ld + x.length),
                   y_bytes = (uint64_t)((y.count - 1) * y.ld + y.length);
    if (!ranges_meet(x.at, x_bytes, y.at, y_bytes)) return false;
    if (x.ld == 0 && y.ld == 0) return true;
    if (x.ld && y.ld && x.ld != y.ld) return false;
    return share_by_ld(&x, &y, x.ld ? x.ld : y.ld);
}

const char *overlap_look(const struct problem *p, const struct places *at)
{
    const struct gemm_type_row *type = gemm_type_row(p->type);
    const int64_t bias_length = problem_bias_length(p);
    const struct rows d = rows_of(at->c, type->c, p->m, p->n, p->ldc, p->batch, p->stride_c),
                      c = rows_of(at->source, type->c, p->m, p->n, p->ldc, p->batch, p->stride_c),
                      a = rows_of(at->a, type->a, problem_rows_a(p), problem_cols_a(p), p->lda, p->batch,
                                  p->stride_a),
                      b = rows_of(at->b, type->b, problem_rows_b(p), problem_cols_b(p), p->ldb, p->batch,
                                  p->stride_b),
                      bias =
                          rows_of(at->bias, type->c, 1, bias_length, bias_length, p->batch, p->stride_bias);
    if (share(d, a)) return "A";
    if (share(d, b)) return "B";
    if (share(d, bias)) return "the bias";
    return at->source != at->c && share(d, c) ? "C" : NULL;
}

#include "overlap.h"

struct extents extents_of(const struct problem *p)
{
    struct extents x;
    for (int i = 0; i < OPERANDS; i++) {
        const struct operand_layout layout = operand_layout(p, (enum operand)i);
        x.own[i] = operand_is_own(p, (enum operand)i);
        x.element[i] = (unsigned)element_bytes(layout.element);
        x.bytes[i] = x.element[i] * (uint64_t)operand_span(&layout);
    }
    return x;
}

/* Equal rows at equal distances. */
struct rows {
    uint64_t at; /* address */
    int64_t count;
    int64_t length, ld; /* bytes; ld 0: a single row */
};

/* A batch without gaps is one matrix; of one with gaps only the first matrix is looked at. */
static struct rows rows_of(uint64_t at, const struct operand_layout *x)
{
    const int bytes = element_bytes(x->element);
    struct rows r = {at, x->stride == x->rows * x->ld ? x->rows * x->batch : x->rows, bytes * x->cols,
                     bytes * x->ld};
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

const char *overlap_look(const struct problem *p, const unsigned long long at[OPERANDS])
{
    struct rows rows[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) {
        const struct operand_layout x = operand_layout(p, (enum operand)i);
        rows[i] = rows_of(at[i], &x);
    }
    for (int i = 0; i < OPERANDS; i++) {
        const bool itself = i == OPERAND_C || (i == OPERAND_SOURCE && at[i] == at[OPERAND_C]);
        if (!itself && share(rows[OPERAND_C], rows[i])) return operand_called((enum operand)i);
    }
    return NULL;
}

#include "lt_form.h"

#include "call_types.h"
#include "lt_descriptor.h"

#include <stdlib.h>

enum { FORMS_MAX = 65536, TABLE_BITS = 17, PROBES = 64 };

/* A place that has a form keeps it. */
static _Atomic(struct form *) table[1 << TABLE_BITS];
static atomic_int count;

/* The form that was last found for layouts at these addresses. Other layouts may be there now, so its key is
 * compared. */
enum { HINTS_BITS = 8 };
static _Atomic(struct form *) hints[1 << HINTS_BITS];

_Static_assert(sizeof(struct form_key) == 3 * 64 + sizeof(void *), "a key has no padding");

/* ---- what a layout means ---- */

/* False: neither column nor row order, a batch without a stride, or an attribute that nobody here knows. */
static bool read_layout(const struct real_lt *real, lt_layout layout, struct matrix *matrix)
{
    uint32_t type = 0, mode = 0;
    int32_t order = 0, batch = 0;
    uint64_t rows = 0, columns = 0;
    int64_t plane = 0;
    size_t written;
    *matrix = (struct matrix){0};
    if (real->LayoutGet(layout, LT_LAYOUT_TYPE, &type, sizeof type, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_ORDER, &order, sizeof order, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_ROWS, &rows, sizeof rows, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_COLS, &columns, sizeof columns, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_LD, &matrix->ld, sizeof matrix->ld, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_STRIDE, &matrix->stride, sizeof matrix->stride, &written) ||
        real->LayoutGet(layout, LT_LAYOUT_PLANE_OFFSET, &plane, sizeof plane, &written))
        return false;
    /* Versions before 13 do not know this attribute: their batches have strides. */
    if (real->LayoutGet(layout, LT_LAYOUT_BATCH_MODE, &mode, sizeof mode, &written)) mode = 0;
    if (!lt_layout_is_usual(real, layout)) return false;
    if ((order != LT_ORDER_COL && order != LT_ORDER_ROW) || plane || mode || rows > PROBLEM_DIM_MAX ||
        columns > PROBLEM_DIM_MAX)
        return false;
    matrix->type = (int)type;
    matrix->by_rows = order == LT_ORDER_ROW;
    matrix->rows = (int64_t)(matrix->by_rows ? columns : rows);
    matrix->columns = (int64_t)(matrix->by_rows ? rows : columns);
    matrix->batch = batch;
    return true;
}

bool lt_form_sizes(const struct form *form, bool op_a, bool op_b, struct blas_request *request)
{
    const struct matrix *a = &form->a, *b = &form->b, *d = &form->d;
    op_a ^= a->by_rows;
    op_b ^= b->by_rows;
    if (d->by_rows) {
        const bool op = op_a;
        a = &form->b;
        b = &form->a;
        op_a = !op_b;
        op_b = !op;
    }
    request->function = "cublasLtMatmul";
    request->op_a = op_a;
    request->op_b = op_b;
    request->m = d->rows;
    request->n = d->columns;
    request->k = op_a ? a->rows : a->columns;
    request->lda = a->ld;
    request->ldb = b->ld;
    request->ldc = d->ld;
    request->batch = d->batch;
    request->stride_a = a->stride;
    request->stride_b = b->stride;
    request->stride_c = d->stride;
    return request->m == (op_a ? a->columns : a->rows) && request->n == (op_b ? b->rows : b->columns) &&
           request->k == (op_b ? b->columns : b->rows);
}

static bool read_all(struct form *form)
{
    struct blas_request unused;
    const struct form_key *key = &form->key;
    if (!read_layout(key->real, &key->a, &form->a) || !read_layout(key->real, &key->b, &form->b) ||
        !read_layout(key->real, &key->d, &form->d) || form->a.batch != form->d.batch ||
        form->b.batch != form->d.batch)
        return false;
    /* Accuracy classes, too: GEMMTUNE_ACCURACY may make it one. */
    form->types = gemm_types_of_matrices(form->a.type, form->b.type, form->d.type);
    /* FP32 is answered in column order only. */
    const bool by_rows = form->a.by_rows || form->b.by_rows || form->d.by_rows;
    if (!form->types || (form->a.type == BLAS_R_32F && by_rows)) return false;
    bool fits = false;
    for (int ops = 0; ops < LT_FORM_OPS; ops++) fits |= lt_form_sizes(form, ops & 1, ops & 2, &unused);
    return fits;
}

static void read_key(const struct form_key *key, uint64_t hash, struct form *form)
{
    *form = (struct form){.key = *key, .hash = hash};
    form->plain = read_all(form);
}

static bool same(lt_layout x, const struct lt_layout *y)
{
    uint64_t different = 0;
    for (int i = 0; i < 8; i++) different |= x->data[i] ^ y->data[i];
    return !different;
}

bool lt_form_has_c_as_d(const struct matmul *x, const struct form *form)
{
    const struct matrix *d = &form->d;
    struct matrix c;
    if (same(x->layout_c, x->layout_d)) return true;
    return read_layout(x->real, x->layout_c, &c) && c.type == d->type && c.by_rows == d->by_rows &&
           c.rows == d->rows && c.columns == d->columns && c.ld == d->ld && c.batch == d->batch &&
           (c.batch == 1 || c.stride == d->stride);
}

/* ---- the table ---- */

/* NULL: no memory, or there are enough. */
static struct form *make(const struct form_key *key, uint64_t hash)
{
    struct form *form =
        atomic_load_explicit(&count, memory_order_relaxed) < FORMS_MAX ? malloc(sizeof *form) : NULL;
    if (form) read_key(key, hash, form);
    return form;
}

static struct form *find(const struct form_key *key, uint64_t hash)
{
    struct form *fresh = NULL;
    for (uint64_t i = 0; i < PROBES; i++) {
        _Atomic(struct form *) *place = &table[(hash + i) & ((1 << TABLE_BITS) - 1)];
        struct form *form = atomic_load_explicit(place, memory_order_acquire);
        if (!form) {
            if (!fresh && !(fresh = make(key, hash))) return NULL;
            if (atomic_compare_exchange_strong(place, &form, fresh)) {
                atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
                return fresh;
            }
        }
        if (form->hash == hash && memcmp(&form->key, key, sizeof *key) == 0) {
            free(fresh);
            return form;
        }
    }
    free(fresh);
    return NULL;
}

struct form *lt_form_of(const struct matmul *x, uint64_t *hash)
{
    const lt_layout a = x->layout_a, b = x->layout_b, d = x->layout_d;
    const uint64_t addresses = (uintptr_t)a + 3 * (uintptr_t)b + 5 * (uintptr_t)d;
    _Atomic(struct form *) *hint = &hints[addresses * 0x9e3779b97f4a7c15U >> (64 - HINTS_BITS)];
    struct form *form = atomic_load_explicit(hint, memory_order_acquire);
    if (form && form->key.real == x->real && same(a, &form->key.a) && same(b, &form->key.b) &&
        same(d, &form->key.d))
        return form;
    const struct form_key key = {*a, *b, *d, x->real};
    *hash = lt_hash(&key, sizeof key);
    form = find(&key, *hash);
    if (form) atomic_store_explicit(hint, form, memory_order_release);
    return form;
}

void lt_form_read(const struct matmul *x, uint64_t hash, struct form *form)
{
    const struct form_key key = {*x->layout_a, *x->layout_b, *x->layout_d, x->real};
    read_key(&key, hash, form);
}

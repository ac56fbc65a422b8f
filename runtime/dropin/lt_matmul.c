/* A call costs a dozen questions to cublasLt's descriptors; what the layouts mean is asked once and
 * remembered by their bytes. Where no tuned kernel is known for them, whatever the descriptor says, and
 * nobody wants to know of the call, it passes without a question.
 */
#include "lt_matmul.h"
#include "dropin.h"
#include "memo.h"

#include <pthread.h>
#include <stdlib.h>

struct form_key {
    struct lt_layout a, b, d;   /* that of C is the same as D's */
    const struct real_lt *real; /* whose bytes they are */
};

struct matrix {
    int64_t rows, columns, ld, batch, stride;
};

enum { OPS = 4 }; /* op_a + 2 * op_b */

/* What the layouts of a call amount to. */
struct form {
    struct memo_entry entry;
    struct form_key key;
    bool plain; /* with some ops it is a product in FP32; else nothing of the rest is valid */
    struct matrix a, b, d;
    _Atomic(struct route *) last[OPS];
    atomic_bool tuned;               /* there was a tuned kernel, with some ops */
    _Atomic(struct route *) untuned; /* one of a context and an alignment that have none, with any ops */
};

static struct memo forms = {.key_bytes = sizeof(struct form_key)};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* adding forms */
static atomic_bool full;                                 /* there was no room for another */

/* The form that layouts at these addresses had last. Others may lie there now, so its key is compared. */
enum { HINTS_BITS = 8 };
static _Atomic(struct form *) hints[1 << HINTS_BITS];

_Static_assert(sizeof(struct form_key) == 3 * 64 + sizeof(void *), "a key has no bytes that are nobody's");

/* ---- what a layout means ---- */

/* False: not FP32 by columns, or in a batch that has no stride. */
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
    /* Versions before 13 do not know the question: their batches have strides. */
    if (real->LayoutGet(layout, LT_LAYOUT_BATCH_MODE, &mode, sizeof mode, &written)) mode = 0;
    if (type != BLAS_R_32F || order != LT_ORDER_COL || plane || mode || rows > PROBLEM_DIM_MAX ||
        columns > PROBLEM_DIM_MAX)
        return false;
    matrix->rows = (int64_t)rows;
    matrix->columns = (int64_t)columns;
    matrix->batch = batch;
    return true;
}

/* False: the sizes do not fit each other. */
static bool fill_sizes(const struct form *form, bool op_a, bool op_b, struct asked *asked)
{
    const struct matrix *a = &form->a, *b = &form->b, *d = &form->d;
    asked->function = "cublasLtMatmul";
    asked->op_a = op_a;
    asked->op_b = op_b;
    asked->m = d->rows;
    asked->n = d->columns;
    asked->k = op_a ? a->rows : a->columns;
    asked->lda = a->ld;
    asked->ldb = b->ld;
    asked->ldc = d->ld;
    asked->batch = d->batch;
    asked->stride_a = a->stride;
    asked->stride_b = b->stride;
    asked->stride_c = d->stride;
    return asked->m == (op_a ? a->columns : a->rows) && asked->n == (op_b ? b->rows : b->columns) &&
           asked->k == (op_b ? b->columns : b->rows);
}

static bool read_form(const struct real_lt *real, lt_layout layout_a, lt_layout layout_b, lt_layout layout_d,
                      struct form *form)
{
    struct asked unused;
    if (!read_layout(real, layout_a, &form->a) || !read_layout(real, layout_b, &form->b) ||
        !read_layout(real, layout_d, &form->d) || form->a.batch != form->d.batch ||
        form->b.batch != form->d.batch)
        return false;
    bool fits = false;
    for (int ops = 0; ops < OPS; ops++) fits |= fill_sizes(form, ops & 1, ops & 2, &unused);
    return fits;
}

/* Kept until the process ends. NULL: there is no room. */
static struct form *make_form(const struct real_lt *real, const struct form_key *key, uint64_t hash)
{
    struct form *form = calloc(1, sizeof *form);
    if (!form) return NULL;
    form->key = *key;
    form->plain = read_form(real, &key->a, &key->b, &key->d, form);
    return memo_add(&forms, &form->entry, &form->key, hash); /* NOLINT: taken over, no leak */
}

static struct form *find_form(const struct real_lt *real, lt_layout a, lt_layout b, lt_layout d)
{
    const struct form_key key = {*a, *b, *d, real};
    const uint64_t hash = memo_hash(&key, sizeof key);
    struct form *form = memo_find(&forms, &key, hash);
    if (!form && !atomic_load_explicit(&full, memory_order_relaxed)) {
        pthread_mutex_lock(&lock);
        form = memo_find(&forms, &key, hash);
        if (!form) form = make_form(real, &key, hash);
        if (!form) atomic_store_explicit(&full, true, memory_order_relaxed);
        pthread_mutex_unlock(&lock);
    }
    return form;
}

static bool same(lt_layout x, const struct lt_layout *y)
{
    uint64_t different = 0;
    for (int i = 0; i < 8; i++) different |= x->data[i] ^ y->data[i];
    return !different;
}

/* NULL: there is no room. */
static struct form *form_of(const struct real_lt *real, lt_layout a, lt_layout b, lt_layout d)
{
    const uint64_t addresses = (uintptr_t)a + 3 * (uintptr_t)b + 5 * (uintptr_t)d;
    _Atomic(struct form *) *hint = &hints[addresses * 0x9e3779b97f4a7c15U >> (64 - HINTS_BITS)];
    struct form *form = atomic_load_explicit(hint, memory_order_acquire);
    if (form && form->key.real == real && same(a, &form->key.a) && same(b, &form->key.b) &&
        same(d, &form->key.d))
        return form;
    form = find_form(real, a, b, d);
    if (form) atomic_store_explicit(hint, form, memory_order_release);
    return form;
}

/* ---- calls that no descriptor makes ours ---- */

/* True: there is no tuned kernel, whatever the descriptor says. A route never gets one later. */
static bool is_untuned(const struct form *form, const struct asked *asked)
{
    if (!form->plain) return true;
    const struct route *untuned = atomic_load_explicit(&form->untuned, memory_order_acquire);
    return untuned && route_is_for(untuned, asked);
}

/* For a call that is ours, so that no others' problems fill the table of routes. Most layouts fit with one
 * pair of ops alone. */
static void look_for_tuned(struct form *form, struct asked asked)
{
    struct route *route = NULL;
    if (atomic_load_explicit(&form->tuned, memory_order_relaxed)) return;
    for (int ops = 0; ops < OPS; ops++) {
        if (!fill_sizes(form, ops & 1, ops & 2, &asked)) continue;
        asked.last = &form->last[ops];
        route = route_of(&asked);
        if (!route) return; /* not known */
        if (atomic_load_explicit(&route->state, memory_order_relaxed) == ROUTE_TUNED) {
            atomic_store_explicit(&form->tuned, true, memory_order_relaxed);
            return;
        }
    }
    atomic_store_explicit(&form->untuned, route, memory_order_release);
}

/* ---- what a descriptor asks for ---- */

static int32_t get(const struct real_lt *real, lt_desc desc, int what)
{
    int32_t value = -1;
    size_t written;
    return real->DescGet(desc, what, &value, sizeof value, &written) ? -1 : value;
}

static bool is_null(const struct real_lt *real, lt_desc desc, int what)
{
    const void *pointer = NULL;
    size_t written;
    return real->DescGet(desc, what, &pointer, sizeof pointer, &written) || !pointer;
}

/* The rarer attributes of a descriptor have their defaults. */
static bool is_usual(const void *of)
{
    static const int pointers[] = {LT_DESC_A_SCALE_POINTER, LT_DESC_B_SCALE_POINTER, LT_DESC_C_SCALE_POINTER,
                                   LT_DESC_D_SCALE_POINTER, LT_DESC_AMAX_D_POINTER};
    const struct matmul *matmul = of;
    const struct real_lt *real = matmul->real;
    lt_desc desc = matmul->desc;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        if (!is_null(real, desc, pointers[i])) return false;
    return get(real, desc, LT_DESC_SCALE_TYPE) == BLAS_R_32F &&
           get(real, desc, LT_DESC_TRANSC) == BLAS_OP_N && get(real, desc, LT_DESC_FILL_MODE) == LT_FILL_FULL;
}

static struct refusal epilogue = {"cublasLtMatmul", "an epilogue follows (a bias, an activation)",
                                  ATOMIC_FLAG_INIT};
static struct refusal types = {
    "cublasLtMatmul", "its types are not all FP32, or it allows less than strict FP32", ATOMIC_FLAG_INIT};
static struct refusal forms_other = {"cublasLtMatmul", "its scalars or layouts are of another form",
                                     ATOMIC_FLAG_INIT};
static struct refusal other_c = {"cublasLtMatmul", "it adds another matrix than it writes", ATOMIC_FLAG_INIT};

static bool is_complete(const struct matmul *x)
{
    return x->desc && x->alpha && x->beta && x->layout_a && x->layout_b && x->layout_c && x->layout_d;
}

static struct form *form_of_call(const struct matmul *x)
{
    return form_of(x->real, x->layout_a, x->layout_b, x->layout_d);
}

/* NULL: the call is as filled into asked; else why not. */
static struct refusal *understand(const struct matmul *x, struct asked *asked)
{
    const struct real_lt *real = x->real;
    struct form *form = NULL;
    if (!is_complete(x)) return &forms_other;
    if (!dropin_is_watched()) {
        form = form_of_call(x);
        if (form && is_untuned(form, asked)) return &forms_other; /* nobody asks why */
    }
    if (get(real, x->desc, LT_DESC_EPILOGUE) != LT_EPILOGUE_DEFAULT) return &epilogue;
    const int compute = get(real, x->desc, LT_DESC_COMPUTE_TYPE);
    if (compute != BLAS_COMPUTE_32F && compute != BLAS_COMPUTE_32F_PEDANTIC) return &types;
    const int pointer = get(real, x->desc, LT_DESC_POINTER_MODE);
    const int op_a = get(real, x->desc, LT_DESC_TRANSA), op_b = get(real, x->desc, LT_DESC_TRANSB);
    if ((pointer != BLAS_HOST_SCALARS && pointer != BLAS_DEVICE_SCALARS) || !is_op(op_a) || !is_op(op_b))
        return &forms_other;
    const bool turn_a = op_a != BLAS_OP_N, turn_b = op_b != BLAS_OP_N;
    if (!form) form = form_of_call(x);
    if (!form || !form->plain || !fill_sizes(form, turn_a, turn_b, asked) || !same(x->layout_c, x->layout_d))
        return &forms_other;
    /* Where beta is 0, C is not read. */
    if (x->c != x->d && (pointer == BLAS_DEVICE_SCALARS || *(const float *)x->beta != 0)) return &other_c;
    asked->scalars_on_device = pointer == BLAS_DEVICE_SCALARS;
    asked->last = &form->last[turn_a + 2 * turn_b];
    if (!dropin_is_watched()) look_for_tuned(form, *asked);
    return NULL;
}

/* cublasLt takes memory of any alignment, unless an algorithm asks for more. */
static void *workspace_of(const struct matmul *x)
{
    enum { ALIGNMENT = 16 };
    return (uintptr_t)x->workspace % ALIGNMENT ? NULL : x->workspace;
}

bool lt_matmul_take(const struct matmul *x, struct turn *turn, int *result)
{
    struct asked asked = {
        .a = x->a,
        .b = x->b,
        .c = x->d,
        .alpha = x->alpha,
        .beta = x->beta,
        .stream = x->stream,
        .workspace = workspace_of(x),
        .workspace_bytes = x->workspace_bytes,
        .is_plain = is_usual,
        .is_plain_of = x,
    };
    if (!dropin_on() || !x->real->DescGet || !x->real->LayoutGet) return false;
    struct refusal *refusal = understand(x, &asked);
    if (refusal) {
        dropin_refuse(refusal);
        return false;
    }
    return dropin_take(&asked, turn, result);
}

/* A call needs a dozen queries of cublasLt's descriptors. The meaning of layouts is queried once and cached
 * by their bytes. If no tuned kernel exists for the layouts, whatever the descriptor says, and calls are not
 * logged or captured, the call passes without any query. */
#include "lt_matmul.h"
#include "call_types.h"
#include "dropin.h"
#include "library.h"
#include "lt_descriptor.h"
#include "lt_epilogue.h"
#include "lt_shortcut.h"
#include "memo.h"
#include "record.h"

#include <pthread.h>
#include <stdlib.h>

struct form_key {
    struct lt_layout a, b, d;   /* the layout of C equals D's */
    const struct real_lt *real; /* the library that made them */
};

/* As stored, in column-major order. by_rows: the layout is in row order, and this the transpose. */
struct matrix {
    int type; /* cudaDataType_t */
    bool by_rows;
    int64_t rows, columns, ld, batch, stride;
};

enum { OPS = 4 }; /* op_a + 2 * op_b */

/* The meaning of the layouts of a call. */
struct form {
    struct memo_entry entry;
    struct form_key key;
    bool plain;     /* a product with some ops; else the members below are invalid */
    unsigned types; /* bit i: of type i, if the compute type is that type's */
    struct matrix a, b, d;
    _Atomic(struct record *) last[OPS];
    atomic_bool tuned; /* a tuned kernel was found, with some ops */
    _Atomic uint64_t
        none; /* the last mark (mark_of) without one, whatever the ops; others are in records_none */
};

static struct memo forms = {.key_bytes = sizeof(struct form_key)};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding forms */
static atomic_bool full;                                 /* no room for more forms */

/* Handles and algorithms that the real library accepts. */
static struct verdicts accepted;

/* The form that was last found for layouts at these addresses. Other layouts may be there now, so its key is
 * compared. */
enum { HINTS_BITS = 8 };
static _Atomic(struct form *) hints[1 << HINTS_BITS];

_Static_assert(sizeof(struct form_key) == 3 * 64 + sizeof(void *), "a key has no bytes that are nobody's");

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

/* Fills in the sizes with the ops of the descriptor. A matrix in row order is stored as its transpose, and
 * that of D is op(B)^T op(A)^T. False: the sizes do not match. */
static bool fill_sizes(const struct form *form, bool op_a, bool op_b, struct blas_request *request)
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

static bool read_form(const struct real_lt *real, lt_layout layout_a, lt_layout layout_b, lt_layout layout_d,
                      struct form *form)
{
    struct blas_request unused;
    if (!read_layout(real, layout_a, &form->a) || !read_layout(real, layout_b, &form->b) ||
        !read_layout(real, layout_d, &form->d) || form->a.batch != form->d.batch ||
        form->b.batch != form->d.batch)
        return false;
    form->types = 0;
    for (int i = 0; i < CALL_TYPES; i++) {
        const struct call_type *row = &call_types[i];
        if (row->a == form->a.type && row->b == form->b.type && row->c == form->d.type)
            form->types |= GEMM_TYPE_BIT(row->type);
    }
    /* GEMMTUNE_ACCURACY may make it one. */
    if (form->types & GEMM_TYPE_BIT(GEMM_SGEMM)) form->types |= GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE);
    /* FP32 is answered in column order only. */
    const bool by_rows = form->a.by_rows || form->b.by_rows || form->d.by_rows;
    if (!form->types || (form->a.type == BLAS_R_32F && by_rows)) return false;
    bool fits = false;
    for (int ops = 0; ops < OPS; ops++) fits |= fill_sizes(form, ops & 1, ops & 2, &unused);
    return fits;
}

/* The form is kept until the process ends. NULL: there is no room. */
static struct form *make_form(const struct real_lt *real, const struct form_key *key, uint64_t hash)
{
    struct form *form = calloc(1, sizeof *form);
    if (!form) return NULL;
    form->key = *key;
    form->plain = read_form(real, &key->a, &key->b, &key->d, form);
    return memo_add(&forms, &form->entry, &form->key, hash); /* NOLINT: takes ownership, no leak */
}

static struct form *find_form(const struct real_lt *real, lt_layout a, lt_layout b, lt_layout d,
                              uint64_t *hash)
{
    const struct form_key key = {*a, *b, *d, real};
    *hash = memo_hash(&key, sizeof key);
    struct form *form = memo_find(&forms, &key, *hash);
    if (!form && !atomic_load_explicit(&full, memory_order_relaxed)) {
        pthread_mutex_lock(&lock);
        form = memo_find(&forms, &key, *hash);
        if (!form) form = make_form(real, &key, *hash);
        if (memo_room(&forms) == 0) atomic_store_explicit(&full, true, memory_order_relaxed);
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

/* Does C lie as D does? Its bytes may differ in what does not count, such as the stride of a single item. */
static bool c_lies_as_d(const struct matmul *x, const struct form *form)
{
    const struct matrix *d = &form->d;
    struct matrix c;
    if (same(x->layout_c, x->layout_d)) return true;
    return read_layout(x->real, x->layout_c, &c) && c.type == d->type && c.by_rows == d->by_rows &&
           c.rows == d->rows && c.columns == d->columns && c.ld == d->ld && c.batch == d->batch &&
           (c.batch == 1 || c.stride == d->stride);
}

/* NULL: there is no room; then *hash is that of the key. */
static struct form *form_of(const struct real_lt *real, lt_layout a, lt_layout b, lt_layout d, uint64_t *hash)
{
    const uint64_t addresses = (uintptr_t)a + 3 * (uintptr_t)b + 5 * (uintptr_t)d;
    _Atomic(struct form *) *hint = &hints[addresses * 0x9e3779b97f4a7c15U >> (64 - HINTS_BITS)];
    struct form *form = atomic_load_explicit(hint, memory_order_acquire);
    if (form && form->key.real == real && same(a, &form->key.a) && same(b, &form->key.b) &&
        same(d, &form->key.d))
        return form;
    form = find_form(real, a, b, d, hash);
    if (form) atomic_store_explicit(hint, form, memory_order_release);
    return form;
}

/* ---- calls that pass whatever their descriptor ---- */

/* Of the layouts that have this hash, where the call is: what determines whether there is a tuned kernel. */
static uint64_t mark_of(const struct blas_request *request, uint64_t hash)
{
    const uint64_t place = 32 * request->context->id + (uint64_t)record_alignment(request);
    return library_hash(request->context->handle, plan_hash_step(hash, place));
}

/* NULL: there is no tuned kernel for the call's layouts where it is, whatever the descriptor says. A form for
 * which there is no room is stored in spare. */
static struct form *candidate(const struct matmul *x, const struct blas_request *request, struct form *spare)
{
    uint64_t hash = 0;
    if (!request->context || !record_alignment(request)) return NULL;
    struct form *form = form_of(x->real, x->layout_a, x->layout_b, x->layout_d, &hash);
    if (form && !form->plain) return NULL;
    const uint64_t mark = mark_of(request, form ? form->entry.hash : hash);
    if (form && atomic_load_explicit(&form->none, memory_order_relaxed) == mark) return NULL;
    if (verdicts_hold(&records_none, mark)) return NULL;
    if (form) return form;
    *spare = (struct form){.entry.hash = hash};
    spare->plain = read_form(x->real, x->layout_a, x->layout_b, x->layout_d, spare);
    if (spare->plain) return spare;
    verdicts_add(&records_none, mark);
    return NULL;
}

/* Looks with the beta in `way`. Each bias may have a stride of 0, or its length. */
static bool has_tuned(struct blas_request request, int way)
{
    for (int strided = 0; strided <= (epilogue_bias(request.epilogue) != BIAS_NONE && request.batch > 1);
         strided++) {
        request.stride_bias = strided ? request.m : 0;
        const struct record *record = record_of(&request, request.context, way & 4);
        if (record && instead_is_kernel(&record->instead)) return true;
    }
    return false;
}

/* Looks with the sizes and the type in `request`: few epilogues have winners. */
static bool has_tuned_epilogue(struct blas_request request, int way, uint64_t epilogues)
{
    for (request.epilogue = 0; request.epilogue < EPILOGUE_CODES; request.epilogue++)
        if ((epilogues >> request.epilogue & 1) && epilogue_is_known(request.epilogue) &&
            has_tuned(request, way))
            return true;
    return false;
}

/* Called only for a call that could be answered, so that other calls' problems do not fill the table of
 * plans. Most layouts fit only one pair of ops, and one type that has winners. */
static void look_for_tuned(struct form *form, struct blas_request request)
{
    if (atomic_load_explicit(&form->tuned, memory_order_relaxed)) return;
    const uint64_t mark = mark_of(&request, form->entry.hash);
    const struct listed *listed = listed_of(request.context);
    const uint64_t epilogues = listed->epilogues;
    const unsigned types = form->types & listed->types;
    request.last = NULL;
    request.source = NULL; /* it is not what the mark is about */
    for (int way = 0; way < 2 * OPS; way++) {
        if (!fill_sizes(form, way & 1, way & 2, &request)) continue;
        for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
            request.type = (enum gemm_type)type;
            if (!(types & GEMM_TYPE_BIT(type)) || !has_tuned_epilogue(request, way, epilogues)) continue;
            atomic_store_explicit(&form->tuned, true, memory_order_relaxed);
            return;
        }
    }
    verdicts_add(&records_none, mark);
    atomic_store_explicit(&form->none, mark, memory_order_relaxed);
}

/* ---- calls that the real library would refuse ---- */

/* Everything that its answer depends on. */
struct question {
    const struct matmul *matmul;
    const struct form *form;
    int compute, pointer, ops, epilogue; /* values of cublasLt; ops: as an index */
};

static bool is_valid_handle(const struct matmul *x)
{
    const uint64_t key[] = {(uintptr_t)x->real, (uintptr_t)x->handle};
    const uint64_t hash = memo_hash(key, sizeof key);
    int id, count;
    if (verdicts_hold(&accepted, hash)) return true;
    if (!x->handle || !x->real->AlgoGetIds ||
        x->real->AlgoGetIds(x->handle, BLAS_COMPUTE_32F, BLAS_R_32F, BLAS_R_32F, BLAS_R_32F, BLAS_R_32F,
                            BLAS_R_32F, 1, &id, &count))
        return false;
    verdicts_add(&accepted, hash);
    return true;
}

/* Without an algorithm the library chooses. */
static bool is_valid_algorithm(const struct question *q)
{
    const struct matmul *x = q->matmul;
    if (!x->algorithm) return true;
    struct lt_heuristic result = {.workspace_bytes = 0};
    const struct lt_algorithm *algorithm = x->algorithm;
    const struct {
        struct lt_algorithm algorithm;
        uint64_t handle, form, workspace_bytes;
        int32_t how[4];
    } key = {*algorithm,
             (uintptr_t)x->handle,
             q->form->entry.hash,
             x->workspace_bytes,
             {q->compute, q->pointer, q->ops, q->epilogue}};
    _Static_assert(sizeof key == 64 + 3 * 8 + 4 * 4, "a key has no bytes that are nobody's");
    const uint64_t hash = memo_hash(&key, sizeof key);
    if (verdicts_hold(&accepted, hash)) return true;
    if (!x->real->AlgoCheck ||
        x->real->AlgoCheck(x->handle, x->desc, x->layout_a, x->layout_b, x->layout_c, x->layout_d, algorithm,
                           &result) ||
        result.workspace_bytes > x->workspace_bytes)
        return false;
    verdicts_add(&accepted, hash);
    return true;
}

/* NULL: the call is a product and its epilogue, and the real library would accept it. */
static const char *why_unusual(const void *of)
{
    const struct question *q = of;
    if (!lt_desc_is_usual(q->matmul)) return "its descriptor has an attribute that no tuned kernel honours";
    return is_valid_handle(q->matmul) && is_valid_algorithm(q)
               ? NULL
               : "cublasLt may refuse its handle or algorithm";
}

static struct refusal types = {"cublasLtMatmul", CALL_TYPES_OTHER, ATOMIC_FLAG_INIT};
static struct refusal forms_other = {"cublasLtMatmul", "its types, scalars or layouts are not supported",
                                     ATOMIC_FLAG_INIT};
static struct refusal other_c = {"cublasLtMatmul", "its matrices C and D have different layouts",
                                 ATOMIC_FLAG_INIT};

static bool is_complete(const struct matmul *x)
{
    return x->desc && x->alpha && x->beta && x->layout_a && x->layout_b && x->layout_c && x->layout_d;
}

/* NULL: request and q describe the call; else the reason why not. spare: room for a form. */
static struct refusal *understand(const struct matmul *x, struct form *spare, struct blas_request *request,
                                  struct question *q)
{
    if (!is_complete(x)) return &forms_other;
    struct form *form = NULL;
    request->context = library_context();
    if (!dropin_is_watched() && !(form = candidate(x, request, spare)))
        return &forms_other; /* the reason is not logged */
    q->epilogue = lt_desc_get(x, LT_DESC_EPILOGUE);
    q->compute = lt_desc_get(x, LT_DESC_COMPUTE_TYPE);
    if (!form && !(form = candidate(x, request, spare))) return &forms_other;
    const struct call_type *row = call_type_of(form->a.type, form->b.type, form->d.type, q->compute);
    if (!row) return &types;
    request->type = row->type;
    request->pedantic = q->compute == BLAS_COMPUTE_32F_PEDANTIC;
    q->pointer = lt_desc_get(x, LT_DESC_POINTER_MODE);
    const int op_a = lt_desc_get(x, LT_DESC_TRANSA), op_b = lt_desc_get(x, LT_DESC_TRANSB);
    if ((q->pointer != BLAS_HOST_SCALARS && q->pointer != BLAS_DEVICE_SCALARS) || !is_op(op_a) ||
        !is_op(op_b))
        return &forms_other;
    q->ops = (op_a != BLAS_OP_N) + 2 * (op_b != BLAS_OP_N);
    if (!fill_sizes(form, q->ops & 1, q->ops & 2, request)) return &forms_other;
    if (form->d.by_rows) request->a = x->b, request->b = x->a;
    /* Algorithms are measured with all matrices in column order, and C as D. */
    if (!form->a.by_rows && !form->b.by_rows && !form->d.by_rows && c_lies_as_d(x, form)) request->matmul = x;
    /* If beta is 0, C is not read. */
    const bool reads_c = q->pointer == BLAS_DEVICE_SCALARS || *(const float *)x->beta != 0;
    if (reads_c && !c_lies_as_d(x, form)) return &other_c;
    struct refusal *refusal = lt_epilogue_read(x, q->epilogue, reads_c, form->d.by_rows, request);
    if (refusal) return refusal;
    q->form = form;
    request->scalars_on_device = q->pointer == BLAS_DEVICE_SCALARS;
    request->last = &form->last[q->ops];
    if (!dropin_is_watched()) look_for_tuned(form, *request);
    return NULL;
}

/* cublasLt accepts memory of any alignment, unless an algorithm requires more. */
static void *workspace_of(const struct matmul *x)
{
    enum { ALIGNMENT = 16 };
    return (uintptr_t)x->workspace % ALIGNMENT ? NULL : x->workspace;
}

bool lt_matmul_take(const struct matmul *x, struct intercept *intercept, int *result)
{
    struct form spare;
    struct question question = {.matmul = x};
    struct blas_request request = {
        .a = x->a,
        .b = x->b,
        .c = x->d,
        .alpha = x->alpha,
        .beta = x->beta,
        .stream = x->stream,
        .workspace = workspace_of(x),
        .workspace_bytes = x->workspace_bytes,
        .why_unusual = why_unusual,
        .why_unusual_of = &question,
    };
    if (!dropin_on() || !x->real->DescGet || !x->real->LayoutGet) return false;
    if (!dropin_is_watched()) {
        request.calls = calls_of(intercept);
        request.changes = library_changes();
        const enum shortcut_answer known =
            request.calls ? lt_shortcut_take(x, request.calls, result) : SHORTCUT_NONE;
        if (known != SHORTCUT_NONE) return known == SHORTCUT_DONE;
    }
    struct refusal *refusal = understand(x, &spare, &request, &question);
    if (refusal) {
        if (refusal == &forms_other && request.calls) lt_shortcut_keep_passing(&request, x);
        dropin_refuse(refusal, &request, intercept);
        return false;
    }
    return dropin_take(&request, intercept, result);
}

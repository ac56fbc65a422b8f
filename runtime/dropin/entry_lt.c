/* entry_lt.c — cublasLtMatmul, where it is asked for nothing but D = alpha op(A) op(B) + beta D in FP32.
 *
 * A call costs a dozen questions to cublasLt's descriptors; what the four layouts mean is asked once and
 * remembered by their bytes.
 */
#include "dropin.h"
#include "real_blas.h"

#include <pthread.h>
#include <stdlib.h>

enum { NOT_SUPPORTED = 15 };

struct form_key {
    struct lt_layout a, b, d; /* that of C is the same as D's */
    int32_t op_a, op_b;
};

/* What the ops and layouts of a call amount to. */
struct form {
    struct memo_entry entry;
    struct form_key key;
    bool plain; /* else nothing of the rest is valid */
    struct asked asked;
    _Atomic(struct route *) last;
};

static struct memo forms = {.key_bytes = sizeof(struct form_key)};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* adding forms */

_Static_assert(sizeof(struct form_key) == 3 * 64 + 8, "a key has no bytes that are nobody's");

/* ---- what a layout means ---- */

struct matrix {
    int64_t rows, columns, ld, batch, stride;
};

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

static bool read_form(const struct real_lt *real, lt_layout layout_a, lt_layout layout_b, lt_layout layout_d,
                      struct form *form)
{
    struct matrix a, b, d;
    const bool op_a = form->key.op_a != BLAS_OP_N, op_b = form->key.op_b != BLAS_OP_N;
    if (!read_layout(real, layout_a, &a) || !read_layout(real, layout_b, &b) ||
        !read_layout(real, layout_d, &d))
        return false;
    const int64_t m = op_a ? a.columns : a.rows, k = op_a ? a.rows : a.columns;
    const int64_t n = op_b ? b.rows : b.columns, k_too = op_b ? b.columns : b.rows;
    if (k != k_too || m != d.rows || n != d.columns || a.batch != d.batch || b.batch != d.batch) return false;
    form->asked = (struct asked){.function = "cublasLtMatmul",
                                 .op_a = op_a,
                                 .op_b = op_b,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .lda = a.ld,
                                 .ldb = b.ld,
                                 .ldc = d.ld,
                                 .batch = d.batch,
                                 .stride_a = a.stride,
                                 .stride_b = b.stride,
                                 .stride_c = d.stride};
    return true;
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

/* NULL: not plain, or there is no room. */
static struct form *form_of(const struct real_lt *real, int op_a, int op_b, lt_layout a, lt_layout b,
                            lt_layout d)
{
    const struct form_key key = {*a, *b, *d, op_a, op_b};
    const uint64_t hash = memo_hash(&key, sizeof key);
    struct form *form = memo_find(&forms, &key, hash);
    if (!form) {
        pthread_mutex_lock(&lock);
        form = memo_find(&forms, &key, hash);
        if (!form) form = make_form(real, &key, hash);
        pthread_mutex_unlock(&lock);
    }
    return form && form->plain ? form : NULL;
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
    const struct real_lt *real = real_lt();
    lt_desc desc = (lt_desc)(uintptr_t)of;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        if (!is_null(real, desc, pointers[i])) return false;
    return get(real, desc, LT_DESC_SCALE_TYPE) == BLAS_R_32F &&
           get(real, desc, LT_DESC_TRANSC) == BLAS_OP_N && get(real, desc, LT_DESC_FILL_MODE) == LT_FILL_FULL;
}

static bool is_op(int op)
{
    return op == BLAS_OP_N || op == BLAS_OP_T || op == BLAS_OP_CONJUGATE_T;
}

static struct refusal epilogue = {"cublasLtMatmul", "an epilogue follows (a bias, an activation)",
                                  ATOMIC_FLAG_INIT};
static struct refusal types = {
    "cublasLtMatmul", "its types are not all FP32, or it allows less than strict FP32", ATOMIC_FLAG_INIT};
static struct refusal forms_other = {"cublasLtMatmul", "its scalars or layouts are of another form",
                                     ATOMIC_FLAG_INIT};
static struct refusal other_c = {"cublasLtMatmul", "it adds another matrix than it writes", ATOMIC_FLAG_INIT};

/* NULL: the call is as filled into asked; else why not. */
static struct refusal *understand(const struct real_lt *real, lt_desc desc, const void *alpha, const void *a,
                                  lt_layout layout_a, const void *b, lt_layout layout_b, const void *beta,
                                  const void *c, lt_layout layout_c, void *d, lt_layout layout_d,
                                  struct asked *asked)
{
    if (!desc || !alpha || !beta || !layout_a || !layout_b || !layout_c || !layout_d) return &forms_other;
    if (get(real, desc, LT_DESC_EPILOGUE) != LT_EPILOGUE_DEFAULT) return &epilogue;
    int compute = get(real, desc, LT_DESC_COMPUTE_TYPE), pointer = get(real, desc, LT_DESC_POINTER_MODE);
    int op_a = get(real, desc, LT_DESC_TRANSA), op_b = get(real, desc, LT_DESC_TRANSB);
    if (compute != BLAS_COMPUTE_32F && compute != BLAS_COMPUTE_32F_PEDANTIC) return &types;
    if ((pointer != BLAS_HOST_SCALARS && pointer != BLAS_DEVICE_SCALARS) || !is_op(op_a) || !is_op(op_b))
        return &forms_other;
    struct form *form = form_of(real, op_a, op_b, layout_a, layout_b, layout_d);
    if (!form || memcmp(layout_c, layout_d, sizeof *layout_c) != 0) return &forms_other;
    /* Where beta is 0, C is not read. */
    if (c != d && (pointer == BLAS_DEVICE_SCALARS || *(const float *)beta != 0)) return &other_c;
    *asked = form->asked;
    asked->alpha = alpha;
    asked->a = a;
    asked->b = b;
    asked->beta = beta;
    asked->c = d;
    asked->scalars_on_device = pointer == BLAS_DEVICE_SCALARS;
    asked->is_plain = is_usual;
    asked->is_plain_of = desc;
    asked->last = &form->last;
    return NULL;
}

int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout layout_a,
                   const void *b, lt_layout layout_b, const void *beta, const void *c, lt_layout layout_c,
                   void *d, lt_layout layout_d, const void *algorithm, void *workspace,
                   size_t workspace_bytes, CUstream stream)
{
    const struct real_lt *real = real_lt();
    struct refusal *refusal = NULL, inside = {"", "", ATOMIC_FLAG_INIT};
    struct asked asked = {.stream = stream};
    struct turn turn;
    int result;
    if (!real->Matmul) return NOT_SUPPORTED;
    if (dropin_is_inside() || !dropin_on() || !real->DescGet || !real->LayoutGet) refusal = &inside;
    else
        refusal =
            understand(real, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, &asked);
    asked.stream = stream;
    if (refusal) dropin_pass(refusal, &turn);
    else if (dropin_take(&asked, &turn, &result)) return result;
    result = real->Matmul(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d,
                          algorithm, workspace, workspace_bytes, stream);
    dropin_end(&turn);
    return result;
}

/* A call needs a dozen queries of cublasLt's descriptors. If no tuned kernel exists for its layouts
 * (lt_form.h), whatever the descriptor says, and calls are not logged or captured, it passes without any
 * query. */
#include "lt_matmul.h"
#include "call_types.h"
#include "dropin.h"
#include "dropin_handle.h"
#include "epilogue.h"
#include "lt_descriptor.h"
#include "lt_form.h"
#include "lt_shortcut.h"
#include "record.h"

/* Handles and algorithms that the real library accepts. */
static struct verdicts accepted;

/* ---- calls that pass whatever their descriptor ---- */

/* Of the layouts that have this hash, where the call is: what determines whether there is a tuned kernel. */
static uint64_t mark_of(const struct blas_request *request, uint64_t hash)
{
    const uint64_t place = 32 * request->context->id + (uint64_t)record_alignment(request);
    return dropin_handle_hash(request->context->handle, plan_hash_step(hash, place));
}

/* NULL: there is no tuned kernel for the call's layouts where it is, whatever the descriptor says. A form for
 * which there is no room is stored in spare. */
static struct form *candidate(const struct matmul *x, const struct blas_request *request, struct form *spare)
{
    uint64_t hash = 0;
    if (!request->context || !record_alignment(request)) return NULL;
    struct form *form = lt_form_of(x, &hash);
    if (form && !form->plain) return NULL;
    const uint64_t mark = mark_of(request, form ? form->hash : hash);
    if (form && atomic_load_explicit(&form->none, memory_order_relaxed) == mark) return NULL;
    if (verdicts_hold(&records_none, mark)) return NULL;
    if (form) return form;
    lt_form_read(x, hash, spare);
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
    const uint64_t mark = mark_of(&request, form->hash);
    const struct listed *listed = listed_of(request.context);
    const uint64_t epilogues = listed->epilogues;
    const unsigned types = form->types & listed->types;
    request.last = NULL;
    request.source = NULL; /* it is not what the mark is about */
    for (int way = 0; way < 2 * LT_FORM_OPS; way++) {
        if (!lt_form_sizes(form, way & 1, way & 2, &request)) continue;
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
    const uint64_t hash = lt_hash(key, sizeof key);
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
             q->form->hash,
             x->workspace_bytes,
             {q->compute, q->pointer, q->ops, q->epilogue}};
    _Static_assert(sizeof key == 64 + 3 * 8 + 4 * 4, "a key has no bytes that are nobody's");
    const uint64_t hash = lt_hash(&key, sizeof key);
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

/* ---- the epilogue ---- */

static struct refusal gradient = {"cublasLtMatmul", "its epilogue is a gradient", ATOMIC_FLAG_INIT};
static struct refusal auxiliary = {"cublasLtMatmul", "its epilogue stores an auxiliary matrix for a gradient",
                                   ATOMIC_FLAG_INIT};
static struct refusal epilogue_other = {"cublasLtMatmul", "its epilogue is none of a bias, ReLU and GELU",
                                        ATOMIC_FLAG_INIT};
static struct refusal bias_type = {"cublasLtMatmul", "its bias is of another type than D", ATOMIC_FLAG_INIT};
static struct refusal bias_place = {
    "cublasLtMatmul", "its bias is NULL, or its address is no multiple of an element", ATOMIC_FLAG_INIT};
static struct refusal bias_order = {"cublasLtMatmul", "it has a bias, and D is in row order",
                                    ATOMIC_FLAG_INIT};
static struct refusal bias_stride = {
    "cublasLtMatmul", "the biases of its batch are neither one for all nor one after the other",
    ATOMIC_FLAG_INIT};
static struct refusal no_c = {"cublasLtMatmul", "its matrix C is NULL", ATOMIC_FLAG_INIT};

/* The type's default is that of D. */
static struct refusal *read_bias(const struct matmul *x, struct blas_request *request)
{
    const int type = lt_desc_get(x, LT_DESC_BIAS_DATA_TYPE);
    const enum element element = gemm_type_row(request->type)->c;
    if (!lt_desc_read(x, LT_DESC_BIAS_POINTER, &request->bias, sizeof request->bias) || !request->bias ||
        (uintptr_t)request->bias % (uintptr_t)element_bytes(element))
        return &bias_place;
    if (type != -1 && type != blas_data_type(element)) return &bias_type;
    if (request->batch == 1) return NULL;
    if (!lt_desc_read(x, LT_DESC_BIAS_BATCH_STRIDE, &request->stride_bias, sizeof request->stride_bias) ||
        (request->stride_bias != 0 && request->stride_bias != request->m))
        return &bias_stride;
    return NULL;
}

static struct refusal *why_other(int value)
{
    if (value < 0) return &epilogue_other;
    return value & LT_EPILOGUE_GRADIENTS ? &gradient : value & LT_EPILOGUE_AUX ? &auxiliary : &epilogue_other;
}

/* value: that of LT_DESC_EPILOGUE. reads_c: beta may be other than 0. by_rows: D is in row order. Sets
 * epilogue, bias and source of the request. NULL: done; else why no kernel computes such a call.
 *
 * cublasLt's bias has a value for each row of column-major D, which is a column in row-major terms. */
static struct refusal *read_epilogue(const struct matmul *x, int value, bool reads_c, bool by_rows,
                                     struct blas_request *request)
{
    const bool bias = value != LT_EPILOGUE_DEFAULT && value & LT_EPILOGUE_BIAS,
               out_of_place = reads_c && x->c != x->d;
    enum epilogue_activation activation = ACTIVATION_NONE;
    switch (value) {
    case LT_EPILOGUE_DEFAULT:
    case LT_EPILOGUE_BIAS:
        break;
    case LT_EPILOGUE_RELU:
    case LT_EPILOGUE_RELU | LT_EPILOGUE_BIAS:
        activation = ACTIVATION_RELU;
        break;
    case LT_EPILOGUE_GELU:
    case LT_EPILOGUE_GELU | LT_EPILOGUE_BIAS:
        activation = ACTIVATION_GELU;
        break;
    default:
        return why_other(value);
    }
    if (bias && by_rows) return &bias_order;
    if (out_of_place && !x->c) return &no_c;
    request->epilogue = epilogue_code(bias ? BIAS_COLUMN : BIAS_NONE, activation, out_of_place);
    if (out_of_place) request->source = x->c;
    return bias ? read_bias(x, request) : NULL;
}

/* ---- a call ---- */

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
    request->context = dropin_handle_context();
    if (!dropin_is_watched() && !(form = candidate(x, request, spare)))
        return &forms_other; /* the reason is not logged */
    q->epilogue = lt_desc_get(x, LT_DESC_EPILOGUE);
    q->compute = lt_desc_get(x, LT_DESC_COMPUTE_TYPE);
    if (!form && !(form = candidate(x, request, spare))) return &forms_other;
    if (!call_type_of(form->a.type, form->b.type, form->d.type, q->compute, &request->type)) return &types;
    request->pedantic = q->compute == BLAS_COMPUTE_32F_PEDANTIC;
    q->pointer = lt_desc_get(x, LT_DESC_POINTER_MODE);
    const int op_a = lt_desc_get(x, LT_DESC_TRANSA), op_b = lt_desc_get(x, LT_DESC_TRANSB);
    if ((q->pointer != BLAS_HOST_SCALARS && q->pointer != BLAS_DEVICE_SCALARS) || !is_op(op_a) ||
        !is_op(op_b))
        return &forms_other;
    q->ops = (op_a != BLAS_OP_N) + 2 * (op_b != BLAS_OP_N);
    if (!lt_form_sizes(form, q->ops & 1, q->ops & 2, request)) return &forms_other;
    if (form->d.by_rows) request->a = x->b, request->b = x->a;
    /* Algorithms are measured with all matrices in column order, and C as D. */
    if (!form->a.by_rows && !form->b.by_rows && !form->d.by_rows && lt_form_has_c_as_d(x, form))
        request->matmul = x;
    /* If beta is 0, C is not read. */
    const bool reads_c = q->pointer == BLAS_DEVICE_SCALARS || *(const float *)x->beta != 0;
    if (reads_c && !lt_form_has_c_as_d(x, form)) return &other_c;
    struct refusal *refusal = read_epilogue(x, q->epilogue, reads_c, form->d.by_rows, request);
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
        request.changes = dropin_handle_changes();
        const enum shortcut_answer known =
            request.calls ? lt_shortcut_take(x, request.calls, request.changes, result) : SHORTCUT_NONE;
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

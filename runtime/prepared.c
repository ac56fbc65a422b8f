#include "prepared.h"

#include "arguments.h"
#include "gpu_context.h"
#include "launcher.h"
#include "plan.h"
#include "relaxed.h"
#include "template.h"

#include <stdlib.h>

/* An operand of a problem by rows, apart from its address and values. */
struct matrix {
    enum launch_operand which; /* LAUNCH_A or LAUNCH_B */
    enum gemm_type type;
    int trans;
    int64_t lines, k, ld;  /* lines: M or N */
    int64_t items, stride; /* one for each item of the batch, or 1 and 0 */
};

struct gt_prepared {
    struct object object;
    struct gt_prepared *next; /* of the handle */
    struct gpu_context *context;
    const struct template *template;
    struct matrix operand;
    CUdeviceptr at;
    size_t bytes;
};

static struct object_pool prepared_pool = OBJECT_POOL(UINT64_C(0x67742d7072657061), struct gt_prepared);

/* ---- forms of a way ---- */

struct prepared_forms {
    struct config config;
    struct problem problem;
    _Atomic(struct launch_plan *)
        product[2]; /* by LAUNCH_A, LAUNCH_B; NULL: not yet; &takes_none: there is none */
};

static struct launch_plan takes_none; /* the configuration reads this operand itself */

static bool make_forms(const struct prepared_forms *forms, enum launch_operand which,
                       struct launch_plan *product, struct launch_plan *preparation)
{
    const struct template *template = forms->config.template;
    template->plan(&forms->config, &forms->problem, product);
    return template->prepare(&forms->config, &forms->problem, which, product, preparation);
}

enum status prepared_forms_make(const struct config *config, const struct problem *problem,
                                struct prepared_forms **forms)
{
    if (!config->template->prepare) return OK;
    struct prepared_forms *made = calloc(1, sizeof *made);
    if (!made) return fail(E_MEMORY, "out of memory while making a plan");
    made->config = *config;
    made->problem = *problem;
    *forms = made;
    return OK;
}

void prepared_forms_free(struct prepared_forms *forms)
{
    if (!forms) return;
    for (int i = 0; i < 2; i++) {
        struct launch_plan *const product = atomic_load(&forms->product[i]);
        if (product != &takes_none) free(product);
    }
    free(forms);
}

const struct launch_plan *prepared_form(struct prepared_forms *forms, const struct gt_prepared *prepared)
{
    const enum launch_operand which = prepared->operand.which;
    if (forms->config.template != prepared->template) return NULL;
    struct launch_plan *product = atomic_load_explicit(&forms->product[which], memory_order_acquire);
    if (product) return product == &takes_none ? NULL : product;
    struct launch_plan preparation, *other = NULL;
    product = malloc(sizeof *product);
    if (!product) return NULL;
    if (!make_forms(forms, which, product, &preparation)) {
        free(product);
        atomic_compare_exchange_strong(&forms->product[which], &other, &takes_none);
        return NULL;
    }
    launcher_encode_ahead(product);
    if (atomic_compare_exchange_strong(&forms->product[which], &other, product)) return product;
    free(product); /* another thread was first */
    return other;
}

uintptr_t prepared_at(const struct gt_prepared *prepared)
{
    return prepared->at;
}

/* ---- which operand ---- */

static struct matrix matrix_of(const struct problem *p, enum launch_operand which)
{
    const bool b = which == LAUNCH_B;
    const int64_t stride = b ? p->stride_b : p->stride_a;
    const bool items = p->batch > 1 && stride != 0;
    return (struct matrix){.which = which,
                           .type = p->type,
                           .trans = b ? p->trans_b : p->trans_a,
                           .lines = b ? p->n : p->m,
                           .k = p->k,
                           .ld = b ? p->ldb : p->lda,
                           .items = items ? p->batch : 1,
                           .stride = items ? stride : 0};
}

static bool is_same(const struct matrix *x, const struct matrix *y)
{
    return x->which == y->which && x->type == y->type && x->trans == y->trans && x->lines == y->lines &&
           x->k == y->k && x->ld == y->ld && x->items == y->items && x->stride == y->stride;
}

static void mark(struct gt_problem *p, enum launch_operand which)
{
    const bool a = (which == LAUNCH_A) != !!(p->flags & GT_COLUMN_MAJOR);
    const bool prepares = p->type == GT_SGEMM_ACCURATE || p->type == GT_SGEMM_NORMWISE;
    p->flags &= ~(uint32_t)(GT_PREPARED_A | GT_PREPARED_B);
    if (prepares && !(p->flags & GT_POINTER_ARRAYS)) p->flags |= a ? GT_PREPARED_A : GT_PREPARED_B;
}

void prepared_mark(struct gt_problem *problem, const struct gt_prepared *prepared)
{
    if (object_is(&prepared_pool, prepared)) mark(problem, prepared->operand.which);
}

enum status prepared_check(const struct gt_prepared *prepared, const struct gt_plan *plan)
{
    const enum prepared_operand wanted = plan->problem.prepared;
    if (!prepared)
        return wanted ? fail(E_INPUT, "the plan is for calls with a prepared operand, and this one has none")
                      : OK;
    if (!object_is(&prepared_pool, prepared))
        return fail(E_INPUT, "the prepared operand was freed, or is none of this library's");
    if (prepared->context != plan->context)
        return fail(E_INPUT, "the operand was prepared with another handle, or in another context");
    if (wanted && (wanted == PREPARED_A) != (prepared->operand.which == LAUNCH_A))
        return fail(E_INPUT, "the plan is for calls with the other operand prepared");
    const struct matrix own = matrix_of(&plan->problem, prepared->operand.which), *was = &prepared->operand;
    if (plan->problem.pointers || !is_same(&own, was))
        return fail(E_INPUT,
                    "the prepared operand is another than the problem's: %s, %s, %lld x %lld, leading "
                    "dimension %lld, %lld in the batch",
                    gemm_type_row(was->type)->name, was->trans ? "transposed" : "not transposed",
                    (long long)(was->which == LAUNCH_A ? was->lines : was->k),
                    (long long)(was->which == LAUNCH_A ? was->k : was->lines), (long long)was->ld,
                    (long long)was->items);
    return OK;
}

/* ---- preparing ---- */

static enum status check_capture(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    CUgraph graph;
    enum status st = device_check(cuda.StreamGetCaptureInfo(stream, &status, &id, &graph, NULL, NULL),
                                  "ask whether the stream is captured");
    return !st && status != CU_STREAM_CAPTURE_STATUS_NONE
               ? fail(E_INPUT, "no operand is prepared while its stream is captured")
               : st;
}

/* Allocates it, and waits until it is made. */
static enum status fill(struct gt_prepared *prepared, const struct way *way,
                        const struct launch_plan *preparation, CUdeviceptr matrix, CUstream stream)
{
    bool touched;
    prepared->bytes = (size_t)preparation->workspace_bytes;
    const CUresult result = cuda.MemAlloc(&prepared->at, prepared->bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return fail(E_MEMORY, "there are no %zu bytes of device memory for the prepared operand",
                    prepared->bytes);
    enum status st = device_check(result, "allocate a prepared operand");
    if (st) return st;
    const struct launch_call call = {.operand = {[LAUNCH_A] = matrix, /* only one of the two is read */
                                                 [LAUNCH_B] = matrix,
                                                 [LAUNCH_WORKSPACE] = prepared->at},
                                     .alpha = 1};
    st = device_check(launcher_enqueue(preparation, way->function, &call, stream, &touched),
                      "prepare an operand");
    return st ? st : device_check(cuda.StreamSynchronize(stream), "prepare an operand");
}

static enum status make(struct gt_plan *plan, enum launch_operand which, CUdeviceptr matrix, CUstream stream,
                        struct gt_prepared *prepared)
{
    struct launch_plan product, preparation;
    const struct way *way = atomic_load(&plan->way[PLAN_USUAL]);
    if (!way->prepared || !make_forms(way->prepared, which, &product, &preparation))
        return fail(E_ABSENT, "what computes this problem takes no prepared operand: %s", way->info.config);
    prepared->context = plan->context;
    prepared->template = way->prepared->config.template;
    prepared->operand = matrix_of(&plan->problem, which);
    const CUstreamCaptureMode before = relaxed_begin(); /* of other streams */
    const enum status st = fill(prepared, way, &preparation, matrix, stream);
    if (st && prepared->at) cuda.MemFree(prepared->at);
    relaxed_end(before);
    return st;
}

/* The caller's operand by rows. */
static enum launch_operand which_of(enum gt_operand operand, uint32_t flags)
{
    return (operand == GT_OPERAND_B) != !!(flags & GT_COLUMN_MAJOR) ? LAUNCH_B : LAUNCH_A;
}

static enum status prepare(struct gt_handle *handle, const struct gt_problem *problem,
                           enum gt_operand operand, CUdeviceptr matrix, CUstream stream,
                           struct gt_prepared **out)
{
    struct gt_problem p;
    struct gt_plan *plan;
    unsigned long long context_id;
    enum status st = arguments_copy_problem(problem, &p);
    if (!st && matrix % (CUdeviceptr)element_bytes_of(p.type))
        st = fail(E_INPUT, "the matrix must be a multiple of %d bytes", element_bytes_of(p.type));
    if (!st) st = gpu_context_current(handle, &context_id);
    if (!st) st = check_capture(stream);
    if (!st) mark(&p, which_of(operand, p.flags));
    if (!st) st = plan_open(handle, context_id, &p, &plan);
    if (st) return st;
    struct gt_prepared *prepared = object_make(&prepared_pool);
    st = prepared ? make(plan, which_of(operand, p.flags), matrix, stream, prepared)
                  : fail(E_MEMORY, "out of memory while preparing an operand");
    plan_free(plan);
    if (!st) {
        pthread_mutex_lock(&handle->lock);
        prepared->next = handle->prepared;
        handle->prepared = *out = prepared;
        pthread_mutex_unlock(&handle->lock);
    } else if (prepared && object_close(&prepared_pool, prepared)) object_free(&prepared_pool, prepared);
    return st;
}

enum gt_status gt_prepare(struct gt_handle *handle, const struct gt_problem *problem, enum gt_operand operand,
                          const void *matrix, CUstream stream, struct gt_prepared **prepared)
{
    if (!prepared) return public_status(fail(E_INPUT, "gt_prepare needs a place for the operand"));
    *prepared = NULL;
    if (!object_is(&handle_pool, handle)) return public_status(fail(E_INPUT, NO_HANDLE, "gt_prepare"));
    if (!problem || !matrix) return public_status(fail(E_INPUT, "gt_prepare: an argument is NULL"));
    if (operand != GT_OPERAND_A && operand != GT_OPERAND_B)
        return public_status(
            fail(E_INPUT, "operand is %d; 0 is GT_OPERAND_A, 1 is GT_OPERAND_B", (int)operand));
    if (device_forked()) return public_status(fail(E_GPU, DEVICE_FORKED));
    return public_status(prepare(handle, problem, operand, (CUdeviceptr)matrix, stream, prepared));
}

size_t gt_prepared_bytes(const struct gt_prepared *prepared)
{
    return object_is(&prepared_pool, prepared) ? prepared->bytes : 0;
}

/* ---- freeing ---- */

void gt_prepared_free(struct gt_prepared *prepared)
{
    CUcontext popped;
    if (device_forked() || !object_close(&prepared_pool, prepared)) return;
    struct gpu_context *context = prepared->context;
    struct gt_handle *handle = context->handle;
    pthread_mutex_lock(&handle->lock);
    struct gt_prepared **at = &handle->prepared;
    while (*at != prepared) at = &(*at)->next;
    *at = prepared->next;
    pthread_mutex_unlock(&handle->lock);
    const CUstreamCaptureMode before = relaxed_begin();
    if (gpu_context_is_alive(context) && cuda.CtxPushCurrent(context->device.context) == CUDA_SUCCESS) {
        cuda.MemFree(prepared->at);
        cuda.CtxPopCurrent(&popped);
    } /* else it went with its context */
    relaxed_end(before);
    object_free(&prepared_pool, prepared);
}

void prepared_free_all(struct gt_handle *handle)
{
    while (handle->prepared) gt_prepared_free(handle->prepared);
}

#include "gemmtune.h"

#include "arguments.h"
#include "cache.h"
#include "compile.h"
#include "gpu_context.h"
#include "handle.h"
#include "plan.h"
#include "relaxed.h"
#include "workspace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER; /* making a context current */

const char *gt_error_text(void)
{
    return status_text();
}

const char *gt_version(void)
{
    return GT_LIBRARY_VERSION;
}

static enum gt_status answer(enum status st)
{
    switch (st) {
    case OK:
        return GT_OK;
    case E_INPUT:
    case E_USAGE:
        return GT_INVALID;
    case E_MEMORY:
        return GT_MEMORY;
    case E_GPU:
        return device_forked() ? GT_NO_GPU : GT_DEVICE;
    default:
        return GT_UNAVAILABLE;
    }
}

/* Where an error means that there is nothing to work with. */
static enum gt_status answer_gpu(enum status st)
{
    return st ? GT_NO_GPU : GT_OK;
}

static struct object_pool handles = OBJECT_POOL(UINT64_C(0x67742d68616e646c), struct gt_handle);

static enum gt_status no_handle(const char *who)
{
    return answer(fail(E_INPUT, "%s: the handle is NULL, closed, or none of this library's", who));
}

static enum gt_status no_plan(const char *who)
{
    return answer(fail(E_INPUT, "%s: the plan is NULL, closed, or none of this library's", who));
}

/* ---- open, close ---- */

static void find_cache(struct gt_handle *handle, const char *chosen)
{
    enum status st;
    if (!chosen) st = compile_cache_folder(handle->cache, sizeof handle->cache);
    else if (strlen(chosen) >= sizeof handle->cache)
        st = fail(E_IO, "the name of the cache folder is too long");
    else {
        memcpy(handle->cache, chosen, strlen(chosen) + 1);
        st = cache_make_folder(chosen);
    }
    if (!st) return;
    handle->cache[0] = '\0';
    notice(&handle->notices, NOTICE_CACHE, "compiled kernels are not kept: %s", status_text());
}

static enum status copy_options(struct gt_handle *handle, const struct gt_options *o)
{
    enum status st = arguments_check_zero("gt_options", o->reserved, sizeof o->reserved);
    if (st) return st;
    const uint32_t known = GT_NO_CUBLAS | GT_NO_COMPILER | GT_QUIET | GT_LOADED_CUBLASLT;
    if (o->flags & ~known)
        return fail(E_INPUT, "flags are 0x%x, of which this version knows 0x%x", (unsigned)o->flags,
                    (unsigned)known);
    if (o->workspaces < GT_NO_WORKSPACES || o->workspaces > WORKSPACES_MAX)
        return fail(E_INPUT, "workspaces is %d; %d to %d are possible", o->workspaces, GT_NO_WORKSPACES,
                    WORKSPACES_MAX);
    handle->flags = o->flags;
    if (o->workspace_bytes > INT64_MAX) return fail(E_INPUT, "workspace_bytes is %zu", o->workspace_bytes);
    handle->workspaces = o->workspaces == GT_NO_WORKSPACES ? 0
                         : o->workspaces                   ? o->workspaces
                                                           : WORKSPACES_USUAL;
    if ((o->database && !(handle->database = strdup(o->database))) ||
        (o->pretuned && !(handle->pretuned = strdup(o->pretuned))))
        return fail(E_MEMORY, "out of memory while opening");
    notices_start(&handle->notices, o->flags & GT_QUIET);
    handle->workspace_bytes = o->workspace_bytes ? (int64_t)o->workspace_bytes : workspace_from_environment();
    find_cache(handle, o->cache);
    return OK;
}

static enum gt_status find_context(struct gt_handle *handle, int ordinal)
{
    struct device current;
    pthread_mutex_lock(&open_lock);
    enum status st = device_of_context(&current);
    if (st == E_ABSENT) { /* then the driver is loaded */
        CUstreamCaptureMode before = relaxed_begin();
        st = device_open(ordinal, &handle->own);
        relaxed_end(before);
    }
    pthread_mutex_unlock(&open_lock);
    if (st) return answer_gpu(st);
    struct gpu_context *context;
    pthread_mutex_lock(&handle->lock);
    st = gpu_context_add(handle, &context);
    pthread_mutex_unlock(&handle->lock);
    return answer(st);
}

static enum gt_status open_handle(struct gt_handle **out, const struct gt_options *options)
{
    struct gt_options o = gt_options_make();
    enum status st = options ? arguments_read("gt_options", options, OPTIONS_FIRST, &o, sizeof o) : OK;
    if (st) return answer(st);
    struct gt_handle *handle = object_make(&handles);
    if (!handle) return answer(fail(E_MEMORY, "out of memory while opening"));
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->built, NULL);
    plan_turnover_start(&handle->others);
    enum gt_status status = answer(copy_options(handle, &o));
    if (!status) status = find_context(handle, o.device);
    if (status) gt_close(handle);
    else *out = handle;
    return status;
}

enum gt_status gt_open(struct gt_handle **out, const struct gt_options *options)
{
    if (!out) return answer(fail(E_INPUT, "gt_open needs a place for the handle"));
    *out = NULL;
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    device_enter();
    const enum gt_status status = open_handle(out, options);
    device_leave();
    return status;
}

/* In a child of the process that opened it, nothing of it can be used nor freed: the driver does not work,
 * and locks may be held by threads that are not there. */
void gt_close(struct gt_handle *handle)
{
    if (!object_close(&handles, handle) || device_forked()) return;
    while (handle->plans) plan_free(handle->plans);
    plan_cache_free(&handle->found);
    plan_turnover_free(&handle->others);
    for (struct gpu_context *context = atomic_load(&handle->contexts), *next; context; context = next) {
        next = context->next;
        gpu_context_free(context);
    }
    CUcontext current = NULL;
    if (handle->own.context && cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && current == handle->own.context)
        cuda.CtxSetCurrent(NULL);
    device_close(&handle->own);
    pthread_cond_destroy(&handle->built);
    pthread_mutex_destroy(&handle->lock);
    free(handle->database);
    free(handle->pretuned);
    object_free(&handles, handle);
}

enum gt_status gt_trim(struct gt_handle *handle)
{
    if (!object_is(&handles, handle)) return no_handle("gt_trim");
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    for (struct gt_plan *plan; (plan = plan_turnover_remove(&handle->others));) plan_free(plan);
    for (struct gpu_context *context = atomic_load(&handle->contexts); context; context = context->next)
        gpu_context_trim(context);
    return GT_OK;
}

/* ---- plan, launch ---- */

/* Of a caller's type, known or not. */
static inline int element_bytes_of(int32_t type)
{
    return type >= GT_BF16 ? 2 : 4;
}

static inline int bytes_of_c(int32_t type)
{
    return type == GT_BF16 || type == GT_FP16 ? 2 : 4;
}

/* From the caller's problem, a copy with all members of ours, to what can be launched. */
static enum status open_plan(struct gt_handle *handle, uint64_t context_id, const struct gt_problem *p,
                             struct gt_plan **plan)
{
    struct problem problem;
    struct gpu_context *context;
    const bool pointers = p->flags & GT_POINTER_ARRAYS;
    const int element = element_bytes_of(p->type);
    const struct plan_traits traits = {.alignment = pointers       ? element
                                                    : p->alignment ? p->alignment
                                                                   : 16,
                                       .element = element,
                                       .element_c = bytes_of_c(p->type),
                                       .scalars_on_device = p->flags & GT_SCALARS_ON_DEVICE,
                                       .column_major = p->flags & GT_COLUMN_MAJOR,
                                       .out_of_place = p->flags & GT_OUT_OF_PLACE,
                                       .pointers = pointers,
                                       .extended = p->flags & GT_OUT_OF_PLACE || p->bias || p->activation ||
                                                   pointers};
    enum status st = arguments_problem(p, &problem);
    if (!st) problem = plan_problem_of_beta(&problem, &traits, problem.beta != 0);
    if (!st) st = gpu_context_of(handle, context_id, &context);
    if (!st) st = plan_make(context, &problem, &traits, plan);
    return st;
}

enum gt_status gt_plan_open(struct gt_handle *handle, const struct gt_problem *problem, struct gt_plan **plan)
{
    struct gt_problem p;
    unsigned long long context_id;
    if (!problem || !plan) return answer(fail(E_INPUT, "gt_plan_open: an argument is NULL"));
    *plan = NULL;
    if (!object_is(&handles, handle)) return no_handle("gt_plan_open");
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    enum status st = arguments_copy_problem(problem, &p);
    if (!st && gpu_context_current(handle, &context_id)) return GT_NO_GPU;
    if (!st) st = open_plan(handle, context_id, &p, plan);
    return answer(st);
}

void gt_plan_close(struct gt_plan *plan)
{
    if (object_is(&plan_pool, plan) && !device_forked()) plan_free(plan);
}

static inline struct gemm_call call_by_rows(const struct gt_plan *plan, const struct gt_call *x)
{
    const bool swap = plan->traits.column_major;
    return (struct gemm_call){.a = (CUdeviceptr)(swap ? x->b : x->a),
                              .b = (CUdeviceptr)(swap ? x->a : x->b),
                              .c = (CUdeviceptr)x->c,
                              .source = (CUdeviceptr)x->source,
                              .bias = (CUdeviceptr)x->bias,
                              .alpha = x->alpha,
                              .beta = x->beta,
                              .scalars_on_device = plan->traits.scalars_on_device,
                              .stream = x->stream,
                              .workspace = (CUdeviceptr)x->workspace,
                              .workspace_bytes = x->workspace_bytes,
                              .as_planned = x->flags & GT_AS_PLANNED};
}

static inline enum gt_status launch(struct gt_plan *plan, const struct gt_call *call)
{
    const struct gemm_call by_rows = call_by_rows(plan, call);
    const enum status st = plan_launch(plan, &by_rows);
    return st ? answer(st) : GT_OK;
}

enum gt_status gt_launch(struct gt_plan *plan, const struct gt_call *call)
{
    struct gt_call copy;
    if (!object_is(&plan_pool, plan)) return no_plan("gt_launch");
    if (!call) return answer(fail(E_INPUT, "gt_launch: the call is NULL"));
    if (!arguments_are_usual(call)) {
        enum status st = arguments_read_call(call, &copy);
        if (st) return answer(st);
        call = &copy;
    }
    return launch(plan, call);
}

/* Store a fresh plan, for good if there is room and nothing of it is counted, else among those that are
 * turned over, and take it. Where another thread was first, its plan serves; one that is not needed any more
 * is freed, and on errors this one. Out: *plan, or *taken if that is not NULL. */
static enum status store_plan(struct gt_handle *handle, const struct plan_key *key, uint64_t hash,
                              struct gt_plan **plan, struct turned_plan **taken)
{
    struct gt_plan *fresh = *plan, *unused = NULL;
    enum status st = OK;
    pthread_mutex_lock(&handle->lock);
    struct gt_plan *kept = plan_cache_find(&handle->found, key, hash);
    if (!kept && !plan_cache_is_full(&handle->found) && !atomic_load(&fresh->way[PLAN_USUAL])->counted) {
        st = plan_cache_add(&handle->found, key, hash, fresh);
        kept = fresh;
    }
    pthread_mutex_unlock(&handle->lock);
    *taken = NULL;
    *plan = kept;
    if (!kept) st = plan_turnover_add(&handle->others, key, hash, fresh, taken, &unused);
    else if (kept != fresh) unused = fresh;
    if (st) unused = fresh;
    if (unused) plan_free(unused);
    return st;
}

/* The plan is not among those that are kept. */
static __attribute__((noinline)) enum gt_status gemm_slowly(struct gt_handle *handle,
                                                            const struct plan_key *key, uint64_t hash,
                                                            const struct gt_problem *problem,
                                                            const struct gt_call *call)
{
    struct gt_plan *plan = NULL;
    struct turned_plan *taken = plan_turnover_take(&handle->others, key, hash);
    enum status st = taken ? OK : open_plan(handle, key->context, problem, &plan);
    if (!st && !taken) st = store_plan(handle, key, hash, &plan, &taken);
    if (st) return answer(st);
    enum gt_status status = launch(taken ? taken->plan : plan, call);
    if (taken) plan_turnover_put(&handle->others, taken);
    return status;
}

/* The caller's problem as a key of plans: as aligned as the operands that are used, with the scalars looked
 * at. */
static inline void specialize(struct gt_problem *p, const struct gt_call *call)
{
    const bool on_device = p->flags & GT_SCALARS_ON_DEVICE;
    const bool adds = !on_device && call->beta && *(const float *)call->beta != 0;
    uintptr_t bits = (uintptr_t)call->a | (uintptr_t)call->b | (uintptr_t)call->c;
    if (on_device || adds) bits |= (uintptr_t)call->source;
    if (p->flags & GT_POINTER_ARRAYS) bits |= 4; /* they are addresses of arrays, not of matrices */
    p->alignment = bits & 3 && element_bytes_of(p->type) == 2 ? 2 : bits & 7 ? 4 : bits & 15 ? 8 : 16;
    if (on_device || !call->beta) return;
    p->flags &= ~(uint32_t)GT_ADDS_TO_C;
    if (adds) p->flags |= GT_ADDS_TO_C;
}

enum gt_status gt_gemm(struct gt_handle *handle, const struct gt_problem *problem, const struct gt_call *call)
{
    struct gt_problem p;
    struct gt_call copy;
    unsigned long long context_id;
    if (!object_is(&handles, handle)) return no_handle("gt_gemm");
    if (!problem || !call) return answer(fail(E_INPUT, "gt_gemm: an argument is NULL"));
    enum status st = arguments_copy_problem(problem, &p);
    if (!st && !arguments_are_usual(call)) {
        st = arguments_read_call(call, &copy);
        call = &copy;
    }
    if (st) return answer(st);
    st = gpu_context_current(handle, &context_id);
    if (st) return answer_gpu(st);
    specialize(&p, call);
    const struct plan_key key = plan_key_of(context_id, &p);
    const uint64_t hash = plan_hash(&key);
    struct gt_plan *plan = plan_cache_find(&handle->found, &key, hash);
    return plan ? launch(plan, call) : gemm_slowly(handle, &key, hash, &p, call);
}

enum gt_status gt_plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    if (!info) return answer(fail(E_INPUT, "gt_plan_describe: there is no place for it"));
    if (!object_is(&plan_pool, plan)) return no_plan("gt_plan_describe");
    const uint32_t size = info->size;
    if (size < INFO_FIRST || size > STRUCT_BYTES_MAX)
        return answer(
            fail(E_INPUT, "the size of struct gt_plan_info is %u; sizeof(struct gt_plan_info) is at least %d",
                 (unsigned)size, INFO_FIRST));
    struct gt_plan_info all;
    plan_describe(plan, &all);
    all.size = size;
    memset(info, 0, size);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return GT_OK;
}

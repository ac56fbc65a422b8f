#include "gemmtune.h"

#include "arguments.h"
#include "cache.h"
#include "compile.h"
#include "gpu_context.h"
#include "handle.h"
#include "instead.h"
#include "own.h"
#include "plan.h"
#include "relaxed.h"
#include "watch.h"
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

const char *gt_status_text(enum gt_status status)
{
    switch (status) {
    case GT_OK:
        return "no error";
    case GT_INVALID:
        return "an argument is wrong";
    case GT_NO_GPU:
        return "no driver, no GPU, or no context to work in";
    case GT_UNAVAILABLE:
        return "nothing here can compute the problem";
    case GT_MEMORY:
        return "out of memory";
    case GT_DEVICE:
        return "the driver or cuBLAS refused or failed";
    }
    return "unknown status";
}

const char *gt_version(void)
{
    return GT_LIBRARY_VERSION;
}

enum gt_status public_status(enum status st)
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

/* The status where an error means that there is no GPU to work with. */
static enum gt_status answer_gpu(enum status st)
{
    return st ? GT_NO_GPU : GT_OK;
}

struct object_pool handle_pool = OBJECT_POOL(UINT64_C(0x67742d68616e646c), struct gt_handle);

/* ---- open, close ---- */

void handle_find_cache(struct gt_handle *handle, const char *chosen)
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
    const uint32_t known = GT_NO_CUBLAS | GT_NO_COMPILER | GT_QUIET | GT_LOADED_CUBLASLT | GT_KEEP_WINNERS;
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
    if (!handle->begins_late) handle_find_cache(handle, o->cache);
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
    return public_status(st);
}

/* ---- new winners ---- */

/* In the thread of the watch. */
static void renew_plan(struct gt_plan *plan)
{
    if (!plan->context || !gpu_context_enter(plan->context)) return;
    if (plan->instead) instead_renew(plan->instead);
    else plan_renew(plan);
    gpu_context_leave();
}

static void renew(void *self)
{
    struct gt_handle *handle = self;
    bool all = true;
    if (device_lost()) return;
    for (struct gpu_context *c = atomic_load(&handle->contexts); c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        all &= winner_store_renew(&c->winners, handle->database);
        listed_renew(c);
        pthread_mutex_unlock(&c->lock);
    }
    if (all) plans_renew(&handle->plans, renew_plan);
}

static void watch_database(struct gt_handle *handle)
{
    const bool none = handle->database && !handle->database[0];
    if (!none && !(handle->flags & GT_KEEP_WINNERS))
        handle->watch = watch_start(handle->database, renew, handle);
}

static enum gt_status make_handle(struct gt_handle **out, const struct gt_options *options, bool begins_late)
{
    struct gt_options o = gt_options_make();
    enum status st = options ? arguments_read("gt_options", options, OPTIONS_FIRST, &o, sizeof o) : OK;
    if (st) return public_status(st);
    struct gt_handle *handle = object_make(&handle_pool);
    if (!handle) return public_status(fail(E_MEMORY, "out of memory while opening"));
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->built, NULL);
    plans_start(&handle->plans);
    handle->begins_late = begins_late;
    enum gt_status status = public_status(copy_options(handle, &o));
    if (!status) watch_database(handle); /* before it is read */
    if (!status) status = find_context(handle, o.device);
    if (status) gt_close(handle);
    else *out = handle;
    return status;
}

enum gt_status handle_open(struct gt_handle **out, const struct gt_options *options, bool begins_late)
{
    if (!out) return public_status(fail(E_INPUT, "gt_open needs a place for the handle"));
    db_take_kernel = own_take;
    *out = NULL;
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    device_enter();
    const enum gt_status status = make_handle(out, options, begins_late);
    device_leave();
    return status;
}

enum gt_status gt_open(struct gt_handle **out, const struct gt_options *options)
{
    return handle_open(out, options, false);
}

/* In a child of the process that opened it, nothing of it can be used nor freed: the driver does not work,
 * and locks may be held by threads that are not there. */
void gt_close(struct gt_handle *handle)
{
    if (!object_close(&handle_pool, handle) || device_forked()) return;
    watch_stop(handle->watch);
    prepared_free_all(handle);
    for (struct plan_entry *entry; (entry = plans_any(&handle->plans));) plan_free(entry->plan);
    plans_free(&handle->plans);
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
    object_free(&handle_pool, handle);
}

enum gt_status gt_trim(struct gt_handle *handle)
{
    if (!object_is(&handle_pool, handle)) return public_status(fail(E_INPUT, NO_HANDLE, "gt_trim"));
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    for (struct plan_entry *entry; (entry = plans_evict(&handle->plans));) plan_free(entry->plan);
    for (struct gpu_context *context = atomic_load(&handle->contexts); context; context = context->next)
        gpu_context_trim(context);
    return GT_OK;
}

/* ---- plans ---- */

enum gt_status gt_plan_open(struct gt_handle *handle, const struct gt_problem *problem, struct gt_plan **plan)
{
    struct gt_problem p;
    unsigned long long context_id;
    if (!problem || !plan) return public_status(fail(E_INPUT, "gt_plan_open: an argument is NULL"));
    *plan = NULL;
    if (!object_is(&handle_pool, handle)) return public_status(fail(E_INPUT, NO_HANDLE, "gt_plan_open"));
    if (device_forked()) return answer_gpu(fail(E_GPU, DEVICE_FORKED));
    enum status st = arguments_copy_problem(problem, &p);
    if (!st && gpu_context_current(handle, &context_id)) return GT_NO_GPU;
    if (st) return public_status(st);
    const struct plan_key key = plan_key_of(context_id, &p);
    st = plan_open(handle, &key, plan);
    if (!st) plans_keep(&handle->plans, &(*plan)->entry);
    return public_status(st);
}

void gt_plan_close(struct gt_plan *plan)
{
    if (object_is(&plan_pool, plan) && !device_forked()) plan_free(plan);
}

enum gt_status gt_plan_describe(const struct gt_plan *plan, struct gt_plan_info *info)
{
    if (!info) return public_status(fail(E_INPUT, "gt_plan_describe: there is no place for it"));
    if (!object_is(&plan_pool, plan)) return public_status(fail(E_INPUT, NO_PLAN, "gt_plan_describe"));
    const uint32_t size = info->size;
    if (size < INFO_FIRST || size > STRUCT_BYTES_MAX)
        return public_status(
            fail(E_INPUT, "the size of struct gt_plan_info is %u; sizeof(struct gt_plan_info) is at least %d",
                 (unsigned)size, INFO_FIRST));
    struct gt_plan_info all;
    plan_describe(plan, &all);
    all.size = size;
    memset(info, 0, size);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return GT_OK;
}

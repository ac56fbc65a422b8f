#include "gpu_context.h"

#include "modules.h"
#include "relaxed.h"

#include <stdlib.h>

/* Share of the GPU's memory that graphs may hold as workspaces. */
#define CAPTURED_SHARE 16

/* The primary context goes when its last user lets go of it, which may be another handle. */
static void retain_primary(struct gpu_context *context)
{
    unsigned flags;
    int active = 0;
    CUcontext primary;
    if (cuda.DevicePrimaryCtxGetState(context->device.handle, &flags, &active) != CUDA_SUCCESS || !active ||
        cuda.DevicePrimaryCtxRetain(&primary, context->device.handle) != CUDA_SUCCESS)
        return;
    context->is_primary = primary == context->device.context;
    if (!context->is_primary) cuda.DevicePrimaryCtxRelease(context->device.handle);
}

static enum status start(struct gpu_context *context)
{
    struct gt_handle *handle = context->handle;
    const struct gpu *gpu = &context->device.gpu;
    unsigned long long id;
    enum status st = device_of_context(&context->device);
    if (!st) st = device_check(cuda.CtxGetId(context->device.context, &id), "ask for the context's id");
    if (!st)
        st = winner_store_open(&context->winners, gpu, handle->database, handle->pretuned, &handle->notices);
    if (st) return st;
    context->id = id;
    context->winners.workspace_bytes = handle->workspace_bytes;
    if (handle->workspaces > 0)
        st = workspaces_open(&context->memory, &context->graphs, handle->workspaces, &context->workspaces);
    if (st) {
        winner_store_close(&context->winners);
        return st;
    }
    memory_start(&context->memory, context->device.handle);
    graphs_start(&context->graphs, &context->memory, (size_t)gpu->memory_bytes / CAPTURED_SHARE);
    context->begun = !handle->begins_late;
    if (context->begun) retain_primary(context);
    return OK;
}

enum status gpu_context_add(struct gt_handle *handle, struct gpu_context **out)
{
    struct gpu_context *context = calloc(1, sizeof *context);
    if (!context) return fail(E_MEMORY, "out of memory while opening a context");
    context->handle = handle;
    enum status st = start(context);
    if (st) {
        free(context);
        return st;
    }
    pthread_mutex_init(&context->lock, NULL);
    blas_pool_start(&context->blas);
    context->next = atomic_load(&handle->contexts);
    atomic_store_explicit(&handle->contexts, context, memory_order_release);
    *out = context;
    return OK;
}

enum status gpu_context_of(struct gt_handle *handle, uint64_t id, struct gpu_context **out)
{
    enum status st = OK;
    pthread_mutex_lock(&handle->lock);
    *out = gpu_context_find(handle, id);
    if (!*out) st = gpu_context_add(handle, out);
    pthread_mutex_unlock(&handle->lock);
    return st;
}

/* The context that was at the address when ours was opened. */
bool gpu_context_is_alive(const struct gpu_context *context)
{
    unsigned long long id;
    return cuda.CtxGetId(context->device.context, &id) == CUDA_SUCCESS && id == context->id;
}

void gpu_context_begin_kernels(struct gpu_context *context)
{
    struct gt_handle *handle = context->handle;
    pthread_mutex_lock(&handle->lock);
    if (!context->begun) retain_primary(context);
    context->begun = true;
    if (handle->begins_late && !handle->cache[0]) handle_find_cache(handle, NULL);
    pthread_mutex_unlock(&handle->lock);
}

bool gpu_context_enter(const struct gpu_context *context)
{
    return gpu_context_is_alive(context) && cuda.CtxPushCurrent(context->device.context) == CUDA_SUCCESS;
}

void gpu_context_leave(void)
{
    CUcontext popped;
    cuda.CtxPopCurrent(&popped);
}

/* A thread without a context gets that of gt_open, as with the runtime API. */
__attribute__((noinline)) enum status gpu_context_adopt(const struct gt_handle *handle, CUresult result,
                                                        unsigned long long *id)
{
    CUcontext current = NULL;
    const struct gpu_context *first = atomic_load(&handle->contexts);
    while (first && first->next) first = first->next; /* the first is the last in the list */
    if (cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && !current && first && gpu_context_is_alive(first)) {
        result = cuda.CtxSetCurrent(first->device.context);
        *id = first->id;
    }
    return device_check(result, "make a context current in this thread");
}

void gpu_context_free(struct gpu_context *context)
{
    CUstreamCaptureMode before = relaxed_begin();
    if (gpu_context_enter(context)) {
        graphs_close(&context->graphs, false);
        modules_close(context, false);
        workspaces_close(context->workspaces);
        memory_close(&context->memory);
        blas_pool_close(&context->blas);
        gpu_context_leave();
    } else { /* the context is gone, and with it what was in it */
        graphs_close(&context->graphs, true);
        modules_close(context, true);
        workspaces_forget(context->workspaces);
        blas_pool_forget(&context->blas);
    }
    relaxed_end(before);
    if (context->is_primary) cuda.DevicePrimaryCtxRelease(context->device.handle);
    winner_store_close(&context->winners);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

void gpu_context_trim(struct gpu_context *context)
{
    CUstreamCaptureMode before = relaxed_begin();
    if (gpu_context_enter(context)) {
        if (context->workspaces) workspaces_trim(context->workspaces);
        graphs_trim(&context->graphs);
        memory_trim(&context->memory);
        modules_trim(context);
        gpu_context_leave();
    }
    relaxed_end(before);
}

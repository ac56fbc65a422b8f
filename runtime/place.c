#include "place.h"

#include "modules.h"
#include "relaxed.h"

#include <stdlib.h>

/* Share of the GPU's memory that graphs may hold as workspaces. */
#define CAPTURED_SHARE 16

/* The primary context goes when its last user lets go of it, which may be another handle. */
static void retain_primary(struct place *place)
{
    unsigned flags;
    int active = 0;
    CUcontext primary;
    if (cuda.DevicePrimaryCtxGetState(place->device.handle, &flags, &active) != CUDA_SUCCESS || !active ||
        cuda.DevicePrimaryCtxRetain(&primary, place->device.handle) != CUDA_SUCCESS)
        return;
    place->is_primary = primary == place->device.context;
    if (!place->is_primary) cuda.DevicePrimaryCtxRelease(place->device.handle);
}

static enum status start_place(struct gt_handle *handle, struct place *place)
{
    const struct gpu *gpu = &place->device.gpu;
    unsigned long long id;
    enum status st = device_of_context(&place->device);
    if (!st) st = device_check(cuda.CtxGetId(place->device.context, &id), "ask for the context's id");
    if (!st) st = known_open(&place->known, gpu, handle->database, handle->pretuned, &handle->notices);
    if (st) return st;
    place->id = id;
    place->known.workspace_bytes = handle->workspace_bytes;
    if (handle->workspaces > 0)
        st = workspaces_open(place->device.handle, handle->workspaces,
                             (size_t)gpu->memory_bytes / CAPTURED_SHARE, &place->workspaces);
    if (st) known_close(&place->known);
    else retain_primary(place);
    return st;
}

enum status place_add(struct gt_handle *handle, struct place **out)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place) return fail(E_MEMORY, "out of memory while opening a context");
    enum status st = start_place(handle, place);
    if (st) {
        free(place);
        return st;
    }
    pthread_mutex_init(&place->lock, NULL);
    blas_pool_start(&place->blas);
    place->next = atomic_load(&handle->places);
    atomic_store_explicit(&handle->places, place, memory_order_release);
    *out = place;
    return OK;
}

enum status place_of(struct gt_handle *handle, uint64_t context, struct place **out)
{
    enum status st = OK;
    pthread_mutex_lock(&handle->lock);
    struct place *place = atomic_load(&handle->places);
    while (place && place->id != context) place = place->next;
    if (place) *out = place;
    else st = place_add(handle, out);
    pthread_mutex_unlock(&handle->lock);
    return st;
}

/* The context that was at the address when the place was made. */
bool place_is_alive(const struct place *place)
{
    unsigned long long id;
    return cuda.CtxGetId(place->device.context, &id) == CUDA_SUCCESS && id == place->id;
}

/* A thread without a context gets that of gt_open, as with the runtime API. */
__attribute__((noinline)) enum status place_adopt_context(const struct gt_handle *handle, CUresult result,
                                                          unsigned long long *context)
{
    CUcontext current = NULL;
    const struct place *first = atomic_load(&handle->places);
    while (first && first->next) first = first->next; /* the first is the last in the list */
    if (cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && !current && first && place_is_alive(first)) {
        result = cuda.CtxSetCurrent(first->device.context);
        *context = first->id;
    }
    return device_check(result, "make a context current in this thread");
}

void place_free(struct place *place)
{
    CUcontext popped;
    CUstreamCaptureMode before = relaxed_begin();
    if (place_is_alive(place) && cuda.CtxPushCurrent(place->device.context) == CUDA_SUCCESS) {
        modules_close(place, false);
        workspaces_close(place->workspaces);
        blas_pool_close(&place->blas);
        cuda.CtxPopCurrent(&popped);
    } else { /* the context is gone, and with it what was in it */
        modules_close(place, true);
        workspaces_forget(place->workspaces);
        blas_pool_forget(&place->blas);
    }
    relaxed_end(before);
    if (place->is_primary) cuda.DevicePrimaryCtxRelease(place->device.handle);
    known_close(&place->known);
    pthread_mutex_destroy(&place->lock);
    free(place);
}

void place_trim(struct gt_handle *handle, struct place *place)
{
    CUcontext popped;
    CUstreamCaptureMode before = relaxed_begin();
    if (place_is_alive(place) && cuda.CtxPushCurrent(place->device.context) == CUDA_SUCCESS) {
        if (place->workspaces) workspaces_trim(place->workspaces);
        modules_trim(handle, place);
        cuda.CtxPopCurrent(&popped);
    }
    relaxed_end(before);
}

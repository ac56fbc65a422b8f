#include "workspaces.h"

#include "relaxed.h"

#include <pthread.h>
#include <stdlib.h>

struct slot {
    _Atomic(unsigned long long) owner; /* stream id + 1; 0: free */
    struct device_buffer buffer;
};

/* A stream of a capture. To ask a stream that is captured for its id would break the capture, whatever the
 * thread's mode; but as none that takes part goes away before the end, its handle tells it from the others.
 */
struct member {
    cuuint64_t capture;
    CUstream stream;
    unsigned long long thread; /* whose CU_STREAM_PER_THREAD it is; 0: another stream */
};

struct captured {
    struct member member;
    struct device_buffer buffer;
};

struct workspaces {
    size_t bytes;
    int count;
    struct slot slots[WORKSPACES_MAX];
    pthread_mutex_t lock; /* what follows */
    int captured_count;
    struct captured captured[WORKSPACES_CAPTURED_MAX];
};

/* Kernels count in it, from 0 and back to 0. By a stream of its own: the default one may be in somebody's
 * capture. */
static enum status allocate(struct workspaces *w, struct device_buffer *buffer)
{
    CUstream stream = NULL;
    enum status st = device_allocate(buffer, w->bytes);
    if (!st) st = device_check(cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "create a stream");
    if (!st) st = device_check(cuda.MemsetD8Async(buffer->address, 0, w->bytes, stream), "clear a workspace");
    if (!st) st = device_check(cuda.StreamSynchronize(stream), "clear a workspace");
    if (stream) cuda.StreamDestroy(stream);
    if (st) device_free(buffer);
    return st;
}

enum status workspaces_open(size_t bytes, int count, struct workspaces **out)
{
    struct workspaces *w = calloc(1, sizeof *w);
    if (!w) return fail(E_MEMORY, "out of memory while making a plan");
    pthread_mutex_init(&w->lock, NULL);
    w->bytes = bytes;
    enum status st = OK;
    for (; w->count < count && !st; w->count += !st) st = allocate(w, &w->slots[w->count].buffer);
    if (w->count == 0) {
        workspaces_close(w);
        return st;
    }
    *out = w;
    return OK;
}

void workspaces_close(struct workspaces *w)
{
    if (!w) return;
    for (int i = 0; i < w->count; i++) device_free(&w->slots[i].buffer);
    for (int i = 0; i < w->captured_count; i++) device_free(&w->captured[i].buffer);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int workspaces_count(const struct workspaces *w)
{
    return w->count;
}

/* A number for this thread that no other ever has. */
static unsigned long long thread_number(void)
{
    static _Atomic(unsigned long long) threads;
    static _Thread_local unsigned long long number;
    if (!number) number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

static CUdeviceptr find_captured(const struct workspaces *w, const struct member *member)
{
    for (int i = 0; i < w->captured_count; i++) {
        const struct member *m = &w->captured[i].member;
        if (m->capture == member->capture && m->stream == member->stream && m->thread == member->thread)
            return w->captured[i].buffer.address;
    }
    return 0;
}

static CUdeviceptr of_capture(struct workspaces *w, cuuint64_t capture, CUstream stream)
{
    const struct member member = {capture, stream, stream == CU_STREAM_PER_THREAD ? thread_number() : 0};
    pthread_mutex_lock(&w->lock);
    CUdeviceptr found = find_captured(w, &member);
    size_t held = (size_t)w->captured_count * w->bytes;
    if (!found && w->captured_count < WORKSPACES_CAPTURED_MAX &&
        held + w->bytes <= WORKSPACES_CAPTURED_BYTES) {
        struct captured fresh = {member, {0}};
        CUstreamCaptureMode mode = relaxed_begin();
        if (!allocate(w, &fresh.buffer)) w->captured[w->captured_count++] = fresh;
        relaxed_end(mode);
        found = fresh.buffer.address;
    }
    pthread_mutex_unlock(&w->lock);
    return found;
}

CUdeviceptr workspaces_of(struct workspaces *w, CUstream stream)
{
    CUstreamCaptureStatus status;
    cuuint64_t capture;
    unsigned long long id;
    /* Where the driver does not tell, somebody else's capture is in the way: better without. */
    if (cuda.StreamGetCaptureInfo(stream, &status, &capture, NULL, NULL, NULL) != CUDA_SUCCESS) return 0;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? of_capture(w, capture, stream) : 0;
    if (cuda.StreamGetId(stream, &id) != CUDA_SUCCESS) return 0;
    for (int i = 0; i < w->count; i++) {
        struct slot *slot = &w->slots[i];
        unsigned long long owner = atomic_load_explicit(&slot->owner, memory_order_acquire);
        if (owner == id + 1) return slot->buffer.address;
        if (owner == 0 && atomic_compare_exchange_strong(&slot->owner, &owner, id + 1))
            return slot->buffer.address;
        if (owner == id + 1) return slot->buffer.address; /* another thread claimed it for the same stream */
    }
    return 0;
}

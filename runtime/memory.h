/* memory.h — device memory of one context for workspaces, in stream order.
 *
 * On devices with memory pools it comes from a pool of our own: freed memory may still be in use by earlier
 * work of the stream, and nothing waits. On others it is allocated and freed directly, and freeing waits for
 * the device. Never during a capture: an allocation node would become part of the program's graph.
 */
#ifndef GT_MEMORY_H
#define GT_MEMORY_H

#include "device.h"
#include "status.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct memory {
    CUdevice device;
    pthread_mutex_t lock; /* protects the members below */
    bool plain;           /* the device has no pools */
    CUmemoryPool pool;    /* NULL: not yet */
};

/* The workspace that a launch needs. */
struct workspace_need {
    size_t counters; /* bytes at the start that must be 0; the launch leaves them 0 */
    size_t bytes;    /* in all */
};

/* A workspace for consecutive launches with different sizes of counters and data. Kernels expect both at one
 * address, counters first. So the counters are in a separate head that is never used for data, and each
 * launch gets an address such that its counters end where the data begin. */
struct workspace_buffer {
    CUdeviceptr base; /* 0: not allocated */
    size_t head, data;
};

void memory_start(struct memory *memory, CUdevice device);

/* Allocates one that is large enough; its head is cleared before later work of the stream. In the context.
 * Errors: E_GPU; then nothing is allocated. */
enum status memory_take(struct memory *memory, const struct workspace_need *need, CUstream stream,
                        struct workspace_buffer *buffer);

/* Frees it after the work enqueued so far. Takes an empty one. */
void memory_give(struct memory *memory, struct workspace_buffer *buffer, CUstream stream);

/* Frees one that is not in use any more. */
void memory_give_idle(struct workspace_buffer *buffer);

/* Returns free memory to the system. */
void memory_trim(struct memory *memory);

/* Everything must have been freed. */
void memory_close(struct memory *memory);

static inline bool workspace_fits(const struct workspace_buffer *buffer, const struct workspace_need *need)
{
    return buffer->base && need->counters <= buffer->head && need->bytes - need->counters <= buffer->data;
}

static inline CUdeviceptr workspace_at(const struct workspace_buffer *buffer,
                                       const struct workspace_need *need)
{
    return buffer->base + buffer->head - need->counters;
}

#endif

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
    pthread_mutex_t lock; /* what follows */
    bool plain;           /* there are no pools */
    CUmemoryPool pool;    /* NULL: not yet */
};

/* What a launch wants. */
struct workspace_need {
    size_t counters; /* bytes at the start that must be 0; the launch leaves them 0 */
    size_t bytes;    /* in all */
};

/* A workspace for launches one after the other, each with counters and data of other sizes. Kernels expect
 * both behind one address, counters first. So counters lie in a head of their own that nothing else is ever
 * written to, and each launch is given the address from which its counters end where the data begin. */
struct workspace_buffer {
    CUdeviceptr base; /* 0: nothing is allocated */
    size_t head, data;
};

void memory_start(struct memory *memory, CUdevice device);

/* Make one that is large enough, with its head cleared, before what is enqueued next. In the context. Errors:
 * E_GPU, and nothing is made. */
enum status memory_take(struct memory *memory, const struct workspace_need *need, CUstream stream,
                        struct workspace_buffer *buffer);

/* After what is enqueued. Takes an empty one. */
void memory_give(struct memory *memory, struct workspace_buffer *buffer, CUstream stream);

/* The same of one that nothing uses any more. */
void memory_give_idle(struct workspace_buffer *buffer);

/* Give what is free to the system. */
void memory_trim(struct memory *memory);

/* Everything must have been given back. */
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

#include "captured.h"

#include "graph_hold.h"
#include "relaxed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A stream of a capture. Querying the id of a stream that is being captured would break the capture, in every
 * mode of the thread. The handle suffices, because no stream of a capture is destroyed before its end. */
struct member {
    cuuint64_t capture;
    CUstream stream;
    unsigned long long thread; /* the thread whose CU_STREAM_PER_THREAD it is; 0: another stream */
};

struct entry {
    struct entry *next;
    struct workspace_buffer buffer;
    struct member member;
    struct graph_hold *hold; /* NULL: free for another capture */
};

struct captured {
    struct memory *memory;
    size_t bytes, most_bytes;
    pthread_mutex_t lock; /* protects the members below, and memory */
    struct entry *entries;
};

enum status captured_open(struct memory *memory, size_t most_bytes, struct captured **out)
{
    struct captured *c = calloc(1, sizeof *c);
    if (!c) return fail(E_MEMORY, "out of memory while opening a context");
    c->memory = memory;
    c->most_bytes = most_bytes;
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return OK;
}

/* A number of this thread that is unique within the process. */
static unsigned long long thread_number(void)
{
    static _Atomic(unsigned long long) threads;
    static _Thread_local unsigned long long number;
    if (!number) number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

static bool is_same(const struct member *a, const struct member *b)
{
    return a->capture == b->capture && a->stream == b->stream && a->thread == b->thread;
}

/* Frees entries whose graphs do not exist any more. */
static void collect(struct captured *c)
{
    for (struct entry *e = c->entries; e; e = e->next) {
        if (!e->hold || !graph_hold_is_over(e->hold)) continue;
        graph_hold_free(e->hold);
        e->hold = NULL;
    }
}

/* Frees the memory of unused entries. */
static void free_idle(struct captured *c)
{
    for (struct entry **link = &c->entries; *link;) {
        struct entry *e = *link;
        if (e->hold) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        c->bytes -= e->buffer.head + e->buffer.data;
        memory_give_idle(&e->buffer);
        free(e);
    }
}

/* The member's own entry, else the smallest unused one that is large enough. */
static struct entry *find(const struct captured *c, const struct member *member,
                          const struct workspace_need *need)
{
    struct entry *best = NULL;
    for (struct entry *e = c->entries; e; e = e->next) {
        if (!workspace_fits(&e->buffer, need)) continue;
        if (e->hold && is_same(&e->member, member)) return e;
        if (!e->hold && (!best || e->buffer.data < best->buffer.data)) best = e;
    }
    return best;
}

/* Uses a stream of its own, because the given one is being captured; the memory is cleared when this
 * returns. */
static enum status allocate(struct captured *c, const struct workspace_need *need,
                            struct workspace_buffer *buffer)
{
    CUstream stream = NULL;
    enum status st = device_check(cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "create a stream");
    if (!st) st = memory_take(c->memory, need, stream, buffer);
    if (!st) st = device_check(cuda.StreamSynchronize(stream), "clear a workspace");
    if (stream) cuda.StreamDestroy(stream);
    if (st) memory_give_idle(buffer);
    return st;
}

static struct entry *add(struct captured *c, const struct workspace_need *need)
{
    free_idle(c); /* the unused ones are too small */
    struct entry *e = c->bytes + need->bytes <= c->most_bytes ? calloc(1, sizeof *e) : NULL;
    if (!e) return NULL;
    if (allocate(c, need, &e->buffer)) {
        free(e);
        return NULL;
    }
    c->bytes += e->buffer.head + e->buffer.data;
    e->next = c->entries;
    c->entries = e;
    return e;
}

static struct entry *get(struct captured *c, const struct capture *capture, const struct workspace_need *need)
{
    const struct member member = {capture->id, capture->stream,
                                  capture->stream == CU_STREAM_PER_THREAD ? thread_number() : 0};
    collect(c);
    struct entry *e = find(c, &member, need);
    if (!e) e = add(c, need);
    if (!e || e->hold) return e;
    if (graph_hold_make(capture->graph, &e->hold)) return NULL;
    e->member = member;
    return e;
}

CUdeviceptr captured_enter(struct captured *c, const struct capture *capture,
                           const struct workspace_need *need)
{
    pthread_mutex_lock(&c->lock);
    CUstreamCaptureMode mode = relaxed_begin();
    const struct entry *e = get(c, capture, need);
    relaxed_end(mode);
    if (e) return workspace_at(&e->buffer, need);
    pthread_mutex_unlock(&c->lock);
    return 0;
}

void captured_leave(struct captured *c)
{
    pthread_mutex_unlock(&c->lock);
}

void captured_trim(struct captured *c)
{
    pthread_mutex_lock(&c->lock);
    collect(c);
    free_idle(c);
    pthread_mutex_unlock(&c->lock);
}

static void free_entries(struct captured *c, bool device)
{
    for (struct entry *e = c->entries, *next; e; e = next) {
        next = e->next;
        if (device) memory_give_idle(&e->buffer);
        graph_hold_free(e->hold);
        free(e);
    }
    c->entries = NULL;
    c->bytes = 0;
}

void captured_free_all(struct captured *c)
{
    free_entries(c, true);
}

void captured_close(struct captured *c)
{
    if (!c) return;
    free_entries(c, false);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

#include "workspaces.h"

#include "relaxed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PENALTY_MAX 1024 /* launches */

struct workspace {
    pthread_mutex_t lock; /* held while a launch is enqueued; protects the members below */
    struct workspace_buffer buffer;
    bool dirty;    /* a launch was enqueued partially */
    bool recorded; /* `done` covers everything that was enqueued */
    unsigned long long ran_on;
    /* Written under the lock of all workspaces; room and done under this lock, too. */
    _Atomic(unsigned long long) owner; /* id + 1 of the stream that owns it; 0: shared */
    unsigned long long last;           /* id + 1 of the stream that used it last */
    int in_a_row;
    unsigned long long last_use;
    atomic_int busy;          /* launches that have chosen it and are not finished */
    _Atomic(CUevent) done;    /* NULL: not shared so far */
    atomic_size_t head, data; /* room, as in buffer */
    atomic_bool lost;         /* its earlier use cannot be ordered before anything */
};

struct workspaces {
    struct memory *memory;
    struct graphs *graphs;
    int count;
    atomic_uint penalty, wait; /* launches to skip before the next attempt to allocate */
    pthread_mutex_t lock;      /* for choosing a shared one */
    int own;
    unsigned long long uses;
    struct workspace each[WORKSPACES_MAX];
};

enum status workspaces_open(struct memory *memory, struct graphs *graphs, int count, struct workspaces **out)
{
    struct workspaces *w = calloc(1, sizeof *w);
    if (!w) return fail(E_MEMORY, "out of memory while opening a context");
    w->memory = memory;
    w->graphs = graphs;
    w->count = count;
    pthread_mutex_init(&w->lock, NULL);
    for (int i = 0; i < count; i++) pthread_mutex_init(&w->each[i].lock, NULL);
    *out = w;
    return OK;
}

/* Resets it to its unused state. */
static void clear(struct workspace *each)
{
    each->buffer = (struct workspace_buffer){0};
    each->dirty = each->recorded = false;
    each->ran_on = each->last = 0;
    each->in_a_row = 0;
    atomic_store(&each->head, 0);
    atomic_store(&each->data, 0);
    atomic_store(&each->lost, false);
    atomic_store(&each->owner, 0);
}

void workspaces_trim(struct workspaces *w)
{
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->count; i++) {
        struct workspace *each = &w->each[i];
        pthread_mutex_lock(&each->lock);
        memory_give_idle(&each->buffer);
        clear(each);
        pthread_mutex_unlock(&each->lock);
    }
    w->own = 0;
    atomic_store(&w->wait, 0);
    atomic_store(&w->penalty, 0);
    pthread_mutex_unlock(&w->lock);
}

void workspaces_forget(struct workspaces *w)
{
    if (!w) return;
    for (int i = 0; i < w->count; i++) pthread_mutex_destroy(&w->each[i].lock);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void workspaces_close(struct workspaces *w)
{
    if (!w) return;
    workspaces_trim(w);
    for (int i = 0; i < w->count; i++) {
        CUevent done = atomic_load(&w->each[i].done);
        if (done) cuda.EventDestroy(done);
    }
    workspaces_forget(w);
}

/* ---- memory ---- */

/* False for some launches after a failed allocation. */
static bool may_ask(struct workspaces *w)
{
    unsigned wait = atomic_load(&w->wait);
    while (wait > 0)
        if (atomic_compare_exchange_weak(&w->wait, &wait, wait - 1)) return false;
    return true;
}

static void was_told(struct workspaces *w, bool refused)
{
    unsigned penalty = 2 * atomic_load(&w->penalty) + 1;
    if (!refused) penalty = 0;
    if (penalty > PENALTY_MAX) penalty = PENALTY_MAX;
    atomic_store(&w->penalty, penalty);
    atomic_store(&w->wait, penalty);
}

/* Makes it large enough for its earlier uses and for this one. */
static bool grow(struct workspaces *w, struct workspace *each, const struct workspace_need *need,
                 CUstream stream)
{
    const size_t data = need->bytes - need->counters;
    const size_t head = need->counters > each->buffer.head ? need->counters : each->buffer.head;
    const struct workspace_need all = {head, head + (data > each->buffer.data ? data : each->buffer.data)};
    struct workspace_buffer fresh;
    if (!may_ask(w)) return false;
    CUstreamCaptureMode mode = relaxed_begin();
    enum status st = memory_take(w->memory, &all, stream, &fresh);
    if (!st) memory_give(w->memory, &each->buffer, stream);
    relaxed_end(mode);
    was_told(w, st != OK);
    if (st) return false;
    each->buffer = fresh;
    each->dirty = false;
    atomic_store(&each->head, fresh.head);
    atomic_store(&each->data, fresh.data);
    return true;
}

/* Makes the workspace large enough and its counters 0. The workspace's lock is held, and the stream is
 * ordered after its earlier uses. */
static bool prepare(struct workspaces *w, struct workspace *each, const struct workspace_need *need,
                    CUstream stream)
{
    if (!workspace_fits(&each->buffer, need) && !grow(w, each, need, stream)) return false;
    if (each->dirty) {
        if (cuda.MemsetD8Async(each->buffer.base, 0, each->buffer.head, stream) != CUDA_SUCCESS) return false;
        each->dirty = false;
    }
    return true;
}

/* ---- dedicated ones ---- */

static struct workspace *lock_own(struct workspaces *w, unsigned long long id)
{
    for (int i = 0; i < w->count; i++) {
        struct workspace *each = &w->each[i];
        if (atomic_load_explicit(&each->owner, memory_order_acquire) != id + 1) continue;
        pthread_mutex_lock(&each->lock);
        if (atomic_load(&each->owner) == id + 1) return each;
        pthread_mutex_unlock(&each->lock); /* freed in between */
    }
    return NULL;
}

/* ---- shared ones ---- */

static bool is_idle(const struct workspace *each)
{
    if (atomic_load(&each->busy) > 0) return false;
    CUevent done = atomic_load(&each->done);
    return !done || cuda.EventQuery(done) == CUDA_SUCCESS;
}

/* Candidates from best to worst: one that fits is preferred to one that must grow, and one without waiting to
 * one with waiting. */
enum { FITS_AND_OURS, FITS_AND_IDLE, OURS, IDLE, NEW, FITS, ANY, IMPOSSIBLE };

static int rank(const struct workspace *each, unsigned long long id, const struct workspace_need *need)
{
    const size_t head = atomic_load(&each->head), data = atomic_load(&each->data);
    const bool fits = data > 0 && need->counters <= head && need->bytes - need->counters <= data;
    const unsigned long long owner = atomic_load(&each->owner);
    /* Another thread's launch may have made it this stream's own since lock_own looked. */
    if ((owner && owner != id + 1) || atomic_load(&each->lost)) return IMPOSSIBLE;
    if (each->last == id + 1) return fits ? FITS_AND_OURS : OURS;
    if (data == 0) return NEW;
    if (is_idle(each)) return fits ? FITS_AND_IDLE : IDLE;
    return fits ? FITS : ANY;
}

static bool may_grow(int rank)
{
    return rank != FITS_AND_OURS && rank != FITS_AND_IDLE && rank != FITS;
}

/* A stream that has used the same one many times in a row gets it as its own, if no other launch is using
 * it. */
static void take(struct workspaces *w, struct workspace *each, unsigned long long id)
{
    each->in_a_row = each->last == id + 1 ? each->in_a_row + 1 : 1;
    each->last = id + 1;
    each->last_use = ++w->uses;
    if (!atomic_load(&each->owner) && each->in_a_row > WORKSPACES_OWN_AFTER && w->own < w->count / 2 &&
        atomic_load(&each->busy) == 0) {
        atomic_store_explicit(&each->owner, id + 1, memory_order_release);
        w->own++;
    }
    atomic_fetch_add(&each->busy, 1);
}

/* Chooses the best one; among equals the least recently used. NULL: there is none. */
static struct workspace *choose(struct workspaces *w, unsigned long long id,
                                const struct workspace_need *need, bool as_they_are)
{
    struct workspace *best = NULL;
    int best_rank = IMPOSSIBLE;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->count; i++) {
        struct workspace *each = &w->each[i];
        const int r = rank(each, id, need);
        if (r == IMPOSSIBLE || (as_they_are && may_grow(r))) continue;
        if (r > best_rank || (r == best_rank && each->last_use >= best->last_use)) continue;
        best = each;
        best_rank = r;
    }
    if (best) take(w, best, id);
    pthread_mutex_unlock(&w->lock);
    return best;
}

/* Orders the stream after the other stream's use of it. Its lock is held. */
static bool order(struct workspace *each, unsigned long long id, CUstream stream)
{
    CUevent done = atomic_load(&each->done);
    if (!done) {
        if (cuda.EventCreate(&done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
        atomic_store(&each->done, done);
    }
    if (each->ran_on == id + 1 || each->ran_on == 0) return true;
    return each->recorded && cuda.StreamWaitEvent(stream, done, 0) == CUDA_SUCCESS;
}

static struct workspace *lock_shared(struct workspaces *w, unsigned long long id,
                                     const struct workspace_need *need, CUstream stream, bool as_they_are)
{
    struct workspace *each = choose(w, id, need, as_they_are);
    if (!each) return NULL;
    pthread_mutex_lock(&each->lock);
    if (order(each, id, stream) && prepare(w, each, need, stream)) return each;
    pthread_mutex_unlock(&each->lock);
    atomic_fetch_sub(&each->busy, 1);
    return NULL;
}

static struct workspace *lock_some(struct workspaces *w, unsigned long long id,
                                   const struct workspace_need *need, CUstream stream)
{
    CUstreamCaptureMode mode = relaxed_begin(); /* querying an event could break another thread's capture */
    struct workspace *each = lock_shared(w, id, need, stream, false);
    if (!each) each = lock_shared(w, id, need, stream, true);
    relaxed_end(mode);
    return each;
}

/* ---- entering and leaving ---- */

static bool enter_captured(struct workspaces *w, const struct workspace_need *need,
                           const struct graph_capture *capture, struct workspace_use *use)
{
    *use = (struct workspace_use){
        .graphs = w->graphs, .stream = capture->stream, .at = graphs_enter(w->graphs, capture, need)};
    return use->at != 0;
}

bool workspaces_enter(struct workspaces *w, const struct workspace_need *need, CUstream stream,
                      struct workspace_use *use)
{
    struct graph_capture capture = {.stream = stream};
    CUstreamCaptureStatus status;
    unsigned long long id;
    /* If the driver does not tell, another thread's capture prevents it: do without a workspace. */
    if (cuda.StreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph, NULL, NULL) != CUDA_SUCCESS)
        return false;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) return enter_captured(w, need, &capture, use);
    if (status != CU_STREAM_CAPTURE_STATUS_NONE || cuda.StreamGetId(stream, &id) != CUDA_SUCCESS)
        return false;
    struct workspace *each = lock_own(w, id);
    /* Another stream's work there comes first: this stream may have become the owner without having used
     * it. */
    const bool own = each && order(each, id, stream) && prepare(w, each, need, stream);
    if (each && !own) pthread_mutex_unlock(&each->lock);
    if (!own) each = lock_some(w, id, need, stream);
    if (!each) return false;
    each->ran_on = id + 1;
    *use = (struct workspace_use){
        .at = workspace_at(&each->buffer, need), .workspace = each, .stream = stream, .own = own};
    return true;
}

void workspaces_leave(const struct workspace_use *use, bool whole)
{
    struct workspace *each = use->workspace;
    if (!each) {
        graphs_leave(use->graphs);
        return;
    }
    each->dirty = !whole;
    if (!use->own) {
        each->recorded = cuda.EventRecord(atomic_load(&each->done), use->stream) == CUDA_SUCCESS;
        if (!each->recorded) atomic_store(&each->lost, true);
    }
    pthread_mutex_unlock(&each->lock);
    if (!use->own) atomic_fetch_sub(&each->busy, 1);
}

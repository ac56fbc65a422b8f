#include "graphs.h"

#include "modules.h"
#include "relaxed.h"

#include <stdatomic.h>
#include <stdlib.h>

struct held_module {
    struct held_module *next;
    struct module *module;
};

/* A captured graph, as long as it or anything made from it exists. The driver reports its end through a
 * destructor in a separate thread, which may not call CUDA and may run after the handle was closed. So the
 * destructor only sets a flag, in memory that lives until both sides have let go of it. */
struct graph {
    struct graph *next;
    cuuint64_t capture;
    struct held_module *modules;
    atomic_int owners; /* the driver's side and ours */
    atomic_bool over;
};

/* A capture's workspace. Querying the id of a stream that is being captured would break the capture, in every
 * mode of the thread. The handle suffices, because no stream of a capture is destroyed before its end. */
struct graph_buffer {
    struct graph_buffer *next;
    struct workspace_buffer buffer;
    const struct graph *owner; /* NULL: free for another capture */
    CUstream stream;
    unsigned long long thread; /* the thread whose CU_STREAM_PER_THREAD it is; 0: another stream */
};

void graphs_start(struct graphs *graphs, struct memory *memory, size_t most_bytes)
{
    *graphs = (struct graphs){.memory = memory, .most_bytes = most_bytes};
    pthread_mutex_init(&graphs->lock, NULL);
}

/* ---- graphs ---- */

static void let_go(struct graph *graph)
{
    if (atomic_fetch_sub(&graph->owners, 1) == 1) free(graph);
}

static void CUDA_CB graph_is_gone(void *opaque)
{
    struct graph *graph = opaque;
    atomic_store(&graph->over, true);
    let_go(graph);
}

static enum status add_graph(struct graphs *graphs, const struct graph_capture *capture, struct graph **out)
{
    CUuserObject object;
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph) return fail(E_MEMORY, "out of memory in a capture");
    graph->capture = capture->id;
    atomic_init(&graph->owners, 2);
    enum status st = device_check(
        cuda.UserObjectCreate(&object, graph, graph_is_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "make a user object for a graph");
    if (st) {
        free(graph);
        return st;
    }
    CUresult result = cuda.GraphRetainUserObject(capture->graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result == CUDA_SUCCESS) {
        graph->next = graphs->living;
        graphs->living = *out = graph;
        return OK;
    }
    cuda.UserObjectRelease(object, 1); /* calls the destructor */
    let_go(graph);
    return device_check(result, "give a graph a user object");
}

/* The graph of a capture, which holds nothing at first. */
static enum status graph_of(struct graphs *graphs, const struct graph_capture *capture, struct graph **out)
{
    struct graph *graph = graphs->living;
    while (graph && graph->capture != capture->id) graph = graph->next;
    *out = graph;
    return graph ? OK : add_graph(graphs, capture, out);
}

/* Releases the graph's workspaces and kernels. */
static void release(struct graphs *graphs, struct graph *graph)
{
    for (struct graph_buffer *b = graphs->buffers; b; b = b->next)
        if (b->owner == graph) b->owner = NULL;
    for (struct held_module *h = graph->modules, *next; h; h = next) {
        next = h->next;
        modules_release(h->module);
        free(h);
    }
    let_go(graph);
}

static void collect(struct graphs *graphs)
{
    for (struct graph **link = &graphs->living; *link;) {
        struct graph *graph = *link;
        if (!atomic_load(&graph->over)) {
            link = &graph->next;
            continue;
        }
        *link = graph->next;
        release(graphs, graph);
    }
}

void graphs_collect(struct graphs *graphs)
{
    pthread_mutex_lock(&graphs->lock);
    collect(graphs);
    pthread_mutex_unlock(&graphs->lock);
}

/* ---- modules ---- */

static enum status hold(struct graphs *graphs, const struct graph_capture *capture, struct module *module)
{
    struct graph *graph;
    collect(graphs);
    enum status st = graph_of(graphs, capture, &graph);
    if (st) return st;
    for (const struct held_module *h = graph->modules; h; h = h->next)
        if (h->module == module) return OK;
    struct held_module *fresh = malloc(sizeof *fresh);
    if (!fresh) return fail(E_MEMORY, "out of memory in a capture");
    *fresh = (struct held_module){.next = graph->modules, .module = module};
    graph->modules = fresh;
    modules_share(module);
    return OK;
}

enum status graphs_hold(struct graphs *graphs, struct module *module, CUstream stream)
{
    struct graph_capture capture = {.stream = stream};
    CUstreamCaptureStatus status;
    enum status st =
        device_check(cuda.StreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph, NULL, NULL),
                     "ask whether the stream is captured");
    if (st || status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return st;
    pthread_mutex_lock(&graphs->lock);
    st = hold(graphs, &capture, module);
    pthread_mutex_unlock(&graphs->lock);
    return st;
}

/* ---- workspaces ---- */

/* A number of this thread that is unique within the process. */
static unsigned long long thread_number(void)
{
    static _Atomic(unsigned long long) threads;
    static _Thread_local unsigned long long number;
    if (!number) number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

/* context_gone: device memory went with it. */
static void free_buffers(struct graphs *graphs, bool all, bool context_gone)
{
    for (struct graph_buffer **link = &graphs->buffers; *link;) {
        struct graph_buffer *b = *link;
        if (b->owner && !all) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        graphs->bytes -= b->buffer.head + b->buffer.data;
        if (!context_gone) memory_give_idle(&b->buffer);
        free(b);
    }
}

/* The stream's own buffer, else the smallest unused one that is large enough. */
static struct graph_buffer *find(const struct graphs *graphs, const struct graph *graph, CUstream stream,
                                 unsigned long long thread, const struct workspace_need *need)
{
    struct graph_buffer *best = NULL;
    for (struct graph_buffer *b = graphs->buffers; b; b = b->next) {
        if (!workspace_fits(&b->buffer, need)) continue;
        if (b->owner == graph && b->stream == stream && b->thread == thread) return b;
        if (!b->owner && (!best || b->buffer.data < best->buffer.data)) best = b;
    }
    return best;
}

/* Uses a stream of its own, because the given one is being captured; the memory is cleared when this
 * returns. */
static enum status allocate(struct graphs *graphs, const struct workspace_need *need,
                            struct workspace_buffer *buffer)
{
    CUstream stream = NULL;
    enum status st = device_check(cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "create a stream");
    if (!st) st = memory_take(graphs->memory, need, stream, buffer);
    if (!st) st = device_check(cuda.StreamSynchronize(stream), "clear a workspace");
    if (stream) cuda.StreamDestroy(stream);
    if (st) memory_give_idle(buffer);
    return st;
}

static struct graph_buffer *add(struct graphs *graphs, const struct workspace_need *need)
{
    free_buffers(graphs, false, false); /* the unused ones are too small */
    if (graphs->bytes + need->bytes > graphs->most_bytes) return NULL;
    struct graph_buffer *b = calloc(1, sizeof *b);
    if (!b || allocate(graphs, need, &b->buffer)) {
        free(b);
        return NULL;
    }
    graphs->bytes += b->buffer.head + b->buffer.data;
    b->next = graphs->buffers;
    graphs->buffers = b;
    return b;
}

static struct graph_buffer *get(struct graphs *graphs, const struct graph_capture *capture,
                                const struct workspace_need *need)
{
    const unsigned long long thread = capture->stream == CU_STREAM_PER_THREAD ? thread_number() : 0;
    struct graph *graph;
    collect(graphs);
    if (graph_of(graphs, capture, &graph)) return NULL;
    struct graph_buffer *b = find(graphs, graph, capture->stream, thread, need);
    if (!b) b = add(graphs, need);
    if (!b) return NULL;
    b->owner = graph;
    b->stream = capture->stream;
    b->thread = thread;
    return b;
}

CUdeviceptr graphs_enter(struct graphs *graphs, const struct graph_capture *capture,
                         const struct workspace_need *need)
{
    pthread_mutex_lock(&graphs->lock);
    CUstreamCaptureMode mode = relaxed_begin();
    const struct graph_buffer *b = get(graphs, capture, need);
    relaxed_end(mode);
    if (b) return workspace_at(&b->buffer, need);
    pthread_mutex_unlock(&graphs->lock);
    return 0;
}

void graphs_leave(struct graphs *graphs)
{
    pthread_mutex_unlock(&graphs->lock);
}

void graphs_trim(struct graphs *graphs)
{
    pthread_mutex_lock(&graphs->lock);
    collect(graphs);
    free_buffers(graphs, false, false);
    pthread_mutex_unlock(&graphs->lock);
}

void graphs_close(struct graphs *graphs, bool context_gone)
{
    for (struct graph *graph = graphs->living, *next; graph; graph = next) {
        next = graph->next;
        release(graphs, graph);
    }
    graphs->living = NULL;
    free_buffers(graphs, true, context_gone);
    pthread_mutex_destroy(&graphs->lock);
}

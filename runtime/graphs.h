/* graphs.h — what captured graphs of a context hold: workspaces, and kernels that could be unloaded
 * otherwise.
 *
 * A graph may run at any time and on any stream, so each stream of a capture gets a buffer that belongs to
 * the graph until the graph, and everything made from it, is destroyed. Then another capture may use it. All
 * plans share the buffer; a plan that needs more takes another one.
 */
#ifndef GT_GRAPHS_H
#define GT_GRAPHS_H

#include "memory.h"

struct module;
struct graph;
struct graph_buffer;

struct graphs {
    struct memory *memory;
    size_t most_bytes;
    pthread_mutex_t lock; /* what follows, and the memory */
    size_t bytes;
    struct graph *living;
    struct graph_buffer *buffers;
};

/* A capture, as the driver describes it. */
struct graph_capture {
    cuuint64_t id;
    CUgraph graph;
    CUstream stream;
};

/* most_bytes: for all graphs together. */
void graphs_start(struct graphs *graphs, struct memory *memory, size_t most_bytes);

/* Lets go of all, in the context; graphs that still exist lose their memory. With the context gone, only
 * forgets it. */
void graphs_close(struct graphs *graphs, bool context_gone);

/* The graph that the stream is captured into, if it is, holds the module from now on. Errors: E_GPU,
 * E_MEMORY. */
enum status graphs_hold(struct graphs *graphs, struct module *module, CUstream stream);

/* A workspace of the capture's. 0: there is no memory for it, and graphs_leave must not be called. Otherwise
 * other threads wait until it is. */
CUdeviceptr graphs_enter(struct graphs *graphs, const struct graph_capture *capture,
                         const struct workspace_need *need);
void graphs_leave(struct graphs *graphs);

/* Takes from graphs that do not exist any more what they held. */
void graphs_collect(struct graphs *graphs);

/* Frees all memory that no graph holds, in the context. */
void graphs_trim(struct graphs *graphs);

#endif

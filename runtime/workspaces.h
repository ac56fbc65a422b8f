/* workspaces.h — workspaces for the launches of a context. No two launches that may overlap share one. All
 * plans of a handle share it.
 *
 * Launches of one stream run one after the other, so a stream needs one workspace, as large as the largest
 * launch on it. There are at most `count`. Half of them are dedicated to streams that use them again and
 * again; these are found without a common lock, and need no event. The other half is shared: an event orders
 * each launch there after the one before, on the device and not on the host. So any number of short-lived
 * streams can be served. Streams are identified by the driver's id, which is unique within the process: a
 * handle may be reused for another stream, and CU_STREAM_PER_THREAD is a different stream in each thread.
 * Captures have separate workspaces (graphs.h).
 *
 * The launches of one call are enqueued together: two threads may use one stream.
 */
#ifndef GT_WORKSPACES_H
#define GT_WORKSPACES_H

#include "graphs.h"
#include "memory.h"

#define WORKSPACES_MAX   16
#define WORKSPACES_USUAL 8

/* A workspace becomes a stream's own after this many launches in a row. */
#define WORKSPACES_OWN_AFTER 256

struct workspaces;
struct workspace;

/* count: 1 to WORKSPACES_MAX; in this memory, and for captures among what these graphs hold. Allocates
 * nothing. Errors: E_MEMORY. */
enum status workspaces_open(struct memory *memory, struct graphs *graphs, int count,
                            struct workspaces **workspaces);

/* Call it in the context, when no launch is using them. Takes NULL. */
void workspaces_close(struct workspaces *workspaces);

/* The same without the driver: the context and its memory do not exist any more. Takes NULL. */
void workspaces_forget(struct workspaces *workspaces);

/* Frees those that are no graph's, in the context, when no launch is using them. */
void workspaces_trim(struct workspaces *workspaces);

/* The use of a workspace by one call. */
struct workspace_use {
    CUdeviceptr at;
    struct workspace *workspace; /* NULL: a capture's */
    struct graphs *graphs;
    CUstream stream;
    bool own;
};

/* False: there is no memory now, and workspaces_leave must not be called. A failed allocation is remembered
 * for some launches, so that not each of them tries while the device is full. */
bool workspaces_enter(struct workspaces *workspaces, const struct workspace_need *need, CUstream stream,
                      struct workspace_use *use);

/* whole: all launches of the call were enqueued. Otherwise counters may not be 0; they are cleared before the
 * next use. */
void workspaces_leave(const struct workspace_use *use, bool whole);

#endif

/* workspaces.h — device memory for the launches of a context that need a workspace, such that no two launches
 * that may overlap share any. All plans of a handle share it.
 *
 * Launches of one stream run one after the other, so a stream needs one workspace, as large as the largest
 * launch on it. There are at most `count`. Half of them are dedicated to streams that use them again and
 * again; these are found without a common lock, and cost a launch nothing. The other half is shared: an event
 * orders each launch there after the one before, on the device and not on the host. So short-lived streams
 * use up nothing, and any number of them is served. Streams are identified by the id that the driver gives
 * each once in the life of the process: a handle may be reused for another stream, and CU_STREAM_PER_THREAD
 * is a different stream in each thread. Captures have separate workspaces (captured.h).
 *
 * The launches of one call are enqueued together: two threads may use one stream.
 */
#ifndef GT_WORKSPACES_H
#define GT_WORKSPACES_H

#include "captured.h"
#include "memory.h"

#define WORKSPACES_MAX   16
#define WORKSPACES_USUAL 8

/* A stream's own from so many launches in a row on. */
#define WORKSPACES_OWN_AFTER 256

struct workspaces;
struct workspace;

/* count: 1 to WORKSPACES_MAX; captured_bytes: that all graphs may hold. Allocates nothing. Errors: E_MEMORY.
 */
enum status workspaces_open(CUdevice device, int count, size_t captured_bytes,
                            struct workspaces **workspaces);

/* In the context, when nothing runs that uses them. Takes NULL. */
void workspaces_close(struct workspaces *workspaces);

/* The same without the driver: the context is gone, and its memory with it. Takes NULL. */
void workspaces_forget(struct workspaces *workspaces);

/* Give back what no graph holds, in the context, when nothing runs that uses it. */
void workspaces_trim(struct workspaces *workspaces);

/* A launch's turn in a workspace. */
struct workspace_turn {
    CUdeviceptr at;
    struct workspace *workspace; /* NULL: a capture's */
    struct captured *captured;
    CUstream stream;
    bool own;
};

/* False: there is no memory for it now, and nothing to leave. A refusal is remembered for some launches, so
 * that a full device does not make each of them try. */
bool workspaces_enter(struct workspaces *workspaces, const struct workspace_need *need, CUstream stream,
                      struct workspace_turn *turn);

/* whole: all launches that the turn is for were enqueued. Otherwise counters may not be 0, and will be
 * cleared before somebody meets them. */
void workspaces_leave(const struct workspace_turn *turn, bool whole);

#endif

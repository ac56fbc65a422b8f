/* captured.h — workspaces of captured launches. A graph may run at any time and on any stream, so each stream
 * of a capture gets a buffer that belongs to the graph until the graph, and everything made from it, is
 * destroyed. Then another capture may use it. All plans share the buffer; a plan that needs more takes
 * another one.
 */
#ifndef GT_CAPTURED_H
#define GT_CAPTURED_H

#include "memory.h"

struct captured;

/* A capture, as the driver describes it. */
struct capture {
    cuuint64_t id;
    CUgraph graph;
    CUstream stream;
};

/* most_bytes: for all graphs together. Errors: E_MEMORY. */
enum status captured_open(struct memory *memory, size_t most_bytes, struct captured **captured);

/* Frees all device memory, in the context; graphs that still exist lose theirs. */
void captured_free_all(struct captured *captured);

/* Device memory that was not freed is released with the context. Takes NULL. */
void captured_close(struct captured *captured);

/* 0: there is no memory for it, and captured_leave must not be called. Otherwise other threads wait until it
 * is. */
CUdeviceptr captured_enter(struct captured *captured, const struct capture *capture,
                           const struct workspace_need *need);
void captured_leave(struct captured *captured);

/* Frees everything that no graph uses. */
void captured_trim(struct captured *captured);

#endif

/* workspaces.h — device memory for the partial sums of a plan that splits K, so that no two launches that may
 * overlap share any.
 *
 * Launches of one stream run one after the other, so a workspace belongs to a stream, named by the id that
 * the driver gives it once in the life of the process (a handle may come back for another stream, and
 * CU_STREAM_PER_THREAD is another one in each thread). The first streams each claim one of those that were
 * allocated with the plan; later ones get none. What is captured may run at any time, on any stream, so each
 * stream of each capture gets one of its own, which the graph keeps; these are allocated during the capture,
 * and told apart by the stream's handle, because the driver must not be asked for the id of a stream that is
 * captured.
 */
#ifndef GT_WORKSPACES_H
#define GT_WORKSPACES_H

#include "device.h"
#include <stdatomic.h>

#define WORKSPACES_MAX            16
#define WORKSPACES_CAPTURED_MAX   256
#define WORKSPACES_CAPTURED_BYTES ((size_t)1 << 30) /* of all captures of a plan together */

struct workspaces;

/* In the current context. count: streams that can be served; fewer if memory is short. Errors: E_GPU (not
 * even one), E_MEMORY. */
enum status workspaces_open(size_t bytes, int count, struct workspaces **workspaces);

/* In the context it was opened in. Takes NULL. */
void workspaces_close(struct workspaces *workspaces);

/* The one for this stream; 0: there is none. Without locks except in a capture. */
CUdeviceptr workspaces_of(struct workspaces *workspaces, CUstream stream);

int workspaces_count(const struct workspaces *workspaces);

#endif

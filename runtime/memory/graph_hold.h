/* graph_hold.h — to know whether a graph that was captured is still there, or anything made of it.
 *
 * The driver tells by a destructor in a thread of its own, which may not call CUDA and may come after the
 * handle was closed. So it only sets a flag, in memory that lasts until both sides have let go of it.
 */
#ifndef GT_GRAPH_HOLD_H
#define GT_GRAPH_HOLD_H

#include "device.h"
#include "status.h"
#include <stdbool.h>

struct graph_hold;

/* Hold on to a graph that is being captured. Errors: E_GPU, E_MEMORY. */
enum status graph_hold_make(CUgraph graph, struct graph_hold **hold);

/* The graph, its copies and its executables are gone, and nothing of them runs. */
bool graph_hold_is_over(const struct graph_hold *hold);

/* Let go of it, whether it is over or not. Takes NULL. */
void graph_hold_free(struct graph_hold *hold);

#endif

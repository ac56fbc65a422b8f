/* graph_hold.h — tells whether a captured graph, or anything made from it, still exists.
 *
 * The driver reports its end through a destructor in a separate thread, which may not call CUDA and may run
 * after the handle was closed. So the destructor only sets a flag, in memory that lives until both sides have
 * released it.
 */
#ifndef GT_GRAPH_HOLD_H
#define GT_GRAPH_HOLD_H

#include "device.h"
#include "status.h"
#include <stdbool.h>

struct graph_hold;

/* Attaches a hold to a graph that is being captured. Errors: E_GPU, E_MEMORY. */
enum status graph_hold_make(CUgraph graph, struct graph_hold **hold);

/* True if the graph, its copies and its executables do not exist any more, and none of them is running. */
bool graph_hold_is_over(const struct graph_hold *hold);

/* Releases our side, in either case. Takes NULL. */
void graph_hold_free(struct graph_hold *hold);

#endif

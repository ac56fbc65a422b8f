/* graph_calls.h — the driver's functions that make and launch CUDA graphs, as programs and CUDA's runtime
 * look them up by name. While a capture is recorded they also tell the engine, so that products are counted
 * as often as their graph runs. The graphs are not changed.
 */
#ifndef GT_GRAPH_CALLS_H
#define GT_GRAPH_CALLS_H

/* What a program gets for a function of the driver that dlsym has found. NULL: the function itself. */
void *graph_calls_replace(const char *name, void *address);

#endif

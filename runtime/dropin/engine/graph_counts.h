/* graph_counts.h — products that were captured into CUDA graphs, counted as often as the graphs run. Used
 * only while a capture is recorded. The call that was captured has counted once, which stands for the first
 * launch of its graph; each further launch counts its products again.
 */
#ifndef GT_GRAPH_COUNTS_H
#define GT_GRAPH_COUNTS_H

#include "record.h"

/* After a call of the problem on the stream: remembers it if the stream is being captured. */
void graph_counts_add(struct record *record, bool tuned, CUstream stream);

/* A graph is destroyed; it was made executable; an executable was launched. */
void graph_counts_gone(CUgraph graph);
void graph_counts_made(CUgraphExec executable, CUgraph graph);
void graph_counts_launched(CUgraphExec executable);

#endif

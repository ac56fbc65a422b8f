/* measure.h — the timer: times any kernel on the sets of a workload with the device's events.
 *
 * A sample is the mean time of a call within one block. Blocks are long enough (1 ms and more) that event
 * resolution and launch gaps do not matter; calls shorter than 50 us go through a captured graph of many, so
 * that GPU time is measured and not the host's. Both rotate over the operand sets. Rival and candidates are
 * timed by the same code.
 */
#ifndef GT_MEASURE_H
#define GT_MEASURE_H

#include "nvml.h"
#include "outcome.h"
#include "workload.h"

#define MEASURE_BLOCKS_MAX 16
#define MEASURE_BLOCK_US   1000.0

struct stopwatch {
    struct device *device;
    struct nvml nvml;
    bool one_by_one; /* short calls are launched one by one, too, as most programs do, not through a graph:
                        the host's time counts where it is longer than the GPU's */
    CUevent event[MEASURE_BLOCKS_MAX + 1];
};

enum status stopwatch_open(struct device *device, struct stopwatch *watch);
void stopwatch_close(struct stopwatch *watch); /* takes a zeroed struct too */

/* Marks a moment on the device's stream; and the time between two of them, once they have passed. Marks are
 * shared with the functions below. */
enum status stopwatch_mark(struct stopwatch *watch, int event);
enum status stopwatch_between(struct stopwatch *watch, int from, int to, double *us);

/* One kernel on one workload, ready for timing. */
struct timed {
    struct stopwatch *watch;
    const struct workload *work;
    const struct kernel *kernel;   /* not owned; must not move */
    double call_us;                /* rough time of a call: the first one timed, then the last block's mean */
    struct device_buffer prepared; /* what kernel.prepare made of each set; empty if it makes nothing */
    CUgraphExec graph;             /* of graph_calls calls; NULL: launched one by one */
    int graph_calls;
    int next_set;
    int sets_used; /* sets whose C has been written: 0 .. sets_used-1 */
};

/* Estimates a call's time (two calls, one if it is long) and captures the graph of a short one. Before them
 * the prepared operand of each set is made, if the kernel takes one: no timed call includes that. Errors:
 * E_ABSENT (launch refused, or no memory for the prepared operands), E_GPU. */
enum status timed_start(struct stopwatch *watch, const struct workload *work, const struct kernel *kernel,
                        struct timed *timed);
void timed_stop(struct timed *timed); /* takes a zeroed struct too */

/* The prepared operand of a set; 0: the kernel takes none. */
CUdeviceptr timed_prepared(const struct timed *timed, int set);

/* Runs `count` blocks (1 .. MEASURE_BLOCKS_MAX) of at least block_us each, without a pause between them.
 * samples_us: mean time of a call in each; *calls: calls in a block; state (may be NULL): read while they
 * run. Blocks under hardware slowdown or thermal throttling are repeated, at most three times. */
enum status timed_blocks(struct timed *timed, int count, double block_us, double *samples_us, int64_t *calls,
                         struct gpu_state *state);

/* Runs until block medians are steady, for at most limit_s. medians: the last ones, at most `room`; *count:
 * their number. */
enum status timed_warm_up(struct timed *timed, double limit_s, double *medians, int room, int *count,
                          double *spent_s);

#endif

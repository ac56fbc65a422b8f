/* cost_parts.h — what the time models of all families share: issue slots of a scheduler, their utilisation,
 * and the time under two overlapping limits. The callers pass the fitted constants.
 */
#ifndef GT_COST_PARTS_H
#define GT_COST_PARTS_H

#include "gpu.h"
#include "template.h"

/* Cycles of a scheduler's FP32 lanes for one FFMA of a warp: 1 where it has 32 of them, 2 where it has 16. */
double ffma_cycles(const struct gpu *gpu);

/* Issue slots of a read of shared memory, by its width. */
struct lds_slots {
    double four, two, one; /* floats */
};

/* Of a thread's fragment, read by the widest loads that divide it. */
double fragment_slots(double floats, const struct lds_slots *slots);

/* Share of the issue slots that are used when each scheduler has so many warps to choose from. One that has a
 * single warp loses `lone` of them while that waits, with more warps less by the square of their number. */
double latency_hidden(double warps, double lone);

/* SMs that clusters of so many blocks fill, a block an SM: each stays within one GPC. */
double cluster_sms(const struct gpu *gpu, double size);

/* How much longer memory is busy with C where stores are narrow: floats a store. */
double narrow_stores(double floats);

/* Time of two limits that hide each other: the larger, more where they are close, for they never overlap
 * perfectly. A higher power means less more. */
double overlapped_us(double x, double y, double power);

#endif

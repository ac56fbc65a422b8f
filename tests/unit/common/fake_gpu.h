/* fake_gpu.h — what the fake driver remembers, for tests to look at (dlsym in the opened fake). */
#ifndef GT_FAKE_GPU_H
#define GT_FAKE_GPU_H

#include "gemm_args.h"
#include <stdbool.h>

#define FAKE_LAUNCHES_MAX 4096 /* the last so many are remembered; number i at i % this */

struct fake_launch {
    bool is_gemm; /* else gemm_reduce */
    bool captured;
    void *stream;
    unsigned grid[3], threads, smem_bytes;
    struct gemm_args args;
};

/* A launch with attributes: the same in fake_launches, and what only these have. */
struct fake_extended {
    int launch; /* its number */
    bool cluster_told, dependent;
    unsigned cluster[3];
    unsigned char argument[640];
};

#define FAKE_EXTENDED_MAX 32 /* the first so many are remembered */
extern struct fake_extended fake_extended[FAKE_EXTENDED_MAX];
extern int fake_extended_count;

/* What the fake driver puts into a tensor map. */
struct fake_view {
    unsigned long long address, extent[5], stride[4];
    unsigned type, rank, box[5], swizzle;
};

extern _Atomic int fake_maps_encoded, fake_maps_replaced; /* calls, refused ones among them */
/* cuTensorMapReplaceAddress as it should be, or refusing, or with another byte changed. */
enum fake_replacing { FAKE_REPLACES, FAKE_REPLACE_REFUSES, FAKE_REPLACE_DIFFERS };
extern enum fake_replacing fake_replacing;

extern struct fake_launch fake_launches[FAKE_LAUNCHES_MAX];
extern int fake_launch_count;
extern _Atomic int fake_attributes_set[8]; /* 0: dynamic shared memory, 1: carveout */
extern _Atomic int fake_open;              /* resources not released */
/* Kernels are run, too, by the definition: 1, and 2 if A is transposed, and 4 if B is. 0: only recorded. */
extern int fake_computes;
extern _Atomic int fake_loads;   /* modules ever loaded */
extern _Atomic int fake_modules; /* loaded now */
extern _Atomic int fake_fail_at; /* so many launches on, one is refused; 0: none */
extern _Atomic int fake_torn;    /* sums that were begun on a stream before the one before was added up */
extern _Atomic int fake_dirty_counters; /* launches that met a counter that was not 0 */
extern _Atomic int fake_stale_launches; /* of kernels that were unloaded, or in memory that was freed */
extern _Atomic int fake_overlaps;       /* uses of an allocation that nothing orders after the one before */
extern _Atomic int fake_records, fake_waits;          /* events recorded, and waited for by streams */
extern _Atomic long long fake_bytes, fake_bytes_most; /* of device memory that are allocated, were at most */
extern _Atomic int fake_buffers, fake_allocations;    /* allocated, and ever made */
extern _Atomic int fake_forbidden; /* calls of the driver from a destructor of a user object */
extern int fake_busy;              /* 1: no event has completed when it is asked for */
extern _Atomic int fake_blas_calls, fake_blas_wide_calls, fake_blas_pointer_calls;
extern _Atomic int fake_blas_math;                 /* the last mode set */
extern _Atomic int fake_lt_calls, fake_lt_compute; /* products by cublasLt, and how the last was computed */

/* Make a stream take part in the capture of another, as waiting for an event of that one would. */
void fake_join(void *captured, void *other);

/* As cudaDeviceReset: what was in the context is gone, and the context another one at the same address. */
void fake_reset(void *context);

#endif

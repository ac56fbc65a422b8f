/* fake_gpu.h — what the fake driver remembers, for tests to look at (dlsym in the opened fake). */
#ifndef GT_FAKE_GPU_H
#define GT_FAKE_GPU_H

#include "gemm_args.h"
#include <stdbool.h>

#define FAKE_LAUNCHES_MAX 4096

struct fake_launch {
    bool is_gemm; /* else gemm_reduce */
    bool captured;
    void *stream;
    unsigned grid[3], threads, smem_bytes;
    struct gemm_args args;
};

extern struct fake_launch fake_launches[FAKE_LAUNCHES_MAX];
extern int fake_launch_count;
extern _Atomic int fake_attributes_set[8]; /* 0: dynamic shared memory, 1: carveout */
extern _Atomic int fake_open;              /* resources not released */
/* Kernels are run, too, by the definition: 1, and 2 if A is transposed, and 4 if B is. 0: only recorded. */
extern int fake_computes;
extern _Atomic int fake_loads; /* modules ever loaded */
extern _Atomic int fake_blas_calls, fake_blas_wide_calls;
extern _Atomic int fake_blas_math; /* the last mode set */

/* What cudaDeviceReset does to a context. */
void fake_reset(void *context);

/* Make a stream take part in the capture of another, as waiting for an event of that one would. */
void fake_join(void *captured, void *other);

#endif

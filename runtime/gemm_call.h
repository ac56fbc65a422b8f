/* gemm_call.h — the arguments of a launch, besides the plan. */
#ifndef GT_GEMM_CALL_H
#define GT_GEMM_CALL_H

#include <cuda.h>
#include <stdbool.h>

struct gemm_call {
    CUdeviceptr a, b, c;
    CUdeviceptr source, bias; /* C of an epilogue that stores out of place, and its bias; 0: none */
    const void *alpha, *beta; /* floats, on the host unless scalars_on_device */
    bool scalars_on_device;
    CUstream stream;
    CUdeviceptr workspace; /* the caller's, 0: none; the plan's own is used where it is too small */
    size_t workspace_bytes;
    const struct gt_prepared *prepared; /* A or B; NULL: none */
    bool as_planned;                    /* by the plan's own executable or not at all */
};

#endif

/* fake_driver.h — what the fake driver was asked. */
#ifndef GT_FAKE_DRIVER_H
#define GT_FAKE_DRIVER_H

#include <cuda.h>
#include <stddef.h>

#define FAKE_LAUNCHES_MAX 64

struct fake_launch {
    int kernel; /* 0 gemm_pack, 1 gemm, 2 gemm_reduce */
    unsigned grid[3], threads, smem_bytes;
    int allowed; /* the shared memory had been asked for */
    CUstream stream;
    unsigned char args[160]; /* struct gemm_args; zeros behind what the kernel is passed */
};

struct fake_function {
    int smem_bytes;
};

struct fake_driver {
    int major, minor, refuse_load;
    const void *image; /* loaded last */
    int modules;
    size_t cleared;
    struct fake_function function[3];
    struct fake_launch launch[FAKE_LAUNCHES_MAX];
    int launch_count;
};
extern struct fake_driver fake;

#endif

/* fake_driver.h — what the fake driver was asked. */
#ifndef GT_FAKE_DRIVER_H
#define GT_FAKE_DRIVER_H

#include <cuda.h>
#include <stddef.h>

#define FAKE_LAUNCHES_MAX 64
#define FAKE_ARGUMENT_MAX 1536

struct fake_launch {
    int kernel; /* 0 gemm_pack, 1 gemm, 2 gemm_reduce, 3 gemm_maxima */
    unsigned grid[3], threads, smem_bytes;
    int allowed; /* the shared memory had been asked for */
    CUstream stream;
    int extended, dependent; /* by cuLaunchKernelEx; with programmatic stream serialization */
    unsigned cluster[3];
    unsigned char args[FAKE_ARGUMENT_MAX]; /* and whatever lies behind what the kernel is passed */
};

extern const char *const fake_names[4];

/* What is put into a tensor map. */
struct fake_map {
    CUdeviceptr address;
    int type, rank, swizzle;
    unsigned extent[5], stride[4], box[5];
};

struct fake_function {
    int smem_bytes;
};

struct fake_driver {
    int major, minor, refuse_load;
    const void *image; /* loaded last */
    int modules;
    size_t cleared;
    struct fake_function function[4];
    struct fake_launch launch[FAKE_LAUNCHES_MAX];
    int launch_count;
};
extern struct fake_driver fake;

#endif

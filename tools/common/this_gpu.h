/* this_gpu.h — the GPUs of this machine as the kernel driver lists them in /proc, so that reading the
 * database needs no CUDA.
 */
#ifndef GT_THIS_GPU_H
#define GT_THIS_GPU_H

#include "driver_version.h"
#include "gpu.h"
#include "status.h"

struct this_gpu {
    char name[GPU_NAME_MAX];         /* "NVIDIA H200" */
    char uuid[48];                   /* "GPU-..."; "" if it is not told */
    char driver[DRIVER_VERSION_MAX]; /* "580.95.05"; "" if it is not told */
};

#define THIS_GPUS_MAX 64

/* In the order of their PCI addresses. proc is "/proc", or what GEMMTUNE_PROC names instead (for tests);
 * *count is 0 where there is none. Never fails. */
void this_gpus(struct this_gpu gpus[THIS_GPUS_MAX], int *count);

#endif

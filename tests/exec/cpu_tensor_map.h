/* cpu_tensor_map.h — a tensor map as cpu_kernel.c encodes it of a plan's view, and cpu_copies.c copies by it.
 * In place of the driver's, in as many bytes at most (LAUNCH_VIEW_BYTES).
 */
#ifndef GT_CPU_TENSOR_MAP_H
#define GT_CPU_TENSOR_MAP_H

#include <stdint.h>

#define CPU_TENSOR_MAP UINT32_C(0x7e2502a9)

struct cpu_tensor_map {
    const char *base;
    int64_t extent[3], stride_bytes[3]; /* stride_bytes[0] is unused */
    unsigned box[3], swizzle_bytes;     /* 32, 64 or 128 */
    int element_bytes;
    uint32_t mark;
    int tf32; /* FP32 is rounded on its way to shared memory */
};

#endif

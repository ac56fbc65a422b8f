/* h200.h — the limits and figures of an H200, as initializers, for tests that need some GPU. */
#ifndef GT_TEST_H200_H
#define GT_TEST_H200_H

#include "gpu.h"

#define H200_LIMITS                                                                                          \
    .id = "h200", .name = "NVIDIA H200", .arch = 90, .sm_count = 132, .threads_per_sm = 2048,                \
    .blocks_per_sm = 32, .registers_per_sm = 65536, .smem_per_sm_bytes = 233472,                             \
    .smem_per_block_bytes = 232448, .smem_reserved_bytes = 1024

#define H200_FIGURES                                                                                         \
    .l2_bytes = 62914560, .memory_bytes = INT64_C(150000000000), .clock_mhz = 1980, .memory_gb_per_s = 4800

#endif

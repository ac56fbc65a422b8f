/* fuzz_h200.h — the GPU that targets ask for, as an initialiser: arrays want it, too. */
#ifndef GT_FUZZ_H200_H
#define GT_FUZZ_H200_H

#include "gpu.h"

#define FUZZ_H200                                                                                            \
    {                                                                                                        \
        .id = "h200", .name = "NVIDIA H200", .arch = 90, .sm_count = 132, .threads_per_sm = 2048,            \
        .blocks_per_sm = 32, .registers_per_sm = 65536, .smem_per_sm_bytes = 233472,                         \
        .smem_per_block_bytes = 232448, .smem_reserved_bytes = 1024, .l2_bytes = 52428800,                   \
        .memory_bytes = INT64_C(141000000000), .clock_mhz = 1980, .memory_gb_per_s = 4800,                   \
        .rate = {{"fp32", 66.9}}, .source = "test"                                                           \
    }

static const struct gpu fuzz_gpu = FUZZ_H200;

#endif

/* described_gpu.h — GPUs of configs/gpus. */
#ifndef GT_DESCRIBED_GPU_H
#define GT_DESCRIBED_GPU_H

#include "gpu.h"
#include "problem_texts.h"

#include <string.h>

static inline struct gpu gpu_of(const char *id)
{
    struct gpu gpu;
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", id, &gpu));
    return gpu;
}

static inline struct gpu h200(void)
{
    return gpu_of("h200");
}

#endif

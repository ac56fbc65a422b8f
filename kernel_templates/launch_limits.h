/* launch_limits.h — what any launch must keep to, and arithmetic on sizes; read by the host halves
 * of templates.
 */
#ifndef GT_LAUNCH_LIMITS_H
#define GT_LAUNCH_LIMITS_H

#include "gpu.h"

#include <stdint.h>

#define GRID_X_MAX    INT64_C(2147483647) /* blocks, CUDA C++ Programming Guide, "Technical Specifications" */
#define GRID_Z_MAX    65535               /* items of a batch in one launch */
#define REGISTERS_MAX 255                 /* a thread */

/* Workspace that a batch is cut at: several launches follow each other in the same workspace. */
#define BATCH_WORKSPACE_BYTES (INT64_C(32) << 20)

/* Bytes between the lines, or the items, of a tensor map (cuTensorMapEncodeTiled): less. */
#define MAP_STRIDE_MAX (INT64_C(1) << 40)

static inline int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t ceil_div(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

/* Items of a batch that a launch takes, each of which needs item_bytes (above 0) of workspace: at least one.
 */
static inline int64_t items_per_launch(int64_t item_bytes)
{
    return item_bytes > BATCH_WORKSPACE_BYTES ? 1 : smaller(GRID_Z_MAX, BATCH_WORKSPACE_BYTES / item_bytes);
}

/* NULL if an SM holds so many blocks of so many threads, or bytes of shared memory, at once; else why not. */
static inline const char *check_blocks(const struct gpu *gpu, int64_t threads, int blocks)
{
    if (blocks > gpu->blocks_per_sm) return "an SM does not hold MIN_BLOCKS blocks";
    if (threads * blocks > gpu->threads_per_sm) return "an SM does not hold the threads of MIN_BLOCKS blocks";
    return NULL;
}

static inline const char *check_blocks_smem(const struct gpu *gpu, int64_t bytes, int blocks)
{
    if ((bytes + gpu->smem_reserved_bytes) * blocks > gpu->smem_per_sm_bytes)
        return "the shared memory of MIN_BLOCKS blocks does not fit in an SM";
    return NULL;
}

#endif

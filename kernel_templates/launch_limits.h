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

/* Registers that each of the threads of an SM may have. */
static inline int64_t registers_a_thread(const struct gpu *gpu, int64_t threads)
{
    return smaller(REGISTERS_MAX, gpu->registers_per_sm / threads / 8 * 8);
}

/* NULL if gpu has what LOADER and REDUCE, so called in several families, ask for. */
static inline const char *check_features(const struct gpu *gpu, int loader, int reduce)
{
    if (loader > 0 && !gpu_has_cp_async(gpu)) return "LOADER above 0 needs cp.async (sm_80)";
    if (reduce > 1 && gpu->arch < 90) return "REDUCE above 1 needs clusters (sm_90)";
    return NULL;
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

/* The same for both, and for registers, of which a thread needs so many. */
static inline const char *check_residence(const struct gpu *gpu, int threads, int smem_bytes, int blocks,
                                          int registers)
{
    const char *why = check_blocks(gpu, threads, blocks);
    if (!why) why = check_blocks_smem(gpu, smem_bytes, blocks);
    if (!why && registers > registers_a_thread(gpu, (int64_t)threads * blocks))
        why = "accumulators and fragments do not fit in the registers";
    return why;
}

#endif

/* runtime_workspaces.h — launches of kernels that need device memory beside their operands, on the fakes. */
#ifndef GT_RUNTIME_WORKSPACES_H
#define GT_RUNTIME_WORKSPACES_H

#include "runtime_fakes.h"
#include "workspaces.h"

#include <pthread.h>

#define TEXT  "sgemm:nn:64x64x64"
#define LARGE "sgemm:nn:1024x1024x64"
#define DEEP  "sgemm:nn:64x64x65536"

#define DEEP_SPLIT config_text(4, "SPLIT_K=64")
#define LAST_BLOCK config_text(5, "SPLIT_K=4 REDUCE=1") /* counts blocks in */

/* Products with alpha = 0: kernels are only recorded unless a test says otherwise, and cuBLAS has little to
 * do.
 */
static const float zero = 0;
static _Alignas(16) float data[2][64], result[1024 * 1024];

static inline CUstream new_stream(void)
{
    CUstream made = NULL;
    assert_int_equal(cuda.StreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
}

static inline void new_streams(CUstream *streams, int count)
{
    for (int i = 0; i < count; i++) streams[i] = new_stream();
}

static inline void destroy_streams(CUstream *streams, int count)
{
    for (int i = 0; i < count; i++) cuda.StreamDestroy(streams[i]);
}

static inline enum gt_status launch_on(struct gt_plan *plan, CUstream on)
{
    return launch(plan, &zero, data[0], data[1], &zero, result, on);
}

static inline const struct fake_launch *launch_number(int i)
{
    return &fake.launches[i % FAKE_LAUNCHES_MAX];
}

static inline unsigned blocks_of(const struct fake_launch *launch)
{
    return launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* Launch, and look at the first of its kernels. */
static inline const struct fake_launch *first_of(struct gt_plan *plan, CUstream on)
{
    const int before = *fake.launch_count;
    assert_gt(launch_on(plan, on));
    if (*fake.launch_count == before) fail_msg("nothing was launched; instead: %s", info_of(plan).instead);
    return launch_number(before);
}

static inline void *workspace_on(struct gt_plan *plan, CUstream on)
{
    return first_of(plan, on)->args.workspace;
}

#endif

/* runtime_lifetime.h — calls whose product is nobody's concern, on the fakes. */
#ifndef GT_RUNTIME_LIFETIME_H
#define GT_RUNTIME_LIFETIME_H

#include "runtime_fakes.h"

#include <pthread.h>

#define TEXT "sgemm:nn:64x64x64"

/* A thread that calls the library. */
struct client {
    struct gt_handle *handle;
    CUcontext context;
    pthread_t thread;
    enum gt_status status;
};

static const float zero = 0;
static _Alignas(16) float data[2][64], result[64 * 64];

static inline enum gt_status launch_it(struct gt_plan *plan)
{
    return launch(plan, &zero, data[0], data[1], &zero, result, stream);
}

static inline enum gt_status gemm_it(struct gt_handle *handle, const struct gt_problem *p)
{
    return gemm(handle, p, &zero, data[0], data[1], &zero, result, stream);
}

#endif

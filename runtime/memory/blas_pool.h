/* blas_pool.h — cuBLAS for one context, from any thread and on any stream.
 *
 * A cuBLAS handle has one stream and one pointer mode at a time, so that two threads cannot share one. A pool
 * keeps a few; a call takes a free one without waiting and configures it. Strict FP32, whatever the
 * environment says, except for problems that allow TF32.
 */
#ifndef GT_BLAS_POOL_H
#define GT_BLAS_POOL_H

#include "blas.h"
#include "gemm_call.h"
#include <pthread.h>
#include <stdatomic.h>

#define BLAS_POOL_MAX 8

struct blas_pool {
    pthread_mutex_t lock; /* making another handle */
    atomic_int count;
    struct {
        blas_handle handle;
        atomic_flag busy;
        int math;   /* as the handle was told; of whoever has it */
        int strict; /* what strict FP32 asks for, as the environment was when the handle was made */
    } slots[BLAS_POOL_MAX];
    char version[16];
};

void blas_pool_start(struct blas_pool *pool);

/* Make sure that there is one handle, in the current context. E_ABSENT: no cuBLAS. Errors: E_GPU. */
enum status blas_pool_open(struct blas_pool *pool);

/* In the context it was opened in; without effect if it was not. */
void blas_pool_close(struct blas_pool *pool);

/* The same where the context is gone. */
void blas_pool_forget(struct blas_pool *pool);

/* Enqueue one problem. E_ABSENT: cuBLAS does not take it, E_MEMORY: it has no memory for it now; nothing was
 * enqueued in both cases. Errors: E_GPU. */
enum status blas_pool_run(struct blas_pool *pool, const struct problem *problem,
                          const struct gemm_call *call);

#endif

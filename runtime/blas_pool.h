/* blas_pool.h — cuBLAS for one context, from any thread and on any stream.
 *
 * A cuBLAS handle has one stream and one pointer mode at a time, so that two threads cannot share one. A pool
 * keeps a few; a call takes a free one without waiting and configures it. Strict FP32, whatever the
 * environment says, except for problems that allow TF32.
 */
#ifndef GT_BLAS_POOL_H
#define GT_BLAS_POOL_H

#include "blas.h"
#include "blas_lt.h"
#include "gemm_call.h"
#include <pthread.h>
#include <stdatomic.h>

#define BLAS_POOL_MAX 8

struct blas_pool {
    pthread_mutex_t lock; /* for adding handles */
    atomic_int count;
    struct {
        blas_handle handle;
        atomic_flag busy;
        int math;   /* math mode of the handle; used by its holder only */
        int strict; /* math mode for strict FP32, from the environment when the handle was created */
    } slots[BLAS_POOL_MAX];
    char version[16];
    blas_lt_handle lt; /* for problems with an epilogue; NULL: not opened */
};

void blas_pool_start(struct blas_pool *pool);

/* Makes sure that there is one handle, in the current context. E_ABSENT: no cuBLAS. Errors: E_GPU. */
enum status blas_pool_open(struct blas_pool *pool);

/* Call it in the context in which it was opened; no effect if it was not opened. */
void blas_pool_close(struct blas_pool *pool);

/* The same if the context does not exist any more. */
void blas_pool_forget(struct blas_pool *pool);

/* Enqueues one problem. E_ABSENT: cuBLAS does not support it, E_MEMORY: it has no memory for it now; in both
 * cases nothing was enqueued. Errors: E_GPU. */
enum status blas_pool_run(struct blas_pool *pool, const struct problem *problem,
                          const struct gemm_call *call);

/* Problems with an epilogue are computed by cublasLt. Makes sure that there is a handle of it. E_ABSENT: no
 * cublasLt. loaded: only the one that the process has loaded will do. Errors: E_GPU. */
enum status blas_pool_open_lt(struct blas_pool *pool, bool loaded);

/* After that: a problem made ready; the arithmetic of the wish is the problem's. E_ABSENT: cublasLt does not
 * support it; *passing is set if that was a lack of memory. Close the product with blas_lt_close, after an
 * error, too.
 */
enum status blas_pool_make_lt(const struct blas_pool *pool, const struct problem *problem,
                              const struct blas_lt_wish *wish, struct blas_lt_product *product,
                              bool *passing);

/* The same for the algorithm that a configuration of the template cublaslt is. E_ABSENT: this cublasLt does
 * not run it, or is of another version than the one it was judged with. */
enum status blas_pool_load_lt(const struct blas_pool *pool, const struct problem *problem,
                              const struct config *config, bool scalars_on_device,
                              struct blas_lt_product *product);

/* workspace: of blas_lt_workspace bytes; 0 where these are 0. Errors: those of blas_pool_run. */
enum status blas_pool_run_lt(const struct blas_lt_product *product, CUdeviceptr workspace,
                             const struct gemm_call *call);

#endif

/* blas_workspace.h — the device memory that the program gave cuBLAS for a handle (cublasSetWorkspace). Read
 * and written without a lock: as with cuBLAS itself, a handle must not be changed while another thread uses
 * it.
 */
#ifndef GT_BLAS_WORKSPACE_H
#define GT_BLAS_WORKSPACE_H

#include "cublas_abi.h"

struct blas_workspace {
    void *memory; /* NULL: the program gave none, or there are too many handles */
    size_t bytes;
};

struct blas_workspace blas_workspace_of(blas_handle handle);

/* cuBLAS accepted it. */
void blas_workspace_set(blas_handle handle, void *memory, size_t bytes);

/* cuBLAS uses its own again. */
void blas_workspace_reset(blas_handle handle);

/* The handle is about to be destroyed; another one may get its address. */
void blas_workspace_forget(blas_handle handle);

#endif

/* launch_kernel.h — launches a winner's kernel for a call: through the library, or as an algorithm in the
 * program's own call of cublasLt.
 */
#ifndef GT_LAUNCH_KERNEL_H
#define GT_LAUNCH_KERNEL_H

#include "blas_request.h"
#include "instead.h"

enum launched {
    LAUNCHED,
    LAUNCH_NOT_THIS, /* no workspace for this call, or cublasLt refuses its arguments; nothing was enqueued */
    LAUNCH_FAILS_FOR_NOW,
    LAUNCH_FAILS
};

/* Enqueues the call. Where it fails C may be partly written, unless *untouched; why: the reason. */
enum launched launch_kernel(struct gt_plan *plan, struct executable *kernel,
                            const struct blas_request *request, CUstream stream, bool *untouched,
                            char why[INSTEAD_WHY_MAX]);

#endif

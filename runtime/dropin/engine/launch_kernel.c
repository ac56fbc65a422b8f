#include "launch_kernel.h"

#include "engine.h"
#include "relaxed.h"

#include <stdio.h>

/* Statuses of cublasLt: the arguments are refused; before anything is launched (_ALLOC_FAILED,
 * _ARCH_MISMATCH, _NOT_SUPPORTED). */
enum { LT_INVALID_VALUE = 7, LT_ALLOC_FAILED = 3, LT_ARCH_MISMATCH = 8, LT_NOT_SUPPORTED = 15 };

/* Bytes of which a workspace of cublasLtMatmul is a multiple (its documentation). */
enum { LT_WORKSPACE_ALIGNMENT = 256 };

/* The algorithm of cublasLt with which the call that the request is can be made; NULL: something else
 * computes it. */
static const struct blas_lt_choice *algorithm_for(const struct executable *kernel,
                                                  const struct blas_request *request)
{
    const struct matmul *x = request->matmul;
    const struct blas_lt_choice *choice = x ? executable_algorithm(kernel) : NULL;
    if (!choice || (uintptr_t)x->real->Matmul != (uintptr_t)blas_lt.Matmul)
        return NULL; /* another library's */
    const bool fits = choice->workspace_bytes == 0 ||
                      (request->workspace && (uintptr_t)request->workspace % LT_WORKSPACE_ALIGNMENT == 0 &&
                       choice->workspace_bytes <= request->workspace_bytes);
    return fits ? choice : NULL;
}

/* The program's call as it came, with another algorithm: its handle, descriptor and layouts are made and
 * known to cublasLt already. */
static enum launched run_algorithm(const struct matmul *x, const struct blas_lt_choice *choice, bool repeated,
                                   bool *untouched, char why[INSTEAD_WHY_MAX])
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!repeated) mode = relaxed_begin(); /* the first call loads kernels */
    const int result = x->real->Matmul(x->handle, x->desc, x->alpha, x->a, x->layout_a, x->b, x->layout_b,
                                       x->beta, x->c, x->layout_c, x->d, x->layout_d, &choice->algorithm,
                                       x->workspace, x->workspace_bytes, x->stream);
    if (!repeated) relaxed_end(mode);
    if (result == BLAS_SUCCESS) return LAUNCHED;
    *untouched = result == LT_INVALID_VALUE || result == LT_ALLOC_FAILED || result == LT_ARCH_MISMATCH ||
                 result == LT_NOT_SUPPORTED;
    snprintf(why, INSTEAD_WHY_MAX, "cublasLt could not run its algorithm (status %d)", result);
    return result == LT_INVALID_VALUE  ? LAUNCH_NOT_THIS
           : result == LT_ALLOC_FAILED ? LAUNCH_FAILS_FOR_NOW
                                       : LAUNCH_FAILS;
}

/* Blocks that count themselves in need counters that are 0. In the program's workspace they would have to be
 * cleared before each call, which takes the host as long as half a launch and the GPU a gap between kernels;
 * in ours the last block leaves them 0. */
#define OWN_COUNTERS_BYTES ((size_t)4 << 20)

static bool wants_own_workspace(const struct executable *kernel)
{
    return kernel->need.counters > 0 && kernel->need.bytes <= OWN_COUNTERS_BYTES;
}

/* After an error of the driver nothing in this process is reliable, if it has lost the device. */
static enum launched failed(enum status st, bool *untouched, char why[INSTEAD_WHY_MAX])
{
    snprintf(why, INSTEAD_WHY_MAX, "the tuned kernel failed: %.200s", status_text());
    *untouched = st != E_GPU;
    return st == E_MEMORY                 ? LAUNCH_NOT_THIS
           : *untouched || !device_lost() ? LAUNCH_FAILS_FOR_NOW
                                          : LAUNCH_FAILS;
}

enum launched launch_kernel(struct gt_plan *plan, struct executable *kernel,
                            const struct blas_request *request, CUstream stream, bool *untouched,
                            char why[INSTEAD_WHY_MAX])
{
    const struct blas_lt_choice *algorithm = algorithm_for(kernel, request);
    if (algorithm) return run_algorithm(request->matmul, algorithm, request->repeated, untouched, why);
    const bool own = request->workspace && wants_own_workspace(kernel);
    struct gemm_call call = {.alpha = request->alpha,
                             .beta = request->beta,
                             .scalars_on_device = plan->traits.scalars_on_device,
                             .stream = stream,
                             .workspace = own ? 0 : (CUdeviceptr)request->workspace,
                             .workspace_bytes = own ? 0 : request->workspace_bytes,
                             .as_planned = true}; /* otherwise cuBLAS computes it */
    blas_request_addresses(request, call.at);
    call.at[OPERAND_SOURCE] = (uintptr_t)request->source;
    enum status st = plan_launch(plan, kernel, &call);
    if (st == E_MEMORY && own) { /* nothing was enqueued */
        call.workspace = (CUdeviceptr)request->workspace;
        call.workspace_bytes = request->workspace_bytes;
        st = plan_launch(plan, kernel, &call);
    }
    return st ? failed(st, untouched, why) : LAUNCHED;
}

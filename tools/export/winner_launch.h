/* SPDX-License-Identifier: MIT */
/* winner_launch.h — the launcher in headers written by `tune export --header --with-kernels`, besides the
 * look-up. Needs only the driver API: <cuda.h> of CUDA 12.0 or later, which the exported header includes, and
 * libcuda.
 *
 *     struct gt_winner_loaded kernel;
 *     struct gt_winner_plan plan;
 *
 *     once per winner, in the current context:
 *     gt_winner_load(gpu, match.winner, &kernel);
 *
 *     once per shape; the caller allocates a workspace of plan.workspace_bytes, unless they are 0:
 *     gt_winner_plan_make(gpu, match.winner, &shape, &plan);
 *     gt_winner_clear(&plan, workspace, stream);
 *
 *     as often as wanted, with workspace 0 if none is needed (a workspace that other plans use in between
 *     must be cleared before each launch):
 *     gt_winner_launch(&kernel, &plan, &shape, 1.0f, a, b, 0.0f, c, workspace, stream);
 *
 *     gt_winner_unload(&kernel);
 *
 * Every function may be called from any thread; a loaded kernel belongs to the context it was loaded in.
 */
#ifndef GT_WINNER_LAUNCH
#define GT_WINNER_LAUNCH 5

#if CUDA_VERSION < 12000
#error "the launcher of exported headers needs cuda.h of CUDA 12.0 or later"
#endif

struct gt_winner_kernel {
    const void *cubin; /* for the GPU's architecture */
    const void *ptx;   /* for later architectures, too, with a final 0; NULL: there is none (--ptx) */
    size_t cubin_bytes, ptx_bytes;
};

/* How a winner runs the shape that it was measured for. */
struct gt_winner_planned {
    const struct gt_winner_kernel *kernel;
    int32_t takes;   /* bits of operands (enum gt_winner_operand): those in memory of their own */
    int32_t aligned; /* elements of which the addresses of A, B, C are multiples, 4 bits each */
    struct gt_launch_lengths lengths;
    struct gt_winner_plan plan;
};

struct gt_winner_loaded {
    CUmodule module;
    CUfunction function[GT_LAUNCH_KERNELS_MAX]; /* of the plan's kernels */
    const struct gt_winner_planned *planned;
};

/* What an epilogue takes besides A, B and C. */
struct gt_winner_extra {
    CUdeviceptr bias;    /* a multiple of its element's size; 0: it has none */
    int64_t stride_bias; /* elements from the bias of one item of a batch to the next; 0: all have the same */
    CUdeviceptr source;  /* out of place: C, which is not read if beta = 0; in place: 0 */
};

/* The same by operand. */
static inline void gt_winner_extra_list(const struct gt_winner_extra *extra,
                                        CUdeviceptr at[GT_WINNER_OPERANDS])
{
    at[GT_WINNER_OPERAND_SOURCE] = extra->source;
    at[GT_WINNER_OPERAND_BIAS] = extra->bias;
}

#ifdef __cplusplus
extern "C" {
#endif

/* How the winner runs the shape: 1 if it was measured for these m, n, k and batch, takes this alignment, and
 * its kernels take these leading dimensions and strides (those with tensor maps only take the measured ones).
 * Else 0, and *plan launches nothing: compute the shape by cuBLAS, or by the library, which launches winners
 * for any shape that they fit. "cublas" has a plan without kernels for every shape that it fits. */
GT_WINNERS_API int gt_winner_plan_make(const struct gt_winner_gpu *gpu, const struct gt_winner *winner,
                                       const struct gt_winner_shape *shape, struct gt_winner_plan *plan);

/* Load a winner's kernel into the current context: compiled for its architecture, or from PTX for a later
 * one. CUDA_ERROR_NOT_FOUND: it has none, call cuBLAS (its config is "cublas") or export with kernels.
 * CUDA_ERROR_NO_BINARY_FOR_GPU: the current GPU is none that it runs on, or would need its PTX, which the
 * header has if it was exported with --ptx. Others are the driver's. */
GT_WINNERS_API CUresult gt_winner_load(const struct gt_winner_gpu *gpu, const struct gt_winner *winner,
                                       struct gt_winner_loaded *loaded);

/* After its launches have ended. NULL, and what was unloaded before, do no harm. */
GT_WINNERS_API CUresult gt_winner_unload(struct gt_winner_loaded *loaded);

/* Enqueue the clearing of the plan's counters, which are the first 4 * plan->counters bytes of the workspace.
 * They must be 0 when a launch begins, or C comes out wrong; every launch that ends leaves them 0. So this is
 * needed once for a workspace that serves one plan alone, and before each launch that follows something else
 * in the same memory, a launch with another plan included: that may have put parts of its C there.
 * CUDA_ERROR_INVALID_VALUE: no workspace where there are counters, or NULL. */
GT_WINNERS_API CUresult gt_winner_clear(const struct gt_winner_plan *plan, CUdeviceptr workspace,
                                        CUstream stream);

/* Enqueue C = alpha * op(A) * op(B) + beta * C: one or two launches, more for a batch beyond 65,535 and for a
 * k that goes in slabs. Nothing is allocated and nothing waits: a stream that is captured takes it. plan is
 * that of shape and of the loaded winner. workspace: plan->workspace_bytes, cleared, not used by another
 * stream meanwhile; 0 where the plan asks for none. CUDA_ERROR_INVALID_VALUE: no workspace, or not at
 * a multiple of 16 bytes, pointers less aligned than the kernel needs (16 bytes for tensor maps), a plan that
 * launches nothing, an epilogue that takes more than an activation, or NULL. CUDA_ERROR_NOT_FOUND: loaded
 * holds no kernel. */
GT_WINNERS_API CUresult gt_winner_launch(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan,
                                         const struct gt_winner_shape *shape, float alpha, CUdeviceptr a,
                                         CUdeviceptr b, float beta, CUdeviceptr c, CUdeviceptr workspace,
                                         CUstream stream);

/* Enqueue D = activation(alpha * op(A) * op(B) + beta * C + bias), as gt_winner_launch, for a winner of a set
 * with that. d: where the result is written; in place it is C. extra: NULL for an activation
 * alone. CUDA_ERROR_INVALID_VALUE, too, if extra is not what the winner takes, or less aligned than its
 * kernel needs. */
GT_WINNERS_API CUresult gt_winner_launch_extra(const struct gt_winner_loaded *loaded,
                                               const struct gt_winner_plan *plan,
                                               const struct gt_winner_shape *shape, float alpha,
                                               CUdeviceptr a, CUdeviceptr b, float beta, CUdeviceptr d,
                                               const struct gt_winner_extra *extra, CUdeviceptr workspace,
                                               CUstream stream);

#ifdef __cplusplus
}
#endif

#elif GT_WINNER_LAUNCH != 5
#error "headers exported by different versions of gemmtune do not go together: export them again"
#endif

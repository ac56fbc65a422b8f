/* SPDX-License-Identifier: MIT */
/* winner_launch.h — the launcher in headers written by `tune export --header --with-kernels`, besides the
 * lookup. Needs only the driver API: <cuda.h>, which the exported header includes, and libcuda.
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
#define GT_WINNER_LAUNCH 3

struct gt_winner_loaded {
    CUmodule module;
    CUfunction function[3];
    const struct gt_winner_block *block;
    int32_t needs; /* alignment, as in struct gt_winner */
};

#ifdef __cplusplus
extern "C" {
#endif

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
 * that of shape. workspace: plan->workspace_bytes, cleared, not used by another stream meanwhile; 0 where the
 * plan asks for none. CUDA_ERROR_INVALID_VALUE: no workspace, pointers less aligned than the kernel needs, or
 * NULL. CUDA_ERROR_NOT_FOUND: loaded holds no kernel. */
GT_WINNERS_API CUresult gt_winner_launch(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan,
                                         const struct gt_winner_shape *shape, float alpha, CUdeviceptr a,
                                         CUdeviceptr b, float beta, CUdeviceptr c, CUdeviceptr workspace,
                                         CUstream stream);

#ifdef __cplusplus
}
#endif

#elif GT_WINNER_LAUNCH != 3
#error "headers exported by different versions of gemmtune do not go together: export them again"
#endif

/* SPDX-License-Identifier: MIT */
/* winner_launch_code.h — the definitions to winner_launch.h.
 */
#ifndef GT_WINNER_LAUNCH_CODE
#define GT_WINNER_LAUNCH_CODE

#ifdef __cplusplus
extern "C" {
#endif

/* The one argument of every kernel. */
struct gt_winner_args {
    CUdeviceptr a, b, c, workspace, alpha_device, beta_device;
    long long lda, ldb, ldc, stride_a, stride_b, stride_c;
    int m, n, k, splits, k_per_split, group, counters;
    float alpha, beta;
};

GT_WINNERS_API CUresult gt_winner_unload(struct gt_winner_loaded *loaded)
{
    CUmodule module = loaded ? loaded->module : NULL;
    if (!module) return CUDA_SUCCESS;
    memset(loaded, 0, sizeof *loaded);
    return cuModuleUnload(module);
}

/* Allow a kernel the shared memory that it is ever launched with, and prefer that to L1. */
static inline CUresult gt_winner_allow(CUfunction function, int smem_bytes)
{
    int fixed = 0;
    CUresult result = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (result == CUDA_SUCCESS && smem_bytes + fixed > 48 << 10)
        result = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes);
    if (result == CUDA_SUCCESS && smem_bytes + fixed > 0)
        result = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                    CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    return result;
}

/* The most shared memory that a kernel of the winner is launched with. */
static inline int gt_winner_smem(const struct gt_winner_gpu *gpu, const struct gt_winner *winner, int kernel)
{
    const struct gt_winner_geometry *g;
    if (winner->geometry < 0) return (int)gpu->plans[winner->plan].smem_bytes[kernel];
    g = &gpu->geometries[winner->geometry];
    if (kernel == 0) return g->pack_smem_bytes;
    if (kernel == 2) return 4 * GT_WINNER_REDUCERS * g->sum_width;
    return g->smem_step ? (int)gt_winner_smem_bytes(g, g->k_max) : g->smem_bytes;
}

GT_WINNERS_API CUresult gt_winner_load(const struct gt_winner_gpu *gpu, const struct gt_winner *winner,
                                       struct gt_winner_loaded *loaded)
{
    const struct gt_winner_kernel *kernel;
    CUdevice device;
    CUresult result;
    int major = 0, minor = 0, i;
    if (!loaded) return CUDA_ERROR_INVALID_VALUE;
    memset(loaded, 0, sizeof *loaded);
    if (!gpu || !winner) return CUDA_ERROR_INVALID_VALUE;
    loaded->needs = winner->needs;
    if (winner->kernel < 0) return CUDA_ERROR_NOT_FOUND;
    kernel = &gpu->kernels[winner->kernel];
    result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (result != CUDA_SUCCESS) return result;
    if (10 * major + minor == gpu->arch) result = cuModuleLoadData(&loaded->module, kernel->cubin);
    else if (10 * major + minor > gpu->arch && kernel->ptx)
        result = cuModuleLoadData(&loaded->module, kernel->ptx);
    else return CUDA_ERROR_NO_BINARY_FOR_GPU;
    for (i = 0; result == CUDA_SUCCESS && i < 3; i++) {
        if (!kernel->entry[i]) continue;
        result = cuModuleGetFunction(&loaded->function[i], loaded->module, kernel->entry[i]);
        if (result == CUDA_SUCCESS)
            result = gt_winner_allow(loaded->function[i], gt_winner_smem(gpu, winner, i));
    }
    if (result != CUDA_SUCCESS) gt_winner_unload(loaded);
    return result;
}

GT_WINNERS_API CUresult gt_winner_clear(const struct gt_winner_plan *plan, CUdeviceptr workspace,
                                        CUstream stream)
{
    if (!plan || (plan->counters > 0 && workspace == 0)) return CUDA_ERROR_INVALID_VALUE;
    return plan->counters > 0 ? cuMemsetD32Async(workspace, 0, (size_t)plan->counters, stream) : CUDA_SUCCESS;
}

/* 1 if every vector that is read or written at the pointer lies at a multiple of its size. */
static inline int gt_winner_at(CUdeviceptr pointer, int32_t width)
{
    return pointer % (4 * (unsigned)width) == 0;
}

/* What all launches of a call are told; pointers and k change from one to the next. */
static inline void gt_winner_args_start(struct gt_winner_args *args, const struct gt_winner_plan *plan,
                                        const struct gt_winner_shape *shape, CUdeviceptr workspace)
{
    memset(args, 0, sizeof *args);
    args->workspace = workspace;
    args->lda = shape->lda;
    args->ldb = shape->ldb;
    args->ldc = shape->ldc;
    args->stride_a = shape->stride_a;
    args->stride_b = shape->stride_b;
    args->stride_c = shape->stride_c;
    args->m = (int)shape->m;
    args->n = (int)shape->n;
    args->k = (int)shape->k;
    args->splits = plan->splits;
    args->k_per_split = plan->k_per_split;
    args->group = plan->group;
    args->counters = plan->counters;
}

/* The kernels of a plan one after the other, for some items of the batch and all of k or a slab of it. */
static inline CUresult gt_winner_enqueue(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan, struct gt_winner_args *args,
                                         unsigned items, int last_slab, CUstream stream)
{
    void *parameters[1];
    int i;
    parameters[0] = args;
    for (i = 0; i < 3; i++) {
        CUresult result;
        if (plan->grid[i][0] == 0) continue;
        result = cuLaunchKernel(loaded->function[i], last_slab ? plan->last_slab[i] : plan->grid[i][0],
                                plan->grid[i][1], items, plan->threads[i], 1, 1, plan->smem_bytes[i], stream,
                                parameters, NULL);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

/* Some items of the batch: all of k at once, or slab by slab, each but the first adding to C. */
static inline CUresult gt_winner_enqueue_items(const struct gt_winner_loaded *loaded,
                                               const struct gt_winner_plan *plan,
                                               const struct gt_winner_shape *shape,
                                               const struct gt_winner_args *of, unsigned items,
                                               CUstream stream)
{
    struct gt_winner_args args = *of;
    const CUdeviceptr step_a = 4 * (CUdeviceptr)(shape->trans_a ? shape->lda : 1),
                      step_b = 4 * (CUdeviceptr)(shape->trans_b ? 1 : shape->ldb);
    CUresult result = CUDA_SUCCESS;
    int64_t left;
    if (plan->k_slab == 0) return gt_winner_enqueue(loaded, plan, &args, items, 0, stream);
    for (left = shape->k; left > 0 && result == CUDA_SUCCESS; left -= plan->k_slab) {
        const int last = left <= plan->k_slab;
        args.k = last ? (int)left : plan->k_slab;
        result = gt_winner_enqueue(loaded, plan, &args, items, last, stream);
        args.a += step_a * (CUdeviceptr)plan->k_slab;
        args.b += step_b * (CUdeviceptr)plan->k_slab;
        args.beta = 1;
    }
    return result;
}

GT_WINNERS_API CUresult gt_winner_launch(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan,
                                         const struct gt_winner_shape *shape, float alpha, CUdeviceptr a,
                                         CUdeviceptr b, float beta, CUdeviceptr c, CUdeviceptr workspace,
                                         CUstream stream)
{
    struct gt_winner_args args;
    CUresult result = CUDA_SUCCESS;
    int64_t first;
    if (!loaded || !plan || !shape) return CUDA_ERROR_INVALID_VALUE;
    if (!loaded->module) return CUDA_ERROR_NOT_FOUND;
    if (plan->workspace_bytes > 0 && workspace == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!gt_winner_at(a, loaded->needs & 15) || !gt_winner_at(b, loaded->needs >> 4 & 15) ||
        !gt_winner_at(c, loaded->needs >> 8))
        return CUDA_ERROR_INVALID_VALUE;
    if (plan->kernels == 0) return CUDA_SUCCESS;
    gt_winner_args_start(&args, plan, shape, workspace);
    for (first = 0; first < shape->batch && result == CUDA_SUCCESS; first += plan->batch_per_launch) {
        const int64_t items = gt_winner_least(shape->batch - first, plan->batch_per_launch);
        args.a = a + 4 * (CUdeviceptr)(first * shape->stride_a);
        args.b = b + 4 * (CUdeviceptr)(first * shape->stride_b);
        args.c = c + 4 * (CUdeviceptr)(first * shape->stride_c);
        args.alpha = alpha;
        args.beta = beta;
        result = gt_winner_enqueue_items(loaded, plan, shape, &args, (unsigned)items, stream);
    }
    return result;
}

#ifdef __cplusplus
}
#endif

#endif

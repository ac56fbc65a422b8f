/* SPDX-License-Identifier: MIT */
/* winner_launch_code.h — the definitions to winner_launch.h.
 */
#ifndef GT_WINNER_LAUNCH_CODE
#define GT_WINNER_LAUNCH_CODE

#ifdef __cplusplus
extern "C" {
#endif

/* What a launch tells its kernels, and where it is put together. */
struct gt_winner_args {
    int64_t value[GT_WINNER_VALUES];
    union {
        unsigned char bytes[GT_WINNER_BLOCK_MAX];
        int64_t aligned;
    } argument;
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
    loaded->block = kernel->block;
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
static inline int gt_winner_at(CUdeviceptr pointer, int32_t width, int32_t element_bytes)
{
    return pointer % ((unsigned)element_bytes * (unsigned)width) == 0;
}

/* The bits of a float. */
static inline int64_t gt_winner_bits(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What all launches of a call are told; pointers, k and beta change from one to the next. */
static inline void gt_winner_args_start(struct gt_winner_args *args, const struct gt_winner_plan *plan,
                                        const struct gt_winner_shape *shape, CUdeviceptr workspace)
{
    memset(args, 0, sizeof *args);
    args->value[GT_WINNER_WORKSPACE] = (int64_t)workspace;
    args->value[GT_WINNER_LDA] = shape->lda;
    args->value[GT_WINNER_LDB] = shape->ldb;
    args->value[GT_WINNER_LDC] = shape->ldc;
    args->value[GT_WINNER_STRIDE_A] = shape->stride_a;
    args->value[GT_WINNER_STRIDE_B] = shape->stride_b;
    args->value[GT_WINNER_STRIDE_C] = shape->stride_c;
    args->value[GT_WINNER_M] = shape->m;
    args->value[GT_WINNER_N] = shape->n;
    args->value[GT_WINNER_K] = shape->k;
    args->value[GT_WINNER_SPLITS] = plan->splits;
    args->value[GT_WINNER_K_PER_SPLIT] = plan->k_per_split;
    args->value[GT_WINNER_GROUP] = plan->group;
    args->value[GT_WINNER_COUNTERS] = plan->counters;
}

/* Each value to its place in the argument. */
static inline void gt_winner_args_write(const struct gt_winner_block *block, struct gt_winner_args *args)
{
    int32_t i;
    for (i = 0; i < block->fields; i++) {
        const struct gt_winner_field *field = &block->field[i];
        const int64_t value = args->value[field->value];
        const int32_t low = (int32_t)value;
        if (field->bytes == 4) memcpy(args->argument.bytes + field->offset, &low, 4);
        else memcpy(args->argument.bytes + field->offset, &value, 8);
    }
}

/* The kernels of a plan one after the other, for some items of the batch and all of k or a slab of it. */
static inline CUresult gt_winner_enqueue(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan, struct gt_winner_args *args,
                                         unsigned items, int last_slab, CUstream stream)
{
    void *parameters[1];
    int i;
    gt_winner_args_write(loaded->block, args);
    parameters[0] = args->argument.bytes;
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
                                               struct gt_winner_args *args, unsigned items, CUstream stream)
{
    const int64_t step_a = loaded->block->element_bytes[0] * (shape->trans_a ? shape->lda : 1),
                  step_b = loaded->block->element_bytes[1] * (shape->trans_b ? 1 : shape->ldb);
    CUresult result = CUDA_SUCCESS;
    int64_t left;
    if (plan->k_slab == 0) return gt_winner_enqueue(loaded, plan, args, items, 0, stream);
    for (left = shape->k; left > 0 && result == CUDA_SUCCESS; left -= plan->k_slab) {
        const int last = left <= plan->k_slab;
        args->value[GT_WINNER_K] = last ? left : plan->k_slab;
        result = gt_winner_enqueue(loaded, plan, args, items, last, stream);
        args->value[GT_WINNER_A] += step_a * plan->k_slab;
        args->value[GT_WINNER_B] += step_b * plan->k_slab;
        args->value[GT_WINNER_BETA] = gt_winner_bits(1);
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
    const int32_t *bytes;
    CUresult result = CUDA_SUCCESS;
    int64_t first;
    if (!loaded || !plan || !shape) return CUDA_ERROR_INVALID_VALUE;
    if (!loaded->module) return CUDA_ERROR_NOT_FOUND;
    if (plan->workspace_bytes > 0 && workspace == 0) return CUDA_ERROR_INVALID_VALUE;
    bytes = loaded->block->element_bytes;
    if (!gt_winner_at(a, loaded->needs & 15, bytes[0]) ||
        !gt_winner_at(b, loaded->needs >> 4 & 15, bytes[1]) || !gt_winner_at(c, loaded->needs >> 8, bytes[2]))
        return CUDA_ERROR_INVALID_VALUE;
    if (plan->kernels == 0) return CUDA_SUCCESS;
    gt_winner_args_start(&args, plan, shape, workspace);
    args.value[GT_WINNER_ALPHA] = gt_winner_bits(alpha);
    for (first = 0; first < shape->batch && result == CUDA_SUCCESS; first += plan->batch_per_launch) {
        const int64_t items = gt_winner_least(shape->batch - first, plan->batch_per_launch);
        args.value[GT_WINNER_A] = (int64_t)a + bytes[0] * first * shape->stride_a;
        args.value[GT_WINNER_B] = (int64_t)b + bytes[1] * first * shape->stride_b;
        args.value[GT_WINNER_C] = (int64_t)c + bytes[2] * first * shape->stride_c;
        args.value[GT_WINNER_BETA] = gt_winner_bits(beta);
        result = gt_winner_enqueue_items(loaded, plan, shape, &args, (unsigned)items, stream);
    }
    return result;
}

#ifdef __cplusplus
}
#endif

#endif

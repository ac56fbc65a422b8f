/* SPDX-License-Identifier: MIT */
/* winner_launch_code.h — the definitions to winner_launch.h, behind those of winner_lookup.h and the walk
 * over a plan's launches.
 */
#ifndef GT_WINNER_LAUNCH_CODE
#define GT_WINNER_LAUNCH_CODE

#ifdef __cplusplus
extern "C" {
#endif

GT_WINNERS_API int gt_winner_plan_make(const struct gt_winner_gpu *gpu, const struct gt_winner *winner,
                                       const struct gt_winner_shape *shape, struct gt_winner_plan *plan)
{
    const struct gt_winner_planned *planned;
    int64_t wanted[GT_LAUNCH_LENGTHS];
    if (!plan) return 0;
    gt_launch_plan_clear(plan);
    if (!gpu || !gt_winner_fits(winner, shape)) return 0;
    if (winner->kernel < 0) return strcmp(winner->config, "cublas") == 0;
    if (shape->m != winner->m || shape->n != winner->n || shape->k != winner->k ||
        shape->batch != winner->batch)
        return 0;
    planned = &gpu->plans[winner->kernel];
    wanted[GT_LAUNCH_LDA] = shape->lda;
    wanted[GT_LAUNCH_LDB] = shape->ldb;
    wanted[GT_LAUNCH_LDC] = shape->ldc;
    wanted[GT_LAUNCH_STRIDE_A] = shape->stride_a;
    wanted[GT_LAUNCH_STRIDE_B] = shape->stride_b;
    wanted[GT_LAUNCH_STRIDE_C] = shape->stride_c;
    wanted[GT_LAUNCH_STRIDE_BIAS] = planned->lengths.planned[GT_LAUNCH_STRIDE_BIAS]; /* at the launch */
    *plan = planned->plan;
    if (gt_launch_relength(plan, &planned->lengths, wanted)) return 1;
    gt_launch_plan_clear(plan);
    return 0;
}

GT_WINNERS_API CUresult gt_winner_unload(struct gt_winner_loaded *loaded)
{
    CUmodule module = loaded ? loaded->module : NULL;
    if (!module) return CUDA_SUCCESS;
    memset(loaded, 0, sizeof *loaded);
    return cuModuleUnload(module);
}

/* Allow a kernel its shared memory, and prefer that to L1. */
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
    if (winner->kernel < 0) return CUDA_ERROR_NOT_FOUND;
    loaded->planned = &gpu->plans[winner->kernel];
    kernel = loaded->planned->kernel;
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
    for (i = 0; result == CUDA_SUCCESS && i < loaded->planned->plan.kernels; i++) {
        const struct gt_kernel_launch *launch = &loaded->planned->plan.kernel[i];
        result = cuModuleGetFunction(&loaded->function[i], loaded->module, launch->entry);
        if (result == CUDA_SUCCESS) result = gt_winner_allow(loaded->function[i], (int)launch->smem_bytes);
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

/* 1 if the winner's product has the operand in memory of its own. */
static inline int gt_winner_takes(const struct gt_winner_loaded *loaded, int operand)
{
    return loaded->planned->takes >> operand & 1;
}

/* 1 if every vector that is read or written at the pointer of an operand lies at a multiple of its size. */
static inline int gt_winner_at(const struct gt_winner_loaded *loaded, int operand, CUdeviceptr pointer)
{
    const int as = operand == GT_WINNER_OPERAND_SOURCE ? (int)GT_WINNER_OPERAND_C : operand;
    const int32_t width = as <= GT_WINNER_OPERAND_C ? loaded->planned->aligned >> 4 * as & 15 : 1;
    return pointer % (unsigned)(loaded->planned->lengths.bytes[operand] * width) == 0;
}

/* 1 if these operands are what the kernel takes. A source that is not read, as beta is 0, may be anything. */
static inline int gt_winner_operands_valid(const struct gt_winner_loaded *loaded,
                                           const CUdeviceptr at[GT_WINNER_OPERANDS], float beta)
{
    int i;
    for (i = 0; i < GT_WINNER_OPERANDS; i++) {
        if (i == GT_WINNER_OPERAND_SOURCE && gt_winner_takes(loaded, i) && beta == 0) continue;
        if (i == GT_WINNER_OPERAND_SOURCE && at[i] == at[GT_WINNER_OPERAND_C]) continue;
        if (i > GT_WINNER_OPERAND_C && (at[i] != 0) != gt_winner_takes(loaded, i)) return 0;
        if (!gt_winner_at(loaded, i, at[i])) return 0;
    }
    return 1;
}

GT_WINNERS_API CUresult gt_winner_launch_extra(const struct gt_winner_loaded *loaded,
                                               const struct gt_winner_plan *plan,
                                               const struct gt_winner_shape *shape, float alpha,
                                               CUdeviceptr a, CUdeviceptr b, float beta, CUdeviceptr d,
                                               const struct gt_winner_extra *extra, CUdeviceptr workspace,
                                               CUstream stream)
{
    const struct gt_winner_extra none = {0, 0, 0};
    CUdeviceptr at[GT_WINNER_OPERANDS];
    struct gt_winner_plan with_bias;
    struct gt_launch_call call;
    bool touched;
    int i;
    if (!loaded || !plan || !shape) return CUDA_ERROR_INVALID_VALUE;
    if (!loaded->module) return CUDA_ERROR_NOT_FOUND;
    if (!extra) extra = &none;
    at[GT_WINNER_OPERAND_A] = a;
    at[GT_WINNER_OPERAND_B] = b;
    at[GT_WINNER_OPERAND_C] = d;
    gt_winner_extra_list(extra, at);
    if (plan->kernels == 0 || plan->kernels != loaded->planned->plan.kernels ||
        (plan->workspace_bytes > 0 && workspace == 0) || workspace % 16 != 0 ||
        !gt_winner_operands_valid(loaded, at, beta) || extra->stride_bias < 0 ||
        extra->stride_bias > ((int64_t)1 << 60) / plan->batch)
        return CUDA_ERROR_INVALID_VALUE;
    if (!gt_winner_takes(loaded, GT_WINNER_OPERAND_SOURCE) || beta == 0) at[GT_WINNER_OPERAND_SOURCE] = d;
    if (extra->bias && extra->stride_bias != loaded->planned->lengths.planned[GT_LAUNCH_STRIDE_BIAS]) {
        int64_t wanted[GT_LAUNCH_LENGTHS];
        memcpy(wanted, loaded->planned->lengths.planned, sizeof wanted);
        wanted[GT_LAUNCH_STRIDE_BIAS] = extra->stride_bias;
        with_bias = *plan;
        if (!gt_launch_relength(&with_bias, &loaded->planned->lengths, wanted))
            return CUDA_ERROR_INVALID_VALUE;
        plan = &with_bias;
    }
    memset(&call, 0, sizeof call);
    for (i = 0; i < GT_WINNER_OPERANDS; i++) call.operand[i] = (uintptr_t)at[i];
    call.operand[GT_LAUNCH_WORKSPACE] = (uintptr_t)workspace;
    call.alpha = alpha;
    call.beta = beta;
    return gt_launcher_enqueue(plan, loaded->function, &call, stream, &touched);
}

GT_WINNERS_API CUresult gt_winner_launch(const struct gt_winner_loaded *loaded,
                                         const struct gt_winner_plan *plan,
                                         const struct gt_winner_shape *shape, float alpha, CUdeviceptr a,
                                         CUdeviceptr b, float beta, CUdeviceptr c, CUdeviceptr workspace,
                                         CUstream stream)
{
    return gt_winner_launch_extra(loaded, plan, shape, alpha, a, b, beta, c, NULL, workspace, stream);
}

#ifdef __cplusplus
}
#endif

#endif

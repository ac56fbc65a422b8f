#include "launcher.h"

#include <stdio.h>

_Static_assert(sizeof(CUtensorMap) == LAUNCH_VIEW_BYTES, "a tensor map is as launch_plan.h says");

enum status launcher_check(const struct launch_plan *plan, int arch)
{
    bool extended = false;
    for (int i = 0; i < plan->kernels; i++) extended = extended || launch_has_attributes(&plan->kernel[i]);
    const bool views = plan->views > 0;
    if (!extended && !views) return OK;
    if (arch < 90) return fail(E_ABSENT, "clusters, dependent launches and tensor maps need sm_90");
    if (extended && !cuda.LaunchKernelEx)
        return fail(
            E_ABSENT,
            "the driver lacks cuLaunchKernelEx, which clusters and dependent launches need: update it");
    if (views && !cuda.TensorMapEncodeTiled)
        return fail(E_ABSENT, "the driver lacks cuTensorMapEncodeTiled, which tensor maps need: update it");
    return OK;
}

static CUtensorMapDataType data_type(enum element element)
{
    switch (element) {
    case ELEMENT_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ELEMENT_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    }
}

static CUtensorMapSwizzle swizzle(unsigned bytes)
{
    return bytes == 32    ? CU_TENSOR_MAP_SWIZZLE_32B
           : bytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                          : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUresult encode_one(const struct tensor_view *view, struct launch *launch)
{
    cuuint64_t extent[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX];
    cuuint32_t box[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX];
    for (int i = 0; i < view->rank; i++) {
        const int64_t most = i == view->k_axis       ? launch->k
                             : i == view->batch_axis ? launch->items
                                                     : view->extent[i];
        extent[i] = (cuuint64_t)(view->extent[i] < most ? view->extent[i] : most);
        if (extent[i] == 0) extent[i] = 1; /* 0 would be refused; nothing is read */
        box[i] = view->box[i];
        step[i] = 1;
        if (i > 0) stride[i - 1] = (cuuint64_t)view->stride_bytes[i];
    }
    const uintptr_t address = launch->operand[view->operand] + (uintptr_t)view->offset_bytes;
    return cuda.TensorMapEncodeTiled(
        (CUtensorMap *)(void *)(launch->argument + view->at), data_type(view->element),
        (cuuint32_t)view->rank, (void *)address, /* NOLINT: a device address */
        extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle(view->swizzle_bytes),
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

CUresult launcher_encode(const struct launch_plan *plan, struct launch *launch)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < plan->views && result == CUDA_SUCCESS; i++)
        result = encode_one(&plan->view[i], launch);
    return result;
}

/* With attributes for cluster and dependency. */
static CUresult enqueue_extended(CUfunction function, const struct kernel_launch *kernel,
                                 const unsigned grid[3], void *argument, CUstream stream)
{
    CUlaunchAttribute attributes[2];
    void *parameters[] = {argument};
    CUlaunchConfig config = {.gridDimX = grid[0],
                             .gridDimY = grid[1],
                             .gridDimZ = grid[2],
                             .blockDimX = kernel->threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = kernel->smem_bytes,
                             .hStream = stream,
                             .attrs = attributes};
    if (kernel->cluster_at_launch)
        attributes[config.numAttrs++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value.clusterDim = {kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]}};
    if (kernel->dependent)
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    return cuda.LaunchKernelEx(&config, function, parameters, NULL);
}

static CUresult enqueue_one(CUfunction function, const struct kernel_launch *kernel, struct launch *launch,
                            CUstream stream)
{
    return launch_has_attributes(kernel)
               ? enqueue_extended(function, kernel, launch->grid, launch->argument, stream)
               : launcher_enqueue_plain(function, kernel, launch->grid, launch->argument, stream);
}

CUresult launcher_enqueue(const struct launch_plan *plan, const CUfunction *functions,
                          const struct launch_call *call, CUstream stream, bool *touched)
{
    struct launch_walk walk;
    struct launch launch;
    launch_walk_start(&walk, plan, call);
    while (launch_walk_next(&walk, &launch)) {
        CUresult result = plan->views ? launcher_encode(plan, &launch) : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS)
            result = enqueue_one(functions[launch.index], &plan->kernel[launch.index], &launch, stream);
        if (result == CUDA_SUCCESS) continue;
        *touched = launch.touched;
        return result;
    }
    return CUDA_SUCCESS;
}

#include "launcher.h"

static CUtensorMapDataType launcher_data_type(enum element element)
{
    switch (element) {
    case ELEMENT_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ELEMENT_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ELEMENT_TF32: /* rounds FP32 to nearest even */
        return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    default:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    }
}

static CUtensorMapSwizzle launcher_swizzle(unsigned bytes)
{
    return bytes == 32    ? CU_TENSOR_MAP_SWIZZLE_32B
           : bytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                          : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUresult launcher_encode_one(const struct tensor_view *view, struct launch *launch)
{
    cuuint64_t extent[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX];
    cuuint32_t box[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX];
    unsigned char room[LAUNCH_VIEW_BYTES + 64]; /* the driver wants a map at a multiple of 64 */
    CUtensorMap *const map = (CUtensorMap *)(void *)(room + (64 - (uintptr_t)room % 64));
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
    const CUresult result = cuda.TensorMapEncodeTiled(
        map, launcher_data_type(view->element), (cuuint32_t)view->rank,
        (void *)address, /* NOLINT: a device address */
        extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, launcher_swizzle(view->swizzle_bytes),
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) memcpy(launch->argument + view->at, map, LAUNCH_VIEW_BYTES);
    return result;
}

CUresult launcher_encode(const struct launch_plan *plan, struct launch *launch)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < plan->views && result == CUDA_SUCCESS; i++)
        result = launcher_encode_one(&plan->view[i], launch);
    return result;
}

/* With attributes for cluster and dependency. */
static CUresult launcher_enqueue_extended(CUfunction function, const struct kernel_launch *kernel,
                                          const unsigned grid[3], void *argument, CUstream stream)
{
    CUlaunchAttribute attributes[2];
    void *parameters[] = {argument};
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    memset(attributes, 0, sizeof attributes);
    config.gridDimX = grid[0];
    config.gridDimY = grid[1];
    config.gridDimZ = grid[2];
    config.blockDimX = kernel->threads;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = kernel->smem_bytes;
    config.hStream = stream;
    config.attrs = attributes;
    if (kernel->cluster_at_launch) {
        CUlaunchAttribute *const cluster = &attributes[config.numAttrs++];
        cluster->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        cluster->value.clusterDim.x = kernel->cluster[0];
        cluster->value.clusterDim.y = kernel->cluster[1];
        cluster->value.clusterDim.z = kernel->cluster[2];
    }
    if (kernel->dependent) {
        CUlaunchAttribute *const dependent = &attributes[config.numAttrs++];
        dependent->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        dependent->value.programmaticStreamSerializationAllowed = 1;
    }
    return cuda.LaunchKernelEx(&config, function, parameters, NULL);
}

static CUresult launcher_enqueue_one(CUfunction function, const struct kernel_launch *kernel,
                                     struct launch *launch, CUstream stream)
{
    if (kernel->own.count) return launcher_enqueue_own(function, kernel, launch, stream);
    return launch_has_attributes(kernel)
               ? launcher_enqueue_extended(function, kernel, launch->grid, launch->argument, stream)
               : launcher_enqueue_plain(function, kernel, launch->grid, launch->argument, stream);
}

CUresult launcher_enqueue(const struct launch_plan *plan, const CUfunction *functions,
                          const struct launch_call *call, CUstream stream, bool *touched)
{
    struct launch_walk walk;
    struct launch launch;
    launch_walk_start(&walk, plan, call);
    while (launch_walk_next(&walk, &launch)) {
        CUresult result = plan->views ? launcher_put_maps(plan, &launch) : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS)
            result = launcher_enqueue_one(functions[plan->first + launch.index], &plan->kernel[launch.index],
                                          &launch, stream);
        if (result == CUDA_SUCCESS) continue;
        *touched = launch.touched;
        return result;
    }
    return CUDA_SUCCESS;
}

/* fake_driver.c — the driver API as far as exported launchers use it: notes what it is asked, launches
 * nothing. */
#include "fake_driver.h"

#include <stdint.h>
#include <string.h>

struct fake_driver fake = {.major = 9};
const char *const fake_names[4] = {"gemm_pack", "gemm", "gemm_reduce", "gemm_maxima"};

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? fake.major : fake.minor;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    fake.image = image;
    fake.modules++;
    *module = (CUmodule)&fake;
    return fake.refuse_load ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    fake.modules -= module == (CUmodule)&fake;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, fake_names[i]) == 0) {
            *function = (CUfunction)&fake.function[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)attribute, (void)function;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        ((struct fake_function *)(void *)function)->smem_bytes = value;
    return CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)to, (void)stream;
    fake.cleared = value == 0 ? count : 0;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                        unsigned threads_y, unsigned threads_z, unsigned smem_bytes, CUstream stream,
                        void **parameters, void **extra)
{
    if (extra || threads_y != 1 || threads_z != 1 || x == 0 || y == 0 || z == 0 || z > 65535 ||
        threads_x > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake.launch_count == FAKE_LAUNCHES_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    struct fake_launch *launch = &fake.launch[fake.launch_count++];
    launch->kernel = (int)((struct fake_function *)(void *)function - fake.function);
    launch->grid[0] = x;
    launch->grid[1] = y;
    launch->grid[2] = z;
    launch->threads = threads_x;
    launch->smem_bytes = smem_bytes;
    launch->stream = stream;
    launch->allowed = smem_bytes <= 48u << 10 || (int)smem_bytes <= fake.function[launch->kernel].smem_bytes;
    launch->extended = 0;
    memcpy(launch->args, parameters[0], sizeof launch->args);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    CUresult result = cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                     config->blockDimX, config->blockDimY, config->blockDimZ,
                                     config->sharedMemBytes, config->hStream, parameters, extra);
    if (result != CUDA_SUCCESS) return result;
    struct fake_launch *launch = &fake.launch[fake.launch_count - 1];
    launch->extended = 1;
    launch->dependent = 0;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            launch->cluster[0] = attribute->value.clusterDim.x;
            launch->cluster[1] = attribute->value.clusterDim.y;
            launch->cluster[2] = attribute->value.clusterDim.z;
        }
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            launch->dependent = attribute->value.programmaticStreamSerializationAllowed;
    }
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *box,
                                const cuuint32_t *step, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    struct fake_map told;
    (void)interleave, (void)promotion, (void)fill;
    memset(&told, 0, sizeof told);
    told.address = (CUdeviceptr)(uintptr_t)address;
    told.type = (int)type;
    told.rank = (int)rank;
    told.swizzle = (int)swizzle;
    if ((uintptr_t)map % 64 || told.address % 16 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    for (cuuint32_t i = 0; i < rank; i++) {
        if (step[i] != 1) return CUDA_ERROR_INVALID_VALUE;
        told.extent[i] = (unsigned)extent[i];
        told.box[i] = box[i];
        if (i) told.stride[i - 1] = (unsigned)stride[i - 1];
    }
    memset(map, 0, sizeof *map);
    memcpy(map, &told, sizeof told);
    return CUDA_SUCCESS;
}
